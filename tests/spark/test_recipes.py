"""Recipes of examples/spark_recipes.py, each through the crash that it is for."""

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812  # as all programs of Spark call it

from examples import spark_recipes as recipes
from tests.pipeline.topics import make_topics, messages, read_back
from tests.spark.queries import Query
from zombieproof.pipeline import exactly_once
from zombieproof.pipeline.kafka import client

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

pytestmark = pytest.mark.slow


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path) -> Query:
    return Query(spark, broker, tmp_path).begin()


def test_two_outputs_are_exact_through_a_crash_between_them_and_a_lost_checkpoint(query: Query) -> None:
    make_topics(query.bootstrap, orders=1, audit=1)
    servers, fails = query.bootstrap, [True]

    def write(rows: "DataFrame", batch: int) -> None:
        if fails.pop() if fails else False:
            first = rows.selectExpr("key", "value", "source")
            told = {"kafka_bootstrap_servers": servers, "kafka_group_id": "shop-orders"}
            exactly_once(first, batch, topic="orders", **told)
            raise RuntimeError("the driver dies between the two writes")
        recipes.write_two_outputs(rows, batch, servers, "shop")

    def run(checkpoint: str) -> None:
        kafka = {**query.kafka, "kafka.group.id": "shop-audit"}
        rows = recipes.read(query.spark, kafka, "input").writeStream.foreachBatch(write)
        rows = rows.option("checkpointLocation", str(query.folder / checkpoint)).trigger(availableNow=True)
        rows.start().awaitTermination()

    with pytest.raises(StreamingQueryException, match="the driver dies between the two writes"):
        run("lost")
    run("new")
    expected = Counter(query.filled.committed)
    assert (read_back(servers, "orders"), read_back(servers, "audit")) == (expected, expected)


@pytest.mark.deep
def test_offsets_of_sparks_own_source_are_taken_over(query: Query) -> None:
    old = query.folder / "old"
    place = messages(query.bootstrap, "input")[4]
    ends = {"0": place.offset(), "1": 0, "2": 0}
    for log, number, text in (
        ("offsets", 3, json.dumps({"input": ends})),
        ("offsets", 4, '{"input":{"0":999,"1":999,"2":999}}'),
        ("commits", 3, '{"nextBatchWatermarkMs":0}'),  # all as Spark 4.2.0 writes it
    ):
        (old / log).mkdir(parents=True, exist_ok=True)
        middle = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\n' if log == "offsets" else ""
        (old / log / str(number)).write_text(f"v1\n{middle}{text}" + "\n-" * (log == "offsets"))
    start = recipes.offsets_of_checkpoint(old)
    rows = query.spark.readStream.format("zombieproof").options(**query.kafka, includeSource="true")
    rows = rows.options(subscribe="input", startingOffsets=start).load()
    made = rows.writeStream.format("zombieproof").options(**query.kafka, topic="output")
    made = made.option("checkpointLocation", str(query.folder / "new")).trigger(availableNow=True)
    made.start().awaitTermination()
    before = Counter(each.value() for each in messages(query.bootstrap, "input")[:4])
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed) - before
    with pytest.raises(ValueError, match="no batch is finished"):
        recipes.offsets_of_checkpoint(query.folder / "nothing")


@pytest.mark.deep
def test_a_backfill_of_a_time_range_can_be_repeated(query: Query) -> None:
    stamps = [each.timestamp()[1] for each in messages(query.bootstrap, "input")]
    since, until = min(stamps), max(stamps) + 1
    kafka = {"kafka.bootstrap.servers": query.bootstrap}
    for _ in range(2):
        recipes.backfill(query.spark, kafka, "input", "output", since, until)
        found = messages(query.bootstrap, "output")
        assert Counter(each.value() for each in found) == Counter(query.filled.committed)
        assert sorted(each.timestamp()[1] for each in found) == sorted(stamps)


def test_registry_bytes_are_read_and_written(query: Query) -> None:
    framed = [b"\x00\x00\x01\x86\xa7" + b'{"a":%d}' % number for number in range(3)]
    plain = [b"", b"{}"]
    producer = client.Producer({"bootstrap.servers": query.bootstrap})
    make_topics(query.bootstrap, framed=1)
    for value in framed + plain:
        producer.produce("framed", value)
    producer.flush(10)
    rows = query.spark.read.format("zombieproof").options(**query.kafka, subscribe="framed").load()
    number, payload = recipes.from_registry(F.col("value"))
    read = rows.select(number.alias("id"), payload.alias("payload"), "value")
    assert sorted(read.select("id", "payload").collect(), key=str) == sorted(
        [(100_007, b'{"a":%d}' % number) for number in range(3)] + [(None, None)] * 2, key=str
    )
    again = read.filter("id is not null").select(recipes.to_registry(F.col("id"), F.col("payload")).alias("value"))
    assert sorted(bytes(row.value) for row in again.collect()) == framed


def test_rows_go_to_a_table_and_back_through_lost_commits(query: Query) -> None:
    """`make recipes-table` sets a format and a table of a catalog; otherwise it is a folder of Parquet files."""
    kind, table, kafka = os.environ.get("TABLE_KIND", "parquet"), os.environ.get("TABLE", ""), query.kafka
    spark, folder = query.spark, str(query.folder / "table")
    if table:
        spark.sql(f"create table {table} (value binary) using {kind}")
    rows = recipes.read(spark, kafka, "input").select("value")
    for _ in range(2):
        recipes.to_table(rows, str(query.checkpoint), table or folder, kind).awaitTermination()
        query.forget_commit()
    stored = spark.table(table) if table else spark.read.parquet(folder)
    assert Counter(bytes(row.value) for row in stored.collect()) == Counter(query.filled.committed)
    shutil.rmtree(query.checkpoint)
    back = spark.readStream.table(table) if table else spark.readStream.schema(stored.schema).parquet(folder)
    for _ in range(2):
        own = {**kafka, "kafka.group.id": "back"}
        recipes.from_table(back, own, str(query.checkpoint), "output").awaitTermination()
        query.forget_commit()
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


@pytest.mark.deep
def test_a_new_deployment_takes_over_while_the_old_one_runs(query: Query) -> None:
    def start(checkpoint: str) -> Any:
        made = recipes.read(query.spark, query.kafka, "input", maxOffsetsPerTrigger="20").select("value", "source")
        made = made.writeStream.format("zombieproof").options(**query.kafka, topic="output", name="prices")
        made = made.option("checkpointLocation", str(query.folder / checkpoint))
        return made.trigger(processingTime="100 milliseconds").start()

    old = start("old")
    query.fill_more()
    new = start("new")
    query.fill_more()
    new.processAllAvailable()
    old.stop()
    query.fill_more()
    new.processAllAvailable()
    new.stop()
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)
