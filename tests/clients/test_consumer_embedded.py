"""Consumers at a cluster that runs over logs on disk: groups and offsets are there after a restart."""

from pathlib import Path

from tests.clients.readers import GROUP, values
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.embedded_transport import EmbeddedTransport
from zombieproof.clients.producer import Producer
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition

T0: TopicPartition = ("t", 0)
FEW = Settings(
    transaction_state_log_num_partitions=2, offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0
)
BY_HAND = {**GROUP, "enable.auto.commit": False, "isolation.level": "read_committed"}


def poll(consumer: Consumer, polls: int = 8) -> list[str]:
    return [text for _ in range(polls) for text in values(consumer.poll(100))]


def test_a_group_goes_on_after_a_restart_where_it_has_committed(tmp_path: Path) -> None:
    with Embedded(tmp_path / "data", topics={"t": 1}, settings=FEW, clock=ManualClock()) as embedded:
        transport = EmbeddedTransport(embedded)
        producer = Producer(transport, transactional_id="x")
        producer.init_transactions()
        with producer.transaction():
            producer.send("t", b"a")
            producer.send("t", b"b")
        first = Consumer(transport, BY_HAND, group_instance_id="i")
        first.subscribe("t")
        assert poll(first) == ["a", "b"]
        with producer.transaction():
            producer.send("t", b"c")
            producer.send_offsets_to_transaction(first.positions(), first.group_metadata())
        generation = first.group_metadata().generation
    with Embedded(tmp_path / "data", settings=FEW, clock=ManualClock()) as embedded:
        again = Consumer(EmbeddedTransport(embedded), BY_HAND, group_instance_id="i")
        again.subscribe("t")
        assert poll(again) == ["c"]
        assert again.group_metadata().generation == generation, "its place was kept in the log, with what it reads"
        again.commit()
        assert again.committed([T0]) == {T0: OffsetAndMetadata(again.position(T0))}
        again.close()


def test_a_poll_at_a_cluster_that_was_closed_ends(tmp_path: Path) -> None:
    embedded = Embedded(tmp_path / "data", topics={"t": 1}, settings=FEW, clock=ManualClock())
    consumer = Consumer(EmbeddedTransport(embedded), BY_HAND)
    consumer.subscribe("t")
    assert poll(consumer) == []
    embedded.close()
    assert consumer.poll(60_000) == []
    consumer.crash()
