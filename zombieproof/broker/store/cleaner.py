"""Compaction of one partition: which batches are left of a log when only the newest record of each key counts.

Theory of operation: one pass reads the log twice. First the newest offset of each key is found among what is dirty (not
cleaned before), of committed records only; then each batch is kept, rewritten with fewer records, or left out. Offsets
never change, so a log that was cleaned has gaps.

- A record goes when a newer committed one has its key, when it has no key, or when its transaction was aborted.
- A tombstone is the newest of its key until nobody can have missed it: the first pass that sees it writes a *delete
  horizon* into its batch, a pass behind the horizon removes it.
- A marker stays as long as a pass still meets a batch of its transaction; then it gets a horizon, and goes behind it.
- A batch that holds the last sequence of a producer that is still known stays without records, and so does the last
  batch of the pass, so that the end of the log is not forgotten. A batch that keeps all its records keeps its bytes.

Nothing is read or written here: batches in, batches out. Source: ``Cleaner.java``, ``CleanedTransactionMetadata.java``,
``MemoryRecords.filterTo``; KIP-534.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple

from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.formats.batches import Batch, Record, RecordKey
from zombieproof.formats.compression import Codec
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.partition_leader import cleaning


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """The settings of a topic that its cleaning depends on (Kafka's name: underscores are dots)."""

    delete_retention_ms: int = 86_400_000


class LastRecord(NamedTuple):
    """What a partition still knows of a producer: the last offset of its data, None if only a marker is left."""

    last_data_offset: int | None
    producer_epoch: int


class Cleaned(NamedTuple):
    """What is left, the aborted transactions of which readers must still know, and up to where the pass went."""

    batches: tuple[Batch, ...]
    aborted: tuple[AbortedTransaction, ...]
    end_offset: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pass is to do.

    Attributes:
        first_dirty_offset: where the pass before ended (its `end_offset`).
        end_offset: where the first segment begins that stays as it is; everything below is stable.
        now_ms: the time of the pass.
        aborted: the aborted transactions of the log.
        producers: those that the partition still knows, by producer id.
        settings: those of the topic.
        rules: those in force.
    """

    first_dirty_offset: int
    end_offset: int
    now_ms: int
    aborted: tuple[AbortedTransaction, ...]
    producers: Mapping[int, LastRecord]
    settings: CleanerSettings
    rules: Rules = field(default_factory=Rules)


class Compacted(NamedTuple):
    """The aborted transactions of which readers must still know, and the bases of the segments that were merged.

    A merged one is part of the segment before it now.
    """

    aborted: tuple[AbortedTransaction, ...]
    merged: tuple[int, ...] = ()


def clean(
    batches: Sequence[Batch],
    aborted: Iterable[AbortedTransaction],
    *,
    last_stable_offset: int,
    now_ms: int,
    first_dirty_offset: int = 0,
    producers: Mapping[int, LastRecord] | None = None,
    settings: CleanerSettings | None = None,
) -> Cleaned:
    """One pass over the closed segments of a log.

    Args:
        batches: those of the closed segments, in order, from the start of the log.
        aborted: the aborted transactions that touch them.
        last_stable_offset: what reaches it, and what is behind, stays as it is.
        now_ms: the time of the pass.
        first_dirty_offset: where the pass before ended (its `end_offset`).
        producers: those that the partition still knows, by producer id.
        settings: those of the topic.

    Raises:
        ValueError: the batches are not in the order of their offsets.
    """
    cleanable = _cleanable(batches, last_stable_offset)
    rest = tuple(batches[len(cleanable) :])
    if not cleanable:
        return Cleaned(rest, tuple(aborted), first_dirty_offset)
    entries, end_offset = tuple(aborted), cleanable[-1].last_offset + 1
    plan = Plan(first_dirty_offset, end_offset, now_ms, entries, producers or {}, settings or CleanerSettings())
    one = Pass(plan, cleanable)
    kept = [left for batch in cleanable if (left := one.left_of(batch)) is not None]
    return Cleaned((*kept, *rest), one.aborted_after(end_offset), end_offset)


def _cleanable(batches: Sequence[Batch], last_stable_offset: int) -> Sequence[Batch]:
    end, count = NONE, 0
    for batch in batches:
        if batch.base_offset <= end:
            raise ValueError(f"a batch at offset {batch.base_offset} cannot follow one that ends at {end}")
        end = batch.last_offset
        count += end < last_stable_offset
    return batches[:count]


class _Transactions:
    """The aborted transactions of a log, by producer."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._of: dict[int, list[AbortedTransaction]] = {}
        for entry in sorted(aborted, key=lambda each: each.first_offset):
            self._of.setdefault(entry.producer_id, []).append(entry)

    def aborted(self, batch: Batch) -> AbortedTransaction | None:
        """The aborted transaction that a batch, or a marker, belongs to; None: it has none, or is committed."""
        entries = self._of.get(batch.producer_id, [])
        index = bisect_right(entries, batch.base_offset, key=lambda each: each.first_offset) - 1
        if index < 0 or batch.base_offset > entries[index].last_offset:
            return None
        return entries[index]


def _newest_offsets(
    batches: Iterable[Batch], transactions: _Transactions, first_dirty_offset: int
) -> dict[RecordKey, int]:
    """The offset of the newest committed record of each key, among those that no pass has seen."""
    newest: dict[RecordKey, int] = {}
    for batch in batches:
        if batch.is_control or batch.last_offset < first_dirty_offset or _is_aborted(batch, transactions):
            continue
        for offset, record in zip(batch.offsets, batch.records, strict=True):
            if record.key is not None and offset >= first_dirty_offset:
                newest[record.key] = offset
    return newest


def _is_aborted(batch: Batch, transactions: _Transactions) -> bool:
    return batch.transactional and transactions.aborted(batch) is not None


class Pass:
    """A pass under way: it is told of every batch below the end of its plan, in order.

    Args:
        dirty: the batches from the first dirty offset on, up to the end of the plan at least; they are read once.

    `still_aborted` are the aborted transactions that were met and of which readers must still know.
    """

    def __init__(self, plan: Plan, dirty: Iterable[Batch]) -> None:
        self.end_offset, self._plan, self._now_ms = plan.end_offset, plan, plan.now_ms
        self._transactions = _Transactions(plan.aborted)
        below = takewhile(lambda batch: batch.last_offset < plan.end_offset, dirty)
        self._newest = _newest_offsets(below, self._transactions, plan.first_dirty_offset)
        self.still_aborted: list[AbortedTransaction] = []
        self._with_data: set[int] = set()
        """Producers of whom a batch was met since their last marker."""

    def aborted_after(self, offset: int) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions of the log when everything below `offset` is as this pass leaves it."""
        behind = (entry for entry in self._plan.aborted if entry.last_offset >= offset)
        return (*(entry for entry in self.still_aborted if entry.last_offset < offset), *behind)

    def left_of(self, batch: Batch) -> Batch | None:
        """What is left of a batch; None: nothing."""
        if batch.is_control:
            return self._left_of_control(batch)
        if _is_aborted(batch, self._transactions):
            self._with_data.add(batch.producer_id)
            return self._without_records(batch)
        if batch.transactional:
            self._with_data.add(batch.producer_id)
        kept = [i for i, offset in enumerate(batch.offsets) if self._stays(batch, batch.records[i], offset)]
        if not kept:
            return self._without_records(batch)
        has_tombstone = any(batch.records[i].value is None for i in kept)
        return self._with_records(batch, kept, has_tombstone)

    def _left_of_control(self, batch: Batch) -> Batch | None:
        if batch.marker is None and not batch.is_empty_control:
            return batch
        has_data, horizon_ms = batch.producer_id in self._with_data, delete_horizon_ms(batch)
        committed = batch.marker is not None and batch.marker.committed
        is_past = horizon_ms is not None and horizon_ms <= self._now_ms
        met = cleaning.MarkerMet(committed, has_data, batch.is_empty_control, horizon_ms is not None, is_past)
        left = cleaning.left_of_marker(met, self._plan.rules)
        if batch.marker is not None:
            self._with_data.discard(batch.producer_id)
            entry = self._transactions.aborted(batch)
            if left.is_listed and entry is not None:
                self.still_aborted.append(entry)
        if not left.stays:
            return self._without_records(batch)
        return self._under_horizon(batch) if left.gets_horizon else batch

    def _stays(self, batch: Batch, record: Record, offset: int) -> bool:
        if record.key is None or offset < self._newest.get(record.key, NONE):
            return False
        horizon_ms = delete_horizon_ms(batch)
        return record.value is not None or horizon_ms is None or self._now_ms < horizon_ms

    def _with_records(self, batch: Batch, kept: Sequence[int], has_tombstone: bool) -> Batch:
        horizon_ms = delete_horizon_ms(batch)
        if len(kept) < len(batch.records):
            batch = _of_records(batch, kept, horizon_ms)
        return self._under_horizon(batch) if has_tombstone and horizon_ms is None else batch

    def _under_horizon(self, batch: Batch) -> Batch:
        horizon_ms = self._now_ms + self._plan.settings.delete_retention_ms
        return replace(batch, has_delete_horizon=True, base_timestamp_ms=horizon_ms)

    def _without_records(self, batch: Batch) -> Batch | None:
        """An empty batch in the place of one that must not be forgotten: it keeps epoch, sequences and last offset."""
        known = None if batch.producer_id == NONE else self._plan.producers.get(batch.producer_id)
        last, epoch = (None, NONE) if known is None else known
        if not cleaning.is_kept_empty(
            known is not None,
            NONE if last is None else last,
            epoch,
            cleaning.LastOfBatch(batch.last_offset, batch.producer_epoch, batch.is_control),
            self.end_offset,
            self._plan.rules,
        ):
            return None
        return replace(
            batch,
            records=(),
            marker=None,
            control_records=(),
            is_empty_control=batch.is_control,
            codec=Codec.NONE,
            has_delete_horizon=False,
            base_timestamp_ms=NONE,
        )


def delete_horizon_ms(batch: Batch) -> int | None:
    """From when on tombstones and markers of a batch may go; None: no pass has seen them."""
    if not batch.has_delete_horizon:
        return None
    if batch.base_timestamp_ms is not None or not batch.timestamps:
        return batch.timestamp_ms if batch.base_timestamp_ms is None else batch.base_timestamp_ms
    return batch.timestamps[0]


def _of_records(batch: Batch, kept: Sequence[int], horizon_ms: int | None) -> Batch:
    """The batch with some of its records, each at the offset that it had; the last offset stays, with the sequence."""
    offsets, times = batch.offsets, batch.timestamps
    newest_ms = max(times[i] for i in kept)
    records = []
    for place, i in enumerate(kept):
        delta, time = offsets[i] - batch.base_offset, times[i]
        # As a batch is read: what a record shares with its batch is not said again.
        at, when = NONE if delta == place else delta, None if time == newest_ms else time
        records.append(replace(batch.records[i], offset_delta=at, timestamp_ms=when))
    return replace(batch, records=tuple(records), timestamp_ms=newest_ms, base_timestamp_ms=horizon_ms)
