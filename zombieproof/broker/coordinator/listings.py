"""What a coordinator tells of its transactions: DescribeTransactions and ListTransactions (KIP-664).

Source: reference §2.16.
"""

from dataclasses import dataclass

from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.coordinator.steps import Steps
from zombieproof.broker.patterns import matching
from zombieproof.messages.transactions import (
    DescribeTransactions,
    DescribeTransactionsAnswer,
    ListTransactions,
    ListTransactionsAnswer,
    TransactionDescription,
    TransactionListing,
)
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.coordinator import listings
from zombieproof.statemachines.coordinator.listings import STATE_NAMES


@dataclass(slots=True)
class TransactionListings:
    """Describes and lists the transactions of a store."""

    steps: Steps
    numbers: PartitionNumbers

    def describe(self, request: DescribeTransactions) -> DescribeTransactionsAnswer:
        """One row for each id asked for."""
        return DescribeTransactionsAnswer(tuple(self._describe(name) for name in request.transactional_ids))

    def _describe(self, transactional_id: str) -> TransactionDescription:
        transaction, office = self.steps.begin(transactional_id)
        error = listings.describe(transaction, transactional_id == "", office, self.steps.notes)
        self.steps.end(transactional_id, transaction)
        if error != Error.NONE:
            return TransactionDescription(transactional_id, error)
        return TransactionDescription(
            transactional_id,
            0,
            STATE_NAMES[transaction.state],
            transaction.timeout_ms,
            transaction.start_ms,
            transaction.producer_id,
            transaction.producer_epoch,
            self.numbers.partitions(transaction.partitions),
        )

    def list(self, request: ListTransactions) -> ListTransactionsAnswer:
        """The transactions that pass every filter, in the order of their ids."""
        store, now_ms = self.steps.store, self.steps.clock.now_ms()
        names = [name for name, _ in store.transactions()]
        wanted = frozenset(names) if not request.pattern else matching(request.pattern, names)
        error = listings.begin_list(store.is_loading, wanted is not None, self.steps.notes)
        self.steps.journal.take("", self.steps.notes)
        if error != Error.NONE or wanted is None:
            return ListTransactionsAnswer(error)
        rows = []
        for name, transaction in store.transactions():
            state = STATE_NAMES[transaction.state]
            state_passes = not request.states or state in request.states
            id_passes = not request.producer_ids or transaction.producer_id in request.producer_ids
            passes = state_passes and id_passes and name in wanted
            if listings.shows(transaction, now_ms, request.duration_ms, passes):
                rows.append(TransactionListing(name, transaction.producer_id, state))
        unknown = tuple(state for state in request.states if state not in STATE_NAMES.values())
        return ListTransactionsAnswer(0, tuple(sorted(rows, key=lambda row: row.transactional_id)), unknown)
