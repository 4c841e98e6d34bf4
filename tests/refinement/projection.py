"""A live cluster as the checker's world: a function for each field of `World`, a named function for each abstraction.

Where the live system knows more than the checker's record holds, a function here says what is left out and why. What
has no live counterpart at all is in `NOT_PROJECTED`; leaves of projected fields that are always the same in `CONSTANT`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tests.refinement.commands import COORDINATORS
from tests.refinement.requests import (
    GROUP,
    INPUT,
    OFFSETS_PARTITION,
    PARTITIONS,
    TRANSACTIONAL_IDS,
    generation_of,
    message_of,
    names_partition,
)
from zombieproof.broker.cluster import Cluster
from zombieproof.broker.log import Batch, OffsetKey, OffsetValue, TransactionValue
from zombieproof.broker.network import CLIENT
from zombieproof.broker.network import Message as LiveMessage
from zombieproof.broker.node import Broker, InProgress
from zombieproof.broker.offset_store import OffsetStore
from zombieproof.broker.offsets_commit import OffsetCommitInProgress
from zombieproof.broker.partition_requests import WriteTxnMarkers
from zombieproof.broker.transaction_requests import AddPartitionsToTxnAnswer
from zombieproof.broker.transaction_store import last_values
from zombieproof.checker.partition_actions import mode
from zombieproof.checker.world import (
    CACHED,
    IDS,
    LOG,
    NODES,
    PRODUCER_IDS,
    READERS,
    CheckedEntry,
    Group,
    Kind,
    LogRecord,
    Message,
    Node,
    Partition,
    Reader,
    Setup,
    Stage,
)
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.model.decisions.verification import answer_of_broker_channel, answer_of_coordinator
from zombieproof.model.records import GroupOffset, PendingOffset, ProducerEntry, Transaction
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Error, Isolation, LogEntry, TransactionState
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.traces.evidence import TopicPartition

COORDINATOR_NODES = (1, 2)
"""The brokers that may coordinate: nodes 0 and 1 of a world."""

NOT_PROJECTED: Mapping[str, str] = {
    "clients": "applications are the checker's own functions: the live part of a twin is the cluster",
    "ghost": "no broker knows what applications were told; a twin works decisions out from the durable records",
    "budget": "how often a fault may still strike is a bound of the exploration",
    "overflow": "the live system has no capacities",
}
"""Fields of `World` that have no live counterpart, and why."""

CONSTANT: Mapping[str, str] = {
    "messages[].answered": "answers are heard in the step that gives them, as in the checker without `answers_travel`",
}
"""Leaves of projected fields that are 0 throughout, and why."""


# ---------------------------------------------------------------- what is left out on purpose


def has_start(transaction: Transaction) -> bool:
    """Before 4.0 memory kept the start of the last transaction (`init_clears_start`): nobody reads it in EMPTY."""
    return transaction.start_ms != NONE and transaction.state != TransactionState.EMPTY


def without_time(transaction: Transaction) -> Transaction:
    """Times are 0 where they are set: in the checker a time-out may strike whenever something is open."""
    return replace(
        transaction,
        timeout_ms=int(transaction.timeout_ms != 0),
        start_ms=0 if has_start(transaction) else NONE,
        last_update_ms=NONE if transaction.last_update_ms == NONE else 0,
    )


def in_first_use(partitions: frozenset[TopicPartition]) -> int:
    """A set of partitions as a mask by the checker's numbers, not by the order in which the cluster met them."""
    return sum(1 << PARTITIONS.index(partition) for partition in partitions)


def without_group_records(batches: list[Batch]) -> dict[int, int]:
    """Offset in the log -> number among offset commits and markers.

    The log of the group's partition also holds who is a member; to the checker a rebalance is a fact without a record.
    """
    kept = [batch.base_offset for batch in batches if batch.marker is not None or not _is_of_group(batch)]
    return {offset: number for number, offset in enumerate(kept)}


def _is_of_group(batch: Batch) -> bool:
    return not all(isinstance(record.value, OffsetValue) for record in batch.records)


def without_sequence(entry: CheckedEntry) -> CheckedEntry:
    """Batches of a group coordinator all have sequence 0 and nobody looks at it; the checker says: no sequence."""
    for cached in entry.batches[: entry.batch_count]:
        cached.last_sequence = NONE
    return entry


