"""Explore each reading the other way, and both sides of the contrast: all that breaks, with a shortest way there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.model import Model
from zombieproof.checker.proposal2014.readings import Otherwise
from zombieproof.checker.request import Request, chosen
from zombieproof.checker.scenario import Scenario

MEMORY = 2 << 30


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that is broken, and a shortest way to where it is, in words."""

    promise: str
    steps: tuple[str, ...]
    repeats_from: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an exploration: what is broken, shortest first, and of how many states the rest holds.

    `undecided`: why nobody knows of the rest; empty where it holds.
    """

    asked: Otherwise
    broken: list[Broken] = field(default_factory=list)
    held: tuple[str, ...] = ()
    distinct: int = 0
    undecided: str = ""


def explored(asked: Otherwise) -> Outcome:
    """Explore it again and again, each time without the promise that was broken the last time."""
    scenario = asked.scenario
    request = Request(off=asked.off, bounds=asked.bounds)
    rules, bounds = chosen(scenario, request)
    model, setup = scenario.model(bounds), scenario.setup(rules, bounds)
    left = list(asked.judged or scenario.kept)
    outcome = Outcome(asked)
    while left:
        result = explore(model, setup, promises=tuple(left), memory_bytes=MEMORY)
        violated = result.violated
        if violated is None or violated.actions is None:
            undecided = result.why or "" if result.verdict == "inconclusive" else ""
            return Outcome(asked, outcome.broken, tuple(left), result.distinct, undecided)
        told = in_words(model, setup, violated.actions)
        outcome.broken.append(Broken(violated.promise, told, violated.repeats_from))
        left.remove(violated.promise)
    return outcome


def witness(scenario: Scenario, off: tuple[str, ...], promise: str, bounds: Mapping[str, int]) -> tuple[str, ...]:
    """A shortest way, in words, to where a promise is broken, or a *sometimes* promise holds.

    Raises:
        ValueError: there is none.
    """
    rules, chosen_bounds = chosen(scenario, Request(off=off, bounds=bounds))
    model, setup = scenario.model(chosen_bounds), scenario.setup(rules, chosen_bounds)
    result = explore(model, setup, promises=(promise,), memory_bytes=MEMORY)
    found = result.witnesses.get(promise) or (result.violated.actions if result.violated else None)
    if found is None:
        raise ValueError(f"{scenario.name}: {promise} {result.verdict}, and there is no way to tell of")
    return in_words(model, setup, found)


def in_words(model: Model, setup: object, actions: Iterable[int]) -> tuple[str, ...]:
    """What each action does."""
    state, told = model.initial(setup), list[str]()
    for action in actions:
        told.append(model.describe(state, action, setup))
        model.step(state, action, setup, model.trail())
        model.normalise(state, setup)
    return tuple(told)
