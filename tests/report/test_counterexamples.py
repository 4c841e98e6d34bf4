"""A counterexample of every model goes into a trace with its moves, and a trace whose moves are not so is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from zombieproof.checker.checking import Request, check
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.report.check_json import violation_data
from zombieproof.report.counterexample import as_trace, run_again
from zombieproof.report.runs import Run, run_of
from zombieproof.traces.trace import Trace, TraceStep

MUTANT = Request(mutant="the_driver_crashes")


@pytest.fixture(scope="module")
def broken() -> Run:
    return run_of(check(SCENARIOS["spark_naive_sink"], MUTANT), MUTANT)


def changed(trace: Trace, number: int, change: Callable[[TraceStep], dict[str, Any]]) -> Trace:
    """The trace with something else in one step."""
    steps = list(trace.steps)
    steps[number - 1] = steps[number - 1].model_copy(update=change(steps[number - 1]))
    return trace._replace(steps=tuple(steps))


def moved(**changes: str) -> Callable[[TraceStep], dict[str, Any]]:
    """Something else in the move of a step."""
    return lambda step: {"moves": (step.moves[0].model_copy(update=changes),)}


def test_a_counterexample_of_the_spark_sink_is_in_its_trace_with_moves(broken: Run) -> None:
    trace = as_trace(broken)
    assert [len(step.moves) for step in trace.steps] == [1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    assert {(move.machine, move.subject) for step in trace.steps for move in step.moves} == {
        ("micro_batch_reader", "driver A"),
        ("delivery", "new attempt of task 0"),
        ("delivery", "attempt 0"),
    }
    again = run_again(trace, "story.jsonl")
    assert (again.fault, again.story.beats) == ("", broken.story.beats if broken.story else None)


def test_the_json_of_check_has_the_moves(broken: Run) -> None:
    data = violation_data(broken)
    assert data is not None
    assert (data["steps"][8]["name"], data["steps"][8]["argument"], data["steps"][8]["moves"]) == ("crash", 0, [])
    assert data["steps"][15]["moves"] == [
        {
            "machine": "delivery",
            "subject": "attempt 0",
            "from": "COMMITTING",
            "event": "COMMIT",
            "to": "DELIVERED",
            "why": "rows and position are committed",
        }
    ]


@pytest.mark.parametrize(
    ("number", "change", "what"),
    [
        (2, moved(after="PLACED"), "moves"),
        (4, moved(subject="attempt 1"), "moves"),
        (16, moved(event="FAIL"), "moves"),
        (9, lambda step: {"name": "raise"}, "name"),
        (9, lambda step: {"argument": 1}, "argument"),
    ],
)
def test_a_step_that_is_told_otherwise_is_refused_with_its_line(
    broken: Run, number: int, change: Callable[[TraceStep], dict[str, Any]], what: str
) -> None:
    again = run_again(changed(as_trace(broken), number, change), "story.jsonl")
    assert again.line == number + 1
    assert again.fault.startswith(f"step {number}: {what} is ")
