"""The source on real Spark: columns, ranges, limits, where a query begins, and what it refuses."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable

from tests.pipeline.topics import make_topics, producing
from zombieproof.pipeline import register
from zombieproof.pipeline.spark.options import source_options
from zombieproof.pipeline.spark.source import StreamReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


@pytest.fixture
def log(broker: "TestedBrokers | RealKafka") -> str:
    """In partition 0: a, marker, aborted b, marker, c, marker, open d; in partition 1 nothing."""
    make_topics(broker.bootstrap, input=2)
    for number, (value, ends) in enumerate(((b"a", True), (b"b", False), (b"c", True), (b"d", None))):
        producer = producing(broker.bootstrap, f"input-{number}")
        producer.begin_transaction()
        producer.produce("input", value, b"k", partition=0, headers=[("h", b"\xff"), ("h", None)], timestamp=1000)
        producer.flush(10)
        if ends is not None:
            (producer.commit_transaction if ends else producer.abort_transaction)(10)
    return broker.bootstrap


@pytest.fixture
def reading(spark: "SparkSession", log: str) -> "Callable[..., DataFrame]":
    def read(**options: Any) -> "DataFrame":
        register(spark)
        told = {"kafka.bootstrap.servers": log, "subscribe": "input"}
        return spark.read.format("zombieproof").options(**{**told, **options}).load()

    return read


@pytest.fixture
def streaming(spark: "SparkSession", log: str, tmp_path: Path) -> Callable[..., Any]:
    """Runs a query as far as there is anything; its rows and its progress."""
    names = iter(range(100))

    def run(checkpoint: str = "c", **options: Any) -> tuple[Counter[bytes], list[Any]]:
        register(spark)
        told = {
            "kafka.bootstrap.servers": log,
            "subscribe": "input",
            "kafka.group.id": "g",
            "startingOffsets": "earliest",
        }
        found: Counter[bytes] = Counter()
        query = (
            spark.readStream.format("zombieproof")
            .options(**{**told, **options})
            .load()
            .writeStream.foreachBatch(lambda rows, _: found.update(bytes(row.value) for row in rows.collect()))
            .queryName(f"q{next(names)}")
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return found, list(query.recentProgress)

    return run


def test_columns_are_those_of_kafka_s_source(reading: "Callable[..., DataFrame]") -> None:
    assert reading().columns == COLUMNS
    rows = reading(includeHeaders=True, includeSource=True).collect()
    assert rows[0].__fields__ == [*COLUMNS, "headers", "source"]
    assert [(bytes(row.value), bytes(row.key), row.topic, row.partition, row.offset) for row in rows] == [
        (b"a", b"k", "input", 0, 0),
        (b"c", b"k", "input", 0, 4),
    ]
    assert {(row.timestamp.timestamp(), row.timestampType) for row in rows} == {(1.0, 0)}
    assert [(each.key, each.value) for each in rows[0].headers] == [("h", b"\xff"), ("h", None)]
    assert [(row.source.topic, row.source.partition, row.source.offset) for row in rows] == [
        ("input", 0, 0),
        ("input", 0, 4),
    ]


def test_a_batch_query_reads_from_and_to_the_offsets_it_is_told(reading: "Callable[..., DataFrame]") -> None:
    assert reading(startingOffsets='{"input":{"0":1,"1":-2}}').count() == 1
    assert reading(startingOffsets='{"input":{"0":0,"1":0}}', endingOffsets='{"input":{"0":4,"1":-1}}').count() == 1


def test_what_is_not_decided_is_not_read(reading: "Callable[..., DataFrame]") -> None:
    with pytest.raises(Exception, match="endingOffsets is 7 for input-0, where everything is decided below 6 only"):
        reading(endingOffsets='{"input":{"0":7,"1":-1}}').collect()


def test_what_the_source_refuses_is_an_error_of_spark_with_our_words(reading: "Callable[..., DataFrame]") -> None:
    with pytest.raises(AnalysisException, match="there is no option startingoffset; legal are assign, subscribe"):
        reading(startingOffset="latest")
    with pytest.raises(Exception, match="topic absent: the brokers do not have it"):
        reading(subscribe="absent").collect()
    with pytest.raises(Exception, match="offsets are given for input-9, which the brokers do not have"):
        reading(startingOffsets='{"input":{"9":0}}').collect()
    with pytest.raises(Exception, match="startingOffsets leaves out input-1; legal is a value for every partition"):
        reading(startingOffsets='{"input":{"0":0}}').collect()


def test_a_streaming_query_ends_at_the_last_stable_offset_and_says_so(streaming: Callable[..., Any]) -> None:
    found, progress = streaming()
    assert found == {b"a": 1, b"c": 1}
    (source,) = progress[-1]["sources"]
    end, latest = json.loads(source["endOffset"]), json.loads(source["latestOffset"])
    assert end.pop("@initial") == end.pop("@begun") == {"input": {"0": 0, "1": 0}}
    assert end == latest == {"@topicIds": latest["@topicIds"], "@group": {"g": 0}, "input": {"0": 6, "1": 0}}


def test_limits_are_offsets_which_are_more_than_rows(streaming: Callable[..., Any]) -> None:
    found, progress = streaming(maxOffsetsPerTrigger="2")
    assert found == {b"a": 1, b"c": 1}
    ends = [json.loads(each["sources"][0]["endOffset"])["input"]["0"] for each in progress]
    assert ends == [2, 4, 6]


def test_a_query_that_starts_again_goes_on_and_finds_new_partitions(
    streaming: Callable[..., Any], broker: "TestedBrokers | RealKafka"
) -> None:
    from confluent_kafka.admin import AdminClient, NewPartitions  # noqa: PLC0415  # with the log alone

    assert streaming()[0] == {b"a": 1, b"c": 1}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_partitions([NewPartitions("input", 3)])["input"].result(10)
    producer = producing(broker.bootstrap, "more")
    producer.begin_transaction()
    for partition in (1, 2):
        producer.produce("input", b"in %d" % partition, partition=partition)
    producer.commit_transaction(10)
    assert streaming()[0] == {b"in 1": 1, b"in 2": 1}
    assert streaming()[0] == {}


def test_without_a_checkpoint_it_begins_at_the_end_or_as_told(streaming: Callable[..., Any]) -> None:
    assert streaming("latest", startingOffsets="latest")[0] == {}
    assert streaming("told", startingOffsets='{"input":{"0":1,"1":-2}}')[0] == {b"c": 1}


def test_a_position_above_the_log_is_told(streaming: Callable[..., Any]) -> None:
    with pytest.raises(StreamingQueryException, match=r"startingOffsets is 99 for input-0, .* up to 6 only"):
        streaming(startingOffsets='{"input":{"0":99,"1":0}}')


def test_what_comes_while_a_query_begins_at_the_end_is_in_its_second_batch(log: str) -> None:
    """Of the first one Spark keeps only where it ends: run again, it would begin behind what has come."""
    options = {"kafka.bootstrap.servers": log, "kafka.group.id": "g", "subscribe": "input", "startingOffsets": "latest"}
    reader = StreamReader(source_options(options, streaming=True))
    try:
        begins = reader.initialOffset()
        producer = producing(log, "late")
        producer.begin_transaction()
        producer.produce("input", b"late", partition=1)
        producer.commit_transaction(10)
        first = reader.latestOffset(begins, ReadAllAvailable())
        assert reader.partitions(begins, first) == []
        assert reader.latestOffset(first, ReadAllAvailable())["input"] == {"0": 6, "1": 2}
    finally:
        reader.stop()
