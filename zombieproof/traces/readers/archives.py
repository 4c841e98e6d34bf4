"""Members of archives and standard input, which are read like files: ``bundle.zip/broker-1/orders-0/….log``.

Nothing is written to the disk: a member is unpacked into memory when it is read. A path whose beginning is an archive
names a member, so all code that opens a file by its path can open a member. A member that is encrypted, broken or too
large, or whose name leads out of the archive, is reported with the reason.
"""

import bz2
import errno
import io
import lzma
import mmap
import os
import re
import struct
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import IO, TextIO

STANDARD_INPUT = Path("standard input")
"""How standard input is named in reports; ``-`` on the command line."""

LARGEST = (1 << 31) - 1
"""Bytes of a member: a segment of Kafka has no more."""

SMALL, RATIO = 1 << 26, 500
"""A member above `SMALL` bytes that is unpacked to more than `RATIO` times its size is no log."""

MOST_MEMBERS = 200_000
DEEPEST = 4
BLOCK, USTAR_AT, CHUNK = 512, 257, 1 << 20
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
DRIVE = re.compile(r"[A-Za-z]:")

FAULTS = (
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)
"""What reading an archive that somebody made wrong can raise."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive. `refusal` says why it is not read; `read` yields its bytes."""

    name: str
    size: int
    read: Callable[[], Iterator[bytes]]
    refusal: str = ""


@dataclass(slots=True)
class Archive:
    """The members by name, and the folders. `ignored` are names that are none of evidence, each with a reason."""

    members: dict[str, Member] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    fault: str = ""

    def add(self, name: str, member: Member) -> None:
        """Take a member; the last one of a name counts, as it does when an archive is unpacked."""
        if name in self.members:
            self.ignored.append((name, "a later member of the archive has the same name"))
        self.members[name] = member


