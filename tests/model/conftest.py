"""Guard ladders: how the tests of decisions say in which order guards answer.

A test module that asks for the fixture `rung` defines ``LADDERS``: name -> (decision, wrong, rows). `wrong` makes the
arguments of the decision, wrong in every way; a row is (what is repaired, in words; the repair; guard; error; event).
A repair maps ``argument`` or ``argument.attribute`` to its value. Repairs add up from row to row, so each row shows
that its guard comes before all guards that are still unrepaired below it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from zombieproof.model.vocabulary import Guard

Row = tuple[str, Mapping[str, int], Guard, int, int]
Ladder = tuple[Callable[..., Any], Callable[[], dict[str, Any]], Sequence[Row]]


def apply(arguments: dict[str, Any], repair: Mapping[str, int]) -> None:
    """Change what `repair` names; a name that does not exist is an error of the test."""
    for path, value in repair.items():
        name, _, attribute = path.partition(".")
        if attribute:
            getattr(arguments[name], attribute)
            setattr(arguments[name], attribute, value)
        else:
            arguments[name]
            arguments[name] = value


def climb(ladder: Ladder, step: int) -> None:
    """Ask the decision with all repairs up to `step`, and compare guard, error and event."""
    decide, wrong, rows = ladder
    arguments = wrong()
    for row in rows[: step + 1]:
        apply(arguments, row[1])
    verdict = decide(**arguments)
    _, _, guard, error, event = rows[step]
    assert (Guard(verdict.guard), verdict.error, verdict.event) == (guard, error, event)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each row of each ladder of the module."""
    if "rung" in metafunc.fixturenames:
        ladders: Mapping[str, Ladder] = metafunc.module.LADDERS
        steps = [(name, ladder, i) for name, ladder in ladders.items() for i in range(len(ladder[2]))]
        metafunc.parametrize(
            "rung",
            [partial(climb, ladder, i) for _, ladder, i in steps],
            ids=[f"{name}: {ladder[2][i][0]}" for name, ladder, i in steps],
        )
