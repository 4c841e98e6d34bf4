"""The index of aborted transactions of one partition: what a read_committed fetch is told to skip.

Source: reference §3.6, §6; ``TransactionIndex.java``, ``LocalLog.addAbortedTransactions``.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from zombieproof.statemachines.partition_leader.offsets import listing


class AbortedTransaction(NamedTuple):
    """One entry. `last_offset` is that of the marker; `last_stable_offset` what was stable when it was written."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Collected(NamedTuple):
    """The entries that a fetch is told of; `is_complete`: what is behind the index's end cannot matter."""

    aborted: tuple[AbortedTransaction, ...]
    is_complete: bool


class AbortedIndex:
    """Entries in the order of their markers.

    Args:
        entries: what the index holds to begin with.
    """

    def __init__(self, entries: Iterable[AbortedTransaction] = ()) -> None:
        self._entries: list[AbortedTransaction] = []
        for entry in entries:
            self.append(entry)

    def __iter__(self) -> Iterator[AbortedTransaction]:
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, entry: AbortedTransaction) -> None:
        """Add `entry`.

        Raises:
            ValueError: its last offset is not above that of the entry before.
        """
        if self._entries and entry.last_offset <= self._entries[-1].last_offset:
            raise ValueError(
                f"an aborted transaction that ends at {entry.last_offset} cannot follow one that ends at "
                f"{self._entries[-1].last_offset}: last offsets increase"
            )
        self._entries.append(entry)

    def reaches(self, offset: int) -> bool:
        """Whether any of them ends at `offset` or later."""
        return bool(self._entries) and self._entries[-1].last_offset >= offset

    def collect(self, fetch_offset: int, upper_bound: int) -> Collected:
        """The entries that overlap a fetch of ``[fetch_offset, upper_bound)``.

        The search ends at the first entry at which everything below `upper_bound` was stable.
        """
        found = []
        for entry in islice(self._entries, self._first_reaching(fetch_offset), None):
            _, first, last, stable = entry
            judged = listing(first, last, stable, fetch_offset, upper_bound)
            if judged.is_listed:
                found.append(entry)
            if judged.is_last:
                return Collected(tuple(found), is_complete=True)
        return Collected(tuple(found), is_complete=False)

    def _first_reaching(self, offset: int) -> int:
        """The index of the first entry that ends at `offset` or later."""
        return bisect_left(self._entries, offset, key=attrgetter("last_offset"))

    def truncate(self, end_offset: int) -> None:
        """Drop the entries whose marker is at or behind `end_offset`."""
        self._entries = [entry for entry in self._entries if entry.last_offset < end_offset]

    def reset(self) -> None:
        """Drop everything."""
        self._entries.clear()
