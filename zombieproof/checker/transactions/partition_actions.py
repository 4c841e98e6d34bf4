"""What a partition leader does: verify, append, end a transaction, and come back from its log.

A record that is appended counts as replicated, but where a scenario asks for more (``replicas``): so what a leader
answers survives every change of leader.
"""

from zombieproof.checker.transactions import (
    cleaning_actions,
    group_appends,
    group_deletion,
    marker_actions,
    network,
    replicas,
)
from zombieproof.checker.transactions.capacities import LOG, MESSAGES, OFFSETS
from zombieproof.checker.transactions.moves import note_answer
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.views import (
    GroupView,
    batch_of,
    batch_view,
    marker_of,
    marker_view,
    mode,
)
from zombieproof.checker.transactions.vocabulary import Kind, Overflow, Stage
from zombieproof.model.vocabulary import (
    NONE,
    Error,
    LogEntry,
    Origin,
)
from zombieproof.statemachines.group_coordinator import appends, commits, offsets
from zombieproof.statemachines.group_coordinator.effects import clear as clear_group
from zombieproof.statemachines.partition_leader import batches, forgetting, markers, verification
from zombieproof.statemachines.partition_leader.effects import clear

NO_ROWS = (NONE,)
"""The group of a state is of the classic protocol: no row is judged by itself."""

WAITS = -2
"""Not an error: the message went on to its next stage, and nobody is answered yet."""


def _arrival(setup: Setup, message: Message, token: int) -> verification.Arrival:
    of_group = message.kind == Kind.TXN_OFFSET_COMMIT
    return verification.Arrival(mode(setup), of_group, int(token))


def _begin(trail: Trail, p: int) -> None:
    """What follows is a step of the leader of partition `p`."""
    trail.subject = p
    clear(trail.leader)


def receive(state: State, setup: Setup, trail: Trail, message: Message) -> int:
    """A batch or offset commit reaches its leader: ask the coordinator first, or append. Returns the error or WAITS."""
    if len(state.outdated) > 0 and group_deletion.is_outdated(state, message):
        return commits.row_enters(True, False)
    entry = state.partitions[message.partition].entries[message.producer_id]
    arrival = _arrival(setup, message, network.token(state))
    _begin(trail, message.partition)
    verification.arrives(entry, batch_view(message, setup), arrival, setup.rules, trail.leader, trail)
    if trail.leader.asks:
        message.guard = trail.leader.guard
        message.stage = Stage.TO_COORDINATOR
        message.node = state.coordinator
        return WAITS
    return _go_on(state, setup, trail, message)


def handle_verification(state: State, setup: Setup, trail: Trail, message: Message, error: int) -> None:
    """The coordinator's answer to a verification sets out for the leader; its channel, if it has one, translates it."""
    message.stage = Stage.BACK_TO_LEADER
    message.error = error
    if setup.bounds.verification_queue == 0:
        message.error = verification.word_of_coordinator(error, mode(setup))
        message.node = 0
    note_answer(trail, message.error)


def conclude(state: State, setup: Setup, trail: Trail, message: Message) -> int:
    """The coordinator's answer reaches the leader: append under the guard, or refuse."""
    error, guard = int(message.error), int(message.guard)
    message.error = 0
    message.guard = 0
    message.stage = Stage.TO_LEADER
    _begin(trail, message.partition)
    verification.concludes(error, guard, _arrival(setup, message, 0), trail.leader)
    return _go_on(state, setup, trail, message)


def may_refuse(state: State, setup: Setup, message: Message) -> bool:
    """Whether a batch is where its leader counts replicas: behind the verification, where there is one."""
    if message.kind != Kind.PRODUCE or not message.live or message.answered:
        return False
    partition = state.partitions[message.partition]
    if not partition.leader:
        return False
    if message.stage == Stage.BACK_TO_LEADER:
        return bool(message.error == Error.NONE)
    is_open = partition.entries[message.producer_id].txn_first_offset != NONE
    plain = setup.bounds.transactional_id[message.client] < 0
    return message.stage == Stage.TO_LEADER and (is_open or plain or setup.rules.verification == 0)


def refuse(message: Message) -> int:
    """A batch is refused before the log sees it; what its verification left at the leader stays there."""
    message.error = 0
    message.guard = 0
    message.stage = Stage.TO_LEADER
    return int(Error.NOT_ENOUGH_REPLICAS)


def _go_on(state: State, setup: Setup, trail: Trail, message: Message) -> int:
    """To the log, if nobody has refused it."""
    if not trail.leader.goes_on:
        return int(trail.leader.error)
    return try_append(state, setup, trail, message, trail.leader.guard)


