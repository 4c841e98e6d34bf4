"""What the judge of histories found, as JUnit XML: a test case for each anomaly."""

import io

from zombieproof.report.history_text import show_finding, totals
from zombieproof.report.junit_xml import Case, Problem, as_xml
from zombieproof.report.screen import Screen
from zombieproof.traces.history.anomalies import SENTENCES
from zombieproof.traces.history.verdict import HistoryFinding, HistoryVerdict

CLASS = "zombieproof.history"


def as_junit(verdict: HistoryVerdict) -> str:
    """The text of a JUnit file: an anomaly that was found has a failure for each finding."""
    cases = []
    for anomaly in SENTENCES:
        findings = [finding for finding in verdict.findings if finding.anomaly == anomaly]
        problems = [Problem("failure", finding.message, anomaly, _text(finding)) for finding in findings]
        cases.append(Case(CLASS, f"no_{anomaly}", problems=problems, properties={"judged": totals(verdict)}))
    return as_xml("history", cases)


def _text(finding: HistoryFinding) -> str:
    stream = io.StringIO()
    show_finding(Screen(stream, plain=True), finding, indent=0)
    return stream.getvalue()
