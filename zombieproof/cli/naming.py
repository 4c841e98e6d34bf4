"""From the names on a command line to scenarios: registered ones, those of a model, and those of Python files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zombieproof.checker import own
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import MODELS, model_of
from zombieproof.cli.usage import WrongUsage, known

_SHOWN = 8


def scenarios_named(names: Sequence[str], registered: Mapping[str, Scenario]) -> list[Scenario]:
    """The scenarios that were asked for, each once: by name, or as FILE.py[:NAME].

    Raises:
        WrongUsage: there is none of that name, a file has a mistake, or two have the same name.
    """
    found: dict[str, Scenario] = {}
    for name in dict.fromkeys(names):
        for scenario in _of(name, registered):
            other = found.setdefault(scenario.name, scenario)
            if other.origin != scenario.origin:
                both = f"{other.origin or 'a registered one'} and {scenario.origin or 'a registered one'}"
                raise WrongUsage(
                    f"two scenarios are named {scenario.name!r}, {both}: rename one, or check them one after the other"
                )
    return list(found.values())


def scenarios_chosen(names: Sequence[str], registered: Mapping[str, Scenario], model: str = "") -> list[Scenario]:
    """The scenarios that were asked for; without names all that are registered, or all of a model.

    Raises:
        WrongUsage: as of `scenarios_named`; there is no such model, or what was named is not of it.
    """
    if not model:
        return scenarios_named(names, registered) or list(registered.values())
    known("model", model, MODELS)
    of_model = [registered[name] for name in MODELS[model] if name in registered]
    for name in names:
        if own.names_a_file(name):
            raise WrongUsage(
                f"--model {model} and {name}: what a file defines is of no registered model; leave one of them away"
            )
    chosen = scenarios_named(names, registered) or of_model
    for scenario in chosen:
        if scenario not in of_model:
            there_are = ", ".join(each.name for each in of_model[:_SHOWN])
            more = f" and {len(of_model) - _SHOWN} more (zombieproof scenarios --model {model})"
            raise WrongUsage(
                f"--model {model}: {scenario.name} is a scenario of {model_of(scenario)}; of {model} there are: "
                f"{there_are}{more if len(of_model) > _SHOWN else ''}"
            )
    return chosen


def _of(name: str, registered: Mapping[str, Scenario]) -> list[Scenario]:
    if not own.names_a_file(name):
        return [registered[known("scenario", name, registered, "zombieproof scenarios; your own: FILE.py[:NAME]")]]
    try:
        return own.load(name)
    except own.OwnFault as error:
        raise WrongUsage(str(error)) from error
