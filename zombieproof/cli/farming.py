"""Helpers of `zombieproof farm`: listing, choosing a runner, showing progress."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zombieproof import system
from zombieproof.checker import own
from zombieproof.checker.scenario import Scenario
from zombieproof.cli.bars import progress
from zombieproof.cli.exploring import examine_all, workers_of
from zombieproof.cli.usage import WrongUsage
from zombieproof.farm.exploring import Limits, Watch
from zombieproof.farm.found import Entry
from zombieproof.farm.jobs import Job
from zombieproof.farm.plan import PlanFault, bound_values
from zombieproof.farm.runners import Runner, in_processes, in_this_process
from zombieproof.farm.tasks import seconds, tasks_of
from zombieproof.pipeline.farm import on_master
from zombieproof.report.screen import Column, Screen, plural

if TYPE_CHECKING:
    from rich.progress import Progress

    from zombieproof.checker.engine.result import Progress as Reached
    from zombieproof.farm.running import Harvest

MOST_PROCESSES = 256


def values_of_bounds(options: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Parse --bound options, such as lost=0..2.

    Raises:
        WrongUsage: an option is not name=values, or names a bound twice.
    """
    bounds: dict[str, tuple[int, ...]] = {}
    for option in options:
        name, sign, values = (part.strip() for part in option.partition("="))
        if not sign or not name:
            raise WrongUsage(f"--bound {option!r} is not NAME=VALUES; give for example --bound lost=0,1,2")
        if name in bounds:
            raise WrongUsage(
                f"--bound {option!r}: {name} is given twice; give all its values in one option, such as {name}=0,1"
            )
        try:
            bounds[name] = bound_values(values)
        except PlanFault as fault:
            raise WrongUsage(f"--bound {option!r}: {fault}") from fault
    return bounds


def examine(jobs: Sequence[Job]) -> None:
    """Report mistakes in user-defined models before anything is compiled.

    Raises:
        WrongUsage: there is one.
    """
    scenarios: dict[str, Scenario] = {}
    for job in jobs:
        if job.file:
            scenario = scenarios.get(job.asked) or own.load(job.asked)[0]
            scenarios[job.asked] = scenario
            examine_all([(scenario, job.request())])


def runner_of(processes: int | None, spark: str, workers: int | None, memory_bytes: int | None, watch: Watch) -> Runner:
    """Choose where to explore: this process, several, or Spark, which starts when there is something to explore.

    Raises:
        WrongUsage: options conflict, or a number is not valid.
    """
    if spark and processes is not None:
        raise WrongUsage("--processes and --spark: choose one")
    if workers is not None and (spark or processes is not None):
        raise WrongUsage(
            "--workers sets the threads of one exploration; with --processes or --spark each has one: omit --workers"
        )
    if spark:
        return on_master(spark, Limits(memory_bytes=memory_bytes), watch)
    if processes is None:
        return in_this_process(Limits(workers_of(workers), memory_bytes), watch)
    if not 1 <= processes <= MOST_PROCESSES:
        raise WrongUsage(
            f"--processes {processes}: give 1 to {MOST_PROCESSES}; this machine has {system.cores()} cores available"
        )
    return in_processes(processes, Limits(1, memory_bytes, sharing=processes), watch)


def list_jobs(screen: Screen, jobs: Sequence[Job], *, as_json: bool) -> None:
    """List the explorations and their tasks, with an estimate of each."""
    tasks = tasks_of(jobs)
    numbers = {job.key: number for number, task in enumerate(tasks, 1) for job in task}
    if as_json:
        data = [
            {"task": numbers[job.key], "scenario": job.scenario, "rules": job.words, "mutant": job.mutant or None}
            | {"bounds": dict(job.bounds), "expected": job.expected, "command": job.command, "key": job.key}
            for job in jobs
        ]
        screen.data(json.dumps({"explorations": data, "tasks": len(tasks)}, indent=2))
        return
    columns = (Column("task", "right"), Column("expected"), Column("seconds", "right"), Column("command"))
    rows = [(str(numbers[job.key]), job.expected, f"{seconds(job):.1f}", job.command) for job in jobs]
    screen.table(columns, rows)
    screen.say()
    total = sum(map(seconds, jobs))
    screen.say(
        f"{plural(len(jobs), 'exploration')} in {plural(len(tasks), 'task')}, about {total:,.0f} s on one core "
        "(from the expected numbers of states; guesses where there is none)"
    )


class Watcher:
    """Shows the progress of a batch. May be called from threads of a runner."""

    def __init__(self, bar: Progress, total: int) -> None:
        self.bar = bar
        self.task = bar.add_task("farm", total=total, reached="")
        self.lock = threading.Lock()
        self.outcomes: Counter[str] = Counter()
        self.last = ""

    def begin(self, job: Job, reached: Reached | None) -> None:
        """Show that an exploration begins, or how far it is."""
        words = job.name if reached is None else f"{job.name}: {reached.distinct:,} distinct, depth {reached.depth}"
        self._show(last=words)

    def came(self, harvest: Harvest, entry: Entry) -> None:
        """Show that a result is available."""
        with self.lock:
            self.outcomes[entry.outcome] += 1
        self._show(len(harvest.found))

    def _show(self, completed: int | None = None, last: str = "") -> None:
        with self.lock:
            self.last = last or self.last
            parts = [f"{count:,} {word}" for word, count in self.outcomes.items()]
            self.bar.update(self.task, completed=completed, reached="; ".join([*parts, self.last]))


@contextmanager
def watching(total: int) -> Iterator[Watcher]:
    """Show the progress of a batch in this block; remove it afterwards."""
    with progress() as bar:
        yield Watcher(bar, total)
