"""Faults that rest on the end of a dump of which nothing shows that it was printed, or pasted, up to its end.

The coordinator recorded a transaction as complete, so its marker was acknowledged: that it is missing is a violation
(the marker is lost, or was never written), or the text is cut, or it was printed before. The same holds for a marker
whose decision is missing behind the last record of the coordinator. A text that ends with a whole line tells neither.
Bytes do: a segment that is cut ends inside a batch almost always, so there the fault stays, with both readings.
"""

from collections.abc import Iterable, Iterator

from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.evidence import Evidence, LoggedBatch, PartitionLog, Source
from zombieproof.traces.log_life import CLOCKS_APART_MS
from zombieproof.traces.verdict.faults import Fault, OpenEnd


def set_apart(faults: Iterable[Fault], evidence: Evidence) -> tuple[list[Fault], dict[TopicPartition, list[Fault]]]:
    """The faults that are certain or rest on segments, and the others by the log on whose end they rest."""
    certain: list[Fault] = []
    uncertain: dict[TopicPartition, list[Fault]] = {}
    for fault in faults:
        if fault.open_end is not None and _may_be_cut(fault.open_end, evidence):
            uncertain.setdefault(fault.open_end.place, []).append(fault)
        else:
            certain.append(fault)
    return certain, uncertain


def _may_be_cut(end: OpenEnd, evidence: Evidence) -> bool:
    log = evidence.log(*end.place)
    if log is None or log.source is not Source.DUMP or log.is_printed_twice:
        return False
    return log.end_offset not in _reported_ends(evidence, end.place) and not _reaches(log, end.until_ms)


def _reported_ends(evidence: Evidence, place: TopicPartition) -> Iterator[int | None]:
    """The ends of a partition that tools report."""
    yield from (row.offset for row in evidence.reports.ends if row.place == place)
    yield from (row.end_offset for row in evidence.reports.groups if row.place == place)


def _reaches(log: PartitionLog, until_ms: int | None) -> bool:
    """Whether the log holds anything that was written later."""
    return until_ms is not None and any(_written_after(batch) > until_ms for batch in log.batches)


def _written_after(batch: LoggedBatch) -> int:
    """A time after which a batch was written: that of a broker, or of a producer whose clock may be ahead."""
    is_of_broker = batch.is_control or batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    return batch.max_timestamp_ms - (0 if is_of_broker else CLOCKS_APART_MS)
