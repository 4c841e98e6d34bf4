"""Default names of sinks: the same for the same program, in any session and thread, and never that of another plan."""

import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812  # as all programs of Spark call it

from tests.spark.queries import Query
from zombieproof.pipeline import register
from zombieproof.pipeline.spark import starting
from zombieproof.pipeline.spark.active import LIMITS
from zombieproof.pipeline.spark.analyzed import name_of
from zombieproof.pipeline.spark.plans import UnsuitablePlan
from zombieproof.pipeline.spark.positions import TakenGroup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

NOBODY = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.group.id": "g"}
"""Brokers that are not there: nothing of a plan is asked of them."""
ZONE = "spark.sql.session.timeZone"


def rows(spark: "SparkSession", **options: str) -> "DataFrame":
    """What is read; its columns have other numbers each time."""
    told = {**NOBODY, "subscribe": "a", "includeSource": "true", **options}
    return (
        spark.readStream.format("zombieproof")
        .options(**told)
        .load()
        .selectExpr("string(value) value", "timestamp", "source")
    )


def selected(spark: "SparkSession", expression: str) -> str:
    """The name of a plan with that column."""
    return name_of(rows(spark).selectExpr(f"{expression} as value", "source"), "out")


def wide(spark: "SparkSession", last: int) -> "DataFrame":
    """A plan with more columns than Spark shows."""
    columns = [F.lit(number).alias(f"c{number}") for number in range(60)]
    return rows(spark).select("*", *columns, F.lit(last).alias("last")).select("value", "source", "last")


