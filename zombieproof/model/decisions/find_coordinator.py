"""FindCoordinator (API key 10) and the look-up that precedes every coordinator operation.

Source: reference §2.5, §2.8 to §2.11 (P1, V1, E1, T1); ``TransactionStateManager.getAndMaybeAddTransactionState``.
"""

from zombieproof.model.decisions.verdicts import refuse
from zombieproof.model.records import Verdict
from zombieproof.model.vocabulary import Error, Guard


def decide_find_coordinator(topic_exists: int, leader_is_live: int) -> Verdict:
    """Whether the internal topic's partition of an id or group has somebody to ask; else its client asks again (§2.5).

    Where the topic is missing, the host also creates it.
    """
    if topic_exists == 0 or leader_is_live == 0:
        return refuse(Error.COORDINATOR_NOT_AVAILABLE, Guard.NO_COORDINATOR)
    return refuse(Error.NONE, Guard.NO_GUARD)


def decide_transactional_id(has_transactional_id: int, guard: int) -> Verdict:
    """A coordinator request has to name a transactional id; `guard` is P1, V1, E1 or T1, whose request it is."""
    if has_transactional_id == 0:
        return refuse(Error.INVALID_REQUEST, guard)
    return refuse(Error.NONE, Guard.NO_GUARD)


def decide_lookup(is_loading: int, is_coordinator: int) -> Verdict:
    """L1, L2: the partition of the id is being loaded, or is led by somebody else; NO_GUARD: go on."""
    if is_loading == 1:
        return refuse(Error.COORDINATOR_LOAD_IN_PROGRESS, Guard.L1)
    if is_coordinator == 0:
        return refuse(Error.NOT_COORDINATOR, Guard.L2)
    return refuse(Error.NONE, Guard.NO_GUARD)
