"""A process is killed while clients work, by a timer or at a sync; what it left on a real disk is opened again."""

import os
import signal
import tempfile
import time
from pathlib import Path
from random import Random

from tests.store.clients import Notebook
from tests.store.crashing import Reached, judge_survivor
from tests.store.workloads import WORKLOADS, Stage
from zombieproof.broker.store.disk import RealDisk
from zombieproof.traces.history.history_file import read_history

LONGEST_S = 0.15
MOST_SYNCS = 150


class DeadlyDisk(RealDisk):
    """The process is killed at a sync: before it, so that what it was to save may be there or not."""

    def __init__(self, root: Path, at_sync: int) -> None:
        super().__init__(root)
        self._left = at_sync

    def sync(self, path: str) -> None:
        self._one_less()
        super().sync(path)

    def sync_directory(self, path: str) -> None:
        self._one_less()
        super().sync_directory(path)

    def _one_less(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def kills(cycles: int, seed: int) -> Reached:
    """So many processes, one after the other, each with a disk of its own."""
    reached, chance = Reached(), Random(seed)
    for cycle in range(cycles):
        with tempfile.TemporaryDirectory() as folder:
            by_timer = bool(cycle % 2)
            workload = list(WORKLOADS)[cycle // 2 % len(WORKLOADS)]
            at_sync = 1 << 30 if by_timer else chance.randint(1, MOST_SYNCS)
            after_s = chance.uniform(0, LONGEST_S)
            is_killed = _run_and_kill(Path(folder), workload, at_sync, after_s if by_timer else None)
            reached.counts["killed by a timer" if by_timer else "killed at a sync"] += is_killed
            reached.counts["cycles"] += 1
            notes = Notebook()
            notes.take(read_history(Path(folder) / "history.jsonl").events)
            reached.counts["events told"] += len(notes.as_history().events)
            found = judge_survivor(RealDisk(Path(folder) / "data"), notes)
            reached.findings += [f"{workload}, cycle {cycle} of seed {seed}: {each}" for each in found]
    return reached


def _run_and_kill(folder: Path, workload: str, at_sync: int, after_s: float | None) -> bool:
    (folder / "data").mkdir()
    child = os.fork()
    if child == 0:
        try:
            stage = Stage(DeadlyDisk(folder / "data", at_sync), Notebook(folder / "history.jsonl"), 1 << 20)
            WORKLOADS[workload](stage)
        finally:
            os._exit(1)
    if after_s is not None:
        history = folder / "history.jsonl"
        while not history.exists() or history.stat().st_size == 0:
            time.sleep(0.001)
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
