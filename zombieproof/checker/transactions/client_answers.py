"""What a client makes of an answer, or of waiting too long for one."""

from zombieproof.checker.transactions import client_actions, network
from zombieproof.checker.transactions.client_actions import ABORT, COMMIT
from zombieproof.checker.transactions.views import is_tv2
from zombieproof.checker.transactions.world import MESSAGES, OFFSETS, PARTITIONS, Kind, Message, Setup, Trail, World
from zombieproof.model.decisions.producer_client import must_bump_after_end, react, react_to_produce
from zombieproof.model.vocabulary import NONE, ApiKey, ProducerEvent, ProducerState, Reaction


def hear(world: World, setup: Setup, trail: Trail, i: int, error: int) -> None:
    """The answer to message `i` reaches its client."""
    message = world.messages[i]
    if message.kind == Kind.PRODUCE:
        _hear_produce(world, setup, trail, message, error)
        return
    reaction = react(_api(message.kind), error, message.detail, setup.rules)
    if reaction == Reaction.RETRY:
        _ask_again(message)
    elif reaction == Reaction.FIND_COORDINATOR_AND_RETRY:
        _ask_again(message)
        message.node = world.coordinator if network.speaks_to_coordinator(message.kind) else 0
        world.clients[message.client].node = world.coordinator
    elif reaction == Reaction.DONE:
        _hear_success(world, setup, trail, message)
    else:
        c, kind = int(message.client), int(message.kind)
        network.empty(message)
        if kind == Kind.END_TXN and _raises_epoch_all_the_same(world, setup, c, reaction):
            network.send_request(world, Kind.INIT_PRODUCER_ID, c, 0, 0, 1, 0)
        else:
            _fail(world, setup, trail, c, reaction)


def _raises_epoch_all_the_same(world: World, setup: Setup, c: int, reaction: int) -> bool:
    """Until 3.9 an abort may be refused abortably; the InitProducerId behind it leaves all the same (§5.5)."""
    client = world.clients[c]
    aborts = client.state == ProducerState.ABORTING_TRANSACTION and reaction == Reaction.ABORTABLE_AND_BUMP
    return aborts and must_bump_after_end(client.bump, setup.rules.transaction_version)


def _api(kind: int) -> int:
    if kind == Kind.INIT_PRODUCER_ID:
        return int(ApiKey.INIT_PRODUCER_ID)
    if kind == Kind.ADD_PARTITIONS:
        return int(ApiKey.ADD_PARTITIONS_TO_TXN)
    if kind == Kind.ADD_OFFSETS:
        return int(ApiKey.ADD_OFFSETS_TO_TXN)
    if kind == Kind.TXN_OFFSET_COMMIT:
        return int(ApiKey.TXN_OFFSET_COMMIT)
    return int(ApiKey.END_TXN)


def _ask_again(message: Message) -> None:
    message.answered = 0
    message.error = 0


def _hear_success(world: World, setup: Setup, trail: Trail, message: Message) -> None:
    kind, c, p = int(message.kind), int(message.client), int(message.partition)
    producer_id, producer_epoch, detail = int(message.producer_id), int(message.producer_epoch), int(message.detail)
    network.empty(message)
    client = world.clients[c]
    if kind == Kind.INIT_PRODUCER_ID:
        if client.state == ProducerState.ABORTING_TRANSACTION:
            client_actions.abandon(world, c)
        client_actions.adopt(client, producer_id, producer_epoch)
        client_actions.fire(world, trail, c, ProducerEvent.INITIALIZED)
    elif kind == Kind.ADD_PARTITIONS:
        client_actions.send_batch(world, c, p)
    elif kind == Kind.ADD_OFFSETS:
        client_actions.send_offset_commit(world, c)
    elif kind == Kind.TXN_OFFSET_COMMIT:
        world.ghost.labels[client_actions.label_of(world, c) - 1].acked |= 1 << OFFSETS
    else:
        if is_tv2(setup):
            client_actions.adopt(client, producer_id, producer_epoch)
        client_actions.ended(world, setup, trail, c, COMMIT if detail == 1 else ABORT)


