"""A step is plain Python that the checker could compile, whether a scenario reaches it or not."""

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from zombieproof.checker.engine.rewriting import rewrite
from zombieproof.checker.engine.sources import LoweringError, plain_function
from zombieproof.statemachines.producer import answers, batches, calls, effects, failures, requests, sequences

MODULES = (answers, batches, calls, effects, failures, requests, sequences)


def _functions(module: ModuleType) -> Iterator[Callable[..., object]]:
    return (
        function
        for _, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
    )


STEPS = [function for module in MODULES for function in _functions(module)]


@pytest.mark.parametrize("function", STEPS, ids=lambda f: f"{f.__module__.rpartition('.')[2]}.{f.__name__}")
def test_a_step_can_be_lowered_and_is_told_eight_things_at_most(function: Callable[..., object]) -> None:
    rewrite(plain_function(function), frozenset({"zombieproof"}))
    assert len(inspect.signature(function).parameters) <= 8


def closes_over(text: str) -> str:
    """No step: it makes text."""
    return f"{text}!"


def test_what_is_no_plain_function_is_refused() -> None:
    with pytest.raises(LoweringError, match="text"):
        rewrite(plain_function(closes_over), frozenset({"zombieproof"}))
