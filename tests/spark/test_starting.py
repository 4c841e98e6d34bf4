"""What is refused when a write starts: options, columns, plans, and groups of other writes."""

import re
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import inheritable_thread_target
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812  # as all programs of Spark call it

from tests.pipeline.topics import Filled, delete_topic, fill, make_topics, read_back, remake_topic
from tests.spark.queries import ROWS, Query
from tests.spark.test_sink import written
from zombieproof.pipeline import exactly_once, register
from zombieproof.pipeline.kafka import client
from zombieproof.pipeline.progress_topic import TOPIC
from zombieproof.pipeline.sink.rows import IllegalRows
from zombieproof.pipeline.spark import positions, starting
from zombieproof.pipeline.spark.analyzed import name_of, plan_of, refuse_made_up
from zombieproof.pipeline.spark.data_source import ZombieproofSource
from zombieproof.pipeline.spark.options import IllegalOption, sink_options
from zombieproof.pipeline.spark.plans import UnsuitablePlan, refuse_plan
from zombieproof.pipeline.spark.positions import TakenGroup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

NOBODY = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.group.id": "g"}
"""Brokers that are not there: nothing of a plan is asked of them."""


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path) -> Query:
    made = Query(spark, broker, tmp_path).begin()
    make_topics(made.bootstrap, other=3)
    return made


@pytest.fixture
def load(spark: "SparkSession") -> "Callable[..., DataFrame]":
    """A `load()` of the topic that is named."""
    register(spark)

    def load(topic: str = "a", **options: str) -> "DataFrame":
        told = {**NOBODY, "subscribe": topic, "includeSource": "true", **options}
        return spark.readStream.format("zombieproof").options(**told).load()

    return load


PLANS: dict[str, tuple[Callable[[Any, Any], Any], str, str]] = {
    "select and filter": (lambda load, _: load().filter("key is not null").select("value", "source"), "both", ""),
    "explode": (lambda load, _: load().selectExpr("explode(array(1, 2)) x", "value", "source"), "both", ""),
    "unpivot": (
        lambda load, _: load().unpivot(["source"], ["key", "value"], "name", "both").withColumnRenamed("both", "value"),
        "both",
        "",
    ),
    "mapInArrow": (lambda load, _: _mapped(load()), "both", ""),
    "a Python function": (lambda load, _: load().withColumn("value", F.udf(lambda key: f"{key}")("key")), "both", ""),
    "a watermark": (lambda load, _: load().withWatermark("timestamp", "1 minute"), "both", ""),
    "a static side": (lambda load, spark: load().join(spark.range(3), F.col("partition") == F.col("id")), "both", ""),
    "coalesce": (lambda load, _: load().coalesce(1), "both", ""),
    "loads of other topics": (lambda load, _: load().union(load("b")), "both", ""),
    "branches": (lambda load, _: _branches(load()), "batch", "two branches"),
    "branches in SQL": (lambda load, spark: _common(load(), spark), "batch", "two branches"),
    "repartition": (lambda load, _: load().repartition(3), "batch", "has Repartition"),
    "repartition by a column": (lambda load, _: load().repartition(3, "key"), "batch", "has RepartitionByExpression"),
    "loads of one topic": (lambda load, _: load().union(load("a,b")), "", r"two load\(\)s .* topic a,"),
    "the same load again": (lambda load, _: load().union(load()), "", r"two load\(\)s .* topic a,"),
    "dropDuplicates": (lambda load, _: load().dropDuplicates(["key"]), "", "has Deduplicate"),
    "dropDuplicates by time": (
        lambda load, _: load().withWatermark("timestamp", "1 minute").dropDuplicatesWithinWatermark(["key"]),
        "",
        "has Deduplicate",
    ),
    "an aggregation": (lambda load, _: load().groupBy("key").agg(F.max("source").alias("source")), "", "has Aggregate"),
    "distinct": (lambda load, _: load().select("value", "source").distinct(), "", "has (Distinct|Deduplicate)"),
    "limit": (lambda load, _: load().limit(5), "", "has GlobalLimit"),
    "a join of streams": (lambda load, _: load().join(load("b").select("key"), "key"), "", "has Join"),
    "an aggregation in a branch": (
        lambda load, _: load().select("key").union(load("b").groupBy("key").count().select("key")),
        "",
        "has Aggregate",
    ),
}
"""Plans, the modes that take them, and what is said in the others."""


def _mapped(rows: "DataFrame") -> "DataFrame":
    return rows.select("value", "source").mapInArrow(lambda batches: batches, rows.select("value", "source").schema)


def _branches(rows: "DataFrame") -> "DataFrame":
    return rows.filter("key is null").union(rows.filter("key is not null"))


def _common(rows: "DataFrame", spark: "SparkSession") -> "DataFrame":
    rows.createOrReplaceTempView("loaded")
    return spark.sql("with c as (select * from loaded where key is null) select * from c union all select * from c")


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_taken_by_the_modes_that_write_it_once(
    name: str, load: "Callable[..., DataFrame]", spark: "SparkSession"
) -> None:
    made, modes, says = PLANS[name]
    plan = plan_of(made(load, spark))
    for mode in ("batch", "partition"):
        options = sink_options({**NOBODY, "topic": "out", "mode": mode}, streaming=True)
        if modes in ("both", mode):
            refuse_plan(plan, options)
        else:
            with pytest.raises(UnsuitablePlan, match=says):
                refuse_plan(plan, options)