@dataclass(slots=True)
class Names:
    """The checker's numbers of what the cluster numbers for ever: verification guards, producer ids.

    A new guard gets the smallest number that no other in play has. Producer ids are numbered as they come into use at
    the coordinator in office. A deposed one that meets an unknown id takes a producer id too, for metadata that it can
    never log: nobody is granted it, and the checker leaves both out (`without_fresh_metadata`).
    """

    guards: dict[int, int] = field(default_factory=dict)
    producer_ids: list[int] = field(default_factory=list)

    def update(self, cluster: Cluster, lost: Mapping[int, "Lost"]) -> None:
        """Name what is new, and forget the guards that nobody has any more."""
        in_play = guards_in_play(cluster).union(*(each.guards for each in lost.values()))
        self.guards = {guard: name for guard, name in self.guards.items() if guard in in_play}
        for guard in sorted(in_play - set(self.guards)):
            self.guards[guard] = next(n for n in range(1, len(in_play) + 1) if n not in self.guards.values())
        self.producer_ids += sorted(producer_ids_in_use(cluster) - set(self.producer_ids))

    def guard(self, live: int) -> int:
        """The name of a guard; 0 for none."""
        return 0 if live == 0 else self.guards[live]

    def producer_id(self, live: int) -> int:
        """The name of a producer id; NONE for none."""
        return NONE if live == NONE else self.producer_ids.index(live)

    def live_producer_id(self, name: int) -> int:
        """The producer id that is named so."""
        return NONE if name == NONE else self.producer_ids[name]


@dataclass(frozen=True, slots=True)
class Lost:
    """What the last leader of a partition knew, which nobody leads now.

    The checker's record keeps it until the next election, and nobody reads it; live it is gone with the broker.
    """

    partition: Partition
    guards: frozenset[int]


def guards_of(cluster: Cluster, tp: TopicPartition) -> frozenset[int]:
    """Every guard that the leader of a partition remembers."""
    leader = cluster.leader_of(tp)
    if leader is None:
        return frozenset()
    producers = cluster.brokers[leader].partitions.replicas[tp].producers._producers
    return frozenset(known.entry.guard for known in producers.values()) - {0}


def guards_in_play(cluster: Cluster) -> set[int]:
    """Every guard that a leader remembers, or that a write under way carries."""
    found = {guard for tp in PARTITIONS for guard in guards_of(cluster, tp)}
    found |= {guard_of(work) for broker in cluster.brokers.values() for work in broker._in_progress.values()}
    return found - {0}


def producer_ids_in_use(cluster: Cluster) -> set[int]:
    """Every producer id that the coordinator in office, or its log, knows."""
    node = cluster.leader_of(COORDINATORS)
    cache = {} if node is None else cluster.brokers[node].coordinator.entries(COORDINATORS[1])
    known: list[Transaction | TransactionValue] = [*cache.values()]
    known += last_values(leading_log(cluster, COORDINATORS)).values()
    return ({each.producer_id for each in known} | {each.next_producer_id for each in known}) - {NONE}


def without_fresh_metadata(transaction: Transaction | None, names: Names) -> Transaction:
    """What a coordinator holds of an id, unless it made it up when it was deposed already (see `Names`)."""
    if transaction is None or transaction.producer_id not in names.producer_ids:
        return Transaction()
    return transaction


def with_completion_pending(transaction: Transaction, is_deposed: bool) -> Transaction:
    """To the checker a deposed coordinator that cannot log a completion still has it pending.

    Live, as in Kafka (G1 to G4), it gives the completion up; what it answers is the same as long as nobody sends an
    older epoch, as who was timed out does.
    """
    completing = COORDINATOR.table[transaction.state][CoordinatorEvent.MARKERS_WRITTEN]
    if not is_deposed or transaction.pending_state != NONE or completing < 0:
        return transaction
    return replace(transaction, pending_state=completing)


# ---------------------------------------------------------------- coordinators


def durable(cluster: Cluster, names: Names) -> list[Transaction]:
    """What the log says of each id: the fold of its records."""
    values = last_values(leading_log(cluster, COORDINATORS))
    return [_durable(values.get(TRANSACTIONAL_IDS[k]), names) for k in range(IDS)]


def _durable(value: TransactionValue | None, names: Names) -> Transaction:
    """`last_producer_epoch` is in the record as Kafka keeps it in memory, but not in the bytes (reference §2.2)."""
    if value is None:
        return Transaction()
    return without_time(
        Transaction(
            known=1,
            state=value.state,
            producer_id=names.producer_id(value.producer_id),
            previous_producer_id=names.producer_id(value.previous_producer_id),
            next_producer_id=names.producer_id(value.next_producer_id),
            producer_epoch=value.producer_epoch,
            partitions=in_first_use(value.partitions),
            timeout_ms=value.timeout_ms,
            start_ms=value.start_ms,
            last_update_ms=value.last_update_ms,
            client_transaction_version=value.client_transaction_version,
            next_producer_epoch=value.next_producer_epoch,
        )
    )


