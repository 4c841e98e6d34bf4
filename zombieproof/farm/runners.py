"""Runners of this machine: in this process, one exploration after the other, or in several processes.

A runner takes tasks and gives results as they come. When it is closed it ends what it began.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Final

from zombieproof.farm.exploring import Limits, Watch, explore
from zombieproof.farm.found import Found, failure
from zombieproof.farm.jobs import Job
from zombieproof.farm.tasks import Task

Runner = Callable[[Sequence[Task]], Generator[Found, None, None]]

ATTEMPTS: Final = 2
"""How often an exploration is begun whose process dies under it."""


def in_this_process(limits: Limits, watch: Watch | None = None) -> Runner:
    """One exploration after the other, as `check` does."""

    def run(tasks: Sequence[Task]) -> Generator[Found, None, None]:
        for task in tasks:
            for job in task:
                yield explore(job, limits, watch)

    return run


def in_processes(count: int, limits: Limits, watch: Watch | None = None) -> Runner:
    """In so many processes, each of which takes a task when it has none.

    A process that dies takes one exploration with it, which is begun once more in another one. They die with the
    process that began them.
    """

    def run(tasks: Sequence[Task]) -> Generator[Found, None, None]:
        yield from _Pool(tasks, count, limits, watch).run()

    return run


@dataclass(slots=True)
class _Worker:
    """A process, and the jobs of its task that it has not answered: it is at the first."""

    process: BaseProcess
    pipe: Connection
    jobs: deque[Job] = field(default_factory=deque)


class _Pool:
    def __init__(self, tasks: Sequence[Task], count: int, limits: Limits, watch: Watch | None) -> None:
        # A process that begins anew holds no threads, locks or compiled code of this one.
        self.context = multiprocessing.get_context("spawn")
        self.tasks = deque(tasks)
        self.count, self.limits, self.watch = count, limits, watch
        self.workers: list[_Worker] = []
        self.deaths: dict[str, int] = {}

    def run(self) -> Iterator[Found]:
        try:
            self._fill()
            while self.workers:
                ready = wait([worker.pipe for worker in self.workers])
                for worker in [worker for worker in self.workers if worker.pipe in ready]:
                    yield from self._hear(worker)
                self._fill()
        finally:
            for worker in self.workers:
                worker.process.terminate()
            for worker in self.workers:
                worker.process.join()

    def _fill(self) -> None:
        """Give each process a task, and begin new ones for what is left."""
        for worker in list(self.workers):
            if not worker.jobs:
                self._give(worker)
        while self.tasks and len(self.workers) < self.count:
            ours, theirs = self.context.Pipe()
            process = self.context.Process(target=_work, args=(theirs, self.limits), daemon=True)
            process.start()
            theirs.close()  # so that its end is seen here when the process has gone
            worker = _Worker(process, ours)
            self.workers.append(worker)
            self._give(worker)

    def _give(self, worker: _Worker) -> None:
        if not self.tasks:
            worker.pipe.close()
            worker.process.join()
            self.workers.remove(worker)
            return
        task = self.tasks.popleft()
        worker.jobs.extend(task)
        self._begun(worker)
        try:
            worker.pipe.send(task)
        except OSError:  # it died while it had nothing to do: it is heard to have gone
            return

    def _begun(self, worker: _Worker) -> None:
        if self.watch is not None and worker.jobs:
            self.watch(worker.jobs[0], None)

    def _hear(self, worker: _Worker) -> Iterator[Found]:
        try:
            found: Found = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self._buried(worker)
            return
        worker.jobs.popleft()
        self._begun(worker)
        yield found

    def _buried(self, worker: _Worker) -> Iterator[Found]:
        """A process has gone: what it was at is begun again, or given up; the rest of its task is another's."""
        worker.process.join()
        worker.pipe.close()
        self.workers.remove(worker)
        job = worker.jobs.popleft()
        deaths = self.deaths[job.key] = self.deaths.get(job.key, 0) + 1
        if worker.jobs:
            self.tasks.appendleft(tuple(worker.jobs))
        if deaths < ATTEMPTS:
            self.tasks.append((job,))
            return
        yield failure(job, f"the process that explored it died, {deaths} times: {_death(worker.process.exitcode)}")


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = "; the system does that when memory runs out: --memory SIZE ends an exploration before" * (
            name == "SIGKILL"
        )
        return f"{name}{hint}"
    return f"it ended with exit code {code}"


def _work(pipe: Connection, limits: Limits) -> None:
    """The life of a process: take a task, explore its jobs, send what each found."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that began this one
    _die_with_parent()
    sys.stdout = sys.stderr  # stdout is the report, and of the other process
    while True:
        try:
            task: Task = pipe.recv()
        except EOFError:
            return
        for job in task:
            pipe.send(explore(job, limits))


def _die_with_parent() -> None:
    """End this process when the one that began it has gone, even if it was killed: nobody wants the result."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
