"""The sink: rows of a micro-batch, or of a batch query, each in the output once."""

import uuid
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline import garbage
from zombieproof.pipeline.kafka import LOGGER
from zombieproof.pipeline.sink import Identity, Outcome, deliver, resolve
from zombieproof.pipeline.sink.claims import Claim, Query, partition_id
from zombieproof.pipeline.sink.delivering import Told
from zombieproof.pipeline.sink.rows import IllegalRows
from zombieproof.pipeline.spark.options import By, Mode, SinkOptions
from zombieproof.pipeline.spark.progress import counts_of, report_counts, total
from zombieproof.pipeline.spark.reasons import reason_first
from zombieproof.pipeline.spark.staging import Handed, hand_over, remove, rows_handed
from zombieproof.pipeline.spark.tables import TableRows, table_of, tasks_of
from zombieproof.pipeline.spark.task_context import Attempt, this_attempt

RESOLVE_S: Final = 10.0
"""Time to look up committed rows after an error: the query ends anyway, and the next delivery looks again."""
NOT_ITS_OWN: Final = (
    "use mode batch, which takes any plan. mode is partition, in which each task commits the rows of the partitions "
    "that it has read, and this one got rows that others have read: between source and sink is a shuffle (repartition, "
    "aggregation, sort, or a join with a table that Spark does not broadcast), or rows were cached or read back. Their "
    "positions would overtake each other, and rows be lost. In mode partition, legal is a narrow plan: select, filter, "
    "map, explode, and a join with broadcast(table)"
)


class _Sink:
    """What both writers do: tasks write, the driver commits or looks up."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._job = f"job-{uuid.uuid4().hex}"

    @reason_first
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
        query = attempt.query or self._job
        done = deliver_partitions(table, self._options, attempt, identity_of(self._options, query, attempt.batch))
        return Handed(query, attempt.batch, 0, b"", "", "", counts_of(done))

    def _commit(self, messages: Sequence[Handed | None], batch: int) -> None:
        counts = total(each.counts for each in messages if each is not None)
        if self._options.mode == Mode.BATCH:
            rows = rows_handed(messages, self._options)
            # By batch one without rows counts too: else the next one could not tell whether a number is missing.
            if rows or self._options.by == By.BATCH:
                counts = counts_of([deliver(rows, **self._told(messages, batch))])
            remove(messages, self._options)
        if query := next((each.query for each in messages if each is not None), ""):
            report_counts(self._options, identity_of(self._options, query, batch).batch, counts)

    def _abort(self, messages: Sequence[Handed | None], batch: int) -> None:
        """Look up what became of the batch: Spark calls this also behind a commit that took effect."""
        if self._options.mode == Mode.PARTITION:
            return
        try:
            if rows := rows_handed(messages, self._options):
                told = self._told(messages, batch)
                told["deadline_s"] = min(RESOLVE_S, self._options.deadline_s)
                resolve(rows, **told)
        except Exception as unknown:  # noqa: BLE001  # Spark would report it in place of what it is called for
            LOGGER.warning("abort of batch %s: %s", batch, unknown)
            return
        remove(messages, self._options)

    def _told(self, messages: Sequence[Handed | None], batch: int) -> Told:
        query = next(each.query for each in messages if each is not None)
        return told_of(self._options, self._options.transactional_id, identity_of(self._options, query, batch))


def identity_of(options: SinkOptions, query: str, batch: int) -> Identity:
    """Whose write this is; options that name query and batch come first (`exactly_once`)."""
    number = options.batch if options.batch != NONE else batch
    topic = options.topic if options.by == By.BATCH else ""
    query, run = options.query or query, options.started.run
    return Identity(query, number, topic, sink=options.name, mode=options.mode.value, run=run)


def told_of(options: SinkOptions, transactional_id: str, identity: Identity) -> Told:
    """The arguments of a delivery."""
    claim, started = Claim(options.mode.value, options.by.value, options.transactional_id), options.started
    return Told(
        settings=options.settings,
        group=options.group,
        transactional_id=transactional_id,
        identity=identity,
        query=Query(
            options.progress_topic,
            identity.batch > 0,
            claim,
            started.progress_id,
            started.newest,
            started.source_ids,
        ),
        deadline_s=options.deadline_s,
    )


def deliver_partitions(table: pa.Table, options: SinkOptions, attempt: Attempt, identity: Identity) -> list[Outcome]:
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
    identity = identity._replace(attempt=f"{attempt.partition}.{attempt.number} (TID {attempt.task})")
    rows, done = TableRows(table, options), []
    for place, (first, _) in rows.spans().items():
        here = rows.behind({place: first})
        done.append(deliver(here, **told_of(options, partition_id(options.transactional_id, place), identity)))
    return done


class StreamWriter(_Sink, DataSourceStreamArrowWriter):
    """The writer of a streaming query."""

    @reason_first
    def commit(self, messages: list[Handed | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Run on the driver when every task has written.

        Raises:
            DeliveryError: it is not known to be done; Spark ends the query, and runs the batch again when it starts.
        """
        self._commit(messages, batchId)

    @reason_first
    def abort(self, messages: list[Handed | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Run on the driver when a task has failed for good, or `commit` has raised."""
        self._abort(messages, batchId)


class BatchWriter(_Sink, DataSourceArrowWriter):
    """The writer of a batch query."""

    @reason_first
    def commit(self, messages: list[Handed | None]) -> None:
        """Run on the driver when every task has written.

        Raises:
            DeliveryError: it is not known to be done.
        """
        self._commit(messages, NONE)

    @reason_first
    def abort(self, messages: list[Handed | None]) -> None:
        """Run on the driver when a task has failed for good, or `commit` has raised."""
        self._abort(messages, NONE)
