"""zombieproof verify: run every check of a clone, with one table and one exit code."""

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

HELP = """Run every check of this clone, as `make check` does.

Explore every scenario and every mutant, and each rule inverted; check the bundled recordings; replay the bundled
answers of Kafka; run Kafka's own test cases; compare diagrams and generated pages with their sources. The result is
one table and one exit code.

\b
Examples:
  zombieproof verify
  zombieproof verify --memory 4G --workers 2
  zombieproof verify --format junit > verified.xml
  zombieproof verify --write-results   also regenerate results and rules
                                       in docs/, README and the schema
"""

Format = Literal["text", "json", "junit"]

RECORDINGS = Path("tests/recordings")


@click.command("verify", help=HELP)
@click.option(
    "--memory", metavar="SIZE", default="", help="stop an exploration before using more memory than this, such as 8G"
)
@threads
@click.option("--write-results", is_flag=True, help="regenerate the pages that show results")
@reported(Format)
def verify_command(memory: str, workers: int | None, write_results: bool, form: Format, as_json: bool) -> int:
    """Run the command."""
    form = form_of(form, as_json=as_json)
    choice = Choice(workers=workers_of(workers), memory_bytes=memory_bytes(memory) if memory else None)
    root = clone_root()
    if write_results and root is None:
        raise WrongUsage("--write-results: this is not a clone of zombieproof, so there are no pages to write")
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
    """Return the folder of the clone that this program runs from, or None if there is none."""
    root = Path(zombieproof.__file__).resolve().parents[1]
    return root if (root / "pyproject.toml").is_file() and (root / RECORDINGS).is_dir() else None


def gather(choice: Choice, root: Path | None) -> Found:
    """Run all checks."""
    found = Found()
    if root is None:
        found.missing.append("a clone: recordings, answers, test cases, diagrams and pages can only be checked there")
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
        found.missing.append("`dot` (package graphviz): SVG diagrams are compared with their hashes, not drawn again")
    with compiling_beside(list(SCENARIOS.values()), system.cores()):
        found.runs, found.interrupted = explore_all(list(SCENARIOS.values()), choice)
    if not found.interrupted:
        found.hunts, found.interrupted = hunt_all(list(SCENARIOS.values()), choice)
    if not found.interrupted:
        # The effect of a switch is measured against the expected number of states: skip scenarios that differ from it.
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
    """Compare committed files with their sources."""
    pages: tuple[tuple[str, str, Callable[[], list[Stale]]], ...] = (
        ("diagrams", "diagrams/", lambda: diagrams.check(root / "diagrams")),
        ("page", "docs/machines.md", lambda: machines_page.check(root / "docs/machines.md")),
        ("page", "docs/rules.md", lambda: rules_page.check(root / "docs/rules.md")),
        ("page", "docs/trace-schema.json", _schema),
    )
    if all(check.outcome == "ok" for check in verification.checks_of(found)):
        # Otherwise the pages would differ for a reason that is already reported.
        pages += (("page", "docs/results.md, README.md", lambda: _results(found, root)),)
    if not found.recordings:
        yield Check("recording", str(RECORDINGS), "FAILED", "none", None, (f"{root / RECORDINGS} has no recordings",))
    for part, what, check in pages:
        began = time.perf_counter()
        faults = tuple(str(fault) for fault in check())
        said = "out of date" if faults else "up to date"
        seconds = time.perf_counter() - began
        yield Check(part, what, "FAILED" if faults else "ok", said, seconds, faults)


def _results(found: Found, root: Path) -> list[Stale]:
    try:
        return results.stale(results.pages(found, root))
    except results.MissingMarkers as error:
        return [Stale(root / results.README, str(error))]


def _schema() -> list[Stale]:
    why = f"differs from zombieproof/traces/trace.py: run `{COMMAND}`"
    return [Stale(SCHEMA_PATH, why)] if schema_is_stale(SCHEMA_PATH) else []
