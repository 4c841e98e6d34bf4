"""The log directory of one broker: a folder for each partition, checkpoints, and what says whose it is.

Theory of operation: logs that have something to sync are *dirty*. Whoever drives the broker takes all of them at once
(`begin_sync`), syncs them, beside everything else if he likes (`sync_all`), and says so (`Syncing.end`): one
sync for all that waits, which is what Kafka calls a group commit. How far each log is on the disk is noted in the
checkpoint of recovery points, which may be behind and is never before.
Source: ``LogManager.java``, ``MetaProperties.java``, ``PartitionMetadata.java``.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.discarded_folders import DiscardedFolders
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.findings import NOTHING, Finding, Repair, refusal, unreadable
from zombieproof.broker.store.known_logs import (
    LOG_STATES,
    BrokerState,
    LogState,
    checksum,
    read_log_states,
    replace_file,
    write_log_states,
)
from zombieproof.broker.store.log_cleaner import LogCleaner
from zombieproof.broker.store.log_loader import Recorded
from zombieproof.broker.store.segment import LOG, Highest, file_name
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.broker.store.segment_states import SegmentStates
from zombieproof.broker.store.snapshot_files import SnapshotFiles
from zombieproof.formats.checkpoints import read_offsets, write_offsets
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import (
    TOPIC_IDENTITY,
    encoded,
    read_topic_id,
    write_properties,
    write_topic_id,
)
from zombieproof.formats.record_batch import HEADER
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE

RECOVERY_POINTS, LOG_STARTS = "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"
CLEANED_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN, IDENTITY = ".kafka_cleanshutdown", "meta.properties"
CHECKPOINT_INTERVAL_MS = 1000
PROBE, PROBE_BYTES = "probe.tmp", 1 << 16
"""A file that is written to see whether the disk takes it, and removed."""
FILE_OF_CLUSTER = "cluster.json"


@dataclass(slots=True)
class Syncing:
    """What is to be synced of some logs, and how far they are then on the disk."""

    disk: Disk
    parts: list[tuple[SegmentLog, int, tuple[str, ...], bool]]
    failed: dict[SegmentLog, OSError] = field(default_factory=dict)

    def end(self) -> list[SegmentLog]:
        """Say how far the logs are on the disk now; returned are those that have moved, or have failed."""
        for log, end_offset, _, _ in self.parts:
            if log in self.failed:
                log.fail(self.failed[log])
            else:
                log.synced(end_offset)
        return [log for log, *_ in self.parts]


def sync_all(syncing: Sequence[Syncing]) -> None:
    """Sync what is begun in some directories of one disk, side by side; their logs may go on meanwhile."""
    every = [(each, log, partial(log.sync, files, names)) for each in syncing for log, _, files, names in each.parts]
    if every:
        errors = syncing[0].disk.side_by_side([job for *_, job in every])
        for (each, log, _), error in zip(every, errors, strict=True):
            if error is not None:
                each.failed[log] = error


class LogDirectory:
    """The logs of one broker below a folder of a disk.

    Args:
        path: the folder, below the disk's root; it is made, and its mark of a clean stop removed, when the first log
            is opened. Until then nothing is written.

    `look` says what is wrong with a log before it is opened, `findings` what is wrong with the checkpoints.
    `generation` is the one on the disk (0: none).
    """

    def __init__(
        self,
        disk: Disk,
        path: str,
        clock: Clock,
        durability: Durability = Durability.FSYNC,
    ) -> None:
        self.disk, self.path, self.durability = disk, path, durability
        self._clock = clock
        self._dirty: dict[SegmentLog, None] = {}
        self._in_trouble: dict[SegmentLog, None] = {}
        self._checkpointed_ms, self._has_news = 0, False
        self.logs: dict[TopicPartition, SegmentLog] = {}
        self._let_go: list[SegmentLog] = []
        self.cleaner = LogCleaner(self.logs, clock)
        self.discarded = DiscardedFolders(disk, path, clock)
        self.was_clean = disk.exists(f"{path}/{CLEAN_SHUTDOWN}")
        self.findings: list[Finding] = []
        self._looked: dict[TopicPartition, SegmentLog] = {}
        states = self._read_states()
        self._has_states = states is not None
        self._recorded, self.generation = states or BrokerState({})
        self._next_generation = self.generation
        self._recovery_points = self._read_checkpoint(RECOVERY_POINTS)
        self._log_starts = self._read_checkpoint(LOG_STARTS)
        self._cleaned_offsets = self._read_checkpoint(CLEANED_OFFSETS) or {}
        points = self._recovery_points or {}
        self.is_stale = any(points.get(each, 0) > state.end_offset for each, state in self._recorded.items())
        if self.is_stale:
            self._rebuilds(f"{path}/{LOG_STATES}", "it is an older one", f"{path}/{RECOVERY_POINTS}")
        self._is_begun = False
        self._is_due = bool(self.findings) or not self._has_states

    def begin(self) -> None:
        """Be in use: a start after this one finds that there was no clean stop, unless there is one."""
        if self._is_begun:
            return
        self._is_begun = True
        self.disk.make_directory(self.path)
        if self.was_clean:
            self.disk.remove(f"{self.path}/{CLEAN_SHUTDOWN}")
        # A cluster that names this folder is saved next: neither it nor what is in it may go with the power.
        self.disk.sync_directory(self.path)
        self.disk.sync_directory(self.path.rpartition("/")[0])

    # ---------------------------------------------------------------- looking

    def record(self, partition: TopicPartition, state: LogState) -> None:
        """Let a repaired log be recorded, on the disk, in the form that the directory has."""
        known = self._recorded.get(partition)
        # Kafka's checkpoints come first: if they had a higher end, our own record would count as older than they are.
        self._recovery_points = {**(self._recovery_points or {}), partition: state.end_offset}
        self._log_starts = {**(self._log_starts or {}), partition: state.start_offset}
        self._write_checkpoint(RECOVERY_POINTS, self._recovery_points)
        self._write_checkpoint(LOG_STARTS, self._log_starts)
        if known is not None:
            self._recorded[partition] = state._replace(
                topic_id=known.topic_id, producer_id=known.producer_id, coordinator_epoch=known.coordinator_epoch
            )
            replace_file(self.disk, f"{self.path}/{LOG_STATES}", write_log_states(self._recorded, self.generation))
        self.disk.sync_directory(self.path)

    def recorded(self, partition: TopicPartition, topic_id: str) -> Recorded:
        """What is recorded of a log: by ourselves, or where that is not there by the checkpoints that Kafka has."""
        state = self._recorded.get(partition)
        if state is not None and state.topic_id != topic_id:
            return Recorded(None, 0, self.was_clean)  # It is of a topic that was deleted.
        if state is not None:
            if self.is_stale:
                # Kafka's checkpoint was written since; of two starts the later one is the newer.
                newer = max(state.start_offset, (self._log_starts or {}).get(partition, 0))
                state = state._replace(start_offset=newer)
            return Recorded(state.start_offset, state.end_offset, self.was_clean, state, f"{self.path}/{LOG_STATES}")
        if self._has_states and not self.is_stale:
            return Recorded(None, 0, self.was_clean)
        points, starts = self._recovery_points or {}, self._log_starts or {}
        start = starts.get(partition)
        if start is None and self.was_clean and self._log_starts is not None:
            start = 0  # A clean stop has noted every log that does not start at 0.
        return Recorded(start, points.get(partition, 0), self.was_clean, None, f"{self.path}/{RECOVERY_POINTS}")

    def is_recorded(self, partition: TopicPartition, topic_id: str) -> bool:
        """Whether there was such a log."""
        if self._has_states:
            return partition in self._recorded and self._recorded[partition].topic_id == topic_id
        return partition in (self._recovery_points or {})

    def look(
        self, partition: TopicPartition, topic_id: UUID, config: LogConfig, *, reads_all: bool = False
    ) -> list[Finding]:
        """What is wrong with a log; nothing is written. A log that the cleaner was interrupted in is not looked at."""
        directory = self.folder_of(partition)
        if not self.disk.exists(directory):
            return self._look_at_missing(partition, directory, encoded(topic_id))
        log = self._log_of(partition, config)
        if log.loader.has_swaps:
            return []
        self._looked[partition] = log
        try:
            found = self._look_at_identity(partition, directory, encoded(topic_id))
            return found + log.loader.look(self.recorded(partition, encoded(topic_id)), reads_all=reads_all)
        except OSError as error:
            return [self._look_at_unreadable(partition, error)]

    def _look_at_unreadable(self, partition: TopicPartition, error: OSError) -> Finding:
        """A file of a log that the disk does not read."""
        fault, path = unreadable(error), self.folder_of(partition)
        name = str(error.filename or "").rpartition("/")[2]
        remedy, loses = "move it away", NOTHING
        if name in self.disk.listed(path):
            path = f"{path}/{name}"
        if path.endswith(LOG):
            loses = f"the records in the {self.disk.size(path)} bytes of it"
        return Finding(path, fault, "the disk", remedy, loses, Repair.MOVE_AWAY, self.node, partition)

    def highest_in(self, partition: TopicPartition) -> tuple[int, Highest]:
        """The highest leader epoch, producer id and coordinator epoch of a log that was looked at."""
        log = self._looked.get(partition)
        if log is None:
            return NONE, Highest()
        return max((epoch for epoch, _ in log.leader_epochs), default=NONE), log.highest

    def end_offset_of(self, partition: TopicPartition) -> int:
        """Where a log ends that was looked at."""
        log = self._looked.get(partition)
        return 0 if log is None else log.end_offset

    def is_interrupted(self, partition: TopicPartition) -> bool:
        """Whether a crash has interrupted the cleaner in a log."""
        return partition not in self._looked and self.disk.exists(self.folder_of(partition))

    def finish_swaps(self, partition: TopicPartition, topic_id: UUID, config: LogConfig) -> None:
        """Continue where the cleaner was interrupted in a log, and look at it then.

        Raises:
            Damaged: the log is not what it was.
        """
        directory = self.folder_of(partition)
        if partition in self._looked or not self.disk.exists(directory):
            return
        self._log_of(partition, config).loader.finish_swaps()
        refused = [each for each in self.look(partition, topic_id, config) if each.is_refused]
        if refused:
            raise refusal(self.disk, refused)

    def folder_of(self, partition: TopicPartition) -> str:
        """The folder of a partition."""
        topic, number = partition
        return f"{self.path}/{topic}-{number}"

    def _log_of(self, partition: TopicPartition, config: LogConfig) -> SegmentLog:
        return SegmentLog(
            self.disk,
            self.folder_of(partition),
            partition[0],
            config,
            self._clock,
            self.durability,
            self._is_dirty,
            self._checkpoint_now,
        )

    def _look_at_missing(self, partition: TopicPartition, directory: str, topic_id: str) -> list[Finding]:
        """A folder that is missing: one that nobody has made yet, or one that was there."""
        recorded = self.recorded(partition, topic_id)
        if recorded.claims_records:
            first, last = recorded.start_offset or 0, recorded.synced_offset - 1
            fault = f"the folder is missing, with the offsets {first} to {last}"
            remedy = f"begin an empty log at offset {recorded.synced_offset}"
            loses = f"the records at the offsets {first} to {last}"
            return [Finding(directory, fault, recorded.source, remedy, loses, Repair.RECREATE, self.node, partition)]
        if self.is_recorded(partition, topic_id) or (self.was_clean and not self._has_states):
            return [Finding(directory, "the folder is missing", "the log was empty", "make it again", node=self.node)]
        return []

    def _look_at_identity(self, partition: TopicPartition, directory: str, topic_id: str) -> list[Finding]:
        path, known = f"{directory}/{TOPIC_IDENTITY}", ""
        is_there = self.disk.exists(path)
        with suppress(Undecodable):
            known = read_topic_id(self.disk.read(path)) if is_there else ""
        recorded = SegmentStates(self.disk, directory)
        recorded.read(topic_id=topic_id)
        topic, number = partition
        if recorded.other is not None and known in ("", topic_id) and not self._begins_as_recorded(partition, topic_id):
            (of, was), path = recorded.other, recorded.path
            if of not in ("", topic_id):
                fault = f"the files in it are of partition {was} of the topic with the id {of}"
                return [self._foreign(directory, fault, path, partition, topic_id)]
            fault = f"the folder holds {topic}-{was}, and is called {topic}-{number}"
            remedy = f"rename the folder to {topic}-{was}; if it is to be {topic}-{number}, delete {path}"
            return [Finding(directory, fault, path, remedy, repair=Repair.NONE, node=self.node)]
        if known == topic_id:
            return []
        if recorded.state.topic_id == topic_id or known == "":
            if not is_there and not recorded.is_there:
                return []  # A crash came before the file: nothing was in the folder yet.
            fault = f"it names the topic id {known}, not {topic_id}" if known else "it holds no topic id"
            return [Finding(path, fault if is_there else "it is missing", recorded.path, "write it again")]
        fault = f"the folder holds the topic with the id {known}, and the one so called has the id {topic_id}"
        return [self._foreign(path, fault, FILE_OF_CLUSTER, partition, topic_id)]

    def _foreign(self, path: str, fault: str, source: str, partition: TopicPartition, topic_id: str) -> Finding:
        """The folder of a log holds another topic."""
        recorded = self.recorded(partition, topic_id)
        loses = "the records in the folder"
        if recorded.claims_records:
            first, last = recorded.start_offset or 0, recorded.synced_offset - 1
            loses += f", and the records of {partition[0]}-{partition[1]} at the offsets {first} to {last}"
        remedy = f"move the folder away, and begin an empty log at offset {recorded.synced_offset}"
        return Finding(path, fault, source, remedy, loses, Repair.SET_ASIDE, self.node, partition)

    def _begins_as_recorded(self, partition: TopicPartition, topic_id: str) -> bool:
        """Whether the last segment that is recorded of a log begins with the batch that it began with."""
        state = self.recorded(partition, topic_id).state
        path = "" if state is None else f"{self.folder_of(partition)}/{file_name(state.last_base, LOG)}"
        if state is None or not self.disk.exists(path):
            return False
        first = self.disk.read(path, 0, HEADER.size)
        return state.first_checksum == (checksum(first) if first else 0)

    @property
    def node(self) -> int | None:
        """The number of the broker, where the folder is named by it."""
        number = self.path.rpartition("-")[2]
        return int(number) if number.isdecimal() else None

    # ---------------------------------------------------------------- opening

    def open_store(self, partition: TopicPartition, topic_id: UUID, config: LogConfig | None = None) -> Store:
        """The store of a partition: what its folder holds, or an empty one; `config` None: Kafka's defaults.

        Raises:
            Damaged: the folder is of another topic, or its log is not what it was.
        """
        self.begin()
        if self._let_go:
            self.discard()  # The folder may be that of a deleted topic with the same name.
        directory = self.folder_of(partition)
        is_new = not self.disk.exists(directory)
        log = self._looked.pop(partition, None) or self._looked_at(partition, topic_id, config or LogConfig())
        if is_new:
            self.disk.make_directory(directory)
        log.configure(config or LogConfig())
        self._claim(directory, encoded(topic_id))
        log.states.state.topic_id, log.states.state.number = encoded(topic_id), partition[1]
        log.loader.settle()
        # What the checkpoint says of a folder that was not there is of a topic that was deleted.
        log.cleaned_offset = None if is_new else self._cleaned_offsets.get(partition)
        self._has_news = True
        return self._added(partition, log)

    def open_offline(self, partition: TopicPartition, topic_id: UUID, config: LogConfig, damage: Damaged) -> Store:
        """The store of a partition whose log is damaged: nothing of it is read, and what is recorded of it stays."""
        self.begin()
        log, recorded = self._log_of(partition, config), self.recorded(partition, encoded(topic_id))
        log.states.state.topic_id, log.states.state.number = encoded(topic_id), partition[1]
        log.cleaned_offset = self._cleaned_offsets.get(partition)
        log.start_offset, log.recovery_point = recorded.start_offset or 0, recorded.synced_offset
        log.offline = damage
        self._looked.pop(partition, None)
        return self._added(partition, log)

    def reopen(self, partition: TopicPartition, topic_id: UUID, config: LogConfig) -> Store:
        """Open a log again that had failed; what was not durable is dropped.

        Raises:
            OSError, StorageFailure: the disk still fails; the log is as it was.
            Damaged: the log is not what it was.
        """
        old, self.was_clean = self.logs[partition], False
        if old.states.state.topic_id:
            self._recorded[partition] = old.state
        self._dirty.pop(old, None)
        try:
            store = self.open_store(partition, topic_id, config)
            log = self.logs[partition]
            if self.durability is Durability.FSYNC and old.states.state.topic_id:
                log.truncate(max(old.recovery_point, log.start_offset))
        except (OSError, StorageFailure):
            self.logs[partition] = old
            raise
        return store

    def open_failed(self, partition: TopicPartition, config: LogConfig, error: OSError | StorageFailure) -> Store:
        """The store of a new partition that the disk has no room for: it is closed and offline until it is reopened."""
        log = self._log_of(partition, config)
        text = str(error) if isinstance(error, StorageFailure) else log.no_write(error)
        log.failure, log.offline = StorageFailure(text), Damaged(text)
        store = self._added(partition, log)
        log.in_trouble()
        return store

    @property
    def closed(self) -> list[TopicPartition]:
        """The logs that cannot be written because the disk has failed."""
        return [partition for partition, log in self.logs.items() if log.failure is not None]

    def take_refused(self) -> int:
        """How many writes were refused since this was asked last."""
        refused = 0
        for log in self.logs.values():
            refused, log.refused = refused + log.refused, 0
        return refused

    def fault_of_writing(self) -> str | None:
        """Why the disk does not take 64 KiB; None: it does."""
        path = f"{self.path}/{PROBE}"
        fault = None
        try:
            self.disk.write(path, 0, bytes(PROBE_BYTES))
            self.disk.sync(path)
        except OSError as error:
            fault = f"{error.filename or self.disk.name(path)}: {error.strerror or error}"
        with suppress(OSError):
            self.disk.remove(path)
        return fault

    def _added(self, partition: TopicPartition, log: SegmentLog) -> Store:
        log.in_trouble = partial(self._in_trouble.__setitem__, log, None)
        self.logs[partition] = log
        return Store(log, SnapshotFiles(log))

    def take_troubled(self) -> list[SegmentLog]:
        """The logs that were found damaged, or cannot be written any more, since this was asked last."""
        found = list(self._in_trouble)
        self._in_trouble.clear()
        return found

    def set_aside(self, partition: TopicPartition, folder: str) -> str | None:
        """Move the folder of a damaged log below `folder`; returned is its path on the disk, if there is one.

        Raises:
            OSError: the disk does not do it.
        """
        log = self.logs[partition]
        is_there, name, number = self.disk.exists(log.directory), log.directory.rpartition("/")[2], 0
        while self.disk.exists(path := f"{folder}/{name}{f'.{number}' if number else ''}"):
            number += 1
        if is_there:
            self.disk.make_directory(folder)
            self.disk.rename(log.directory, path)
            self.disk.sync_directory(folder)
            self.disk.sync_directory(self.path)
        del self.logs[partition]
        self._dirty.pop(log, None)
        # The log that takes its place is a new one: nothing is recorded of it, by Kafka's checkpoints neither.
        for recorded in (self._recorded, self._recovery_points, self._log_starts):
            if recorded is not None:
                recorded.pop(partition, None)
        return path if is_there else None

    def _looked_at(self, partition: TopicPartition, topic_id: UUID, config: LogConfig) -> SegmentLog:
        """A log that is looked at only now: a new one, or one that the cleaner was interrupted in."""
        self.finish_swaps(partition, topic_id, config)
        log = self._looked.pop(partition, None)
        if log is None:
            missing = self._look_at_missing(partition, self.folder_of(partition), encoded(topic_id))
            if refused := [each for each in missing if each.is_refused]:
                raise refusal(self.disk, refused, begins="")
            log, at = self._log_of(partition, config), self.recorded(partition, encoded(topic_id)).synced_offset
            log.loader.look(Recorded(at, at, self.was_clean))
        return log

    # ---------------------------------------------------------------- topics that are deleted

    def let_go(self, topics: Collection[str]) -> None:
        """These topics were deleted: their logs are none any more, and `discard` renames their folders."""
        for partition in [each for each in self.logs if each[0] in topics]:
            log = self.logs.pop(partition)
            self._dirty.pop(log, None)
            self._let_go.append(log)
            self._is_due = True

    def discard(self) -> None:
        """Rename the folders of logs that were let go; they are removed later.

        Raises:
            OSError: the disk does not do it; another call continues.
        """
        while self._let_go:
            log = self._let_go[0]
            if self.disk.exists(log.directory):
                self.discarded.add(log.directory, log.config.file_delete_delay_ms)
            del self._let_go[0]
        if self._is_due:
            self.checkpoint(at_once=True)
            self._is_due = False

    def _claim(self, directory: str, topic_id: str) -> None:
        path = f"{directory}/{TOPIC_IDENTITY}"
        with suppress(Undecodable):
            if self.disk.exists(path) and read_topic_id(self.disk.read(path)) == topic_id:
                return
        # A name that is cut is another name: it is there whole, or not at all.
        replace_file(self.disk, path, write_topic_id(topic_id))
        self.disk.sync_directory(directory)

    # ---------------------------------------------------------------- syncing

    def _is_dirty(self, log: SegmentLog) -> None:
        self._dirty[log] = None
        self._has_news = True

    def begin_sync(self) -> Syncing | None:
        """All that waits to be synced; None: nothing does."""
        if not self._dirty or self.durability is not Durability.FSYNC:
            return None
        parts = [(log, *log.unsynced()) for log in self._dirty if log.failure is None and log.offline is None]
        self._dirty.clear()
        return Syncing(self.disk, parts)

    def sync_written(self) -> None:
        """Sync what was written so far, in the middle of a turn. It counts as durable when the turn is synced.

        Raises:
            OSError: a log could not be synced, and is closed.
        """
        if self.durability is Durability.FSYNC:
            for log in [each for each in self._dirty if each.failure is None and each.offline is None]:
                _, files, names = log.unsynced()
                try:
                    log.sync(files, names)
                except OSError as error:
                    log.fail(error)
                    raise

    def partition_of(self, log: SegmentLog) -> TopicPartition:
        """Whose log it is."""
        topic, _, number = log.directory.rpartition("/")[2].rpartition("-")
        return topic, int(number)

    def checkpoint(self, *, at_once: bool = False) -> None:
        """Note how far the logs are on the disk, if it was noted long enough ago; `at_once`: now, and synced."""
        now_ms = self._clock.now_ms()
        if not at_once and (not self._has_news or now_ms - self._checkpointed_ms < CHECKPOINT_INTERVAL_MS):
            return
        self._checkpointed_ms, self._has_news = now_ms, bool(self._dirty)
        points = {partition: log.recovery_point for partition, log in self.logs.items() if log.recovery_point}
        for partition, log in self.logs.items():
            if points.get(partition) != (self._recovery_points or {}).get(partition):
                log.extend_indexes()
        self._write_states(at_once=at_once)
        if points != self._recovery_points or at_once:
            self._write_checkpoint(RECOVERY_POINTS, points)
        self._recovery_points = points
        self._write_starts(at_once=at_once)
        self.checkpoint_cleaned()
        if at_once:
            self.disk.sync_directory(self.path)

    def _write_states(self, *, at_once: bool = False) -> None:
        """Our own record comes first: where a crash comes between it and Kafka's checkpoints it is the newer one."""
        known, states = self._recorded, dict[TopicPartition, LogState]()
        for partition, log in self.logs.items():
            state = known.get(partition)
            if not log.segments:  # It is damaged: what is recorded of it says what is missing.
                states |= {} if state is None else {partition: state}
                continue
            folder = log.states.state
            place = log.segments[-1].base_offset, folder.sequence, *log.written_indexes
            now = folder.topic_id, log.start_offset, log.recovery_point, *place
            is_known = state is not None and (*state[:3], state.last_base, state.sequence, *state[-4:]) == now
            states[partition] = log.state if state is None or not is_known else state
        if states != known or at_once or not self._has_states:
            replace_file(self.disk, f"{self.path}/{LOG_STATES}", write_log_states(states, self._next_generation))
            self._recorded, self._has_states = states, True

    def _write_starts(self, *, at_once: bool) -> None:
        starts = {partition: log.start_offset for partition, log in self.logs.items() if log.start_offset}
        if starts != self._log_starts or at_once:
            self._write_checkpoint(LOG_STARTS, starts)
        self._log_starts = starts

    def _checkpoint_now(self) -> None:
        """Note at once where the logs begin and end: something is removed next."""
        self._write_states()
        self._write_starts(at_once=False)
        self.disk.sync_directory(self.path)

    def checkpoint_cleaned(self) -> None:
        """Note how far the logs were cleaned, if that has changed."""
        cleaned = {
            partition: log.cleaned_offset for partition, log in self.logs.items() if log.cleaned_offset is not None
        }
        if cleaned != self._cleaned_offsets:
            self._write_checkpoint(CLEANED_OFFSETS, cleaned)
            self._cleaned_offsets = cleaned

    def _write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        replace_file(self.disk, f"{self.path}/{name}", write_offsets(offsets))

    def begin_generation(self, generation: int) -> None:
        """Let the folder be of this generation, on the disk."""
        self._next_generation = generation
        self._write_states(at_once=True)
        self.disk.sync_directory(self.path)
        self.generation = generation

    def _read_states(self) -> BrokerState | None:
        """Our own record of the logs; None: there is none, or it cannot be read."""
        path = f"{self.path}/{LOG_STATES}"
        if not self.disk.exists(path):
            return None
        try:
            return read_log_states(self.disk.read(path))
        except (Undecodable, ValueError) as error:
            fault = str(error)
        except OSError as error:
            fault = unreadable(error)
        self._rebuilds(path, fault, "the checkpoints of Kafka's format say the same")
        return None

    def _rebuilds(self, path: str, fault: str, source: str) -> None:
        self.findings.append(Finding(path, fault, source, "write it again", node=self.node))

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int] | None:
        """A checkpoint in Kafka's format; None: there is none, or it cannot be believed."""
        path = f"{self.path}/{name}"
        if not self.disk.exists(path):
            if self._has_states and name != CLEANED_OFFSETS:
                self._rebuilds(path, "it is missing", LOG_STATES)
            elif self.was_clean and name != CLEANED_OFFSETS:
                self._loses_checkpoint(path, name, "it is missing")
            return None
        try:
            return read_offsets(self.disk.read(path))
        except Undecodable as error:
            fault = str(error)
        except OSError as error:
            fault = unreadable(error)
        if self._has_states or name == CLEANED_OFFSETS:
            self._rebuilds(path, fault, LOG_STATES if self._has_states else "everything counts as not cleaned")
        else:
            self._loses_checkpoint(path, name, fault)
        return None

    def _loses_checkpoint(self, path: str, name: str, fault: str) -> None:
        """A checkpoint of a directory of an earlier version, which has no other record."""
        if name == RECOVERY_POINTS:
            self._rebuilds(path, fault, "every batch is read instead")
            return
        loses = "where records were deleted with DeleteRecords: those that are still in the files are served again"
        remedy = "let each log start with its first segment"
        source = "nothing else says where the logs start"
        self.findings.append(Finding(path, fault, source, remedy, loses, Repair.SET_ASIDE, self.node))

    def close(self, generation: int = 0) -> None:
        """Everything is on the disk, and the next start need not look at the logs.

        Args:
            generation: the one that the folder is of from now on.

        Raises:
            StorageFailure: the disk has failed.
        """
        self._next_generation = max(generation, self._next_generation)
        failures = list[StorageFailure]()
        for log in self.logs.values():
            if log.offline is None:
                try:
                    log.close()
                    log.remove_deleted(at_once=True)
                except StorageFailure as failure:
                    failures.append(failure)
        self.discarded.remove(at_once=True)
        self.checkpoint(at_once=True)
        self.generation = self._next_generation
        if failures:
            raise failures[0]
        self.disk.write(f"{self.path}/{CLEAN_SHUTDOWN}", 0, b"")
        self.disk.sync(f"{self.path}/{CLEAN_SHUTDOWN}")
        self.disk.sync_directory(self.path)


def identify(disk: Disk, path: str, entries: Mapping[str, str]) -> None:
    """Say whose directory it is."""
    disk.make_directory(path)
    replace_file(disk, f"{path}/{IDENTITY}", write_properties(entries))
