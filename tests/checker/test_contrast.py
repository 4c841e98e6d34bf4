"""Kafka's protocol set against the proposal of 2014: each exploration of both sides comes out as its row says."""

import pytest

from zombieproof.checker.checking import check
from zombieproof.checker.engine.replay import breaks, replay
from zombieproof.checker.proposal2014.contrast import CONTRAST as OF_2014
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.sides import Side, actions, explored, found
from zombieproof.checker.transactions.contrasting import IN_CONTRAST
from zombieproof.checker.transactions.model import TRANSACTIONS
from zombieproof.checker.transactions.scenarios.contrast import CONTRAST
from zombieproof.checker.transactions.state import State
from zombieproof.model.catalogue import IN_STATES

ASPECTS = [
    "identity",
    "unit",
    "concurrency",
    "partitions",
    "coordinator log",
    "visibility order",
    "consumer",
    "duplicates",
    "late payload after abort",
    "offsets",
]
"""The first column of reference §10.11."""

WORLDS = {side.scenario.name: side.scenario for side in CONTRAST if side.scenario not in SCENARIOS.values()}


def row(side: Side) -> object:
    """A parameter; what the second model is compiled for takes its time."""
    changed = [side.rules, *side.without, *(f"{name}={value}" for name, value in side.bounds.items())]
    name = "-".join([side.aspect.replace(" ", "_"), side.promise, *changed])
    return pytest.param(side, id=name, marks=[pytest.mark.slow] if side.model is IN_CONTRAST else [])


@pytest.mark.parametrize("side", [row(side) for side in (*CONTRAST, *OF_2014)])
def test_an_exploration_comes_out_as_its_row_says(side: Side) -> None:
    result = explored(side)
    way = actions(side, result)
    assert (found(side, result), result.distinct, len(way or ())) == (side.expected, side.distinct, side.steps)
    if way is None:
        return
    promise = next(each for each in side.model.promises if each.name == side.promise)
    after = [step.after for step in replay(side.model, side.setup, way)]
    if promise.kind == "sometimes":
        shown = [promise.judge(state, side.setup) for state in after]
    else:
        shown = [breaks(side.model, side.setup, promise, state) for state in after]
    assert shown == [False] * (len(way) - 1) + [True]


def test_every_row_of_the_table_has_its_side_in_the_order_of_the_table() -> None:
    for sides in (CONTRAST, OF_2014):
        assert list(dict.fromkeys(side.aspect for side in sides)) == ASPECTS


def test_no_two_rows_are_the_same_exploration() -> None:
    asked = [(s.scenario.name, s.promise, s.rules, s.without, sorted(s.bounds.items())) for s in (*CONTRAST, *OF_2014)]
    assert [each for each in asked if asked.count(each) > 1] == []


def test_every_promise_of_the_contrast_is_asked_and_is_none_of_the_catalogue() -> None:
    names = {promise.name for promise in IN_CONTRAST.promises}
    assert {side.promise for side in CONTRAST if side.model is IN_CONTRAST} == names
    assert not names & set(IN_STATES)


def test_nothing_tells_the_protocols_apart_before_anything_happened() -> None:
    held = [each.name for each in IN_CONTRAST.promises if each.kind == "sometimes" and each.judge(State(), None)]
    assert held == []


@pytest.mark.parametrize("scenario", WORLDS.values(), ids=lambda scenario: scenario.name)
def test_a_world_of_the_contrast_keeps_what_every_scenario_keeps(scenario: Scenario) -> None:
    checked = check(scenario)
    assert checked.model is TRANSACTIONS
    assert (checked.result.verdict, checked.result.distinct) == ("holds", scenario.distinct)
