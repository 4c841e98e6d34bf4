"""Jobs into tasks: small ones together, so that what a task costs besides is little beside what it does.

How long a job takes is estimated by the states that are pinned. It need not be right: a task that is too short costs a
part of a second, one that is too long is only finished later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from zombieproof.farm.jobs import Job

Task = tuple[Job, ...]

LEAST_SECONDS: Final = 1.0
"""What a task is estimated to take at least, as long as there are enough jobs."""
STATES_PER_SECOND: Final = 400_000
_BESIDE_SECONDS: Final = 0.02
"""What each exploration takes besides: making the model's setup, running a counterexample again."""


def seconds(job: Job) -> float:
    """About how long a job takes on one core."""
    return _BESIDE_SECONDS + job.states / STATES_PER_SECOND


def tasks_of(jobs: Iterable[Job], least_seconds: float = LEAST_SECONDS) -> list[Task]:
    """The jobs as tasks, the longest first. Jobs of one model come together: they share its code."""
    tasks: list[list[Job]] = []
    room: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: (-seconds(job), job.key)):
        if seconds(job) >= least_seconds:
            tasks.append([job])
            continue
        group = room.setdefault(job.model, [])
        if not group:
            tasks.append(group)
        group.append(job)
        if _total(group) >= least_seconds:
            del room[job.model]
    short = [group for group in room.values() if group]
    for group in short:
        # What is left over of a model goes to the shortest task of the same, or else of another model.
        others = [task for task in tasks if task is not group]
        if others:
            tasks.remove(group)
            model = group[0].model
            min(others, key=lambda task: (task[0].model != model, _total(task))).extend(group)
    return [tuple(task) for task in sorted(tasks, key=_total, reverse=True)]


def _total(jobs: Sequence[Job]) -> float:
    return sum(map(seconds, jobs))
