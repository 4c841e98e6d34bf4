"""Requests to a partition leader, and their answers. Source: reference §3, §6, §7.5."""

from dataclasses import dataclass, field
from typing import Annotated

from zombieproof.formats.batches import Batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.schema import Entity, Ours, Pairs, Rows, Wire
from zombieproof.messages.transactions import ErrorCode, ProducerEpoch, ProducerId, TransactionalId
from zombieproof.model.vocabulary import NONE, Isolation

BY_ID_SINCE = 13
"""Produce and Fetch name topics by their ids from here on."""

UnknownTopicIds = Annotated[frozenset[str], Ours("a topic is known by its name here, also where its id was sent")]
IsolationLevel = Annotated[Isolation, Wire("IsolationLevel", since=2)]

LATEST, EARLIEST = -1, -2
"""The times that stand for the end of a partition, and for its beginning."""

EVERYTHING = 2147483647
"""The largest limit of bytes."""


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch as a client sent it: `batch` as it says it is, and what is wrong with its bytes.

    `base_offset` other than 0 is refused; `is_corrupt`: the checksum does not match.
    """

    batch: Batch
    base_offset: int = 0
    is_corrupt: bool = False


@dataclass(frozen=True, slots=True)
class Produce:
    """API key 0, versions 3-13. `unknown_topic_ids` are topics that version 13 named by an id of no topic."""

    version: int
    transactional_id: TransactionalId
    acks: Annotated[int, Wire("Acks")]
    partitions: Annotated[
        dict[TopicPartition, tuple[SentBatch, ...]],
        Rows("TopicData", partitions="PartitionData", index="Index", values=("Records",), ids_since=BY_ID_SINCE),
    ]
    unknown_topic_ids: UnknownTopicIds = frozenset()


@dataclass(frozen=True, slots=True)
class Produced:
    """The answer for one partition; `record_errors` (indices of refused records) and `message`: version 8 and up.

    `log_append_time_ms`: when the broker stamped the batch, if it does; of a duplicate the time that the batch has.
    """

    error: ErrorCode
    base_offset: Annotated[int, Wire("BaseOffset")] = NONE
    log_start_offset: Annotated[int, Wire("LogStartOffset", since=5)] = NONE
    record_errors: Annotated[tuple[int, ...], Wire("RecordErrors.BatchIndex", since=8)] = ()
    message: Annotated[str, Wire("ErrorMessage", since=8)] = ""
    log_append_time_ms: Annotated[int, Wire("LogAppendTimeMs")] = NONE


@dataclass(frozen=True, slots=True)
class ProduceAnswer:
    """One row for each partition."""

    partitions: Annotated[
        dict[TopicPartition, Produced],
        Rows("Responses", partitions="PartitionResponses", index="Index", ids_since=BY_ID_SINCE),
    ]


@dataclass(frozen=True, slots=True)
class ConnectionClosed:
    """The broker ends the connection instead of answering: it cannot tell otherwise what it thinks of the request."""


@dataclass(frozen=True, slots=True)
class MarkerToWrite:
    """One marker and the partitions that it goes to."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    committed: Annotated[bool, Wire("TransactionResult")]
    coordinator_epoch: Annotated[int, Wire("CoordinatorEpoch", entity=Entity.COORDINATOR_EPOCH)]
    partitions: Annotated[tuple[TopicPartition, ...], Rows("Topics", partitions="PartitionIndexes", index="")]
    transaction_version: Annotated[int, Wire("TransactionVersion", since=2)] = 0


@dataclass(frozen=True, slots=True)
class WriteTxnMarkers:
    """API key 27, versions 1 and 2, from a coordinator."""

    version: int
    markers: Annotated[tuple[MarkerToWrite, ...], Wire("Markers")]


@dataclass(frozen=True, slots=True)
class MarkerWritten:
    """The error of each partition of one marker."""

    producer_id: ProducerId
    errors: Annotated[dict[TopicPartition, int], Rows("Topics", values=("ErrorCode",))]


@dataclass(frozen=True, slots=True)
class WriteTxnMarkersAnswer:
    """One row for each marker."""

    markers: Annotated[tuple[MarkerWritten, ...], Wire("Markers")]


def _beside(value: str, since: int = 0) -> Rows:
    """What a Fetch says of its partitions besides where they are read from."""
    return Rows("Topics", since, topic="Topic", index="Partition", values=(value,), ids_since=BY_ID_SINCE)


