"""Brokers take producer ids from blocks of their own; the controller that hands them out has a successor."""

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Message
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController
from zombieproof.messages.controller import AllocateProducerIds, AllocateProducerIdsAnswer
from zombieproof.messages.transactions import InitProducerId, InitProducerIdAnswer
from zombieproof.model.decisions.allocate_producer_ids import PRODUCER_ID_MAX
from zombieproof.model.vocabulary import NONE, Error

INIT = InitProducerId(5, None, 60_000, NONE, NONE)
SIZE = 10


def cluster_of(nodes: int, next_id: int = 0) -> Cluster:
    """Brokers with small blocks."""
    return Cluster(nodes, metadata=Metadata(producer_ids=ProducerIdController(next_id, SIZE)))


def asks(cluster: Cluster) -> list[Message]:
    """The requests for blocks that are on their way."""
    return [message for message in cluster.network.in_flight if isinstance(message.body, AllocateProducerIds)]


def taken(cluster: Cluster, node: int) -> int:
    """A producer id of a node, or minus the error; only the request itself and its answer are delivered."""
    exchange = cluster.send(INIT, node)
    for _ in range(2):
        cluster.deliver(next(m for m in cluster.network.in_flight if m.number == exchange.number))
    assert isinstance(exchange.answer, InitProducerIdAnswer)
    return -exchange.answer.error if exchange.answer.error else exchange.answer.producer_id


def test_each_broker_has_a_block_when_it_is_up() -> None:
    cluster = cluster_of(3)
    assert [taken(cluster, node) for node in (3, 1, 2, 3)] == [20, 0, 10, 21]


def test_the_next_block_is_asked_for_in_time_and_nobody_waits_for_it() -> None:
    cluster = cluster_of(2)
    assert [taken(cluster, 2) for _ in range(9)] == list(range(10, 19))
    assert asks(cluster) == []
    assert taken(cluster, 2) == 19
    assert [(message.sender, message.receiver) for message in asks(cluster)] == [(2, 1)]
    assert taken(cluster, 2) == -Error.COORDINATOR_LOAD_IN_PROGRESS
    assert len(asks(cluster)) == 1, "it is asked for already"
    cluster.settle()
    assert taken(cluster, 2) == 20


@pytest.mark.parametrize(
    "what", ["a killed controller", "a stopped controller", "a lost request", "a lost answer", "time"]
)
def test_a_block_that_does_not_come_is_asked_for_again(what: str) -> None:
    cluster = cluster_of(3)
    for _ in range(SIZE):
        taken(cluster, 3)
    (asked,) = asks(cluster)
    if what == "a killed controller":
        cluster.kill(1)
    elif what == "a stopped controller":
        cluster.stop(1)
    elif what == "a lost request":
        cluster.network.lose(asked)
    elif what == "a lost answer":
        cluster.deliver(asked)
        cluster.network.lose(next(m for m in cluster.network.in_flight if m.number == asked.number))
    else:
        cluster.network.in_flight.remove(asked)
        assert isinstance(cluster.clock, ManualClock)
        cluster.clock.advance(30_000)
        cluster.end_waits()
    cluster.settle()
    assert taken(cluster, 3) == -Error.COORDINATOR_LOAD_IN_PROGRESS
    cluster.settle()
    first = taken(cluster, 3)
    assert first in (30, 40), "a block whose answer was lost is skipped for ever"
    assert first == (40 if what == "a lost answer" else 30)


def test_the_next_controller_goes_on_where_the_last_one_was() -> None:
    cluster = cluster_of(3)
    seen = [taken(cluster, 1)]
    for node in (1, 2):
        cluster.kill(node)
        cluster.start(node, was_clean=False)
        cluster.settle()
        seen += [taken(cluster, each) for each in (1, 2, 3)]
    assert cluster.metadata.controller == 1
    assert len(set(seen)) == len(seen), "no id is handed out twice"


def test_only_the_controller_hands_out_blocks() -> None:
    cluster = cluster_of(2)
    exchange = cluster.send(AllocateProducerIds(0, 9), 2)
    cluster.settle()
    assert exchange.is_closed
    answer = cluster.ask(AllocateProducerIds(0, 9), 1)
    assert isinstance(answer, AllocateProducerIdsAnswer)
    assert answer.block == (20, SIZE)


def test_ids_that_are_used_up_are_refused_and_asked_for_after_a_while() -> None:
    cluster = cluster_of(1, PRODUCER_ID_MAX - SIZE)
    ids = [taken(cluster, 1) for _ in range(SIZE)]
    assert ids[-1] == PRODUCER_ID_MAX - 1
    cluster.settle()
    assert taken(cluster, 1) == -Error.COORDINATOR_LOAD_IN_PROGRESS
    assert asks(cluster) == [], "the controller has refused a moment ago"
