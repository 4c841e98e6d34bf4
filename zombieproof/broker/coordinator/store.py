"""The state behind a transaction coordinator: which ids it holds, and what is on its way into their log.

Theory of operation: an id lives in one partition of ``__transaction_state``; whoever leads it holds its ids in memory,
as the log says, under the leader epoch with which they were loaded (the coordinator epoch). What is on its way into the
log waits in `_in_flight` as data. Nothing is judged here.

Source: reference §2.2, §2.4 to §2.6, §2.15; ``TransactionStateManager.scala``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.coordinator.effects import Append
from zombieproof.broker.coordinator.waiting import Waiter
from zombieproof.formats.batches import Batch, TransactionValue
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.statemachines.coordinator import loading
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects, clear
from zombieproof.statemachines.coordinator.records import Operation, PendingTransition


class Place(NamedTuple):
    """Where an id lives, and how this broker stands to that partition."""

    partition: int
    is_loading: bool
    leads: bool
    coordinator_epoch: int


@dataclass(slots=True)
class LoadedPartition:
    """One partition of ``__transaction_state`` that is led here."""

    coordinator_epoch: int
    transactions: dict[str, Transaction] = field(default_factory=dict)


@dataclass(slots=True)
class InFlight:
    """An append whose outcome is not known yet: what it makes true and what follows, and who waits for that."""

    append: Append
    pending: PendingTransition
    waiter: Waiter


class TransactionStore:
    """Ids, their transactions and their log, for one coordinator."""

    def __init__(self, rules: Rules, numbers: PartitionNumbers, metadata: Metadata) -> None:
        self._rules, self._numbers, self._metadata = rules, numbers, metadata
        self._loaded: dict[int, LoadedPartition] = {}
        self._loading: set[tuple[int, int]] = set()
        self._in_flight: dict[int, InFlight] = {}
        self._appends = 0

    # ---------------------------------------------------------------- what is here

    @property
    def partitions(self) -> dict[int, LoadedPartition]:
        """Every partition that is loaded, by number."""
        return self._loaded

    @property
    def is_loading(self) -> bool:
        """Whether any partition is being loaded."""
        return bool(self._loading)

    def transactions(self) -> Iterator[tuple[str, Transaction]]:
        """Every id of every loaded partition with its transaction."""
        for number in sorted(self._loaded):
            yield from list(self._loaded[number].transactions.items())

    def mentioned_partitions(self) -> Iterator[int]:
        """The masks of partitions of every transaction, and of every record that is on its way into the log."""
        for loaded in self._loaded.values():
            for transaction in loaded.transactions.values():
                yield transaction.partitions
        for waiting in self._in_flight.values():
            yield waiting.pending.target.partitions

    def find(self, transactional_id: str) -> tuple[Place, Transaction | None]:
        """Find an id (L1 to L3): its place, and its transaction if it is known here."""
        _, number = self._metadata.transaction_partition(transactional_id)
        loading = bool(self._loading) and any(partition == number for partition, _ in self._loading)
        loaded = self._loaded.get(number)
        if loaded is None:
            return Place(number, loading, False, NONE), None
        # While a partition is being loaded, what is still held of it is nobody's to see.
        held = None if loading else loaded.transactions.get(transactional_id)
        return Place(number, loading, True, loaded.coordinator_epoch), held

    def insert(self, partition: int, transactional_id: str, transaction: Transaction) -> None:
        """Hold fresh metadata of an id that was not known; nothing of it is in the log yet (§2.2)."""
        self._loaded[partition].transactions[transactional_id] = transaction

    def drop(self, partition: int, transactional_id: str) -> None:
        """The tombstone of an id is durable."""
        del self._loaded[partition].transactions[transactional_id]

    # ---------------------------------------------------------------- load and unload

    def begin_loading(self, partition: int, coordinator_epoch: int) -> None:
        """An election (Z1): lookups answer COORDINATOR_LOAD_IN_PROGRESS until the load is through."""
        self._loading.add((partition, coordinator_epoch))

    def finish_loading(self, partition: int, coordinator_epoch: int, batches: Iterable[Batch]) -> list[str]:
        """The log was read (Z3 to Z5); returned are the ids whose decided transactions are to be driven to their end.

        Nothing is installed if the partition was lost meanwhile (Z4), or is here under a newer epoch already.
        """
        if (partition, coordinator_epoch) not in self._loading:
            return []
        loaded, effects, driven = LoadedPartition(coordinator_epoch), CoordinatorEffects(), list[str]()
        for transactional_id, value in last_values(batches).items():
            transaction = loaded.transactions[transactional_id] = Transaction()
            clear(effects)
            loading.load(transaction, self._record_of(value), self._rules, effects)
            if effects.sends_markers:
                driven.append(transactional_id)
        self._loading.discard((partition, coordinator_epoch))
        present = self._loaded.get(partition)
        if not loading.installs(True, NONE if present is None else present.coordinator_epoch, coordinator_epoch):
            return []
        self._loaded[partition] = loaded
        return driven

    def remove(self, partition: int, coordinator_epoch: int | None) -> None:
        """A resignation (Z7): what is loaded is dropped, and loads of older epochs end."""
        resigned = NONE if coordinator_epoch is None else coordinator_epoch
        self._loading = {
            (number, epoch)
            for number, epoch in self._loading
            if number != partition or not loading.ends_load(epoch, resigned, self._rules)
        }
        self._loaded.pop(partition, None)

    # ---------------------------------------------------------------- appends

    def send(self, partition: int, transactional_id: str, pending: PendingTransition, waiter: Waiter) -> Append:
        """What is pending is on its way into the log."""
        value = None if pending.operation == Operation.EXPIRE else self._value_of(pending.target)
        self._appends += 1
        append = Append(partition, pending.coordinator_epoch, transactional_id, value, self._appends)
        self._in_flight[append.number] = InFlight(append, pending, waiter)
        return append

    def pending(self, append: Append) -> PendingTransition:
        """The transition that an append in flight makes true."""
        return self._in_flight[append.number].pending

    def take(self, append: Append) -> InFlight | None:
        """An append has its outcome; None: it was answered before."""
        return self._in_flight.pop(append.number, None)

    def in_flight(self, partition: int) -> list[Append]:
        """The appends to a partition whose outcome is not known yet."""
        return [waiting.append for waiting in self._in_flight.values() if waiting.append.partition == partition]

    def is_in_flight(self, transactional_id: str) -> bool:
        """Whether the outcome of an append of this id is not known yet."""
        return any(waiting.append.transactional_id == transactional_id for waiting in self._in_flight.values())

    # ---------------------------------------------------------------- records

    def _value_of(self, record: Transaction) -> TransactionValue:
        return TransactionValue(
            producer_id=record.producer_id,
            previous_producer_id=record.previous_producer_id,
            next_producer_id=record.next_producer_id,
            producer_epoch=record.producer_epoch,
            last_producer_epoch=record.last_producer_epoch,
            timeout_ms=record.timeout_ms,
            state=TransactionState(record.state),
            partitions=self._numbers.partitions(record.partitions),
            last_update_ms=record.last_update_ms,
            start_ms=record.start_ms,
            client_transaction_version=record.client_transaction_version,
            next_producer_epoch=record.next_producer_epoch,
        )

    def _record_of(self, value: TransactionValue) -> Transaction:
        return Transaction(
            known=True,
            state=value.state,
            producer_id=value.producer_id,
            previous_producer_id=value.previous_producer_id,
            next_producer_id=value.next_producer_id,
            producer_epoch=value.producer_epoch,
            partitions=self._numbers.mask(value.partitions),
            timeout_ms=value.timeout_ms,
            start_ms=value.start_ms,
            last_update_ms=value.last_update_ms,
            client_transaction_version=value.client_transaction_version,
            next_producer_epoch=value.next_producer_epoch,
        )


def last_values(batches: Iterable[Batch]) -> dict[str, TransactionValue]:
    """The last value of every id in a log; a tombstone removes, a record of an unknown kind is skipped (Z3)."""
    values: dict[str, TransactionValue] = {}
    for batch in batches:
        for record in batch.records:
            if not isinstance(record.key, str):
                continue
            if isinstance(record.value, TransactionValue):
                values[record.key] = record.value
            elif record.value is None:
                values.pop(record.key, None)
    return values
