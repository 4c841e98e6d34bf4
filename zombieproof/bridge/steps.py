"""The steps of a twin: what clients do, what becomes of messages, what readers read."""

import pickle

from zombieproof.bridge import commands
from zombieproof.bridge.answers import answer_client, hear_client
from zombieproof.bridge.commands import COORDINATORS
from zombieproof.bridge.faults import BUDGETS, inject
from zombieproof.bridge.flights import InFlight, Sent
from zombieproof.bridge.names import leading_log
from zombieproof.bridge.requests import (
    GROUP,
    INPUT,
    names_partition,
)
from zombieproof.bridge.travels import at_append, at_block, may_try_between_brokers
from zombieproof.bridge.twin import Twin, copied
from zombieproof.checker.transactions import (
    actions,
    client_actions,
    network,
    questions_under_way,
)
from zombieproof.checker.transactions.action_kinds import ACTIONS, AT_APPENDS, AT_BLOCKS, Action
from zombieproof.checker.transactions.narration import remembers_position
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.checker.transactions.views import is_tv2
from zombieproof.checker.transactions.vocabulary import Kind, Op, Stage
from zombieproof.messages.groups import OffsetFetch, OffsetFetchAnswer
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
    if kind in (*AT_APPENDS, *AT_BLOCKS):
        return may_try_between_brokers(twin, kind, i)
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
    if kind in AT_APPENDS:
        return at_append(twin, kind, i)
    if kind in AT_BLOCKS:
        return at_block(twin, kind, i)
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
        producers.give_up(twin.state, flight.request, twin.around_producers())


def _is_about_to_fetch(twin: Twin, c: int) -> bool:
    client, bounds = twin.state.clients[c], twin.setup.bounds
    if c >= bounds.clients or client.txn >= bounds.transactions[c] or twin.state.group.owner != c:
        return False
    if remembers_position(twin.setup, client):
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
    if message.answered:
        may_arrive = kind == Action.DELIVER and not actions._is_behind_another(twin.state, message)
        return may_arrive or (kind == Action.LOSE_ANSWER and budget.lost > 0)
    has_leader = twin.state.partitions[message.partition].leader
    if message.kind == Kind.MARKER:
        may_lose = kind == Action.LOSE_ANSWER and budget.lost > 0 and message.live
        return has_leader and (kind == Action.DELIVER or may_lose)
    if message.stage in (Stage.WAITING, Stage.APPENDING):
        return False
    to_leader = names_partition(message.kind) and message.stage not in (Stage.TO_COORDINATOR, Stage.ABANDONED)
    if to_leader and (not has_leader or actions._is_behind_another(twin.state, message)):
        return False
    if kind == Action.LOSE_ANSWER:
        answers_at_once = twin.setup.bounds.answers_travel == 0
        return budget.lost > 0 and message.live and message.stage != Stage.TO_COORDINATOR and answers_at_once
    if kind == Action.UNKNOWN_APPEND:
        for_coordinator = network.speaks_to_coordinator(message.kind) or message.stage == Stage.TO_COORDINATOR
        here = message.node == twin.state.coordinator and twin.setup.bounds.appends_travel == 0
        return budget.unknown_appends > 0 and message.live and for_coordinator and here
    return True


def _reach(twin: Twin, kind: Action, i: int) -> bool:
    """The message in slot `i` arrives, and so does the answer, unless it is lost."""
    flight = twin.flights[i]
    assert flight is not None
    if flight.message.answered:
        twin.beside.budget.lost -= kind == Action.LOSE_ANSWER
        return hear_client(twin, i, is_lost=kind == Action.LOSE_ANSWER)
    ends = len(leading_log(twin.cluster, COORDINATORS))
    if kind == Action.UNKNOWN_APPEND:
        twin.beside.budget.unknown_appends -= 1
        _append_unknown(twin, flight)
    else:
        twin.beside.appends.asked[flight.live.number] = flight.live
        commands.deliver(twin.cluster, flight.live)
    message = twin.state.messages[i]
    twin.look(int(message.label))
    twin.remember_decisions(ends, int(message.label), by_client=message.kind == Kind.END_TXN)
    if kind == Action.LOSE_ANSWER:
        twin.beside.budget.lost -= 1
    if flight.message.kind == Kind.MARKER:
        _answer_marker(twin, flight, kind == Action.LOSE_ANSWER)
    elif flight.message.stage == Stage.ABANDONED:
        commands.forget_answer(twin.cluster, flight.live)
        del twin.beside.sent[flight.request]
    else:
        answer_client(twin, flight, kind == Action.LOSE_ANSWER)
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
        answer_client(twin, flight, is_lost=False)
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