def test_functions_of_one_name_are_told_apart_by_their_code(spark: "SparkSession") -> None:
    def plans(factor: int) -> "list[DataFrame]":
        scale: Callable[[Any], Any] = lambda value: value * factor  # noqa: E731  # PySpark reads the types of others
        rows = spark.range(3)
        spark.udf.register("scale", scale, "long")

        def each(batches: Any) -> Any:
            return (scale(batch) for batch in batches)

        return [
            rows.select(F.udf(scale, "long")("id")),
            rows.selectExpr("scale(id)"),
            rows.mapInArrow(each, "id long"),
            rows.filter(F.udf(scale, "boolean")("id")).union(rows),
        ]

    two, again, three = ([name_of(each, "output") for each in plans(factor)] for factor in (2, 2, 3))
    assert two == again
    assert all(one != other for one, other in zip(two, three, strict=True))


def test_a_sink_is_named_by_output_and_plan_and_not_by_options_of_the_source(
    load: "Callable[..., DataFrame]",
) -> None:
    one, again = load().filter("key is null"), load(maxOffsetsPerTrigger="5").filter("key is null")
    other = load().filter("key is not null")
    many = [load().selectExpr(*(f"{number} as c{number}" for number in range(30)), last) for last in ("key", "value")]
    assert name_of(one, "out") == name_of(again, "out")
    assert name_of(many[0], "out") != name_of(many[1], "out")
    assert len({name_of(one, "out"), name_of(other, "out"), name_of(one, "another")}) == 3


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("source", ""),
        ("struct(topic, partition, offset)", ""),
        ("struct('a' as topic, partition, offset)", ""),
        ("struct(topic, abs(partition) as partition, offset)", ""),  # a function hides it
        ("struct(topic, 0 as partition, offset)", "partition is a constant"),
        ("struct(topic, timestampType as partition, offset)", "partition is column timestampType"),
        ("struct(topic, zero as partition, offset)", "partition is a constant"),
    ],
)
def test_a_column_source_that_does_not_say_where_rows_were_read_is_refused(
    source: str, fault: str, load: "Callable[..., DataFrame]", tmp_path: Path
) -> None:
    rows = load().withColumn("zero", F.lit(0)).selectExpr("value", f"{source} as source")
    told = {**NOBODY, "topic": "out", "checkpointLocation": str(tmp_path)}
    for each in (rows, rows.union(rows.filter("value is null"))):
        if fault:
            with pytest.raises(UnsuitablePlan, match=f"column source does not say where a row was read: .* {fault}"):
                each.writeStream.format("zombieproof").options(**told).start()
        else:
            refuse_made_up(each, is_of_ours=True)


def test_a_column_source_of_a_static_table_is_refused(
    spark: "SparkSession", load: "Callable[..., DataFrame]", tmp_path: Path
) -> None:
    kind = "value binary, source struct<topic:string,partition:int,offset:bigint>"
    table = spark.createDataFrame([(b"a", ("in", 0, 5))], kind)
    rows = load().drop("source").join(table, "value").select("value", "source")
    files = spark.readStream.text(str(tmp_path)).selectExpr(
        "value", "struct('in' as topic, 0 as partition, 7L as offset)"
    )
    told = {**NOBODY, "topic": "out", "checkpointLocation": str(tmp_path / "checkpoint")}
    says = "column source does not say where a row was read: .*{}"
    with pytest.raises(UnsuitablePlan, match=says.format("a column of a static table")):
        rows.writeStream.format("zombieproof").options(**told).start()
    with pytest.raises(UnsuitablePlan, match=says.format("offset is a constant")):
        refuse_made_up(files.toDF("value", "source"), is_of_ours=False)


@pytest.mark.parametrize(
    ("before", "inside", "fault"),
    [
        ("source", "struct('input' as topic, partition, 3L + 4L as offset)", "offset is a constant"),
        ("source", "struct(topic, partition, bigint(length(value)) as offset)", "offset is column value"),
        ("source", "struct(topic, partition, source.offset + 0 as offset)", ""),
        ("source", "struct(topic, partition, timestampType as offset)", "offset is column timestampType"),
        ("struct(topic, 0 as partition, offset) as source", "source", "partition is a constant"),
        ("source", "source", ""),
        ("struct(topic, partition, offset) as source", "struct(source.topic, partition, offset)", ""),
    ],
)
def test_a_column_source_that_a_function_makes_up_is_refused(
    query: Query, before: str, inside: str, fault: str
) -> None:
    columns = ("key", "value", "topic", "partition", "offset", "timestampType")

    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        exactly_once(rows.selectExpr("value", f"{inside} as source"), batch, **told)

    stream = query.rows().selectExpr(*columns, before).writeStream.foreachBatch(write)
    stream = stream.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True)
    if not fault:
        stream.start().awaitTermination()
        return
    with pytest.raises(StreamingQueryException, match=f"column source does not say where .* {fault}"):
        stream.start().awaitTermination()
    assert not read_back(query.bootstrap, "output")


