"""The progress of a query has descriptions and metrics of source and sink, and they reach Spark's metrics system."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.streaming.listener import StreamingQueryListener, StreamingQueryProgress

from tests.spark.queries import Query
from tests.spark.test_sink import written
from zombieproof.pipeline.spark.options import sink_options
from zombieproof.pipeline.spark.progress import REPORTS, Counts, MetricsListener, behind_latest, report_counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

WAIT_S = 20.0
SETTINGS = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.group.id": "g", "topic": "output"}


@pytest.fixture
def query(spark: "SparkSession", broker: "TestedBrokers | RealKafka", tmp_path: Path) -> Query:
    return Query(spark, broker, tmp_path).begin()


class Heard(StreamingQueryListener):
    """A listener of a user, which keeps each progress."""

    def __init__(self) -> None:
        self.progress: list[Any] = []

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802  # Spark's name
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802  # Spark's name
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802  # Spark's name
        self.progress.append(event.progress)


@pytest.mark.parametrize("mode", ["batch", pytest.param("partition", marks=pytest.mark.deep)])
def test_progress_has_descriptions_metrics_and_lag(query: Query, mode: str) -> None:
    heard, rows = Heard(), len(query.filled.committed)
    query.spark.streams.addListener(heard)
    try:
        made = written(query, query.rows(), mode=mode)
        *_, last = shown = made.recentProgress
        assert sum(int(each.sink.metrics["rowsWritten"]) for each in shown) == rows
        assert sum(int(each.sink.metrics["transactions"]) for each in shown) >= (1 if mode == "batch" else 3)
        assert [last.sink.metrics[name] for name in ("rowsSkipped", "retries")] == ["0", "0"]
        assert last.sources[0].description == "zombieproof[subscribe=input; group=copier]"
        assert last.sink.description.startswith(f"zombieproof[topic=output; group=copier; mode={mode}; ")
        lags = [int(each.sources[0].metrics["offsetsBehindLatest"]) for each in shown]
        assert lags == sorted(lags, reverse=True)
        assert lags[-1] == 0
        assert '"rowsWritten"' in last.json
        until = time.monotonic() + WAIT_S
        while len(heard.progress) < len(shown) and time.monotonic() < until:
            time.sleep(0.05)
        assert [each.sink.metrics for each in heard.progress] == [each.sink.metrics for each in shown]
        assert heard.progress[0].sources[0].description == last.sources[0].description
    finally:
        query.spark.streams.removeListener(heard)


def test_rows_that_are_already_written_are_counted(query: Query) -> None:
    written(query, query.rows(), name="checkpoint")
    query.forget_commit()
    again = written(query, query.rows(), name="checkpoint").recentProgress[0]
    assert (again.sink.metrics["rowsWritten"], again.sink.metrics["transactions"]) == ("0", "0")
    assert int(again.sink.metrics["rowsSkipped"]) > 0


def test_the_numbers_reach_sparks_metrics_system(spark: "SparkSession") -> None:
    listener = MetricsListener(spark.sparkContext)
    counts = Counts(3, 2, 1, 4).as_metrics()
    source = {"metrics": {"offsetsBehindLatest": "7"}}
    event = SimpleNamespace(progress={"name": "orders", "sink": {"metrics": counts}, "sources": [source]})
    for _ in range(2):
        listener.onQueryProgress(event)
    told = {name: each.value() for name, each in listener._accumulators.items()}
    assert told == {
        "zombieproof.orders.rowsWritten": 6,
        "zombieproof.orders.rowsSkipped": 4,
        "zombieproof.orders.transactions": 2,
        "zombieproof.orders.retries": 8,
        "zombieproof.orders.offsetsBehindLatest": 7,
    }


@pytest.mark.parametrize(
    ("end", "latest", "says"),
    [
        ({"a": {"0": 5, "1": 7}}, {"a": {"0": 5, "1": 17}, "@ids": {"x": 0}}, ["0", "10", "5.0", "10"]),
        ('{"a": {"0": 5}}', '{"a": {"0": 9, "1": 2}}', ["2", "4", "3.0", "6"]),
        ({"a": {"0": 5}}, None, []),
        (None, {"a": {"0": 5}}, []),
        ({"a": {"0": 5}}, {"@ids": {"x": 0}}, []),
    ],
)
def test_the_lag_is_counted_in_offsets(end: Any, latest: Any, says: list[str]) -> None:
    assert list(behind_latest(end, latest).values()) == says


def progress_of(batch: int) -> Any:
    run = {"id": "00000000-0000-0000-0000-000000000001", "runId": "00000000-0000-0000-0000-000000000002"}
    sink = {"description": "ForeachBatchSink", "numOutputRows": -1}
    return StreamingQueryProgress.fromJson(
        {**run, "name": None, "timestamp": "", "batchId": batch, "batchDuration": 0, "stateOperators": []}
        | {"sources": [], "sink": sink}
    )


def test_counts_of_several_writes_add_up_and_a_lost_folder_is_no_error() -> None:
    run = "00000000-0000-0000-0000-000000000002"
    for folder in (REPORTS.address(run), "/nowhere/x"):
        options = sink_options({**SETTINGS, "zombieproof.report.to": folder}, streaming=True)
        for counts in (Counts(3, 0, 1, 0), Counts(0, 2, 0, 1)):
            report_counts(options, 1, counts)
    for _ in range(2):
        assert progress_of(1).sink.metrics == Counts(3, 2, 1, 1).as_metrics()
    assert progress_of(2).sink.metrics == {}
    assert not list(Path(REPORTS.address(run)).parent.glob(f"{run}*"))