def try_append(state: State, setup: Setup, trail: Trail, message: Message, guard: int) -> int:
    """Let the leader look at the batch under its log's lock, and append it (reference §3.3, §4.1)."""
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        error = _judge_membership(state, setup, trail, message)
        if error != Error.NONE:
            return error
    partition = state.partitions[message.partition]
    entry = partition.entries[message.producer_id]
    batch = batch_view(message, setup)
    origin = Origin.COORDINATOR if message.kind == Kind.TXN_OFFSET_COMMIT else Origin.CLIENT
    _begin(trail, message.partition)
    batches.append(entry, batch, guard, origin, setup.rules, trail.leader, trail)
    if not trail.leader.appends:
        if trail.leader.error != Error.NONE and message.kind == Kind.TXN_OFFSET_COMMIT:
            return _refuse_offset(state, setup, trail, message.producer_id)
        return _answer(state, setup, message, int(trail.leader.error), int(trail.leader.duplicate_of))
    if trail.log_fails:
        return _fail_commit(state, setup, trail, message)
    if partition.end >= LOG:
        state.overflow = Overflow.LOG_END
        return int(Error.NOT_ENOUGH_REPLICAS)
    offset = int(partition.end)
    _write(state, message, batch.transactional, offset)
    batches.appended(entry, batch, offset, offset, trail.leader.event, setup.rules, trail)
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        _hold_offset(state, trail, message.producer_id, message.value, offset)
        if group_appends.waits(setup, message, offset):
            return WAITS
    return _answer(state, setup, message, int(Error.NONE), offset)


def _answer(state: State, setup: Setup, message: Message, error: int, offset: int) -> int:
    """What is said of a batch: nothing yet (WAITS) if it is in the log at `offset` alone."""
    if error == Error.NONE and replicas.waits(state, setup, message, offset):
        return WAITS
    return error


def _write(state: State, message: Message, transactional: bool, offset: int) -> None:
    record = state.partitions[message.partition].log[offset]
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        record.kind = LogEntry.OFFSET
    else:
        record.kind = LogEntry.DATA if transactional else LogEntry.PLAIN
    record.producer_id = message.producer_id
    record.producer_epoch = message.producer_epoch
    record.value = message.value
    record.label = message.label
    state.partitions[message.partition].end += 1


def _judge_membership(state: State, setup: Setup, trail: Trail, message: Message) -> int:
    alone = setup.bounds.no_members == 1
    group = GroupView(True, False, alone, NONE if alone else int(state.group.generation))
    given = setup.rules.kip447_fence == 1 and not alone
    sender = commits.Sender(3, int(message.detail) if given else NONE, int(message.client) if given else NONE, NONE)
    standing = commits.Standing(state.group.owner == message.client)
    clear_group(trail.group)
    commits.judged(group, sender, standing, NO_ROWS, setup.rules, trail.group, trail)
    return int(trail.group.error)


def _hold_offset(state: State, trail: Trail, producer_id: int, value: int, record_offset: int) -> None:
    trail.subject = producer_id
    offsets.waits(state.group.pending[producer_id], value, record_offset, trail)


def _refuse_offset(state: State, setup: Setup, trail: Trail, producer_id: int) -> int:
    """The answer to a commit that the log has refused, and what becomes of the offset that waits in its place."""
    trail.subject = producer_id
    offsets.is_refused(state.group.pending[producer_id], setup.rules, trail)
    commits.log_answers(trail.leader.error, setup.rules, trail.group)
    return int(trail.group.error)


def _fail_commit(state: State, setup: Setup, trail: Trail, message: Message) -> int:
    """The log of the group's partition fails to take a commit."""
    if appends.keeps_what_failed(setup.rules):
        _hold_offset(state, trail, message.producer_id, message.value, int(state.partitions[OFFSETS].end))
    state.budget.failed_commits -= 1
    trail.leader.error = Error.NOT_ENOUGH_REPLICAS
    return _refuse_offset(state, setup, trail, message.producer_id)


def receive_marker(state: State, setup: Setup, trail: Trail, message: Message, lost: bool) -> bool:
    """A marker reaches its leader, and the answer its sender. With `lost` the answer does not arrive.

    Returns whether anything happened at all: a marker for a partition without a leader stays where it is, unless the
    rules in force take the partition for deleted (KAFKA-20734).
    """
    p = message.partition
    if not state.partitions[p].leader:
        if lost or not message.live or marker_actions.waits_for_leader(setup, trail):
            return False
        marker_actions.acknowledge(state, setup, trail, message, Error.NONE)
        return True
    entry = state.partitions[p].entries[message.producer_id]
    marker = marker_view(message)
    _begin(trail, p)
    markers.arrives(entry, marker, Origin.COORDINATOR, setup.rules, trail.leader, trail)
    error = int(trail.leader.error)
    if trail.leader.appends:
        if state.partitions[p].end >= LOG:
            state.overflow = Overflow.LOG_END
            return True
        offset = _write_marker(state, message)
        markers.appended(entry, marker, offset, trail.leader.event, setup.rules, trail.leader, trail)
        if p == OFFSETS:
            _end_offsets(state, trail, message.producer_id, marker.committed)
            group_appends.replicate(state, setup)
        if not lost and replicas.waits(state, setup, message, offset):
            return True
    if not lost:
        marker_actions.acknowledge(state, setup, trail, message, error)
    return True


