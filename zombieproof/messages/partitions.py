"""Requests to a partition leader, and their answers. Source: reference §3, §6, §7.5."""

from dataclasses import dataclass

from zombieproof.formats.batches import Batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE, Isolation

LATEST = -1
"""The time that stands for the end of a partition."""


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
    transactional_id: str | None
    acks: int
    partitions: dict[TopicPartition, tuple[SentBatch, ...]]
    unknown_topic_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Produced:
    """The answer for one partition; `record_errors` (indices of refused records) and `message`: version 8 and up."""

    error: int
    base_offset: int = NONE
    log_start_offset: int = NONE
    record_errors: tuple[int, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class ProduceAnswer:
    """One row for each partition."""

    partitions: dict[TopicPartition, Produced]


@dataclass(frozen=True, slots=True)
class ConnectionClosed:
    """The broker ends the connection instead of answering: it cannot tell otherwise what it thinks of the request."""


@dataclass(frozen=True, slots=True)
class MarkerToWrite:
    """One marker and the partitions that it goes to."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    partitions: tuple[TopicPartition, ...]
    transaction_version: int = 0


@dataclass(frozen=True, slots=True)
class WriteTxnMarkers:
    """API key 27, versions 1 and 2, from a coordinator."""

    version: int
    markers: tuple[MarkerToWrite, ...]


@dataclass(frozen=True, slots=True)
class MarkerWritten:
    """The error of each partition of one marker."""

    producer_id: int
    errors: dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class WriteTxnMarkersAnswer:
    """One row for each marker."""

    markers: tuple[MarkerWritten, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """API key 1, versions 11-17: where to read from in each partition.

    The answer waits until there are `min_bytes` to be read, but not longer than `max_wait_ms`. `unknown_topic_ids` are
    topics that version 13 or a later one named by an id of no topic.
    """

    version: int
    isolation: Isolation
    partitions: dict[TopicPartition, int]
    min_bytes: int = 1
    max_wait_ms: int = 0
    unknown_topic_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Fetched:
    """One partition of the answer. `aborted` is None for read_uncommitted, else (producer id, first offset) pairs."""

    error: int
    high_watermark: int = NONE
    last_stable_offset: int = NONE
    log_start_offset: int = NONE
    aborted: tuple[tuple[int, int], ...] | None = None
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """One row for each partition."""

    partitions: dict[TopicPartition, Fetched]


@dataclass(frozen=True, slots=True)
class ListOffsets:
    """API key 2, version 5, of the latest offset (high watermark or last stable offset), or of the first at a time."""

    version: int
    isolation: Isolation
    partitions: tuple[TopicPartition, ...]
    timestamp_ms: int = LATEST


@dataclass(frozen=True, slots=True)
class ListOffsetsAnswer:
    """(error, offset) of each partition; offset NONE: nothing is so late."""

    partitions: dict[TopicPartition, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class DescribeProducers:
    """API key 61, version 0."""

    version: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ProducerDescription:
    """A producer id that a partition leader remembers; `txn_start_offset` NONE: no open transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    coordinator_epoch: int
    txn_start_offset: int
    last_timestamp_ms: int = NONE


@dataclass(frozen=True, slots=True)
class ProducersDescribed:
    """One partition of the answer."""

    error: int
    producers: tuple[ProducerDescription, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeProducersAnswer:
    """One row for each partition."""

    partitions: dict[TopicPartition, ProducersDescribed]


@dataclass(frozen=True, slots=True)
class DescribeTopics:
    """Metadata (API key 3, version 12), as far as it says which topics there are: `by_id` those that an id names."""

    version: int
    topics: tuple[str, ...]
    by_id: bool = False


@dataclass(frozen=True, slots=True)
class TopicsDescribed:
    """The error of each topic."""

    topics: dict[str, int]


PartitionRequest = DescribeTopics | Produce | WriteTxnMarkers | Fetch | ListOffsets | DescribeProducers
PartitionAnswer = (
    TopicsDescribed | ProduceAnswer | WriteTxnMarkersAnswer | FetchAnswer | ListOffsetsAnswer | DescribeProducersAnswer
)
