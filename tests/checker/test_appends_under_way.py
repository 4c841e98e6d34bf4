"""Where appends travel, the rows of the look before an append and of the look behind it are really taken."""

import random
from collections import Counter

import pytest

from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import actions, network
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.marker_actions import AT_LOG
from zombieproof.checker.transactions.model import initial_state
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail, UnderWay
from zombieproof.checker.transactions.vocabulary import Op, Phase
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, Row, TransactionState
from zombieproof.statemachines.notes import Decision

TWO = (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),)


def setup_of(scenario: Scenario, rules: Rules | None = None) -> Setup:
    setup = scenario.setup(rules or scenario.own_rules(), scenario.bounds)
    assert isinstance(setup, Setup)
    return setup


def rows_of(setup: Setup, walks: int, seed: int = 1) -> Counter[Row]:
    """How often each row of the decisions about appends and ends was taken on random walks."""
    chance, rows = random.Random(seed), Counter[Row]()
    for _ in range(walks):
        state = initial_state(setup)
        for _ in range(80):
            trail = Trail()
            order = chance.sample(range(len(ACTIONS)), len(ACTIONS))
            action = next((each for each in order if actions.step(state, each, setup, trail)), None)
            if action is None or state.overflow:
                break
            network.normalise(state, setup)
            taken = [
                Row(noted.row)
                for noted in trail.decisions[: trail.decision_count]
                if noted.decision in (Decision.LOG_APPEND, Decision.END_TXN)
            ]
            rows.update(taken)
    return rows


@pytest.mark.slow
def test_nothing_comes_between_a_durable_decision_and_the_look_behind_it_that_f4_would_see() -> None:
    """Whoever may end a transaction goes by its epoch; what is decided is touched by nobody before its markers go."""
    rows = rows_of(setup_of(SCENARIOS["appends_under_way"]), walks=300)
    assert rows[Row.F5] > 0
    assert rows[Row.F4] == 0


@pytest.mark.slow
def test_the_last_row_is_taken_where_an_end_need_not_name_the_present_epoch() -> None:
    late_ends = transaction_scenario(
        "late_ends", "An end of the first transaction comes late.", TWO, sometimes=(), appends_travel=1, doubled=1
    )
    setup = setup_of(late_ends, with_switches(Rules(), off=["strict_end"]))
    assert rows_of(setup, walks=300)[Row.F4] > 0


# ---------------------------------------------------------------- one append, step by step


def fresh() -> tuple[State, Setup]:
    setup = setup_of(SCENARIOS["appends_under_way"])
    setup.budget.hard_appends = 1
    return initial_state(setup), setup


def take(state: State, setup: Setup, kind: Action, i: int = 0) -> Trail:
    trail = Trail()
    assert actions.step(state, ACTIONS.index((int(kind), i)), setup, trail), f"{kind.name} {i} is disabled"
    network.normalise(state, setup)
    return trail


def asked() -> tuple[State, Setup]:
    """A has asked for its id; the append is under way."""
    state, setup = fresh()
    take(state, setup, Action.STEP)
    take(state, setup, Action.DELIVER)
    assert state.appends[0].phase == Phase.PREPARED
    return state, setup


def deciding() -> tuple[State, Setup]:
    """A has committed its transaction; the append of the decision is under way."""
    state, setup = asked()
    for kind in (
        Action.MAKE_APPEND,
        Action.TELL_APPEND,
        Action.STEP,
        Action.DELIVER,
        Action.DELIVER,
        Action.MAKE_APPEND,
        Action.TELL_APPEND,
    ):
        take(state, setup, kind)
    for kind in (Action.DELIVER, Action.STEP, Action.DELIVER):
        take(state, setup, kind)
    assert state.appends[0].pending.target.state == TransactionState.PREPARE_COMMIT
    return state, setup


ELECTED_ANEW = (Action.DEPOSE, Action.DEPOSE)
RESIGNS = (Action.DEPOSE, Action.RESIGN)


@pytest.mark.parametrize(
    ("meanwhile", "row", "told"),
    [
        ((*RESIGNS, Action.MAKE_APPEND), Row.G1, Error.NOT_COORDINATOR),
        ((*ELECTED_ANEW, Action.MAKE_APPEND), Row.G3, Error.NOT_COORDINATOR),
        ((Action.FAIL_APPEND, Action.TELL_APPEND), Row.F1, Error.COORDINATOR_NOT_AVAILABLE),
        ((Action.DOUBT_APPEND, Action.TELL_APPEND), Row.F1, Error.COORDINATOR_NOT_AVAILABLE),
        ((Action.REJECT_APPEND, Action.TELL_APPEND), Row.F1, Error.UNKNOWN_SERVER_ERROR),
        ((Action.CLOSE_LOG, Action.TELL_APPEND), Row.F1, Error.NOT_COORDINATOR),
        ((Action.DEPOSE, Action.MAKE_APPEND, Action.TELL_APPEND), Row.F1, Error.NOT_COORDINATOR),
        ((Action.MAKE_APPEND, *RESIGNS, Action.TELL_APPEND), Row.F1, Error.NOT_COORDINATOR),
        ((Action.MAKE_APPEND, Action.TELL_APPEND, *RESIGNS, Action.TELL_APPEND), Row.F2, Error.NOT_COORDINATOR),
        ((Action.MAKE_APPEND, Action.TELL_APPEND, *ELECTED_ANEW, Action.TELL_APPEND), Row.F3, Error.NOT_COORDINATOR),
        ((Action.MAKE_APPEND, Action.TELL_APPEND, Action.TELL_APPEND), Row.F5, Error.NONE),
    ],
)
def test_each_row_of_the_looks_at_an_append_is_taken(meanwhile: tuple[Action, ...], row: Row, told: Error) -> None:
    state, setup = deciding()
    for kind in meanwhile:
        trail = take(state, setup, kind)
    assert row in [Row(each.row) for each in trail.decisions[: trail.decision_count]]
    assert (trail.answered, trail.error) == (1, told)