def nodes(cluster: Cluster, names: Names) -> list[Node]:
    """Each broker that may coordinate: what it holds in memory, under which epoch, and what it is at work on."""
    return [_node(cluster, cluster.brokers.get(node), names) for node in COORDINATOR_NODES[:NODES]]


def _node(cluster: Cluster, broker: Broker | None, names: Names) -> Node:
    epoch = None if broker is None else broker.coordinator.coordinator_epoch(COORDINATORS[1])
    if broker is None or epoch is None:
        return Node()
    entries = broker.coordinator.entries(COORDINATORS[1])
    cache = [without_fresh_metadata(entries.get(TRANSACTIONAL_IDS[k]), names) for k in range(IDS)]
    is_deposed = cluster.leader_of(COORDINATORS) != broker.node_id
    return Node(
        role=1,
        epoch=epoch,
        cache=[with_completion_pending(_held(cluster, held, names), is_deposed) for held in cache],
        driving=[int(_drives(broker, epoch, TRANSACTIONAL_IDS[k])) for k in range(IDS)],
    )


def _held(cluster: Cluster, transaction: Transaction, names: Names) -> Transaction:
    return replace(
        without_time(transaction),
        producer_id=names.producer_id(transaction.producer_id),
        previous_producer_id=names.producer_id(transaction.previous_producer_id),
        next_producer_id=names.producer_id(transaction.next_producer_id),
        partitions=in_first_use(cluster._surroundings.numbers.partitions(transaction.partitions)),
    )


def _drives(broker: Broker, epoch: int, transactional_id: str) -> bool:
    """Whether it is at work on the end of a decided transaction, in its present office.

    What is left of an earlier office is dropped when its answer comes (FORGET).
    """
    pending = broker.coordinator.channel.pending.get(transactional_id)
    if pending is not None:
        return pending.coordinator_epoch == epoch
    return broker.coordinator.is_driving(transactional_id)


def coordinator(cluster: Cluster) -> int:
    """Which node is the coordinator."""
    node = cluster.leader_of(COORDINATORS)
    assert node is not None, "the coordinator fails over at once"
    return COORDINATOR_NODES.index(node)


def highest_epoch(cluster: Cluster) -> int:
    """The epoch of the last election of a coordinator."""
    return cluster.metadata.leader_epoch(COORDINATORS)


def next_producer_id(names: Names) -> int:
    """The producer id that comes into use next."""
    return len(names.producer_ids)


# ---------------------------------------------------------------- partitions and the group


def leading_log(cluster: Cluster, partition: TopicPartition) -> list[Batch]:
    """What is durable: the log of the leader, or of a replica that was in sync when the last leader went."""
    leader = cluster.leader_of(partition)
    node = leader if leader is not None else cluster.metadata.partitions[partition].in_sync[0]
    return list(cluster.stores[node, partition].log.read())


def partitions(cluster: Cluster, names: Names, lost: Mapping[int, Lost]) -> list[Partition]:
    """Each partition as its leader has it."""
    return [lost[p].partition if p in lost else _partition(cluster, tp, names) for p, tp in enumerate(PARTITIONS)]


def _partition(cluster: Cluster, tp: TopicPartition, names: Names) -> Partition:
    batches = leading_log(cluster, tp)
    every = {batch.base_offset: batch.base_offset for batch in batches}
    numbers = without_group_records(batches) if tp == OFFSETS_PARTITION else every
    log = [_log_record(batch, names) for batch in batches if batch.base_offset in numbers]
    assert len(log) <= LOG, f"{tp}: the world's log holds {LOG} records"
    log += [LogRecord() for _ in range(LOG - len(log))]
    leader = cluster.leader_of(tp)
    assert leader is not None, f"{tp}: what its last leader knew is kept while there is none"
    producers = cluster.brokers[leader].partitions.replicas[tp].producers
    entries = [_entry(producers.get(pid), numbers, names) for pid in _known(names)]
    entries += [CheckedEntry() for _ in range(PRODUCER_IDS - len(entries))]
    if tp == OFFSETS_PARTITION:
        entries = [without_sequence(entry) for entry in entries]
    return Partition(leader=1, end=len(numbers), log=log, entries=entries)


def _known(names: Names) -> list[int]:
    assert len(names.producer_ids) <= PRODUCER_IDS, f"the world holds {PRODUCER_IDS} producer ids"
    return names.producer_ids


