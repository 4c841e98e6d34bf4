"""The steps of a twin: what clients do, what becomes of messages, what readers read."""

import pickle

from zombieproof.bridge import commands
from zombieproof.bridge.commands import COORDINATORS
from zombieproof.bridge.faults import BUDGETS, inject
from zombieproof.bridge.flights import COORDINATOR_NODES, InFlight, Sent
from zombieproof.bridge.names import leading_log
from zombieproof.bridge.requests import (
    DATA,
    GROUP,
    INPUT,
    names_partition,
)
from zombieproof.bridge.twin import Twin, copied
from zombieproof.broker.cluster.network import CLIENT, Answer
from zombieproof.checker.transactions import (
    actions,
    client_actions,
    client_answers,
    network,
    questions_under_way,
    replies,
)
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.state import MESSAGES, Kind, Message, Op, Stage, State, Trail
from zombieproof.checker.transactions.views import is_tv2
from zombieproof.messages.groups import OffsetFetch, OffsetFetchAnswer, OffsetsCommitted
from zombieproof.messages.partitions import ProduceAnswer
from zombieproof.messages.transactions import (
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxnAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
)
from zombieproof.model.records import PendingOffset
from zombieproof.model.vocabulary import NONE, Error, ProducerState, TransactionState

AT_MESSAGES = (Action.DELIVER, Action.LOSE_ANSWER, Action.UNKNOWN_APPEND)
BY_THE_CHECKER = (Action.STEP, Action.ABORT_INSTEAD, Action.CRASH, Action.GIVE_UP, Action.DOUBLE)
"""What clients do, and the network with a client's request: done by the checker, followed by the cluster."""


def may_try(twin: Twin, action: int) -> bool:
    """Whether the environment lets an action happen; whether it does anything is seen when it is tried."""
    kind, i = Action(ACTIONS[action][0]), ACTIONS[action][1]
    if kind == Action.STEP and _is_about_to_fetch(twin, i):
        return True
    if kind in BY_THE_CHECKER:
        state, trail = twin.scratch
        tried = actions.step(state, action, twin.setup, trail)
        if tried:
            twin.scratch = copied(twin.state), Trail()
        return tried
    if kind in AT_MESSAGES:
        return _may_reach(twin, kind, i)
    if kind == Action.DISCONNECT:
        return twin.setup.bounds.verification_queue == 1 and twin.beside.budget.lost > 0
    if kind == Action.RESIGN:
        return i != twin.state.coordinator and twin.state.nodes[i].believes
    if kind == Action.ELECT:
        return i in twin.beside.lost
    if kind in (Action.READ_ONE, Action.READ_ALL):
        return i < len(twin.beside.consumers)
    return kind in BUDGETS and int(getattr(twin.beside.budget, BUDGETS[kind])) > 0


def step(twin: Twin, action: int) -> bool:
    """Take an action that may be tried; False if nothing came of it, and the twin is to be thrown away."""
    kind, i = Action(ACTIONS[action][0]), ACTIONS[action][1]
    if kind in BY_THE_CHECKER:
        return _by_the_checker(twin, action, kind, i)
    if kind in AT_MESSAGES:
        return _reach(twin, kind, i)
    if kind == Action.DISCONNECT:
        return _disconnect(twin, i)
    return _read(twin, kind, i) if kind in (Action.READ_ONE, Action.READ_ALL) else inject(twin, kind, i)


def _by_the_checker(twin: Twin, action: int, kind: Action, i: int) -> bool:
    state = copied(twin.state)
    if kind == Action.STEP and _is_about_to_fetch(twin, i) and not _fetch_offset(twin, state):
        return False
    if not actions.step(state, action, twin.setup, Trail()):
        return False
    _tell_producers(twin, kind, i)
    twin.take(state)
    twin.follow(state)
    return True


def _tell_producers(twin: Twin, kind: Action, i: int) -> None:
    """What the checker's client does, or what happens to it, happens to the live producer as well."""
    producers = twin.beside.producers
    if producers is None:
        return
    if kind in (Action.STEP, Action.ABORT_INSTEAD):
        member = twin.beside.members[i] if twin.beside.members[i:] else ""
        producers.step(twin.state, i, kind == Action.ABORT_INSTEAD, twin.around_producers(), member)
    elif kind == Action.CRASH:
        producers.crash(i)
    elif kind == Action.GIVE_UP:
        flight = twin.flights[i]
        assert flight is not None, "what is given up is in flight"
        producers.give_up(flight.request, twin.around_producers())


