"""Options of `replay` that select a report (--timeline, --open) or limit it (--topic, --since, --until)."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from zombieproof.cli.replay_forms import Format, write_report
from zombieproof.cli.usage import WrongUsage, closest
from zombieproof.report.json_text import json_of
from zombieproof.report.open_text import show_open
from zombieproof.report.replay_text import show_report
from zombieproof.report.screen import Screen
from zombieproof.report.so_far import SoFar, show_so_far
from zombieproof.report.timeline_text import Times, show_timeline
from zombieproof.traces.evidence import Evidence
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.explaining.open.stated import says_what_is_open
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.explaining.timeline.subject import (
    Subject,
    client_names,
    row_called,
    subject_names,
    subjects_called,
)
from zombieproof.traces.explaining.timeline.timeline import timeline_of
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.judging.gathering.captures import told_by
from zombieproof.traces.judging.histories.spans import span_of_evidence
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.console_order import ORDER_OF
from zombieproof.traces.readers.timestamps import utc
from zombieproof.traces.verdict.explanation import Values
from zombieproof.traces.verdict.report import Gap, Report

SHOWN_CLIENTS = 8
MILLISECONDS = re.compile(r"\d{12,14}", re.ASCII)


def narrowing_of(topics: Sequence[str], since: str | None, until: str | None) -> Narrowing:
    """Parse --topic, --since and --until.

    Raises:
        WrongUsage: a time is not valid, or the interval is empty.
    """
    first = None if since is None else _moment("--since", since)
    last = None if until is None else _moment("--until", until)
    if first is not None and last is not None and last < first:
        raise WrongUsage(f"--until {until} is before --since {since}; give a later --until")
    return Narrowing(tuple(dict.fromkeys(topics)), first, last)


def _moment(option: str, text: str) -> int:
    """Parse a time to milliseconds since 1970; without a zone it is UTC, as in reports."""
    if MILLISECONDS.fullmatch(text.strip()):
        return int(text)
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise WrongUsage(
            f"{option} {text!r} is not a valid time; give one such as 2026-11-21T13:19:48.339Z, "
            "'2026-11-21 14:19+01:00', 2026-11-21 (midnight) or milliseconds since 1970; without a zone it is UTC"
        ) from error


def names_of(given: Sequence[str]) -> tuple[str, ...]:
    """Return the names of an option that is repeatable and accepts commas."""
    return tuple(name.strip() for each in given for name in each.split(",") if name.strip())


def refuse_what_is_not_there(narrowing: Narrowing, evidence: Evidence) -> None:
    """Check that each topic occurs in the files or in a transaction, and that the interval overlaps their time span.

    Raises:
        WrongUsage: a topic does not occur, or the files have nothing in the interval.
    """
    first, last = span_of_evidence(evidence) if narrowing.has_window else (None, None)
    if not narrowing.touches((first, last)) and first is not None and last is not None:
        raise WrongUsage(
            f"nothing was recorded between --since and --until: the files cover {utc(first)} to {utc(last)}"
        )
    there = {log.topic for log in evidence.logs} | evidence.left_out
    there |= {snapshot.topic for snapshot in evidence.snapshots} | evidence.reports.topics()
    there |= {topic for record in evidence.transaction_states if record.value for topic, _ in record.value.partitions}
    for pattern in narrowing.topics:
        if not any(fnmatchcase(topic, pattern) for topic in there):
            raise WrongUsage(f"the files have no topic {pattern!r}{_near(pattern, sorted(there))}")


def _near(name: str, names: Sequence[str]) -> str:
    """Return names close to the given one, or all if there are few."""
    there_are = f"; there are: {', '.join(names)}" if 0 < len(names) <= 8 else ""
    return closest(name, names) or there_are


@dataclass(frozen=True, slots=True)
class Asked:
    """The requested report about recordings.

    Raises:
        WrongUsage: the options conflict, or one needs another that is missing.
    """

    timeline: str | None
    is_open: bool
    times: Times | None
    narrowing: Narrowing
    form: Format = "text"
    values: Values = Values.NONE
    allowed_gaps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.timeline is not None and not self.timeline.strip():
            raise WrongUsage(
                "--timeline is empty; give a transactional id, a partition, a producer id, a group or a client"
            )
        if self.timeline and self.is_open:
            raise WrongUsage("--timeline and --open: choose one")
        if self.times and not (self.timeline or self.is_open):
            raise WrongUsage(f"--times {self.times} needs --timeline or --open: add one of them")
        question = "--timeline" if self.timeline else "--open" if self.is_open else ""
        if question and self.form not in ("text", "json"):
            raise WrongUsage(f"{question} is reported as text or json only: omit {question} or --format {self.form}")
        if question and self.values is not Values.NONE:
            raise WrongUsage(f"--values {self.values} is for findings: omit it or {question}")

    @property
    def given(self) -> dict[str, object]:
        """Return the options by name, with their values."""
        narrowing = self.narrowing
        return {
            "--timeline": self.timeline,
            "--open": self.is_open,
            "--topic": narrowing.topics,
            "--since": narrowing.since_ms is not None,
            "--until": narrowing.until_ms is not None,
            "--values": self.values is not Values.NONE,
            "--allow-gaps": self.allowed_gaps,
        }


def tell(screen: Screen, examined: Examined, asked: Asked) -> None:
    """Print the requested report; if the files cannot answer, print why.

    Raises:
        WrongUsage: the name of the timeline is unknown or ambiguous.
    """
    gaps = {gap.gap for gap in examined.report.not_judged}
    has_no_answer = Gap.EVERYTHING in gaps and not says_what_is_open(examined.evidence)
    if Gap.CLUSTERS in gaps or (asked.is_open and has_no_answer):
        _tell_report(screen, examined.report, examined.evidence, asked.form)
    elif asked.timeline:
        timeline = timeline_of(_subject_called(asked.timeline, examined), examined, asked.narrowing)
        if asked.form == "json":
            screen.data(json_of(timeline))
        else:
            show_timeline(screen, timeline, asked.times or "utc")
    elif asked.is_open:
        found = what_is_open(examined, asked.narrowing)
        if asked.form == "json":
            screen.data(json_of(found))
        else:
            show_open(screen, found, asked.times or "utc")
    else:
        _tell_report(screen, explain(examined.report, examined.evidence, asked.values), examined.evidence, asked.form)


def _tell_report(screen: Screen, report: Report, evidence: Evidence, form: Format) -> None:
    if form == "text":
        show_report(screen, report)
    else:
        write_report(screen, form, report, evidence)


def tell_so_far(screen: Screen, so_far: SoFar, form: Format) -> None:
    """Print partial results after an interruption; to stderr if the format cannot express them."""
    if form == "json":
        screen.data(json_of(so_far))
    else:
        show_so_far(screen if form == "text" else Screen(sys.stderr), so_far)


def _subject_called(name: str, examined: Examined) -> Subject:
    found = subjects_called(name, examined)
    if not found and (row := row_called(name, examined.evidence.reports)) is not None:
        raise WrongUsage(
            f"{name!r} occurs only in output of tools, such as {told_by(row.told)}, which shows a single moment and "
            "has no timeline; --open lists what was open at that moment"
        )
    unordered = f"{ORDER_OF} {name!r}"
    if not found and any(place.message.startswith(unordered) for place in examined.report.damage):
        raise WrongUsage(f"{unordered} is not known, so it has no timeline; give one capture, with its lines in order")
    if not found:
        takes = "--timeline takes a transactional id, a group, a partition such as orders-0, a producer such as"
        near = _near(name, subject_names(examined))
        clients = client_names(examined.evidence)
        more = f" and {len(clients) - SHOWN_CLIENTS} more" if len(clients) > SHOWN_CLIENTS else ""
        are = f"; clients: {', '.join(clients[:SHOWN_CLIENTS])}{more}" if clients and "client " not in near else ""
        takes += " 'producer 7' or, with its epoch, 7:3, or a client"
        raise WrongUsage(f"the files have nothing named {name!r}{near}{are}; {takes}")
    if len(found) > 1:
        clear = " or ".join(f"--timeline '{subject}'" for subject in found)
        raise WrongUsage(f"--timeline {name!r} is ambiguous; give {clear}")
    return found[0]
