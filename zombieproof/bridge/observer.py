"""A live cluster as a state: what the promises (``zombieproof.model.promises``) look at, with no bound on anything.

Labels name transactions of applications, as in the checker. Here every record carries its label as its value (offsets:
as their metadata); `label_of` says so, and may say otherwise. The ghost facts come from what applications were told and
from the moves of the coordinators.
"""

from dataclasses import dataclass, field

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.network import CLIENT, Message
from zombieproof.broker.coordinator.store import last_values
from zombieproof.broker.group.offset_store import OffsetStore
from zombieproof.broker.partition.log import Log
from zombieproof.formats.batches import Batch, OffsetKey, OffsetValue, Record, TransactionValue
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.transactions import AddOffsetsToTxn, AddPartitionsToTxn, EndTxn
from zombieproof.model.records import GroupOffset, PendingOffset, ProducerEntry, Transaction
from zombieproof.model.vocabulary import NONE, LogEntry, Outcome, TransactionState

OFFSETS: TopicPartition = (CONSUMER_OFFSETS, 0)


@dataclass(slots=True)
class LabelFacts:
    """What became of one label (``checker.transactions.state.LabelFacts``)."""

    asked: int = 0
    result: int = 0
    decided: int = 0
    acked: int = 0
    input: int = NONE


