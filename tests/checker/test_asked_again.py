"""What an application calls whose commit has timed out, and what the coordinator tells it meanwhile, interpreted."""

import copy

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import asked_again
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.actions import step
from zombieproof.checker.transactions.capacities import LINES
from zombieproof.checker.transactions.causes import worth_trying
from zombieproof.checker.transactions.model import TRANSACTIONS, initial_state
from zombieproof.checker.transactions.network import normalise
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Client, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind
from zombieproof.model.rules import with_switches
from zombieproof.model.vocabulary import Error, Outcome, ProducerState


def setup_of(name: str, *, off: tuple[str, ...] = (), **bounds: int) -> Setup:
    """A registered scenario within other bounds."""
    scenario = SCENARIOS[name]
    setup = scenario.setup(with_switches(scenario.own_rules(), off=off), scenario.own_bounds(bounds))
    assert isinstance(setup, Setup)
    return setup


def successors(state: State, setup: Setup) -> list[tuple[int, State, Trail]]:
    found = []
    for action in range(TRANSACTIONS.actions):
        if worth_trying(state, setup, action // 64) >> action % 64 & 1:
            after, trail = copy.deepcopy(state), Trail()
            if step(after, action, setup, trail):
                normalise(after, setup)
                found.append((action, after, trail))
    return found


def take(state: State, setup: Setup, *actions: tuple[Action, int]) -> State:
    """The state after these actions."""
    for action in actions:
        trail = Trail()
        assert step(state, ACTIONS.index((int(action[0]), action[1])), setup, trail), action
        normalise(state, setup)
    return state


def until_timed_out(setup: Setup) -> State:
    """A client has sent its record and committed, and hears that this has timed out."""
    state = initial_state(setup)
    while state.clients[0].state != ProducerState.COMMITTING_TRANSACTION:
        waits = state.messages[0].kind != Kind.EMPTY
        take(state, setup, (Action.DELIVER if waits else Action.STEP, 0))
    return take(state, setup, (Action.GIVE_UP, 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["commit_asked_again", "version_1_asked_again"])
def test_an_end_that_took_effect_is_asked_for_again_and_refused_for_a_while(name: str) -> None:
    """Its answer was lost: it runs into its own markers, or meets a broker that coordinates nothing any more."""
    setup = setup_of(name, may_abort=0, ends_timed_out=0)
    setup.bounds.transactions[0] = 1
    seen, told, waiting = set(), set(), [initial_state(setup)]
    while waiting:
        state = waiting.pop()
        for action, after, trail in successors(state, setup):
            kind, i = ACTIONS[action]
            is_end = kind == Action.DELIVER and state.messages[i].kind == Kind.END_TXN
            if is_end and state.ghost.labels[0].decided == Outcome.COMMIT:
                told.add(Error(trail.error))
            if repr(after) not in seen:
                seen.add(repr(after))
                waiting.append(after)
    assert told == {Error.NONE, Error.CONCURRENT_TRANSACTIONS, Error.NOT_COORDINATOR}


def test_who_waits_again_is_told_by_the_answer() -> None:
    setup = setup_of("commit_asked_again")
    state = until_timed_out(setup)
    assert asked_again.has_timed_out(state.clients[0])
    take(state, setup, (Action.STEP, 0))
    assert asked_again.open_call(state.clients[0]) == asked_again.NO_CALL
    take(state, setup, (Action.DELIVER, 0))
    assert (state.ghost.labels[0].result, state.clients[0].txn) == (Outcome.COMMIT, 1)


def test_who_asks_behind_the_answer_is_told_at_once() -> None:
    setup = setup_of("commit_asked_again")
    state = take(until_timed_out(setup), setup, (Action.DELIVER, 0))
    assert state.clients[0].state == ProducerState.READY
    assert (state.ghost.labels[0].result, state.clients[0].txn) == (Outcome.UNDECIDED, 0)
    take(state, setup, (Action.STEP, 0))
    assert (state.ghost.labels[0].result, state.clients[0].txn) == (Outcome.COMMIT, 1)


def test_who_aborts_instead_is_refused_and_starts_anew_knowing_nothing() -> None:
    setup = setup_of("commit_asked_again")
    state = take(until_timed_out(setup), setup, (Action.ABORT_INSTEAD, 0))
    client, facts = state.clients[0], state.ghost.labels[0]
    assert (client.state, client.txn, client.op) == (ProducerState.UNINITIALIZED, 1, 0)
    assert (facts.asked, facts.result) == (Outcome.COMMIT, Outcome.UNDECIDED)
    assert not any(message.live for message in state.messages)


@pytest.mark.parametrize("is_answered_first", [False, True])
def test_a_producer_that_confuses_the_two_tells_of_an_abort(is_answered_first: bool) -> None:
    setup = setup_of("commit_asked_again", off=("only_the_same_end_is_resumed",))
    calls = [(Action.ABORT_INSTEAD, 0), (Action.DELIVER, 0)]
    state = take(until_timed_out(setup), setup, *(reversed(calls) if is_answered_first else calls))
    assert (state.ghost.labels[0].decided, state.ghost.labels[0].result) == (Outcome.COMMIT, Outcome.ABORT)


def test_a_commit_that_failed_meanwhile_is_told_as_failed_and_can_be_aborted() -> None:
    for off in ((), ("ended_call_keeps_result",)):
        setup = setup_of("commit_asked_again", off=off)
        state = until_timed_out(setup)
        state.messages[0].kind = Kind.EMPTY
        normalise(state, setup)
        state.clients[0].state = ProducerState.ABORTABLE_ERROR
        take(state, setup, (Action.STEP, 0))
        assert asked_again.open_call(state.clients[0]) == asked_again.NO_CALL
        take(state, setup, (Action.STEP, 0))
        assert state.clients[0].state == ProducerState.ABORTING_TRANSACTION


def test_an_abort_that_timed_out_is_not_aborted_instead() -> None:
    setup = setup_of("commit_asked_again")
    state = initial_state(setup)
    while state.clients[0].state != ProducerState.IN_TRANSACTION or state.messages[0].kind != Kind.EMPTY:
        waits = state.messages[0].kind != Kind.EMPTY
        take(state, setup, (Action.DELIVER if waits else Action.STEP, 0))
    take(state, setup, (Action.ABORT_INSTEAD, 0), (Action.GIVE_UP, 0))
    assert asked_again.open_call(state.clients[0]) == asked_again.ABORT
    assert not step(state, ACTIONS.index((int(Action.ABORT_INSTEAD), 0)), setup, Trail())
    take(state, setup, (Action.STEP, 0), (Action.DELIVER, 0))
    assert state.ghost.labels[0].result == Outcome.ABORT


def test_a_producer_at_its_end_is_asked_nothing() -> None:
    client = Client()
    client.op = LINES * asked_again.COMMIT + 1
    assert asked_again.may_call(client)
    client.state = ProducerState.FATAL_ERROR
    assert not asked_again.may_call(client)


def test_it_times_out_once_for_each_call_and_then_closes_its_producer() -> None:
    setup = setup_of("commit_asked_again", ends_given_up=1)
    state = until_timed_out(setup)
    assert not asked_again.times_out(state, 0)
    take(state, setup, (Action.GIVE_UP, 0))
    assert state.clients[0].state == ProducerState.UNINITIALIZED
    assert state.clients[0].op == 0
