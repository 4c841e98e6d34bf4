"""Another operating system, as far as this package can see. Python imports this module if PYTHONPATH names its folder.

`ZOMBIEPROOF_TEST_SYSTEM=darwin` or `win32` chooses it. What the system lacks is hidden from modules of zombieproof, in
this process and in each process that it starts; the standard library and other packages keep what they need. Calls that
fail there fail here, and calls that exist only there (F_FULLFSYNC) are carried out and logged.
"""

import asyncio
import builtins
import errno
import fcntl
import importlib
import mmap
import os
import sys
import types
from pathlib import Path
from typing import Any


def names(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


POSIX_ONLY = {
    "os": names(
        """fork forkpty register_at_fork getuid geteuid getgid getegid getpgid getpgrp getsid killpg setsid setpgid
        setuid pread pwrite preadv pwritev readv writev fdatasync fchmod fchown chown lchown chroot uname statvfs
        fstatvfs sysconf pathconf getloadavg mkfifo mknod nice getpriority wait wait3 wait4 waitid WIFSIGNALED
        WTERMSIG pipe2 ttyname openpty ctermid posix_fadvise posix_fallocate posix_spawn lockf sendfile fchdir
        lchflags sync O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC O_DSYNC O_NOCTTY O_ASYNC"""
    ),
    "signal": names(
        """SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGTTIN
        SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU alarm pause pthread_kill pthread_sigmask setitimer
        siginterrupt sigpending sigwait"""
    ),
    "mmap": names(
        """MAP_PRIVATE MAP_SHARED MAP_ANONYMOUS MAP_ANON MAP_NORESERVE PROT_READ PROT_WRITE PROT_EXEC MADV_NORMAL
        MADV_DONTNEED MADV_WILLNEED MADV_SEQUENTIAL MADV_RANDOM MADV_FREE"""
    ),
    "socket": names("AF_UNIX SO_REUSEPORT SCM_RIGHTS MSG_DONTWAIT MSG_NOSIGNAL send_fds recv_fds"),
    "time": names("clock_gettime clock_settime clock_getres pthread_getcpuclockid tzset"),
    "select": names("poll"),
}
LINUX_ONLY = {
    "os": names(
        """fdatasync sched_getaffinity sched_setaffinity sched_getscheduler sched_setscheduler preadv pwritev
        posix_fadvise posix_fallocate memfd_create eventfd splice copy_file_range getrandom getresuid getxattr
        setxattr listxattr removexattr pidfd_open pipe2 unshare setns timerfd_create process_cpu_count O_DIRECT
        O_TMPFILE O_PATH O_LARGEFILE O_NOATIME O_RSYNC"""
    ),
    "signal": names("SIGPOLL SIGPWR SIGRTMIN SIGRTMAX SIGSTKFLT SIGCLD sigtimedwait sigwaitinfo pidfd_send_signal"),
    "mmap": names(
        """MAP_POPULATE MAP_DENYWRITE MAP_EXECUTABLE MAP_STACK MAP_HUGETLB MADV_HUGEPAGE MADV_NOHUGEPAGE
        MADV_DONTFORK MADV_DOFORK MADV_REMOVE MADV_DONTDUMP MADV_DODUMP MADV_POPULATE_READ"""
    ),
    "socket": names("AF_NETLINK AF_PACKET AF_ALG AF_VSOCK TCP_USER_TIMEOUT TCP_QUICKACK TCP_CORK SO_PEERCRED"),
    "time": names("CLOCK_BOOTTIME pthread_getcpuclockid"),
    "select": names("epoll EPOLLIN EPOLLOUT"),
    "resource": names("prlimit RLIMIT_SIGPENDING RUSAGE_THREAD"),
    "fcntl": names("F_SETPIPE_SZ F_GETPIPE_SZ F_ADD_SEALS F_OFD_SETLK F_SETLEASE"),
}
POSIX_MODULES = names("fcntl resource termios pwd grp pty tty syslog posix readline curses")

HIDDEN = {
    "darwin": LINUX_ONLY,
    "win32": {name: [*POSIX_ONLY.get(name, []), *LINUX_ONLY[name]] for name in LINUX_ONLY},
}
MODULES = {"darwin": [], "win32": [*POSIX_MODULES, "uvloop"]}
F_FULLFSYNC = 51


def become(system: str) -> None:
    """Hide from modules of zombieproof what `system` lacks."""
    for name, attributes in HIDDEN[system].items():
        instead: dict[str, Any] = {}
        if name == "mmap" and system == "win32":
            instead["mmap"] = _MmapOfWindows
        elif name == "os" and system == "win32":
            instead |= {"open": _open_of_windows, "name": "nt"}
        elif name == "fcntl" and system == "darwin":
            instead |= {"F_FULLFSYNC": F_FULLFSYNC, "fcntl": _fcntl_of_macos}
        _hide(sys.modules.get(name) or __import__(name), frozenset(attributes), instead)
    _hide_modules(frozenset(MODULES[system]), _Sys(system))
    _hide_files()
    if system == "win32":
        for name in ("add_signal_handler", "add_reader", "add_writer"):
            setattr(asyncio.SelectorEventLoop, name, _refuse)


def _asks(depth: int) -> bool:
    """Whether a module of zombieproof asks: the caller so many frames up."""
    return str(sys._getframe(depth + 1).f_globals.get("__name__", "")).partition(".")[0] == "zombieproof"


def _hide(module: types.ModuleType, hidden: frozenset[str], instead: dict[str, Any]) -> None:
    class Hiding(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            if (name in hidden or name in instead) and _asks(1):
                if name in instead:
                    return instead[name]
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return super().__getattribute__(name)

    module.__class__ = Hiding


class _Sys:
    """`sys` as modules of zombieproof see it. The module itself stays: all modules are made of its class."""

    def __init__(self, system: str) -> None:
        vars(self)["platform"] = system

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(sys, name, value)


def _hide_modules(names: frozenset[str], instead_of_sys: _Sys) -> None:
    """`import` and `import_module` in a module of zombieproof do not find these."""
    found, loaded = builtins.__import__, importlib.import_module

    def importing(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] in names and _asks(1):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name == "sys" and _asks(1):
            return instead_of_sys
        return found(name, *rest, **named)

    def import_module(name: str, package: str | None = None) -> Any:
        if name.partition(".")[0] in names and _asks(1):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return loaded(name, package)

    builtins.__import__ = importing
    importlib.import_module = import_module


def _hide_files() -> None:
    """There is no /proc, /sys or /dev."""
    opened = Path.open

    def opening(self: Path, *rest: Any, **named: Any) -> Any:
        if str(self).startswith(("/proc/", "/sys/", "/dev/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        return opened(self, *rest, **named)

    def read_text(
        self: Path, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> str:
        with opening(self, "r", encoding=encoding, errors=errors, newline=newline) as file:
            text: str = file.read()
        return text

    Path.open = opening  # type: ignore[method-assign]
    Path.read_text = read_text  # type: ignore[method-assign]


class _MmapOfWindows(mmap.mmap):
    """It takes no flags, and has no `madvise`."""

    def __new__(cls, fileno: int, length: int, tagname: str | None = None, access: int = 0, offset: int = 0) -> Any:
        del tagname
        return super().__new__(cls, fileno, length, access=access, offset=offset)

    def __getattribute__(self, name: str) -> Any:
        if name == "madvise":
            raise AttributeError(name)
        return super().__getattribute__(name)


def _open_of_windows(path: Any, flags: int, mode: int = 0o777) -> int:
    if Path(path).is_dir():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return os.open(path, flags, mode)


def _fcntl_of_macos(number: int, command: int, *rest: Any) -> Any:
    """F_FULLFSYNC is told in a file, for the test, and is a sync."""
    if command != F_FULLFSYNC:
        return fcntl.fcntl(number, command, *rest)
    os.fsync(number)
    if told := os.environ.get("ZOMBIEPROOF_TEST_SYNCS"):
        with Path(told).open("a", encoding="utf-8") as file:
            file.write(f"{os.path.realpath(f'/proc/self/fd/{number}')}\n")
    return 0


def _refuse(*_: Any) -> Any:
    raise NotImplementedError


if chosen := os.environ.get("ZOMBIEPROOF_TEST_SYSTEM"):
    become(chosen)
