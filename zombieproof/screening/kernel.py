"""The screen itself: compiled, over columns of one segment, from nothing known of what stands before it.

It stops at the first batch that it cannot clear. What depends on the segments before is not judged here but kept with
each producer (`Producer`), for `summaries.merge`: the epoch of its first batch, the sequence and epoch of its first
data, the coordinator epoch of its first marker, and that the first marker may end what was open before.
Stands for: `traces.judging.histories.partition_fold` by the newest rules, without a coordinator's log.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zombieproof.formats.record_batch import CONTROL_BIT, DELETE_HORIZON_BIT, TRANSACTIONAL_BIT
from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX
from zombieproof.screening.columns import NO_MARKER, Columns, Data, Ending, Noted
from zombieproof.screening.compiling import compiled
from zombieproof.screening.rules import Unclear
from zombieproof.traces.readers.segment_content import OFFSETS_OF_A_SEGMENT

UNSEEN = -(1 << 62)
"""Below every epoch, offset and sequence."""

MOST_OFFSETS = 1 << 24
"""Of one batch: five of them, which a leader remembers, are far from going round the sequences."""


class Producer(NamedTuple):
    """What a stretch of a log tells of one producer id. What it does not tell is `UNSEEN`.

    Attributes:
        first_epoch: of its first batch or marker.
        first_coordinator: coordinator epoch of its first marker.
        before_epoch: of its last marker before its first data.
        data_epoch, data_sequence, data_transactional: of its first data.
        data_gap_at: the offset behind the last gap of the stretch before its first data (-1: none).
        epoch, coordinator: the newest.
        newest_sequence: of its last data; -1 where a marker raised the epoch since.
        seen_at: the last offset of its last data; -1: none.
        run_epoch, run_first, run_last, run_records, run_first_ms: the transaction that is open at the end.
        run_joins: 1 where that may go on with one that was open before.
        has_marker: 1 where a marker ended what was open before.
    """

    first_epoch: int = UNSEEN
    first_coordinator: int = UNSEEN
    before_epoch: int = UNSEEN
    data_epoch: int = UNSEEN
    data_sequence: int = UNSEEN
    data_transactional: int = 0
    data_gap_at: int = NONE
    epoch: int = UNSEEN
    coordinator: int = UNSEEN
    newest_sequence: int = NONE
    seen_at: int = NONE
    run_epoch: int = UNSEEN
    run_first: int = UNSEEN
    run_last: int = UNSEEN
    run_records: int = 0
    run_first_ms: int = UNSEEN
    run_joins: int = 0
    has_marker: int = 0


FIELDS = len(Producer._fields)
(
    FIRST_EPOCH,
    FIRST_COORDINATOR,
    BEFORE_EPOCH,
    DATA_EPOCH,
    DATA_SEQUENCE,
    DATA_TRANSACTIONAL,
    DATA_GAP_AT,
    EPOCH,
    COORDINATOR,
    NEWEST_SEQUENCE,
    SEEN_AT,
    RUN_EPOCH,
    RUN_FIRST,
    RUN_LAST,
    RUN_RECORDS,
    RUN_FIRST_MS,
    RUN_JOINS,
    HAS_MARKER,
) = range(FIELDS)


class End(NamedTuple):
    """A marker and what it ended: nothing where `first_offset` is `UNSEEN`. `joins`: perhaps what was open before."""

    producer_id: int
    epoch: int
    first_offset: int
    last_offset: int
    records: int
    first_ms: int
    marker_epoch: int
    marker_offset: int
    marker_ms: int
    commits: int
    joins: int


END_FIELDS = len(End._fields)
(
    END_PRODUCER_ID,
    END_EPOCH,
    END_FIRST,
    END_LAST,
    END_RECORDS,
    END_FIRST_MS,
    END_MARKER_EPOCH,
    END_MARKER_OFFSET,
    END_MARKER_MS,
    END_COMMITS,
    END_JOINS,
) = range(END_FIELDS)

LOG_FIELDS = 9
EXPECTED, GAP_AT, LEADER_EPOCH, START, EARLIEST_MS, LATEST_MS, RECORDS, IS_THINNED, HAS_GAPS = range(LOG_FIELDS)
"""What is known of a segment: `RECORDS` of data, and whether it shows that the cleaner was there."""

CLEAR, NOT_BELIEVED, OUT_OF_ORDER, TOO_FAR, LEADER_EPOCH_FALLS, NO_EPOCH, EPOCH_FALLS, NEW_EPOCH_INSIDE = map(
    int, list(Unclear)[:8]
)
PLAIN_INSIDE, NO_SEQUENCE, SEQUENCE, BEHIND_A_GAP, COORDINATOR_EPOCH_FALLS = map(int, list(Unclear)[8:13])
NOT_TRANSACTIONAL = int(Unclear.NOT_TRANSACTIONAL)


@compiled
def follows_on(first: int, newest: int) -> bool:
    """Whether a sequence is the next behind the newest (-1: none is known)."""
    return first == newest + 1 or (first == 0 and newest == SEQUENCE_MAX)


@compiled
def data_rule(
    known: NDArray[np.int64], epoch: int, sequence: int, gap_at: int, is_transactional: bool, judges_sequences: bool
) -> int:
    """Why data behind other data of its producer is not cleared."""
    if epoch < known[EPOCH]:
        return EPOCH_FALLS
    if known[RUN_EPOCH] != UNSEEN and not is_transactional:
        return PLAIN_INSIDE
    if known[RUN_EPOCH] != UNSEEN and epoch != known[RUN_EPOCH]:
        return NEW_EPOCH_INSIDE
    if not judges_sequences:
        return CLEAR
    newest = int(known[NEWEST_SEQUENCE]) if epoch == known[EPOCH] else NONE
    if gap_at <= known[SEEN_AT]:
        if not follows_on(sequence, newest):
            return SEQUENCE
    elif newest != NONE:
        return BEHIND_A_GAP
    return CLEAR


@compiled
def marker_rule(known: NDArray[np.int64], epoch: int, coordinator: int) -> int:
    """Why a marker is not cleared."""
    if epoch < known[EPOCH]:
        return EPOCH_FALLS
    if coordinator < known[COORDINATOR]:
        return COORDINATOR_EPOCH_FALLS
    return CLEAR


@compiled
def batch_rule(base: int, delta: int, leader_epoch: int, sound: int, log: NDArray[np.int64]) -> int:
    """Why a batch is not cleared, whoever wrote it."""
    if sound == 0:
        return NOT_BELIEVED
    if base < log[EXPECTED]:
        return OUT_OF_ORDER
    if delta > MOST_OFFSETS or base + delta - log[START] > OFFSETS_OF_A_SEGMENT:
        return TOO_FAR
    if leader_epoch < log[LEADER_EPOCH]:
        return LEADER_EPOCH_FALLS
    return CLEAR


@compiled
def note(batch: Noted, log: NDArray[np.int64]) -> None:
    """Take a batch into what is known of the log, whoever wrote it."""
    if batch.base > log[EXPECTED]:
        log[GAP_AT], log[HAS_GAPS] = batch.base, 1
    log[EXPECTED] = batch.last + 1
    log[LEADER_EPOCH] = batch.leader_epoch
    if batch.records != batch.last - batch.base + 1 or batch.attributes & DELETE_HORIZON_BIT:
        log[IS_THINNED] = 1
    if not batch.attributes & CONTROL_BIT:
        log[RECORDS] += batch.records
    if batch.time_ms >= 0:
        log[EARLIEST_MS] = batch.time_ms if log[EARLIEST_MS] == UNSEEN else min(log[EARLIEST_MS], batch.time_ms)
        log[LATEST_MS] = max(log[LATEST_MS], batch.time_ms)


@compiled
def take_data(known: NDArray[np.int64], batch: Data, gap_at: int, judges_sequences: bool) -> int:
    """Take data into what is known of its producer, if it is cleared."""
    if judges_sequences and batch.sequence < 0:
        return NO_SEQUENCE
    if known[DATA_EPOCH] == UNSEEN:
        if batch.epoch < known[EPOCH]:
            return EPOCH_FALLS
        known[DATA_EPOCH], known[DATA_SEQUENCE] = batch.epoch, batch.sequence
        known[DATA_TRANSACTIONAL], known[DATA_GAP_AT] = 1 if batch.is_transactional else 0, gap_at
        if known[FIRST_EPOCH] == UNSEEN:
            known[FIRST_EPOCH] = batch.epoch
    else:
        rule = data_rule(known, batch.epoch, batch.sequence, gap_at, batch.is_transactional, judges_sequences)
        if rule != CLEAR:
            return rule
    delta = batch.last - batch.base
    known[EPOCH], known[SEEN_AT] = batch.epoch, batch.last
    known[NEWEST_SEQUENCE] = (batch.sequence + delta) & SEQUENCE_MAX if batch.sequence >= 0 else NONE
    if batch.is_transactional:
        if known[RUN_EPOCH] == UNSEEN:
            known[RUN_EPOCH], known[RUN_FIRST], known[RUN_RECORDS] = batch.epoch, batch.base, 0
            known[RUN_FIRST_MS], known[RUN_JOINS] = batch.time_ms, 1 - known[HAS_MARKER]
        known[RUN_LAST] = batch.last
        known[RUN_RECORDS] += batch.records
    return CLEAR


@compiled
def take_marker(known: NDArray[np.int64], marker: Ending, end: NDArray[np.int64]) -> int:
    """Take a marker into what is known of its producer, if it is cleared, and what it ended into `end`."""
    rule = marker_rule(known, marker.epoch, marker.coordinator)
    if rule != CLEAR:
        return rule
    is_open = known[RUN_EPOCH] != UNSEEN
    end[END_PRODUCER_ID] = marker.producer_id
    end[END_EPOCH] = known[RUN_EPOCH]
    end[END_FIRST] = known[RUN_FIRST]
    end[END_LAST] = known[RUN_LAST]
    end[END_RECORDS] = known[RUN_RECORDS]
    end[END_FIRST_MS] = known[RUN_FIRST_MS]
    end[END_MARKER_EPOCH] = marker.epoch
    end[END_MARKER_OFFSET] = marker.offset
    end[END_MARKER_MS] = marker.time_ms
    end[END_COMMITS] = marker.commits
    end[END_JOINS] = known[RUN_JOINS] if is_open else 1 - known[HAS_MARKER]
    if known[FIRST_EPOCH] == UNSEEN:
        known[FIRST_EPOCH] = marker.epoch
    if known[FIRST_COORDINATOR] == UNSEEN:
        known[FIRST_COORDINATOR] = marker.coordinator
    if known[DATA_EPOCH] == UNSEEN:
        known[BEFORE_EPOCH] = marker.epoch
    if marker.epoch != known[EPOCH]:
        known[NEWEST_SEQUENCE] = NONE
    known[EPOCH], known[COORDINATOR], known[HAS_MARKER] = marker.epoch, marker.coordinator, 1
    known[RUN_EPOCH] = known[RUN_FIRST] = known[RUN_LAST] = known[RUN_FIRST_MS] = UNSEEN
    known[RUN_RECORDS] = known[RUN_JOINS] = 0
    return CLEAR


@compiled
def screen_rows(  # arrays, each of its own kind
    columns: Columns,
    slots: NDArray[np.int64],
    producers: NDArray[np.int64],
    ends: NDArray[np.int64],
    log: NDArray[np.int64],
    judges_sequences: bool,
) -> tuple[int, int, int]:
    """Screen the rows of a chunk: how many rows of `ends` were filled, where it stopped, and why (CLEAR: at the end).

    `slots` says in which row of `producers` the producer id of each batch is; `log` is what is known of the segment.
    """
    ended = 0
    for row in range(len(columns.base_offset)):
        base, delta = int(columns.base_offset[row]), int(columns.last_offset_delta[row])
        rule = batch_rule(base, delta, int(columns.leader_epoch[row]), int(columns.sound[row]), log)
        if rule != CLEAR:
            return ended, row, rule
        time, attributes = int(columns.max_timestamp_ms[row]), int(columns.attributes[row])
        records = int(columns.record_count[row])
        note(Noted(base, base + delta, records, attributes, int(columns.leader_epoch[row]), time), log)
        is_control = attributes & CONTROL_BIT != 0
        if columns.producer_id[row] < 0 or (is_control and columns.marker[row] == NO_MARKER):
            continue
        epoch = int(columns.producer_epoch[row])
        if epoch < 0:
            return ended, row, NO_EPOCH
        is_transactional = attributes & TRANSACTIONAL_BIT != 0
        if is_control and not is_transactional:
            return ended, row, NOT_TRANSACTIONAL
        known = producers[slots[row]]
        if is_control:
            coordinator, commits = int(columns.coordinator_epoch[row]), int(columns.marker[row])
            marker = Ending(int(columns.producer_id[row]), epoch, coordinator, base, time, commits)
            rule = take_marker(known, marker, ends[ended])
            ended += 1 if rule == CLEAR else 0
        else:
            data = Data(epoch, int(columns.base_sequence[row]), base, base + delta, records, time, is_transactional)
            rule = take_data(known, data, log[GAP_AT], judges_sequences)
        if rule != CLEAR:
            return ended, row, rule
    return ended, len(columns.base_offset), CLEAR
