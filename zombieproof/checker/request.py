"""What is asked of a scenario: rules, mutant, bounds. No compiler is loaded to ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from zombieproof.checker.engine.folder import Keeping
from zombieproof.checker.engine.model import near
from zombieproof.checker.scenario import Mutant, Scenario, UnknownBound, options_of_changes, rules_in_words
from zombieproof.model.rules import NUMBERS, Rules, UnknownRule, switches, with_switches

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

    `on` and `off` name rules of Kafka's, or readings of the scenario. `mutant` is the name of one; `reduce` names
    reductions (`engine.reductions`). `spill`: a folder for what does not fit into memory. `keeping`: checkpoints are
    made, and what they are of is added by `checking.check`.
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
    asked = asked_of(scenario, request.on, request.off)
    rules = with_switches(scenario.own_rules(request.rules, mutant), asked.on, asked.off)
    bounds = request.bounds or {}
    for name, value in asked.readings.items():
        if bounds.get(name, value) != value:
            raise UnknownBound(
                f"{scenario.name}: {name} is {'enabled' if value else 'disabled'}, but the bounds set "
                f"{name}={bounds[name]}; omit one of the two",
                name,
            )
    return rules, scenario.own_bounds({**(mutant.bounds if mutant else {}), **bounds, **asked.readings})


@dataclass(frozen=True, slots=True)
class Asked:
    """What `on` and `off` ask for: readings with their values, and rules of Kafka's."""

    readings: Mapping[str, int]
    on: tuple[str, ...]
    off: tuple[str, ...]


def named(rule: str) -> str:
    """The name in "transaction_version=0", or in a name alone."""
    return rule.partition("=")[0].strip()


def asked_of(scenario: Scenario, on: Iterable[str], off: Iterable[str]) -> Asked:
    """Tell readings of a scenario from rules of Kafka's.

    Raises:
        UnknownRule: a scenario that has readings has none of a name, nor has Kafka such a rule; a value is neither 0
            nor 1; or one reading is asked for with both.
    """
    on, off = tuple(on), tuple(off)
    readings: dict[str, int] = {}
    for rule, value in (*((rule, _value_of(rule)) for rule in on), *((rule, "0") for rule in off)):
        name = named(rule)
        if name in scenario.readings:
            if value not in ("0", "1"):
                raise UnknownRule(f"{rule!r}: a rule is 1 (enabled) or 0 (disabled); give {name}=1 or {name}=0")
            if readings.setdefault(name, int(value)) != int(value):
                raise UnknownRule(f"{name}: given with --with and --without; choose one")
        elif scenario.readings and not is_of_kafka(name):
            legal = [*scenario.readings, *(facts.name for facts in switches())]
            raise UnknownRule(f"{scenario.name}: no rule is named {name!r}; {near(name, legal)}")
    for rule in off:
        if "=" in rule and named(rule) in readings:
            raise UnknownRule(f"{rule!r}: to disable a rule, give only its name: --without {named(rule)}")
    on, off = (tuple(rule for rule in rules if named(rule) not in readings) for rules in (on, off))
    return Asked(readings, on, off)


def is_of_kafka(name: str) -> bool:
    """Whether that is the name of a rule of Kafka's protocol, a switch or a number."""
    return name in NUMBERS or any(facts.name == name for facts in switches())


def _value_of(rule: str) -> str:
    _, sign, value = (part.strip() for part in rule.partition("="))
    return value if sign else "1"


def changes_readings(scenario: Scenario, bounds: Mapping[str, int]) -> bool:
    """Whether the model's own rules are others than the scenario's within these bounds."""
    return any(bounds[name] != scenario.bounds[name] for name in scenario.readings)


def preset_in_force(scenario: Scenario, request: Request) -> str:
    """The name of the preset that a run starts from: the request's, the mutant's, or the scenario's."""
    mutant = scenario.mutant(request.mutant) if request.mutant else None
    return request.rules or (mutant.rules if mutant else "") or scenario.rules


def has_rules(setup: object) -> bool:
    """Whether a model with this setup reads rules of Kafka's protocol at all."""
    return isinstance(getattr(setup, "rules", None), Rules)


def rules_words(scenario: Scenario, request: Request, *, reads_rules: bool, mutant: Mutant | None = None) -> str:
    """The rules of a run in words: the preset and what differs from it, by the scenario and by what was asked."""
    readings = asked_of(scenario, request.on, request.off).readings
    words = rules_in_words("own", *options_of_changes(readings))
    if reads_rules:
        asked = {named(option) for option in (*request.on, *request.off)}
        changes = {name: value for name, value in scenario.changes.items() if name not in asked}
        on, off = options_of_changes(changes)
        words = rules_in_words(preset_in_force(scenario, request), [*on, *request.on], [*off, *request.off])
    return f"{words}, mutant {mutant.name}" if mutant else words
