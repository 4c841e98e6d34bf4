"""A segment as chunks of columns, with the damage that the readers find in it.

Nothing is held but one chunk, whatever the size of the segment. Whether offsets and leader epochs rise is not looked
at here: the kernel clears nothing in which they do not.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from zombieproof import system
from zombieproof.formats.record_batch import header_at
from zombieproof.formats.segments import Part, PartKind, part_at
from zombieproof.screening.checksum import TABLES
from zombieproof.screening.columns import ABORTS, COMMITS, NO_MARKER, Columns, empty
from zombieproof.screening.walk import walk
from zombieproof.traces.evidence import Damage, LoggedBatch
from zombieproof.traces.readers.segments import Keep, read_part, unreadable

CHUNK = 1 << 16
"""Batches in one chunk: 4.5 MiB of columns."""

WINDOW = 1 << 26
"""Bytes of a segment of which one chunk is made, or less: so much of a mapped file is in memory."""


@dataclass(slots=True)
class Chunk:
    """Batches in order, and what cannot be read among them. `at` is the byte behind the last.

    `old_format` counts batches of message format 0 and 1, which are not read.
    """

    columns: Columns
    at: int
    damage: list[Damage] = field(default_factory=list)
    old_format: int = 0


def read_columns(data: memoryview, file: str, rows: int = CHUNK) -> Iterator[Chunk]:
    """All batches of a segment from its first byte on, at most `rows` at a time. `file` is how it is named in damage.

    The last chunk may be empty. Columns are used again for the next chunk: whoever keeps some copies them.
    """
    columns = empty(rows)
    content = np.frombuffer(data, dtype=np.uint8)
    at = 0
    while True:
        begin, until = at, min(len(data), at + WINDOW)
        at, row = walk(content, at, until, columns, 0, TABLES)
        chunk = Chunk(columns, at)
        while at < until and row < rows:
            part = part_at(data, at)
            row += _take(chunk, data, part, file, row)
            at, row = walk(content, at + part.size, until, columns, row, TABLES)
        chunk.columns, chunk.at = columns.first(row), at
        yield chunk
        _let_go(data, begin, at)
        if at >= len(data):
            return


def _let_go(data: memoryview, begin: int, end: int) -> None:
    """Bytes of a mapped file that were walked need not stay in memory; the file's pages are the system's to keep."""
    first = begin - begin % mmap.PAGESIZE
    if isinstance(data.obj, mmap.mmap) and end > first:
        system.release_pages(data.obj, first, min(end, len(data.obj)) - first)


def _take(chunk: Chunk, data: memoryview, part: Part, file: str, row: int) -> int:
    """Put what the walk stopped at into the chunk; how many rows it takes."""
    if part.kind is PartKind.OLD_FORMAT:
        chunk.old_format += 1
    elif part.kind is PartKind.UNREADABLE:
        chunk.damage.append(unreadable(file, data, part))
    elif part.header is not None:
        batch, damage = read_part(data, part, file, Keep.NEEDED)
        if damage is not None:
            chunk.damage.append(damage)
        put(chunk.columns, row, data, batch)
        return 1
    return 0


def put(columns: Columns, row: int, data: memoryview, batch: LoggedBatch) -> None:
    """Put a batch, as the readers read it, into a row."""
    header, marker = header_at(data, batch.position), batch.marker
    columns.base_offset[row] = header.base_offset
    columns.last_offset_delta[row] = header.last_offset_delta
    columns.record_count[row] = header.record_count
    columns.producer_id[row] = header.producer_id
    columns.producer_epoch[row] = header.producer_epoch
    columns.base_sequence[row] = header.base_sequence
    columns.attributes[row] = header.attributes
    columns.marker[row] = NO_MARKER if marker is None else COMMITS if marker.commit else ABORTS
    columns.coordinator_epoch[row] = -1 if marker is None else marker.coordinator_epoch
    columns.base_timestamp_ms[row] = header.base_timestamp_ms
    columns.max_timestamp_ms[row] = header.max_timestamp_ms
    columns.leader_epoch[row] = header.leader_epoch
    columns.position[row] = batch.position
    columns.size[row] = header.size
    columns.crc[row] = header.crc
    columns.sound[row] = batch.is_valid
