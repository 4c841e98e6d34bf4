"""Where compiled models are kept from one run to the next, and what is taken from there.

A folder is named after a hash of everything that was compiled (see `Lowering.source_hash`), because Numba's own cache
looks at one file only and would run yesterday's model after an edit in another. A file is named after the types and the
processor that it is for, and carries a seal: machine code that was cut or changed would take the process down, so what
the seal does not fit is thrown away and compiled again. A file is there whole or not at all, whoever else writes it.

ZOMBIEPROOF_CACHE_DIR chooses where the folders are (default: the user's cache folder), ZOMBIEPROOF_NO_CACHE=1 switches
the cache off. A cache that cannot be written is no error: `take_fault` says it, once.

To know the hash a model has to be lowered. In the folder `_NAMES` it is noted under what the model is without that (see
`identity`), and the next run takes the code without lowering anything. A note that is damaged counts as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from zombieproof.checker.engine.internals.native import Code, Kinds, processor, said

_FORMAT: Final = b"zombieproof compiled 3\n"
_KEPT_FOLDERS: Final = 192
_KEPT_BYTES: Final = 512 * 2**20
"""Room for all models of the protocol several times over, however many small ones are compiled between two uses."""
SUFFIX: Final = ".compiled"
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_NAMES: Final = "names"
_TRIALS: Final = "trials"
_KEPT_NAMES: Final = 2 * _KEPT_FOLDERS
_ABANDONED_SECONDS: Final = 3600.0


class _Faults:
    """What kept compiled models from being kept: the first fault of this process."""

    first: str = ""
    was_reported: bool = False


def cache_folder() -> Path | None:
    """Return where compiled models are kept, or None if they are not to be kept.

    Raises:
        RuntimeError: the user has no home folder, and no other was chosen.
    """
    if os.environ.get("ZOMBIEPROOF_NO_CACHE", "") not in ("", "0"):
        return None
    chosen = os.environ.get("ZOMBIEPROOF_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "zombieproof"


def is_on() -> bool:
    """Whether compiled models are kept."""
    try:
        return cache_folder() is not None
    except RuntimeError:
        return False


def can_keep() -> bool:
    """Whether compiled models are kept, and can be."""
    try:
        folder = cache_folder()
        if folder is None:
            return False
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except (OSError, RuntimeError):
        return False


def take_fault() -> str | None:
    """What keeps compiled models from being kept, in words; None if nothing does, or if it was taken before."""
    if not _Faults.first or _Faults.was_reported:
        return None
    _Faults.was_reported = True
    return (
        f"compiled models cannot be cached, so every run compiles them again: {_Faults.first}; "
        "choose another folder with ZOMBIEPROOF_CACHE_DIR, or turn the cache off with ZOMBIEPROOF_NO_CACHE=1"
    )


def folder_of(key: str) -> Path | None:
    """Return the folder for what has this hash, which is there, or None without a cache that can be written."""
    try:
        folder = cache_folder()
    except RuntimeError:
        _Faults.first = _Faults.first or "there is no home folder"
        return None
    if folder is None:
        return None
    try:
        (folder / key).mkdir(parents=True, exist_ok=True)
        os.utime(folder / key)
    except OSError as error:
        _note(folder, error)
        return None
    return folder / key


def key_of(name: str) -> str | None:
    """Return the hash that was noted for what has this identity, or None; its folder is there."""
    try:
        folder = cache_folder()
        noted = (folder / _NAMES / name).read_text("ascii") if folder is not None else ""
    except (OSError, RuntimeError, ValueError):
        return None
    key, _, seal = noted.partition(" ")
    if folder is None or seal != _seal(name, key.encode()).hex() or not (folder / key).is_dir():
        return None
    return key


def note_key(name: str, key: str) -> None:
    """Note the hash of what has this identity, for the next run; what was noted longest ago is forgotten."""
    with contextlib.suppress(OSError, RuntimeError):  # that nothing can be written is told by `folder_of`
        folder = cache_folder()
        if folder is None:
            return
        notes = folder / _NAMES
        notes.mkdir(parents=True, exist_ok=True)
        for old in sorted(notes.iterdir(), key=lambda one: -one.stat().st_mtime)[_KEPT_NAMES:]:
            old.unlink(missing_ok=True)
        _write(notes / name, f"{key} {_seal(name, key.encode()).hex()}".encode())


def trial_noted(name: str) -> str | None:
    """Return the outcome that was noted for the trial of this name (see `internals.expected`); None without one."""
    try:
        folder = cache_folder()
        noted = (folder / _TRIALS / name).read_text("utf-8") if folder is not None else ""
    except (OSError, RuntimeError, ValueError):
        return None
    seal, _, outcome = noted.partition(" ")
    return outcome if seal == _seal(name, outcome.encode()).hex() else None


def note_trial(name: str, outcome: str) -> None:
    """Note the outcome of a trial, for other processes."""
    with contextlib.suppress(OSError, RuntimeError):  # that nothing can be written is told by `folder_of`
        if (folder := cache_folder()) is not None:
            (folder / _TRIALS).mkdir(parents=True, exist_ok=True)
            _write(folder / _TRIALS / name, f"{_seal(name, outcome.encode()).hex()} {outcome}".encode())


def _note(folder: Path, error: OSError) -> None:
    _Faults.first = _Faults.first or f"{folder}: {error.strerror or error}"


def _forget(folder: Path) -> None:
    """Remove the folders that have not been used for longest, and keep the newest that there is room for."""
    with contextlib.suppress(OSError):  # another process does the same
        used = sorted(
            (one for one in folder.iterdir() if _KEY.fullmatch(one.name)), key=lambda one: -one.stat().st_mtime
        )
        held = 0
        for place, one in enumerate(used):
            held += sum(file.stat().st_size for file in one.iterdir())
            if place and (place >= _KEPT_FOLDERS or held > _KEPT_BYTES):
                shutil.rmtree(one, ignore_errors=True)


class Kept:
    """The code of one entry point, for each combination of kinds and processor."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def take(self, kinds: Kinds) -> Code | None:
        """Return what was compiled for arguments of these kinds, or None."""
        content = self._unsealed(self._file(kinds))
        return Code.unpacked(content) if content is not None else None

    def keep(self, kinds: Kinds, code: Code) -> None:
        """Keep what was compiled."""
        file, content = self._file(kinds), code.packed()
        try:
            self._clear_up()
            _write(file, _FORMAT + _seal(file.name, content) + content)
            _forget(self._folder.parent)
        except OSError as error:
            _note(self._folder.parent, error)

    def _file(self, kinds: Kinds) -> Path:
        digest = hashlib.sha256(f"{said(kinds)}\0{processor()}".encode()).hexdigest()
        return self._folder / f"{self._name}-{digest[:16]}{SUFFIX}"

    @staticmethod
    def _unsealed(file: Path) -> bytes | None:
        try:
            whole = file.read_bytes()
        except OSError:
            return None
        head = len(_FORMAT) + hashlib.sha256().digest_size
        content = whole[head:]
        return content if whole[:head] == _FORMAT + _seal(file.name, content) else None

    def _clear_up(self) -> None:
        """Remove what processes that were killed left half written."""
        for old in self._folder.glob("*.new"):
            with contextlib.suppress(OSError):  # another process does the same
                if time.time() - old.stat().st_mtime > _ABANDONED_SECONDS:
                    old.unlink()


def _seal(name: str, content: bytes) -> bytes:
    """The hash of a file's content, and of its name: code of another function is no less wrong than damaged code."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def _write(file: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile("wb", dir=file.parent, suffix=".new", delete=False) as new:
        try:
            new.write(content)
            new.close()
            Path(new.name).replace(file)
        except BaseException:
            new.close()
            Path(new.name).unlink(missing_ok=True)
            raise
