"""What a partition leader does: verify, append, end a transaction, and come back from its log.

A record that is appended counts as replicated (``omissions``): what a leader answers survives every change of leader.
"""

from zombieproof.checker.transactions import marker_actions, network
from zombieproof.checker.transactions.moves import move, note_answer
from zombieproof.checker.transactions.views import (
    CommitView,
    GroupView,
    batch_of,
    batch_view,
    is_tv2,
    marker_of,
    marker_view,
)
from zombieproof.checker.transactions.world import (
    CACHED,
    LOG,
    MESSAGES,
    OFFSETS,
    PRODUCER_IDS,
    CheckedEntry,
    Kind,
    Message,
    Overflow,
    Setup,
    Stage,
    Trail,
    World,
)
from zombieproof.model.decisions.produce import decide_append, evolve_append
from zombieproof.model.decisions.txn_offset_commit import (
    decide_refused_append,
    decide_txn_offset_commit,
    evolve_offsets_marker,
    evolve_pending,
    evolve_taken_back,
)
from zombieproof.model.decisions.verification import (
    answer_of_coordinator,
    answer_to_produce,
    answer_to_txn_offset_commit,
    decide_verification,
    evolve_verification,
)
from zombieproof.model.decisions.write_txn_markers import decide_marker, evolve_marker
from zombieproof.model.vocabulary import (
    NONE,
    Error,
    GroupEvent,
    LogEntry,
    Mode,
    Origin,
    PartitionEvent,
    PartitionState,
    PendingOffsetsState,
)
from zombieproof.statemachines.notes import Decision, MachineIndex, note

WAITS = -2
"""Not an error: the message went on to its next stage, and nobody is answered yet."""


def mode(setup: Setup) -> int:
    """How partitions join a transaction under the rules in force (reference §3.4)."""
    if is_tv2(setup):
        return int(Mode.ADD)
    return int(Mode.GENERIC) if setup.rules.abortable_code == 1 else int(Mode.DEFAULT)


def receive(world: World, setup: Setup, trail: Trail, message: Message) -> int:
    """A batch or offset commit reaches its leader: ask the coordinator first, or append. Returns the error or WAITS."""
    partition = world.partitions[message.partition]
    entry = partition.entries[message.producer_id]
    batch = batch_view(message, setup)
    asked = decide_verification(entry, batch, mode(setup), setup.rules)
    note(trail, Decision.VERIFICATION, asked.guard, asked.error)
    if asked.error != Error.NONE:
        return _translated(message, asked.error, setup)
    if asked.event == PartitionEvent.VERIFY:
        state = move(trail, MachineIndex.PARTITION_LEADER, message.partition, entry.state, asked.event)
        message.guard = evolve_verification(entry, batch, mode(setup), network.token(world), state)
        message.stage = Stage.TO_COORDINATOR
        message.node = world.coordinator
        return WAITS
    return try_append(world, setup, trail, message, 0)


def hear_coordinator(world: World, setup: Setup, trail: Trail, message: Message, error: int) -> None:
    """The coordinator's answer to a verification sets out for the leader."""
    message.error = answer_of_coordinator(error, mode(setup))
    note_answer(trail, message.error)
    message.stage = Stage.BACK_TO_LEADER
    message.node = 0


def conclude(world: World, setup: Setup, trail: Trail, message: Message) -> int:
    """The coordinator's answer reaches the leader: append under the guard, or refuse."""
    error, guard = int(message.error), int(message.guard)
    message.error = 0
    message.guard = 0
    message.stage = Stage.TO_LEADER
    if error != Error.NONE:
        return _translated(message, error, setup)
    return try_append(world, setup, trail, message, guard)


def _translated(message: Message, error: int, setup: Setup) -> int:
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        return answer_to_txn_offset_commit(error)
    return answer_to_produce(error, mode(setup))


