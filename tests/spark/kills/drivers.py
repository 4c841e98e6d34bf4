"""Drivers of Spark in processes of their own, started before they are needed: what a kill costs is one more of them."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.spark.kills.program import Query
from tests.spark.sessions import ROOT, surroundings

LOCAL = "local[6,3]"
"""Room for tasks of three queries that stand still; three attempts for each task."""
CLUSTER = "local-cluster[2,1,512]"
"""Two executors, each a process that does one task at once; in place of one that is given up another is started."""
WITHIN_S = 400.0
ENDS_WITHIN_S = 30.0


class NoReply(Exception):
    """A driver says nothing."""


class Driver:
    """A program (`tests.spark.kills.program`) with everything that it starts: a session of processes."""

    def __init__(self, folder: Path, master: str = LOCAL) -> None:
        folder.mkdir(parents=True)
        self.master, self._log = master, folder / "stderr"
        self._replies, theirs = os.pipe()
        self._heard, self._is_ready, self._spent_s = b"", False, 0.0
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.kills.program", str(folder), master, str(theirs)],
                cwd=ROOT,
                env={**os.environ, **surroundings(folder)},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[theirs],
                start_new_session=True,
            )
        os.close(theirs)

    def start(self, query: Query) -> None:
        """Let it run a query, beside those that run there."""
        if not self._is_ready:
            assert self._reply() == "ready"
            self._is_ready = True
        self._say(query.as_json())

    def ended(self) -> list[str | None]:
        """Of each query why it failed, when all are over; None: it did not.

        Raises:
            NoReply: they are not over.
        """
        self._say("null")
        told: list[str | None] = self._reply()
        return told

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def _reply(self) -> Any:
        until = time.monotonic() + WITHIN_S
        while b"\n" not in self._heard:
            readable, _, _ = select.select([self._replies], [], [], max(0.0, until - time.monotonic()))
            more = os.read(self._replies, 1 << 16) if readable else b""
            if not more:
                raise NoReply(f"the driver says nothing; of stderr: {self._log.read_text()[-4000:]}")
            self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        return json.loads(line)

    def processes(self) -> Iterator[psutil.Process]:
        """What runs in its session: a worker of Python has a group of its own, but the session of its driver."""
        for each in psutil.process_iter():
            try:
                if os.getsid(each.pid) == self._process.pid and each.status() != psutil.STATUS_ZOMBIE:
                    yield each
            except (ProcessLookupError, psutil.NoSuchProcess):
                continue

    def spent_s(self) -> float:
        """CPU seconds of all that runs in its session, and of what they have waited for."""
        spent_s = self._spent_s
        for each in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                spent_s += sum(each.cpu_times()[:4])
        return spent_s

    def kill(self) -> int:
        """Kill the driver, its JVM, executors and workers; none sees another die. What the driver ended with."""
        self._spent_s = max(self._spent_s, self.spent_s())
        while running := list(self.processes()):
            for sent in (signal.SIGSTOP, signal.SIGKILL):
                for each in running:
                    try:
                        each.send_signal(sent)
                    except psutil.NoSuchProcess:
                        continue
            time.sleep(0.02)
        self._let_go()
        return self._process.wait(ENDS_WITHIN_S)

    def end(self) -> None:
        """Let it end, and whatever it has left running."""
        self._spent_s = self.spent_s()
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(ENDS_WITHIN_S)
        finally:
            self.kill()

    def _let_go(self) -> None:
        if self._replies >= 0:
            os.close(self._replies)
            self._replies = -1
            assert self._process.stdin is not None
            self._process.stdin.close()


class Drivers:
    """Drivers that wait; who takes one gives it back, or kills it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[Driver] = []
        self._waiting: list[Driver] = []

    def make_ready(self, count: int, master: str = LOCAL) -> None:
        """See that so many wait, or will soon."""
        for _ in range(count - sum(each.master == master for each in self._waiting)):
            made = Driver(self._folder / f"driver-{len(self._made)}", master)
            self._made.append(made)
            self._waiting.append(made)

    def take(self, master: str = LOCAL) -> Driver:
        """One that waits."""
        self.make_ready(1, master)
        taken = next(each for each in self._waiting if each.master == master)
        self._waiting.remove(taken)
        return taken

    def give(self, driver: Driver) -> None:
        """It runs no query any more."""
        self._waiting.append(driver)

    def spent_s(self) -> float:
        """CPU seconds of all so far."""
        return sum(each.spent_s() for each in self._made)

    def close(self) -> None:
        """End all that wait, and kill those that somebody took and neither gave back nor killed."""
        for each in self._made:
            if each not in self._waiting:
                each.kill()
        while self._waiting:
            self._waiting.pop().end()
