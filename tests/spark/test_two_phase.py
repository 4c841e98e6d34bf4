"""The counterexamples of `spark_two_phase_sink` happen on real Spark; without them, and under crashes, it is exact.

Each test has the name of the mutant whose story it is (`zombieproof check spark_two_phase_sink --mutant NAME`).
"""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

from tests.spark.faulty import OUTAGE, ZOMBIE
from tests.spark.queries import Query
from tests.spark.two_phase import BETWEEN, TwoPhase
from zombieproof.checker.scenarios import SCENARIOS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from zombieproof.bridge.under_test import TestedBrokers


NOT_ASKED = "only_what_was_asked_to_commit_is_committed"
"""The judge of the brokers sees that one is to be aborted that is committed."""


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers", tmp_path: Path) -> Query:
    spark.dataSource.register(TwoPhase)
    return Query(spark, broker, tmp_path, most=1000).begin()


def run(query: Query, point: str = "", *, decides: bool = True, trusts_abort: bool = False) -> None:
    """Run until nothing is left, or until the fault ends it."""
    armed = query.folder / "armed"
    if point:
        armed.touch()
    decisions = {"decisions": str(query.folder / "decisions")} if decides else {}
    made = (
        query.rows()
        .selectExpr("upper(cast(value as string)) as value", "key", "source")
        .writeStream.format("two-phase")
        .options(**query.kafka, **decisions, topic="output", point=point, armed=str(armed))
        .option("trusts_abort", str(trusts_abort).lower())
        .option("kafka.transaction.timeout.ms", "60000")
        .option("checkpointLocation", str(query.checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    outage = threading.Thread(target=query._outlast, args=(armed,)) if point == OUTAGE else None
    if outage is not None:
        outage.start()
    try:
        made.awaitTermination()
    finally:
        if outage is not None:
            outage.join()
        for told in query.folder.glob("armed.*"):
            told.unlink()
    assert not armed.exists(), f"the fault {point!r} did not strike"


@pytest.mark.deep
def test_without_faults_it_is_exact(query: Query) -> None:
    run(query)
    assert query.wrong() == ""


def test_a_batch_that_is_decided_is_finished_by_the_next_driver(query: Query) -> None:
    with pytest.raises(StreamingQueryException):
        run(query, BETWEEN)
    assert "lost" in query.wrong()
    run(query)
    assert query.wrong() == ""


@pytest.mark.txn_faults(plan={}, allow=(NOT_ASKED,))
def test_end_without_a_decision(query: Query) -> None:
    with pytest.raises(StreamingQueryException):
        run(query, BETWEEN, decides=False)
    run(query, decides=False)
    assert "doubled" in query.wrong()


def test_a_prepared_transaction_times_out(query: Query) -> None:
    run(query, OUTAGE)
    assert "lost" in query.wrong()


def test_trust_the_abort(query: Query) -> None:
    with pytest.raises(StreamingQueryException):
        run(query, BETWEEN, trusts_abort=True)
    run(query, trusts_abort=True)
    assert "lost" in query.wrong()


def test_an_attempt_takes_the_id_again(query: Query) -> None:
    run(query, ZOMBIE)
    assert "lost" in query.wrong()


def test_the_checkpoint_is_lost(query: Query) -> None:
    run(query)
    query.forget_checkpoint()
    query.fill_more()
    run(query)
    assert "lost" in query.wrong()


def test_each_is_the_story_of_a_mutant() -> None:
    for mutant in SCENARIOS["spark_two_phase_sink"].mutants:
        assert callable(globals()[f"test_{mutant.name}"])
