"""What happened in order, for people: a line for each entry, and what is wrong where it is wrong."""

from typing import Literal

from zombieproof.report.coverage_text import how_far, show_gap_names
from zombieproof.report.narrowed_text import show_narrowed
from zombieproof.report.screen import STYLES, Screen, plural
from zombieproof.traces.explaining.timeline.entries import Entry, span
from zombieproof.traces.explaining.timeline.timeline import Timeline
from zombieproof.traces.verdict.report import Finding

Times = Literal["utc", "local", "both"]
NO_TIME = "no time"


def show_timeline(screen: Screen, timeline: Timeline, times: Times = "utc") -> None:
    """Write all entries; on a terminal they are folded, in a pipe each is one line."""
    count = len(timeline.entries)
    counted = f"{count:,} {'entry' if count == 1 else 'entries'}"
    logs = plural(len(timeline.sources), "source")
    verdict = how_far(timeline.verdict, timeline.not_judged)
    screen.say(f"timeline of {timeline.subject}: {counted} from {logs}; {verdict}", _style(timeline))
    screen.say(timeline.order, "dim")
    for note in timeline.notes:
        screen.say(f"note: {note}", "yellow", hang=2)
    show_narrowed(screen, timeline.narrowed)
    show_gap_names(screen, timeline.not_judged)
    if timeline.entries_left_out:
        screen.say(f"{timeline.entries_left_out:,} more lie outside the window", "dim")
    screen.say()
    names = _names(timeline)
    width = max((len(_where(entry, names)) for entry in timeline.entries), default=0)
    width = min(width, max(16, screen.console.width // 3)) if screen.is_terminal else width
    for entry in timeline.entries:
        stamp = _stamp(entry, times)
        line = f"{stamp}  {_where(entry, names).ljust(width)}  {entry.text}"
        screen.say(line, hang=4)
        for number in entry.findings:
            _show(screen, timeline.findings[number])
    if timeline.elsewhere:
        screen.say()
        screen.say("at no entry here:", "bold")
        for number in timeline.elsewhere:
            _show(screen, timeline.findings[number])


def _style(timeline: Timeline) -> str:
    return STYLES[timeline.verdict.value]


def _show(screen: Screen, finding: Finding) -> None:
    screen.say(f"← {finding.promise}: {finding.message}", "bold red", indent=4, hang=2)


def _stamp(entry: Entry, times: Times) -> str:
    utc, local = entry.utc or NO_TIME, entry.local or NO_TIME
    shown = {"utc": (utc,), "local": (local,), "both": (utc, local)}[times]
    widths = {"utc": (24,), "local": (29,), "both": (24, 29)}[times]
    return "  ".join(text.ljust(width) for text, width in zip(shown, widths, strict=True))


def _names(timeline: Timeline) -> dict[str, str]:
    """Short names of files, as long as no two are alike; logs are called by their partition anyhow."""
    short = {source: source.replace("\\", "/").rsplit("/", 1)[-1] for source in timeline.sources}
    alike = [name for name in short.values() if list(short.values()).count(name) > 1]
    return {source: source if name in alike else name for source, name in short.items()}


def _where(entry: Entry, names: dict[str, str]) -> str:
    name = names.get(entry.source, entry.source)
    if entry.offset is not None:
        return f"{name} @{span(entry.offset, entry.offset if entry.last_offset is None else entry.last_offset)}"
    return name if entry.line is None else f"{name}:{entry.line}"
