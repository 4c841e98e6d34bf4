"""A small model for tests of the engine: its counts follow from a formula, and its setup makes each thing happen."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from zombieproof.checker.engine import search
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.model.fields import array, integer


@dataclass(slots=True)
class Coins:
    """Heaps of coins, and whether a heap could not take one more."""

    heaps: list[int] = array(int, 3)
    overflow: int = 0


@dataclass(slots=True)
class House:
    """`most` coins on a heap, which has `room` for so many; 1 for `sorted` heaps; sums that promises speak of."""

    most: int = 4
    room: int = 100
    sorted: int = 0
    forbidden_sum: int = integer(-1, width="i2")
    wanted_sum: int = integer(0, width="i2")


@dataclass(slots=True)
class Move:
    """One coin: in `state`, `event` happened."""

    machine: int = 0
    state: int = 0
    event: int = 0


@dataclass(slots=True)
class Trail:
    """The move of one step."""

    count: int = 0
    moves: list[Move] = array(Move, 2)


def step(state: Coins, action: int, house: House, trail: Trail) -> bool:
    """Put a coin on heap `action`."""
    if state.heaps[action] >= house.most:
        return False
    trail.moves[0].machine = 1
    trail.moves[0].state = state.heaps[action]
    trail.moves[0].event = action
    trail.count = 1
    if state.heaps[action] >= house.room:
        state.overflow = 1
    state.heaps[action] += 1
    return True


def normalise(state: Coins, house: House) -> None:
    """Sort the heaps if the house wants it."""
    if house.sorted == 0:
        return
    for _ in range(2):
        for i in range(2):
            if state.heaps[i] > state.heaps[i + 1]:
                larger = state.heaps[i]
                state.heaps[i] = state.heaps[i + 1]
                state.heaps[i + 1] = larger


def total(state: Coins) -> int:
    """Return the number of coins."""
    coins = 0
    for heap in state.heaps:
        coins += heap
    return coins


def the_sum_is_allowed(state: Coins, house: House) -> bool:
    """There are never exactly `forbidden_sum` coins."""
    return total(state) != house.forbidden_sum


def the_sum_is_reached(state: Coins, house: House) -> bool:
    """There are `wanted_sum` coins at some time."""
    return total(state) == house.wanted_sum


def no_heap_is_negative(state: Coins) -> bool:
    """A promise that needs no setup."""
    return state.heaps[0] >= 0 and state.heaps[1] >= 0 and state.heaps[2] >= 0


def bound_hit(state: Coins, house: House) -> int:
    """Code 3 where a heap has more coins than it has room for."""
    return 3 if state.overflow == 1 else 0


COINS = Model(
    name="coins",
    state=Coins,
    setup=House,
    trail=Trail,
    actions=3,
    step=step,
    describe=lambda state, action, house: f"a coin on heap {action}, which has {state.heaps[action]}",
    initial=lambda house: Coins(),
    promises=(
        Promise("the_sum_is_allowed", "always", the_sum_is_allowed),
        Promise("no_heap_is_negative", "always", no_heap_is_negative),
        Promise("the_sum_is_reached", "sometimes", the_sum_is_reached),
    ),
    normalise=normalise,
    bound_hit=bound_hit,
    bounds={3: "coins on a heap"},
    coverage=(2, 8, 3),
)


@pytest.fixture(scope="session")
def coins() -> Model:
    """Three heaps of up to `most` coins: (most + 1)³ states, or as many as there are sorted triples."""
    return COINS


@pytest.fixture(scope="session")
def house() -> Callable[..., Any]:
    """Make a setup of the model `coins`."""
    return House


@pytest.fixture(scope="session")
def variant() -> Callable[..., Model]:
    """Make a model like `coins` with other functions."""
    return lambda **changed: replace(COINS, **changed)


@pytest.fixture
def shared_by(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Have so many threads share each batch; the list says how many each batch had.

    Units are of some seventy states, if that is not refused: what is spilled is read into the small buffer by units.
    """

    def shared(workers: int, *, small_units: bool = True) -> list[int]:
        at_work: list[int] = []
        explored = search.Search._explored

        def counted(self: search.Search, *arguments: Any) -> None:
            at_work.append(arguments[-1])
            explored(self, *arguments)

        monkeypatch.setattr(search, "_FIRST_BATCH", 1 << 13)
        if small_units:
            monkeypatch.setattr(search, "_SMALL_BUFFER", 1)
            monkeypatch.setattr(search, "BLOCK_BYTES", 1)
        monkeypatch.setattr(search.Search, "_worth", lambda *_: workers)
        monkeypatch.setattr(search.Search, "_explored", counted)
        return at_work

    return shared
