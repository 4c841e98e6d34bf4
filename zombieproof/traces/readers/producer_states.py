"""Compare producer snapshots with the log beside them: what was open before it begins, and what contradicts it.

A snapshot lists every producer that the leader knew at its offset, with the first offset of its open transaction, which
no expiry removes. So one snapshot at or after the beginning of a log shows all transactions that were open there.
Source: reference §3.7, §9.2; ``ProducerStateManager``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import (
    Contradiction,
    Evidence,
    LoggedBatch,
    Lost,
    PartitionLog,
    ProducerSnapshot,
    ProducerSnapshotEntry,
)
from zombieproof.traces.readers.files import plain_name


class Logged(NamedTuple):
    """A transaction as the log has it. `first_offset` or `marker` is `NONE` where the log has no data, or no marker."""

    first_offset: int
    marker: int

    def is_open_at(self, offset: int) -> bool:
        """Whether it has data before an offset, and its marker does not stand before it."""
        return NONE < self.first_offset < offset and not NONE < self.marker < offset


Transactions = Mapping[int, Sequence[Logged]]
"""Of each producer id, in the order of the log."""


def compare_snapshots(evidence: Evidence) -> None:
    """Note in each log to be judged what snapshots say of its beginning, and what of them it contradicts."""
    by_place: dict[tuple[str, int], list[ProducerSnapshot]] = {}
    for snapshot in evidence.snapshots:
        by_place.setdefault((snapshot.topic, snapshot.partition), []).append(snapshot)
    for place, (log, *others) in evidence.copies().items() if by_place else ():
        mine = [
            each
            for each in by_place.get(place, ())
            if each.offset >= log.start_offset and (not others or each.replica == log.replica)
        ]
        if mine and log.topic != TRANSACTION_STATE and (log.batches or log.end_offset):
            _compare(log, sorted(mine, key=lambda each: each.offset))


def _compare(log: PartitionLog, snapshots: Sequence[ProducerSnapshot]) -> None:
    begun = _transactions_in(log, snapshots)
    readable_to = _readable_to(log)
    for snapshot in snapshots:
        if snapshot.offset <= readable_to:
            log.contradictions += _contradictions(log, snapshot, begun)
    if log.contradictions:
        if any(each.last + 1 == log.end_offset for each in log.contradictions):
            log.end_shown_by = ""
        return
    within = [each for each in snapshots if each.offset <= log.end_offset]
    log.knows_what_was_open = bool(within)
    newest = within[-1] if within else snapshots[0]
    before = [entry for entry in newest.entries if _begins_before(log, entry)]
    log.open_before = tuple(entry for entry in before if not _markers(begun, entry.producer_id, newest.offset))
    for entry in log.open_before[:1] if not log.begin_shown_by else ():
        first = min(each.current_txn_first_offset or 0 for each in log.open_before)
        opened = f"a transaction of producer {entry.producer_id} open from offset {entry.current_txn_first_offset}"
        if not any(lost.first <= first < log.start_offset for lost in log.lost):
            log.lost.insert(0, Lost(first, log.start_offset - 1, f"{plain_name(newest.file)} has {opened}"))


def _begins_before(log: PartitionLog, entry: ProducerSnapshotEntry) -> bool:
    return entry.current_txn_first_offset is not None and entry.current_txn_first_offset < log.start_offset


def _markers(begun: Transactions, producer_id: int, first: int, end: int | None = None) -> list[int]:
    """Offsets of the markers of a producer id from `first` on, up to, not including, `end`."""
    found = (each.marker for each in begun.get(producer_id, ()))
    return [marker for marker in found if marker >= first and (end is None or marker < end)]


def _readable_to(log: PartitionLog) -> int:
    """The offset up to which every batch of the log is there; of a log that a screen cleared none is read for it."""
    if log.cleared is not None and log.cleared.has_gaps:
        return log.start_offset
    return next((gap.first for gap in log.gaps()), min([log.end_offset, *log.damaged_at]))


# ---------------------------------------------------------------- what the log has


def _transactions_in(log: PartitionLog, snapshots: Iterable[ProducerSnapshot]) -> Transactions:
    """All transactions of a log; of one that a screen cleared those alone that a snapshot has open, or that are."""
    found: dict[int, list[Logged]] = {}
    if log.cleared is None:
        for producer_id, logged in _folded(log.batches):
            found.setdefault(producer_id, []).append(logged)
        return found
    wanted = {
        entry.producer_id
        for snapshot in snapshots
        for entry in snapshot.entries
        if entry.current_txn_first_offset is not None
    }
    runs = list(log.cleared.runs_of(wanted) or ()) if wanted else []
    if {run.producer_id for run in runs} < wanted:
        runs = []
    known = {run.producer_id for run in runs}
    for run in [*runs, *(each for each in log.cleared.open_runs() if each.producer_id not in known)]:
        found.setdefault(run.producer_id, []).append(Logged(run.first_offset, run.marker_offset))
    return found


def _folded(batches: Iterable[LoggedBatch]) -> Iterator[tuple[int, Logged]]:
    begun: dict[int, int] = {}
    for batch in batches:
        if batch.producer_id == NONE or not batch.is_transactional:
            continue
        if not batch.is_control:
            begun.setdefault(batch.producer_id, batch.base_offset)
        elif batch.marker is not None or batch.hides_marker:
            yield batch.producer_id, Logged(begun.pop(batch.producer_id, NONE), batch.base_offset)
    yield from ((producer_id, Logged(first, NONE)) for producer_id, first in begun.items())


# ---------------------------------------------------------------- what contradicts it


def _contradictions(log: PartitionLog, snapshot: ProducerSnapshot, begun: Transactions) -> Iterator[Contradiction]:
    name, last = plain_name(snapshot.file), snapshot.offset - 1
    listed = set()
    for entry in snapshot.entries:
        listed.add(entry.producer_id)
        mine = _open_at(begun, entry.producer_id, snapshot.offset)
        first = entry.current_txn_first_offset
        if first is None and mine is not None:
            says = f"{name} has no open transaction of producer {entry.producer_id}"
            yield Contradiction(mine, last, f"{says}, and the log has one open from offset {mine} up to there")
        elif first is not None and (has := _other_than(log, entry, first, snapshot.offset, begun)):
            says = f"{name} has a transaction of producer {entry.producer_id} open from offset {first}"
            yield Contradiction(first, last, f"{says}, and the log {has}")
    for producer_id in begun.keys() - listed:
        mine = _open_at(begun, producer_id, snapshot.offset)
        if mine is not None:
            has = f"the log has a transaction of it open from offset {mine} up to there"
            yield Contradiction(mine, last, f"{name} does not have producer {producer_id}, and {has}")


def _open_at(begun: Transactions, producer_id: int, offset: int) -> int | None:
    found = (each.first_offset for each in begun.get(producer_id, ()) if each.is_open_at(offset))
    return next(found, None)


def _other_than(
    log: PartitionLog, entry: ProducerSnapshotEntry, first: int, offset: int, begun: Transactions
) -> str | None:
    """What the log has instead of a transaction that is open from `first` up to `offset`; None: it has that."""
    if log.cleared is not None and entry.producer_id not in begun and log.start_offset <= first:
        # A screen may have kept nothing of this producer but that nothing is open at the end.
        return "has nothing open of it at its end" if offset == log.end_offset else None
    mine = _open_at(begun, entry.producer_id, offset)
    if mine == first or (mine is not None and first < log.start_offset):
        return None
    markers = _markers(begun, entry.producer_id, max(first, log.start_offset), offset)
    if markers:
        return f"has its marker at offset {markers[0]}"
    if first < log.start_offset:
        return None
    return "has no data of it there" if mine is None else f"has it open from offset {mine}"
