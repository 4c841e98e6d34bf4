"""Resolve names on the command line to scenarios: registered, of a model, or from Python files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zombieproof.checker import own
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import MODELS, model_of
from zombieproof.cli.usage import WrongUsage, known

_SHOWN = 8


def scenarios_named(names: Sequence[str], registered: Mapping[str, Scenario]) -> list[Scenario]:
    """Return the named scenarios, each once: by name, or as FILE.py[:NAME].

    Raises:
        WrongUsage: a name is unknown, a file has a mistake, or two scenarios have the same name.
    """
    found: dict[str, Scenario] = {}
    for name in dict.fromkeys(names):
        for scenario in _of(name, registered):
            other = found.setdefault(scenario.name, scenario)
            if other.origin != scenario.origin:
                both = f"{other.origin or 'registered'} and {scenario.origin or 'registered'}"
                raise WrongUsage(
                    f"two scenarios are named {scenario.name!r} ({both}): rename one, or run them separately"
                )
    return list(found.values())


def scenarios_chosen(names: Sequence[str], registered: Mapping[str, Scenario], model: str = "") -> list[Scenario]:
    """Return the named scenarios; without names, all registered ones, or all of a model.

    Raises:
        WrongUsage: as for `scenarios_named`; the model is unknown, or a scenario belongs to another.
    """
    if not model:
        return scenarios_named(names, registered) or list(registered.values())
    known("model", model, MODELS)
    of_model = [registered[name] for name in MODELS[model] if name in registered]
    for name in names:
        if own.names_a_file(name):
            raise WrongUsage(
                f"--model {model} and {name}: scenarios of a file belong to no registered model; omit one of the two"
            )
    chosen = scenarios_named(names, registered) or of_model
    for scenario in chosen:
        if scenario not in of_model:
            there_are = ", ".join(each.name for each in of_model[:_SHOWN])
            more = f" and {len(of_model) - _SHOWN} more (zombieproof scenarios --model {model})"
            raise WrongUsage(
                f"--model {model}: {scenario.name} belongs to the model {model_of(scenario)}; {model} has: "
                f"{there_are}{more if len(of_model) > _SHOWN else ''}"
            )
    return chosen


def _of(name: str, registered: Mapping[str, Scenario]) -> list[Scenario]:
    if not own.names_a_file(name):
        return [
            registered[
                known(
                    "scenario",
                    name,
                    registered,
                    "zombieproof scenarios",
                    also="; for a scenario of your own, give FILE.py[:NAME]",
                )
            ]
        ]
    try:
        return own.load(name)
    except own.OwnFault as error:
        raise WrongUsage(str(error)) from error
