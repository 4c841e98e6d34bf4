"""A folder that belongs to one exploration: whose it is, who works on it, and files that are there whole or not at all.

A folder of ours holds nothing else: what is not named as our files are is somebody's, and the folder is refused. While
a process works on it, it holds a lock that the system takes back when the process is killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from zombieproof import system

LOCK: Final = "lock"
EVERY_SECONDS: Final = 60.0
"""From one checkpoint to the next, if nothing else is asked."""
_PART: Final = ".part"
_CHUNK: Final = 1 << 24


class FolderRefused(ValueError):
    """A folder cannot be used; the message says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file that stands: its name, its size in bytes, and the SHA-256 of what is in it."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where and how often checkpoints are made, and whether to go on from the one that is there.

    `asked` says in words what is explored: a checkpoint of something else is refused by the first that differs.
    """

    folder: Path
    every_seconds: float = EVERY_SECONDS
    resume: bool = False
    asked: Mapping[str, str] = field(default_factory=dict)


class Folder:
    """A folder, locked for this process until it is closed.

    Args:
        path: where; it is made if its parent is there.
        option: what it was given by, for messages: `--checkpoint`.
        names: a pattern of all names that files of ours have.

    Raises:
        FolderRefused: it is no folder, cannot be written, has other files, or another process works on it.
    """

    def __init__(self, path: Path, option: str, names: re.Pattern[str]) -> None:
        self.path = path
        self.who = f"{option} {path}"
        try:
            system.need_durable_files(self.who, f"omit {option}")
        except system.Unsupported as error:
            raise FolderRefused(str(error)) from None
        try:
            path.mkdir(exist_ok=True)
            foreign = sorted(one.name for one in path.iterdir() if not _is_ours(one.name, names))
            if foreign:
                raise FolderRefused(
                    f"{self.who}: the folder contains other files: {', '.join(foreign[:3])}"
                    f"{', ...' if foreign[3:] else ''}; give a new or empty folder"
                )
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except FileExistsError:
            raise FolderRefused(f"{self.who}: not a folder; give a new or empty folder") from None
        except OSError as error:
            raise FolderRefused(f"{self.who}: {error.strerror}; give a writable folder") from None
        self._claim()
        for part in path.glob(f"*{_PART}"):  # of a process that was killed
            part.unlink()

    def _claim(self) -> None:
        try:
            is_ours = system.claim(self._lock)
        except system.NoFileLocks:
            os.close(self._lock)
            raise FolderRefused(
                f"{self.who}: this file system cannot lock files, so another process could write there; give a folder "
                "on a local disk"
            ) from None
        if not is_ours:
            holder = os.read(self._lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._lock)
            raise FolderRefused(
                f"{self.who}: another process is using it ({holder}); wait until it ends, or give another folder"
            )
        os.ftruncate(self._lock, 0)
        system.write_at(self._lock, str(os.getpid()).encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def write(self, name: str, pieces: Iterable[Any]) -> Written:
        """Write bytes-like pieces as one file that is on the disk, whole, when this returns.

        Raises:
            OSError: it cannot be written; no file of this name has appeared or changed.
        """
        part = self.path / f"{name}{_PART}"
        digest, size = hashlib.sha256(), 0
        try:
            with part.open("wb") as file:
                for piece in pieces:
                    view = memoryview(piece)
                    if not view.nbytes:
                        continue  # which cannot be cast
                    view = view.cast("B")
                    file.write(view)
                    digest.update(view)
                    size += view.nbytes
                file.flush()
                system.sync(file.fileno())
            part.replace(self.path / name)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        system.sync_directory(self.path)
        return Written(name, size, digest.hexdigest())

    def read(self, written: Written) -> bytearray:
        """Return what is in a file.

        Raises:
            FolderRefused: it is missing, or not what was written.
        """
        content = bytearray(written.size)
        digest, filled = hashlib.sha256(), 0
        try:
            with (self.path / written.name).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                while filled < written.size:
                    piece = file.read(min(_CHUNK, written.size - filled))
                    if not piece:
                        break
                    content[filled : filled + len(piece)] = piece
                    digest.update(piece)
                    filled += len(piece)
        except OSError as error:
            raise self.damaged(written.name, error.strerror or str(error)) from None
        if size != written.size:
            raise self.damaged(written.name, f"it has {size:,} bytes instead of {written.size:,}")
        if digest.hexdigest() != written.sha256:
            raise self.damaged(written.name, "its checksum does not match")
        return content

    def damaged(self, name: str, fault: str) -> FolderRefused:
        """The error for a file that cannot be trusted."""
        return FolderRefused(
            f"{self.who}: {name} is damaged: {fault}; restore the folder from a copy, or remove it and start again"
        )

    def keep_only(self, names: Iterable[str]) -> None:
        """Remove all other files of ours."""
        kept = {*names, LOCK}
        for file in self.path.iterdir():
            if file.name not in kept:
                file.unlink(missing_ok=True)

    def remove(self, *, whole: bool) -> None:
        """Leave nothing of ours, and if `whole` not even the folder; nobody can use this object any more."""
        (self.path / LOCK).unlink(missing_ok=True)
        if whole:
            with contextlib.suppress(OSError):  # somebody has put something there
                self.path.rmdir()
        os.close(self._lock)

    def files(self) -> Iterator[str]:
        """The names of all files but the lock."""
        return (one.name for one in self.path.iterdir() if one.name != LOCK)


def _is_ours(name: str, names: re.Pattern[str]) -> bool:
    return name == LOCK or names.fullmatch(name.removesuffix(_PART)) is not None
