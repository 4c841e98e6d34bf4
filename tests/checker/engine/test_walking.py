"""Random walks: what they break stands, is short, and is found again by its seed; all else is not known."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from zombieproof.checker.checking import check
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import CompiledHost, ModelFault, is_at_rest
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.replay import replay
from zombieproof.checker.engine.walking import LONGEST, Walkers, shortened, wander
from zombieproof.checker.request import Request, Walks
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, ON_REPLICAS
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit

Houses = Callable[..., Any]


def breaks(model: Model, setup: object, actions: list[int], promise: str) -> bool:
    """Whether actions, taken one after the other, are enabled and break a promise at last and not before."""
    host = CompiledHost(model, setup)
    number = [each.name for each in model.promises].index(promise)
    at_rest = model.promises[number].kind == "at_rest"

    def is_broken(state: bytes) -> bool:
        return not host.judge(state)[0][number] and (not at_rest or is_at_rest(model, host, state))

    state = host.engine.state.pack(model.initial(setup))
    broken = [is_broken(state)]
    for action in actions:
        after, _ = host.step(state, action)
        if after is None:
            return False
        state = after
        broken.append(is_broken(state))
    return broken[-1] and not any(broken[:-1])


def test_what_is_not_broken_is_not_known(coins: Model, house: Houses) -> None:
    result = wander(coins, house(most=4), steps=1000)
    assert (result.verdict, result.generated, result.distinct, result.violated) == ("inconclusive", 1000, 0, None)
    assert result.why == (
        f"1,000 steps at random in {result.walks:,} walks (seed 0) broke nothing, which proves nothing"
    )
    assert (result.depth, result.walks) == (12, 84)  # three heaps of four: each walk has twelve steps
    assert {each.holds for each in result.promises} == {None}


def test_a_broken_promise_is_told_by_a_story_without_a_step_too_many(coins: Model, house: Houses) -> None:
    setup = house(most=4, forbidden_sum=9)
    result = wander(coins, setup, steps=100_000, seed=3)
    assert result.verdict == "violated"
    assert result.violated is not None
    assert result.violated.actions is not None
    assert len(result.violated.actions) == 9
    assert breaks(coins, setup, result.violated.actions, result.violated.promise)
    shortest = explore(coins, setup).violated
    assert shortest is not None
    assert shortest.promise == result.violated.promise


def test_the_initial_state_is_judged(coins: Model, house: Houses) -> None:
    result = wander(coins, house(forbidden_sum=0), steps=10)
    assert result.violated is not None
    assert (result.verdict, result.violated.actions, result.generated) == ("violated", [], 0)


def test_a_world_without_steps_ends(coins: Model, house: Houses) -> None:
    result = wander(coins, house(most=0), steps=10)
    assert (result.verdict, result.generated, result.walks) == ("inconclusive", 0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 7, (1 << 32) - 1])
def test_a_seed_takes_the_same_walks_in_whatever_pieces(seed: int) -> None:
    scenario = SCENARIOS["late_produce"]
    mutant = scenario.mutants[0]
    found = [check(scenario, Request(mutant=mutant.name, walks=Walks(seed, 600_000))).result for _ in range(2)]
    assert found[0].generated == found[1].generated
    assert found[0].violated == found[1].violated


def test_other_seeds_take_other_walks() -> None:
    model, setup = two_phase_commit(5), Rules()
    assert len({tuple(path_of(model, setup, seed, 10)) for seed in range(20)}) == 20


def test_seconds_end_it_too(coins: Model, house: Houses) -> None:
    result = wander(coins, house(most=4), seconds=0.2)
    assert result.verdict == "inconclusive"
    assert result.seconds >= 0.2
    assert result.generated > 1000


def test_every_enabled_action_is_taken_about_as_often() -> None:
    """Of the first steps of many walks: none of the enabled actions is left out, or preferred much."""
    model, setup = two_phase_commit(6), Rules()
    host = CompiledHost(model, setup)
    initial = host.engine.state.pack(model.initial(setup))
    enabled = {action for action in range(model.actions) if host.step(initial, action)[0] is not None}
    firsts = [path_of(model, setup, seed, 1)[0] for seed in range(60 * len(enabled))]
    counts = {action: firsts.count(action) for action in enabled}
    assert set(firsts) == enabled
    assert min(counts.values()) > 15, counts
    assert max(counts.values()) < 180, counts


def path_of(model: Model, setup: object, seed: int, steps: int) -> list[int]:
    walkers = Walkers(model, setup, [], seed)
    walkers.walk(steps)
    return walkers.path


def test_a_capacity_ends_a_walk_and_is_counted(coins: Model, house: Houses) -> None:
    result = wander(coins, house(most=4, room=2), steps=500)
    assert result.verdict == "inconclusive"
    hits = sum(result.bound_hits.values())
    assert hits >= result.walks - 1
    assert result.why is not None
    assert result.why.endswith(f"; a capacity was exceeded: {next(iter(result.bound_hits))} {hits:,} times")
    assert result.depth <= 7  # two on each heap, and the one that is too many


def test_a_walk_longer_than_its_path_begins_anew(coins: Model, house: Houses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zombieproof.checker.engine.walking.LONGEST", 5)
    assert LONGEST == 10_000
    result = wander(coins, house(most=4), steps=100)
    assert (result.depth, result.walks) == (5, 20)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "walks without an end; give steps, or seconds"),
        ({"steps": 0}, "steps is 0; give 1 or more"),
        ({"seconds": 0.0}, "seconds is 0.0; give more than 0"),
        ({"seconds": float("nan")}, "seconds is nan; give more than 0"),
        ({"steps": 1, "seed": -1}, "seed is -1; give 0 to 4294967295"),
        ({"steps": 1, "promises": ["other"]}, "has no promise other"),
    ],
)
def test_what_makes_no_sense_is_refused(coins: Model, house: Houses, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        wander(coins, house(), **wrong)


def test_an_index_outside_is_told_with_its_place(coins: Model, house: Houses) -> None:
    def outside(state: Any, action: int, setup: Any, trail: Any) -> bool:
        if state.heaps[0] >= 2:
            state.heaps[state.heaps[0] + 7] = 1
            return True
        state.heaps[0] += 1
        return True

    with pytest.raises(ModelFault, match="an index is outside its array") as found:
        wander(replace(coins, step=outside), house(), steps=100)
    assert found.value.place.partition(":")[0] == __file__


@pytest.mark.sample("two_phase_commit")
@pytest.mark.long("fetches_in_steps", "proposal_copy")
@pytest.mark.parametrize(
    "name",
    [
        # The walks of each model are compiled by themselves; models with more room for the same take a minute.
        pytest.param(
            name, marks=[pytest.mark.deep] if each.model(each.bounds) in (BETWEEN_BROKERS, ON_REPLICAS) else []
        )
        for name, each in SCENARIOS.items()
        if each.mutants
    ],
)
def test_a_story_of_a_mutant_stands_and_no_step_of_it_can_be_left_out(name: str) -> None:
    """Whatever a second of walks breaks of the first mutant: interpreted as compiled, and locally shortest."""
    scenario = SCENARIOS[name]
    checked = check(scenario, Request(mutant=scenario.mutants[0].name, walks=Walks(seed=1, steps=200_000)))
    violated = checked.result.violated
    if violated is None:
        assert checked.result.verdict == "inconclusive"
        return
    assert violated.actions is not None
    replay(checked.model, checked.setup, violated.actions)
    assert breaks(checked.model, checked.setup, violated.actions, violated.promise)
    for left_out in range(len(violated.actions)):
        rest = violated.actions[:left_out] + violated.actions[left_out + 1 :]
        assert not breaks(checked.model, checked.setup, rest, violated.promise)


def test_a_long_story_is_made_short(coins: Model, house: Houses) -> None:
    setup = house(most=100, forbidden_sum=3)
    [promise] = [each.name for each in coins.promises if each.kind == "always"][:1]
    assert shortened(coins, setup, [0, 1, 2, 0, 1, 2, 0, 1], promise) == [0, 1, 2]
