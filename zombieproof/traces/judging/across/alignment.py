"""Which marker on a partition belongs to which transaction of the coordinator's log.

A marker names a producer id and an epoch. Under transaction version 2 that is one transaction; before, an epoch lasts
for many, and only the order tells: markers and transactions are put side by side like two texts that should be equal,
with as few differences as possible. A marker without data may repeat the one before it (a coordinator that was loaded
anew sends all its markers again, reference §2.12). Where two ways are equally good, the times of marker and decision
choose.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from zombieproof.traces.judging.histories.partition_history import Ending
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.verdict.report import TransactionOutcome

MARGIN = 64
"""How far the two sequences may be shifted against each other, beyond their difference in length."""

CELLS = 4_000_000
"""The largest table that is filled; beyond it only the times of markers and decisions are compared."""


class Alignment(NamedTuple):
    """`owner[i]` is the index of the transaction of the i-th marker, or None; `missed` are those without a marker."""

    owner: list[int | None]
    missed: list[int]


class _Way(NamedTuple):
    """How a place of the table was reached: differences, milliseconds apart, and the step that led there."""

    differences: int
    apart_ms: int
    step: str


def agrees(ending: Ending, txn: RecordedTransaction) -> bool:
    """Whether the marker says what was decided, as far as both are known."""
    if ending.commits is None or not txn.decided:
        return True
    return ending.commits == (txn.outcome is TransactionOutcome.COMMIT)


def align(
    endings: Sequence[Ending],
    transactions: Sequence[RecordedTransaction],
    may_be_missed: Callable[[RecordedTransaction], bool],
    begins_later: bool = False,
    ends_earlier: bool = False,
) -> Alignment:
    """Put the markers of one producer id and epoch on a partition beside the transactions that list the partition.

    `may_be_missed` says of a transaction that its marker need not be in the evidence; `begins_later` that the log
    begins later than the transactions, so that those in front need not be in it; `ends_earlier` the same of its end.
    """
    fits = agrees if len(endings) == 1 else _fits
    if len(endings) == len(transactions) and all(map(fits, endings, transactions)):
        return Alignment(list(range(len(endings))), [])
    if len(endings) * (abs(len(endings) - len(transactions)) + MARGIN) > CELLS:
        return _by_time(endings, transactions)
    table = _Table(endings, transactions, may_be_missed, begins_later, ends_earlier).filled()
    owner: list[int | None] = [None] * len(endings)
    missed: list[int] = []
    i, j = len(endings), len(transactions)
    while i or j:
        step = table[i][j].step
        if step in ("match", "repeat"):
            owner[i - 1] = j - 1
        elif step == "miss":
            missed.append(j - 1)
        i -= step != "miss"
        j -= step in ("match", "miss")
    return Alignment(owner, missed[::-1])


class _Table:
    """The best way to each pair of (markers taken, transactions taken), near the diagonal."""

    def __init__(
        self,
        endings: Sequence[Ending],
        transactions: Sequence[RecordedTransaction],
        may_be_missed: Callable[[RecordedTransaction], bool],
        begins_later: bool,
        ends_earlier: bool,
    ) -> None:
        self.endings, self.transactions = endings, transactions
        self.may_be_missed = may_be_missed
        self.begins_later, self.ends_earlier = begins_later, ends_earlier
        self.ways: list[dict[int, _Way]] = [{} for _ in range(len(endings) + 1)]

    def filled(self) -> list[dict[int, _Way]]:
        """The whole table, row by row."""
        rows, columns = len(self.endings), len(self.transactions)
        band = abs(rows - columns) + MARGIN
        for i in range(rows + 1):
            for j in range(max(0, i - band), min(columns, i + band) + 1):
                ways = [_Way(0, 0, "")] if i == j == 0 else list(self._into(i, j))
                if ways:
                    self.ways[i][j] = min(ways, key=lambda way: way[:2])
        return self.ways

    def _into(self, i: int, j: int) -> Iterator[_Way]:
        """The ways to (i, j) from the places before it."""
        if i and j:
            ending, txn = self.endings[i - 1], self.transactions[j - 1]
            apart, same = _apart(ending, txn), agrees(ending, txn)
            if before := self.ways[i - 1].get(j - 1):
                yield _Way(before.differences + (not same), before.apart_ms + apart, "match")
            if (before := self.ways[i - 1].get(j)) and same and self._may_repeat(i - 1):
                yield _Way(before.differences, before.apart_ms + apart, "repeat")
        if i and (before := self.ways[i - 1].get(j)):
            yield _Way(before.differences + 1, before.apart_ms, "odd")
        if j and (before := self.ways[i].get(j - 1)):
            outside = (i == 0 and self.begins_later) or (i == len(self.endings) and self.ends_earlier)
            free = outside or self.may_be_missed(self.transactions[j - 1])
            yield _Way(before.differences + (not free), before.apart_ms, "miss")

    def _may_repeat(self, index: int) -> bool:
        """Whether a marker can be the one before it once more: it ends nothing, and says the same."""
        ending = self.endings[index]
        if index == 0 or ending.run is not None:
            return False
        before = self.endings[index - 1].commits
        return None in (before, ending.commits) or before == ending.commits


def _fits(ending: Ending, txn: RecordedTransaction) -> bool:
    return agrees(ending, txn) and _apart(ending, txn) == 0


def _apart(ending: Ending, txn: RecordedTransaction) -> int:
    """Milliseconds between a marker and the time in which its transaction was prepared and completed."""
    time = ending.timestamp_ms
    if txn.prepared_ms is not None and time < txn.prepared_ms:
        return txn.prepared_ms - time
    if txn.completed_ms is not None and time > txn.completed_ms:
        return time - txn.completed_ms
    return 0


def _by_time(endings: Sequence[Ending], transactions: Sequence[RecordedTransaction]) -> Alignment:
    """Give each marker to the transaction that was prepared last before it."""
    prepared = [txn.prepared_ms or 0 for txn in transactions]
    owner: list[int | None] = []
    for ending in endings:
        index = bisect_right(prepared, ending.timestamp_ms) - 1
        owner.append(index if index >= 0 else None)
    taken = set(owner)
    return Alignment(owner, [index for index in range(len(transactions)) if index not in taken])
