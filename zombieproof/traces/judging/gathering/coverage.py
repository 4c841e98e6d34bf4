"""What a verdict is about: what was judged; whether anything was; and gaps that the caller accepts."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Evidence, Holes, LinesRead, PartitionLog
from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_history import PartitionHistory
from zombieproof.traces.readers.dialects import dialects_of
from zombieproof.traces.verdict.report import (
    FileNotRead,
    Gap,
    Judged,
    JudgedPartition,
    LinesOfFile,
    NotJudged,
    Report,
    UnusedOfFile,
    named,
)

SHOWN_PLACES = 4


def judged(evidence: Evidence, histories: Iterable[IdHistory]) -> Judged:
    """What there was to judge."""
    logs = [log for log in evidence.partition_logs().values() if log.batches or log.end_offset]
    copies = evidence.copies()
    return Judged(
        partitions=[
            JudgedPartition(
                partition=named(log.topic_partition),
                first_offset=log.start_offset,
                end_offset=log.end_offset,
                copies=len(copies[log.topic_partition]),
                source=log.source.value,
                files=list(log.files),
                end_shown_by=log.end_shown_by or None,
            )
            for log in logs
        ],
        transactional_ids=sorted({history.transactional_id for history in histories}),
        written_in=dialects_of(evidence),
        compacted=[named(log.topic_partition) for log in logs if _has_holes_of_the_cleaner(log)],
        files_read=list(evidence.files),
        files_not_read=[FileNotRead(file=each.file, reason=each.reason) for each in evidence.ignored],
        lines=[_lines(each) for each in evidence.lines],
    )


def _lines(read: LinesRead) -> LinesOfFile:
    left = read.unused.values()
    unused = [UnusedOfFile(reason=each.reason, count=each.count, first_line=each.first) for each in left]
    return LinesOfFile(file=read.file, used=read.used, unused=unused)


def _has_holes_of_the_cleaner(log: PartitionLog) -> bool:
    if log.is_internal or log.holes is not Holes.CLEANER:
        return False
    return bool(log.missing()) if log.cleared is None else log.cleared.has_gaps


CLIENTS_UNSEEN = (
    "Only a client's log or history shows what applications were told: whether an acknowledged record is missing, or a "
    "transaction ended otherwise than its application was told."
)


def clients_unseen(evidence: Evidence, partitions: Iterable[PartitionHistory]) -> str:
    """What the logs of transactions cannot show without the clients' side; empty where something of it was given."""
    if evidence.client_calls or evidence.client_outcomes or evidence.client_lines:
        return ""
    has_transactions = any(each.transactional_producers() for each in partitions if not each.log.is_internal)
    return CLIENTS_UNSEEN if has_transactions else ""


def nothing_judged(evidence: Evidence) -> list[NotJudged]:
    """The one gap of evidence without any log of a partition and without any state of a transaction."""
    if any(record.value for record in evidence.transaction_states) or any(map(_holds_anything, evidence.logs)):
        return []
    found = [what for what, items in _without_logs(evidence).items() if items]
    had = f"there is {' and '.join(found)}, and no log to hold it against" if found else "no log was given"
    return [
        NotJudged(
            name="everything",
            gap=Gap.EVERYTHING,
            why=f"{had}: no record of a partition or of {TRANSACTION_STATE} can be read",
            fetch=f"the directories of {_places_named(evidence)}, or the text that kafka-dump-log prints of them, and "
            f"those of {TRANSACTION_STATE}",
        )
    ]


def _holds_anything(log: PartitionLog) -> bool:
    """Whether a log has data or markers. Controls without a producer, such as a new leader's, say nothing."""
    if log.cleared is not None:
        return log.end_offset > log.start_offset
    return bool(log.unsound) or any(not batch.is_control or batch.producer_id != NONE for batch in log.batches)


def _places_named(evidence: Evidence) -> str:
    """The partitions of which tools or snapshots say that something is open."""
    places = [row.place for row in evidence.reports.producers if row.place and row.first_offset is not None]
    places += [each for row in evidence.reports.transactions for each in sorted(row.partitions or ())]
    for snapshot in evidence.snapshots:
        if snapshot.topic and any(entry.current_txn_first_offset is not None for entry in snapshot.entries):
            places.append((snapshot.topic, snapshot.partition))
    names = list(dict.fromkeys(map(named, places)))
    more = f" and {len(names) - SHOWN_PLACES} more" if len(names) > SHOWN_PLACES else ""
    return f"{', '.join(names[:SHOWN_PLACES])}{more}" if names else "the partitions"


def _without_logs(evidence: Evidence) -> dict[str, object]:
    return {
        "nothing but tombstones of transactional ids": evidence.transaction_states,
        "a client's log": evidence.client_lines or evidence.client_calls or evidence.client_outcomes,
        "a broker's log": evidence.coordinator_lines or evidence.broker_lines or evidence.hosted,
        "a producer snapshot": evidence.snapshots,
        "an index of aborted transactions": evidence.aborted_transactions,
        "output of Kafka's tools about transactions": evidence.reports.producers or evidence.reports.transactions,
        "output of Kafka's tools about positions": evidence.reports.groups or evidence.reports.ends,
    }


class UnknownGap(NamedTuple):
    """A name of a gap that is none, and those that are."""

    name: str
    names: tuple[str, ...]


def accept(report: Report, names: Sequence[str]) -> tuple[Report, UnknownGap | None]:
    """The report with gaps accepted by name: a topic-partition, a topic, or a pattern such as "e-*".

    The second is the first name that is no gap's, if there is one.
    """
    there = tuple(dict.fromkeys(gap.name for gap in report.not_judged))
    for name in names:
        if not any(_means(name, gap) for gap in there):
            return report, UnknownGap(name, there)
    gaps = [
        gap.model_copy(update={"accepted": gap.accepted or any(_means(name, gap.name) for name in names)})
        for gap in report.not_judged
    ]
    return report.model_copy(update={"not_judged": gaps}), None


def _means(name: str, gap: str) -> bool:
    topic, _, number = gap.rpartition("-")
    return name == gap or (number.isdecimal() and name == topic) or fnmatchcase(gap, name)
