"""Whether a screen pays: nothing here loads the compiler.

A screen is compiled anew in each process, which takes about four seconds, and then goes over a million batches and more
in a second. Without it batches are interpreted, about thirteen thousand in a second. Which is faster turns on how many
batches there are, which nothing tells before they are read: how many bytes does, roughly. At `LEAST_BYTES` they take as
long as the compiler if batches have 600 bytes. If they are larger, so much is read in less than two seconds either way.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from zombieproof.model.rules import Rules
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.files import TABLE
from zombieproof.traces.readers.folders import files_in
from zombieproof.traces.readers.screen import Screening

LEAST_BYTES = 32 << 20
PACKED_TO = 50
"""So many times smaller a segment is when it is packed, roughly."""


def screen_for(
    paths: Iterable[Path], narrowing: Narrowing, rules: Rules | None = None, least_bytes: int = LEAST_BYTES
) -> Screening | None:
    """A screen for what is at these paths; None where it does not pay, or the rules are not those that it knows.

    A window asks for the time of every transaction, which takes all batches: it is answered without a screen.
    """
    if (rules is not None and rules != Rules()) or narrowing.has_window:
        return None
    if _bytes([file for path in paths for file in files_in(path, [], narrowing)]) < least_bytes:
        return None
    from zombieproof.screening.taking import LogScreen  # noqa: PLC0415  # loads the compiler

    return LogScreen()


def _bytes(files: Sequence[Path]) -> int:
    """Of segments as they lie on a broker's disk; of packed ones roughly what they are made of."""
    weights = {".log": 1, TABLE: PACKED_TO}
    return sum(_size(file) * weights.get(file.suffix, 0) for file in files)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
