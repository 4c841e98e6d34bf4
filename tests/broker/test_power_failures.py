"""Whatever a client was told, or has read, is there after brokers were killed with appends under way, in groups.

A walk: clients send without waiting, stores become durable now and then, some of them and several appends at a time;
then power fails at some brokers or at all, and what was not durable is lost, or a part of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from tests.live.held_log import crash, flush, held, settle
from zombieproof.broker.cluster import writes
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Exchange, Request
from zombieproof.broker.cluster.operations import AppendUnderWay, Need
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import (
    OffsetCommit,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetsCommitted,
    OffsetToCommit,
)
from zombieproof.messages.partitions import Fetch, FetchAnswer, Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error, Isolation

DATA: list[TopicPartition] = [("t", 0), ("t", 1)]
OFFSETS: TopicPartition = (CONSUMER_OFFSETS, 0)
NAME, GROUP = "x", "g"
Identity = tuple[int, int]


@dataclass
class Walk:
    """A cluster, what its clients were told or have read, and what is under way. Values are never used twice."""

    nodes: int
    chance: Random
    cluster: Cluster = field(init=False)
    known: dict[tuple[TopicPartition, int], bytes] = field(default_factory=dict)
    committed: set[bytes] = field(default_factory=set)
    aborted: set[bytes] = field(default_factory=set)
    identities: list[Identity] = field(default_factory=list)
    offset: int = NONE
    lost: int = 0
    identity: Identity | None = None
    transaction: list[bytes] = field(default_factory=list)
    busy: bool = False
    under_way: list[tuple[Exchange, Callable[[Exchange], None]]] = field(default_factory=list)
    values: int = 0

    def __post_init__(self) -> None:
        ids = tuple(range(1, self.nodes + 1))
        around = [ids[i:] + ids[:i] for i in range(self.nodes)]
        topics = {
            "t": [around[0], around[-1]],
            TRANSACTION_STATE: [around[1 % self.nodes]],
            CONSUMER_OFFSETS: [around[2 % self.nodes]],
        }
        self.cluster = Cluster(self.nodes, settings=Settings(), topics=topics, open_store=held)

    def go(self, steps: int) -> None:
        """Take steps, then let power fail everywhere, and look."""
        kinds = [
            self.produce,
            self.transact,
            self.transact,
            self.commit,
            self.read,
            self.wait,
            *[self.flush, self.arrive] * 4,
        ]
        for _ in range(steps):
            self.chance.choice(kinds)()
            if self.chance.random() < 0.015:
                self.fail()
            if self.chance.random() < 0.01:
                self.elect()
        self.fail(everywhere=True)

    # ------------------------------------------------------------ clients

    def value(self) -> bytes:
        """A value that no record has."""
        self.values += 1
        return b"%d" % self.values

    def send(self, request: Request, at: TopicPartition, learn: Callable[[Exchange], None]) -> None:
        """Send a request to the leader of a partition."""
        leader = self.cluster.leader_of(at)
        if leader is not None:
            self.under_way.append((self.cluster.send(request, leader), learn))

    def wait(self) -> None:
        """Brokers go on with what asks again after a while."""
        self.cluster.clock.advance(self.cluster.settings.add_partitions_to_txn_retry_backoff_ms)  # type: ignore[attr-defined]  # a clock that is moved by hand
        self.cluster.end_waits()

    def produce(self) -> None:
        """A record of nobody's."""
        value, at, acks = self.value(), self.chance.choice(DATA), self.chance.choice([-1, -1, 1])
        acks = -1 if self.nodes > 1 else acks

        def learn(exchange: Exchange) -> None:
            if isinstance(exchange.answer, ProduceAnswer) and exchange.answer.partitions[at].error == Error.NONE:
                self.known[at, exchange.answer.partitions[at].base_offset] = value

        batch = Batch(records=(Record(None, value),), timestamp_ms=self.cluster.clock.now_ms())
        self.send(Produce(12, None, acks, {at: (SentBatch(batch),)}), at, learn)

    def transact(self) -> None:
        """The next thing that the transactional producer does, unless it waits."""
        if self.busy:
            return
        self.busy = True
        if self.identity is None:
            request = InitProducerId(5, NAME, 60_000, NONE, NONE)
            self.send(request, (TRANSACTION_STATE, 0), self._learn_identity)
        elif len(self.transaction) < 2:
            self._send_record(self.identity)
        else:
            committed = self.chance.random() < 0.7
            request_ = EndTxn(5, NAME, *self.identity, committed)
            ended, self.transaction = self.transaction, []
            self.send(request_, (TRANSACTION_STATE, 0), lambda exchange: self._learn_end(exchange, committed, ended))

    def _learn_identity(self, exchange: Exchange) -> None:
        self.busy = False
        if isinstance(exchange.answer, InitProducerIdAnswer) and exchange.answer.error == Error.NONE:
            self._granted((exchange.answer.producer_id, exchange.answer.producer_epoch))

    def _granted(self, identity: Identity) -> None:
        assert identity not in self.identities, f"{identity} was granted twice"
        self.identities.append(identity)
        self.identity, self.transaction = identity, []

    def _send_record(self, identity: Identity) -> None:
        value, at = self.value(), DATA[len(self.transaction)]
        self.transaction.append(value)
        batch = replace(Batch(*identity, 0, True), records=(Record(None, value),))

        def learn(exchange: Exchange) -> None:
            self.busy = False
            answer = exchange.answer
            if not isinstance(answer, ProduceAnswer) or answer.partitions[at].error != Error.NONE:
                self.identity = None
            else:
                self.known[at, answer.partitions[at].base_offset] = value

        self.send(Produce(12, NAME, -1, {at: (SentBatch(batch),)}), at, learn)

    def _learn_end(self, exchange: Exchange, committed: bool, values: list[bytes]) -> None:
        self.busy = False
        answer, self.identity = exchange.answer, None
        if isinstance(answer, EndTxnAnswer) and answer.error == Error.NONE:
            (self.committed if committed else self.aborted).update(values)
            self._granted((answer.producer_id, answer.producer_epoch))

    def commit(self) -> None:
        """A group commits an offset that is higher than all before."""
        offset = int(self.value())

        def learn(exchange: Exchange) -> None:
            if exchange.answer == OffsetsCommitted.of({DATA[0]: Error.NONE}):
                self.offset = max(self.offset, offset)

        self.send(OffsetCommit(8, GROUP, (OffsetToCommit(DATA[0], offset, ""),)), OFFSETS, learn)

    def read(self) -> None:
        """Somebody reads a partition, at any replica, and the offset of the group."""
        at, node_ = self.chance.choice(DATA), self.chance.choice(sorted(self.cluster.brokers))

        def learn(exchange: Exchange) -> None:
            if isinstance(exchange.answer, FetchAnswer):
                for batch in exchange.answer.partitions[at].batches:
                    for record in batch.records:
                        assert isinstance(record.value, bytes)
                        self.known[at, batch.base_offset] = record.value

        self.under_way.append((self.cluster.send(Fetch(12, Isolation.READ_UNCOMMITTED, {at: 0}), node_), learn))

        def learn_offset(exchange: Exchange) -> None:
            if isinstance(exchange.answer, OffsetFetchAnswer) and exchange.answer.error == Error.NONE:
                self.offset = max(self.offset, exchange.answer.partitions[DATA[0]].offset)

        self.send(OffsetFetch(7, GROUP, False, (DATA[0],)), OFFSETS, learn_offset)

    # ------------------------------------------------------------ what happens

    def flush(self) -> None:
        """Some stores make everything durable that they have."""
        every = sorted(self.cluster.stores)
        for node_, partition in self.chance.sample(every, self.chance.randint(1, len(every))):
            flush(self.cluster, partition, nodes=(node_,))
        self.listen()

    def arrive(self) -> None:
        """Some messages arrive."""
        for _ in range(self.chance.randint(1, 12)):
            self.cluster.step()
        self.listen()

    def listen(self) -> None:
        """Clients hear what has been answered."""
        over = [(exchange, learn) for exchange, learn in self.under_way if exchange.is_over]
        self.under_way = [each for each in self.under_way if not each[0].is_over]
        for exchange, learn in over:
            learn(exchange)

    def elect(self) -> None:
        """A partition gets another leader, if there is one."""
        partition = self.chance.choice(sorted(self.cluster.metadata.partitions))
        if len(self.cluster.metadata.partitions[partition].in_sync) > 1:
            self.cluster.elect(partition)

    def fail(self, everywhere: bool = False) -> None:
        """Power fails; afterwards what was told is there."""
        nodes = tuple(sorted(self.cluster.brokers))
        if not everywhere and self.nodes > 1 and self.chance.random() < 0.5:
            nodes = (self.chance.choice(nodes),)
        self.lost += crash(self.cluster, self.chance, nodes)
        settle(self.cluster)
        self.cluster.resend_markers()
        settle(self.cluster)
        self.listen()
        self.under_way, self.identity, self.busy = [], None, False
        self.look()

    def look(self) -> None:
        """Everything that was told or read is there."""
        found: dict[tuple[TopicPartition, int], object] = {}
        visible: set[object] = set()
        for at in DATA:
            for isolation in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED):
                answer = self.cluster.ask(Fetch(12, isolation, {at: 0}), self.cluster.leader_of(at))
                assert isinstance(answer, FetchAnswer)
                row = answer.partitions[at]
                for batch in row.batches:
                    found[at, batch.base_offset] = next((record.value for record in batch.records), None)
                if isolation == Isolation.READ_COMMITTED:
                    visible |= _committed(row.batches, row.aborted or ())
        for place, value in self.known.items():
            assert found.get(place) == value, (
                f"{value!r} was acknowledged or read at {place}; there is {found.get(place)}"
            )
        assert self.committed <= visible, "who was told that a transaction is committed loses nothing"
        assert not self.aborted & visible, "who was told that a transaction is aborted finds nothing"
        answer_ = self.cluster.ask(OffsetFetch(7, GROUP, False, (DATA[0],)), self.cluster.leader_of(OFFSETS))
        assert isinstance(answer_, OffsetFetchAnswer)
        assert answer_.partitions[DATA[0]].offset >= self.offset, "an offset that was told goes back"


