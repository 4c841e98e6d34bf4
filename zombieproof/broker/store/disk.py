"""The only door to files: what a store wants of a disk, and the disk of the operating system.

Paths are relative to the disk's root, with ``/`` between folders. What was written can be read at once, and outlives a
crash when it was synced: bytes by `sync`, names (new, moved, removed) by `sync_directory` of their folder.
"""

import errno
import os
import shutil
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Protocol

from zombieproof import system

MOST_OPEN = 512
"""So many files are kept open."""
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a disk that takes no more bytes, and may later."""
FEW, MOST_AT_ONCE = 3, 16
"""Fewer files are synced one after the other; so many are synced at once."""

Job = Callable[[], None]
"""Something that syncs, and raises `OSError` where that fails."""


class Kind(Enum):
    """The kind of thing under a name; links count as their targets."""

    FILE = "a file"
    FOLDER = "a folder"
    BROKEN_LINK = "a symbolic link to nothing"
    OTHER = "neither a file nor a folder"


def fault_of_kind(kinds: Mapping[str, Kind], name: str, due: Kind) -> str | None:
    """The fault of a name that is of another kind; None: it is of the right kind, or missing."""
    kind = kinds.get(name, due)
    if kind is Kind.BROKEN_LINK:
        return "it is a symbolic link, and its target is not there: is its disk mounted?"
    return None if kind is due else f"it is {kind.value}, and {due.value} is due"


class InUse(OSError):
    """Another process holds the lock of a directory."""


class Disk(Protocol):
    """Files under one root. Every method raises `OSError` as the operating system does."""

    def name(self, path: str) -> str:
        """What people call `path`."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        ...

    def listed(self, directory: str) -> tuple[str, ...]:
        """The names in a folder, in order; none where there is no such folder."""
        ...

    def kinds(self, directory: str) -> dict[str, Kind]:
        """The names in a folder, with their kinds."""
        ...

    def make_directory(self, path: str) -> None:
        """Make a folder (and those above it); nothing happens where it is there."""
        ...

    def size(self, path: str) -> int:
        """The bytes of a file."""
        ...

    def read(self, path: str, at: int = 0, size: int | None = None) -> bytes:
        """The bytes from `at` on; fewer than `size` where the file ends."""
        ...

    def write(self, path: str, at: int, data: bytes) -> None:
        """Put `data` at `at`; a file that is not there is made."""
        ...

    def truncate(self, path: str, size: int) -> None:
        """Cut a file at `size`, or lengthen it with zeros."""
        ...

    def sync(self, path: str) -> None:
        """What was written into a file outlives a crash."""
        ...

    def sync_directory(self, path: str) -> None:
        """The names in a folder outlive a crash."""
        ...

    def side_by_side(self, jobs: Sequence[Job]) -> list[OSError | None]:
        """Do jobs that sync, each something of its own, in any order or at once; how each has failed."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Move a file or folder; a file that was called `new` is gone."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        ...

    def lock(self, path: str) -> None:
        """Keep other processes out, until `close`.

        Raises:
            InUse: another process has the lock.
        """
        ...

    def close(self) -> None:
        """Close every file, and give up locks."""
        ...


def one_by_one(jobs: Sequence[Job]) -> list[OSError | None]:
    """Do jobs in their order; how each has failed."""
    return [_failure_of(job) for job in jobs]


def _failure_of(job: Job) -> OSError | None:
    try:
        job()
    except OSError as error:
        return error
    return None


class _Open:
    """A file that is open until nobody uses it any more: a sync may go on while others close it."""

    __slots__ = ("number",)

    def __init__(self, path: Path, flags: int) -> None:
        self.number = os.open(path, flags, 0o644)

    def __del__(self) -> None:
        if hasattr(self, "number"):
            os.close(self.number)


def _kind_of(entry: "os.DirEntry[str]") -> Kind:
    try:
        mode = entry.stat().st_mode if entry.is_symlink() else None
    except OSError:
        return Kind.BROKEN_LINK
    is_file = entry.is_file() if mode is None else stat.S_ISREG(mode)
    is_folder = entry.is_dir() if mode is None else stat.S_ISDIR(mode)
    return Kind.FILE if is_file else Kind.FOLDER if is_folder else Kind.OTHER


class RealDisk:
    """The files of the operating system below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._books = threading.Lock()
        self._locks: list[_Open] = []
        self._workers: ThreadPoolExecutor | None = None

    def name(self, path: str) -> str:
        """The whole path."""
        return str(self.root / path)

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return os.path.lexists(self.root / path)

    def listed(self, directory: str) -> tuple[str, ...]:
        """The names in a folder, in order."""
        try:
            return tuple(sorted(each.name for each in (self.root / directory).iterdir()))
        except (FileNotFoundError, NotADirectoryError):
            return ()

    def kinds(self, directory: str) -> dict[str, Kind]:
        """The names in a folder, with their kinds."""
        try:
            with os.scandir(self.root / directory) as entries:
                return {each.name: _kind_of(each) for each in entries}
        except (FileNotFoundError, NotADirectoryError):
            return {}

    def make_directory(self, path: str) -> None:
        """Make a folder and those above it."""
        (self.root / path).mkdir(parents=True, exist_ok=True)

    def size(self, path: str) -> int:
        """The bytes of a file."""
        return (self.root / path).stat().st_size

    def read(self, path: str, at: int = 0, size: int | None = None) -> bytes:
        """The bytes from `at` on."""
        number = self._opened(path, os.O_RDWR).number
        left = os.fstat(number).st_size - at if size is None else size
        parts = []
        try:
            while left > 0 and (part := system.read_at(number, left, at)):
                parts.append(part)
                at, left = at + len(part), left - len(part)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.name(path)) from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, path: str, at: int, data: bytes) -> None:
        """Put `data` at `at`."""
        try:
            number, rest = self._opened(path, os.O_RDWR | os.O_CREAT).number, memoryview(data)
            while rest:
                written = system.write_at(number, rest, at)
                at, rest = at + written, rest[written:]
        except OSError as error:
            raise OSError(
                error.errno, f"{error.strerror} (while writing {len(data):,} bytes)", self.name(path)
            ) from error

    def truncate(self, path: str, size: int) -> None:
        """Cut a file at `size`."""
        os.ftruncate(self._opened(path, os.O_RDWR | os.O_CREAT).number, size)

    def sync(self, path: str) -> None:
        """Sync the bytes of a file, and its size."""
        opened = self._opened(path, os.O_RDWR)
        try:
            system.sync(opened.number)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror} (while syncing)", self.name(path)) from error

    def sync_directory(self, path: str) -> None:
        """Sync the names in a folder."""
        system.sync_directory(self.root / path)

    def side_by_side(self, jobs: Sequence[Job]) -> list[OSError | None]:
        """Do jobs at once where there are several: the operating system then has one commit for many of them."""
        if len(jobs) < FEW:
            return one_by_one(jobs)
        if self._workers is None:
            self._workers = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="zombieproof-sync")
        return list(self._workers.map(_failure_of, jobs))

    def rename(self, old: str, new: str) -> None:
        """Move a file or folder."""
        self._forget(old)
        self._forget(new)
        (self.root / old).replace(self.root / new)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        self._forget(path)
        whole = self.root / path
        if whole.is_dir() and not whole.is_symlink():
            shutil.rmtree(whole)
        else:
            whole.unlink()

    def lock(self, path: str) -> None:
        """Take the lock of a file, which is made where it is not there."""
        opened = _Open(self.root / path, os.O_RDWR | os.O_CREAT)
        try:
            is_ours = system.claim(opened.number)
        except system.NoFileLocks:
            fault = "this file system cannot lock files, so another broker could write here; use a local disk"
            raise OSError(errno.ENOLCK, fault, self.name(path)) from None
        if not is_ours:
            raise InUse(errno.EAGAIN, "another process has the lock", self.name(path))
        self._locks.append(opened)

    def close(self) -> None:
        """Close every file, and give up locks."""
        if self._workers is not None:
            self._workers.shutdown()
            self._workers = None
        self._open.clear()
        self._locks.clear()

    def _opened(self, path: str, flags: int) -> _Open:
        with self._books:
            found = self._open.get(path)
            if found is None:
                found = self._open[path] = _Open(self.root / path, flags)
                if len(self._open) > MOST_OPEN:
                    self._open.popitem(last=False)
            else:
                self._open.move_to_end(path)
            return found

    def _forget(self, path: str) -> None:
        """Files below `path` are not the ones they were."""
        with self._books:
            for known in [each for each in self._open if each == path or each.startswith(f"{path}/")]:
                del self._open[known]


class UnfitPath(ValueError):
    """A path that cannot be the root of a disk; nothing was touched."""


def disk_below(path: Path, fault_of: Callable[[Sequence[str]], str | None]) -> RealDisk:
    """The files below `path`, a folder that is made where it is not there.

    Args:
        fault_of: why a folder with these names is not the one that is meant; None: it may be.

    Raises:
        UnfitPath: it is none, not the one, or may not be written.
    """
    try:
        system.need_durable_files(f"a data directory ({path})", "leave it away: brokers then keep everything in memory")
        if path.exists() and not path.is_dir():
            fault: str | None = "is a file: a data directory is a folder"
        else:
            fault = fault_of([each.name for each in path.iterdir()]) if path.is_dir() else None
        if fault is None:
            path.mkdir(parents=True, exist_ok=True)
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                fault = "may not be written by this user: give the right, or choose another directory"
    except system.Unsupported as error:
        raise UnfitPath(str(error)) from None
    except OSError as error:
        raise UnfitPath(f"{path}: {error.strerror}: a data directory must be read and written") from error
    if fault is not None:
        raise UnfitPath(f"{path} {fault}")
    return RealDisk(path)
