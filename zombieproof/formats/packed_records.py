"""The records of a batch, left in its bytes until somebody looks at one.

How many there are its header says. So a batch goes from its producer to the log, and from the log to a reader, without
being unpacked on its way.
"""

from collections.abc import Iterator, Sequence
from typing import SupportsIndex, overload

from zombieproof.formats.batches import Record
from zombieproof.formats.record_batch import BatchHeader, header_at, read_records
from zombieproof.formats.stored_records import StoredRecord
from zombieproof.model.vocabulary import NONE


class PackedRecords(Sequence[Record]):
    """The records of the sound batch that `data` is; equal to whatever holds equal records.

    Whatever looks at one raises `Undecodable` where the bytes do not hold what the header says.
    """

    __slots__ = ("_count", "_data", "_records")

    def __init__(self, data: bytes, count: int) -> None:
        self._data, self._count = data, count
        self._records: tuple[Record, ...] | None = None

    def unpack(self) -> tuple[Record, ...]:
        """The records; they are unpacked once.

        Raises:
            Undecodable: the bytes do not hold what the header says.
        """
        if self._records is None:
            header = header_at(self._data, 0)
            self._records = records_of(header, read_records(self._data, 0, header))
        return self._records

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Record]:
        return iter(self.unpack())

    @overload
    def __getitem__(self, index: SupportsIndex) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Record | tuple[Record, ...]:
        return self.unpack()[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedRecords):
            return self is other or self.unpack() == other.unpack()
        return self.unpack() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.unpack())

    def __repr__(self) -> str:
        return repr(self.unpack())


def records_of(header: BatchHeader, stored: Sequence[StoredRecord]) -> tuple[Record, ...]:
    """Records as they are told of: a place and a time of their own have those that differ from what the batch says."""
    base_ms, newest_ms = header.base_timestamp_ms, header.max_timestamp_ms
    return tuple(
        Record(
            key,
            value,
            NONE if delta == index else delta,
            headers,
            None if base_ms + timestamp_delta == newest_ms else base_ms + timestamp_delta,
        )
        for index, (delta, timestamp_delta, key, value, headers, _) in enumerate(stored)
    )
