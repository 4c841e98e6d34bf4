"""Every case of a checklist, run by the suite that interprets it or by the tests that were written for it.

A suite is a module ``suite_<prefix>.py`` with a function ``run(case)`` that returns where everything in *expect* is so,
and raises `Failed` or `NotRunnable`. It knows words, not cases. A case that no suite understands may have written tests
(``written.py``); they count only for the text that they were written for.
"""

import importlib
import importlib.util
import re
import struct
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.conformance import tables, written
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.lexicon import require_words

FOLDER = Path(__file__).parent


class Outcome(StrEnum):
    """What is known of a case; the values are the keys of the JSON report, in its order."""

    MET = "met"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"
    NOT_RUNNABLE = "not_runnable"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one case, and why where it is not met."""

    case: Case
    outcome: Outcome
    reason: str = ""


Run = Callable[[Case], None]


def has_suite(prefix: str) -> bool:
    """Whether there is an interpreter of the cases with a prefix."""
    return importlib.util.find_spec(_suite(prefix)) is not None


def suite_of(prefix: str) -> Run:
    """The interpreter of the cases with a prefix."""
    module: Any = importlib.import_module(_suite(prefix))
    run: Run = module.run
    return run


def _suite(prefix: str) -> str:
    return f"tests.conformance.suite_{prefix.lower()}"


def interpret(case: Case) -> Result:
    """Let the suite of a case run it.

    Nothing that a suite did not understand decides: neither a word (`require_words`), nor a value that it cannot read.
    It stumbles over such a value with an error of Python itself. Any other error is one of what is tested: a failure.
    """
    if not has_suite(case.prefix):
        return Result(case, Outcome.NOT_RUNNABLE, "no suite interprets these cases, and no test is written for it")
    try:
        require_expectation(case.expect)
        require_words(case)
        require_note(case)
        suite_of(case.prefix)(case)
    except Failed as fault:
        return Result(case, Outcome.FAILED, str(fault))
    except NotRunnable as fault:
        return Result(case, Outcome.NOT_RUNNABLE, str(fault))
    except Exception as fault:  # noqa: BLE001  # whatever it is, the case is not met and the others go on
        if isinstance(fault, UNREADABLE) and type(fault).__module__ in ("builtins", "re", "struct"):
            return Result(case, Outcome.NOT_RUNNABLE, f"a value is not understood: {_said(fault)}")
        return Result(case, Outcome.FAILED, _said(fault))
    return Result(case, Outcome.MET)


UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, re.error, struct.error)
"""What Python raises, and nobody else, where a value is not of the kind that is read there."""


def _said(fault: Exception) -> str:
    """An error, and the line of a suite that it comes from."""
    lines = [row for row in traceback.extract_tb(fault.__traceback__) if Path(row.filename).parent == FOLDER]
    return f"{type(fault).__name__}: {fault}, in {Path(lines[-1].filename).name}: {lines[-1].line}"


def require_expectation(expect: object) -> None:
    """An expectation says something.

    Raises:
        NotRunnable: it is empty.
    """
    if expect is None or expect in ({}, []) or (isinstance(expect, str) and not expect.strip()):
        raise NotRunnable(f"expect is {expect!r}: it says nothing")


def require_note(case: Case) -> None:
    """The note of a case is one that was read: it is on file where it is shown, or that it only explains.

    Raises:
        NotRunnable: it is not on file.
    """
    if case.note and case.note not in tables.notes():
        raise NotRunnable(f"the note {case.note!r} is not understood; what is no part of the case goes into its name")


def run_cases(cases: Iterable[Case]) -> list[Result]:
    """The results in the order of the cases. Written tests run in one process of pytest, for what was not interpreted.

    A case is not applicable, or tested by what is written, only if its text is the one that is on file.
    """
    on_file, not_applicable, later = tables.written_for(), tables.not_applicable(), tables.later()
    results = []
    for case in cases:
        known = on_file.get(case.id) == case.digest
        if known and case.id in not_applicable:
            results.append(Result(case, Outcome.NOT_APPLICABLE, not_applicable[case.id]))
        else:
            results.append(interpret(case))
    verdicts = written.run({result.case.id for result in results if result.outcome == Outcome.NOT_RUNNABLE})
    return [_with_written(result, verdicts, on_file, later) for result in results]


def _with_written(
    result: Result, verdicts: Mapping[str, written.Verdict], on_file: Mapping[str, str], later: Mapping[str, str]
) -> Result:
    case = result.case
    if result.outcome != Outcome.NOT_RUNNABLE:
        return result
    if case.id not in verdicts:
        return Result(case, result.outcome, later.get(case.id, result.reason))
    if on_file.get(case.id) != case.digest:
        why = f"; {result.reason}" if has_suite(case.prefix) else ""
        return Result(case, Outcome.NOT_RUNNABLE, f"the written test is for another text{why}")
    verdict = verdicts[case.id]
    if verdict.passed:
        return Result(case, Outcome.MET)
    return Result(case, Outcome.NOT_RUNNABLE if verdict.skipped else Outcome.FAILED, verdict.reason)