def _write_marker(state: State, message: Message) -> int:
    partition = state.partitions[message.partition]
    record = partition.log[partition.end]
    record.kind = LogEntry.COMMIT if message.detail == 1 else LogEntry.ABORT
    record.producer_id = message.producer_id
    record.producer_epoch = message.producer_epoch
    record.value = message.value
    record.label = 0
    partition.end += 1
    return int(partition.end - 1)


def _end_offsets(state: State, trail: Trail, producer_id: int, committed: bool) -> None:
    trail.subject = producer_id
    offsets.ends(state.group.committed, state.group.pending[producer_id], committed, trail)


def lose_leader(state: State, p: int) -> None:
    """The leader of a partition is gone. What it kept in memory only is lost: verifications and their guards."""
    state.partitions[p].leader = False
    for i in range(MESSAGES):
        message = state.messages[i]
        if (
            message.partition == p
            and message.stage not in (Stage.TO_LEADER, Stage.ABANDONED)
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
            if not message.live:
                network.empty(message)


def elect_leader(state: State, setup: Setup, trail: Trail, p: int) -> None:
    """A new leader: producer state, pending and committed offsets are the fold of the partition's log (§3.7)."""
    partition = state.partitions[p]
    partition.leader = True
    for pid in range(len(state.group.pending)):
        forgetting.lose_memory(partition.entries[pid])
        if p == OFFSETS:
            offsets.lose_memory(state.group.pending[pid])
    if p == OFFSETS:
        state.group.committed.offset = 0
        state.group.committed.record_offset = NONE
    if forgetting.reads_its_log(setup.rules):
        if len(state.remains) > 0:
            _read_what_is_left(state, setup, trail, p)
        else:
            for offset in range(partition.end):
                _apply(state, setup, trail, p, offset)
    if p == OFFSETS:
        group_appends.replicate(state, setup)
    marker_actions.drive_waiting_markers(state, setup, trail)


def _read_what_is_left(state: State, setup: Setup, trail: Trail, p: int) -> None:
    """Of producers a leader that begins has a snapshot, and reads on behind it; the group's offsets it reads all."""
    known_up_to = cleaning_actions.recall(state, setup, p)
    for offset in range(replicas.start_of(state, p), state.partitions[p].end):
        if cleaning_actions.is_gone(state, p, offset):
            continue
        is_empty = cleaning_actions.is_empty(state, p, offset)
        if offset >= known_up_to:
            _apply_to_producer(state, setup, trail, p, offset, is_empty)
        if p == OFFSETS and not is_empty:
            _apply_to_group(state, setup, trail, offset)


def _apply(state: State, setup: Setup, trail: Trail, p: int, offset: int) -> None:
    _apply_to_producer(state, setup, trail, p, offset, False)
    if p == OFFSETS:
        _apply_to_group(state, setup, trail, offset)


def _apply_to_producer(state: State, setup: Setup, trail: Trail, p: int, offset: int, is_empty: bool) -> None:
    record = state.partitions[p].log[offset]
    if record.kind in (LogEntry.PLAIN_OFFSET, LogEntry.TOMBSTONE):
        return
    entry = state.partitions[p].entries[record.producer_id]
    _begin(trail, p)
    if record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
        if not is_empty:
            markers.in_log(entry, marker_of(record), offset, setup.rules, trail.leader, trail)
        return
    batches.in_log(entry, batch_of(record), offset, offset, setup.rules, trail.leader, trail)


def _apply_to_group(state: State, setup: Setup, trail: Trail, offset: int) -> None:
    record = state.partitions[OFFSETS].log[offset]
    if record.kind == LogEntry.TOMBSTONE:
        group_deletion.remove_offsets(state, trail, offsets.tombstone_reaches_what_waits(True, setup.rules))
    elif record.kind == LogEntry.PLAIN_OFFSET:
        offsets.is_committed(state.group.committed, int(record.value), offset)
    elif record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
        _end_offsets(state, trail, record.producer_id, record.kind == LogEntry.COMMIT)
    else:
        _hold_offset(state, trail, record.producer_id, record.value, offset)
