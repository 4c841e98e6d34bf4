"""The bytes of a file of evidence, packed or not, and what its place says: Kafka's own names of files and folders."""

import bz2
import lzma
import mmap
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zombieproof.traces.readers.archives import STANDARD_INPUT, held_bytes

PACKED = (".xz", ".gz", ".bz2")
MAGIC = {b"\xfd7zXZ": ".xz", b"\x1f\x8b\x08": ".gz", b"BZh": ".bz2"}
TABLE = ".parquet"
"""The end of the name of a segment that `zombieproof pack` has made a table of."""

TOPIC_PARTITION = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>\d{1,10})")
"""A partition's folder (``UnifiedLog.parseTopicPartitionName``); the last dash separates."""

SEGMENT_NAME = re.compile(r"(?P<offset>\d{20})\.(?P<kind>log|snapshot|txnindex)")
BROKER_NAME = re.compile(r"broker-\d+")

UNKNOWN_PARTITION = -1


@dataclass(frozen=True, slots=True)
class Place:
    """Whose file it is. `topic` is empty and `partition` -1 when no folder above it is a partition's folder."""

    topic: str
    partition: int
    replica: str

    @property
    def is_known(self) -> bool:
        """Whether a partition's folder says whose file it is."""
        return self.partition != UNKNOWN_PARTITION


def place_of(file: str) -> Place:
    """Topic, partition and replica of a file in a partition's folder; `file` is a path as given or as printed."""
    parts = file.replace("\\", "/").split("/")[:-1]
    folder = parts[-1] if parts else ""
    above = parts[:-1]
    replica = next((part for part in reversed(above) if BROKER_NAME.fullmatch(part)), "/".join(above))
    found = TOPIC_PARTITION.fullmatch(folder)
    if not found:
        return Place("", UNKNOWN_PARTITION, "/".join(parts))
    return Place(found["topic"], int(found["partition"]), replica)


def plain_name(file: str) -> str:
    """The name of a file without its folders and without ``.xz``, ``.gz``, ``.bz2`` or ``.parquet``."""
    name = file.replace("\\", "/").rsplit("/", 1)[-1]
    for suffix in (TABLE, *PACKED):
        name = name.removesuffix(suffix)
    return name


def is_table(file: str) -> bool:
    """Whether a file has the name of a packed segment."""
    return file.endswith(TABLE)


def base_offset_of(file: str) -> int | None:
    """The offset in the name of a segment, snapshot or transaction index; None for any other name."""
    found = SEGMENT_NAME.fullmatch(plain_name(file))
    return int(found["offset"]) if found else None


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, unpacked. `fault` is a sentence when it could be unpacked only up to the end of `data`."""

    data: memoryview
    fault: str | None = None


@contextmanager
def opened(path: Path) -> Iterator[Content]:
    """The content of a file, mapped into memory or unpacked; valid only inside the with.

    The path may be one of a member of an archive, or `STANDARD_INPUT`.

    Raises:
        OSError: the file cannot be opened or mapped.
    """
    if not path.exists():
        yield _held(path)
        return
    if path.suffix in PACKED:
        yield _unpacked(path.read_bytes(), path.suffix)
        return
    with path.open("rb") as file:
        if not path.stat().st_size:
            # Empty, or of a kind that does not tell its size: what cannot be read fails here, and is not empty.
            yield Content(memoryview(file.read()))
            return
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        data = memoryview(mapped)
        try:
            yield Content(data)
        finally:
            data.release()
            mapped.close()


def _held(path: Path) -> Content:
    """What is no file of its own. Standard input has no name that says how it is packed."""
    data, fault = held_bytes(path)
    suffix = path.suffix
    if path == STANDARD_INPUT:
        start = bytes(data[:5])
        suffix = next((suffix for magic, suffix in MAGIC.items() if start.startswith(magic)), "")
    if fault is None and suffix in PACKED:
        return _unpacked(bytes(data), suffix)
    return Content(data, fault)


def _unpacked(packed: bytes, suffix: str) -> Content:
    parts: list[bytes] = []
    fault = None
    rest = packed
    while rest:
        part, rest, fault = UNPACK[suffix](rest)
        parts.append(part)
        if fault:
            break
    return Content(memoryview(b"".join(parts)), fault)


CHUNK = 1 << 16


def _unpack_xz(packed: bytes) -> tuple[bytes, bytes, str | None]:
    """One stream: what it held, what follows it, and the fault if it ended early."""
    stream = lzma.LZMADecompressor()
    parts = []
    try:
        for start in range(0, len(packed), CHUNK):
            parts.append(stream.decompress(packed[start : start + CHUNK]))
            if stream.eof:
                following = stream.unused_data + packed[start + CHUNK :]
                return b"".join(parts), following.strip(b"\0"), None
    except lzma.LZMAError as error:
        return b"".join(parts), b"", f"the xz stream is damaged: {error}"
    return b"".join(parts), b"", "the xz stream is cut short"


def _unpack_gzip(packed: bytes) -> tuple[bytes, bytes, str | None]:
    """One member: what it held, what follows it, and the fault if it ended early."""
    member = zlib.decompressobj(wbits=31)
    parts = []
    try:
        for start in range(0, len(packed), CHUNK):
            parts.append(member.decompress(packed[start : start + CHUNK]))
            if member.eof:
                following = member.unused_data + packed[start + CHUNK :]
                return b"".join(parts), following.strip(b"\0"), None
    except zlib.error as error:
        return b"".join(parts), b"", f"the gzip stream is damaged: {error}"
    return b"".join(parts), b"", "the gzip stream is cut short"


def _unpack_bzip2(packed: bytes) -> tuple[bytes, bytes, str | None]:
    """One stream: what it held, what follows it, and the fault if it ended early."""
    stream = bz2.BZ2Decompressor()
    parts = []
    try:
        for start in range(0, len(packed), CHUNK):
            parts.append(stream.decompress(packed[start : start + CHUNK]))
            if stream.eof:
                following = stream.unused_data + packed[start + CHUNK :]
                return b"".join(parts), following, None
    except OSError as error:
        return b"".join(parts), b"", f"the bzip2 stream is damaged: {error}"
    return b"".join(parts), b"", "the bzip2 stream is cut short"


UNPACK = {".xz": _unpack_xz, ".gz": _unpack_gzip, ".bz2": _unpack_bzip2}
