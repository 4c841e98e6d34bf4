"""From a plan to jobs: every name is looked up, every combination resolved, each exploration is there once."""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from zombieproof.checker import own
from zombieproof.checker.engine.model import near
from zombieproof.checker.request import Request, Walks, chosen, has_rules, rules_words
from zombieproof.checker.scenario import Mutant, Scenario, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.farm.jobs import OWN, Expected, Job
from zombieproof.farm.plan import Group, Plan, PlanFault
from zombieproof.farm.sources import sources
from zombieproof.model.rules import PRESETS, UnknownRule

MOST_JOBS: Final = 20_000
_UNPINNED_STATES: Final = 400_000
GROWTH: Final = 4
"""How many times as many states there are, about, for each fault more."""
_EARLY: Final = 16
"""A mutant is done when its promise is broken: after one state in so many, about."""


def jobs_of(plan: Plan) -> list[Job]:
    """The explorations of a plan in its order, each once.

    Raises:
        PlanFault: something is named that does not exist, or cannot be; two groups expect otherwise of the same.
    """
    jobs: dict[str, Job] = {}
    for group in plan:
        for job in _of_group(group):
            other = jobs.setdefault(job.key, job)
            if other.expected != job.expected:
                raise PlanFault(
                    f"{group.where}: expects {job.expected} for {job.name}, but another exploration of the plan "
                    f"expects {other.expected}; omit one"
                )
    return list(jobs.values())


def _of_group(group: Group) -> Iterator[Job]:
    scenarios = _scenarios(group)
    _check_names(group, scenarios)
    for scenario, is_named in scenarios.values():
        missing = [name for name in group.bounds if name not in scenario.bounds]
        if missing and is_named:
            there_are = near(missing[0], list(scenario.bounds))
            raise PlanFault(f"{group.where}: {scenario.name} has no bound {missing[0]!r}; {there_are}")
        bounds = {name: values for name, values in group.bounds.items() if name in scenario.bounds}
        mutants: Sequence[Mutant | None] = _mutants(group, scenario) if group.mutants else (None,)
        reads_rules = _reads_rules(group, scenario)
        walks: Sequence[Walks | None] = [Walks(seed, group.steps) for seed in group.seeds] or [None]
        count = len(group.rules) * len(mutants) * math.prod(map(len, bounds.values())) * len(walks)
        if count > MOST_JOBS:
            raise PlanFault(
                f"{group.where}: {count:,} explorations of {scenario.name}; the limit is {MOST_JOBS:,}: "
                "give fewer values"
            )
        combinations = itertools.product(*bounds.values())
        for rules, mutant, values, walk in itertools.product(group.rules, mutants, combinations, walks):
            request = Request(
                rules="" if rules == OWN else rules,
                on=group.on,
                off=group.off,
                mutant=mutant.name if mutant else "",
                bounds=dict(zip(bounds, values, strict=True)),
                walks=walk,
            )
            yield _job(group, scenario, request, mutant, reads_rules=reads_rules)


def _scenarios(group: Group) -> dict[str, tuple[Scenario, bool]]:
    """By name and file: the scenarios, and whether each was named, not only matched by a pattern."""
    found: dict[str, tuple[Scenario, bool]] = {}
    for asked in group.scenarios:
        is_pattern = not own.names_a_file(asked) and any(sign in asked for sign in "*?[")
        for scenario in _matching(group, asked, is_pattern=is_pattern):
            key = f"{scenario.name}\0{scenario.origin}"
            found[key] = (scenario, not is_pattern or found.get(key, (scenario, False))[1])
    return found


def _matching(group: Group, asked: str, *, is_pattern: bool) -> list[Scenario]:
    if own.names_a_file(asked):
        try:
            return own.load(asked)
        except own.OwnFault as fault:
            raise PlanFault(f"{group.where}: {fault}") from fault
    if not is_pattern and asked in SCENARIOS:
        return [SCENARIOS[asked]]
    matching = [each for name, each in SCENARIOS.items() if is_pattern and fnmatch.fnmatchcase(name, asked)]
    if not matching:
        said = f"no scenario is named {asked!r}; {near(asked, list(SCENARIOS))} (zombieproof scenarios lists all)"
        raise PlanFault(f"{group.where}: {said}")
    return matching