def _is_about_to_fetch(twin: Twin, c: int) -> bool:
    client, bounds = twin.state.clients[c], twin.setup.bounds
    if c >= bounds.clients or client.txn >= bounds.transactions[c] or twin.state.group.owner != c:
        return False
    return client.state == ProducerState.READY and client_actions.next_op(twin.setup, client, c) == Op.FETCH


def _fetch_offset(twin: Twin, state: State) -> bool:
    """The input position is what the live group says; False while that is unstable. In `state` it is told."""
    node = twin.cluster.group_coordinator_of(GROUP)
    assert node is not None, "the group's coordinator fails over at once"
    answer = commands.ask(twin.cluster, OffsetFetch(7, GROUP, True, (INPUT,)), node)
    assert isinstance(answer, OffsetFetchAnswer)
    row = answer.partitions[INPUT]
    state.group.committed.offset = 0 if row.offset == NONE else row.offset
    state.group.pending = [PendingOffset() for _ in state.group.pending]
    return row.error == Error.NONE


def _may_reach(twin: Twin, kind: Action, i: int) -> bool:
    """Whether the network lets it happen: the budgets, and the order of what shares a connection."""
    message, budget = twin.state.messages[i], twin.beside.budget
    if message.kind == Kind.EMPTY or actions._repeats(twin.state, i):
        return False
    has_leader = twin.state.partitions[message.partition].leader
    if message.kind == Kind.MARKER:
        may_lose = kind == Action.LOSE_ANSWER and budget.lost > 0 and message.live
        return has_leader and (kind == Action.DELIVER or may_lose)
    if message.stage == Stage.WAITING:
        return False
    to_leader = names_partition(message.kind) and message.stage not in (Stage.TO_COORDINATOR, Stage.ABANDONED)
    if to_leader and (not has_leader or actions._is_behind_another(twin.state, message)):
        return False
    if kind == Action.LOSE_ANSWER:
        return budget.lost > 0 and message.live and message.stage != Stage.TO_COORDINATOR
    if kind == Action.UNKNOWN_APPEND:
        for_coordinator = network.speaks_to_coordinator(message.kind) or message.stage == Stage.TO_COORDINATOR
        here = message.node == twin.state.coordinator
        return budget.unknown_appends > 0 and message.live and for_coordinator and here
    return True


def _reach(twin: Twin, kind: Action, i: int) -> bool:
    """The message in slot `i` arrives, and so does the answer, unless it is lost."""
    flight = twin.flights[i]
    assert flight is not None
    ends = len(leading_log(twin.cluster, COORDINATORS))
    if kind == Action.UNKNOWN_APPEND:
        twin.beside.budget.unknown_appends -= 1
        _append_unknown(twin, flight)
    else:
        commands.deliver(twin.cluster, flight.live)
    twin.remember_decisions(ends, twin.state.messages[i])
    if kind == Action.LOSE_ANSWER:
        twin.beside.budget.lost -= 1
    if flight.message.kind == Kind.MARKER:
        _answer_marker(twin, flight, kind == Action.LOSE_ANSWER)
    elif flight.message.stage == Stage.ABANDONED:
        commands.forget_answer(twin.cluster, flight.live)
        del twin.beside.sent[flight.request]
    else:
        _answer_client(twin, flight, kind == Action.LOSE_ANSWER)
    return True


def _disconnect(twin: Twin, place: int) -> bool:
    """A leader's connection to a coordinator breaks while an answer is awaited; a question that only asks is over."""
    asked = (Stage.TO_COORDINATOR, Stage.BACK_TO_LEADER)
    for flight in twin.flights:
        if flight is None or flight.message.stage not in asked or flight.message.kind == Kind.MARKER:
            continue
        if questions_under_way.place_of(flight.message.partition, flight.message.node) != place:
            continue
        twin.beside.budget.lost -= 1
        left = commands.disconnect(twin.cluster, flight.live)
        if left is not None and is_tv2(twin.setup):
            twin.beside.sent[left.number] = Sent(flight.message.client, flight.message.label, waits=False)
        elif left is not None:
            twin.cluster.network.in_flight.remove(left)
        _answer_client(twin, flight, is_lost=False)
        return True
    return False


def _append_unknown(twin: Twin, flight: InFlight) -> None:
    """The fault is in the append that the request itself asks for, not the abort behind a fence."""
    trial = pickle.loads(pickle.dumps(twin.cluster, pickle.HIGHEST_PROTOCOL))
    commands.journal_of(trial).clear()
    commands.deliver(trial, flight.live)
    if any(move.target == TransactionState.PREPARE_EPOCH_FENCE for move in commands.journal_of(trial).moves):
        commands.deliver(twin.cluster, flight.live)
    else:
        commands.append_unknown(twin.cluster, flight.live)


