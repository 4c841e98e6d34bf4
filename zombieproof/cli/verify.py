"""zombieproof verify: all that a clone promises, in one table with one exit code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import click

import zombieproof
from zombieproof import system
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.warming import compiling_beside
from zombieproof.cli.exploring import Choice, explore_all, hunt_all, turn_all, workers_of
from zombieproof.cli.options import reported, threads
from zombieproof.cli.usage import WrongUsage, form_of, memory_bytes
from zombieproof.report import diagrams, machines_page, results, rules_page, verification, verification_junit
from zombieproof.report.answers import ANSWERS, meet_cases, replay_answers
from zombieproof.report.pages import COMMAND, Stale
from zombieproof.report.recordings import folders, judge
from zombieproof.report.screen import Screen
from zombieproof.report.verification import Check, Found
from zombieproof.traces.trace import SCHEMA_PATH, schema_is_stale, write_schema

HELP = """Verify all that this clone promises: `make check`.

Every scenario is explored, every mutant is hunted, every switch of the rules is turned, the recordings that ship are
judged, the recorded answers that ship are replayed, Kafka's own cases are run, and diagrams and generated pages are
compared with their sources. One table, one exit code.

\b
Examples:
  zombieproof verify
  zombieproof verify --memory 4G --workers 2
  zombieproof verify --format junit > verified.xml
  zombieproof verify --write-results   also rewrite what is generated: results
                                       and rules in docs/, README, schema
"""

Format = Literal["text", "json", "junit"]

RECORDINGS = Path("tests/recordings")


@click.command("verify", help=HELP)
@click.option("--memory", metavar="SIZE", default="", help="end an exploration before using more, such as 8G")
@threads
@click.option("--write-results", is_flag=True, help="rewrite the pages that show results")
@reported(Format)
def verify_command(memory: str, workers: int | None, write_results: bool, form: Format, as_json: bool) -> int:
    """Run the command."""
    form = form_of(form, as_json=as_json)
    choice = Choice(workers=workers_of(workers), memory_bytes=memory_bytes(memory) if memory else None)
    root = clone_root()
    if write_results and root is None:
        raise WrongUsage("--write-results: this is no clone of the project, and there are no pages to write")
    found = gather(choice, root)
    checks = list(verification.checks_of(found))
    if root is not None and not found.interrupted:
        if write_results:
            _write(found, root)
        checks += compare(root, found)
    screen = Screen()
    if form == "json":
        screen.data(verification.as_json(checks, found))
    elif form == "junit":
        screen.data(verification_junit.as_junit(checks, found.missing))
    else:
        verification.show(screen, checks, found)
    return verification.exit_code(checks, found)


def clone_root() -> Path | None:
    """The folder of the clone that this program runs from, or None where it is installed without one."""
    root = Path(zombieproof.__file__).resolve().parents[1]
    return root if (root / "pyproject.toml").is_file() and (root / RECORDINGS).is_dir() else None


def gather(choice: Choice, root: Path | None) -> Found:
    """Explore, hunt and judge."""
    found = Found()
    if root is None:
        found.missing.append("a clone: recordings, answers, cases, diagrams and pages are compared only there")
    else:
        for folder in folders(root / RECORDINGS):
            began = time.perf_counter()
            found.recordings.append((judge(folder), time.perf_counter() - began))
        began = time.perf_counter()
        answers = replay_answers(root / ANSWERS)
        found.answers, began = (answers, time.perf_counter() - began), time.perf_counter()
        cases = meet_cases(root)
        found.cases = (cases, time.perf_counter() - began)
    if not diagrams.dot_is_installed():
        found.missing.append("`dot` (package graphviz): committed SVG files are compared, and none can be drawn anew")
    with compiling_beside(list(SCENARIOS.values()), system.cores()):
        found.runs, found.interrupted = explore_all(list(SCENARIOS.values()), choice)
    if not found.interrupted:
        found.hunts, found.interrupted = hunt_all(list(SCENARIOS.values()), choice)
    if not found.interrupted:
        # What a switch changes is told against a pinned number: of a scenario that has another one nothing is.
        pinned = [run.checked.scenario for run in found.runs if verification.scenario_check(run).outcome == "ok"]
        found.turns, found.interrupted = turn_all(pinned, choice)
    return found


def _write(found: Found, root: Path) -> None:
    try:
        results.write(results.pages(found, root))
    except results.MissingMarkers as error:
        raise WrongUsage(str(error)) from error
    rules_page.write(root / "docs/rules.md")
    write_schema(SCHEMA_PATH)


def compare(root: Path, found: Found) -> Iterator[Check]:
    """Compare what is committed with what it is made from."""
    pages: tuple[tuple[str, str, Callable[[], list[Stale]]], ...] = (
        ("diagrams", "diagrams/", lambda: diagrams.check(root / "diagrams")),
        ("page", "docs/machines.md", lambda: machines_page.check(root / "docs/machines.md")),
        ("page", "docs/rules.md", lambda: rules_page.check(root / "docs/rules.md")),
        ("page", "docs/trace-schema.json", _schema),
    )
    if all(check.outcome == "ok" for check in verification.checks_of(found)):
        # Otherwise the pages would differ for a reason that was told already.
        pages += (("page", "docs/results.md, README.md", lambda: _results(found, root)),)
    if not found.recordings:
        yield Check("recording", str(RECORDINGS), "FAILED", "none", None, (f"{root / RECORDINGS} holds no recording",))
    for part, what, check in pages:
        began = time.perf_counter()
        faults = tuple(str(fault) for fault in check())
        said = "not what the source says" if faults else "what the source says"
        seconds = time.perf_counter() - began
        yield Check(part, what, "FAILED" if faults else "ok", said, seconds, faults)


def _results(found: Found, root: Path) -> list[Stale]:
    try:
        return results.stale(results.pages(found, root))
    except results.MissingMarkers as error:
        return [Stale(root / results.README, str(error))]


def _schema() -> list[Stale]:
    why = f"does not say what zombieproof/traces/trace.py says: run `{COMMAND}`"
    return [Stale(SCHEMA_PATH, why)] if schema_is_stale(SCHEMA_PATH) else []
