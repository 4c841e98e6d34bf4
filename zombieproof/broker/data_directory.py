"""The data directory of a cluster: its lock, ``cluster.json``, and a log directory for each broker.

Theory of operation: what the cluster says of itself is on the disk before anything follows from it (`save`): before a
block of producer ids is handed out, before a new topic has a folder, before a client is answered. A topic is deleted
once the disk knows that it is (`keep_deletion`), and not at all where the disk refuses; then its folders are renamed
and the offsets that were committed in it go, after a crash at the next start.
"""

import errno
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from uuid import UUID, uuid4

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.inspection import entries_of, folder_of, inspect
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.broker.store.cluster_file import COPY, FILE, SavedCluster, read_cluster, saved_of, write_cluster
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.disk import Disk, InUse, UnfitPath, disk_below
from zombieproof.broker.store.findings import Finding, Repair, refusal
from zombieproof.broker.store.log_directory import IDENTITY, LogDirectory, Syncing, identify
from zombieproof.broker.store.segment import Highest
from zombieproof.formats.identity import encoded
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition

LOCK, METADATA_LOG = ".lock", "__cluster_metadata-0"
LOG = logging.getLogger("zombieproof.broker")
DAMAGED = "damaged"
"""The folder of damaged files that others have taken the place of; nobody reads them."""


class DataDirectoryError(ValueError):
    """A path that cannot be the data directory of a cluster; nothing was touched."""


