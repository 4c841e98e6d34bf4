"""A packed segment as evidence: what `traces.readers.segments.read_segment` makes of the segment itself."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zombieproof.formats.segments import Part
from zombieproof.screening.packed.layout import COLUMN_TYPES, CONTENT, HAS_HEADER, PART, PackedError, PartCode
from zombieproof.screening.packed.reading import PackedFile, parts_of, plain, room
from zombieproof.traces.evidence import Damage, LoggedBatch
from zombieproof.traces.readers.files import Place, base_offset_of, place_of
from zombieproof.traces.readers.lines import Reached
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep, read_part, take_part

EVERYTHING = (PART, CONTENT, *COLUMN_TYPES)


def packed_content(path: Path, keep: Keep = Keep.NEEDED, reached: Reached | None = None) -> SegmentContent:
    """Read a whole packed segment. What it says stands in `path`, and at the places that it has in the segment.

    A segment that could be unpacked only so far is torn there, and the damage says so. `reached` hears how many bytes
    of the packed file are done.

    Raises:
        OSError: it cannot be opened.
        PackedError: it is no packed segment, or damaged, or holds less than is to be kept.
    """
    with PackedFile(path) as packed, room(packed.origin) as data:
        origin, file = packed.origin, packed.file
        if keep is Keep.ALL and origin.keeps != keep.value:
            raise PackedError(f"{file} was packed without records: pack the segment again, with --records")
        content = SegmentContent(packed.segment, _place(packed), file, start_offset=base_offset_of(packed.segment))
        if origin.fault is not None:
            content.damage.append(Damage(file, origin.length, origin.fault))
        for part in _parts(packed, data, _scaled(reached, path.stat().st_size, origin.length)):
            take_part(content, data, part, file, keep)
        content.torn_tail |= origin.fault is not None
    return content


def packed_batches(path: Path, first: int = 0, count: int | None = None) -> Iterator[LoggedBatch]:
    """Batches of a packed segment from one on (counted from 0), as they are kept when no records are asked for.

    Only the row groups that hold them are read. Damage among them is not told: this is for what was found sound before.

    Raises:
        OSError: it cannot be opened.
        PackedError: it is no packed segment, or damaged.
    """
    left = count
    with PackedFile(path) as packed, room(packed.origin) as data:
        for number, known in enumerate(packed.origin.groups):
            if first >= known.rows and known.constants.get(PART) == PartCode.BATCH:
                first -= known.rows
                continue
            group = packed.group(number, EVERYTHING)
            rows = np.flatnonzero(np.isin(plain(group[PART]), HAS_HEADER))
            wanted = np.zeros(known.rows, dtype=np.bool_)
            wanted[rows[first : None if left is None else first + left]] = True
            first = max(0, first - len(rows))
            for part in parts_of(packed, group, data, wanted):
                yield read_part(data, part, packed.file, Keep.NEEDED)[0]
            left = None if left is None else left - int(wanted.sum())
            if left == 0:
                return


def _scaled(reached: Reached | None, size: int, length: int) -> Reached:
    """Hears places in the segment, and tells bytes of a file of another size."""
    return lambda at: None if reached is None else reached(size * at // length)


def _parts(packed: PackedFile, data: memoryview, reached: Reached) -> Iterator[Part]:
    """All parts, which follow each other without a gap from the first byte to the last.

    Raises:
        PackedError: they do not, or a column does not hold what can be there.
    """
    at = 0
    for group, known in zip(packed.groups(EVERYTHING), packed.origin.groups, strict=True):
        if any((plain(group[name]) != value).any() for name, value in known.constants.items()):
            raise PackedError(
                f"{packed.file} is damaged: it says of a column what is not there; pack the segment again"
            )
        for part in parts_of(packed, group, data):
            if part.position != at:
                raise PackedError(
                    f"{packed.file} is damaged: behind byte {at} follows byte {part.position}; pack the segment again"
                )
            at = part.position + part.size
            yield part
        reached(at)
    if at != packed.origin.length:
        raise PackedError(
            f"{packed.file} is damaged: it ends at byte {at} of {packed.origin.length}; pack the segment again"
        )


def _place(packed: PackedFile) -> Place:
    """Whose it is: as its folder says, or else as it was known when it was packed."""
    place = place_of(packed.segment)
    if place.is_known or packed.origin.partition < 0:
        return place
    return Place(packed.origin.topic, packed.origin.partition, place.replica)
