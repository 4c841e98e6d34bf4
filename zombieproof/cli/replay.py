"""zombieproof replay: judge what was recorded, and run counterexamples again."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zombieproof.checker.scenario import Scenario
from zombieproof.cli.exploring import blaming
from zombieproof.cli.naming import scenarios_named
from zombieproof.cli.usage import WrongUsage, known
from zombieproof.model.rules import PRESETS, preset
from zombieproof.report.counterexample import Again, run_again, scenario_of
from zombieproof.report.replay_json import as_report
from zombieproof.report.replay_text import Replayed, show_replayed, show_report
from zombieproof.report.runs import Exit
from zombieproof.report.screen import Screen, plural
from zombieproof.traces.collect import collect
from zombieproof.traces.evidence import Evidence, EvidenceError, Unit
from zombieproof.traces.replay import replay
from zombieproof.traces.trace import TraceError, looks_like_trace, read_trace
from zombieproof.traces.verdict import DamagedPlace, Judgement

HELP = """Judge what real clusters recorded, or run a counterexample again.

Any mixture of files and folders is one body of evidence: segments and whole log directories, text of
kafka-dump-log, __transaction_state, __consumer_offsets, snapshots, .txnindex, broker and client logs,
also as .gz and .xz. A file that `zombieproof check -o` wrote is run again step by step, interpreted.

\b
Examples:
  zombieproof replay /var/lib/kafka/data
  zombieproof replay orders-0.txt __transaction_state-12.txt client.jsonl
  zombieproof replay --rules kip98 --json segments/
  zombieproof replay story.jsonl
  zombieproof replay story.jsonl --scenario examples/own_model.py
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
    scenario: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE.py[:NAME]", help="where the scenario of a story is defined, if it is your own"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> int:
    """Run the command."""
    if rules:
        known("preset of rules", rules, PRESETS, "zombieproof rules")
    traces = [path for path in paths if is_trace(path)]
    screen = Screen()
    if traces:
        _refuse_mixture(paths, traces, rules)
        return _replay_traces(screen, traces, scenario or (), as_json=as_json)
    if scenario:
        raise WrongUsage(f"--scenario {scenario[0]}: none of the files is a story that `zombieproof check -o` wrote")
    try:
        evidence = collect(paths)
    except EvidenceError as error:
        raise WrongUsage(str(error)) from error
    report = replay(evidence, preset(rules) if rules else None)
    if as_json:
        screen.data(report.model_dump_json(indent=2))
    else:
        show_report(screen, report)
        _show_ignored(screen, evidence)
    return EXITS[report.verdict]


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


def _replay_traces(screen: Screen, paths: Sequence[Path], files: Sequence[str], *, as_json: bool) -> int:
    own = scenarios_named(files, {})
    replayed: list[Replayed] = []
    unread: list[DamagedPlace] = []
    for path in paths:
        try:
            replayed.append(Replayed(str(path), _run_again(path, own)))
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


def _run_again(path: Path, own: Sequence[Scenario]) -> Again:
    trace = read_trace(path)
    scenario = scenario_of(trace.header, own)
    if scenario is None and trace.header.file is not None:
        # The file is code, and a story may come from anybody: it runs only where it is asked for.
        given = f"; it is not in {', '.join(each.origin for each in own)}" if own else ""
        raise WrongUsage(
            f"{path}: its scenario {trace.header.scenario!r} is not one of this program, but of {trace.header.file}"
            f"{given}; say where that is: zombieproof replay {path} --scenario {trace.header.file}"
        )
    with blaming(scenario) if scenario is not None else contextlib.nullcontext():
        return run_again(trace, str(path), own)


def _show_ignored(screen: Screen, evidence: Evidence) -> None:
    reasons = Counter(ignored.reason for ignored in evidence.ignored)
    for reason, count in reasons.items():
        screen.say(f"not read: {plural(count, 'file')}, {reason}", "dim")
