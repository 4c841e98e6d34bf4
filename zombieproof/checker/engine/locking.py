"""A file that one process has for itself, for as long as it keeps it open: whoever is killed leaves no lock behind."""

from __future__ import annotations


class NoLocksHere(Exception):
    """This system has no locks of files."""


def claim(number: int) -> bool:
    """Whether this process has the open file of this number for itself now; another process may have it.

    Raises:
        NoLocksHere: nobody can.
    """
    try:
        import fcntl  # noqa: PLC0415  # not on every system; who keeps nothing needs no lock
    except ImportError:
        raise NoLocksHere from None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
