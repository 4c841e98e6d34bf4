"""A client's batches and their sequences: what is in flight is messages, and a step is shown one partition at a time.

Of a partition the world keeps the next sequence only. What else a step asks is read off the messages in flight: under
which identity they were numbered, and which comes first. All before that one counts as acknowledged.
"""

from zombieproof.checker.transactions import network
from zombieproof.checker.transactions.world import (
    MESSAGES,
    PARTITIONS,
    PRODUCER_IDS,
    Kind,
    Message,
    Overflow,
    Setup,
    Trail,
    World,
)
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.statemachines.producer import answers, batches, requests, sequences
from zombieproof.statemachines.producer.effects import Fate, clear
from zombieproof.statemachines.producer.records import Answer, Batch, BatchAnswer, Joining, ProducerHost, Request


def host_of(setup: Setup, c: int) -> ProducerHost:
    """What the steps of client `c` are told besides the records; there are no clocks, so nothing is waited for."""
    return ProducerHost(setup.bounds.transactional_id[c] >= 0, setup.rules.transaction_version)


def _is_in_flight(message: Message, c: int, p: int) -> bool:
    return message.kind == Kind.PRODUCE and message.live == 1 and message.client == c and message.partition == p


def _first_in_flight(world: World, c: int, p: int, behind: int) -> int:
    """The batch in flight with the smallest sequence above `behind`, by its place; NONE if there is none."""
    first = NONE
    for i in range(MESSAGES):
        message = world.messages[i]
        follows = _is_in_flight(message, c, p) and message.value > behind
        if follows and (first == NONE or message.value < world.messages[first].value):
            first = i
    return first


def _look_at(world: World, trail: Trail, c: int, p: int) -> int:
    """Show the partition to a step, as `trail.numbering`; how many of its batches are in flight."""
    client, numbering = world.clients[c], trail.numbering
    sequences.forget(numbering)
    numbering.wants_bump = False
    numbering.known = True
    numbering.producer_id = int(client.producer_id)
    numbering.producer_epoch = int(client.producer_epoch)
    numbering.next_sequence = int(client.sequences[p])
    numbering.last_acked_sequence = numbering.next_sequence - 1
    # No log loses its beginning: whatever a leader has forgotten, its log still holds what was acknowledged.
    numbering.last_acked_offset = 0
    first = _first_in_flight(world, c, p, NONE)
    if first == NONE:
        return 0
    numbering.producer_id = int(world.messages[first].producer_id)
    numbering.producer_epoch = int(world.messages[first].producer_epoch)
    numbering.last_acked_sequence = world.messages[first].value - 1
    count = 0
    for message in world.messages:
        if _is_in_flight(message, c, p):
            count += 1
    return count


def may_leave(world: World, setup: Setup, trail: Trail, c: int, p: int) -> bool:
    """Whether a new batch may leave once its partition has joined: none does behind one of an older identity."""
    in_flight = _look_at(world, trail, c, p)
    client = world.clients[c]
    return sequences.may_leave(client, trail.numbering, NONE, in_flight, NONE, Joining.JOINED, host_of(setup, c))


def number(world: World, setup: Setup, trail: Trail, c: int, p: int) -> int:
    """A batch leaves for the first time: its sequence."""
    client, in_flight = world.clients[c], _look_at(world, trail, c, p)
    sequences.number(client, trail.numbering, 1, in_flight, setup.rules, trail.producer)
    client.sequences[p] = int(trail.numbering.next_sequence)
    return int(trail.producer.base_sequence)


def hear(world: World, setup: Setup, trail: Trail, message: Message, error: int) -> None:
    """The leader's answer to a batch reaches its client."""
    c, p = int(message.client), int(message.partition)
    _look_at(world, trail, c, p)
    clear(trail.producer)
    trail.subject = c
    answer = BatchAnswer(error, NONE, 0)
    batches.hear_batch(
        world.clients[c], trail.numbering, _view(setup, message), answer, setup.rules, trail.producer, trail
    )
    if trail.producer.fate == Fate.REPEATED:
        network.ask_again(message)
    else:
        if trail.producer.fate == Fate.STORED:
            world.ghost.labels[message.label - 1].acked |= 1 << p
        network.empty(message)
    _carry_out(world, setup, trail, c, p)


def give_up(world: World, setup: Setup, trail: Trail, message: Message) -> None:
    """The delivery time of a batch is over: the client goes on without it, the batch stays on its way."""
    c, p = int(message.client), int(message.partition)
    _look_at(world, trail, c, p)
    clear(trail.producer)
    trail.subject = c
    batches.expire_batch(world.clients[c], trail.numbering, _view(setup, message), setup.rules, trail.producer, trail)
    message.live = 0
    if message.answered == 1:
        network.empty(message)
    _carry_out(world, setup, trail, c, p)


def _view(setup: Setup, message: Message) -> Batch:
    transactional = setup.bounds.transactional_id[message.client] >= 0
    return Batch(transactional, int(message.producer_id), int(message.value))


def _carry_out(world: World, setup: Setup, trail: Trail, c: int, p: int) -> None:
    """What the step about a batch of partition `p` wants.

    Later batches are not shifted down and nothing is left unresolved (``omissions``). A raised epoch waits for nothing.
    """
    if trail.producer.gives_up == 1:
        network.hang_up(world, c)
    if trail.producer.forgets_partition == 1:
        world.clients[c].sequences[p] = 0
    if trail.producer.forgets_sequences == 1:
        forget_sequences(world, c)
    if trail.numbering.wants_bump == 1:
        _raise_locally(world, setup, trail, c, p)


def forget_sequences(world: World, c: int) -> None:
    """Every partition begins again at 0."""
    for p in range(PARTITIONS):
        world.clients[c].sequences[p] = 0


def _raise_locally(world: World, setup: Setup, trail: Trail, c: int, p: int) -> None:
    """The epoch is raised because of partition `p`: what is in flight there is numbered anew, the others begin at 0."""
    clear(trail.producer)
    keep_identity(world, setup, trail, c)
    sequences.restart_if_wanted(world.clients[c], trail.numbering, trail.producer)
    i = _first_in_flight(world, c, p, NONE)
    while i != NONE:
        message = world.messages[i]
        i = _first_in_flight(world, c, p, int(message.value))
        sequences.take_number(trail.numbering, 1, setup.rules, trail.producer)
        message.producer_id = int(trail.producer.producer_id)
        message.producer_epoch = int(trail.producer.producer_epoch)
        message.value = int(trail.producer.base_sequence)
        network.ask_again(message)
    forget_sequences(world, c)
    world.clients[c].sequences[p] = int(trail.numbering.next_sequence)


def keep_identity(world: World, setup: Setup, trail: Trail, c: int) -> None:
    """Without a transactional id any broker grants a producer id, at once."""
    client = world.clients[c]
    wants_bump = trail.numbering.wants_bump
    requests.keep_identity(client, wants_bump, setup.rules, trail.producer, trail)
    if trail.producer.sends_init == 0:
        return
    if world.next_producer_id >= PRODUCER_IDS:
        world.overflow = Overflow.PRODUCER_IDS
        return
    granted = Answer(int(Error.NONE), int(world.next_producer_id), 0)
    world.next_producer_id += 1
    asked = Request(int(ApiKey.INIT_PRODUCER_ID), 0, False, False, False, False)
    answers.hear(client, asked, granted, 0, host_of(setup, c), setup.rules, trail.producer, trail)
