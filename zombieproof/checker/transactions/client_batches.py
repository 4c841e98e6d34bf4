"""A client's batches and their sequences: what is in flight is messages, and a step is shown one partition at a time.

Of a partition the state keeps the next sequence only. What else a step asks is read off the messages in flight: under
which identity they were numbered, and which comes first. All before that one counts as acknowledged.
"""

from zombieproof.checker.transactions import network, replicas
from zombieproof.checker.transactions.capacities import MESSAGES, PARTITIONS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Overflow
from zombieproof.model.vocabulary import NONE, ApiKey, Error, LogEntry
from zombieproof.statemachines.producer import answers, batches, requests, sequences
from zombieproof.statemachines.producer.effects import Fate, clear
from zombieproof.statemachines.producer.records import (
    Answer,
    Batch,
    BatchAnswer,
    Joining,
    Numbering,
    ProducerHost,
    Request,
)


def host_of(setup: Setup, c: int) -> ProducerHost:
    """What the steps of client `c` are told besides the records; there are no clocks, so nothing is waited for."""
    return ProducerHost(setup.bounds.transactional_id[c] >= 0, setup.rules.transaction_version)


def _is_in_flight(message: Message, c: int, p: int) -> bool:
    return message.kind == Kind.PRODUCE and message.live and message.client == c and message.partition == p


def _first_in_flight(state: State, c: int, p: int, behind: int) -> int:
    """The batch in flight with the smallest sequence above `behind`, by its place; NONE if there is none."""
    first = NONE
    for i in range(MESSAGES):
        message = state.messages[i]
        follows = _is_in_flight(message, c, p) and message.value > behind
        if follows and (first == NONE or message.value < state.messages[first].value):
            first = i
    return first


def _look_at(state: State, trail: Trail, c: int, p: int) -> int:
    """Show the partition to a step, as `trail.numbering`; how many of its batches are in flight."""
    client, numbering = state.clients[c], trail.numbering
    sequences.forget(numbering)
    numbering.wants_bump = False
    numbering.known = True
    numbering.producer_id = int(client.producer_id)
    numbering.producer_epoch = int(client.producer_epoch)
    numbering.next_sequence = int(client.sequences[p])
    numbering.last_acked_sequence = numbering.next_sequence - 1
    # Where no log loses its beginning it holds what was acknowledged, whatever its leader has forgotten.
    numbering.last_acked_offset = 0
    first = _first_in_flight(state, c, p, NONE)
    if first == NONE:
        return 0
    numbering.producer_id = int(state.messages[first].producer_id)
    numbering.producer_epoch = int(state.messages[first].producer_epoch)
    numbering.last_acked_sequence = state.messages[first].value - 1
    if replicas.start_of(state, p) > 0:
        numbering.last_acked_offset = _offset_of(state, p, numbering)
    count = 0
    for message in state.messages:
        if _is_in_flight(message, c, p):
            count += 1
    return count


def _offset_of(state: State, p: int, numbering: Numbering) -> int:
    """The offset of the last batch of a producer that is acknowledged; NONE: none is."""
    found = NONE
    for offset in range(state.partitions[p].end):
        record = state.partitions[p].log[offset]
        is_of = record.producer_id == numbering.producer_id and record.producer_epoch == numbering.producer_epoch
        is_data = record.kind in (LogEntry.DATA, LogEntry.PLAIN)
        if is_of and is_data and record.value == numbering.last_acked_sequence:
            found = offset
    return found


def may_leave(state: State, setup: Setup, trail: Trail, c: int, p: int) -> bool:
    """Whether a new batch may leave once its partition has joined: none does behind one of an older identity."""
    in_flight = _look_at(state, trail, c, p)
    client = state.clients[c]
    return sequences.may_leave(client, trail.numbering, NONE, in_flight, NONE, Joining.JOINED, host_of(setup, c))


def is_followed(state: State, message: Message) -> bool:
    """Whether the client has another batch of this partition under way."""
    for other in state.messages:
        if _is_in_flight(other, int(message.client), int(message.partition)) and other.value > message.value:
            return True
    return False


def place_behind(state: State, c: int, p: int) -> int:
    """Where a batch that leaves now stands among those in flight (`Message.detail`): behind all of them."""
    last = 0
    for message in state.messages:
        if _is_in_flight(message, c, p) and message.detail > last:
            last = int(message.detail)
    return last


def _fall_behind(state: State, message: Message) -> None:
    """A batch that is sent again comes behind those of its partition that left after it."""
    c, p = int(message.client), int(message.partition)
    for other in state.messages:
        is_same = other.value == message.value
        if not is_same and _is_in_flight(other, c, p) and other.detail >= message.detail:
            message.detail = other.detail + 1


def _settle_places(state: State, c: int, p: int) -> None:
    """Places that say what the sequences say are forgotten."""
    for message in state.messages:
        for other in state.messages:
            both = _is_in_flight(message, c, p) and _is_in_flight(other, c, p)
            if both and message.value < other.value and message.detail > other.detail:
                return
    for message in state.messages:
        if _is_in_flight(message, c, p):
            message.detail = 0


def number(state: State, setup: Setup, trail: Trail, c: int, p: int) -> int:
    """A batch leaves for the first time: its sequence."""
    client, in_flight = state.clients[c], _look_at(state, trail, c, p)
    sequences.number(client, trail.numbering, 1, in_flight, setup.rules, trail.producer)
    client.sequences[p] = int(trail.numbering.next_sequence)
    return int(trail.producer.base_sequence)


