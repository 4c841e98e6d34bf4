"""What becomes of a partition's log in time: it is cleaned, a segment is closed, and old segments are dropped.

A pass of the cleaner goes from the start of the log to the end of some segment; segments may end anywhere. Between two
passes as much time goes by as markers are kept for. Records of data partitions have keys of their own, so that only
aborted ones go; all offsets of the group have one key. With each segment that is closed a snapshot of the producers is
kept, of which the newest counts. What is left of a log is told by `State.remains`; a leader that begins reads no more.
Each replica of Kafka's is cleaned by itself; here all are at once.
"""

from typing import NamedTuple

from zombieproof.checker.transactions import replicas
from zombieproof.checker.transactions.capacities import OFFSETS, PRODUCER_IDS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Partition, State
from zombieproof.model.vocabulary import NONE, LogEntry
from zombieproof.statemachines.partition_leader import cleaning, forgetting


def is_gone(state: State, p: int, offset: int) -> bool:
    """Whether nothing is left of a batch: the cleaner has removed it, or the log begins behind it."""
    if len(state.remains) == 0:
        return False
    left = state.remains[p]
    return bool(offset < left.start or (left.gone >> offset) & 1 == 1)


def is_empty(state: State, p: int, offset: int) -> bool:
    """Whether a batch has lost its records."""
    return len(state.remains) > 0 and (state.remains[p].empty >> offset) & 1 == 1


def unlisted(state: State, p: int) -> int:
    """A mask of the markers that the index of aborted transactions has no more."""
    return int(state.remains[p].unlisted) if len(state.remains) > 0 else 0


# ---------------------------------------------------------------- the cleaner


def clean(state: State, setup: Setup, p: int, end: int) -> bool:
    """A pass of the cleaner over everything below `end`; one that would change nothing is disabled."""
    partition = state.partitions[p]
    if not partition.leader or (p == OFFSETS and setup.bounds.grouped == 0):
        return False
    reach, stable = replicas.reach(state, p, setup.rules), replicas.stable(state, p, setup.rules)
    if end <= reach.log_start or end > cleaning.reach_of_pass(stable, reach, setup.rules):
        return False
    before = state.remains[p]
    left = _Left(int(before.gone), int(before.empty), int(before.under_horizon), int(before.unlisted), 0)
    newest = _newest_position(state, p, end)
    for offset in range(reach.log_start, end):
        if (left.gone >> offset) & 1 == 0:
            left = _pass_over(state, setup, p, offset, end, newest, left)
    if _is_same(state, p, left):
        return False
    before.gone, before.empty = left.gone, left.empty
    before.under_horizon, before.unlisted = left.under_horizon, left.unlisted
    state.budget.compactions -= 1
    return True


class _Left(NamedTuple):
    """What a pass leaves, as masks; `with_data`: producers of whom a batch was met since their last marker."""

    gone: int
    empty: int
    under_horizon: int
    unlisted: int
    with_data: int


def _is_same(state: State, p: int, left: _Left) -> bool:
    before = state.remains[p]
    same = before.gone == left.gone and before.empty == left.empty
    return bool(same and before.under_horizon == left.under_horizon and before.unlisted == left.unlisted)


def _pass_over(state: State, setup: Setup, p: int, offset: int, end: int, newest: int, left: _Left) -> _Left:
    record = state.partitions[p].log[offset]
    if record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
        return _pass_over_marker(state, setup, p, offset, end, left)
    with_data = left.with_data
    if record.kind in (LogEntry.DATA, LogEntry.OFFSET):
        with_data |= 1 << record.producer_id
    of_group = record.kind in (LogEntry.OFFSET, LogEntry.PLAIN_OFFSET)
    goes = cleaning.loses_record(_is_listed_as_aborted(state, p, offset), of_group and offset < newest)
    left = _Left(left.gone, left.empty, left.under_horizon, left.unlisted, with_data)
    if goes or (left.empty >> offset) & 1 == 1:
        return _without_records(state, setup, p, offset, end, left)
    return left


def _pass_over_marker(state: State, setup: Setup, p: int, offset: int, end: int, left: _Left) -> _Left:
    record, bit = state.partitions[p].log[offset], 1 << offset
    has_data = (left.with_data >> record.producer_id) & 1 == 1
    is_empty_now, has_horizon = (left.empty >> offset) & 1 == 1, (left.under_horizon >> offset) & 1 == 1
    met = cleaning.MarkerMet(record.kind == LogEntry.COMMIT, has_data, is_empty_now, has_horizon, True)
    marker = cleaning.left_of_marker(met, setup.rules)
    missing = left.unlisted if marker.is_listed or record.kind == LogEntry.COMMIT else left.unlisted | bit
    horizon = left.under_horizon | bit if marker.gets_horizon else left.under_horizon
    with_data = left.with_data & ~(1 << record.producer_id)
    left = _Left(left.gone, left.empty, horizon, missing, with_data)
    return left if marker.stays else _without_records(state, setup, p, offset, end, left)


