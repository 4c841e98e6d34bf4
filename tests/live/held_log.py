"""A store in memory like a disk with a cache: appends are durable when somebody says so, and a crash takes the rest."""

from random import Random

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.formats.topics import TopicPartition


class HeldLog(MemoryLog):
    """A log of which everything below `durable_offset` survives a crash."""

    def __init__(self) -> None:
        super().__init__()
        self._durable = 0

    @property
    def durable_offset(self) -> int:
        """What was flushed last, as far as it is still there."""
        return self._durable

    def flush(self) -> None:
        """Everything that was appended until now is durable: a group commit."""
        self._durable = self.end_offset

    def truncate(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset`."""
        super().truncate(end_offset)
        self._durable = min(self._durable, self.end_offset)

    def restart_at(self, offset: int) -> None:
        """Drop everything; the next record gets `offset`."""
        super().restart_at(offset)
        self._durable = offset

    def crash(self, chance: Random) -> int:
        """The power fails: of what is not durable the oldest batches may be there; how many records are lost."""
        before = self.end_offset
        ends = [batch.base_offset for batch in self._batches if batch.base_offset >= self._durable]
        if ends:
            self.truncate(chance.choice([*ends, before]))
        self.flush()
        return before - self.end_offset


def held(node: int, partition: TopicPartition) -> Store:
    """A store that says when it is durable."""
    return Store(HeldLog(), MemorySnapshots())


def log_of(cluster: Cluster, node: int, partition: TopicPartition) -> HeldLog:
    """The log of a replica."""
    log = cluster.stores[node, partition].log
    assert isinstance(log, HeldLog)
    return log


def flush(cluster: Cluster, *partitions: TopicPartition, nodes: tuple[int, ...] | None = None) -> None:
    """The stores of partitions (all, unless they are named) say that they are durable; nothing is delivered."""
    for node, partition in list(cluster.stores):
        if (not partitions or partition in partitions) and (nodes is None or node in nodes):
            log_of(cluster, node, partition).flush()
            cluster.flushed(node, partition)


def settle(cluster: Cluster) -> None:
    """Everything becomes durable and everything arrives, until nothing happens any more."""
    ends = -1
    while cluster.network.in_flight or ends != sum(store.log.end_offset for store in cluster.stores.values()):
        ends = sum(store.log.end_offset for store in cluster.stores.values())
        flush(cluster)
        cluster.settle()


def crash(cluster: Cluster, chance: Random, nodes: tuple[int, ...]) -> int:
    """Nodes are killed at once and lose what was not durable, then start again; how many records were lost."""
    for node in nodes:
        cluster.kill(node)
    lost = sum(log_of(cluster, node, tp).crash(chance) for node, tp in cluster.stores if node in nodes)
    for node in reversed(nodes):
        cluster.start(node, was_clean=False)
    return lost
