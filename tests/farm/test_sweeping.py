"""A sweep goes from below, the cheapest first, and says exactly what it never tried."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from zombieproof.checker.registered import registered, stories
from zombieproof.checker.request import Request
from zombieproof.checker.scenario import UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.scenarios.known import KNOWN_WITH, known_with
from zombieproof.farm.sweeping import NothingToSweep, Place, Space, below, space_of, sweep
from zombieproof.model.rules import Rules, with_switches

TIMEOUT = SCENARIOS["timeout"]


@dataclass(frozen=True)
class Broken:
    promise: str


@dataclass(frozen=True)
class Outcome:
    """As much of a result as a sweep looks at."""

    distinct: int
    verdict: str = "holds"
    seconds: float = 0.0
    compile_seconds: float = 0.0
    interrupted: bool = False
    violated: Broken | None = None


@dataclass(frozen=True)
class Checked:
    result: Outcome


def space(**values: tuple[int, ...]) -> Space:
    return space_of(TIMEOUT, Request(), values)


def swept(one: Space, outcome: Callable[[Place], Outcome | None], seconds: float = math.inf) -> tuple[Any, list[Place]]:
    order: list[Place] = []

    def explore(_: Space, place: Place, __: float) -> Any:
        order.append(place)
        found = outcome(place)
        return None if found is None else Checked(found)

    return sweep([one], explore, seconds), order


def test_everything_is_explored_once_the_cheapest_first() -> None:
    costs: dict[Place, int] = {(lost, crash): 10 * 2**lost * 7**crash for lost in range(4) for crash in range(2)}
    found, order = swept(space(lost=(0, 1, 2, 3), crashes=(0, 1)), lambda place: Outcome(costs[place]))
    assert sorted(order) == sorted(costs)
    assert len(order) == len(costs)
    known = order.index((1, 1))  # from here on every step was seen once
    assert [costs[place] for place in order[known:]] == sorted(costs[place] for place in order[known:])
    assert not found.left


def test_nothing_is_explored_before_all_below_it_holds() -> None:
    _, order = swept(
        space(lost=(0, 1, 2), late=(0, 1, 2), crashes=(0, 1, 2)), lambda place: Outcome(1 + sum(place) ** 3)
    )
    for number, place in enumerate(order):
        assert all(order.index(lower) < number for lower in below(place))


@pytest.mark.parametrize("verdict", ["violated", "inconclusive"])
def test_nothing_above_what_does_not_hold_is_explored(verdict: str) -> None:
    def outcome(place: Place) -> Outcome:
        return Outcome(1 + 3 * place[0] + place[1], verdict if place == (1, 1) else "holds")

    found, order = swept(space(lost=(0, 1, 2), crashes=(0, 1, 2)), outcome)
    assert sorted(order) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]
    assert [one.place for one in found.largest(found.spaces[0])] == [(0, 2), (2, 0)]


def test_what_was_never_tried_is_told_by_its_smallest_elements() -> None:
    def outcome(place: Place) -> Outcome | None:
        return None if place == (1, 1) else Outcome(100 * (1 + place[0]) * (1 + place[1]))

    found, _ = swept(space(lost=(0, 1), crashes=(0, 1, 2)), outcome)
    assert {one.place for one in found.left} >= {(1, 1)}
    tried = {one.place for one in found.explored}
    for one in found.left:
        assert one.place not in tried
        assert set(below(one.place)) <= tried
    assert found.never_above(found.spaces[0]) == {"lost": 1, "crashes": max(place[1] for place in tried)}


def test_what_would_take_too_long_is_not_begun() -> None:
    def outcome(place: Place) -> Outcome:
        return Outcome(1000 * 10 ** place[0], seconds=10.0 ** place[0])

    found, order = swept(space(lost=(0, 1, 2, 3)), outcome, seconds=50.0)
    assert order == [(0,), (1,)]
    [left] = found.left
    assert (left.place, left.seconds) == ((2,), 100.0)


def test_a_constant_that_changes_nothing_is_not_taken_further() -> None:
    found, order = swept(
        space(lost=(0, 1, 2, 3, 4), crashes=(0, 1)), lambda place: Outcome(10 * min(place[0], 2) + 5 + place[1])
    )
    assert max(place[0] for place in order) == 3
    assert found.idle_above(found.spaces[0]) == {"lost": 2}


def test_an_interrupted_sweep_keeps_what_was_found() -> None:
    def outcome(place: Place) -> Outcome:
        if place == (2,):
            raise KeyboardInterrupt
        return Outcome(10 + place[0], interrupted=place == (3,))

    found, order = swept(space(lost=(0, 1, 2)), outcome)
    assert (found.interrupted, len(found.explored), order[-1]) == (True, 2, (2,))
    found, _ = swept(space(lost=(3, 4)), lambda _: Outcome(1, interrupted=True))
    assert (found.interrupted, len(found.explored), [one.place for one in found.left]) == (True, 0, [(0,)])


def test_all_faults_are_swept_over_where_nothing_is_said() -> None:
    default = space_of(TIMEOUT, Request(), {})
    possible = set(TIMEOUT.faults) & set(TIMEOUT.bounds)
    assert {"lost", "crashes", "failovers"} <= set(default.axes) <= possible
    assert not {"failed_appends", "hard_appends"} & set(default.axes), (
        "it means nothing where an append is durable at once"
    )
    assert default.bounds(default.lowest) == dict.fromkeys(default.axes, 0)
    assert default.scenario == replace(TIMEOUT, sometimes=())


def test_what_cannot_be_swept_over_is_refused() -> None:
    with pytest.raises(NothingToSweep, match="none of its bounds is a fault"):
        space_of(SCENARIOS["two_phase_commit"], Request(), {})
    with pytest.raises(UnknownBound, match="n=0 is out of range"):
        space_of(SCENARIOS["two_phase_commit"], Request(), {"n": (0, 1)})


def test_values_that_cannot_be_are_not_tried() -> None:
    found, order = swept(space_of(SCENARIOS["two_phase_commit"], Request(), {"n": (1, 100)}), lambda _: Outcome(5))
    assert order == [(0,)]
    assert found.left == []


def test_a_promise_that_nobody_gives_beside_a_fault_is_not_judged_there() -> None:
    one = space(forgotten=(0, 1))
    folded = "memory_is_the_fold_of_the_log"
    assert folded in one.scenario_at((0,)).always
    assert set(one.scenario.always) - set(one.scenario_at((1,)).always) == {folded}


TAKEOVER = SCENARIOS["zombie_takeover"]
DECISION = "a_transaction_has_one_decision"
DOUBTED = {"unknown_appends": (0, 1), "lost": (0, 1)}


def judged_over(request: Request, values: Mapping[str, tuple[int, ...]], promise: str) -> tuple[Any, list[Any]]:
    """Sweep where an unknown append, or whatever the first bound is, breaks a promise as long as it is judged."""
    one = space_of(TAKEOVER, request, values)
    order: list[Any] = []

    def explore(where: Space, place: Place, _: float) -> Any:
        is_judged = promise in where.scenario_at(place).always
        order.append((place, is_judged))
        breaks = Outcome(10, "violated", violated=Broken(promise))
        return Checked(breaks if place[0] and is_judged else Outcome(10 + sum(place)))

    return sweep([one], explore, math.inf), order


def test_what_is_known_to_break_is_told_once_and_not_judged_from_there_on() -> None:
    found, order = judged_over(Request(), DOUBTED, DECISION)
    assert [(one.place, one.promise) for one in found.known] == [((1, 0), DECISION)]
    assert "reported as failed is in the log" in found.known[0].why_known
    assert ((1, 0), True) in order
    assert {is_judged for place, is_judged in order if place[0] and place != (1, 0)} <= {False}
    assert {one.verdict for one in found.explored} == {"holds"}
    assert ((0, 1), True) in order


@pytest.mark.parametrize(
    ("request_", "values", "promise"),
    [
        (Request(), DOUBTED, "epochs_never_go_down"),
        (Request(), {"lost": (0, 1)}, DECISION),
        (Request(off=("strict_end",)), DOUBTED, DECISION),
        (Request(mutant="end_txn_ignores_epoch"), DOUBTED, DECISION),
        (Request(rules="3.9"), DOUBTED, DECISION),
        (Request(), {"late": (0, 1), "lost": (1,)}, "sequences_follow_each_other"),
    ],
    ids=["another promise", "another fault", "a rule taken away", "a mutant", "other rules", "version 2"],
)
def test_what_is_not_known_to_break_there_is_violated(
    request_: Request, values: Mapping[str, tuple[int, ...]], promise: str
) -> None:
    found, _ = judged_over(request_, values, promise)
    assert not found.known
    assert "violated" in {one.verdict for one in found.explored}


@pytest.mark.parametrize(("scenario", "off"), [("repeated_init", "persist_last_epoch"), ("leaderless_partition", "")])
def test_what_a_rule_repairs_is_known_only_without_that_rule(scenario: str, off: str) -> None:
    found = SCENARIOS[scenario]
    mutant = next(each for each in found.mutants if each.known and each.without)
    assert registered(found, found.own_rules(mutant=mutant), found.bounds, mutant.breaks)
    assert registered(found, found.own_rules(), found.bounds, mutant.breaks) is None
    faults = {"late", "lost", "failovers"}
    rules = with_switches(Rules(transaction_version=1), on=[off] if off else [])
    assert (known_with("an_unrivalled_producer_is_never_fenced", faults, rules) is None) is bool(off)


def test_what_a_sweep_takes_for_known_is_a_registered_story() -> None:
    for each in KNOWN_WITH:
        assert stories(each), f"{each.promise} with {', '.join(sorted(each.faults))} has no story"


def test_what_a_scenario_says_of_itself_is_known_from_those_bounds_on() -> None:
    """The mutant of resumed_commit that is known has timeouts=1."""
    one = space_of(SCENARIOS["resumed_commit"], Request(), {"timeouts": (0, 1, 2), "lost": (0, 1)})
    promise = "what_was_decided_outside_is_not_aborted"
    assert [bool(one.why_broken(place, promise)) for place in ((0, 1), (1, 0), (2, 1))] == [False, True, True]
    assert not one.why_broken((1, 0), "epochs_never_go_down")


def test_what_is_owed_at_rest_is_not_judged_where_nobody_gives_it() -> None:
    one = space_of(SCENARIOS["one_transaction"], Request(), {"aborts_by_hand": (0, 1)})
    promise = "an_acknowledged_commit_is_visible"
    assert [promise in one.scenario_at(place).at_rest for place in ((0,), (1,))] == [True, False]
