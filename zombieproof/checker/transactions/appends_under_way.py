"""Appends to the transaction log that are under way (`Bounds.appends_travel`): made, refused, failed, and told of.

An append that a step has prepared waits for the host to make it, and then for somebody to hear of its outcome; anything
may happen before and in between. Just before it is made the coordinator looks again (G1 to G4); refused, its operation
is told at once. It is durable, or it fails, or it is durable and reported as failed. A node that crashes takes along
what it had not made and what it had not heard of; one that is deposed hears of both.
"""

from zombieproof.checker.transactions import marker_actions, network
from zombieproof.checker.transactions.acts import Act
from zombieproof.checker.transactions.coordinator_appends import begin, make_durable, office
from zombieproof.checker.transactions.world import MESSAGES, Phase, Setup, Stage, Trail, World
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.coordinator import appends, ends, outcomes
from zombieproof.statemachines.coordinator.records import Operation


def make(world: World, setup: Setup, trail: Trail, number: int, act: int) -> bool:
    """Look again and append; with FAIL_APPEND it fails, with DOUBT_APPEND it is durable but reported as failed."""
    under_way = world.appends[number]
    budget = world.budget
    if under_way.phase != Phase.PREPARED:
        return False
    if (act == Act.FAIL_APPEND and budget.failed_appends == 0) or (
        act == Act.DOUBT_APPEND and budget.unknown_appends == 0
    ):
        return False
    node, k = int(under_way.node), int(under_way.subject)
    txn, at = world.nodes[node].cache[k], office(world, setup, node, 0)
    begin(trail, k)
    refused = appends.may_append(txn, under_way.pending, at, setup.rules, trail)
    if act != Act.MAKE_APPEND and (refused != Error.NONE or node != world.coordinator):
        # These fail by themselves: nothing is noted but in the action that takes them.
        trail.decision_count = 0
        return False
    if refused != Error.NONE:
        outcomes.append_ended(txn, under_way.pending, refused, at, setup.rules, trail.effects, trail)
        _conclude(world, setup, trail, number)
        return True
    under_way.phase = Phase.ANSWERED
    if node != world.coordinator:
        under_way.error = Error.NOT_LEADER_OR_FOLLOWER
    elif act == Act.FAIL_APPEND:
        budget.failed_appends -= 1
        under_way.error = Error.NOT_ENOUGH_REPLICAS
    else:
        make_durable(world, node, k, under_way.pending, under_way.label)
        if act == Act.DOUBT_APPEND:
            budget.unknown_appends -= 1
            under_way.error = Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return True


def tell(world: World, setup: Setup, trail: Trail, number: int) -> bool:
    """The coordinator hears what became of an append; behind a decision it looks again, some time later."""
    under_way = world.appends[number]
    if under_way.phase not in (Phase.ANSWERED, Phase.COMPLETED):
        return False
    node, k = int(under_way.node), int(under_way.subject)
    txn, at = world.nodes[node].cache[k], office(world, setup, node, 0)
    begin(trail, k)
    if under_way.phase == Phase.COMPLETED:
        ends.look_again(txn, under_way.pending, at, trail.effects, trail)
    else:
        outcomes.append_answered(txn, under_way.pending, under_way.error, at, setup.rules, trail.effects, trail)
    if trail.effects.owes_look == 1:
        under_way.phase = Phase.COMPLETED
        world.nodes[node].driving[k] = marker_actions.AT_LOG
        return True
    _conclude(world, setup, trail, number)
    return True


def _conclude(world: World, setup: Setup, trail: Trail, number: int) -> None:
    """The append is over: who asked has an answer, and what the step wants done is done."""
    under_way, effects = world.appends[number], trail.effects
    node, k = int(under_way.node), int(under_way.subject)
    in_office = world.nodes[node].role == 1 and world.nodes[node].epoch == under_way.pending.coordinator_epoch
    trail.asker = 1 + _asker(world, number)
    trail.error = int(Error.UNKNOWN_SERVER_ERROR) if trail.contradicts == 1 else int(effects.error)
    if trail.asker > 0:
        message = world.messages[trail.asker - 1]
        message.stage = Stage.TO_LEADER
        message.error = 0
        if effects.error == Error.NONE and effects.producer_id != NONE:
            message.producer_id = effects.producer_id
            message.producer_epoch = effects.producer_epoch
    free(world, number)
    if effects.sends_markers == 1:
        marker_actions.start_markers(world, setup, trail, node, k)
    elif in_office and world.nodes[node].driving[k] == marker_actions.AT_LOG:
        retries = effects.retries == 1
        world.nodes[node].driving[k] = 1 if retries else 0
        if retries:
            marker_actions.complete(world, setup, trail, node, k)


def _asker(world: World, number: int) -> int:
    """The slot of the message that waits for an append, or -1."""
    for i in range(MESSAGES):
        if world.messages[i].stage == Stage.APPENDING and world.messages[i].error == number + 1:
            return i
    return -1


def free(world: World, number: int) -> None:
    """An append is under way no longer."""
    under_way = world.appends[number]
    under_way.phase = Phase.FREE
    under_way.node = 0
    under_way.subject = 0
    under_way.label = 0
    under_way.error = 0
    pending = under_way.pending
    pending.operation = Operation.NOTHING
    pending.coordinator_epoch = NONE
    pending.asked_version = 0
    pending.version = 0
    pending.producer_id = NONE
    pending.producer_epoch = NONE
    pending.committed = False
    pending.fences = False
    appends.forget(pending.target)


def drop(world: World, node: int) -> None:
    """A node crashes: nobody makes its appends, and nobody hears of them. Who waits for one asks again."""
    for number in range(len(world.appends)):
        if world.appends[number].phase == Phase.FREE or world.appends[number].node != node:
            continue
        i = _asker(world, number)
        free(world, number)
        if i < 0:
            continue
        message = world.messages[i]
        message.error = 0
        if network.speaks_to_coordinator(message.kind):
            message.stage = Stage.TO_LEADER
            if message.live == 0:
                network.empty(message)
        else:
            message.stage = Stage.TO_COORDINATOR
