"""zombieproof replay: judge what was recorded, and run counterexamples again."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zombieproof.cli.usage import WrongUsage, known
from zombieproof.model.rules import PRESETS, preset
from zombieproof.report.exits import Exit
from zombieproof.report.replay_text import show_report
from zombieproof.report.screen import Screen, plural
from zombieproof.traces.collect import collect
from zombieproof.traces.evidence import Evidence, EvidenceError
from zombieproof.traces.replay import replay
from zombieproof.traces.trace import looks_like_trace
from zombieproof.traces.verdict import Judgement

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
    app.command("replay", help=HELP)(replay_command)


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
        # A recording is judged without the checker, which is not loaded for it.
        from zombieproof.cli.run_again import replay_traces  # noqa: PLC0415

        return EXITS[replay_traces(screen, traces, scenario or (), as_json=as_json)]
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
    try:
        with path.open("rb") as file:
            return looks_like_trace(file.readline(65536).decode("utf-8", errors="replace"))
    except OSError:  # whoever collects evidence says what cannot be read
        return False


def _refuse_mixture(paths: Sequence[Path], traces: Sequence[Path], rules: str) -> None:
    others = [str(path) for path in paths if path not in traces]
    if others:
        both = f"{traces[0]} is a trace of this program and {others[0]} is not"
        raise WrongUsage(f"{both}: a trace is run again, a recording is judged; replay them one after the other")
    if rules:
        raise WrongUsage(
            f"--rules {rules}: {traces[0]} is a trace of this program and says its own rules; leave it away"
        )


def _show_ignored(screen: Screen, evidence: Evidence) -> None:
    reasons = Counter(ignored.reason for ignored in evidence.ignored)
    for reason, count in reasons.items():
        screen.say(f"not read: {plural(count, 'file')}, {reason}", "dim")
