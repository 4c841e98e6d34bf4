"""The names that programs of users call."""

from typing import Any

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.spark.active import active, start_in_own_session
from zombieproof.pipeline.spark.data_source import ZombieproofSource
from zombieproof.pipeline.spark.options import By, IllegalOption
from zombieproof.pipeline.spark.plans import UnsuitablePlan
from zombieproof.pipeline.spark.reasons import reason_first
from zombieproof.pipeline.spark.starting import check_starts, is_remote_session
from zombieproof.pipeline.spark.task_context import query_of


def register(spark: Any) -> None:
    """Make ``format("zombieproof")`` known to a session, and let its writes be checked when they start.

    Raises:
        UnsuitablePlan: the session is one of Spark Connect, which does not show the plan.
    """
    if is_remote_session(spark):
        raise UnsuitablePlan(
            "Spark Connect hides the plan of a query, so that the sink could not refuse one that would lose rows; use "
            "a classic session (SparkSession.builder.master(...))"
        )
    with active(spark):
        spark.dataSource.register(ZombieproofSource)
    check_starts()
    start_in_own_session()


@reason_first
def exactly_once(batch_df: Any, batch_id: int, **options: Any) -> None:
    """Write a micro-batch exactly once, in a function of ``foreachBatch``.

    Args:
        batch_df: rows; columns are those of the sink.
        batch_id: as Spark tells it.
        options: of the sink, with ``_`` for each dot (``kafka_bootstrap_servers``, ``kafka_group_id``, ``topic``,
            ``exactlyOnceBy``); `True` and `False` are words as well.

    Raises:
        IllegalOption: an option is missing, unknown or cannot be what it is; or nobody says which query this is.
    """
    told = {name.replace("_", ".").lower(): _word(value) for name, value in options.items()}
    by_batch = told.get("exactlyonceby", "").lower() == By.BATCH.value
    query = told.get("queryid") or query_of(batch_df.sparkSession)
    if by_batch and not query:
        raise IllegalOption(
            "exactly_once: exactlyOnceBy is batch, and this is no thread of a streaming query; legal is a call in "
            "foreachBatch, or queryId (any text that stays the same)"
        )
    if batch_id <= NONE:
        raise IllegalOption(f"exactly_once: batch_id is {batch_id}; legal is what foreachBatch hands over")
    register(batch_df.sparkSession)
    told |= {"queryid": query, "batchid": str(batch_id)}
    batch_df.write.format(ZombieproofSource.name()).options(**told).mode("append").save()


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
