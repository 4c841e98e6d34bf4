"""What `replay` concluded, as JUnit XML: a test case for each promise, and two for whether all could be judged."""

import io
from collections.abc import Mapping, Sequence

from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.report.coverage_text import gap_line
from zombieproof.report.finding_text import Findings, where
from zombieproof.report.junit_xml import Case, Problem, as_xml
from zombieproof.report.screen import Screen
from zombieproof.traces.evidence import Evidence
from zombieproof.traces.judging.gathering.given import lacking
from zombieproof.traces.verdict.report import Finding, Report

CLASS = "zombieproof.replay"
READ = "the_evidence_can_be_read"
IN_FULL = "everything_that_the_evidence_names_is_judged"


def as_junit(report: Report, evidence: Evidence | None = None) -> str:
    """The text of a JUnit file. A broken promise has a failure for each finding.

    A promise that needs evidence which was not given is skipped. Without evidence (counterexamples that were run
    again) there is a case for each promise that is broken.
    """
    by_promise: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_promise.setdefault(finding.promise, []).append(finding)
    skipped = _skipped(evidence)
    names = [*by_promise, *(name for name in IN_RECORDINGS if evidence is not None and name not in by_promise)]
    order = list(IN_RECORDINGS)
    names.sort(key=lambda name: order.index(name) if name in order else -1)
    cases = [_case(name, by_promise.get(name, ()), skipped) for name in names]
    about_all = [_readable(report)] if evidence is None else [_readable(report), _in_full(report)]
    return as_xml("replay", [*about_all, *cases])


def _skipped(evidence: Evidence | None) -> dict[str, str]:
    if evidence is None:
        return {}
    lacks = {name: lacking(promise, evidence) for name, promise in IN_RECORDINGS.items()}
    return {name: f"not judged: it needs {', '.join(needs)}" for name, needs in lacks.items() if needs}


def _readable(report: Report) -> Case:
    problems = [
        Problem("error", f"{place.file}, {place.unit} {place.position}: {place.message}", "damaged")
        for place in report.damage
    ]
    return Case(CLASS, READ, problems=problems)


def _in_full(report: Report) -> Case:
    gaps = [gap for gap in report.not_judged if not gap.accepted]
    return Case(CLASS, IN_FULL, problems=[Problem("error", gap_line(gap), "not judged") for gap in gaps])


def _case(name: str, findings: Sequence[Finding], skipped: Mapping[str, str]) -> Case:
    if findings:
        return Case(CLASS, name, problems=[_failure(finding) for finding in findings])
    if name in skipped:
        return Case(CLASS, name, problems=[Problem("skipped", skipped[name])])
    return Case(CLASS, name)


def _failure(finding: Finding) -> Problem:
    message = f"{where(finding)}: {finding.message}" if where(finding) else finding.message
    stream = io.StringIO()
    Findings(Screen(stream, plain=True)).show(finding)
    return Problem("failure", message, finding.promise, stream.getvalue())
