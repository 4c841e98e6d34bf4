"""What several threads find is what one finds: a promise that is broken, an index outside its array, or both."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine import search, storage
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import ModelFault
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.engine.storage import OutOfMemory, Shelf
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
    return of_safety(MANAGERS)


def of_safety(managers: int) -> Model:
    """Two-phase commit without promises of progress: several threads explore it."""
    model = two_phase_commit(managers)
    return replace(model, promises=tuple(each for each in model.promises if each.kind != "leads_to"))


@pytest.mark.long("-4]")
@pytest.mark.sample("not_three_received_and_two_aborted")
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


def test_what_a_thread_has_met_is_not_passed_over_by_another_one(
    plain: Model, shared_by: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On its two ways a thread has candidates looked up in the order in which it finds them; nothing is said of others.

    A unit is expanded in parts here: were a later one expanded between them, it would be looked up behind both.
    """
    met: dict[int, object] = {}
    ways: set[int] = set()
    work = search.Search._work

    def noted(self: search.Search, block: Any, places: list[Any]) -> Any:
        for place in places:
            ways.add(id(place))
            met[id(place.out.recent)] = place.out.recent
        return work(self, block, places)

    monkeypatch.setattr(search.Search, "_work", noted)
    shared_by(3)
    explore(plain, Rules(), workers=3, promises=[each.name for each in plain.promises])
    assert (len(ways), len(met)) == (6, 3)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Room for a unit or two, and blocks of a thousand states; returns for each that is filled whether it is shared."""
    filled: list[bool] = []
    exchange, close = search.Search._exchange, search.Search._close

    def exchanged(self: search.Search, *arguments: int) -> None:
        filled.append(self._is_shared)
        exchange(self, *arguments)

    def closed(self: search.Search, least: int) -> None:
        filled.append(self._is_shared)
        close(self, least)

    monkeypatch.setattr(search, "BLOCK_ROWS", 1000)
    monkeypatch.setattr(search.Search, "_exchange", exchanged)
    monkeypatch.setattr(search.Search, "_close", closed)
    return filled


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[Any]]:
    """What becomes blocks: for each level its rows, parent and action, in order."""
    found: dict[int, list[Any]] = {}
    put = search.Search.put

    def noted(self: search.Search, block: Any, parts: list[Any]) -> None:
        of_level = found.setdefault(len(self.levels.blocks), [])
        of_level.extend(zip(*(each.tolist() for each in block.origins.whole()), strict=True))
        put(self, block, parts)

    monkeypatch.setattr(search.Search, "put", noted)
    return found


def ends_with_the_first_rows(
    model: Model, workers: int, rows: dict[int, list[Any]], expected: dict[int, list[Any]]
) -> None:
    """Memory ends, and what there is of each level is what one thread finds first."""
    result = explore(model, Rules(), workers=workers, promises=[each.name for each in model.promises])
    assert (result.verdict, result.why) == ("inconclusive", "no more")
    for level, found_there in rows.items():
        assert found_there == expected[level][: len(found_there)]


@pytest.mark.parametrize("workers", [2, 4])
def test_what_threads_have_filled_is_made_into_blocks_in_its_order(
    workers: int, little: list[bool], shared_by: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks follow each other as those that one thread makes; nobody waits for a unit of a thread that makes one."""
    blocks: list[tuple[int, int, bytes]] = []
    at_work: dict[int, Any] = {}
    by_threads = 0
    put, work = search.Search.put, search.Search._work

    def noted(self: search.Search, block: Any, parts: list[Any]) -> None:
        nonlocal by_threads
        if self._is_shared:
            assert at_work[threading.get_ident()].tally[k.PENDING] == 0
            by_threads += 1
        blocks.append((block.base, block.fill, b"".join(piece.tobytes() for piece in block.origins.pieces())))
        put(self, block, parts)

    def works(self: search.Search, block: Any, places: list[Any]) -> int:
        at_work[threading.get_ident()] = places[0]
        return work(self, block, places)

    monkeypatch.setattr(search.Search, "put", noted)
    monkeypatch.setattr(search.Search, "_work", works)
    model = of_safety(MANAGERS + 1)
    shared_by(1)
    alone = found(model, 1)
    expected = blocks.copy()
    blocks.clear()
    little.clear()
    assert by_threads == 0
    shared_by(workers)
    assert found(model, workers) == alone
    assert blocks == expected
    assert sum(little) > 20
    assert by_threads > 10


@pytest.mark.parametrize("workers", [2, 4])
def test_nothing_behind_a_block_that_cannot_be_made_becomes_one(
    workers: int,
    rows: dict[int, list[Any]],
    little: list[bool],
    shared_by: Callable[..., list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory ends for one block, made beside others, and is there again for those that they have filled since."""
    model = of_safety(MANAGERS + 1)
    block, into_block = Shelf.block, search.Search._into_block
    left, is_shared = 0, False

    def noted(self: search.Search, *arguments: Any) -> None:
        nonlocal is_shared
        is_shared = self._is_shared
        into_block(self, *arguments)

    def fails(self: Shelf, base: int, parts: list[Any]) -> Any:
        nonlocal left
        if is_shared:
            left -= 1
            if left == 0:
                time.sleep(0.02)  # others fill theirs
                raise OutOfMemory("no more")
        return block(self, base, parts)

    shared_by(1)
    found(model, 1)
    expected = rows.copy()
    monkeypatch.setattr(Shelf, "block", fails)
    monkeypatch.setattr(search.Search, "_into_block", noted)
    shared_by(workers)
    for times in range(1, 9):
        rows.clear()
        left = times
        ends_with_the_first_rows(model, workers, rows, expected)


@pytest.mark.parametrize("fault", [OutOfMemory("no more"), KeyboardInterrupt()], ids=["no memory", "interrupted"])
def test_blocks_that_cannot_be_made_end_the_search_and_its_threads(
    plain: Model,
    fault: BaseException,
    little: list[bool],
    shared_by: Callable[..., list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = Shelf.block

    def fails(self: Shelf, base: int, parts: list[Any]) -> Any:
        if any(little):
            raise fault
        return block(self, base, parts)

    monkeypatch.setattr(Shelf, "block", fails)
    shared_by(2)
    result = explore(plain, Rules(), workers=2, promises=[each.name for each in plain.promises])
    assert result.verdict == "inconclusive"
    assert result.interrupted == isinstance(fault, KeyboardInterrupt)
    assert (result.why or "").startswith("interrupted" if result.interrupted else "no more")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("explore")]


@pytest.mark.parametrize("workers", [2, 4])
def test_what_is_left_when_the_table_cannot_grow_is_what_one_thread_finds_first(
    workers: int,
    rows: dict[int, list[Any]],
    little: list[bool],
    shared_by: Callable[..., list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory ends in a batch in which threads have filled blocks already: nothing of what they kept is taken twice."""
    model = of_safety(MANAGERS + 1)
    grow = search.Search.make_room
    left = 0

    def fails(self: search.Search) -> None:
        nonlocal left
        if any(little):
            left -= 1
            if left < 0:
                raise OutOfMemory("no more")
        grow(self)

    monkeypatch.setattr(storage, "FIRST_SLOTS", 8)
    shared_by(1)
    found(model, 1)
    expected = rows.copy()
    monkeypatch.setattr(search.Search, "make_room", fails)
    shared_by(workers)
    for times in range(6):
        rows.clear()
        little.clear()
        left = times
        ends_with_the_first_rows(model, workers, rows, expected)