def try_append(world: World, setup: Setup, trail: Trail, message: Message, guard: int) -> int:
    """Judge the batch under the log's lock and append it (reference §3.3, §4.1)."""
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        error = _judge_membership(world, setup, trail, message)
        if error != Error.NONE:
            return error
    partition = world.partitions[message.partition]
    entry = partition.entries[message.producer_id]
    batch = batch_view(message, setup)
    origin = Origin.COORDINATOR if message.kind == Kind.TXN_OFFSET_COMMIT else Origin.CLIENT
    verdict = decide_append(entry, batch, guard, origin, setup.rules)
    note(trail, Decision.PRODUCE, verdict.guard, verdict.error)
    if verdict.error != Error.NONE or verdict.event == PartitionEvent.NOTHING:
        if verdict.error != Error.NONE and message.kind == Kind.TXN_OFFSET_COMMIT:
            _refuse_offset(world, setup, trail, message.producer_id)
        return int(verdict.error)
    if partition.end >= LOG:
        world.overflow = Overflow.LOG_END
        return int(Error.NOT_ENOUGH_REPLICAS)
    offset = int(partition.end)
    _write(world, message, batch.transactional, offset)
    state = move(trail, MachineIndex.PARTITION_LEADER, message.partition, entry.state, verdict.event)
    evolve_append(entry, batch, offset, offset, state, setup.rules)
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        _hold_offset(world, trail, message.producer_id, message.value, offset)
    return int(Error.NONE)


def _write(world: World, message: Message, transactional: int, offset: int) -> None:
    record = world.partitions[message.partition].log[offset]
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        record.kind = LogEntry.OFFSET
    else:
        record.kind = LogEntry.DATA if transactional == 1 else LogEntry.PLAIN
    record.producer_id = message.producer_id
    record.producer_epoch = message.producer_epoch
    record.value = message.value
    record.label = message.label
    world.partitions[message.partition].end += 1


def _judge_membership(world: World, setup: Setup, trail: Trail, message: Message) -> int:
    group = GroupView(1, 0, 0, int(world.group.generation))
    given = setup.rules.kip447_fence == 1
    request = CommitView(3, int(message.detail) if given else NONE, int(message.client) if given else NONE, NONE)
    known = 1 if world.group.owner == message.client else 0
    verdict = decide_txn_offset_commit(group, request, known, 0, 0, setup.rules)
    note(trail, Decision.TXN_OFFSET_COMMIT, verdict.guard, verdict.error)
    return int(verdict.error)


def _hold_offset(world: World, trail: Trail, producer_id: int, value: int, record_offset: int) -> None:
    pending = world.group.pending[producer_id]
    event = GroupEvent.TXN_OFFSET_COMMIT
    state = move(trail, MachineIndex.GROUP_COORDINATOR, producer_id, pending.state, event)
    evolve_pending(pending, value, record_offset, state)


def _refuse_offset(world: World, setup: Setup, trail: Trail, producer_id: int) -> None:
    pending = world.group.pending[producer_id]
    event = decide_refused_append(pending, setup.rules)
    if event != GroupEvent.NOTHING:
        evolve_taken_back(pending, move(trail, MachineIndex.GROUP_COORDINATOR, producer_id, pending.state, event))


def receive_marker(world: World, setup: Setup, trail: Trail, message: Message, lost: int) -> bool:
    """A marker reaches its leader, and the answer its sender. With `lost` 1 the answer does not arrive.

    Returns whether anything happened at all: a marker for a partition without a leader stays where it is, unless the
    rules in force take the partition for deleted (KAFKA-20734).
    """
    p = message.partition
    if world.partitions[p].leader == 0:
        if lost == 1 or message.live == 0 or marker_actions.waits_for_leader(setup, trail):
            return False
        marker_actions.acknowledge(world, setup, trail, message, Error.NONE)
        return True
    entry = world.partitions[p].entries[message.producer_id]
    marker = marker_view(message)
    verdict = decide_marker(entry, marker, Origin.COORDINATOR, setup.rules)
    note(trail, Decision.MARKER, verdict.guard, verdict.error)
    error = int(verdict.error)
    if error == Error.NONE:
        if world.partitions[p].end >= LOG:
            world.overflow = Overflow.LOG_END
            return True
        _write_marker(world, message)
        state = move(trail, MachineIndex.PARTITION_LEADER, p, entry.state, verdict.event)
        evolve_marker(entry, marker, verdict.event, state)
        if p == OFFSETS:
            _end_offsets(world, trail, message.producer_id, marker.committed)
    if lost == 0:
        marker_actions.acknowledge(world, setup, trail, message, error)
    return True


