"""Settings of logs on disk, under Kafka's names, with Kafka's defaults; and when an append counts as durable."""

from dataclasses import dataclass
from enum import Enum

from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.partition_leader.validation import NO_LIMIT_MS, LogLimits

DAY_MS = 86_400_000


class Durability(Enum):
    """When an append is durable; `loses` says what that costs."""

    FSYNC = "fsync"
    """When the disk has it."""
    PAGE_CACHE = "page-cache"
    """When the operating system has it."""
    MEMORY = "memory"
    """At once; nothing is written."""

    @property
    def loses(self) -> str:
        """Describe the acknowledged data that can be lost."""
        return {
            Durability.FSYNC: "nothing is lost, whatever stops the machine",
            Durability.PAGE_CACHE: "nothing is lost if the process is killed; if the machine loses power, the newest "
            "records are lost, including transaction decisions",
            Durability.MEMORY: "everything is lost when the process ends; nothing is written",
        }[self]


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Settings of one topic's logs; times in milliseconds, NONE (-1): without limit.

    `compression_type` None: batches stay as their producer has packed them.
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * DAY_MS
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = NONE
    cleanup_policy: str = "delete"
    delete_retention_ms: int = DAY_MS
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    segment_index_bytes: int = 10 << 20
    file_delete_delay_ms: int = 60_000
    max_message_bytes: int = 1_048_588
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_before_max_ms: int = NO_LIMIT_MS
    message_timestamp_after_max_ms: int = 3_600_000
    compression_type: Codec | None = None

    @property
    def is_compacted(self) -> bool:
        """Whether of records with the same key the newest stays."""
        return "compact" in self.cleanup_policy

    @property
    def stamps(self) -> bool:
        """Whether the broker puts in the time of each batch."""
        return self.message_timestamp_type is TimestampType.LOG_APPEND_TIME

    @property
    def limits(self) -> LogLimits:
        """What a leader refuses."""
        return LogLimits(
            self.max_message_bytes,
            self.segment_bytes,
            self.is_compacted,
            self.stamps,
            self.message_timestamp_before_max_ms,
            self.message_timestamp_after_max_ms,
        )

    @property
    def longest_segment_ms(self) -> int:
        """How long records come into one segment: of a compacted log not for longer than they may stay dirty."""
        is_bounded = self.is_compacted and self.max_compaction_lag_ms > 0
        return min(self.segment_ms, self.max_compaction_lag_ms) if is_bounded else self.segment_ms

    @property
    def is_deleted(self) -> bool:
        """Whether old segments go."""
        return "delete" in self.cleanup_policy


INTERNAL_CONFIGS = {
    TRANSACTION_STATE: LogConfig(segment_bytes=100 << 20, cleanup_policy="compact"),
    CONSUMER_OFFSETS: LogConfig(segment_bytes=100 << 20, cleanup_policy="compact"),
}
"""The two internal topics, as Kafka creates them."""
