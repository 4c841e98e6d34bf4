"""Rows that grow with a log: memory holds so many bytes of them, for all logs together, and a temporary file the rest.

What a log has of transactions under version 2, where each has an epoch of its own, is as long as the log; so are its
markers and its aborted transactions.
"""

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
"""Rows of numbers, all with as many columns."""

HELD_BYTES = 96 << 20
STEP = 4096
"""Of so many sorted rows in the file the first one's first column is held."""
WINDOW = 1 << 19
"""About so many rows of all logs are looked at together."""
PARTS_MAX = 64
"""Of rows, before they are put together."""
LEAST, MOST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


class Holder(Protocol):
    """Holds rows in memory, and can write them out."""

    def spill(self) -> None:
        """Write out all that is held."""


class Written(NamedTuple):
    """Rows in the file: where they begin, in bytes, and how many there are."""

    at: int
    rows: int


class Spill:
    """The temporary file that several holders share, and how much they hold together."""

    def __init__(self) -> None:
        self._most = HELD_BYTES
        self._held = 0
        self._holders: list[Holder] = []
        self._file: IO[bytes] | None = None

    def joins(self, holder: Holder) -> None:
        """Somebody more, who is asked to write when all together hold too much."""
        self._holders.append(holder)

    def holds(self, more_bytes: int) -> None:
        """A holder has so much more than before.

        Raises:
            OSError: the temporary file cannot be written.
        """
        self._held += more_bytes
        if self._held > self._most:
            for each in self._holders:
                each.spill()
            self._held = 0

    def write(self, rows: Rows) -> Written:
        """Write rows at the end."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="zombieproof-", buffering=0)  # noqa: SIM115  # as long as this
                weakref.finalize(self, self._file.close)
            at = self._file.seek(0, 2)
            np.ascontiguousarray(rows).tofile(self._file)
        except OSError as error:
            raise OSError(
                error.errno,
                f"what was read of transactions is more than the {self._most >> 20} MiB that memory holds, and cannot "
                f"be written here: {error.strerror or error}. Legal is a folder for temporary files with 100 bytes for "
                "each transaction and partition: say it with TMPDIR",
                tempfile.gettempdir(),
            ) from error
        return Written(at, len(rows))

    def read(self, written: Written, columns: int, first: int, past: int) -> Rows:
        """Rows `first` up to, not including, `past` of what was written."""
        assert self._file is not None
        assert 0 <= first <= past <= written.rows
        self._file.seek(written.at + first * columns * 8)
        return np.fromfile(self._file, np.int64, (past - first) * columns).reshape(-1, columns)


class Pile:
    """Rows in the order in which they were added."""

    def __init__(self, columns: int, spill: Spill) -> None:
        self._columns, self._spill = columns, spill
        self._written: list[Written] = []
        self._held: list[Rows] = []
        spill.joins(self)

    def add(self, rows: Rows) -> None:
        """Take more rows."""
        if len(rows):
            self._held.append(rows)
            self._spill.holds(rows.nbytes)

    def spill(self) -> None:
        """Write out all that is held."""
        if self._held:
            self._written.append(self._spill.write(np.concatenate(self._held)))
            self._held = []

    def __iter__(self) -> Iterator[Rows]:
        """All rows, in stretches."""
        for written in self._written:
            for first in range(0, written.rows, WINDOW):
                yield self._spill.read(written, self._columns, first, min(written.rows, first + WINDOW))
        yield from list(self._held)


class Run(NamedTuple):
    """Sorted rows in the file, and the first column of every `STEP`-th of them."""

    written: Written
    firsts: Rows


class RowsByFirst:
    """Rows in the order of their first column; those that have the same one in the order in which they were added."""

    def __init__(self, columns: int, spill: Spill) -> None:
        self._columns, self._spill = columns, spill
        self._runs: list[Run] = []
        self._held: list[Rows] = []
        self._is_settled = False
        spill.joins(self)

    def add(self, rows: Rows) -> None:
        """Take more rows."""
        if not len(rows):
            return
        self._held.append(rows)
        self._is_settled = False
        more = rows.nbytes
        if len(self._held) > PARTS_MAX:
            before = sum(each.nbytes for each in self._held) - more
            more = self._settled().nbytes - before
        self._spill.holds(more)

    def _ordered(self, parts: Sequence[Rows]) -> Rows:
        """The rows of parts, which follow each other, in order."""
        together = np.concatenate([np.empty((0, self._columns), dtype=np.int64), *parts])
        return together[np.argsort(together[:, 0], kind="stable")]

    def _settled(self) -> Rows:
        """What is held, in order; it stays the only part that is."""
        if not self._is_settled:
            self._held, self._is_settled = [self._ordered(self._held)], True
        return self._held[0]

    def spill(self) -> None:
        """Write out all that is held, as one run."""
        rows = self._settled()
        if len(rows):
            self._runs.append(Run(self._spill.write(rows), rows[::STEP, 0].copy()))
        self._held, self._is_settled = [], False

    def samples(self) -> Rows:
        """The first columns of every `STEP`-th row, roughly, in no order."""
        return np.concatenate([*(run.firsts for run in self._runs), self._settled()[::STEP, 0]])

    def between(self, first: int, last: int) -> Rows:
        """The rows whose first column lies there, both ends included."""
        return self._ordered([_cut(part, first, last) for part in (*self._near(first, last), self._settled())])

    def _near(self, first: int, last: int) -> Iterator[Rows]:
        """Of each run somewhat more than what lies there."""
        for run in self._runs:
            begin = max(0, int(np.searchsorted(run.firsts, first, side="left")) - 1) * STEP
            past = min(run.written.rows, int(np.searchsorted(run.firsts, last, side="right")) * STEP)
            yield self._spill.read(run.written, self._columns, begin, max(begin, past))

    def __iter__(self) -> Iterator[Rows]:
        """All rows, in stretches that share no first column."""
        for (rows,) in abreast([self]):
            yield rows


class SortedRows(RowsByFirst):
    """Rows of two columns, each once and in order, whatever order they are added in."""

    def __init__(self, spill: Spill) -> None:
        super().__init__(2, spill)

    def _ordered(self, parts: Sequence[Rows]) -> Rows:
        return distinct(parts)


def _cut(rows: Rows, first: int, last: int) -> Rows:
    """Of sorted rows those whose first column lies there."""
    firsts = rows[:, 0]
    return rows[np.searchsorted(firsts, first, side="left") : np.searchsorted(firsts, last, side="right")]


def abreast(several: Sequence[RowsByFirst]) -> Iterator[list[Rows]]:
    """The rows of all, in stretches that share no first column, of each what lies in the same stretch."""
    samples = np.sort(np.concatenate([np.empty(0, np.int64), *(each.samples() for each in several)]))
    cuts = np.unique(samples[:: max(1, WINDOW // STEP)])[1:].tolist()
    for first, last in zip([LEAST, *cuts], [*(cut - 1 for cut in cuts), MOST], strict=True):
        yield [each.between(first, last) for each in several]


def distinct(rows: Sequence[Rows]) -> Rows:
    """The rows of all, of two columns, each once and in order; packed into one number each where that has room."""
    together = np.concatenate([np.empty((0, 2), dtype=np.int64), *rows])
    if not len(together):
        return together
    first, key = together[:, 0].min(), together[:, 1]
    bits = int(key.max()).bit_length()
    if key.min() >= 0 and int(together[:, 0].max()) - int(first) < 1 << (63 - bits):
        packed = np.unique((together[:, 0] - first) << bits | key)
        return np.stack(((packed >> bits) + first, packed & (1 << bits) - 1), axis=1)
    ordered = together[np.lexsort((together[:, 1], together[:, 0]))]
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[is_new]
