"""The state behind a transaction coordinator: which ids it holds, and what is on its way into their log.

Theory of operation: an id lives in one partition of ``__transaction_state``; whoever leads it holds its ids in memory,
as the log says, under the leader epoch with which they were loaded (the coordinator epoch). A transition is *prepared*
(its target is pending), appended, and *completed* when the append is durable and nobody else took over meanwhile. What
is on its way waits in `_in_flight` as data.

Source: reference §2.2, §2.4 to §2.6, §2.15; ``TransactionStateManager.scala``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.coordinator.effects import Append
from zombieproof.broker.coordinator.waiting import Complete, Decide, Purpose
from zombieproof.formats.batches import Batch, TransactionValue
from zombieproof.model.decisions import transition
from zombieproof.model.decisions.coordinator_elections import ends_load
from zombieproof.model.decisions.find_coordinator import decide_lookup
from zombieproof.model.decisions.log_append import Aftermath, decide_append_outcome, decide_log_append
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Error, TransactionState
from zombieproof.statemachines.coordinator import COORDINATOR


class InvalidTransition(Exception):
    """A durable record that may not follow what is in memory: in Kafka an ``IllegalStateException`` (§2.4)."""


class Found(NamedTuple):
    """What a lookup found: an error (L1, L2), or the coordinator epoch and the transaction (None: not known)."""

    error: int
    partition: int
    coordinator_epoch: int
    transaction: Transaction | None


class Outcome(NamedTuple):
    """What came of an append: what it was for, the record it wanted durable, what it does to memory, and the error."""

    purpose: Purpose
    target: Transaction
    aftermath: Aftermath
    error: int


@dataclass(slots=True)
class LoadedPartition:
    """One partition of ``__transaction_state`` that is led here."""

    coordinator_epoch: int
    transactions: dict[str, Transaction] = field(default_factory=dict)


@dataclass(slots=True)
class InFlight:
    """An append whose outcome is not known yet: the record it makes true, and what it is for."""

    append: Append
    target: Transaction
    purpose: Purpose


class TransactionStore:
    """Ids, their transactions and their log, for one coordinator."""

    def __init__(
        self, rules: Rules, clock: Clock, journal: Journal, numbers: PartitionNumbers, metadata: Metadata
    ) -> None:
        self._rules, self._clock, self._journal = rules, clock, journal
        self._numbers, self._metadata = numbers, metadata
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
            yield waiting.target.partitions

    def lookup(self, transactional_id: str) -> Found:
        """Find an id (L1 to L3)."""
        _, number = self._metadata.transaction_partition(transactional_id)
        loaded = self._loaded.get(number)
        loading = any(partition == number for partition, _ in self._loading)
        verdict = decide_lookup(int(loading), int(loaded is not None))
        if verdict.error != Error.NONE or loaded is None:
            self._journal.decided("find_coordinator", verdict.guard, verdict.error, transactional_id)
            return Found(verdict.error, number, NONE, None)
        return Found(0, number, loaded.coordinator_epoch, loaded.transactions.get(transactional_id))

    def insert(self, found: Found, transactional_id: str, transaction: Transaction) -> None:
        """Hold fresh metadata of an id that was not known; nothing of it is in the log yet (§2.2)."""
        self._loaded[found.partition].transactions[transactional_id] = transaction

    # ---------------------------------------------------------------- load and unload

    def begin_loading(self, partition: int, coordinator_epoch: int) -> None:
        """An election (Z1): lookups answer COORDINATOR_LOAD_IN_PROGRESS until the load is through."""
        self._loading.add((partition, coordinator_epoch))

    def finish_loading(self, partition: int, coordinator_epoch: int, batches: Iterable[Batch]) -> list[str]:
        """The log was read (Z3 to Z5); returned are the ids whose decided transactions must be driven to their end.

        Nothing is installed if the partition was lost meanwhile (Z4), or is here under a newer epoch already.
        """
        if (partition, coordinator_epoch) not in self._loading:
            return []
        loaded = LoadedPartition(coordinator_epoch)
        for transactional_id, value in last_values(batches).items():
            transaction, durable = Transaction(), self._record_of(value)
            completing = COORDINATOR.table[durable.state][CoordinatorEvent.MARKERS_WRITTEN]
            transition.load(transaction, durable, completing, self._rules)
            loaded.transactions[transactional_id] = transaction
        self._loading.discard((partition, coordinator_epoch))
        present = self._loaded.get(partition)
        if present is not None and present.coordinator_epoch > coordinator_epoch:
            return []
        self._loaded[partition] = loaded
        return [name for name, transaction in loaded.transactions.items() if transaction.pending_state != NONE]

    def remove(self, partition: int, coordinator_epoch: int | None) -> None:
        """A resignation (Z7): what is loaded is dropped, and loads of older epochs end."""
        resigned = NONE if coordinator_epoch is None else coordinator_epoch
        self._loading = {
            (number, epoch)
            for number, epoch in self._loading
            if number != partition or not ends_load(epoch, resigned, self._rules)
        }
        self._loaded.pop(partition, None)

    # ---------------------------------------------------------------- appends

    def append(
        self,
        transactional_id: str,
        found: Found,
        verdict: Verdict,
        purpose: Purpose,
        timeout_ms: int = 0,
        now_ms: int | None = None,
    ) -> tuple[int, list[Append]]:
        """Prepare what `verdict` says and put it on its way into the log; or the error that forbids it (G1 to G4).

        `now_ms` is the time that the record carries; the present by default.
        """
        transaction = found.transaction
        assert transaction is not None, "nothing can be prepared for an id that is not known"
        fenced = transaction.pending_state == TransactionState.PREPARE_EPOCH_FENCE
        source = transaction.pending_state if fenced else transaction.state
        state = self._journal.move(COORDINATOR, transactional_id, source, verdict.event)
        target = Transaction()
        when = self._clock.now_ms() if now_ms is None else now_ms
        transition.prepare(transaction, verdict, state, timeout_ms, when, target)
        transaction.pending_state = state
        value = None if verdict.event == CoordinatorEvent.EXPIRE else self._value_of(target)
        self._appends += 1
        append = Append(found.partition, found.coordinator_epoch, transactional_id, value, self._appends)
        error = self.may_append(append)
        if error != Error.NONE:
            return error, []
        self._in_flight[append.number] = InFlight(append, target, purpose)
        return 0, [append]

    def may_append(self, append: Append) -> int:
        """Why an append may not be made now, or NONE (G1 to G4)."""
        found = self.lookup(append.transactional_id)
        version = 0 if append.value is None else append.value.client_transaction_version
        same = int(found.coordinator_epoch == append.coordinator_epoch)
        verdict = decide_log_append(version, found.error, int(found.transaction is not None), same, self._rules)
        if verdict.error != Error.NONE:
            self._journal.decided("log_append", verdict.guard, verdict.error, append.transactional_id)
        return verdict.error

    def in_flight(self, partition: int) -> list[Append]:
        """The appends to a partition whose outcome is not known yet."""
        return [waiting.append for waiting in self._in_flight.values() if waiting.append.partition == partition]

    def in_flight_of(self, transactional_id: str) -> list[Append]:
        """The appends of an id whose outcome is not known yet."""
        waiting = (each.append for each in self._in_flight.values())
        return [append for append in waiting if append.transactional_id == transactional_id]

    def appended(self, append: Append, error: int) -> Outcome | None:
        """The outcome of an append: complete the transition, or give it up. None: it was answered before.

        `error` is what ``error_of_append`` makes of the log's error.

        Raises:
            InvalidTransition: the record may not follow what is in memory.
        """
        waiting = self._in_flight.pop(append.number, None)
        if waiting is None:
            return None
        found = self.lookup(append.transactional_id)
        same = int(found.coordinator_epoch == append.coordinator_epoch)
        known = int(found.transaction is not None)
        retries = int(isinstance(waiting.purpose, Complete))
        outcome = decide_append_outcome(error, found.error, known, same, retries)
        if outcome.aftermath == Aftermath.COMPLETE and found.transaction is not None:
            self._complete(append, found.transaction, waiting.target)
        elif outcome.aftermath == Aftermath.GIVE_UP and found.transaction is not None:
            transition.give_up(found.transaction, self._failed_fence(waiting.purpose), self._rules)
        return Outcome(waiting.purpose, waiting.target, Aftermath(outcome.aftermath), outcome.error)

    def _failed_fence(self, purpose: Purpose) -> int:
        if not isinstance(purpose, Decide) or not purpose.fences:
            return 0
        return int(transition.fence_counts_at_once(purpose.request.version, self._rules))

    def _complete(self, append: Append, transaction: Transaction, target: Transaction) -> None:
        if append.value is None:
            del self._loaded[append.partition].transactions[append.transactional_id]
            return
        if not transition.is_valid(transaction, target):
            state = TransactionState(target.state).name
            raise InvalidTransition(
                f"{append.transactional_id!r}: the log holds a record in {state} that may not follow {transaction}; "
                "its transition was not pending, or is of another producer"
            )
        transition.complete_by(transaction, target, self._rules)

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
            known=1,
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
