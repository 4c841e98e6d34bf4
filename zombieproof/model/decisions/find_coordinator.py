"""FindCoordinator (API key 10) and the look-up that precedes every coordinator operation.

Source: reference §2.5; ``TransactionStateManager.getAndMaybeAddTransactionState``.
"""

from zombieproof.model.decisions.verdicts import refuse
from zombieproof.model.records import Verdict
from zombieproof.model.vocabulary import Error, Guard


def decide_lookup(is_loading: int, is_coordinator: int) -> Verdict:
    """L1, L2: the partition of the id is being loaded, or is led by somebody else; NO_GUARD: go on."""
    if is_loading == 1:
        return refuse(Error.COORDINATOR_LOAD_IN_PROGRESS, Guard.L1)
    if is_coordinator == 0:
        return refuse(Error.NOT_COORDINATOR, Guard.L2)
    return refuse(Error.NONE, Guard.NO_GUARD)