class _Window(io.RawIOBase):
    """Bytes as a file, without a copy."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._data)}[whence])
        return self._at

    def readinto(self, buffer: object) -> int:
        target = memoryview(buffer)  # type: ignore[arg-type]  # typeshed has no public name for a buffer before 3.12
        part = self._data[self._at : self._at + len(target)]
        target[: len(part)] = part
        self._at += len(part)
        return len(part)


# ---------------------------------------------------------------- paths


def is_archive(path: Path) -> bool:
    """Whether there is an archive at a path: a file, a member of another archive, or standard input."""
    try:
        return _is_archive(_bytes_at(path))
    except FAULTS:
        return False


def archive_at(path: Path) -> Archive:
    """The members of the archive at a path."""
    return _archive(path, _version(path))


def is_held(path: Path) -> bool:
    """Whether a path names standard input that was read, or a member of an archive."""
    return member_at(path) is not None or (path == STANDARD_INPUT and _spooled is not None)


def member_at(path: Path) -> Member | None:
    """The member that a path names; None for any other path."""
    for outer in path.parents:
        if outer.is_dir():
            return None
        if outer.is_file() or outer == STANDARD_INPUT or member_at(outer) is not None:
            if not is_archive(outer):
                return None
            return archive_at(outer).members.get(path.relative_to(outer).as_posix())
    return None


def held_bytes(path: Path) -> tuple[memoryview, str | None]:
    """What a member, or standard input, holds; a sentence if that is not all.

    Raises:
        OSError: there is no such thing, or nothing of it can be read.
    """
    if path == STANDARD_INPUT and _spooled is not None:
        return _spooled, None
    member = member_at(path)
    if member is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if member.refusal:
        raise OSError(errno.EIO, member.refusal, str(path))
    parts: list[bytes] = []
    fault, size = None, 0
    try:
        for part in member.read():
            parts.append(part)
            size += len(part)
            if size > LARGEST:
                fault = f"only its first {size:,} bytes are read: it is larger than any segment"
                break
    except FAULTS as error:
        fault = f"the archive is damaged here: {_words(error)}"
    return memoryview(b"".join(parts)), fault


Version = tuple[int, int]
"""Tells an archive from what was at its path before."""


def _version(path: Path) -> Version:
    for each in (path, *path.parents):
        if each.is_file():
            stat = each.stat()
            return stat.st_mtime_ns, stat.st_size
    return _spools, 0


@lru_cache(maxsize=4)
def _archive(path: Path, version: Version) -> Archive:
    del version
    return _members(_bytes_at(path))


@lru_cache(maxsize=4)
def _nested(path: Path, version: Version) -> memoryview:
    del version
    return held_bytes(path)[0]


def _bytes_at(path: Path) -> memoryview:
    if path == STANDARD_INPUT and _spooled is not None:
        return _spooled
    return _mapped(path) if path.is_file() else _nested(path, _version(path))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


# ---------------------------------------------------------------- formats


def _is_archive(data: memoryview) -> bool:
    start = bytes(data[: 2 * BLOCK])
    return start.startswith(ZIP) or _is_tar(start) or _is_tar(_beginning(data))


def _is_tar(start: bytes) -> bool:
    return start[USTAR_AT : USTAR_AT + 5] == b"ustar"


def _beginning(data: memoryview) -> bytes:
    """The first bytes of a stream that is compressed, unpacked; nothing of any other."""
    part = bytes(data[: 1 << 16])
    try:
        if part.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(wbits=31).decompress(part, BLOCK)
        if part.startswith(b"\xfd7zXZ\0"):
            return lzma.LZMADecompressor().decompress(part, BLOCK)
        if part.startswith(b"BZh"):
            return bz2.BZ2Decompressor().decompress(bytes(data[: 1 << 20]), BLOCK)
    except FAULTS:
        return b""
    return b""


def _members(data: memoryview) -> Archive:
    archive = Archive()
    try:
        if bytes(data[:4]).startswith(ZIP):
            _list_zip(data, archive)
        else:
            _list_tar(data, archive)
    except FAULTS as error:
        archive.fault = f"the archive cannot be read to its end: {_words(error)}"
    return archive


def _list_zip(data: memoryview, archive: Archive) -> None:
    opened = zipfile.ZipFile(io.BufferedReader(_Window(data)))
    for info in opened.infolist()[:MOST_MEMBERS]:
        name, reason = _safe(info.filename)
        if info.is_dir():
            archive.folders.add(name)
        elif reason:
            archive.ignored.append((info.filename, reason))
        else:
            refusal = "it is encrypted: unpack it, and give what it holds" if info.flag_bits & 1 else ""
            refusal = refusal or too_large(info.file_size, info.compress_size)
            archive.add(name, Member(name, info.file_size, _ZipReader(opened, info), refusal))
    _note_rest(archive, len(opened.infolist()))


def _list_tar(data: memoryview, archive: Archive) -> None:
    opened = tarfile.open(fileobj=io.BufferedReader(_Window(data)), mode="r:*")  # noqa: SIM115  # closed with the cache
    for count, info in enumerate(opened):
        if count >= MOST_MEMBERS:
            _note_rest(archive, count + 1)
            return
        name, reason = _safe(info.name)
        if info.isdir():
            archive.folders.add(name)
        elif not info.isfile():
            archive.ignored.append((info.name, "a link or a device, which holds nothing of its own"))
        elif reason:
            archive.ignored.append((info.name, reason))
        else:
            archive.add(name, Member(name, info.size, _TarReader(opened, info), too_large(info.size, len(data))))
    _note_end(opened, archive)


def _note_end(opened: tarfile.TarFile, archive: Archive) -> None:
    """A tar ends with a block of zeros; whatever else stands where the members end was not read."""
    assert opened.fileobj is not None
    opened.fileobj.seek(opened.offset)
    if opened.fileobj.read(BLOCK) != bytes(BLOCK):
        archive.fault = "the archive is cut short, or damaged behind its last member that can be read"


def _note_rest(archive: Archive, count: int) -> None:
    if count > MOST_MEMBERS:
        archive.fault = f"it has more than {MOST_MEMBERS:,} members: unpack it, and give the folder"


def too_large(size: int, packed: int) -> str:
    """Why something is not unpacked that has so many bytes, and as many packed; nothing if it is."""
    if size > LARGEST:
        return f"it has {size:,} bytes, more than any segment: unpack it, and give what it holds"
    if size > SMALL and size > RATIO * max(packed, 1):
        return f"{packed:,} bytes would become {size:,}, which no log does: unpack it if you trust it"
    return ""


def _safe(name: str) -> tuple[str, str]:
    """The name of a member as a path within the archive, and why it is refused if it is."""
    plain = DRIVE.sub("", name.replace("\\", "/"), count=1) if DRIVE.match(name) else name.replace("\\", "/")
    parts = [part for part in PurePosixPath(plain).parts if part not in ("/", "//", ".")]
    if ".." in parts or not parts or "\0" in name:
        return "", "its name leads out of the archive"
    return "/".join(parts), ""


@dataclass(frozen=True, slots=True)
class _ZipReader:
    archive: zipfile.ZipFile
    info: zipfile.ZipInfo

    def __call__(self) -> Iterator[bytes]:
        with self.archive.open(self.info) as file:
            yield from _chunks(file)


@dataclass(frozen=True, slots=True)
class _TarReader:
    archive: tarfile.TarFile
    info: tarfile.TarInfo

    def __call__(self) -> Iterator[bytes]:
        file = self.archive.extractfile(self.info)
        if file is not None:
            with file:
                yield from _chunks(file)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while part := file.read(CHUNK):
        yield part


# ---------------------------------------------------------------- standard input

_spooled: memoryview | None = None
_spools = 0


def spool_standard_input() -> int:
    """Read standard input to its end, and keep it for whoever opens `STANDARD_INPUT`. Returns how many bytes it had."""
    global _spooled, _spools  # noqa: PLW0603  # a process has one standard input, which can be read once
    source: TextIO | None = sys.stdin  # None in a process that was started without one
    with tempfile.TemporaryFile() as file:
        if source is not None:
            copyfileobj(source.buffer, file)
        size = file.tell()
        file.flush()
        _spooled = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else memoryview(b"")
    _spools += 1
    return size
