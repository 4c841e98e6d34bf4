"""A packed segment as chunks of columns, row group after row group: what `screening.reading` makes of the segment."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zombieproof import system
from zombieproof.formats.record_batch import LOG_OVERHEAD, MAGIC, BatchHeader
from zombieproof.formats.segments import Part
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.screening.columns import Columns, empty
from zombieproof.screening.packed.layout import (
    COLUMN_TYPES,
    CONTENT,
    HAS_HEADER,
    PART,
    SUFFIX,
    Origin,
    PackedError,
    PartCode,
    origin_of,
    schema,
)
from zombieproof.screening.reading import Chunk
from zombieproof.screening.rules import Unclear
from zombieproof.screening.summaries import SegmentScreen, Summary
from zombieproof.traces.evidence import Damage
from zombieproof.traces.readers.files import base_offset_of, place_of
from zombieproof.traces.readers.lines import Reached
from zombieproof.traces.readers.segments import Keep, read_part, unreadable

Group = dict[str, Any]
"""Arrays of Arrow by the names of columns."""
CODES = frozenset(PartCode)

NOT_SCREENED = ("base_timestamp_ms", "position", "size", "crc")
"""Columns at which the screen does not look."""
SCREENED = tuple(name for name in COLUMN_TYPES if name not in NOT_SCREENED)


@contextmanager
def _faults_of(file: str) -> Iterator[None]:
    """What Arrow finds wrong is a fault of the file."""
    import pyarrow as pa  # noqa: PLC0415  # an extra

    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PackedError(f"{file} is damaged: {first}; pack the segment again") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise PackedError(f"{file} is damaged: {str(error).splitlines()[0]}; pack the segment again") from error


class PackedFile:
    """A packed segment that is open.

    Attributes:
        file: its path.
        segment: the path that the segment would have in the same folder.
        origin: what it says of itself.

    Raises:
        OSError: it cannot be opened.
        PackedError: it is none, or damaged, or lies where another one belongs.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

        self.file = str(path)
        self.segment = self.file.removesuffix(SUFFIX)
        with ExitStack() as undo:
            stream = undo.enter_context(path.open("rb"))
            with _faults_of(self.file):
                self._parquet = pq.ParquetFile(stream, page_checksum_verification=True)
                found, metadata = self._parquet.schema_arrow, self._parquet.metadata
                self.origin: Origin = origin_of(metadata.metadata, self.file)
            self._check(found, [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)])
            self._close = undo.pop_all().close

    def _check(self, found: Any, rows: Sequence[int]) -> None:
        if not found.equals(schema(), check_metadata=False):
            raise PackedError(f"{self.file} has other columns than version {self.origin.version} has; pack it again")
        if rows != [group.rows for group in self.origin.groups] or sum(rows) != self.origin.rows:
            raise PackedError(
                f"{self.file} is damaged: it holds {sum(rows):,} rows and says {self.origin.rows:,}; pack it again"
            )
        place = place_of(self.segment)
        if Path(self.segment).name != self.origin.segment or (
            place.is_known and (place.topic, place.partition) != (self.origin.topic, self.origin.partition)
        ):
            belongs = f"{self.origin.topic}-{self.origin.partition}/{self.origin.segment}{SUFFIX}"
            raise PackedError(f"{self.file} is packed of {self.origin.source}: put it back as {belongs}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def group(self, number: int, names: Sequence[str]) -> Group:
        """The named columns of a row group.

        Raises:
            PackedError: the file is damaged.
        """
        with _faults_of(self.file):
            table = self._parquet.read_row_group(number, columns=list(names), use_threads=False)
            found = {name: table.column(name).combine_chunks() for name in names}
            if any(array.null_count for name, array in found.items() if name != CONTENT):
                raise PackedError(f"{self.file} is damaged: row group {number} lacks values; pack the segment again")
        return found

    def groups(self, names: Sequence[str]) -> Iterator[Group]:
        """The named columns of each row group.

        Raises:
            PackedError: the file is damaged.
        """
        for number in range(self._parquet.num_row_groups):
            yield self.group(number, names)

    def chunks(self, *, only_screened: bool = False) -> Iterator[Chunk]:
        """The batches as `read_columns` reads them; on request without the columns at which the screen does not look.

        Columns are used again for the next chunk: whoever keeps some copies them.

        Raises:
            PackedError: the file is damaged.
        """
        names = SCREENED if only_screened else tuple(COLUMN_TYPES)
        room_for = Filled()
        for number, known in enumerate(self.origin.groups):
            constant, rows = known.constants, known.rows
            group = self.group(number, [name for name in (*names, PART) if name not in constant])
            if PART in constant and constant[PART] == PartCode.BATCH and constant.get("sound") == 1:
                yield Chunk(room_for.take(names, group, constant, rows), known.end)
                continue
            part, sound = (
                plain(group[name]) if name in group else np.full(rows, constant[name]) for name in (PART, "sound")
            )
            is_batch = np.isin(part, HAS_HEADER)
            wrong = (part == PartCode.UNREADABLE) | (is_batch & (sound == 0))
            damage = self._damage(number, wrong) if wrong.any() else []
            old = int((part == PartCode.OLD_FORMAT).sum())
            yield Chunk(room_for.take(names, group, constant, rows, is_batch), known.end, damage, old)
        if not self.origin.rows:
            yield Chunk(empty(0), 0)

    def _damage(self, number: int, wrong: NDArray[np.bool_]) -> list[Damage]:
        """What the readers say of these rows of a row group."""
        with room(self.origin) as data:
            parts = parts_of(self, self.group(number, (*COLUMN_TYPES, PART, CONTENT)), data, wrong)
            found = (
                read_part(data, part, self.file, Keep.NEEDED)[1]
                if part.header is not None
                else unreadable(self.file, data, part)
                for part in parts
            )
            return [damage for damage in found if damage is not None]


class Filled:
    """Columns that are filled again for each row group; what is constant in some that follow each other, only once."""

    def __init__(self) -> None:
        self._columns = empty(0)
        self._constant: dict[str, int] = {}

    def take(
        self,
        names: Sequence[str],
        group: Group,
        constant: Mapping[str, int],
        rows: int,
        is_batch: NDArray[np.bool_] | None = None,
    ) -> Columns:
        """The columns of a row group: those that are named, of all rows or of those that are batches."""
        if rows > self._columns.rows:
            self._columns = Columns._make(np.zeros(rows, column.dtype) for column in self._columns)
            self._constant.clear()
        kept = rows if is_batch is None else int(is_batch.sum())
        for name in names:
            column = getattr(self._columns, name)
            if name not in constant:
                values = plain(group[name])
                column[:kept] = values if is_batch is None else values[is_batch]
                self._constant.pop(name, None)
            elif self._constant.get(name) != constant[name]:
                column[:] = constant[name]
                self._constant[name] = constant[name]
        return self._columns.first(kept)


def plain(array: Any) -> NDArray[Any]:
    """An array of Arrow as one of NumPy."""
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


@contextmanager
def room(origin: Origin) -> Iterator[memoryview]:
    """As many bytes as the segment has, all of them zero, for the content that was kept to be put where it stood.

    Memory is taken only by what is put there.
    """
    if not origin.length:
        yield memoryview(b"")
        return
    mapped = system.private_pages(origin.length)
    data = memoryview(mapped)
    try:
        yield data
    finally:
        data.release()
        mapped.close()


def parts_of(
    packed: PackedFile, group: Group, data: memoryview, wanted: NDArray[np.bool_] | None = None
) -> Iterator[Part]:
    """The parts that rows of a group are, with their content put into `data`; `wanted` says which, all by default.

    Raises:
        PackedError: a row cannot be a part of the segment.
    """
    rows = np.arange(len(group[PART])) if wanted is None else np.flatnonzero(wanted)
    chosen = [group[name].take(rows).to_pylist() for name in (PART, CONTENT, *COLUMN_TYPES)]
    for code, content, *fields in zip(*chosen, strict=True):
        row = dict(zip(COLUMN_TYPES, fields, strict=True))
        position, size = row["position"], row["size"]
        if code not in CODES or position < 0 or size <= 0 or position + size > packed.origin.length:
            raise PackedError(f"{packed.file} is damaged: no part can be at byte {position}; pack the segment again")
        part = Part(PartCode(code).kind, position, size, header_of(row) if code in HAS_HEADER else None)
        if content is not None:
            begin = position + size - len(content)
            if begin < position:
                raise PackedError(
                    f"{packed.file} is damaged: too much stands at byte {position}; pack the segment again"
                )
            data[begin : position + size] = content
        yield part


def header_of(row: dict[str, int]) -> BatchHeader:
    """The header of which a row holds the fields."""
    return BatchHeader(
        row["base_offset"],
        row["size"] - LOG_OVERHEAD,
        row["leader_epoch"],
        MAGIC,
        row["crc"],
        row["attributes"],
        row["last_offset_delta"],
        row["base_timestamp_ms"],
        row["max_timestamp_ms"],
        row["producer_id"],
        row["producer_epoch"],
        row["base_sequence"],
        row["record_count"],
    )


def screen_packed(path: Path, topic: str | None = None, reached: Reached | None = None) -> Summary:
    """Screen a packed segment: `screen_segment` says the same of the segment itself. `reached` hears of bytes.

    Raises:
        OSError: it cannot be opened.
        PackedError: it is no packed segment, or damaged.
    """
    with PackedFile(path) as packed:
        topic = packed.origin.topic if topic is None else topic
        screen = SegmentScreen(base_offset_of(packed.segment), judges_sequences=topic != CONSUMER_OFFSETS)
        if packed.origin.fault is not None:
            screen.refuse(Unclear.NOT_BELIEVED)
        for chunk in packed.chunks(only_screened=True):
            if chunk.damage or chunk.old_format:
                screen.refuse(Unclear.NOT_BELIEVED)
            screen.take(chunk.columns)
            if reached is not None:
                reached(path.stat().st_size * chunk.at // max(packed.origin.length, 1))
            if not screen.is_clear:
                break
        return screen.summary()
