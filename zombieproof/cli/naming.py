"""From the names on a command line to scenarios: registered ones, and those of Python files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zombieproof.checker import own
from zombieproof.checker.scenario import Scenario
from zombieproof.cli.usage import WrongUsage, known


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


def _of(name: str, registered: Mapping[str, Scenario]) -> list[Scenario]:
    if not own.names_a_file(name):
        return [registered[known("scenario", name, registered, "zombieproof scenarios; your own: FILE.py[:NAME]")]]
    try:
        return own.load(name)
    except own.OwnFault as error:
        raise WrongUsage(str(error)) from error
