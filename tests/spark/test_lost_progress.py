"""Job groups, second writes, and lost checkpoints, groups and progress topics: no row is lost or written twice."""

import contextlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from tests.pipeline.topics import delete_topic, make_topics, read_back
from tests.spark.queries import Query
from tests.spark.test_sink import written
from zombieproof.pipeline import exactly_once
from zombieproof.pipeline.kafka import client
from zombieproof.pipeline.spark import starting
from zombieproof.pipeline.spark.positions import TakenGroup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path) -> Query:
    made = Query(spark, broker, tmp_path).begin()
    make_topics(made.bootstrap, other=3)
    return made


def test_a_job_group_of_the_user_is_no_run_of_a_query(query: Query) -> None:
    """Notebooks set one for each cell; a function may set one for its jobs, and it lasts for the whole run."""

    def ranged(first: int, past: int) -> None:
        bounds = {"startingOffsets": first, "endingOffsets": past}
        read = query.spark.read.format("zombieproof").options(**query.kafka, subscribe="input", includeSource="true")
        rows = read.options(**{name: f'{{"input":{{"0":{at},"1":{at},"2":{at}}}}}' for name, at in bounds.items()})
        rows = rows.load().select("value", "source").write.format("zombieproof")
        rows.options(**query.kafka | {"kafka.group.id": "ranges"}, topic="other").mode("append").save()

    def write(rows: "DataFrame", batch: int) -> None:
        runs.add(starting._running_here().run)  # type: ignore[union-attr]
        context.setJobGroup("rows", "rows of the user")
        told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": "copier", "topic": "output"}
        exactly_once(rows.select("value", "source"), batch, **told)

    context, runs = query.spark.sparkContext, set[str]()
    context.setJobGroup("cell-1", "a cell of a notebook")
    try:
        ranged(10, 15)
        with pytest.raises(AnalysisException, match=r"its position only says that rows from 1\d on were written"):
            ranged(0, 10)
        stream = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
        started = stream.trigger(availableNow=True).start()
        started.awaitTermination()
        assert context.getLocalProperty("spark.jobGroup.id") == "cell-1"
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert runs == {started.runId}
    assert query.newest("commits") > 0, "there are several micro-batches"
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


def test_a_write_in_a_function_that_does_not_tell_its_micro_batch_is_refused(query: Query) -> None:
    def write(rows: "DataFrame", batch: int) -> None:
        rows.select("value", "source").write.format("zombieproof").options(**query.kafka, topic="output").mode(
            "append"
        ).save()

    stream = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
    with pytest.raises(StreamingQueryException, match=r"IllegalOption: sink: use exactly_once\(rows, batch, \.\.\.\)"):
        stream.trigger(availableNow=True).start().awaitTermination()
    assert not read_back(query.bootstrap, "output")


@pytest.mark.txn_faults(plan={}, allow=("no_input_is_committed_twice",))
def test_a_batch_query_restores_the_progress_topic_for_partitions_that_it_does_not_read(query: Query) -> None:
    def copied(assign: str) -> None:
        told = {**query.kafka, "progressTopic": "progress"}
        rows = query.spark.read.format("zombieproof").options(**told, assign=assign, includeSource="true").load()
        rows = rows.select("value", "source").write.format("zombieproof")
        rows.options(**told, topic="output").mode("append").save()

    copied('{"input":[0,1,2]}')
    delete_topic(query.bootstrap, "progress")
    copied('{"input":[0]}')
    query.forget_positions()
    copied('{"input":[1,2]}')
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)


@pytest.mark.parametrize(
    ("is_first", "is_called_without_rows"),
    [(False, True), (False, False), pytest.param(True, True, marks=pytest.mark.deep)],
    ids=["after the other", "after the other, and called for its rows alone", "before the other"],
)
def test_a_lost_checkpoint_does_not_skip_rare_rows_and_the_remedy_works(
    query: Query, is_first: bool, is_called_without_rows: bool, request: pytest.FixtureRequest
) -> None:
    """The source has the group of the frequent rows. The rare write has a lower position, or none."""

    def write(rows: "DataFrame", batch: int) -> None:
        writes = [("rare", "rare", "value like 'rare%'"), ("copier", "output", "value not like 'rare%'")]
        for group, topic, condition in writes if is_first else reversed(writes):
            some = rows.selectExpr("string(value) as value", "source").where(condition)
            if topic == "output" or is_called_without_rows or not some.isEmpty():
                told = {"kafka_bootstrap_servers": query.bootstrap, "kafka_group_id": group, "topic": topic}
                exactly_once(some, batch, **told)
            if dies and topic == "output":
                raise ZeroDivisionError

    def copied(group: str = "copier", **options: str) -> None:
        stream = query.rows(group, subscribe="one", **options).writeStream.foreachBatch(write)
        stream.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True).start().awaitTermination()

    def put(*values: bytes) -> None:
        producer = client.Producer({"bootstrap.servers": query.bootstrap})
        for value in values:
            producer.produce("one", value)
        producer.flush(10)

    setting = "spark.sql.streaming.minBatchesToRetain"
    query.spark.conf.set(setting, "2")
    request.addfinalizer(lambda: query.spark.conf.unset(setting))
    make_topics(query.bootstrap, one=1, rare=1)
    dies: list[bool] = []
    put(*([b"rare 0"] if is_first or not is_called_without_rows else []), b"a")
    copied()
    put(b"rare 1", b"b")
    dies += [True] if not is_first else []
    with contextlib.suppress(StreamingQueryException):
        copied()
    dies.clear()
    query.forget_checkpoint()
    put(b"c", b"d", b"e", b"f", b"rare 2")
    with pytest.raises(StreamingQueryException, match=r"exactly_once: remove the new checkpoint, and give the source"):
        copied(maxOffsetsPerTrigger="1")
    query.forget_checkpoint()
    copied("third")
    rare = [b"rare 1", b"rare 2"] + ([b"rare 0"] if is_first or not is_called_without_rows else [])
    assert read_back(query.bootstrap, "rare") == Counter(rare)
    assert read_back(query.bootstrap, "output") == Counter([b"a", b"b", b"c", b"d", b"e", b"f"])


@pytest.mark.parametrize("is_a_function", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_a_batch_is_not_repeated_with_another_progress_topic_and_without_the_group(
    query: Query, is_a_function: bool
) -> None:
    def copied(topic: str) -> None:
        told = {"progressTopic": topic}
        rows = query.rows(**told).select("value", "source")
        if not is_a_function:
            written(query, rows, name="checkpoint", **told)
            return
        kafka = {name.replace(".", "_"): value for name, value in query.kafka.items()}
        stream = rows.writeStream.foreachBatch(
            lambda some, batch: exactly_once(some, batch, **kafka, topic="output", **told)
        )
        stream = stream.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True)
        stream.start().awaitTermination()

    query.most = 10_000
    written(query, query.rows("another"), **{"kafka.group.id": "another", "topic": "other", "progressTopic": "second"})
    copied("first")
    query.fill_more()
    copied("first")  # the first batch of a function is planned before the topic exists
    query.forget_commit()
    query.forget_positions()
    with pytest.raises(
        (TakenGroup, StreamingQueryException), match=r"set progressTopic=first for source and sink until"
    ):
        copied("second")
    copied("first")
    copied("second")
    assert read_back(query.bootstrap, "output") == Counter(query.filled.committed)
