"""Batches as columns: one row for each batch, in the order of the segment."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_MARKER, ABORTS, COMMITS = -1, 0, 1
"""What `Columns.marker` holds."""


class Columns(NamedTuple):
    """One array for each field of a header (reference §7.3), and what was found out about the batch.

    Fields are those of the header; `attributes` has the bits of the format. `marker` and `coordinator_epoch` are those
    of a control batch that ends a transaction, else `NO_MARKER` and -1. `position` counts bytes of the segment, `size`
    is that of the whole batch. `sound` is 1 where the batch may be believed: its CRC is right and it makes sense.
    """

    base_offset: NDArray[np.int64]
    last_offset_delta: NDArray[np.int32]
    record_count: NDArray[np.int32]
    producer_id: NDArray[np.int64]
    producer_epoch: NDArray[np.int16]
    base_sequence: NDArray[np.int32]
    attributes: NDArray[np.int16]
    marker: NDArray[np.int8]
    coordinator_epoch: NDArray[np.int32]
    base_timestamp_ms: NDArray[np.int64]
    max_timestamp_ms: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    position: NDArray[np.int64]
    size: NDArray[np.int32]
    crc: NDArray[np.uint32]
    sound: NDArray[np.int8]

    @property
    def rows(self) -> int:
        """How many batches there are."""
        return len(self.base_offset)

    def first(self, rows: int) -> "Columns":
        """The first rows alone; they share memory with these."""
        return Columns._make(column[:rows] for column in self)


class Data(NamedTuple):
    """A row that is data, as compiled functions hand it on: whole columns for each row cost more than their work."""

    epoch: int
    sequence: int
    base: int
    last: int
    records: int
    time_ms: int
    is_transactional: bool


class Noted(NamedTuple):
    """What is noted of any row, handed on in the same way."""

    base: int
    last: int
    records: int
    attributes: int
    leader_epoch: int
    time_ms: int


class Ending(NamedTuple):
    """A row that is a marker, handed on in the same way."""

    producer_id: int
    epoch: int
    coordinator: int
    offset: int
    time_ms: int
    commits: int


DTYPES = ("i8", "i4", "i4", "i8", "i2", "i4", "i2", "i1", "i4", "i8", "i8", "i4", "i8", "i4", "u4", "i1")
"""Of the columns, in their order."""


def empty(rows: int) -> Columns:
    """Columns for so many rows, which hold nothing yet."""
    return Columns._make(np.empty(rows, dtype=dtype) for dtype in DTYPES)
