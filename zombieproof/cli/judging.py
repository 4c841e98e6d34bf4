"""Shared by `replay` and `audit`: collect recorded logs, check them, report, and choose the exit code."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from zombieproof.cli.replay_questions import Asked, refuse_what_is_not_there, tell, tell_so_far
from zombieproof.cli.replay_watching import following
from zombieproof.cli.usage import WrongUsage
from zombieproof.model.rules import Rules
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen
from zombieproof.screening.tables import read_table
from zombieproof.traces.evidence import EvidenceError
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.judging.gathering.coverage import accept
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.screen import Screening
from zombieproof.traces.replay import judge
from zombieproof.traces.trace_file import looks_like_trace
from zombieproof.traces.verdict.report import Judgement, Report
from zombieproof.traces.watching import Watch

EXITS = {
    Judgement.CONFORMS: Exit.HOLDS,
    Judgement.VIOLATES: Exit.VIOLATED,
    Judgement.DAMAGED: Exit.INCONCLUSIVE,
}


def judge_and_tell(screen: Screen, asked: Asked, examine: Callable[[Watch], Examined]) -> Exit:
    """Check and report; after an interruption, report partial results."""
    with following() as watch:
        try:
            found = examine(watch)
        except KeyboardInterrupt:
            interrupted = True
        else:
            interrupted = False
    if interrupted:
        tell_so_far(screen, watch.so_far, asked.form)
        return Exit.INTERRUPTED
    tell(screen, found, asked)
    return exit_code(found.report)


def examined(
    paths: Sequence[Path], rules: Rules | None, asked: Asked, screening: Screening | None, watch: Watch
) -> Examined:
    """Check recorded logs; skip those that `screening` clears.

    Raises:
        WrongUsage: there are no input files, or they do not contain what the options ask for.
    """
    try:
        evidence = collect(paths, narrowing=asked.narrowing, watch=watch, screen=screening, tables=read_table)
    except EvidenceError as error:
        raise WrongUsage(str(error)) from error
    refuse_what_is_not_there(asked.narrowing, evidence)
    found = judge(evidence, rules, asked.narrowing, watch)
    return replace(found, report=accepted(found.report, asked.allowed_gaps))


def exit_code(report: Report) -> Exit:
    """Return the exit code of a verdict; gaps in the input make a history without findings inconclusive."""
    if report.verdict is Judgement.CONFORMS and not report.is_in_full:
        return Exit.INCONCLUSIVE
    return EXITS[report.verdict]


def accepted(report: Report, names: Sequence[str]) -> Report:
    """Return the report with the named gaps accepted."""
    accepting, unknown = accept(report, names)
    if unknown is None:
        return accepting
    there = f"there are: {', '.join(unknown.names)}" if unknown.names else "the files have no gaps, so omit it"
    raise WrongUsage(f"--allow-gaps {unknown.name}: the input files have no gap of that name; {there}")


def is_trace(path: Path) -> bool:
    """Return whether a file looks like a zombieproof trace."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return looks_like_trace(file.readline(65536).decode("utf-8", errors="replace"))
    except OSError:  # collecting the files reports it
        return False
