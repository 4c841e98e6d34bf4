"""How to forget, in a cluster that lives, one thing that only memory holds.

Each entry of ``omissions.MEMORY_ONLY`` has a function here that takes just this fact out of memory. A cluster that has
forgotten all of them has to answer as one that has read its logs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from tests.live.frozen import Frozen
from tests.live.recovery_program import OFFSETS, TRANSACTIONS, Program, release_appends
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.network import CLIENT, Message
from zombieproof.broker.cluster.node import Broker
from zombieproof.broker.cluster.operations import (
    HeldAppend,
    MarkersUnderWay,
    Operation,
    QuestionsUnderWay,
    WriteUnderWay,
)
from zombieproof.broker.group.classic_group import ClassicGroup, loaded_classic_group
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.store import GroupStore
from zombieproof.broker.partition.producer_states import ProducerStates
from zombieproof.broker.partition.verification_channel import VerificationChannel
from zombieproof.formats.batches import GroupKey, GroupValue, OffsetKey, TransactionValue
from zombieproof.messages.partitions import WriteTxnMarkers, WriteTxnMarkersAnswer
from zombieproof.model.decisions.produce import evolve_expiry, should_expire
from zombieproof.model.records import CachedBatch, ProducerEntry, Transaction
from zombieproof.model.vocabulary import NONE, ClassicGroupState, PartitionEvent, TransactionState, TransactionVersion
from zombieproof.statemachines.classic_group.members import Standing
from zombieproof.statemachines.classic_group.rebalances import loaded
from zombieproof.statemachines.consumer_group_member import reconciling
from zombieproof.statemachines.coordinator.completion import drive
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects
from zombieproof.statemachines.partition_leader import PARTITION_LEADER

UNDER_WAY = (ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.COMPLETING_REBALANCE)
PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

Forget = Callable[[Cluster, Cluster, frozenset[int]], None]
"""Takes a fact out of the first cluster; the second has read its logs, and `torn` are `Program.torn`."""


# -------------------------------------------------------------------- what there is


def coordinator(cluster: Cluster) -> Broker:
    """The broker that coordinates transactions."""
    node = cluster.leader_of(TRANSACTIONS)
    assert node is not None
    return cluster.brokers[node]


def group_store(cluster: Cluster) -> GroupStore:
    """What the group coordinator holds."""
    node = cluster.leader_of(OFFSETS)
    assert node is not None
    store = cluster.brokers[node].groups.store(OFFSETS[1])
    assert store is not None
    return store


def transactions(cluster: Cluster) -> dict[str, Transaction]:
    """The ids that the transaction coordinator holds."""
    found = coordinator(cluster).coordinator.entries(TRANSACTIONS[1])
    assert isinstance(found, dict)
    return found


def logged_transactions(cluster: Cluster) -> dict[str, tuple[int, TransactionValue]]:
    """The last record of each id, with its offset, read here and now from the log."""
    found: dict[str, tuple[int, TransactionValue]] = {}
    for batch in coordinator(cluster).partitions.replicas[TRANSACTIONS].log.read():
        for record in batch.records:
            assert isinstance(record.key, str)
            if isinstance(record.value, TransactionValue):
                found[record.key] = batch.base_offset, record.value
            else:
                found.pop(record.key, None)
    return found


def producer_states(cluster: Cluster) -> Iterator[ProducerStates]:
    """The producers of every replica of every broker."""
    for broker in cluster.brokers.values():
        for replica in broker.partitions.replicas.values():
            yield replica.producers


# -------------------------------------------------------------------- the transaction coordinator


def last_epoch(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for transaction in transactions(kept).values():
        transaction.last_producer_epoch = NONE


def neighbouring_ids(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    rules = kept.rules
    if rules.persist_prev_next == 1 and rules.transaction_version != TransactionVersion.TV0:
        return
    for transaction in transactions(kept).values():
        transaction.previous_producer_id = transaction.next_producer_id = NONE


def failed_fence(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    logged = logged_transactions(kept)
    for name, transaction in transactions(kept).items():
        if transaction.failed_epoch_fence and name in logged:
            transaction.failed_epoch_fence = False
            transaction.producer_epoch = logged[name][1].producer_epoch


def old_start(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    logged = logged_transactions(kept)
    for name, transaction in transactions(kept).items():
        if transaction.state == TransactionState.EMPTY and name in logged:
            transaction.start_ms = logged[name][1].start_ms


def pending_transition(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for transaction in transactions(kept).values():
        if transaction.state not in PREPARED:
            transaction.pending_state = NONE


def unwritten_id(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    known, logged = transactions(kept), logged_transactions(kept)
    for name in [name for name in known if name not in logged]:
        del known[name]


def failed_append(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    known, broker = transactions(kept), coordinator(kept)
    for name, (offset, value) in logged_transactions(kept).items():
        if offset not in torn:
            continue
        transaction = known.setdefault(name, Transaction(known=True))
        transaction.state, transaction.pending_state = value.state, NONE
        transaction.producer_id, transaction.producer_epoch = value.producer_id, value.producer_epoch
        transaction.previous_producer_id = value.previous_producer_id
        transaction.next_producer_id = value.next_producer_id
        transaction.last_producer_epoch = NONE
        transaction.partitions = broker.numbers.mask(value.partitions)
        transaction.timeout_ms, transaction.start_ms = value.timeout_ms, value.start_ms
        transaction.last_update_ms = value.last_update_ms
        transaction.client_transaction_version = value.client_transaction_version
        transaction.failed_epoch_fence = False
        if value.state in PREPARED:
            drive(transaction, CoordinatorEffects())
            broker.transactions.carry_out(broker.coordinator._completions.start(name))


def progress_of_markers(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for broker in kept.brokers.values():
        _forget_channel(broker)
    kept.network.in_flight = [message for message in kept.network.in_flight if not _is_of_marker(message)]
    broker, logged = coordinator(kept), logged_transactions(kept)
    for name, transaction in transactions(kept).items():
        if transaction.state in PREPARED:
            transaction.partitions = broker.numbers.mask(logged[name][1].partitions)
            drive(transaction, CoordinatorEffects())
            broker.transactions.carry_out(broker.coordinator._completions.start(name))


def _forget_channel(broker: Broker) -> None:
    completions = broker.coordinator._completions
    completions._again.clear()
    completions._decided_ms.clear()
    channel = completions.channel
    channel.pending.clear()
    channel.queues.clear()
    channel.unknown_leader.clear()
    channel.in_flight.clear()
    _forget_waits(broker, MarkersUnderWay)


def _forget_waits(broker: Broker, kind: type[Operation]) -> None:
    for ticket, operation in broker.desk.waits:
        if isinstance(operation, kind):
            broker.desk.waits.remove(ticket)


def _is_of_marker(message: Message) -> bool:
    return isinstance(message.body, WriteTxnMarkers | WriteTxnMarkersAnswer) and CLIENT not in (
        message.sender,
        message.receiver,
    )


# -------------------------------------------------------------------- partition leaders


def verifications(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for producers in producer_states(kept):
        for producer_id, remembered in list(producers._producers.items()):
            entry = remembered.entry
            if entry.guard == 0:
                continue
            event = PartitionEvent.EXPIRE_VERIFICATION if entry.known else PartitionEvent.EXPIRE_PRODUCER
            evolve_expiry(entry, event, PARTITION_LEADER.target(entry.state, event, "a verification"))
            remembered.verified_ms = NONE
            if not entry.known:
                del producers._producers[producer_id]


def older_batches(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for producers in producer_states(kept):
        for remembered in producers._producers.values():
            _keep_newest(remembered.entry)


def _keep_newest(entry: ProducerEntry) -> None:
    if entry.batch_count > 1:
        entry.batches[0] = entry.batches[entry.batch_count - 1]
        entry.batches[1:] = [CachedBatch() for _ in entry.batches[1:]]
        entry.batch_count = 1


def due_producers(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    now_ms, limit_ms = kept.clock.now_ms(), kept.settings.producer_id_expiration_ms
    for producers in producer_states(kept):
        for producer_id, remembered in list(producers._producers.items()):
            if should_expire(remembered.entry, remembered.last_timestamp_ms, now_ms, limit_ms):
                del producers._producers[producer_id]


def epochs(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for partition, known in recovered.metadata.partitions.items():
        kept.metadata.partitions[partition].leader_epoch = known.leader_epoch
    for broker in kept.brokers.values():
        for partition, replica in broker.partitions.replicas.items():
            replica.leader_epoch = kept.metadata.leader_epoch(partition)
    loaded = coordinator(kept).coordinator._store.partitions[TRANSACTIONS[1]]
    loaded.coordinator_epoch = kept.metadata.leader_epoch(TRANSACTIONS)
    _prepare_anew(coordinator(kept), loaded.coordinator_epoch)


def _prepare_anew(broker: Broker, coordinator_epoch: int) -> None:
    """What is under way into the transaction log was prepared under this epoch."""
    held = broker.transactions.held_appends
    _forget_waits(broker, HeldAppend)
    for append in held:
        again = HeldAppend(replace(append, coordinator_epoch=coordinator_epoch), sends_markers=True)
        broker.desk.waits.add(again, (), broker.desk.timeout())
    for waiting in broker.coordinator._store._in_flight.values():
        waiting.append = replace(waiting.append, coordinator_epoch=coordinator_epoch)
        waiting.pending.coordinator_epoch = coordinator_epoch


def high_watermark(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for broker in kept.brokers.values():
        for replica in broker.partitions.replicas.values():
            replica.high_watermark = None


def requests_in_progress(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    kept.network.in_flight = [message for message in kept.network.in_flight if _is_of_marker(message)]
    _drop_appends(coordinator(kept), logged_transactions(kept))
    for broker in kept.brokers.values():
        _forget_waits(broker, WriteUnderWay)
        _forget_waits(broker, QuestionsUnderWay)
        broker.writes.channel = VerificationChannel(broker.software.rules, kept.journal)
        broker.desk.requesters = {number: who for number, who in broker.desk.requesters.items() if who[0] != CLIENT}


def _drop_appends(broker: Broker, logged: dict[str, tuple[int, TransactionValue]]) -> None:
    """Nothing that was to be appended is; a fence that counted at once does not."""
    for append in broker.transactions.held_appends:
        transaction = broker.coordinator.entries(append.partition)[append.transactional_id]
        if transaction.state not in PREPARED:
            transaction.pending_state = NONE
        if append.transactional_id in logged:
            transaction.producer_epoch = logged[append.transactional_id][1].producer_epoch
    _forget_waits(broker, HeldAppend)
    broker.coordinator._store._in_flight.clear()


# -------------------------------------------------------------------- the group coordinator


def pending_members(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for group in group_store(kept).groups.values():
        if isinstance(group, ClassicGroup):
            for seat in group.seats:
                if seat.standing == Standing.PROMISED:
                    seat.standing = Standing.NOBODY
            group.clear()


def _name_members_alike(kept: Cluster, recovered: Cluster) -> None:
    """The next id of a member has a number of the coordinator's in it, which in Kafka is drawn by chance."""
    given = _group_coordinator(recovered).groups.member_ids.given
    _group_coordinator(kept).groups.member_ids.given = given


