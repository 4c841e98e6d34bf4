"""A consumer at a cluster in this process: what is read, where it goes on, what the group remembers."""

import asyncio
from typing import Any

import pytest

from tests.clients.readers import GROUP, Listener, cluster_of, read_all, values, write
from zombieproof.clients.aio_consumer import AsyncConsumer
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.consumer_errors import NoOffset, TimedOut
from zombieproof.clients.errors import IllegalState
from zombieproof.clients.producer import Producer
from zombieproof.clients.settings import ConsumerSettings, SettingsError
from zombieproof.clients.transport import ClusterTransport
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.encoding import size_of
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import EVERYTHING, Fetch, FetchAnswer
from zombieproof.model.vocabulary import Isolation

P0: TopicPartition = ("t", 0)
P1: TopicPartition = ("t", 1)


@pytest.fixture
def transport() -> ClusterTransport:
    return ClusterTransport(cluster_of())


def consumer_of(transport: ClusterTransport, *partitions: TopicPartition, **settings: Any) -> Consumer:
    consumer = Consumer(transport, {"auto.offset.reset": "earliest"}, **settings)
    consumer.assign(partitions or (P0,))
    return consumer


# ---------------------------------------------------------------- reading


def test_records_come_in_order_with_all_that_was_sent(transport: ClusterTransport) -> None:
    producer = Producer(transport)
    producer.send("t", b"one", b"key", partition=0, timestamp_ms=7, headers={"h": b"v"})
    producer.send("t", None, b"key", partition=0, timestamp_ms=8)
    producer.flush()
    first, second = read_all(consumer_of(transport))
    assert (first.topic, first.partition, first.offset, first.timestamp_ms) == ("t", 0, 0, 7)
    assert (first.key, first.value, first.headers) == (b"key", b"one", (("h", b"v"),))
    assert (second.offset, second.value, second.timestamp_ms) == (1, None, 8)


def test_a_poll_hands_out_no_more_than_it_may_and_loses_nothing(transport: ClusterTransport) -> None:
    write(transport, *(str(number) for number in range(10)))
    consumer = consumer_of(transport, max_poll_records=3)
    polls = [values(consumer.poll(1000)) for _ in range(4)]
    assert [len(each) for each in polls] == [3, 3, 3, 1]
    assert [text for each in polls for text in each] == [str(number) for number in range(10)]


def test_a_partition_with_much_does_not_starve_the_others(transport: ClusterTransport) -> None:
    write(transport, *(f"a{number}" for number in range(20)))
    write(transport, "b", partition=1)
    consumer = consumer_of(transport, P0, P1, max_poll_records=5)
    assert "b" in [text for _ in range(2) for text in values(consumer.poll(1000))]


def test_a_fetch_brings_no_more_than_it_may_and_always_something() -> None:
    cluster = cluster_of()
    transport = ClusterTransport(cluster)
    for number in range(6):
        write(transport, f"a{number}")
        write(transport, f"b{number}", partition=1)
    (first, *_) = cluster.stores[1, P0].log.read()
    size = size_of(first)
    for most, of_each, batches in (
        (EVERYTHING, EVERYTHING, [6, 6]),
        (EVERYTHING, 2 * size, [2, 2]),
        (EVERYTHING, 3 * size - 1, [2, 2]),
        (7 * size, EVERYTHING, [6, 1]),
        (3 * size, 2 * size, [2, 1]),
        (1, 1, [1, 0]),
    ):
        answer = cluster.ask(Fetch(11, Isolation.READ_COMMITTED, {P0: 0, P1: 0}, 1, 0, most, of_each))
        assert isinstance(answer, FetchAnswer)
        assert [len(row.batches) for row in answer.partitions.values()] == batches, (most, of_each)
    for limits in ({"fetch_max_bytes": 0}, {"max_partition_fetch_bytes": 0}, {"fetch_max_bytes": 3 * size}):
        assert len(read_all(consumer_of(transport, P0, P1, **limits))) == 12, limits


