"""Brokers ask coordinators through a channel: one request at a time to each node, with the questions of several ids."""

from dataclasses import replace

import pytest

from zombieproof.broker.cluster.cluster import Cluster, Replicas
from zombieproof.broker.cluster.network import Exchange
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import OffsetsCommitted, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import AddPartitionsToTxn, InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error

DATA: list[TopicPartition] = [("t", 0), ("t", 1)]
COORDINATORS: TopicPartition = (TRANSACTION_STATE, 0)
IDS = ("x", "y", "z")
Identity = tuple[int, int]


@pytest.fixture
def cluster() -> Cluster:
    """Node 1 coordinates, and nodes 2 and 3 could; node 4 leads the data and the offsets."""
    topics: dict[str, int | Replicas] = {"t": [(4,), (4,)], TRANSACTION_STATE: [(1, 2, 3)], CONSUMER_OFFSETS: [(4,)]}
    return Cluster(4, settings=Settings(), topics=topics)


def begun(cluster: Cluster, name: str) -> Identity:
    """The identity of an id."""
    granted = cluster.ask(InitProducerId(5, name, 60_000, NONE, NONE), cluster.leader_of(COORDINATORS))
    assert isinstance(granted, InitProducerIdAnswer)
    assert granted.error == Error.NONE
    return granted.producer_id, granted.producer_epoch


def sent(cluster: Cluster, name: str, identity: Identity, at: TopicPartition, sequence: int = 0) -> Exchange:
    """The first batch of a transaction; it has arrived at the leader, which has to ask."""
    batch = replace(Batch(*identity, sequence, True), records=(Record(None, b"v"),))
    exchange = cluster.send(Produce(12, name, -1, {at: (SentBatch(batch),)}), 4)
    cluster.deliver(cluster.network.in_flight[-1])
    return exchange


def error(exchange: Exchange) -> int:
    """What became of a write."""
    if isinstance(exchange.answer, OffsetsCommitted):
        return next(iter(exchange.answer.errors.values()))
    assert isinstance(exchange.answer, ProduceAnswer)
    return next(iter(exchange.answer.partitions.values())).error


def questions(cluster: Cluster) -> list[list[str]]:
    """The ids in each request of a broker that is on its way to a coordinator."""
    bodies = [message.body for message in cluster.network.in_flight]
    return [[str(t.transactional_id) for t in b.transactions] for b in bodies if isinstance(b, AddPartitionsToTxn)]


def test_questions_of_several_ids_wait_for_the_first_and_then_travel_together(cluster: Cluster) -> None:
    identities = {name: begun(cluster, name) for name in IDS}
    writes = [sent(cluster, name, identities[name], DATA[0]) for name in IDS]
    assert questions(cluster) == [["x"]]
    seen = questions(cluster)
    while cluster.step():
        seen += questions(cluster)
    assert [each for n, each in enumerate(seen) if each not in seen[:n]] == [["x"], ["y", "z"]]
    assert [error(write) for write in writes] == [Error.NONE] * 3


def test_a_later_question_of_an_id_takes_the_place_of_one_that_waits(cluster: Cluster) -> None:
    other, identity = begun(cluster, "y"), begun(cluster, "x")
    sent(cluster, "y", other, DATA[0])
    first, second = sent(cluster, "x", identity, DATA[0]), sent(cluster, "x", identity, DATA[1])
    cluster.settle()
    assert [error(first), error(second)] == [Error.NOT_ENOUGH_REPLICAS, Error.NONE]
    again = sent(cluster, "x", identity, DATA[0])
    cluster.settle()
    assert error(again) == Error.NONE, "the client has sent it again"


def test_a_newer_epoch_takes_the_place_of_an_older_one_which_is_told_so(cluster: Cluster) -> None:
    other, old = begun(cluster, "y"), begun(cluster, "x")
    new = begun(cluster, "x")
    sent(cluster, "y", other, DATA[0])
    writes = [sent(cluster, "x", identity, DATA[n % 2]) for n, identity in enumerate((old, new, old))]
    cluster.settle()
    told = [error(write) for write in writes]
    assert told == [Error.INVALID_PRODUCER_EPOCH, Error.NONE, Error.INVALID_PRODUCER_EPOCH]


def test_offsets_and_records_share_a_channel(cluster: Cluster) -> None:
    identities = {name: begun(cluster, name) for name in IDS}
    writes = [sent(cluster, "x", identities["x"], DATA[0]), sent(cluster, "y", identities["y"], DATA[1])]
    commit = TxnOffsetCommit(5, "z", "g", *identities["z"], (OffsetToCommit(DATA[0], 3, ""),))
    writes.append(cluster.send(commit, 4))
    cluster.deliver(cluster.network.in_flight[-1])
    assert questions(cluster) == [["x"]]
    cluster.settle()
    assert [error(write) for write in writes] == [Error.NONE] * 3


@pytest.mark.parametrize("what", ["a kill", "a lost request", "a lost answer", "no answer in time"])
def test_who_waits_for_a_coordinator_that_is_gone_is_told_to_come_again_and_the_next_one_answers(
    cluster: Cluster, what: str
) -> None:
    identities = {name: begun(cluster, name) for name in IDS}
    writes = [sent(cluster, name, identities[name], DATA[0]) for name in ("x", "y")]
    (question,) = [message for message in cluster.network.in_flight if isinstance(message.body, AddPartitionsToTxn)]
    if what == "a kill":
        cluster.kill(1)
    elif what == "a lost request":
        cluster.network.lose(question)
    elif what == "a lost answer":
        cluster.deliver(question)
        cluster.network.lose(next(m for m in cluster.network.in_flight if m.is_answer and m.number == question.number))
    else:
        cluster.network.in_flight.remove(question)
        cluster.clock.advance(30_000)  # type: ignore[attr-defined]  # a clock that is moved by hand
        cluster.end_waits()
    cluster.settle()
    told = [error(write) for write in writes]
    assert told == [Error.NOT_ENOUGH_REPLICAS, Error.NOT_ENOUGH_REPLICAS if what == "a kill" else Error.NONE]
    retried = [sent(cluster, name, identities[name], DATA[0]) for name in ("x", "y")]
    cluster.settle()
    assert [error(write) for write in retried] == [Error.NONE] * 2
    assert len(cluster.brokers[4].desk.waits) == 0


def test_without_a_coordinator_nobody_is_asked(cluster: Cluster) -> None:
    identity = begun(cluster, "x")
    for node in (1, 2, 3):
        cluster.kill(node)
    write = sent(cluster, "x", identity, DATA[0])
    cluster.settle()
    assert error(write) == Error.NOT_ENOUGH_REPLICAS
