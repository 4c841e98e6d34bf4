"""Every action of the transaction model, by number: who acts, and what strikes.

`ACTIONS` is the list; `step` takes one. An action that is disabled leaves the world untouched.
"""

from enum import IntEnum

from zombieproof.checker import client_actions, coordinator_actions, network, partition_actions, reader_actions
from zombieproof.checker.moves import move, note
from zombieproof.checker.world import (
    CLIENTS,
    IDS,
    MESSAGES,
    NODES,
    OFFSETS,
    PARTITIONS,
    PRODUCER_IDS,
    READERS,
    Decision,
    Kind,
    MachineIndex,
    Message,
    Setup,
    Stage,
    Trail,
    World,
)
from zombieproof.model.decisions.produce import drop_guard
from zombieproof.model.decisions.transactional_id_expiration import decide_expiration
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, PartitionEvent


class Act(IntEnum):
    """The kinds of actions; those behind DELIVER strike from a budget."""

    STEP = 0
    ABORT_INSTEAD = 1
    READ_ONE = 2
    READ_ALL = 3
    RESIGN = 4
    ELECT = 5
    DELIVER = 6
    LOSE_ANSWER = 7
    DOUBLE = 8
    GIVE_UP = 9
    UNKNOWN_APPEND = 10
    CRASH = 11
    TIME_OUT = 12
    FAIL_OVER = 13
    DEPOSE = 14
    CHANGE_LEADER = 15
    LOSE_LEADER = 16
    REBALANCE = 17
    EXPIRE = 18
    FORGET_PRODUCER = 19
    FORGET_GUARD = 20


def _numbered() -> tuple[tuple[int, int], ...]:
    counts = {
        Act.STEP: CLIENTS,
        Act.ABORT_INSTEAD: CLIENTS,
        Act.READ_ONE: READERS,
        Act.READ_ALL: READERS,
        Act.RESIGN: NODES,
        Act.ELECT: PARTITIONS,
        Act.DELIVER: MESSAGES,
        Act.LOSE_ANSWER: MESSAGES,
        Act.DOUBLE: MESSAGES,
        Act.GIVE_UP: MESSAGES,
        Act.UNKNOWN_APPEND: MESSAGES,
        Act.CRASH: CLIENTS,
        Act.TIME_OUT: IDS,
        Act.FAIL_OVER: 1,
        Act.DEPOSE: 1,
        Act.CHANGE_LEADER: PARTITIONS,
        Act.LOSE_LEADER: PARTITIONS,
        Act.REBALANCE: 1,
        Act.EXPIRE: IDS,
        Act.FORGET_PRODUCER: PARTITIONS * PRODUCER_IDS,
        Act.FORGET_GUARD: PARTITIONS * PRODUCER_IDS,
    }
    return tuple((int(act), i) for act, count in counts.items() for i in range(count))


ACTIONS: tuple[tuple[int, int], ...] = _numbered()
"""(kind, argument) of each action, by its number."""


def step(world: World, action: int, setup: Setup, trail: Trail) -> bool:
    """Take an action: False if it is disabled (the world is untouched), True if the world is now its successor."""
    act = ACTIONS[action][0]
    i = ACTIONS[action][1]
    if act == Act.STEP:
        return client_actions.step(world, setup, trail, i, 0)
    if act == Act.ABORT_INSTEAD:
        return client_actions.step(world, setup, trail, i, 1)
    if Act.DELIVER <= act <= Act.UNKNOWN_APPEND:
        return _handle_message(world, setup, trail, act, i)
    if act in (Act.READ_ONE, Act.READ_ALL):
        return reader_actions.fetch(world, setup, trail, i, 1 if act == Act.READ_ALL else 0)
    if act == Act.CRASH:
        return client_actions.crash(world, i)
    if act == Act.REBALANCE:
        return _rebalance(world, setup)
    return _strike_broker(world, setup, trail, act, i)


def _handle_message(world: World, setup: Setup, trail: Trail, act: int, i: int) -> bool:
    message = world.messages[i]
    if message.kind == Kind.EMPTY or _repeats(world, i):
        return False
    if act == Act.DELIVER:
        return _deliver(world, setup, trail, i, 0, 0)
    if act == Act.LOSE_ANSWER:
        return _lose_answer(world, setup, trail, i)
    if act == Act.DOUBLE:
        return _double(world, message)
    if act == Act.GIVE_UP:
        return client_actions.give_up(world, setup, trail, i)
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
        client_actions.hear(world, setup, trail, i, message.error)
        return True
    if network.speaks_to_coordinator(message.kind):
        error = coordinator_actions.answer(world, setup, trail, i, unknown)
        _reply(world, setup, trail, i, error, lost)
        return True
    if message.stage == Stage.TO_COORDINATOR:
        if lost == 1:
            return False
        partition_actions.hear_coordinator(
            world, setup, message, coordinator_actions.answer(world, setup, trail, i, unknown)
        )
        return True
    if world.partitions[message.partition].leader == 0 or _is_behind_another(world, message):
        return False
    if message.stage == Stage.BACK_TO_LEADER:
        error = partition_actions.conclude(world, setup, trail, message)
    else:
        error = partition_actions.receive(world, setup, trail, message)
    if error != partition_actions.WAITS:
        _reply(world, setup, trail, i, error, lost)
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


def _reply(world: World, setup: Setup, trail: Trail, i: int, error: int, lost: int) -> None:
    """The answer to message `i` sets out: nobody waits for it, or it is lost, or it travels, or it is heard at once."""
    message = world.messages[i]
    if message.live == 0:
        network.empty(message)
    elif lost == 1:
        _restore_request(world, message)
    elif setup.bounds.answers_travel == 1:
        message.answered = 1
        message.error = error
    else:
        client_actions.hear(world, setup, trail, i, error)


