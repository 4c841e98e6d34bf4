"""ListTransactions (API key 66, versions 0-2): the transactional ids of one coordinator, filtered.

Behaviour: all or nothing while any partition is being loaded. A name in the state filter that is no state is told
back, and lets nothing through.
Versions: 1 filters by how long a transaction is open, 2 by a pattern of the whole id (RE2 syntax).
Source: reference §2.16; KIP-664, KIP-994, KIP-1152; ``TransactionStateManager.listTransactionStates``.
"""

from collections.abc import Mapping
from types import MappingProxyType

from zombieproof.model.decisions.verdicts import agree, refuse
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.vocabulary import Error, Row, TransactionState

STATE_NAMES: Mapping[int, str] = MappingProxyType(
    {int(state): "".join(word.capitalize() for word in state.name.split("_")) for state in TransactionState}
)
"""The names of states in requests and answers (``PrepareCommit``)."""


def decide_list_transactions(is_loading: bool, is_pattern_valid: bool) -> Verdict:
    """Judge the request as a whole. `is_loading`: while any partition of the coordinator is being loaded."""
    if is_loading:
        return refuse(Error.COORDINATOR_LOAD_IN_PROGRESS, Row.L1)
    if not is_pattern_valid:
        return refuse(Error.INVALID_REGULAR_EXPRESSION, Row.BAD_PATTERN)
    return agree(Row.NO_ROW)


def is_listed(txn: Transaction, now_ms: int, duration_ms: int, passes_filters: bool) -> bool:
    """Whether a transaction is in the answer. `passes_filters`: its state, producer id and id are among those wanted.

    `duration_ms` below 0 lets every age through; otherwise it has to be open for longer, counted from its start.
    """
    if txn.state == TransactionState.DEAD or not passes_filters:
        return False
    return duration_ms < 0 or now_ms - txn.start_ms > duration_ms