def test_a_poll_ends_with_its_time_or_with_a_record(transport: ClusterTransport) -> None:
    consumer, began_ms = consumer_of(transport), transport.now_ms()
    assert consumer.poll(700) == []
    assert transport.now_ms() - began_ms == 700

    def write_later() -> None:
        Producer(transport, linger_ms=0).send("t", b"x", partition=0)

    transport.call_at(transport.now_ms() + 300, write_later)
    assert values(consumer.poll(5000)) == ["x"]
    assert transport.now_ms() - began_ms == 1000


def test_what_was_written_before_it_came_is_passed_over_unless_it_asks_for_it(transport: ClusterTransport) -> None:
    write(transport, "old")
    latest = Consumer(transport)
    latest.assign([P0])
    assert latest.poll(100) == []
    write(transport, "new")
    assert values(read_all(latest)) == ["new"]
    with pytest.raises(NoOffset, match="t-0: there is no offset to begin at; seek, or set"):
        _none(transport).poll(1000)


def _none(transport: ClusterTransport) -> Consumer:
    consumer = Consumer(transport, auto_offset_reset="none")
    consumer.assign([P0])
    return consumer


def test_an_offset_that_does_not_exist_is_reset_as_it_was_chosen(transport: ClusterTransport) -> None:
    write(transport, "a", "b")
    consumer = consumer_of(transport)
    consumer.seek(P0, 99)
    assert values(read_all(consumer)) == ["a", "b"]
    strict = _none(transport)
    strict.seek(P0, 99)
    with pytest.raises(NoOffset):
        strict.poll(1000)


# ---------------------------------------------------------------- positions


def test_seeking_moves_to_any_offset_and_to_both_ends(transport: ClusterTransport) -> None:
    write(transport, "a", "b", "c")
    consumer = consumer_of(transport)
    assert (consumer.position(P0), values(read_all(consumer)), consumer.position(P0)) == (0, ["a", "b", "c"], 3)
    consumer.seek(P0, 1)
    assert (consumer.position(P0), values(read_all(consumer))) == (1, ["b", "c"])
    consumer.seek_to_beginning()
    assert values(read_all(consumer)) == ["a", "b", "c"]
    consumer.seek_to_beginning(P0)
    consumer.seek_to_end(P0)
    assert (consumer.position(P0), values(read_all(consumer))) == (3, [])


def test_a_seek_while_a_fetch_is_under_way_is_what_counts(transport: ClusterTransport) -> None:
    write(transport, "a", "b", "c")
    consumer = consumer_of(transport)
    consumer.poll(0)
    consumer.poll(0)
    consumer.seek(P0, 2)
    assert values(read_all(consumer)) == ["c"]


def test_a_paused_partition_is_not_handed_out_and_loses_nothing(transport: ClusterTransport) -> None:
    write(transport, "a", "b")
    write(transport, "x", partition=1)
    consumer = consumer_of(transport, P0, P1, max_poll_records=1)
    assert values(consumer.poll(1000)) == ["a"]
    consumer.pause(P0)
    assert consumer.paused() == {P0}
    assert values(read_all(consumer)) == ["x"]
    consumer.resume(P0)
    assert consumer.paused() == frozenset()
    assert values(read_all(consumer)) == ["b"]


def test_offsets_are_found_by_time(transport: ClusterTransport) -> None:
    producer = Producer(transport)
    for time_ms in (10, 20, 30):
        producer.send("t", b"x", partition=0, timestamp_ms=time_ms)
    producer.flush()
    consumer = consumer_of(transport)
    assert consumer.offsets_for_times({P0: 20, P1: 20}) == {P0: 1, P1: None}
    assert [consumer.offsets_for_times({P0: at})[P0] for at in (0, 10, 11, 30, 31)] == [0, 0, 1, 2, None]
    assert (consumer.beginning_offsets([P0, P1]), consumer.end_offsets([P0, P1])) == ({P0: 0, P1: 0}, {P0: 3, P1: 0})
    with pytest.raises(IllegalState, match="-1 is no time"):
        consumer.offsets_for_times({P0: -1})


# ---------------------------------------------------------------- the group's offsets


