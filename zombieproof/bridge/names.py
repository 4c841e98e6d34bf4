"""The checker's numbers of what a cluster numbers for ever, and where the cluster keeps it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from zombieproof.bridge.clusters import COORDINATOR_NODES, BlocksCluster, appends_of
from zombieproof.bridge.commands import COORDINATORS
from zombieproof.bridge.requests import (
    PARTITIONS,
)
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.node import Broker
from zombieproof.broker.cluster.operations import InProgress, WriteUnderWay
from zombieproof.broker.coordinator.store import last_values
from zombieproof.broker.group.offsets_commit import OffsetCommitInProgress
from zombieproof.checker.transactions.state import Partition
from zombieproof.formats.batches import Batch, TransactionValue
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE

FREE = -2
"""No producer id: where a name is that nobody uses."""


class OutOfScope(AssertionError):
    """A scenario asks for what a twin cannot do; the message says what."""


def leading_log(cluster: Cluster, partition: TopicPartition) -> list[Batch]:
    """What is durable: the log of the leader, or of a replica that was in sync when the last leader went."""
    leader = cluster.leader_of(partition)
    node = leader if leader is not None else cluster.metadata.partitions[partition].in_sync[0]
    return list(cluster.stores[node, partition].log.read())


@dataclass(slots=True)
class Names:
    """The checker's numbers of what the cluster numbers for ever: verification guards, producer ids.

    A new guard gets the smallest number that no other in play has. Producer ids are numbered as they come into use at
    the coordinator in office. A deposed one that meets an unknown id takes a producer id too, for metadata that it can
    never log: nobody is granted it, and the checker leaves both out (`without_fresh_metadata`). Where appends travel, a
    name is `FREE` again when nobody uses it; where blocks do, an id is named when it is taken out of its block.
    """

    guards: dict[int, int] = field(default_factory=dict)
    producer_ids: list[int] = field(default_factory=list)

    def update(self, cluster: Cluster, lost: Mapping[int, "Lost"]) -> None:
        """Name what is new, and forget the guards that nobody has any more."""
        in_play = guards_in_play(cluster).union(*(each.guards for each in lost.values()))
        self.guards = {guard: name for guard, name in self.guards.items() if guard in in_play}
        for guard in sorted(in_play - set(self.guards)):
            self.guards[guard] = next(n for n in range(1, len(in_play) + 1) if n not in self.guards.values())
        for live in sorted(producer_ids_in_use(cluster) - set(self.producer_ids)):
            if FREE in self.producer_ids:
                self.producer_ids[self.producer_ids.index(FREE)] = live
            else:
                self.producer_ids.append(live)

    def free(self, unused: Iterable[int]) -> None:
        """Nobody uses these names of producer ids any more: what comes next may have them."""
        for name in unused:
            if name < len(self.producer_ids):
                self.producer_ids[name] = FREE

    def guard(self, live: int) -> int:
        """The name of a guard; 0 for none."""
        return 0 if live == 0 else self.guards[live]

    def producer_id(self, live: int) -> int:
        """The name of a producer id; NONE for none."""
        return NONE if live == NONE else self.producer_ids.index(live)

    def live_producer_id(self, name: int) -> int:
        """The producer id that is named so."""
        return NONE if name == NONE else self.producer_ids[name]


@dataclass(frozen=True, slots=True)
class Lost:
    """What the last leader of a partition knew, which nobody leads now.

    The checker's record keeps it until the next election, and nobody reads it; live it is gone with the broker.
    """

    partition: Partition
    guards: frozenset[int]


def guards_of(cluster: Cluster, tp: TopicPartition) -> frozenset[int]:
    """Every guard that the leader of a partition remembers."""
    leader = cluster.leader_of(tp)
    if leader is None:
        return frozenset()
    producers = cluster.brokers[leader].partitions.replicas[tp].producers._producers
    return frozenset(known.entry.guard for known in producers.values()) - {0}


def guards_in_play(cluster: Cluster) -> set[int]:
    """Every guard that a leader remembers, or that a write under way carries."""
    found = {guard for tp in PARTITIONS for guard in guards_of(cluster, tp)}
    found |= {guard_of(write.work) for broker in cluster.brokers.values() for write in writes_under_way(broker)}
    return found - {0}


def writes_under_way(broker: Broker) -> list[WriteUnderWay]:
    """The writes for which a broker has asked a coordinator."""
    return [operation for _, operation in broker.desk.waits if isinstance(operation, WriteUnderWay)]


def guard_of(work: InProgress) -> int:
    """The guard under which a write waits for the coordinator."""
    if isinstance(work, OffsetCommitInProgress):
        return work.guard
    (guard,) = work.waiting.values()
    return guard


def producer_ids_in_use(cluster: Cluster) -> set[int]:
    """Every producer id that the coordinator in office, its log, or a record on its way there knows.

    Where producer ids come in blocks: every one that a coordinator has handed out of its block.
    """
    if isinstance(cluster, BlocksCluster):
        blocks = [cluster.brokers[node].producer_ids._blocks for node in COORDINATOR_NODES]
        return {each.first + each.used - 1 for each in blocks if each.used}
    node = cluster.leader_of(COORDINATORS)
    cache = {} if node is None else cluster.brokers[node].coordinator.entries(COORDINATORS[1])
    known: list[Transaction | TransactionValue] = [*cache.values()]
    known += last_values(leading_log(cluster, COORDINATORS)).values()
    known += [each.pending.target for each in appends_of(cluster).values()]
    return ({each.producer_id for each in known} | {each.next_producer_id for each in known}) - {NONE}