class DataDirectory:
    """What lies on one disk, of a cluster with as many brokers as it was made with.

    Args:
        disk: where it is; `disk_at` finds that of a path.
        nodes: how many brokers the cluster has; None: as many as the directory says, and 1 in a new one.
        durability: when an append counts as durable.
        default_config: the settings of topics that have none of their own.
        configs: the settings of some topics, which the directory keeps.

    Raises:
        DataDirectoryError: another process uses it, or it has another number of brokers.
        Damaged: what is in it cannot be believed.
    """

    def __init__(  # what a cluster is opened with
        self,
        disk: Disk,
        nodes: int | None,
        clock: Clock,
        durability: Durability,
        default_config: LogConfig | None = None,
        configs: Mapping[str, LogConfig] | None = None,
    ) -> None:
        self.disk = disk
        lock(disk)
        found = inspect(disk, default_config, configs, clock=clock, durability=durability)
        if any(not _takes_one_log_offline(each) for each in found.refused):
            raise refusal(disk, found.refused)
        self._offline = dict[tuple[int, TopicPartition], list[Finding]]()
        for each in found.refused:
            if each.node is not None and each.partition is not None:
                self._offline.setdefault((each.node, each.partition), []).append(each)
        for each in found.rebuilt:
            LOG.warning("%s: %s: rebuilt", disk.name(""), each)
        saved, self.metadata = found.saved, found.metadata
        self.metadata.default_config = default_config or LogConfig()
        self.metadata.configs |= configs or {}
        self.cluster_id = encoded(uuid4()) if saved is None else saved.cluster_id
        self.nodes = (nodes or 1) if saved is None else saved.nodes
        if nodes not in (None, self.nodes):
            raise DataDirectoryError(
                f"{disk.name('')}: it is the directory of a cluster of {_brokers(self.nodes)}, not of {nodes}: "
                f"start it with {_brokers(self.nodes)}, or choose another directory"
            )
        if saved is None:
            # Whose directory it is stands there before anything is in it that could belong to another.
            write_cluster(disk, saved_of(self.cluster_id, self.nodes, self.metadata, 0, 0))
        self._kept = self._partitions()
        self._written: SavedCluster | None = None
        self.offsets_can_go: Callable[[], bool] = lambda: True
        self._generation = 0 if saved is None else saved.generation
        self.is_serving = False
        self.logs = {
            node: found.logs.get(node) or LogDirectory(disk, folder_of(node), clock, durability)
            for node in range(1, self.nodes + 1)
        }
        for node in self.logs:
            self._begin(node)
        if saved is not None:
            self._continue_above(saved)
        self.metadata.deleted_ids.clear()
        self.metadata.producer_ids.keep, self.metadata.is_on_disk = self._keep_next_id, True

    def _begin(self, node: int) -> None:
        logs = self.logs[node]
        identify(self.disk, logs.path, entries_of(self.cluster_id, node))
        logs.begin()
        logs.discarded.remove_left_over(self.metadata.deleted_ids)
        for partition, known in self.metadata.partitions.items():
            if node in known.replicas and (node, partition) not in self._offline:
                topic_id, config = self.metadata.topic_ids[partition[0]], self.metadata.config_of(partition[0])
                logs.finish_swaps(partition, topic_id, config)

    def _continue_above(self, saved: SavedCluster) -> None:
        """Producer ids and epochs continue above all that were ever used: those in the logs, too.

        An older ``cluster.json``, or segments that Kafka wrote, may have higher ones than are saved.
        """
        highest, metadata = Highest(), self.metadata
        for partition, known in metadata.partitions.items():
            ends = dict[int, tuple[int, int]]()
            for node in known.replicas:
                logs = self.logs[node]
                epoch, named = logs.highest_in(partition)
                ends[node] = epoch, logs.end_offset_of(partition)
                highest = highest.among(named)
            newest = max(epoch for epoch, _ in ends.values())
            sound = {node: end for node, end in ends.items() if (node, partition) not in self._offline}
            if any(epoch >= known.leader_epoch for epoch, _ in sound.values()):
                # What is saved of leader and replicas is older than the logs: the longest of the newest epoch leads.
                known.leader = max(sound, key=lambda node: sound[node])
                known.in_sync = tuple(node for node in sound if sound[node] == sound[known.leader])
            if newest >= known.leader_epoch:
                known.leader_epoch = newest + 1
                metadata.version += 1
        for partition in metadata.partitions_of([TRANSACTION_STATE]):
            known = metadata.partitions[partition]
            known.leader_epoch = max(known.leader_epoch, highest.coordinator_epoch + 1)
        metadata.producer_ids.next_id = max(saved.next_producer_id, highest.producer_id + 1)

    @property
    def was_clean(self) -> bool:
        """Whether every broker was stopped in order when it ran last."""
        return all(each.was_clean for each in self.logs.values())

    def open_store(self, node: int, partition: TopicPartition) -> Store:
        """The store of a partition at a broker; its log is `offline` where it is damaged."""
        topic = partition[0]
        topic_id = self.metadata.topic_ids[topic]
        logs, config = self.logs[node], self.metadata.config_of(topic)
        found = self._offline.pop((node, partition), [])
        if found:
            return logs.open_offline(partition, topic_id, config, refusal(self.disk, found, begins=""))
        try:
            self._know(partition)
            return logs.open_store(partition, topic_id, config)
        except Damaged as damage:
            return logs.open_offline(partition, topic_id, config, damage)
        except (OSError, StorageFailure) as error:
            if not self.is_serving:
                raise
            return logs.open_failed(partition, config, error)

    def _know(self, partition: TopicPartition) -> None:
        """Let the disk know a partition before it has folders: unknown folders are refused at a start."""
        topic, number = partition
        if (self.metadata.topic_ids[topic], number) not in self._kept:
            self.save()

    def _partitions(self, deleted: Collection[str] = ()) -> set[tuple[UUID, int]]:
        ids = self.metadata.topic_ids
        return {(ids[topic], number) for topic, number in self.metadata.partitions if topic not in deleted}

    def reopen(self, node: int, partition: TopicPartition) -> Store | None:
        """The store of a log that had failed, opened again; None: the disk still fails."""
        logs, config = self.logs[node], self.metadata.config_of(partition[0])
        topic_id = self.metadata.topic_ids[partition[0]]
        try:
            self._know(partition)
            return logs.reopen(partition, topic_id, config)
        except Damaged as damage:
            return logs.open_offline(partition, topic_id, config, damage)
        except (OSError, StorageFailure):
            return None

    def set_aside(self, node: int, partition: TopicPartition) -> str | None:
        """Keep the files of a damaged log out of the way; returned is where, if there are any.

        Raises:
            OSError: the disk does not do it.
        """
        path = self.logs[node].set_aside(partition, f"{DAMAGED}/broker-{node}")
        return None if path is None else self.disk.name(path)

    def begin_generation(self) -> None:
        """From the next `save` on, older copies of the folders of brokers are known as such."""
        generation = self._next_generation
        for each in self.logs.values():
            each.begin_generation(generation)

    @property
    def _next_generation(self) -> int:
        return max(self._generation, *(each.generation for each in self.logs.values())) + 1

    def save(self) -> None:
        """What the cluster knows of itself is on the disk, and folders of topics that are gone go."""
        self._keep_next_id(self.metadata.producer_ids.next_id)
        for each in self.logs.values():
            each.discard()

    def _keep_next_id(self, next_id: int) -> None:
        """No block of producer ids is handed out before the disk knows that it is."""
        self._write(next_id)

    def keep_deletion(self, topics: Collection[str]) -> None:
        """The disk knows that these topics are deleted, and their logs are none any more.

        Raises:
            OSError: the disk refuses, and the topics stay.
        """
        try:
            self._write(self.metadata.producer_ids.next_id, topics)
        except OSError:
            found = read_cluster(self.disk).saved
            if found is None or found.version > self.metadata.version:
                # They may be gone from the file all the same: it is written again before any answer.
                self.metadata.version += len(topics) + 1
            raise
        for each in self.logs.values():
            each.let_go(topics)

    def _write(self, next_id: int, deleted: Collection[str] = ()) -> None:
        """Write ``cluster.json``, if it says anything new."""
        if returned := self.metadata.deleted_names & self.metadata.topic_ids.keys():
            self._void_offsets(returned)
        # The folders come first: after a crash, none that is current is of an earlier generation than the cluster.
        self._generation = max(self._generation, min(each.generation for each in self.logs.values()))
        saved = saved_of(self.cluster_id, self.nodes, self.metadata, next_id, self._generation, deleted)
        if saved == self._written:
            return
        self._written = None
        write_cluster(self.disk, saved)
        self._written = saved
        self._kept = self._partitions(deleted)

    def _void_offsets(self, topics: set[str]) -> None:
        """The offsets that were committed in earlier topics of these names are gone, on the disk.

        Once the disk has a topic of such a name, an offset does not show which of the two it was committed in.

        Raises:
            OSError: they are not gone yet.
        """
        if not self.offsets_can_go():
            names = ", ".join(sorted(topics))
            raise OSError(errno.EAGAIN, f"offsets that were committed before {names} was deleted cannot be removed yet")
        for each in self.logs.values():
            each.sync_written()
        self.metadata.deleted_names -= topics

    def begin_sync(self) -> list[tuple[int, Syncing]]:
        """All that waits to be synced, by broker."""
        begun = ((node, each.begin_sync()) for node, each in self.logs.items())
        return [(node, syncing) for node, syncing in begun if syncing is not None]

    def close(self) -> None:
        """Everything is on the disk, and the next start need not look at the logs.

        Raises:
            StorageFailure: the disk has failed.
        """
        failures, generation = list[Exception](), self._next_generation
        for each in self.logs.values():
            try:
                each.close(generation)
            except (OSError, StorageFailure) as failure:
                failures.append(failure)
        coordinators = self.metadata.partitions_of([CONSUMER_OFFSETS])
        offsets = [
            each.logs[partition] for each in self.logs.values() for partition in coordinators if partition in each.logs
        ]
        if not failures and all(log.offline is None for log in offsets):
            self.metadata.deleted_names.clear()
        self.save()
        if failures:
            raise failures[0]


