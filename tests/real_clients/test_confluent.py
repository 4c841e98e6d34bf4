"""librdkafka's client runs its transactions at a broker of ours as at one of Kafka's."""

from collections.abc import Iterator
from typing import Any

import pytest

from zombieproof.wire.running import Running

kafka = pytest.importorskip(
    "confluent_kafka", reason="confluent-kafka is not installed: what it does at a broker of ours is not tried here"
)

PATIENCE_S = 20.0


@pytest.fixture
def broker() -> Iterator[Running]:
    with Running() as running:
        running.topics(t=2)
        yield running


def producer(broker: Running, **more: Any) -> Any:
    made = kafka.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "x", **more})
    made.init_transactions(PATIENCE_S)
    return made


def reader(broker: Running, isolation: str = "read_committed") -> Any:
    made = kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    made.subscribe(["t"])
    return made


def read(consumer: Any, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"{count - len(found)} records are missing"
        assert message.error() is None
        found.append(message.value())
    return sorted(found)


def commit(made: Any, *values: bytes) -> None:
    made.begin_transaction()
    for number, value in enumerate(values):
        made.produce("t", value, partition=number % 2)
    made.commit_transaction(PATIENCE_S)


def abort(made: Any, value: bytes) -> None:
    made.begin_transaction()
    made.produce("t", value, partition=0)
    made.flush(PATIENCE_S)
    made.abort_transaction(PATIENCE_S)


def test_what_is_committed_is_read_and_what_is_aborted_is_hidden(broker: Running) -> None:
    made = producer(broker)
    commit(made, b"1", b"2", b"3")
    abort(made, b"aborted")
    commit(made, b"4")
    consumer = reader(broker)
    assert read(consumer, 4) == [b"1", b"2", b"3", b"4"]
    assert consumer.poll(0.5) is None
    consumer.close()
    everything = reader(broker, "read_uncommitted")
    assert b"aborted" in read(everything, 5)
    everything.close()


def test_a_zombie_is_fenced(broker: Running) -> None:
    zombie = producer(broker)
    commit(zombie, b"before")
    commit(producer(broker), b"after")
    with pytest.raises(kafka.KafkaException, match=r"_FENCED|fenced"):
        commit(zombie, b"zombie")
    consumer = reader(broker)
    assert read(consumer, 2) == [b"after", b"before"]
    assert consumer.poll(0.5) is None
    consumer.close()


def test_offsets_are_committed_with_the_transaction_or_not_at_all(broker: Running) -> None:
    made, consumer = producer(broker), reader(broker)
    commit(made, b"1", b"2")
    read(consumer, 2)
    for ends, expected in ((made.abort_transaction, -1001), (made.commit_transaction, 1)):
        made.begin_transaction()
        made.produce("t", b"output", partition=1)
        made.send_offsets_to_transaction(
            [kafka.TopicPartition("t", 0, 1)], consumer.consumer_group_metadata(), PATIENCE_S
        )
        ends(PATIENCE_S)
        (told,) = consumer.committed([kafka.TopicPartition("t", 0)], PATIENCE_S)
        assert told.offset == expected, "-1001 is librdkafka's word for none"
    consumer.close()


def test_a_transaction_that_is_open_for_too_long_is_aborted(broker: Running) -> None:
    made = producer(broker, **{"transaction.timeout.ms": 10_000, "message.timeout.ms": 10_000})
    made.begin_transaction()
    made.produce("t", b"late", partition=0)
    made.flush(PATIENCE_S)
    broker.advance(30_000)
    with pytest.raises(kafka.KafkaException):
        made.commit_transaction(PATIENCE_S)
    commit(producer(broker), b"next")
    consumer = reader(broker)
    assert read(consumer, 1) == [b"next"]
    assert consumer.poll(0.5) is None
    consumer.close()
