"""The index of aborted transactions beside a segment, ``<offset>.txnindex``: 34 bytes an entry (reference §3.6)."""

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

ENTRY = Struct(">hqqqq")
"""version 0, producerId, firstOffset, lastOffset, lastStableOffset."""

VERSION = 0


class IndexEntry(NamedTuple):
    """One aborted transaction."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def read_index(data: bytes | memoryview) -> tuple[list[IndexEntry], str | None]:
    """The entries in file order up to the first that cannot be read, and what is wrong with that one (or None).

    The fault stands at byte ``len(entries) * 34``.
    """
    entries: list[IndexEntry] = []
    for at in range(0, len(data), ENTRY.size):
        if at + ENTRY.size > len(data):
            return entries, f"the last entry has {len(data) - at} bytes of {ENTRY.size}: it is cut short"
        version, producer_id, first, last, stable = ENTRY.unpack_from(data, at)
        if version != VERSION:
            return entries, f"version {version} of index entries is unknown; version {VERSION} is read"
        if not (producer_id >= 0 and 0 <= first <= last and stable >= 0):
            return entries, f"producer {producer_id}, offsets {first} to {last}, stable {stable} make no sense"
        entries.append(IndexEntry(producer_id, first, last, stable))
    return entries, None


def write_index(entries: Iterable[IndexEntry]) -> bytes:
    """The index of these entries; what is appended to it is the index of what is appended to them."""
    return b"".join(ENTRY.pack(VERSION, *entry) for entry in entries)