def _without_records(state: State, setup: Setup, p: int, offset: int, end: int, left: _Left) -> _Left:
    """A batch has lost its records: it stays empty, or goes; of what is gone nothing else is remembered."""
    bit = 1 << offset
    if _is_kept(state, setup, p, offset, end):
        return _Left(left.gone, left.empty | bit, left.under_horizon, left.unlisted, left.with_data)
    return _Left(left.gone | bit, left.empty & ~bit, left.under_horizon & ~bit, left.unlisted, left.with_data)


def _is_kept(state: State, setup: Setup, p: int, offset: int, end: int) -> bool:
    record = state.partitions[p].log[offset]
    control = record.kind in (LogEntry.COMMIT, LogEntry.ABORT)
    batch = cleaning.LastOfBatch(offset, int(record.producer_epoch), control)
    if record.producer_id == NONE:
        return cleaning.is_kept_empty(False, NONE, NONE, batch, end, setup.rules)
    entry = state.partitions[p].entries[record.producer_id]
    last = cleaning.last_data_offset(entry)
    return cleaning.is_kept_empty(bool(entry.known), last, int(entry.producer_epoch), batch, end, setup.rules)


def _is_listed_as_aborted(state: State, p: int, offset: int) -> bool:
    """Whether the index of aborted transactions has the one that a batch belongs to."""
    partition, record = state.partitions[p], state.partitions[p].log[offset]
    if record.kind not in (LogEntry.DATA, LogEntry.OFFSET):
        return False
    marker = _marker_behind(partition, int(record.producer_id), offset)
    is_aborted = marker != NONE and partition.log[marker].kind == LogEntry.ABORT
    return bool(is_aborted and (unlisted(state, p) >> marker) & 1 == 0)


def _marker_behind(partition: Partition, pid: int, offset: int) -> int:
    for i in range(offset + 1, partition.end):
        record = partition.log[i]
        if record.producer_id == pid and record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
            return i
    return NONE


def _newest_position(state: State, p: int, end: int) -> int:
    """Where the newest position of the group is in a pass, among those that are not aborted; NONE: nowhere."""
    newest = NONE
    for offset in range(end):
        if is_gone(state, p, offset) or is_empty(state, p, offset):
            continue
        of_group = state.partitions[p].log[offset].kind in (LogEntry.OFFSET, LogEntry.PLAIN_OFFSET)
        if of_group and not _is_listed_as_aborted(state, p, offset):
            newest = offset
    return newest


# ---------------------------------------------------------------- segments, snapshots, retention


def close_segment(state: State, setup: Setup, p: int) -> bool:
    """A segment is closed: what the leader knows of its producers is kept beside the log."""
    partition, kept = state.partitions[p], state.snapshots[p]
    if not partition.leader or partition.end <= max(kept.offset, replicas.start_of(state, p)):
        return False
    kept.offset = partition.end
    for pid in range(PRODUCER_IDS):
        cleaning.keep(partition.entries[pid], kept.entries[pid], setup.rules)
    state.budget.snapshots -= 1
    return True


def drop_segments(state: State, setup: Setup, p: int) -> bool:
    """Retention: the segments below the newest snapshot are dropped. No offset of a group is ever too old here."""
    partition = state.partitions[p]
    if not partition.leader or p == OFFSETS:
        return False
    reach = replicas.reach(state, p, setup.rules)
    start = cleaning.start_of_retained(int(state.snapshots[p].offset), reach)
    if start == reach.log_start:
        return False
    state.remains[p].start = start
    for pid in range(PRODUCER_IDS):
        if not cleaning.stays_known(partition.entries[pid], start, setup.rules):
            forgetting.lose_memory(partition.entries[pid])
    state.budget.retentions -= 1
    return True


def recall(state: State, setup: Setup, p: int) -> int:
    """A leader that begins knows what the newest snapshot says; returned is from where on it reads the log."""
    kept, start = state.snapshots[p], replicas.start_of(state, p)
    if kept.offset == NONE:
        return start
    for pid in range(PRODUCER_IDS):
        if cleaning.stays_known(kept.entries[pid], start, setup.rules):
            cleaning.recall(kept.entries[pid], state.partitions[p].entries[pid])
    return int(kept.offset)
