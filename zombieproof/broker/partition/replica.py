"""One replica of one partition: its log, its producers, its aborted transactions, and how far readers may read.

Theory of operation: a leader judges a batch under what it remembers, puts it into its log, and remembers it; it is
answered and read when it is durable at every replica in sync, which is what the high watermark says. A
follower takes what the leader has, unjudged. Both remember the same, so a replica that is elected goes on where the
old leader was; what only its memory held (guards) stays with it. Whoever starts again reads its log; of each producer
it then knows the newest batch only (reference §3.7, §14).
Source: reference §3.1 to §3.7, §6; ``UnifiedLog.java``, ``Partition.scala``.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.aborted_index import AbortedIndex, AbortedTransaction
from zombieproof.broker.partition.log import Damaged, Log, StorageFailure
from zombieproof.broker.partition.producer_states import (
    CompletedTransaction,
    ProducerStates,
    TokenSource,
    Verification,
)
from zombieproof.broker.partition.snapshots import SnapshotStore
from zombieproof.broker.partition.written import Written
from zombieproof.broker.store.cleaner import CleanerSettings, LastRecord, Plan
from zombieproof.broker.store.config import LogConfig
from zombieproof.formats.batches import Batch, Marker
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import size_of
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import (
    EVERYTHING,
    Fetched,
    ListedOffset,
    ProducerDescription,
    ProducersDescribed,
)
from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Isolation, Mode, Origin, Place, Row
from zombieproof.statemachines.partition_leader import offsets
from zombieproof.statemachines.partition_leader.batches import last_sequence_of
from zombieproof.statemachines.partition_leader.leader_epochs import end_of_epoch, epoch_at, with_present_epoch


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of a batch. `batch` is what is in the log; None where nothing was appended.

    `is_duplicate`: the batch was in the log before, at `base_offset`. `row` is the rule that answered.
    `log_append_time_ms`: when the broker stamped it, NONE if it does not; the time of a duplicate.
    """

    error: int
    row: Row
    base_offset: int = NONE
    log_start_offset: int = NONE
    is_duplicate: bool = False
    batch: Batch | None = None
    log_append_time_ms: int = NONE


def _aborted(completed: CompletedTransaction) -> AbortedTransaction:
    of, first, last, stable = (
        completed.producer_id,
        completed.first_offset,
        completed.last_offset,
        completed.last_stable_offset,
    )
    return AbortedTransaction(of, first, last, stable)


def packed_anew(batch: Batch, codec: Codec) -> Batch:
    """A batch whose records another codec packs; each keeps the time that a consumer would be told."""
    times = zip(batch.records, batch.timestamps, strict=True)
    records = tuple(replace(record, timestamp_ms=time_ms) for record, time_ms in times)
    return replace(batch, codec=codec, records=records, encoded=None, base_timestamp_ms=None)


def _last_record(entry: ProducerEntry) -> LastRecord:
    last = entry.batches[entry.batch_count - 1].last_offset if entry.batch_count else None
    return LastRecord(last, entry.producer_epoch)


class Room(NamedTuple):
    """For how much of a partition there is room in an answer; `takes_one`: in any case for the first batch."""

    most_bytes: int
    takes_one: bool = True
    most_batches: int = EVERYTHING


ROOM_FOR_ALL = Room(EVERYTHING)


