"""The producer under faults, synchronous and for asyncio: nothing is lost, doubled or moved."""

from random import Random

import pytest

from tests.live.any_producer import Make, transactional
from tests.live.faulty_transport import Fate, FaultyTransport, Plan
from tests.live.reading import values_of
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Message
from zombieproof.clients.batches import ProducerBatch
from zombieproof.clients.errors import (
    ProducerFailure,
)

T0, T1 = ("t", 0), ("t", 1)


# ---------------------------------------------------------------- faults


def lossy(every: int) -> Plan:
    """Loses one of so many messages of clients, requests and answers, the same ones in every run."""
    chance = Random(every)

    def plan(_: Message) -> Fate:
        return "is lost" if chance.randrange(every) == 0 else "arrives"

    return plan


@pytest.mark.parametrize("every", [2, 3, 5, 7])
def test_whatever_is_lost_records_are_stored_once_and_in_order(
    make: Make, transport: FaultyTransport, every: int
) -> None:
    producer = transactional(make, transport, batch_size=0, linger_ms=0)
    transport.plan = lossy(every)
    for first in range(0, 40, 8):
        with producer.transaction():
            for number in range(first, first + 8):
                producer.send("t", b"%d" % number, partition=0)
    assert values_of(transport.cluster, T0) == [b"%d" % number for number in range(40)]


@pytest.mark.parametrize("every", [2, 3, 5])
def test_without_a_transactional_id_neither_is_one_doubled_or_moved(
    make: Make, transport: FaultyTransport, every: int
) -> None:
    producer = make(transport, batch_size=0, linger_ms=0)
    transport.plan = lossy(every)
    futures = [producer.send("t", b"%d" % number, partition=0) for number in range(30)]
    producer.flush()
    assert values_of(transport.cluster, T0) == [b"%d" % number for number in range(30)]
    assert all(future.result().offset in {number, -1} for number, future in enumerate(futures))


def test_requests_that_arrive_twice_are_stored_once(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport, batch_size=0, linger_ms=0)
    transport.plan = lambda message: "arrives" if message.is_answer else "is doubled"
    for first in range(0, 12, 4):
        with producer.transaction():
            for number in range(first, first + 4):
                producer.send("t", b"%d" % number, partition=0)
    transport.wait_until(lambda: False, 1_000)
    assert values_of(transport.cluster, T0) == [b"%d" % number for number in range(12)]


def test_without_idempotence_such_requests_are_stored_twice(make: Make, transport: FaultyTransport) -> None:
    """The mutant of the test above: what keeps records from being doubled is taken away."""
    producer = make(transport, enable_idempotence=False, batch_size=0, linger_ms=0)
    transport.plan = lambda message: "arrives" if message.is_answer else "is doubled"
    producer.send("t", b"v", partition=0).result()
    transport.wait_until(lambda: False, 1_000)
    assert values_of(transport.cluster, T0) == [b"v", b"v"]


def test_a_producer_that_renumbers_what_it_repeats_is_noticed(
    make: Make, transport: FaultyTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant of those that lose answers: a batch gets a new sequence with every attempt."""
    retry = ProducerBatch.retry

    def renumbering(batch: ProducerBatch, now_ms: int) -> None:
        retry(batch, now_ms)
        if batch.has_sequence:
            batch.base_sequence += 1

    monkeypatch.setattr(ProducerBatch, "retry", renumbering)
    producer = transactional(make, transport, batch_size=0, linger_ms=0, delivery_timeout_ms=31_000)
    transport.plan = lossy(2)
    stored = [b"%d" % number for number in range(8)]
    try:
        with producer.transaction():
            for value in stored:
                producer.send("t", value, partition=0)
    except ProducerFailure:
        pass
    assert values_of(transport.cluster, T0) != stored


@pytest.mark.parametrize("clean", [True, False])
def test_leaders_and_coordinators_may_change_while_it_sends(make: Make, clean: bool) -> None:
    every: list[tuple[int, ...]] = [(1, 2, 3), (2, 3, 1)]
    transport = FaultyTransport(Cluster(3, topics={"t": every}))
    producer = transactional(make, transport, batch_size=0, linger_ms=0)
    numbers = iter(range(60))
    for node in (1, 2, 3):
        with producer.transaction():
            for number in [next(numbers) for _ in range(10)]:
                producer.send("t", b"%d" % number, partition=0)
            transport.wait_until(lambda: False, 0)
            (transport.cluster.stop if clean else transport.cluster.kill)(node)
            for number in [next(numbers) for _ in range(10)]:
                producer.send("t", b"%d" % number, partition=0)
        transport.cluster.start(node)
    assert values_of(transport.cluster, T0) == [b"%d" % number for number in range(60)]


def test_a_partition_without_a_leader_is_waited_for(make: Make, transport: FaultyTransport) -> None:
    producer = make(transport)
    producer.send("t", b"1", partition=0).result()
    transport.cluster.kill(1)
    transport.call_at(transport.now_ms() + 5_000, lambda: transport.cluster.start(1))
    future = producer.send("t", b"2", partition=0)
    assert future.result().offset == 1
    assert values_of(transport.cluster, T0) == [b"1", b"2"]


def test_an_hour_is_soon_over(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport)
    began_ms = transport.now_ms()
    for minute in range(60):
        with producer.transaction():
            producer.send("t", b"%d" % minute, partition=0)
        transport.wait_until(lambda: False, 60_000)
    assert transport.now_ms() >= began_ms + 3_600_000
    assert len(values_of(transport.cluster, T0)) == 60
