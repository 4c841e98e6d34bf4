"""What the judge of histories found, for people."""

import json
from collections import Counter

from zombieproof.report.screen import Screen, plural
from zombieproof.traces.history.verdict import HistoryFinding, HistoryVerdict, Shown

SHOWN_FINDINGS = 20
"""How many findings of one anomaly are told."""


def show(screen: Screen, verdict: HistoryVerdict) -> None:
    """Write the findings, those of one anomaly together, and the totals."""
    of_each = Counter(finding.anomaly for finding in verdict.findings)
    for anomaly, number in of_each.items():
        findings = [finding for finding in verdict.findings if finding.anomaly == anomaly]
        screen.say(f"{anomaly}: {findings[0].sentence}", "bold red")
        for finding in findings[:SHOWN_FINDINGS]:
            show_finding(screen, finding)
        if number > SHOWN_FINDINGS:
            screen.say(f"and {number - SHOWN_FINDINGS:,} more; --json has them all", indent=2)
        screen.say()
    screen.say(totals(verdict), "bold green" if verdict.is_clean else "bold red")


def show_finding(screen: Screen, finding: HistoryFinding, indent: int = 2) -> None:
    """Write one finding with the events that show it."""
    screen.say(finding.message, indent=indent)
    for shown in finding.events:
        screen.say(f"{shown.file}:{shown.line}  {words(shown)}", indent=indent + 2, hang=2)


def totals(verdict: HistoryVerdict) -> str:
    """What was judged, and how much was found."""
    counts = verdict.counts
    judged = (
        f"{plural(counts.events, 'event')} of {counts.processes:,} processes and {plural(counts.readers, 'reader')}: "
        f"{plural(counts.transactions, 'transaction')} ({counts.committed:,} committed, {counts.aborted:,} aborted, "
        f"{counts.unknown:,} of unknown outcome), {plural(counts.writes, 'record')} sent "
        f"({counts.acknowledged:,} acknowledged), {counts.reads:,} read"
    )
    found = "no anomaly" if verdict.is_clean else f"{len(verdict.findings):,} anomalies"
    return f"{judged}; {found}"


def words(shown: Shown) -> str:
    """An event in words: who, what, and what goes with it."""
    event = json.loads(shown.event)
    kind, who = event.pop("kind"), event.pop("process", None) or event.pop("reader", "")
    event.pop("at")
    facts = ", ".join(f"{name} {_value(value)}" for name, value in event.items() if value not in ([], {}, None))
    return f"{who} {kind.replace('_', ' ')}{': ' if facts else ''}{facts}"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, list):
        return " ".join("/".join(map(str, each)) if isinstance(each, list) else str(each) for each in value)
    return str(value)
