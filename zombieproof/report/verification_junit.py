"""What `verify` found, as JUnit XML: a case for each line of its table, and one for each thing that was not here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from zombieproof.report.junit_xml import Case, Problem, as_xml

if TYPE_CHECKING:
    from zombieproof.report.verification import Check

OUTCOMES: dict[str, Literal["failure", "error", "skipped"]] = {
    "FAILED": "failure",
    "inconclusive": "error",
    "not here": "skipped",
}


def as_junit(checks: Sequence[Check], missing: Sequence[str]) -> str:
    """The text of a JUnit file."""
    skipped = [Case("zombieproof.verify.not_here", line, problems=[Problem("skipped", line)]) for line in missing]
    return as_xml("verify", [*map(_case, checks), *skipped])


def _case(check: Check) -> Case:
    outcome = OUTCOMES.get(check.outcome)
    problems = [] if outcome is None else [Problem(outcome, check.found, check.part, "\n".join(check.faults))]
    name = f"{check.part}: {check.what}"
    return Case(f"zombieproof.verify.{check.part}", name, check.seconds or 0.0, problems, {"found": check.found})
