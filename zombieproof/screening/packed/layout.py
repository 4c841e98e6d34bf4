"""What a packed segment holds: its columns, how they are written, and what the file says of itself.

A row is a part of the segment (`formats.segments`), in the order of the segment and without gaps, so that nothing is
lost of a damaged one. A batch has its header in columns; `content` is what stands behind the header, and all the bytes
of a part that is no batch of magic 2. Content is kept only where something has to be read in it.
"""

from enum import IntEnum
from typing import Any

import crc32c
from pydantic import BaseModel, ConfigDict, ValidationError

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.segments import PartKind
from zombieproof.screening.columns import Columns
from zombieproof.traces.readers.files import TABLE

SUFFIX = TABLE
VERSION = 1
METADATA = b"zombieproof"
"""Key of what a packed file says of itself: an `Origin` as JSON."""
CHECKSUM = b"zombieproof.crc32c"
"""Key of its CRC-32C in decimal digits: Parquet has checksums of pages, and none of what is said of them."""

ROWS = 1 << 17
"""Rows of one row group, at most."""
CONTENT_BYTES = 1 << 24
"""Content of one row group, at most, unless a single row has more."""

PART, CONTENT = "part", "content"


class PackedError(Undecodable):
    """A file is no packed segment, or not the one that was written."""


class PartCode(IntEnum):
    """What a row is, in the column `part`: a `PartKind` each."""

    BATCH = 0
    BAD_CHECKSUM = 1
    OLD_FORMAT = 2
    UNREADABLE = 3
    PREALLOCATED = 4

    @property
    def kind(self) -> PartKind:
        """The kind of part."""
        return PartKind[self.name]


HAS_HEADER = (PartCode.BATCH, PartCode.BAD_CHECKSUM)
"""Parts of which the columns hold the header."""

CONSTANT_OF_NO_BATCH = -1
"""What the columns of a header hold in other parts; `attributes`, `crc` and `sound` hold 0."""


class RowGroup(BaseModel):
    """What is known of a row group without reading it.

    Attributes:
        rows: how many.
        end: the byte of the segment behind its last part.
        constants: the columns in which all rows are alike, and what they hold: these need not be read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rows: int
    end: int
    constants: dict[str, int]


class Origin(BaseModel):
    """Where a packed file comes from, and what it holds.

    Attributes:
        version: of the layout.
        topic, partition: empty and -1 where the folder of the segment does not tell.
        segment: the name of the segment's file.
        source: its path, as it was given.
        source_bytes, source_modified_ns, source_sha256: size, time and hash of the file as it lay there.
        length: bytes of the segment, unpacked.
        fault: why it could be unpacked only so far; None: it was whole.
        rows, batches, old_format: how many parts, batches of magic 2, and of message format 0 and 1.
        damaged: how many parts are unreadable, or batches that may not be believed.
        keeps: "needed" or "all" content.
        groups: what is known of each row group.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: int
    topic: str
    partition: int
    segment: str
    source: str
    source_bytes: int
    source_modified_ns: int
    source_sha256: str
    length: int
    fault: str | None
    rows: int
    batches: int
    old_format: int
    damaged: int
    keeps: str
    groups: list[RowGroup]


COLUMN_TYPES = {
    "base_offset": "int64",
    "last_offset_delta": "int32",
    "record_count": "int32",
    "producer_id": "int64",
    "producer_epoch": "int16",
    "base_sequence": "int32",
    "attributes": "int16",
    "marker": "int8",
    "coordinator_epoch": "int32",
    "base_timestamp_ms": "int64",
    "max_timestamp_ms": "int64",
    "leader_epoch": "int32",
    "position": "int64",
    "size": "int64",
    "crc": "uint32",
    "sound": "int8",
}
"""Those of `columns.Columns`, by the names of Arrow. `size` is wider: a part may be larger than a batch can be."""
assert tuple(COLUMN_TYPES) == Columns._fields

RISING = ("base_offset", "base_sequence", "base_timestamp_ms", "max_timestamp_ms", "position", "size")
"""Columns that are written as differences."""
DIFFERENT = (*RISING, "crc")
"""Columns of which a dictionary would be as long as they are."""


def schema() -> Any:
    """The schema of Arrow."""
    import pyarrow as pa  # noqa: PLC0415  # an extra

    fields = [pa.field(name, getattr(pa, kind)(), nullable=False) for name, kind in COLUMN_TYPES.items()]
    fields += [pa.field(PART, pa.int8(), nullable=False), pa.field(CONTENT, pa.binary(), nullable=True)]
    return pa.schema(fields)


def metadata_of(origin: Origin) -> dict[bytes, bytes]:
    """What a file says of itself, as it stands in the file."""
    said = origin.model_dump_json().encode()
    return {METADATA: said, CHECKSUM: _checksum(said)}


def _checksum(said: bytes) -> bytes:
    return str(crc32c.crc32c(said)).encode()


def origin_of(metadata: dict[bytes, bytes] | None, file: str) -> Origin:
    """What a file says of itself.

    Raises:
        PackedError: it says nothing, or something else than this version writes.
    """
    said = (metadata or {}).get(METADATA)
    if said is None:
        raise PackedError(
            f"{file} is a Parquet file that `zombieproof pack` did not write; give segments, or pack them"
        )
    if (metadata or {}).get(CHECKSUM) != _checksum(said):
        raise PackedError(f"{file} is damaged: what it says of itself has another checksum; pack the segment again")
    try:
        origin = Origin.model_validate_json(said)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "all of it"
        raise PackedError(
            f"{file}: what it says of itself cannot be read ({where}: {first['msg']}); pack the segment again"
        ) from error
    if origin.version != VERSION:
        raise PackedError(
            f"{file} is written in version {origin.version} of the layout, and version {VERSION} is read here; "
            "pack the segment again"
        )
    return origin
