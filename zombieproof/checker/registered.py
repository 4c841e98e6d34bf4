"""Which registered story a broken promise is: a mutant that is `known`, of the scenario or of another one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.scenarios.known import KnownWith, known_with
from zombieproof.model.rules import Rules


@dataclass(frozen=True, slots=True)
class Registered:
    """A story: the scenario and mutant that tell it, and what is known of it."""

    scenario: str
    mutant: str
    why: str


def registered(scenario: Scenario, rules: Rules, bounds: Mapping[str, int], promise: str) -> Registered | None:
    """The story of a promise that is broken within these bounds; None: it is none that is known, or rules differ.

    Args:
        scenario: where it is broken.
        rules: under which; only what the scenario's own rules break is known.
        bounds: how often what may happen.
        promise: its name.
    """
    for mutant in scenario.mutants:
        same_rules = rules == scenario.own_rules(mutant=mutant)
        if same_rules and _is_known(mutant, promise) and _is_within(scenario, mutant, bounds):
            return Registered(scenario.name, mutant.name, mutant.known)
    if rules != scenario.own_rules():
        return None
    row = known_with(promise, _possible(scenario, bounds), rules)
    return None if row is None else next(iter(stories(row)), None)


def stories(row: KnownWith) -> list[Registered]:
    """The registered stories of what is known to break where faults come together."""
    return [
        Registered(scenario.name, mutant.name, mutant.known)
        for scenario in SCENARIOS.values()
        for mutant in scenario.mutants
        if _is_known(mutant, row.promise) and mutant.known == row.why
        if row.is_met(_possible(scenario, scenario.own_bounds(mutant.bounds)))
    ]


def _is_within(scenario: Scenario, mutant: Mutant, bounds: Mapping[str, int]) -> bool:
    """Whether these bounds are those of a mutant or larger ones, with the same readings."""
    own = scenario.own_bounds(mutant.bounds)
    same = all(bounds[name] == own[name] for name in scenario.readings)
    return same and all(bounds[name] >= value for name, value in mutant.bounds.items())


def _is_known(mutant: Mutant, promise: str) -> bool:
    return bool(mutant.known) and mutant.breaks == promise


def _possible(scenario: Scenario, bounds: Mapping[str, int]) -> Collection[str]:
    return [fault for fault in scenario.faults if bounds.get(fault)]