def test_a_consumer_goes_on_where_its_group_has_committed(transport: ClusterTransport) -> None:
    write(transport, "a", "b", "c")
    first = Consumer(transport, GROUP, enable_auto_commit=False, max_poll_records=2)
    first.assign([P0])
    assert values(first.poll(1000)) == ["a", "b"]
    assert first.committed([P0, P1]) == {P0: None, P1: None}
    first.commit()
    assert first.committed([P0]) == {P0: OffsetAndMetadata(2)}
    first.commit({P1: 7, P0: OffsetAndMetadata(1, "by hand")})
    assert first.committed([P0, P1]) == {P0: OffsetAndMetadata(1, "by hand"), P1: OffsetAndMetadata(7)}
    first.commit()
    second = Consumer(transport, GROUP)
    second.assign([P0])
    assert values(read_all(second)) == ["c"]


def test_offsets_commit_themselves_at_their_interval_and_when_the_consumer_closes(transport: ClusterTransport) -> None:
    write(transport, "a", "b", "c")
    consumer = Consumer(transport, GROUP, max_poll_records=1, auto_commit_interval_ms=1000)
    consumer.assign([P0])
    assert values(consumer.poll(500)) == ["a"]
    assert consumer.committed([P0]) == {P0: None}
    transport.wait_until(lambda: False, 1000)
    assert values(consumer.poll(500)) == ["b"]
    assert consumer.committed([P0]) == {P0: OffsetAndMetadata(1)}, "what the poll before had handed out"
    consumer.close()
    other = Consumer(transport, GROUP)
    assert other.committed([P0]) == {P0: OffsetAndMetadata(2)}


def test_a_consumer_that_crashes_commits_nothing(transport: ClusterTransport) -> None:
    write(transport, "a")
    consumer = Consumer(transport, GROUP)
    consumer.assign([P0])
    assert values(read_all(consumer, 1)) == ["a"]
    consumer.crash()
    transport.wait_until(lambda: False, 60_000)
    other = Consumer(transport, GROUP)
    assert other.committed([P0]) == {P0: None}


def test_a_call_that_nobody_answers_ends_with_its_time() -> None:
    cluster = cluster_of(nodes=2)
    transport = ClusterTransport(cluster)
    consumer = Consumer(transport, GROUP)
    for node in (1, 2):
        cluster.kill(node)
    with pytest.raises(TimedOut, match="commit was not over within 500 ms; call again"):
        consumer.commit({P0: 1}, timeout_ms=500)


def test_a_leader_that_goes_is_looked_for_again() -> None:
    cluster = cluster_of(nodes=3)
    transport = ClusterTransport(cluster)
    write(transport, "a", partition=2)
    consumer = consumer_of(transport, ("t", 2))
    assert values(read_all(consumer)) == ["a"]
    cluster.kill(3)
    assert consumer.poll(2000) == []
    cluster.start(3)
    write(transport, "b", partition=2)
    assert values(read_all(consumer)) == ["b"]


# ---------------------------------------------------------------- what is not allowed


def test_a_call_that_is_not_allowed_says_why_and_changes_nothing(transport: ClusterTransport) -> None:
    consumer = Consumer(transport)
    for call, said in (
        (lambda: consumer.poll(0), "nothing is read: subscribe to topics, or assign partitions, before polling"),
        (lambda: consumer.subscribe("t"), "subscribe needs a group.id"),
        (consumer.commit, "commit needs a group.id"),
        (lambda: consumer.committed([P0]), "committed needs a group.id"),
        (consumer.group_metadata, "group_metadata needs a group.id"),
        (lambda: consumer.seek(P0, 1), "t-0 is not assigned; assigned is nothing"),
        (lambda: consumer.assign([("t", 4)]), "t-4 cannot be assigned: t has 4 partitions"),
        (lambda: consumer.assign([("x", 0)]), "x-0 cannot be assigned: x has 0 partitions"),
    ):
        with pytest.raises(IllegalState, match=said):
            call()
    consumer.assign([P0])
    with pytest.raises(IllegalState, match="offset -1 is none"):
        consumer.seek(P0, -1)
    consumer.close()
    consumer.close()
    with pytest.raises(IllegalState, match="the consumer is closed"):
        consumer.poll(0)


