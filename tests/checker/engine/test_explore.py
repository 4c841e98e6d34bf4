"""What exploration counts, finds and says, on a model whose numbers follow from a formula."""

from collections.abc import Callable
from math import comb
from typing import Any

import pytest

from zombieproof.checker.engine.explore import Result, explore
from zombieproof.checker.engine.model import Model

Houses = Callable[..., Any]


@pytest.mark.parametrize("most", [0, 1, 4, 7])
def test_every_state_is_counted_once(coins: Model, house: Houses, most: int) -> None:
    result = explore(coins, house(most=most))
    assert (result.verdict, result.distinct, result.depth) == ("holds", (most + 1) ** 3, 3 * most)
    assert result.generated == 3 * most * (most + 1) ** 2


def test_states_with_one_normal_form_are_one_state(coins: Model, house: Houses) -> None:
    assert explore(coins, house(most=5, sorted=1)).distinct == comb(5 + 3, 3)


def test_an_always_promise_that_breaks_is_shown_on_a_shortest_way(coins: Model, house: Houses) -> None:
    result = explore(coins, house(forbidden_sum=5))
    assert result.verdict == "violated"
    assert result.violated is not None
    assert result.violated.promise == "the_sum_is_allowed"
    assert result.violated.actions is not None
    assert len(result.violated.actions) == result.depth == 5
    assert holds(result) == {"the_sum_is_allowed": False, "no_heap_is_negative": None, "the_sum_is_reached": True}


def test_a_promise_that_is_broken_at_the_beginning_needs_no_action(coins: Model, house: Houses) -> None:
    result = explore(coins, house(forbidden_sum=0))
    assert result.violated is not None
    assert (result.violated.actions, result.distinct, result.generated) == ([], 1, 0)


def test_what_is_not_asked_is_not_judged(coins: Model, house: Houses) -> None:
    result = explore(coins, house(forbidden_sum=5, wanted_sum=99), promises=["no_heap_is_negative"])
    assert (result.verdict, holds(result)) == ("holds", {"no_heap_is_negative": True})


def test_an_unknown_promise_is_named_with_those_that_exist(coins: Model, house: Houses) -> None:
    with pytest.raises(ValueError, match=r"no promise honesty; it has the_sum_is_allowed, no_heap"):
        explore(coins, house(), promises=["honesty"])


def test_a_sometimes_promise_has_a_shortest_witness(coins: Model, house: Houses) -> None:
    result = explore(coins, house(wanted_sum=7))
    assert result.verdict == "holds"
    assert len(result.witnesses["the_sum_is_reached"]) == 7


def test_a_sometimes_promise_that_never_holds_is_a_violation_without_a_trace(coins: Model, house: Houses) -> None:
    result = explore(coins, house(wanted_sum=99))
    assert result.verdict == "violated"
    assert result.violated is not None
    assert (result.violated.promise, result.violated.actions) == ("the_sum_is_reached", None)
    assert result.why == "no reachable state satisfies the_sum_is_reached"
    assert holds(result) == {"the_sum_is_allowed": True, "no_heap_is_negative": True, "the_sum_is_reached": False}


def test_a_capacity_that_was_exceeded_makes_the_result_inconclusive(coins: Model, house: Houses) -> None:
    result = explore(coins, house(most=4, room=2))
    assert result.verdict == "inconclusive"
    assert result.why == "a capacity was exceeded: coins on a heap in 27 states"
    assert result.bound_hits == {"coins on a heap": 27}
    # Heaps of up to two coins, and states in which one heap has just got its third: those are not expanded.
    assert result.distinct == 27 + 27
    assert holds(result) == {"the_sum_is_allowed": None, "no_heap_is_negative": None, "the_sum_is_reached": True}


def test_only_what_came_to_its_end_lacked_nothing_but_room(coins: Model, house: Houses) -> None:
    assert explore(coins, house(most=4, room=2)).lacked_room
    ended = explore(coins, house(most=4, room=2), max_states=40)
    assert (ended.verdict, ended.lacked_room) == ("inconclusive", False)
    assert ended.bound_hits != {}
    violated = explore(coins, house(most=4, room=2, forbidden_sum=5))
    assert (violated.verdict, violated.lacked_room) == ("violated", False)
    assert not explore(coins, house(most=4)).lacked_room


def test_a_state_that_exceeds_a_capacity_is_not_judged(coins: Model, house: Houses) -> None:
    # Seven coins need a third coin on some heap; within the capacity there are never more than six.
    assert explore(coins, house(most=4, room=2, forbidden_sum=7)).verdict == "inconclusive"
    assert explore(coins, house(most=4, room=2, forbidden_sum=6)).verdict == "violated"


def test_a_violation_counts_more_than_a_capacity(coins: Model, house: Houses) -> None:
    result = explore(coins, house(most=4, room=2, forbidden_sum=5))
    assert (result.verdict, result.why) == ("violated", None)
    assert result.bound_hits != {}


def test_coverage_counts_every_generated_move(coins: Model, house: Houses) -> None:
    result = explore(coins, house(most=4))
    assert result.coverage.sum() == result.generated
    assert result.coverage[0].sum() == 0
    assert (result.coverage[1, :4, :] == 25).all()
    assert (result.coverage[1, 4:, :] == 0).all()


def test_a_broken_promise_ends_the_count_at_the_state_that_breaks_it(coins: Model, house: Houses) -> None:
    result = explore(coins, house(most=6, forbidden_sum=1))
    assert (result.distinct, result.generated) == (2, 1)
    assert result.coverage.sum() == 1


def test_bytes_and_collisions_are_told(coins: Model, house: Houses) -> None:
    result = explore(coins, house(most=7))
    assert result.state_bytes == 8
    assert result.bytes_per_state >= 14
    assert result.collision_probability == 512**2 / 2**65
    assert result.peak_mib > 1


def holds(result: Result) -> dict[str, bool | None]:
    return {judged.name: judged.holds for judged in result.promises}
