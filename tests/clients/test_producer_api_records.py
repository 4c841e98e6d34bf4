"""The producer's records, synchronous and for asyncio: where they go, when they leave, what becomes of them."""

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import pytest

from tests.live.any_producer import Make, transactional
from tests.live.faulty_transport import Fate, FaultyTransport
from tests.live.reading import values_of
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Message
from zombieproof.clients.aio import AsyncProducer
from zombieproof.clients.errors import (
    AbortableError,
    BufferExhausted,
    CallTimedOut,
    IllegalState,
    ProducerFailure,
    RecordTooLarge,
    TopicUnknown,
)
from zombieproof.clients.producer import Producer
from zombieproof.clients.settings import ProducerSettings, SettingsError
from zombieproof.clients.values import PartitionInfo
from zombieproof.formats.encoding import write_batch
from zombieproof.messages.partitions import Produce

T0, T1 = ("t", 0), ("t", 1)


# ---------------------------------------------------------------- without transactions


def test_without_a_transactional_id_records_are_stored_once_and_in_order(
    make: Make, transport: FaultyTransport
) -> None:
    producer = make(transport)
    futures = [producer.send("t", b"%d" % number, partition=0) for number in range(20)]
    assert [future.result().offset for future in futures] == list(range(20))
    assert values_of(transport.cluster, T0) == [b"%d" % number for number in range(20)]
    assert transport.produces[0].transactional_id is None
    assert transport.produces[0].partitions[T0][0].batch.producer_id >= 0


@pytest.mark.parametrize("acks", [0, 1])
def test_without_idempotence_nothing_is_numbered(make: Make, transport: FaultyTransport, acks: int) -> None:
    producer = make(transport, acks=acks)
    futures = [producer.send("t", b"%d" % number, partition=0) for number in range(3)]
    offsets = [future.result().offset for future in futures]
    assert offsets == ([-1, -1, -1] if acks == 0 else [0, 1, 2])
    producer.close()
    transport.wait_until(lambda: False, 10)
    assert values_of(transport.cluster, T0) == [b"0", b"1", b"2"]
    [sent] = transport.produces
    assert (sent.acks, sent.partitions[T0][0].batch.producer_id, sent.partitions[T0][0].batch.base_sequence) == (
        acks,
        -1,
        -1,
    )


def test_a_record_keeps_key_headers_and_time(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport)
    told = producer.send("t", None, b"k", timestamp_ms=77, headers={"h": b"1"}).result()
    assert told.timestamp_ms == 77
    [batch] = transport.cluster.stores[
        transport.metadata().leaders[told.topic_partition], told.topic_partition
    ].log.read()
    [record] = batch.records
    assert (record.key, record.value, record.headers, batch.timestamps) == (b"k", None, (("h", b"1"),), (77,))
    assert producer.send("t", b"v").result().timestamp_ms == transport.now_ms() - 5, "it was sent, and lingered"


def test_records_with_equal_keys_stay_together(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport)
    where = {key: {producer.send("t", b"v", key).result().partition for _ in range(3)} for key in (b"a", b"b", b"21")}
    assert all(len(partitions) == 1 for partitions in where.values())
    assert where[b"21"] == {(-973932308 & 0x7FFFFFFF) % 2}, "as Kafka's clients hash it"


def test_records_without_a_key_stay_until_a_batch_is_full(make: Make) -> None:
    transport = FaultyTransport(Cluster(topics={"t": 4}))
    producer = make(transport, batch_size=1000)
    partitions = [producer.send("t", b"v" * 85) for _ in range(40)]
    chosen = [future.result().partition for future in partitions]
    assert [len(set(chosen[first : first + 10])) for first in range(0, 40, 10)] == [1, 1, 1, 1]
    assert len(set(chosen)) > 1
    again = make(FaultyTransport(Cluster(topics={"t": 4})), batch_size=1000)
    assert [again.send("t", b"v" * 85).result().partition for _ in range(40)] == chosen, "every run is the same"


def test_who_ignores_keys_spreads_them(make: Make) -> None:
    producer = make(FaultyTransport(Cluster(topics={"t": 4})), batch_size=100, partitioner_ignore_keys=True)
    assert len({producer.send("t", b"v" * 99, b"k").result().partition for _ in range(20)}) > 1