def test_who_subscribes_does_not_assign_and_the_other_way_round(transport: ClusterTransport) -> None:
    consumer = Consumer(transport, GROUP)
    consumer.assign([P0])
    with pytest.raises(IllegalState, match="assigned by hand: unsubscribe first"):
        consumer.subscribe("t")
    consumer.unsubscribe()
    with pytest.raises(IllegalState, match="at least one topic"):
        consumer.subscribe([])
    consumer.subscribe("t")
    with pytest.raises(IllegalState, match="the group assigns what is read: unsubscribe first"):
        consumer.assign([P0])
    assert consumer.subscription() == {"t"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"heartbeat.interval.ms": 45_000}, "heartbeat.interval.ms 45000 must be less than session.timeout.ms 45000"),
        ({"fetch.max.wait.ms": 30_000}, "fetch.max.wait.ms 30000 must be less than request.timeout.ms 30000"),
        ({"isolation.level": "serializable"}, "legal is read_uncommitted, read_committed, read_committed_buffering"),
        ({"auto.offset.reset": "never"}, "legal is earliest, latest, none"),
        ({"partition.assignment.strategy": "range,range"}, "each once"),
        ({"partition.assignment.strategy": ""}, "legal is one or more of range, roundrobin, cooperative-sticky"),
        ({"group.instance.id": "i"}, "group.instance.id needs a group.id"),
        ({"enable.auto.commit": "true"}, "enable.auto.commit needs a group.id"),
        ({"group.protocol": "consumer", "group.id": "g", "session.timeout.ms": 9000}, "the broker decides it"),
        ({"group.id": "g", "group.remote.assignor": "range"}, "needs group.protocol=consumer"),
        ({"group.protocol": "consumer", "group.remote.assignor": "sticky"}, "legal is uniform, range"),
        ({"group.id": ""}, "group.id: '' is refused"),
        ({"max.poll.record": 1}, "max.poll.record is no setting of ConsumerSettings: did you mean max.poll.records?"),
        ({"max.poll.records": 0}, "max.poll.records: 0 is refused"),
    ],
)
def test_settings_that_do_not_exist_or_go_together_are_refused_with_the_rule(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        ConsumerSettings(given)


# ---------------------------------------------------------------- asyncio


def test_the_consumer_for_asyncio_does_the_same(transport: ClusterTransport) -> None:
    write(transport, "a", "b")

    class AsyncListener(Listener):
        async def on_partitions_assigned(self, partitions: list[TopicPartition]) -> object:
            await asyncio.sleep(0)
            return Listener.on_partitions_assigned(self, partitions)

    async def run() -> tuple[list[str], Any, int, list[tuple[str, list[int]]]]:
        listener = AsyncListener()
        async with AsyncConsumer(transport, GROUP, enable_auto_commit=False) as consumer:
            consumer.subscribe("t", listener)
            found: list[str] = []
            for _ in range(6):
                found += values(await consumer.poll(200))
            await consumer.commit()
            assert await consumer.beginning_offsets([P0]) == {P0: 0}
            assert await consumer.end_offsets([P0]) == {P0: 2}
            assert await consumer.offsets_for_times({P0: 1 << 50}) == {P0: None}
            committed, position = await consumer.committed([P0]), await consumer.position(P0)
            await consumer.unsubscribe()
        return found, committed, position, listener.told

    found, committed, position, told = asyncio.run(run())
    assert (found, committed[P0], position) == (["a", "b"], OffsetAndMetadata(2), 2)
    assert told == [("assigned", [0, 1, 2, 3]), ("revoked", [0, 1, 2, 3])]


def test_an_asynchronous_consumer_that_crashes_is_silent(transport: ClusterTransport) -> None:
    consumer = AsyncConsumer(transport, GROUP)
    consumer.crash()
    with pytest.raises(IllegalState, match="closed"):
        asyncio.run(consumer.poll(0))


def test_every_call_exists_in_both_kinds() -> None:
    def calls(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert calls(Consumer) == calls(AsyncConsumer)
