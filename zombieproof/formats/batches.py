"""What a log holds: batches of typed records.

A record holds bytes in data partitions, `TransactionValue` under a transactional id in ``__transaction_state``,
`OffsetValue` under an `OffsetKey` (and `GroupValue` under a `GroupKey`) in ``__consumer_offsets``. What a broker does
not know of these stays bytes. `encoding` makes bytes of batches, and batches of bytes.
Source: reference §7.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import BatchHeader, TimestampType, add_to_sequence
from zombieproof.formats.stored_records import RecordHeader
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX, TransactionState


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
    """A committed offset with its metadata, and when and under which leader epoch it was committed.

    `until_ms`: when it expires, where its commit has said it. `topic_id`: of its topic, where the record has one.
    """

    offset: int
    metadata: str
    committed_ms: int = NONE
    leader_epoch: int = NONE
    until_ms: int = NONE
    topic_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The metadata record of a classic group. Records of consumer groups are several, and stay bytes."""

    group: str


Since = tuple[tuple[TopicPartition, int], ...]
"""Partitions, each with the epoch in which somebody got it."""


@dataclass(frozen=True, slots=True)
class ConsumerMemberValue:
    """What else survives of a member of a consumer group: the epoch before its own, and Kafka's ``MemberState``.

    It has `partitions`, gives `revoking` back, and is to have `target`. What it has said: static instance, topics, a
    regular expression of more of them, rebalance time-out (ms) and assignor; None and -1: nothing.
    Source: ``ConsumerGroupCurrentMemberAssignmentValue``, ``ConsumerGroupMemberMetadataValue``.
    """

    previous_epoch: int
    state: int = 0
    partitions: Since = ()
    revoking: Since = ()
    target: tuple[TopicPartition, ...] = ()
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    instance: str | None = None
    rebalance_timeout_ms: int = NONE
    assignor: str | None = None


@dataclass(frozen=True, slots=True)
class GroupValue:
    """What of a group survives its coordinator: generation (or group epoch) and members with their (member) epochs.

    Of a classic group also the leader, the static instance of each member that has one, and of each member that has
    said so its session and rebalance time-outs (ms); of a consumer group the epoch of its assignment, what there is of
    each member (`consumers`), and which topics each regular expression has been found to mean (`patterns`).

    Of a classic group that its leader has assigned, also the type and name of the protocol, and of each member what it
    says to the assignor and what it got from it, as bytes (`formats.consumer_protocol`).
    """

    generation: int
    members: tuple[tuple[str, int], ...]
    leader: str = ""
    instances: tuple[tuple[str, str], ...] = ()
    assignment_epoch: int = NONE
    consumers: tuple[tuple[str, ConsumerMemberValue], ...] = ()
    patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    timeouts: tuple[tuple[str, tuple[int, int]], ...] = ()
    protocol_type: str = "consumer"
    protocol: str | None = None
    said: tuple[tuple[str, tuple[bytes, bytes]], ...] = ()


RecordKey = bytes | str | OffsetKey | GroupKey | None
RecordValue = bytes | TransactionValue | OffsetValue | GroupValue | None


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `value` None is a tombstone. `offset_delta`: its place in a batch of which records are gone.

    `timestamp_ms` None: that of its batch.
    """

    key: RecordKey
    value: RecordValue
    offset_delta: int = NONE
    headers: tuple[RecordHeader, ...] = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """The content of a control batch: the end of a transaction. What is stored has no transaction version."""

    committed: bool
    coordinator_epoch: int
    transaction_version: int = 0


class Encoded(NamedTuple):
    """The bytes that a batch was read from, and what was read from them.

    They are the batch's own as long as it holds these very objects.
    """

    data: bytes
    records: Sequence[Record]
    marker: Marker | None
    control_records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """One record batch. `base_offset` is NONE until it is appended; `marker` makes it a control batch.

    `records` are a tuple, or lie in the bytes of the batch until they are looked at (`packed_records`).
    `last_offset_delta` is one less than the number of records where the batch is whole. `is_empty_control`: a control
    batch whose marker was compacted away. `control_records`: of a control batch that is no plain marker (another kind,
    or a later version), what it holds, as bytes.

    `timestamp_ms` is the largest of its records, or when the broker stamped it. `base_timestamp_ms` None: that of the
    first record; with `has_delete_horizon` it is the horizon. `encoded`: the bytes that it came as, from a client or a
    disk. They are what a consumer gets, and what lies on disk, whatever codec and settings made them.
    """

    producer_id: int = NONE
    producer_epoch: int = NONE
    base_sequence: int = NONE
    transactional: bool = False
    records: Sequence[Record] = ()
    marker: Marker | None = None
    last_offset_delta: int = 0
    timestamp_ms: int = NONE
    leader_epoch: int = NONE
    base_offset: int = NONE
    is_empty_control: bool = False
    codec: Codec = Codec.NONE
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    base_timestamp_ms: int | None = None
    has_delete_horizon: bool = False
    control_records: tuple[Record, ...] = ()
    encoded: Encoded | None = field(default=None, compare=False, repr=False)

    @property
    def is_control(self) -> bool:
        """Whether it holds control records, or held them."""
        return self.marker is not None or self.is_empty_control or bool(self.control_records)

    @property
    def has_record(self) -> bool:
        """Whether a record or a marker is left in it."""
        return self.marker is not None or bool(self.records) or bool(self.control_records)

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
    def timestamps(self) -> tuple[int, ...]:
        """What a consumer is told of each record's time."""
        if self.timestamp_type == TimestampType.LOG_APPEND_TIME:
            return (self.timestamp_ms,) * len(self.records)
        return tuple(self.timestamp_ms if each.timestamp_ms is None else each.timestamp_ms for each in self.records)

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, wrapped behind the largest; NONE where the batch has no sequences."""
        if self.base_sequence == NONE:
            return NONE
        return (self.base_sequence + self.last_offset_delta) & SEQUENCE_MAX


class DataHeader(BatchHeader):
    """The header of a batch of records, as far as producers are concerned; it is told in the words of `Batch`."""

    __slots__ = ()
    marker: None = None
    is_empty_control = False

    @property
    def transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return self.is_transactional

    @property
    def timestamp_ms(self) -> int:
        """The largest time of its records, or when the broker stamped it."""
        return self.max_timestamp_ms

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, wrapped behind the largest; NONE where the batch has no sequences."""
        return add_to_sequence(self.base_sequence, self.last_offset_delta)
