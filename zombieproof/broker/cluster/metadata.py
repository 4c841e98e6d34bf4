"""What every broker of a cluster knows of it: topics, replicas, who leads which partition since when.

A change of leader is known everywhere at once, as after Kafka's metadata log has been read by all brokers; an old
leader that does not know yet is a message that comes late. Source: reference §1, §2.5, §2.12.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID, uuid5

from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController
from zombieproof.broker.store.config import INTERNAL_CONFIGS, LogConfig
from zombieproof.broker.store.config_names import named
from zombieproof.broker.store.topic_configs import STATED_OF_INTERNAL, log_config
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.model.placement import partition_for
from zombieproof.model.vocabulary import NONE

NOBODY = -1
"""The leader of a partition that has none."""

TOPIC_IDS = UUID("6b61666b-612d-746f-7069-632d69647300")
"""The namespace of the ids of topics."""

KeepDeletion = Callable[[Collection[str]], None]
"""Called with the names of topics that are to be deleted, before they are."""

Placement = Callable[[str, int], int]
"""Which of a number of partitions a name lives in."""


class Leader(NamedTuple):
    """Who leads a partition: `node` is None while nobody does."""

    topic_exists: bool
    node: int | None


def _in_memory(topics: Collection[str]) -> None:
    """Nothing outlives the process."""


@dataclass(slots=True)
class PartitionMetadata:
    """One partition: its replicas (preferred leader first), those in sync, and the leader with its epoch."""

    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader: int
    leader_epoch: int = 0


@dataclass(slots=True)
class Changes:
    """What requests have changed of the topics, and whoever has their logs has to follow.

    `deleted` has the partitions of topics that are gone, `deleted_topics` the ids of those topics by name. `elected`:
    partitions with those who are to lead them.
    """

    deleted: list[TopicPartition] = field(default_factory=list)
    deleted_topics: dict[str, UUID] = field(default_factory=dict)
    created: list[TopicPartition] = field(default_factory=list)
    configured: list[str] = field(default_factory=list)
    elected: list[tuple[TopicPartition, int]] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is anything to follow."""
        return bool(self.deleted or self.created or self.configured or self.elected)


