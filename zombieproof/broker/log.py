"""What is durable: logs of record batches, as an interface, and the one that lives in memory.

A batch holds typed records: bytes in data partitions, `TransactionValue` under a transactional id in
``__transaction_state``, `OffsetValue` under an `OffsetKey` (and `GroupValue` under a `GroupKey`) in
``__consumer_offsets``. How they are encoded is the store's affair.
Source: reference §7.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX, TransactionState
from zombieproof.traces.evidence import TopicPartition

TRANSACTION_STATE = "__transaction_state"
CONSUMER_OFFSETS = "__consumer_offsets"
INTERNAL_TOPICS = frozenset({TRANSACTION_STATE, CONSUMER_OFFSETS})


@dataclass(frozen=True, slots=True)
class TransactionValue:
    """The value of a ``__transaction_state`` record (reference §7.1); `partitions` by name, not as a mask.

    `next_producer_epoch` is that of a two-phase participant (KIP-939), which no release writes.
    """

    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    last_update_ms: int
    start_ms: int
    client_transaction_version: int
    next_producer_epoch: int = NONE


@dataclass(frozen=True, slots=True)
class OffsetKey:
    """Whose offset it is."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class OffsetValue:
    """A committed offset with its metadata, and when and under which leader epoch it was committed."""

    offset: int
    metadata: str
    committed_ms: int = NONE
    leader_epoch: int = NONE


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The metadata record of a classic group, or of a consumer-protocol group (`classic` False)."""

    group: str
    classic: bool = True


@dataclass(frozen=True, slots=True)
class GroupValue:
    """What of a group survives its coordinator: generation (or group epoch) and members with their (member) epochs.

    Of a classic group also the leader and the static instance of each member that has one; of a consumer group the
    epoch of its assignment, the epoch that each member had before, the topics that it reads, and since which epoch it
    has which partition (``ConsumerGroupCurrentMemberAssignmentValue``).
    """

    generation: int
    members: tuple[tuple[str, int], ...]
    leader: str = ""
    instances: tuple[tuple[str, str], ...] = ()
    assignment_epoch: int = NONE
    topics: tuple[tuple[str, tuple[str, ...]], ...] = ()
    partitions: tuple[tuple[str, tuple[tuple[TopicPartition, int], ...]], ...] = ()
    previous_epochs: tuple[tuple[str, int], ...] = ()


RecordKey = bytes | str | OffsetKey | GroupKey | None
RecordValue = bytes | TransactionValue | OffsetValue | GroupValue | None


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `value` None is a tombstone. `offset_delta`: its place in a batch of which records are gone."""

    key: RecordKey
    value: RecordValue
    offset_delta: int = NONE


@dataclass(frozen=True, slots=True)
class Marker:
    """The content of a control batch: the end of a transaction."""

    committed: bool
    coordinator_epoch: int
    transaction_version: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """One record batch. `base_offset` is NONE until it is appended; `marker` makes it a control batch.

    `last_offset_delta` is one less than the number of records where the batch is whole. `is_empty_control`: a control
    batch whose marker was compacted away.
    """

    producer_id: int = NONE
    producer_epoch: int = NONE
    base_sequence: int = NONE
    transactional: bool = False
    records: tuple[Record, ...] = ()
    marker: Marker | None = None
    last_offset_delta: int = 0
    timestamp_ms: int = NONE
    leader_epoch: int = NONE
    base_offset: int = NONE
    is_empty_control: bool = False

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offset of each record."""
        deltas = (i if record.offset_delta == NONE else record.offset_delta for i, record in enumerate(self.records))
        return tuple(self.base_offset + delta for delta in deltas)

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, wrapped behind the largest; NONE where the batch has no sequences."""
        if self.base_sequence == NONE:
            return NONE
        return (self.base_sequence + self.last_offset_delta) & SEQUENCE_MAX


class Log(Protocol):
    """The store of one partition. What was appended is durable when `append` returns."""

    @property
    def start_offset(self) -> int:
        """The first offset that is still there."""
        ...

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        ...

    def append(self, batch: Batch) -> Batch:
        """Make `batch` durable at the end of the log; returned is the batch with its offset."""
        ...

    def read(self, from_offset: int = 0) -> Iterator[Batch]:
        """Every batch that reaches `from_offset` or goes beyond, in order."""
        ...

    def truncate(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset` (a follower whose leader never had them)."""
        ...

    def restart_at(self, offset: int) -> None:
        """Drop everything; the next record gets `offset`."""
        ...

    def raise_start(self, offset: int) -> None:
        """Records below `offset` are not served any more (retention, DeleteRecords)."""
        ...


class MemoryLog:
    """A log in memory. It outlives the broker that uses it, as a disk would."""

    def __init__(self, batches: tuple[Batch, ...] = (), start_offset: int = 0) -> None:
        self._batches = list(batches)
        self._start = start_offset

    @property
    def start_offset(self) -> int:
        """The first offset that is still there."""
        return self._start

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self._batches[-1].last_offset + 1 if self._batches else self._start

    def append(self, batch: Batch) -> Batch:
        """Keep `batch`; a batch that already has an offset (a replica's) keeps it."""
        if batch.base_offset == NONE:
            batch = replace(batch, base_offset=self.end_offset)
        elif batch.base_offset != self.end_offset:
            raise ValueError(
                f"a batch at offset {batch.base_offset} cannot follow a log that ends at {self.end_offset}"
            )
        self._batches.append(batch)
        return batch

    def read(self, from_offset: int = 0) -> Iterator[Batch]:
        """Every batch that reaches `from_offset` or goes beyond, in order."""
        first = bisect_left(self._batches, from_offset, key=lambda batch: batch.last_offset)
        return iter(self._batches[first:])

    def truncate(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset`."""
        self._batches = [batch for batch in self._batches if batch.last_offset < end_offset]

    def restart_at(self, offset: int) -> None:
        """Drop everything; the next record gets `offset`."""
        self._batches = []
        self._start = offset

    def raise_start(self, offset: int) -> None:
        """Drop the batches that are wholly below `offset`.

        Raises:
            ValueError: `offset` is behind the end of the log.
        """
        if offset > self.end_offset:
            raise ValueError(f"the log ends at {self.end_offset}; it cannot start at {offset}")
        if offset > self._start:
            end = self.end_offset
            self._batches = [batch for batch in self._batches if batch.last_offset >= offset]
            self._start = offset if self._batches else end