def _hear_produce(world: World, setup: Setup, trail: Trail, message: Message, error: int) -> None:
    c = int(message.client)
    transactional = 1 if setup.bounds.transactional_id[c] >= 0 else 0
    reaction = react_to_produce(error, transactional, _is_next_expected(world, message), setup.rules)
    if reaction == Reaction.DONE:
        world.ghost.labels[message.label - 1].acked |= 1 << message.partition
        network.empty(message)
    elif reaction == Reaction.RETRY:
        _ask_again(message)
    elif reaction == Reaction.BUMP_LOCALLY:
        _bump_locally(world, c, message.partition)
    elif reaction == Reaction.FORGET_PRODUCER_ID:
        _forget_producer_id(world, trail, message)
    else:
        network.empty(message)
        _fail(world, setup, trail, c, reaction)


def _is_next_expected(world: World, message: Message) -> int:
    """Whether no earlier batch of the same client and partition is unacknowledged."""
    for other in world.messages:
        same = other.live == 1 and other.kind == Kind.PRODUCE and other.client == message.client
        if same and other.partition == message.partition and other.value < message.value:
            return 0
    return 1


def _bump_locally(world: World, c: int, p: int) -> None:
    """An idempotent producer raises its own epoch and renumbers what is in flight on the partition (§5.6)."""
    client = world.clients[c]
    client.producer_epoch += 1
    first = client.sequences[p]
    for i in range(MESSAGES):
        message = world.messages[i]
        if message.live == 1 and message.kind == Kind.PRODUCE and message.client == c and message.partition == p:
            first = min(first, message.value)
    for i in range(MESSAGES):
        message = world.messages[i]
        if message.live == 1 and message.kind == Kind.PRODUCE and message.client == c and message.partition == p:
            message.value -= first
            message.producer_epoch = client.producer_epoch
            _ask_again(message)
    for q in range(PARTITIONS):
        client.sequences[q] = client.sequences[q] - first if q == p else 0


def _forget_producer_id(world: World, trail: Trail, message: Message) -> None:
    """Before KIP-360 a gap ends the identity: the batch fails, and the client asks for a new producer id (§5.6).

    Every partition begins again at 0. What else is under way goes on as it is; its failures concern nobody any more.
    """
    c = int(message.client)
    client = world.clients[c]
    current = message.producer_id == client.producer_id and client.state == ProducerState.READY
    network.empty(message)
    if not current:
        return
    client_actions.fire(world, trail, c, ProducerEvent.RESET)
    client.producer_id = NONE
    client.producer_epoch = NONE
    for p in range(PARTITIONS):
        client.sequences[p] = 0


def _fail(world: World, setup: Setup, trail: Trail, c: int, reaction: int) -> None:
    """Only abort is left, or nothing at all."""
    client = world.clients[c]
    if client.state in (ProducerState.FATAL_ERROR, ProducerState.UNINITIALIZED):
        return
    if reaction == Reaction.FAIL_BATCH:
        return
    if reaction != Reaction.FATAL and client.state == ProducerState.ABORTING_TRANSACTION:
        return
    if reaction == Reaction.FATAL or client.state == ProducerState.READY:
        client_actions.fire(world, trail, c, ProducerEvent.FATAL_FAILURE)
        network.hang_up(world, c)
        return
    if reaction == Reaction.ABORTABLE_AND_BUMP and setup.rules.kip360 == 1:
        client.bump = 1
    client_actions.fire(world, trail, c, ProducerEvent.ABORTABLE_FAILURE)


def give_up(world: World, setup: Setup, trail: Trail, i: int) -> bool:
    """The delivery timeout of a batch: the client goes on without it, the batch stays in flight."""
    message = world.messages[i]
    if message.live == 0 or message.kind != Kind.PRODUCE or world.budget.late == 0:
        return False
    c = int(message.client)
    if world.clients[c].state not in (ProducerState.IN_TRANSACTION, ProducerState.ABORTABLE_ERROR):
        return False
    world.budget.late -= 1
    message.live = 0
    if message.answered == 1:
        network.empty(message)
    _fail(world, setup, trail, c, Reaction.ABORTABLE_AND_BUMP)
    return True