def test_partitions_are_told_with_their_leaders(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport)
    assert producer.partitions_for("t") == [PartitionInfo("t", 0, 1), PartitionInfo("t", 1, 2)]
    with pytest.raises(TopicUnknown, match=r"topic nowhere was not found within max\.block\.ms 60000: create it"):
        producer.partitions_for("nowhere")


# ---------------------------------------------------------------- what is refused


def test_what_is_no_record_is_refused(make: Make, transport: FaultyTransport) -> None:
    producer, text, number = make(transport), cast("bytes", "text"), cast("bytes", 7)
    with pytest.raises(TypeError, match="the value of a record is bytes or None, not str: encode it first"):
        producer.send("t", text)
    with pytest.raises(TypeError, match="the key of a record is bytes or None, not int"):
        producer.send("t", b"v", number)
    with pytest.raises(ValueError, match="partition -1 of t: legal is None, or a number"):
        producer.send("t", b"v", partition=-1)
    with pytest.raises(SettingsError, match=r"did you mean linger\.ms"):
        make(transport, {"linger": 1})


@pytest.mark.parametrize(("topic", "partition", "name"), [("nowhere", None, "nowhere"), ("t", 2, "t-2")])
def test_a_record_for_nowhere_fails_when_nobody_has_told_of_its_topic_in_time(
    make: Make, transport: FaultyTransport, topic: str, partition: int | None, name: str
) -> None:
    producer = make(transport, max_block_ms=700)
    began_ms = transport.now_ms()
    future = producer.send(topic, b"v", partition=partition)
    with pytest.raises(TopicUnknown, match=f"topic {name} was not found within max.block.ms 700"):
        future.result()
    assert transport.now_ms() == began_ms + 700
    producer.send("t", b"v").result()


def test_a_topic_that_appears_in_time_is_waited_for(make: Make, transport: FaultyTransport) -> None:
    known, began_ms = transport.metadata(), transport.now_ms()
    unknown = replace(known, number=known.number - 1, partitions={})
    transport.metadata = lambda: known if transport.now_ms() >= began_ms + 450 else unknown  # type: ignore[method-assign]
    producer = make(transport)
    assert producer.send("t", b"v").result().offset == 0
    assert began_ms + 450 <= transport.now_ms() <= began_ms + 600


def test_a_record_that_is_too_large_fails_and_with_it_its_transaction(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport, max_request_size=1000)
    producer.begin_transaction()
    with pytest.raises(AbortableError, match=r"is larger than max\.request\.size 1000") as raised:
        producer.send("t", b"v" * 950).result()
    assert isinstance(raised.value.__cause__, RecordTooLarge)
    producer.abort_transaction()
    with producer.transaction():
        producer.send("t", b"v" * 900, partition=0)
    assert values_of(transport.cluster, T0) == [b"v" * 900]


def test_who_sends_faster_than_anybody_stores_waits_for_room(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport, buffer_memory=2_000, batch_size=500, linger_ms=3_600_000)
    futures = [producer.send("t", b"v" * 100, partition=0) for _ in range(100)]
    assert [future.result().offset for future in futures] == list(range(100))


def test_room_that_does_not_come_in_time_fails_the_record(make: Make, transport: FaultyTransport) -> None:
    transport.plan = lambda message: "is held" if isinstance(message.body, Produce) else "arrives"
    producer = make(transport, buffer_memory=250, max_block_ms=300)
    first = producer.send("t", b"v" * 200)
    with pytest.raises(BufferExhausted, match=r"no room for a record of 218 bytes in buffer\.memory within .* 300"):
        producer.send("t", b"v" * 200).result()
    transport.plan = lambda _: "arrives"
    transport.release()
    first.result()
    producer.send("t", b"v" * 200).result()


# ---------------------------------------------------------------- batches and time


def test_a_batch_waits_for_more_records_as_long_as_it_lingers(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport, linger_ms=700)
    began_ms = transport.now_ms()
    first = producer.send("t", b"1", partition=0)
    transport.wait_until(lambda: False, 699)
    assert not first.done()
    second = producer.send("t", b"2", partition=0)
    assert second.result().offset == 1
    assert transport.now_ms() == began_ms + 700
    assert [len(each.partitions[T0][0].batch.records) for each in transport.produces] == [2]


