"""Spark's environment: compiled is interpreted, the normal form changes no verdict, and what bounds may be."""

from dataclasses import replace

import pytest

from zombieproof.checker.checking import Request, check
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.model import no_normal_form
from zombieproof.checker.engine.replay import agree_everywhere
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.scenarios import scenarios_of
from zombieproof.checker.spark_sink.model import ACTIONS, SPARK_SINK, Action
from zombieproof.checker.spark_sink.normal_form import normalise
from zombieproof.checker.spark_sink.scenarios import (
    SPARK_BATCH_SINK,
    SPARK_IDENTITY_SINK,
    SPARK_NAIVE_SINK,
    SPARK_PARTITION_SINK,
    SPARK_TASK_ATTEMPTS,
    SPARK_TWO_PHASE_SINK,
)
from zombieproof.checker.spark_sink.state import Setup
from zombieproof.model.rules import Rules
from zombieproof.model.spark_sink.vocabulary import DeliveryState
from zombieproof.statemachines.notes import MachineIndex, Notes

SMALL = {
    "spark_batch_sink": {"partitions": 1, "records": 1, "batch_records": 1, "second_drivers": 0, "timeouts": 0},
    "spark_partition_sink": {"partitions": 1, "records": 1, "lost": 0},
    "spark_task_attempts": {"records": 1, "orphans": 0, "lost": 0, "timeouts": 0, "lost_checkpoints": 0},
    "spark_two_drivers": {"records": 1, "crashes": 0, "orphans": 0, "lost": 0},
    "spark_identity_sink": {"partitions": 1, "records": 1, "batch_records": 1, "second_drivers": 0, "raised": 0},
    "spark_naive_sink": {"records": 1},
    "spark_two_phase_sink": {"records": 1, "crashes": 1},
}


def smaller(scenario: Scenario) -> object:
    return scenario.setup(Rules(), scenario.own_bounds(SMALL[scenario.name]))


LARGER = {"spark_task_attempts", "spark_two_drivers", "spark_identity_sink", "spark_partition_sink"}


@pytest.mark.sample("spark_naive_sink", "spark_two_phase_sink")
@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, marks=pytest.mark.deep if scenario.name in LARGER else (), id=scenario.name)
        for scenario in scenarios_of("spark_sink")
    ],
)
def test_compiled_and_interpreted_reach_the_same_states(scenario: Scenario) -> None:
    exact = agree_everywhere(SPARK_SINK, smaller(scenario))
    result = explore(SPARK_SINK, smaller(scenario), promises=scenario.always)
    assert (exact.distinct, exact.generated) == (result.distinct, result.generated)
    assert exact.distinct > 20
    assert not exact.broken.intersection(scenario.always)


COUNTED = (SPARK_BATCH_SINK, SPARK_PARTITION_SINK, SPARK_TASK_ATTEMPTS, SPARK_NAIVE_SINK, SPARK_TWO_PHASE_SINK)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", COUNTED, ids=lambda scenario: scenario.name)
def test_epochs_that_are_counted_give_the_same_verdicts(scenario: Scenario) -> None:
    """But for sinks that refuse: their drivers start again without end, and so do the counts."""
    counting = replace(SPARK_SINK, name="spark_sink_counting", normalise=no_normal_form)
    setup = smaller(scenario)
    one, other = (explore(model, setup, promises=scenario.always) for model in (SPARK_SINK, counting))
    assert (one.verdict, other.verdict) == ("holds", "holds")
    assert other.distinct > one.distinct or scenario is SPARK_NAIVE_SINK


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "mutant"),
    [(scenario, mutant.name) for scenario in COUNTED for mutant in scenario.mutants],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_epochs_that_are_counted_give_the_same_counterexamples(scenario: Scenario, mutant: str) -> None:
    checked = check(scenario, Request(mutant=mutant))
    assert checked.mutant is not None
    counting = replace(SPARK_SINK, name="spark_sink_counting", normalise=no_normal_form)
    other = explore(counting, checked.setup, promises=(checked.mutant.breaks,))
    assert other.violated is not None
    assert other.violated.actions is not None
    assert len(other.violated.actions) == checked.mutant.steps


def test_a_state_in_normal_form_stays_as_it_is() -> None:
    setup = SPARK_BATCH_SINK.setup(Rules(), SPARK_BATCH_SINK.bounds)
    assert isinstance(setup, Setup)
    state, notes = SPARK_SINK.initial(setup), Notes()
    before = repr(state)
    normalise(state, setup)
    assert repr(state) == before
    taken = 0
    for _ in range(40):
        action = next((a for a in range(len(ACTIONS)) if SPARK_SINK.step(state, a, setup, notes)), None)
        if action is None:
            break
        taken += 1
        normalise(state, setup)
        once = repr(state)
        normalise(state, setup)
        assert repr(state) == once
    assert taken > 10
    assert notes.illegal == 0


def test_an_illegal_move_is_a_broken_promise() -> None:
    assert all("no_machine_leaves_its_table" in scenario.always for scenario in scenarios_of("spark_sink"))
    setup, notes = SPARK_BATCH_SINK.setup(Rules(), SPARK_BATCH_SINK.bounds), Notes()
    state = SPARK_SINK.initial(setup)
    promise = next(each for each in SPARK_SINK.promises if each.name == "no_machine_leaves_its_table")
    for kind in (Action.START, Action.PLAN):
        assert SPARK_SINK.step(state, ACTIONS.index((kind, 0)), setup, notes)
    assert promise.judge(state, setup)
    state.drivers[0].work.delivery.state = int(DeliveryState.COMMITTING)
    assert SPARK_SINK.step(state, ACTIONS.index((Action.ALL_DONE, 0)), setup, notes)
    assert not promise.judge(state, setup)


@pytest.mark.slow
def test_every_state_of_a_delivery_is_left_somewhere() -> None:
    taken = set()
    for scenario in scenarios_of("spark_sink"):
        result = explore(SPARK_SINK, scenario.setup(Rules(), scenario.bounds), promises=scenario.always)
        assert result.coverage is not None
        taken |= {
            DeliveryState(state).name
            for machine, state, _ in zip(*result.coverage.nonzero(), strict=True)
            if machine == MachineIndex.DELIVERY
        }
    assert taken == {state.name for state in DeliveryState if state < DeliveryState.DELIVERED}


@pytest.mark.parametrize(
    ("name", "value", "legal"),
    [
        ("sink", 0, "1 to 4"),
        ("sink", 5, "1 to 4"),
        ("key", 4, "0 to 3"),
        ("records", 0, "1 to 3"),
        ("shuffled", 2, "0 to 1"),
    ],
)
def test_a_sink_that_there_is_not_is_refused(name: str, value: int, legal: str) -> None:
    with pytest.raises(UnknownBound, match=f"{name}={value} is out of range; give {legal}"):
        check(SPARK_IDENTITY_SINK, Request(bounds={name: value}))