def _check_names(group: Group, scenarios: Mapping[str, tuple[Scenario, bool]]) -> None:
    """Each preset is one, and each bound and each pattern of mutants is of some scenario."""
    for rules in group.rules:
        if rules != OWN and rules not in PRESETS:
            raise PlanFault(f"{group.where}: there is no preset of rules {rules!r}; {near(rules, [OWN, *PRESETS])}")
    bounds = sorted({name for scenario, _ in scenarios.values() for name in scenario.bounds})
    for name in group.bounds:
        if name not in bounds:
            raise PlanFault(f"{group.where}: none of the scenarios has a bound {name!r}; {near(name, bounds)}")
    mutants = sorted({mutant.name for scenario, _ in scenarios.values() for mutant in scenario.mutants})
    for pattern in group.mutants:
        if not fnmatch.filter(mutants, pattern):
            raise PlanFault(f"{group.where}: none of the scenarios has a mutant {pattern!r}; {near(pattern, mutants)}")


def _mutants(group: Group, scenario: Scenario) -> list[Mutant]:
    return [each for each in scenario.mutants if any(fnmatch.fnmatchcase(each.name, one) for one in group.mutants)]


def _reads_rules(group: Group, scenario: Scenario) -> bool:
    """Whether the model reads rules of Kafka's protocol: all rules are one to a model that does not."""
    try:
        scenario.model(scenario.bounds)
        return has_rules(scenario.setup(scenario.own_rules(), scenario.bounds))
    except Exception as error:
        said = own.explained(error, scenario.origin) if scenario.origin else ""
        if not said:
            raise
        raise PlanFault(f"{group.where}: {said}") from error


def _job(group: Group, scenario: Scenario, request: Request, mutant: Mutant | None, *, reads_rules: bool) -> Job:
    """The job of a request, of which what says nothing new is left away."""
    try:
        pinned_rules, pinned_bounds = chosen(scenario, Request(mutant=request.mutant))
        rules, bounds = chosen(scenario, request)
    except (UnknownBound, UnknownRule) as error:
        raise PlanFault(f"{group.where}: {scenario.name}: {error}") from error
    if not reads_rules or rules == pinned_rules:
        request, rules = replace(request, rules="", on=(), off=()), pinned_rules
    file = str(Path(scenario.origin).resolve()) if scenario.origin else ""
    hashed = sources(file)
    changed = {name: value for name, value in bounds.items() if value != pinned_bounds[name]}
    request = replace(request, bounds=changed)
    identity = {
        "scenario": scenario.name,
        "file": file,
        "mutant": request.mutant,
        "rules": asdict(rules) if reads_rules else OWN,
        "bounds": bounds,
        "walks": asdict(request.walks) if request.walks else None,
        "sources": hashed,
    }
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    expected = _expected(group, mutant, is_changed=rules != pinned_rules or bool(changed))
    breaks = mutant if expected == "breaks" else None
    return Job(
        key=key,
        sources=hashed,
        scenario=scenario.name,
        model=scenario.model(bounds).name,
        words=rules_words(scenario, request, reads_rules=reads_rules),
        file=file,
        asked=scenario.asked,
        rules=request.rules,
        on=request.on,
        off=request.off,
        mutant=request.mutant,
        bounds=changed,
        walks=request.walks,
        states=group.steps if request.walks else _states(scenario, mutant, bounds),
        expected=expected,
        promise=breaks.breaks if breaks else "",
        steps=breaks.steps if breaks else 0,
    )


def _expected(group: Group, mutant: Mutant | None, *, is_changed: bool) -> Expected:
    if group.expected is not None:
        return group.expected
    if mutant is None:
        return "unbroken" if group.seeds else "holds"
    return "anything" if is_changed or group.seeds else "breaks"


def _states(scenario: Scenario, mutant: Mutant | None, bounds: Mapping[str, int]) -> int:
    """About how many states there are."""
    states = float(scenario.distinct or _UNPINNED_STATES) / (_EARLY if mutant else 1)
    more = sum(bounds.get(name, 0) - scenario.bounds.get(name, 0) for name in scenario.faults)
    return int(states * float(GROWTH) ** max(-8, min(more, 8)))
