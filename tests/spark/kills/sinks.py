"""The sinks that are killed: those of the product with points in them, and one that is naive.

Workers of Spark import this module by its name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from tests.spark.kills.points import BATCH, FIRST, Injection, Point
from tests.spark.naive import Reached, commit_alone
from zombieproof.pipeline.spark.data_source import ZombieproofSource
from zombieproof.pipeline.spark.options import CHECKED, SinkOptions, sink_options
from zombieproof.pipeline.spark.tables import TableRows, table_of
from zombieproof.pipeline.spark.task_context import this_attempt

NAIVE = "naive"
POINTS = {
    Reached.BEGUN: (Point.ID_NOT_TAKEN,),
    Reached.SENT: (Point.ROWS_SENT, Point.OFFSETS_SENT),
    Reached.COMMITTED: (Point.COMMITTED,),
}


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """A task has written so many rows."""

    count: int


class NaiveWriter(DataSourceStreamArrowWriter):
    """Each attempt of a task commits a transaction of its own, under an id that nobody had: what is easily written."""

    def __init__(self, options: SinkOptions, injection: Injection | None) -> None:
        self._options, self._injection = options, injection

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        rows = TableRows(table_of(iterator, self._options), self._options)
        commit_alone(self._options.settings, rows, self._come_by)
        return Written(len(rows))

    def _come_by(self, reached: Reached) -> None:
        if self._injection is not None and self._injection.is_for(this_attempt()):
            for point in POINTS[reached]:
                self._injection.come_by(point)

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Nothing: tasks have committed."""

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Nothing: what tasks have committed stays."""


class InjectedWriter(DataSourceStreamArrowWriter):
    """A writer that comes by points."""

    def __init__(self, inner: Any, injection: Injection) -> None:
        self._inner, self._injection = inner, injection

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Any:
        attempt, injection = this_attempt(), self._injection
        if not injection.is_for(attempt):
            message = self._inner.write(iterator)
            if attempt.batch == BATCH and attempt.partition == FIRST:
                injection.tell("first-has-written")
            return message
        batches = list(iterator)  # before it stands still: an executor that is stopped hands over nothing more
        injection.wait("first-has-written")
        with injection.standing():
            injection.come_by(Point.TASK_BEGINS)
            message = self._inner.write(iter(batches))
            injection.come_by(Point.TASK_WRITTEN)
        return message

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803  # Spark's name
        if batchId != BATCH:
            self._inner.commit(messages, batchId)
            return
        with self._injection.standing():
            self._injection.come_by(Point.COMMIT_BEGINS)
            self._inner.commit(messages, batchId)
            self._injection.come_by(Point.COMMIT_ENDED)

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803  # Spark's name
        self._inner.abort(messages, batchId)


class InjectedSource(ZombieproofSource):
    """``format("injected")``: the sink of the product, or the naive one, with option `injection`."""

    @classmethod
    def name(cls) -> str:
        return "injected"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802  # Spark's name
        told = {name.lower(): value for name, value in self.options.items()}
        text = told.pop("injection", "")
        told[CHECKED] = "the sink of these tests"
        injection = Injection.of_json(text) if text else None
        if told["mode"] == NAIVE:
            del told["mode"]
            inner: Any = NaiveWriter(sink_options(told, streaming=True), injection)
        else:
            inner = ZombieproofSource(told).streamWriter(schema, overwrite)
        return inner if injection is None else InjectedWriter(inner, injection)
