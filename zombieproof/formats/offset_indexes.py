"""The sparse indexes beside a segment: ``<offset>.index`` (8 bytes an entry) and ``<offset>.timeindex`` (12 bytes).

An entry of the first: the last offset of a batch, against the segment's base, and the byte at which the batch begins.
Of the second: the largest timestamp (ms) so far, and the last offset of the batch that has it, against the base.
Source: ``OffsetIndex.java``, ``TimeIndex.java``, ``LogSegment.append``.
"""

from collections.abc import Iterable
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

from zombieproof.formats.faults import Undecodable

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")


class OffsetEntry(NamedTuple):
    """The batch whose last offset this is begins at byte `position`."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """No batch up to the one that ends at `offset` is later."""

    timestamp_ms: int
    offset: int


def read_offset_index(data: bytes | memoryview, base_offset: int) -> list[OffsetEntry]:
    """The entries of an index.

    Raises:
        Undecodable: it is no whole number of entries, or they do not ascend; Kafka builds such an index anew.
    """
    _whole(data, OFFSET_ENTRY, "an offset index")
    found = [OffsetEntry(base_offset + relative, at) for relative, at in OFFSET_ENTRY.iter_unpack(data)]
    for index, (before, entry) in enumerate(pairwise(found), 1):
        if entry.offset <= before.offset or entry.position <= before.position:
            raise Undecodable(f"entry {index} of an offset index does not ascend", index * OFFSET_ENTRY.size)
    if found and (found[0].offset < base_offset or found[0].position < 0):
        raise Undecodable("entry 0 of an offset index is below the begin of its segment", 0)
    return found


def write_offset_index(entries: Iterable[OffsetEntry], base_offset: int) -> bytes:
    """The index of these entries."""
    return b"".join(OFFSET_ENTRY.pack(entry.offset - base_offset, entry.position) for entry in entries)


def read_time_index(data: bytes | memoryview, base_offset: int) -> list[TimeEntry]:
    """The entries of an index.

    Raises:
        Undecodable: it is no whole number of entries, or they descend.
    """
    _whole(data, TIME_ENTRY, "a time index")
    found = [TimeEntry(time, base_offset + relative) for time, relative in TIME_ENTRY.iter_unpack(data)]
    for index, (before, entry) in enumerate(pairwise(found), 1):
        if entry.timestamp_ms < before.timestamp_ms or entry.offset < before.offset:
            raise Undecodable(f"entry {index} of a time index descends", index * TIME_ENTRY.size)
    return found


def write_time_index(entries: Iterable[TimeEntry], base_offset: int) -> bytes:
    """The index of these entries."""
    return b"".join(TIME_ENTRY.pack(entry.timestamp_ms, entry.offset - base_offset) for entry in entries)


def _whole(data: bytes | memoryview, entry: Struct, what: str) -> None:
    if len(data) % entry.size:
        raise Undecodable(f"{what} has entries of {entry.size} bytes, and this one {len(data)} bytes", len(data))
