"""Scenarios by name or by file, as `zombieproof check` takes them."""

import os

from zombieproof.checker import own
from zombieproof.checker.engine.model import near
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS


class UnknownScenario(ValueError):
    """No scenario has that name, or a file defines several and none was chosen."""


def scenario(asked: str | os.PathLike[str]) -> Scenario:
    """One scenario: a registered one by its name, or one of your own as "FILE.py" or "FILE.py:NAME".

    Raises:
        UnknownScenario: no registered scenario has that name, or the file defines several and none is named.
        OwnFault: there is no such file, it defines no such scenario, or it has a mistake.
    """
    name = os.fspath(asked)
    if not own.names_a_file(name):
        if name not in SCENARIOS:
            registered = f"there is no scenario {name!r} (one of your own is FILE.py[:NAME])"
            raise UnknownScenario(f"{registered}; {near(name, SCENARIOS)}")
        return SCENARIOS[name]
    found = own.load(name)
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise UnknownScenario(f"{name} defines several scenarios ({names}); name one: {name}:{found[0].name}")
    return found[0]