def _brokers(count: int) -> str:
    return f"{count} broker{'s' * (count != 1)}"


def _takes_one_log_offline(finding: Finding) -> bool:
    """Whether the rest of a directory is served although a log in it is damaged.

    A missing folder is no such fault, unless another broker has what was in it: its disk may not be mounted.
    """
    is_of_log = finding.node is not None and finding.partition is not None
    return is_of_log and finding.repair in (Repair.SALVAGE, Repair.REFETCH, Repair.MOVE_AWAY)


def lock(disk: Disk) -> None:
    """Let no other process use a data directory.

    Raises:
        DataDirectoryError: another one does.
    """
    try:
        disk.lock(LOCK)
    except IsADirectoryError as error:
        raise DataDirectoryError(f"{disk.name(LOCK)}: it is a folder, and a file is due: remove the folder") from error
    except InUse as error:
        raise DataDirectoryError(
            f"{disk.name('')}: another process uses it: end that one, or choose another directory"
        ) from error


def disk_at(path: Path | str | None) -> Disk | None:
    """The disk below a data directory; None: there is to be none.

    Raises:
        DataDirectoryError: the path cannot be one.
    """
    if path is None:
        return None
    try:
        return disk_below(Path(path), _fault_of)
    except UnfitPath as error:
        raise DataDirectoryError(str(error)) from error


def _fault_of(names: Sequence[str]) -> str | None:
    """Why a folder with these names is no data directory; None: it is one, or it is empty.

    A first start that was cut short leaves nothing but what it makes before it writes ``cluster.json``. If that has
    gone, `inspect` says so: logs are there.
    """
    ours = (LOCK, COPY, f"{COPY}.tmp", f"{FILE}.tmp")
    if FILE in names or all(name in ours or name.startswith("broker-") for name in names):
        return None
    if IDENTITY in names or METADATA_LOG in names:
        return (
            "is a data directory of Kafka, with its own metadata: nothing was changed. These commands read it: "
            "zombieproof replay DIR, zombieproof audit DIR. To serve, choose another directory, or an empty one"
        )
    return f"is not empty and has no {FILE}: it is no data directory of a cluster. Choose another, or an empty one"
