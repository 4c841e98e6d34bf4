"""A live cluster as the checker's state: a function for each field of `State`.

What the live system knows and the checker's record does not hold is left out by ``abstractions``; messages are in
``flights``, appends and blocks of producer ids in ``projected_travels``. What has no live counterpart at all is in
`NOT_PROJECTED`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from zombieproof.bridge.abstractions import (
    in_first_use,
    without_fresh_metadata,
    without_group_records,
    without_sequence,
    without_time,
)
from zombieproof.bridge.clusters import COORDINATOR_NODES, UnhurriedCoordinator
from zombieproof.bridge.commands import COORDINATORS
from zombieproof.bridge.names import Lost, Names, leading_log
from zombieproof.bridge.requests import (
    GROUP,
    INPUT,
    OFFSETS_PARTITION,
    PARTITIONS,
    TRANSACTIONAL_IDS,
    generation_of,
)
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.node import Broker
from zombieproof.broker.coordinator.store import last_values
from zombieproof.broker.group.offset_store import OffsetStore
from zombieproof.checker.transactions.capacities import (
    CACHED,
    IDS,
    LOG,
    MORE_PRODUCER_IDS,
    NODES,
    PRODUCER_IDS,
    READERS,
)
from zombieproof.checker.transactions.marker_actions import AT_LOG
from zombieproof.checker.transactions.state import CheckedEntry, Group, LogRecord, Node, Partition, Reader
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.formats.batches import Batch, OffsetKey, OffsetValue, TransactionValue
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.records import GroupOffset, PendingOffset, ProducerEntry, Transaction
from zombieproof.model.vocabulary import NONE, Isolation, LogEntry
from zombieproof.statemachines.partition_leader.questions import Lane

NOT_PROJECTED: Mapping[str, str] = {
    "clients": "applications are the checker's own functions: the live part of a twin is the cluster",
    "ghost": "no broker knows what applications were told; a twin works decisions out from the durable records",
    "budget": "how often a fault may still happen is a bound of the exploration",
    "overflow": "the live system has no capacities",
    "recorded": "the controller of a twin has what it answers in its log",
    "replicated": "replicas of a twin have what is appended, in the same step",
    "replicas": "what a twin's leader has in its log is at its other replicas at once",
    "fetches": "a broker of a twin answers a fetch in one step",
    "remains": "logs of a twin are whole",
    "snapshots": "logs of a twin are whole, and are read from their beginning",
    "outdated": "the input topic of a twin is created once",
}
"""Fields of `State` that have no live counterpart, and why."""

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
            known=True,
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
    return Node(
        believes=True,
        epoch=epoch,
        cache=[held_as(broker, held, names) for held in cache],
        driving=[_drives(broker, epoch, TRANSACTIONAL_IDS[k]) for k in range(IDS)],
    )


def held_as(broker: Broker, transaction: Transaction, names: Names) -> Transaction:
    """What a broker holds of an id, or has on its way into the log."""
    return replace(
        without_time(transaction),
        producer_id=names.producer_id(transaction.producer_id),
        previous_producer_id=names.producer_id(transaction.previous_producer_id),
        next_producer_id=names.producer_id(transaction.next_producer_id),
        partitions=in_first_use(broker.numbers.partitions(transaction.partitions)),
    )


def _drives(broker: Broker, epoch: int, transactional_id: str) -> int:
    """Whether it is at work on the end of a decided transaction, in its present office: with markers, or at the log.

    What is left of an earlier office is dropped when its answer comes (FORGET).
    """
    pending = broker.coordinator.channel.pending.get(transactional_id)
    if pending is not None:
        return int(pending.coordinator_epoch == epoch)
    if isinstance(broker.coordinator, UnhurriedCoordinator):
        return AT_LOG if broker.coordinator.is_at_log(transactional_id, epoch) else 0
    return int(broker.coordinator.is_driving(transactional_id))


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


# ---------------------------------------------------------------- questions of leaders


def lanes(cluster: Cluster) -> list[Lane]:
    """The way from the leader of each partition to each node that may coordinate."""
    return [_lane(cluster, tp, node) for tp in PARTITIONS for node in COORDINATOR_NODES[:NODES]]


def _lane(cluster: Cluster, tp: TopicPartition, node: int) -> Lane:
    leader = cluster.leader_of(tp)
    lane = None if leader is None else cluster.brokers[leader].writes.channel.lanes.get(node)
    return Lane() if lane is None else replace(lane)


# ---------------------------------------------------------------- partitions and the group


def partitions(cluster: Cluster, names: Names, lost: Mapping[int, Lost]) -> list[Partition]:
    """Each partition as its leader has it."""
    return [lost[p].partition if p in lost else _partition(cluster, tp, names) for p, tp in enumerate(PARTITIONS)]


def _partition(cluster: Cluster, tp: TopicPartition, names: Names) -> Partition:
    batches = leading_log(cluster, tp)
    every = {batch.base_offset: batch.base_offset for batch in batches}
    numbers = without_group_records(batches) if tp == OFFSETS_PARTITION else every
    log = [_log_record(batch, names) for batch in batches if batch.base_offset in numbers]
    assert len(log) <= LOG, f"{tp}: the state's log holds {LOG} records"
    log += [LogRecord() for _ in range(LOG - len(log))]
    leader = cluster.leader_of(tp)
    assert leader is not None, f"{tp}: what its last leader knew is kept while there is none"
    producers = cluster.brokers[leader].partitions.replicas[tp].producers
    entries = [_entry(producers.get(pid), numbers, names) for pid in known_ids(names)]
    entries += [CheckedEntry() for _ in range(PRODUCER_IDS - len(entries))]
    if tp == OFFSETS_PARTITION:
        entries = [without_sequence(entry) for entry in entries]
    return Partition(leader=True, end=len(numbers), log=log, entries=entries)


def known_ids(names: Names) -> list[int]:
    """Every producer id that has a name, by its name."""
    assert len(names.producer_ids) <= MORE_PRODUCER_IDS, f"a state holds {MORE_PRODUCER_IDS} producer ids"
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
    assert live.batch_count <= CACHED, "the rules of a scenario let a leader remember no more than the state can hold"
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
    for name, producer_id in enumerate(known_ids(names)):
        pending = _pending(store.offsets, producer_id, key, numbers)
        found.pending[name : name + 1] = [pending]
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
    found.states += [0] * (len(names.producer_ids) - len(found.states))
    if live.isolation != Isolation.READ_COMMITTED:
        for producer_id, state in live._states.items():
            found.states[names.producer_id(producer_id)] = state
    return found
