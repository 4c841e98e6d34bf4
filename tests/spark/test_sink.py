"""The sink on real Spark: both modes, batch queries, foreachBatch, staged rows, and what it refuses."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from tests.pipeline.topics import messages, read_back
from tests.spark.queries import Query
from zombieproof.pipeline import exactly_once
from zombieproof.pipeline.sink.rows import IllegalRows
from zombieproof.pipeline.spark.options import IllegalOption
from zombieproof.pipeline.spark.plans import UnsuitablePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path) -> Query:
    return Query(spark, broker, tmp_path).begin()


def written(query: Query, rows: "DataFrame", name: str = "c", **options: Any) -> Any:
    """Run a streaming query into `output`."""
    made = (
        rows.writeStream.format("zombieproof")
        .options(**{**query.kafka, "topic": "output", **options})
        .option("checkpointLocation", str(query.folder / name))
        .trigger(availableNow=True)
        .start()
    )
    made.awaitTermination()
    return made


def test_each_row_is_written_as_it_is(query: Query) -> None:
    rows = query.rows().selectExpr(
        "key",
        "value",
        "array(struct('a' as key, cast('1' as binary) as value)) as headers",
        "source",
        "partition",
        "timestamp - interval 1 day as timestamp",
    )
    made = written(query, rows, includeTimestamp="true")
    found = messages(query.bootstrap, "output")
    assert Counter(each.value() for each in found) == Counter(query.filled.committed)
    assert {tuple(each.headers()) for each in found} == {(("a", b"1"),)}
    read = {each.value(): each.timestamp()[1] for each in messages(query.bootstrap, "input")}
    assert {each.value(): each.timestamp()[1] for each in found} == {
        value: at - 86_400_000 for value, at in read.items()
    }
    assert all(each.partition() == int(each.value().split(b"-")[1]) % 3 for each in found), "partition is where it goes"
    assert sum(each["sink"]["numOutputRows"] for each in made.recentProgress) == len(found)


def test_rows_that_are_many_are_staged_and_removed(query: Query) -> None:
    staging = query.folder / "staging"
    written(query, query.rows(), inlineBytes="0", stagingDirectory=str(staging))
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)
    assert staging.exists()
    assert list(staging.rglob("*.*")) == []


def test_staged_rows_that_the_driver_does_not_find_are_told(query: Query) -> None:
    (query.folder / "file").touch()
    with pytest.raises(StreamingQueryException, match="Not a directory"):
        written(query, query.rows(), inlineBytes="0", stagingDirectory=str(query.folder / "file"))
    assert not read_back(query.bootstrap, "output")


def test_a_batch_query_writes_once_however_often_it_runs(query: Query) -> None:
    rows = query.spark.read.format("zombieproof").options(**query.kafka, subscribe="input", includeSource="true").load()
    for _ in range(2):
        rows.write.format("zombieproof").options(**query.kafka, topic="output").mode("append").save()
        assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


def test_mode_partition_refuses_rows_that_another_task_has_read(query: Query) -> None:
    """The plan is refused at the start; under a format that is not checked there, the task refuses its rows."""
    rows = query.rows().repartition(2, "value")
    with pytest.raises(UnsuitablePlan, match="has RepartitionByExpression"):
        written(query, rows, mode="partition")
    made = rows.writeStream.format("faulty").options(
        **query.kafka, topic="output", mode="partition", point="", armed=""
    )
    made = made.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True)
    with pytest.raises(StreamingQueryException, match="between source and sink is a shuffle"):
        made.start().awaitTermination()
    assert not read_back(query.bootstrap, "output")


def test_a_shuffle_is_no_matter_to_mode_batch(query: Query) -> None:
    written(query, query.rows().repartition(2, "value"))
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


def test_mode_partition_takes_plans_that_keep_each_row_in_its_task(query: Query) -> None:
    """Also several rows for one that was read, and several partitions in one task."""
    rows = query.rows().selectExpr("explode(array('a', 'b')) as x", "value", "source")
    rows = rows.selectExpr("concat(x, cast(value as string)) as value", "source").coalesce(1)
    written(query, rows, mode="partition")
    expected = Counter(letter + value for value in query.filled.committed for letter in (b"a", b"b"))
    assert read_back(query.bootstrap, "output") == expected


def test_mode_and_transactional_id_may_change_from_run_to_run(query: Query) -> None:
    for options in ({"mode": "partition"}, {"mode": "batch"}, {"kafka.transactional.id": "other"}):
        written(query, query.rows(), **options)
        assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)
        query.fill_more()


def counted(query: Query, checkpoint: str, group: str = "counter") -> None:
    """How many rows of each key there are in each micro-batch: rows that do not say where they come from."""

    def write(rows: "DataFrame", batch: int) -> None:
        exactly_once(
            rows.groupBy("key").count().selectExpr("key", "cast(count as string) as value"),
            batch,
            kafka_bootstrap_servers=query.bootstrap,
            kafka_group_id=group,
            topic="output",
            exactlyOnceBy="batch",
        )

    made = (
        query.rows()
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(query.folder / checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    made.awaitTermination()


def test_an_aggregation_is_known_by_its_batch_as_long_as_the_checkpoint_is_kept(query: Query) -> None:
    counted(query, "checkpoint")
    before = read_back(query.bootstrap, "output")
    assert sum(int(value or b"0") * count for value, count in before.items()) == len(query.filled.committed)
    query.forget_commit()
    counted(query, "checkpoint")
    assert read_back(query.bootstrap, "output") == before
    with pytest.raises(StreamingQueryException, match="a new, a lost or an older checkpoint"):
        counted(query, "a new one")
    assert read_back(query.bootstrap, "output") == before


def test_rows_without_a_source_are_known_by_their_batch_in_the_sink_of_a_stream_too(query: Query) -> None:
    written(query, query.rows().drop("source").repartition(2, "key"), exactlyOnceBy="batch")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (["key"], {}, "there is no column value among key"),
        (["value"], {}, "the rows do not say where they were read"),
        (["value", "source"], {"topic": ""}, "neither option topic nor column topic is there"),
        (["offset as value", "source"], {}, "column value is bigint; legal is string or binary"),
        (["value", "source"], {"mode": "both"}, "mode is 'both'; legal is batch or partition"),
        (
            ["value", "struct(topic, partition, offset) as source"],
            {"mode": "partition"},
            "column source does not say which task read a row",
        ),
        (["value", "struct(topic, offset) as source"], {}, "column source is .* its field partition is missing"),
        (
            ["value", "source", "1 as timestamp"],
            {"includeTimestamp": "true"},
            "column timestamp is int; legal is a column of type timestamp",
        ),
        (["value", "nullif(source, source) as source"], {}, "source is null"),
    ],
)
def test_what_the_sink_refuses_is_told_at_the_start_or_by_spark_with_our_words(
    query: Query, columns: list[str], options: dict[str, str], said: str
) -> None:
    with pytest.raises((StreamingQueryException, IllegalRows, IllegalOption), match=said):
        written(query, query.rows().selectExpr(*columns), **options)
    assert not read_back(query.bootstrap, "output")


def test_exactly_once_outside_of_a_query_is_told_which_batch_it_is(query: Query) -> None:
    rows = query.spark.createDataFrame([("a",)], "value string")
    told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "g", "topic": "output"}
    with pytest.raises(IllegalOption, match="this is no thread of a streaming query"):
        exactly_once(rows, 0, exactlyOnceBy="batch", **told)
    with pytest.raises(IllegalOption, match="batch_id is -1"):
        exactly_once(rows, -1, exactlyOnceBy="batch", queryId="q", **told)
    for _ in range(2):
        exactly_once(rows, 0, exactlyOnceBy="batch", queryId="q", **told)
    assert read_back(query.bootstrap, "output") == {b"a": 1}
