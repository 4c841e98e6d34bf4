"""What leaders append comes to the other replicas, and counts when it is durable at all that are in sync.

Theory of operation: replicas that are up have what their leader has when a step ends. How far that is durable is what
their stores say; the lowest of those in sync is the high watermark, which all replicas learn. A replica that has
everything below it durable is in sync from then on. Who waits for a high watermark goes on in the same step.
Source: reference §3.6; ``Partition.maybeIncrementLeaderHW``, ``maybeExpandIsr``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from zombieproof.broker.cluster.metadata import NOBODY, Metadata
from zombieproof.broker.cluster.node import Broker, Store
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.formats.topics import TopicPartition


@dataclass(slots=True)
class Replication:
    """Replication among the brokers that are up; `stores` are those of all nodes."""

    metadata: Metadata
    stores: Mapping[tuple[int, TopicPartition], Store]
    brokers: Mapping[int, Broker]

    def replicate(self, broker: Broker) -> None:
        """What a leader appended in this step is on every replica that is up, and what follows from that happens."""
        while written := broker.partitions.take_written():
            for partition in written:
                for node in self.metadata.partitions[partition].replicas:
                    if node != broker.node_id:
                        self.catch_up(partition, node)
                self.raise_high_watermark(partition)

    def raise_high_watermark(self, partition: TopicPartition) -> None:
        """The replicas learn what is durable at all of them that are in sync; who has all of that is in sync too."""
        known = self.metadata.partitions[partition]
        if known.leader == NOBODY:
            return
        if len(known.replicas) == 1:
            self.brokers[known.leader].replicated(partition, None)
            return
        durable = min(self._durable_offset(partition, node) for node in known.in_sync)
        up = [node for node in known.replicas if node in self.brokers]
        starts = [self.stores[node, partition].log.start_offset for node in up if node != known.leader]
        self.brokers[known.leader].partitions.replicas[partition].start_elsewhere = min(starts, default=None)
        for node in up:
            self.brokers[node].replicated(partition, durable)
        replicated = self.brokers[known.leader].partitions.replicas[partition].high_watermark
        for node in up:
            is_behind = self._durable_offset(partition, node) < replicated
            if node not in known.in_sync and self.is_sound(partition, node) and not is_behind:
                self.metadata.set_in_sync(partition, (*known.in_sync, node))

    def catch_up(self, partition: TopicPartition, node: int) -> None:
        """A node that is up takes what the leader of a partition has and it has not."""
        leader = self.metadata.leader_of(partition).node
        if leader is None or leader == node or node not in self.brokers:
            return
        theirs, own = self.stores[leader, partition].log, self.stores[node, partition].log
        if not self.is_sound(partition, node):
            return
        try:
            self.brokers[node].partitions.catch_up(partition, self.metadata.leader_epoch(partition), theirs)
        except (StorageFailure, Damaged):
            # One of the two logs has noted it; whoever runs the cluster hears of that (`Cluster.lost_store`).
            if own.offline is None and own.failure is None and theirs.offline is None:
                raise

    def is_sound(self, partition: TopicPartition, node: int) -> bool:
        """Whether a node is up and its log of a partition can be read and written."""
        log = self.stores[node, partition].log
        return node in self.brokers and log.offline is None and log.failure is None

    def _durable_offset(self, partition: TopicPartition, node: int) -> int:
        return self.stores[node, partition].log.durable_offset
