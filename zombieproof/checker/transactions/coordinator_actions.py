"""What a coordinator node does: answer a request, fence, time out, complete, load.

One action is one atomic step (reference §2.17): guards, the durable append, the answer. A node that was deposed and
does not know it answers from its stale cache what needs no append; what needs one is refused with NOT_COORDINATOR.
"""

from zombieproof.checker.transactions import coordinator_log, marker_actions, network
from zombieproof.checker.transactions.moves import move
from zombieproof.checker.transactions.views import (
    TV2_ADD_PARTITIONS,
    RequestView,
    end_txn_version,
    is_tv2,
    request_view,
)
from zombieproof.checker.transactions.world import (
    IDS,
    OFFSETS,
    PRODUCER_IDS,
    Kind,
    Message,
    Overflow,
    Setup,
    Trail,
    World,
)
from zombieproof.model.decisions import transition
from zombieproof.model.decisions.add_offsets_to_txn import decide_add_offsets_to_txn
from zombieproof.model.decisions.add_partitions_to_txn import decide_add_partitions_to_txn, decide_verify_partitions
from zombieproof.model.decisions.end_txn import decide_end_txn
from zombieproof.model.decisions.init_producer_id import decide_init_producer_id
from zombieproof.model.decisions.transaction_timeout import decide_timeout
from zombieproof.model.records import Verdict
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Error, TransactionState
from zombieproof.statemachines.notes import Decision, MachineIndex, note, successor


def answer(world: World, setup: Setup, trail: Trail, i: int, unknown: int) -> int:
    """The coordinator that message `i` went to answers it; returns the error.

    With `unknown` 1 the append becomes durable but is reported as failed (reference §2.6). A granted producer id and
    epoch are left in the message.
    """
    message = world.messages[i]
    if world.nodes[message.node].role == 0:
        return int(Error.NOT_COORDINATOR)
    if message.kind == Kind.INIT_PRODUCER_ID:
        return _init_producer_id(world, setup, trail, message, unknown)
    if message.kind == Kind.ADD_PARTITIONS:
        return _add_partitions(world, setup, trail, message, unknown)
    if message.kind == Kind.ADD_OFFSETS:
        return _add_offsets(world, setup, trail, message, unknown)
    if message.kind == Kind.END_TXN:
        return _end_txn(world, setup, trail, message, unknown)
    if is_tv2(setup):
        return _add_implicitly(world, setup, trail, message, unknown)
    return _verify(world, setup, trail, message)


def id_of(setup: Setup, message: Message) -> int:
    """The index of the transactional id that a client's message is about."""
    return int(setup.bounds.transactional_id[message.client])


def _fresh_producer_id(world: World) -> int:
    """The next producer id, or NONE when this record can hold no more."""
    return NONE if world.next_producer_id >= PRODUCER_IDS else int(world.next_producer_id)


def _note_allocation(world: World, error: int) -> None:
    """A decision needed a producer id and there was none: the record's capacity was reached, not a rule of Kafka's."""
    if error == Error.COORDINATOR_LOAD_IN_PROGRESS:
        world.overflow = Overflow.PRODUCER_IDS


def _take_producer_id(world: World, producer_id: int) -> None:
    if producer_id == world.next_producer_id:
        world.next_producer_id += 1


def _init_producer_id(world: World, setup: Setup, trail: Trail, message: Message, unknown: int) -> int:
    k = id_of(setup, message)
    txn = world.nodes[message.node].cache[k]
    recovering = message.detail == 1
    request = request_view(
        message.producer_id if recovering else NONE, message.producer_epoch if recovering else NONE, 4, 0, 0
    )
    new_producer_id = _fresh_producer_id(world)
    if txn.known == 0 and new_producer_id != NONE and message.node == world.coordinator:
        # Fresh metadata sits in the cache before anything is logged (reference §2.2).
        txn.known = 1
        txn.producer_id = new_producer_id
        _take_producer_id(world, new_producer_id)
    verdict = decide_init_producer_id(txn, request, setup.rules, new_producer_id)
    note(trail, Decision.INIT_PRODUCER_ID, verdict.guard, verdict.error)
    _note_allocation(world, verdict.error)
    if verdict.event == CoordinatorEvent.FENCE:
        error = fence_and_abort(world, setup, trail, message.node, k, verdict)
        return int(Error.CONCURRENT_TRANSACTIONS) if error == Error.NONE else error
    if verdict.event == CoordinatorEvent.NOTHING:
        return int(verdict.error)
    error = coordinator_log.append(world, setup, trail, message.node, k, verdict, unknown)
    if error == Error.NONE:
        _take_producer_id(world, verdict.producer_id)
        message.producer_id = verdict.producer_id
        message.producer_epoch = verdict.producer_epoch
    elif unknown == 1:
        _take_producer_id(world, verdict.producer_id)
    return error


