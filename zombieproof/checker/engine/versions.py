"""The versions of what compiles: they decide, beside all sources, what was compiled."""

from __future__ import annotations

import functools
import platform
import re
from importlib.util import find_spec
from pathlib import Path

import llvmlite
import numpy as np


def versions() -> list[str]:
    """Return the versions of Numba, NumPy, llvmlite and Python, and the machine's kind."""
    return [_of("numba"), np.__version__, llvmlite.__version__, platform.python_version(), platform.machine()]


def numba_version() -> str:
    """Return the version of Numba, such as "0.68.1"."""
    found = re.search(r'"version": "([^"]+)"', _of("numba"))
    return found[1] if found else _installed("numba")


@functools.cache
def _of(package: str) -> str:
    """Return what says the version of a package. It is read, not imported: that would take a quarter of a second."""
    found = find_spec(package)
    for folder in (found.submodule_search_locations if found else None) or ():
        file = Path(folder) / "_version.py"
        if file.is_file():
            return file.read_text("utf-8")
    return _installed(package)


def _installed(package: str) -> str:
    """Return what a package was installed as."""
    from importlib import metadata  # noqa: PLC0415  # it takes longer

    return metadata.version(package)
