"""Sinks that go wrong at a named point, once: ours, and the naive one that Spark's own guarantees lead to.

Workers import this module, so it stands by itself. A fault is armed by a file that is removed as it strikes; tasks of
a batch tell each other by files beside it that they have written.
"""

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter

from tests.spark.naive import Reached, commit_alone
from zombieproof.model.spark_sink.vocabulary import DeliveryState
from zombieproof.pipeline.sink import Delivering, Row, deliver
from zombieproof.pipeline.sink.claims import Claim, partition_id
from zombieproof.pipeline.sink.rows import LocatedRows, located
from zombieproof.pipeline.spark import sink
from zombieproof.pipeline.spark.data_source import ZombieproofSource
from zombieproof.pipeline.spark.options import CHECKED, STARTED, Mode, sink_options
from zombieproof.pipeline.spark.sink import StreamWriter
from zombieproof.pipeline.spark.staging import Handed
from zombieproof.pipeline.spark.tables import TableRows, table_of
from zombieproof.pipeline.spark.task_context import this_attempt

NOT_WRITTEN, WRITTEN, ALL_WRITTEN = "before write", "after write", "before commit"
COMMITTED = "after commit"
OPEN, ZOMBIE, OTHER_MODE, OUTAGE = "in the transaction", "zombie", "zombie in the other mode", "outage"
POINTS: Final = (NOT_WRITTEN, WRITTEN, ALL_WRITTEN, OPEN, COMMITTED, ZOMBIE, OTHER_MODE, OUTAGE)
STRIKES_IN: Final = 1
"""The partition whose task is struck; the first one has written before."""
WAIT_S: Final = 20.0
OUTAGE_S: Final = 60.0
"""A real Kafka looks for transactions that are out of time every ten seconds."""
OVER: Final = ".over"


class Struck(RuntimeError):
    """The fault."""


class Fault:
    """A point, and the file that arms it."""

    def __init__(self, point: str, armed: str) -> None:
        self.point, self.armed = point, Path(armed)

    def strikes(self, *points: str) -> bool:
        """Whether it is here, and it is this one's turn: once."""
        if self.point not in points:
            return False
        try:
            self.armed.unlink()
        except FileNotFoundError:
            return False
        return True

    def say_written(self, partition: int) -> None:
        """Tell the others."""
        self.armed.with_suffix(f".{partition}").touch()

    def await_written(self, partition: int) -> None:
        """Wait until that task has told."""
        self._await(f".{partition}")

    def await_end_of_outage(self) -> None:
        """Wait until the test has moved time, or a real Kafka has let it pass."""
        self._await(OVER, OUTAGE_S)

    def _await(self, suffix: str, most_s: float = WAIT_S) -> None:
        until = time.monotonic() + most_s
        while not self.armed.with_suffix(suffix).exists():
            assert time.monotonic() < until, f"{suffix} has not come in {most_s:g} s"
            time.sleep(0.02)


def struck_delivery(fault: Fault, rows: Sequence[Row], **told: Any) -> Any:
    """A delivery that is struck as far as its commit; what it asked of the brokers stays as it is."""
    with Delivering(rows, **told) as made:
        while made.state != DeliveryState.COMMITTING and not made.is_over:
            made.step()
        if not made.is_over and fault.strikes(OPEN):
            raise Struck(OPEN)
        if not made.is_over and fault.strikes(ZOMBIE):
            with Delivering(rows, **told) as other:
                assert other.run().is_delivered
        if not made.is_over and fault.strikes(OTHER_MODE):
            deliver_in_the_other_mode(located(rows), told)
        if not made.is_over and fault.strikes(OUTAGE):
            fault.await_end_of_outage()
        return made.run()


def deliver_in_the_other_mode(rows: LocatedRows, told: dict[str, Any]) -> None:
    """Deliver as a driver that runs the same query in the other mode."""
    claim: Claim = told["query"].claim
    mode, id_ = Mode.PARTITION if claim.mode == Mode.BATCH.value else Mode.BATCH, claim.transactional_id
    told = {**told, "query": told["query"]._replace(claim=claim._replace(mode=mode.value)), "transactional_id": id_}
    if mode == Mode.BATCH:
        deliver(rows, **told)
        return
    for place, (first, _) in rows.spans().items():
        deliver(rows.behind({place: first}), **{**told, "transactional_id": partition_id(id_, place)})


