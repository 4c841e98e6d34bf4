"""What the screen leaves of a stretch of a log, and how two that follow each other become one.

A summary is made of one segment without knowing what stands before it (`SegmentScreen`), so segments of one partition
can be screened at the same time. `merge` puts them together in their order, and judges then what each of them left
open; it is associative. Before the first stands what a log begins with: nothing (`beginning`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zombieproof.model.vocabulary import NONE
from zombieproof.screening.columns import Columns
from zombieproof.screening.compiling import interpreted
from zombieproof.screening.kernel import (
    EARLIEST_MS,
    END_EPOCH,
    END_FIELDS,
    END_FIRST,
    END_FIRST_MS,
    END_JOINS,
    END_LAST,
    END_PRODUCER_ID,
    END_RECORDS,
    EXPECTED,
    GAP_AT,
    HAS_GAPS,
    IS_THINNED,
    LATEST_MS,
    LOG_FIELDS,
    RECORDS,
    START,
    UNSEEN,
    End,
    Producer,
    data_rule,
    screen_rows,
)
from zombieproof.screening.rules import Unclear

DENSE = 4
"""Ids that lie within so many times their count are found by their place instead of by sorting."""
UNKNOWN_PRODUCER = np.array(Producer(), dtype=np.int64)


@dataclass(slots=True)
class Summary:
    """A stretch of a log, from offset `begin` up to, not including, `end`.

    Attributes:
        gap_at: the offset behind the last missing one (-1: none).
        earliest_ms, latest_ms: the smallest and the largest timestamp (None: there is none).
        records: how many are left, markers not among them.
        is_thinned, has_gaps: fewer records than offsets in a batch, or a delete horizon; missing offsets.
        producers: what is known of each producer id.
        parts: each marker and what it ended, in rows as `kernel.End` says, in the order of the log, in some arrays.
        unclear, unclear_at: why it is not cleared, and the offset; nothing else is meant then.
        is_first: nothing stands before it.
    """

    begin: int
    end: int
    judges_sequences: bool
    gap_at: int = NONE
    earliest_ms: int | None = None
    latest_ms: int | None = None
    batches: int = 0
    records: int = 0
    is_thinned: bool = False
    has_gaps: bool = False
    producers: dict[int, Producer] = field(default_factory=dict)
    parts: tuple[NDArray[np.int64], ...] = ()
    unclear: Unclear = Unclear.CLEAR
    unclear_at: int = NONE
    is_first: bool = False

    @property
    def is_clear(self) -> bool:
        """Whether everything in it was cleared."""
        return self.unclear is Unclear.CLEAR

    def open_runs(self) -> dict[int, Producer]:
        """The producers that have a transaction open at the end."""
        return {pid: each for pid, each in self.producers.items() if each.run_epoch != UNSEEN}

    def ends(self) -> NDArray[np.int64]:
        """The rows of all parts."""
        return np.concatenate(self.parts) if self.parts else np.empty((0, END_FIELDS), dtype=np.int64)

    def endings(self) -> Iterator[End]:
        """Each marker, and what it ended."""
        for part in self.parts:
            yield from (End(*row) for row in part.tolist())


class SegmentScreen:
    """Screens one segment, chunk after chunk. `start_offset` is that of its name; None: its first batch tells."""

    def __init__(self, start_offset: int | None, *, judges_sequences: bool) -> None:
        self._judges_sequences = judges_sequences
        self._start = start_offset
        self._slots: dict[int, int] = {}
        self._producers = np.tile(UNKNOWN_PRODUCER, (64, 1))
        self._ends: list[NDArray[np.int64]] = []
        self._log = np.full(LOG_FIELDS, UNSEEN, dtype=np.int64)
        self._log[GAP_AT] = NONE
        self._log[[RECORDS, IS_THINNED, HAS_GAPS]] = 0
        self._batches = 0
        self._unclear, self._unclear_at = Unclear.CLEAR, NONE
        if start_offset is not None:
            self._log[START] = self._log[EXPECTED] = start_offset

    @property
    def is_clear(self) -> bool:
        """Whether everything was cleared so far."""
        return self._unclear is Unclear.CLEAR

    def refuse(self, rule: Unclear, offset: int = NONE) -> None:
        """The segment cannot be cleared for something that is in no column."""
        if self._unclear is Unclear.CLEAR:
            self._unclear, self._unclear_at = rule, offset

    def take(self, columns: Columns) -> None:
        """Screen the next rows."""
        self._batches += columns.rows
        if self._unclear is not Unclear.CLEAR or not columns.rows:
            return
        if self._log[START] == UNSEEN:
            self._log[START] = self._log[EXPECTED] = columns.base_offset[0]
        slots = self._slots_of(columns.producer_id)
        ends = np.empty((columns.rows, END_FIELDS), dtype=np.int64)
        ended, row, rule = screen_rows(columns, slots, self._producers, ends, self._log, self._judges_sequences)
        self._ends.append(ends[:ended].copy())
        if rule != Unclear.CLEAR:
            self.refuse(Unclear(rule), int(columns.base_offset[row]))

    def _slots_of(self, producer_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        distinct, inverse = grouped(producer_ids)
        known = self._slots
        slots = np.array([known.setdefault(each, len(known)) for each in distinct.tolist()], dtype=np.int64)
        missing = len(known) - len(self._producers)
        if missing > 0:
            more = np.tile(UNKNOWN_PRODUCER, (max(missing, len(self._producers)), 1))
            self._producers = np.concatenate((self._producers, more))
        return slots[inverse]

    def summary(self) -> Summary:
        """What is left of the segment."""
        begin, end = int(self._log[START]), int(self._log[EXPECTED])
        earliest, latest = int(self._log[EARLIEST_MS]), int(self._log[LATEST_MS])
        rows = self._producers.tolist()
        producers = {pid: Producer(*rows[slot]) for pid, slot in self._slots.items()}
        return Summary(
            begin=0 if begin == UNSEEN else begin,
            end=0 if end == UNSEEN else end,
            judges_sequences=self._judges_sequences,
            gap_at=int(self._log[GAP_AT]),
            earliest_ms=None if earliest == UNSEEN else earliest,
            latest_ms=None if latest == UNSEEN else latest,
            batches=self._batches,
            records=int(self._log[RECORDS]),
            is_thinned=bool(self._log[IS_THINNED]),
            has_gaps=bool(self._log[HAS_GAPS]),
            producers={pid: each for pid, each in producers.items() if each.first_epoch != UNSEEN},
            parts=tuple(self._ends),
            unclear=self._unclear,
            unclear_at=self._unclear_at,
        )


def grouped(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct ids in order, and which of them each is; brokers give ids in blocks, so they mostly lie close."""
    first = int(ids.min())
    span = int(ids.max()) - first + 1
    if span > DENSE * len(ids):
        return np.unique(ids, return_inverse=True)
    near = ids - first
    is_there = np.zeros(span, dtype=np.bool_)
    is_there[near] = True
    return np.flatnonzero(is_there) + first, (np.cumsum(is_there) - 1)[near]


