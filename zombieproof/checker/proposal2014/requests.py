"""Requests of instances: which one is under way, and what comes of it at the coordinator or at a leader."""

from zombieproof.checker.proposal2014.state import ABORTED, COMMITTED, LATE, Setup, State, Trail
from zombieproof.model.fields import exchange
from zombieproof.model.proposal2014.records import LOG, OFFSETS, PRODUCERS, Request
from zombieproof.model.proposal2014.vocabulary import (
    Answer,
    ProducerEvent,
    ProducerState,
    RequestKind,
    TransactionState,
)
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.proposal2014 import coordinator, leader, producer
from zombieproof.statemachines.proposal2014.leader import committed_position

NO_TRANSACTIONS_LEFT = 1
NO_RECORDS_LEFT = 2


def producer_of(setup: Setup, i: int) -> int:
    """The producerId of an instance."""
    return i if setup.own_ids == 1 else 0


def messages_of(setup: Setup) -> int:
    """How many records a transaction has: of each partition of data, and the input offsets of a group."""
    return int(setup.partitions * setup.records + setup.grouped)


def is_waiting(state: State, setup: Setup, i: int) -> bool:
    """Whether an instance has a request under way."""
    instance = state.instances[i]
    if instance.state == ProducerState.IN_TRANSACTION:
        return bool(instance.sent < messages_of(setup))
    return instance.state in (ProducerState.BEGINNING, ProducerState.COMMITTING, ProducerState.ABORTING)


def ask(state: State, setup: Setup, i: int, request: Request) -> None:
    """Write down the request that an instance has under way."""
    instance = state.instances[i]
    clear(request)
    request.instance = i
    request.producer = producer_of(setup, i)
    request.generation = instance.generation
    request.transaction = instance.transaction
    if instance.state == ProducerState.BEGINNING:
        request.chosen = instance.chosen
        request.kind = int(RequestKind.BEGIN)
        request.partitions = (1 << setup.partitions) - 1 + (setup.grouped << OFFSETS)
    elif instance.state == ProducerState.IN_TRANSACTION:
        request.kind = int(RequestKind.PAYLOAD)
        request.block = instance.block
        if instance.sent == setup.partitions * setup.records:
            request.partition = OFFSETS
        else:
            request.partition = instance.sent % setup.partitions
            request.number = instance.sent // setup.partitions
    else:
        commits = instance.state == ProducerState.COMMITTING
        request.kind = int(RequestKind.COMMIT if commits else RequestKind.ABORT)


def clear(request: Request) -> None:
    """There is no request."""
    request.kind = int(RequestKind.NOTHING)
    request.instance = 0
    request.producer = 0
    request.generation = 0
    request.transaction = 0
    request.partitions = 0
    request.partition = 0
    request.block = 0
    request.number = 0
    request.chosen = 0


def answer(state: State, setup: Setup, trail: Trail, request: Request) -> int:
    """Have a request answered; a Begin leaves its TxId in it."""
    rules = setup.rules
    if request.kind == RequestKind.BEGIN:
        begins = coordinator.begin(state.coordinator, state.journal, request, rules, trail)
        if begins.answer == Answer.DONE and begins.transaction == NONE:
            state.full = NO_TRANSACTIONS_LEFT
        request.transaction = max(begins.transaction, 0)
        return begins.answer
    if request.kind == RequestKind.PAYLOAD:
        return _append(state, setup, trail, request)
    return coordinator.end(state.coordinator, state.journal, request, rules, trail)


def _append(state: State, setup: Setup, trail: Trail, request: Request) -> int:
    log = state.logs[request.partition]
    if log.end == LOG:
        state.full = NO_RECORDS_LEFT
        return int(Answer.NO_ANSWER)
    said = leader.append_payload(state.leaders[request.partition], log, request, setup.rules, trail)
    if said == Answer.DONE:
        at = request.partition * PRODUCERS + request.producer
        state.is_outrun = state.is_outrun or request.generation < state.newest[at]
        state.newest[at] = max(state.newest[at], request.generation)
    return said


def hear(state: State, setup: Setup, trail: Trail, i: int, said: int) -> None:
    """An instance hears its answer, or that there is none. A commit takes the generation with it."""
    instance = state.instances[i]
    t = int(instance.transaction)
    generation = int(instance.generation)
    trail.subject = i
    event = producer.answered(instance, said, int(trail.request.transaction), setup.grouped == 1, setup.rules, trail)
    if event == ProducerEvent.HEAR_COMMITTED:
        state.told[t] = COMMITTED
    elif event == ProducerEvent.HEAR_ABORTED:
        state.told[t] = ABORTED
    if event == ProducerEvent.HEAR_COMMITTED and setup.rules.starts_store_their_generation == 0:
        at = producer_of(setup, i)
        state.stored[at] = max(state.stored[at], generation)


def fetches(setup: Setup) -> bool:
    """Whether an instance asks where its group is when it has a TxId."""
    return producer.fetches(setup.grouped == 1, setup.rules)


def is_told(state: State, setup: Setup) -> bool:
    """Whether it is told where its group is."""
    return setup.grouped == 0 or producer.may_ask(state.leaders[OFFSETS].offsets != 0, setup.rules)


def may_begin(state: State, setup: Setup, i: int) -> bool:
    """Whether there seems to be a block left, and an instance that asks before it begins is told where its group is."""
    if setup.grouped == 0:
        return bool(state.instances[i].done < setup.blocks)
    past = past_of_group(setup, i)
    if state.instances[i].done >= past:
        return False
    return (fetches(setup) or is_told(state, setup)) and next_block(state, setup, i) < past


def past_of_group(setup: Setup, i: int) -> int:
    """The block behind the input of an instance's group."""
    return int(setup.blocks * (i + 1 if setup.groups > 1 else 1))


def next_block(state: State, setup: Setup, i: int) -> int:
    """The block that an instance copies next: where its group is, or where it is itself."""
    if setup.grouped == 1:
        past = past_of_group(setup, i)
        return committed_position(state.logs[OFFSETS], past - setup.blocks, past, setup.rules)
    return int(i * setup.blocks + state.instances[i].done)


def is_left_alone(state: State, setup: Setup, t: int) -> bool:
    """Whether nobody is in a transaction that has begun, and nobody is about to be."""
    transaction = state.coordinator.transactions[t]
    for i in range(setup.instances):
        instance = state.instances[i]
        is_in = instance.state >= ProducerState.FETCHING and instance.state <= ProducerState.ABORTING
        if is_in and instance.transaction == t:
            return False
        is_its = transaction.producer == producer_of(setup, i) and transaction.generation == instance.generation
        if is_its and instance.state == ProducerState.BEGINNING and setup.rules.begin_is_deduplicated == 1:
            return False
    return bool(transaction.state == TransactionState.BEGUN)


def keep_late(state: State, request: Request) -> bool:
    """A request is under way on its own, and no longer where it was: False where there is no room for it."""
    for place in range(LATE):
        late = state.late[place]
        if late.kind == RequestKind.NOTHING:
            exchange(late, request)
            return True
    return False
