"""Which attempt of which task of which micro-batch runs here: Spark tells its Python writers nothing of it.

Names of local properties are Spark's own affair and might change: they stand here alone.
Source: Spark's ``MicroBatchExecution.BATCH_ID_KEY``, ``StreamExecution.QUERY_ID_KEY``; ``spark-facts.md``.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pyspark import TaskContext

BATCH = "streaming.sql.batchId"
QUERY = "sql.streaming.queryId"
RUN = "spark.jobGroup.id"
OF_RUN: Final = (RUN, "spark.job.description", "spark.job.interruptOnCancel")
"""The properties that `SparkContext.setJobGroup` sets. Spark itself sets them once, when the run of a query begins."""
NO_BATCH = -1


class Attempt(NamedTuple):
    """One attempt of a task.

    Attributes:
        query: id of the streaming query, which its checkpoint keeps; empty outside of one.
        batch: number of the micro-batch; `NO_BATCH` outside of one.
        partition: of the plan, from 0.
        number: 0 for the first attempt of that partition.
        task: a number that no other attempt of the same application has, speculative ones included.
    """

    query: str
    batch: int
    partition: int
    number: int
    task: int


class NotInATask(RuntimeError):
    """This process runs no task of Spark's."""


def this_attempt() -> Attempt:
    """The attempt that runs in this Python worker.

    Raises:
        NotInATask: none does.
    """
    context: Any = TaskContext.get()
    if context is None:
        raise NotInATask(
            "asked for the attempt of a task, and none runs here; legal is a function that Spark runs in one"
        )
    return Attempt(
        context.getLocalProperty(QUERY) or "",
        int(context.getLocalProperty(BATCH) or NO_BATCH),
        context.partitionId(),
        context.attemptNumber(),
        context.taskAttemptId(),
    )


def query_of(session: Any) -> str:
    """The id of the streaming query on whose thread this is (``foreachBatch``); empty outside of one."""
    return session.sparkContext.getLocalProperty(QUERY) or ""


@contextlib.contextmanager
def run_of(session: Any) -> Iterator[str]:
    """The id of the run of the streaming query on whose thread this is, as long as a function of its user runs.

    Spark keeps it as the job group of the thread. A function may set another group, which would last for the rest of
    the run: Spark's is set again afterwards. Outside of a query, whose id users do not set, a group is no run.
    """
    context = session.sparkContext
    kept = {name: context.getLocalProperty(name) for name in OF_RUN}
    try:
        yield (kept[RUN] or "") if query_of(session) else ""
    finally:
        for name, value in kept.items():
            context.setLocalProperty(name, value)
