"""OffsetForLeaderEpoch (API key 23, versions 2-4), and what a Fetch is told whose reader has read something else.

Behaviour: the records of an epoch end where those of the next one begin, those of the newest with the log. One that the
leader does not know is told by the greatest one below it. A reader that has read farther than an epoch goes, or of an
epoch that is not in this log, has read what is not there (KIP-320, KIP-595).
Source: ``LeaderEpochFileCache.endOffsetFor``, ``Partition.readRecords``.
"""

from typing import NamedTuple

from zombieproof.model.vocabulary import NONE, Error


class EndOfEpoch(NamedTuple):
    """An epoch, and where its records end; NONE, NONE: it cannot be told."""

    epoch: int
    end_offset: int


def decide_end_of_epoch(epoch: int, newest: int, known: int, following_start: int, log_end: int) -> EndOfEpoch:
    """The epoch that is told, and where it ends.

    Args:
        epoch: the one that is asked about.
        newest: the newest that is known, NONE: none is.
        known: the greatest that is known up to it, NONE: there is none.
        following_start: where the first begins that is greater than it, NONE: there is none.
        log_end: where the log ends.
    """
    if NONE in (epoch, newest) or epoch > newest:
        return EndOfEpoch(NONE, NONE)
    if epoch == newest:
        return EndOfEpoch(epoch, log_end)
    if known == NONE:
        # Older than all that is there: what followed it is the beginning.
        return EndOfEpoch(epoch, following_start)
    return EndOfEpoch(known, following_start)


def error_of_unknown_epoch(found_epoch: int) -> int:
    """OFFSET_OUT_OF_RANGE where a reader has read under an epoch that is newer than all that are known."""
    return int(Error.OFFSET_OUT_OF_RANGE if found_epoch == NONE else Error.NONE)


def diverges(fetch_offset: int, last_epoch: int, found_epoch: int, end_offset: int) -> bool:
    """Whether whoever has read up to `fetch_offset`, last under `last_epoch`, has read what is not in this log."""
    return found_epoch < last_epoch or end_offset < fetch_offset
