"""Partial order: fewer states, the same verdicts, and an order that is none is found out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.checker.ordering import nothing_interferes
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.model import Malformed, Model, Promise
from zombieproof.checker.engine.orders import Order
from zombieproof.checker.engine.reductions import reduced
from zombieproof.checker.engine.replay import breaks, replay
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit
from zombieproof.model.fields import array

ALL = tuple(promise.name for promise in two_phase_commit(3).promises if promise.kind != "leads_to")


@pytest.mark.parametrize("rules", [Rules(), Rules(wait_for_all=0)], ids=str)
def test_what_is_left_to_resource_managers_meets_nothing(rules: Rules) -> None:
    states, ready = nothing_interferes(two_phase_commit(3), rules, ALL)
    assert ready > states


@pytest.mark.parametrize(("wanted", "distinct"), [(["order"], 61_170), (["symmetry", "order"], 416)])
def test_fewer_states_are_explored_by_any_number_of_workers(wanted: list[str], distinct: int) -> None:
    small = reduced(two_phase_commit(7), Rules(), ALL, wanted)
    for workers in (1, 3):
        result = small.of_the_model(explore(small.smaller, Rules(), workers=workers, promises=ALL))
        assert (result.verdict, result.distinct) == ("holds", distinct)
    assert set(small.used) == set(wanted)


def test_what_is_owed_for_ever_is_not_reduced() -> None:
    small = reduced(two_phase_commit(3), Rules(), ["everybody_ends"], ["symmetry", "order"])
    assert small.smaller is small.model
    assert set(small.unused.values()) == {"what is owed for ever is found in the whole graph"}


@pytest.mark.parametrize("wanted", [["order"], ["symmetry", "order"]])
def test_a_counterexample_is_one_of_the_model_itself(wanted: list[str]) -> None:
    model, rules = two_phase_commit(5), Rules(wait_for_all=0)
    small = reduced(model, rules, ALL, wanted)
    found = small.of_the_model(explore(small.smaller, rules, promises=ALL)).violated
    assert found is not None
    assert found.actions is not None
    assert breaks(model, rules, model.promises[0], replay(model, rules, found.actions)[-1].after)


# --- two workers: each prepares three times by itself, then writes on one board; one of them may be disturbed ---


@dataclass(slots=True)
class Shop:
    """How far each is, 3 when it has prepared, 4 when it has written, 5 when it was disturbed; the board, 1 + who."""

    at: list[int] = array(int, 2)
    board: list[int] = array(int, 2)
    disturbances: int = 1


@dataclass(slots=True)
class Day:
    """`disturbed` 0: nobody is."""

    disturbed: int = 1


@dataclass(slots=True)
class Nothing:
    """No trail."""

    unused: int = 0


PREPARED, WRITTEN, DISTURBED = 3, 4, 5
DISTURB = 4


def work(state: Shop, action: int, day: Day, trail: Nothing) -> bool:
    """Prepare (0, 1), write (2, 3), be disturbed (4, 5)."""
    who = action % 2
    if action >= DISTURB:
        if state.disturbances == 0 or state.at[who] >= PREPARED:
            return False
        state.disturbances -= 1
        state.at[who] = DISTURBED
    elif action < 2:
        if state.at[who] >= PREPARED:
            return False
        state.at[who] += 1
    else:
        if state.at[who] != PREPARED:
            return False
        state.at[who] = WRITTEN
        state.board[0 if state.board[0] == 0 else 1] = 1 + who
    return True


def both_write(state: Shop) -> bool:
    """At rest both have written: not if one was disturbed."""
    return state.board[1] != 0


def the_first_writes_first(state: Shop) -> bool:
    """Broken where the second writes first."""
    return state.board[0] != 2


def the_board_is_never_full(state: Shop) -> bool:
    """Broken at the end."""
    return state.board[1] == 0


def the_second_has_written_before_the_first_began(state: Shop) -> bool:
    """What an action of the first takes back."""
    return state.at[1] == WRITTEN and state.at[0] == 0


def may_prepare(state: Shop, day: Day, who: int) -> bool:
    """Nobody is disturbed any more, and there is something to prepare."""
    return state.disturbances == 0 and state.at[who] < PREPARED


def left(state: Shop, day: Day) -> int:
    """How much is to be prepared and written."""
    return sum(max(0, WRITTEN - at) for at in state.at)


ORDER = Order("workers", ((0,), (1,)), may_prepare, left, frozenset({"the_second_has_written_before_the_first_began"}))
SHOP = Model(
    name="shop",
    state=Shop,
    setup=Day,
    trail=Nothing,
    actions=6,
    step=work,
    describe=lambda state, action, day: f"worker {action % 2} does {action // 2}",
    initial=lambda day: Shop(disturbances=day.disturbed),
    promises=(
        Promise("the_first_writes_first", "always", the_first_writes_first),
        Promise("the_board_is_never_full", "always", the_board_is_never_full),
        Promise("both_write", "at_rest", both_write),
        Promise(
            "the_second_has_written_before_the_first_began", "sometimes", the_second_has_written_before_the_first_began
        ),
    ),
    faults=frozenset({4, 5}),
    order=lambda day: ORDER,
)
DAYS = (Day(0), Day(1))


@pytest.mark.parametrize("day", DAYS, ids=str)
@pytest.mark.parametrize("promise", SHOP.promises, ids=lambda promise: promise.name)
def test_verdicts_are_the_same(day: Day, promise: Promise) -> None:
    small = reduced(SHOP, day, [promise.name], ["order"])
    full, found = explore(SHOP, day, promises=[promise.name]), explore(small.smaller, day, promises=[promise.name])
    assert full.verdict == found.verdict
    assert found.distinct <= full.distinct


def test_of_the_orders_of_what_is_prepared_one_is_explored() -> None:
    small = reduced(SHOP, Day(0), [], ["order"]).smaller
    assert (explore(SHOP, Day(0), promises=[]).distinct, explore(small, Day(0), promises=[]).distinct) == (26, 11)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_workers_who_prepare_meet_nobody(day: Day) -> None:
    states, ready = nothing_interferes(SHOP, day, [promise.name for promise in SHOP.promises])
    assert states > 15
    assert ready > 5


def test_a_promise_that_sees_what_is_put_off_keeps_all_states() -> None:
    small = reduced(SHOP, Day(), ["the_second_has_written_before_the_first_began"], ["order"])
    assert small.smaller is SHOP
    assert small.unused == {
        "order": "the_second_has_written_before_the_first_began may be judged differently in between"
    }


def test_a_model_without_an_order_says_so() -> None:
    model = replace(SHOP, name="free", order=lambda day: Order("", (), may_prepare, left))
    small = reduced(model, Day(), [], ["order"])
    assert small.unused == {"order": "the model declares no order of its actions"}


def ready_while_disturbed(state: Shop, day: Day, who: int) -> bool:
    """Wrong: a disturbance may come before."""
    return state.at[who] < PREPARED


def ready_to_write(state: Shop, day: Day, who: int) -> bool:
    """Wrong: the other one may write before."""
    return state.at[who] == PREPARED


def ready_with_nothing_to_do(state: Shop, day: Day, who: int) -> bool:
    """Wrong: nothing is left to do."""
    return state.disturbances == 0 and state.at[who] in (PREPARED, DISTURBED)


WRONG: Mapping[str, tuple[Order, str]] = {
    "disturbed": (replace(ORDER, is_ready=ready_while_disturbed), "C1: "),
    "meeting": (replace(ORDER, clusters=((0, 2), (1, 3)), is_ready=ready_to_write), "C1: 2 and 3 do not commute"),
    "empty": (replace(ORDER, is_ready=ready_with_nothing_to_do), "C0"),
    "seen": (replace(ORDER, seen_by=frozenset()), "C2: the_second_has_written_before_the_first_began is taken back"),
    "endless": (replace(ORDER, measure=lambda state, day: 0), "C3"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_order_that_is_none_is_found_out(what: str) -> None:
    order, says = WRONG[what]
    model = replace(SHOP, name=f"shop {what}", order=lambda day: order)
    day = Day(1 if what == "disturbed" else 0)
    with pytest.raises(AssertionError, match=says):
        nothing_interferes(model, day, [promise.name for promise in SHOP.promises])


@pytest.mark.slow
def test_where_nothing_of_a_cluster_can_happen_everything_is_explored() -> None:
    model = replace(SHOP, name="shop idle", followed=WRONG["empty"][0])
    one, other = explore(model, Day(), promises=["both_write"]), explore(SHOP, Day(), promises=["both_write"])
    assert (one.verdict, one.distinct, one.depth) == (other.verdict, other.distinct, other.depth)


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (lambda: replace(ORDER, clusters=((0, 1), (1,))), "action 1 is in two clusters"),
        (lambda: replace(ORDER, clusters=((0,), (9,))), "there is no action 9; give 0 to 5"),
        (
            lambda: replace(ORDER, is_ready=lambda state, day: True),
            r"is_ready has 2 parameters; give 3, \(state, setup, cluster\)",
        ),
    ],
)
def test_clusters_that_cannot_be_are_refused(order: Callable[[], Any], says: str) -> None:
    model = replace(SHOP, name="wrong", order=lambda day: order())
    with pytest.raises(Malformed, match=says):
        reduced(model, Day(), [], ["order"])