def in_a_thread(function: Callable[[], Any]) -> Any:
    """What a function returns in a thread of its own; it raises what the function raises."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except Exception as error:  # noqa: BLE001  # raised below
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


DIFFERENT = (
    ("value like '%#17%'", "value like '%#18%'", "value like '%17%'", "value like '%18%'"),
    ("value = 'id#1'", "value = 'id#22L'", "value = 'a#b'", "value in ('a', 'b')", "value in ('a, b')"),
    ("value = 'CTERelationRef 1'", "value = 'CTERelationRef 2'", r"value = 'a\nb'", "value = 'a b'"),
    ("value = 'StreamingRelationV2 1'", "value = 'StreamingRelationV2 2'", "value = '1'", "value = 1"),
    ("to_json(array(1, 2))", "to_json(array('1', '2'))", "to_json(array(1L, 2L))", "to_json(array('1, 2'))"),
    ("to_json(struct('1' a, 1 b))", "to_json(struct(1 a, '1' b))", "to_json(struct(null a, 1 b))"),
    ("case when value = 'a' then 'y ELSE z' end", "case when value = 'a' then 'y' else 'z' end"),
    ("from_json(value, 'a int', map('mode', '#1'))", "from_json(value, 'a int', map('mode', '#2'))"),
    ("to_json(from_json(value, '`a#1` int'))", "to_json(from_json(value, '`a#2` int'))"),
    ("named_struct('a.b', value, 'a', struct(value b)).`a.b`", "named_struct('a.b', value, 'a', struct(value b)).a.b"),
    ("exists(split(value, ','), x -> x = '#1')", "exists(split(value, ','), x -> x = '#2')"),
    tuple(f"value in (select string(id) from range(3) where string(id) = '#{each}')" for each in (1, 2)),
)
"""Plans that differ in literals."""


def test_plans_that_differ_in_literals_have_different_names(spark: "SparkSession") -> None:
    register(spark)
    for expressions in DIFFERENT:
        names = [[selected(spark, each) for each in expressions] for _ in range(2)]
        assert names[0] == names[1], expressions
        assert len(set(names[0])) == len(expressions), expressions


def test_options_of_a_batch_query_do_not_change_its_name(spark: "SparkSession") -> None:
    register(spark)

    def name(assign: str) -> str:
        read = spark.read.format("zombieproof").options(**NOBODY, assign=assign, includeSource="true").load()
        return name_of(read.select("value", "source"), "out")

    assert len({name('{"a":[0,1]}'), name('{"a":[0]}'), name('{"a":[0]}')}) == 1


def test_a_literal_that_looks_like_an_operator_needs_a_name(spark: "SparkSession") -> None:
    register(spark)
    with pytest.raises(UnsuitablePlan, match=r"looks like an operator of Spark .*; set option name"):
        selected(spark, r"value = '\nStreamingRelationV2 1'")


def test_the_time_zone_of_the_session_counts_where_the_plan_depends_on_it(spark: "SparkSession") -> None:
    register(spark)
    names: dict[str, list[str]] = {}
    dependent = (
        "string(timestamp)",
        "hour(timestamp)",
        "date_format(timestamp, 'HH')",
        "timestamp'2026-01-01 00:00:00'",
    )
    try:
        for zone in ("Asia/Tokyo", "Europe/Berlin"):
            spark.conf.set(ZONE, zone)
            names[zone] = [selected(spark, each) for each in ("value", "upper(string(source.offset))", *dependent)]
    finally:
        spark.conf.unset(ZONE)
    same = [one == other for one, other in zip(*names.values(), strict=True)]
    assert same == [True, True, *[False] * len(dependent)]


def test_options_of_a_source_with_several_lines_do_not_count(spark: "SparkSession") -> None:
    register(spark)
    names = {name_of(rows(spark, **{"kafka.ssl.ca.pem": f"--BEGIN\n{each}#1\n"}), "out") for each in "ab"}
    assert len(names) == 1


def test_functions_count_with_their_types_and_broadcasts(spark: "SparkSession") -> None:
    register(spark)

    def named(value: Any, kind: str = "int") -> str:
        function: Callable[[Any], Any] = lambda _: value.value  # noqa: E731  # PySpark reads the types of others
        return name_of(rows(spark).select(F.udf(function, kind)("value").alias("value"), "source"), "out")

    broadcast = spark.sparkContext.broadcast
    one, again, other = (broadcast({"a": each}) for each in (1, 1, 2))
    assert named(one) == named(again)
    assert len({named(one), named(other), named(one, "double")}) == 3
    large = [broadcast("x" * 2_000_000 + each) for each in "ab"]
    texts = [each.value for each in large]
    names = [
        name_of(rows(spark).select(F.udf(lambda _, text=text: text)("value")), "out") for text in (*texts, texts[0])
    ]
    assert names[0] == names[2] != names[1]


def test_a_function_that_cannot_be_told_from_others_needs_a_name(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(spark)
    module = ModuleType("holding")
    exec("rows = (each for each in 'ab')\ndef following(value): return next(rows)", vars(module))
    monkeypatch.setitem(sys.modules, "holding", module)
    made = rows(spark).select(F.udf(vars(module)["following"])("value").alias("value"), "source")
    told = {**NOBODY, "topic": "out", "checkpointLocation": str(tmp_path)}
    says = r"\Asink: Python function following cannot be told from another one \(.*generator.*\).*; set option name"
    with pytest.raises(UnsuitablePlan, match=says):
        made.writeStream.format("zombieproof").options(**told).start()


def test_names_are_the_same_in_any_session_and_thread(spark: "SparkSession") -> None:
    other = spark.newSession()
    for session in (spark, other, other):
        register(session)
    limits = [spark.conf.get(name) for name in LIMITS]
    frames = [wide(session, last) for session in (spark, other) for last in (1, 2)]
    names = [name_of(each, "out") for each in frames]
    assert names[:2] == names[2:]
    assert names[0] != names[1]
    assert in_a_thread(lambda: [name_of(each, "out") for each in frames]) == names

    found: dict[int, set[str]] = {0: set(), 1: set()}
    threads = [
        threading.Thread(
            target=lambda which=which: found[which].update(name_of(frames[which], "out") for _ in range(5))
        )
        for which in found
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {0: {names[0]}, 1: {names[1]}}
    assert [spark.conf.get(name) for name in LIMITS] == limits


def test_a_query_starts_in_any_thread_and_session_as_in_the_first(
    spark: "SparkSession",
    broker: "TestedBrokers | RealKafka",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = Query(spark, broker, tmp_path).begin()

    def run(session: "SparkSession", last: int, **more: str) -> None:
        told = {**query.kafka, "subscribe": "input", "startingOffsets": "earliest", "includeSource": "true"}
        made = session.readStream.format("zombieproof").options(**told).load()
        made = made.selectExpr("upper(string(value)) as value", "source").where(F.lit(last) > 0)
        sink = {**query.kafka, "topic": "output", "checkpointLocation": str(tmp_path / f"checkpoint-{last}"), **more}
        made.writeStream.format("zombieproof").options(**sink).trigger(availableNow=True).start().awaitTermination()

    other = spark.newSession()
    register(other)
    in_a_thread(lambda: run(spark, 1))
    shutil.rmtree(tmp_path / "checkpoint-1")
    run(other, 1)
    assert query.wrong() == ""
    with pytest.raises(TakenGroup):
        in_a_thread(lambda: run(other, 2))
    monkeypatch.setattr(starting, "name_of", lambda *_: pytest.fail("option name replaces it"))
    with pytest.raises(TakenGroup, match="sink output/other"):
        run(spark, 3, name="other")
