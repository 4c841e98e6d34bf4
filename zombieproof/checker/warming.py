"""Compiling models in a process beside this one, so that those that come later are kept when they are asked for.

Numba compiles one thing at a time in a process. Where nothing is kept, or there is one core, nothing is begun.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from zombieproof.checker.scenario import Scenario

_PROGRAM: Final = "import sys; from zombieproof.checker.warming import compile_all; compile_all(sys.argv[1:])"


@contextlib.contextmanager
def compiling_beside(scenarios: Sequence[Scenario], cores: int) -> Iterator[None]:
    """Compile the models of these scenarios beside, but for that of the first; what is not done at the end is ended."""
    from zombieproof.checker.engine.cache import is_on  # noqa: PLC0415  # Numba is loaded when it is needed

    others = [*firsts_of(scenarios)[1:], *firsts_of([each for each in scenarios if each.leads_to])]
    if cores < 2 or not is_on() or not others:
        yield
        return
    beside = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *(each.name for each in others)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # what cannot be compiled is told by who asks for it
    )
    try:
        yield
    finally:
        beside.terminate()
        beside.wait()


def firsts_of(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """For each model the first scenario that has it, in their order."""
    firsts: dict[str, Scenario] = {}
    for scenario in scenarios:
        firsts.setdefault(scenario.model(scenario.bounds).name, scenario)
    return list(firsts.values())


def compile_all(names: Sequence[str]) -> None:
    """Have the models of registered scenarios in the cache, one after the other."""
    from zombieproof.checker.engine.explore import explore  # noqa: PLC0415  # the same
    from zombieproof.checker.scenarios import SCENARIOS  # noqa: PLC0415  # the same

    for name in names:
        scenario = SCENARIOS[name]
        model, setup = scenario.model(scenario.bounds), scenario.setup(scenario.own_rules(), scenario.bounds)
        # What leads to what is looked for in a whole graph, by functions of their own; those graphs are small.
        explore(model, setup, promises=scenario.leads_to, max_states=None if scenario.leads_to else 1)