def _committed(batches: tuple[Batch, ...], aborted: tuple[tuple[int, int], ...]) -> set[object]:
    """The values that a read_committed consumer gives to its application."""
    values, ends = set[object](), list(aborted)
    skipped = set[int]()
    for batch in batches:
        for producer_id, first in list(ends):
            if first <= batch.base_offset:
                skipped.add(producer_id)
                ends.remove((producer_id, first))
        if batch.marker is not None:
            skipped.discard(batch.producer_id)
        elif batch.producer_id not in skipped or not batch.transactional:
            values |= {record.value for record in batch.records}
    return values


WALKS = 12


def walked(nodes: int, seed: int) -> Walk:
    """A walk; the same for the same seed."""
    walk = Walk(nodes, Random(seed))
    walk.go(600)
    return walk


@pytest.mark.sample("3")
@pytest.mark.parametrize("nodes", [1, 3])
def test_what_clients_were_told_survives_power_failures_with_appends_under_way(nodes: int) -> None:
    walks = [walked(nodes, seed) for seed in range(WALKS)]
    assert sum(walk.lost for walk in walks) > WALKS, "records are lost, of which nobody was told"
    assert sum(len(walk.known) for walk in walks) > 10 * WALKS, "records are acknowledged or read"
    assert sum(len(walk.committed) for walk in walks) > WALKS
    assert sum(walk.offset != NONE for walk in walks) > WALKS // 2


def at_once(self: object, *_: object, is_over: bool = False) -> int:
    """Nothing is waited for."""
    return int(Error.NONE)


def durable_at_once(self: Replica) -> int:
    return self.log.end_offset


BAD_BROKERS: dict[str, tuple[object, str, object]] = {
    "readers get what is not durable": (
        Replica,
        "high_watermark",
        property(durable_at_once, vars(Replica)["high_watermark"].fset),
    ),
    "nobody waits for stores": (Need, "error", at_once),
    "an append to the transaction log counts at once": (AppendUnderWay, "judge", at_once),
    "a produce is answered at once": (writes, "needs_of_produce", lambda *_: ()),
    "a group is answered at once": (
        writes.Writes,
        "answer_for_groups",
        lambda self, number, _, answer: self.desk.answer(number, answer),
    ),
}


@pytest.mark.parametrize("name", BAD_BROKERS)
def test_a_broker_that_tells_too_early_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BAD_BROKERS[name])
    with pytest.raises(AssertionError):
        _ = [walked(nodes, seed) for seed in range(3 * WALKS) for nodes in (1, 3)]
