"""Where appends travel, the rows of the look before an append and of the look behind it are really taken."""

import random
from collections import Counter

import pytest

from zombieproof.checker.scenario import Scenario, transaction_scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import actions, network
from zombieproof.checker.transactions.acts import ACTIONS, Act
from zombieproof.checker.transactions.model import initial_world
from zombieproof.checker.transactions.world import Op, Phase, Setup, Trail, UnderWay, World
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import Error, Guard, TransactionState
from zombieproof.statemachines.notes import Decision

TWO = (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),)


def setup_of(scenario: Scenario, rules: Rules | None = None) -> Setup:
    setup = scenario.setup(rules or scenario.own_rules(), scenario.bounds)
    assert isinstance(setup, Setup)
    return setup


def rows_of(setup: Setup, walks: int, seed: int = 1) -> Counter[Guard]:
    """How often each row of the decisions about appends and ends was taken on random walks."""
    chance, rows = random.Random(seed), Counter[Guard]()
    for _ in range(walks):
        world = initial_world(setup)
        for _ in range(80):
            trail = Trail()
            order = chance.sample(range(len(ACTIONS)), len(ACTIONS))
            action = next((each for each in order if actions.step(world, each, setup, trail)), None)
            if action is None or world.overflow:
                break
            network.normalise(world, setup)
            taken = [
                Guard(noted.guard)
                for noted in trail.decisions[: trail.decision_count]
                if noted.decision in (Decision.LOG_APPEND, Decision.END_TXN)
            ]
            rows.update(taken)
    return rows


def test_nothing_comes_between_a_durable_decision_and_the_look_behind_it_that_f4_would_see() -> None:
    """Whoever may end a transaction goes by its epoch; what is decided is touched by nobody before its markers go."""
    rows = rows_of(setup_of(SCENARIOS["appends_under_way"]), walks=300)
    assert rows[Guard.F5] > 0
    assert rows[Guard.F4] == 0


def test_the_last_row_is_taken_where_an_end_need_not_name_the_present_epoch() -> None:
    late_ends = transaction_scenario(
        "late_ends", "An end of the first transaction comes late.", TWO, sometimes=(), appends_travel=1, doubled=1
    )
    setup = setup_of(late_ends, with_switches(Rules(), off=["strict_end"]))
    assert rows_of(setup, walks=300)[Guard.F4] > 0


# ---------------------------------------------------------------- one append, step by step


def fresh() -> tuple[World, Setup]:
    setup = setup_of(SCENARIOS["appends_under_way"])
    return initial_world(setup), setup


def take(world: World, setup: Setup, act: Act, i: int = 0) -> Trail:
    trail = Trail()
    assert actions.step(world, ACTIONS.index((int(act), i)), setup, trail), f"{act.name} {i} is disabled"
    network.normalise(world, setup)
    return trail


def asked() -> tuple[World, Setup]:
    """A has asked for its id; the append is under way."""
    world, setup = fresh()
    take(world, setup, Act.STEP)
    take(world, setup, Act.DELIVER)
    assert world.appends[0].phase == Phase.PREPARED
    return world, setup


def deciding() -> tuple[World, Setup]:
    """A has committed its transaction; the append of the decision is under way."""
    world, setup = asked()
    for act in (Act.MAKE_APPEND, Act.TELL_APPEND, Act.STEP, Act.DELIVER, Act.DELIVER, Act.MAKE_APPEND, Act.TELL_APPEND):
        take(world, setup, act)
    for act in (Act.DELIVER, Act.STEP, Act.DELIVER):
        take(world, setup, act)
    assert world.appends[0].pending.target.state == TransactionState.PREPARE_COMMIT
    return world, setup


ELECTED_ANEW = (Act.DEPOSE, Act.DEPOSE)
RESIGNS = (Act.DEPOSE, Act.RESIGN)


