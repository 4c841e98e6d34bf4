"""Every step of every machine is such that a checker could run it: plain functions over records, all the way down."""

import pkgutil
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from types import FunctionType, ModuleType
from typing import Any

import pytest

from zombieproof import statemachines
from zombieproof.checker.engine.lowering import Lowering, LoweringError

HOST_ONLY = {
    "zombieproof.statemachines.kernel",
    "zombieproof.statemachines.runtime",
    "zombieproof.statemachines.registry",
}
"""How tables are made and run; no step."""

OF_NO_STATE = {
    "zombieproof.statemachines.topics",
    "zombieproof.statemachines.configs",
    "zombieproof.statemachines.group_coordinator.descriptions",
    "zombieproof.statemachines.partition_leader.leader_epochs",
}
"""What live brokers alone are asked: names, texts and lists of any length, which no state of the checker has."""

MODULES = tuple(
    import_module(each.name)
    for each in pkgutil.walk_packages(statemachines.__path__, "zombieproof.statemachines.")
    if each.name not in HOST_ONLY | OF_NO_STATE
)


def functions(module: ModuleType) -> list[Callable[..., Any]]:
    every = [value for value in vars(module).values() if isinstance(value, FunctionType)]
    return [each for each in every if each.__module__ == module.__name__]


@pytest.mark.parametrize("step", [each for module in MODULES for each in functions(module)], ids=lambda f: f.__name__)
def test_a_step_can_be_lowered_and_is_told_eight_things_at_most(step: Callable[..., Any]) -> None:
    Lowering().read(step)
    assert len(signature(step).parameters) <= 8


def test_there_are_steps() -> None:
    assert len([each for module in MODULES for each in functions(module)]) > 100
    assert all(map(find_spec, OF_NO_STATE))


def test_what_looks_up_a_name_cannot() -> None:
    def step(members: dict[str, int], member: str) -> int:
        return members[f"{member}!"]

    with pytest.raises(LoweringError):
        Lowering().read(step)
