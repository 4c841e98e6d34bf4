"""Which log is cleaned next, and how far: Kafka's `LogCleanerManager`, for the logs of one broker.

Theory of operation: a log is as dirty as the share of its closed bytes that no pass has seen. The dirtiest one of those
that are dirty enough, or have waited for long enough, is next. How far the last pass of each went is in the checkpoint;
where that cannot be right the whole log is dirty. No pass goes beyond the last stable offset, into the segment that is
written to, or into records that are too young. A log that cannot be read is left alone until the broker starts again.
Source: ``LogCleanerManager.java`` (`cleanableOffsets`, `grabFilthiestCompactedLog`), ``LogToClean.java``.
"""

from collections.abc import Mapping
from typing import NamedTuple

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.topics import TopicPartition


class Dirty(NamedTuple):
    """What of a log a pass would clean; bytes below `first_dirty_offset` are clean, from there on cleanable."""

    partition: TopicPartition
    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool

    @property
    def ratio(self) -> float:
        """How dirty the log is, from 0 to 1."""
        whole = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / whole if whole else 0.0

    def is_due(self, config: LogConfig) -> bool:
        """Whether the log is to be cleaned now."""
        overdue = self.is_overdue and self.cleanable_bytes > 0
        return overdue or self.ratio > config.min_cleanable_dirty_ratio


def dirt_of(partition: TopicPartition, log: SegmentLog, last_stable_offset: int, now_ms: int) -> Dirty:
    """How dirty a log is, and up to where it could be cleaned now."""
    config, closed = log.config, log.segments[:-1]
    known, start = log.cleaned_offset, log.start_offset
    first_dirty = known if known is not None and start <= known <= log.end_offset else start
    unclean = [segment for segment in closed if segment.end_offset > first_dirty]
    young_since_ms = now_ms - max(config.min_compaction_lag_ms, 0)
    is_lagged = config.min_compaction_lag_ms > 0
    young = next((each.base_offset for each in unclean if is_lagged and each.max_timestamp_ms > young_since_ms), None)
    limit = min(last_stable_offset, log.segments[-1].base_offset)
    limit = max(first_dirty, limit if young is None else min(limit, young))
    # Segments are cleaned whole: the one that the limit lies in is not.
    end = next((each.base_offset for each in reversed(log.segments) if each.base_offset <= limit), start)
    cleanable = [segment for segment in closed if first_dirty < segment.end_offset and segment.base_offset < end]
    clean = [segment for segment in closed if segment.end_offset <= first_dirty]
    oldest_ms = min((each.first_timestamp_ms for each in unclean if each.first_timestamp_ms > 0), default=now_ms)
    is_overdue = oldest_ms < now_ms - max(config.max_compaction_lag_ms, 0)
    sizes = (sum(segment.size for segment in clean), sum(segment.size for segment in cleanable))
    return Dirty(partition, first_dirty, end, *sizes, is_overdue)


class LogCleaner:
    """Chooses among the logs of one broker. Logs that cannot be read are `uncleanable`."""

    def __init__(self, logs: Mapping[TopicPartition, SegmentLog], clock: Clock) -> None:
        self._logs, self._clock = logs, clock
        self.uncleanable: set[TopicPartition] = set()

    def dirtiest(self, replicas: Mapping[TopicPartition, Replica]) -> Dirty | None:
        """The log that is to be cleaned next, of those that have a replica now; None: none is."""
        found: Dirty | None = None
        for partition, log in self._logs.items():
            replica, is_well = replicas.get(partition), log.failure is None and log.offline is None
            if replica is None or not is_well or partition in self.uncleanable or not log.config.is_compacted:
                continue
            dirt = dirt_of(partition, log, replica.last_stable_offset, self._clock.now_ms())
            if dirt.is_due(log.config) and (found is None or dirt.ratio > found.ratio):
                found = dirt
        return found