@dataclass(slots=True)
class Ghost:
    """Facts that no broker knows."""

    labels: list[LabelFacts] = field(default_factory=list)
    illegal: int = 0
    contradiction: bool = False
    usurped: bool = False
    insane: bool = False


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record or marker of a partition; `value` as in ``checker.transactions.state.LogRecord``."""

    kind: int
    producer_id: int
    producer_epoch: int
    value: int
    label: int = 0


@dataclass(frozen=True, slots=True)
class LivePartition:
    """A partition as its leader has it."""

    log: list[LogRecord]
    entries: list[ProducerEntry]

    @property
    def end(self) -> int:
        """How many records there are."""
        return len(self.log)


@dataclass(frozen=True, slots=True)
class LiveClient:
    """A producer instance."""

    state: int
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class LiveNode:
    """The coordinator: its ids, and whether it is at work on the markers of each."""

    cache: list[Transaction]
    driving: list[int]


@dataclass(frozen=True, slots=True)
class LiveAppend:
    """An append of the coordinator that is under way, for the id of that place among `LiveNode.cache`."""

    subject: int
    node: int = 0
    phase: int = 1


@dataclass(frozen=True, slots=True)
class LiveReader:
    """A read_committed consumer of partition 0."""

    position: int
    delivered: int
    held: int = 0


@dataclass(frozen=True, slots=True)
class LiveGroup:
    """What the group coordinator holds of the one offset that is committed here; `pending` by producer id."""

    committed: GroupOffset
    pending: list[PendingOffset]


@dataclass(slots=True)
class LiveState:
    """What the promises ask for."""

    partitions: list[LivePartition]
    group: LiveGroup
    durable: list[Transaction]
    nodes: list[LiveNode]
    coordinator: int
    clients: list[LiveClient]
    readers: list[LiveReader]
    ghost: Ghost
    appends: list[LiveAppend]


class Observer:
    """Watches a cluster, message by message. `partitions` are those whose logs the promises look at, in that order."""

    def __init__(self, cluster: Cluster, partitions: list[TopicPartition], transactional_ids: list[str]) -> None:
        self.cluster, self.partitions, self.ids = cluster, partitions, transactional_ids
        self.ghost = Ghost()
        self._sent: dict[int, int] = {}
        self._identities: dict[tuple[int, int], int] = {}
        self._owners: dict[str, int] = {}
        self._states: dict[str, TransactionState] = {}
        self._seen: dict[TopicPartition, int] = {}

    def new_label(self) -> int:
        """A label for a transaction that begins."""
        self.ghost.labels.append(LabelFacts())
        return len(self.ghost.labels)

    def facts(self, label: int) -> LabelFacts:
        """The facts of a label."""
        return self.ghost.labels[label - 1]

    def note_sent(self, number: int, label: int, identity: tuple[int, int]) -> None:
        """Request `number` of a client belongs to `label`, and was sent under this producer id and epoch."""
        self._sent[number] = label
        if label:
            self._identities[identity] = label

    def copied(self, number: int, copy: int) -> None:
        """Request `copy` is the same as request `number`, sent twice."""
        if number in self._sent:
            self._sent[copy] = self._sent[number]

    def deliver(self, message: Message) -> None:
        """Deliver a message, and see what the coordinators make of it."""
        self.cluster.deliver(message)
        self.look(message)

    def look(self, cause: Message | None) -> None:
        """See what has become durable at the coordinators since the last look: who opened what, what was decided."""
        for partition in self.cluster.metadata.partitions_of([TRANSACTION_STATE]):
            log, seen = self._log(partition), self._seen.get(partition, 0)
            if log.end_offset <= seen:
                continue
            self._seen[partition] = log.end_offset
            for batch in log.read(seen):
                for record in batch.records:
                    if isinstance(record.key, str) and isinstance(record.value, TransactionValue):
                        self._see(record.key, record.value.state, cause)

    def _see(self, transactional_id: str, state: TransactionState, cause: Message | None) -> None:
        before = self._states.get(transactional_id)
        self._states[transactional_id] = state
        if state == TransactionState.ONGOING and before != TransactionState.ONGOING:
            self._owners[transactional_id] = 0 if cause is None else self._label_of(cause)
        if before != TransactionState.ONGOING:
            return
        if state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
            if cause is not None and cause.sender == CLIENT and isinstance(cause.body, EndTxn):
                # Whoever ends what was opened before anybody watched is taken for its owner.
                owner = self._owners.setdefault(transactional_id, self._sent.get(cause.number, 0))
                self.ghost.usurped |= self._sent.get(cause.number) != owner
            self._decide(
                transactional_id, Outcome.COMMIT if state == TransactionState.PREPARE_COMMIT else Outcome.ABORT
            )

    def _label_of(self, message: Message) -> int:
        body = message.body
        if message.number in self._sent:
            return self._sent[message.number]
        if isinstance(body, AddOffsetsToTxn):
            return self._identities.get((body.producer_id, body.producer_epoch), 0)
        if isinstance(body, AddPartitionsToTxn):
            asked = body.transactions[0]
            return self._identities.get((asked.producer_id, asked.producer_epoch), 0)
        return 0

    def _decide(self, transactional_id: str, outcome: int) -> None:
        label = self._owners.get(transactional_id, 0)
        if not label:
            return
        facts = self.facts(label)
        if facts.decided not in (Outcome.UNDECIDED, outcome):
            self.ghost.contradiction = True
        facts.decided = outcome

    def label_of(self, partition: TopicPartition, batch: Batch, record: Record) -> int:
        """The label of a record that lies in a partition; 0: of nobody's."""
        if isinstance(record.value, OffsetValue):
            return int(record.value.metadata or 0)
        return int(record.value) if isinstance(record.value, bytes) else 0

    def number_of(self, producer_id: int) -> int:
        """The number of a producer id among the entries of a partition; NONE for none."""
        return producer_id

    # ---------------------------------------------------------------- the state

    def state(self, clients: list[LiveClient], readers: list[LiveReader]) -> LiveState:
        """The state as it is."""
        durable = self._durable()
        return LiveState(
            partitions=[self._partition(tp) for tp in self.partitions],
            group=self._group(),
            durable=durable,
            nodes=self._nodes(),
            coordinator=0,
            clients=clients,
            readers=readers,
            ghost=self.ghost,
            appends=self._appends(),
        )

    def _log(self, partition: TopicPartition) -> Log:
        leader = self.cluster.leader_of(partition)
        node = leader if leader is not None else self.cluster.metadata.partitions[partition].in_sync[0]
        return self.cluster.stores[node, partition].log

    def _leading_log(self, partition: TopicPartition) -> list[Batch]:
        return list(self._log(partition).read())

    def _partition(self, partition: TopicPartition) -> LivePartition:
        log = [record for batch in self._leading_log(partition) for record in self._records(partition, batch)]
        leader = self.cluster.leader_of(partition)
        entries = [ProducerEntry() for _ in range(1 + max((each.producer_id for each in log), default=NONE))]
        if leader is None:
            return LivePartition(log, [])
        producers = self.cluster.brokers[leader].partitions.replicas[partition].producers
        for producer_id in producers:
            entry, number = producers.get(producer_id), self.number_of(producer_id)
            if entry is not None and number < len(entries):
                entries[number] = entry
        return LivePartition(log, entries)

    def _records(self, partition: TopicPartition, batch: Batch) -> list[LogRecord]:
        identity = self.number_of(batch.producer_id), batch.producer_epoch
        if batch.marker is not None:
            kind = LogEntry.COMMIT if batch.marker.committed else LogEntry.ABORT
            return [LogRecord(kind, *identity, batch.marker.coordinator_epoch)]
        return [self._record(partition, batch, delta, record) for delta, record in enumerate(batch.records)]

    def _record(self, partition: TopicPartition, batch: Batch, delta: int, record: Record) -> LogRecord:
        identity = self.number_of(batch.producer_id), batch.producer_epoch
        label = self.label_of(partition, batch, record)
        if isinstance(record.value, OffsetValue):
            return LogRecord(LogEntry.OFFSET, *identity, record.value.offset, label)
        kind = LogEntry.DATA if batch.transactional else LogEntry.PLAIN
        return LogRecord(kind, *identity, batch.base_sequence + delta, label)

    def _group(self) -> LiveGroup:
        """Without a leader: as the next one will have it."""
        leader = self.cluster.leader_of(OFFSETS)
        store = None if leader is None else self.cluster.brokers[leader].groups.store(OFFSETS[1])
        offsets = _read(self._leading_log(OFFSETS)) if store is None else store.offsets
        committed = next((each.record for each in offsets._committed.values()), GroupOffset())
        pending = [PendingOffset() for _ in range(1 + max(offsets._waiting, default=NONE))]
        for producer_id, waiting in offsets._waiting.items():
            pending[producer_id] = next(each.record for each in waiting.values())
        return LiveGroup(committed, pending)

    def _durable(self) -> list[Transaction]:
        found = []
        for transactional_id in self.ids:
            values = last_values(self._leading_log(self.cluster.metadata.transaction_partition(transactional_id)))
            value = values.get(transactional_id)
            record = Transaction()
            if value is not None:
                record.known, record.state, record.producer_id = True, value.state, self.number_of(value.producer_id)
                record.producer_epoch = value.producer_epoch
                record.partitions = sum(
                    1 << number for number, tp in enumerate(self.partitions) if tp in value.partitions
                )
            found.append(record)
        return found

    def _nodes(self) -> list[LiveNode]:
        cache, driving = [], []
        for transactional_id in self.ids:
            _, number = self.cluster.metadata.transaction_partition(transactional_id)
            node = self.cluster.leader_of((TRANSACTION_STATE, number))
            transaction = None
            if node is not None:
                coordinator = self.cluster.brokers[node].coordinator
                transaction = coordinator.entries(number).get(transactional_id)
                driving.append(int(coordinator.is_driving(transactional_id)))
            else:
                driving.append(0)
            cache.append(transaction or Transaction())
        return [LiveNode(cache, driving)]

    def _appends(self) -> list[LiveAppend]:
        found = []
        for subject, transactional_id in enumerate(self.ids):
            _, number = self.cluster.metadata.transaction_partition(transactional_id)
            node = self.cluster.leader_of((TRANSACTION_STATE, number))
            under_way = [] if node is None else self.cluster.brokers[node].coordinator.appends_in_flight(number)
            if any(append.transactional_id == transactional_id for append in under_way):
                found.append(LiveAppend(subject))
        return found


def _read(log: list[Batch]) -> OffsetStore:
    found = OffsetStore()
    for batch in log:
        if batch.marker is not None:
            found.end(batch.producer_id, batch.marker.committed, Journal())
        for delta, record in enumerate(batch.records):
            if isinstance(record.key, OffsetKey) and isinstance(record.value, OffsetValue):
                found.replay(batch.base_offset + delta, batch.producer_id, record.key, record.value, Journal())
    return found


__all__ = ["CONSUMER_OFFSETS", "LiveClient", "LiveReader", "LiveState", "Observer"]