def _view(message: Message, version: int, partitions: int) -> RequestView:
    return request_view(message.producer_id, message.producer_epoch, version, message.detail, partitions)


def _add_partitions(world: World, setup: Setup, trail: Trail, message: Message, unknown: int) -> int:
    k = id_of(setup, message)
    txn = world.nodes[message.node].cache[k]
    verdict = decide_add_partitions_to_txn(txn, _view(message, 3, 1 << message.partition), setup.rules)
    note(trail, Decision.ADD_PARTITIONS, verdict.guard, verdict.error)
    return _join(world, setup, trail, message, k, verdict, unknown)


def _add_offsets(world: World, setup: Setup, trail: Trail, message: Message, unknown: int) -> int:
    k = id_of(setup, message)
    txn = world.nodes[message.node].cache[k]
    verdict = decide_add_offsets_to_txn(txn, _view(message, 3, 1 << OFFSETS), setup.rules)
    note(trail, Decision.ADD_OFFSETS, verdict.guard, verdict.error)
    return _join(world, setup, trail, message, k, verdict, unknown)


def _add_implicitly(world: World, setup: Setup, trail: Trail, message: Message, unknown: int) -> int:
    k = id_of(setup, message)
    txn = world.nodes[message.node].cache[k]
    request = request_view(message.producer_id, message.producer_epoch, TV2_ADD_PARTITIONS, 0, 1 << message.partition)
    verdict = decide_add_partitions_to_txn(txn, request, setup.rules)
    note(trail, Decision.ADD_PARTITIONS, verdict.guard, verdict.error)
    return _join(world, setup, trail, message, k, verdict, unknown)


def _join(world: World, setup: Setup, trail: Trail, message: Message, k: int, verdict: Verdict, unknown: int) -> int:
    if verdict.event == CoordinatorEvent.NOTHING:
        return int(verdict.error)
    opens = world.nodes[message.node].cache[k].state != TransactionState.ONGOING
    error = coordinator_log.append(world, setup, trail, message.node, k, verdict, unknown)
    if opens and (error == Error.NONE or unknown == 1):
        world.ghost.owner[k] = message.label
    return error


def _verify(world: World, setup: Setup, trail: Trail, message: Message) -> int:
    k = id_of(setup, message)
    txn = world.nodes[message.node].cache[k]
    request = request_view(message.producer_id, message.producer_epoch, 4, 0, 1 << message.partition)
    verdict = decide_verify_partitions(txn, request, setup.rules)
    note(trail, Decision.VERIFY_PARTITIONS, verdict.guard, verdict.error)
    return int(verdict.error)


def _end_txn(world: World, setup: Setup, trail: Trail, message: Message, unknown: int) -> int:
    k = id_of(setup, message)
    txn = world.nodes[message.node].cache[k]
    version = end_txn_version(setup)
    request = _view(message, version, 0)
    verdict = decide_end_txn(txn, request, setup.rules, 1, _fresh_producer_id(world))
    note(trail, Decision.END_TXN, verdict.guard, verdict.error)
    _note_allocation(world, verdict.error)
    if verdict.event == CoordinatorEvent.NOTHING:
        if verdict.error == Error.NONE and verdict.producer_id != NONE:
            message.producer_id = verdict.producer_id
            message.producer_epoch = verdict.producer_epoch
        return int(verdict.error)
    was_open = txn.state == TransactionState.ONGOING
    error = coordinator_log.append(world, setup, trail, message.node, k, verdict, unknown)
    if error != Error.NONE and unknown == 0:
        return error
    _take_producer_id(world, verdict.next_producer_id)
    if was_open:
        if world.ghost.owner[k] != message.label:
            world.ghost.usurped = 1
        decide_label(world, k, 1 if verdict.event == CoordinatorEvent.COMMIT else 2)
    if error == Error.NONE:
        marker_actions.start_markers(world, setup, trail, message.node, k)
        if version >= 5:
            # A rotated id and epoch 0 are what the completed record will hold (F5).
            rotates = verdict.next_producer_id != NONE
            message.producer_id = verdict.next_producer_id if rotates else verdict.producer_id
            message.producer_epoch = 0 if rotates else verdict.producer_epoch
    return error