def test_nothing_is_durable_before_the_append_is_made_and_nobody_answered_before_it_is_told() -> None:
    state, setup = asked()
    assert (state.durable[0].known, state.clients[0].producer_epoch) == (0, -1)
    take(state, setup, Action.MAKE_APPEND)
    assert (state.durable[0].known, state.clients[0].producer_epoch) == (1, -1)
    assert state.nodes[0].cache[0].pending_state == TransactionState.EMPTY
    take(state, setup, Action.TELL_APPEND)
    assert (state.nodes[0].cache[0].pending_state, state.clients[0].producer_epoch) == (-1, 0)
    assert state.appends[0] == UnderWay()


def test_a_failed_append_leaves_memory_and_log_alone_and_its_client_asks_again() -> None:
    state, setup = asked()
    take(state, setup, Action.FAIL_APPEND)
    assert (state.durable[0].known, state.budget.failed_appends) == (0, 0)
    take(state, setup, Action.TELL_APPEND)
    assert (state.nodes[0].cache[0].pending_state, state.nodes[0].cache[0].producer_epoch) == (-1, -1)
    assert (state.messages[0].live, state.messages[0].stage, state.messages[0].error) == (1, 0, Error.NONE)


def completing() -> tuple[State, Setup]:
    """The marker of A's transaction is written; the append of the completion is under way."""
    state, setup = deciding()
    for kind in (Action.MAKE_APPEND, Action.TELL_APPEND, Action.TELL_APPEND, Action.DELIVER):
        take(state, setup, kind)
    assert state.appends[0].pending.target.state == TransactionState.COMPLETE_COMMIT
    return state, setup


@pytest.mark.parametrize(
    ("fails", "pending", "driving", "under_way"),
    [
        (Action.FAIL_APPEND, TransactionState.COMPLETE_COMMIT, AT_LOG, Phase.PREPARED),
        (Action.REJECT_APPEND, NONE, 0, Phase.FREE),
        (Action.CLOSE_LOG, NONE, 0, Phase.FREE),
    ],
)
def test_a_completion_is_appended_again_unless_the_error_is_a_hard_one(
    fails: Action, pending: int, driving: int, under_way: Phase
) -> None:
    state, setup = completing()
    take(state, setup, fails)
    take(state, setup, Action.TELL_APPEND)
    txn = state.nodes[0].cache[0]
    assert (txn.state, txn.pending_state) == (TransactionState.PREPARE_COMMIT, pending)
    assert (state.nodes[0].driving[0], state.appends[0].phase) == (driving, under_way)


def test_who_takes_over_from_a_closed_log_completes_what_its_predecessor_could_not() -> None:
    state, setup = completing()
    take(state, setup, Action.CLOSE_LOG)
    assert (state.coordinator, state.nodes[0].believes, state.budget.hard_appends) == (1, 1, 0)
    take(state, setup, Action.TELL_APPEND)
    for kind in (Action.DELIVER, Action.MAKE_APPEND, Action.TELL_APPEND):
        take(state, setup, kind)
    assert state.durable[0].state == TransactionState.COMPLETE_COMMIT


def test_hard_errors_are_refused_where_an_append_is_durable_at_once() -> None:
    with pytest.raises(UnknownBound, match="hard_appends=1 changes nothing where an append is durable at once; add"):
        SCENARIOS["timeout"].own_bounds({"hard_appends": 1})


def test_an_append_that_is_told_as_failed_may_be_durable() -> None:
    state, setup = asked()
    take(state, setup, Action.DOUBT_APPEND)
    take(state, setup, Action.TELL_APPEND)
    assert (state.durable[0].producer_epoch, state.nodes[0].cache[0].producer_epoch) == (0, -1)


def test_a_node_that_is_elected_anew_does_not_append_what_it_prepared_before() -> None:
    state, setup = asked()
    take(state, setup, Action.DEPOSE)
    take(state, setup, Action.DEPOSE)
    trail = take(state, setup, Action.MAKE_APPEND)
    noted = [Row(each.row) for each in trail.decisions[: trail.decision_count]]
    assert Row.G2 in noted
    assert (state.durable[0].known, state.appends[0]) == (0, UnderWay())


def test_a_crash_takes_along_what_was_not_appended() -> None:
    setup = setup_of(SCENARIOS["appends_under_way"])
    setup.budget.failovers = 1
    state = initial_state(setup)
    take(state, setup, Action.STEP)
    take(state, setup, Action.DELIVER)
    take(state, setup, Action.FAIL_OVER)
    assert state.appends[0] == UnderWay()
    assert (state.messages[0].live, state.messages[0].stage) == (1, 0), "its client asks again"


def test_other_scenarios_have_no_room_for_appends() -> None:
    at_once, travelling = (SCENARIOS[name] for name in ("timeout", "appends_under_way"))
    assert at_once.model(at_once.bounds).actions < travelling.model(travelling.bounds).actions
    assert initial_state(setup_of(at_once)).appends == []
