"""The history of each transactional id: its records in ``__transaction_state``, folded through table and decisions.

Identical records may repeat (an append of unknown outcome that was tried again, reference §9.4). Where records are
missing (the log is compacted, or damaged, or shown by a console that prints no offsets) the fold begins anew behind the
gap, and what may have happened in between is a `Doubt`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import itemgetter

from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Evidence, PartitionLog, TransactionLogValue, TransactionStateRecord
from zombieproof.traces.judging.histories.coordinator_step import Broken, Coordinator
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction, Transactions
from zombieproof.traces.readers.files import UNKNOWN_PARTITION
from zombieproof.traces.verdict.circumstances import Circumstances, Shape
from zombieproof.traces.verdict.faults import Fault, OpenEnd
from zombieproof.traces.verdict.report import named
from zombieproof.traces.watching import Watch

NO_BOUND = 2**31
"""Beyond all epochs."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Between two epochs of a producer id, both included, transactions may be missing. None: no bound on that side."""

    producer_id: int
    first_epoch: int | None
    last_epoch: int | None

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last epoch at which something may be missing."""
        first = -NO_BOUND if self.first_epoch is None else self.first_epoch
        return first, NO_BOUND if self.last_epoch is None else self.last_epoch


def _merged(doubts: Iterable[Doubt]) -> dict[int, list[tuple[int, int]]]:
    """The epochs of doubts by producer id: spans in order that do not overlap."""
    found: dict[int, list[tuple[int, int]]] = {}
    for doubt in sorted(doubts, key=lambda doubt: doubt.span):
        spans, (first, last) = found.setdefault(doubt.producer_id, []), doubt.span
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], last))
        else:
            spans.append((first, last))
    return found


@dataclass(slots=True)
class IdHistory:
    """What the coordinator's log tells of one transactional id.

    `repeats` are offsets of records that are the same as an earlier one, time included, with others between, and the
    offset of that: a coordinator writes none like it. `is_cut`: the end of the log is missing, so that what came last
    of the id is not known. `is_end_shown`: something shows that the log was given up to its end.
    """

    transactional_id: str
    log_partition: int
    transactions: list[RecordedTransaction] = field(default_factory=list)
    producer_ids: set[int] = field(default_factory=set)
    doubts: list[Doubt] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    repeats: list[tuple[int, int]] = field(default_factory=list)
    is_cut: bool = False
    is_end_shown: bool = False
    _known_doubts: int = 0
    _doubtful: dict[int, list[tuple[int, int]]] = field(default_factory=dict, repr=False)

    def is_whole(self, producer_id: int, epoch: int) -> bool:
        """Whether every transaction of this producer id at `epoch` is in `transactions`."""
        if not self.doubts:
            return True
        if self._known_doubts != len(self.doubts):
            self._known_doubts, self._doubtful = len(self.doubts), _merged(self.doubts)
        spans = self._doubtful.get(producer_id, [])
        before = bisect_right(spans, epoch, key=itemgetter(0)) - 1
        return before < 0 or epoch > spans[before][1]

    def open_end(self, until_ms: int) -> OpenEnd | None:
        """The coordinator's log, for a fault that rests on where it ends; None when that is shown."""
        if self.is_end_shown or self.log_partition < 0:
            return None
        return OpenEnd((TRANSACTION_STATE, self.log_partition), until_ms)


def read_histories(evidence: Evidence, rules: Rules, watch: Watch | None = None) -> list[IdHistory]:
    """Fold every transactional id of every partition of ``__transaction_state``, in the order of first appearance."""
    by_id: dict[tuple[int, str], list[TransactionStateRecord]] = {}
    read: dict[int, set[int]] = {}
    for record in evidence.transaction_states:
        by_id.setdefault((record.partition, record.transactional_id), []).append(record)
        read.setdefault(record.partition, set()).add(record.offset)
    missing = {p: _Missing(evidence.log(TRANSACTION_STATE, p), offsets) for p, offsets in read.items()}
    watch = watch or Watch()
    histories = []
    for (partition, transactional_id), records in by_id.items():
        watch.works_on(f"id {transactional_id}")
        may_miss = missing[partition]
        if partition == UNKNOWN_PARTITION:
            may_miss, records = _of_nameless(evidence, records)
        histories.append(_Fold(transactional_id, partition, rules, may_miss).run(records))
        watch.advances(len(records))
        watch.has_judged(f"id {transactional_id}", histories[-1].faults)
    return histories


def _of_nameless(
    evidence: Evidence, records: list[TransactionStateRecord]
) -> tuple["_Missing", list[TransactionStateRecord]]:
    """The records of an id that were read where no partition is named, in order, and what may be missing between them.

    Several such logs may be parts of one partition, or different partitions. Records of an id that are in more than
    one are parts, and between parts anything may be missing. A console consumer prints no offsets: its order stays.
    """
    if any(record.offset == NONE for record in records):
        return _Missing(None, set()), records
    files = {record.file for record in records}
    logs = [log for log in evidence.replicas(TRANSACTION_STATE, UNKNOWN_PARTITION) if files & set(log.files)]
    log = logs[0] if len(logs) == 1 else None
    read = {record.offset for record in evidence.transaction_states if record.file in files}
    once = {record.offset: record for record in records}
    return _Missing(log, read), [once[offset] for offset in sorted(once)]


