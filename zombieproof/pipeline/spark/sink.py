"""The sink: rows of a micro-batch, or of a batch query, each in the output once."""

import uuid
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline import garbage
from zombieproof.pipeline.sink import Identity, deliver, resolve
from zombieproof.pipeline.sink.delivering import Told
from zombieproof.pipeline.sink.rows import IllegalRows
from zombieproof.pipeline.spark.options import By, Mode, SinkOptions
from zombieproof.pipeline.spark.staging import Handed, hand_over, remove, rows_handed
from zombieproof.pipeline.spark.tables import TableRows, table_of, tasks_of
from zombieproof.pipeline.spark.task_context import Attempt, this_attempt

NOT_ITS_OWN: Final = (
    "mode is partition, in which each task commits the rows of the partitions that it has read, and this one got rows "
    "that others have read: between source and sink is a shuffle (repartition, join, aggregation, sort), or rows were "
    "cached or read back. Their positions would overtake each other, and rows be lost. Legal is a narrow plan (select, "
    "filter, map, explode); or mode batch, which takes any plan"
)


class _Sink:
    """What both writers do: tasks write, the driver commits or looks up."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._job = f"job-{uuid.uuid4().hex}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Handed:
        """Run by each attempt of a task: hand the rows over, or in mode partition deliver them.

        Raises:
            DeliveryError, IllegalRows: it cannot.
        """
        attempt = this_attempt()
        garbage.spared()
        table = table_of(iterator, self._options)
        if self._options.mode == Mode.BATCH:
            return hand_over(table, self._options, attempt, self._job)
        deliver_partitions(table, self._options, attempt)
        return Handed(attempt.query or self._job, attempt.batch, 0, b"", "", "")

    def _commit(self, messages: Sequence[Handed | None], batch: int) -> None:
        if self._options.mode == Mode.PARTITION:
            return
        rows = rows_handed(messages, self._options)
        if rows:
            deliver(rows, **self._told(messages, batch))
        remove(messages)

    def _abort(self, messages: Sequence[Handed | None], batch: int) -> None:
        """Look up what became of the batch: Spark calls this also behind a commit that took effect."""
        if self._options.mode == Mode.PARTITION:
            return
        if rows := rows_handed(messages, self._options):
            resolve(rows, **self._told(messages, batch))
        remove(messages)

    def _told(self, messages: Sequence[Handed | None], batch: int) -> Told:
        options = self._options
        identity = None
        if options.by == By.BATCH:
            query = options.query or next(each.query for each in messages if each is not None)
            number = options.batch if options.batch != NONE else batch
            identity = Identity(query, number, options.topic)
        return told_of(options, options.transactional_id, identity)


def told_of(options: SinkOptions, transactional_id: str, identity: Identity | None = None) -> Told:
    """The arguments of a delivery."""
    return Told(
        settings=options.settings,
        group=options.group,
        transactional_id=transactional_id,
        identity=identity,
        deadline_s=options.deadline_s,
    )


def deliver_partitions(table: pa.Table, options: SinkOptions, attempt: Attempt) -> None:
    """Deliver the rows of a task, each partition of the source under a transactional id of its own.

    Raises:
        DeliveryError: it is not known to be done.
        IllegalRows: it has not read them all.
    """
    if strange := tasks_of(table) - {attempt.task}:
        raise IllegalRows(
            f"sink: task {attempt.task} (partition {attempt.partition}, attempt {attempt.number}) got rows that tasks "
            f"{', '.join(map(str, sorted(strange)))} have read: {NOT_ITS_OWN}"
        )
    rows = TableRows(table, options)
    for (topic, partition), (first, _) in rows.spans().items():
        here = rows.behind({(topic, partition): first})
        deliver(here, **told_of(options, f"{options.transactional_id}-{topic}-{partition}"))


class StreamWriter(_Sink, DataSourceStreamArrowWriter):
    """The writer of a streaming query."""

    def commit(self, messages: list[Handed | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Run on the driver when every task has written.

        Raises:
            DeliveryError: it is not known to be done; Spark ends the query, and runs the batch again when it starts.
        """
        self._commit(messages, batchId)

    def abort(self, messages: list[Handed | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Run on the driver when a task has failed for good, or `commit` has raised."""
        self._abort(messages, batchId)


class BatchWriter(_Sink, DataSourceArrowWriter):
    """The writer of a batch query."""

    def commit(self, messages: list[Handed | None]) -> None:
        """Run on the driver when every task has written.

        Raises:
            DeliveryError: it is not known to be done.
        """
        self._commit(messages, NONE)

    def abort(self, messages: list[Handed | None]) -> None:
        """Run on the driver when a task has failed for good, or `commit` has raised."""
        self._abort(messages, NONE)
