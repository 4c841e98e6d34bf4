"""What is owed where nothing more can happen but new faults: found, shortest, and by any number of threads alike."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from zombieproof.checker.engine import search
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.model import Malformed, Model, Promise
from zombieproof.checker.engine.replay import agree_everywhere, breaks, replay
from zombieproof.checker.engine.result import Result
from zombieproof.checker.engine.walking import wander

Houses = Callable[..., Any]
FULL = "every_heap_is_full"


def every_heap_is_full(state: Any, house: Any) -> bool:
    """No heap can take another coin."""
    return bool(state.heaps[0] == house.most and state.heaps[1] == house.most and state.heaps[2] == house.most)


@pytest.fixture(scope="module")
def owing(coins: Model) -> Model:
    """The coins, which have to fill all heaps in the end."""
    return replace(coins, promises=(*coins.promises, Promise(FULL, "at_rest", every_heap_is_full)))


@pytest.fixture(scope="module")
def careless(owing: Model) -> Model:
    """The same where a coin on the last heap is a fault: it may fall there, and need not."""
    return replace(owing, faults=frozenset({2}))


def facts(result: Result) -> tuple[Any, ...]:
    violated = result.violated
    return (
        result.verdict,
        (violated.promise, violated.actions) if violated else None,
        (result.distinct, result.generated, result.depth),
        result.promises,
        None if result.coverage is None else result.coverage.tolist(),
    )


def holds(result: Result) -> dict[str, bool | None]:
    return {judged.name: judged.holds for judged in result.promises}


def test_what_is_kept_wherever_nothing_more_can_happen_holds(owing: Model, house: Houses) -> None:
    result = explore(owing, house(most=3))
    assert (result.verdict, result.distinct, holds(result)[FULL]) == ("holds", 64, True)
    assert FULL not in agree_everywhere(owing, house(most=3)).broken


def test_a_state_is_at_rest_where_only_faults_are_left(careless: Model, house: Houses) -> None:
    setup = house(most=3)
    result = explore(careless, setup)
    assert result.violated is not None
    assert (result.violated.promise, holds(result)[FULL]) == (FULL, False)
    assert result.violated.actions is not None
    assert sorted(result.violated.actions) == [0, 0, 0, 1, 1, 1]
    assert FULL in agree_everywhere(careless, setup).broken


def test_it_is_broken_in_the_last_state_of_its_story_and_in_none_before(careless: Model, house: Houses) -> None:
    setup = house(most=2)
    violated = explore(careless, setup).violated
    assert violated is not None
    assert violated.actions is not None
    promise = careless.promises[-1]
    states = [step.after for step in replay(careless, setup, violated.actions)]
    assert [breaks(careless, setup, promise, state) for state in states] == [False] * 3 + [True]


def test_what_is_not_asked_is_not_judged_at_rest(careless: Model, house: Houses) -> None:
    assert explore(careless, house(most=3), promises=["the_sum_is_allowed"]).verdict == "holds"


def test_a_model_in_which_nothing_can_happen_is_at_rest_at_the_beginning(careless: Model, house: Houses) -> None:
    assert explore(careless, house(most=0)).verdict == "holds"
    violated = explore(replace(careless, faults=frozenset(range(3))), house(most=1)).violated
    assert violated is not None
    assert (violated.promise, violated.actions) == (FULL, [])


@pytest.mark.parametrize(("forbidden", "promise", "steps"), [(5, "the_sum_is_allowed", 5), (8, FULL, 6)])
def test_the_nearer_of_two_broken_promises_is_told(
    careless: Model, house: Houses, forbidden: int, promise: str, steps: int
) -> None:
    violated = explore(careless, house(most=3, forbidden_sum=forbidden)).violated
    assert violated is not None
    assert violated.actions is not None
    assert (violated.promise, len(violated.actions)) == (promise, steps)


def test_a_state_that_exceeds_a_capacity_is_not_judged_at_rest(careless: Model, house: Houses) -> None:
    result = explore(careless, house(most=3, room=2))
    assert (result.verdict, result.why) == ("inconclusive", "a capacity was exceeded: coins on a heap in 27 states")


@pytest.mark.parametrize("forbidden", [-1, 30, 31, 32, 35])
@pytest.mark.parametrize("workers", [2, 3, 64])
def test_any_number_of_threads_finds_the_same(
    careless: Model, house: Houses, workers: int, forbidden: int, shared_by: Callable[..., list[int]]
) -> None:
    """Sums from 31 on are reached by the successors of what is at rest, and of its neighbours before and behind it."""
    setup = house(most=15, forbidden_sum=forbidden)
    alone = facts(explore(careless, setup))
    at_work = shared_by(workers)
    assert facts(explore(careless, setup, workers=workers)) == alone
    assert max(at_work) > 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_limit_that_is_reached_before_is_what_ends_it(
    careless: Model, house: Houses, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search.Search, "_worth", lambda *_: workers)
    needed = explore(careless, house(most=3)).distinct
    for most in range(1, needed + 2):
        result = explore(careless, house(most=3), workers=workers, max_states=most)
        assert (result.verdict, result.distinct) == (
            "violated" if most >= needed else "inconclusive",
            min(most, needed),
        )


@pytest.mark.slow
def test_walks_find_what_is_unfinished_where_nothing_is_enabled(owing: Model, house: Houses) -> None:
    short = replace(owing, promises=(Promise(FULL, "at_rest", never_enough),))
    result = wander(short, house(most=2), steps=100)
    assert result.violated is not None
    assert result.violated.actions is not None
    assert (result.violated.promise, len(result.violated.actions)) == (FULL, 6)


def never_enough(state: Any, house: Any) -> bool:
    """Whatever there is, it is not enough."""
    return False


def test_a_fault_that_is_no_action_is_refused(coins: Model) -> None:
    with pytest.raises(Malformed, match=r"model 'coins': faults has 3; give numbers of actions, 0 to 2"):
        replace(coins, faults=frozenset({3}))
