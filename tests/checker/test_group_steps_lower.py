"""The steps of a group are such that a checker could run them: plain functions over records, all the way down."""

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pytest

from zombieproof.checker.engine.lowering import Lowering, LoweringError
from zombieproof.statemachines import find_coordinator
from zombieproof.statemachines.classic_group import deletion, effects, membership
from zombieproof.statemachines.consumer_group import heartbeat
from zombieproof.statemachines.group_coordinator import reading

MODULES = (membership, deletion, effects, heartbeat, reading, find_coordinator)


def functions(module: ModuleType) -> list[Callable[..., Any]]:
    every = [value for value in vars(module).values() if isinstance(value, FunctionType)]
    return [each for each in every if each.__module__ == module.__name__]


@pytest.mark.parametrize("step", [each for module in MODULES for each in functions(module)], ids=lambda f: f.__name__)
def test_a_step_can_be_lowered(step: Callable[..., Any]) -> None:
    Lowering().read(step)


def test_there_are_steps() -> None:
    assert len([each for module in MODULES for each in functions(module)]) > 20


def test_what_looks_up_a_name_cannot() -> None:
    def step(members: dict[str, int], member: str) -> int:
        return members[f"{member}!"]

    with pytest.raises(LoweringError):
        Lowering().read(step)
