"""What is asked of a scenario: rules, mutant, bounds. No compiler is loaded to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zombieproof.checker.engine.folder import Keeping
from zombieproof.checker.scenario import Mutant, Scenario, options_of_changes, rules_in_words
from zombieproof.model.rules import Rules, with_switches

STEPS = 400_000
"""Of a walk's seed where nothing else is said: about a second."""


@dataclass(frozen=True, slots=True)
class Walks:
    """Random walks instead of an exploration: so many steps of all, or so many seconds (None: no such limit).

    A `swarm` draws bounds anew for each batch of them (`checker.swarm`): those of the request, or larger ones.
    """

    seed: int = 0
    steps: int | None = None
    seconds: float | None = None
    swarm: bool = False


@dataclass(frozen=True)
class Request:
    """How to check: everything that the command line can choose.

    `mutant` is the name of one; `reduce` names reductions (`engine.reductions`). `spill`: a folder for what does not
    fit into memory. `keeping`: checkpoints are made, and what they are of is added by `checking.check`.
    """

    rules: str = ""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    mutant: str = ""
    bounds: Mapping[str, int] | None = None
    workers: int = 1
    memory_bytes: int | None = None
    walks: Walks | None = None
    keeping: Keeping | None = None
    reduce: tuple[str, ...] = ()
    spill: Path | None = None


def chosen(scenario: Scenario, request: Request) -> tuple[Rules, dict[str, int]]:
    """The rules and bounds of a run.

    Raises:
        UnknownRule, UnknownBound: something was named that the scenario or the rules do not have.
    """
    mutant = scenario.mutant(request.mutant) if request.mutant else None
    rules = with_switches(scenario.own_rules(request.rules, mutant), request.on, request.off)
    return rules, scenario.own_bounds({**(mutant.bounds if mutant else {}), **(request.bounds or {})})


def preset_in_force(scenario: Scenario, request: Request) -> str:
    """The name of the preset that a run starts from: the request's, the mutant's, or the scenario's."""
    mutant = scenario.mutant(request.mutant) if request.mutant else None
    return request.rules or (mutant.rules if mutant else "") or scenario.rules


def has_rules(setup: object) -> bool:
    """Whether a model with this setup reads rules of Kafka's protocol at all."""
    return hasattr(setup, "rules")


def rules_words(scenario: Scenario, request: Request, *, reads_rules: bool, mutant: Mutant | None = None) -> str:
    """The rules of a run in words: the preset and what differs from it, by the scenario and by what was asked."""
    words = "own"
    if reads_rules:
        asked = {option.partition("=")[0].strip() for option in (*request.on, *request.off)}
        changes = {name: value for name, value in scenario.changes.items() if name not in asked}
        on, off = options_of_changes(changes)
        words = rules_in_words(preset_in_force(scenario, request), [*on, *request.on], [*off, *request.off])
    return f"{words}, mutant {mutant.name}" if mutant else words
