"""One step of the transaction model: a client acts, a reader reads, a message is handled, a fault happens.

``action_kinds`` numbers the actions. An action that is disabled leaves the state untouched.
"""

from zombieproof.checker.transactions import (
    appends_under_way,
    asked_again,
    cleaning_actions,
    client_actions,
    client_answers,
    client_batches,
    coordinator_actions,
    faults,
    group_appends,
    group_deletion,
    id_blocks,
    network,
    operators,
    partition_actions,
    plain_commits,
    questions_under_way,
    reader_actions,
    replicas,
    replication,
    replies,
)
from zombieproof.checker.transactions.action_kinds import (
    ACTIONS,
    AT_APPENDS,
    KINDS_BETWEEN_BROKERS,
    KINDS_ON_REPLICAS,
    Action,
    partition_of,
    producer_of,
)
from zombieproof.checker.transactions.capacities import LOG, MESSAGES, OFFSETS
from zombieproof.checker.transactions.causes import has_cause
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.fields import is_same
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.group_coordinator import commits


def step(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    """Take an action: False if it is disabled (the state is untouched), True if the state is now its successor."""
    kind, i = ACTIONS[action][0], ACTIONS[action][1]
    if not has_cause(state, kind, setup) or not _take(state, kind, i, setup, trail):
        return False
    if trail.illegal != 0:
        state.ghost.illegal = trail.illegal
    if trail.contradicts:
        state.ghost.insane = True
    return True


def _take(state: State, kind: int, i: int, setup: Setup, trail: Trail) -> bool:
    if kind in (Action.STEP, Action.ABORT_INSTEAD):
        return _act(state, setup, trail, i, kind == Action.ABORT_INSTEAD)
    if len(state.appends) > 0 and kind in KINDS_BETWEEN_BROKERS:
        return _between_brokers(state, setup, trail, kind, i)
    if Action.DELIVER <= kind <= Action.UNKNOWN_APPEND or kind == Action.REFUSE:
        return _handle_message(state, setup, trail, kind, i)
    if kind in (Action.READ_ONE, Action.READ_ALL):
        return reader_actions.fetch(state, setup, trail, i, kind == Action.READ_ALL)
    if len(state.replicas) > 0 and kind in KINDS_ON_REPLICAS:
        return _on_replicas(state, setup, trail, kind, i)
    if kind == Action.CRASH:
        return client_actions.crash(state, i)
    if kind >= Action.COMMIT_PLAINLY:
        return _outside(state, setup, trail, kind, i)
    return faults.inject(state, setup, trail, kind, i)


def _act(state: State, setup: Setup, trail: Trail, c: int, abort_instead: bool) -> bool:
    """An application goes on with its program, or calls again what has timed out."""
    if setup.budget.ends_timed_out > 0 and asked_again.may_call(state.clients[c]):
        return asked_again.call_again(state, setup, trail, c, abort_instead)
    return client_actions.step(state, setup, trail, c, abort_instead)


def _on_replicas(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    """What is replicated, fetches that are read in steps, and what becomes of logs in time."""
    if kind in (Action.REPLICATE, Action.TRUNCATE):
        return replication.act(state, setup, trail, kind, i)
    if kind == Action.BEGIN_FETCH:
        return reader_actions.begin_fetch(state, setup, i)
    if kind == Action.CLEAN:
        return cleaning_actions.clean(state, setup, i // LOG, i % LOG + 1)
    if kind == Action.CLOSE_SEGMENT:
        return cleaning_actions.close_segment(state, setup, i)
    if kind == Action.FORGET_PARTITION:
        return client_batches.forget_partition(state, setup, trail, i // OFFSETS, i % OFFSETS)
    return cleaning_actions.drop_segments(state, setup, i)


def _outside(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    """What comes from outside of the protocol."""
    if kind == Action.COMMIT_PLAINLY:
        return plain_commits.commit(state, setup, trail, i)
    if kind == Action.ABORT_BY_HAND:
        return operators.abort_by_hand(state, setup, partition_of(i), producer_of(i))
    return operators.mislead(state, setup, i)


def _handle_message(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    message = state.messages[i]
    if message.kind == Kind.EMPTY or _repeats(state, i):
        return False
    if len(state.replicas) > 0 and replicas.is_waiting(message):
        return replication.act_on_waiting(state, setup, trail, kind, i)
    if message.stage in (Stage.APPENDING, Stage.WAITING) and kind != Action.GIVE_UP:
        return False
    if kind == Action.DELIVER:
        return _deliver(state, setup, trail, i, False, False)
    if kind == Action.LOSE_ANSWER:
        return _lose_answer(state, setup, trail, i)
    if kind == Action.DOUBLE:
        return _double(state, message)
    if kind == Action.REFUSE:
        return partition_actions.may_refuse(state, setup, message) and _refuse(state, setup, trail, i)
    if kind == Action.GIVE_UP:
        return client_answers.give_up(state, setup, trail, i)
    return _append_unknown(state, setup, trail, i)


def _repeats(state: State, i: int) -> bool:
    """Whether the message before is the same: what happens to one of two equal messages needs no second look."""
    return i > 0 and is_same(state.messages[i - 1], state.messages[i])


def _deliver(state: State, setup: Setup, trail: Trail, i: int, lost: bool, unknown: bool) -> bool:
    message = state.messages[i]
    if message.kind == Kind.MARKER:
        return partition_actions.receive_marker(state, setup, trail, message, lost)
    if message.answered:
        if _is_behind_another(state, message):
            return False
        client_answers.handle(state, setup, trail, i, message.error)
        return True
    if network.speaks_to_coordinator(message.kind):
        error = coordinator_actions.answer(state, setup, trail, i, unknown)
        if error != partition_actions.WAITS:
            replies.reply(state, setup, trail, i, error, lost)
        elif lost:
            message.stage = Stage.TO_LEADER
            replies.restore_request(state, message)
        return True
    if message.stage in (Stage.TO_COORDINATOR, Stage.ABANDONED):
        return not lost and _question_arrives(state, setup, trail, i, unknown)
    if not state.partitions[message.partition].leader or _is_behind_another(state, message):
        return False
    return _at_leader(state, setup, trail, i, lost)


def _question_arrives(state: State, setup: Setup, trail: Trail, i: int, unknown: bool) -> bool:
    """A leader's question reaches the coordinator; its answer sets out, if anybody still waits for it."""
    message = state.messages[i]
    is_abandoned = message.stage == Stage.ABANDONED
    error = coordinator_actions.answer(state, setup, trail, i, unknown)
    if is_abandoned:
        network.empty(message)
    elif error != partition_actions.WAITS:
        partition_actions.handle_verification(state, setup, trail, message, error)
    return True


def _at_leader(state: State, setup: Setup, trail: Trail, i: int, lost: bool) -> bool:
    """A batch or offset commit reaches its leader, or the coordinator's word on it does."""
    message, queue = state.messages[i], setup.bounds.verification_queue == 1
    if message.stage == Stage.BACK_TO_LEADER:
        if len(state.lanes) > 0 and queue:
            return questions_under_way.arrive(state, setup, trail, i, lost)
        error = partition_actions.conclude(state, setup, trail, message)
    else:
        error = partition_actions.receive(state, setup, trail, message)
    if error != partition_actions.WAITS:
        replies.reply(state, setup, trail, i, error, lost)
    elif (len(state.replicas) > 0 or len(state.replicated) > 0) and replicas.is_waiting(message):
        if lost:
            replication.forget_answer(state, message)
    elif len(state.lanes) > 0 and queue:
        questions_under_way.ask(state, setup, trail, i, lost)
    return True


def _between_brokers(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    """Appends, questions of leaders, blocks of producer ids: where a scenario asks for it they are under way."""
    if kind == Action.DELETE_GROUP:
        return group_deletion.delete_group(state, setup, trail)
    if kind == Action.RECREATE_INPUT:
        return group_deletion.recreate_input(state, setup, trail)
    if kind >= Action.REPLICATE_OFFSETS:
        return _at_offsets(state, setup, trail, kind, i)
    if kind in AT_APPENDS:
        return _handle_append(state, setup, trail, kind, i)
    if kind == Action.DISCONNECT:
        return questions_under_way.disconnect(state, setup, trail, i)
    if kind == Action.RECORD_BLOCK:
        return id_blocks.record(state)
    if kind == Action.CHANGE_CONTROLLER:
        return id_blocks.change_controller(state)
    if kind == Action.GIVE_BLOCK:
        return id_blocks.arrive(state, setup, i)
    if kind == Action.DOUBLE_BLOCK:
        return id_blocks.double(state, i)
    if kind == Action.GIVE_LATE_BLOCK:
        return id_blocks.arrive_late(state, setup, i)
    return id_blocks.allocate(state, setup, i, kind == Action.LOSE_BLOCK)


def _at_offsets(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    """The log of the group's partition: replicas have it, a commit is answered, or fails; what they lack is lost."""
    if kind == Action.REPLICATE_OFFSETS:
        return group_appends.replicate(state, setup)
    if kind == Action.CUT_OFFSETS:
        return faults.cut_offsets(state, setup, trail)
    message = state.messages[i]
    if _repeats(state, i):
        return False
    if kind == Action.FAIL_COMMIT:
        if not group_appends.may_fail(state, setup, message):
            return False
        trail.log_fails = True
        return _at_leader(state, setup, trail, i, False)
    if kind == Action.ANSWER_COMMIT:
        if not group_appends.may_be_answered(state, message):
            return False
        error = int(Error.NONE)
    else:
        if not group_appends.is_waiting(message) or not message.live:
            return False
        state.budget.failed_commits -= 1
        error = commits.answer_of_log(Error.REQUEST_TIMED_OUT)
    group_appends.leave(message)
    replies.reply(state, setup, trail, i, error, False)
    return True


def _handle_append(state: State, setup: Setup, trail: Trail, kind: int, number: int) -> bool:
    """An append is made, or its outcome told; who waits for that is answered."""
    if kind == Action.TELL_APPEND:
        if not appends_under_way.tell(state, setup, trail, number):
            return False
    elif not appends_under_way.make(state, setup, trail, number, kind):
        return False
    if trail.asker == 0:
        return True
    i, error = trail.asker - 1, int(trail.error)
    message = state.messages[i]
    if network.speaks_to_coordinator(message.kind):
        replies.reply(state, setup, trail, i, error, False)
    else:
        partition_actions.handle_verification(state, setup, trail, message, error)
    return True


def _is_behind_another(state: State, message: Message) -> bool:
    """Batches that one client has under way to one leader share a connection: neither they nor their answers overtake.

    A batch that is timed out with its connection takes those behind it along, so only the first can be doubled.
    """
    if not message.live or message.kind != Kind.PRODUCE:
        return False
    for i in range(MESSAGES):
        other = state.messages[i]
        ahead = other.kind == Kind.PRODUCE and other.live and other.client == message.client
        first = other.detail < message.detail or (other.detail == message.detail and other.value < message.value)
        earlier = other.partition == message.partition and first
        if ahead and earlier and (message.answered or not other.answered):
            return True
    return False


def _refuse(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    """A leader has too few replicas in sync for a batch, and for those behind it enough again."""
    message = state.messages[i]
    if _is_behind_another(state, message) or not client_batches.is_followed(state, message):
        return False
    state.budget.refused -= 1
    replies.reply(state, setup, trail, i, partition_actions.refuse(message), False)
    return True


def _lose_answer(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    message = state.messages[i]
    if not message.live:
        return False
    if message.answered:
        replies.restore_request(state, message)
    elif (setup.bounds.answers_travel == 1 and message.kind != Kind.MARKER) or not _deliver(
        state, setup, trail, i, True, False
    ):
        return False
    state.budget.lost -= 1
    return True


def _double(state: State, message: Message) -> bool:
    """A request or marker times out and is sent again: a late copy stays in flight."""
    if not message.live or message.answered or message.guard != 0 or _is_behind_another(state, message):
        return False
    budget = state.budget
    if message.kind == Kind.MARKER:
        if budget.doubled_markers == 0:
            return False
        budget.doubled_markers -= 1
    elif network.speaks_to_coordinator(message.kind):
        if budget.doubled == 0:
            return False
        budget.doubled -= 1
    else:
        if budget.doubled_batches == 0:
            return False
        budget.doubled_batches -= 1
    copy = state.messages[network.free_slot(state)]
    network.copy(message, copy)
    copy.live = False
    if copy.kind == Kind.PRODUCE:
        copy.detail = 0
    return True


def _append_unknown(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    """The coordinator's append becomes durable but is reported as failed."""
    message = state.messages[i]
    to_coordinator = network.speaks_to_coordinator(message.kind) or message.stage == Stage.TO_COORDINATOR
    if not to_coordinator or message.answered or not message.live:
        return False
    if message.kind == Kind.MARKER or message.node != state.coordinator:
        return False
    state.budget.unknown_appends -= 1
    return _deliver(state, setup, trail, i, False, True)
