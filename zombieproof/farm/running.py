"""A farm runs: what is kept is taken, the rest is explored, and each result is kept when it comes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from zombieproof.farm.found import Entry, Found
from zombieproof.farm.jobs import Job
from zombieproof.farm.runners import Runner
from zombieproof.farm.store import Store
from zombieproof.farm.tasks import tasks_of


@dataclass(slots=True)
class Harvest:
    """What a farm gave.

    Attributes:
        jobs: all that was to be explored, in the order of the plan.
        found: by key, what is known.
        taken: the keys of those that an earlier farm had found.
        interrupted: Ctrl-C ended it.
    """

    jobs: Sequence[Job]
    found: dict[str, Found] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    interrupted: bool = False

    @property
    def entries(self) -> list[Entry]:
        """What is known, in the order of the plan."""
        return [Entry(job, self.found[job.key], job.key in self.taken) for job in self.jobs if job.key in self.found]

    @property
    def left(self) -> list[Job]:
        """What is not known."""
        return [job for job in self.jobs if job.key not in self.found]


def run(
    jobs: Sequence[Job],
    runner: Runner,
    store: Store | None = None,
    *,
    memory_bytes: int | None = None,
    fresh: bool = False,
    tell: Callable[[Harvest, Entry], None] | None = None,
) -> Harvest:
    """Run a farm.

    Args:
        jobs: what is to be explored.
        runner: who explores it.
        store: where results are kept, and taken from unless it is to be `fresh`; nowhere if there is none.
        memory_bytes: the limit of memory, as the runner has it.
        tell: called with every result that comes.

    A result that comes twice, because somebody ran a task again, counts once: the first. Ctrl-C ends the farm; what
    was found is there.

    Raises:
        OSError: a result cannot be kept.
    """
    harvest = Harvest(jobs)
    if store is not None and not fresh:
        for entry in store.kept(jobs, memory_bytes):
            harvest.found[entry.job.key] = entry.found
            harvest.taken.add(entry.job.key)
    wanted = {job.key: job for job in harvest.left}
    if not wanted:
        return harvest
    with contextlib.closing(runner(tasks_of(wanted.values()))) as results:
        try:
            for found in results:
                if found.key in harvest.found:
                    continue
                harvest.found[found.key] = found
                if store is not None:
                    store.keep(found)
                if tell is not None:
                    tell(harvest, Entry(wanted[found.key], found))
        except KeyboardInterrupt:
            harvest.interrupted = True
    return harvest
