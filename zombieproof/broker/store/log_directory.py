"""The log directory of one broker: a folder for each partition, checkpoints, and what says whose it is.

Theory of operation: logs that have something to sync are *dirty*. Whoever drives the broker takes all of them at once
(`begin_sync`), syncs them, beside everything else if he likes (`sync_all`), and says so (`Syncing.end`): one
sync for all that waits, which is what Kafka calls a group commit. How far each log is on the disk is noted in the
checkpoint of recovery points, which may be behind and is never before.
Source: ``LogManager.java``, ``MetaProperties.java``, ``PartitionMetadata.java``.
"""

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.discarded_folders import DiscardedFolders
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.log_cleaner import LogCleaner
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.broker.store.snapshot_files import SnapshotFiles
from zombieproof.formats.checkpoints import read_offsets, write_offsets
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import (
    TOPIC_IDENTITY,
    encoded,
    read_properties,
    read_topic_id,
    write_properties,
    write_topic_id,
)
from zombieproof.formats.topics import TopicPartition

RECOVERY_POINTS, LOG_STARTS = "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"
CLEANED_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN, IDENTITY = ".kafka_cleanshutdown", "meta.properties"
CHECKPOINT_INTERVAL_MS = 1000


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
        path: the folder, below the disk's root; it is made where it is not there.

    Raises:
        Damaged: a checkpoint, or the identity of the directory, cannot be read.
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
        self._checkpointed_ms = 0
        self.logs: dict[TopicPartition, SegmentLog] = {}
        self.cleaner = LogCleaner(self.logs, clock)
        self.discarded = DiscardedFolders(disk, path, clock)
        disk.make_directory(path)
        self.was_clean = disk.exists(f"{path}/{CLEAN_SHUTDOWN}")
        self._recovery_points = self._read_checkpoint(RECOVERY_POINTS)
        self._log_starts = self._read_checkpoint(LOG_STARTS)
        self._cleaned_offsets = dict[TopicPartition, int]()
        with suppress(Damaged):  # Without it all that is compacted is dirty.
            self._cleaned_offsets = self._read_checkpoint(CLEANED_OFFSETS)
        if self.was_clean:
            disk.remove(f"{path}/{CLEAN_SHUTDOWN}")
            disk.sync_directory(path)

    def open_store(self, partition: TopicPartition, topic_id: UUID, config: LogConfig | None = None) -> Store:
        """The store of a partition: what its folder holds, or an empty one; `config` None: Kafka's defaults.

        Raises:
            Damaged: the folder is of another topic, or its log cannot be believed; then the log is among `logs` with
                its `damage`, and what the checkpoints say of it stays.
        """
        topic, number = partition
        directory = f"{self.path}/{topic}-{number}"
        is_new = not self.disk.exists(directory)
        if is_new:
            self.disk.make_directory(directory)
        self._claim(directory, encoded(topic_id))
        # What checkpoints say of a folder that was not there is of a topic that was deleted.
        start = None if is_new else self._log_starts.get(partition)
        synced = 0 if is_new else self._recovery_points.get(partition, 0)
        log = SegmentLog(
            self.disk,
            directory,
            topic,
            config or LogConfig(),
            self._clock,
            self.durability,
            self._is_dirty,
            self._checkpoint_starts,
        )
        log.in_trouble = partial(self._in_trouble.__setitem__, log, None)
        log.cleaned_offset = None if is_new else self._cleaned_offsets.get(partition)
        self.logs[partition] = log
        log.open(start, synced, was_clean=self.was_clean)
        return self.store_of(partition)

    def store_of(self, partition: TopicPartition) -> Store:
        """The store of a partition that was opened."""
        log = self.logs[partition]
        return Store(log, SnapshotFiles(self.disk, log.directory, log.fail))

    def take_troubled(self) -> list[SegmentLog]:
        """The logs that were found damaged, or cannot be written any more, since this was asked last."""
        found = list(self._in_trouble)
        self._in_trouble.clear()
        return found

    def set_aside(self, partition: TopicPartition, folder: str) -> str:
        """Move the folder of a damaged log below `folder`, a path of the disk; returned is where it is now.

        Raises:
            OSError: the disk does not do it.
        """
        log = self.logs[partition]
        name, number = log.directory.rpartition("/")[2], 0
        while self.disk.exists(path := f"{folder}/{name}{f'.{number}' if number else ''}"):
            number += 1
        self.disk.make_directory(folder)
        self.disk.rename(log.directory, path)
        self.disk.sync_directory(folder)
        self.disk.sync_directory(self.path)
        del self.logs[partition]
        self._dirty.pop(log, None)
        return path

    # ---------------------------------------------------------------- topics that are deleted

    def keep_only(self, partitions: Container[TopicPartition]) -> None:
        """The folders of all others are renamed, to be removed later: nobody takes them for logs any more."""
        gone = [partition for partition in self.logs if partition not in partitions]
        for partition in gone:
            log = self.logs.pop(partition)
            self._dirty.pop(log, None)
            self.discarded.add(log.directory, log.config.file_delete_delay_ms)
        if gone:
            self.checkpoint(at_once=True)

    def _claim(self, directory: str, topic_id: str) -> None:
        path = f"{directory}/{TOPIC_IDENTITY}"
        if self.disk.exists(path):
            try:
                known = read_topic_id(self.disk.read(path))
            except Undecodable:
                known = ""  # A crash came between the file and its bytes: nothing was in the folder yet.
            if known not in ("", topic_id):
                raise Damaged(
                    f"{self.disk.name(directory)} holds the topic with the id {known}, and the one so called has the "
                    f"id {topic_id} here: move the folder away, or open the directory that it came from"
                )
        else:
            known = ""
        if known == "":
            # A name that is cut is another name: it is there whole, or not at all.
            self.disk.write(f"{path}.tmp", 0, write_topic_id(topic_id))
            self.disk.sync(f"{path}.tmp")
            self.disk.rename(f"{path}.tmp", path)
            self.disk.sync_directory(directory)

    # ---------------------------------------------------------------- syncing

    def _is_dirty(self, log: SegmentLog) -> None:
        self._dirty[log] = None

    def begin_sync(self) -> Syncing | None:
        """All that waits to be synced; None: nothing does."""
        if not self._dirty or self.durability is not Durability.FSYNC:
            return None
        parts = [(log, *log.unsynced()) for log in self._dirty if log.failure is None and log.damage is None]
        self._dirty.clear()
        return Syncing(self.disk, parts)

    def partition_of(self, log: SegmentLog) -> TopicPartition:
        """Whose log it is."""
        topic, _, number = log.directory.rpartition("/")[2].rpartition("-")
        return topic, int(number)

    def checkpoint(self, *, at_once: bool = False) -> None:
        """Note how far the logs are on the disk, if it was noted long enough ago; `at_once`: now, and synced."""
        now_ms = self._clock.now_ms()
        if not at_once and now_ms - self._checkpointed_ms < CHECKPOINT_INTERVAL_MS:
            return
        self._checkpointed_ms = now_ms
        points = {partition: log.recovery_point for partition, log in self.logs.items() if log.recovery_point}
        starts = self._starts()
        for partition, log in self.logs.items():
            if points.get(partition) != self._recovery_points.get(partition):
                log.extend_indexes()
        if points != self._recovery_points or at_once:
            self._write_checkpoint(RECOVERY_POINTS, points)
        if starts != self._log_starts or at_once:
            self._write_checkpoint(LOG_STARTS, starts)
        self._recovery_points, self._log_starts = points, starts
        self.checkpoint_cleaned()
        if at_once:
            self.disk.sync_directory(self.path)

    def _starts(self) -> dict[TopicPartition, int]:
        return {partition: log.start_offset for partition, log in self.logs.items() if log.start_offset}

    def _checkpoint_starts(self) -> None:
        """Note at once where the logs begin."""
        self._log_starts = self._starts()
        self._write_checkpoint(LOG_STARTS, self._log_starts)
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
        self.disk.write(f"{self.path}/{name}.tmp", 0, write_offsets(offsets))
        self.disk.sync(f"{self.path}/{name}.tmp")
        self.disk.rename(f"{self.path}/{name}.tmp", f"{self.path}/{name}")

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        path = f"{self.path}/{name}"
        if not self.disk.exists(path):
            return {}
        try:
            return read_offsets(self.disk.read(path))
        except Undecodable as fault:
            raise Damaged(
                f"{self.disk.name(path)}: {fault}. Restore it from a copy; without it nobody knows what was synced"
            ) from fault

    def close(self) -> None:
        """Everything is on the disk, and the next start need not look at the logs.

        Raises:
            StorageFailure: the disk has failed.
        """
        for log in self.logs.values():
            if log.damage is None:
                log.close()
                log.remove_deleted(at_once=True)
        self.discarded.remove(at_once=True)
        self.checkpoint(at_once=True)
        self.disk.write(f"{self.path}/{CLEAN_SHUTDOWN}", 0, b"")
        self.disk.sync(f"{self.path}/{CLEAN_SHUTDOWN}")
        self.disk.sync_directory(self.path)


def identify(disk: Disk, path: str, entries: Mapping[str, str]) -> None:
    """Say whose directory it is, or see that it is the one that is meant.

    Raises:
        Damaged: the directory says something else.
    """
    file = f"{path}/{IDENTITY}"
    if disk.exists(file):
        known = read_properties(disk.read(file))
        for name, value in entries.items():
            if name in known and known[name] != value:
                raise Damaged(f"{disk.name(file)}: {name} is {known[name]}, and {value} is meant: it is another's")
    disk.make_directory(path)
    disk.write(f"{file}.tmp", 0, write_properties(entries))
    disk.sync(f"{file}.tmp")
    disk.rename(f"{file}.tmp", file)
