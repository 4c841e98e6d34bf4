"""What the end-to-end suites begin with: a cluster as their notes say, readers, what a leader knows of producers."""

from collections.abc import Mapping
from typing import Any

from tests.live.consumer import LiveConsumer, Read
from tests.live.stage import Stage
from tests.live.staged_producer import StagedProducer
from zombieproof.broker.cluster.cluster import Cluster, Replicas
from zombieproof.broker.cluster.settings import Settings
from zombieproof.clients.batches import SentRecord
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import (
    DescribeProducers,
    DescribeProducersAnswer,
    ProducerDescription,
)
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation

NODES = 3


def replicated(partitions: int, nodes: int = NODES, replicas: int = NODES) -> Replicas:
    """That many partitions, led by turns, each with some replicas."""
    ids = range(1, nodes + 1)
    return [tuple(ids[(first + i) % nodes] for i in range(replicas)) for first in range(partitions)]


def stage_of(
    topics: Mapping[str, Replicas] | None = None,
    *,
    nodes: int = NODES,
    rules: Rules | None = None,
    release: str = RELEASES[-1],
    client_rules: Rules | None = None,
    **settings: Any,
) -> Stage:
    """Three brokers, three partitions of the transaction log with two in sync at least, sweeps every 200 ms."""
    known = {
        "transaction_state_log_num_partitions": 3,
        "offsets_topic_num_partitions": 3,
        "transaction_state_log_min_isr": 2,
        "group_initial_rebalance_delay_ms": 0,
        "transaction_abort_timed_out_transaction_cleanup_interval_ms": 200,
        **settings,
    }
    given = topics or {"topic1": replicated(4, nodes), "topic2": replicated(4, nodes)}
    return Stage(Cluster(nodes, rules, Settings(**known), given, release=release), client_rules)


def read(stage: Stage, isolation: Isolation, *topics: str) -> list[Read]:
    """What a new consumer of these topics gets when everything has settled."""
    stage.settle()
    consumer = LiveConsumer(stage, isolation=isolation)
    consumer.assign(*(tp for tp in stage.cluster.metadata.partitions if tp[0] in topics))
    return stage.do(consumer.read_all())


def committed(stage: Stage, *topics: str) -> list[bytes]:
    """The values that a read_committed consumer gets."""
    return [value_of(one) for one in read(stage, Isolation.READ_COMMITTED, *topics)]


def uncommitted(stage: Stage, *topics: str) -> list[bytes]:
    """The values that a read_uncommitted consumer gets."""
    return [value_of(one) for one in read(stage, Isolation.READ_UNCOMMITTED, *topics)]


def value_of(one: Read) -> bytes:
    """The value of a record of the application."""
    assert isinstance(one.record.value, bytes), "applications write bytes"
    return one.record.value


def acked(producer: StagedProducer, sent: SentRecord) -> SentRecord:
    """Wait for the outcome of a record.

    Raises:
        Exception: it was not stored.
    """
    assert producer.run(lambda: sent.is_done), "a record has no outcome"
    if sent.error is not None:
        raise sent.error
    return sent


def producers_at(stage: Stage, partition: TopicPartition) -> tuple[ProducerDescription, ...]:
    """What the leader of a partition knows of producers."""
    answer = stage.cluster.ask(DescribeProducers(0, (partition,)), stage.cluster.leader_of(partition))
    assert isinstance(answer, DescribeProducersAnswer)
    return answer.partitions[partition].producers
