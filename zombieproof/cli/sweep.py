"""zombieproof sweep: explore growing combinations of bounds, the cheapest first, until time is up."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.cli.check import writable, write
from zombieproof.cli.exploring import Choice, blaming, choose, examine_all, workers_of
from zombieproof.cli.farming import values_of_bounds
from zombieproof.cli.options import PATH, reported, threads
from zombieproof.cli.scenario_options import of_model, scenarios_to_explore, under_rules
from zombieproof.cli.usage import WrongUsage, form_of, known, memory_bytes
from zombieproof.cli.watching import Watcher, watching
from zombieproof.farm.kept_sweep import KeptRefused, KeptSweep
from zombieproof.farm.sweeping import Explore, NothingToSweep, Place, Space, space_of, sweep
from zombieproof.report import sweep_text
from zombieproof.report.runs import run_of
from zombieproof.report.screen import Screen

if TYPE_CHECKING:
    from zombieproof.checker.checking import Checked

HELP = """Explore combinations of faults and other bounds, the cheapest first, until time is up.

Each bound in the sweep starts at its smallest value. A combination is explored only if every smaller one holds, so a
violation is reported with as few faults as it needs. Reachability properties (sometimes) are not checked, because fewer
faults reach less. The report lists what holds and what was never tried: a bound above some value, or two bounds
together. The time for a combination is estimated from the smaller ones, and a combination that would not finish in time
is not started. With --checkpoint, you can continue a stopped sweep with --resume; it then gets the full time again.

\b
Examples:
  zombieproof sweep --minutes 5                every scenario, all its faults
  zombieproof sweep zombie_takeover --seconds 120
  zombieproof sweep timeout --bound lost=0..3 --bound crashes=0..2
  zombieproof sweep leaderless_partition --without marker_waits_for_leader
  zombieproof sweep two_phase_commit --bound n=1..9 --json
  zombieproof sweep --model spark_sink -o stories/
  zombieproof sweep --minutes 60 --checkpoint kept.jsonl --resume

\b
Exit codes: 0 everything explored holds, 1 a property is violated,
  2 wrong usage, 3 inconclusive (memory, a capacity, or no time for any
  combination), 130 interrupted.