def _answer_marker(twin: Twin, flight: InFlight, is_lost: bool) -> None:
    answer = commands.answer_to(twin.cluster, flight.live)
    assert answer is not None, "a leader answers a marker at once"
    if is_lost:
        twin.cluster.network.lose(answer)
        answer = commands.answer_to(twin.cluster, flight.live)
        assert answer is not None
    commands.deliver(twin.cluster, answer)
    twin.cluster.resend_markers()


def _answer_client(twin: Twin, flight: InFlight, is_lost: bool) -> None:
    """What a client is told now, if it is told anything: the checker's clients make of it what they make of it."""
    told = next((each for each in twin.cluster.network.in_flight if each.receiver == CLIENT), None)
    if told is None:
        return
    if told.number != flight.request:
        flight, is_lost = _outrun(twin, told.number, flight), False
    i = next(slot for slot, each in enumerate(twin.flights) if each is flight)
    twin.cluster.network.in_flight.remove(told)
    facts = twin.beside.sent.pop(flight.request)
    if not facts.waits:
        return
    twin.beside.names.update(twin.cluster, twin.beside.lost)
    _answer_producer(twin, flight, told.body, is_lost)
    state = _listening(twin, i)
    message = state.messages[i]
    if is_lost:
        replies.restore_request(state, message)
    else:
        assert isinstance(told.body, Answer), "a broker that was asked lives, and answers"
        client_answers.handle(state, twin.setup, Trail(), i, _told(twin, told.body, message))
    twin.take(state)
    twin.follow(state, answered=i)


def _answer_producer(twin: Twin, flight: InFlight, told: object, is_lost: bool) -> None:
    """The live producer hears what the checker's client hears.

    Of a lost answer the checker's client asks the same node again: the look-up before that says nothing new.
    """
    producers, around = twin.beside.producers, twin.around_producers()
    if producers is None:
        return
    if not is_lost:
        producers.answered(flight.request, told, around)
    elif names_partition(flight.message.kind):
        producers.lost(flight.request, around)
    else:
        producers.lost(flight.request, around._replace(coordinator=COORDINATOR_NODES[flight.message.node]))


def _outrun(twin: Twin, number: int, newer: InFlight) -> InFlight:
    """The request whose question has given its place in a leader's channel to the one of `newer`."""
    older = next(each for each in twin.flights if each is not None and each.request == number)
    assert older.message.stage == Stage.WAITING, "only who asked, or is replaced, is answered"
    if older.message.producer_epoch < newer.message.producer_epoch:
        twin.beside.ghost.outrun = True
    return older


def _listening(twin: Twin, i: int) -> State:
    """The state as a client finds it that is about to be answered."""
    state = twin.brokers()
    for slot in range(MESSAGES):
        network.copy(twin.state.messages[slot], state.messages[slot])
    message = state.messages[i]
    message.stage, message.error, message.guard = Stage.TO_LEADER, Error.NONE, 0
    if names_partition(message.kind):
        message.node = 0
    return state


def _told(twin: Twin, answer: Answer, message: Message) -> int:
    """The error of an answer; what it grants is left in the message."""
    match answer:
        case InitProducerIdAnswer() | EndTxnAnswer():
            if answer.error == Error.NONE and answer.producer_id != NONE:
                message.producer_id = twin.beside.names.producer_id(answer.producer_id)
                message.producer_epoch = answer.producer_epoch
            return answer.error
        case AddPartitionsToTxnAnswer():
            return answer.error or next(iter(answer.transactions[0].errors.values()))
        case AddOffsetsToTxnAnswer():
            return answer.error
        case ProduceAnswer():
            return answer.partitions[DATA[message.partition]].error
        case OffsetsCommitted():
            return answer.errors[INPUT]
        case _:
            raise AssertionError(f"{answer!r} answers no request of a client")


def _read(twin: Twin, kind: Action, r: int) -> bool:
    """A consumer reads; a fetch that ends behind the first batch is one of its own only if there is more."""
    consumer = twin.beside.consumers[r]
    found = len(commands.fetch(twin.cluster, consumer.reader).batches)
    if found == 0 or (kind == Action.READ_ONE and found == 1):
        return False
    read = commands.read_one if kind == Action.READ_ONE else commands.read_all
    for record in read(twin.cluster, consumer.reader):
        consumer.delivered |= 1 << record.offset
    return True