@pytest.mark.parametrize(
    ("meanwhile", "row", "told"),
    [
        ((*RESIGNS, Act.MAKE_APPEND), Guard.G1, Error.NOT_COORDINATOR),
        ((*ELECTED_ANEW, Act.MAKE_APPEND), Guard.G3, Error.NOT_COORDINATOR),
        ((Act.FAIL_APPEND, Act.TELL_APPEND), Guard.F1, Error.COORDINATOR_NOT_AVAILABLE),
        ((Act.DOUBT_APPEND, Act.TELL_APPEND), Guard.F1, Error.COORDINATOR_NOT_AVAILABLE),
        ((Act.DEPOSE, Act.MAKE_APPEND, Act.TELL_APPEND), Guard.F1, Error.NOT_COORDINATOR),
        ((Act.MAKE_APPEND, *RESIGNS, Act.TELL_APPEND), Guard.F1, Error.NOT_COORDINATOR),
        ((Act.MAKE_APPEND, Act.TELL_APPEND, *RESIGNS, Act.TELL_APPEND), Guard.F2, Error.NOT_COORDINATOR),
        ((Act.MAKE_APPEND, Act.TELL_APPEND, *ELECTED_ANEW, Act.TELL_APPEND), Guard.F3, Error.NOT_COORDINATOR),
        ((Act.MAKE_APPEND, Act.TELL_APPEND, Act.TELL_APPEND), Guard.F5, Error.NONE),
    ],
)
def test_each_row_of_the_looks_at_an_append_is_taken(meanwhile: tuple[Act, ...], row: Guard, told: Error) -> None:
    world, setup = deciding()
    for act in meanwhile:
        trail = take(world, setup, act)
    assert row in [Guard(each.guard) for each in trail.decisions[: trail.decision_count]]
    assert (trail.answered, trail.error) == (1, told)


def test_nothing_is_durable_before_the_append_is_made_and_nobody_answered_before_it_is_told() -> None:
    world, setup = asked()
    assert (world.durable[0].known, world.clients[0].producer_epoch) == (0, -1)
    take(world, setup, Act.MAKE_APPEND)
    assert (world.durable[0].known, world.clients[0].producer_epoch) == (1, -1)
    assert world.nodes[0].cache[0].pending_state == TransactionState.EMPTY
    take(world, setup, Act.TELL_APPEND)
    assert (world.nodes[0].cache[0].pending_state, world.clients[0].producer_epoch) == (-1, 0)
    assert world.appends[0] == UnderWay()


def test_a_failed_append_leaves_memory_and_log_alone_and_its_client_asks_again() -> None:
    world, setup = asked()
    take(world, setup, Act.FAIL_APPEND)
    assert (world.durable[0].known, world.budget.failed_appends) == (0, 0)
    take(world, setup, Act.TELL_APPEND)
    assert (world.nodes[0].cache[0].pending_state, world.nodes[0].cache[0].producer_epoch) == (-1, -1)
    assert (world.messages[0].live, world.messages[0].stage, world.messages[0].error) == (1, 0, Error.NONE)


def test_an_append_that_is_told_as_failed_may_be_durable() -> None:
    world, setup = asked()
    take(world, setup, Act.DOUBT_APPEND)
    take(world, setup, Act.TELL_APPEND)
    assert (world.durable[0].producer_epoch, world.nodes[0].cache[0].producer_epoch) == (0, -1)


def test_a_node_that_is_elected_anew_does_not_append_what_it_prepared_before() -> None:
    world, setup = asked()
    take(world, setup, Act.DEPOSE)
    take(world, setup, Act.DEPOSE)
    trail = take(world, setup, Act.MAKE_APPEND)
    noted = [Guard(each.guard) for each in trail.decisions[: trail.decision_count]]
    assert Guard.G2 in noted
    assert (world.durable[0].known, world.appends[0]) == (0, UnderWay())


def test_a_crash_takes_along_what_was_not_appended() -> None:
    setup = setup_of(SCENARIOS["appends_under_way"])
    setup.budget.failovers = 1
    world = initial_world(setup)
    take(world, setup, Act.STEP)
    take(world, setup, Act.DELIVER)
    take(world, setup, Act.FAIL_OVER)
    assert world.appends[0] == UnderWay()
    assert (world.messages[0].live, world.messages[0].stage) == (1, 0), "its client asks again"


def test_other_scenarios_have_no_room_for_appends() -> None:
    at_once, travelling = (SCENARIOS[name] for name in ("timeout", "appends_under_way"))
    assert at_once.model(at_once.bounds).actions < travelling.model(travelling.bounds).actions
    assert initial_world(setup_of(at_once)).appends == []
