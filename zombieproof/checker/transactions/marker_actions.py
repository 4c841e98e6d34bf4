"""How a coordinator sends the markers of a decided transaction, and completes it (reference §2.12)."""

from zombieproof.checker.transactions import coordinator_log, network
from zombieproof.checker.transactions.world import IDS, PARTITIONS, Kind, Setup, Trail, World
from zombieproof.model.decisions import transition
from zombieproof.model.decisions.end_txn import completion_by
from zombieproof.model.decisions.marker_delivery import Route, route_marker
from zombieproof.model.vocabulary import CoordinatorEvent, Error, TransactionState
from zombieproof.statemachines.notes import MachineIndex, successor


def start_markers(world: World, setup: Setup, trail: Trail, node: int, k: int) -> None:
    """The decision is durable: the completion is pending, and markers go to every partition."""
    txn = world.nodes[node].cache[k]
    completing = successor(MachineIndex.COORDINATOR, txn.state, CoordinatorEvent.MARKERS_WRITTEN)
    txn.pending_state = completing
    world.nodes[node].driving[k] = 1
    send_markers(world, setup, trail, node, k)


def send_markers(world: World, setup: Setup, trail: Trail, node: int, k: int) -> None:
    """Send each missing marker that is not on its way; complete if none is missing."""
    txn = world.nodes[node].cache[k]
    for p in range(PARTITIONS):
        if (txn.partitions >> p) & 1 == 0 or _is_on_its_way(world, node, k, p):
            continue
        route = route_marker(1, world.partitions[p].leader, setup.rules)
        if route == Route.SEND:
            _send_marker(world, node, k, p)
        elif route == Route.SKIP:
            txn.partitions = txn.partitions & ~(1 << p)
    if txn.partitions == 0 or setup.rules.markers_before_completion == 0:
        finish(world, setup, trail, node, k)


def _is_on_its_way(world: World, node: int, k: int, p: int) -> bool:
    for message in world.messages:
        sent = message.kind == Kind.MARKER and message.live == 1 and message.node == node
        if sent and message.client == k and message.partition == p:
            return True
    return False


def _send_marker(world: World, node: int, k: int, p: int) -> None:
    txn = world.nodes[node].cache[k]
    message = world.messages[network.free_slot(world)]
    network.empty(message)
    message.kind = Kind.MARKER
    message.live = 1
    message.client = k
    message.node = node
    message.stage = txn.client_transaction_version
    message.producer_id = txn.producer_id
    message.producer_epoch = txn.producer_epoch
    message.partition = p
    message.value = world.nodes[node].epoch
    message.detail = 1 if txn.state == TransactionState.PREPARE_COMMIT else 0


def finish(world: World, setup: Setup, trail: Trail, node: int, k: int) -> None:
    """Every marker is written: append the completion. A deposed node cannot, and gives it up (its successor will)."""
    txn = world.nodes[node].cache[k]
    if txn.state not in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        return
    world.nodes[node].driving[k] = 0
    error = coordinator_log.append(world, setup, trail, node, k, completion_by(txn, setup.rules), 0)
    if error != Error.NONE:
        transition.give_up(txn, 0, setup.rules)


def drive_waiting_markers(world: World, setup: Setup, trail: Trail) -> None:
    """A partition has a leader again: markers that waited for it are sent."""
    for node in range(len(world.nodes)):
        for k in range(IDS):
            if world.nodes[node].role == 1 and world.nodes[node].driving[k] == 1:
                send_markers(world, setup, trail, node, k)
