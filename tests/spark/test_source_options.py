"""Options of the source on real Spark, together with the sink: reprocessing and splitting."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.pipeline.topics import Filled, fill, make_topics, read_back
from zombieproof.pipeline import register
from zombieproof.pipeline.spark.plans import UnsuitablePlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers


@pytest.fixture
def filled(broker: "TestedBrokers | RealKafka") -> Filled:
    make_topics(broker.bootstrap, input=2, output=2)
    return fill(broker.bootstrap, "input", 2, 40, per_transaction=20)


@pytest.fixture
def copying(spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path) -> Callable[..., Any]:
    """Begins a query that copies what matches `in.*` to `output`."""
    register(spark)
    kafka = {"kafka.bootstrap.servers": broker.bootstrap, "kafka.group.id": "copier"}

    def begin(checkpoint: str, sink: dict[str, str], **options: str) -> Any:
        told = {"subscribePattern": "in.*", "startingOffsets": "earliest", "includeSource": "true", **options}
        return (
            spark.readStream.format("zombieproof")
            .options(**kafka, **told)
            .load()
            .select("value", "source")
            .writeStream.format("zombieproof")
            .options(**kafka, **sink, topic="output", checkpointLocation=str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )

    return begin


def times(filled: Filled, count: int) -> Counter[bytes | None]:
    return Counter(dict.fromkeys(filled.committed, count))


def test_a_reprocessing_writes_everything_once_more(
    copying: Callable[..., Any], broker: "TestedBrokers | RealKafka", filled: Filled
) -> None:
    copying("first", {}).awaitTermination()
    copying("second", {"reprocess": "r1"}, reprocess="r1").awaitTermination()
    assert read_back(broker.bootstrap, "output") == times(filled, 2)
    copying("lost", {"reprocess": "r1"}, reprocess="r1").awaitTermination()
    assert read_back(broker.bootstrap, "output") == times(filled, 2), "its group has committed offsets"


def test_split_partitions_are_exact_by_the_driver_and_refused_by_tasks(
    copying: Callable[..., Any], broker: "TestedBrokers | RealKafka", filled: Filled
) -> None:
    """Two tasks that commit offsets of one partition overtake each other: later rows would hide earlier ones."""
    with pytest.raises(UnsuitablePlan, match="has minPartitions or maxRecordsPerPartition"):
        copying("tasks", {"mode": "partition"}, minPartitions="6")
    assert read_back(broker.bootstrap, "output") == {}
    copying("driver", {}, minPartitions="6", maxRecordsPerPartition="7").awaitTermination()
    assert read_back(broker.bootstrap, "output") == times(filled, 1)