def handle(state: State, setup: Setup, trail: Trail, message: Message, error: int) -> None:
    """The leader's answer to a batch reaches its client."""
    c, p = int(message.client), int(message.partition)
    _look_at(state, trail, c, p)
    clear(trail.producer)
    trail.subject = c
    answer = BatchAnswer(error, NONE, replicas.start_of(state, p))
    batches.handle_batch(
        state.clients[c], trail.numbering, _view(setup, message), answer, setup.rules, trail.producer, trail
    )
    if trail.producer.fate == Fate.REPEATED:
        network.ask_again(message)
        if setup.budget.refused > 0 and error != Error.NOT_LEADER_OR_FOLLOWER:
            # A leader that has lost its office says so of all that are under way to it.
            _fall_behind(state, message)
    else:
        if trail.producer.fate == Fate.STORED:
            state.ghost.labels[message.label - 1].acked |= 1 << p
        network.empty(message)
    if setup.budget.refused > 0:
        _settle_places(state, c, p)
    _carry_out(state, setup, trail, c, p)


def give_up(state: State, setup: Setup, trail: Trail, message: Message) -> None:
    """The delivery time of a batch is over: the client goes on without it, the batch stays on its way."""
    c, p = int(message.client), int(message.partition)
    _look_at(state, trail, c, p)
    clear(trail.producer)
    trail.subject = c
    batches.expire_batch(state.clients[c], trail.numbering, _view(setup, message), setup.rules, trail.producer, trail)
    message.live = False
    message.detail = 0
    if message.answered:
        network.empty(message)
    _carry_out(state, setup, trail, c, p)


def forget_partition(state: State, setup: Setup, trail: Trail, c: int, p: int) -> bool:
    """New metadata says that a partition is gone, or is another one: an idempotent client drops its sequences.

    The log is what it was: who said so was a broker behind the others, or was believed too late. Kafka's own producer
    keeps sequences by the name of a partition, and never does this; others do (franz-go, librdkafka).
    """
    if c >= setup.bounds.clients or setup.bounds.transactional_id[c] >= 0:
        return False
    client, in_flight = state.clients[c], _look_at(state, trail, c, p)
    if client.producer_id == NONE or (in_flight == 0 and client.sequences[p] == 0):
        return False
    state.budget.forgotten_partitions -= 1
    clear(trail.producer)
    trail.subject = c
    batches.forget_partition(client, trail.numbering, setup.rules, trail.producer, trail)
    asks = bool(trail.producer.sends_init)
    _carry_out(state, setup, trail, c, p)
    if asks:
        _grant(state, setup, trail, c)
    return True


def _view(setup: Setup, message: Message) -> Batch:
    transactional = setup.bounds.transactional_id[message.client] >= 0
    return Batch(transactional, int(message.producer_id), int(message.value))


def _carry_out(state: State, setup: Setup, trail: Trail, c: int, p: int) -> None:
    """What the step about a batch of partition `p` wants.

    Later batches are not shifted down and nothing is left unresolved (``omissions``). A raised epoch waits for nothing.
    """
    if trail.producer.gives_up:
        network.hang_up(state, c)
    if trail.producer.forgets_partition:
        state.clients[c].sequences[p] = 0
    if trail.producer.forgets_sequences:
        forget_sequences(state, c)
    if trail.numbering.wants_bump:
        _raise_locally(state, setup, trail, c, p)


def forget_sequences(state: State, c: int) -> None:
    """Every partition begins again at 0."""
    for p in range(PARTITIONS):
        state.clients[c].sequences[p] = 0


def _raise_locally(state: State, setup: Setup, trail: Trail, c: int, p: int) -> None:
    """The epoch is raised because of partition `p`: what is in flight there is numbered anew, the others begin at 0."""
    clear(trail.producer)
    keep_identity(state, setup, trail, c)
    sequences.restart_if_wanted(state.clients[c], trail.numbering, trail.producer)
    i = _first_in_flight(state, c, p, NONE)
    while i != NONE:
        message = state.messages[i]
        i = _first_in_flight(state, c, p, int(message.value))
        sequences.take_number(trail.numbering, 1, setup.rules, trail.producer)
        message.producer_id = int(trail.producer.producer_id)
        message.producer_epoch = int(trail.producer.producer_epoch)
        message.value = int(trail.producer.base_sequence)
        message.detail = 0
        network.ask_again(message)
    forget_sequences(state, c)
    state.clients[c].sequences[p] = int(trail.numbering.next_sequence)


def keep_identity(state: State, setup: Setup, trail: Trail, c: int) -> None:
    """Without a transactional id any broker grants a producer id, at once."""
    client = state.clients[c]
    wants_bump = trail.numbering.wants_bump
    requests.keep_identity(client, wants_bump, setup.rules, trail.producer, trail)
    if trail.producer.sends_init:
        _grant(state, setup, trail, c)


def _grant(state: State, setup: Setup, trail: Trail, c: int) -> None:
    client = state.clients[c]
    if state.next_producer_id >= len(state.group.pending):
        state.overflow = Overflow.PRODUCER_IDS
        return
    granted = Answer(int(Error.NONE), int(state.next_producer_id), 0)
    state.next_producer_id += 1
    asked = Request(int(ApiKey.INIT_PRODUCER_ID), 0, False, False, False, False)
    answers.handle(client, asked, granted, 0, host_of(setup, c), setup.rules, trail.producer, trail)
