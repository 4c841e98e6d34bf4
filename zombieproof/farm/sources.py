"""A hash of the sources that decide what an exploration finds: a result of other sources is not taken for it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[1]
DECIDING: Final = ("model", "statemachines", "checker", "farm")
"""The packages whose sources decide: what is true, what may follow what, what can happen, and what is kept of it."""


@functools.cache
def sources(file: str = "") -> str:
    """The hash of our sources, with those of a file of somebody's own and what lies beside it. Read once in a process.

    Raises:
        OSError: a source cannot be read.
    """
    whole = hashlib.sha256(_ours().encode())
    if file:
        folder = Path(file).parent
        for path in sorted(_beside(folder)):
            _add(whole, path.relative_to(folder), path)
    return whole.hexdigest()


@functools.cache
def _ours() -> str:
    whole = hashlib.sha256()
    for package in DECIDING:
        for path in sorted((_ROOT / package).rglob("*.py")):
            _add(whole, path.relative_to(_ROOT), path)
    return whole.hexdigest()


def _beside(folder: Path) -> Iterator[Path]:
    """The Python files of a folder, and of the packages in it."""
    yield from folder.glob("*.py")
    for package in folder.iterdir():
        if (package / "__init__.py").is_file():
            yield from _beside(package)


def _add(whole: hashlib._Hash, name: Path, path: Path) -> None:
    content = path.read_bytes()
    whole.update(f"{name.as_posix()}\0{len(content)}\0".encode())
    whole.update(content)
