"""Compare the output of tools with the logs: every state and offset that both have, with the times of both.

A tool describes the moment when it ran, a log the moment when it was copied. Time can explain a difference, so it is
reported and is not a finding.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.evidence import Evidence, ProducerSnapshot
from zombieproof.traces.judging.folded import Folded
from zombieproof.traces.judging.gathering.captures import LastStates, last_states, told_by, undecided_positions
from zombieproof.traces.judging.histories.group_history import read_groups
from zombieproof.traces.judging.histories.spans import span_of_evidence
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.internal_text import STATE_NAMES
from zombieproof.traces.readers.timestamps import utc
from zombieproof.traces.tool_reports import GroupRow, ProducerRow, Told, TransactionRow
from zombieproof.traces.verdict.report import StatedByTools, StatedEnd, StatedPosition, named

UNFINISHED = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """The comparison of a row with a log, as a sentence that cites both.

    `is_listed`: the log has the transaction, open or ended, so the report lists it from there. `is_open_in_log`: a
    coordinator's last record has it unfinished.
    """

    sentence: str
    agrees: bool
    is_listed: bool = False
    is_open_in_log: bool = False


def at_time(ms: int | None, before: str = " at ") -> str:
    """Write a time into a sentence; empty if it is not known."""
    return "" if ms is None or ms < 0 else f"{before}{utc(ms)}"


def stated_by_tools(folded: Folded, narrowing: Narrowing) -> StatedByTools | None:
    """Gather positions from tools, and compare all rows with the logs; None without output of tools and snapshots."""
    reports = folded.evidence.reports
    snapshots = [
        each
        for each in folded.evidence.snapshots
        if folded.evidence.log(each.topic, each.partition) is None and not narrowing.leaves_out(each.topic)
    ]
    if not (reports.rows or reports.notes or snapshots):
        return None
    found = list(_compared(folded, narrowing))
    last = last_states(reports.transactions, reports.producers)
    return StatedByTools(
        positions=[
            StatedPosition(
                group=row.group,
                partition=named(row.place),
                offset=row.offset or 0,
                end_offset=row.end_offset,
                lag=row.lag,
                committed_ms=row.committed_ms,
                is_record=row.is_record,
                told_by=told_by(row.told),
            )
            for row in reports.positions().values()
            if not narrowing.leaves_out(row.place[0])
        ],
        ends=[
            StatedEnd(partition=named(row.place), offset=row.offset, told_by=told_by(row.told))
            for row in reports.ends
            if not narrowing.leaves_out(row.place[0])
        ],
        snapshots=[_of_snapshot(each) for each in snapshots],
        unfinished=_unfinished(last) + sum(map(open_entries, snapshots)),
        agreed=len({each.sentence for each in found if each.agrees}),
        compared=list(
            dict.fromkeys(
                [*(each.sentence for each in found if not each.agrees), *last.undecided, *undecided_positions(reports)]
            )
        ),
        notes=reports.notes,
    )


def _unfinished(last: LastStates) -> int:
    open_there = {
        (row.place, row.producer_id, row.first_offset) for row in last.producers if row.first_offset is not None
    }
    at_coordinators = {row.producer_id for row in last.owners.values() if row.state in UNFINISHED}
    return len(open_there) + len(at_coordinators - {producer_id for _, producer_id, _ in open_there})


def open_entries(snapshot: ProducerSnapshot) -> int:
    """Count the producers with an open transaction in a snapshot."""
    return sum(entry.current_txn_first_offset is not None for entry in snapshot.entries)


def _of_snapshot(snapshot: ProducerSnapshot) -> str:
    place = named((snapshot.topic, snapshot.partition)) if snapshot.topic else "a partition that nothing names"
    count, left = len(snapshot.entries), open_entries(snapshot)
    producers = f"{count} producer{'s' if count != 1 else ''}"
    return f"producer snapshot of {place} as of offset {snapshot.offset}: {producers}, {left} with an open transaction"


def newest_ms(evidence: Evidence) -> int | None:
    """Return the newest time in the evidence, including the times of tools and snapshots."""
    reports = evidence.reports
    times: list[int | None] = [span_of_evidence(evidence)[1]]
    times += [row.last_timestamp_ms for row in reports.producers]
    times += [entry.last_timestamp_ms for snapshot in evidence.snapshots for entry in snapshot.entries]
    times += [(row.start_ms or 0) + (row.duration_ms or 0) for row in reports.transactions]
    times += [row.committed_ms for row in reports.groups]
    return max((time for time in times if time is not None and time > 0), default=None)


def _compared(folded: Folded, narrowing: Narrowing) -> Iterator[LogAnswer]:
    reports = folded.evidence.reports
    for producer in reports.producers:
        if producer.place and not narrowing.leaves_out(producer.place[0]) and (answer := log_answer(folded, producer)):
            yield answer
    for transaction in reports.transactions:
        if answer := coordinator_answer(folded, transaction):
            yield answer
    committed = read_groups(folded.evidence.offset_commits, folded.partitions)
    for position in reports.positions().values():
        if not narrowing.leaves_out(position.place[0]):
            yield from _of_position(folded, position, committed.get(position.group or "", {}))
    for end in reports.ends:
        if not narrowing.leaves_out(end.place[0]):
            yield from _of_end(folded, end.place, end.offset, end.told)


def log_answer(folded: Folded, row: ProducerRow) -> LogAnswer | None:
    """Compare the state of a producer at the leader with the log; None if the log does not know it."""
    history = folded.partitions.get(row.place) if row.place else None
    if history is None or row.place is None:
        return None
    place, end = named(row.place), history.log.end_offset
    if row.first_offset is None:
        run = history.open_run(row.producer_id)
        if run is None:
            return None
        says = f"{place}: {told_by(row.told)} has nothing open of producer {row.producer_id}"
        has = f"the log has its transaction open from offset {run.first_offset}{at_time(run.first_ms, ', ')}"
        return LogAnswer(f"{says}; {has}: the marker may have come since", agrees=False)
    says = f"{place}: {told_by(row.told)} has a transaction of producer {row.producer_id} open from offset "
    says += f"{row.first_offset}{at_time(row.last_timestamp_ms, ', last written ')}"
    if row.first_offset >= end:
        return LogAnswer(f"{says}; the log ends at offset {end}, before it", agrees=False)
    mine = history.run_at(row.producer_id, row.first_offset)
    if mine is None:
        return LogAnswer(f"{says}; the log has no data of it at that offset", agrees=False)
    if mine.ending is None:
        is_same = mine.first_offset == row.first_offset
        has = "so has the log" if is_same else f"the log has it open from offset {mine.first_offset}"
        return LogAnswer(f"{says}; {has}{at_time(mine.first_ms, ', since ')}", agrees=is_same, is_listed=True)
    kind = {True: "COMMIT", False: "ABORT", None: "control"}[mine.ending.commits]
    marker = f"the log has its {kind} marker at offset {mine.ending.offset}{at_time(mine.ending.timestamp_ms, ', ')}"
    return LogAnswer(f"{says}; {marker}: it may have come after the tool was run", agrees=False, is_listed=True)


def coordinator_answer(folded: Folded, row: TransactionRow) -> LogAnswer | None:
    """Compare the state of a transactional id with its last record in ``__transaction_state``; None without one."""
    records = [each for each in folded.evidence.transaction_states if each.transactional_id == row.transactional_id]
    if not records:
        return None
    record = records[-1]
    says = f"{row.transactional_id}: {told_by(row.told)} says {row.state}, producer {row.producer_id}"
    says += "" if row.producer_epoch is None else f" epoch {row.producer_epoch}"
    where = f" at offset {record.offset} of its partition" if record.offset >= 0 else ""
    if record.value is None:
        deleted = f"__transaction_state{where} has deleted it{at_time(record.timestamp_ms, ', ')}"
        return LogAnswer(f"{says}; {deleted}", agrees=False)
    value = record.value
    is_same = STATE_NAMES.get(row.state.upper()) is value.state and value.producer_id == row.producer_id
    if is_same and row.producer_epoch in (None, value.producer_epoch):
        return LogAnswer(f"{says}; so does __transaction_state{where}", agrees=True, is_listed=True)
    is_open = value.state.name.replace("_", "").casefold() in map(str.casefold, UNFINISHED)
    has = f"{value.state.name}, producer {value.producer_id} epoch {value.producer_epoch}"
    has += at_time(value.last_update_ms, ", ")
    return LogAnswer(
        f"{says}; __transaction_state{where} says {has}: one of the two is older", agrees=False, is_open_in_log=is_open
    )


def _of_position(folded: Folded, row: GroupRow, committed: dict[TopicPartition, int]) -> Iterator[LogAnswer]:
    says = f"group {row.group or '(not named)'}, {named(row.place)}: {told_by(row.told)} says {row.offset}"
    says += at_time(row.committed_ms, ", committed ")
    known = committed.get(row.place)
    if known is not None:
        yield LogAnswer(f"{says}; __consumer_offsets says {known}", agrees=known == row.offset)
    if row.end_offset is not None:
        yield from _of_end(folded, row.place, row.end_offset, row.told)
    history = folded.partitions.get(row.place)
    if history is not None and row.offset is not None and row.offset > history.log.end_offset:
        yield LogAnswer(f"{says}; the log ends at offset {history.log.end_offset}, before it", agrees=False)


def _of_end(folded: Folded, place: TopicPartition, offset: int, told: Told) -> Iterator[LogAnswer]:
    seen = folded.seen.get(place)
    if seen is None:
        return
    end, stable = seen.high_watermark, seen.last_stable_offset
    says = f"{named(place)}: {told_by(told)} has its end at offset {offset}"
    if offset == end:
        yield LogAnswer(f"{says}; so has the log", agrees=True)
    elif offset == stable:
        yield LogAnswer(f"{says}; that is the last stable offset of the log, which ends at {end}", agrees=False)
    else:
        yield LogAnswer(f"{says}; the log ends at {end}: one of the two is older", agrees=False)
