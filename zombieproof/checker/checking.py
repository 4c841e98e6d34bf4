"""Checking a scenario: choose rules and bounds, explore, and say what came out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from zombieproof.checker.engine.explore import Progress, Result, Stop, explore
from zombieproof.checker.engine.folder import Keeping
from zombieproof.checker.engine.model import Malformed, Model
from zombieproof.checker.engine.reductions import Reduced, reduced
from zombieproof.checker.engine.walking import wander
from zombieproof.checker.request import Request, changes_readings, chosen, preset_in_force, rules_words
from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.checker.swarm import swarm
from zombieproof.checker.warming import compile_apart
from zombieproof.model.rules import Rules

__all__ = ["Checked", "Request", "UnknownMutant", "check", "chosen"]


class UnknownMutant(ValueError):
    """The scenario has no mutant of that name."""


@dataclass(frozen=True)
class Checked:
    """A scenario, how it was checked, and what came out.

    `is_pinned` says whether its pinned count applies; `reduced` what was explored in the place of the model, if that
    was asked for: `result` is about the model all the same, but for its counts. `unreduced` is the pinned count that
    would apply without that; 0 if none would.

    `bounds`, `model` and `setup` are those of the counterexample where a swarm of walks drew others.
    """

    scenario: Scenario
    model: Model
    setup: object
    rules: Rules
    rules_name: str
    bounds: Mapping[str, int]
    mutant: Mutant | None
    is_pinned: bool
    result: Result
    reduced: Reduced | None = None
    unreduced: int = 0

    @property
    def factor(self) -> float | None:
        """How many times fewer states were explored than there are; None where that is not known."""
        if not self.unreduced or self.result.verdict != "holds":
            return None
        return self.unreduced / self.result.distinct


def check(
    scenario: Scenario,
    request: Request | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
    stop: Stop | None = None,
) -> Checked:
    """Explore a scenario exhaustively, or at random if the request asks for walks.

    A mutant is judged by the promise that it breaks. With other rules *sometimes* promises are not: what has
    to be reached for a scenario not to be vacuous is another matter there.

    Raises:
        UnknownMutant, UnknownRule, UnknownBound: something was named that the scenario or the rules do not have.
        FolderRefused: the folder for checkpoints, or for what does not fit, cannot be used, or its checkpoint not.
        Malformed: there is no such reduction, or walks were to be reduced.
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
    promises = judged(scenario, mutant, rules, bounds)
    smaller = reduced(model, setup, promises, request.reduce) if request.reduce else None
    if request.walks is None:
        explored = smaller.smaller if smaller else model
        apart = 0.0 if request.memory_bytes is None else compile_apart(explored, scenario, request, stop)
        result = explore(
            explored,
            setup,
            promises=promises,
            memory_bytes=request.memory_bytes,
            workers=request.workers,
            keeping=_keeping(scenario, request, bounds),
            spill=request.spill,
            progress=progress,
            stop=stop,
        )
        result = replace(result, compile_seconds=result.compile_seconds + apart)
        result = smaller.of_the_model(result) if smaller else result
    elif smaller:
        raise Malformed("walks at random are not reduced: leave --reduce away, or --simulate", "reduce")
    elif request.walks.swarm:
        found = swarm(scenario, rules, bounds, request.walks, promises=promises, progress=progress, stop=stop)
        bounds, model, setup, result = found.bounds, found.model, found.setup, found.result
    else:
        walks = request.walks
        result = wander(
            model,
            setup,
            seed=walks.seed,
            steps=walks.steps,
            seconds=walks.seconds,
            promises=promises,
            progress=progress,
            stop=stop,
        )
    is_own = not changed and bounds == dict(scenario.bounds) and request.walks is None
    name = preset_in_force(scenario, request)
    unreduced = scenario.distinct if is_own and smaller else 0
    is_pinned = is_own and not smaller
    return Checked(scenario, model, setup, rules, name, bounds, mutant, is_pinned, result, smaller, unreduced)


def _keeping(scenario: Scenario, request: Request, bounds: Mapping[str, int]) -> Keeping | None:
    """Where checkpoints are kept, and of what they are."""
    if request.keeping is None:
        return None
    mutant = scenario.mutant(request.mutant) if request.mutant else None
    asked = {
        "the scenario": scenario.name,
        "the rules": rules_words(scenario, request, reads_rules=True, mutant=mutant),
        "the bounds": ",".join(f"{name}={value}" for name, value in sorted(bounds.items())),
        "the reductions": ",".join(request.reduce),
    }
    return replace(request.keeping, asked=asked)


def judged(scenario: Scenario, mutant: Mutant | None, rules: Rules, bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The names of the promises that are judged: those of the scenario, or of its mutant, or of other rules."""
    if mutant is not None:
        return (mutant.breaks,)
    is_other = rules != scenario.own_rules() or changes_readings(scenario, bounds)
    return scenario.kept if is_other else (*scenario.kept, *scenario.sometimes)


def reduction(scenario: Scenario, request: Request) -> Reduced:
    """What `check` would explore in the place of the scenario's model; nothing is explored. Raises Malformed."""
    rules, bounds = chosen(scenario, request)
    model, setup = scenario.model(bounds), scenario.setup(rules, bounds)
    return reduced(model, setup, judged(scenario, scenario.mutant(request.mutant), rules, bounds), request.reduce)