@pytest.mark.parametrize("hurry", ["flush", "commit_transaction", "close"])
def test_who_wants_an_end_does_not_linger(make: Make, transport: FaultyTransport, hurry: str) -> None:
    producer = transactional(make, transport, linger_ms=60_000)
    producer.begin_transaction()
    future = producer.send("t", b"1", partition=0)
    began_ms = transport.now_ms()
    getattr(producer, hurry)()
    assert future.done()
    assert transport.now_ms() < began_ms + 1000


def test_no_batch_is_larger_than_its_setting_and_a_full_one_leaves_at_once(
    make: Make, transport: FaultyTransport
) -> None:
    producer = make(transport, batch_size=1000, linger_ms=60_000)
    futures = [producer.send("t", b"v" * 100, b"key", partition=0, headers={"h": b"x"}) for _ in range(40)]
    futures[30].result()
    assert transport.now_ms() < 1_001_000, "only the last batch lingers"
    producer.flush()
    sizes = [len(write_batch(each.partitions[T0][0].batch)) for each in transport.produces]
    assert max(sizes) <= 1000
    assert sum(sizes[:-1]) / len(sizes[:-1]) > 800
    assert [future.result().offset for future in futures] == list(range(40))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_are_packed_as_the_setting_says(make: Make, transport: FaultyTransport, codec: str) -> None:
    producer = make(transport, compression_type=codec)
    producer.send("t", b"v" * 1000, partition=0).result()
    [sent] = transport.produces
    assert sent.partitions[T0][0].batch.codec.name.lower() == codec


def test_at_most_so_many_requests_are_under_way_to_a_node_as_the_setting_says(
    make: Make, transport: FaultyTransport
) -> None:
    for limit in (1, 3, 5):
        held = FaultyTransport(Cluster(topics={"t": 1}))
        held.plan = lambda message: "is held" if isinstance(message.body, Produce) else "arrives"
        producer = make(held, batch_size=0, linger_ms=0, max_in_flight_requests_per_connection=limit)
        futures = [producer.send("t", b"%d" % number) for number in range(9)]
        held.wait_until(lambda: False, 100)
        assert len(held.held) == limit
        held.plan = lambda _: "arrives"
        held.release()
        assert [future.result().offset for future in futures] == list(range(9))
    assert transport.seen == []


def test_a_record_that_cannot_be_delivered_fails_when_its_time_is_over(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport, delivery_timeout_ms=3_000, request_timeout_ms=1_000)
    transport.plan = lambda message: "is lost" if isinstance(message.body, Produce) else "arrives"
    began_ms = transport.now_ms()
    future = producer.send("t", b"v", partition=0)
    with pytest.raises(ProducerFailure, match="t-0: not acknowledged within 3000 ms"):
        future.result()
    assert transport.now_ms() == began_ms + 3_000
    transport.plan = lambda _: "arrives"
    assert producer.send("t", b"next", partition=0).result().offset == 0


def test_a_transaction_with_such_a_record_can_only_be_aborted(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport, delivery_timeout_ms=3_000, request_timeout_ms=1_000)
    transport.plan = lambda message: "is lost" if isinstance(message.body, Produce) else "arrives"
    producer.begin_transaction()
    producer.send("t", b"v", partition=0)
    with pytest.raises(AbortableError, match="abort the transaction"):
        producer.commit_transaction()
    transport.plan = lambda _: "arrives"
    producer.abort_transaction()
    with producer.transaction():
        producer.send("t", b"next", partition=0)
    assert values_of(transport.cluster, T0) == [b"next"]


def test_a_call_that_takes_too_long_is_made_again_and_goes_on(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport, {"transactional.id": "shop"}, max_block_ms=2_000)
    transport.plan = lambda _: "is held"
    began_ms = transport.now_ms()
    with pytest.raises(CallTimedOut, match=r"initTransactions was not over within max\.block\.ms 2000; .* call init"):
        producer.init_transactions()
    assert transport.now_ms() == began_ms + 2_000
    with pytest.raises(IllegalState, match="initTransactions timed out, and its outcome is not known"):
        producer.begin_transaction()
    transport.plan = lambda _: "arrives"
    transport.release()
    producer.init_transactions()
    producer.begin_transaction()


