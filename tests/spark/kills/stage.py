"""The stage of one sink: brokers that outlive drivers, an input, a checkpoint, and what is in the output in the end."""

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.pipeline.topics import Filled, fill, make_topics, read_back, undecided
from tests.spark.kills.drivers import WITHIN_S
from tests.spark.kills.points import BATCH, Injection, Point
from tests.spark.kills.program import INPUT, OUTPUT, Query, transformed
from zombieproof.bridge.under_test import TestedBrokers
from zombieproof.wire.plan.parts import Plan

PARTITIONS, ROWS = 3, 240
TIMEOUT_MS = 600_000
"""No transaction times out by itself: it takes long before the drivers of a busy machine are where they should be."""
MOST = 100
"""Offsets in a micro-batch: the input is four of them."""


@dataclass(frozen=True)
class Ended:
    """What readers of committed records find in the output, against what belongs there.

    Attributes:
        lost: rows that are not there.
        doubled: so many rows are there that were there before.
        strange: rows that nobody wrote.
        hidden: offsets behind the last stable one: a transaction is open.
        broken: promises of the brokers' protocol that broke.
    """

    lost: int
    doubled: int
    strange: int
    hidden: int
    broken: str

    @property
    def is_exact(self) -> bool:
        return not (self.lost or self.doubled or self.strange or self.hidden or self.broken)

    def __str__(self) -> str:
        counts = {"duplicates": self.doubled, "lost": self.lost, "strange": self.strange, "hidden": self.hidden}
        said = [f"{count} {what}" for what, count in counts.items() if count]
        return ", ".join(said + ([self.broken] if self.broken else [])) or "exact"


class Stage:
    """One sink in a row of the table: brokers, topics and a checkpoint of its own."""

    def __init__(self, brokers: TestedBrokers, folder: Path, sink: str) -> None:
        self.brokers, self.sink, self._folder = brokers, sink, folder
        self._injection: Injection | None = None
        self.checkpoint = folder / "checkpoint"
        self._options = {"mode": sink, "kafka.transaction.timeout.ms": str(TIMEOUT_MS)}
        make_topics(brokers.bootstrap, **{INPUT: PARTITIONS, OUTPUT: PARTITIONS})
        self._filled: Filled = fill(brokers.bootstrap, INPUT, PARTITIONS, ROWS, per_transaction=20)

    def query(self, injection: Injection | None = None, most: int = MOST) -> Query:
        """The query of this stage."""
        said = "" if injection is None else injection.as_json()
        return Query(self.brokers.bootstrap, str(self.checkpoint), self._options, most, said)

    def inject(self, point: Point, *, fails: bool = False) -> Injection:
        """What happens at a point, once."""
        folder = self._folder / "injection"
        folder.mkdir()
        self._injection = Injection(point, str(folder), fails)
        return self._injection

    @property
    def injection(self) -> Injection:
        assert self._injection is not None, "nothing was injected"
        return self._injection

    def logs(self) -> tuple[int, int]:
        """The newest micro-batch that Spark has planned, and the newest that it knows to be finished."""
        planned, finished = (
            max(int(path.name) for path in (self.checkpoint / name).iterdir() if path.name.isdecimal())
            for name in ("offsets", "commits")
        )
        return planned, finished

    def wait_for_the_end_of_the_batch(self) -> None:
        """Spark knows the micro-batch to be finished."""
        until = time.monotonic() + WITHIN_S
        while not (self.checkpoint / "commits" / str(BATCH)).exists():
            assert time.monotonic() < until, f"micro-batch {BATCH} is not finished after {WITHIN_S:g} s"
            time.sleep(0.1)

    def lose_the_checkpoint(self) -> None:
        shutil.rmtree(self.checkpoint)

    # ---------------------------------------------------------------- the output

    def undecided(self) -> int:
        """How many offsets of the output are hidden behind a transaction that is open."""
        return undecided(self.brokers.bootstrap, OUTPUT)

    def ended(self) -> Ended:
        expected = Counter[bytes | None](transformed(value) for value in self._filled.committed)
        assert len(expected) == ROWS
        assert self._filled.aborted
        found = read_back(self.brokers.bootstrap, OUTPUT)
        more = found - expected
        hidden = self.undecided()
        wrong = self.brokers.wrong()
        return Ended(
            lost=(expected - found).total(),
            doubled=sum(count for value, count in more.items() if value in expected),
            strange=sum(count for value, count in more.items() if value not in expected),
            hidden=hidden,
            broken="" if wrong is None else str(wrong),
        )


def executor_of(worker: int) -> psutil.Process:
    """The JVM whose Python worker that is."""
    return next(each for each in psutil.Process(worker).parents() if each.name().startswith("java"))


@contextmanager
def stopped(process: psutil.Process) -> Iterator[None]:
    """It does nothing, and is killed in the end: nobody needs it any more."""
    process.suspend()
    try:
        yield
    finally:
        if process.is_running():
            process.kill()


@contextmanager
def staged(folder: Path, sink: str) -> Iterator[Stage]:
    """A stage with brokers of its own."""
    folder.mkdir(parents=True)
    with TestedBrokers(Plan(), folder / "run.jsonl") as brokers:
        yield Stage(brokers, folder, sink)
