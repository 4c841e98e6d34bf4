"""From the bytes of a segment to rows of a packed one: every part of it, and the content that has to be kept."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zombieproof.formats.record_batch import CONTROL_BIT, HEADER
from zombieproof.formats.segments import Part, PartKind, part_at
from zombieproof.screening.checksum import TABLES
from zombieproof.screening.columns import Columns, empty
from zombieproof.screening.packed.layout import CONSTANT_OF_NO_BATCH, CONTENT_BYTES, HAS_HEADER, ROWS, PartCode
from zombieproof.screening.reading import put
from zombieproof.screening.walk import walk
from zombieproof.traces.evidence import Damage
from zombieproof.traces.readers.segments import Keep, read_part, unreadable


class Parts(NamedTuple):
    """Some parts in order. `sizes` are those of the parts; `at` is the byte behind the last."""

    columns: Columns
    part: NDArray[np.int8]
    sizes: NDArray[np.int64]
    damage: list[Damage]
    at: int

    def keeps(self, keep: Keep) -> NDArray[np.bool_]:
        """The rows whose content is kept: what markers say, records of batches with gaps, and whatever is damaged."""
        columns = self.columns
        is_there: NDArray[np.bool_] = self.part != PartCode.PREALLOCATED
        if keep is Keep.ALL:
            return is_there
        is_plain = (self.part == PartCode.BATCH) & (columns.attributes & CONTROL_BIT == 0)
        is_plain &= columns.record_count == columns.last_offset_delta + 1
        kept: NDArray[np.bool_] = is_there & ~is_plain & (self.part != PartCode.OLD_FORMAT)
        return kept

    def contents(self, data: memoryview, kept: NDArray[np.bool_]) -> list[bytes | None]:
        """The content of the rows that are kept, None for the others."""
        found: list[bytes | None] = [None] * len(kept)
        begins = self.columns.position + np.where(np.isin(self.part, HAS_HEADER), HEADER.size, 0)
        ends = self.columns.position + self.sizes
        rows = np.flatnonzero(kept)
        for row, begin, end in zip(rows.tolist(), begins[rows].tolist(), ends[rows].tolist(), strict=True):
            found[row] = bytes(data[begin:end])
        return found

    def slices(self, kept: NDArray[np.bool_]) -> Iterator["Parts"]:
        """The same in pieces whose content is not too much to be held."""
        reached = np.cumsum(np.where(kept, self.sizes, 0))
        begin = 0
        while begin < len(self.part):
            before = int(reached[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(reached, before + CONTENT_BYTES, side="right")))
            columns = Columns._make(column[begin:end] for column in self.columns)
            yield Parts(columns, self.part[begin:end], self.sizes[begin:end], [], self.at)
            begin = end


def parts_in(data: memoryview, file: str, rows: int = ROWS) -> Iterator[Parts]:
    """All parts of a segment, at most `rows` at a time; none where it is empty.

    Arrays are used again for the next parts: whoever keeps some copies them.
    """
    columns, part, sizes = empty(rows), np.empty(rows, np.int8), np.empty(rows, np.int64)
    content = np.frombuffer(data, dtype=np.uint8)
    at = 0
    while at < len(data):
        damage: list[Damage] = []
        row = 0
        while at < len(data) and row < rows:
            at, reached = walk(content, at, len(data), columns, row, TABLES)
            part[row:reached] = PartCode.BATCH
            sizes[row:reached] = columns.size[row:reached]
            row = reached
            if at < len(data) and row < rows:
                found = part_at(data, at)
                part[row], sizes[row] = PartCode[found.kind.name], found.size
                _take(columns, row, data, found, file, damage)
                at, row = at + found.size, row + 1
        yield Parts(columns.first(row), part[:row], sizes[:row], damage, at)


def _take(columns: Columns, row: int, data: memoryview, part: Part, file: str, damage: list[Damage]) -> None:
    """Put what the walk stopped at into the row."""
    if part.header is not None:
        batch, fault = read_part(data, part, file, Keep.NEEDED)
        put(columns, row, data, batch)
        damage += [fault] if fault is not None else []
        return
    for column in columns:
        column[row] = CONSTANT_OF_NO_BATCH if column.dtype.kind == "i" else 0
    columns.attributes[row] = columns.sound[row] = 0
    columns.position[row], columns.size[row] = part.position, min(part.size, np.iinfo(np.int32).max)
    if part.kind is PartKind.UNREADABLE:
        damage.append(unreadable(file, data, part))
