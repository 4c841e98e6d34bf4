"""Which marker on a partition belongs to which transaction of the coordinator's log.

A marker names a producer id and an epoch. Under transaction version 2 that is one transaction; before, an epoch lasts
for many, and only the order tells: markers and transactions are put side by side like two texts that should be equal,
with as few differences as possible. A marker without data may repeat the one before it (a coordinator that was loaded
anew sends all its markers again, reference §2.12). Where two ways are equally good, the times of marker and decision
choose.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from zombieproof.traces.coordinator_history import RecordedTransaction
from zombieproof.traces.partition_history import Ending
from zombieproof.traces.verdict import Outcome

MARGIN = 64
"""How far the two sequences may be shifted against each other, beyond their difference in length."""


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
    return ending.commits == (txn.outcome is Outcome.COMMIT)


def align(
    endings: Sequence[Ending],
    transactions: Sequence[RecordedTransaction],
    may_be_missed: Callable[[RecordedTransaction], bool],
) -> Alignment:
    """Put the markers of one producer id and epoch on a partition beside the transactions that list the partition.

    `may_be_missed` says of a transaction that its marker need not be in the evidence.
    """
    if len(endings) == len(transactions) and all(map(agrees, endings, transactions)):
        return Alignment(list(range(len(endings))), [])
    table = _table(endings, transactions, may_be_missed)
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


def _table(
    endings: Sequence[Ending],
    transactions: Sequence[RecordedTransaction],
    may_be_missed: Callable[[RecordedTransaction], bool],
) -> list[dict[int, _Way]]:
    """The best way to each pair of (markers taken, transactions taken), near the diagonal."""
    rows, columns = len(endings), len(transactions)
    band = abs(rows - columns) + MARGIN
    table: list[dict[int, _Way]] = [{} for _ in range(rows + 1)]
    table[0][0] = _Way(0, 0, "")
    for i in range(rows + 1):
        for j in range(max(0, i - band), min(columns, i + band) + 1):
            ways = list(_ways(i, j, table, endings, transactions, may_be_missed))
            if ways:
                table[i][j] = min(ways, key=lambda way: way[:2])
    return table


def _ways(
    i: int,
    j: int,
    table: list[dict[int, _Way]],
    endings: Sequence[Ending],
    transactions: Sequence[RecordedTransaction],
    may_be_missed: Callable[[RecordedTransaction], bool],
) -> list[_Way]:
    ways = []
    if i and j and (before := table[i - 1].get(j - 1)):
        ending, txn = endings[i - 1], transactions[j - 1]
        differences = before.differences + (not agrees(ending, txn))
        ways.append(_Way(differences, before.apart_ms + _apart(ending, txn), "match"))
    if i and j and (before := table[i - 1].get(j)):
        ending, txn = endings[i - 1], transactions[j - 1]
        if i > 1 and ending.run is None and agrees(ending, txn) and endings[i - 2].commits == ending.commits:
            ways.append(_Way(before.differences, before.apart_ms + _apart(ending, txn), "repeat"))
    if i and (before := table[i - 1].get(j)):
        ways.append(_Way(before.differences + 1, before.apart_ms, "odd"))
    if j and (before := table[i].get(j - 1)):
        ways.append(_Way(before.differences + (not may_be_missed(transactions[j - 1])), before.apart_ms, "miss"))
    return ways


def _apart(ending: Ending, txn: RecordedTransaction) -> int:
    """Milliseconds between a marker and the time in which its transaction was prepared and completed."""
    time = ending.timestamp_ms
    if txn.prepared_ms is not None and time < txn.prepared_ms:
        return txn.prepared_ms - time
    if txn.completed_ms is not None and time > txn.completed_ms:
        return time - txn.completed_ms
    return 0