class Replica:
    """A partition at one broker, with the log that outlives it.

    Args:
        log: the store of this replica; what it holds is not read before `recover`.
        tokens: where guards come from; shared by all replicas of a cluster.
        snapshots: where snapshots of producer state are kept; in memory, for as long as the replica lives, unless said.

    Each step adds to `written`, which the replicas of a broker share, if it moves the log. `config` are the settings of
    its topic, which whoever has the replica sets. `start_elsewhere`: the least offset with which the log of another
    replica begins that is up; None: there is no other. `is_changing`: an append or a deletion was begun and not ended.
    """

    def __init__(
        self,
        partition: TopicPartition,
        log: Log,
        rules: Rules,
        settings: Settings,
        clock: Clock,
        journal: Journal,
        tokens: TokenSource,
        snapshots: SnapshotStore | None = None,
    ) -> None:
        self.partition, self.log, self.rules = partition, log, rules
        self._clock, self._tokens = clock, tokens
        self.written = Written()
        subject = f"{partition[0]}-{partition[1]}"
        self.producers = ProducerStates(subject, rules, settings, clock, journal, snapshots)
        self.aborted = AbortedIndex()
        self.leader_epoch, self._led_from = NONE, NONE
        self.leads = False
        self.config = LogConfig()
        self.in_sync = 1
        self.start_elsewhere: int | None = None
        self.is_changing = False
        self._high_watermark: int | None = None

    # ---------------------------------------------------------------- offsets

    @property
    def high_watermark(self) -> int:
        """Where replicated data ends: where this log is durable, unless somebody has said otherwise."""
        return self.log.durable_offset if self._high_watermark is None else self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int | None) -> None:
        self._high_watermark = None if offset is None else min(offset, self.log.durable_offset)
        self.producers.on_high_watermark(self.high_watermark)

    def raise_high_watermark(self, offset: int | None = None) -> None:
        """Everything below `offset` is durable at every replica in sync; None: at this one, which is the only one."""
        if offset is None:
            self.producers.on_high_watermark(self.high_watermark)
        else:
            self.high_watermark = max(self.high_watermark, offset)

    @property
    def first_unstable_offset(self) -> int:
        """Where the earliest transaction begins that is open or not replicated yet, or NONE."""
        return self.producers.readable(self._reach()).first_unstable

    @property
    def last_stable_offset(self) -> int:
        """Where read_committed readers stop."""
        return self.producers.readable(self._reach()).last_stable

    @property
    def now_ms(self) -> int:
        """The time of its broker."""
        return self._clock.now_ms()

    def _reach(self) -> offsets.Reach:
        return offsets.reach_of(self.log.start_offset, self.high_watermark, self.log.end_offset, self.producers.rules)

    # ---------------------------------------------------------------- roles

    def lead(self, leader_epoch: int) -> None:
        """Lead the partition. Memory goes on: a replica that followed knows what its leader knew."""
        self.leader_epoch, self.leads, self._led_from = leader_epoch, True, self.log.end_offset
        self.written.add(self.partition)

    def follow(self, leader_epoch: int) -> None:
        """Follow another leader. Guards are kept, as in Kafka: they belong to the log, not to the role."""
        self.leader_epoch, self.leads, self._led_from = leader_epoch, False, NONE

    # ---------------------------------------------------------------- writing

    def begin_verification(self, batch: Batch, mode: Mode, *, of_group: bool = False) -> Verification:
        """Whether the coordinator has to be asked before `batch` (with a producer id) is appended, and the guard.

        `of_group`: it is of a group coordinator, whose clients are told errors in another way.
        """
        return self.producers.begin_verification(batch, mode, self._tokens, of_group=of_group)

    def append(self, batch: Batch, guard: int, origin: Origin) -> Appended:
        """Append a batch if the producer's past allows it; `guard` is what `begin_verification` gave, 0 for none."""
        if self.log.offline is not None:
            return Appended(Error.KAFKA_STORAGE_ERROR, Row.NO_ROW)
        judged = self.producers.judge(batch, guard, origin)
        row, start = Row(judged.row), self.log.start_offset
        if judged.appends:
            self.is_changing = True
            try:
                written = self._write(batch)
            except StorageFailure:
                self.is_changing = False
                return Appended(Error.KAFKA_STORAGE_ERROR, row, log_start_offset=start)
            self._note(self.producers.record(written, judged.event))
            self.is_changing = False
            if self.log.failure is not None:
                return Appended(Error.KAFKA_STORAGE_ERROR, row, written.base_offset, start, batch=written)
            stamp_ms = written.timestamp_ms if self.config.stamps else NONE
            return Appended(Error.NONE, row, written.base_offset, start, False, written, stamp_ms)
        if judged.error != Error.NONE:
            return Appended(judged.error, row, log_start_offset=start)
        try:
            return self._duplicate(row, judged.duplicate_of - batch.last_offset_delta)
        except Damaged:
            return Appended(Error.KAFKA_STORAGE_ERROR, row)

    def _duplicate(self, row: Row, base_offset: int) -> Appended:
        """A batch that is in the log already; who asks is told its time, also where the broker stamps none."""
        there = next(iter(self.log.read(base_offset)), None) if base_offset >= self.log.start_offset else None
        at_ms = NONE if there is None or there.base_offset != base_offset else there.timestamp_ms
        start = self.log.start_offset
        return Appended(Error.NONE, row, base_offset, start, is_duplicate=True, log_append_time_ms=at_ms)

    def append_marker(self, producer_id: int, producer_epoch: int, marker: Marker, origin: Origin) -> Appended:
        """Append the end of a transaction, if the coordinator that sends it is not too late."""
        batch = Batch(producer_id, producer_epoch, transactional=True, marker=marker)
        return self.append(batch, 0, origin)

    def replicate(self, batch: Batch) -> None:
        """Take a batch from the leader's log, unjudged.

        Raises:
            ValueError: it does not continue the log.
        """
        self._make_room(batch)
        self.log.append(batch)
        self._note(self.producers.replay(batch))

    def _write(self, batch: Batch) -> Batch:
        placed = self._placed(batch)
        self._make_room(placed)
        written = self.log.append(placed)
        self.written.add(self.partition)
        return written

    def _placed(self, batch: Batch) -> Batch:
        """A batch as its topic wants it, at the end of the log: packed by its codec, with the time of who stamps it."""
        config, codec = self.config, self.config.compression_type
        if codec is not None and codec != batch.codec and batch.marker is None:
            batch = packed_anew(batch, codec)
        return replace(
            batch,
            timestamp_ms=self._clock.now_ms() if config.stamps or batch.timestamp_ms == NONE else batch.timestamp_ms,
            timestamp_type=config.message_timestamp_type,
            leader_epoch=self.leader_epoch,
            base_offset=self.log.end_offset,
        )

    def _make_room(self, batch: Batch) -> None:
        """The store begins a new segment where it has to: every replica by itself, as its own files are."""
        if self.log.is_full(batch):
            self.roll()
            self.log.roll()

    def _note(self, completed: CompletedTransaction | None) -> None:
        """The log is longer now, and `completed` has ended."""
        if completed is not None and completed.is_aborted:
            self.aborted.append(_aborted(completed))
            # A store that fails here is closed from now on: whoever waits for the marker is told so.
            with suppress(StorageFailure):
                self.log.add_aborted(_aborted(completed))
        self.producers.on_high_watermark(self.high_watermark)

    # ---------------------------------------------------------------- restart and truncation

    def recover(self, clean: bool) -> None:
        """Know what the log says, after a start: `clean` says whether `stop` was called before.

        Either way a snapshot at the end of the log is what memory begins with: the broker takes one when it stops, or
        when it has read its log after a kill (reference §14 on §3.7).
        """
        start = self.log.start_offset
        self.producers.snapshots.keep_between(start + 1, self.log.end_offset)
        self.producers.reload(start)
        first, completed = self.producers.map_end_offset, list[AbortedTransaction]()
        if not clean or first < self.log.end_offset:
            completed = self._fold_log(self.producers, first)
            self.producers.take_snapshot()
            self.producers.reload(start)
        self._rebuild_index(first, completed)
        self.producers.snapshots.record()

    def stop(self) -> None:
        """Stop in order: what is known of producers is kept in a snapshot."""
        self.producers.take_snapshot()

    def roll(self) -> None:
        """The store begins a new segment: what is known of producers is kept beside it."""
        self.producers.take_snapshot()

    def truncate(self, end_offset: int) -> None:
        """Drop everything from `end_offset` on, which the leader never had, and know what is left."""
        self.log.truncate(end_offset)
        self.producers.truncate_and_reload(self.log.start_offset, self.log.end_offset)
        if self._high_watermark is not None:
            self._high_watermark = min(self._high_watermark, self.log.end_offset)
        self.aborted.truncate(self.log.end_offset)
        for batch in self.log.read(self.producers.map_end_offset):
            self.producers.replay(batch)
        self.producers.on_high_watermark(self.high_watermark)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything; the log begins anew at `offset`."""
        self.log.restart_at(offset)
        self.aborted.reset()
        self._high_watermark = None
        self.producers.truncate_fully_and_start_at(offset)

    def raise_log_start(self, offset: int) -> None:
        """Records below `offset` are not served any more; producers are remembered all the same."""
        self.log.raise_start(offset)
        behind = max(self.log.fold_from, self.log.start_offset)
        newest = [each for each in self.aborted if each.last_offset >= behind]
        self.aborted = AbortedIndex((*self.log.aborted(), *newest))
        self.producers.snapshots.delete_before(offset)
        self.producers.on_log_start(offset)

    def compact(self, first_dirty_offset: int, end_offset: int, settings: CleanerSettings) -> None:
        """A pass of the cleaner over everything below `end_offset`, where a segment begins and all is stable.

        Raises:
            StorageFailure: the store has failed.
            Damaged: a batch cannot be read.
        """
        known = {producer_id: _last_record(entry) for producer_id, entry in self.producers.items()}
        now_ms, aborted = self._clock.now_ms(), tuple(self.aborted)
        try:
            plan = Plan(first_dirty_offset, end_offset, now_ms, aborted, known, settings, self.rules)
            done = self.log.compact(plan)
        except StorageFailure:
            self.aborted = AbortedIndex(self.log.aborted())
            raise
        self.aborted = AbortedIndex(done.aborted)
        for offset in done.merged:
            self.producers.snapshots.delete(offset)

    @property
    def low_watermark(self) -> int:
        """Everything below is gone at every replica that is up."""
        here, elsewhere = self.log.start_offset, self.start_elsewhere
        return here if elsewhere is None else min(here, elsewhere)

    def delete_records(self, offset: int) -> None:
        """Records below `offset` are gone for good when this returns; what follows this replica is to follow.

        Raises:
            StorageFailure: the store has failed.
        """
        if offset > self.log.start_offset:
            self.is_changing = True
            try:
                self.raise_log_start(offset)
            except StorageFailure:
                self.is_changing = False
                raise
            self.is_changing = False
            self.written.add(self.partition)

    def _fold_log(self, producers: ProducerStates, first: int) -> list[AbortedTransaction]:
        """Let `producers`, who know the log up to `first`, know it all; returned is what was aborted from there on."""
        completed = producers.fold(self.log.read_of_producers(first))
        found = [_aborted(each) for each in completed if each.is_aborted]
        producers.map_end_offset = max(producers.map_end_offset, self.log.end_offset)
        return found

    def _rebuild_index(self, folded_from: int, aborted: list[AbortedTransaction]) -> None:
        """Know the aborted transactions: as far as the store does not tell them, fold the log.

        Args:
            folded_from: from here on it was folded just now.
            aborted: those that this has found.
        """
        known, first = tuple(self.log.aborted()), self.log.fold_from
        found = list[AbortedTransaction]()
        if first < self.log.end_offset:
            if folded_from <= first:
                found = [each for each in aborted if each.last_offset >= first]
            else:
                found = self._fold_log(self.producers.as_of(first, self.log.read_of_producers), first)
            self.log.index_aborted_anew(found)
        self.aborted = AbortedIndex((*known, *found))

    # ---------------------------------------------------------------- reading

    def fetch(self, offset: int, isolation: Isolation, room: Room = ROOM_FOR_ALL, last_epoch: int = NONE) -> Fetched:
        """The batches from `offset` up to where a reader of this isolation may read; followers answer too.

        Args:
            offset: where the reader goes on.
            isolation: how it reads.
            room: for how much there is room.
            last_epoch: under which leader epoch it has read last, NONE: it does not say it.
        """
        reach = self._reach()
        stable = self.producers.readable(reach)
        read = offsets.fetch(offset, isolation, stable, reach, self.rules)
        epoch, end_offset = self.end_of_epoch(last_epoch)
        before = offsets.has_read(offset, last_epoch, epoch, end_offset)
        if before.error != Error.NONE:
            return Fetched(before.error)
        if before.is_elsewhere:
            return _diverging(epoch, end_offset, reach, stable, isolation)
        if read.error != Error.NONE:
            return Fetched(read.error)
        batches, read_bytes = _within(self.log.read(offset), read.bound, room)
        aborted: tuple[tuple[int, int], ...] | None = None
        if read.lists_aborted:
            found = self._aborted_of(offset, batches, read.aborted_below) if batches else ()
            aborted = tuple((entry.producer_id, entry.first_offset) for entry in found)
        return Fetched(
            read.error,
            reach.high_watermark,
            stable.last_stable,
            reach.log_start,
            aborted,
            batches,
            read_bytes=read_bytes,
        )

    def _aborted_of(self, offset: int, batches: tuple[Batch, ...], below: int) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions that the answer to a fetch of `batches` lists; all of them begin below `below`.

        Kafka's offset index is sparse, so the list includes those that begin shortly after the batches.
        Source: ``LocalLog.addAbortedTransactions``, ``LogSegment.fetchUpperBoundOffset``.
        """
        if not self.aborted.reaches(offset):
            return ()
        passed = 0
        for batch in self.log.read(batches[-1].last_offset + 1):
            if passed > self.config.index_interval_bytes:
                below = min(below, batch.base_offset)
                break
            passed += size_of(batch)
        return self.aborted.collect(offset, below).aborted

    def listed_offset(self, timestamp_ms: int, isolation: Isolation) -> ListedOffset:
        """What ListOffsets tells such a reader of a time, or of a place that a negative one stands for."""
        place, reach = Place(offsets.looked_for(timestamp_ms)), self._reach()
        if place is Place.LATEST:
            end = offsets.bound_of(isolation, self.producers.readable(reach), reach, self.rules)
            return ListedOffset(Error.NONE, end, leader_epoch=self.leader_epoch)
        if place is Place.EARLIEST:
            start = self.log.start_offset
            return ListedOffset(Error.NONE, start, leader_epoch=epoch_at(self.epochs, start))
        if place is Place.TIME:
            found, batch = self._first_since(timestamp_ms)
        else:
            batch = self.log.latest() if place is Place.GREATEST_TIME else None
            found = NONE if batch is None else _first_since(batch, batch.timestamp_ms, batch.base_offset)
        told = offsets.offset_for_time(found, isolation, self.producers.readable(reach), reach, self.rules)
        if told == NONE or batch is None:
            return ListedOffset(Error.NONE)
        return ListedOffset(Error.NONE, told, _time_at(batch, told), batch.leader_epoch)

    def _first_since(self, timestamp_ms: int) -> tuple[int, Batch | None]:
        """The first offset that can be read whose record is not older, and its batch; NONE, None: there is none."""
        for batch in self.log.read_since(timestamp_ms):
            found = _first_since(batch, timestamp_ms, self.log.start_offset)
            if found != NONE:
                return found, batch
        return NONE, None

    # ---------------------------------------------------------------- leader epochs

    @property
    def epochs(self) -> tuple[tuple[int, int], ...]:
        """The epochs whose leaders have written here, oldest first, each with its first offset; the present one too."""
        return with_present_epoch(self.log.leader_epochs, self.leader_epoch, self._led_from)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest known epoch up to `epoch`, and where its records end; NONE, NONE: none is known."""
        return end_of_epoch(self.epochs, epoch, self.log.end_offset)

    def describe_producers(self) -> ProducersDescribed:
        """Every producer that is remembered; followers answer too."""
        return ProducersDescribed(Error.NONE, tuple(self._described(producer_id) for producer_id in self.producers))

    def _described(self, producer_id: int) -> ProducerDescription:
        entry = self.producers.get(producer_id)
        if entry is None:
            raise KeyError(producer_id)
        return ProducerDescription(
            producer_id,
            entry.producer_epoch,
            last_sequence_of(entry),
            entry.coordinator_epoch,
            entry.txn_first_offset,
            self.producers.last_timestamp_ms(producer_id),
        )

    # ---------------------------------------------------------------- time

    def expire_producers(self) -> None:
        """Forget producers that were silent, and guards that were unused, for ``producer.id.expiration.ms``."""
        self.producers.expire()

    def has_late_transaction(self) -> bool:
        """Whether the earliest open transaction hangs (KIP-664)."""
        return self.producers.has_late_transaction()


def _within(batches: Iterable[Batch], bound: int, room: Room) -> tuple[tuple[Batch, ...], int]:
    """The batches that end before `bound`, as many as there is room for, and how many bytes Kafka would return.

    Kafka cuts a batch that does not fit, but for the first, and counts what is left of it.
    """
    taken, size = list[Batch](), 0
    for batch in batches:
        if batch.last_offset >= bound:
            break
        after = size + size_of(batch)
        if len(taken) >= room.most_batches:
            break
        if after > room.most_bytes and (taken or not room.takes_one):
            size = max(size, room.most_bytes) if taken else 0
            break
        taken.append(batch)
        size = after
    return tuple(taken), size


def _diverging(epoch: int, end_offset: int, reach: offsets.Reach, stable: offsets.Readable, isolation: int) -> Fetched:
    """What a reader is told that has read what is not in this log."""
    aborted = () if offsets.lists_aborted(isolation) else None
    return Fetched(
        Error.NONE,
        reach.high_watermark,
        stable.last_stable,
        reach.log_start,
        aborted,
        diverging_epoch=epoch,
        diverging_end_offset=end_offset,
    )


def _time_at(batch: Batch, offset: int) -> int:
    """The timestamp of a record as a signed 64-bit number, as Java computes it; that of a marker is its batch's."""
    times = dict(zip(batch.offsets, batch.timestamps, strict=True))
    return (times.get(offset, batch.timestamp_ms) + 2**63) % 2**64 - 2**63


def _first_since(batch: Batch, timestamp_ms: int, start_offset: int) -> int:
    """The first offset from `start_offset` on whose record is not older; a marker is as old as its batch."""
    if batch.is_control:
        is_late = batch.timestamp_ms >= timestamp_ms and batch.base_offset >= start_offset
        return batch.base_offset if is_late and batch.has_record else NONE
    times = zip(batch.offsets, batch.timestamps, strict=True)
    return next((at for at, of in times if of >= timestamp_ms and at >= start_offset), NONE)
