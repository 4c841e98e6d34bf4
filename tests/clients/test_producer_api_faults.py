"""The producer under faults, synchronous and for asyncio: nothing is lost, doubled or moved."""

from functools import partial
from random import Random

import pytest

from tests.live.any_producer import Make, transactional
from tests.live.faulty_transport import Fate, FaultyTransport, Plan
from tests.live.reading import values_of
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Message
from zombieproof.clients.batches import ProducerBatch
from zombieproof.clients.errors import AbortableError, CallTimedOut, FatalError, ProducerFailure
from zombieproof.messages.partitions import Produce

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


def test_a_request_that_is_not_answered_in_its_time_is_sent_again(make: Make, transport: FaultyTransport) -> None:
    producer = transactional(make, transport, request_timeout_ms=1_000, retry_backoff_ms=50)
    producer.begin_transaction()
    transport.plan = lambda message: "arrives" if transport.held or not isinstance(message.body, Produce) else "is held"
    began_ms = transport.now_ms()
    assert producer.send("t", b"v", partition=0).result().offset == 0
    assert transport.now_ms() >= began_ms + 1_000
    transport.release()
    producer.commit_transaction()
    transport.wait_until(lambda: False, 1_000)
    assert values_of(transport.cluster, T0) == [b"v"], "the first one came late, and was known again"


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


def test_what_waits_for_an_old_leader_is_not_overtaken_at_the_new_one(make: Make) -> None:
    """A leader knows the last five batches: of ten under way, five at each, it would not know all again."""
    transport = FaultyTransport(Cluster(2, topics={"t": [(1, 2)]}))
    producer = make(transport, batch_size=0, linger_ms=0, metadata_max_age_ms=0)
    producer.send("t", b"first").result()
    transport.plan = lambda message: "is held" if isinstance(message.body, Produce) else "arrives"
    futures = [producer.send("t", b"%d" % number) for number in range(10)]
    transport.wait_until(lambda: False, 100)
    transport.cluster.elect(T0, 2)
    producer.send("t", b"10")
    transport.wait_until(lambda: False, 100)
    assert {message.receiver for message in transport.held} == {1}
    transport.plan = lambda _: "arrives"
    transport.release()
    assert [future.result().offset for future in futures] == list(range(1, 11))


def troubled(transport: FaultyTransport, chance: Random) -> Plan:
    """Connections end, requests arrive twice, leaders change, nodes restart: now and then, the same in every run."""

    def plan(message: Message) -> Fate:
        drawn = chance.random()
        if drawn < 0.02:
            transport.call_at(transport.now_ms(), partial(bounce, transport.cluster, chance))
        if drawn < 0.1:
            return "is lost"
        return "is doubled" if drawn < 0.15 and not message.is_answer else "arrives"

    return plan


def bounce(cluster: Cluster, chance: Random) -> None:
    node = chance.choice(sorted(cluster.brokers))
    (cluster.stop if chance.random() < 0.5 else cluster.kill)(node)
    cluster.start(node)


@pytest.mark.sample("-1", "-7")
@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_a_transaction_is_there_once_and_whole_or_not_at_all(make: Make, seed: int) -> None:
    every: list[tuple[int, ...]] = [(1, 2, 3), (2, 3, 1)]
    transport, chance = FaultyTransport(Cluster(3, topics={"t": every})), Random(seed)
    told = dict[int, str]()
    producer = transactional(make, transport, batch_size=150, linger_ms=2)
    transport.plan = troubled(transport, chance)
    for number in range(30):
        told[number] = "unknown"
        try:
            with producer.transaction():
                for record in range(6):
                    producer.send("t", b"%d %d" % (number, record), partition=record % 2)
                if chance.random() < 0.2:
                    raise KeyError(number)
            told[number] = "committed"
        except (AbortableError, KeyError):
            told[number] = "aborted"
        except (FatalError, CallTimedOut):
            producer = transactional(make, transport, batch_size=150, linger_ms=2)
    transport.plan = lambda _: "arrives"
    transactional(make, transport)
    transport.wait_until(lambda: False, 120_000)
    found = [[tuple(map(int, value.split())) for value in values_of(transport.cluster, each)] for each in (T0, T1)]
    assert list(told.values()).count("committed") > 10
    for half, values in enumerate(found):
        assert values == sorted(values), "nothing was moved"
        for number, outcome in told.items():
            mine = [value for value in values if value[0] == number]
            whole = [(number, record) for record in range(half, 6, 2)]
            if outcome == "aborted":
                assert mine == []
            elif outcome == "committed" or mine:
                assert mine == whole
    assert {number for number, _ in found[0]} == {number for number, _ in found[1]}
