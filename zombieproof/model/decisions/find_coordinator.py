"""FindCoordinator (API key 10) and the look-up that precedes every coordinator operation.

Source: reference §2.5; ``TransactionStateManager.getAndMaybeAddTransactionState``.
"""

from zombieproof.model.decisions.verdicts import agree, refuse
from zombieproof.model.records import Verdict
from zombieproof.model.vocabulary import Error, Row


def is_key_type(number: int) -> bool:
    """Whether FindCoordinator can be asked for keys of this type: 0 groups, 1 transactional ids."""
    return number in (0, 1)


def decide_find_coordinator(topic_exists: bool, leader_is_live: bool, key_type: int = 1) -> Verdict:
    """Whether the internal topic's partition of an id or group has somebody to ask; else its client asks again (§2.5).

    Where the topic is missing, the host also creates it.
    """
    if not is_key_type(key_type):
        return refuse(Error.INVALID_REQUEST, Row.NO_COORDINATOR)
    if not topic_exists or not leader_is_live:
        return refuse(Error.COORDINATOR_NOT_AVAILABLE, Row.NO_COORDINATOR)
    return agree(Row.NO_ROW)


def decide_lookup(is_loading: bool, is_coordinator: bool) -> Verdict:
    """L1, L2: the partition of the id is being loaded, or is led by somebody else; NO_ROW: go on."""
    if is_loading:
        return refuse(Error.COORDINATOR_LOAD_IN_PROGRESS, Row.L1)
    if not is_coordinator:
        return refuse(Error.NOT_COORDINATOR, Row.L2)
    return agree(Row.NO_ROW)
