"""What several threads find is what one finds: a promise that is broken, an index outside its array, or both."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from zombieproof.checker.engine import search
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import ModelFault
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.two_phase_commit.model import ABORT, ResourceManager, Rules, step, two_phase_commit

MANAGERS = 5


def step_that_reaches_too_far(state: Any, action: int, rules: Any, trail: Any) -> bool:
    """Two-phase commit, but that one abort is noted outside of an array."""
    if not step(state, action, rules, trail):
        return False
    if action == ABORT and received(state) == 3 and count_of(state, ResourceManager.PREPARED) == 4:
        state.prepared[len(state.prepared) + count_of(state, ResourceManager.WORKING)] = 1
    return True


def count_of(state: Any, wanted: int) -> int:
    count = 0
    for i in range(len(state.resources)):
        if state.resources[i] == wanted:
            count += 1
    return count


def received(state: Any) -> int:
    count = 0
    for i in range(len(state.prepared)):
        count += state.prepared[i]
    return count


def not_three_received_and_two_aborted(state: Any, rules: Any) -> bool:
    return received(state) != 3 or count_of(state, ResourceManager.ABORTED) != 2


def not_two_received_and_three_aborted(state: Any, rules: Any) -> bool:
    return received(state) != 2 or count_of(state, ResourceManager.ABORTED) != 3


def reads_too_far(state: Any, rules: Any) -> bool:
    return received(state) != 4 or state.prepared[len(state.prepared) + received(state)] == 0


def always(holds: Callable[..., bool]) -> Promise:
    return Promise(holds.__name__, "always", holds, "It holds.")


def found(model: Model, workers: int) -> tuple[object, ...]:
    """What an exploration finds, or what is wrong with the model."""
    try:
        result = explore(model, Rules(), workers=workers, promises=[each.name for each in model.promises])
    except ModelFault as fault:
        return (str(fault),)
    return result.verdict, result.distinct, result.generated, result.depth, result.violated, result.witnesses


@pytest.fixture(scope="module")
def plain() -> Model:
    model = two_phase_commit(MANAGERS)
    return replace(model, promises=tuple(each for each in model.promises if each.kind != "leads_to"))


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("is_far", [False, True], ids=["within arrays", "a step reaches too far"])
@pytest.mark.parametrize(
    "promise",
    [not_three_received_and_two_aborted, not_two_received_and_three_aborted, reads_too_far],
    ids=lambda promise: promise.__name__,
)
def test_any_number_of_threads_ends_where_one_does(
    plain: Model, promise: Callable[..., bool], is_far: bool, workers: int, shared_by: Callable[..., list[int]]
) -> None:
    model = replace(plain, promises=(*plain.promises, always(promise)))
    model = replace(model, step=step_that_reaches_too_far) if is_far else model
    at_work = shared_by(1)
    alone = found(model, 1)
    assert max(at_work) == 1
    at_work = shared_by(workers)
    assert found(model, workers) == alone
    assert alone[0] != "holds"
    assert max(at_work) == workers


def test_what_is_met_on_one_way_of_a_thread_is_not_passed_over_on_another(
    plain: Model, shared_by: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit may be expanded in parts; between two of them the thread expands a later unit, on its other way."""
    met: dict[int, object] = {}
    ways: set[int] = set()
    work = search.Search._work

    def noted(self: search.Search, block: Any, places: list[Any]) -> Any:
        for place in places:
            ways.add(id(place))
            met[id(place.buffer.out.recent)] = place.buffer.out.recent
        return work(self, block, places)

    monkeypatch.setattr(search.Search, "_work", noted)
    shared_by(3)
    explore(plain, Rules(), workers=3, promises=[each.name for each in plain.promises])
    assert len(ways) == len(met) == 6