def beginning(begin: int, *, start_offset: int, is_cleaned: bool, judges_sequences: bool) -> Summary:
    """What stands before the first segment, which begins at `begin`; the log itself starts at `start_offset`."""
    gap_at = start_offset if start_offset > 0 or is_cleaned else NONE
    return Summary(begin, begin, judges_sequences, gap_at, is_first=True)


def merge(before: Summary, after: Summary) -> Summary:
    """Two stretches of one log, of which one follows the other, as one."""
    merged = Summary(
        before.begin,
        after.end,
        before.judges_sequences,
        max(before.gap_at, after.gap_at),
        min((ms for ms in (before.earliest_ms, after.earliest_ms) if ms is not None), default=None),
        max((ms for ms in (before.latest_ms, after.latest_ms) if ms is not None), default=None),
        before.batches + after.batches,
        before.records + after.records,
        before.is_thinned or after.is_thinned,
        before.has_gaps or after.has_gaps,
        dict(before.producers),
        is_first=before.is_first,
    )
    parts = [part.copy() if part[:, END_JOINS].any() else part for part in after.parts]
    joining = {
        int(part[row, END_PRODUCER_ID]): part[row] for part in parts for row in np.flatnonzero(part[:, END_JOINS])
    }
    for each in (before, after):
        if merged.is_clear and not each.is_clear:
            merged.unclear, merged.unclear_at = each.unclear, each.unclear_at
    if merged.is_clear and after.begin != before.end:
        merged.unclear, merged.unclear_at = Unclear.SEGMENT_MISSING, after.begin
    if not merged.is_clear:
        return merged
    for producer_id, later in after.producers.items():
        known = before.producers.get(producer_id)
        if known is None and not before.is_first:
            merged.producers[producer_id] = later._replace(data_gap_at=max(before.gap_at, later.data_gap_at))
            continue
        earlier = known or Producer(epoch=NONE, coordinator=NONE, data_epoch=NONE, has_marker=1)
        rule = _link(earlier, later, before.gap_at, judges_sequences=before.judges_sequences)
        if rule is not Unclear.CLEAR:
            merged.unclear, merged.unclear_at = rule, after.begin
            return merged
        if producer_id in joining:
            _end_run(joining[producer_id], earlier)
        merged.producers[producer_id] = _joined(earlier, later, before.gap_at)
    merged.parts = (*before.parts, *parts)
    return merged