@dataclass(slots=True)
class Metadata:
    """The partitions of all topics, and where transactional ids and groups live.

    Args:
        place_transactional_id: the partition of ``__transaction_state`` for an id; Kafka's own rule by default.
        place_group: the same for groups and ``__consumer_offsets``.
        producer_ids: which blocks of producer ids were handed out.
        configs: the settings of topics that have some of their own; others have `default_config`, and internal ones
            those of Kafka.
        stated: what was said of the settings of topics by requests, by Kafka's names.
        dynamic: the same of brokers, by their number, "" for all; `static` is what those settings were before.

    `keep_deletion` makes a deletion durable before anything follows from it, or raises an OSError. `deleted_names`:
    topics of which committed offsets may be left, on a disk (`is_on_disk`) until it has the tombstones, and otherwise
    until there is a topic of that name again. `last_ids`: the last id of each name whose topic was deleted, for answers
    that were given before. `nodes` are all there are, `up` those that live. `controller` is the node that answers for
    all of this to the others; NOBODY while no node is up.
    """

    partitions: dict[TopicPartition, PartitionMetadata] = field(default_factory=dict)
    place_transactional_id: Placement = partition_for
    place_group: Placement = partition_for
    producer_ids: ProducerIdController = field(default_factory=ProducerIdController)
    controller: int = NOBODY
    version: int = 0
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    topic_names: dict[UUID, str] = field(default_factory=dict)
    configs: dict[str, LogConfig] = field(default_factory=dict)
    default_config: LogConfig = field(default_factory=LogConfig)
    deleted_ids: set[UUID] = field(default_factory=set)
    deleted_names: set[str] = field(default_factory=set)
    keep_deletion: KeepDeletion = _in_memory
    is_on_disk: bool = False
    last_ids: dict[str, UUID] = field(default_factory=dict)
    stated: dict[str, dict[str, str]] = field(default_factory=dict)
    dynamic: dict[str, dict[str, str]] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    nodes: tuple[int, ...] = ()
    up: set[int] = field(default_factory=set)
    changes: Changes = field(default_factory=Changes)
    _topics: dict[str, list[TopicPartition]] = field(default_factory=dict)

    def create(self, topic: str, replicas: list[tuple[int, ...]], topic_id: UUID | None = None) -> None:
        """A new topic, one tuple of replicas for each partition; the first replica leads.

        `topic_id` None: it gets one that is its own and, as everything here, the same in every run (KIP-516).
        """
        self.topic_ids[topic] = self.next_id(topic) if topic_id is None else topic_id
        self.topic_names[self.topic_ids[topic]] = topic
        if not self.is_on_disk:
            self.deleted_names.discard(topic)
        self._topics[topic] = []
        self._add_partitions(topic, replicas)

    def next_id(self, topic: str) -> UUID:
        """The id that a topic would have if it were made now."""
        return uuid5(TOPIC_IDS, f"{topic}/{self.version}")

    def _add_partitions(self, topic: str, replicas: Iterable[tuple[int, ...]]) -> list[TopicPartition]:
        """Who of the replicas is known to be down is not in sync, and leads nothing."""
        added = [(topic, number) for number, _ in enumerate(replicas, self.count(topic))]
        for partition, nodes in zip(added, replicas, strict=True):
            live = tuple(node for node in nodes if node in self.up) if self.up else nodes
            self.partitions[partition] = PartitionMetadata(nodes, live or nodes, live[0] if live else NOBODY)
        self._topics[topic] += added
        self.version += 1
        return added

    def make(self, topic: str, replicas: list[tuple[int, ...]], stated: dict[str, str]) -> None:
        """A request wants a new topic, and says this of its settings."""
        self.create(topic, replicas)
        if stated:
            self.stated[topic] = stated
            self.configs[topic] = log_config(stated, self.default_config)
        self.changes.created += self._topics[topic]

    def widen(self, topic: str, replicas: list[tuple[int, ...]]) -> None:
        """A request wants more partitions of a topic."""
        self.changes.created += self._add_partitions(topic, replicas)

    def restate(self, topic: str, stated: dict[str, str]) -> None:
        """From now on this is all that is said of a topic's settings."""
        self.stated[topic] = stated
        self.configs[topic] = log_config(stated, self.default_config)
        self.changes.configured.append(topic)
        self.version += 1

    def stated_of(self, topic: str) -> dict[str, str]:
        """What is said of a topic's settings, by Kafka's names; of the rest it has what brokers have."""
        if topic in self.stated:
            return self.stated[topic]
        own = self.configs.get(topic)
        return dict(STATED_OF_INTERNAL.get(topic, {})) if own is None else named(own)

    def delete(self, topic: str) -> None:
        """A topic is gone; `deleted_ids` and `deleted_names` tell of it for as long as something may be left of it."""
        for partition in self._topics.pop(topic):
            del self.partitions[partition]
            self.changes.deleted.append(partition)
        self.configs.pop(topic, None)
        self.stated.pop(topic, None)
        topic_id = self.topic_ids.pop(topic)
        del self.topic_names[topic_id]
        self.changes.deleted_topics[topic] = self.last_ids[topic] = topic_id
        self.deleted_ids.add(topic_id)
        self.deleted_names.add(topic)
        self.version += 1

    def take_changes(self) -> Changes:
        """What requests have changed since this was asked last."""
        taken, self.changes = self.changes, Changes()
        return taken

    def count(self, topic: str) -> int:
        """How many partitions a topic has; 0: there is no such topic."""
        return len(self._topics.get(topic, ()))

    def config_of(self, topic: str) -> LogConfig:
        """The settings of a topic's logs."""
        return self.configs.get(topic) or INTERNAL_CONFIGS.get(topic) or self.default_config

    def partitions_of(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Every partition of those of `topics` that exist."""
        return [partition for topic in topics for partition in self._topics.get(topic, ())]

    def leader_of(self, partition: TopicPartition) -> Leader:
        """Who leads `partition`."""
        known = self.partitions.get(partition)
        if known is None:
            return Leader(topic_exists=False, node=None)
        return Leader(topic_exists=True, node=None if known.leader == NOBODY else known.leader)

    def exists(self, partition: TopicPartition) -> bool:
        """Whether there is such a partition."""
        return partition in self.partitions

    def in_sync(self, partition: TopicPartition) -> int:
        """How many replicas of `partition` are in sync."""
        return len(self.partitions[partition].in_sync)

    def leader_epoch(self, partition: TopicPartition) -> int:
        """The leader epoch of `partition`; NONE if there is no such partition."""
        known = self.partitions.get(partition)
        return NONE if known is None else known.leader_epoch

    def transaction_partition(self, transactional_id: str) -> TopicPartition:
        """The partition of ``__transaction_state`` that holds an id."""
        return TRANSACTION_STATE, self.place_transactional_id(transactional_id, self.count(TRANSACTION_STATE))

    def group_partition(self, group: str) -> TopicPartition:
        """The partition of ``__consumer_offsets`` that holds a group."""
        return CONSUMER_OFFSETS, self.place_group(group, self.count(CONSUMER_OFFSETS))

    def elect(self, partition: TopicPartition, node: int) -> None:
        """`node` leads `partition` under the next leader epoch; with NOBODY nobody does, and no epoch begins."""
        known = self.partitions[partition]
        known.leader = node
        known.leader_epoch += node != NOBODY
        self.version += 1

    def set_in_sync(self, partition: TopicPartition, nodes: tuple[int, ...]) -> None:
        """The replicas of `partition` that are in sync are now `nodes`."""
        self.partitions[partition].in_sync = nodes
        self.version += 1
