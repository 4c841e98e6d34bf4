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
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.formats.batches import Batch, Record, RecordKey
from zombieproof.formats.compression import Codec
from zombieproof.model.vocabulary import NONE


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
    """

    first_dirty_offset: int
    end_offset: int
    now_ms: int
    aborted: tuple[AbortedTransaction, ...]
    producers: Mapping[int, LastRecord]
    settings: CleanerSettings


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
        has_data = batch.producer_id in self._with_data
        if batch.marker is not None:
            self._with_data.discard(batch.producer_id)
            entry = self._transactions.aborted(batch)
            if not batch.marker.committed and has_data and entry is not None:
                self.still_aborted.append(entry)
        is_marker = batch.marker is not None or batch.is_empty_control
        if not is_marker or (has_data and not batch.is_empty_control):
            return batch
        horizon_ms = delete_horizon_ms(batch)
        if batch.is_empty_control or (horizon_ms is not None and horizon_ms <= self._now_ms):
            return self._without_records(batch)
        return batch if horizon_ms is not None else self._under_horizon(batch)

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
        if not self._is_last_of_its_producer(batch) and batch.last_offset + 1 != self.end_offset:
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

    def _is_last_of_its_producer(self, batch: Batch) -> bool:
        known = None if batch.producer_id == NONE else self._plan.producers.get(batch.producer_id)
        if known is None:
            return False
        if known.last_data_offset is not None:
            return batch.last_offset == known.last_data_offset
        return batch.is_control and batch.producer_epoch == known.producer_epoch


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
