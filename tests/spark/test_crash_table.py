"""Every failure of Spark's drivers and tasks: exact for both modes, and never for the sink that is wrong.

Faults strike in the warm session, and the query is started again, as after a crash; `test_kills.py` kills for real.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

from pyspark.errors import StreamingQueryException

from tests.pipeline.topics import messages
from tests.spark.faulty import ALL_WRITTEN, COMMITTED, NOT_WRITTEN, OPEN, OTHER_MODE, OUTAGE, WRITTEN, ZOMBIE
from tests.spark.queries import OUTAGE_MS, Query

GOOD = ("batch", "partition")
SINKS = (*GOOD, "naive")


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path) -> Callable[..., Query]:
    return lambda **changed: Query(spark, broker, tmp_path, **changed).begin()


def crash(query: Query, point: str) -> None:
    with pytest.raises(StreamingQueryException):
        query.run(point)


def replayed_after_the_commit(query: Query) -> None:
    query.run()
    assert query.newest("offsets") == query.newest("commits") > 0
    query.forget_commit()
    query.run()


def two_drivers(query: Query) -> None:
    """The second finishes everything; then the first one goes on, from the same checkpoint as it was."""
    crash(query, ALL_WRITTEN)
    first = query.folder / "of-the-first"
    shutil.copytree(query.checkpoint, first)
    query.run()
    query.run(checkpoint=first)


def lost_checkpoint(most: int) -> Callable[[Query], None]:
    def run(query: Query) -> None:
        crash(query, COMMITTED if query.sink != "partition" else ALL_WRITTEN)
        query.forget_checkpoint()
        query.most = most
        query.run()

    return run


def expired(*, with_checkpoint: bool) -> Callable[[Query], None]:
    def run(query: Query) -> None:
        query.run()
        query.forget_positions()
        (query.forget_commit if with_checkpoint else query.forget_checkpoint)()
        query.run()

    return run


def again(point: str) -> Callable[[Query], None]:
    def run(query: Query) -> None:
        crash(query, point)
        assert query.newest("offsets") == query.newest("commits") + 1
        query.run()

    return run


def zombie(point: str = ZOMBIE) -> Callable[[Query], None]:
    """Another did the same while it was in its transaction; ours is fenced, and the naive one commits as well."""

    def run(query: Query) -> None:
        if query.sink == "naive":
            query.run(ZOMBIE)
        else:
            with pytest.raises(StreamingQueryException, match="another producer has taken the transactional id"):
                query.run(point)
            query.run()

    return run


TABLE: dict[str, Callable[[Query], None]] = {
    "driver dies before write": again(NOT_WRITTEN),
    "driver dies after all tasks": again(ALL_WRITTEN),
    "driver dies inside commit": again(OPEN),
    "driver dies after commit, before the commit log": replayed_after_the_commit,
    "commit raises though it took effect": again(COMMITTED),
    "task fails after writing": again(WRITTEN),
    "zombie": zombie(),
    "zombie in the other mode": zombie(OTHER_MODE),
    "two drivers": two_drivers,
    "checkpoint lost, larger batches": lost_checkpoint(300),
    "checkpoint lost, smaller batches": lost_checkpoint(20),
    "outage longer than the time-out": again(OUTAGE),
    "positions expire, the newest batch is repeated": expired(with_checkpoint=True),
    "positions expire, checkpoint lost": expired(with_checkpoint=False),
}


OF_ONE_MODE = {
    "batch": {
        "driver dies before write",
        "commit raises though it took effect",
        "checkpoint lost, larger batches",
        "positions expire, checkpoint lost",
    },
    "partition": {
        "driver dies after all tasks",
        "task fails after writing",
        "checkpoint lost, smaller batches",
        "positions expire, the newest batch is repeated",
    },
}
IN_CI = {
    "batch": set(TABLE)
    - OF_ONE_MODE["partition"]
    - {"driver dies inside commit", "outage longer than the time-out", "two drivers"},
    "partition": set(TABLE)
    - OF_ONE_MODE["batch"]
    - {"driver dies after commit, before the commit log", "zombie in the other mode", "zombie"},
    "naive": {"driver dies inside commit"},
}
"""The rows that CI takes of each sink; `deep` takes all."""
CASES = [
    pytest.param(sink, failure, marks=[] if failure in IN_CI[sink] else [pytest.mark.deep])
    for sink in SINKS
    for failure in TABLE
]


@pytest.mark.parametrize(("sink", "failure"), CASES)
def test_output_is_exact_but_for_the_naive_sink(query: Callable[..., Query], sink: str, failure: str) -> None:
    under_test = query(sink=sink)
    TABLE[failure](under_test)
    if sink == "naive":
        under_test.broker.advance(OUTAGE_MS)  # what a task left open that Spark has ended hides rows behind it
    wrong = under_test.wrong()
    if sink == "naive":
        assert "doubled" in wrong, "the negative control is exact: this row would not notice anything"
    else:
        assert not wrong


@pytest.mark.long("[batch]")
@pytest.mark.parametrize("sink", GOOD)
def test_a_batch_that_was_written_is_not_sent_again(query: Callable[..., Query], sink: str) -> None:
    under_test = query(sink=sink)
    under_test.run()
    before = [(each.partition(), each.offset()) for each in everything(under_test)]
    under_test.forget_commit()
    under_test.run()
    assert [(each.partition(), each.offset()) for each in everything(under_test)] == before


def everything(query: Query) -> list[Any]:
    return messages(query.bootstrap, "output", "read_uncommitted")


def test_without_a_fault_all_three_are_exact(query: Callable[..., Query]) -> None:
    under_test = query(sink="naive")
    under_test.run()
    assert not under_test.wrong()
