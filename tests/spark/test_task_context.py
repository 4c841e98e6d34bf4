"""What Spark tells a task of itself, by names that are its own affair: with another release this fails first."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.queries import Query
from zombieproof.pipeline.spark.task_context import NO_BATCH, Attempt, NotInATask, query_of, this_attempt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

SEEN = "query string, batch long, partition long, number long, task long"


def attempts(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415  # in the worker

    for _ in batches:
        yield pa.RecordBatch.from_pylist([this_attempt()._asdict()])


def test_a_batch_query_has_no_batch(spark: "SparkSession") -> None:
    told = spark.range(2, numPartitions=2).mapInArrow(attempts, SEEN).collect()
    found = [Attempt(*row) for row in told]
    assert {(each.query, each.batch, each.number) for each in found} == {("", NO_BATCH, 0)}
    assert [each.partition for each in found] == [0, 1]
    assert len({each.task for each in found}) == len(found)


def test_a_streaming_query_tells_its_id_and_the_batch(
    spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path
) -> None:
    found: list[tuple[int, str, Attempt]] = []
    see: Callable[[Any, int], None] = lambda rows, batch: found.extend(  # noqa: E731  # as foreachBatch wants it
        (batch, query_of(rows.sparkSession), Attempt(*row)) for row in rows.mapInArrow(attempts, SEEN).collect()
    )
    query = (
        Query(spark, broker, tmp_path)
        .begin()
        .rows()
        .writeStream.foreachBatch(see)
        .option("checkpointLocation", str(tmp_path / "c"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert {each.query for *_, each in found} == {name for _, name, _ in found} == {query.id}
    assert [(batch, each.batch) for batch, _, each in found] == [(each.batch, each.batch) for *_, each in found]
    assert len({each.batch for *_, each in found}) > 1


def test_outside_of_a_task_there_is_no_attempt() -> None:
    with pytest.raises(NotInATask, match="none runs here"):
        this_attempt()
