"""Counterexamples that the checker finds happen on real Spark: a sink without the rule loses or doubles rows there too.

Each test has the name of the mutant whose story it is (`zombieproof check spark_batch_sink --mutant NAME`); those of
`spark_naive_sink` are rows of `test_crash_table.py`, and `test_kills.py` kills for them.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from tests.pipeline.topics import messages, read_back
from tests.spark.faulty import COMMITTED, ZOMBIE
from tests.spark.queries import Query
from tests.spark.wrong_sinks import Shuffled, Wrong
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.pipeline import exactly_once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from zombieproof.bridge.under_test import TestedBrokers

TOLD = {
    "look_up_before_fencing": "spark_batch_sink",
    "deliver_without_a_key": "spark_batch_sink",
    "commit_positions_outside_the_transaction": "spark_batch_sink",
    "begin_anew_without_a_checkpoint": "spark_batch_sink",
    "know_batches_by_number": "spark_identity_sink",
    "shuffle_before_the_sink": "spark_partition_sink",
}

TWICE = "no_input_is_committed_twice"
"""The judge of the brokers notices it as well."""


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers", tmp_path: Path) -> Query:
    for each in (Wrong, Shuffled):
        spark.dataSource.register(each)
    return Query(spark, broker, tmp_path).begin()


def run(query: Query, wrong: str, point: str = "") -> None:
    armed = query.folder / "armed"
    if point:
        armed.touch()
    made = (
        query.rows()
        .selectExpr("upper(cast(value as string)) as value", "key", "source")
        .writeStream.format("wrong")
        .options(**query.kafka, topic="output", wrong=wrong, point=point, armed=str(armed))
        .option("checkpointLocation", str(query.checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    made.awaitTermination()
    assert not armed.exists()


@pytest.mark.txn_faults(plan={}, allow=(TWICE,))
def test_look_up_before_fencing(query: Query) -> None:
    run(query, "look_up_before_fencing", ZOMBIE)
    assert "doubled" in query.wrong()


@pytest.mark.deep
@pytest.mark.txn_faults(plan={}, allow=(TWICE,))
def test_deliver_without_a_key(query: Query) -> None:
    run(query, "deliver_without_a_key")  # of the first micro-batch Spark does not keep where it began
    query.fill_more()
    with pytest.raises(StreamingQueryException):
        run(query, "deliver_without_a_key", COMMITTED)
    run(query, "deliver_without_a_key")
    assert "doubled" in query.wrong()


def test_commit_positions_outside_the_transaction(query: Query) -> None:
    run(query, "commit_positions_outside_the_transaction")
    query.fill_more()
    with pytest.raises(StreamingQueryException):
        run(query, "commit_positions_outside_the_transaction", COMMITTED)
    run(query, "commit_positions_outside_the_transaction")
    assert "lost" in query.wrong()


@pytest.mark.parametrize("group", ["copier", "another"])
def test_begin_anew_without_a_checkpoint(query: Query, group: str) -> None:
    """A source that does not begin where the sink's group is cuts batches of which a part is there already.

    A sink that is checked at the start refuses another group. Nothing is lost or doubled: the sink leaves out what is
    there; but the batch is in the output in two parts.
    """

    def began_with_what_is_there() -> int:
        before = len(messages(query.bootstrap, "output"))
        rows = query.rows(group).selectExpr("upper(cast(value as string)) as value", "key", "source")
        made = rows.writeStream.format("faulty").options(**query.kafka, topic="output", point="")
        made = made.option("armed", str(query.folder / "armed"))
        made = made.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True)
        running = made.start()
        running.awaitTermination()
        read = sum(each["numInputRows"] for each in running.recentProgress)
        return int(read) - (len(messages(query.bootstrap, "output")) - before)

    assert began_with_what_is_there() == 0
    query.forget_checkpoint()
    query.fill_more()
    query.most = 100_000
    left_out = began_with_what_is_there()
    assert query.wrong() == ""
    assert (left_out == 0) is (group == "copier")


@pytest.mark.deep
def test_know_batches_by_number(query: Query) -> None:
    """A new checkpoint numbers its batches from 0 again, under a query that is said to be the same: the rows differ.

    A sink that knows batches by number alone takes the first one for written; this one refuses it.
    """

    def write(rows: "DataFrame", batch: int) -> None:
        exactly_once(
            rows.selectExpr("upper(cast(value as string)) as value"),
            batch,
            kafka_bootstrap_servers=query.bootstrap,
            kafka_group_id="another",
            topic="output",
            exactlyOnceBy="batch",
            queryId="the same",
        )

    def numbered(most: int) -> Any:
        query.most = most
        made = query.rows().writeStream.foreachBatch(write).option("checkpointLocation", str(query.checkpoint))
        made.trigger(availableNow=True).start().awaitTermination()

    numbered(40)
    query.forget_checkpoint()
    before = read_back(query.bootstrap, "output")
    query.fill_more()
    with pytest.raises(StreamingQueryException, match="the committed position is of query the same"):
        numbered(300)
    assert read_back(query.bootstrap, "output") == before


@pytest.mark.deep
def test_shuffle_before_the_sink(query: Query) -> None:
    made = (
        query.rows()
        .repartitionByRange(2, "value")
        .selectExpr("upper(cast(value as string)) as value", "key", "source")
        .writeStream.format("shuffled")
        .options(**query.kafka, topic="output", mode="partition", point="", armed="")
        .option("kafka.transaction.timeout.ms", "10000")
        .option("checkpointLocation", str(query.checkpoint))
        .trigger(availableNow=True)
    )
    for _ in range(5):
        try:
            made.start().awaitTermination()
        except (
            StreamingQueryException
        ) as fenced:  # two tasks have rows of one partition, and take its id from each other
            assert "another producer has taken the transactional id" in str(fenced)  # noqa: PT017
        else:
            break
    assert "lost" in query.wrong()


def test_each_is_the_story_of_a_mutant() -> None:
    for mutant, scenario in TOLD.items():
        assert mutant in {each.name for each in SCENARIOS[scenario].mutants}
        assert callable(globals()[f"test_{mutant}"])
