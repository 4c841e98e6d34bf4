"""What an explanation looks at: a finding, and what the evidence has around it."""

from bisect import bisect_left, bisect_right
from functools import cached_property

from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.traces.circumstances import Circumstances, Shape
from zombieproof.traces.evidence import Batch, Evidence, PartitionLog, TransactionStateRecord
from zombieproof.traces.explaining.broker_lines import SkippedMarker, skipped_markers
from zombieproof.traces.verdict import Finding, named

ABOUT_MARKERS = (
    Shape.MARKER_CONTRARY,
    Shape.MARKERS_DIFFER,
    Shape.MARKER_UNLISTED,
    Shape.MARKER_EPOCH,
    Shape.MARKER_EARLY,
    Shape.MARKER_UNDECIDED,
    Shape.MARKER_FENCED,
    Shape.MARKER_DEPOSED,
)
DATA_OF_NO_EPOCH = (Shape.COPIES_DIFFER, Shape.INDEX_LACKS, Shape.INDEX_INVENTS)


class Scene:
    """A finding and its surroundings. Everything is looked up on demand."""

    def __init__(self, finding: Finding, evidence: Evidence) -> None:
        self.finding, self.evidence = finding, evidence
        self.told = finding.circumstances or Circumstances()

    @property
    def place(self) -> str:
        """The topic partition in words; empty when the finding has none."""
        topic, partition = self.finding.topic, self.finding.partition
        return "" if topic is None or partition is None else named((topic, partition))

    @property
    def is_about_the_marker(self) -> bool:
        """Whether the marker itself is what is wrong."""
        return self.told.shape in ABOUT_MARKERS

    @cached_property
    def log(self) -> PartitionLog | None:
        """The copy of the partition that was judged."""
        topic, partition = self.finding.topic, self.finding.partition
        return None if topic is None or partition is None else self.evidence.log(topic, partition)

    @cached_property
    def _bases(self) -> list[int]:
        return [batch.base_offset for batch in self.log.batches] if self.log else []

    def batch_at(self, offset: int) -> Batch | None:
        """The batch that holds an offset."""
        index = bisect_right(self._bases, offset) - 1
        if self.log is None or index < 0:
            return None
        found = self.log.batches[index]
        return found if offset <= found.last_offset else None

    def between(self, first: int, last: int) -> list[Batch]:
        """The batches that hold an offset from first to last."""
        if self.log is None:
            return []
        begin = max(0, bisect_right(self._bases, first) - 1)
        found = self.log.batches[begin : bisect_right(self._bases, last)]
        return [batch for batch in found if batch.last_offset >= first]

    @cached_property
    def data(self) -> list[Batch]:
        """The data batches that the finding is about, in order."""
        found: dict[int, Batch] = {}
        for first, last in self.told.spans:
            found |= {batch.base_offset: batch for batch in self.between(first, last) if self._is_meant(batch)}
        return list(found.values())

    def _is_meant(self, batch: Batch) -> bool:
        if batch.is_control or (self.finding.producer_id is not None and batch.producer_id != self.finding.producer_id):
            return False
        epoch = self.told.data_epoch
        return epoch is None or batch.producer_epoch == epoch or self.told.shape in DATA_OF_NO_EPOCH

    @cached_property
    def offsets(self) -> list[int]:
        """The offsets of the records that the finding is about."""
        spans = self.told.spans
        return [
            offset
            for batch in self.data
            for offset in batch.offsets()
            if any(first <= offset <= last for first, last in spans)
        ]

    @property
    def count(self) -> int:
        """How many records it is about."""
        return len(self.offsets)

    @cached_property
    def marker(self) -> Batch | None:
        """The marker at the offset of the finding, if one stands there."""
        batch = None if self.finding.offset is None else self.batch_at(self.finding.offset)
        return batch if batch is not None and batch.is_control else None

    @cached_property
    def behind(self) -> Batch | None:
        """The batch that follows the data, or what else the finding is about."""
        last = self.data[-1].base_offset if self.data else self.finding.offset
        if self.log is None or last is None:
            return None
        index = bisect_right(self._bases, last)
        return self.log.batches[index] if index < len(self._bases) else None

    @cached_property
    def before(self) -> Batch | None:
        """The batch in front of what the finding is about."""
        first = self.data[0].base_offset if self.data else self.finding.offset
        if self.log is None or first is None:
            return None
        index = bisect_left(self._bases, first) - 1
        return self.log.batches[index] if index >= 0 else None

    @cached_property
    def leader_epochs_behind(self) -> tuple[int, int] | None:
        """Leader epochs of the data and of what follows it; None where nothing follows."""
        last = self.data[-1] if self.data else self.before
        return _leader_epochs(last, self.behind)

    @cached_property
    def leader_epochs_before(self) -> tuple[int, int] | None:
        """Leader epochs of what stands in front of the data (or marker) and of itself."""
        return _leader_epochs(self.before, self.data[0] if self.data else self.marker)

    @cached_property
    def states(self) -> list[TransactionStateRecord]:
        """The records of the transactional id with this producer id."""
        wanted = self.finding.transactional_id
        return [
            record
            for record in self.evidence.transaction_states
            if record.transactional_id == wanted
            and record.value is not None
            and record.value.producer_id == self.finding.producer_id
        ]

    @cached_property
    def is_version_2(self) -> bool | None:
        """Whether the transactional id ran under transaction version 2; None without the coordinator's log."""
        versions = {record.value.client_transaction_version for record in self.states if record.value}
        return int(TransactionVersion.TV2) in versions if versions else None

    @cached_property
    def timeout_ms(self) -> int | None:
        """The transaction time-out of the id, as recorded last."""
        values = [record.value for record in self.states if record.value]
        return values[-1].timeout_ms if values else None

    @cached_property
    def began_ms(self) -> int | None:
        """When the first record that the finding is about was written."""
        times = [batch.max_timestamp_ms for batch in self.data if batch.max_timestamp_ms >= 0]
        return times[0] if times else None

    def skipped_markers(self) -> list[SkippedMarker]:
        """Lines of the coordinator's log that say that this marker was skipped for want of a leader."""
        if self.told.shape is not Shape.MARKER_MISSING:
            return []
        return self._around_the_decision(NEAR_MS) or self._around_the_decision(CLOCKS_MS)

    def _around_the_decision(self, margin_ms: int) -> list[SkippedMarker]:
        decided = self.told.decided
        begin = decided.prepared_ms if decided is not None else None
        end = decided.completed_ms if decided is not None else None
        return [
            line
            for line in self._all_skipped
            if line.timestamp_ms is None
            or (
                (begin is None or begin - margin_ms <= line.timestamp_ms)
                and (end is None or line.timestamp_ms <= end + margin_ms)
            )
        ]

    @cached_property
    def _all_skipped(self) -> list[SkippedMarker]:
        return skipped_markers(self.evidence, self.finding.transactional_id, self.place)


NEAR_MS = 60_000
CLOCKS_MS = 14 * 3600 * 1000
"""A broker's log may be written in any time zone: lines further away than this are of another transaction."""


def _leader_epochs(one: Batch | None, other: Batch | None) -> tuple[int, int] | None:
    if one is None or other is None or -1 in (one.partition_leader_epoch, other.partition_leader_epoch):
        return None
    return one.partition_leader_epoch, other.partition_leader_epoch
