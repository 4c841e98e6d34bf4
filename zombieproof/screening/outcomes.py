"""Transactions of cleared logs in packed rows: producer id, and a key of epoch, epoch of the marker, and outcome.

A row stands for all transactions on a partition that have the same of all these; under transaction version 2, where
each has an epoch of its own, that is one.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from zombieproof.screening.kernel import (
    END_COMMITS,
    END_EPOCH,
    END_FIRST,
    END_MARKER_EPOCH,
    END_PRODUCER_ID,
    UNSEEN,
    Producer,
)
from zombieproof.screening.spilling import Rows, SortedRows, abreast, distinct
from zombieproof.traces.cleared import Outcome

ABORTED, COMMITTED, OPEN = range(3)
"""As the reports order them."""
COMMITS = {ABORTED: False, COMMITTED: True, OPEN: None}

EPOCH_SHIFT, OUTCOME_SHIFT = 18, 16
THREE_OUTCOMES = 0b11
NO_EPOCH = 0xFFFF
"""A marker without data, or data without marker: epochs have 15 bits."""


def keys(epoch: Rows, marker_epoch: Rows, outcome: Rows) -> Rows:
    """The keys of transactions: sorted by epoch, then by outcome."""
    made: Rows = (epoch & NO_EPOCH) << EPOCH_SHIFT | outcome << OUTCOME_SHIFT | (marker_epoch & NO_EPOCH)
    return made


def epochs(key: Rows) -> Rows:
    """Epochs of the data; `NO_EPOCH` for markers without."""
    return key >> EPOCH_SHIFT


def outcomes(key: Rows) -> Rows:
    """`ABORTED`, `COMMITTED` or `OPEN`."""
    return key >> OUTCOME_SHIFT & THREE_OUTCOMES


def marker_epochs(key: Rows) -> Rows:
    """Epochs of the markers; `NO_EPOCH` for what is open."""
    return key & NO_EPOCH


def of_ends(ends: Rows) -> Rows:
    """The rows of markers (`kernel.End`) and what they ended."""
    epoch = np.where(ends[:, END_FIRST] == UNSEEN, NO_EPOCH, ends[:, END_EPOCH])
    key = keys(epoch, ends[:, END_MARKER_EPOCH], ends[:, END_COMMITS])
    return distinct([np.stack((ends[:, END_PRODUCER_ID], key), axis=1)])


def of_open(open_runs: Mapping[int, Producer]) -> Rows:
    """The rows of what is open."""
    pairs = np.array([(pid, each.run_epoch) for pid, each in open_runs.items()], dtype=np.int64).reshape(-1, 2)
    nothing = np.full(len(pairs), NO_EPOCH)
    return distinct([np.stack((pairs[:, 0], keys(pairs[:, 1], nothing, np.full(len(pairs), OPEN))), axis=1)])


class SeveralLogs:
    """What several cleared logs tell together (`traces.cleared.Together`)."""

    def __init__(self, logs: Sequence[SortedRows], owned: Collection[int]) -> None:
        self._logs = logs
        self._owners = np.array(sorted(owned), dtype=np.int64)

    def _abreast(self) -> Iterator[list[Rows]]:
        """The rows of all logs without those that somebody owns, some producer ids after the others."""
        for logs in abreast(self._logs):
            yield [rows[~np.isin(rows[:, 0], self._owners)] for rows in logs] if len(self._owners) else logs

    def agree(self, ended: Iterable[tuple[int, int, bool]]) -> bool:
        """Whether markers one epoch above their data say the same everywhere, and the same as other such markers."""
        others = np.array([(pid, epoch << 1 | commits) for pid, epoch, commits in ended], dtype=np.int64).reshape(-1, 2)
        for logs in self._abreast():
            raised = _together(map(self._raised, logs))
            both = distinct([raised, others[np.isin(others[:, 0], raised[:, 0])]])
            if ((both[1:, 0] == both[:-1, 0]) & (both[1:, 1] >> 1 == both[:-1, 1] >> 1)).any():
                return False
        return True

    @staticmethod
    def _raised(rows: Rows) -> Rows:
        """Producer id, and epoch of the marker with its outcome as the last bit."""
        key = rows[:, 1]
        is_raised = (epochs(key) != NO_EPOCH) & (epochs(key) + 1 == marker_epochs(key))
        made: Rows = np.stack((rows[:, 0], marker_epochs(key) << 1 | outcomes(key)), axis=1)
        kept: Rows = made[is_raised & (outcomes(key) != OPEN)]
        return kept

    @staticmethod
    def _transactions(rows: Rows) -> Rows:
        """Producer id, epoch and outcome of what has data, whatever the marker's epoch."""
        here = rows[epochs(rows[:, 1]) != NO_EPOCH]
        return distinct([np.stack((here[:, 0], here[:, 1] >> OUTCOME_SHIFT), axis=1)])

    def counts(self) -> Mapping[bool | None, int]:
        """How many there are of each outcome."""
        found = dict.fromkeys(COMMITS, 0)
        for logs in self._abreast():
            every = _together(map(self._transactions, logs))
            for rank in found:
                found[rank] += int((every[:, 1] & THREE_OUTCOMES == rank).sum())
        return {COMMITS[rank]: count for rank, count in found.items()}

    def outcomes(self) -> Iterator[tuple[Outcome, Sequence[int]]]:
        """Each with the logs that have it, in order."""
        for logs in self._abreast():
            yield from self._outcomes([self._transactions(rows) for rows in logs])

    @staticmethod
    def _outcomes(logs: Sequence[Rows]) -> Iterator[tuple[Outcome, Sequence[int]]]:
        every = np.concatenate([np.empty((0, 2), dtype=np.int64), *logs])
        log = np.repeat(np.arange(len(logs)), [len(rows) for rows in logs])
        order = np.lexsort((log, every[:, 1], every[:, 0]))
        before: tuple[int, int] | None = None
        here: list[int] = []
        for at in order:
            row = int(every[at, 0]), int(every[at, 1])
            if before is not None and row != before:
                yield _outcome(before), here
                here = []
            before = row
            here.append(int(log[at]))
        if before is not None:
            yield _outcome(before), here


def _together(logs: Iterable[Rows]) -> Rows:
    """The rows of all logs, which have most of them in common: one log after the other."""
    return reduce(lambda before, rows: distinct([before, rows]), logs, np.empty((0, 2), dtype=np.int64))


def _outcome(row: tuple[int, int]) -> Outcome:
    return Outcome(row[0], row[1] >> (EPOCH_SHIFT - OUTCOME_SHIFT), COMMITS[row[1] & THREE_OUTCOMES])