@pytest.mark.parametrize(
    "rows",
    [
        lambda load: load().withWatermark("timestamp", "1 minute"),
        lambda load: load().select(F.transform(F.array("value"), lambda each: F.concat(each, each))),
        lambda load: load().observe("rows", F.count("*")).filter("key is null"),
    ],
    ids=["watermark", "lambda", "observe"],
)
def test_a_plan_that_is_made_again_has_the_same_name(
    rows: "Callable[[Callable[..., DataFrame]], DataFrame]", load: "Callable[..., DataFrame]"
) -> None:
    assert name_of(rows(load), "out") == name_of(rows(load), "out")


def test_numbers_of_common_tables_and_limits_of_text_do_not_change_the_name(
    load: "Callable[..., DataFrame]", spark: "SparkSession"
) -> None:
    assert name_of(_common(load(), spark), "out") == name_of(_common(load(), spark), "out")
    spark.conf.set("spark.sql.maxPlanStringLength", "20")
    try:
        named = [name_of(load().where(f"offset < {most}"), "out") for most in (1, 1, 2)]
        assert spark.conf.get("spark.sql.maxPlanStringLength") == "20"
    finally:
        spark.conf.unset("spark.sql.maxPlanStringLength")
    assert named[0] == named[1] != named[2]


def test_by_source_a_stream_without_offsets_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    register(spark)
    columns = "value string, topic string, partition int, offset bigint"
    files = (
        spark.readStream.schema(columns)
        .json(str(tmp_path))
        .selectExpr("value", "struct(topic, partition, offset) source")
    )
    rate = spark.readStream.format("rate").load()
    rate = rate.selectExpr("string(value) value", "struct('t' topic, 0 partition, value offset) source")
    for rows in (files, rate, files.union(rate)):
        made = rows.writeStream.format("zombieproof").options(**NOBODY, topic="out")
        with pytest.raises(UnsuitablePlan, match=r"reads (StreamingRelation|rate), whose rows have no offsets"):
            made.option("checkpointLocation", str(tmp_path / "c")).start()
        plan = plan_of(rows)
        refuse_plan(plan, sink_options({**NOBODY, "topic": "out", "exactlyOnceBy": "batch"}, streaming=True))


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"mode": "sideways"}, IllegalOption, "mode is 'sideways'"),
        ({"nosuch": "1"}, IllegalOption, "there is no option nosuch"),
        ({"kafka.group.id": ""}, IllegalOption, "kafka.group.id is missing"),
        ({"twice": "value"}, IllegalRows, "there are several columns value; legal is one of each name"),
        ({"topic": "", "mode": "batch"}, IllegalRows, "no option topic|neither option topic nor column topic"),
    ],
)
def test_start_and_save_raise_what_is_wrong_with_options(
    changed: dict[str, str], error: type[Exception], says: str, load: "Callable[..., DataFrame]", tmp_path: Path
) -> None:
    changed = dict(changed)
    rows = load().selectExpr("value", "source", *([changed.pop("twice")] if "twice" in changed else ()))
    told = {**NOBODY, "topic": "out", "checkpointLocation": str(tmp_path), **changed}
    with pytest.raises(error, match=says):
        rows.writeStream.format("zombieproof").options(**told).start()
    with pytest.raises(error, match=says):
        rows.writeStream.start(format="zombieproof", **told)
    assert not rows.sparkSession.streams.active


def test_a_sink_that_nobody_has_checked_refuses(load: "Callable[..., DataFrame]") -> None:
    with pytest.raises(UnsuitablePlan, match="the plan of this write was not checked"):
        ZombieproofSource({**NOBODY, "topic": "out"}).streamWriter(load().select("value", "source").schema, False)


def test_two_queries_with_one_group_are_refused(query: Query) -> None:
    written(query, query.rows(), name="one")
    with pytest.raises(TakenGroup, match=r"input-0 under group copier was committed by query .* sink output/"):
        written(query, query.rows(), name="two", topic="other")
    written(query, query.rows("other"), name="two", topic="other", **{"kafka.group.id": "other"})
    query.fill_more()
    shutil.rmtree(query.folder / "one")
    written(query, query.rows(), name="one")  # the same write, whose checkpoint is lost
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


def test_a_source_and_a_sink_with_different_groups_are_refused(query: Query) -> None:
    with pytest.raises(IllegalOption, match=r"kafka.group.id is 'other' of the source and 'copier' of the sink"):
        written(query, query.rows("other"))


