"""The log of one partition on disk: segments in a folder, as Kafka lays them out.

Theory of operation: an append is written at once, and durable when `sync` is done; whoever wants that together with
others asks for the files (`unsynced`), syncs them, and says so (`synced`). All segments but the last are sealed: they
were synced, with their indexes, before the next one began. So after a crash only the last has to be looked at. What it
holds behind its last sound batch is a torn tail and is cut, unless it is known to have been synced: then it is damage,
and nobody may take it for a tail that was never acknowledged.
Source: reference §7.3; ``LocalLog.java``, ``LogLoader.java``, ``UnifiedLog.java``.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.segment import LOG, SUFFIXES, TRANSACTION_INDEX, Segment
from zombieproof.formats.batches import Batch
from zombieproof.formats.checkpoints import read_leader_epochs, write_leader_epochs
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.transaction_index import IndexEntry
from zombieproof.model.vocabulary import NONE

LEADER_EPOCHS = "leader-epoch-checkpoint"
DELETED, CLEANED = ".deleted", ".cleaned"
RECENT_BYTES = 1 << 16
"""So many bytes of the newest batches are kept in memory: who reads at the end of a log reads no file."""


class SegmentLog:
    """A log over segments; see `partition.log.Log`.

    Args:
        directory: its folder, which exists.
        topic: what the records of internal topics are read as.
        is_dirty: called with the log when it has something to sync.

    `open` reads what is there.
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        topic: str,
        config: LogConfig,
        clock: Clock,
        durability: Durability,
        is_dirty: Callable[["SegmentLog"], None],
    ) -> None:
        self.config, self.directory = config, directory
        self._disk, self._topic, self._clock, self._durability = disk, topic, clock, durability
        self._is_dirty = is_dirty
        self._segments: list[Segment] = []
        self._start = self._durable = 0
        self._unsynced: dict[str, None] = {}
        self._names_changed = True
        self._epochs: list[tuple[int, int]] = []
        self._recent: deque[tuple[Batch, int]] = deque()
        self._recent_bytes = 0
        self._encoded: tuple[Batch, bytes] | None = None
        self._aborted: list[AbortedTransaction] = []
        self._deleted: list[tuple[int, str]] = []
        self.failure: StorageFailure | None = None
        self._fold_from: int | None = None

    # ---------------------------------------------------------------- what is there

    @property
    def start_offset(self) -> int:
        """The first offset that is served."""
        return self._start

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self._segments[-1].end_offset if self._segments else self._start

    @property
    def durable_offset(self) -> int:
        """What the disk has; or the operating system, where that is enough."""
        return self._durable if self._durability is Durability.FSYNC else self.end_offset

    @property
    def recovery_point(self) -> int:
        """What the disk has: a start after a crash has to look at nothing below."""
        return self._durable

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments, oldest first."""
        return tuple(self._segments)

    def read(self, from_offset: int = 0) -> Iterator[Batch]:
        """Every batch that reaches `from_offset` or goes beyond, in order.

        Raises:
            Damaged: a batch cannot be read.
        """
        if self._recent and from_offset >= self._recent[0][0].base_offset:
            return iter([batch for batch, _ in self._recent if batch.last_offset >= from_offset])
        return self._read_files(from_offset)

    def _read_files(self, from_offset: int) -> Iterator[Batch]:
        first = max(bisect_right(self._segments, from_offset, key=lambda each: each.base_offset) - 1, 0)
        for segment in self._segments[first:]:
            try:
                yield from segment.read(from_offset)
            except Undecodable as fault:
                raise self._damaged(segment, fault.position, str(fault)) from fault

    # ---------------------------------------------------------------- appending

    def append(self, batch: Batch) -> Batch:
        """Write `batch` at the end; returned is the batch with its offset.

        Raises:
            StorageFailure: the disk has failed, now or before; nothing is appended any more.
            ValueError: a batch that has an offset does not continue the log.
        """
        end = self.end_offset
        if batch.base_offset == NONE:
            batch = replace(batch, base_offset=end)
        elif batch.base_offset < end:
            raise ValueError(f"a batch at offset {batch.base_offset} cannot follow a log that ends at {end}")
        data = self._encode(batch)
        with self._failing():
            segment = self._active(batch.base_offset)
            self._assign_epoch(batch.leader_epoch, batch.base_offset)
            segment.append(data, batch.last_offset, batch.timestamp_ms)
        self._unsynced[segment.path(LOG)] = None
        self._encoded = None
        self._remember(batch, len(data))
        self._is_dirty(self)
        return batch

    def is_full(self, batch: Batch) -> bool:
        """Whether the store begins a new segment before `batch`; then `roll` is due."""
        if not self._segments or self._segments[-1].size == 0:
            return False
        active, now_ms = self._segments[-1], self._clock.now_ms()
        return (
            active.size + len(self._encode(batch)) > self.config.segment_bytes
            or now_ms - active.first_timestamp_ms >= self.config.segment_ms
            or self.end_offset + batch.last_offset_delta - active.base_offset > 0x7FFFFFFF
        )

    def _encode(self, batch: Batch) -> bytes:
        """The bytes of a batch that is appended next: who asks whether it fits has them made once."""
        if self._encoded is None or self._encoded[0] is not batch:
            self._encoded = batch, write_batch(batch)
        return self._encoded[1]

    def roll(self) -> None:
        """Seal the last segment: it is on the disk with its indexes when this returns.

        Raises:
            StorageFailure: it is not.
        """
        if not self._segments or self._segments[-1].size == 0:
            return
        with self._failing():
            self._unsynced |= dict.fromkeys(self._segments[-1].write_indexes())
            self._names_changed = True
        self.flush()
        with self._failing():
            self._segments.append(self._empty_segment(self.end_offset))

    def _active(self, offset: int) -> Segment:
        segment = self._segments[-1]
        if segment.size == 0 and segment.base_offset != offset:
            self._remove(segment)
            segment = self._segments[-1] = self._empty_segment(offset)
        if segment.size == 0:
            self._names_changed = True
        return segment

    def _empty_segment(self, offset: int) -> Segment:
        """A segment with a file that holds nothing yet: without one a folder would not look like that of a log."""
        segment = self._new_segment(offset)
        self._disk.write(segment.path(LOG), 0, b"")
        self._unsynced[segment.path(LOG)] = None
        self._names_changed = True
        return segment

    def _new_segment(self, offset: int) -> Segment:
        return Segment(self._disk, self.directory, offset, self._topic, self.config.index_interval_bytes)

    def _assign_epoch(self, epoch: int, offset: int) -> None:
        if self._begins_epoch(epoch, offset):
            self._write_epochs()

    def _begins_epoch(self, epoch: int, offset: int) -> bool:
        """Whether the batch at `offset` is the first of its leader epoch; then it is noted."""
        is_first = epoch != NONE and (not self._epochs or epoch > self._epochs[-1][0])
        if is_first:
            self._epochs.append((epoch, offset))
        return is_first

    def _write_epochs(self) -> None:
        path = f"{self.directory}/{LEADER_EPOCHS}"
        self._disk.write(f"{path}.tmp", 0, write_leader_epochs(self._epochs))
        self._disk.sync(f"{path}.tmp")
        self._disk.rename(f"{path}.tmp", path)
        self._names_changed = True

    def _remember(self, batch: Batch, size: int) -> None:
        self._recent.append((batch, size))
        self._recent_bytes += size
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= self._recent.popleft()[1]

    # ---------------------------------------------------------------- durability

    def unsynced(self) -> tuple[int, tuple[str, ...], bool]:
        """The end of the log, the files that have to be synced for it, and whether the folder has to be."""
        files, names = tuple(self._unsynced), self._names_changed
        self._unsynced.clear()
        self._names_changed = False
        return self.end_offset, files, names

    def sync(self, files: Iterable[str], names: bool) -> None:
        """Sync what `unsynced` said; this may go on beside everything else.

        Raises:
            OSError: the disk says that it is not done. What is on it then nobody knows: `fail` is due.
        """
        for path in files:
            self._disk.sync(path)
        if names:
            self._disk.sync_directory(self.directory)
            self._disk.sync_directory(self.directory.rpartition("/")[0])

    def synced(self, end_offset: int) -> None:
        """Everything below is on the disk."""
        self._durable = max(self._durable, min(end_offset, self.end_offset))

    def fail(self, error: OSError) -> StorageFailure:
        """The disk has failed: nothing can be appended any more, and what is not durable never will be here."""
        self.failure = StorageFailure(
            f"{self._disk.name(self.directory)}: {error.strerror or error}; the log is closed for writes: "
            f"repair or free the disk, and open it again"
        )
        return self.failure

    def flush(self) -> None:
        """Make everything durable before this returns.

        Raises:
            StorageFailure: the disk has failed, now or before.
        """
        with self._failing():
            end, files, names = self.unsynced()
            self.sync(files, names)
            self.synced(end)

    def _failing(self) -> "_Failing":
        if self.failure is not None:
            raise self.failure
        return _Failing(self)

    def close(self) -> None:
        """Seal nothing, but leave both indexes of the last segment and everything else on the disk."""
        if self._segments and self._segments[-1].size:
            with self._failing():
                self._unsynced |= dict.fromkeys(self._segments[-1].write_indexes())
                self._names_changed = True
        self.flush()

    # ---------------------------------------------------------------- the index of aborted transactions

    def aborted(self) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions of which the files tell, in the order of their markers."""
        return tuple(self._aborted)

    @property
    def fold_from(self) -> int:
        """Where the segments begin whose index could not be believed; the end where all could."""
        return self.end_offset if self._fold_from is None else self._fold_from

    def add_aborted(self, entry: AbortedTransaction) -> None:
        """An aborted transaction ends with the newest marker.

        Raises:
            StorageFailure: the disk has failed.
        """
        with self._failing():
            segment = self._segments[self._index_of(entry.last_offset)]
            self._names_changed |= segment.aborted_size == 0
            segment.add_aborted(IndexEntry(*entry))
        self._unsynced[segment.path(TRANSACTION_INDEX)] = None
        self._aborted.append(entry)
        self._is_dirty(self)

    def _index_of(self, offset: int) -> int:
        return max(bisect_right(self._segments, offset, key=lambda each: each.base_offset) - 1, 0)

    # ---------------------------------------------------------------- cutting

    def truncate(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset`."""
        if end_offset >= self.end_offset:
            return
        with self._failing():
            while self._segments and self._segments[-1].base_offset >= end_offset and len(self._segments) > 1:
                self._remove(self._segments.pop())
            if self._segments and self._segments[-1].size:
                self._segments[-1].cut(end_offset)
                self._unsynced[self._segments[-1].path(LOG)] = None
            self._epochs = [entry for entry in self._epochs if entry[1] < self.end_offset]
            self._write_epochs()
            self._rewrite_aborted()
        self._forget_recent()
        self._durable = min(self._durable, self.end_offset)
        self.flush()

    def _rewrite_aborted(self) -> None:
        """The last segment's index of aborted transactions has those whose marker is still there."""
        self._aborted = [entry for entry in self._aborted if entry.last_offset < self.end_offset]
        if not self._segments:
            return
        segment = self._segments[-1]
        if segment.exists(TRANSACTION_INDEX):
            self._disk.truncate(segment.path(TRANSACTION_INDEX), 0)
            segment.aborted_size = 0
            for entry in self._aborted:
                if entry.last_offset >= segment.base_offset:
                    segment.add_aborted(IndexEntry(*entry))
            self._unsynced[segment.path(TRANSACTION_INDEX)] = None

    def restart_at(self, offset: int) -> None:
        """Drop everything; the next record gets `offset`."""
        with self._failing():
            for segment in self._segments:
                self._remove(segment)
            self._segments, self._aborted, self._epochs = [self._empty_segment(offset)], [], []
            self._write_epochs()
        self._forget_recent()
        self._start = self._durable = offset
        self.flush()

    def raise_start(self, offset: int) -> None:
        """Records below `offset` are not served any more; segments that are wholly below go.

        Raises:
            ValueError: `offset` is behind the end of the log.
        """
        if offset > self.end_offset:
            raise ValueError(f"the log ends at {self.end_offset}; it cannot start at {offset}")
        if offset <= self._start:
            return
        self._start = offset
        with self._failing():
            while len(self._segments) > 1 and self._segments[1].base_offset <= offset:
                self._delete(self._segments.pop(0))
            oldest = self._segments[0].base_offset if self._segments else offset
            self._aborted = [entry for entry in self._aborted if entry.last_offset >= oldest]
        self._is_dirty(self)

    def expired_before(self, high_watermark: int) -> int:
        """Where the log would start by its settings of retention: the base of the first segment that stays."""
        kept = [each for each in self._segments if each.size]
        if not self.config.is_deleted or not kept:
            return self._start
        now_ms, config, size = self._clock.now_ms(), self.config, sum(each.size for each in kept)
        for segment in kept[:-1]:
            too_old = config.retention_ms != NONE and now_ms - segment.max_timestamp_ms > config.retention_ms
            too_large = config.retention_bytes != NONE and size - segment.size >= config.retention_bytes
            if segment.end_offset > high_watermark or not (too_old or too_large):
                return max(segment.base_offset, self._start)
            size -= segment.size
        return max(kept[-1].base_offset, self._start)

    def remove_deleted(self, *, at_once: bool = False) -> None:
        """Remove files that were renamed long enough ago."""
        due_ms = self._clock.now_ms() - self.config.file_delete_delay_ms
        for renamed_ms, path in self._deleted:
            if (at_once or renamed_ms <= due_ms) and self._disk.exists(path):
                self._disk.remove(path)
        self._deleted = [each for each in self._deleted if not at_once and each[0] > due_ms]

    def move_to(self, directory: str) -> None:
        """Move the folder; everything goes on where it then is (a topic that is deleted is renamed first)."""
        with self._failing():
            self._disk.rename(self.directory, directory)
        self._unsynced = {path.replace(self.directory, directory, 1): None for path in self._unsynced}
        self.directory, self._names_changed = directory, True
        for segment in self._segments:
            segment.directory = directory
        self._is_dirty(self)

    def _delete(self, segment: Segment) -> None:
        """Rename the files first: whoever reads them is not disturbed, and a crash leaves a name that says all."""
        for suffix in SUFFIXES:
            path = segment.path(suffix)
            if self._disk.exists(path):
                self._disk.rename(path, path + DELETED)
                self._deleted.append((self._clock.now_ms(), path + DELETED))
            self._unsynced.pop(path, None)
        self._names_changed = True

    def _remove(self, segment: Segment) -> None:
        for suffix in SUFFIXES:
            if segment.exists(suffix):
                self._disk.remove(segment.path(suffix))
            self._unsynced.pop(segment.path(suffix), None)
        self._names_changed = True

    def _forget_recent(self) -> None:
        self._recent.clear()
        self._recent_bytes = 0

    # ---------------------------------------------------------------- opening

    def open(self, start_offset: int | None, synced_offset: int, *, was_clean: bool) -> None:
        """Read what is there.

        Args:
            start_offset: the first offset that is served, as a checkpoint says; None: that of the first segment.
            synced_offset: everything below was on the disk for certain.
            was_clean: the log was closed in order.

        Raises:
            Damaged: something below `synced_offset`, or in a sealed segment, cannot be read.
        """
        self._clear_up()
        names = self._disk.listed(self.directory)
        bases = sorted(int(name.removesuffix(LOG)) for name in names if name.endswith(LOG) and name[:20].isdecimal())
        if not bases:
            with self._failing():
                self._segments = [self._empty_segment(start_offset or 0)]
            self._start = self._durable = start_offset or 0
            return
        self._segments = [self._new_segment(base) for base in bases]
        self._start = bases[0] if bases and start_offset is None else start_offset or 0
        self._epochs = self._read_epochs()
        for segment in self._segments[:-1]:
            self._load(segment)
        if self._segments:
            last = self._segments[-1]
            if was_clean:
                self._load(last)
            else:
                self._recover(last, synced_offset)
        self._check_order()
        self._start = min(max(self._start, bases[0] if bases else 0), self.end_offset) if bases else self._start
        self._durable = self.end_offset
        self._read_aborted(was_clean=was_clean)

    def _clear_up(self) -> None:
        """Files that a crash left behind: renamed to be removed, or half made."""
        for name in self._disk.listed(self.directory):
            if name.endswith((DELETED, CLEANED, ".tmp")):
                self._disk.remove(f"{self.directory}/{name}")
                self._names_changed = True

    def _read_epochs(self) -> list[tuple[int, int]]:
        path = f"{self.directory}/{LEADER_EPOCHS}"
        try:
            return list(read_leader_epochs(self._disk.read(path))) if self._disk.exists(path) else []
        except Undecodable:
            return []

    def _load(self, segment: Segment) -> None:
        """A segment that was synced whole: by its indexes, or where they fail by its batches, all of them sound."""
        try:
            segment.load()
        except (Undecodable, OSError):
            _, fault = segment.scan(has_gaps=self.config.is_compacted)
            if fault is not None:
                raise self._damaged(segment, segment.size, fault) from None
            self._unsynced |= dict.fromkeys(segment.write_indexes())
            self._names_changed = True

    def _recover(self, segment: Segment, synced_offset: int) -> None:
        """The last segment after a crash: sound batches stay, what is behind them was never acknowledged."""
        found, fault = segment.scan(has_gaps=self.config.is_compacted)
        if segment.end_offset < synced_offset:
            raise self._damaged(segment, segment.size, fault or f"it ends, and offset {synced_offset} was synced")
        for header in found:
            known = next((epoch for epoch, start in reversed(self._epochs) if start <= header.base_offset), NONE)
            if header.base_offset < synced_offset and known not in (NONE, header.leader_epoch):
                position = segment.position_of(header.base_offset)[0]
                raise self._damaged(segment, position, f"leader epoch {header.leader_epoch} where {known} is due")
        segment.cut_file()
        self._unsynced[segment.path(LOG)] = None
        self._names_changed = True
        self._epochs = [entry for entry in self._epochs if entry[1] < segment.end_offset]
        for header in found:
            self._begins_epoch(header.leader_epoch, header.base_offset)
        self._write_epochs()
        self.flush()

    def _check_order(self) -> None:
        for before, segment in zip(self._segments, self._segments[1:], strict=False):
            in_order = before.end_offset <= segment.base_offset
            if not in_order or (before.end_offset < segment.base_offset and not self.config.is_compacted):
                raise self._damaged(
                    before,
                    before.size,
                    f"it ends at offset {before.end_offset}, the next one begins at {segment.base_offset}",
                )

    def _read_aborted(self, *, was_clean: bool) -> None:
        """What the indexes of aborted transactions say; from `fold_from` on they have to be made anew."""
        self._aborted, self._fold_from = [], None
        for segment in self._segments:
            entries, fault = segment.read_aborted()
            is_last = segment is self._segments[-1]
            if fault is not None or (is_last and not was_clean):
                self._fold_from = segment.base_offset
                break
            self._aborted += [AbortedTransaction(*entry) for entry in entries]

    def index_aborted_anew(self, entries: Iterable[AbortedTransaction]) -> None:
        """The aborted transactions from `fold_from` on, as the batches tell them."""
        if self._fold_from is None:
            return
        with self._failing():
            for segment in self._segments:
                if segment.base_offset >= self._fold_from:
                    self._disk.write(segment.path(TRANSACTION_INDEX), 0, b"")
                    self._disk.truncate(segment.path(TRANSACTION_INDEX), 0)
                    segment.aborted_size = 0
                    self._unsynced[segment.path(TRANSACTION_INDEX)] = None
            for entry in entries:
                self.add_aborted(entry)
        self._fold_from = None
        self.flush()

    def _damaged(self, segment: Segment, position: int | None, fault: str) -> Damaged:
        where, at = self._disk.name(segment.path(LOG)), segment.size if position is None else position
        behind = segment.sound_batch_behind(at) if segment.exists(LOG) else None
        found = "" if behind is None else f"; a sound batch follows at byte {behind}"
        return Damaged(
            f"{where}: damaged at byte {at}: {fault}{found}. What was there had been synced, so it is no torn tail and "
            f"is not cut. Restore the file from a copy; or, to go on without what is behind, cut it at byte {at}"
        )


class _Failing:
    """What fails inside closes the log."""

    __slots__ = ("_log",)

    def __init__(self, log: SegmentLog) -> None:
        self._log = log

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise self._log.fail(error) from error
