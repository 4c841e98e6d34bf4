"""Checking a scenario: choose rules and bounds, explore, and say what came out."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from zombieproof.checker.engine.explore import Progress, Result, Stop, explore
from zombieproof.checker.engine.folder import Keeping
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.walking import wander
from zombieproof.checker.request import Request, chosen, preset_in_force, rules_words
from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.model.rules import Rules

__all__ = ["Checked", "Request", "UnknownMutant", "check", "chosen"]


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
    promises = (*scenario.kept, *scenario.sometimes)
    if mutant is not None:
        promises = (mutant.breaks,)
    elif changed:
        promises = scenario.kept
    if request.walks is None:
        result = explore(
            model,
            setup,
            promises=promises,
            memory_bytes=request.memory_bytes,
            workers=request.workers,
            keeping=_keeping(scenario, request, bounds),
            spill=request.spill,
            progress=progress,
            stop=stop,
        )
    else:
        walks = asdict(request.walks)
        result = wander(model, setup, **walks, promises=promises, progress=progress, stop=stop)
    is_pinned = not changed and bounds == dict(scenario.bounds) and request.walks is None
    name = preset_in_force(scenario, request)
    return Checked(scenario, model, setup, rules, name, bounds, mutant, is_pinned, result)


def _keeping(scenario: Scenario, request: Request, bounds: Mapping[str, int]) -> Keeping | None:
    """Where checkpoints are kept, and of what they are."""
    if request.keeping is None:
        return None
    mutant = scenario.mutant(request.mutant) if request.mutant else None
    asked = {
        "the scenario": scenario.name,
        "the rules": rules_words(scenario, request, reads_rules=True, mutant=mutant),
        "the bounds": ",".join(f"{name}={value}" for name, value in sorted(bounds.items())),
    }
    return replace(request.keeping, asked=asked)
