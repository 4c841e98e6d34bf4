"""zombieproof replay: judge what was recorded, and run counterexamples again."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from zombieproof.cli.usage import WrongUsage, form_of, known
from zombieproof.model.rules import PRESETS, preset
from zombieproof.report import replay_junit, replay_markdown
from zombieproof.report.counterexample import run_again
from zombieproof.report.replay_json import as_report
from zombieproof.report.replay_text import Replayed, show_replayed, show_report
from zombieproof.report.runs import Exit
from zombieproof.report.screen import Screen, plural
from zombieproof.traces.collect import collect
from zombieproof.traces.evidence import Evidence, EvidenceError, Unit
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.explaining.models import Values
from zombieproof.traces.replay import replay
from zombieproof.traces.trace import TraceError, looks_like_trace, read_trace
from zombieproof.traces.verdict import DamagedPlace, Judgement, Report

HELP = """Judge what real clusters recorded, or run a counterexample again.

Any mixture of files and folders is one body of evidence: segments and whole log directories, text of
kafka-dump-log, __transaction_state, __consumer_offsets, snapshots, .txnindex, broker and client logs,
also as .gz and .xz. Each finding says which records it is about, when it was, what to do and why it
can have happened. A file that `zombieproof check -o` wrote is run again step by step, interpreted.

\b
Examples:
  zombieproof replay /var/lib/kafka/data
  zombieproof replay orders-0.txt __transaction_state-12.txt client.jsonl
  zombieproof replay --rules kip98 --json segments/
  zombieproof replay --values utf8 segments/   keys and values of lost records
  zombieproof replay --format markdown segments/ > finding.md
  zombieproof replay story.jsonl
"""

Format = Literal["text", "json", "junit", "markdown"]

EXITS = {
    Judgement.CONFORMS: Exit.HOLDS,
    Judgement.VIOLATES: Exit.VIOLATED,
    Judgement.DAMAGED: Exit.INCONCLUSIVE,
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", help=HELP, short_help="Judge recordings of real clusters, or run a counterexample again.")(
        replay_command
    )


def replay_command(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="files and folders")],
    rules: Annotated[str, typer.Option(metavar="PRESET", help="rules to judge by: newest, 3.9, 4.3-tv0")] = "",
    values: Annotated[
        Values, typer.Option("--values", help="show values of the records that findings are about; keys are shown")
    ] = Values.NONE,
    form: Annotated[Format, typer.Option("--format", help="how to report")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="the same as --format json")] = False,
) -> int:
    """Run the command."""
    form = form_of(form, as_json=as_json)
    if rules:
        known("preset of rules", rules, PRESETS, "zombieproof rules")
    traces = [path for path in paths if is_trace(path)]
    screen = Screen()
    if traces:
        _refuse_mixture(paths, traces, rules)
        return _replay_traces(screen, traces, form)
    try:
        evidence = collect(paths)
    except EvidenceError as error:
        raise WrongUsage(str(error)) from error
    report = explain(replay(evidence, preset(rules) if rules else None), evidence, values)
    if form == "text":
        show_report(screen, report)
        _show_ignored(screen, evidence)
    else:
        _write(screen, form, report, evidence)
    return EXITS[report.verdict]


def _write(screen: Screen, form: Format, report: Report, evidence: Evidence | None = None) -> None:
    """Write a report in a form for programs, or for an issue tracker."""
    if form == "json":
        screen.data(report.model_dump_json(indent=2))
    elif form == "junit":
        screen.data(replay_junit.as_junit(report, evidence))
    else:
        screen.data(replay_markdown.as_markdown(report))


def is_trace(path: Path) -> bool:
    """Whether a file means to be a trace of this program."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return looks_like_trace(file.readline(65536).decode("utf-8", errors="replace"))


def _refuse_mixture(paths: Sequence[Path], traces: Sequence[Path], rules: str) -> None:
    others = [str(path) for path in paths if path not in traces]
    if others:
        both = f"{traces[0]} is a trace of this program and {others[0]} is not"
        raise WrongUsage(f"{both}: a trace is run again, a recording is judged; replay them one after the other")
    if rules:
        raise WrongUsage(
            f"--rules {rules}: {traces[0]} is a trace of this program and says its own rules; leave it away"
        )


def _replay_traces(screen: Screen, paths: Sequence[Path], form: Format) -> int:
    replayed: list[Replayed] = []
    unread: list[DamagedPlace] = []
    for path in paths:
        try:
            replayed.append(Replayed(str(path), run_again(read_trace(path), str(path))))
        except TraceError as error:
            place = DamagedPlace(file=error.file, position=error.line, unit=Unit.LINE, message=error.fault)
            unread.append(place)
    report = as_report(replayed, unread)
    if form != "text":
        _write(screen, form, report)
    else:
        for each in replayed:
            show_replayed(screen, each)
        for place in unread:
            screen.say(f"damaged: {place.file}, line {place.position}: {place.message}", "bold yellow")
    return EXITS[report.verdict]


def _show_ignored(screen: Screen, evidence: Evidence) -> None:
    reasons = Counter(ignored.reason for ignored in evidence.ignored)
    for reason, count in reasons.items():
        screen.say(f"not read: {plural(count, 'file')}, {reason}", "dim")