def test_a_source_in_another_cluster_begins_where_the_sink_leaves_out_what_it_has_written(
    query: Query, txn_cluster: "TestedBrokers", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint is lost; brokers in memory have the same id of the cluster, so it is told by their number here."""
    monkeypatch.setattr(positions, "cluster_of", lambda consumer: len(consumer.list_topics().brokers))
    sink = {"kafka.bootstrap.servers": txn_cluster.bootstrap}
    make_topics(txn_cluster.bootstrap, output=3)
    with pytest.raises(
        IllegalOption, match=r"commits the positions of input-0, input-1, input-2, and its cluster has no"
    ):
        written(query, query.rows(), **sink)
    make_topics(txn_cluster.bootstrap, input=3)
    written(query, query.rows(), **sink)
    query.fill_more()
    latest = query.spark.readStream.format("zombieproof").options(
        **query.kafka, subscribe="input", includeSource="true"
    )
    with pytest.raises(
        TakenGroup, match=r"startingOffsets says where .* position of input-0 under group copier in the"
    ):
        written(query, latest.load(), name="new", **sink)
    told = {name.replace(".", "_"): value for name, value in (query.kafka | sink).items()}
    stream = latest.load().writeStream.foreachBatch(
        lambda rows, batch: exactly_once(rows, batch, **told, topic="output")
    )
    stream = stream.option("checkpointLocation", str(query.folder / "function"))
    with pytest.raises(StreamingQueryException, match=r"startingOffsets says where .* under group copier in the"):
        stream.start().awaitTermination(60)
    written(query, latest.load(), **sink)  # it has a checkpoint
    query.fill_more()
    written(query, query.rows(), name="new", **sink)
    assert read_back(txn_cluster.bootstrap, "output") == Counter(query.filled.committed)


def test_positions_of_another_query_are_noticed_before_a_source_begins_there(
    query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    """By topics and by pattern: another sink is refused, and `foreachBatch`, which may be the same query, is warned."""
    kafka = {**query.kafka, "includeSource": "true", "startingOffsets": "earliest"}
    by_pattern = query.spark.readStream.format("zombieproof").options(**kafka, subscribePattern="in.*").load()

    def observed(rows: "DataFrame", group: str, table: str = "") -> list[str]:
        caplog.clear()
        made = rows.writeStream.option("checkpointLocation", str(query.folder / group)).trigger(availableNow=True)
        made = made if table else made.foreachBatch(lambda *_: None)
        (made.toTable(table) if table else made.start()).awaitTermination()
        return [each.getMessage() for each in caplog.records if "it would begin there" in each.getMessage()]

    assert observed(query.rows(), "observer") == []
    written(query, query.rows())
    assert observed(query.rows(), "observer") == [], "the checkpoint says where it begins"
    for rows, table in ((query.rows(), ""), (by_pattern, "observed")):
        (said,) = observed(rows, f"new {table}", table)
        assert "the position of input-0 under group copier was committed by query" in said
        with pytest.raises(TakenGroup, match=r"input-0 under group copier was committed by query .* sink output/"):
            written(query, rows, name="two", topic="other")
        with pytest.raises(TakenGroup, match="it would begin there, and never read what is below"):
            written(query, rows.select("value"), name="three", topic="other", exactlyOnceBy="batch")


def test_two_writes_of_one_batch_with_one_group_are_refused(query: Query) -> None:
    def twice(outputs: tuple[str, str]) -> Callable[["DataFrame", int], None]:
        def write(rows: "DataFrame", batch: int) -> None:
            for topic in outputs:
                told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier"}
                exactly_once(rows.select("value", "source"), batch, topic=topic, **told)

        return write

    for outputs in (("output", "other"), ("output", "output")):
        made = (
            query.rows()
            .writeStream.foreachBatch(twice(outputs))
            .option("checkpointLocation", str(query.folder / outputs[1]))
            .trigger(availableNow=True)
            .start()
        )
        with pytest.raises(StreamingQueryException, match="has two writes under group copier, and the second would be"):
            made.awaitTermination()
        query.fill_more()


@pytest.mark.parametrize(
    ("before", "inside", "mode", "says"),
    [
        (lambda rows: rows.dropDuplicates(["key"]), lambda rows: rows, "batch", "has Deduplicate"),
        (lambda rows: rows, lambda rows: rows.union(rows), "partition", "two branches"),
    ],
)
def test_the_plan_before_foreach_batch_is_checked_with_the_plan_in_it(
    query: Query,
    before: Callable[["DataFrame"], "DataFrame"],
    inside: Callable[["DataFrame"], "DataFrame"],
    mode: str,
    says: str,
) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        exactly_once(inside(rows).select("value", "source"), batch, mode=mode, **told)

    made = before(query.rows()).writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
    with pytest.raises(StreamingQueryException, match=f"UnsuitablePlan: sink: .*{says}"):
        made.trigger(availableNow=True).start().awaitTermination()
    assert not read_back(query.bootstrap, "output")


def test_a_plan_before_foreach_batch_that_is_not_known_is_refused(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        monkeypatch.setattr(starting, "_running", {})
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        exactly_once(rows.select("value", "source"), batch, **told)

    made = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
    with pytest.raises(StreamingQueryException, match="the plan before foreachBatch is not known"):
        made.trigger(availableNow=True).start().awaitTermination()


def test_updated_rows_are_refused_and_the_remedies_work(query: Query) -> None:
    def counted() -> "DataFrame":
        return query.rows().groupBy("key").count().selectExpr("key", "string(count) as value")

    def started(mode: str) -> Any:
        made = counted().writeStream.format("zombieproof").outputMode(mode).trigger(availableNow=True)
        told = {**query.kafka, "topic": "output", "exactlyOnceBy": "batch", "checkpointLocation": str(query.checkpoint)}
        return made.options(**told).start()

    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "updates", "topic": "other"}
        exactly_once(rows, batch, exactlyOnceBy="batch", **told)

    with pytest.raises(UnsuitablePlan, match=r"outputMode is update.* complete, .*foreachBatch"):
        started("update")
    with pytest.raises(UnsuitablePlan, match="outputMode is update"):
        counted().writeStream.format("zombieproof").options(**query.kafka, topic="output").start(outputMode="update")
    query.most = 10_000
    started("complete").awaitTermination()
    made = counted().writeStream.foreachBatch(write).outputMode("update").trigger(availableNow=True)
    made.option("checkpointLocation", str(query.folder / "updates")).start().awaitTermination()
    counts = Counter(str(ROWS // 7 + (key < ROWS % 7)).encode() for key in range(7))
    assert read_back(query.bootstrap, "output") == read_back(query.bootstrap, "other") == counts


@pytest.mark.deep
def test_an_older_checkpoint_is_refused_by_batch(query: Query) -> None:
    now, kept = query.folder / "c", query.folder / "kept"
    rows = query.rows().select("value")
    written(query, rows, exactlyOnceBy="batch")
    shutil.copytree(now, kept)
    query.fill_more()
    written(query, rows, exactlyOnceBy="batch")
    shutil.rmtree(now)
    shutil.copytree(kept, now)
    query.fill_more()
    query.most *= 3
    with pytest.raises(StreamingQueryException, match=r"DeliveryError: .*the committed position is of query"):
        written(query, query.rows().select("value"), exactlyOnceBy="batch")


@pytest.mark.parametrize(
    "is_a_function", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["format", "foreachBatch"]
)
def test_an_older_checkpoint_is_refused_by_batch_though_its_next_batch_has_no_rows(
    query: Query, is_a_function: bool
) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        if not rows.isEmpty():
            exactly_once(rows, batch, exactlyOnceBy="batch", **told)

    def copied() -> None:
        rows = query.rows().where("offset < 20 or offset > 50").select("value")
        if not is_a_function:
            written(query, rows, exactlyOnceBy="batch")
            return
        stream = rows.writeStream.foreachBatch(write).option("checkpointLocation", str(now))
        stream.trigger(availableNow=True).start().awaitTermination()

    now, kept = query.folder / "c", query.folder / "kept"
    query.most = 10_000
    copied()
    shutil.copytree(now, kept)
    query.fill_more()
    copied()
    found = read_back(query.bootstrap, "output")
    shutil.rmtree(now)
    shutil.copytree(kept, now)
    query.most = 10
    with pytest.raises(StreamingQueryException, match=r"the committed position is of query.*an older checkpoint"):
        copied()
    assert read_back(query.bootstrap, "output") == found
    assert is_a_function or not (now / "commits" / "1").exists(), "the batch without rows was not compared"


@pytest.mark.parametrize("by", ["source", pytest.param("batch", marks=pytest.mark.deep)])
def test_a_function_that_changes_its_group_cannot_repeat_a_batch(query: Query, by: str) -> None:
    def copied(group: str, fails: bool = False) -> None:
        def write(rows: "DataFrame", batch: int) -> None:
            told = {"kafka_bootstrap_servers": query.bootstrap, "topic": "output", "exactlyOnceBy": by}
            exactly_once(rows.select("value", "source"), batch, kafka_group_id=group, **told)
            if fails:
                raise RuntimeError("after the write")

        stream = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
        stream.trigger(availableNow=True).start().awaitTermination()

    query.most = 10_000
    with pytest.raises(StreamingQueryException, match="after the write"):
        copied("old", fails=True)
    with pytest.raises(StreamingQueryException, match=r"kafka.group.id is new, and batch 0, .*was written under old"):
        copied("new")
    copied("old")
    query.fill_more()
    copied("new")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


@pytest.mark.parametrize("is_repeated", [True, pytest.param(False, marks=pytest.mark.deep)])
def test_by_batch_neither_group_nor_output_may_change(query: Query, is_repeated: bool) -> None:
    def copied(group: str, topic: str) -> None:
        told = {"kafka.group.id": group, "topic": topic, "exactlyOnceBy": "batch"}
        written(query, query.rows("reader").select("value"), name="checkpoint", **told)

    copied("one", "output")
    if is_repeated:
        query.forget_commit()
        with pytest.raises(IllegalOption, match=r"kafka.group.id is two, and batch .* was written under one"):
            copied("two", "output")
    with pytest.raises(IllegalOption, match=r"topic is other, and batch .* of this query was written to output"):
        copied("one", "other")
    query.fill_more()
    copied("one", "output")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


@pytest.mark.txn_faults(plan={}, allow=("no_input_is_committed_twice",))  # claims are positions of the deleted topic
@pytest.mark.parametrize("mode", ["batch", pytest.param("partition", marks=pytest.mark.deep)])
@pytest.mark.parametrize("is_deleted", [True, pytest.param(False, marks=pytest.mark.deep)], ids=["deleted", "renamed"])
@pytest.mark.parametrize(
    "is_a_function", [pytest.param(False, marks=pytest.mark.deep), True], ids=["format", "foreachBatch"]
)
def test_the_progress_topic_is_restored_also_for_partitions_without_new_rows(
    query: Query, mode: str, is_deleted: bool, is_a_function: bool
) -> None:
    def copied(topic: str) -> None:
        told = {"progressTopic": topic}
        rows = query.rows(**told).select("value", "source")
        if not is_a_function:
            written(query, rows, name="checkpoint", mode=mode, **told)
            return
        kafka = {name.replace(".", "_"): value for name, value in query.kafka.items()}
        stream = rows.writeStream.foreachBatch(
            lambda some, batch: exactly_once(some, batch, **kafka, topic="output", mode=mode, **told)
        )
        stream = stream.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True)
        stream.start().awaitTermination()

    query.most = 10_000
    copied("first")
    if is_deleted:
        delete_topic(query.bootstrap, "first")
    second = "first" if is_deleted else "second"
    producer = client.Producer({"bootstrap.servers": query.bootstrap})
    producer.produce("input", b"one more", partition=0)
    producer.flush(10)
    query.filled.committed.append(b"one more")
    copied(second)
    query.forget_positions()
    query.forget_checkpoint()
    query.fill_more()
    copied(second)
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


@pytest.mark.parametrize(
    "is_a_function", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["format", "foreachBatch"]
)
def test_an_older_checkpoint_with_another_plan_is_refused_at_each_start(query: Query, is_a_function: bool) -> None:
    def copied(condition: str) -> None:
        def write(rows: "DataFrame", batch: int) -> None:
            told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
            exactly_once(rows.where(condition).select("value", "source"), batch, **told)

        if not is_a_function:
            written(query, query.rows().where(condition).select("value", "source"), name="checkpoint")
            return
        stream = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
        stream.trigger(availableNow=True).start().awaitTermination()

    kept = query.folder / "kept"
    query.most = 10_000
    copied("offset < 20")
    shutil.copytree(query.checkpoint, kept)
    query.fill_more()
    copied("offset < 20 or offset > 30")
    found = read_back(query.bootstrap, "output")
    shutil.rmtree(query.checkpoint)
    shutil.copytree(kept, query.checkpoint)
    query.most = 5
    for _ in range(2):
        with pytest.raises(
            (TakenGroup, StreamingQueryException), match=r"with a checkpoint that has finished 1 batches"
        ):
            copied("offset > 60")
    assert read_back(query.bootstrap, "output") == found


def test_a_stream_does_not_begin_after_the_position_of_a_batch_query(query: Query) -> None:
    """Such a position says from where on rows were written, which need not be the beginning."""
    read = query.spark.read.format("zombieproof").options(**query.kafka, subscribe="input", includeSource="true")
    rows = read.options(startingOffsets='{"input":{"0":5,"1":5,"2":5}}').load().select("value", "source")
    rows.write.format("zombieproof").options(**query.kafka, topic="output", name="one").mode("append").save()
    with pytest.raises(TakenGroup, match=r"this is query without a checkpoint, sink output/one"):
        query.rows().select("value", "source").writeStream.format("zombieproof").options(
            **query.kafka, topic="output", name="one", checkpointLocation=str(query.checkpoint)
        ).start()


@pytest.mark.parametrize(
    "is_a_function", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["format", "foreachBatch"]
)
def test_a_lost_checkpoint_does_not_skip_a_load_that_has_no_position(query: Query, is_a_function: bool) -> None:
    """Two loads in one group: rows of one were written, and the other begins at the end."""

    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        exactly_once(rows.select("value", "source"), batch, **told)

    def copied(start: str) -> None:
        rows = query.rows(startingOffsets=start).union(query.rows(startingOffsets=start, subscribe="other"))
        if not is_a_function:
            written(query, rows.select("value", "source"), name="checkpoint")
            return
        stream = rows.writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
        stream.trigger(availableNow=True).start().awaitTermination()

    query.filled = Filled()
    copied("latest")
    query.fill_more()
    copied("latest")
    added = fill(query.bootstrap, "other", 3, 30).committed
    query.forget_checkpoint()
    with pytest.raises(
        StreamingQueryException, match=r"latest for other-0, other-1, other-2, .* committed that of input-0"
    ):
        copied("latest")
    copied("earliest")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed + added)


def test_a_lost_checkpoint_does_not_skip_what_one_of_two_outputs_lacks(query: Query) -> None:
    """The source has the group of the write that had no rows yet."""

    def write(rows: "DataFrame", batch: int) -> None:
        for group, topic, condition in (("good", "output", "true"), ("bad", "other", "false")):
            told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": group, "topic": topic}
            exactly_once(rows.where(condition).select("value", "source"), batch, **told)

    def copied(start: str) -> None:
        stream = query.rows("bad", startingOffsets=start).writeStream.foreachBatch(write)
        stream.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True).start().awaitTermination()

    query.filled = Filled()
    copied("latest")
    query.fill_more()
    copied("latest")
    query.forget_checkpoint()
    query.fill_more()
    for start in ("latest", "earliest"):
        with pytest.raises(StreamingQueryException, match=r"began at offset \d+ of input-0, .* under group good"):
            copied(start)
    query.forget_checkpoint()
    copied("earliest")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


def test_the_progress_topic_is_neither_input_nor_output(query: Query) -> None:
    rows = query.rows().select("value", "source")
    with pytest.raises(IllegalOption, match="sink: topic is zombieproof-progress, which keeps the positions"):
        written(query, rows, topic="zombieproof-progress")
    with pytest.raises(IllegalOption, match="source: input keeps the positions of this write"):
        written(query, query.rows(progressTopic="input").select("value", "source"), progressTopic="input")


def test_a_lost_checkpoint_by_batch_is_refused_before_the_query_starts(query: Query) -> None:
    rows = query.rows().select("value")
    written(query, rows, exactlyOnceBy="batch")
    with pytest.raises(TakenGroup, match="this is query without a checkpoint"):
        written(query, rows, name="new", exactlyOnceBy="batch")


def test_a_checkpoint_below_sparks_own_folder_is_found(query: Query) -> None:
    spark, setting = query.spark, "spark.sql.streaming.checkpointLocation"
    spark.conf.set(setting, str(query.folder / "checkpoints"))
    try:
        for _ in range(2):
            rows = query.rows().select("value").writeStream.format("zombieproof")
            rows = rows.options(**query.kafka, topic="output", exactlyOnceBy="batch").trigger(availableNow=True)
            rows.start(queryName="named").awaitTermination()
    finally:
        spark.conf.unset(setting)
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


def test_a_topic_that_was_created_again_is_refused_by_start_and_by_the_source(query: Query) -> None:
    query.run()
    remake_topic(query.bootstrap, "input", 3)
    fill(query.bootstrap, "input", 3, 90)
    says = r"topic input .*id .*, and .*reprocess=NAME"
    with pytest.raises(TakenGroup, match=says):
        written(query, query.rows(), NAME="the sink of these tests")  # the helper has an argument of this name
    for loses in (query.forget_positions, query.forget_checkpoint):
        with pytest.raises(StreamingQueryException, match=says):
            query.run()
        loses()
    assert not query.wrong()


def test_an_output_that_was_created_again_is_refused_also_with_a_new_checkpoint(query: Query) -> None:
    written(query, query.rows())
    remake_topic(query.bootstrap, "output", 3)
    for name in ("c", "new"):
        with pytest.raises(TakenGroup, match=r"is older than topic output .*reprocess=NAME"):
            written(query, query.rows(), name=name)


@pytest.mark.txn_faults(plan={}, allow=("no_input_is_committed_twice",))
@pytest.mark.parametrize(
    "is_a_function", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["format", "foreachBatch"]
)
def test_deleted_progress_is_noticed_though_another_query_has_made_the_topic_again(
    query: Query, is_a_function: bool
) -> None:
    def copied(**options: str) -> None:
        rows = query.rows(**options)
        if not is_a_function:
            written(query, rows, name="checkpoint", **options)
            return
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output", **options}
        stream = rows.writeStream.foreachBatch(lambda rows, batch: exactly_once(rows, batch, **told))
        stream.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True).start().awaitTermination()

    query.most = 10_000
    written(query, query.rows("another"), **{"kafka.group.id": "another", "topic": "other"})
    copied()
    query.forget_commit()
    query.forget_positions()
    delete_topic(query.bootstrap, TOPIC)
    written(query, query.rows("third"), name="d", **{"kafka.group.id": "third", "topic": "other"})
    with pytest.raises(StreamingQueryException, match=r"was deleted and created again .*progressTopic to another name"):
        copied()
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)
    copied(progressTopic="second")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed * 2)


@pytest.mark.deep
def test_a_progress_topic_that_was_made_again_matters_to_no_other_sink(query: Query) -> None:
    def kept() -> list[bytes]:
        path = str(query.folder / "rows")
        stream = query.rows().select("value").writeStream.format("parquet").option("path", path)
        stream.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True).start().awaitTermination()
        return [bytes(row.value) for row in query.spark.read.parquet(path).collect()]

    written(query, query.rows("another"), **{"kafka.group.id": "another", "topic": "other"})
    kept()
    query.forget_commit()
    delete_topic(query.bootstrap, TOPIC)
    written(query, query.rows("third"), name="d", **{"kafka.group.id": "third", "topic": "other"})
    query.fill_more()
    assert sorted(kept()) == sorted(query.filled.committed)


@pytest.mark.parametrize("by", ["source", pytest.param("batch", marks=pytest.mark.deep)])
@pytest.mark.parametrize("form", [pytest.param("1", marks=pytest.mark.deep), "2"], ids=["offset log 1", "offset log 2"])
def test_a_group_does_not_change_while_a_batch_is_not_finished(
    query: Query, by: str, form: str, request: pytest.FixtureRequest
) -> None:
    setting = "spark.sql.streaming.offsetLog.formatVersion"  # Spark 4.2 has form 1 only
    query.spark.conf.set(setting, form)
    request.addfinalizer(lambda: query.spark.conf.unset(setting))

    def copied(group: str) -> None:
        rows = query.rows(group).select("value", "source")
        written(query, rows, name="checkpoint", **{"kafka.group.id": group, "exactlyOnceBy": by})

    copied("copier")
    query.forget_commit()
    with pytest.raises(
        IllegalOption, match=r"is new, and batch \d of the checkpoint, which is not finished, .* copier"
    ):
        copied("new")
    copied("copier")
    query.fill_more()
    copied("new")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


def test_the_first_batch_is_repeated_whole_though_one_of_its_writes_is_done(query: Query) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        for topic in ("output", "other"):
            told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": groups[topic], "topic": topic}
            exactly_once(rows.select("value", "source"), batch, **told)
            if dies:
                raise dies.pop()

    def copied() -> None:
        stream = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
        stream.trigger(availableNow=True).start().awaitTermination()

    groups, dies = {"output": "copier", "other": "other"}, [ZeroDivisionError()]
    with pytest.raises(StreamingQueryException, match="ZeroDivisionError"):
        copied()
    query.fill_more()
    copied()
    for topic in groups:
        assert read_back(query.bootstrap, topic) == Counter(query.filled.committed)


def test_a_lost_checkpoint_does_not_skip_a_partition_that_has_no_position(query: Query) -> None:
    def copied(**options: str) -> None:
        rows = query.rows("latest", subscribe="other", **options).select("value", "source")
        written(query, rows, **{"kafka.group.id": "latest"})

    copied(startingOffsets="latest")
    producer = client.Producer({"bootstrap.servers": query.bootstrap})
    producer.produce("other", b"0", partition=0)
    producer.flush(10)
    copied(startingOffsets="latest")
    for partition in range(3):
        producer.produce("other", b"%d" % (partition + 1), partition=partition)
    producer.flush(10)
    shutil.rmtree(query.folder / "c")
    with pytest.raises(StreamingQueryException, match=r"latest for other-1, other-2, .* like (.*) \(those") as refused:
        copied(startingOffsets="latest")
    found = re.search(r"offsets like (\{.*\}) \(those", str(refused.value))
    assert found is not None
    copied(startingOffsets=found[1])
    assert read_back(query.bootstrap, "output") == Counter([b"0", b"1", b"2", b"3"])


def test_no_write_of_foreach_batch_in_the_group_of_a_source_that_begins_at_the_end_is_refused(query: Query) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        exactly_once(rows.select("value", "source"), batch, **told)

    def copied(group: str, start: str) -> None:
        stream = query.rows(group, startingOffsets=start).writeStream.foreachBatch(write)
        stream = stream.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True)
        stream.start().awaitTermination()

    query.filled = Filled()
    with pytest.raises(StreamingQueryException, match=r"^.*under copier, and kafka.group.id of the source is so"):
        copied("source", "latest")
    copied("copier", "latest")
    query.fill_more()
    copied("copier", "latest")
    query.forget_checkpoint()
    copied("source", "earliest")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


@pytest.mark.parametrize(
    "hidden",
    [
        lambda rows: rows.localCheckpoint(),
        lambda rows: rows.sparkSession.createDataFrame(rows.collect(), rows.schema),
    ],
    ids=["localCheckpoint", "collect"],
)
def test_rows_whose_plan_is_hidden_are_refused_by_source(
    query: Query, hidden: "Callable[[DataFrame], DataFrame]"
) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        counted = hidden(rows).groupBy().agg(F.expr("string(count(*))").alias("value"), F.min("source").alias("source"))
        exactly_once(counted, batch, **told)

    stream = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
    with pytest.raises(StreamingQueryException, match="does not show that its rows come from those of the micro-batch"):
        stream.trigger(availableNow=True).start().awaitTermination()


def test_two_addresses_of_one_cluster_are_one_cluster(query: Query) -> None:
    written(query, query.rows(), **{"kafka.bootstrap.servers": query.bootstrap.replace("127.0.0.1", "localhost")})
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


def test_a_write_in_another_thread_is_refused(query: Query) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        with ThreadPoolExecutor() as threads:
            threads.submit(wrapped(lambda: exactly_once(rows.select("value", "source"), batch, **told))).result()

    wrapped = inheritable_thread_target(query.spark)
    stream = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
    with pytest.raises(StreamingQueryException, match="this is another thread than that of the function"):
        stream.trigger(availableNow=True).start().awaitTermination()


def test_a_name_does_not_make_another_output_the_same_write(query: Query) -> None:
    def copied(topic: str, checkpoint: str) -> None:
        rows = query.rows().writeStream.format("zombieproof").options(**query.kafka, topic=topic, name="copy")
        rows = rows.option("checkpointLocation", str(query.folder / checkpoint))
        rows.trigger(availableNow=True).start().awaitTermination()

    copied("output", "one")
    with pytest.raises(TakenGroup, match=r"sink output/copy, .*, sink other/copy\. "):
        copied("other", "two")


def test_topics_may_be_added_to_a_query_and_are_not_silently_left_out(query: Query) -> None:
    def copied(topics: str, **options: str) -> None:
        told = {**query.kafka, "includeSource": "true", "startingOffsets": "earliest", **options}
        written(query, query.spark.readStream.format("zombieproof").options(**told, subscribe=topics).load())

    copied("input")
    added = fill(query.bootstrap, "other", 3, 30).committed
    copied("input,other")
    expected = Counter(query.filled.committed + added)
    assert read_back(query.bootstrap, "output") == expected
    with pytest.raises(StreamingQueryException, match=r"input-0.* is deleted or no longer named by the options"):
        copied("other")
    copied("other", failOnDataLoss="false")
    assert read_back(query.bootstrap, "output") == expected
