"""Topics for tests of the pipeline, made, filled and read back by a client: at brokers of ours and at a real Kafka."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from zombieproof.pipeline.kafka import client
from zombieproof.pipeline.reader import answered

CALL_S = 30.0
MADE_S = 30.0
READ_S = 60.0
SETTLES_S = 3.0


@dataclass(frozen=True, slots=True)
class Filled:
    """What was written to a topic.

    Attributes:
        committed: values of committed transactions.
        aborted: values of aborted ones, which are in the log and are never to be read.
    """

    committed: list[bytes] = field(default_factory=list)
    aborted: list[bytes] = field(default_factory=list)


def make_topics(bootstrap: str, **partitions: int) -> None:
    """Make topics with so many partitions each; they can be written to when this returns."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics(
        [NewTopic(topic, count, 1) for topic, count in partitions.items()], operation_timeout=CALL_S
    )
    for each in made.values():
        each.result(CALL_S)
    until = time.monotonic() + MADE_S
    for topic, count in partitions.items():
        while len(_led(admin, topic)) < count:
            assert time.monotonic() < until, f"{topic} has no leaders after {MADE_S:g} s"
            time.sleep(0.05)


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic, and wait until it is gone."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic], operation_timeout=CALL_S)[topic].result(CALL_S)
    until = time.monotonic() + MADE_S
    while topic in admin.list_topics(timeout=CALL_S).topics:
        assert time.monotonic() < until, f"{topic} is not deleted after {MADE_S:g} s"
        time.sleep(0.02)


def remake_topic(bootstrap: str, topic: str, partitions: int) -> None:
    """Delete a topic, and create it again under the same name."""
    delete_topic(bootstrap, topic)
    make_topics(bootstrap, **{topic: partitions})


def forget_group(bootstrap: str, group: str) -> None:
    """Delete a group with its positions, if there is one, as `offsets.retention.minutes` does."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    try:
        admin.delete_consumer_groups([group])[group].result(CALL_S)
    except client.KafkaException as error:
        if error.args[0].name() != "GROUP_ID_NOT_FOUND":
            raise


def _led(admin: Any, topic: str) -> list[int]:
    """Partitions of a topic that have a leader."""
    told = admin.list_topics(timeout=CALL_S).topics.get(topic)
    return [] if told is None else [number for number, each in told.partitions.items() if each.leader >= 0]


def fill(
    bootstrap: str, topic: str, partitions: int, rows: int, per_transaction: int = 50, abort_every: int = 5
) -> Filled:
    """Write rows `value-0` and on in transactions that commit; each nth is aborted once before it is made again.

    Rows go to one partition after the other, each transaction over all of them, with the key `key-<number % 7>` and
    the header `number`.
    """
    filled = Filled()
    producer = producing(bootstrap, f"fill-{topic}")
    values = [b"value-%d" % number for number in range(rows)]
    for turn, first in enumerate(range(0, rows, per_transaction)):
        some = values[first : first + per_transaction]
        if turn % abort_every == 0:
            lost = [b"aborted-" + value for value in some]
            _send(producer, topic, partitions, lost, first)
            producer.abort_transaction(CALL_S)
            filled.aborted.extend(lost)
        _send(producer, topic, partitions, some, first)
        producer.commit_transaction(CALL_S)
        filled.committed.extend(some)
    assert settle(bootstrap, topic, CALL_S) == 0, f"{topic} has open transactions after {CALL_S:g} s"
    return filled


def producing(bootstrap: str, transactional_id: str) -> Any:
    """A producer that has taken its id."""
    producer = client.Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 1})
    producer.init_transactions(CALL_S)
    return producer


def _send(producer: Any, topic: str, partitions: int, values: Iterable[bytes], first: int) -> None:
    producer.begin_transaction()
    for number, value in enumerate(values, start=first):
        headers = [("number", b"%d" % number)]
        producer.produce(topic, value, b"key-%d" % (number % 7), partition=number % partitions, headers=headers)
    left = producer.flush(CALL_S)
    assert left == 0, f"{left} rows are on their way after {CALL_S:g} s"


def read_back(bootstrap: str, topic: str, isolation: str = "read_committed") -> Counter[bytes | None]:
    """How often each value is there for readers of an isolation; those of read_committed see what is decided."""
    return Counter(message.value() for message in messages(bootstrap, topic, isolation))


def messages(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[Any]:
    """The records of a topic, partition by partition, as messages of the client.

    A commit is answered before its markers are written: who reads what is committed waits for them, but not long.
    """
    if isolation == "read_committed":
        settle(bootstrap, topic)
    consumer = _reading(bootstrap, isolation)
    places = _places(consumer, topic)
    past = {}
    for place in places:
        place.offset, past[place.partition] = ends(consumer, place)
    consumer.assign(places)
    until, found = time.monotonic() + READ_S, []
    while past:
        assert time.monotonic() < until, f"{topic} is not read as far as {past} in {READ_S:g} s"
        for message in consumer.consume(10_000, 0.05):
            if message.error() is None:
                found.append(message)
            elif message.error().name() != "_PARTITION_EOF":
                raise client.KafkaException(message.error())
            elif message.offset() >= past.get(message.partition(), message.offset()):
                past.pop(message.partition(), None)
    consumer.close()
    return sorted(found, key=lambda message: (message.partition(), message.offset()))


def _places(consumer: Any, topic: str) -> list[Any]:
    return [
        client.TopicPartition(topic, number)
        for number in sorted(consumer.list_topics(topic, CALL_S).topics[topic].partitions)
    ]


def settle(bootstrap: str, topic: str, within_s: float = SETTLES_S) -> int:
    """Wait until no transaction of a topic is open; returned is what is undecided then, which is 0 if none is."""
    until = time.monotonic() + within_s
    while (behind := undecided(bootstrap, topic)) and time.monotonic() < until:
        time.sleep(0.05)
    return behind


def undecided(bootstrap: str, topic: str) -> int:
    """How many offsets of a topic lie behind the last stable one: 0 if no transaction is open."""
    behind = 0
    # The end is asked for last: it is never before a last stable offset that was told earlier.
    for isolation, sign in (("read_committed", -1), ("read_uncommitted", 1)):
        consumer = _reading(bootstrap, isolation)
        for place in _places(consumer, topic):
            behind += sign * ends(consumer, place)[1]
        consumer.close()
    return behind


def ends(consumer: Any, place: Any) -> tuple[int, int]:
    """Where a log begins and ends; who is told of a lost connection instead asks again."""
    first, past = answered(lambda: consumer.get_watermark_offsets(place, CALL_S, cached=False))
    return int(first), int(past)


def _reading(bootstrap: str, isolation: str) -> Any:
    return client.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "read-back",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 50,
        }
    )