def decide_label(world: World, k: int, outcome: int) -> None:
    """Ghost: the transaction that `k` had open is decided; a second, different decision is a contradiction."""
    label = world.ghost.owner[k]
    if label == 0:
        return
    told = world.ghost.labels[label - 1]
    if told.decided not in (0, outcome):
        world.ghost.contradiction = 1
    told.decided = outcome


def fence_and_abort(world: World, setup: Setup, trail: Trail, node: int, k: int, verdict: Verdict) -> int:
    """Fence the owner of an open transaction and abort it: I12 and X5, as one step."""
    txn = world.nodes[node].cache[k]
    txn.pending_state = move(trail, MachineIndex.COORDINATOR, k, txn.state, CoordinatorEvent.FENCE)
    request = request_view(txn.producer_id, verdict.producer_epoch, end_txn_version(setup), 0, 0)
    ended = decide_end_txn(txn, request, setup.rules, 0, _fresh_producer_id(world))
    note(trail, Decision.END_TXN, ended.guard, ended.error)
    _note_allocation(world, ended.error)
    if ended.event == CoordinatorEvent.NOTHING:
        txn.pending_state = NONE
        if ended.error == Error.UNKNOWN_SERVER_ERROR:
            world.ghost.insane = 1
        return int(ended.error)
    if transition.fence_counts_at_once(request.version, setup.rules):
        transition.fence_in_memory(txn, verdict.producer_epoch)
    error = coordinator_log.append(world, setup, trail, node, k, ended, 0)
    if error != Error.NONE:
        transition.give_up(txn, 0 if is_tv2(setup) else 1, setup.rules)
        return error
    _take_producer_id(world, ended.next_producer_id)
    decide_label(world, k, 2)
    marker_actions.start_markers(world, setup, trail, node, k)
    return error


def time_out(world: World, setup: Setup, trail: Trail, k: int) -> bool:
    """The coordinator aborts the open transaction of an id: a time-out may happen whenever it is open."""
    txn = world.nodes[world.coordinator].cache[k]
    if world.nodes[world.coordinator].role == 0:
        return False
    if txn.known == 0 or txn.state != TransactionState.ONGOING or txn.pending_state != NONE:
        return False
    verdict = decide_timeout(txn, txn.producer_id, setup.rules)
    note(trail, Decision.TIMEOUT, verdict.guard, verdict.error)
    fence_and_abort(world, setup, trail, world.coordinator, k, verdict)
    return True


def load(world: World, setup: Setup, trail: Trail, node: int) -> None:
    """A node becomes the coordinator: it reads the log and drives prepared transactions to their end (Z1 to Z6)."""
    for k in range(IDS):
        durable = world.durable[k]
        txn = world.nodes[node].cache[k]
        completing = NONE
        if durable.known == 1:
            completing = successor(MachineIndex.COORDINATOR, durable.state, CoordinatorEvent.MARKERS_WRITTEN)
        transition.load(txn, durable, completing, setup.rules)
        world.nodes[node].driving[k] = 0
        if txn.pending_state != NONE and setup.rules.reload_drives_markers == 1:
            world.nodes[node].driving[k] = 1
            marker_actions.send_markers(world, setup, trail, node, k)


def forget(world: World, node: int) -> None:
    """A node is no coordinator any more: cache and marker queue are gone."""
    for k in range(IDS):
        coordinator_log.clear(world.nodes[node].cache[k])
        world.nodes[node].driving[k] = 0
    world.nodes[node].role = 0
    world.nodes[node].epoch = 0
    network.hang_up_node(world, node)