def struck(fault: Fault) -> Any:
    """While it lasts, deliveries of this process are `struck_delivery`."""
    return patch.object(sink, "deliver", lambda rows, **told: struck_delivery(fault, rows, **told))


class FaultyWriter(StreamWriter):
    """Our writer, with a fault."""

    def __init__(self, options: Any, fault: Fault) -> None:
        super().__init__(options)
        self._fault = fault

    def write(self, iterator: Iterator[Any]) -> Handed:
        partition = this_attempt().partition
        if partition == STRIKES_IN and self._fault.armed.exists() and self._fault.point in (NOT_WRITTEN, WRITTEN):
            self._fault.await_written(0)
        if partition == STRIKES_IN and self._fault.strikes(NOT_WRITTEN):
            raise Struck(NOT_WRITTEN)
        with struck(self._fault):
            handed = super().write(iterator)
        self._fault.say_written(partition)
        if partition == STRIKES_IN and self._fault.strikes(WRITTEN):
            raise Struck(WRITTEN)
        return handed

    def commit(self, messages: list[Handed | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        if self._fault.strikes(ALL_WRITTEN):
            raise Struck(ALL_WRITTEN)
        with struck(self._fault):
            super().commit(messages, batchId)
        if self._fault.strikes(COMMITTED):
            raise Struck(COMMITTED)


class NaiveWriter(DataSourceStreamArrowWriter):
    """Each attempt of a task commits a transaction of its own: as Spark's words suggest, and as it is wrong."""

    def __init__(self, options: Any, fault: Fault) -> None:
        self._options, self._fault = options, fault

    def write(self, iterator: Iterator[Any]) -> Handed:
        attempt = this_attempt()
        mine = attempt.partition == STRIKES_IN
        if mine and self._fault.armed.exists() and self._fault.point in (NOT_WRITTEN, WRITTEN, OPEN, OUTAGE):
            self._fault.await_written(0)
        if mine and self._fault.strikes(NOT_WRITTEN):
            raise Struck(NOT_WRITTEN)
        rows = TableRows(table_of(iterator, self._options), self._options)
        self._send(rows)
        if self._fault.strikes(ZOMBIE):
            self._send(rows)
        self._fault.say_written(attempt.partition)
        if mine and self._fault.strikes(WRITTEN):
            raise Struck(WRITTEN)
        return Handed(attempt.query, attempt.batch, 0, b"", "", "")

    def _send(self, rows: Sequence[Row]) -> None:
        commit_alone(self._options.settings, rows, self._comes_by)

    def _comes_by(self, reached: Reached) -> None:
        is_here = reached is Reached.SENT and this_attempt().partition == STRIKES_IN
        if is_here and self._fault.strikes(OPEN, OUTAGE):
            if self._fault.point == OUTAGE:
                self._fault.await_end_of_outage()
            raise Struck(self._fault.point)

    def commit(self, messages: list[Handed | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        if self._fault.strikes(ALL_WRITTEN, COMMITTED):
            raise Struck(self._fault.point)

    def abort(self, messages: list[Handed | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Nothing: what is committed is committed."""


class Faulty(DataSource):
    """``format("faulty")``: ours, with a fault."""

    writes: type[FaultyWriter] | type[NaiveWriter] = FaultyWriter

    @classmethod
    def name(cls) -> str:
        return "faulty"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802  # Spark's name
        told = {name: value for name, value in self.options.items() if name not in ("point", "armed")}
        told[CHECKED] = "output/the sink of these tests"
        told[STARTED] = json.dumps([uuid.uuid4().hex])
        ZombieproofSource(told).streamWriter(schema, overwrite)
        return self.writes(sink_options(told, streaming=True), Fault(self.options["point"], self.options["armed"]))


class Naive(Faulty):
    """``format("naive")``: the sink that is wrong."""

    writes = NaiveWriter

    @classmethod
    def name(cls) -> str:
        return "naive"
