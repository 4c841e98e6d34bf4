"""A segment file as bytes: batch after batch, and the places that cannot be read (reference §7.3).

A batch with a bad checksum is passed by its length when a batch (or the end) follows there; otherwise the next place
where a batch of valid checksum begins is looked for. Zeros to the end are a preallocated tail, not damage.
"""

import zlib
from collections.abc import Iterator
from enum import Enum
from struct import Struct
from typing import NamedTuple

from zombieproof.formats.record_batch import (
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    header_at,
    is_sound,
)
from zombieproof.model.vocabulary import NONE

LENGTH = Struct(">i")
LENGTH_AT = 8
SHORTEST = HEADER.size - LOG_OVERHEAD
OLD_CRC = Struct(">I")
OLD_CRC_AT = 12
OLD_HEADER = 26
ZEROS = bytes(1 << 16)
WINDOW = 1 << 20


class PartKind(Enum):
    """What stands at a place of a segment."""

    BATCH = "batch"
    """A batch of magic 2 that has its checksum."""
    BAD_CHECKSUM = "bad checksum"
    """A whole batch of magic 2 that may not be believed."""
    OLD_FORMAT = "old format"
    """A batch of message format 0 or 1."""
    UNREADABLE = "unreadable"
    """Bytes up to the next batch that is sound, or to the end."""
    PREALLOCATED = "preallocated"
    """Zeros to the end."""


class Part(NamedTuple):
    """A stretch of a segment; `header` is that of a batch of magic 2, sound or not."""

    kind: PartKind
    position: int
    size: int
    header: BatchHeader | None = None


def parts_of(data: memoryview) -> Iterator[Part]:
    """Every part of a segment in order, without gaps."""
    at, end = 0, len(data)
    while at < end:
        part = part_at(data, at)
        yield part
        at += part.size


def sound_end(data: memoryview) -> int:
    """Where the last of the sound batches ends that stand at the begin: recovery cuts a segment there."""
    at = 0
    for part in parts_of(data):
        if part.kind is not PartKind.BATCH:
            break
        at = part.position + part.size
    return at


def begins_with_batch(data: memoryview) -> bool:
    """Whether these bytes begin with a sound batch, whatever the file is called."""
    if len(data) < HEADER.size or data[MAGIC_AT] != MAGIC or _size_at(data, 0) is None:
        return False
    header = header_at(data, 0)
    return _looks_sane(header) and is_sound(header, data, 0)


def part_at(data: memoryview, at: int) -> Part:
    """The part that begins at byte `at`, where the part before it ended."""
    size = _size_at(data, at)
    magic = NONE if size is None else data[MAGIC_AT + at]
    if size is None or (magic != MAGIC and not _is_old(data, at, size)):
        if _is_zero(data, at):
            return Part(PartKind.PREALLOCATED, at, len(data) - at)
        return Part(PartKind.UNREADABLE, at, _next_sound(data, at + 1) - at)
    if magic != MAGIC:
        return Part(PartKind.OLD_FORMAT, at, size)
    header = header_at(data, at)
    if is_sound(header, data, at):
        return Part(PartKind.BATCH, at, size, header)
    if _may_follow(data, at + size):
        return Part(PartKind.BAD_CHECKSUM, at, size, header)
    return Part(PartKind.UNREADABLE, at, _next_sound(data, at + 1) - at)


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
    if _size_at(data, at) is None:
        return _is_zero(data, at)
    return data[at + MAGIC_AT] == MAGIC and _looks_sane(header_at(data, at))


def _looks_sane(header: BatchHeader) -> bool:
    delta = header.last_offset_delta
    counts = delta >= 0 and 0 <= header.record_count <= delta + 1
    return header.base_offset >= 0 and header.leader_epoch >= -1 and 0 <= header.attributes < 0x80 and counts


def _next_sound(data: memoryview, at: int) -> int:
    """Where the next batch with a valid checksum begins, from `at` on; the end of the data when none does."""
    for window in range(at + MAGIC_AT, len(data), WINDOW):
        part = bytes(data[window : window + WINDOW])
        found = part.find(bytes([MAGIC]))
        while found != -1:
            start = window + found - MAGIC_AT
            if _size_at(data, start) is not None and begins_with_batch(data[start:]):
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
