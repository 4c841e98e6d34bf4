"""One step of the transaction model: a client acts, a reader reads, a message is handled, a fault strikes.

``acts`` numbers the actions. An action that is disabled leaves the world untouched.
"""

from zombieproof.checker.transactions import (
    appends_under_way,
    client_actions,
    client_answers,
    coordinator_actions,
    faults,
    id_blocks,
    network,
    partition_actions,
    questions_under_way,
    reader_actions,
    replies,
)
from zombieproof.checker.transactions.acts import ACTIONS, AT_APPENDS, BETWEEN_BROKERS, Act
from zombieproof.checker.transactions.world import MESSAGES, Kind, Message, Setup, Stage, Trail, World


def step(world: World, action: int, setup: Setup, trail: Trail) -> bool:
    """Take an action: False if it is disabled (the world is untouched), True if the world is now its successor."""
    if not _take(world, ACTIONS[action][0], ACTIONS[action][1], setup, trail):
        return False
    if trail.illegal != 0:
        world.ghost.illegal = trail.illegal
    if trail.contradicts != 0:
        world.ghost.insane = 1
    return True


def _take(world: World, act: int, i: int, setup: Setup, trail: Trail) -> bool:
    if act == Act.STEP:
        return client_actions.step(world, setup, trail, i, 0)
    if act == Act.ABORT_INSTEAD:
        return client_actions.step(world, setup, trail, i, 1)
    if act in BETWEEN_BROKERS:
        return _between_brokers(world, setup, trail, act, i)
    if Act.DELIVER <= act <= Act.UNKNOWN_APPEND:
        return _handle_message(world, setup, trail, act, i)
    if act in (Act.READ_ONE, Act.READ_ALL):
        return reader_actions.fetch(world, setup, trail, i, 1 if act == Act.READ_ALL else 0)
    if act == Act.CRASH:
        return client_actions.crash(world, i)
    return faults.strike(world, setup, trail, act, i)


def _handle_message(world: World, setup: Setup, trail: Trail, act: int, i: int) -> bool:
    message = world.messages[i]
    if message.kind == Kind.EMPTY or _repeats(world, i):
        return False
    if message.stage in (Stage.APPENDING, Stage.WAITING) and act != Act.GIVE_UP:
        return False
    if act == Act.DELIVER:
        return _deliver(world, setup, trail, i, 0, 0)
    if act == Act.LOSE_ANSWER:
        return _lose_answer(world, setup, trail, i)
    if act == Act.DOUBLE:
        return _double(world, message)
    if act == Act.GIVE_UP:
        return client_answers.give_up(world, setup, trail, i)
    return _append_unknown(world, setup, trail, i)


def _repeats(world: World, i: int) -> bool:
    """Whether the message before is the same: what happens to one of two equal messages needs no second look."""
    if i == 0:
        return False
    a, b = world.messages[i - 1], world.messages[i]
    return (
        a.kind == b.kind
        and a.live == b.live
        and a.answered == b.answered
        and a.client == b.client
        and a.node == b.node
        and a.stage == b.stage
        and a.producer_id == b.producer_id
        and a.producer_epoch == b.producer_epoch
        and a.partition == b.partition
        and a.value == b.value
        and a.detail == b.detail
        and a.error == b.error
        and a.label == b.label
        and a.guard == b.guard
    )


def _deliver(world: World, setup: Setup, trail: Trail, i: int, lost: int, unknown: int) -> bool:
    message = world.messages[i]
    if message.kind == Kind.MARKER:
        return partition_actions.receive_marker(world, setup, trail, message, lost)
    if message.answered == 1:
        if _is_behind_another(world, message):
            return False
        client_answers.hear(world, setup, trail, i, message.error)
        return True
    if network.speaks_to_coordinator(message.kind):
        error = coordinator_actions.answer(world, setup, trail, i, unknown)
        if error != partition_actions.WAITS:
            replies.reply(world, setup, trail, i, error, lost)
        elif lost == 1:
            message.stage = Stage.TO_LEADER
            replies.restore_request(world, message)
        return True
    if message.stage in (Stage.TO_COORDINATOR, Stage.ABANDONED):
        return lost == 0 and _question_arrives(world, setup, trail, i, unknown)
    if world.partitions[message.partition].leader == 0 or _is_behind_another(world, message):
        return False
    return _at_leader(world, setup, trail, i, lost)