def _restore_request(world: World, message: Message) -> None:
    """The client asks again with what it knows: a grant that got lost is unknown to it."""
    client = world.clients[message.client]
    message.answered = 0
    message.error = 0
    if message.kind in (Kind.INIT_PRODUCER_ID, Kind.END_TXN):
        message.producer_id = client.producer_id
        message.producer_epoch = client.producer_epoch


def _lose_answer(world: World, setup: Setup, trail: Trail, i: int) -> bool:
    message = world.messages[i]
    if world.budget.lost == 0 or message.live == 0:
        return False
    if message.answered == 1:
        _restore_request(world, message)
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
    if message.kind == Kind.MARKER or message.node != world.coordinator:
        return False
    world.budget.unknown_appends -= 1
    return _deliver(world, setup, trail, i, 0, 1)


def _rebalance(world: World, setup: Setup) -> bool:
    """The group takes its first owner for dead: the next member owns the input partition in the next generation."""
    if setup.bounds.grouped == 0 or world.budget.rebalances == 0:
        return False
    world.budget.rebalances -= 1
    world.group.generation += 1
    world.group.owner = (world.group.owner + 1) % setup.bounds.clients
    return True


def _strike_broker(world: World, setup: Setup, trail: Trail, act: int, i: int) -> bool:
    if act == Act.TIME_OUT:
        if world.budget.timeouts == 0 or not coordinator_actions.time_out(world, setup, trail, i):
            return False
        world.budget.timeouts -= 1
        return True
    if act == Act.FAIL_OVER:
        return _fail_over(world, setup, trail)
    if act == Act.DEPOSE:
        return _depose(world, setup, trail)
    if act == Act.RESIGN:
        return _resign(world, i)
    if act == Act.EXPIRE:
        return _expire(world, setup, trail, i)
    if act in (Act.FORGET_PRODUCER, Act.FORGET_GUARD):
        return _forget(world, trail, act, i // PRODUCER_IDS, i % PRODUCER_IDS)
    return _strike_partition(world, setup, trail, act, i)


def _fail_over(world: World, setup: Setup, trail: Trail) -> bool:
    """The coordinator's broker crashes; the other one loads the log."""
    if world.budget.failovers == 0:
        return False
    world.budget.failovers -= 1
    coordinator_actions.forget(world, world.coordinator)
    _take_over(world, setup, trail)
    return True


def _depose(world: World, setup: Setup, trail: Trail) -> bool:
    """The other broker is elected coordinator, and the old one does not know it yet."""
    if world.budget.deposed == 0:
        return False
    world.budget.deposed -= 1
    _take_over(world, setup, trail)
    return True


def _take_over(world: World, setup: Setup, trail: Trail) -> None:
    epoch = world.highest_epoch
    world.highest_epoch = epoch + 1
    world.coordinator = 1 - world.coordinator
    network.hang_up_node(world, world.coordinator)
    world.nodes[world.coordinator].role = 1
    world.nodes[world.coordinator].epoch = epoch + 1
    coordinator_actions.load(world, setup, trail, world.coordinator)


def _resign(world: World, node: int) -> bool:
    """A deposed node learns of it."""
    if node == world.coordinator or world.nodes[node].role == 0:
        return False
    coordinator_actions.forget(world, node)
    return True


def _expire(world: World, setup: Setup, trail: Trail, k: int) -> bool:
    """A transactional id that is idle is forgotten: its tombstone is durable, its metadata gone."""
    txn = world.nodes[world.coordinator].cache[k]
    if world.budget.expirations == 0:
        return False
    verdict = decide_expiration(txn, 1, 1, setup.rules)
    if verdict.event != CoordinatorEvent.EXPIRE:
        return False
    note(trail, Decision.EXPIRATION, verdict.guard, verdict.error)
    world.budget.expirations -= 1
    move(world, trail, MachineIndex.COORDINATOR, k, txn.state, verdict.event)
    coordinator_actions.clear(txn)
    coordinator_actions.clear(world.durable[k])
    return True


def _forget(world: World, trail: Trail, act: int, p: int, pid: int) -> bool:
    """A leader forgets a producer that was silent for long, or a guard that nobody used (reference §3.7)."""
    entry = world.partitions[p].entries[pid]
    if world.budget.forgotten == 0 or entry.txn_first_offset != NONE:
        return False
    if act == Act.FORGET_PRODUCER:
        if entry.known == 0:
            return False
        move(world, trail, MachineIndex.PARTITION_LEADER, p, entry.state, PartitionEvent.EXPIRE_PRODUCER)
        partition_actions.clear(entry)
    else:
        if entry.guard == 0:
            return False
        event = PartitionEvent.EXPIRE_VERIFICATION
        entry.state = move(world, trail, MachineIndex.PARTITION_LEADER, p, entry.state, event)
        drop_guard(entry)
    world.budget.forgotten -= 1
    return True


def _strike_partition(world: World, setup: Setup, trail: Trail, act: int, p: int) -> bool:
    partition = world.partitions[p]
    if p == OFFSETS and setup.bounds.grouped == 0:
        return False
    if act == Act.ELECT:
        if partition.leader == 1:
            return False
        partition_actions.elect_leader(world, setup, trail, p)
        return True
    if partition.leader == 0:
        return False
    if act == Act.LOSE_LEADER:
        if world.budget.leaderless == 0:
            return False
        world.budget.leaderless -= 1
        partition_actions.lose_leader(world, p)
        return True
    if world.budget.leader_changes == 0 or partition.end == 0:
        return False
    world.budget.leader_changes -= 1
    partition_actions.lose_leader(world, p)
    partition_actions.elect_leader(world, setup, trail, p)
    return True