def _at_first_data(earlier: Producer, later: Producer) -> Producer:
    """What is known of a producer before its first data of the later stretch: its markers before that are taken in."""
    if later.before_epoch == UNSEEN:
        return earlier
    newest = earlier.newest_sequence if later.before_epoch == earlier.epoch else NONE
    return earlier._replace(epoch=later.before_epoch, newest_sequence=newest, run_epoch=UNSEEN)


def _link(earlier: Producer, later: Producer, gap_at: int, *, judges_sequences: bool) -> Unclear:
    """Why the later stretch cannot follow the earlier one, as to one producer."""
    if UNSEEN < later.first_coordinator < earlier.coordinator:
        return Unclear.COORDINATOR_EPOCH_FALLS
    if later.first_epoch < earlier.epoch:
        return Unclear.EPOCH_FALLS
    if UNSEEN in (later.data_epoch, earlier.data_epoch):
        # Which data comes next, or was the last, another stretch tells: `_joined` keeps what has to be asked then.
        return Unclear.CLEAR
    known = np.array(_at_first_data(earlier, later), dtype=np.int64)
    gap_at = max(gap_at, later.data_gap_at)
    is_transactional = bool(later.data_transactional)
    judge = interpreted(data_rule)
    return Unclear(judge(known, later.data_epoch, later.data_sequence, gap_at, is_transactional, judges_sequences))


def _end_run(end: NDArray[np.int64], earlier: Producer) -> None:
    """The first marker of the later stretch ends what the earlier one left open."""
    end[END_JOINS] = 1 - earlier.has_marker if earlier.run_epoch == UNSEEN else earlier.run_joins
    if earlier.run_epoch == UNSEEN:
        return
    if end[END_FIRST] == UNSEEN:
        end[END_LAST] = earlier.run_last
    end[END_EPOCH], end[END_FIRST], end[END_FIRST_MS] = earlier.run_epoch, earlier.run_first, earlier.run_first_ms
    end[END_RECORDS] += earlier.run_records


def _joined(earlier: Producer, later: Producer, gap_at: int) -> Producer:
    """One producer in both stretches."""
    has_data, had_data = later.data_epoch != UNSEEN, earlier.data_epoch != UNSEEN
    joined = earlier._replace(
        epoch=later.epoch,
        has_marker=max(earlier.has_marker, later.has_marker),
        newest_sequence=earlier.newest_sequence if later.epoch == earlier.epoch else NONE,
    )
    if earlier.first_epoch == UNSEEN:
        joined = joined._replace(first_epoch=later.first_epoch)
    if later.coordinator != UNSEEN:
        first = later.first_coordinator if earlier.first_coordinator == UNSEEN else earlier.first_coordinator
        joined = joined._replace(coordinator=later.coordinator, first_coordinator=first)
    if not had_data:
        joined = joined._replace(
            before_epoch=earlier.epoch if later.before_epoch == UNSEEN else later.before_epoch,
            data_epoch=later.data_epoch,
            data_sequence=later.data_sequence,
            data_transactional=later.data_transactional,
            data_gap_at=max(gap_at, later.data_gap_at),
        )
    if has_data:
        joined = joined._replace(newest_sequence=later.newest_sequence, seen_at=later.seen_at)
    return _with_run(joined, earlier, later)


def _with_run(joined: Producer, earlier: Producer, later: Producer) -> Producer:
    """What is open behind both: of the later one, or of both where no marker stands between them."""
    goes_on = not later.has_marker and earlier.run_epoch != UNSEEN
    if later.run_epoch == UNSEEN:
        return joined if goes_on else joined._replace(**NOTHING_OPEN)
    run = {name: getattr(later, name) for name in NOTHING_OPEN}
    if later.run_joins:
        run["run_joins"] = 1 - earlier.has_marker
    if goes_on:
        run["run_first"], run["run_first_ms"] = earlier.run_first, earlier.run_first_ms
        run["run_records"] += earlier.run_records
        run["run_joins"] = earlier.run_joins
    return joined._replace(**run)


NOTHING_OPEN = {
    "run_epoch": UNSEEN,
    "run_first": UNSEEN,
    "run_last": UNSEEN,
    "run_records": 0,
    "run_first_ms": UNSEEN,
    "run_joins": 0,
}
