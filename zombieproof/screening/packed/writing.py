"""One segment into one file of Parquet: written beside its name, and named when it is whole."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from zombieproof import system
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.screening.packed.layout import (
    COLUMN_TYPES,
    CONTENT,
    DIFFERENT,
    HAS_HEADER,
    PART,
    RISING,
    ROWS,
    VERSION,
    Origin,
    PackedError,
    PartCode,
    RowGroup,
    metadata_of,
    schema,
)
from zombieproof.screening.packed.parts import Parts, parts_in
from zombieproof.screening.packed.reading import PackedFile
from zombieproof.traces.evidence import Damage
from zombieproof.traces.readers.files import Content, opened, place_of
from zombieproof.traces.readers.lines import Reached
from zombieproof.traces.readers.segments import Keep

UNFINISHED = ".unfinished"
"""The end of the name of a file that is being written; its name begins with a dot, so nobody reads it."""


@dataclass(slots=True)
class PackedSegment:
    """What became of a segment. `is_new` is False where it was packed before, and nothing had to be done."""

    target: Path
    origin: Origin
    is_new: bool
    damage: list[Damage] = field(default_factory=list)


def pack_segment(
    source: Path, target: Path, keep: Keep = Keep.NEEDED, rows: int = ROWS, reached: Reached | None = None
) -> PackedSegment:
    """Pack a segment, packed with xz or gzip or not, unless `target` holds it already.

    It is there already when it says the size and the time that the segment has now, and keeps as much. The own topics
    of coordinators are always kept in full. `reached` hears how many bytes of the file, as it lies there, are done.

    Raises:
        OSError: the segment cannot be read, or `target` not be written.
    """
    stat = source.stat()
    place = place_of(str(source))
    keep = Keep.ALL if place.topic in (TRANSACTION_STATE, CONSUMER_OFFSETS) else keep
    known = known_origin(target)
    if known is not None and _is_of(known, stat, keep):
        return PackedSegment(target, known, is_new=False, damage=_known_damage(target, source))
    damage: list[Damage] = []
    with opened(source) as content, being_written(target) as unfinished:
        told = None if reached is None else _scaled(reached, stat.st_size, len(content.data))
        counts = _write(content, source, unfinished, keep, rows, told, damage)
        origin = Origin(
            version=VERSION,
            topic=place.topic,
            partition=place.partition,
            segment=source.name,
            source=str(source),
            source_bytes=stat.st_size,
            source_modified_ns=stat.st_mtime_ns,
            source_sha256=_hash(source, content.data),
            length=len(content.data),
            fault=content.fault,
            keeps=keep.value,
            **counts.said(),
        )
        counts.finish(origin)
    if content.fault is not None:
        damage.append(Damage(str(source), origin.length, content.fault))
    return PackedSegment(target, origin, is_new=True, damage=damage)


def known_origin(target: Path) -> Origin | None:
    """What a packed file that is there says of itself; None where there is none that can be read."""
    try:
        with PackedFile(target) as packed:
            return packed.origin
    except (PackedError, FileNotFoundError):
        return None


def _known_damage(target: Path, source: Path) -> list[Damage]:
    """The damage of a segment that was packed before."""
    with PackedFile(target) as packed:
        origin = packed.origin
        if not origin.damaged and origin.fault is None:
            return []
        found = [replace(damage, file=str(source)) for chunk in packed.chunks() for damage in chunk.damage]
    return found if origin.fault is None else [*found, Damage(str(source), origin.length, origin.fault)]


def _is_of(known: Origin, stat: os.stat_result, keep: Keep) -> bool:
    is_same = (known.source_bytes, known.source_modified_ns) == (stat.st_size, stat.st_mtime_ns)
    return is_same and known.keeps == keep.value


@contextmanager
def being_written(target: Path) -> Iterator[Path]:
    """A file beside `target` that takes its place when the block ends well, and is gone when not.

    What a run that was killed has left of it is removed first.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}.*{UNFINISHED}"):
        left.unlink(missing_ok=True)
    number, name = tempfile.mkstemp(UNFINISHED, f".{target.name}.", target.parent)
    os.close(number)
    unfinished = Path(name)
    try:
        yield unfinished
        with unfinished.open("rb+") as file:
            system.sync(file.fileno())
        unfinished.chmod(0o666 & ~_mask())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _mask() -> int:
    """The mask of the process: a file made for this process alone becomes one like others."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


class _Writer:
    """Writes rows, and counts them."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

        self.rows = self.batches = self.old_format = self.damaged = 0
        self.groups: list[RowGroup] = []
        names = (*COLUMN_TYPES, PART, CONTENT)
        self._schema = schema()
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            use_dictionary=[name for name in names if name not in DIFFERENT],
            column_encoding=dict.fromkeys(RISING, "DELTA_BINARY_PACKED"),
            write_page_checksum=True,
            write_statistics=["base_offset", "max_timestamp_ms"],
            store_schema=False,
        )

    def take(self, parts: Parts, contents: list[bytes | None]) -> None:
        """Write some rows as a row group."""
        import pyarrow as pa  # noqa: PLC0415  # an extra

        columns: dict[str, Any] = parts.columns._asdict() | {"size": parts.sizes, PART: parts.part, CONTENT: contents}
        arrays = [pa.array(columns[each.name], type=each.type) for each in self._schema]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=len(parts.part))
        numbers = {name: column for name, column in columns.items() if name != CONTENT}
        constants = {name: int(each[0]) for name, each in numbers.items() if (each == each[0]).all()}
        end = int(parts.columns.position[-1] + parts.sizes[-1])
        self.groups.append(RowGroup(rows=len(parts.part), end=end, constants=constants))
        has_header = np.isin(parts.part, HAS_HEADER)
        self.rows += len(parts.part)
        self.batches += int(has_header.sum())
        self.old_format += int((parts.part == PartCode.OLD_FORMAT).sum())
        self.damaged += int((parts.part == PartCode.UNREADABLE).sum() + (has_header & (parts.columns.sound == 0)).sum())

    def said(self) -> dict[str, Any]:
        """What was counted, as `Origin` has it."""
        return {
            "rows": self.rows,
            "batches": self.batches,
            "old_format": self.old_format,
            "damaged": self.damaged,
            "groups": self.groups,
        }

    def finish(self, origin: Origin) -> None:
        """Write what the file says of itself, and its end."""
        self._writer.add_key_value_metadata(metadata_of(origin))
        self._writer.close()


def _write(
    content: Content,
    source: Path,
    unfinished: Path,
    keep: Keep,
    rows: int,
    reached: Reached | None,
    damage: list[Damage],
) -> _Writer:
    writer = _Writer(unfinished)
    for parts in parts_in(content.data, str(source), rows):
        kept = parts.keeps(keep)
        begin = 0
        for piece in parts.slices(kept):
            end = begin + len(piece.part)
            writer.take(piece, piece.contents(content.data, kept[begin:end]))
            begin = end
        damage += parts.damage
        if reached is not None:
            reached(parts.at)
    return writer


def _scaled(reached: Reached, stored: int, length: int) -> Reached:
    """Hears places in the content, and tells bytes of the file that holds it."""
    return lambda at: reached(stored * at // length)


def _hash(source: Path, data: memoryview) -> str:
    """The hash of a file as it lies there: of what is mapped already, unless it is packed."""
    if source.suffix in (".xz", ".gz"):
        return hashlib.sha256(source.read_bytes()).hexdigest()
    return hashlib.sha256(data).hexdigest()
