r"""Regular expressions from requests: topics of a KIP-848 member, transactional ids of ListTransactions.

Kafka's brokers use RE2/J, which takes time in proportion to the length of a name, whatever the pattern. Python's ``re``
may take exponential time, during which the broker handles no other request. A pattern has to match a whole name. RE2
and RE2/J differ in details: RE2/J refuses ``\C`` and two groups of the same name, and takes ``(a{1000}){1000}``.
Source: ``GroupMetadataManager.throwIfRegularExpressionIsInvalid``, ``TransactionStateManager.listTransactionStates``.
"""

from collections.abc import Iterable

import re2


def matching(pattern: str, names: Iterable[str]) -> frozenset[str] | None:
    """The names that a pattern matches; None: the pattern is invalid."""
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        return None
    return frozenset(name for name in names if compiled.fullmatch(name))
