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
    SPARK_BATCH_QUERY,
    SPARK_BATCH_SINK,
    SPARK_IDENTITY_SINK,
    SPARK_NAIVE_SINK,
    SPARK_PARTITION_SINK,
    SPARK_REFUSED_PLANS,
    SPARK_STARTS_AT_LATEST,
    SPARK_TASK_ATTEMPTS,
    SPARK_TWO_PHASE_SINK,
    SPARK_TWO_QUERIES,
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
    "spark_refused_plans": {"checks_plan": 0, "records": 1},
    "spark_branches": {"second_drivers": 0, "lost": 0, "lost_checkpoints": 0, "crashes": 0},
    "spark_any_plan": {"records": 2, "second_drivers": 0, "lost": 0, "old_checkpoints": 0},
    "spark_older_checkpoint": {"records": 2, "second_drivers": 0, "lost": 0},
    "spark_two_queries": {"records": 1, "crashes": 0, "lost": 0, "timeouts": 0, "lost_checkpoints": 0},
    "spark_two_writes": {"records": 1, "batch_records": 1, "second_drivers": 0, "timeouts": 0},
    "spark_expired_positions": {"partitions": 1, "records": 1, "batch_records": 1, "second_drivers": 0},
    "spark_recreated_topic": {"partitions": 1, "records": 1, "batch_records": 1, "second_drivers": 0},
    "spark_batch_query": {"records": 2, "crashes": 0, "lost": 0, "timeouts": 0, "lost_checkpoints": 0},
    "spark_starts_at_latest": {"records": 1, "orphans": 0},
    "spark_two_modes": {"records": 1, "orphans": 0, "crashes": 0, "lost": 0, "timeouts": 0},
}


def smaller(scenario: Scenario) -> object:
    return scenario.setup(Rules(), scenario.own_bounds(SMALL[scenario.name]))


LARGER = {"spark_task_attempts", "spark_two_drivers", "spark_identity_sink", "spark_partition_sink"}


@pytest.mark.sample("spark_naive_sink", "spark_two_phase_sink", "spark_any_plan")
@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, marks=pytest.mark.deep if scenario.name in LARGER else (), id=scenario.name)
        for scenario in scenarios_of("spark_sink")
    ],
)
def test_compiled_and_interpreted_reach_the_same_states(scenario: Scenario) -> None:
    kept = () if scenario is SPARK_REFUSED_PLANS else scenario.always
    exact = agree_everywhere(SPARK_SINK, smaller(scenario))
    result = explore(SPARK_SINK, smaller(scenario), promises=kept)
    assert (exact.distinct, exact.generated) == (result.distinct, result.generated)
    assert exact.distinct > 20
    assert not exact.broken.intersection(kept)


PLANS = [({**mutant.bounds, "checks_plan": 1}, mutant.name) for mutant in SPARK_REFUSED_PLANS.mutants]


@pytest.mark.parametrize("bounds", [bounds for bounds, _ in PLANS], ids=[name for _, name in PLANS])
def test_a_plan_that_would_lose_rows_is_refused_at_the_start(bounds: dict[str, int]) -> None:
    checked = check(SPARK_REFUSED_PLANS, Request(bounds=bounds))
    assert (checked.result.verdict, checked.result.distinct) == ("holds", 2)


@pytest.mark.parametrize(
    ("bounds", "breaks"),
    [
        ({}, None),
        ({"compares_writes": 0}, "what_is_done_is_in_the_output"),
        ({"checks_group": 0}, "what_is_done_is_in_the_output"),
    ],
)
def test_two_queries_in_one_group_do_the_same_in_mode_partition(bounds: dict[str, int], breaks: str | None) -> None:
    few = {"sink": 2, "lost": 0, "timeouts": 0, "lost_checkpoints": 0}
    violated = check(SPARK_TWO_QUERIES, Request(bounds={**few, **bounds})).result.violated
    assert (violated.promise if violated else None) == breaks


@pytest.mark.parametrize("starting_offset", [0, 1, 2])
def test_a_stream_and_a_batch_query_lose_no_rows_wherever_the_stream_begins(starting_offset: int) -> None:
    few = {"crashes": 0, "lost": 0, "starting_offset": starting_offset}
    setup = SPARK_BATCH_QUERY.setup(Rules(), SPARK_BATCH_QUERY.own_bounds(few))
    kept = (*SPARK_BATCH_QUERY.always, *SPARK_BATCH_QUERY.at_rest)
    assert explore(SPARK_SINK, setup, promises=kept).verdict == "holds"


@pytest.mark.parametrize(
    ("checks_start", "breaks"), [(1, None), (0, "every_record_is_in_the_output_once")], ids=["checks", "does_not"]
)
def test_a_source_in_another_group_does_not_begin_at_latest(checks_start: int, breaks: str | None) -> None:
    bounds = {"begins_at_group": 0, "orphans": 0, "checks_start": checks_start}
    setup = SPARK_STARTS_AT_LATEST.setup(Rules(), SPARK_STARTS_AT_LATEST.own_bounds(bounds))
    kept = (*SPARK_STARTS_AT_LATEST.always, *SPARK_STARTS_AT_LATEST.at_rest)
    violated = explore(SPARK_SINK, setup, promises=kept).violated
    assert (violated.promise if violated else None) == breaks


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"reads": 1, "sink": 4}, "reads=1 are two reads; give sink=1 or sink=2, and partitions=2"),
        ({"reads": 1, "partitions": 1}, "reads=1 are two reads; give sink=1 or sink=2, and partitions=2"),
        ({"reads": 4, "key": 3}, "reads=4 are two writes that share positions; give key=1"),
        ({"reads": 3, "sink": 2}, "reads=3 are two writes by a driver; give sink=1"),
        ({"reads": 5}, "reads=5 are two queries of one partition; give sink=1 and partitions=1"),
    ],
)
def test_reads_that_a_sink_does_not_have_are_refused(bounds: dict[str, int], says: str) -> None:
    with pytest.raises(UnknownBound, match=says):
        check(SPARK_TWO_QUERIES, Request(bounds=bounds))


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
    left = {state.name for state in DeliveryState if state < DeliveryState.DELIVERED}
    assert taken == left


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
