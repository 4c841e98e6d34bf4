"""The segments of one log, screened one after the other, as one: what is kept of it does not grow with its batches.

Each summary is merged at once into that of all segments before; what markers ended is then known, and is packed.
"""

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.screening.cleared_log import ABORTED_FIELDS, ClearedLog
from zombieproof.screening.kernel import (
    END_COMMITS,
    END_FIELDS,
    END_FIRST,
    END_MARKER_OFFSET,
    END_PRODUCER_ID,
    END_RECORDS,
    UNSEEN,
)
from zombieproof.screening.outcomes import of_ends, of_open
from zombieproof.screening.reading import CHUNK, read_columns
from zombieproof.screening.rules import Unclear
from zombieproof.screening.spilling import Pile, Rows, RowsByFirst, SortedRows, Spill
from zombieproof.screening.summaries import SegmentScreen, Summary, beginning, merge
from zombieproof.screening.visible import UNENDED, stable_offsets
from zombieproof.traces.evidence import PartitionLog, Source
from zombieproof.traces.readers.files import Place, base_offset_of, is_table, opened
from zombieproof.traces.readers.stored_batches import STRIDE, StoredBatches, StoredSegment


class Screened(NamedTuple):
    """One segment: its summary, and where its batches are."""

    summary: Summary
    stored: StoredSegment


def screen_stored(file: str, topic: str, reached: Callable[[int], None], rows: int = CHUNK) -> Screened:
    """Screen one segment file; `reached` hears of bytes. What is behind the first fault is not read.

    Raises:
        OSError: the file cannot be opened or mapped.
        Undecodable: a packed segment is damaged, or no such thing.
    """
    if is_table(file):
        return _screen_packed(Path(file), topic, reached)
    screen = SegmentScreen(base_offset_of(file), judges_sequences=topic != CONSUMER_OFFSETS)
    places: array[int] = array("q")
    batches = size = 0
    with opened(Path(file)) as content:
        if content.fault is not None:
            screen.refuse(Unclear.NOT_BELIEVED)
        for chunk in read_columns(content.data, file, rows):
            if chunk.damage or chunk.old_format:
                screen.refuse(Unclear.NOT_BELIEVED)
            screen.take(chunk.columns)
            places.frombytes(chunk.columns.position[-batches % STRIDE :: STRIDE].tobytes())
            batches, size = batches + chunk.columns.rows, chunk.at
            reached(size)
            if not screen.is_clear:
                break
    return Screened(screen.summary(), StoredSegment(file, batches, size, places))


def _screen_packed(path: Path, topic: str, reached: Callable[[int], None]) -> Screened:
    from zombieproof.screening.packed.contents import packed_batches  # noqa: PLC0415  # loads pyarrow
    from zombieproof.screening.packed.reading import screen_packed  # noqa: PLC0415

    summary = screen_packed(path, topic, reached)
    return Screened(summary, StoredSegment(str(path), summary.batches, 0, array("q"), packed_batches))


class Gathering:
    """A log whose segments are given in their order.

    What grows with its transactions `spill` keeps. `start_offset` is that of the log start checkpoint (None: there is
    none), `is_cleaned` whether a cleaner checkpoint names the partition, `keeps_ends` whether all its markers are kept
    one by one.
    """

    def __init__(
        self, place: Place, spill: Spill, *, start_offset: int | None, is_cleaned: bool, keeps_ends: bool
    ) -> None:
        self.place = place
        self._start, self._is_cleaned, self._keeps_ends = start_offset, is_cleaned, keeps_ends
        self._merged: Summary | None = None
        self._rows = SortedRows(spill)
        self._aborted = Pile(ABORTED_FIELDS, spill)
        self._ends = RowsByFirst(END_FIELDS, spill)
        self.segments: list[StoredSegment] = []

    def takes(self, screened: Screened) -> bool:
        """Whether the log is clear with one segment more; else nothing may be asked of it any more."""
        summary, stored = screened
        merged = self._merged
        if merged is None:
            start = max(summary.begin, self._start or 0)
            if summary.has_gaps and start > summary.begin:
                return False  # Whether offsets are missing in front of the log's start nobody asks.
            merged = beginning(
                summary.begin,
                start_offset=start,
                is_cleaned=self._is_cleaned,
                judges_sequences=summary.judges_sequences,
            )
        merged = merge(merged, summary)
        if not merged.is_clear:
            return False
        parts, merged.parts = merged.parts, ()
        self._merged = merged
        self._pack([part for part in parts if len(part)], merged)
        self.segments.append(stored)
        return True

    def _pack(self, parts: Sequence[Rows], merged: Summary) -> None:
        """Take in what the markers of one segment ended; all that matters of it is known now."""
        for part in parts:
            self._rows.add(of_ends(part))
            if self._keeps_ends:
                self._ends.add(part)
        aborts = [part[(part[:, END_COMMITS] == 0) & (part[:, END_FIRST] != UNSEEN)] for part in parts]
        if not any(map(len, aborts)):
            return
        still = [(each.run_first, UNENDED) for each in merged.open_runs().values()]
        begun = [part[:, [END_FIRST, END_MARKER_OFFSET]][part[:, END_FIRST] != UNSEEN] for part in parts]
        spans = np.concatenate([*begun, np.array(still, dtype=np.int64).reshape(-1, 2)])
        spans = spans[np.argsort(spans[:, 0])]
        told = np.concatenate(aborts)[
            :, [END_PRODUCER_ID, END_FIRST, END_MARKER_OFFSET, END_MARKER_OFFSET, END_RECORDS]
        ]
        told[:, 3] = stable_offsets(spans[:, 0], spans[:, 1], told[:, 2])
        self._aborted.add(told)

    def log(self) -> PartitionLog:
        """The log, cleared. It has a segment."""
        assert self._merged is not None
        self._rows.add(of_open(self._merged.open_runs()))  # once more is no more: each row is there once
        ends = self._ends if self._keeps_ends else None
        cleared = ClearedLog(self._merged, self._rows, self._aborted, ends, self.segments)
        return PartitionLog(
            self.place.topic,
            self.place.partition,
            self.place.replica,
            Source.SEGMENT,
            batches=StoredBatches(self.segments),
            start_offset=self._merged.begin,
            end_offset=self._merged.end,
            files=[segment.file for segment in self.segments],
            cleared=cleared,
        )
