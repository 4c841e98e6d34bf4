"""The data directory of a cluster: its lock, ``cluster.json``, and a log directory for each broker.

Theory of operation: what the cluster says of itself is on the disk before anything follows from it (`save`): before a
block of producer ids is handed out, before a folder of a topic that was deleted is renamed, before a
new one has a folder, before anybody is answered.
"""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.cluster_file import FILE, metadata_of, read_cluster, saved_of, write_cluster
from zombieproof.broker.store.config import Durability
from zombieproof.broker.store.disk import Disk, InUse, UnfitPath, disk_below
from zombieproof.broker.store.log_directory import LogDirectory, Syncing, identify
from zombieproof.formats.identity import encoded
from zombieproof.formats.topics import TopicPartition

LOCK = ".lock"
DAMAGED = "damaged"
"""The folder of damaged files that others have taken the place of; nobody reads them."""


class DataDirectoryError(ValueError):
    """A path that cannot be the data directory of a cluster; nothing was touched."""


class DataDirectory:
    """What lies on one disk, of a cluster with as many brokers as it was made with.

    Args:
        disk: where it is; `disk_at` finds that of a path.
        nodes: how many brokers a new cluster has.
        durability: when an append counts as durable.

    Raises:
        DataDirectoryError: another process uses it.
        Damaged: what is in it cannot be believed.
    """

    def __init__(self, disk: Disk, nodes: int, clock: Clock, durability: Durability) -> None:
        self.disk = disk
        try:
            disk.lock(LOCK)
        except InUse as error:
            raise DataDirectoryError(
                f"{disk.name('')}: another process uses it: end that one, or choose another directory"
            ) from error
        saved = read_cluster(disk)
        self.cluster_id = encoded(uuid4()) if saved is None else saved.cluster_id
        self.metadata, self.nodes = (Metadata(), nodes) if saved is None else (metadata_of(saved), saved.nodes)
        if saved is None:
            # Whose directory it is stands there before anything is in it that could belong to another.
            write_cluster(disk, saved_of(self.cluster_id, nodes, self.metadata, 0))
        self._kept = set(self.metadata.topic_names)
        self.logs = {node: self._opened(node, clock, durability) for node in range(1, self.nodes + 1)}
        self.metadata.deleted_ids.clear()
        self.metadata.producer_ids.keep = self._keep_next_id

    def _opened(self, node: int, clock: Clock, durability: Durability) -> LogDirectory:
        folder = f"broker-{node}"
        identify(self.disk, folder, {"version": "1", "cluster.id": self.cluster_id, "node.id": str(node)})
        logs = LogDirectory(self.disk, folder, clock, durability)
        logs.discarded.remove_left_over(self.metadata.deleted_ids)
        return logs

    @property
    def was_clean(self) -> bool:
        """Whether every broker was stopped in order when it ran last."""
        return all(each.was_clean for each in self.logs.values())

    def open_store(self, node: int, partition: TopicPartition) -> Store:
        """The store of a partition at a broker; its log has `damage` where it cannot be believed.

        Raises:
            Damaged: the folder is of another topic.
        """
        topic = partition[0]
        topic_id = self.metadata.topic_ids[topic]
        if topic_id not in self._kept:
            # A folder of which nobody knows would be in the way of the next topic of that name.
            self._keep_next_id(self.metadata.producer_ids.next_id)
        logs = self.logs[node]
        try:
            return logs.open_store(partition, topic_id, self.metadata.config_of(topic))
        except Damaged:
            if partition not in logs.logs:
                raise
            return logs.store_of(partition)

    def set_aside(self, node: int, partition: TopicPartition) -> str:
        """Keep the files of a damaged log out of the way; returned is where.

        Raises:
            OSError: the disk does not do it.
        """
        return self.disk.name(self.logs[node].set_aside(partition, f"{DAMAGED}/broker-{node}"))

    def save(self) -> None:
        """What the cluster knows of itself is on the disk, and folders of topics that are gone go."""
        self._keep_next_id(self.metadata.producer_ids.next_id)
        for each in self.logs.values():
            each.keep_only(self.metadata.partitions)

    def _keep_next_id(self, next_id: int) -> None:
        """No block of producer ids is handed out before the disk knows that it is."""
        write_cluster(self.disk, saved_of(self.cluster_id, self.nodes, self.metadata, next_id))
        self._kept = set(self.metadata.topic_names)

    def begin_sync(self) -> list[tuple[int, Syncing]]:
        """All that waits to be synced, by broker."""
        begun = ((node, each.begin_sync()) for node, each in self.logs.items())
        return [(node, syncing) for node, syncing in begun if syncing is not None]

    def close(self) -> None:
        """Everything is on the disk, and the next start need not look at the logs.

        Raises:
            StorageFailure: the disk has failed.
        """
        for each in self.logs.values():
            each.close()
        self.save()


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

    A first start that was cut short leaves nothing but what it makes before it writes ``cluster.json``.
    """
    is_begun = all(name in (LOCK, f"{FILE}.tmp") or name.startswith("broker-") for name in names)
    if FILE in names or is_begun:
        return None
    return f"is not empty and has no {FILE}: it is no data directory of a cluster. Choose another, or an empty one"
