"""The reason of an error is in the first line of Spark's exception, whichever part of the pipeline has raised it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark import SparkContext
from pyspark.errors import AnalysisException, StreamingQueryException

from tests.spark.queries import Query
from tests.spark.test_sink import written
from zombieproof.pipeline import exactly_once
from zombieproof.pipeline.reader import NoSuchTopic
from zombieproof.pipeline.spark import reasons

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

TOO_LARGE = "repeat('x', 2000) as value"
SMALL = {"kafka.message.max.bytes": "1000"}
"""The client refuses such rows at once."""


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path) -> Query:
    return Query(spark, broker, tmp_path).begin()


def first_line(raised: type[Exception], call: Callable[[], object]) -> str:
    with pytest.raises(raised) as error:
        call()
    return str(error.value).splitlines()[0]


@pytest.mark.parametrize("mode", [pytest.param("batch", marks=pytest.mark.deep), "partition"])
def test_an_error_of_a_delivery_is_in_the_first_line(query: Query, mode: str) -> None:
    rows = query.rows().selectExpr(TOO_LARGE, "source")
    line = first_line(StreamingQueryException, lambda: written(query, rows, mode=mode, **SMALL))
    assert "DeliveryError: delivery of " in line
    assert line.endswith("sends only the rest")


def test_an_error_in_foreach_batch_is_in_the_first_line(query: Query) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        exactly_once(rows.selectExpr(TOO_LARGE, "source"), batch, **told, **SMALL)

    made = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
    line = first_line(StreamingQueryException, made.trigger(availableNow=True).start().awaitTermination)
    assert "DeliveryError: delivery of " in line


def test_an_error_of_the_source_is_in_the_first_line(query: Query) -> None:
    lost = query.spark.read.format("zombieproof").options(**query.kafka, subscribe="nowhere").load()
    line = first_line(AnalysisException, lost.collect)
    assert "NoSuchTopic: topic nowhere: the brokers do not have it" in line
    wrong = query.spark.read.format("zombieproof").options(**query.kafka, subscribe="input", strange="1")
    assert "IllegalOption: source: there is no option strange" in first_line(AnalysisException, wrong.load)


@pytest.mark.parametrize(("raised", "is_hidden"), [(NoSuchTopic("gone"), True), (KeyError("a mistake"), False)])
def test_a_worker_hides_the_traceback_of_expected_errors_only(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, is_hidden: bool
) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setenv(reasons.HIDE, "")

    @reasons.reason_first
    def fail() -> None:
        raise raised

    with pytest.raises(type(raised)):
        fail()
    assert (os.environ[reasons.HIDE] == "1") is is_hidden
