"""Describe a scenario as text and as JSON: summary, faults, bounds, properties, known violations, mutants."""

from typing import Any

from zombieproof.checker.engine.model import Promise
from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.checker.scenarios import model_of
from zombieproof.model.rules import switches
from zombieproof.report.screen import Column, Screen, plural

_MEANINGS = {facts.name: facts.meaning for facts in switches()}


def promises_of(scenario: Scenario) -> list[Promise]:
    """Return the properties of a scenario: always, at rest, leads to, then sometimes."""
    of_model = {promise.name: promise for promise in scenario.model(scenario.bounds).promises}
    return [of_model[name] for name in (*scenario.kept, *scenario.sometimes)]


def show_scenario(screen: Screen, scenario: Scenario) -> None:
    """Write everything about a scenario."""
    screen.say(scenario.name, "bold")
    screen.say(scenario.story, indent=2)
    screen.say()
    faults = {name: count for name, count in scenario.bounds.items() if name in scenario.faults}
    others = {name: value for name, value in scenario.bounds.items() if name not in scenario.faults}
    readings = {name: others.pop(name) for name in scenario.readings if name in others}
    if faults:
        screen.say(f"faults: {_listed({k: v for k, v in faults.items() if v}) or 'none'}", indent=2, hang=8)
    screen.say(f"other bounds: {_listed(others)}", indent=2, hang=8)
    if readings:
        screen.say(f"own rules: {_listed(readings)}; change them with --with and --without", indent=2, hang=11)
    screen.say(f"rules: {scenario.rules_in_words}; {plural(scenario.distinct, 'distinct state')}", indent=2)
    screen.say()
    rows = [(promise.kind.replace("_", " "), promise.name, promise.text) for promise in promises_of(scenario)]
    screen.table((Column("holds"), Column("property"), Column("")), rows, indent=2)
    screen.say()
    for mutant in scenario.mutants:
        _show_mutant(screen, mutant)


def _show_mutant(screen: Screen, mutant: Mutant) -> None:
    bug = f" ({mutant.bug})" if mutant.bug else ""
    screen.say(f"{'known violation' if mutant.known else 'mutant'} {mutant.name}{bug}", "bold", indent=2)
    if mutant.known:
        screen.say(f"{'unmodified rules: ' if not mutant.without else ''}{mutant.known}", indent=4, hang=4)
    if mutant.releases:
        screen.say(f"affects {mutant.releases}", indent=4, hang=4)
    for rule in mutant.without:
        screen.say(f"without {rule}: {_MEANINGS[rule]}", indent=4, hang=4)
    changes = {**mutant.changes, **mutant.bounds}
    if changes:
        screen.say(f"with {_listed(changes)}", indent=4, hang=4)
    screen.say(f"violates {mutant.breaks} in {plural(mutant.steps, 'step')}", indent=4, hang=4)


def _listed(values: dict[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def scenario_data(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as JSON data; `model` is null if it belongs to no registered model."""
    return {
        "name": scenario.name,
        "model": model_of(scenario),
        "story": scenario.story,
        "rules": scenario.rules,
        "changes": dict(scenario.changes),
        "bounds": {name: value for name, value in scenario.bounds.items() if name not in scenario.faults},
        "faults": {name: value for name, value in scenario.bounds.items() if name in scenario.faults},
        "readings": list(scenario.readings),
        "distinct": scenario.distinct,
        "promises": [
            {"name": p.name, "kind": p.kind, "text": p.text, "source": p.source} for p in promises_of(scenario)
        ],
        "mutants": [
            {
                "name": mutant.name,
                "bug": mutant.bug or None,
                "rules": mutant.rules or scenario.rules,
                "without": list(mutant.without),
                "changes": {**mutant.changes, **mutant.bounds},
                "breaks": mutant.breaks,
                "steps": mutant.steps,
                "known": mutant.known or None,
                "releases": mutant.releases or None,
            }
            for mutant in scenario.mutants
        ],
    }
