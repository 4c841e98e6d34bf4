"""What read_committed consumers get of a cleared log, from its columns, and where the log was stable at each abort."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zombieproof.formats.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT
from zombieproof.screening.columns import Columns

Numbers = NDArray[np.int64]

UNENDED = 1 << 62
"""The marker offset of what is open: behind every other."""


def stable_offsets(firsts: Numbers, markers: Numbers, aborts: Numbers) -> Numbers:
    """The last stable offset when each marker of `aborts` was written.

    `firsts` (rising) and `markers` are those of all transactions that were open meanwhile. Another one that is open
    holds it at its first offset, else it is behind the marker (reference §3.6).
    """
    ended = np.searchsorted(np.maximum.accumulate(markers), aborts, side="right")
    oldest = np.append(firsts, UNENDED)[ended]
    return np.where(oldest < aborts, oldest, aborts + 1)


class Aborted:
    """Aborted transactions: rows of producer id, first offset and marker, in any order."""

    def __init__(self, rows: Numbers) -> None:
        ordered = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        self._producers, starts = np.unique(ordered[:, 0], return_index=True)
        self._spans = np.split(ordered[:, 1:], starts[1:]) if len(ordered) else []

    def visible(self, columns: Columns, bound: int) -> NDArray[np.bool_]:
        """Which batches of a chunk consumers get that read up to the one at `bound`."""
        shown: NDArray[np.bool_] = (columns.base_offset < bound) & (columns.attributes & CONTROL_BIT == 0)
        may_be_aborted = shown & (columns.attributes & TRANSACTIONAL_BIT != 0)
        here = np.intersect1d(columns.producer_id[may_be_aborted], self._producers)
        for place, producer_id in zip(np.searchsorted(self._producers, here), here, strict=True):
            spans = self._spans[place]
            rows = np.flatnonzero(may_be_aborted & (columns.producer_id == producer_id))
            base = columns.base_offset[rows]
            before = np.searchsorted(spans[:, 0], base, side="right") - 1
            shown[rows[(before >= 0) & (base < spans[before, 1])]] = False
        return shown


def ranges(columns: Columns, is_shown: NDArray[np.bool_], start: int) -> Iterator[tuple[int, int]]:
    """Offsets of dense batches from `start` on, those that follow each other as one range."""
    firsts = np.maximum(columns.base_offset[is_shown], start)
    ends = columns.base_offset[is_shown] + columns.last_offset_delta[is_shown] + 1
    firsts, ends = firsts[ends > start], ends[ends > start]
    breaks = np.flatnonzero(firsts[1:] != ends[:-1]) + 1
    begins, behind = np.append([0], breaks), np.append(breaks, len(ends))
    if len(firsts):
        yield from zip(firsts[begins].tolist(), ends[behind - 1].tolist(), strict=True)
