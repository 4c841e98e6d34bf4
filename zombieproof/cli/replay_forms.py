"""Report formats of `zombieproof replay`: text, Markdown for an issue tracker, JSON and JUnit for programs."""

from typing import Literal

from zombieproof.report.json_text import json_of
from zombieproof.report.screen import Screen
from zombieproof.traces.evidence import Evidence
from zombieproof.traces.verdict.report import Report

Format = Literal["text", "json", "junit", "markdown"]


def write_report(screen: Screen, form: Format, report: Report, evidence: Evidence | None = None) -> None:
    """Write a report in a format other than text; only JUnit reads the evidence."""
    if form == "json":
        screen.data(json_of(report))
    elif form == "junit":
        from zombieproof.report import replay_junit  # noqa: PLC0415  # few need it

        screen.data(replay_junit.as_junit(report, evidence))
    else:
        from zombieproof.report import replay_markdown  # noqa: PLC0415  # few need it

        screen.data(replay_markdown.as_markdown(report))
