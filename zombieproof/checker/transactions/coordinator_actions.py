"""What a coordinator node does: answer a request, fence, time out, complete, load. A driver of the coordinator's steps.

One action is one atomic step (reference §2.17): the step of the machine, the append, which is durable at once, its
outcome, the answer. A node that was deposed and does not know it answers from its stale cache what needs no append;
what needs one fails at a log that it does not lead.
"""

from zombieproof.checker.transactions import marker_actions, network
from zombieproof.checker.transactions.capacities import IDS, OFFSETS
from zombieproof.checker.transactions.coordinator_appends import begin, office, settle
from zombieproof.checker.transactions.partition_actions import WAITS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.views import (
    INIT_PRODUCER_ID,
    TV2_ADD_PARTITIONS,
    VERIFICATION,
    end_txn_version,
    is_tv2,
)
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.coordinator import ends, fences, init_producer_id, joins, loading
from zombieproof.statemachines.coordinator.appends import forget as forget_transaction
from zombieproof.statemachines.coordinator.records import IdRequest, InitRequest

LATER = 2
"""When a sweep of time-outs or expirations looks: everything is old enough for it."""


def answer(state: State, setup: Setup, trail: Trail, i: int, unknown: bool) -> int:
    """The coordinator that message `i` went to answers it; returns the error, or WAITS for the outcome of an append.

    With `unknown` the append becomes durable but is reported as failed (reference §2.6). A granted producer id and
    epoch are left in the message.
    """
    message = state.messages[i]
    node, k = int(message.node), id_of(setup, message)
    txn, at, rules = state.nodes[node].cache[k], office(state, setup, node, 0), setup.rules
    begin(trail, k)
    if message.kind == Kind.INIT_PRODUCER_ID:
        init_producer_id.init_producer_id(txn, trail.pending, _taking(message), at, rules, trail.effects, trail)
    elif message.kind == Kind.ADD_PARTITIONS:
        joins.add_partitions(txn, trail.pending, _asked(message, 3), at, rules, trail.effects, trail)
    elif message.kind == Kind.ADD_OFFSETS:
        joins.add_offsets(txn, trail.pending, _asked(message, 3), at, rules, trail.effects, trail)
    elif message.kind == Kind.END_TXN:
        ends.end_txn(txn, trail.pending, _asked(message, end_txn_version(setup)), at, rules, trail.effects, trail)
    elif is_tv2(setup):
        joins.add_partitions(txn, trail.pending, _asked(message, TV2_ADD_PARTITIONS), at, rules, trail.effects, trail)
    else:
        joins.verify_partition(txn, _asked(message, VERIFICATION), at, rules, trail.effects, trail)
    under_way = carry_out(state, setup, trail, node, k, message.label, unknown)
    if under_way > 0 and not trail.effects.replies:
        message.stage = Stage.APPENDING
        message.error = under_way
        drive(state, setup, trail, node, k)
        return WAITS
    error = int(trail.effects.error)
    if error == Error.NONE and trail.effects.producer_id != NONE:
        message.producer_id = trail.effects.producer_id
        message.producer_epoch = trail.effects.producer_epoch
    drive(state, setup, trail, node, k)
    return error


def id_of(setup: Setup, message: Message) -> int:
    """The index of the transactional id that a client's message is about."""
    return int(setup.bounds.transactional_id[message.client])


def _taking(message: Message) -> InitRequest:
    recovering = message.detail == 1
    producer_id = int(message.producer_id) if recovering else NONE
    producer_epoch = int(message.producer_epoch) if recovering else NONE
    return InitRequest(INIT_PRODUCER_ID, producer_id, producer_epoch, 1)


def _asked(message: Message, version: int) -> IdRequest:
    partition = OFFSETS if message.kind == Kind.ADD_OFFSETS else int(message.partition)
    committed = message.kind == Kind.END_TXN and message.detail == 1
    return IdRequest(version, int(message.producer_id), int(message.producer_epoch), committed, 1 << partition)


def carry_out(state: State, setup: Setup, trail: Trail, node: int, k: int, label: int, unknown: bool) -> int:
    """Put the effects of a step into the state: the server's EndTxn behind a fence, and the append.

    `label` is that of the request, 0 where nobody asked. What is left are the answer, and whether markers set out;
    returned is what ``settle`` returns.
    """
    if not trail.effects.owes_end:
        return settle(state, setup, trail, node, k, label, unknown)
    begin(trail, k)
    txn, at = state.nodes[node].cache[k], office(state, setup, node, 0)
    ends.end_by_server(txn, trail.pending, at, setup.rules, trail.effects, trail)
    if not trail.effects.appends and trail.effects.error == Error.UNKNOWN_SERVER_ERROR:
        state.ghost.insane = True
    return settle(state, setup, trail, node, k, label, False)


def drive(state: State, setup: Setup, trail: Trail, node: int, k: int) -> None:
    """Markers set out, if the step wants it."""
    if trail.effects.sends_markers:
        marker_actions.start_markers(state, setup, trail, node, k)


def time_out(state: State, setup: Setup, trail: Trail, k: int) -> bool:
    """The coordinator aborts the open transaction of an id: a time-out may happen whenever it is open."""
    node = int(state.coordinator)
    txn = state.nodes[node].cache[k]
    if not state.nodes[node].believes or not fences.is_candidate(txn, LATER):
        return False
    begin(trail, k)
    fences.time_out(txn, trail.pending, txn.producer_id, setup.rules, trail.effects, trail)
    if trail.effects.error == Error.UNKNOWN_SERVER_ERROR:
        state.ghost.insane = True
    carry_out(state, setup, trail, node, k, 0, False)
    drive(state, setup, trail, node, k)
    return True


def expire(state: State, setup: Setup, trail: Trail, k: int) -> bool:
    """A transactional id that is idle is forgotten: its tombstone is durable, its metadata gone."""
    node = int(state.coordinator)
    begin(trail, k)
    txn, at = state.nodes[node].cache[k], office(state, setup, node, LATER)
    loading.expire(txn, trail.pending, 1, at, setup.rules, trail.effects, trail)
    if not trail.effects.appends:
        return False
    carry_out(state, setup, trail, node, k, 0, False)
    return True


def load(state: State, setup: Setup, trail: Trail, node: int) -> None:
    """A node becomes the coordinator: it reads the log and drives prepared transactions to their end (Z1 to Z6)."""
    for k in range(IDS):
        begin(trail, k)
        loading.load(state.nodes[node].cache[k], state.durable[k], setup.rules, trail.effects)
        state.nodes[node].driving[k] = 0
        drive(state, setup, trail, node, k)


def take_over(state: State, setup: Setup, trail: Trail) -> None:
    """The other broker is elected coordinator, and loads the log."""
    epoch = state.highest_epoch
    state.highest_epoch = epoch + 1
    state.coordinator = 1 - state.coordinator
    network.hang_up_node(state, state.coordinator)
    state.nodes[state.coordinator].believes = True
    state.nodes[state.coordinator].epoch = epoch + 1
    load(state, setup, trail, state.coordinator)


def forget(state: State, node: int) -> None:
    """A node is no coordinator any more: cache and marker queue are gone."""
    for k in range(IDS):
        forget_transaction(state.nodes[node].cache[k])
        state.nodes[node].driving[k] = 0
    state.nodes[node].believes = False
    state.nodes[node].epoch = 0
    network.hang_up_node(state, node)
