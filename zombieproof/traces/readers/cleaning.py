"""Whether offsets that are missing inside a log were taken by the cleaner, or are lost.

Brokers assign offsets without gaps, and only the cleaner of a compacted topic takes batches from the middle of a log.
That a topic is compacted is known from its settings, from the cleaner's checkpoint, from batches that were thinned out,
or from its name (internal topics). Otherwise its records tell: a cleaner leaves no record without a key, and no key
twice, before a place from which it took something.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from zombieproof.formats.faults import Undecodable
from zombieproof.traces.evidence import Evidence, Holes, LoggedBatch, Lost, OffsetGap, PartitionLog, Source
from zombieproof.traces.readers.files import is_table, opened, plain_name
from zombieproof.traces.readers.segments import read_payload

EXAMINED = 50_000
"""Records of a log that are read at most."""

Key = tuple[int, bytes | None]
"""The offset of a record, and its key."""


def explain_holes(evidence: Evidence) -> None:
    """Note in each log who took the offsets that are missing inside it."""
    for log in evidence.logs:
        policy = evidence.cleanup_policies.get(log.topic)
        missing = [] if is_compacted(log, policy) else log.missing()
        if missing:
            log.holes, log.holes_why = who_took(log, missing, policy)
            if log.has_lost_batches:
                _set_segments_aside(log, missing)


def is_compacted(log: PartitionLog, policy: str | None) -> bool:
    """Whether a cleaner is known to work on a log; `policy` is the topic's cleanup.policy."""
    return log.is_internal or log.cleaned or (policy is not None and "compact" in policy) or _is_thinned(log)


def _is_thinned(log: PartitionLog) -> bool:
    if log.cleared is not None:
        return log.cleared.is_thinned
    return any(batch.delete_horizon_ms is not None or not batch.is_dense for batch in log.batches)


def who_took(log: PartitionLog, missing: list[OffsetGap], policy: str | None) -> tuple[Holes, str]:
    """Who took the offsets that are missing in a log that is not known to be compacted, and how that is known."""
    last, seen, has_keys = missing[-1].first, dict[bytes, int](), True
    for offset, key in keys_of(log):
        if offset < last and key is None:
            return Holes.LOST, f"the record at offset {offset} has no key, which the cleaner takes"
        if offset < last and key is not None and key in seen:
            return Holes.LOST, f"offsets {seen[key]} and {offset} have the same key, of which the cleaner leaves one"
        if key is None:
            has_keys = False
            break
        seen[key] = offset
    if policy is not None:
        return Holes.UNKNOWN, f"its cleanup.policy is {policy}"
    if not has_keys:
        return Holes.UNKNOWN, "it has records without keys, which a compacted topic does not accept"
    # One batch can be lost; many holes are what a cleaner leaves.
    return (Holes.CLEANER, "") if len(missing) > 1 else (Holes.UNKNOWN, "nothing shows that the topic is compacted")


def keys_of(log: PartitionLog) -> Iterator[Key]:
    """The keys of a log's records in order, as far as they can be read; dumps and packed segments have none."""
    if log.source is not Source.SEGMENT:
        return
    left = EXAMINED
    with ExitStack() as stack:
        file, data = "", memoryview(b"")
        for batch in log.batches:
            if left <= 0:
                return
            if batch.is_control:
                continue
            if is_table(batch.file):
                return
            try:
                if batch.file != file:
                    stack.close()
                    file, data = batch.file, stack.enter_context(opened(Path(batch.file))).data
                records = read_payload(data, batch)
            except (OSError, Undecodable):
                return
            left -= len(records)
            yield from ((record.offset, record.key) for record in records)


def _set_segments_aside(log: PartitionLog, missing: list[OffsetGap]) -> None:
    """Note holes between two segments: a whole segment was not given, which is no loss of the broker."""
    ends: dict[int, LoggedBatch] = {batch.base_offset: batch for batch in log.batches}
    before: dict[int, LoggedBatch] = {batch.last_offset + 1: batch for batch in log.batches}
    for gap in missing:
        last, following = before.get(gap.first), ends[gap.last + 1]
        if last is not None and last.file != following.file:
            why = f"the next segment ({plain_name(following.file)}) begins at {following.base_offset}"
            log.lost.append(Lost(gap.first, gap.last, why))
            log.damaged_at |= {following.base_offset}
