"""Words that cases of several suites use, and how a suite asserts and consumes them.

A suite reads the mappings of a case through `Fields`: what it has not taken makes the case not runnable.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.conformance.cases import Failed, NotRunnable
from zombieproof.model.vocabulary import Error, TransactionState
from zombieproof.traces.evidence import TopicPartition

STATES = {
    "Empty": TransactionState.EMPTY,
    "Ongoing": TransactionState.ONGOING,
    "PrepareCommit": TransactionState.PREPARE_COMMIT,
    "PrepareAbort": TransactionState.PREPARE_ABORT,
    "CompleteCommit": TransactionState.COMPLETE_COMMIT,
    "CompleteAbort": TransactionState.COMPLETE_ABORT,
    "Dead": TransactionState.DEAD,
    "PrepareEpochFence": TransactionState.PREPARE_EPOCH_FENCE,
}
"""Kafka's names of the states of a transactional id."""


OTHER_ERRORS = {"INVALID_TOPIC_EXCEPTION": 17, "INVALID_REQUIRED_ACKS": 21}
"""Errors that no decision knows, which brokers may see all the same."""


class Fields:
    """A mapping of a case, read key by key.

    Args:
        mapping: what the case says; anything but a mapping is not runnable.
        where: how it is called in messages (``given``, ``expect``).
    """

    def __init__(self, mapping: object, where: str) -> None:
        if not isinstance(mapping, Mapping):
            raise NotRunnable(f"{where} is {mapping!r}, not a mapping")
        self._left = dict(mapping)
        self._where = where

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def take(self, key: str, default: Any = None) -> Any:
        """The value of `key`, which is thereby understood."""
        return self._left.pop(key, default)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Every key that is left with its value; all are thereby understood."""
        left, self._left = self._left, {}
        return left.items()

    def done(self) -> None:
        """Nothing may be left.

        Raises:
            NotRunnable: a key was not taken.
        """
        if self._left:
            raise NotRunnable(f"{self._where}: {', '.join(map(repr, self._left))} is not understood")


def listed(value: Any) -> list[Any]:
    """A list as it is, anything else as a list of one."""
    return value if isinstance(value, list) else [value]


def matched(pattern: str, phrase: object, what: str = "phrase") -> re.Match[str]:
    """The match of the whole phrase.

    Raises:
        NotRunnable: it does not match.
    """
    match = re.fullmatch(pattern, phrase) if isinstance(phrase, str) else None
    if match is None:
        raise NotRunnable(f"{what} {phrase!r} is not understood")
    return match


def check(what: str, expected: object, got: object) -> None:
    """Assert one part of *expect*; booleans are no numbers here.

    Raises:
        Failed: they differ.
    """
    if expected != got or isinstance(expected, bool) != isinstance(got, bool):
        raise Failed(f"{what}: expected {expected!r}, got {got!r}")


def error_of(name: object) -> int:
    """The code of an error that Kafka names.

    Raises:
        NotRunnable: there is no such error.
    """
    if isinstance(name, str) and name in Error.__members__:
        return int(Error[name])
    if isinstance(name, str) and name in OTHER_ERRORS:
        return OTHER_ERRORS[name]
    raise NotRunnable(f"{name!r} is no error of the protocol")


def error_name(code: int) -> str:
    """Kafka's name of an error code; the code itself where it has none."""
    if code in {int(error) for error in Error}:
        return Error(code).name
    return next((name for name, other in OTHER_ERRORS.items() if other == code), str(code))


def state_of(name: object) -> TransactionState:
    """The state that Kafka names so.

    Raises:
        NotRunnable: there is none.
    """
    if not isinstance(name, str) or name not in STATES:
        raise NotRunnable(f"{name!r} is no state of a transactional id")
    return STATES[name]


def state_name(state: int) -> str:
    """Kafka's name of a state, ``none`` for none."""
    return next((name for name, number in STATES.items() if number == state), "none")


def partition_of(name: object) -> TopicPartition:
    """``topic1-0`` as a topic partition.

    Raises:
        NotRunnable: it is none.
    """
    match = matched(r"(.+)-(\d+)", name, "partition")
    return match[1], int(match[2])
