"""Every case of a checklist, run by the suite that interprets it or by the tests that were written for it.

A suite is a module ``suite_<prefix>.py`` with a function ``run(case)`` that returns where everything in *expect* is so,
and raises `Failed` or `NotRunnable`. It knows words, not cases. A case that no suite understands may have written tests
(``written.py``); they count only for the text that they were written for.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.conformance import tables, written
from tests.conformance.cases import Case, Failed, NotRunnable


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

    What breaks in between is a failure: an interpreter that stumbles has seen something that nobody expected.
    """
    if not has_suite(case.prefix):
        return Result(case, Outcome.NOT_RUNNABLE, "no suite interprets these cases, and no test is written for it")
    try:
        suite_of(case.prefix)(case)
    except Failed as fault:
        return Result(case, Outcome.FAILED, str(fault))
    except NotRunnable as fault:
        return Result(case, Outcome.NOT_RUNNABLE, str(fault))
    except Exception as fault:  # noqa: BLE001  # whatever it is, the case is not met and the others go on
        return Result(case, Outcome.FAILED, f"{type(fault).__name__}: {fault}")
    return Result(case, Outcome.MET)


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
        return Result(case, Outcome.NOT_RUNNABLE, "the written test is for another text")
    verdict = verdicts[case.id]
    if verdict.passed:
        return Result(case, Outcome.MET)
    return Result(case, Outcome.NOT_RUNNABLE if verdict.skipped else Outcome.FAILED, verdict.reason)