def _log_record(batch: Batch, names: Names) -> LogRecord:
    identity = names.producer_id(batch.producer_id), batch.producer_epoch
    if batch.marker is not None:
        kind = LogEntry.COMMIT if batch.marker.committed else LogEntry.ABORT
        return LogRecord(kind, *identity, batch.marker.coordinator_epoch)
    (record,) = batch.records
    if isinstance(record.value, OffsetValue):
        return LogRecord(LogEntry.OFFSET, *identity, record.value.offset, int(record.value.metadata))
    assert isinstance(record.value, bytes), f"a data batch holds {record.value!r}"
    kind = LogEntry.DATA if batch.transactional else LogEntry.PLAIN
    return LogRecord(kind, *identity, batch.base_sequence, int(record.value))


def _entry(live: ProducerEntry | None, numbers: Mapping[int, int], names: Names) -> CheckedEntry:
    entry = CheckedEntry()
    if live is None:
        return entry
    entry.known, entry.state = live.known, live.state
    entry.producer_epoch, entry.coordinator_epoch = live.producer_epoch, live.coordinator_epoch
    entry.txn_first_offset = NONE if live.txn_first_offset == NONE else numbers[live.txn_first_offset]
    entry.guard, entry.guard_epoch = names.guard(live.guard), live.guard_epoch
    entry.lowest_sequence, entry.supports_epoch_bump = live.lowest_sequence, live.supports_epoch_bump
    entry.batch_count = live.batch_count
    assert live.batch_count <= CACHED, "the rules of a scenario let a leader remember no more than the world can hold"
    for cached, known in zip(entry.batches, live.batches[: live.batch_count], strict=False):
        cached.last_sequence, cached.offset_delta = known.last_sequence, known.offset_delta
        cached.last_offset = numbers[known.last_offset]
    return entry


def group(cluster: Cluster, members: tuple[str, ...], names: Names) -> Group:
    """The group: who owns the input in which generation, what is committed, and what waits for a marker.

    A consumer without a committed offset begins at 0. `members` are the member ids of the clients, "" before they join.
    """
    found = Group(committed=GroupOffset(offset=0))
    leader = cluster.leader_of(OFFSETS_PARTITION)
    store = None if leader is None else cluster.brokers[leader].groups.store(OFFSETS_PARTITION[1])
    if store is None:
        return found
    live = store.groups.get(GROUP)
    if live is not None and members:
        (owner,) = live.members
        found.owner = members.index(owner)
        found.generation = generation_of(live.generation)
    numbers = without_group_records(leading_log(cluster, OFFSETS_PARTITION))
    key = OffsetKey(GROUP, *INPUT)
    committed = store.offsets._committed.get(key)
    if committed is not None:
        found.committed = GroupOffset(committed.record.offset, numbers[committed.record.record_offset])
    for name, producer_id in enumerate(_known(names)):
        found.pending[name] = _pending(store.offsets, producer_id, key, numbers)
    return found


def _pending(offsets: OffsetStore, producer_id: int, key: OffsetKey, numbers: Mapping[int, int]) -> PendingOffset:
    waiting = offsets._waiting.get(producer_id, {}).get(key)
    if waiting is None:
        return PendingOffset()
    return PendingOffset(waiting.record.state, waiting.record.offset, numbers[waiting.record.record_offset])


# ---------------------------------------------------------------- consumers


@dataclass(slots=True)
class Consumer:
    """A live consumer of the first partition, and the offsets that its application got."""

    reader: FetchFilter
    delivered: int = 0


def readers(consumers: list[Consumer], names: Names) -> list[Reader]:
    """Each consumer: where it is, what its application got, what it holds back."""
    found = [_reader(consumer, names) for consumer in consumers]
    return [*found, *(Reader() for _ in range(READERS - len(found)))]


def _reader(consumer: Consumer, names: Names) -> Reader:
    """What Kafka's consumer knows of aborted producers goes with the next answer, and in the checker at once."""
    live = consumer.reader
    found = Reader(live.position, consumer.delivered, sum(1 << offset for offset in live.held_offsets))
    if live.isolation != Isolation.READ_COMMITTED:
        for producer_id, state in live._states.items():
            found.states[names.producer_id(producer_id)] = state
    return found


# ---------------------------------------------------------------- messages


@dataclass(frozen=True, slots=True)
class Sent:
    """What is known of a client's request beside its content: who sent it for which label, and whether it waits."""

    client: int
    label: int
    waits: bool


class InFlight(NamedTuple):
    """One message of the world, the live message that its delivery delivers, and the client's request (0: none)."""

    message: Message
    live: LiveMessage
    request: int


