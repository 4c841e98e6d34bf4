"""The audit of recorded logs on Spark: file names go to tasks, what is left of a segment comes back.

No record is shuffled, nor leaves the task that reads its segment. The same functions as in one process screen a segment
(`screening.gathering`) and put segments together (`screening.taking`), so the report is the same. Files must lie where
the tasks run, under the names that the driver knows them by.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession

from zombieproof.pipeline.own_session import session
from zombieproof.screening.runners import Runner, Segments, Task, as_asked, screened
from zombieproof.screening.tables import read_table
from zombieproof.screening.taking import LogScreen
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.judging.histories.partition_history import PartitionHistory, Run
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

LEAST_TASKS: Final = 4
"""For each core, as far as there are segments: the last ones to end leave others idle for less."""

FINDINGS: Final = (
    "promise string, topic string, `partition` int, offset long, transactional_id string, producer_id long, "
    "producer_epoch int, message string, effect string"
)
TRANSACTIONS: Final = (
    "topic string, `partition` int, producer_id long, producer_epoch int, first_offset long, last_offset long, "
    "records long, began timestamp, ended timestamp, outcome string"
)


@contextmanager
def session_for_audit(master: str) -> Iterator[SparkSession]:
    """A session of one's own for a master, which ends with this block.

    Raises:
        NoSpark: there is no such master, or no Java.
    """
    begun = session(master, "zombieproof audit")
    try:
        yield begun
    finally:
        begun.stop()


def on_spark(spark: SparkSession) -> Runner:
    """Screen segments as tasks of a session."""

    def run(tasks: Sequence[Task]) -> Segments:
        if not tasks:
            return as_asked(())
        rows = [(number, *task) for number, task in enumerate(tasks)]
        named = spark.createDataFrame(rows, "number int, file string, topic string")
        count = min(len(tasks), LEAST_TASKS * spark.sparkContext.defaultParallelism)
        found = named.repartition(count, "number").mapInArrow(_screened, "number int, result binary")
        by_number = {row.number: bytes(row.result) for row in found.toLocalIterator()}
        return as_asked(pickle.loads(by_number.pop(number)) for number in range(len(tasks)))  # noqa: S301  # ours

    return run


def _screened(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a task: each file of some rows, and what is left of it."""
    import pyarrow as pa  # noqa: PLC0415  # on the executor

    for batch in batches:
        for row in batch.to_pylist():
            result = pickle.dumps(screened((row["file"], row["topic"])))
            yield pa.RecordBatch.from_pydict(
                {"number": pa.array([row["number"]], pa.int32()), "result": pa.array([result], pa.binary())}
            )


def audit(spark: SparkSession, paths: Iterable[str | os.PathLike[str]]) -> Examined:
    """Judge recorded logs, their segments screened on Spark.

    Raises:
        EvidenceError: a path does not exist, or none is given.
    """
    return judge(collect(paths, screen=LogScreen(on_spark(spark), keeps_ends=True), tables=read_table))


def audit_report(spark: SparkSession, *paths: str | os.PathLike[str]) -> DataFrame:
    """Broken promises in recorded logs: a row for each finding of `zombieproof replay`, with what it means."""
    examined = audit(spark, paths)
    rows = [
        (
            finding.promise,
            finding.topic,
            finding.partition,
            finding.offset,
            finding.transactional_id,
            finding.producer_id,
            finding.producer_epoch,
            finding.message,
            None if finding.explanation is None else finding.explanation.effect,
        )
        for finding in explain(examined.report, examined.evidence).findings
    ]
    return spark.createDataFrame(rows, FINDINGS)


def audit_transactions(spark: SparkSession, *paths: str | os.PathLike[str]) -> DataFrame:
    """Every transaction on every partition: from its first data to its marker, by the clocks that wrote them.

    `ended` is null while it has no marker, `outcome` is then "open". What was open when follows from both.
    """
    return spark.createDataFrame(list(_spans(audit(spark, paths))), TRANSACTIONS)


def _spans(examined: Examined) -> Iterator[tuple[object, ...]]:
    for (topic, partition), history in examined.partitions.items():
        for run in _runs(history):
            ending = run.ending
            commits = None if ending is None else ending.commits
            yield (
                topic,
                partition,
                run.producer_id,
                run.epoch,
                run.first_offset,
                run.last_offset,
                run.records,
                _moment(run.stretches[0].first_ms),
                None if ending is None else _moment(ending.timestamp_ms),
                "open" if ending is None else {True: "commit", False: "abort", None: "unknown"}[commits],
            )


def _runs(history: PartitionHistory) -> Iterator[Run]:
    for producer_id in sorted(history.transactional_producers()):
        yield from history.runs.get(producer_id, ())


def _moment(timestamp_ms: int) -> datetime | None:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC) if timestamp_ms >= 0 else None
