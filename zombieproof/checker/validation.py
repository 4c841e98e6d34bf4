"""What is wrong with a scenario, found when it is made: subject, fault, and what would be legal."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from zombieproof.checker.engine.model import Malformed, Model, near
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import NUMBERS, PRESETS, UnknownRule, checked_changes, preset, switches

if TYPE_CHECKING:
    from zombieproof.checker.scenario import Mutant, Scenario

MOST: Final = 100
"""The greatest bound: a field of a state is one signed byte, and has to hold one more."""


class ScenarioFault(Malformed):
    """A scenario that cannot be."""


def check_mutant(mutant: Mutant) -> None:
    """Raise ScenarioFault for a mutant that cannot be."""
    who = f"mutant {mutant.name!r}"
    _identifier("the name of a mutant", mutant.name)
    _names(who, "without", mutant.without)
    known = [facts.name for facts in switches()]
    for name in mutant.without:
        if name in NUMBERS:
            raise ScenarioFault(f"{who}: {name} is a number: changes={{{name!r}: {NUMBERS[name][0]}}}", name)
        if name not in known:
            raise ScenarioFault(
                f"{who}: without names the rule {name!r}, which does not exist; {near(name, known)}", name
            )
    _changes(who, mutant.changes)
    check_bounds(who, mutant.bounds)
    _preset(who, mutant.rules or "newest")
    in_force = [name for name in mutant.without if getattr(preset(RELEASES[-1]), name) == 1]
    if mutant.known and (in_force or mutant.changes or mutant.rules):
        raise ScenarioFault(
            f"{who}: known says what the rules break as they are, and without, changes or rules change them; "
            f"leave the one or the others away, or name in without only rules that Kafka {RELEASES[-1]} does not have",
            "known",
        )
    steps: Any = mutant.steps
    if not isinstance(steps, int) or steps < 0:
        raise ScenarioFault(f"{who}: steps={steps!r}; give the number of steps of its shortest story", "steps")


def check_scenario(scenario: Scenario) -> None:
    """Raise ScenarioFault for a scenario that cannot be."""
    _identifier("the name of a scenario", scenario.name)
    who = f"scenario {scenario.name!r}"
    # What is annotated is not yet so: these are values that somebody wrote.
    story: Any = scenario.story
    distinct: Any = scenario.distinct
    if not isinstance(story, str) or not story.strip():
        raise ScenarioFault(f"{who}: its story is {in_short(story)}; tell in a few sentences what happens", "story")
    if not isinstance(distinct, int) or distinct < 0:
        raise ScenarioFault(f"{who}: distinct={distinct!r}; give the number of states, 0 if unknown", "distinct")
    check_bounds(who, scenario.bounds)
    _readings(who, scenario)
    _preset(who, scenario.rules)
    _changes(who, scenario.changes)
    _promises(who, scenario)
    if not isinstance(scenario.mutants, tuple):
        raise ScenarioFault(
            f"{who}: mutants is {in_short(scenario.mutants)}, not a tuple: behind a single one stands a comma, "
            "mutants=(Mutant(...),)",
            "mutants",
        )
    _mutants(who, scenario)


def _readings(who: str, scenario: Scenario) -> None:
    _names(who, "readings", scenario.readings)
    for name in scenario.readings:
        if name not in scenario.bounds:
            raise ScenarioFault(
                f"{who}: readings names {name!r}, which is no bound; {near(name, scenario.bounds)}", name
            )
        if scenario.bounds[name] not in (0, 1):
            raise ScenarioFault(
                f"{who}: {name}={scenario.bounds[name]} is a reading, and neither off nor on; give 0 or 1", name
            )


def _promises(who: str, scenario: Scenario) -> None:
    model = scenario.model(scenario.bounds)
    if not isinstance(model, Model):
        raise ScenarioFault(f"{who}: model gives {in_short(model)}; it takes bounds and returns a Model", "model")
    kinds = {promise.name: promise.kind for promise in model.promises}
    named = {
        "always": scenario.always,
        "sometimes": scenario.sometimes,
        "at_rest": scenario.at_rest,
        "leads_to": scenario.leads_to,
    }
    for kind, names in named.items():
        _names(who, kind, names)
        for name in names:
            if name not in kinds:
                of_kind = [each for each, its in kinds.items() if its == kind]
                raise ScenarioFault(
                    f"{who}: {kind} names {name!r}, which is no promise of {model.name}; {near(name, of_kind)}", name
                )
            if kinds[name] != kind:
                raise ScenarioFault(
                    f"{who}: {name} is a promise of the kind {kinds[name]}: name it in {kinds[name]}=", name
                )


def _mutants(who: str, scenario: Scenario) -> None:
    kept = [promise.name for promise in scenario.model(scenario.bounds).promises if promise.kind != "sometimes"]
    seen: set[str] = set()
    for mutant in scenario.mutants:
        if not hasattr(mutant, "breaks"):
            raise ScenarioFault(f"{who}: mutants holds {in_short(mutant)}; each is a Mutant(...)", "mutants")
        if mutant.name in seen:
            raise ScenarioFault(f"{who}: two mutants are named {mutant.name!r}; rename one", mutant.name)
        seen.add(mutant.name)
        if mutant.breaks not in kept:
            raise ScenarioFault(
                f"{who}: mutant {mutant.name!r} breaks {mutant.breaks!r}, which is no promise that holds always or at "
                f"rest, or that it leads to; {near(str(mutant.breaks), kept)}",
                str(mutant.breaks),
            )
        if mutant.known and not mutant.bounds and not mutant.without and mutant.breaks in scenario.kept:
            raise ScenarioFault(
                f"{who}: {mutant.breaks} is to be kept, and mutant {mutant.name!r} says that it is broken as it is; "
                "leave it out of always and at_rest, or leave known away",
                mutant.breaks,
            )
        for name in mutant.bounds:
            if name not in scenario.bounds:
                raise ScenarioFault(
                    f"{who}: mutant {mutant.name!r} changes the bound {name!r}; {near(name, scenario.bounds)}", name
                )
            if name in scenario.readings and mutant.bounds[name] not in (0, 1):
                raise ScenarioFault(
                    f"{who}: mutant {mutant.name!r}: {name}={mutant.bounds[name]} is neither off nor on; give 0 or 1",
                    name,
                )


def check_bounds(who: str, bounds: Any) -> None:
    """Raise ScenarioFault for bounds that cannot be."""
    if not isinstance(bounds, Mapping):
        raise ScenarioFault(f"{who}: bounds is {in_short(bounds)}; give a dict, such as {{'lost': 1}}", "bounds")
    for name, value in bounds.items():
        _identifier(f"{who}: the name of a bound", name)
        if not isinstance(value, int) or not 0 <= value <= MOST:
            raise ScenarioFault(f"{who}: {name}={value!r} is out of range; give 0 to {MOST}", name)


def _names(who: str, what: str, names: Any) -> None:
    """A tuple of texts, none of them twice."""
    if isinstance(names, str):
        raise ScenarioFault(
            f'{who}: {what} is a text, not a tuple of texts: behind a single one stands a comma, {what}=("{names}",)',
            what,
        )
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise ScenarioFault(
            f'{who}: {what} is {in_short(names)}; give a tuple of texts, such as {what}=("name",)', what
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ScenarioFault(f"{who}: {what} names {twice[0]!r} twice", twice[0])


def _changes(who: str, changes: Any) -> None:
    if not isinstance(changes, Mapping):
        raise ScenarioFault(f"{who}: changes is {in_short(changes)}; give a dict, such as {{'kip360': 0}}", "changes")
    known = [*(facts.name for facts in switches()), *NUMBERS]
    for name in changes:
        if name not in known:
            raise ScenarioFault(f"{who}: changes names the rule {name!r}; {near(str(name), known)}", str(name))
        try:
            checked_changes({name: changes[name]})
        except UnknownRule as error:
            raise ScenarioFault(f"{who}: changes: {error}", str(name)) from error


def _preset(who: str, name: str) -> None:
    if name not in PRESETS:
        raise ScenarioFault(f"{who}: no preset of rules is named {name!r}; {near(str(name), PRESETS)}", str(name))


def _identifier(what: str, name: Any) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise ScenarioFault(f"{what} is {name!r}; give letters, digits and underscores, as of a Python name", str(name))


def in_short(value: Any) -> str:
    """A value and its type, in short."""
    text = value.name if isinstance(value, IntEnum) else repr(value)
    return f"{text[:40]} ({type(value).__name__})"


def unknown_bounds(who: str, names: Collection[str], there_are: Collection[str]) -> str:
    """What to say of bounds that a scenario does not have."""
    legal = f"there are: {', '.join(there_are)}" if len(names) > 1 else near(next(iter(names)), there_are)
    return f"{who}: {', '.join(sorted(names))} is no bound; {legal}"
