"""zombieproof replay: judge what was recorded, and run counterexamples again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zombieproof.cli.usage import WrongUsage, known
from zombieproof.model.rules import PRESETS, preset
from zombieproof.report.counterexample import run_again
from zombieproof.report.replay_json import as_report
from zombieproof.report.replay_text import Replayed, show_replayed, show_report
from zombieproof.report.runs import Exit
from zombieproof.report.screen import Screen
from zombieproof.traces.collect import collect
from zombieproof.traces.coverage import accept
from zombieproof.traces.evidence import EvidenceError, Unit
from zombieproof.traces.replay import replay
from zombieproof.traces.trace import TraceError, looks_like_trace, read_trace
from zombieproof.traces.verdict import DamagedPlace, Judgement, Report

HELP = """Judge what real clusters recorded, or run a counterexample again.

Any mixture of files and folders is one body of evidence: segments and whole log directories, text of
kafka-dump-log, __transaction_state, __consumer_offsets, snapshots, .txnindex, broker and client logs,
also as .gz and .xz. A file that `zombieproof check -o` wrote is run again step by step, interpreted.

What the evidence names and does not hold (a partition that a transaction lists, the __transaction_state of a
producer, the rest of a cut log) is not judged: it is named, with what to fetch, and the exit code is 3 unless
--allow-gaps accepts it. Exit codes: 0 conforms, 1 violates, 2 wrong usage, 3 damaged, or conforms as far as it
could be judged.

\b
Examples:
  zombieproof replay /var/lib/kafka/data
  zombieproof replay orders-0.txt __transaction_state-12.txt client.jsonl
  zombieproof replay broker-1/ --allow-gaps e-0,__consumer_offsets
  zombieproof replay --rules kip98 --json segments/
  zombieproof replay story.jsonl
"""

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
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    allow_gaps: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="gaps that need not be judged: e-0, e, e-*, __transaction_state"),
    ] = None,
) -> int:
    """Run the command."""
    if rules:
        known("preset of rules", rules, PRESETS, "zombieproof rules")
    traces = [path for path in paths if is_trace(path)]
    screen = Screen()
    if traces:
        _refuse_mixture(paths, traces, rules)
        if allow_gaps:
            raise WrongUsage(f"--allow-gaps: {traces[0]} is a trace of this program and has no gaps; leave it away")
        return _replay_traces(screen, traces, as_json=as_json)
    try:
        evidence = collect(paths)
    except EvidenceError as error:
        raise WrongUsage(str(error)) from error
    report = _accepted(replay(evidence, preset(rules) if rules else None), allow_gaps or ())
    if as_json:
        screen.data(report.model_dump_json(indent=2))
    else:
        show_report(screen, report)
    return exit_code(report)


def exit_code(report: Report) -> int:
    """The exit code of a verdict: that history conforms is not shown while there are gaps in the evidence."""
    if report.verdict is Judgement.CONFORMS and not report.is_in_full:
        return Exit.INCONCLUSIVE
    return EXITS[report.verdict]


def _accepted(report: Report, allow_gaps: Sequence[str]) -> Report:
    """The report with the gaps accepted that the caller names."""
    names = [name.strip() for each in allow_gaps for name in each.split(",") if name.strip()]
    accepting, unknown = accept(report, names)
    if unknown is None:
        return accepting
    there = f"there are {', '.join(unknown.names)}" if unknown.names else "there is none, so leave it away"
    raise WrongUsage(f"--allow-gaps {unknown.name}: no gap in this evidence has that name; {there}")


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


def _replay_traces(screen: Screen, paths: Sequence[Path], *, as_json: bool) -> int:
    replayed: list[Replayed] = []
    unread: list[DamagedPlace] = []
    for path in paths:
        try:
            replayed.append(Replayed(str(path), run_again(read_trace(path), str(path))))
        except TraceError as error:
            place = DamagedPlace(file=error.file, position=error.line, unit=Unit.LINE, message=error.fault)
            unread.append(place)
    report = as_report(replayed, unread)
    if as_json:
        screen.data(report.model_dump_json(indent=2))
    else:
        for each in replayed:
            show_replayed(screen, each)
        for place in unread:
            screen.say(f"damaged: {place.file}, line {place.position}: {place.message}", "bold yellow")
    return EXITS[report.verdict]