def _group_coordinator(cluster: Cluster) -> Broker:
    node = cluster.leader_of(OFFSETS)
    assert node is not None
    return cluster.brokers[node]


def unassigned_generation(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    store = group_store(kept)
    for name, group in list(store.groups.items()):
        if isinstance(group, ClassicGroup) and group.state in UNDER_WAY:
            values = [value for key, value in _group_records(store) if key == GroupKey(name)]
            logged = next(reversed(values), None)
            read = loaded_classic_group(name, logged or GroupValue(0, ()))
            for seat in group.seats:
                if seat.standing == Standing.PROMISED:
                    read.seat(replace(seat, number=NONE))
            store.groups[name] = read


def sessions(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for group in group_store(kept).groups.values():
        if isinstance(group, ClassicGroup):
            loaded(group.records, kept.clock.now_ms())
        else:
            for member in group.members.values():
                reconciling.loaded(member, kept.clock.now_ms(), kept.settings.group_consumer_session_timeout_ms)


def unwritten_group(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    store = group_store(kept)
    written = {key.group for key, _ in _group_records(store)}
    classic = [name for name, group in store.groups.items() if isinstance(group, ClassicGroup)]
    for name in [name for name in classic if name not in written]:
        del store.groups[name]


def _group_records(store: GroupStore) -> Iterator[tuple[GroupKey | OffsetKey, GroupValue | None]]:
    for batch in store.replica.log.read():
        for record in batch.records:
            if isinstance(record.key, GroupKey | OffsetKey):
                yield record.key, record.value if isinstance(record.value, GroupValue) else None


def taken_along(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    store = group_store(kept)
    if kept.rules.refused_commit_keeps_pending == 0:
        read = GroupStore(store.replica, kept.rules, Journal(), kept.metadata)
        read.load()
        store.offsets = read.offsets


def last_assignment(kept: Cluster, recovered: Cluster, torn: frozenset[int]) -> None:
    for group in group_store(kept).groups.values():
        if isinstance(group, ConsumerGroup):
            group.assigned_ms = group.patterns_read_ms = group.metadata_version = group.patterns_version = NONE
            group.counts = None


# -------------------------------------------------------------------- all of it

FORGET: Mapping[str, Forget] = {
    "requests in progress": requests_in_progress,
    "the epochs of leaders and coordinators": epochs,
    "the last producer epoch": last_epoch,
    "a fence whose abort could not be written": failed_fence,
    "the start of the transaction before the last InitProducerId, before 4.0": old_start,
    "a pending transition whose record cannot be written": pending_transition,
    "an id whose first record could not be written": unwritten_id,
    "that an append was reported as failed although the log has it": failed_append,
    "the previous and the next producer id, in value version 0 and before 4.3": neighbouring_ids,
    "verifications": verifications,
    "all batches of a producer except the newest": older_batches,
    "an expired producer that has not been removed yet": due_producers,
    "the high watermark": high_watermark,
    "member ids that were assigned but have not joined": pending_members,
    "a generation without an assignment yet, and an unfinished rebalance": unassigned_generation,
    "the last heartbeat of a member": sessions,
    "a group without any record": unwritten_group,
    "that a failed commit dropped pending offsets, before 4.0": taken_along,
    "the time of the last assignment of a consumer group": last_assignment,
    "which markers of a prepared transaction have been written": progress_of_markers,
}
"""How each entry of ``omissions.MEMORY_ONLY`` is forgotten, in the order in which all of them are."""

SURVIVES_ELSEWHERE = frozenset(
    {
        "all batches of a producer except the newest",
        "an expired producer that has not been removed yet",
    }
)
"""What another replica knows too: lost when a broker starts again, not when another one takes over."""


def _take_producer_ids_alike(kept: Cluster, recovered: Cluster) -> None:
    """Which block of producer ids a coordinator uses is the controller's affair; another one, or one that starts again,
    uses another.
    """
    mine, theirs = coordinator(kept).producer_ids, coordinator(recovered).producer_ids
    mine._blocks = replace(theirs._blocks)


def _order_alike(kept: dict[str, Transaction], recovered: dict[str, Transaction]) -> None:
    """In which order a sweep comes to the ids is chance in Kafka (a ConcurrentHashMap)."""
    for name in (*(name for name in recovered if name in kept), *(name for name in kept if name not in recovered)):
        kept[name] = kept.pop(name)


def forget(frozen: Frozen, recovered: Cluster, program: Program, facts: Iterable[str]) -> Cluster:
    """A copy that has forgotten `facts`, and has gone on until nothing was under way."""
    kept, names = frozen.thaw(), frozenset(facts)
    _name_members_alike(kept, recovered)
    _take_producer_ids_alike(kept, recovered)
    _order_alike(transactions(kept), transactions(recovered))
    for name, takes_out in FORGET.items():
        if name in names:
            takes_out(kept, recovered, frozenset(program.torn))
    release_appends(kept)
    kept.settle()
    return kept
