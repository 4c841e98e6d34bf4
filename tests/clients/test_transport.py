"""A client's way to a cluster in this process: answers arrive in order, time passes only when nothing is in flight."""

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer
from zombieproof.clients.transport import ClusterTransport
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator
from zombieproof.messages.partitions import Fetch, FetchAnswer, Produce, SentBatch
from zombieproof.messages.transactions import (
    DescribeTransactions,
    DescribeTransactionsAnswer,
    InitProducerId,
    InitProducerIdAnswer,
)
from zombieproof.model.vocabulary import ApiKey, Isolation

HOUR_MS = 3_600_000
T0 = ("t", 0)


def transport_of(nodes: int = 2) -> ClusterTransport:
    return ClusterTransport(Cluster(nodes, topics={"t": 2}))


class Heard(list[Answer | None]):
    """What was answered."""

    def once(self) -> bool:
        return bool(self)


def test_an_answer_arrives_while_somebody_waits_and_takes_no_time() -> None:
    transport, heard = transport_of(), Heard()
    began_ms = transport.now_ms()
    transport.send(None, FindCoordinator(4, "group", 0), heard.append)
    assert not heard
    assert transport.wait_until(heard.once, 1000)
    assert isinstance(heard[0], CoordinatorFound)
    assert transport.now_ms() == began_ms


def test_who_waits_for_nothing_waits_as_long_as_he_wants() -> None:
    transport = transport_of()
    until_ms = transport.now_ms() + HOUR_MS
    assert not transport.wait_until(lambda: False, HOUR_MS)
    assert transport.now_ms() == until_ms


def test_actions_are_called_in_the_order_of_their_times() -> None:
    transport, called = transport_of(), list[tuple[str, int]]()
    began_ms = transport.now_ms()

    def note(name: str) -> None:
        called.append((name, transport.now_ms() - began_ms))

    transport.call_at(began_ms + 500, lambda: note("later"))
    transport.call_at(began_ms + 20, lambda: note("sooner"))
    transport.call_at(began_ms - 5, lambda: note("at once"))
    assert not transport.wait_until(lambda: False, 499)
    assert called == [("at once", 0), ("sooner", 20)]
    transport.wait_until(lambda: len(called) == 3, 1000)
    assert called[-1] == ("later", 500)


def test_a_fetch_that_waits_is_answered_when_its_time_is_over() -> None:
    transport, heard = transport_of(), Heard()
    began_ms = transport.now_ms()
    fetch = Fetch(11, Isolation.READ_UNCOMMITTED, {T0: 0}, min_bytes=1, max_wait_ms=500)
    transport.send(transport.metadata().leaders[T0], fetch, heard.append)
    assert transport.wait_until(heard.once, HOUR_MS)
    assert isinstance(heard[0], FetchAnswer)
    assert transport.now_ms() == began_ms + 500


def test_a_node_that_does_not_exist_is_a_connection_that_is_lost() -> None:
    transport, heard = transport_of(), Heard()
    transport.send(9, FindCoordinator(4, "group", 0), heard.append)
    assert heard == []
    transport.wait_until(heard.once, 1000)
    assert heard == [None]


def test_so_is_a_node_that_dies_with_the_request() -> None:
    transport, heard = transport_of(), Heard()
    transport.send(2, FindCoordinator(4, "group", 0), heard.append)
    transport.cluster.kill(2)
    transport.wait_until(heard.once, 1000)
    assert heard == [None]


def test_a_produce_that_nobody_answers_leaves_nothing_behind() -> None:
    transport, heard = transport_of(), Heard()
    produce = Produce(12, None, 0, {T0: (SentBatch(Batch(records=(Record(None, b"v"),))),)})
    transport.send(transport.metadata().leaders[T0], produce, heard.append)
    transport.wait_until(heard.once, 1000)
    assert heard == []
    assert not transport.cluster.network.exchanges


def test_a_transaction_that_is_left_alone_is_aborted_by_its_coordinator_in_time() -> None:
    transport, heard = transport_of(), Heard()
    coordinator = transport.cluster.coordinator_of("x")
    transport.send(coordinator, InitProducerId(5, "x", timeout_ms=60_000), heard.append)
    transport.wait_until(heard.once, 1000)
    granted = heard.pop()
    assert isinstance(granted, InitProducerIdAnswer)
    batch = Batch(granted.producer_id, granted.producer_epoch, 0, transactional=True, records=(Record(None, b"v"),))
    transport.send(transport.metadata().leaders[T0], Produce(12, "x", -1, {T0: (SentBatch(batch),)}), heard.append)
    transport.wait_until(heard.once, 1000)

    def state() -> str:
        asked = Heard()
        transport.send(coordinator, DescribeTransactions(0, ("x",)), asked.append)
        transport.wait_until(asked.once, 0)
        assert isinstance(asked[0], DescribeTransactionsAnswer)
        return asked[0].transactions[0].state

    transport.wait_until(lambda: False, 59_000)
    assert state() == "Ongoing"
    transport.wait_until(lambda: False, 12_000)
    assert state() == "CompleteAbort"


def test_metadata_is_what_it_was_until_it_is_refreshed() -> None:
    transport = ClusterTransport(Cluster(2, topics={"t": [(1, 2)]}))
    before = transport.metadata()
    assert (before.leaders[T0], before.partitions["t"]) == (1, 1)
    assert before.versions[1][ApiKey.END_TXN] == 5
    transport.cluster.stop(1)
    assert transport.metadata() is before
    transport.refresh_metadata()
    assert transport.metadata().leaders[T0] == 2
    assert transport.metadata().number == before.number + 1
    assert set(transport.metadata().versions) == {2}
    after = transport.metadata()
    transport.refresh_metadata()
    assert transport.metadata() is after


def test_a_clock_that_cannot_be_moved_is_refused() -> None:
    class WallClock:
        def now_ms(self) -> int:
            return 1

    with pytest.raises(TypeError, match="is a WallClock, which cannot be moved"):
        ClusterTransport(Cluster(clock=WallClock()))


def test_the_same_hour_is_the_same() -> None:
    def hour() -> list[int]:
        transport, times = transport_of(), list[int]()
        for at_ms in range(0, HOUR_MS, 7_000):
            transport.call_at(transport.now_ms() + at_ms, lambda: times.append(transport.now_ms()))
        transport.wait_until(lambda: False, HOUR_MS)
        return times

    assert hour() == hour()
    assert isinstance(transport_of().cluster.clock, ManualClock)
