"""What a consumer makes of the batches that it fetched: which records the application gets, and where it goes on.

Theory of operation: the steps of the consumer (``statemachines.consumer.reading``) say what becomes of each batch; here
are the answers with their lists of aborted transactions, earliest first, what is held back, and the position. A batch
whose checksum is wrong is never passed over. Who buffers delivers a transaction at its marker, so what it was given is
told by three offsets, as the proposal of 2014 has it (``statemachines.proposal2014.checkpoints``): from where it has to
read again (the first record of what was open), up to where everything is delivered or open (`delivered_to`), and of the
transaction whose marker is there, the last record that was (`partly`).
Source: reference §6; ``CompletedFetch.java``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from zombieproof.broker.cluster.journal import Journal
from zombieproof.clients.pending_transactions import HeldTransaction, PendingTransactions
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.packed_records import PackedRecords
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Fetch, Fetched
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ConsumerState, Error, Isolation
from zombieproof.statemachines.consumer import reading
from zombieproof.statemachines.proposal2014 import checkpoints

FETCH_VERSION = 11


class CorruptBatchError(Exception):
    """The batch at the consumer's position does not match its checksum. The position stays."""

    def __init__(self, partition: TopicPartition, offset: int) -> None:
        super().__init__(
            f"{partition[0]}-{partition[1]}: the batch at offset {offset} does not match its checksum; "
            f"it is not passed over: seek behind it to go on without it"
        )
        self.offset = offset


class FetchError(Exception):
    """The fetch was answered with an error; nothing was read."""

    def __init__(self, partition: TopicPartition, error: int) -> None:
        super().__init__(f"{partition[0]}-{partition[1]}: fetch was answered with {Error(error).name}")
        self.error = error


@dataclass(frozen=True, slots=True)
class Delivered:
    """One record that the application gets, with its time (ms) as its batch has it."""

    offset: int
    record: Record
    timestamp_ms: int = field(default=NONE, compare=False)


@dataclass(slots=True)
class Part:
    """What a batch, or the marker at offset `marker`, gives the application; `end_offset`: where what follows begins.

    `first_offset`: that of the first record that was held back, or is given. The records are read once.
    """

    first_offset: int
    end_offset: int
    records: Iterator[Delivered]
    marker: int = NONE
    held: HeldTransaction | None = None

    def close(self) -> None:
        """Nobody reads it any more."""
        if self.held is not None:
            self.held.close()


