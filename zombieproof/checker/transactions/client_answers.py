"""What a client makes of an answer, or of waiting too long for one."""

from zombieproof.checker.transactions import asked_again, client_actions, client_batches, network
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.client_actions import ABORT, COMMIT
from zombieproof.checker.transactions.client_batches import host_of
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.views import is_tv2
from zombieproof.checker.transactions.vocabulary import Kind
from zombieproof.model.vocabulary import NONE, ApiKey, Error, ProducerState
from zombieproof.statemachines.producer import answers, calls
from zombieproof.statemachines.producer.effects import Joins, Settlement, clear
from zombieproof.statemachines.producer.records import Answer, Request


def handle(state: State, setup: Setup, trail: Trail, i: int, error: int) -> None:
    """The answer to message `i` reaches its client."""
    message = state.messages[i]
    c = int(message.client)
    if message.kind == Kind.PRODUCE:
        client_batches.handle(state, setup, trail, message, error)
        _stop_unless_fenced(state, setup, c, error)
        return
    client = state.clients[c]
    was_aborting = client.state == ProducerState.ABORTING_TRANSACTION
    clear(trail.producer)
    trail.subject = c
    answers.handle(
        client,
        _request(setup, message),
        _answer(setup, message, error),
        0,
        host_of(setup, c),
        setup.rules,
        trail.producer,
        trail,
    )
    if trail.producer.looks_up:
        client.node = state.coordinator
        message.node = state.coordinator if network.speaks_to_coordinator(message.kind) else 0
    if trail.producer.repeats:
        network.ask_again(message)
        if len(state.outdated) > 0 and answers.rebuilds_topic_ids(message.kind == Kind.TXN_OFFSET_COMMIT, setup.rules):
            state.outdated[c] = False
        return
    kind, p, committed = int(message.kind), int(message.partition), message.detail == 1
    network.empty(message)
    if trail.producer.gives_up:
        network.hang_up(state, c)
    if trail.producer.adopts:
        client_batches.forget_sequences(state, c)
    if kind == Kind.END_TXN:
        _handle_end(state, setup, trail, c, COMMIT if committed else ABORT)
    elif kind == Kind.INIT_PRODUCER_ID:
        if was_aborting and trail.producer.settles == Settlement.SUCCEEDS:
            # The end was refused (until 3.9), and what had joined counts as joined still.
            asked_again.hear(state, c, ABORT)
    elif trail.producer.joins == Joins.JOIN:
        client.added |= 1 << p
        client_actions.send_batch(state, setup, trail, c, p)
    elif trail.producer.sends == ApiKey.TXN_OFFSET_COMMIT:
        client_actions.send_offset_commit(state, c)
    elif kind == Kind.TXN_OFFSET_COMMIT and trail.producer.settles == Settlement.SUCCEEDS:
        state.ghost.labels[client_actions.label_of(state, c) - 1].acked |= 1 << OFFSETS
    _stop_unless_fenced(state, setup, c, error)


def _stop_unless_fenced(state: State, setup: Setup, c: int, error: int) -> None:
    """An application that is restarted after fencing stops for good after any other fatal error, as Streams does."""
    client = state.clients[c]
    if setup.bounds.restarts == 0 or client.state != ProducerState.FATAL_ERROR:
        return
    if error not in (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH):
        client.txn = setup.bounds.transactions[c]
        client.op = 0


def _handle_end(state: State, setup: Setup, trail: Trail, c: int, outcome: int) -> None:
    if trail.producer.ends:
        asked_again.hear(state, c, outcome)
        state.clients[c].added = 0
    client_actions.raise_epoch(state, setup, trail, c)


def _request(setup: Setup, message: Message) -> Request:
    """The request as a step reads it: `detail` says of EndTxn whether it commits, of InitProducerId what it raises."""
    api, version = _api(message.kind), int(setup.rules.transaction_version)
    committed = message.kind == Kind.END_TXN and message.detail == 1
    raises_epoch = message.kind == Kind.INIT_PRODUCER_ID and message.detail == 1
    return Request(api, version, committed, raises_epoch)


def _answer(setup: Setup, message: Message, error: int) -> Answer:
    """The answer as a step reads it: before TV2 the one to EndTxn names no identity."""
    if message.kind == Kind.END_TXN and not is_tv2(setup):
        return Answer(error, NONE, NONE)
    return Answer(error, int(message.producer_id), int(message.producer_epoch))


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


def give_up(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    """A client stops waiting: for a batch, and goes on without it, or for the end of its transaction.

    What it has sent stays in flight. Who waits for an end is told first that the time is over (``asked_again``); one
    whose time is over already, or is not told of it, closes its producer.
    """
    message = state.messages[i]
    if not message.live:
        return False
    if message.kind == Kind.END_TXN:
        if asked_again.times_out(state, message.client):
            asked_again.time_out(state, message.client, message.detail == 1)
            return True
        return _give_end_up(state, setup, trail, int(message.client))
    if message.kind != Kind.PRODUCE or state.budget.late == 0:
        return False
    if state.clients[message.client].state not in (ProducerState.IN_TRANSACTION, ProducerState.ABORTABLE_ERROR):
        return False
    state.budget.late -= 1
    client_batches.give_up(state, setup, trail, message)
    return True


def _give_end_up(state: State, setup: Setup, trail: Trail, c: int) -> bool:
    """The application has waited for the end of its transaction for too long: it closes its producer by force.

    It is told nothing of the outcome: to a caller of ``KafkaProducer.commitTransaction`` a TimeoutException says that
    no answer came, and not that the request did not arrive. A new instance takes over.
    """
    if state.budget.ends_given_up == 0:
        return False
    state.budget.ends_given_up -= 1
    clear(trail.producer)
    trail.subject = c
    calls.close_by_force(state.clients[c], trail.producer, trail)
    client_actions.begin_anew(state, c, True, setup.bounds.keeps_position == 1)
    return True
