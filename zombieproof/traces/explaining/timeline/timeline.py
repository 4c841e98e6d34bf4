"""What happened to one transactional id, partition, producer or group in order, over all evidence.

Every log and every file is a source with an order of its own, which is certain. Between sources only times tell, and
clocks differ: sources are merged by time, and never is one of them turned round. A time that a producer gave its
records is believed only as far as the next time of a broker in the same log: a producer whose clock is ahead does not
push away what comes behind it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import merge

from zombieproof.traces.explaining.timeline.entries import Entry, EntryKind
from zombieproof.traces.explaining.timeline.line_entries import line_entries, shifted_clocks
from zombieproof.traces.explaining.timeline.log_entries import log_entries
from zombieproof.traces.explaining.timeline.subject import Subject, SubjectKind
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.narrowing import EVERYTHING, Narrowing
from zombieproof.traces.readers.timestamps import utc
from zombieproof.traces.verdict.report import Finding, Judgement, Narrowed, NotJudged, named

ORDER = "Within a log the order is certain; between logs it is by time, and clocks differ."
OF_LOGS = (EntryKind.COORDINATOR, EntryKind.BROKER, EntryKind.CLIENT)
"""Entries that are lines of logs, which may be written in local time."""
NEVER = 1 << 63
HOUR_MS = 3_600_000


@dataclass(slots=True)
class Timeline:
    """The timeline of a subject. `notes` are sentences about its sources.

    `findings` are those that concern the subject; entries name them by number. Those that no entry shows (a log that is
    not there, a promise about no place) are in `elsewhere`, by number too. `entries_left_out` lie outside the window.
    """

    subject: Subject
    verdict: Judgement
    entries: list[Entry]
    findings: list[Finding] = field(default_factory=list)
    elsewhere: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    order: str = ORDER
    entries_left_out: int = 0
    narrowed: Narrowed | None = None
    not_judged: list[NotJudged] = field(default_factory=list)


def timeline_of(subject: Subject, examined: Examined, narrowing: Narrowing = EVERYTHING) -> Timeline:
    """Put together what happened to a subject."""
    sources = [*line_entries(subject, examined.evidence), *log_entries(subject, examined)]
    findings = [finding for finding in examined.report.findings if concerns(finding, subject)]
    ordered = in_order(sources)
    elsewhere = _mark([entry for _, entry in ordered], findings)
    inside = [entry for time, entry in ordered if _is_inside(time, entry, narrowing)]
    return Timeline(
        subject=subject,
        verdict=examined.report.verdict,
        entries=inside,
        findings=findings,
        elsewhere=elsewhere,
        notes=_notes(sources, examined),
        order=_order(sources, examined),
        sources=[source[0].source for source in sources],
        entries_left_out=len(ordered) - len(inside),
        narrowed=examined.report.narrowed,
        not_judged=examined.report.not_judged,
    )


def concerns(finding: Finding, subject: Subject) -> bool:
    """Whether a finding is about a subject."""
    if subject.kind is SubjectKind.GROUP:
        return False
    if subject.kind is SubjectKind.PARTITION:
        return (finding.topic, finding.partition) == subject.place
    if subject.kind is SubjectKind.CLIENT:
        return f"client {subject.name!r} " in finding.message
    if subject.kind is SubjectKind.ID and finding.transactional_id is not None:
        return finding.transactional_id == subject.name
    return finding.producer_id is not None and subject.is_producer(finding.producer_id, finding.producer_epoch)


# ---- order


def in_order(sources: Sequence[Sequence[Entry]]) -> list[tuple[int | None, Entry]]:
    """The entries of all sources, each source in its own order, with the time by which it was put there.

    An entry without a time goes with the one before it (the first ones with the one behind them); a source without any
    time comes last. Of the same time, the sources come in the order in which they are given.
    """
    merged = merge(*map(_times, sources), key=lambda each: each[0])
    return [(None if time == NEVER else time, entry) for time, entry in merged]


def _times(source: Sequence[Entry]) -> Iterable[tuple[int, Entry]]:
    """The time by which each entry of a source is ordered; it never falls."""
    bound, bounded = NEVER, []
    for entry in reversed(source):
        time = entry.time_ms
        if time is not None and entry.by_client:
            time = min(time, bound)
        elif time is not None:
            bound = time
        bounded.append(time)
    bounded.reverse()
    latest = next((time for time in bounded if time is not None), NEVER)
    for time, entry in zip(bounded, source, strict=True):
        latest = latest if time is None else max(latest, time)
        yield latest, entry


def _is_inside(time: int | None, entry: Entry, narrowing: Narrowing) -> bool:
    """Whether an entry lies in the window, by its own time or by the one that its place in the order gives it."""
    own = time if entry.time_ms is None else entry.time_ms
    return narrowing.touches((own, own))


# ---- findings


def _mark(entries: Sequence[Entry], findings: Sequence[Finding]) -> list[int]:
    """Note at each entry the findings that are about it; returns those that are about none."""
    elsewhere = []
    for number, finding in enumerate(findings):
        found = _shown_at(entries, finding)
        if found is None:
            elsewhere.append(number)
        else:
            found.findings.append(number)
    return elsewhere


def _shown_at(entries: Sequence[Entry], finding: Finding) -> Entry | None:
    """The entry of a finding: what lies at its offset, else what is the next there, else the last; or its line."""
    if finding.topic is None or finding.partition is None or finding.offset is None:
        lines = (entry for entry in entries if entry.line is not None)
        return next((e for e in lines if finding.message.startswith(f"{e.file}, line {e.line}: ")), None)
    place, offset = (finding.topic, finding.partition), finding.offset
    held = next((entry for entry in entries if entry.holds(place, offset)), None)
    if held is not None:
        return held
    there = [entry for entry in entries if entry.place == place and entry.offset is not None]
    behind = [entry for entry in there if (entry.offset or 0) >= offset]
    return behind[0] if behind else there[-1] if there else None


# ---- notes


def _order(sources: Sequence[Sequence[Entry]], examined: Examined) -> str:
    """How far the order is certain; the zone of a log whose lines name none is only taken for UTC."""
    shifts = shifted_clocks(examined.evidence)
    logs = [source[0].source for source in sources if source[0].kind in OF_LOGS and source[0].source not in shifts]
    return f"{ORDER} Times without a zone in {', '.join(logs)} are read as UTC." if logs else ORDER


def _notes(sources: Sequence[Sequence[Entry]], examined: Examined) -> list[str]:
    shifts = shifted_clocks(examined.evidence)
    notes = []
    for source in sources:
        name = source[0].source
        if shift := shifts.get(name):
            direction = "ahead of" if shift > 0 else "behind"
            apart = f"{abs(shift) / HOUR_MS:g} h {direction} UTC"
            notes.append(f"{name} is written {apart}, as its own lines tell; its times are put right here")
        notes += _odd_times(name, source)
    for log in examined.evidence.logs[1:]:
        place = log.topic_partition
        if examined.evidence.log(*place) is not log and any(source[0].place == place for source in sources):
            notes.append(f"another copy of {named(place)}, in {log.files[0]}, differs; it is not in the timeline")
    return notes


def _odd_times(name: str, source: Sequence[Entry]) -> list[str]:
    """Records whose producers give times that do not fit the order of their log."""
    odd = [entry for (time, entry) in _times(source) if entry.by_client and entry.time_ms not in (None, time)]
    if not odd:
        return []
    first = odd[0]
    what = f"the records at offset {first.offset}" if len(odd) == 1 else f"records at {len(odd)} places"
    given = f" (the first at offset {first.offset}, {utc(first.time_ms or 0)})" if len(odd) > 1 else ""
    return [f"{name}: {what}{given} carry a producer's time that does not fit the order of the log, which counts"]
