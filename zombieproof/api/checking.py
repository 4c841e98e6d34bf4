"""Checking a scenario from a program: what `zombieproof check` does."""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO

from zombieproof.api.scenarios import scenario
from zombieproof.checker import checking
from zombieproof.checker.checking import Request
from zombieproof.checker.examination import examine
from zombieproof.checker.scenario import Scenario
from zombieproof.report import check_text
from zombieproof.report.counterexample import as_trace
from zombieproof.report.runs import Run, run_of
from zombieproof.report.screen import Screen, plural
from zombieproof.traces.trace_file import write_trace


def check(  # noqa: PLR0913  # one parameter for each option of the command
    what: Scenario | str | os.PathLike[str],
    *,
    rules: str = "",
    on: Iterable[str] = (),
    off: Iterable[str] = (),
    mutant: str = "",
    bounds: Mapping[str, int] | None = None,
    workers: int = 1,
    memory_bytes: int | None = None,
    reduce: Iterable[str] = (),
) -> Run:
    """Explore a scenario exhaustively: every interleaving of its steps, every fault within its budget.

    Of the run, `verdict` is "holds", "violated" or "inconclusive" (a bound or the memory was reached), `distinct` the
    number of distinct states, `broken` the broken promise and `story` the shortest way to it. The first check of a
    process compiles the model, unless it is in the user's cache folder.

    Args:
        what: a scenario, the name of a registered one, or "FILE.py[:NAME]".
        rules: a preset instead of the scenario's own: "newest", "3.9", "4.3-tv0".
        on: rules that are switched on as well, or numbers, such as "transaction_version=0"; or readings of the
            scenario's own model.
        off: rules or readings that are switched off.
        mutant: the name of one of the scenario's mutants, to be explored instead.
        bounds: bounds other than the scenario's own, such as ``{"lost": 2}``.
        workers: threads that share the work.
        memory_bytes: end, inconclusive, before more is used.
        reduce: reductions that keep verdicts: "symmetry", "order".

    Raises:
        UnknownScenario, OwnFault: there is no such scenario, or its file has a mistake.
        UnknownRule, UnknownMutant, UnknownBound: something was named that the scenario or the rules do not have.
        ValueError: a function or a record of a model of one's own cannot be compiled, or there is no such reduction; it
            says where, and what would be.
    """
    chosen = what if isinstance(what, Scenario) else scenario(what)
    request = Request(rules, tuple(on), tuple(off), mutant, dict(bounds or {}), workers, memory_bytes)
    request = replace(request, reduce=tuple(reduce))
    if chosen.origin:
        examine(chosen, *checking.chosen(chosen, request))
    return run_of(checking.check(chosen, request), request)


def tell(run: Run, to: IO[str] | None = None) -> None:
    """Write what a check found: verdict and count, the broken promise with its shortest story, and remarks.

    Args:
        run: what `check` returned.
        to: where to; stdout if it is not said.
    """
    screen = Screen(to or sys.stdout)
    screen.say(f"{run.name} ({run.rules}): {run.verdict}, {plural(run.distinct, 'distinct state')}")
    if run.broken is not None:
        screen.say(f"{run.broken.name} is broken: {run.broken.text}")
    if run.story is not None:
        check_text.show_story(screen, run.story)
    check_text.show_remarks(screen, run)


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write the counterexample to a file, which `zombieproof replay` runs again.

    Raises:
        ValueError: nothing is broken, so there is no counterexample.
        OSError: the file cannot be written.
    """
    if run.story is None:
        raise ValueError(f"{run.name}: there is no counterexample to write; its verdict is {run.verdict}")
    write_trace(Path(path), as_trace(run))