def _write_marker(world: World, message: Message) -> None:
    partition = world.partitions[message.partition]
    record = partition.log[partition.end]
    record.kind = LogEntry.COMMIT if message.detail == 1 else LogEntry.ABORT
    record.producer_id = message.producer_id
    record.producer_epoch = message.producer_epoch
    record.value = message.value
    record.label = 0
    partition.end += 1


def _end_offsets(world: World, trail: Trail, producer_id: int, committed: int) -> None:
    pending = world.group.pending[producer_id]
    event = GroupEvent.COMMIT_MARKER if committed == 1 else GroupEvent.ABORT_MARKER
    state = move(trail, MachineIndex.GROUP_COORDINATOR, producer_id, pending.state, event)
    evolve_offsets_marker(world.group.committed, pending, committed, state)


def lose_leader(world: World, p: int) -> None:
    """The leader of a partition is gone. What it kept in memory only is lost: verifications and their guards."""
    world.partitions[p].leader = 0
    for i in range(MESSAGES):
        message = world.messages[i]
        if (
            message.partition == p
            and message.stage != Stage.TO_LEADER
            and message.kind
            in (
                Kind.PRODUCE,
                Kind.TXN_OFFSET_COMMIT,
            )
        ):
            message.stage = Stage.TO_LEADER
            message.node = 0
            message.error = 0
            message.guard = 0
            if message.live == 0:
                network.empty(message)


def elect_leader(world: World, setup: Setup, trail: Trail, p: int) -> None:
    """A new leader: producer state, pending and committed offsets are the fold of the partition's log (§3.7)."""
    partition = world.partitions[p]
    partition.leader = 1
    for pid in range(PRODUCER_IDS):
        clear(partition.entries[pid])
        if p == OFFSETS:
            world.group.pending[pid].state = PendingOffsetsState.NO_PENDING_OFFSETS
            world.group.pending[pid].offset = NONE
            world.group.pending[pid].record_offset = NONE
    if p == OFFSETS:
        world.group.committed.offset = 0
        world.group.committed.record_offset = NONE
    if setup.rules.leader_reads_log == 1:
        for offset in range(partition.end):
            _apply(world, setup, trail, p, offset)
    marker_actions.drive_waiting_markers(world, setup, trail)


def _apply(world: World, setup: Setup, trail: Trail, p: int, offset: int) -> None:
    record = world.partitions[p].log[offset]
    entry = world.partitions[p].entries[record.producer_id]
    if record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
        marker = marker_of(record)
        verdict = decide_marker(entry, marker, Origin.REPLICATION, setup.rules)
        state = move(trail, MachineIndex.PARTITION_LEADER, p, entry.state, verdict.event)
        evolve_marker(entry, marker, verdict.event, state)
        if p == OFFSETS:
            _end_offsets(world, trail, record.producer_id, marker.committed)
        return
    batch = batch_of(record)
    event = PartitionEvent.APPEND
    if batch.transactional == 1:
        event = PartitionEvent.BEGIN if entry.txn_first_offset == NONE else PartitionEvent.CONTINUE
    state = move(trail, MachineIndex.PARTITION_LEADER, p, entry.state, event)
    evolve_append(entry, batch, offset, offset, state, setup.rules)
    if record.kind == LogEntry.OFFSET:
        _hold_offset(world, trail, record.producer_id, record.value, offset)


def clear(entry: CheckedEntry) -> None:
    """Back to "not known"."""
    entry.known = 0
    entry.state = PartitionState.NO_ENTRY
    entry.producer_epoch = NONE
    entry.coordinator_epoch = NONE
    entry.txn_first_offset = NONE
    entry.guard = 0
    entry.guard_epoch = NONE
    entry.lowest_sequence = NONE
    entry.supports_epoch_bump = 0
    entry.batch_count = 0
    for i in range(CACHED):
        entry.batches[i].last_sequence = NONE
        entry.batches[i].offset_delta = 0
        entry.batches[i].last_offset = NONE
