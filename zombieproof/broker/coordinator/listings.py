"""What a coordinator tells of its transactions: DescribeTransactions and ListTransactions (KIP-664).

Source: reference §2.16.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import re2

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.coordinator.store import TransactionStore
from zombieproof.messages.transactions import (
    DescribeTransactions,
    DescribeTransactionsAnswer,
    ListTransactions,
    ListTransactionsAnswer,
    TransactionDescription,
    TransactionListing,
)
from zombieproof.model.decisions.describe_transactions import decide_describe_transactions
from zombieproof.model.decisions.list_transactions import STATE_NAMES, decide_list_transactions, is_listed
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import Error


@dataclass(slots=True)
class TransactionListings:
    """Describes and lists the transactions of a store."""

    clock: Clock
    journal: Journal
    numbers: PartitionNumbers
    store: TransactionStore

    def describe(self, request: DescribeTransactions) -> DescribeTransactionsAnswer:
        """One row for each id asked for."""
        return DescribeTransactionsAnswer(tuple(self._describe(name) for name in request.transactional_ids))

    def _describe(self, transactional_id: str) -> TransactionDescription:
        found = None if transactional_id == "" else self.store.lookup(transactional_id)
        transaction = (found.transaction if found else None) or Transaction()
        lookup_error = found.error if found else 0
        verdict = decide_describe_transactions(transaction, int(transactional_id == ""), lookup_error)
        self.journal.decided("describe_transactions", verdict.guard, verdict.error, transactional_id)
        if verdict.error != Error.NONE:
            return TransactionDescription(transactional_id, verdict.error)
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
        matching = _matching(request.pattern, (name for name, _ in self.store.transactions()))
        verdict = decide_list_transactions(int(self.store.is_loading), int(matching is not None))
        self.journal.decided("list_transactions", verdict.guard, verdict.error, "")
        if verdict.error != Error.NONE or matching is None:
            return ListTransactionsAnswer(verdict.error)
        rows = []
        for name, transaction in self.store.transactions():
            state = STATE_NAMES[transaction.state]
            state_passes = not request.states or state in request.states
            id_passes = not request.producer_ids or transaction.producer_id in request.producer_ids
            passes = state_passes and id_passes and name in matching
            if is_listed(transaction, self.clock.now_ms(), request.duration_ms, int(passes)):
                rows.append(TransactionListing(name, transaction.producer_id, state))
        unknown = tuple(state for state in request.states if state not in STATE_NAMES.values())
        return ListTransactionsAnswer(0, tuple(sorted(rows, key=lambda row: row.transactional_id)), unknown)


def _matching(pattern: str | None, names: Iterable[str]) -> frozenset[str] | None:
    """The names that a pattern matches as a whole, all of them without one; None if it is malformed."""
    if not pattern:
        return frozenset(names)
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        return None
    return frozenset(name for name in names if compiled.fullmatch(name))
