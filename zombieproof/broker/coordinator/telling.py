"""What steps noted, told to a broker's journal.

Source: ``zombieproof.statemachines.notes``.
"""

from types import MappingProxyType

from zombieproof.broker.cluster.journal import Journal
from zombieproof.model.vocabulary import CoordinatorEvent, TransactionState
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.statemachines.notes import Decision, Notes

MODULES = MappingProxyType(
    {
        Decision.INIT_PRODUCER_ID: "init_producer_id",
        Decision.KEEP_PREPARED: "keep_prepared",
        Decision.ADD_PARTITIONS: "add_partitions_to_txn",
        Decision.VERIFY_PARTITIONS: "add_partitions_to_txn",
        Decision.ADD_OFFSETS: "add_offsets_to_txn",
        Decision.END_TXN: "end_txn",
        Decision.TIMEOUT: "transaction_timeout",
        Decision.EXPIRATION: "transactional_id_expiration",
        Decision.LOOKUP: "find_coordinator",
        Decision.LOG_APPEND: "log_append",
        Decision.MARKER_DELIVERY: "marker_delivery",
        Decision.DESCRIBE_TRANSACTIONS: "describe_transactions",
        Decision.LIST_TRANSACTIONS: "list_transactions",
    }
)
"""Who decided -> the module that a journal names."""


def tell(journal: Journal, notes: Notes, subject: str) -> None:
    """Tell the journal what a step noted about `subject`.

    Raises:
        IllegalTransition: the step wanted a move that the table does not have.
    """
    for noted in notes.decisions[: notes.decision_count]:
        journal.decided(MODULES[Decision(noted.decision)], noted.guard, noted.error, subject)
    for moved in notes.moves[: notes.count]:
        journal.move(COORDINATOR, subject, moved.state, moved.event)
    if notes.illegal:
        wanted = notes.moves[notes.count]
        raise IllegalTransition(COORDINATOR, subject, TransactionState(wanted.state), CoordinatorEvent(wanted.event))
