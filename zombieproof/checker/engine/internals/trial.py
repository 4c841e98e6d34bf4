"""Trial of private parts: explore a small model compiled, interpret it, and compare.

It runs in a process of its own (see `expected`): what is not as expected may end that process.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from typing import Final

from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import InterpretedHost, ModelFault
from zombieproof.checker.engine.internals import expected
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.model.fields import array, integer

_PRICES: Final = ((3, 5), (7, 2))
_COUNTERS: Final = 3


class TrialFailed(Exception):
    """Compiled and interpreted differ; the message says in what."""


@dataclass(slots=True)
class Counter:
    """A counter, whether it was reset, and two small numbers."""

    count: int = 0
    was_reset: bool = False
    marks: list[int] = array(int, 2)


@dataclass(slots=True)
class State:
    """Counters that share a budget."""

    counters: list[Counter] = array(Counter, _COUNTERS)
    spent: int = integer(width="i2")


@dataclass(slots=True)
class Setup:
    """The budget, and whether an index is wrong on purpose."""

    budget: int = integer(width="i2")
    is_wrong: bool = False


@dataclass(slots=True)
class Trail:
    """What one step did: nothing."""

    unused: int = 0


def price(state: State, c: int, kind: int) -> int:
    """Return what an action costs."""
    return _PRICES[kind][state.counters[c].count % 2] + c


def step(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    """Let counter `action` // 2 count or be reset."""
    c, kind = action // 2, action % 2
    counter = state.counters[c]
    cost = price(state, c, kind)
    if state.spent + cost > setup.budget or (kind == 1 and counter.was_reset):
        return False
    state.spent += cost
    if kind == 0:
        counter.count += 1
        counter.marks[counter.count % (3 if setup.is_wrong else 2)] += 1
        return True
    counter.count = -counter.count
    counter.was_reset = True
    return True


def all_is_spent(state: State, setup: Setup) -> bool:
    """Two units are always left."""
    return state.spent + 2 <= setup.budget


def some_reset(state: State) -> bool:
    """Some counter was reset after it had counted."""
    for counter in state.counters:
        if counter.was_reset and counter.count < 0:
            return True
    return False


def trial_model() -> Model:
    """Return the model."""
    return Model(
        name="trial",
        state=State,
        setup=Setup,
        trail=Trail,
        actions=2 * _COUNTERS,
        step=step,
        describe=lambda state, action, setup: f"counter {action // 2}, action {action % 2}",
        initial=lambda setup: State(),
        promises=(Promise("two_are_left", "always", all_is_spent), Promise("some_reset", "sometimes", some_reset)),
    )


def interpreted(model: Model, setup: Setup) -> tuple[int, int]:
    """Return how many states there are, and how many steps lead to the first violation."""
    engine = compiled(model)
    host = InterpretedHost(model, setup, engine.state, engine.trail)
    first = host.initial()
    depths, waiting, violated = {host.state.pack(first): 0}, deque([first]), -1
    while waiting:
        state = waiting.popleft()
        depth = depths[host.state.pack(state)]
        if violated < 0 and not model.promises[0].judge(state, setup):
            violated = depth
        for action in range(model.actions):
            after, _ = host.step(state, action)
            if after is not None and (packed := host.state.pack(after)) not in depths:
                depths[packed] = depth + 1
                waiting.append(after)
    return len(depths), violated


def run() -> None:
    """Explore and interpret.

    Raises:
        TrialFailed: they differ.
    """
    model, setup = trial_model(), Setup(budget=30)
    states, steps = interpreted(model, setup)
    whole = explore(model, setup, promises=["some_reset"])
    if (whole.verdict, whole.distinct) != ("holds", states):
        raise TrialFailed(f"{states} states interpreted, {whole.distinct} compiled, which says {whole.verdict}")
    broken = explore(model, setup)
    found = -1 if broken.violated is None else len(broken.violated.actions or ())
    if found != steps:
        raise TrialFailed(f"a violation after {steps} steps interpreted, after {found} compiled")
    try:
        explore(model, Setup(budget=30, is_wrong=True))
    except ModelFault:
        return
    raise TrialFailed("an index outside its array is not noticed")


def main() -> None:
    """Run the trial in a process of its own, on private parts whatever they are; the exit code tells the outcome."""
    setattr(expected, "fault", lambda: None)  # noqa: B010  # this process finds out what others then decide by
    try:
        run()
    except Exception as error:  # noqa: BLE001  # whatever is not as expected
        sys.stderr.write(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}\n")
        sys.exit(1)
