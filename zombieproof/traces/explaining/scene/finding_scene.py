"""What an explanation looks at: a finding, and what the evidence has around it."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.traces.evidence import BrokerLine, Evidence, LoggedBatch, TransactionStateRecord
from zombieproof.traces.explaining.scene.broker_lines import near
from zombieproof.traces.explaining.scene.surroundings import Log, Surroundings
from zombieproof.traces.verdict.circumstances import Circumstances, Shape
from zombieproof.traces.verdict.report import Finding, named

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
    """A finding and its surroundings. `has_keys` is set once its records were read and keys are known."""

    def __init__(self, finding: Finding, around: Surroundings) -> None:
        self.finding, self.around = finding, around
        self.circumstances = finding.circumstances or Circumstances()
        self.has_keys = False

    @property
    def evidence(self) -> Evidence:
        """The whole body of evidence."""
        return self.around.evidence

    @property
    def place(self) -> str:
        """The topic partition in words; empty when the finding has none."""
        topic, partition = self.finding.topic, self.finding.partition
        return "" if topic is None or partition is None else named((topic, partition))

    @property
    def is_about_the_marker(self) -> bool:
        """Whether the marker itself is what is wrong."""
        return self.circumstances.shape in ABOUT_MARKERS

    @cached_property
    def log(self) -> Log | None:
        """The copy of the partition that was judged."""
        topic, partition = self.finding.topic, self.finding.partition
        return None if topic is None or partition is None else self.around.log((topic, partition))

    def batch_at(self, offset: int | None) -> LoggedBatch | None:
        """The batch that holds an offset of the partition."""
        return None if self.log is None or offset is None else self.log.at(offset)

    @cached_property
    def data(self) -> list[LoggedBatch]:
        """The data batches that the finding is about, in order."""
        return list({batch.base_offset: batch for _, batch in self._parts()}.values())

    def _parts(self) -> Iterator[tuple[tuple[int, int], LoggedBatch]]:
        """Each span with each data batch in it."""
        for span in self.circumstances.spans:
            yield from (
                (span, batch) for batch in (self.log.between(*span) if self.log else ()) if self._is_meant(batch)
            )

    def _is_meant(self, batch: LoggedBatch) -> bool:
        if batch.is_control or (self.finding.producer_id is not None and batch.producer_id != self.finding.producer_id):
            return False
        epoch = self.circumstances.data_epoch
        return epoch is None or batch.producer_epoch == epoch or self.circumstances.shape in DATA_OF_NO_EPOCH

    @cached_property
    def offsets(self) -> list[int]:
        """The offsets of the records that the finding is about."""
        found = (
            offset for (first, last), batch in self._parts() for offset in batch.offsets() if first <= offset <= last
        )
        return list(dict.fromkeys(found))

    @property
    def count(self) -> int:
        """How many records it is about."""
        return len(self.offsets)

    @cached_property
    def marker(self) -> LoggedBatch | None:
        """The marker at the offset of the finding, if one stands there."""
        batch = self.batch_at(self.finding.offset)
        return batch if batch is not None and batch.is_control else None

    @cached_property
    def behind(self) -> LoggedBatch | None:
        """The batch that follows the data, or what else the finding is about."""
        last = self.data[-1].base_offset if self.data else self.finding.offset
        return None if self.log is None or last is None else self.log.behind(last)

    @cached_property
    def before(self) -> LoggedBatch | None:
        """The batch in front of what the finding is about."""
        first = self.data[0].base_offset if self.data else self.finding.offset
        return None if self.log is None or first is None else self.log.before(first)

    @cached_property
    def before_of_producer(self) -> LoggedBatch | None:
        """The last batch of the producer in front of what the finding is about."""
        first = self.finding.offset if self.is_about_the_marker or not self.data else self.data[0].base_offset
        return None if self.log is None or first is None else self.log.before(first, self.finding.producer_id)

    @property
    def newest_coordinator_epoch(self) -> int | None:
        """The highest coordinator epoch of the producer's markers, on all partitions."""
        producer_id = self.finding.producer_id
        return None if producer_id is None else self.around.coordinator_epochs.get(producer_id)

    @property
    def leader_epochs_behind(self) -> tuple[int, int] | None:
        """Leader epochs of the data and of what follows it; None where nothing follows."""
        return _leader_epochs(self.data[-1] if self.data else self.before, self.behind)

    @property
    def leader_epochs_before(self) -> tuple[int, int] | None:
        """Leader epochs of what stands in front of the data (or marker) and of itself."""
        return _leader_epochs(self.before, self.data[0] if self.data else self.marker)

    @property
    def states(self) -> Sequence[TransactionStateRecord]:
        """The records of the transactional id with this producer id."""
        return self.around.states(self.finding.transactional_id, self.finding.producer_id)

    @cached_property
    def is_version_2(self) -> bool | None:
        """Whether the transactional id ran under transaction version 2; None without the coordinator's log."""
        versions = {record.value.client_transaction_version for record in self.states if record.value}
        return int(TransactionVersion.TV2) in versions if versions else None

    @property
    def timeout_ms(self) -> int | None:
        """The transaction time-out of the id, as recorded last."""
        last = self.states[-1].value if self.states else None
        return last.timeout_ms if last is not None else None

    @cached_property
    def began_ms(self) -> int | None:
        """When the first record that the finding is about was written."""
        return next((batch.max_timestamp_ms for batch in self.data if batch.max_timestamp_ms >= 0), None)

    @cached_property
    def skipped_markers(self) -> list[BrokerLine]:
        """Lines of the coordinator's log that say that this marker was skipped for want of a leader."""
        topic, partition = self.finding.topic, self.finding.partition
        if self.circumstances.shape is not Shape.MARKER_MISSING or topic is None or partition is None:
            return []
        lines = self.around.broker_lines.skipped(self.finding.transactional_id, (topic, partition))
        return self._around_the_decision(lines)

    @cached_property
    def timeouts(self) -> list[BrokerLine]:
        """Lines of the coordinator's log that say that this transaction was aborted since it was open for too long."""
        return self._around_the_decision(self.around.broker_lines.timed_out(self.finding.transactional_id))

    @cached_property
    def truncations(self) -> list[BrokerLine]:
        """Lines of brokers' logs that say that a copy was cut where the finding is: its marker or records with it."""
        topic, partition = self.finding.topic, self.finding.partition
        at = self.data[0].base_offset if self.data else self.finding.offset
        if topic is None or partition is None or at is None:
            return []
        truncated, place = self.around.broker_lines.truncated, (topic, partition)
        if self.circumstances.shape is Shape.MARKER_MISSING:
            return truncated(place, at + 1, self.behind.base_offset if self.behind is not None else None)
        if self.circumstances.shape is Shape.ABSENT:
            return near(truncated(place, 0, at), self.circumstances.answered_ms, None)
        return truncated(place, 0 if self.before is None else self.before.last_offset + 1, at)

    def _around_the_decision(self, lines: Sequence[BrokerLine]) -> list[BrokerLine]:
        decided = self.circumstances.decided
        begin = decided.prepared_ms if decided is not None else None
        end = decided.completed_ms if decided is not None else None
        return near(lines, begin, end)


def _leader_epochs(one: LoggedBatch | None, other: LoggedBatch | None) -> tuple[int, int] | None:
    if one is None or other is None or -1 in (one.partition_leader_epoch, other.partition_leader_epoch):
        return None
    return one.partition_leader_epoch, other.partition_leader_epoch
