"""Positions of a group, compared with a query before it writes."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from zombieproof.pipeline.sink import Row

pytest.importorskip("confluent_kafka", reason="confluent-kafka, the client of the pipeline, is not installed")
pytest.importorskip("pyspark", reason="pyspark is not installed (extra `spark`): part of `make spark`")

import pyarrow as pa

from tests.pipeline.topics import forget_group
from zombieproof.pipeline.progress_topic import Progress
from zombieproof.pipeline.sink import Identity, deliver
from zombieproof.pipeline.sink.claims import Query
from zombieproof.pipeline.sink.rows import IllegalRows
from zombieproof.pipeline.spark import positions
from zombieproof.pipeline.spark.checkpoints import Beginning, Checkpoint
from zombieproof.pipeline.spark.options import SinkOptions, sink_options
from zombieproof.pipeline.spark.positions import Position, TakenGroup
from zombieproof.pipeline.spark.sink import deliver_partitions
from zombieproof.pipeline.spark.task_context import Attempt

pytestmark = pytest.mark.spark

PLACE = ("input", 0)
LOST = Identity("lost", 4, sink="output/1")


def options(bootstrap: str, group: str, progress_topic: str = "first") -> SinkOptions:
    told = {"kafka.bootstrap.servers": bootstrap, "kafka.group.id": group, "topic": "output"}
    return sink_options({**told, "progressTopic": progress_topic}, streaming=True)


@pytest.mark.parametrize(
    ("found", "continued", "before", "is_refused"),
    [
        ({PLACE: Position(3, LOST)}, {}, set(), True),
        ({PLACE: Position(5, LOST)}, {PLACE: "first"}, {"first"}, False),
        ({PLACE: Position(3, Identity("", 4))}, {PLACE: "first"}, set(), False),
        ({}, {PLACE: "first"}, {"first"}, True),
        ({}, {PLACE: "first"}, set(), False),
        ({}, {PLACE: "second"}, {"first", "second"}, False),
        ({}, {PLACE: "third"}, {"first"}, False),
        ({}, {}, {"first"}, False),
    ],
    ids=[
        "position below the beginning",
        "position there",
        "position of this query",
        "no position, after the write of the source's group",
        "no position, before the write of the source's group",
        "no position in the source's own group",
        "the source's group has no write",
        "the source began as it was told",
    ],
)
def test_a_write_that_lacks_records_below_the_beginning_is_refused(
    found: dict[Any, Position], continued: dict[Any, str], before: set[str], is_refused: bool
) -> None:
    begun = Beginning({PLACE: 5}, continued)
    if not is_refused:
        positions._refuse_skipped(options("127.0.0.1:1", "second"), begun, found, before)
        return
    with pytest.raises(TakenGroup, match=r"^exactly_once: remove .* source alone another .* startingOffsets=earliest"):
        positions._refuse_skipped(options("127.0.0.1:1", "second"), begun, found, before)


def test_a_batch_that_is_repeated_is_looked_for_in_the_progress_topic_of_its_plan(
    rows: "list[Row]", given: dict[str, Any]
) -> None:
    def check(progress_topic: str, *, is_finished: bool = False) -> None:
        checkpoint = Checkpoint("q", 1, is_finished, frozenset({given["group"]}), planned)
        positions.refuse_other_progress(options(bootstrap, given["group"], progress_topic), checkpoint)

    bootstrap, own = given["settings"]["bootstrap.servers"], Identity("q", 1, sink="output/1")
    deliver(rows[:4], **given, identity=own._replace(batch=0), query=Query("second"))
    deliver(rows, **given, identity=own, query=Query("first"))
    planned = {"first": _id_of(given, "first")}
    check("second")
    forget_group(bootstrap, given["group"])
    for another in ("second", "third"):  # one has older positions, and one does not exist
        with pytest.raises(TakenGroup, match=r"^sink: set progressTopic=first for source and sink until batch 1 "):
            check(another)
    check("first")
    check("second", is_finished=True)
    planned = {"first": "an id of a topic that was deleted"}
    check("second")


def test_a_task_that_gets_rows_of_others_names_the_mode_to_use() -> None:
    source = [{"topic": "input", "partition": 0, "offset": 3, "task": 8}]
    table = pa.table({"value": [b"a"], "source": source})
    attempt = Attempt("q", 0, 0, 0, 7)
    with pytest.raises(IllegalRows, match=r"that tasks 8 have read: use mode batch, .* Spark does not broadcast"):
        deliver_partitions(table, options("127.0.0.1:1", "g"), attempt, LOST)


def _id_of(given: dict[str, Any], topic: str) -> str:
    progress = Progress(given["settings"], given["group"], topic)
    progress.ask(())
    return progress.ids()[topic]
