"""Questions of leaders to coordinators that are under way (`Bounds.verification_queue`): one request at a time.

Each partition has a leader of its own, so a `Lane` is the way from a partition to a coordinator node. The questions
in it are messages: WAITING in the lane, TO_COORDINATOR and APPENDING while the coordinator has not answered, and
BACK_TO_LEADER until everybody who was asked about in the same request has an answer; then all of them arrive at once.
When the connection breaks everybody is told so, and a question that the coordinator has not seen yet may still reach
it: ABANDONED, nobody waits for what it says. A leader that is gone has forgotten what waited.
"""

from zombieproof.checker.transactions import network, partition_actions, replies
from zombieproof.checker.transactions.capacities import MESSAGES, NODES
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.views import is_tv2, mode
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.partition_leader import questions
from zombieproof.statemachines.partition_leader.questions import Incoming, Returned


def place_of(partition: int, node: int) -> int:
    """Where the lane from a partition to a coordinator node stands in `State.lanes`."""
    return int(partition * NODES + node)


def _is_in(message: Message, partition: int, node: int) -> bool:
    asks = message.kind in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT) and not message.answered
    return bool(asks and message.partition == partition and message.node == node)


def _is_under_way(message: Message, partition: int, node: int) -> bool:
    at = message.stage in (Stage.TO_COORDINATOR, Stage.APPENDING, Stage.BACK_TO_LEADER)
    return at and _is_in(message, partition, node)


def ask(state: State, setup: Setup, trail: Trail, i: int, lost: bool) -> None:
    """The question about message `i` comes to its lane: it waits there, or is refused; what it replaces is told so.

    With `lost` the answer that `i` is refused does not arrive.
    """
    message = state.messages[i]
    p, node = int(message.partition), int(message.node)
    lane, waits = state.lanes[place_of(p, node)], _waiting(state, setup, message)
    queued_epoch = NONE if waits < 0 else int(state.messages[waits].producer_epoch)
    incoming = Incoming(queued_epoch, int(message.producer_epoch), mode(setup))
    verdict = questions.asks(lane, True, incoming)
    if verdict.error_of_incoming != Error.NONE:
        _conclude(state, setup, trail, i, questions.answered(verdict.error_of_incoming, trail), lost)
        return
    message.stage = Stage.WAITING
    if waits >= 0:
        if queued_epoch < message.producer_epoch:
            state.ghost.outrun = True
        _conclude(state, setup, trail, waits, questions.answered(verdict.error_of_queued, trail), False)
    _send(state, p, node)


def _waiting(state: State, setup: Setup, message: Message) -> int:
    """The slot of the question that waits in the same lane for the same transactional id, or -1."""
    ids = setup.bounds.transactional_id
    for i in range(MESSAGES):
        other = state.messages[i]
        waits = other.stage == Stage.WAITING and _is_in(other, message.partition, message.node)
        if waits and ids[other.client] == ids[message.client]:
            return i
    return -1


def _send(state: State, p: int, node: int) -> None:
    """All that waits leaves for the coordinator, if it is to leave now."""
    lane = state.lanes[place_of(p, node)]
    if not lane.sends:
        return
    questions.goes_out(lane)
    for message in state.messages:
        if message.stage == Stage.WAITING and _is_in(message, p, node):
            message.stage = Stage.TO_COORDINATOR


def arrive(state: State, setup: Setup, trail: Trail, i: int, lost: bool) -> bool:
    """The coordinator's answer arrives, with its word on every question of the request; message `i` is one of those.

    With `lost` the leader's answer to that one does not arrive. False while a question is not answered yet; and of
    several questions in one request only the first lets the answer arrive.
    """
    p, node = int(state.messages[i].partition), int(state.messages[i].node)
    for j in range(MESSAGES):
        other = state.messages[j]
        if not _is_under_way(other, p, node):
            continue
        if other.stage != Stage.BACK_TO_LEADER or (j < i and not lost):
            return False
    how = questions.ends(state.lanes[place_of(p, node)], setup.rules)
    for j in range(MESSAGES):
        message = state.messages[j]
        if _is_under_way(message, p, node):
            error = questions.word(Returned(NONE, 0), int(message.error), how, trail)
            _conclude(state, setup, trail, j, error, lost and j == i)
    _send(state, p, node)
    return True


def disconnect(state: State, setup: Setup, trail: Trail, place: int) -> bool:
    """The connection breaks on which a request is under way: who waits for it is told so."""
    p, node = place // NODES, place % NODES
    if not state.lanes[place].under_way:
        return False
    state.budget.lost -= 1
    how = questions.ends(state.lanes[place], setup.rules)
    for j in range(MESSAGES):
        message = state.messages[j]
        if _is_under_way(message, p, node):
            _abandon(state, setup, message)
            _conclude(state, setup, trail, j, questions.word(Returned(questions.DISCONNECTED, 0), 0, how, trail), False)
    _send(state, p, node)
    return True


def _abandon(state: State, setup: Setup, message: Message) -> None:
    """Nobody handles the answer to a question; the coordinator may still see it. One that only asks changes nothing."""
    if message.stage != Stage.TO_COORDINATOR or not is_tv2(setup):
        return
    left = state.messages[network.free_slot(state)]
    network.copy(message, left)
    left.stage = Stage.ABANDONED
    left.live = False
    left.value = 0
    left.detail = 0
    left.guard = 0


def _conclude(state: State, setup: Setup, trail: Trail, i: int, error: int, lost: bool) -> None:
    """The channel's word reaches the leader, which answers its client."""
    message = state.messages[i]
    message.error = error
    message.node = 0
    error = partition_actions.conclude(state, setup, trail, message)
    replies.reply(state, setup, trail, i, error, lost)


def lose_leader(state: State, setup: Setup, p: int) -> None:
    """The leader of a partition is gone: its lanes are forgotten, what it has asked is still under way."""
    for node in range(NODES):
        if len(state.lanes) > 0:
            questions.forget(state.lanes[place_of(p, node)])
    for i in range(MESSAGES):
        message = state.messages[i]
        if message.partition == p and message.kind in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT):
            _abandon(state, setup, message)
