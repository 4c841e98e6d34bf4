"""The unchanged sink, with a driver that dies or pauses at a given point. Spark's workers import this module.

A file named after the group of a sink, in the folder for temporary files, says where and from which micro-batch on. It
is removed when that happens. A driver that died aborts nothing.
"""

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from zombieproof.model.spark_sink.vocabulary import DeliveryState
from zombieproof.pipeline.sink import Delivering, Outcome, delivering
from zombieproof.pipeline.spark.data_source import ZombieproofSource
from zombieproof.pipeline.spark.options import SinkOptions
from zombieproof.pipeline.spark.sink import BatchWriter, StreamWriter
from zombieproof.pipeline.spark.staging import Handed
from zombieproof.pipeline.spark.task_context import this_attempt

DIES: Final = "the driver dies here"
WITHIN_S: Final = 120.0


class Died(RuntimeError):
    """The driver is dead."""


class Fate:
    """What is to happen to the writes of one group."""

    def __init__(self, group: str) -> None:
        self._file = Path(os.environ["TMPDIR"]) / "fates" / group  # of the session: tempfile would keep an older one

    def decree(self, point: str, batch: int, *, stands_still: bool = False) -> None:
        """Let a driver die at a point, or stand still there until `go`."""
        self.clear()
        self._file.parent.mkdir(exist_ok=True)
        kept = self._file.with_suffix(".new")
        kept.write_text(json.dumps([point, batch, stands_still]))
        kept.rename(self._file)

    def clear(self) -> None:
        """Let nothing happen any more."""
        for suffix in ("", ".reached", ".go", ".dead"):
            self._file.with_suffix(suffix).unlink(missing_ok=True)

    def has_come(self, within_s: float, is_over: Callable[[], bool]) -> bool:
        """Whether a driver reaches the point before everything is over."""
        until = time.monotonic() + within_s
        while not self._file.with_suffix(".reached").exists():
            if is_over() or time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True

    def go(self) -> None:
        """Let the driver that stands still continue."""
        self._file.with_suffix(".go").touch()

    def at(self, point: str, batch: int) -> None:
        """Let happen what is to happen here.

        Raises:
            Died: the driver dies.
        """
        try:
            wanted, first, stands_still = json.loads(self._file.read_text())
            if wanted != point or batch < first:
                return
            self._file.unlink()
        except FileNotFoundError:
            return
        if not stands_still:
            self._file.with_suffix(".dead").touch()
            raise Died(f"{DIES}: {point}")
        self._file.with_suffix(".reached").touch()
        until = time.monotonic() + WITHIN_S
        while not self._file.with_suffix(".go").exists() and time.monotonic() < until:
            time.sleep(0.02)

    def has_come_true(self) -> bool:
        """Whether the driver has died or stood still."""
        return not self._file.exists()

    def is_dead(self) -> bool:
        """Whether the driver of the newest write died; asking buries it."""
        try:
            self._file.with_suffix(".dead").unlink()
        except FileNotFoundError:
            return False
        return True


def _delivering(fate: Fate, batch: int) -> Any:
    """While it lasts, deliveries of this process come by the point in their transaction."""

    class Passing(Delivering):
        def run(self) -> Outcome:
            while self.state != DeliveryState.COMMITTING and not self.is_over:
                self.step()
            if not self.is_over:
                fate.at("in the transaction", batch)
            return super().run()

    return patch.object(delivering, "Delivering", Passing)


class _Mortal:
    """What both writers do at the points."""

    def __init__(self, options: SinkOptions) -> None:
        super().__init__(options)  # type: ignore[call-arg]  # the second base class is a writer
        self._fate, self._number = Fate(options.group), options.batch

    def write(self, iterator: Iterator[Any]) -> Handed:
        batch = max(this_attempt().batch, self._number)
        self._fate.at("task begins", batch)
        with _delivering(self._fate, batch):
            handed: Handed = super().write(iterator)  # type: ignore[misc]  # as above
        self._fate.at("task has written", batch)
        return handed

    def _commit(self, messages: Any, batch: int) -> None:
        batch = max(batch, self._number)
        self._fate.at("before commit", batch)
        with _delivering(self._fate, batch):
            super()._commit(messages, batch)  # type: ignore[misc]  # as above
        self._fate.at("after commit", batch)

    def _abort(self, messages: Any, batch: int) -> None:
        if not self._fate.is_dead():
            super()._abort(messages, batch)  # type: ignore[misc]  # as above


class MortalStreamWriter(_Mortal, StreamWriter):
    """The writer of a streaming query."""


class MortalBatchWriter(_Mortal, BatchWriter):
    """The writer of `exactly_once`."""


class Mortal(ZombieproofSource):
    """``format("zombieproof")``, on a driver that dies."""

    def writer(self, schema: Any, overwrite: bool) -> BatchWriter:
        return MortalBatchWriter(super().writer(schema, overwrite)._options)

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: N802  # Spark's name
        return MortalStreamWriter(super().streamWriter(schema, overwrite)._options)


def forgetful(options: SinkOptions) -> SinkOptions:
    """A group and an id that no write had before: nothing tells what is in the output."""
    name = uuid.uuid4().hex
    return replace(options, group=f"{options.group}-{name}", transactional_id=f"{options.transactional_id}-{name}")


class ForgetfulWriter(MortalStreamWriter):
    """A writer that never looks whether rows are in the output."""

    def __init__(self, options: SinkOptions) -> None:
        super().__init__(options)
        self._options = forgetful(options)


class Forgetful(Mortal):
    """``format("zombieproof")`` that duplicates rows, so that the judge has something to find."""

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: N802  # Spark's name
        return ForgetfulWriter(super().streamWriter(schema, overwrite)._options)