"""

Format = Literal["text", "json"]
SECONDS = 60.0
_MOST_SECONDS = 30 * 24 * 3600.0


@click.command("sweep", help=HELP)
@scenarios_to_explore
@of_model
@click.option(
    "--bound",
    "bounds",
    metavar="NAME=VALUES",
    multiple=True,
    help="sweep over these values, such as lost=0..3, and over no other bounds; repeatable; "
    "default: all faults, from 0",
)
@click.option("--seconds", metavar="S", type=float, help=f"time limit, not counting compilation; default {SECONDS:.0f}")
@click.option("--minutes", metavar="M", type=float, help="time limit in minutes")
@under_rules
@click.option("--mutant", metavar="NAME", default="", help="sweep over a mutant or a known violation of the scenario")
@click.option(
    "-o",
    "--output",
    metavar="TRACE",
    type=PATH,
    help="write the first counterexample; if TRACE is a folder, the first of each scenario",
)
@click.option(
    "--memory", metavar="SIZE", default="", help="stop, inconclusive, before using more memory than this, such as 8G"
)
@threads
@click.option("--all", "every", is_flag=True, help="also show combinations that hold below larger ones that hold")
@click.option("--brief", is_flag=True, help="leave decisions and transitions out of counterexamples")
@click.option("--checkpoint", metavar="FILE", type=PATH, help="save each explored combination as a line of FILE")
@click.option("--resume", is_flag=True, help="continue from the --checkpoint file")
@reported(Format)
def sweep_command(  # noqa: PLR0913, PLR0917  # one parameter for each option
    names: tuple[str, ...],
    model: str,
    bounds: tuple[str, ...],
    seconds: float | None,
    minutes: float | None,
    rules: str,
    on: tuple[str, ...],
    off: tuple[str, ...],
    mutant: str,
    output: Path | None,
    memory: str,
    workers: int | None,
    every: bool,
    brief: bool,
    checkpoint: Path | None,
    resume: bool,
    form: Format,
    as_json: bool,
) -> int:
    """Run the command."""
    form = form_of(form, as_json=as_json)
    values = values_of_bounds(bounds)
    limit = seconds_of(seconds, minutes)
    choice = Choice(
        rules=rules,
        on=on,
        off=off,
        mutant=mutant,
        workers=workers_of(workers),
        memory_bytes=memory_bytes(memory) if memory else None,
    )
    chosen = choose(names, choice, model=model)
    writable(output, len(chosen))
    spaces, without = spaces_of(chosen, choice, values, is_named=bool(names))
    examine_all([(space.scenario, space.request_at(space.lowest)) for space in spaces])
    with watching() as watcher, _keeping(explorer(watcher), spaces, checkpoint, resume=resume) as explore:
        swept = sweep(spaces, explore, limit)
    runs = [run_of(one.checked, one.space.request_at(one.place)) for one in sweep_text.first_violations(swept)]
    screen = Screen()
    if form == "json":
        screen.data(sweep_text.as_json(swept, runs))
    else:
        sweep_text.show(screen, swept, runs, every=every, brief=brief)
    if without:
        Screen(sys.stderr).say(f"skipped, because none of their bounds is a fault: {', '.join(without)}")
    if output is not None:
        write(runs if output.is_dir() else runs[:1], output)
    return sweep_text.exit_code_of(swept)


@contextmanager
def _keeping(explore: Explore, spaces: Sequence[Space], file: Path | None, *, resume: bool) -> Iterator[Explore]:
    """Wrap an explorer so that it reuses and saves results in a file.

    Raises:
        WrongUsage: --resume without a file, or the file cannot be used.
    """
    if file is None:
        if resume:
            raise WrongUsage("--resume continues from a file: give it too, --checkpoint FILE --resume")
        yield explore
        return
    try:
        with closing(KeptSweep(file, spaces, resume=resume)) as kept:
            yield kept.through(explore)
    except KeptRefused as error:
        raise WrongUsage(str(error)) from error


def seconds_of(seconds: float | None, minutes: float | None) -> float:
    """Return the time limit of a sweep.

    Raises:
        WrongUsage: both were given, or the time is not valid.
    """
    if seconds is not None and minutes is not None:
        raise WrongUsage("--seconds and --minutes: choose one")
    said = f"--minutes {minutes:g}" if minutes is not None else f"--seconds {seconds or 0:g}"
    found = minutes * 60 if minutes is not None else SECONDS if seconds is None else seconds
    if not (math.isfinite(found) and 0 < found <= _MOST_SECONDS):
        raise WrongUsage(f"{said}: give more than 0 and at most 30 days")
    return found


def spaces_of(
    scenarios: Iterable[Scenario], choice: Choice, values: dict[str, tuple[int, ...]], *, is_named: bool
) -> tuple[list[Space], list[str]]:
    """Return the combinations of each scenario, and the names of scenarios that have none.

    Raises:
        WrongUsage: a named scenario has none, a bound does not exist, or a value is not valid.
    """
    scenarios = list(scenarios)
    there_are = sorted({name for scenario in scenarios for name in scenario.bounds})
    for name in values:
        known("bound of these scenarios", name, there_are, "zombieproof scenarios NAME")
    spaces, without = [], []
    for scenario in scenarios:
        own = {name: each for name, each in values.items() if name in scenario.bounds}
        try:
            if values and not own:
                raise NothingToSweep(f"{scenario.name} has no bound {', '.join(values)}")
            with blaming(scenario):
                spaces.append(space_of(scenario, choice.request(scenario), own))
        except UnknownBound as error:
            raise WrongUsage(str(error)) from error
        except NothingToSweep as nothing:
            if is_named:
                raise WrongUsage(str(nothing)) from nothing
            without.append(scenario.name)
    if not spaces:
        raise WrongUsage(f"nothing to sweep over in {', '.join(without)}; give --bound NAME=VALUES")
    return spaces, without


class _Deadline:
    """Ends an exploration when time is up; explorations check it a few times a second."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began: float | None = None
        self.is_over = False

    def is_set(self) -> bool:
        """Return whether time is up, counted from the first call, which comes after compilation."""
        now = time.perf_counter()
        self._began = self._began or now
        self.is_over = self.is_over or now - self._began >= self._seconds
        return self.is_over


def explorer(watcher: Watcher) -> Explore:
    """Return a function that explores a combination and shows its progress."""
    from zombieproof.checker.checking import check  # noqa: PLC0415  # Numba is loaded when it is needed

    def explore(space: Space, place: Place, seconds: float) -> Checked | None:
        words = sweep_text.words_of(space, place)
        deadline = _Deadline(seconds)
        progress = watcher.begin(f"{space.scenario.name}, {words}", None)
        with blaming(space.scenario):
            checked = check(space.scenario_at(place), space.request_at(place), progress=progress, stop=deadline)
        return None if checked.result.interrupted and deadline.is_over else checked

    return explore
