"""A swarm of walks draws bounds, the same for the same seed, and tells what breaks within the least of them."""

import threading
from typing import Any

import pytest

from zombieproof.checker.checking import Checked, check
from zombieproof.checker.engine.result import Progress
from zombieproof.checker.engine.walking import breaks
from zombieproof.checker.request import Request, Walks
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.swarm import BATCH_STEPS, MOST_MORE, drawn

LATE = SCENARIOS["late_produce"]
OWN = LATE.own_bounds({})


def swarmed(seed: int = 0, steps: int = 4 * BATCH_STEPS, name: str = "late_produce", **more: Any) -> Checked:
    return check(SCENARIOS[name], Request(walks=Walks(seed, steps, swarm=True), **more.pop("request", {})), **more)


def facts(checked: Checked) -> tuple[Any, ...]:
    result = checked.result
    return checked.bounds, result.verdict, result.violated, result.generated, result.walks, result.depth, result.why


def test_the_same_seed_draws_the_same_bounds_and_another_one_others() -> None:
    one, again, other = ([drawn(LATE, OWN, seed, number) for number in range(30)] for seed in (1, 1, 2))
    assert one == again
    assert one[1:] != other[1:]
    assert len({seed for _, seed in one}) == 30


def test_bounds_are_drawn_from_those_of_the_scenario_on() -> None:
    assert drawn(LATE, OWN, 5, 0)[0] == OWN
    found = [drawn(LATE, OWN, 5, number)[0] for number in range(1, 400)]
    for name in OWN:
        values = {bounds[name] for bounds in found}
        is_fault = name in LATE.faults and name not in {
            "failed_appends",
            "hard_appends",
            "controller_changes",
            "failed_commits",
            "truncations",
            "group_deletions",
            "recreations",
        }
        assert values == ({OWN[name] + more for more in range(MOST_MORE + 1)} if is_fault else {OWN[name]}), name


def test_bounds_never_grow_beyond_what_a_state_can_hold() -> None:
    most = {**OWN, "lost": 100, "crashes": 99}
    assert {drawn(LATE, most, 0, number)[0]["lost"] for number in range(40)} == {100}
    assert {drawn(LATE, most, 0, number)[0]["crashes"] for number in range(40)} == {99, 100}


def test_the_same_seed_takes_the_same_walks_and_another_one_others() -> None:
    assert facts(swarmed(3)) == facts(swarmed(3)) != facts(swarmed(4))


def test_steps_are_counted_over_all_batches() -> None:
    told: list[Progress] = []
    checked = swarmed(3, BATCH_STEPS + 1_000, "coordinator_failover", progress=told.append)
    result = checked.result
    assert (result.verdict, result.generated) == ("inconclusive", BATCH_STEPS + 1_000)
    assert result.why is not None
    assert "51,000 steps at random" in result.why
    assert "within 2 draws of bounds (seed 3) broke nothing, which proves nothing" in result.why
    assert [now.generated for now in told] == sorted(now.generated for now in told)
    assert told[-1].generated == result.generated


def test_a_story_is_told_within_the_least_bounds_and_no_step_of_it_can_be_left_out() -> None:
    checked = swarmed(3, 40 * BATCH_STEPS, "zombie_takeover")
    scenario, violated = checked.scenario, checked.result.violated
    assert violated is not None
    assert violated.actions
    own = scenario.own_bounds({})
    raised = [name for name, value in checked.bounds.items() if value > own[name]]
    assert raised, "within its own bounds the scenario holds"
    assert breaks(checked.model, checked.setup, violated.actions, violated.promise)
    for name in raised:
        fewer = {**checked.bounds, name: checked.bounds[name] - 1}
        setup = scenario.setup(checked.rules, fewer)
        assert not breaks(scenario.model(fewer), setup, violated.actions, violated.promise), name
    for number in range(len(violated.actions)):
        without = [*violated.actions[:number], *violated.actions[number + 1 :]]
        assert not breaks(checked.model, checked.setup, without, violated.promise), number


def test_a_swarm_can_be_stopped() -> None:
    stop = threading.Event()
    stop.set()
    checked = check(LATE, Request(walks=Walks(0, seconds=1000.0, swarm=True)), stop=stop)
    assert (checked.result.verdict, checked.result.generated) == ("inconclusive", 0)


def test_seconds_end_a_swarm() -> None:
    result = check(SCENARIOS["coordinator_failover"], Request(walks=Walks(2, seconds=0.2, swarm=True))).result
    assert 0 < result.seconds < 20


@pytest.mark.parametrize("fault", [0, 1])
def test_a_promise_that_nobody_gives_beside_a_fault_is_not_owed(fault: int) -> None:
    assert LATE.not_owed({**OWN, "forgotten": fault}) == ({"memory_is_the_fold_of_the_log"} if fault else set())