class _Missing:
    """Where a partition of ``__transaction_state`` may lack records: gaps, damage, records that could not be read."""

    def __init__(self, log: PartitionLog | None, read: set[int]) -> None:
        self.unknown = log is None
        self.offsets: list[int] = []
        self.torn = log is not None and log.torn_tail
        self.is_end_shown = log is not None and bool(log.end_shown_by)
        self.last_unread = NONE
        if log is None:
            return
        unread = [o for batch in log.batches for o in batch.offsets() if not batch.is_control and o not in read]
        unread += log.damaged_at
        self.last_unread = max(unread, default=NONE)
        first = [0] if log.start_offset > 0 else []
        self.offsets = sorted([*first, *(gap.first for gap in log.gaps()), *unread])

    def between(self, before: int, after: int) -> bool:
        """Whether a record may be missing behind `before` (-1: from the beginning) and up to `after`."""
        if self.unknown:
            return True
        place = bisect_left(self.offsets, before + 1)
        return place < len(self.offsets) and self.offsets[place] <= after

    def behind(self, last: int) -> bool:
        """Whether a record of an id may be missing behind its last one: compaction never takes the newest of an id."""
        return self.torn or self.last_unread > last


class _Fold:
    """The fold of one transactional id."""

    def __init__(self, transactional_id: str, partition: int, rules: Rules, missing: _Missing) -> None:
        self.history = IdHistory(transactional_id, partition, is_end_shown=missing.is_end_shown)
        self.missing = missing
        self.coordinator = Coordinator(rules)
        self.transactions = Transactions(transactional_id, self.history.transactions)

    def run(self, records: list[TransactionStateRecord]) -> IdHistory:
        """Fold all records of the id."""
        before: TransactionStateRecord | None = None
        newest_ms = NONE
        for index, record in enumerate(records):
            value = record.value
            if value is not None:
                if value.last_update_ms < newest_ms:
                    self._look_for_repeat(records, index)
                newest_ms = max(newest_ms, value.last_update_ms)
            last = before.value if before else None
            if self.missing.between(before.offset if before else NONE, record.offset):
                self._doubt(last, value)
                self.coordinator.take(value)
                last = None
            elif before is None or not _repeats(last, value):
                broken = self.coordinator.step(value)
                if broken is not None:
                    self._fault(record, last, broken)
                    value = _corrected(value, broken)
            if value is not None:
                self.history.producer_ids.add(value.producer_id)
            self.transactions.follow(record.offset, value, last, record.timestamp_ms)
            before = record
        self._end(before)
        return self.history

    def _look_for_repeat(self, records: list[TransactionStateRecord], index: int) -> None:
        """Note a record, older than one before it, if it is there already."""
        record = records[index]
        same = next((each.offset for each in records[:index] if each.value == record.value), None)
        if same is not None and record.offset != NONE and record.value != records[index - 1].value:
            self.history.repeats.append((record.offset, same))

    def _end(self, last: TransactionStateRecord | None) -> None:
        if last is None or not self.missing.behind(last.offset):
            return
        self.history.is_cut = True
        if last.value is not None:
            self.history.doubts.append(Doubt(last.value.producer_id, last.value.producer_epoch, None))

    def _doubt(self, before: TransactionLogValue | None, value: TransactionLogValue | None) -> None:
        """Records may be missing between two: note which transactions may be among them."""
        self.transactions.interrupt(value)
        doubts = self.history.doubts
        if before is None and value is None:
            # A tombstone names no producer: any transaction of the id may be missing.
            self.history.is_cut = True
        if before and value and before.producer_id == value.producer_id:
            doubts.append(Doubt(value.producer_id, before.producer_epoch, value.producer_epoch))
            return
        if before:
            doubts.append(Doubt(before.producer_id, before.producer_epoch, None))
        if value:
            doubts.append(Doubt(value.producer_id, None, value.producer_epoch))

    def _fault(self, record: TransactionStateRecord, before: TransactionLogValue | None, broken: Broken) -> None:
        known = record.value or before
        place = (TRANSACTION_STATE, record.partition)
        self.history.faults.append(
            Fault(
                broken.promise,
                f"at offset {record.offset} of {named(place)}, of {record.transactional_id!r}: {broken.message}",
                record.transactional_id,
                known.producer_id if known else None,
                known.producer_epoch if known else None,
                place,
                record.offset,
                circumstances=_circumstances(record, broken),
            )
        )


SHAPES = {
    "states_follow_the_table": Shape.RECORD_ILLEGAL,
    "epochs_never_go_down": Shape.RECORD_EPOCH,
    "records_are_what_decisions_write": Shape.RECORD_ODD,
}


def _circumstances(record: TransactionStateRecord, broken: Broken) -> Circumstances:
    moved_from, moved_to = broken.moved or (None, None)
    return Circumstances(
        SHAPES[broken.promise],
        expected_epoch=broken.epoch,
        moved_from=moved_from,
        moved_to=moved_to or (record.value.state.name if record.value else None),
        file=record.file,
        timestamp_ms=record.value.last_update_ms if record.value else record.timestamp_ms,
    )


def _repeats(before: TransactionLogValue | None, value: TransactionLogValue | None) -> bool:
    """Whether a record says again what the one before says."""
    if before is None or value is None:
        return before is value
    return replace(before, last_update_ms=0, start_ms=0) == replace(value, last_update_ms=0, start_ms=0)


def _corrected(value: TransactionLogValue | None, broken: Broken) -> TransactionLogValue | None:
    """A record whose epoch is wrong counts for its transaction as if it were right: one fault, not many."""
    if value is None or broken.epoch is None:
        return value
    return replace(value, producer_epoch=broken.epoch)
