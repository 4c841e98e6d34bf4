"""What consumers see of one partition: its log is folded through the decisions of the leader, the fetch and the reader.

The high watermark is the end of the log: a copy of a partition does not say how far it was replicated. Nothing is
judged here; a batch that the leader would have refused is folded like a follower folds it.
Source: reference §3.3 to §3.6, §6.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop
from typing import NamedTuple

from zombieproof.model.decisions.consume import Delivery, decide_read
from zombieproof.model.decisions.fetch import (
    fetch_bound,
    is_listed_as_aborted,
    last_stable_offset,
    last_stable_offset_at_abort,
)
from zombieproof.model.decisions.produce import decide_append, evolve_append
from zombieproof.model.decisions.write_txn_markers import decide_marker, evolve_marker
from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, ConsumerEvent, Isolation, Origin
from zombieproof.statemachines.consumer import CONSUMER
from zombieproof.statemachines.partition_leader import PARTITION_LEADER
from zombieproof.traces.cleared import Cleared
from zombieproof.traces.evidence import LoggedBatch, LoggedMarker, PartitionLog
from zombieproof.traces.judging.histories.words import span
from zombieproof.traces.verdict.listed import Listed
from zombieproof.traces.watching import Watch, in_steps


class _Data(NamedTuple):
    """A data batch as the decisions see it."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    transactional: bool


class _Marker(NamedTuple):
    """A marker as the decisions see it; the log does not hold its transaction version."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int = 0


class AbortedSpan(NamedTuple):
    """An aborted transaction on the partition: its first offset, the offset of its marker, the LSO at that moment."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortMarker(NamedTuple):
    """An ABORT marker as a broker sees it that folds the log from its start offset.

    `span.first_offset` is -1 where it ends no data. `previous` is the offset of the marker of the same producer id
    before it, -1 where there is none.
    """

    span: AbortedSpan
    previous: int


class HiddenSpan(NamedTuple):
    """Records of a producer id from `first_offset` up to, not including, `end_offset` that may be committed or not.

    The marker at `end_offset` does not show its kind, or an unreadable place before it may have held one.
    """

    first_offset: int
    end_offset: int


class Unknown(NamedTuple):
    """An offset from which on a transaction may be open that the log does not show, and why, as a sentence."""

    first: int
    why: str


