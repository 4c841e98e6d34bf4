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

from zombieproof.model.vocabulary import Row

LadderRow = tuple[str, Mapping[str, int], Row, int, int]
Ladder = tuple[Callable[..., Any], Callable[[], dict[str, Any]], Sequence[LadderRow]]


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
    """Ask the decision with all repairs up to `step`, and compare row, error and event."""
    decide, wrong, rows = ladder
    arguments = wrong()
    for each in rows[: step + 1]:
        apply(arguments, each[1])
    verdict = decide(**arguments)
    _, _, row, error, event = rows[step]
    assert (Row(verdict.row), verdict.error, verdict.event) == (row, error, event)


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
