"""Checking a scenario: choose rules and bounds, explore, and say what came out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from zombieproof.checker.engine.explore import Progress, Result, Stop, explore
from zombieproof.checker.engine.model import Model
from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.model.rules import Rules, with_switches


@dataclass(frozen=True)
class Request:
    """How to check: everything that the command line can choose. `mutant` is the name of one."""

    rules: str = ""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    mutant: str = ""
    bounds: Mapping[str, int] | None = None
    workers: int = 1
    memory_bytes: int | None = None


class UnknownMutant(ValueError):
    """The scenario has no mutant of that name."""


@dataclass(frozen=True)
class Checked:
    """A scenario, how it was checked, and what came out. `is_pinned` says whether its pinned count applies."""

    scenario: Scenario
    model: Model
    setup: object
    rules: Rules
    rules_name: str
    bounds: Mapping[str, int]
    mutant: Mutant | None
    is_pinned: bool
    result: Result


def chosen(scenario: Scenario, request: Request) -> tuple[Rules, dict[str, int]]:
    """The rules and bounds of a run.

    Raises:
        UnknownRule, UnknownBound: something was named that the scenario or the rules do not have.
    """
    mutant = scenario.mutant(request.mutant) if request.mutant else None
    rules = with_switches(scenario.own_rules(request.rules, mutant), request.on, request.off)
    return rules, scenario.own_bounds({**(mutant.bounds if mutant else {}), **(request.bounds or {})})


def check(
    scenario: Scenario,
    request: Request | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
    stop: Stop | None = None,
) -> Checked:
    """Explore a scenario exhaustively.

    A mutant is judged by the promise that it breaks. With other rules only the *always* promises are judged: what has
    to be reached for a scenario not to be vacuous is another matter there.

    Raises:
        UnknownMutant, UnknownRule, UnknownBound: something was named that the scenario or the rules do not have.
    """
    request = request or Request()
    mutant = scenario.mutant(request.mutant) if request.mutant else None
    if request.mutant and mutant is None:
        there_are = ", ".join(m.name for m in scenario.mutants) or "none"
        raise UnknownMutant(f"{scenario.name}: there is no mutant {request.mutant!r}; there are: {there_are}")
    rules, bounds = chosen(scenario, request)
    model = scenario.model(bounds)
    setup = scenario.setup(rules, bounds)
    changed = mutant is not None or rules != scenario.own_rules()
    promises = (*scenario.always, *scenario.sometimes)
    if mutant is not None:
        promises = (mutant.breaks,)
    elif changed:
        promises = scenario.always
    result = explore(
        model,
        setup,
        promises=promises,
        memory_bytes=request.memory_bytes,
        workers=request.workers,
        progress=progress,
        stop=stop,
    )
    is_pinned = not changed and bounds == dict(scenario.bounds)
    name = request.rules or (mutant.rules if mutant else "") or scenario.rules
    return Checked(scenario, model, setup, rules, name, bounds, mutant, is_pinned, result)
