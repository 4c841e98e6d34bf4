"""One segment file: its batches in order, and the places that cannot be read (reference §7.3).

A batch with a bad checksum is passed by its length when a batch (or the end) follows there; otherwise the next place
where a batch of valid checksum begins is looked for. Zeros to the end are a preallocated tail, not damage.
"""

import zlib
from collections.abc import Iterator
from enum import Enum
from struct import Struct

from zombieproof.traces.evidence import Batch, Damage
from zombieproof.traces.readers.codecs import Undecodable
from zombieproof.traces.readers.files import base_offset_of, place_of
from zombieproof.traces.readers.lines import Reached
from zombieproof.traces.readers.record_batch import (
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    read_header,
    read_marker,
    read_records,
)
from zombieproof.traces.readers.segment_content import SegmentContent

LENGTH = Struct(">i")
LENGTH_AT = 8
SHORTEST = HEADER.size - LOG_OVERHEAD
OLD_CRC = Struct(">I")
OLD_CRC_AT = 12
OLD_HEADER = 26
ZEROS = bytes(1 << 16)
WINDOW = 1 << 20


class Keep(Enum):
    """Which records to keep. Markers, and records of batches with fewer records than offsets, are always read."""

    NEEDED = "needed"
    ALL = "all"


def read_segment(
    data: memoryview, file: str, keep: Keep = Keep.NEEDED, reached: Reached | None = None
) -> SegmentContent:
    """Read a whole segment. `file` is how it is named in batches and damage."""
    content = SegmentContent(file, place_of(file), file, start_offset=base_offset_of(file))
    tell_at = WINDOW if reached else len(data)
    for batch in _scan(data, content):
        if batch.position >= tell_at and reached is not None:
            reached(batch.position)
            tell_at = batch.position + WINDOW
        if batch.is_valid:
            batch.is_valid = _complete(data, batch, content, keep)
        if batch.is_valid:
            content.take(batch)
        else:
            content.unsound.append(batch)
    return content


def _scan(data: memoryview, content: SegmentContent) -> Iterator[Batch]:
    """Every batch, sound or not; reports damage as it goes."""
    at, end = 0, len(data)
    while at < end:
        size = _size_at(data, at)
        if size is None or (data[MAGIC_AT + at] != MAGIC and not _is_old(data, at, size)):
            if _is_zero(data, at):
                return
            found = _next_sound(data, at + 1)
            content.breaks(_unreadable(content.file, data, at, found))
            at = found
            continue
        if data[MAGIC_AT + at] != MAGIC:
            content.old_format += 1
            content.skipped = True
            at += size
            continue
        batch = read_header(data, at, content.file)
        if not batch.is_valid and not _may_follow(data, at + size):
            found = _next_sound(data, at + 1)
            content.breaks(_unreadable(content.file, data, at, found))
            at = found
            continue
        if not batch.is_valid:
            content.breaks(_bad_checksum(batch))
        yield batch
        at += size


def _complete(data: memoryview, batch: Batch, content: SegmentContent, keep: Keep) -> bool:
    """Read the records that are needed; False when the batch cannot be believed without them."""
    if not batch.is_control and batch.is_dense and keep is Keep.NEEDED:
        return True
    try:
        batch.records = read_records(data, batch)
        if batch.is_control:
            batch.marker = read_marker(batch.records)
    except Undecodable as fault:
        message = f"the batch at offset {batch.base_offset} has a valid CRC, but {fault}"
        content.breaks(Damage(content.file, batch.position, message))
        return False
    return True


def _size_at(data: memoryview, at: int) -> int | None:
    """Bytes of the batch at `at`, or None when no whole batch can stand there."""
    if at + OLD_HEADER > len(data):
        return None
    (length,) = LENGTH.unpack_from(data, at + LENGTH_AT)
    shortest = SHORTEST if data[at + MAGIC_AT] >= MAGIC else OLD_HEADER - LOG_OVERHEAD
    if length < shortest or at + LOG_OVERHEAD + length > len(data):
        return None
    return LOG_OVERHEAD + int(length)


def _is_old(data: memoryview, at: int, size: int) -> bool:
    """Whether a message set of format 0 or 1 stands there: its own CRC-32 says so."""
    if data[at + MAGIC_AT] > 1:
        return False
    (crc,) = OLD_CRC.unpack_from(data, at + OLD_CRC_AT)
    return bool(zlib.crc32(data[at + MAGIC_AT : at + size]) == crc)


def _may_follow(data: memoryview, at: int) -> bool:
    """Whether the end, a preallocated tail, or something with the look of a batch is at `at`."""
    if at == len(data):
        return True
    size = _size_at(data, at)
    if size is None:
        return _is_zero(data, at)
    return data[at + MAGIC_AT] == MAGIC and _looks_sane(data, at)


def _looks_sane(data: memoryview, at: int) -> bool:
    base, _, leader_epoch, _, _, attributes, delta, *_, count = HEADER.unpack_from(data, at)
    counts = delta >= 0 and 0 <= count <= delta + 1
    return bool(base >= 0 and leader_epoch >= -1 and 0 <= attributes < 0x80 and counts)


def _next_sound(data: memoryview, at: int) -> int:
    """Where the next batch with a valid checksum begins, from `at` on; the end of the data when none does."""
    for window in range(at + MAGIC_AT, len(data), WINDOW):
        part = bytes(data[window : window + WINDOW])
        found = part.find(bytes([MAGIC]))
        while found != -1:
            start = window + found - MAGIC_AT
            if _size_at(data, start) is not None and _looks_sane(data, start) and read_header(data, start, "").is_valid:
                return start
            found = part.find(bytes([MAGIC]), found + 1)
    return len(data)


def _is_zero(data: memoryview, at: int) -> bool:
    """Whether a preallocated tail begins there. Fewer zeros can be the first bytes of a torn batch: its offset."""
    if len(data) - at < LOG_OVERHEAD:
        return False
    for start in range(at, len(data), len(ZEROS)):
        part = data[start : start + len(ZEROS)]
        if part != ZEROS[: len(part)]:
            return False
    return True


def _unreadable(file: str, data: memoryview, at: int, found: int) -> Damage:
    if found < len(data):
        return Damage(file, at, f"no batch can be read here; the next sound one begins at byte {found}")
    return Damage(file, at, f"the last {len(data) - at} bytes are not a whole batch: the tail is torn")


def _bad_checksum(batch: Batch) -> Damage:
    return Damage(
        batch.file,
        batch.position,
        f"the batch at offset {batch.base_offset} does not match its CRC {batch.crc}: nothing in it is believed",
    )


def begins_with_batch(data: memoryview) -> bool:
    """Whether these bytes begin with a sound batch, whatever the file is called."""
    if len(data) < HEADER.size or data[MAGIC_AT] != MAGIC or _size_at(data, 0) is None or not _looks_sane(data, 0):
        return False
    return read_header(data, 0, "").is_valid
