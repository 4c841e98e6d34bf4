"""Decide whether private parts of Numba, llvmlite and Python are as this folder expects them.

Combinations in `TESTED` are: the tests of the engine pass with each of these versions of Python, and with the first and
last versions of Numba and llvmlite. Any other one is tried once, in a separate process, which may crash: `trial`
explores a model and compares the result with its interpretation. The outcome is kept in the folder of compiled models.
ZOMBIEPROOF_PUBLIC_NUMBA=1 does as if the trial had failed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import llvmlite

from zombieproof import system
from zombieproof.checker.engine.cache import note_trial, trial_noted
from zombieproof.checker.engine.versions import numba_version, versions

_PUBLIC: Final = "ZOMBIEPROOF_PUBLIC_NUMBA"
_SECONDS: Final = 300
_TRIAL: Final = "from zombieproof.checker.engine.internals.trial import main; main()"


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, both ends included: major and minor number."""

    first: tuple[int, int]
    last: tuple[int, int]

    def has(self, version: str) -> bool:
        """Whether a version is in the range; one that cannot be read is not."""
        major, _, rest = version.partition(".")
        minor = rest.partition(".")[0]
        return major.isdecimal() and minor.isdecimal() and self.first <= (int(major), int(minor)) <= self.last


TESTED: Final = {
    "Python": Versions((3, 11), (3, 14)),
    "numba": Versions((0, 62), (0, 68)),
    "llvmlite": Versions((0, 45), (0, 50)),
}
_TESTED_MACHINES: Final = frozenset({("Linux", "x86_64")})


@functools.cache
def fault() -> str | None:
    """Return why private parts are not used in this process, in words; None: they are."""
    if os.environ.get(_PUBLIC, "") not in ("", "0"):
        return f"{_PUBLIC} is set"
    return None if is_tested() else _tried()


def is_tested() -> bool:
    """Whether the test suite covers what is installed here."""
    return (
        sys.implementation.name == "cpython"
        and (system.NAME, platform.machine()) in _TESTED_MACHINES
        and all(TESTED[name].has(version) for name, version in _installed().items())
    )


class _Warned:
    """Whether this process has printed the warning."""

    is_warned: bool = False


def take_warning() -> str | None:
    """Return what to print when private parts are not used; None: they are, or it was taken before."""
    why = fault()
    if why is None or _Warned.is_warned:
        return None
    _Warned.is_warned = True
    return (
        f"the engine uses Numba's public interface because {why}. Compiling and exploring take up to three times as "
        "long, and compiled models are not cached"
    )


def _tried() -> str | None:
    """Try the combination that is installed, unless that was done before."""
    name = _combination()
    outcome = trial_noted(name)
    if outcome is None:
        outcome = _try()
        if outcome is None:
            return f"the trial of {_shown()} did not finish within {_SECONDS} s"
        note_trial(name, outcome)
    return outcome or None


def _try() -> str | None:
    """Run the trial; return what is wrong, "" for nothing, None where it did not end."""
    import subprocess  # noqa: PLC0415  # few need it, and it takes a while

    try:
        done = subprocess.run(
            [sys.executable, "-c", _TRIAL],
            env={**os.environ, "ZOMBIEPROOF_NO_CACHE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return ""
    last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return f"the trial of {_shown()} failed: {last or f'exit code {done.returncode}'}"


def _installed() -> dict[str, str]:
    return {"Python": platform.python_version(), "numba": numba_version(), "llvmlite": llvmlite.__version__}


def _shown() -> str:
    versions = ", ".join(f"{name} {version}" for name, version in _installed().items())
    return f"{versions} on {system.NAME} {platform.machine()}"


def _combination() -> str:
    """Name what is installed, our own sources included."""
    digest = hashlib.sha256(repr((versions(), system.NAME, sys.implementation.name)).encode())
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
