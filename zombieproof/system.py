"""Operating system: everything that Linux, macOS and Windows do differently, in one place.

Importing this module never fails. A function that a system lacks is looked up when it is called, and either has an
equivalent here or raises `Unsupported`, which names what was asked for, why it cannot be done, and what to do instead.
`tests/architecture/test_systems.py` keeps system-specific names out of every other module.
"""

from __future__ import annotations

import contextlib
import errno
import math
import mmap
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_PLATFORM: Final[str] = sys.platform
NAME: Final = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}.get(_PLATFORM, _PLATFORM)
ELSEWHERE: Final = "run it on Linux or macOS, or under WSL 2"

_HUGE_PAGE: Final = 1 << 21
_CONTROL_GROUP: Final = Path("/sys/fs/cgroup")
_NO_FULL_SYNC: Final = frozenset({errno.ENOTSUP, errno.ENOTTY, errno.EINVAL})
_NO_LOCKS: Final = frozenset({errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL})


class Unsupported(Exception):
    """Something that this operating system cannot do."""


class NoFileLocks(Exception):
    """This operating system, or this file system, cannot lock files."""


def _module(name: str) -> Any:
    """Return a standard module that only some systems have, or None."""
    try:
        return import_module(name)
    except ImportError:
        return None


_fcntl: Final = _module("fcntl")
_resource: Final = _module("resource")


def refuse_on_windows(what: str, instead: str) -> None:
    """Refuse what works with POSIX processes and files, and is tested with nothing else.

    Raises:
        Unsupported: this system is Windows.
    """
    if _PLATFORM == "win32":
        raise Unsupported(
            f"{what} is not supported on {NAME}: its processes, locks and files are POSIX; {instead}, or {ELSEWHERE}"
        )


# ---------------------------------------------------------------- durable files


def need_durable_files(what: str, instead: str) -> None:
    """Refuse `what` on a system without file locks or directory syncs, before anything is written.

    Raises:
        Unsupported: this system is Windows, or another one without them.
    """
    if _PLATFORM == "win32" or _fcntl is None:
        raise Unsupported(
            f"{what} is not supported on {NAME}: data that survives a crash needs file locks and directory syncs, and "
            f"{NAME} has neither; {instead}, or {ELSEWHERE}"
        )


def sync(number: int) -> None:
    """Make the content and the size of an open file durable; `number` is its descriptor. Raises OSError.

    On macOS `fsync` leaves data in the cache of the drive; only F_FULLFSYNC makes it durable. File systems that do not
    know it (network mounts) get an `fsync`, as SQLite does.
    """
    full = getattr(_fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            _fcntl.fcntl(number, full)
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC:
                raise
        else:
            return
    getattr(os, "fdatasync", os.fsync)(number)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable. Raises OSError."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        sync(number)
    finally:
        os.close(number)


def claim(number: int) -> bool:
    """Lock an open file for this process until it is closed; return False where another process has the lock.

    A killed process leaves no lock behind.

    Raises:
        NoFileLocks: there are none here.
    """
    if _fcntl is None:
        raise NoFileLocks
    try:
        _fcntl.flock(number, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise NoFileLocks from None
        return False
    return True


def read_at(number: int, size: int, at: int) -> bytes:
    """Read up to `size` bytes at an offset; the file position stays. Raises OSError."""
    return os.pread(number, size, at)


def read_into(number: int, view: memoryview, at: int) -> int:
    """Read bytes at an offset into memory; return how many. Raises OSError."""
    if hasattr(os, "preadv"):
        return os.preadv(number, [view], at)
    content = os.pread(number, view.nbytes, at)
    view[: len(content)] = content
    return len(content)


def write_at(number: int, data: bytes | memoryview, at: int) -> int:
    """Write bytes at an offset; the file position stays. Return how many were written. Raises OSError."""
    return os.pwrite(number, data, at)


# ---------------------------------------------------------------- memory and cores


def private_pages(size: int) -> mmap.mmap:
    """Return zeroed memory that is taken page by page, when it is first written. Raises OSError.

    Where flags exist the pages are private: shared ones, the default, get no huge pages.
    """
    anonymous = getattr(mmap, "MAP_ANONYMOUS", None) or getattr(mmap, "MAP_ANON", None)
    if anonymous is None or not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | anonymous)


def prefer_huge_pages(area: mmap.mmap, size: int) -> None:
    """Ask for huge pages for the first `size` bytes; systems that have none ignore it."""
    _advise(area, "MADV_HUGEPAGE", 0, size)


def release_pages(area: mmap.mmap, begin: int, size: int) -> None:
    """Give pages back whose content is no longer needed, or can be read from the file again."""
    _advise(area, "MADV_DONTNEED", begin, size)


def _advise(area: mmap.mmap, advice: str, begin: int, size: int) -> None:
    if hasattr(mmap, advice) and hasattr(area, "madvise"):
        with contextlib.suppress(OSError):  # advice is all that it is
            area.madvise(getattr(mmap, advice), begin, size)


def cores() -> int:
    """Return how many cores this process may use at a time, as far as the system tells; at least 1."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # only Linux binds a process to cores
        allowed = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):  # no control group, or one without a limit
        quota, period = map(int, (_CONTROL_GROUP / "cpu.max").read_text("ascii").split())
        if quota > 0:
            allowed = min(allowed, math.ceil(quota / period))
    return allowed


def open_files() -> int | None:
    """Return how many files this process may have open at a time; None: as far as is known, any number."""
    if _resource is None:
        return None
    soft: int = _resource.getrlimit(_resource.RLIMIT_NOFILE)[0]
    return None if soft == _resource.RLIM_INFINITY else soft


def open_as_many_files_as_allowed() -> None:
    """Raise the limit of open files to what this user may set."""
    if _resource is not None:
        _, hard = _resource.getrlimit(_resource.RLIMIT_NOFILE)
        with contextlib.suppress(OSError, ValueError):  # macOS allows less than it says
            _resource.setrlimit(_resource.RLIMIT_NOFILE, (hard, hard))


def memory_left_in_group() -> int | None:
    """Return how many bytes the control group of this process may still take; None without a limit."""
    try:
        limit, current = (int((_CONTROL_GROUP / f"memory.{name}").read_text("ascii")) for name in ("max", "current"))
    except (OSError, ValueError):
        return None
    return max(0, limit - current)


# ---------------------------------------------------------------- being ended


class Loop(Protocol):
    """What is needed of an event loop of asyncio."""

    def add_signal_handler(self, number: int, callback: Callable[[], object], /) -> None:
        """Call back on a signal. Raises NotImplementedError on Windows."""

    def call_soon_threadsafe(self, callback: Callable[[], object], /) -> object:
        """Wake the loop up and call back."""


@contextlib.contextmanager
def calling_on_termination(loop: Loop, callback: Callable[[], object]) -> Iterator[None]:
    """In this block, SIGTERM, Ctrl-C and (on Windows) Ctrl-Break call `callback` in the loop instead of ending it."""
    numbers = [signal.SIGTERM, signal.SIGINT, *filter(None, [getattr(signal, "SIGBREAK", None)])]
    before: dict[int, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        loop.call_soon_threadsafe(callback)

    try:
        for number in numbers:
            try:
                loop.add_signal_handler(number, callback)
            except NotImplementedError:  # Windows: its loops are woken up by signals, but have no handlers
                before[number] = signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