def _question_arrives(world: World, setup: Setup, trail: Trail, i: int, unknown: int) -> bool:
    """A leader's question reaches the coordinator; its answer sets out, if anybody still waits for it."""
    message = world.messages[i]
    is_abandoned = message.stage == Stage.ABANDONED
    error = coordinator_actions.answer(world, setup, trail, i, unknown)
    if is_abandoned:
        network.empty(message)
    elif error != partition_actions.WAITS:
        partition_actions.hear_coordinator(world, setup, trail, message, error)
    return True


def _at_leader(world: World, setup: Setup, trail: Trail, i: int, lost: int) -> bool:
    """A batch or offset commit reaches its leader, or the coordinator's word on it does."""
    message, queue = world.messages[i], setup.bounds.verification_queue == 1
    if message.stage == Stage.BACK_TO_LEADER:
        if queue:
            return questions_under_way.arrive(world, setup, trail, i, lost)
        error = partition_actions.conclude(world, setup, trail, message)
    else:
        error = partition_actions.receive(world, setup, trail, message)
    if error != partition_actions.WAITS:
        replies.reply(world, setup, trail, i, error, lost)
    elif queue:
        questions_under_way.ask(world, setup, trail, i, lost)
    return True


def _between_brokers(world: World, setup: Setup, trail: Trail, act: int, i: int) -> bool:
    """Appends, questions of leaders, blocks of producer ids: where a scenario asks for it they are under way."""
    if act in AT_APPENDS:
        return _handle_append(world, setup, trail, act, i)
    if act == Act.DISCONNECT:
        return questions_under_way.disconnect(world, setup, trail, i)
    if act == Act.GIVE_BLOCK:
        return id_blocks.arrive(world, setup, i)
    if act == Act.DOUBLE_BLOCK:
        return id_blocks.double(world, i)
    if act == Act.GIVE_LATE_BLOCK:
        return id_blocks.arrive_late(world, setup, i)
    return id_blocks.allocate(world, setup, i, 1 if act == Act.LOSE_BLOCK else 0)


def _handle_append(world: World, setup: Setup, trail: Trail, act: int, number: int) -> bool:
    """An append is made, or its outcome told; who waits for that is answered."""
    if number >= len(world.appends):
        return False
    if act == Act.TELL_APPEND:
        if not appends_under_way.tell(world, setup, trail, number):
            return False
    elif not appends_under_way.make(world, setup, trail, number, act):
        return False
    if trail.asker == 0:
        return True
    i, error = trail.asker - 1, int(trail.error)
    message = world.messages[i]
    if network.speaks_to_coordinator(message.kind):
        replies.reply(world, setup, trail, i, error, 0)
    else:
        partition_actions.hear_coordinator(world, setup, trail, message, error)
    return True


def _is_behind_another(world: World, message: Message) -> bool:
    """Batches that one client has under way to one leader share a connection: neither they nor their answers overtake.

    A batch that is timed out with its connection takes those behind it along, so only the first can be doubled.
    """
    if message.live == 0 or message.kind != Kind.PRODUCE:
        return False
    for i in range(MESSAGES):
        other = world.messages[i]
        ahead = other.kind == Kind.PRODUCE and other.live == 1 and other.client == message.client
        earlier = other.partition == message.partition and other.value < message.value
        if ahead and earlier and (message.answered == 1 or other.answered == 0):
            return True
    return False


def _lose_answer(world: World, setup: Setup, trail: Trail, i: int) -> bool:
    message = world.messages[i]
    if world.budget.lost == 0 or message.live == 0:
        return False
    if message.answered == 1:
        replies.restore_request(world, message)
    elif (setup.bounds.answers_travel == 1 and message.kind != Kind.MARKER) or not _deliver(
        world, setup, trail, i, 1, 0
    ):
        return False
    world.budget.lost -= 1
    return True


def _double(world: World, message: Message) -> bool:
    """A request or marker times out and is sent again: a late copy stays in flight."""
    if message.live == 0 or message.answered == 1 or message.guard != 0 or _is_behind_another(world, message):
        return False
    budget = world.budget
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
    copy = world.messages[network.free_slot(world)]
    network.copy(message, copy)
    copy.live = 0
    return True


def _append_unknown(world: World, setup: Setup, trail: Trail, i: int) -> bool:
    """The coordinator's append becomes durable but is reported as failed."""
    message = world.messages[i]
    to_coordinator = network.speaks_to_coordinator(message.kind) or message.stage == Stage.TO_COORDINATOR
    if world.budget.unknown_appends == 0 or not to_coordinator or message.answered == 1 or message.live == 0:
        return False
    if setup.bounds.appends_travel == 1:
        return False
    if message.kind == Kind.MARKER or message.node != world.coordinator:
        return False
    world.budget.unknown_appends -= 1
    return _deliver(world, setup, trail, i, 0, 1)