@dataclass(frozen=True, slots=True)
class Fetch:
    """API key 1, versions 4-18: where to read from in each partition.

    The answer waits until there are `min_bytes` to be read, but not longer than `max_wait_ms`. It has no more than
    `max_bytes`, and of each partition no more than `partition_max_bytes`, but one batch in any case. Topics that
    version 13 or a later one named by an id of no topic are `unknown_topic_ids`. Of all partitions, in their order,
    more may be said: the most bytes of each, the epoch of the leader that is meant, and that of the record which was
    read last.
    """

    version: int
    isolation: IsolationLevel
    partitions: Annotated[
        dict[TopicPartition, int],
        Rows("Topics", topic="Topic", index="Partition", values=("FetchOffset",), ids_since=BY_ID_SINCE),
    ]
    min_bytes: Annotated[int, Wire("MinBytes")] = 1
    max_wait_ms: Annotated[int, Wire("MaxWaitMs")] = 0
    max_bytes: Annotated[int, Wire("MaxBytes", since=3)] = EVERYTHING
    partition_max_bytes: Annotated[int, Wire("Topics.Partitions.PartitionMaxBytes")] = EVERYTHING
    unknown_topic_ids: UnknownTopicIds = frozenset()
    of_each_max_bytes: Annotated[dict[TopicPartition, int] | None, _beside("PartitionMaxBytes")] = None
    leader_epochs: Annotated[dict[TopicPartition, int] | None, _beside("CurrentLeaderEpoch", 9)] = None
    last_epochs: Annotated[dict[TopicPartition, int] | None, _beside("LastFetchedEpoch", 12)] = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """One partition of the answer. `aborted` is None for read_uncommitted, else (producer id, first offset) pairs.

    `diverging_epoch`: what was read last is not in this log, where the records of that epoch end at an offset.
    """

    error: ErrorCode
    high_watermark: Annotated[int, Wire("HighWatermark")] = NONE
    last_stable_offset: Annotated[int, Wire("LastStableOffset")] = NONE
    log_start_offset: Annotated[int, Wire("LogStartOffset", since=5)] = NONE
    aborted: Annotated[
        tuple[tuple[int, int], ...] | None, Pairs("AbortedTransactions", key="ProducerId", value="FirstOffset")
    ] = None
    batches: Annotated[tuple[Batch, ...], Wire("Records")] = ()
    diverging_epoch: Annotated[int, Wire("DivergingEpoch.Epoch", since=12)] = NONE
    diverging_end_offset: Annotated[int, Wire("DivergingEpoch.EndOffset", since=12)] = NONE
    read_bytes: Annotated[int, Ours("what counts towards min.bytes")] = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """One row for each partition."""

    partitions: Annotated[dict[TopicPartition, Fetched], Rows("Responses", topic="Topic", ids_since=BY_ID_SINCE)]


@dataclass(frozen=True, slots=True)
class ListOffsets:
    """API key 2, versions 1-11: the time that is looked for in each partition, or what stands for a place.

    `leader_epochs` of the leaders that are meant, where that is said. `repeated`: partitions that are named twice.
    """

    version: int
    isolation: IsolationLevel
    partitions: Annotated[dict[TopicPartition, int], Rows("Topics", values=("Timestamp",))]
    leader_epochs: Annotated[
        dict[TopicPartition, int] | None, Rows("Topics", since=4, values=("CurrentLeaderEpoch",))
    ] = None
    repeated: Annotated[frozenset[TopicPartition], Ours("a partition is in a mapping once")] = frozenset()


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """What is found of one partition: an offset, NONE where there is none, with its time if one was looked for."""

    error: ErrorCode
    offset: Annotated[int, Wire("Offset", since=1)] = NONE
    timestamp_ms: Annotated[int, Wire("Timestamp", since=1)] = NONE
    leader_epoch: Annotated[int, Wire("LeaderEpoch", since=4)] = NONE