@dataclass(slots=True)
class FetchFilter:
    """One consumer of one partition; `position` is the offset that it asks for next.

    What ends before `delivered_to` was delivered before, and of the transaction whose marker is there the records up to
    `partly`.
    """

    partition: TopicPartition
    isolation: Isolation
    rules: Rules
    journal: Journal
    position: int = 0
    pending: PendingTransactions = field(default_factory=PendingTransactions)
    delivered_to: int = 0
    partly: int = NONE
    _states: dict[int, int] = field(default_factory=dict)
    _effects: reading.ConsumerEffects = field(default_factory=reading.ConsumerEffects)

    @property
    def held_offsets(self) -> frozenset[int]:
        """The offsets of the records that are held back until a marker decides on them."""
        held = (each for transaction in self.pending.of(self.partition) for each in transaction)
        return frozenset(record.offset for from_offset, batch in held for record in _records(batch, from_offset))

    def request(self) -> Fetch:
        """What it asks the broker for."""
        return Fetch(
            FETCH_VERSION, Isolation(reading.isolation_of_request(self.isolation)), {self.partition: self.position}
        )

    def read(self, fetched: Fetched, corrupt_at: Iterable[int] = ()) -> tuple[Delivered, ...]:
        """The records of one answer that the application gets: those of its `parts`."""
        return tuple(chain.from_iterable(part.records for part in self.parts(fetched, corrupt_at)))

    def parts(self, fetched: Fetched, corrupt_at: Iterable[int] = ()) -> list[Part]:
        """What one answer gives the application, in order; the position moves behind what was read.

        Args:
            fetched: the answer for this partition.
            corrupt_at: base offsets of batches whose checksum does not match. What is before the first is delivered.

        Raises:
            CorruptBatchError: the first batch to be read is one of them, or its records are not what it says.
            FetchError: the answer is an error.
        """
        if fetched.error != Error.NONE:
            raise FetchError(self.partition, fetched.error)
        if not reading.keeps_states(self.isolation):
            self._states.clear()
        aborted = sorted(fetched.aborted or (), key=lambda entry: entry[1])
        found, damaged, was_read = list[Part](), frozenset(corrupt_at), False
        for batch in fetched.batches:
            if batch.last_offset < self.position:
                continue
            if batch.base_offset in damaged:
                if not was_read:
                    raise CorruptBatchError(self.partition, batch.base_offset)
                break
            aborted = self._begin_aborted(aborted, batch)
            try:
                part = self._consume(batch)
            except Undecodable as fault:
                if was_read:
                    break
                raise CorruptBatchError(self.partition, batch.base_offset) from fault
            was_read = True
            if part is not None:
                found.append(part)
            self.position = batch.last_offset + 1
        return found

    def _begin_aborted(self, aborted: list[tuple[int, int]], batch: Batch) -> list[tuple[int, int]]:
        """Skip from now on whoever has an aborted transaction that begins at or before the batch's end."""
        due = 0
        for producer_id, first in aborted:
            if not reading.is_due(first, batch.producer_id, batch.last_offset, self.rules):
                break
            due += 1
            state = reading.aborted_begins(self._state(producer_id), self.isolation, self.journal.begin())
            self._moved(producer_id, state)
        return aborted[due:]

    def _consume(self, batch: Batch) -> Part | None:
        committed = batch.marker is not None and batch.marker.committed
        control, transactional = batch.marker is not None, batch.transactional
        met = reading.Met(control, committed, transactional, batch.is_empty_control)
        state, effects = self._state(batch.producer_id), self._effects
        state = reading.read(state, self.isolation, met, self.rules, effects, self.journal.begin())
        self._moved(batch.producer_id, state)
        if isinstance(batch.records, PackedRecords) and (effects.delivers or effects.holds):
            batch.records.unpack()
        if effects.delivers:
            first = max(self.position, self.delivered_to)
            return Part(max(first, batch.base_offset), batch.last_offset + 1, _records(batch, first))
        if effects.delivers_held:
            return self._decided(batch)
        if effects.drops_held:
            self.pending.drop(self.partition, batch.producer_id)
        elif effects.holds:
            self.pending.hold(self.partition, batch.producer_id, batch, self.position)
        return None

    def _decided(self, marker: Batch) -> Part | None:
        """What was held back of the producer id of a marker, unless it was delivered before."""
        held, at = self.pending.release(self.partition, marker.producer_id), marker.base_offset
        if held is None:
            return None
        if checkpoints.was_delivered(at, self.delivered_to):
            held.close()
            return None
        first = checkpoints.delivered_up_to(at, self.delivered_to, self.partly) + 1
        return Part(held.first_offset, marker.last_offset + 1, _of_transaction(held, first), at, held)

    def _state(self, producer_id: int) -> int:
        return self._states.get(producer_id, int(ConsumerState.DELIVERING))

    def _moved(self, producer_id: int, state: int) -> None:
        self.journal.take(f"{self.partition[0]}-{self.partition[1]} producer {producer_id}")
        if state != self._state(producer_id):
            self._states[producer_id] = state


def _records(batch: Batch, first_offset: int) -> Iterator[Delivered]:
    """The records of a batch from `first_offset` on."""
    for offset, record, timestamp_ms in zip(batch.offsets, batch.records, batch.timestamps, strict=True):
        if offset >= first_offset:
            yield Delivered(offset, record, timestamp_ms)


def _of_transaction(held: HeldTransaction, first_offset: int) -> Iterator[Delivered]:
    """The records of a transaction that was held back, from `first_offset` on; it is closed behind the last."""
    for from_offset, batch in held:
        yield from _records(batch, max(from_offset, first_offset))
    held.close()
