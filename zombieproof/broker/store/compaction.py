"""A pass of the cleaner over the closed segments of one log on disk.

Theory of operation: adjacent segments that are small enough for one become one (`groups`). Group by group, what the
pass leaves of each batch is written into a new segment, with all its indexes, and that takes their place (`swapping`).
So a crash leaves each group whole, old or new, and a transaction's marker never goes before its data.
Not here: ``log.cleaner.dedupe.buffer.size`` (the keys of a pass are held whole) and ``log.cleaner.io.*``.
Source: ``Cleaner.java`` (`doClean`, `groupSegmentsBySize`, `cleanSegments`).
"""

from collections.abc import Iterator, Sequence

from zombieproof.broker.store.aborted_files import AbortedFiles
from zombieproof.broker.store.cleaner import Compacted, Pass, Plan
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.broker.store.segment import Segment
from zombieproof.broker.store.swapping import cleaned_segment, swap_in
from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.transaction_index import IndexEntry

MOST_OFFSETS = 0x7FFFFFFF
"""An index of a segment says so many offsets at most."""


def compact(files: LogFiles, aborted: AbortedFiles, plan: Plan) -> Compacted:
    """Carry out a pass: everything below the end of `plan`, where a segment begins, is as the pass leaves it.

    Raises:
        OSError: the disk has failed; what was swapped until then is as it should be.
        Damaged: a batch cannot be read.
    """
    closed = [segment for segment in files.held[:-1] if segment.base_offset < plan.end_offset]
    dirty = [segment for segment in closed if segment.end_offset > plan.first_dirty_offset]
    one, merged = Pass(plan, _batches(files, dirty)), list[int]()
    for group in groups(closed, files.config.segment_bytes, files.config.segment_index_bytes, plan.end_offset):
        cleaned, known = cleaned_segment(files, group[0].base_offset), len(one.still_aborted)
        for batch in _batches(files, group):
            left = one.left_of(batch)
            if left is not None:
                cleaned.append(write_batch(left), left.last_offset, left.timestamp_ms)
        for entry in one.still_aborted[known:]:
            cleaned.add_aborted(IndexEntry(*entry))
        swap_in(files, cleaned, group)
        aborted.entries = list(one.aborted_after(_end_of(group, closed, plan.end_offset)))
        merged += [segment.base_offset for segment in group[1:]]
    return Compacted(tuple(aborted.entries), tuple(merged))


def groups(segments: Sequence[Segment], most_bytes: int, most_index_bytes: int, end_offset: int) -> list[list[Segment]]:
    """The segments, those together that fit into one: by their sizes, those of their indexes, and their offsets."""
    found = list[list[Segment]]()
    for place, segment in enumerate(segments):
        end = segments[place + 1].base_offset if place + 1 < len(segments) else end_offset
        group = found[-1] if found else []
        fits = (
            bool(group)
            and sum(each.size for each in group) + segment.size <= most_bytes
            and sum(each.index_size for each in group) + segment.index_size <= most_index_bytes
            and (segment.size == 0 or end - 1 - group[0].base_offset <= MOST_OFFSETS)
        )
        if fits:
            group.append(segment)
        else:
            found.append([segment])
    return found


def _end_of(group: Sequence[Segment], segments: Sequence[Segment], end_offset: int) -> int:
    """Where the segment behind a group begins."""
    behind = segments.index(group[-1]) + 1
    return segments[behind].base_offset if behind < len(segments) else end_offset


def _batches(files: LogFiles, segments: Sequence[Segment]) -> Iterator[Batch]:
    """Every batch of some segments, its keys and values as bytes."""
    for segment in segments:
        try:
            yield from segment.read(segment.base_offset, is_raw=True)
        except Undecodable as fault:
            raise files.damaged(segment, fault.position, str(fault)) from fault
