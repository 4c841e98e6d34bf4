"""Offsets that one copy of a partition lacks inside, and that another copy has.

Replicas hold the same batches. A copy that ends earlier is behind, and in one that begins later old segments were
deleted: neither has a hole. Cleaners work on each replica alone, so what a cleaner may have taken is no hole either.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from zombieproof.traces.evidence import Evidence, HoleInCopy, Holes, LoggedBatch, OffsetGap, PartitionLog, Source
from zombieproof.traces.readers.cleaning import EXAMINED, is_compacted, keys_of, who_took


def compare_copies(logs: Iterable[PartitionLog], evidence: Evidence) -> None:
    """Note the holes of each copy that another copy fills.

    Nothing is concluded from a hole of the copy to be judged: it is taken for a place that cannot be read.
    """
    rivals: dict[tuple[str, int], list[PartitionLog]] = {}
    for log in logs:
        if log.partition >= 0:
            rivals.setdefault(log.topic_partition, []).append(log)
    for place, copies in rivals.items():
        policy = evidence.cleanup_policies.get(place[0])
        if len(copies) < 2 or any(is_compacted(log, policy) for log in copies):
            continue
        judged = evidence.log(*place)
        names = _names(copies)
        for log in copies:
            for gap, other, why in _holes(log, copies, policy, is_judged=log is judged):
                here, there = names[id(log)], names[id(other)]
                hole = HoleInCopy(place, here, there, gap.first, gap.last, why, is_judged=log is judged)
                evidence.holes_in_copies.append(hole)
                if log is judged:
                    log.damaged_at |= {gap.last + 1}


def _names(copies: list[PartitionLog]) -> dict[int, str]:
    """What each copy is called: its broker, or its file where two have the same or it is a dump."""
    replicas = {log.replica for log in copies if log.source is Source.SEGMENT}
    are_brokers = len(replicas) == sum(log.source is Source.SEGMENT for log in copies)
    return {
        id(log): log.replica if are_brokers and log.source is Source.SEGMENT else log.files[0] if log.files else "?"
        for log in copies
    }


def _holes(
    log: PartitionLog, copies: list[PartitionLog], policy: str | None, *, is_judged: bool
) -> Iterator[tuple[OffsetGap, PartitionLog, str]]:
    """The holes of a copy that another fills, that copy, and why no cleaner took the offsets."""
    if not is_judged:
        for lost in log.lost:
            gap = OffsetGap(lost.first, lost.first if lost.last is None else lost.last, damaged=True)
            if lost.last is not None and (other := _that_has(gap, log, copies)):
                yield gap, other, lost.why
    missing = log.missing()
    filled = [(gap, other) for gap in missing if (other := _that_has(gap, log, copies))]
    if not filled:
        return
    who, why = who_took(log, missing, policy)
    for gap, other in filled:
        kept = "" if who is Holes.LOST else _why_kept(gap, log, other)
        if reason := kept or ("" if who is Holes.CLEANER else why):
            yield gap, other, reason


def _that_has(gap: OffsetGap, log: PartitionLog, copies: list[PartitionLog]) -> PartitionLog | None:
    return next((other for other in copies if other is not log and _inside(other, gap)), None)


def _inside(log: PartitionLog, gap: OffsetGap) -> list[LoggedBatch]:
    """The batches of a log that hold offsets of a gap."""
    first = bisect_left(log.batches, gap.first, key=lambda batch: batch.last_offset)
    behind = bisect_left(log.batches, gap.last + 1, key=lambda batch: batch.base_offset)
    return list(log.batches[first:behind])


def _why_kept(gap: OffsetGap, log: PartitionLog, other: PartitionLog) -> str:
    """Why a cleaner would have left what is missing in `log`, as `other` shows it; empty if it may have taken it.

    It takes a record only if a later one has its key, and a marker only if no record of the transaction is left.
    """
    here = {batch.base_offset for batch in log.batches}
    begun: dict[int, int] = {}
    for batch in other.batches:
        if batch.base_offset > gap.last:
            break
        if not batch.is_control:
            if batch.is_transactional and batch.base_offset in here:
                begun[batch.producer_id] = batch.base_offset
        elif (first := begun.pop(batch.producer_id, None)) is not None and batch.base_offset >= gap.first:
            return f"the cleaner keeps the marker of a transaction while it has records, and offset {first} is there"
    keys = list(keys_of(other))
    newest = {key: offset for offset, key in keys}
    if len(keys) < EXAMINED:
        for offset, key in keys:
            if gap.first <= offset <= gap.last and newest[key] == offset:
                return f"the record at offset {offset} is the last of its key, which the cleaner keeps"
    return ""