class OpenTransaction(NamedTuple):
    """A transaction on the partition that has no marker. `may_begin_before`: the log, as given, begins inside it."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    may_begin_before: bool = False


@dataclass(slots=True)
class Visibility:
    """How far a partition can be read. `aborted` is in the order of the markers, `open_transactions` by first offset.

    `is_certain` is False where the log hides an outcome: a dump without records shows markers, but not whether they
    commit; an unreadable batch may have been a marker. `hidden` holds the records of such outcomes by producer id: they
    are not counted as committed, and are in the order of the log.
    """

    log: PartitionLog
    high_watermark: int
    last_stable_offset: int
    aborted: Sequence[AbortedSpan] = field(default_factory=list)
    open_transactions: list[OpenTransaction] = field(default_factory=list)
    is_certain: bool = True
    hidden: Mapping[int, Sequence[HiddenSpan]] = field(default_factory=dict)

    @property
    def unknown(self) -> list[Unknown]:
        """Why the last stable offset is not known, if anything speaks against it."""
        return list(_unknown(self.log))

    @property
    def stable_at_least(self) -> int:
        """The last stable offset as far as it is known; see `is_lower_bound`."""
        return min([self.last_stable_offset, *(each.first for each in self.unknown)])

    @property
    def is_lower_bound(self) -> bool:
        """Whether the last stable offset may be another one than `stable_at_least`, but none before.

        What holds it back may have ended where the log is cut or cannot be read, or a snapshot contradicts the log.
        """
        if self.unknown:
            return True
        first = self.open_transactions[0] if self.open_transactions else None
        if first is None:
            return False
        if any(gap.last >= first.first_offset for gap in self.log.unread_gaps()):
            return True
        spans = self.hidden.get(first.producer_id, ())
        return self.log.torn_tail or any(span.first_offset == first.first_offset for span in spans)

    def read(self, isolation: Isolation, rules: Rules | None = None) -> Iterator[tuple[LoggedBatch, list[int]]]:
        """The batches that a consumer which starts at the log start hands on, with the offsets it delivers of each.

        Isolation READ_COMMITTED_BUFFERING is not Kafka's way and is not read here.
        """
        bound = fetch_bound(isolation, self.high_watermark, self.stable_at_least, rules or Rules())
        start = self.log.start_offset
        coming = [
            (span.first_offset, span.producer_id)
            for span in self.aborted
            if is_listed_as_aborted(span.first_offset, span.last_offset, start, bound)
        ]
        heapify(coming)
        reader = _Reader(isolation, coming)
        for batch in self.log.batches:
            if batch.base_offset >= bound:
                return
            if reader.delivers(batch) and not (isolation is Isolation.READ_COMMITTED and self._hides(batch)):
                yield batch, [offset for offset in batch.offsets() if offset >= start]

    def _hides(self, batch: LoggedBatch) -> bool:
        """Whether nothing shows if the records of a batch are committed.

        The log is folded in order, so neither end of a producer's spans falls: of those that end after the batch, the
        first one begins earliest.
        """
        spans = self.hidden.get(batch.producer_id, ()) if batch.is_transactional else ()
        index = bisect_right(spans, batch.base_offset, key=lambda span: span.end_offset)
        return index < len(spans) and spans[index].first_offset <= batch.base_offset

    def offsets(self, isolation: Isolation, rules: Rules | None = None) -> Sequence[int]:
        """The offsets of the records that a consumer which starts at the log start gets."""
        if self.log.cleared is not None and isolation is Isolation.READ_COMMITTED:
            bound = fetch_bound(isolation, self.high_watermark, self.stable_at_least, rules or Rules())
            count, ranges = self.log.cleared.visible(self.log.start_offset, bound)
            return Listed(lambda: (offset for first, end in ranges() for offset in range(first, end)), count)
        return [offset for _, offsets in self.read(isolation, rules) for offset in offsets]


class _Reader:
    """A consumer with the broker's list of aborted transactions (a heap of first offset and producer id)."""

    def __init__(self, isolation: Isolation, coming: list[tuple[int, int]]) -> None:
        self._isolation = isolation
        self._coming = coming
        self._begins: set[int] = set()
        self._states: dict[int, int] = {}

    def delivers(self, batch: LoggedBatch) -> bool:
        """Whether the records of the next batch are handed to the application."""
        if batch.producer_id < 0:
            return not batch.is_control
        while self._coming and self._coming[0][0] <= batch.last_offset:
            self._begins.add(heappop(self._coming)[1])
        if batch.producer_id in self._begins:
            self._begins.discard(batch.producer_id)
            self._judge(batch, True)
        return self._judge(batch, False) == Delivery.THIS_BATCH

    def _judge(self, batch: LoggedBatch, aborted_begins: bool) -> int:
        state = self._states.get(batch.producer_id, int(CONSUMER.initial))
        if batch.is_control and batch.marker is None:
            return Delivery.NOTHING
        committed = batch.marker is not None and batch.marker.commit
        verdict = decide_read(
            self._isolation, state, batch.is_control, committed, batch.is_transactional, aborted_begins
        )
        if aborted_begins and verdict.event != ConsumerEvent.ABORTED_TRANSACTION_BEGINS:
            return Delivery.NOTHING
        if verdict.event != NOTHING:
            self._states[batch.producer_id] = CONSUMER.target(state, verdict.event, f"producer id {batch.producer_id}")
        return verdict.delivery