def messages(cluster: Cluster, sent: Mapping[int, Sent], names: Names, setup: Setup) -> list[InFlight]:
    """Every message in flight."""
    return list(_messages(cluster, sent, names, setup))


def _messages(cluster: Cluster, sent: Mapping[int, Sent], names: Names, setup: Setup) -> Iterator[InFlight]:
    for live in cluster.network.in_flight:
        if isinstance(live.body, WriteTxnMarkers):
            yield InFlight(_marker(cluster, live, live.body, names), live, 0)
        elif live.sender == CLIENT:
            assert not live.is_answer, "a client is never asked"
            yield InFlight(_of_client(live, sent[live.number], names), live, live.number)
        else:
            yield _verification(cluster, live, sent, names, setup)


def _of_client(live: LiveMessage, facts: Sent, names: Names) -> Message:
    message = message_of(live.body, facts.client, facts.label)
    message.producer_id = names.producer_id(message.producer_id)
    message.live = int(facts.waits)
    if not names_partition(message.kind):
        message.node = COORDINATOR_NODES.index(live.receiver)
    return message


def in_progress(cluster: Cluster, live: LiveMessage) -> tuple[int, InProgress]:
    """The client's request behind a leader's question to the coordinator, or behind the answer to it."""
    leader = cluster.brokers[live.receiver if live.is_answer else live.sender]
    number = leader._questions[live.number]
    return number, leader._in_progress[number]


def _verification(
    cluster: Cluster, live: LiveMessage, sent: Mapping[int, Sent], names: Names, setup: Setup
) -> InFlight:
    number, work = in_progress(cluster, live)
    message = message_of(work.request, sent[number].client, sent[number].label)
    message.producer_id = names.producer_id(message.producer_id)
    message.live = int(sent[number].waits)
    message.guard = names.guard(guard_of(work))
    if live.is_answer:
        message.stage, message.error = Stage.BACK_TO_LEADER, _error_of(live, setup)
    else:
        message.stage, message.node = Stage.TO_COORDINATOR, COORDINATOR_NODES.index(live.receiver)
    return InFlight(message, live, number)


def guard_of(work: InProgress) -> int:
    """The guard under which a write waits for the coordinator."""
    if isinstance(work, OffsetCommitInProgress):
        return work.guard
    (guard,) = work.waiting.values()
    return guard


def _error_of(live: LiveMessage, setup: Setup) -> int:
    """What the coordinator has answered, as the leader understands it: the checker translates where it is said."""
    answer = live.body
    if not isinstance(answer, AddPartitionsToTxnAnswer):
        return answer_of_broker_channel(Error.NETWORK_EXCEPTION)
    if answer.error != Error.NONE:
        return answer_of_broker_channel(answer.error)
    (error,) = answer.transactions[0].errors.values()
    return answer_of_coordinator(error, mode(setup))


def _marker(cluster: Cluster, live: LiveMessage, request: WriteTxnMarkers, names: Names) -> Message:
    """Each partition has a leader of its own and one transaction ends at a time, so a request holds one marker."""
    (marker,) = request.markers
    (partition,) = marker.partitions
    return Message(
        kind=Kind.MARKER,
        live=int(is_waited_for(cluster, live)),
        client=_id_of(cluster, marker.producer_id),
        node=COORDINATOR_NODES.index(live.sender),
        stage=marker.transaction_version,
        producer_id=names.producer_id(marker.producer_id),
        producer_epoch=marker.producer_epoch,
        partition=PARTITIONS.index(partition),
        value=marker.coordinator_epoch,
        detail=int(marker.committed),
    )


def _id_of(cluster: Cluster, producer_id: int) -> int:
    """The id whose transaction a marker ends; its bytes name the producer id only."""
    for batch in reversed(leading_log(cluster, COORDINATORS)):
        for record in batch.records:
            if isinstance(record.value, TransactionValue) and record.value.producer_id == producer_id:
                return TRANSACTIONAL_IDS.index(str(record.key))
    raise AssertionError(f"no transaction of producer id {producer_id} was ever logged")


def is_waited_for(cluster: Cluster, live: LiveMessage) -> bool:
    """Whether the answer to a marker can still mean something to the coordinator that sent it."""
    broker = cluster.brokers.get(live.sender)
    if broker is None or live.number not in broker._markers_sent:
        return False
    channel = broker.coordinator.channel
    epoch = broker.coordinator.coordinator_epoch(COORDINATORS[1])
    queued = channel.in_flight.get(broker._markers_sent[live.number], [])
    transactions = [each.transaction for each in queued]
    return any(
        txn == channel.pending.get(txn.transactional_id) and txn.coordinator_epoch == epoch for txn in transactions
    )
