"""Requests, sweeps and faults that come to a cluster one after the other: what was alive before memory is dropped."""

from dataclasses import dataclass, field, replace

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Exchange, Request
from zombieproof.broker.cluster.node import AppendFault
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    OffsetCommit,
    OffsetDelete,
    OffsetToCommit,
    SyncGroup,
    TxnOffsetCommit,
)
from zombieproof.messages.partitions import MarkerToWrite, Produce, ProduceAnswer, SentBatch, WriteTxnMarkers
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionToAdd,
)
from zombieproof.model.decisions.verification import SENTINEL
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import NONE, PRODUCER_EPOCH_MAX, Error, Origin

IDS = ("x0", "x1")
DATA: tuple[TopicPartition, ...] = (("t", 0), ("t", 1))
TRANSACTIONS: TopicPartition = (TRANSACTION_STATE, 0)
OFFSETS: TopicPartition = (CONSUMER_OFFSETS, 0)
PARTITIONS = (*DATA, OFFSETS)
CLASSIC, MODERN = "g", "h"
TIMEOUT_MS = 60_000
ALL = 1_000
LONG_METADATA = "m" * 5_000

Identity = tuple[int, int]
Operation = tuple[str, *tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions that clients use: the first in most cases, the last in some."""

    init: tuple[int, ...]
    produce: tuple[int, ...]
    txn_offset_commit: tuple[int, ...]
    end: tuple[int, ...]


VERSIONS = {
    "newest": Versions((5, 4), (12, 11), (5, 4), (5, 4)),
    "4.2": Versions((5, 4), (12, 11), (5, 4), (5, 4)),
    "4.0-tv1": Versions((5, 4), (11, 12), (4, 5), (4, 5)),
    "4.3-tv0": Versions((4, 4), (11, 12), (4, 5), (4, 5)),
    "3.9": Versions((4, 5), (11, 10), (4, 3), (4, 3)),
    "0.11.0": Versions((0, 0), (3, 3), (0, 0), (0, 0)),
}


def new_cluster(release: str, nodes: int) -> Cluster:
    """A cluster with one partition of each internal topic, and replicas of everything on each node."""
    ids = tuple(range(1, nodes + 1))
    around = [ids[i:] + ids[:i] for i in range(nodes)]
    settings = Settings(
        transactional_id_expiration_ms=600_000,
        producer_id_expiration_ms=300_000,
        transaction_state_log_min_isr=1,
        group_initial_rebalance_delay_ms=0,
    )
    topics = {
        "t": [around[0], around[-1]],
        TRANSACTION_STATE: [around[1 % nodes]],
        CONSUMER_OFFSETS: [around[2 % nodes]],
    }
    return Cluster(nodes, preset(release), settings, topics)


def release_appends(cluster: Cluster) -> None:
    """What coordinators append is held no longer, and what was held goes into the log."""
    for broker in cluster.brokers.values():
        broker.transactions.holds_appends = False
        for append in tuple(broker.transactions.held_appends):
            broker.transactions.release_append(append)
        cluster.replication.replicate(broker)


@dataclass
class Program:
    """A cluster, and what its clients know. `torn`: offsets of transaction records that were reported as failed."""

    release: str
    nodes: int = 1
    cluster: Cluster = field(init=False)
    granted: dict[str | None, list[Identity]] = field(default_factory=dict)
    next_sequence: dict[tuple[int, int, TopicPartition], int] = field(default_factory=dict)
    sent: list[Produce] = field(default_factory=list)
    last_end: dict[str, EndTxn] = field(default_factory=dict)
    member: tuple[str, int] = ("", NONE)
    beat: tuple[str, int] = ("", 0)
    torn: set[int] = field(default_factory=set)
    _open: list[Exchange] = field(default_factory=list)
    _records: int = 0

    def __post_init__(self) -> None:
        self.cluster = new_cluster(self.release, self.nodes)

    @property
    def versions(self) -> Versions:
        """The versions that this program's clients use."""
        return VERSIONS[self.release]

    def run(self, *operations: Operation) -> "Program":
        """Each operation in turn."""
        for name, *arguments in operations:
            end = self._transaction_log_end()
            had_fault = self._written_fault()
            getattr(self, name)(*arguments)
            if had_fault and not self._written_fault() and self._transaction_log_end() > end:
                self.torn.add(end)
            self._listen()
        return self

    # ---------------------------------------------------------------- requests

    def init(self, name: str | None, expectation: int = 0, steps: int = ALL, which: int = 0) -> None:
        """InitProducerId; `expectation` 0: none, 1: the newest identity, 2: the one before."""
        known = self.granted.get(name, [])
        given = known[-expectation] if 0 < expectation <= len(known) and self.versions.init[0] >= 3 else (NONE, NONE)
        self._send(InitProducerId(self.versions.init[which], name, TIMEOUT_MS, *given), self._coordinator(), steps)

    def add(self, name: str, partition: int, steps: int = ALL) -> None:
        """AddPartitionsToTxn of a client."""
        asked = TransactionToAdd(name, *self.identity(name), (DATA[partition],))
        self._send(AddPartitionsToTxn(3, (asked,)), self._coordinator(), steps)

    def add_offsets(self, name: str, steps: int = ALL) -> None:
        """AddOffsetsToTxn."""
        self._send(AddOffsetsToTxn(3, name, *self.identity(name), CLASSIC), self._coordinator(), steps)

    def produce(self, name: str | None, partition: int, which: int = 0, steps: int = ALL) -> None:
        """The next batch of a transaction, or (without an id) of an idempotent producer."""
        if name not in self.granted:
            self.init(name)
            self._listen()
        request = self.next_produce(name, DATA[partition], self.versions.produce[which])
        self.sent.append(request)
        self._send(request, self.cluster.leader_of(DATA[partition]), steps)

    def stream(self, partition: int) -> None:
        """Several batches of the idempotent producer, one after the other."""
        for _ in range(3):
            self.produce(None, partition)
            self._listen()

    def txn_commit(self, name: str, which: int = 0, steps: int = ALL, metadata: str = "") -> None:
        """TxnOffsetCommit."""
        self._send(self.offsets_in_transaction(name, which, metadata), self.cluster.leader_of(OFFSETS), steps)

    def late_commit(self, name: str) -> None:
        """A TxnOffsetCommit of the identity before the newest one."""
        before = self.granted.get(name, [])[-2:-1]
        if before:
            request = self.offsets_in_transaction(name)
            late = replace(request, producer_id=before[0][0], producer_epoch=before[0][1])
            self._send(late, self.cluster.leader_of(OFFSETS), ALL)

    def commit(self, metadata: str = "", group: str = CLASSIC) -> None:
        """OffsetCommit of the member, or of nobody."""
        self._records += 1
        member, generation = self.member if group == CLASSIC else ("", NONE)
        rows = (OffsetToCommit(DATA[0], self._records, metadata),)
        self._send(OffsetCommit(8, group, rows, generation, member), self.cluster.leader_of(OFFSETS), ALL)

    def delete_offsets(self) -> None:
        """OffsetDelete of everything that the group has."""
        self._send(OffsetDelete(0, CLASSIC, DATA), self.cluster.leader_of(OFFSETS), ALL)

    def end(self, name: str, committed: bool, which: int = 0, steps: int = ALL) -> None:
        """EndTxn."""
        self.last_end[name] = EndTxn(self.versions.end[which], name, *self.identity(name), committed)
        self._send(self.last_end[name], self._coordinator(), steps)

    def again(self, back: int, steps: int = ALL) -> None:
        """One of the last Produce requests once more."""
        if back < len(self.sent):
            request = self.sent[-1 - back]
            self._send(request, self.cluster.leader_of(next(iter(request.partitions))), steps)

    def marker(self, name: str, committed: bool, partition: int) -> None:
        """WriteTxnMarkers of an operator, or of a coordinator that was told of no change."""
        producer_id, epoch = self.identity(name)
        if producer_id != NONE:
            to = PARTITIONS[partition]
            row = MarkerToWrite(producer_id, epoch, committed, 0, (to,))
            self._send(WriteTxnMarkers(1, (row,)), self.cluster.leader_of(to), ALL)

    def whole(self, name: str, committed: bool, which: int = 0) -> None:
        """A whole transaction, as an application without trouble would have it."""
        if not self.granted.get(name):
            self.init(name)
            self._listen()
        if self.versions.produce[which] < 12:
            self.add(name, 0)
        self.produce(name, 0, which)
        if self.versions.txn_offset_commit[which] < 5:
            self.add_offsets(name)
        self.txn_commit(name, which)
        self.end(name, committed, which)

    # ---------------------------------------------------------------- groups

    def join(self) -> None:
        """JoinGroup of the member that is known, or of a new one."""
        self._send(JoinGroup(5, CLASSIC, self.member[0]), self.cluster.leader_of(OFFSETS), ALL)

    def sync(self) -> None:
        """SyncGroup."""
        member, generation = self.member
        self._send(SyncGroup(3, CLASSIC, generation, member), self.cluster.leader_of(OFFSETS), ALL)

    def leave(self) -> None:
        """LeaveGroup."""
        self._send(LeaveGroup(2, CLASSIC, self.member[0]), self.cluster.leader_of(OFFSETS), ALL)
        self.member = ("", NONE)

    def heartbeat(self, topics: tuple[str, ...] | None = ("t",)) -> None:
        """ConsumerGroupHeartbeat: the member joins, or stays."""
        self._send(ConsumerGroupHeartbeat(0, MODERN, *self.beat, topics), self.cluster.leader_of(OFFSETS), ALL)

    def another_heartbeat(self) -> None:
        """Somebody else joins the consumer group."""
        self._send(ConsumerGroupHeartbeat(0, MODERN, "", 0, ("t",)), self.cluster.leader_of(OFFSETS), ALL)

    # ---------------------------------------------------------------- time and faults

    def wait(self, ms: int) -> None:
        """Time passes."""
        assert isinstance(self.cluster.clock, ManualClock)
        self.cluster.clock.advance(ms)

    def sweep(self, name: str) -> None:
        """A timer of every broker, as `Cluster` names it, and everything that follows."""
        getattr(self.cluster, name)()
        self.cluster.settle()

    def fault(self, written: bool) -> None:
        """The next append to the transaction log is told NOT_ENOUGH_REPLICAS_AFTER_APPEND or so."""
        node = self.cluster.leader_of(TRANSACTIONS)
        assert node is not None
        error = Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND if written else Error.KAFKA_STORAGE_ERROR
        faults = self.cluster.brokers[node].transactions.append_faults
        faults.clear()
        faults.append(AppendFault(error, is_written=written))

    def hold(self, holds: bool) -> None:
        """What the coordinator appends stays under way; or it arrives, and nothing is held any more."""
        node = self._coordinator()
        assert node is not None
        self.cluster.brokers[node].transactions.holds_appends = holds
        if not holds:
            release_appends(self.cluster)
            self.cluster.settle()

    def starve(self, starved: bool) -> None:
        """There are too few replicas in sync for data and markers; or enough again."""
        self.cluster.configure("min_insync_replicas", self.nodes + 1 if starved else 1)

    def lag(self, partition: int) -> None:
        """The followers of a partition are one record behind."""
        node = self.cluster.leader_of(DATA[partition])
        assert node is not None
        replica = self.cluster.brokers[node].partitions.replicas[DATA[partition]]
        replica.high_watermark = max(0, replica.log.end_offset - 1)

    def catch_up(self, partition: int) -> None:
        """The followers of a partition have everything."""
        node = self.cluster.leader_of(DATA[partition])
        assert node is not None
        self.cluster.brokers[node].partitions.replicas[DATA[partition]].high_watermark = None

    def restart(self, clean: bool) -> None:
        """Every broker goes and comes back: not only once."""
        self.cluster.restart(clean)
        self.cluster.settle()

    def wear_out(self, name: str) -> None:
        """The epochs of an id are nearly used up: as if it had been initialised for 32,766 times."""
        coordinator = self._coordinator()
        assert coordinator is not None
        replica = self.cluster.brokers[coordinator].partitions.replicas[TRANSACTIONS]
        value = list(replica.log.read())[-1].records[0].value
        assert isinstance(value, TransactionValue)
        worn = Record(name, replace(value, producer_epoch=PRODUCER_EPOCH_MAX - 1))
        replica.append(Batch(records=(worn,)), SENTINEL, Origin.COORDINATOR)
        self._grant(name, (value.producer_id, PRODUCER_EPOCH_MAX - 1))
        self.restart(clean=False)

    # ---------------------------------------------------------------- what clients know

    def identity(self, name: str | None) -> Identity:
        """The newest producer id and epoch of a client."""
        return next(reversed(self.granted.get(name, [])), (NONE, NONE))

    def next_produce(self, name: str | None, partition: TopicPartition, version: int) -> Produce:
        """The Produce request that a client would send next."""
        producer_id, epoch = self.identity(name)
        sequence = self.next_sequence.get((producer_id, epoch, partition), 0)
        self._records += 1
        record = Record(None, str(self._records).encode())
        batch = Batch(
            producer_id,
            epoch,
            sequence if producer_id != NONE else NONE,
            name is not None,
            (record,),
            timestamp_ms=self.cluster.clock.now_ms(),
        )
        return Produce(version, name, NONE, {partition: (SentBatch(batch),)})

    def offsets_in_transaction(self, name: str, which: int = 0, metadata: str = "") -> TxnOffsetCommit:
        """The TxnOffsetCommit that a client would send next."""
        self._records += 1
        rows = (OffsetToCommit(DATA[1], self._records, metadata),)
        version = self.versions.txn_offset_commit[which]
        return TxnOffsetCommit(version, name, CLASSIC, *self.identity(name), rows)

    def _learn(self, request: Request, answer: Answer | None) -> None:
        if isinstance(answer, InitProducerIdAnswer) and isinstance(request, InitProducerId):
            if answer.error == Error.NONE:
                self._grant(request.transactional_id, (answer.producer_id, answer.producer_epoch))
        elif isinstance(answer, EndTxnAnswer) and isinstance(request, EndTxn):
            if answer.error == Error.NONE and answer.producer_id != NONE:
                self._grant(request.transactional_id, (answer.producer_id, answer.producer_epoch))
        elif isinstance(answer, ProduceAnswer) and isinstance(request, Produce):
            ((partition, produced),) = answer.partitions.items()
            batch = request.partitions[partition][0].batch
            if produced.error == Error.NONE:
                key = batch.producer_id, batch.producer_epoch, partition
                self.next_sequence[key] = max(batch.base_sequence + 1, self.next_sequence.get(key, 0))
        elif isinstance(answer, JoinGroupAnswer):
            if answer.error in (Error.NONE, Error.MEMBER_ID_REQUIRED):
                self.member = answer.member, answer.generation
        elif isinstance(answer, ConsumerGroupHeartbeatAnswer) and answer.error == Error.NONE:
            self.beat = answer.member, answer.epoch

    def _grant(self, name: str | None, identity: Identity) -> None:
        known = self.granted.setdefault(name, [])
        if identity not in known[-1:]:
            known.append(identity)

    # ---------------------------------------------------------------- sending

    def _coordinator(self) -> int | None:
        return self.cluster.leader_of(TRANSACTIONS)

    def _send(self, request: Request, node: int | None, steps: int) -> None:
        self._open.append(self.cluster.send(request, node))
        for _ in range(steps):
            if not self.cluster.step():
                break

    def _listen(self) -> None:
        over = [exchange for exchange in self._open if exchange.is_over]
        self._open = [exchange for exchange in self._open if not exchange.is_over]
        for exchange in over:
            self._learn(exchange.request, exchange.answer)
            self.cluster.network.exchanges.pop(exchange.number, None)

    def _written_fault(self) -> bool:
        return any(
            fault.is_written for broker in self.cluster.brokers.values() for fault in broker.transactions.append_faults
        )

    def _transaction_log_end(self) -> int:
        node = self.cluster.leader_of(TRANSACTIONS)
        assert node is not None
        return self.cluster.stores[node, TRANSACTIONS].log.end_offset
