"""What a consumer makes of the batches that it fetched: which records the application gets, and where it goes on.

Theory of operation: the steps of the consumer (``statemachines.consumer.reading``) say what becomes of each batch; here
are the answers with their lists of aborted transactions, earliest first, what is held back, and the position. A batch
whose checksum is wrong is never passed over.
Source: reference §6; ``CompletedFetch.java``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.broker.cluster.journal import Journal
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Fetch, Fetched
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ConsumerState, Error, Isolation
from zombieproof.statemachines.consumer import reading

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
    """One record that the application gets."""

    offset: int
    record: Record


@dataclass(slots=True)
class FetchFilter:
    """One consumer of one partition; `position` is the offset that it asks for next."""

    partition: TopicPartition
    isolation: Isolation
    rules: Rules
    journal: Journal
    position: int = 0
    _states: dict[int, int] = field(default_factory=dict)
    _held: dict[int, list[Delivered]] = field(default_factory=dict)
    _effects: reading.ConsumerEffects = field(default_factory=reading.ConsumerEffects)

    @property
    def held_offsets(self) -> frozenset[int]:
        """The offsets of the records that are held back until a marker decides on them."""
        return frozenset(record.offset for held in self._held.values() for record in held)

    def request(self) -> Fetch:
        """What it asks the broker for."""
        return Fetch(
            FETCH_VERSION, Isolation(reading.isolation_of_request(self.isolation)), {self.partition: self.position}
        )

    def read(self, fetched: Fetched, corrupt_at: Iterable[int] = ()) -> tuple[Delivered, ...]:
        """The records of one answer that the application gets; the position moves behind what was read.

        Args:
            fetched: the answer for this partition.
            corrupt_at: base offsets of batches whose checksum does not match. What is before the first is delivered.

        Raises:
            CorruptBatchError: the first batch to be read is one of them.
            FetchError: the answer is an error.
        """
        if fetched.error != Error.NONE:
            raise FetchError(self.partition, fetched.error)
        if not reading.keeps_states(self.isolation):
            self._states.clear()
        aborted = sorted(fetched.aborted or (), key=lambda entry: entry[1])
        delivered, damaged, was_read = list[Delivered](), frozenset(corrupt_at), False
        for batch in fetched.batches:
            if batch.last_offset < self.position:
                continue
            if batch.base_offset in damaged:
                if not was_read:
                    raise CorruptBatchError(self.partition, batch.base_offset)
                break
            was_read = True
            aborted = self._begin_aborted(aborted, batch)
            delivered += self._consume(batch)
            self.position = batch.last_offset + 1
        return tuple(delivered)

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

    def _consume(self, batch: Batch) -> list[Delivered]:
        committed = batch.marker is not None and batch.marker.committed
        control, transactional = batch.marker is not None, batch.transactional
        met = reading.Met(control, committed, transactional, batch.is_empty_control)
        state, effects = self._state(batch.producer_id), self._effects
        state = reading.read(state, self.isolation, met, self.rules, effects, self.journal.begin())
        self._moved(batch.producer_id, state)
        if effects.delivers:
            return self._records(batch)
        if effects.delivers_held:
            return self._held.pop(batch.producer_id, [])
        if effects.drops_held:
            self._held.pop(batch.producer_id, None)
        elif effects.holds:
            self._held.setdefault(batch.producer_id, []).extend(self._records(batch))
        return []

    def _records(self, batch: Batch) -> list[Delivered]:
        return [
            Delivered(offset, record)
            for offset, record in zip(batch.offsets, batch.records, strict=True)
            if offset >= self.position
        ]

    def _state(self, producer_id: int) -> int:
        return self._states.get(producer_id, int(ConsumerState.DELIVERING))

    def _moved(self, producer_id: int, state: int) -> None:
        self.journal.take(f"{self.partition[0]}-{self.partition[1]} producer {producer_id}")
        if state != self._state(producer_id):
            self._states[producer_id] = state
