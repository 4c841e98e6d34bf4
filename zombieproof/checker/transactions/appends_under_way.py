"""Appends to the transaction log that are under way (`Bounds.appends_travel`): made, refused, failed, and told of.

An append that a step has prepared waits for the host to make it, and then for somebody to handle its outcome; anything
may happen before and in between. Just before it is made the coordinator looks again (G1 to G4); refused, its operation
is told at once. It is durable, or it fails, for the moment or for good, or it is durable and reported as failed. A node
that crashes takes along what it had not made and what nobody had told it of; one that is deposed learns of both.
"""

from zombieproof.checker.transactions import coordinator_actions, marker_actions, network
from zombieproof.checker.transactions.action_kinds import HARD, Action
from zombieproof.checker.transactions.capacities import MESSAGES
from zombieproof.checker.transactions.coordinator_appends import begin, make_durable, office
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.checker.transactions.vocabulary import Phase, Stage
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.coordinator import appends, ends, outcomes
from zombieproof.statemachines.coordinator.records import Operation


def make(state: State, setup: Setup, trail: Trail, number: int, kind: int) -> bool:
    """Look again and append; with FAIL_APPEND it fails, with DOUBT_APPEND it is durable but reported as failed.

    With REJECT_APPEND the log takes no such record; with CLOSE_LOG its disk fails, and the other broker is elected.
    """
    under_way = state.appends[number]
    budget = state.budget
    if under_way.phase != Phase.PREPARED:
        return False
    node, k = int(under_way.node), int(under_way.subject)
    txn, at = state.nodes[node].cache[k], office(state, setup, node, 0)
    begin(trail, k)
    refused = appends.may_append(txn, under_way.pending, at, setup.rules, trail)
    if kind != Action.MAKE_APPEND and (refused != Error.NONE or node != state.coordinator):
        # These fail by themselves: nothing is noted but in the action that takes them.
        trail.decision_count = 0
        return False
    if refused != Error.NONE:
        outcomes.append_ended(txn, under_way.pending, refused, at, setup.rules, trail.effects, trail)
        _conclude(state, setup, trail, number)
        return True
    under_way.phase = Phase.ANSWERED
    if node != state.coordinator:
        under_way.error = Error.NOT_LEADER_OR_FOLLOWER
    elif kind == Action.FAIL_APPEND:
        budget.failed_appends -= 1
        under_way.error = Error.NOT_ENOUGH_REPLICAS
    elif kind in HARD:
        budget.hard_appends -= 1
        under_way.error = Error.MESSAGE_TOO_LARGE
        if kind == Action.CLOSE_LOG:
            under_way.error = Error.KAFKA_STORAGE_ERROR
            coordinator_actions.take_over(state, setup, trail)
    else:
        make_durable(state, setup, node, k, under_way.pending, under_way.label)
        if kind == Action.DOUBT_APPEND:
            budget.unknown_appends -= 1
            under_way.error = Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return True


def tell(state: State, setup: Setup, trail: Trail, number: int) -> bool:
    """The coordinator handles what became of an append; behind a decision it looks again, some time later."""
    under_way = state.appends[number]
    if under_way.phase not in (Phase.ANSWERED, Phase.COMPLETED):
        return False
    node, k = int(under_way.node), int(under_way.subject)
    txn, at = state.nodes[node].cache[k], office(state, setup, node, 0)
    begin(trail, k)
    if under_way.phase == Phase.COMPLETED:
        ends.look_again(txn, under_way.pending, at, trail.effects, trail)
    else:
        outcomes.append_answered(txn, under_way.pending, under_way.error, at, setup.rules, trail.effects, trail)
    if trail.effects.owes_look:
        under_way.phase = Phase.COMPLETED
        state.nodes[node].driving[k] = marker_actions.AT_LOG
        return True
    _conclude(state, setup, trail, number)
    return True


def _conclude(state: State, setup: Setup, trail: Trail, number: int) -> None:
    """The append is over: who asked has an answer, and what the step wants done is done."""
    under_way, effects = state.appends[number], trail.effects
    node, k = int(under_way.node), int(under_way.subject)
    in_office = state.nodes[node].believes and state.nodes[node].epoch == under_way.pending.coordinator_epoch
    trail.asker = 1 + _asker(state, number)
    trail.error = int(Error.UNKNOWN_SERVER_ERROR) if trail.contradicts else int(effects.error)
    if trail.asker > 0:
        message = state.messages[trail.asker - 1]
        message.stage = Stage.TO_LEADER
        message.error = 0
        if effects.error == Error.NONE and effects.producer_id != NONE:
            message.producer_id = effects.producer_id
            message.producer_epoch = effects.producer_epoch
    free(state, number)
    if effects.sends_markers:
        marker_actions.start_markers(state, setup, trail, node, k)
    elif in_office and state.nodes[node].driving[k] == marker_actions.AT_LOG:
        retries = effects.retries
        state.nodes[node].driving[k] = 1 if retries else 0
        if retries:
            marker_actions.complete(state, setup, trail, node, k)


def _asker(state: State, number: int) -> int:
    """The slot of the message that waits for an append, or -1."""
    for i in range(MESSAGES):
        if state.messages[i].stage == Stage.APPENDING and state.messages[i].error == number + 1:
            return i
    return -1


def free(state: State, number: int) -> None:
    """An append is under way no longer."""
    under_way = state.appends[number]
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


def drop(state: State, node: int) -> None:
    """A node crashes: nobody makes its appends, and nobody handles their outcomes. Who waits for one asks again."""
    for number in range(len(state.appends)):
        if state.appends[number].phase == Phase.FREE or state.appends[number].node != node:
            continue
        i = _asker(state, number)
        free(state, number)
        if i < 0:
            continue
        message = state.messages[i]
        message.error = 0
        if network.speaks_to_coordinator(message.kind):
            message.stage = Stage.TO_LEADER
            if not message.live:
                network.empty(message)
        else:
            message.stage = Stage.TO_COORDINATOR
