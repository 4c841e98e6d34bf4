"""The bytes of a file of evidence, packed or not, and what its place says: Kafka's own names of files and folders."""

import bz2
import errno
import lzma
import mmap
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zombieproof.traces.readers.archives import held_bytes, too_large

PACKED = (".xz", ".gz", ".bz2")
MAGIC = {
    b"\xfd7zXZ\0": ".xz",
    b"\x1f\x8b\x08": ".gz",
    **{f"BZh{size}{block}".encode(): ".bz2" for size in range(1, 10) for block in ("1A", "\x17r")},
}
"""How packed files begin, whatever their name."""
LONGEST_MAGIC = 6
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


def of_source(file: str, source: str) -> str:
    """The name of a pod's or container's lines in a file of several; that of the file if `source` is empty."""
    return f"{file} [{source.replace('/', ' ')}]" if source else file


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
        OSError: the file cannot be opened or mapped, or would be too large unpacked.
    """
    if not path.exists():
        yield _held(path)
        return
    if path.suffix in PACKED:
        yield _unpacked(path.read_bytes(), path.suffix, path)
        return
    with path.open("rb") as file:
        if not path.stat().st_size:
            # Empty, or of a kind that does not tell its size: what cannot be read fails here, and is not empty.
            yield Content(memoryview(file.read()))
            return
        if suffix := _packed_as(file.read(LONGEST_MAGIC)):
            yield _unpacked(path.read_bytes(), suffix, path)
            return
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        data = memoryview(mapped)
        try:
            yield Content(data)
        finally:
            data.release()
            mapped.close()


def _packed_as(start: bytes) -> str:
    """Return the suffix for a packed file whose name lacks it; empty if the file is not packed."""
    return next((suffix for magic, suffix in MAGIC.items() if start.startswith(magic)), "")


def _held(path: Path) -> Content:
    """Unpack standard input or a member of an archive."""
    data, fault = held_bytes(path)
    suffix = path.suffix if path.suffix in PACKED else _packed_as(bytes(data[:LONGEST_MAGIC]))
    if fault is None and suffix:
        return _unpacked(bytes(data), suffix, path)
    return Content(data, fault)


CHUNK, PIECE = 1 << 16, 1 << 20
NEW_STREAM: Mapping[str, Callable[[], Any]] = {
    ".xz": lzma.LZMADecompressor,
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".bz2": bz2.BZ2Decompressor,
}
NAMES = {".xz": "xz", ".gz": "gzip", ".bz2": "bzip2"}
PADDING = re.compile(rb"\0*")
"""What may follow a stream of xz or gzip; zeros at the end of the stream after it are its own."""


def _unpacked(packed: bytes, suffix: str, path: Path) -> Content:
    """All streams of a file, one after the other.

    Raises:
        OSError: the file would become larger than a log can be.
    """
    parts: list[bytes] = []
    at, size = 0, 0
    name = NAMES[suffix]
    try:
        while at < len(packed):
            stream = NEW_STREAM[suffix]()
            while not stream.eof and at < len(packed):
                chunk = packed[at : at + CHUNK]
                at += len(chunk)
                for piece in _pieces(stream, chunk):
                    parts.append(piece)
                    size += len(piece)
                    if reason := too_large(size, at):
                        raise OSError(errno.EIO, reason, str(path))
            if not stream.eof:
                return Content(memoryview(b"".join(parts)), f"the {name} stream is cut short")
            at -= len(stream.unused_data)
            if suffix != ".bz2" and (padding := PADDING.match(packed, at)):
                at = padding.end()
    except (lzma.LZMAError, zlib.error, BrokenStream) as error:
        return Content(memoryview(b"".join(parts)), f"the {name} stream is damaged: {error}")
    return Content(memoryview(b"".join(parts)))


class BrokenStream(ValueError):
    """Data that bzip2 does not accept, for which its module raises an OSError as if the system had failed."""


def _pieces(stream: Any, chunk: bytes) -> Iterator[bytes]:  # the three have no type in common
    """What a chunk becomes, in pieces, since a few bytes may become gigabytes."""
    while not stream.eof:
        try:
            piece = stream.decompress(chunk, PIECE)
        except OSError as error:
            raise BrokenStream(str(error)) from error
        yield piece
        chunk = getattr(stream, "unconsumed_tail", b"")
        if not chunk and len(piece) < PIECE:
            return
