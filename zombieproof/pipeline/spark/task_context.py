"""Which attempt of which task of which micro-batch runs here: Spark tells its Python writers nothing of it.

Names of local properties are Spark's own affair and might change: they stand here alone.
Source: Spark's ``MicroBatchExecution.BATCH_ID_KEY``, ``StreamExecution.QUERY_ID_KEY``; ``spark-facts.md``.
"""

from typing import Any, NamedTuple

from pyspark import TaskContext

BATCH = "streaming.sql.batchId"
QUERY = "sql.streaming.queryId"
RUN = "spark.jobGroup.id"
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


def run_of(session: Any) -> str:
    """The id of the run of the streaming query on whose thread this is; empty outside of one."""
    return session.sparkContext.getLocalProperty(RUN) or ""
