"""What `replay` concluded, as Markdown, for an issue tracker or an incident's page."""

import re
from collections.abc import Iterator, Sequence

from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.report.client_text import client_line, error_line
from zombieproof.report.coverage_text import gap_line, headline
from zombieproof.report.finding_text import cause_lines, likelihood, moment_line, record_lines, records_title, where
from zombieproof.report.screen import plural
from zombieproof.traces.verdict.circumstances import Harm
from zombieproof.traces.verdict.explanation import CauseFound, Explanation
from zombieproof.traces.verdict.report import Finding, Report

SHOWN_FINDINGS = 40
SHOWN_RECORDS = 50
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def as_markdown(report: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# zombieproof replay: {headline(report)}"
    for number, finding in enumerate(report.findings[:SHOWN_FINDINGS], 1):
        yield from _finding(number, finding)
    if len(report.findings) > SHOWN_FINDINGS:
        yield from ("", f"And {plural(len(report.findings) - SHOWN_FINDINGS, 'finding')} more: `--json` has them all.")
    if report.damage:
        yield from ("", "## What could not be read", "")
        yield from (
            f"- {code(place.file)}, {place.unit} {place.position}: {plain(place.message)}" for place in report.damage
        )
    gaps = [gap for gap in report.not_judged if not gap.accepted]
    if gaps:
        yield from ("", "## What was not judged", "")
        yield from (f"- {plain(gap_line(gap))}" for gap in gaps)
    yield from _clients(report)
    yield from _partitions(report)


def _clients(report: Report) -> Iterator[str]:
    if any(client.errors for client in report.clients):
        yield from ("", "## What clients say", "")
    for client in report.clients:
        yield from (f"- {plain(client_line(client))}: {plain(error_line(error))}" for error in client.errors)


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield from ("", f"## {number}. `{finding.promise}`", "")
    if finding.promise in IN_RECORDINGS:
        yield f"*{plain(IN_RECORDINGS[finding.promise].sentence)}*"
        yield ""
    place = f"**{plain(where(finding))}**: " if where(finding) else ""
    yield f"{place}{plain(finding.message)}"
    if finding.explanation is not None:
        harm = finding.circumstances.harm if finding.circumstances is not None else Harm.UNKNOWN
        yield from _explanation(finding.explanation, harm)


def _explanation(explanation: Explanation, harm: Harm) -> Iterator[str]:
    if explanation.effect:
        yield from ("", f"**What it means.** {plain(explanation.effect)}")
    if explanation.records is not None:
        yield from ("", f"**{records_title(harm)}**", "")
        yield from (f"- {plain(line)}" for line in record_lines(explanation.records, SHOWN_RECORDS))
    if explanation.moments:
        yield from ("", "**When**", "")
        yield from (f"- {plain(moment_line(moment))}" for moment in explanation.moments)
    if explanation.remedies:
        yield from ("", "**What to do**", "")
    for number, remedy in enumerate(explanation.remedies, 1):
        cost = "" if remedy.cost == "None." else f" *Cost: {plain(remedy.cost)}*"
        yield f"{number}. {plain(remedy.sentence)}{cost}"
        yield from _commands(remedy.commands)
    if explanation.causes:
        yield from ("", "**Why it can have happened**", "")
    for cause in explanation.causes:
        yield from _cause(cause, explanation.causes)


def _cause(cause: CauseFound, causes: Sequence[CauseFound]) -> Iterator[str]:
    yield f"- {likelihood(cause, causes)}: {plain(cause.sentence)}"
    for line in cause_lines(cause, tell_apart=len(causes) > 1 or not cause.is_likely):
        yield f"  - {plain(line)}"
    if cause.shown_by is not None:
        yield f"  - The checker shows the same: {code(cause.shown_by.command)}. {plain(cause.shown_by.story)}"


def _commands(commands: Sequence[str]) -> Iterator[str]:
    if commands:
        yield from ("", "   ```console", *(f"   {command}" for command in commands), "   ```")


def _partitions(report: Report) -> Iterator[str]:
    if not report.lso:
        return
    yield from (
        "",
        "## Partitions",
        "",
        "| partition | last stable offset | read_committed records |",
        "|---|---:|---:|",
    )
    for place, lso in sorted(report.lso.items()):
        yield f"| {plain(place)} | {lso:,} | {len(report.committed.get(place, ())):,} |"


def plain(text: str) -> str:
    """Text that means nothing to Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", text).replace("\n", " ")


def code(text: str) -> str:
    """Text as code, whatever it holds."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    padded = f" {text} " if "`" in text else text
    return f"{ticks}{padded}{ticks}"
