"""A cluster in this process with consumers and producers at it, and a process that can be frozen."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.partition_reader import ConsumerRecord
from zombieproof.clients.producer import Producer
from zombieproof.clients.transport import ClusterMetadata, ClusterTransport, Done, Transport
from zombieproof.formats.topics import TopicPartition

GROUP = {"group.id": "g", "auto.offset.reset": "earliest"}


def cluster_of(topics: dict[str, int] | None = None, nodes: int = 1, **settings: Any) -> Cluster:
    """A small cluster whose groups do not wait for a first delay."""
    chosen = {"group_initial_rebalance_delay_ms": 0, "offsets_topic_num_partitions": 2, **settings}
    chosen.setdefault("transaction_state_log_num_partitions", 2)
    return Cluster(nodes, settings=Settings(**chosen), topics=topics or {"t": 4})


@dataclass(slots=True)
class Frozen:
    """The transport of one process, which can be stopped for a while: then it hears and does nothing."""

    inner: ClusterTransport
    is_frozen: bool = False
    held: list[Callable[[], None]] = field(default_factory=list)

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self.inner.lock

    def now_ms(self) -> int:
        return self.inner.now_ms()

    def send(self, node: int | None, body: Request, done: Done) -> None:
        def told(answer: Answer | None) -> None:
            self._now_or_later(lambda: done(answer))

        self.inner.send(node, body, told)

    def call_at(self, at_ms: int, action: Callable[[], None]) -> None:
        self.inner.call_at(at_ms, lambda: self._now_or_later(action))

    def _now_or_later(self, action: Callable[[], None]) -> None:
        if self.is_frozen:
            self.held.append(action)
        else:
            action()

    def thaw(self) -> None:
        """The process goes on."""
        self.is_frozen = False
        held, self.held = self.held, []
        for action in held:
            action()

    def turn(self, until_ms: int) -> bool:
        return self.inner.turn(until_ms)

    def wait_until(self, is_over: Callable[[], bool], timeout_ms: int) -> bool:
        return self.inner.wait_until(is_over, timeout_ms)

    def metadata(self) -> ClusterMetadata:
        return self.inner.metadata()

    def refresh_metadata(self) -> None:
        self.inner.refresh_metadata()


@dataclass(slots=True)
class Listener:
    """Keeps what it is told: (what happened, the numbers of the partitions)."""

    told: list[tuple[str, list[int]]] = field(default_factory=list)
    on_revoked: Callable[[], object] = lambda: None

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> object:
        self.told.append(("assigned", sorted(number for _, number in partitions)))
        return None

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> object:
        self.told.append(("revoked", sorted(number for _, number in partitions)))
        return self.on_revoked()

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> object:
        self.told.append(("lost", sorted(number for _, number in partitions)))
        return None


def values(records: list[ConsumerRecord]) -> list[str]:
    """The values of records, as text."""
    return [record.value.decode() if isinstance(record.value, bytes) else str(record.value) for record in records]


def write(transport: ClusterTransport, *texts: str, topic: str = "t", partition: int | None = 0) -> None:
    """Records without a transaction."""
    producer = Producer(transport)
    for text in texts:
        producer.send(topic, text.encode(), partition=partition)
    producer.flush()
    producer.close()


def read_all(consumer: Consumer, silent_polls: int = 2) -> list[ConsumerRecord]:
    """Everything that comes until nothing does."""
    found, silent = list[ConsumerRecord](), 0
    while silent < silent_polls:
        records = consumer.poll(1000)
        found += records
        silent = 0 if records else silent + 1
    return found


def together(*consumers: Consumer, rounds: int = 30, timeout_ms: int = 300) -> list[ConsumerRecord]:
    """The consumers take turns to poll; everything that came."""
    return [record for _ in range(rounds) for each in consumers for record in each.poll(timeout_ms)]


def numbers(consumer: Consumer) -> list[int]:
    """The partitions that a consumer reads."""
    return sorted(number for _, number in consumer.assignment())


def member(transport: Transport, listener: Listener | None = None, **given: Any) -> Consumer:
    """A member of the group that commits by hand."""
    chosen = {name.replace("_", "."): value for name, value in given.items()}
    consumer = Consumer(transport, {**GROUP, "enable.auto.commit": False, **chosen})
    consumer.subscribe("t", listener)
    return consumer


def pass_time(transport: ClusterTransport, milliseconds: int) -> None:
    """Time passes while nobody polls."""
    transport.wait_until(lambda: False, milliseconds)
