"""A leader whose question meets a transaction that is still being completed asks again before it answers."""

from dataclasses import dataclass, field, replace

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Exchange, Message
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import OffsetsCommitted, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import ConnectionClosed, Produce, ProduceAnswer, SentBatch, WriteTxnMarkers
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
)
from zombieproof.model.vocabulary import NONE, Error

DATA: TopicPartition = ("t", 0)
NAME = "x"
LEADER, COORDINATOR = 1, 2


@dataclass
class Stage:
    """A cluster in which the end of a transaction is decided and its marker does not arrive until it is let go."""

    is_together: bool
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        coordinator = LEADER if self.is_together else COORDINATOR
        self.clock = ManualClock()
        self.cluster = Cluster(
            3,
            settings=self.settings,
            topics={
                "t": [(LEADER, 3)],
                TRANSACTION_STATE: [(coordinator,)],
                CONSUMER_OFFSETS: [(LEADER,)],
            },
            clock=self.clock,
        )
        granted = self.cluster.ask(InitProducerId(5, NAME, 60_000, NONE, NONE), coordinator)
        assert isinstance(granted, InitProducerIdAnswer)
        first = self.produce((granted.producer_id, granted.producer_epoch))
        self.cluster.settle()
        assert told(first) == Error.NONE
        self.held: list[Message] = []
        ended = self.cluster.send(EndTxn(5, NAME, granted.producer_id, granted.producer_epoch, True), coordinator)
        self.settle_but_markers()
        assert isinstance(ended.answer, EndTxnAnswer)
        self.identity = ended.answer.producer_id, ended.answer.producer_epoch
        assert self.held

    def settle_but_markers(self) -> None:
        """Everything arrives, but markers stay on their way."""
        flying = self.cluster.network.in_flight
        while True:
            self.held += [message for message in flying if isinstance(message.body, WriteTxnMarkers)]
            flying[:] = [message for message in flying if message not in self.held]
            if not self.cluster.step():
                return

    def let_go(self) -> None:
        """The markers arrive after all."""
        self.cluster.network.in_flight += self.held
        self.held.clear()
        self.cluster.settle()

    def produce(self, identity: tuple[int, int], version: int = 12) -> Exchange:
        """The first batch of a transaction is sent."""
        batch = replace(Batch(*identity, 0, True), records=(Record(None, b"v"),))
        return self.cluster.send(Produce(version, NAME, -1, {DATA: (SentBatch(batch),)}), LEADER)

    def wait(self, milliseconds: int) -> int:
        """Time passes, for all who wait; how many questions were asked then."""
        self.clock.advance(milliseconds)
        self.cluster.end_waits()
        asked = sum(isinstance(message.body, AddPartitionsToTxn) for message in self.cluster.network.in_flight)
        self.settle_but_markers()
        return asked


def told(exchange: Exchange) -> int:
    """What became of a Produce."""
    assert isinstance(exchange.answer, ProduceAnswer)
    return exchange.answer.partitions[DATA].error


@pytest.mark.parametrize("is_together", [True, False])
def test_a_coordinator_is_asked_five_times_more_before_the_producer_learns_that_it_is_busy(is_together: bool) -> None:
    stage = Stage(is_together)
    write = stage.produce(stage.identity)
    stage.settle_but_markers()
    for _ in range(5):
        assert not write.is_over
        assert stage.wait(19) == 0
        assert stage.wait(1) == 1
    assert told(write) == Error.CONCURRENT_TRANSACTIONS
    assert len(stage.cluster.brokers[LEADER].desk.waits) == (1 if is_together else 0), "the markers at most"


def test_a_producer_learns_nothing_of_a_completion_that_takes_less_time() -> None:
    stage = Stage(is_together=False)
    write = stage.produce(stage.identity)
    stage.settle_but_markers()
    stage.wait(20)
    stage.let_go()
    assert not write.is_over, "the coordinator is another broker, which tells nobody"
    assert stage.wait(20) == 1
    assert told(write) == Error.NONE


def test_where_the_coordinator_is_the_same_broker_the_completion_itself_is_the_reason_to_ask() -> None:
    stage = Stage(is_together=True)
    write = stage.produce(stage.identity)
    stage.settle_but_markers()
    assert not write.is_over
    stage.let_go()
    assert told(write) == Error.NONE
    assert stage.wait(20) == 0, "nothing waits any more"


def test_the_time_of_a_request_ends_it_sooner_and_none_is_no_time() -> None:
    for settings, waits_ms in (
        (Settings(request_timeout_ms=10), 20),
        (Settings(add_partitions_to_txn_retry_backoff_max_ms=0), 0),
        (Settings(add_partitions_to_txn_retry_backoff_ms=70), 140),
    ):
        stage = Stage(is_together=False, settings=settings)
        write = stage.produce(stage.identity)
        stage.settle_but_markers()
        while waits_ms:
            assert not write.is_over
            stage.wait(10)
            waits_ms -= 10
        assert told(write) == Error.CONCURRENT_TRANSACTIONS


def test_who_adds_partitions_by_a_request_of_its_own_is_told_at_once() -> None:
    stage = Stage(is_together=False)
    write = stage.produce(stage.identity, version=11)
    stage.settle_but_markers()
    assert told(write) != Error.NONE
    offsets = TxnOffsetCommit(5, NAME, "g", *stage.identity, (OffsetToCommit(DATA, 3, ""),))
    commit = stage.cluster.send(offsets, LEADER)
    stage.settle_but_markers()
    assert isinstance(commit.answer, OffsetsCommitted)
    assert list(commit.answer.errors.values()) == [Error.CONCURRENT_TRANSACTIONS]


def test_a_leader_that_has_moved_meanwhile_asks_nobody() -> None:
    stage = Stage(is_together=False)
    write = stage.produce(stage.identity)
    stage.settle_but_markers()
    stage.cluster.elect(DATA)
    stage.settle_but_markers()
    assert not write.is_over
    assert stage.wait(20) == 0
    assert told(write) == Error.NOT_LEADER_OR_FOLLOWER


def test_a_broker_that_dies_while_it_waits_closes_the_connection() -> None:
    stage = Stage(is_together=False)
    write = stage.produce(stage.identity)
    stage.settle_but_markers()
    stage.cluster.kill(LEADER)
    stage.settle_but_markers()
    assert write.is_closed
    assert not isinstance(write.answer, ConnectionClosed)
    stage.cluster.start(LEADER, was_clean=False)
    assert stage.wait(20) == 0, "what it wanted to ask died with it"
