"""Two-phase commit: a graph whose size is known from other checkers, and what must not depend on how it is explored."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from zombieproof.checker.engine.explore import Result, explore
from zombieproof.checker.engine.replay import agree_everywhere, replay
from zombieproof.checker.engine.search import Search
from zombieproof.checker.engine.storage import FIRST_SLOTS, Table
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit

SAFETY = [promise.name for promise in two_phase_commit(3).promises if promise.kind != "leads_to"]
"""What several threads judge; a graph of what is owed is noted by one."""


@pytest.mark.parametrize(
    ("managers", "distinct", "generated", "depth"),
    [(5, 8_832, 58_145, 16), (6, 50_816, 402_305, 19), (7, 296_448, 2_744_705, 22)],
)
def test_the_number_of_states_is_the_one_that_others_found(
    managers: int, distinct: int, generated: int, depth: int
) -> None:
    result = explore(two_phase_commit(managers), Rules())
    assert result.verdict == "holds"
    assert (result.distinct, result.generated, result.depth) == (distinct, generated, depth)


def test_compiled_and_interpreted_reach_the_same_states() -> None:
    model = two_phase_commit(3)
    exact = agree_everywhere(model, Rules())
    result = explore(model, Rules())
    assert (exact.distinct, exact.generated, exact.depth) == (result.distinct, result.generated, result.depth)
    assert exact.broken == frozenset()
    assert exact.satisfied == {"everybody_commits", "everybody_aborts"}


def test_a_manager_that_does_not_wait_is_caught_in_three_steps() -> None:
    model = two_phase_commit(6)
    result = explore(model, Rules(wait_for_all=0))
    assert result.verdict == "violated"
    assert result.violated is not None
    assert result.violated.promise == "nobody_commits_what_another_aborted"
    assert result.violated.actions is not None
    assert [step.text for step in replay(model, Rules(wait_for_all=0), result.violated.actions)] == [
        "the transaction manager decides to commit",
        "resource manager 0 chooses to abort",
        "resource manager 1 receives commit, and commits, although 0 aborted",
    ]


def test_the_promise_is_broken_interpreted_too() -> None:
    assert agree_everywhere(two_phase_commit(3), Rules(wait_for_all=0)).broken == {
        "nobody_commits_what_another_aborted"
    }


def test_the_shortest_commit_needs_every_manager_three_times() -> None:
    result = explore(two_phase_commit(6), Rules())
    assert {name: len(path) for name, path in result.witnesses.items()} == {
        "everybody_commits": 3 * 6 + 1,
        "everybody_aborts": 6,
    }


@pytest.mark.sample("2-holds", "3-violated")
@pytest.mark.parametrize("rules", [Rules(), Rules(wait_for_all=0)], ids=["holds", "violated"])
@pytest.mark.parametrize("workers", [2, 3, 63, 64, 65, 1000])
def test_the_result_does_not_depend_on_the_number_of_threads(
    workers: int, rules: Rules, shared_by: Callable[..., list[int]]
) -> None:
    alone = explore(two_phase_commit(6), rules, promises=SAFETY)
    at_work = shared_by(workers)
    assert facts(explore(two_phase_commit(6), rules, promises=SAFETY, workers=workers)) == facts(alone)
    assert max(at_work) >= min(workers, 60) or rules.wait_for_all == 0


@pytest.mark.parametrize("workers", [64, 1000])
def test_threads_that_are_not_worth_it_have_nothing_to_do(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work: list[int] = []
    explored = Search._explored

    def counted(search: Search, *arguments: Any) -> None:
        at_work.append(arguments[-1])
        explored(search, *arguments)

    monkeypatch.setattr(Search, "_explored", counted)
    monkeypatch.setattr("zombieproof.checker.engine.search._thread_seconds", clock(seconds_per_call=1e-5))
    assert explore(two_phase_commit(6), Rules(), promises=SAFETY, workers=workers).distinct == 50_816
    assert max(at_work) == 1
    at_work.clear()
    monkeypatch.setattr("zombieproof.checker.engine.search._thread_seconds", clock(seconds_per_call=10.0))
    assert explore(two_phase_commit(6), Rules(), promises=SAFETY, workers=workers).distinct == 50_816
    assert max(at_work) > 1


def clock(seconds_per_call: float) -> Callable[[], float]:
    """A clock in each thread on which every call of compiled code takes so long."""
    ticks = itertools.count()
    return lambda: next(ticks) * seconds_per_call


def test_the_result_does_not_depend_on_the_size_of_buffers_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = explore(two_phase_commit(6), Rules())
    monkeypatch.setattr("zombieproof.checker.engine.search._SMALL_BUFFER", 1)
    monkeypatch.setattr("zombieproof.checker.engine.search.BLOCK_BYTES", 1)
    monkeypatch.setattr("zombieproof.checker.engine.search.BLOCK_ROWS", 1)
    assert facts(explore(two_phase_commit(6), Rules())) == facts(usual)


def test_the_table_grows_with_the_states() -> None:
    result = explore(two_phase_commit(7), Rules())
    slots = 64 * FIRST_SLOTS
    assert result.distinct > 4 * slots
    # Up to 13 of 16 slots are taken, and about ten bits stay for parent and action.
    assert 8 / 0.8125 + 1.2 < result.bytes_per_state < 17


@pytest.mark.slow
def test_a_state_takes_less_than_sixteen_bytes_also_when_the_table_has_just_grown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[float] = []
    grow = Table.grow

    def grown(table: Table, rehash: Any) -> None:
        grow(table, rehash)
        told.append(table.slots.nbytes / table.used.sum())

    monkeypatch.setattr(Table, "grow", grown)
    explore(two_phase_commit(8), Rules())
    assert len(told) > 6
    assert max(told[-5:]) + 1.25 < 16


@pytest.mark.parametrize("managers", [0, 21])
def test_another_number_of_managers_is_refused(managers: int) -> None:
    with pytest.raises(ValueError, match=f"n={managers}; give 1 to 20"):
        two_phase_commit(managers)


def facts(result: Result) -> tuple[object, ...]:
    """All of a result that must be the same each time."""
    return (
        result.verdict,
        result.distinct,
        result.generated,
        result.depth,
        result.promises,
        result.violated,
        result.witnesses,
    )
