"""How a coordinator sends the markers of a decided transaction, and completes it (reference §2.12)."""

from zombieproof.checker.transactions import network
from zombieproof.checker.transactions.capacities import IDS, PARTITIONS
from zombieproof.checker.transactions.coordinator_appends import begin, office, settle
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind
from zombieproof.statemachines.coordinator import completion
from zombieproof.statemachines.coordinator.completion import MarkerOutcome, Route
from zombieproof.statemachines.coordinator.records import DecidedFacts

AT_LOG = 2
"""`Node.driving` while a completion is under way into the log, or a decision is there and will be looked at again."""


def start_markers(state: State, setup: Setup, trail: Trail, node: int, k: int) -> None:
    """The decision is durable: markers go to every partition."""
    state.nodes[node].driving[k] = 1
    send_markers(state, setup, trail, node, k)


def send_markers(state: State, setup: Setup, trail: Trail, node: int, k: int) -> None:
    """Send each missing marker that is not on its way; complete if none is missing."""
    txn, at = state.nodes[node].cache[k], office(state, setup, node, 0)
    standing = completion.stand(txn, at, trail)
    for p in range(PARTITIONS):
        if (txn.partitions >> p) & 1 == 0 or _is_on_its_way(state, node, k, p):
            continue
        routed = completion.route(True, state.partitions[p].leader, standing, at.coordinator_epoch, setup.rules, trail)
        if routed.route == Route.SEND:
            _send_marker(state, node, k, p)
        elif routed.route == Route.SKIP and routed.outcome == MarkerOutcome.WRITTEN:
            completion.strike_off(txn, 1 << p, at.coordinator_epoch, at)
    complete(state, setup, trail, node, k)


def _is_on_its_way(state: State, node: int, k: int, p: int) -> bool:
    for message in state.messages:
        sent = message.kind == Kind.MARKER and message.live and message.node == node
        if sent and message.client == k and message.partition == p:
            return True
    return False


def _send_marker(state: State, node: int, k: int, p: int) -> None:
    txn = state.nodes[node].cache[k]
    message = state.messages[network.free_slot(state)]
    network.empty(message)
    message.kind = Kind.MARKER
    message.live = True
    message.client = k
    message.node = node
    message.stage = txn.client_transaction_version
    message.producer_id = txn.producer_id
    message.producer_epoch = txn.producer_epoch
    message.partition = p
    message.value = state.nodes[node].epoch
    message.detail = 1 if completion.is_committed(txn) else 0


def complete(state: State, setup: Setup, trail: Trail, node: int, k: int) -> None:
    """Append the completion if every marker is written. A deposed node cannot, and gives up (its successor will)."""
    held, at = state.nodes[node], office(state, setup, node, 0)
    begin(trail, k)
    decided = DecidedFacts(at.coordinator_epoch, 0, held.driving[k] == 1)
    completion.complete(held.cache[k], trail.pending, decided, at, setup.rules, trail.effects, trail)
    if trail.effects.finishes:
        held.driving[k] = 0
    if settle(state, setup, trail, node, k, 0, False) > 0:
        held.driving[k] = AT_LOG


def waits_for_leader(setup: Setup, trail: Trail) -> bool:
    """Whether the marker of a partition without a leader stays where it is (else it is taken for deleted)."""
    nobody = completion.Standing(0, True, 0)
    return completion.route(True, False, nobody, 0, setup.rules, trail).route == Route.WAIT


def acknowledge(state: State, setup: Setup, trail: Trail, message: Message, error: int) -> None:
    """The sender of a marker handles the outcome, if it still is the coordinator that sent it."""
    node, k, p = int(message.node), int(message.client), int(message.partition)
    coordinator_epoch = int(message.value)
    held, at, answer = state.nodes[node], office(state, setup, node, 0), trail.markers
    if not message.live or held.driving[k] != 1 or held.epoch != coordinator_epoch:
        network.empty(message)
        return
    standing = completion.judge(completion.stand(held.cache[k], at, trail), coordinator_epoch, trail)
    completion.begin_answer(answer, standing, False, True)
    outcome = completion.handle_partition(answer, error, trail)
    completion.end_answer(answer)
    if answer.sends_again:
        return
    network.empty(message)
    if outcome == MarkerOutcome.WRITTEN:
        completion.strike_off(held.cache[k], 1 << p, coordinator_epoch, at)
        complete(state, setup, trail, node, k)
    else:
        # Forgotten: the pending completion stays, nobody drives it any more (reference §2.12).
        held.driving[k] = 0
        for other in state.messages:
            if other.kind == Kind.MARKER and other.node == node and other.client == k:
                other.live = False


def drive_waiting_markers(state: State, setup: Setup, trail: Trail) -> None:
    """A partition has a leader again: markers that waited for it are sent."""
    for node in range(len(state.nodes)):
        for k in range(IDS):
            if state.nodes[node].believes and state.nodes[node].driving[k] == 1:
                send_markers(state, setup, trail, node, k)
