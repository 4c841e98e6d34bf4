"""What a consumer makes of the batches that it fetched: which records the application gets, and where it goes on.

Theory of operation: the machine of a producer id says whether its batches are delivered. With read_committed it is
moved by the broker's list of aborted transactions, earliest first, and by abort markers; all of that is forgotten with
each answer. Buffering in the client (KIP-98's text, not Kafka's way) needs no list: transactional batches are held
back, over any number of answers, until their marker. A batch whose checksum is wrong is never passed over.
Source: reference §6; ``CompletedFetch.java``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.broker.cluster.journal import Journal
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Fetch, Fetched
from zombieproof.model.decisions.consume import Delivery, decide_read
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, ConsumerEvent, ConsumerState, Error, Isolation
from zombieproof.statemachines.consumer import CONSUMER

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

    @property
    def held_offsets(self) -> frozenset[int]:
        """The offsets of the records that are held back until a marker decides on them."""
        return frozenset(record.offset for held in self._held.values() for record in held)

    def request(self) -> Fetch:
        """What it asks the broker for. The broker is not told of buffering: it then has nothing to hold back."""
        reads_committed = self.isolation == Isolation.READ_COMMITTED
        told = Isolation.READ_COMMITTED if reads_committed else Isolation.READ_UNCOMMITTED
        return Fetch(FETCH_VERSION, told, {self.partition: self.position})

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
        if self.isolation != Isolation.READ_COMMITTED_BUFFERING:
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
        if batch.producer_id == NONE or self.rules.aborted_list == 0:
            return aborted
        begun = [producer_id for producer_id, first in aborted if first <= batch.last_offset]
        for producer_id in begun:
            verdict = decide_read(self.isolation, self._state(producer_id), 0, 0, 1, 1)
            if verdict.event == ConsumerEvent.ABORTED_TRANSACTION_BEGINS:
                self._move(producer_id, verdict.event)
        return aborted[len(begun) :]

    def _consume(self, batch: Batch) -> list[Delivered]:
        if batch.is_empty_control:
            return []
        control = 0 if batch.marker is None else 1
        committed = 1 if batch.marker is not None and batch.marker.committed else 0
        records = [
            Delivered(offset, record)
            for offset, record in zip(batch.offsets, batch.records, strict=True)
            if offset >= self.position
        ]
        state = self._state(batch.producer_id)
        verdict = decide_read(self.isolation, state, control, committed, int(batch.transactional), 0)
        stays = verdict.event == ConsumerEvent.ABORT_MARKER and self.rules.skipping_ends == 0
        # Plain data is of no transaction: whatever becomes of its producer's transaction does not concern it.
        if verdict.event != NOTHING and not stays and (control or batch.transactional):
            self._move(batch.producer_id, verdict.event)
        if verdict.delivery == Delivery.THIS_BATCH:
            return records
        if verdict.delivery == Delivery.HELD_BACK:
            return self._held.pop(batch.producer_id, [])
        if verdict.delivery == Delivery.DROP_HELD_BACK:
            self._held.pop(batch.producer_id, None)
        elif self.isolation == Isolation.READ_COMMITTED_BUFFERING:
            self._held.setdefault(batch.producer_id, []).extend(records)
        return []

    def _state(self, producer_id: int) -> int:
        return self._states.get(producer_id, int(ConsumerState.DELIVERING))

    def _move(self, producer_id: int, event: int) -> None:
        subject = f"{self.partition[0]}-{self.partition[1]} producer {producer_id}"
        self._states[producer_id] = self.journal.move(CONSUMER, subject, self._state(producer_id), event)
