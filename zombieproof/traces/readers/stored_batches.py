"""Batches that stay where they are: in the segments of a log, read when they are asked for.

Of each segment some places are known, `STRIDE` batches apart; what lies between is found by the lengths of batches. A
stretch that was read is kept until another one is.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import overload

from zombieproof.formats.segments import parts_of
from zombieproof.traces.evidence import LoggedBatch
from zombieproof.traces.readers.files import opened
from zombieproof.traces.readers.segments import Keep, read_part

STRIDE = 256

Stretch = Callable[[Path, int, int | None], Iterator[LoggedBatch]]
"""Gives batches of a segment from one on, counted from 0: so many, or all."""


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment file of `batches` batches that were all sound, in its first `size` bytes.

    `places` are the bytes at which every `STRIDE`-th begins, from the first on. `packed` gives the batches of a packed
    segment, of which no places are known.
    """

    file: str
    batches: int
    size: int
    places: "array[int]"
    packed: Stretch | None = None


class StoredBatches(Sequence[LoggedBatch]):
    """The batches of segments that follow each other.

    Raises:
        OSError: (on reading) a segment cannot be opened any more.
    """

    def __init__(self, segments: Sequence[StoredSegment]) -> None:
        self._segments = [segment for segment in segments if segment.batches]
        self._ends = list(accumulate(segment.batches for segment in self._segments))
        self._stretch: tuple[int, int, list[LoggedBatch]] = (-1, -1, [])

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[LoggedBatch]:
        return self._from(0)

    @overload
    def __getitem__(self, index: int) -> LoggedBatch: ...

    @overload
    def __getitem__(self, index: slice) -> list[LoggedBatch]: ...

    def __getitem__(self, index: int | slice) -> LoggedBatch | list[LoggedBatch]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[each] for each in range(start, stop, step)]
            batches = self._from(start)
            return [next(batches) for _ in range(start, stop)]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"batch {index} of {len(self)}")
        number = bisect_right(self._ends, place)
        within = place - (self._ends[number - 1] if number else 0)
        stretch, offset = divmod(within, STRIDE)
        if self._stretch[:2] != (number, stretch):
            self._stretch = (number, stretch, list(self._read(number, stretch, limit=STRIDE)))
        return self._stretch[2][offset]

    def _from(self, index: int) -> Iterator[LoggedBatch]:
        """All batches from one on; nothing of them is kept."""
        number = bisect_right(self._ends, index)
        within = index - (self._ends[number - 1] if number else 0)
        for each in range(number, len(self._segments)):
            skipped = within % STRIDE
            for batch in self._read(each, within // STRIDE):
                if skipped:
                    skipped -= 1
                else:
                    yield batch
            within = 0

    def _read(self, number: int, stretch: int, limit: int | None = None) -> Iterator[LoggedBatch]:
        segment = self._segments[number]
        if segment.packed is not None:
            yield from segment.packed(Path(segment.file), stretch * STRIDE, limit)
            return
        at = segment.places[stretch]
        left = segment.batches - stretch * STRIDE
        left = left if limit is None else min(left, limit)
        with opened(Path(segment.file)) as content, content.data[: segment.size] as data, data[at:] as rest:
            for part in parts_of(rest):
                if part.header is not None and left:
                    batch, _ = read_part(data, part._replace(position=at + part.position), segment.file, Keep.NEEDED)
                    left -= 1
                    yield batch
                if not left:
                    return