def test_closing_aborts_what_is_open_and_what_cannot_be_finished_fails(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport)
    producer.begin_transaction()
    producer.send("t", b"open", partition=0)
    producer.close()
    producer.close()
    assert values_of(transport.cluster, T0) == []
    stuck = make(transport)
    transport.plan = lambda _: "is held"
    future = stuck.send("t", b"v", partition=1)
    began_ms = transport.now_ms()
    stuck.close(250)
    assert transport.now_ms() == began_ms + 250
    with pytest.raises(ProducerFailure, match="closed by force"):
        future.result()


# ---------------------------------------------------------------- futures


def test_a_future_that_nobody_waits_for_long_enough_says_so(transport: FaultyTransport) -> None:
    producer = Producer(transport, linger_ms=500)
    future = producer.send("t", b"v")
    with pytest.raises(TimeoutError, match="no outcome within 100 ms"):
        future.result(100)
    assert future.exception(500) is None
    assert future.result().offset == 0


def test_actions_behind_a_future_are_called_once_and_may_send(transport: FaultyTransport) -> None:
    producer, heard = Producer(transport), list[int]()

    def hear(future: Any) -> None:
        heard.append(future.result().offset)
        if len(heard) < 3:
            producer.send("t", b"v", partition=0).add_done_callback(hear)

    producer.send("t", b"v", partition=0).add_done_callback(hear)
    transport.wait_until(lambda: len(heard) == 3, 1000)
    assert heard == [0, 1, 2]
    done = producer.send("t", b"v", partition=0)
    done.result()
    done.add_done_callback(hear)
    assert heard == [0, 1, 2, 3]


def test_a_producer_is_closed_behind_its_block(transport: FaultyTransport) -> None:
    with Producer(transport) as producer:
        future = producer.send("t", b"v")
    assert future.done()
    with pytest.raises(IllegalState, match="closed"):
        producer.send("t", b"v")


def test_several_tasks_of_one_loop_share_a_transport() -> None:
    transport = FaultyTransport(Cluster(3, topics={"t": 2, "in": 1}))

    async def work(name: str) -> None:
        async with AsyncProducer(transport, transactional_id=name) as producer:
            await producer.init_transactions()
            for number in range(5):
                async with producer.transaction():
                    future = await producer.send("t", b"%d" % number, partition=0)
                    await future

    async def all_of_it() -> None:
        await asyncio.gather(*(work(name) for name in ("a", "b", "c")))

    asyncio.run(all_of_it())
    assert sorted(values_of(transport.cluster, T0)) == sorted([b"%d" % number for number in range(5)] * 3)


def test_repeated_records_wait_twice_as_long_each_time_up_to_a_limit(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport, retry_backoff_ms=100, retry_backoff_max_ms=500)
    producer.send("t", b"v", partition=0).result()
    tried = list[int]()

    def plan(message: Message) -> Fate:
        if not isinstance(message.body, Produce):
            return "arrives"
        tried.append(transport.now_ms())
        return "is lost" if len(tried) < 6 else "arrives"

    transport.plan = plan
    producer.send("t", b"v", partition=0).result()
    assert [later - earlier for earlier, later in pairwise(tried)] == [100, 200, 400, 500, 500]


def test_what_is_known_of_the_cluster_is_asked_anew_when_it_is_old(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport, metadata_max_age_ms=10_000)
    producer.send("t", b"v", partition=0).result()
    seen = transport.metadata().number
    transport.cluster.finalize_transaction_version(1)
    producer.send("t", b"v", partition=0).result()
    assert transport.metadata().number == seen
    transport.wait_until(lambda: False, 10_000)
    producer.send("t", b"v", partition=0).result()
    assert transport.metadata().transaction_version == 1


@pytest.mark.parametrize(
    ("settings", "options"),
    [({"linger.ms": "0"}, {}), (ProducerSettings(linger_ms=0), {}), (ProducerSettings(linger_ms=7), {"linger_ms": 0})],
)
def test_settings_may_be_given_whole_by_name_or_both(
    make: Make, transport: FaultyTransport, settings: Any, options: dict[str, Any]
) -> None:
    producer, began_ms = make(transport, settings, **options), transport.now_ms()
    producer.send("t", b"v").result()
    assert transport.now_ms() == began_ms
