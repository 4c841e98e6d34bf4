"""Elections of a coordinator (server action): a broker becomes, or ceases to be, the leader of a partition of ids.

Behaviour: an election begins a load under its leader epoch; lookups answer COORDINATOR_LOAD_IN_PROGRESS until it is
through. A resignation ends loads and drops what is in memory; one that comes late must not end a newer load.
Source: reference §2.15 (Z1, Z4, Z7); KAFKA-18137; ``TransactionStateManager.removeTransactionsForTxnTopicPartition``.
"""

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE


def ends_load(loading_epoch: int, resigned_epoch: int, rules: Rules) -> bool:
    """Whether a resignation ends a load that began under `loading_epoch` (Z7).

    `resigned_epoch` is the leader epoch with which the resignation comes; NONE: it names none, and ends every load.
    Before 4.0 a load of an older epoch than the one resigned from went on, and could install what it had read.
    """
    if resigned_epoch == NONE:
        return True
    if rules.unload_by_epoch == 1:
        return loading_epoch < resigned_epoch
    return loading_epoch == resigned_epoch
