"""The log of one partition on disk: segments in a folder, as Kafka lays them out.

Theory of operation: an append is written at once, and durable when `sync` is done; whoever wants that together with
others asks for the files (`unsynced`), syncs them, and says so (`synced`). All segments but the last are sealed: they
were synced, with their indexes, before the next one began.
Source: reference §7.3; ``LocalLog.java``, ``UnifiedLog.java``.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.aborted_files import AbortedFiles
from zombieproof.broker.store.cleaner import Compacted, Plan
from zombieproof.broker.store.compaction import compact
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.known_logs import UNKNOWN, LogState, SegmentState
from zombieproof.broker.store.leader_epochs import LeaderEpochs
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.broker.store.log_loader import LogLoader, Recorded
from zombieproof.broker.store.segment import LOG, Segment, highest_in
from zombieproof.broker.store.segment_indexes import INDEX, NO_ENTRIES, WrittenIndexes
from zombieproof.formats.batches import Batch, DataHeader
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE

MOST_OFFSETS = 0x7FFFFFFF
"""So far from its base the offsets of a segment may go."""
RECENT_BYTES = 1 << 16
"""So many bytes of the newest batches are kept in memory: who reads at the end of a log reads no file."""


Found = TypeVar("Found", Batch, Batch | DataHeader)


class SegmentLog(LogFiles):
    """A log over segments; see `partition.log.Log`.

    Args:
        directory: its folder, which exists.
        topic: what the records of internal topics are read as.
        is_dirty: called with the log when it has something to sync.
        keep_start: called when the first offset that is served is to outlive a crash.

    `open` reads what is there. `cleaned_offset`: the cleaner has seen everything below; None: it was never here.
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
        keep_start: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(disk, directory, topic, config, clock, durability)
        self._is_dirty, self._keep_start = is_dirty, keep_start
        self._recent: deque[tuple[Batch, int]] = deque()
        self._recent_bytes = 0
        self._encoded: tuple[Batch, bytes] | None = None
        self._epochs, self._aborted = LeaderEpochs(self), AbortedFiles(self)
        self.loader = LogLoader(self, self._epochs, self._aborted)
        self.cleaned_offset: int | None = None

    @property
    def leader_epochs(self) -> tuple[tuple[int, int], ...]:
        """As the checkpoint says."""
        return self._epochs.entries

    # ---------------------------------------------------------------- reading

    def read(self, from_offset: int = 0) -> Iterator[Batch]:
        """Every batch that reaches `from_offset` or goes beyond, in order.

        Raises:
            Damaged: a batch cannot be read.
        """
        if self.offline is not None:
            raise self.offline
        if self._recent and from_offset >= self._recent[0][0].base_offset:
            return iter([batch for batch, _ in self._recent if batch.last_offset >= from_offset])
        return self._read(from_offset, Segment.read)

    def read_of_producers(self, from_offset: int) -> Iterator[Batch | DataHeader]:
        """What was written by producer ids from `from_offset` on; of batches with records only the headers."""
        return self._read(from_offset, Segment.read_of_producers)

    def read_since(self, timestamp_ms: int) -> Iterator[Batch]:
        """The batches with a time as late as `timestamp_ms`."""
        if self.offline is not None:
            raise self.offline
        return self._read(self.start_offset, lambda segment, offset: segment.read_since(timestamp_ms, offset))

    def latest(self) -> Batch | None:
        """The first batch with the greatest time, which may be below the start in a segment that is kept."""
        if self.offline is not None:
            raise self.offline
        greatest = NONE
        for segment in reversed(self.held):
            if segment.size and segment.may_have_since(greatest + 1):
                with self._reading(segment):
                    greatest = max(greatest, segment.latest_ms())
        first = self.held[0].base_offset if self.held else 0
        every = self._read(first, lambda segment, offset: segment.read_since(greatest, offset))
        return next((batch for batch in every if batch.has_record), None)

    def _read(self, from_offset: int, read: Callable[[Segment, int], Iterator[Found]]) -> Iterator[Found]:
        for segment in self.held[self.index_of(from_offset) :]:
            with self._reading(segment):
                for batch in read(segment, from_offset):
                    known = self._epochs.at(batch.base_offset)
                    if known not in (NONE, batch.leader_epoch):
                        position = segment.position_of(batch.base_offset)
                        raise Undecodable(f"leader epoch {batch.leader_epoch} where {known} is due", position)
                    yield batch

    @contextmanager
    def _reading(self, segment: Segment) -> Iterator[None]:
        """What cannot be read takes the log offline."""
        try:
            yield
        except Undecodable as fault:
            raise self.take_damage(self.damaged(segment, fault.position, str(fault))) from fault
        except OSError as error:
            raise self.take_damage(self.unreadable(error)) from error

    def extend_indexes(self) -> None:
        """Write what was added to the indexes of the last segment; where the disk does not take it nothing is lost."""
        if self.failure is None and self.offline is None and self.held[-1].size:
            with suppress(OSError):
                self.held[-1].extend_indexes()

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
        with self.failing():
            segment = self._active(batch.base_offset)
            self._epochs.assign(batch.leader_epoch, batch.base_offset)
            segment.append(data, batch.last_offset, batch.timestamp_ms)
        self.touched[segment.path(LOG)] = None
        self._encoded = None
        self.highest = self.highest.among(highest_in(batch, self.topic))
        self._remember(batch, len(data))
        self._is_dirty(self)
        return batch

    def is_full(self, batch: Batch) -> bool:
        """Whether the store begins a new segment before `batch`; then `roll` is due."""
        if not self.held or self.held[-1].size == 0:
            return False
        active, now_ms = self.held[-1], self.clock.now_ms()
        return (
            active.size + len(self._encode(batch)) > self.config.segment_bytes
            or now_ms - active.first_timestamp_ms >= self.config.longest_segment_ms
            or self.end_offset + batch.last_offset_delta - active.base_offset > MOST_OFFSETS
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
        if not self.held or self.held[-1].size == 0:
            return
        with self.failing():
            self.touched |= dict.fromkeys(self.held[-1].write_indexes())
            self.names_changed = True
        self.flush()
        with self.failing():
            self._record(sealed=len(self.held))
            self.held.append(self.empty_segment(self.end_offset))

    def _record(self, *, sealed: int, anew_from: int | None = None) -> None:
        """Enter the first `sealed` segments into the folder's record; those from an offset on as they are now."""
        known, entries = self.states.state.segments, list[SegmentState]()
        for place, segment in enumerate(self.held[:sealed]):
            behind = self.held[place + 1].base_offset if place + 1 < len(self.held) else self.end_offset
            entry, is_last = known.get(segment.base_offset), place + 1 == len(self.held)
            is_changed = is_last or (anew_from is not None and segment.base_offset >= anew_from)
            if entry is None or is_changed or UNKNOWN in entry[-3:]:
                entry = segment.state(behind, self.highest)
            entries.append(entry)
        self.names_changed |= self.states.write(entries, self.leader_epochs)

    def record_snapshots(self) -> None:
        """Enter the snapshots of producers into the folder's record; the log is on the disk up to their offsets.

        Raises:
            StorageFailure: the disk has failed.
        """
        if self.states.snapshots == self.states.state.snapshots:
            return
        with self.failing():
            # Their names come first: no record names a file that a crash takes away.
            self.disk.sync_directory(self.directory)
            if self.states.is_there:
                self.names_changed |= self.states.write(self.states.state.segments.values())
            else:
                self._record(sealed=len(self.held) - 1)
        self._is_dirty(self)

    def _active(self, offset: int) -> Segment:
        segment = self.held[-1]
        if segment.size == 0 and segment.base_offset != offset and not self.config.is_compacted:
            self.remove(segment)
            self._move_end(offset)
            segment = self.held[-1] = self.empty_segment(offset)
        if segment.size == 0:
            self.names_changed = True
        return segment

    def _move_end(self, offset: int) -> None:
        """The segment behind the last sealed one begins at another offset than its end."""
        entry = self.states.state.segments.get(self.held[-2].base_offset) if len(self.held) > 1 else None
        if entry is not None:
            self.states.strike_off(entry.base_offset, entry.base_offset + 1, entry._replace(next_offset=offset))

    def _remember(self, batch: Batch, size: int) -> None:
        self._recent.append((batch, size))
        self._recent_bytes += size
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= self._recent.popleft()[1]

    def close(self) -> None:
        """Seal nothing, but leave both indexes of the last segment and everything else on the disk."""
        if not self.held:
            return
        last = self.held[-1]
        if last.size or not last.exists(INDEX):
            with self.failing():
                self.touched |= dict.fromkeys(last.write_indexes())
                self.names_changed = True
        self.flush()
        with self.failing():
            self._record(sealed=len(self.held) if last.size else len(self.held) - 1)
        self.flush()

    def move_to(self, directory: str) -> None:
        """Move the folder; see `LogFiles.move_to`."""
        super().move_to(directory)
        self._is_dirty(self)

    # ---------------------------------------------------------------- the index of aborted transactions

    def aborted(self) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions of which the files tell, in the order of their markers."""
        return tuple(self._aborted.entries)

    @property
    def fold_from(self) -> int:
        """Where the segments begin whose index could not be believed; the end where all could."""
        doubtful = self._aborted.first_doubtful
        return self.end_offset if doubtful is None else doubtful

    def add_aborted(self, entry: AbortedTransaction) -> None:
        """An aborted transaction ends with the newest marker.

        Raises:
            StorageFailure: the disk has failed.
        """
        self._aborted.add(entry)
        self._is_dirty(self)

    def index_aborted_anew(self, entries: Iterable[AbortedTransaction]) -> None:
        """The aborted transactions from `fold_from` on, as the batches tell them."""
        first = self._aborted.first_doubtful
        self._aborted.index_anew(entries)
        with self.failing():
            self._record(sealed=len(self.held) - 1, anew_from=first)

    # ---------------------------------------------------------------- cutting

    def truncate(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset`."""
        if end_offset >= self.end_offset:
            return
        self.recovery_point = min(self.recovery_point, end_offset)
        with self.failing():
            self._withdraw(end_offset)
            dropped = [each for each in self.held[1:] if each.base_offset >= end_offset]
            for segment in reversed(dropped):
                self.remove(segment)
            if dropped:
                # Before the one in front of them is cut: nothing may follow a segment that is too short.
                del self.held[-len(dropped) :]
                self.disk.sync_directory(self.directory)
            if self.held and self.held[-1].size:
                try:
                    self.held[-1].cut(end_offset)
                except Undecodable as fault:
                    raise self.take_damage(self.damaged(self.held[-1], fault.position, str(fault))) from fault
                self.touched |= dict.fromkeys((self.held[-1].path(LOG), *self.held[-1].write_indexes()))
            self._epochs.cut(self.end_offset)
            self._epochs.write()
            self._aborted.rewrite_last()
        self._forget_recent()
        self.recovery_point = min(self.recovery_point, self.end_offset)
        if self.cleaned_offset is not None:
            self.cleaned_offset = min(self.cleaned_offset, self.held[-1].base_offset)
        self.flush()

    def _withdraw(self, end_offset: int) -> None:
        """Nothing is recorded of batches that reach `end_offset`: they are dropped next."""
        kept = [each for each in self.states.state.segments.values() if each.next_offset <= end_offset]
        epochs = tuple(each for each in self.leader_epochs if each[1] < end_offset)
        left = {offset: seal for offset, seal in self.states.snapshots.items() if offset <= end_offset}
        self.states.snapshots = left
        if self.states.write(kept, epochs):
            self.disk.sync_directory(self.directory)
        self._keep_start()

    def restart_at(self, offset: int) -> None:
        """Drop everything; the next record gets `offset`."""
        self.start_offset = self.recovery_point = offset
        with self.failing():
            self._withdraw(0)
            for segment in self.held:
                self.remove(segment)
            self.held, self._aborted.entries = [self.empty_segment(offset)], []
            self._epochs.cut(0)
            self._epochs.write()
        self._forget_recent()
        self.cleaned_offset = None
        self.flush()

    def raise_start(self, offset: int) -> None:
        """Records below `offset` are not served any more, not after a crash either; segments that are wholly below go.

        Raises:
            ValueError: `offset` is behind the end of the log.
            StorageFailure: the disk has failed.
        """
        if offset > self.end_offset:
            raise ValueError(f"the log ends at {self.end_offset}; it cannot start at {offset}")
        if offset <= self.start_offset:
            return
        self.start_offset = offset
        with self.failing():
            self._keep_start()
            while len(self.held) > 1 and self.held[1].base_offset <= offset:
                self.delete(self.held.pop(0))
            oldest = self.held[0].base_offset if self.held else offset
            self._aborted.forget_before(oldest)
        self._is_dirty(self)

    def compact(self, plan: Plan) -> Compacted:
        """A pass of the cleaner over the closed segments; see `compaction.compact`.

        Raises:
            StorageFailure: the disk has failed; `aborted` says what is so then.
            Damaged: a batch cannot be read.
        """
        with self.failing():
            try:
                done = compact(self, self._aborted, plan)
            except Damaged as damage:
                raise self.take_damage(damage) from damage
        self._forget_recent()
        self.cleaned_offset = plan.end_offset
        return done

    def expired_before(self, high_watermark: int) -> int:
        """Where the log would start by its settings of retention: the first segment that stays, or the end."""
        kept = [each for each in self.held if each.size]
        if not self.config.is_deleted or not kept:
            return self.start_offset
        now_ms, config, size = self.clock.now_ms(), self.config, sum(each.size for each in kept)
        for segment in kept:
            too_old = config.retention_ms != NONE and segment.is_older_than(now_ms - config.retention_ms)
            too_large = config.retention_bytes != NONE and size - segment.size >= config.retention_bytes
            if segment.end_offset > high_watermark or not (too_old or too_large):
                return max(segment.base_offset, self.start_offset)
            size -= segment.size
        return self.end_offset

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
            Damaged: something below `synced_offset`, or in a sealed segment, cannot be read; nothing is held then.
        """
        self.loader.open(Recorded(start_offset, synced_offset, was_clean))

    @property
    def state(self) -> LogState:
        """What is to be recorded of the log."""
        digest = self._aborted.digest(self.held[-1].base_offset, self.recovery_point) if self.held else (0, 0)
        folder = self.states.state
        first = (self.held[-1].base_offset, self.held[-1].first_checksum) if self.held else (0, 0)
        offsets, size = (self.start_offset, self.recovery_point), self._synced_size()
        sizes = size, *self.written_indexes
        return LogState(folder.topic_id, *offsets, *self.highest, *digest, *first, folder.sequence, *sizes)

    @property
    def written_indexes(self) -> WrittenIndexes:
        """The two indexes of the last segment as they are on the disk."""
        return self.held[-1].written_indexes if self.held else NO_ENTRIES

    def _synced_size(self) -> int:
        """The bytes of the last segment below the recovery point; 0: there are none, or they cannot be read."""
        last = self.held[-1] if self.held else None
        if last is None or self.recovery_point <= last.base_offset:
            return 0
        if self.recovery_point == last.end_offset:
            return last.size
        try:
            return last.position_of(self.recovery_point)
        except (Undecodable, OSError):  # A reader will find it.
            return 0