@dataclass(frozen=True, slots=True)
class ListOffsetsAnswer:
    """One row for each partition."""

    partitions: Annotated[dict[TopicPartition, ListedOffset], Rows("Topics")]


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpoch:
    """API key 23, versions 2-4: the epoch whose end is looked for in each partition.

    `leader_epochs` of the leaders that are meant, where that is said.
    """

    version: int
    partitions: Annotated[
        dict[TopicPartition, int], Rows("Topics", topic="Topic", index="Partition", values=("LeaderEpoch",))
    ]
    leader_epochs: Annotated[
        dict[TopicPartition, int] | None,
        Rows("Topics", topic="Topic", index="Partition", values=("CurrentLeaderEpoch",)),
    ] = None


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """Where the records of an epoch end: of the greatest one up to it that the leader knows; NONE: of none."""

    error: ErrorCode
    leader_epoch: Annotated[int, Wire("LeaderEpoch", since=1)] = NONE
    end_offset: Annotated[int, Wire("EndOffset")] = NONE


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpochAnswer:
    """One row for each partition."""

    partitions: Annotated[dict[TopicPartition, EpochEnd], Rows("Topics", topic="Topic", index="Partition")]


@dataclass(frozen=True, slots=True)
class DescribeProducers:
    """API key 61, version 0."""

    version: int
    partitions: Annotated[tuple[TopicPartition, ...], Rows("Topics", partitions="PartitionIndexes", index="")]


@dataclass(frozen=True, slots=True)
class ProducerDescription:
    """A producer id that a partition leader remembers; `txn_start_offset` NONE: no open transaction."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    last_sequence: Annotated[int, Wire("LastSequence")]
    coordinator_epoch: Annotated[int, Wire("CoordinatorEpoch", entity=Entity.COORDINATOR_EPOCH)]
    txn_start_offset: Annotated[int, Wire("CurrentTxnStartOffset")]
    last_timestamp_ms: Annotated[int, Wire("LastTimestamp")] = NONE


@dataclass(frozen=True, slots=True)
class ProducersDescribed:
    """One partition of the answer."""

    error: ErrorCode
    producers: Annotated[tuple[ProducerDescription, ...], Wire("ActiveProducers")] = ()


@dataclass(frozen=True, slots=True)
class DescribeProducersAnswer:
    """One row for each partition."""

    partitions: Annotated[dict[TopicPartition, ProducersDescribed], Rows("Topics")]


@dataclass(frozen=True, slots=True)
class DescribeTopics:
    """Metadata (API key 3, versions 0 to 13), as far as it says which topics there are; `topics` None: all.

    `by_id`: those that an id names. `creates`: one that does not exist is made, where the brokers let it be.
    """

    version: int
    topics: Annotated[tuple[str, ...] | None, Wire("Topics.Name")]
    by_id: Annotated[bool, Ours("topics are named by TopicId instead")] = False
    creates: Annotated[bool, Wire("AllowAutoTopicCreation", since=4)] = False


@dataclass(frozen=True, slots=True)
class TopicsDescribed:
    """The error of each topic."""

    topics: Annotated[dict[str, int], Pairs("Topics")]


@dataclass(frozen=True, slots=True)
class DeleteRecords:
    """API key 21, versions 0 to 2: the offset up to which records of each partition go; NONE: the high watermark."""

    version: int
    partitions: Annotated[dict[TopicPartition, int], Rows("Topics", values=("Offset",))]
    timeout_ms: Annotated[int, Wire("TimeoutMs")] = 30_000


@dataclass(frozen=True, slots=True)
class RecordsDeleted:
    """(low watermark, error) of each partition: the least offset that a replica which is up begins with, or NONE."""

    partitions: Annotated[dict[TopicPartition, tuple[int, int]], Rows("Topics", values=("LowWatermark", "ErrorCode"))]


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    """API key 20, versions 1 to 6; `by_id`: version 6 names topics by their ids. Any broker takes it."""

    version: int
    topics: Annotated[tuple[str, ...], Wire("TopicNames", until=5), Wire("Topics.Name", since=6)]
    timeout_ms: Annotated[int, Wire("TimeoutMs")] = 30_000
    by_id: Annotated[bool, Ours("topics are named by TopicId instead")] = False


@dataclass(frozen=True, slots=True)
class TopicsDeleted:
    """The error of each topic."""

    topics: Annotated[dict[str, int], Pairs("Responses")]


PartitionRequest = (
    DeleteTopics
    | DescribeTopics
    | Produce
    | WriteTxnMarkers
    | Fetch
    | ListOffsets
    | OffsetForLeaderEpoch
    | DescribeProducers
    | DeleteRecords
)
PartitionAnswer = (
    TopicsDescribed
    | ProduceAnswer
    | WriteTxnMarkersAnswer
    | FetchAnswer
    | ListOffsetsAnswer
    | OffsetForLeaderEpochAnswer
    | DescribeProducersAnswer
    | RecordsDeleted
    | TopicsDeleted
)