def visibility(log: PartitionLog, rules: Rules | None = None, watch: Watch | None = None) -> Visibility:
    """Fold a log and say how far and what of it can be read; of one that a screen cleared, take what that knows."""
    hidden = bool(log.unsound) or log.torn_tail or bool(log.damaged_at)
    if log.cleared is not None:
        return _of_cleared(log, log.cleared, is_certain=not hidden)
    fold, aborted = _Fold(rules or Rules()), list[AbortedSpan]()
    outcomes = dict[int, list[HiddenSpan]]()
    for batches in in_steps(log.batches, watch):
        for batch in batches:
            if batch.base_offset in log.damaged_at:
                for one, first in fold.begun():
                    outcomes.setdefault(one, []).append(HiddenSpan(first, batch.base_offset))
            if batch.producer_id < 0:
                continue
            if not batch.is_control:
                fold.data(batch)
            elif batch.marker is not None:
                span = fold.marker(batch, batch.marker)
                if span is not None and span.first_offset != NONE:
                    aborted.append(span)
            elif batch.hides_marker:
                hidden = True
                ended = HiddenSpan(fold.end(batch), batch.base_offset)
                if ended.first_offset != NONE:
                    outcomes.setdefault(batch.producer_id, []).append(ended)
    opened = _with_those_before(log, fold.open_transactions())
    return Visibility(
        log=log,
        high_watermark=log.end_offset,
        last_stable_offset=_stable(log, opened[0].first_offset if opened else NONE),
        aborted=aborted,
        open_transactions=opened,
        is_certain=not hidden,
        hidden=outcomes,
    )


def producers_of(log: PartitionLog, rules: Rules | None = None) -> dict[int, ProducerEntry]:
    """What the leader of a log knows of each producer id."""
    fold = _Fold(rules or Rules())
    for batch in log.batches:
        if batch.producer_id >= 0 and not batch.is_control:
            fold.data(batch)
        elif batch.producer_id >= 0 and batch.marker is not None:
            fold.marker(batch, batch.marker)
        elif batch.hides_marker:
            fold.end(batch)
    return fold.entries


def abort_markers(log: PartitionLog, rules: Rules | None = None) -> Iterator[AbortMarker]:
    """The ABORT markers of a log, folded from the first batch that reaches its start offset."""
    fold = _Fold(rules or Rules())
    previous: dict[int, int] = {}
    for batch in log.batches:
        if batch.producer_id < 0 or batch.last_offset < log.start_offset:
            continue
        if not batch.is_control:
            fold.data(batch)
        elif batch.marker is not None:
            span = fold.marker(batch, batch.marker)
            if span is not None:
                yield AbortMarker(span, previous.get(batch.producer_id, NONE))
            previous[batch.producer_id] = batch.base_offset


def _with_those_before(log: PartitionLog, opened: list[OpenTransaction]) -> list[OpenTransaction]:
    """Add what a snapshot shows to be open since before the log begins; of one producer that is one transaction."""
    if log.is_begin_unknown:
        return list(_as_begun(log, opened))
    if not log.open_before:
        return opened
    found = {each.producer_id: each for each in opened}
    for entry in log.open_before:
        known, first = found.get(entry.producer_id), entry.current_txn_first_offset
        if first is not None:
            epoch = entry.producer_epoch if known is None else known.producer_epoch
            found[entry.producer_id] = OpenTransaction(entry.producer_id, epoch, first)
    return sorted(found.values(), key=lambda each: each.first_offset)


def _as_begun(log: PartitionLog, opened: list[OpenTransaction]) -> Iterator[OpenTransaction]:
    """Mark what may have begun before the log: no batch of its producer comes before, and its sequences went on."""
    firsts: dict[int, LoggedBatch] = {}
    for batch in log.batches if opened else ():
        firsts.setdefault(batch.producer_id, batch)
    for each in opened:
        first = firsts[each.producer_id]
        begins_here = first.base_offset < each.first_offset or first.base_sequence == 0
        yield each._replace(may_begin_before=not begins_here)


def _unknown(log: PartitionLog) -> Iterator[Unknown]:
    if log.is_begin_unknown:
        first = min((lost.first for lost in log.lost if lost.first < log.start_offset), default=0)
        yield Unknown(first, f"what was open before offset {log.start_offset} is not known")
    yield from (Unknown(each.first, "a producer snapshot contradicts the log") for each in log.contradictions)
    for gap in log.unread_gaps():
        where = span(gap.first, gap.last)
        verb = "is" if gap.first == gap.last else "are"
        cause = "cannot be read" if gap.damaged else f"{verb} missing"
        yield Unknown(gap.first, f"a transaction may have begun at {where}, which {cause}")
        return


def _stable(log: PartitionLog, unstable: int) -> int:
    """The last stable offset: a transaction that began before the start of the log, as a broker has it, holds that."""
    if unstable != NONE and log.begin_shown_by:
        unstable = max(unstable, log.start_offset)
    return last_stable_offset(log.end_offset, unstable)


def _of_cleared(log: PartitionLog, cleared: Cleared, *, is_certain: bool) -> Visibility:
    begun = _with_those_before(
        log, [OpenTransaction(run.producer_id, run.epoch, run.first_offset) for run in cleared.open_runs()]
    )
    return Visibility(
        log=log,
        high_watermark=log.end_offset,
        last_stable_offset=_stable(log, begun[0].first_offset if begun else NONE),
        aborted=Listed(lambda: map(AbortedSpan._make, cleared.aborted())),
        open_transactions=begun,
        is_certain=is_certain,
    )


class _Fold:
    """The state of a partition as a follower builds it from the log."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.entries: dict[int, ProducerEntry] = {}
        self._open: OrderedDict[int, ProducerEntry] = OrderedDict()
        """Entries of producers with an open transaction, by its first offset: a log is folded in order."""

    def _entry(self, batch: LoggedBatch) -> ProducerEntry:
        return self.entries.setdefault(batch.producer_id, ProducerEntry())

    def _note(self, producer_id: int, entry: ProducerEntry, before: int) -> None:
        """Keep `_open` up to date; `before` is the first offset of the open transaction until now."""
        if entry.txn_first_offset == before:
            return
        self._open.pop(producer_id, None)
        if entry.txn_first_offset != NONE:
            self._open[producer_id] = entry

    def data(self, batch: LoggedBatch) -> None:
        entry = self._entry(batch)
        incoming = _Data(
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_sequence,
            batch.is_transactional,
        )
        verdict = decide_append(entry, incoming, 0, Origin.REPLICATION, self._rules)
        if verdict.event == NOTHING:
            return
        state = PARTITION_LEADER.target(entry.state, verdict.event, f"producer id {batch.producer_id}")
        before = entry.txn_first_offset
        evolve_append(entry, incoming, batch.base_offset, batch.last_offset, state, self._rules)
        self._note(batch.producer_id, entry, before)

    def marker(self, batch: LoggedBatch, marker: LoggedMarker) -> AbortedSpan | None:
        """Take a marker in; return what an ABORT marker ended, from offset -1 on if it ended no data."""
        entry = self._entry(batch)
        incoming = _Marker(batch.producer_id, batch.producer_epoch, marker.commit, marker.coordinator_epoch)
        verdict = decide_marker(entry, incoming, Origin.REPLICATION, self._rules)
        state = PARTITION_LEADER.target(entry.state, verdict.event, f"producer id {batch.producer_id}")
        before = entry.txn_first_offset
        first = evolve_marker(entry, incoming, verdict.event, state)
        self._note(batch.producer_id, entry, before)
        if marker.commit:
            return None
        unstable = next((other.txn_first_offset for other in self._open.values() if other is not entry), NONE)
        stable = last_stable_offset_at_abort(batch.base_offset, unstable)
        return AbortedSpan(batch.producer_id, first, batch.base_offset, stable)

    def end(self, batch: LoggedBatch) -> int:
        """Take in a marker that does not show its kind, which ends a transaction; return the offset that opened it."""
        entry = self._entry(batch)
        first = entry.txn_first_offset
        self.marker(batch, LoggedMarker(commit=True, coordinator_epoch=entry.coordinator_epoch))
        return first

    def begun(self) -> list[tuple[int, int]]:
        """Producer ids that have a transaction open, and its first offset."""
        return [(one, each.txn_first_offset) for one, each in self._open.items()]

    def open_transactions(self) -> list[OpenTransaction]:
        """What is open at the end, by first offset."""
        return [OpenTransaction(one, each.producer_epoch, each.txn_first_offset) for one, each in self._open.items()]
