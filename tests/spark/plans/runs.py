"""Carries out a case: topics, queries, the fault, a last run to the end, and the judge.

Every driver of a case is this process: a driver that dies is a query whose sink raises at a point, and whose
transaction nobody ends or aborts (`dying`). `tests/spark/kills` kills processes at the same points.
"""

import json
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from confluent_kafka.admin import AdminClient, NewPartitions

from tests.pipeline.topics import CALL_S, make_topics, messages, producing, settle
from tests.spark.plans.dying import DIES, Fate, Mortal
from tests.spark.plans.grammar import STRUCTURES, Case, Pair, Structure, listed, variant, variant_rows
from tests.spark.plans.judge import EXACT, Difference, Verdict, difference, first_line, judged
from zombieproof.pipeline import exactly_once, register
from zombieproof.pipeline.spark import sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

PARTITIONS: Final = 2
ROWS: Final = 12
"""Of each topic, before the fault; as many come after it."""
WITHIN_S: Final = 240.0
BUSY: Final = "Python worker failed to connect back"
OTHER: Final = {"batch": "partition", "partition": "batch"}
ENDINGS: Final = (
    "another producer has taken",
    "committed by",
    "run the batch again",
    "Run the batch again",
    "Concurrent",
)
"""Errors that may end one of two drivers, or one whose broker was away; the last run shows whether all is exact."""


@contextmanager
def mortal(spark: "SparkSession", sink: type[Mortal]) -> "Iterator[None]":
    """Let sinks die at the points of `dying` while it lasts, those of `exactly_once` too."""
    with patch.object(sessions, "ZombieproofSource", sink):
        register(spark)
        yield
    register(spark)


@dataclass
class Run:
    """One case on its way.

    Attributes:
        most, cut, mode: options that may change between two runs.
        partitions: of the topics that are read.
        filled: the values that were committed.
        struck: whether the fault happened.
        gone: the rows of topics that were deleted.
    """

    case: Case
    spark: "SparkSession"
    bootstrap: str
    folder: Path
    restart: Callable[[], None]
    most: int
    cut: Mapping[str, str]
    mode: str
    partitions: int = PARTITIONS
    filled: Counter[str] = field(default_factory=Counter)
    struck: bool = True
    gone: dict[str, list[tuple[int, int, Pair]]] = field(default_factory=dict)

    @property
    def structure(self) -> Structure:
        """Of the plan."""
        return STRUCTURES[self.case.structure]

    @property
    def topics(self) -> dict[str, str]:
        """The topics that are read, by their names in the grammar."""
        return {name: f"in{self.case.seed}-{name}" for name in self.structure.topics}

    @property
    def outputs(self) -> list[str]:
        """The topics that are written."""
        return [f"out{self.case.seed}-{number}" for number in range(self.case.count)]

    @property
    def fates(self) -> list[Fate]:
        """What is to happen to the writes of each output."""
        return [Fate(self.case.group(number)) for number in range(self.case.count)]

    def begin(self) -> None:
        """Make the topics, and fill those that are read."""
        make_topics(self.bootstrap, **dict.fromkeys([*self.topics.values(), *self.outputs], PARTITIONS))
        self.fill(0)

    # ---------------------------------------------------------------- input

    def fill(self, part: int) -> None:
        """Write rows, committed ones with aborted ones between them."""
        for topic in self.topics.values():
            producer = producing(self.bootstrap, f"fill-{topic}")
            numbers = range(part * ROWS, (part + 1) * ROWS)
            for commits, some in ((True, numbers[:5]), (False, numbers[:3]), (True, numbers[5:])):
                producer.begin_transaction()
                for number in some:
                    value = f"{topic if commits else 'aborted'}:{number}{'z' * (number % 5)}"
                    key = None if number % 7 == 3 else f"k{number % (4 + 2 * part)}"
                    producer.produce(topic, value, key, partition=number % self.partitions)
                    self.filled[value] += commits
                assert producer.flush(CALL_S) == 0
                if commits:
                    producer.commit_transaction(CALL_S)
                else:
                    producer.abort_transaction(CALL_S)
            assert settle(self.bootstrap, topic, CALL_S) == 0

    def load(self, group: str) -> "Callable[..., DataFrame]":
        """What begins a `load()` under a group."""

        def load(name: str, most: int | None = None) -> "DataFrame":
            limit = self.most if most is None else most
            told = {"maxOffsetsPerTrigger": str(limit)} if limit else {}
            by_source = self.case.by == "source"
            made = (
                self.spark.readStream.format("zombieproof")
                .options(**self._kafka(group), **told, **self.cut, subscribe=self.topics[name])
                .options(startingOffsets="earliest", includeSource=str(by_source).lower())
                .load()
            )
            columns = ["coalesce(string(key), '-') as k", "string(value) as v"]
            return made.selectExpr(*columns, *(["source"] if by_source else []))

        return load

    def _kafka(self, group: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.bootstrap, "kafka.group.id": group}

    # ---------------------------------------------------------------- queries

    def queries(self) -> int:
        """How many queries the case has."""
        return 1 if self.case.is_foreach else self.case.count

    def checkpoint(self, query: int, driver: int = 0) -> Path:
        """Of a query."""
        return self.folder / f"checkpoint-{driver}-{query}"

    def start(self, query: int, driver: int = 0) -> Any:
        """Start a query of the case."""
        case = self.case
        sink = {"mode": self.mode, "exactlyOnceBy": case.by}
        # The source of foreachBatch begins under a group of its own: no write of it says how far the others are.
        frame = case.frame(self.spark, self.load(f"s{case.seed}" if case.is_foreach else case.group(query)))
        if case.is_foreach:
            writing = frame.writeStream.foreachBatch(self._write_each(sink))
        else:
            options = {**self._kafka(case.group(query)), **sink, "topic": self.outputs[query]}
            writing = as_written(variant(frame, query), case).writeStream.format("zombieproof").options(**options)
        return (
            writing.outputMode(self.structure.output_mode)
            .option("checkpointLocation", str(self.checkpoint(query, driver)))
            .trigger(availableNow=True)
            .start()
        )

    def _write_each(self, sink: Mapping[str, str]) -> "Callable[[DataFrame, int], None]":
        def write(rows: "DataFrame", batch: int) -> None:
            for number, output in enumerate(self.outputs):
                told = {"kafka_bootstrap_servers": self.bootstrap, "kafka_group_id": self.case.group(number)}
                exactly_once(as_written(variant(rows, number), self.case), batch, topic=output, **told, **sink)

        return write

    def run(self, driver: int = 0) -> str | None:
        """Run all queries to their ends, one after the other; why the first of them failed, None: none did."""
        for query in range(self.queries()):
            if (error := ended(partial(self.start, query, driver))) is not None:
                return error
        return None

    # ---------------------------------------------------------------- output

    def differences(self, *, may_be_cut_short: bool) -> list[Difference]:
        """What is not exact in the outputs."""
        inputs = {name: self.gone.get(topic, []) + self.committed(topic) for name, topic in self.topics.items()}
        assert sum((Counter(v for _, _, (_, v) in each) for each in inputs.values()), Counter()) == self.filled
        rows = self.case.rows({name: [pair for _, _, pair in each] for name, each in inputs.items()})
        made, is_there_any = [], False
        for number, output in enumerate(self.outputs):
            hidden = settle(self.bootstrap, output)
            found = Counter(text(*pair) for _, _, pair in self.committed(output))
            if rows is not None:
                expected = Counter(text(k, v) for k, v in variant_rows(rows, number))
            elif may_be_cut_short:
                expected = Counter(text(k, v) for k, v in variant_rows(every_count(inputs["a"], self.case), number))
            else:
                query = 0 if self.case.is_foreach else number
                batches = in_batches(inputs["a"], self.topics["a"], self.checkpoint(query))
                expected = Counter(text(k, v) for k, v in variant_rows(counts(batches, self.case), number))
            is_there_any = is_there_any or bool(expected)
            made.append(difference(found, expected, hidden))
        assert is_there_any, "a case that writes nothing shows nothing"
        return made

    def committed(self, topic: str) -> list[tuple[int, int, Pair]]:
        """Partition, offset, and key and value of each committed record."""
        return [
            (each.partition(), each.offset(), ((each.key() or b"-").decode(), each.value().decode()))
            for each in messages(self.bootstrap, topic)
        ]


def as_written(frame: "DataFrame", case: Case) -> "DataFrame":
    """A frame with the columns of a sink."""
    return frame.selectExpr("k as key", "v as value", *(["source"] if case.by == "source" else []))


def text(key: str, value: str) -> str:
    """A row for the judge."""
    return f"{key}={value}"


def ended(start: Callable[[], Any]) -> str | None:
    """Why a query failed; None: it did not."""
    try:
        with STARTING:
            query = start()
        if not query.awaitTermination(WITHIN_S):
            query.stop()
            return f"TimeoutError: the query had not ended after {WITHIN_S:g} s"
    except Exception as error:  # whatever a user would see is judged
        if BUSY in str(error):
            raise NotCarriedOut(BUSY) from error
        return f"{DIES}" if DIES in str(error) else first_line(error)
    return None


# ---------------------------------------------------------------- counts, which depend on the micro-batches


def in_batches(rows: Sequence[tuple[int, int, Pair]], topic: str, checkpoint: Path) -> list[list[Pair]]:
    """Rows by the micro-batches that the newest checkpoint planned."""
    begins, batches = dict[int, int](), list[list[Pair]]()
    while (log := checkpoint / "offsets" / str(len(batches))).exists():
        told = json.loads(log.read_text().splitlines()[2])[topic]
        ends = {int(partition): int(offset) for partition, offset in told.items()}
        batches.append([pair for at, offset, pair in rows if begins.get(at, 0) <= offset < ends.get(at, 0)])
        begins = ends
    return batches


def counts(batches: Sequence[Sequence[Pair]], case: Case) -> list[Pair]:
    """The rows of the aggregation: after each micro-batch the count of each key that was in it."""
    total, found = Counter[str](), list[Pair]()
    for batch in batches:
        now = Counter(k for k, _ in listed(batch, case.steps[0]))
        total += now
        found += [(k, f"{k}:{total[k]}") for k in now]
    return found


def every_count(rows: Sequence[tuple[int, int, Pair]], case: Case) -> list[Pair]:
    """Each count that there may be on the way, once."""
    total = Counter(k for k, _ in listed([pair for _, _, pair in rows], case.steps[0]))
    return [(k, f"{k}:{n + 1}") for k, count in total.items() for n in range(count)]


# ---------------------------------------------------------------- faults


STARTING: Final = threading.Lock()
"""Spark's Python session starts one query at a time."""


class NotCarriedOut(Exception):
    """The machine was too busy for Spark."""


class Ended(Exception):
    """An error that nobody injected: the product refused."""


def expect(error: str | None, *expected: str) -> None:
    """Go on after an error that belongs to the fault.

    Raises:
        Ended: it is another one.
    """
    if error == BUSY:
        raise NotCarriedOut(BUSY)
    if error is not None and not any(each in error for each in expected):
        raise Ended(error)


def dies(run: Run) -> None:
    """A run in which the driver dies at the point of the case, if its sink comes there."""
    for fate in run.fates:
        fate.decree(run.case.point, run.case.batch)
    expect(run.run(), DIES)
    run.struck = any(fate.has_come_true() for fate in run.fates)
    for fate in run.fates:
        fate.clear()


def change_sizes(run: Run) -> None:
    """Other micro-batches from now on, and other tasks."""
    run.most = run.case.limits[1]
    if run.cut:
        run.cut = {"minPartitions": "3"}


def no_fault(run: Run) -> None:
    expect(run.run())


def driver_dies(run: Run) -> None:
    dies(run)


def driver_dies_other_sizes(run: Run) -> None:
    dies(run)
    change_sizes(run)


def lost(run: Run) -> None:
    expect(run.run())
    _lose(run)


def dies_and_lost(run: Run) -> None:
    dies(run)
    _lose(run)


def _lose(run: Run) -> None:
    for query in range(run.queries()):
        shutil.rmtree(run.checkpoint(query), ignore_errors=True)
    change_sizes(run)


def older(run: Run) -> None:
    expect(run.run())
    _go_back(run, lambda: expect(run.run()))


def dies_and_older(run: Run) -> None:
    expect(run.run())
    _go_back(run, lambda: dies(run))


def _go_back(run: Run, meanwhile: Callable[[], None]) -> None:
    kept = run.folder / "kept"
    for query in range(run.queries()):
        shutil.copytree(run.checkpoint(query), kept / str(query))
    run.fill(2)
    meanwhile()
    for query in range(run.queries()):
        shutil.rmtree(run.checkpoint(query))
        shutil.copytree(kept / str(query), run.checkpoint(query))
    change_sizes(run)


def broker_restarted(run: Run) -> None:
    """The broker is killed and started again while the driver stands still at the point."""
    with standing_still(run) as errors:
        run.restart()
    expect(errors[0], *ENDINGS)


def stands_still(run: Run) -> None:
    """A driver with a checkpoint of its own reads and writes everything, while the first one stands still."""
    with standing_still(run) as errors:
        expect(run.run(driver=1), *ENDINGS)
    expect(errors[0], *ENDINGS)
    _keep_one(run)


@contextmanager
def standing_still(run: Run) -> "Iterator[list[str | None]]":
    """While it lasts the first driver stands still at the point of the case, if it comes there."""
    errors: list[str | None] = []
    for fate in run.fates:
        fate.decree(run.case.point, run.case.batch, stands_still=True)
    thread = threading.Thread(target=_noted, args=(errors, run))
    thread.start()
    while thread.is_alive() and not any(fate.has_come(0, lambda: False) for fate in run.fates):
        time.sleep(0.05)
    try:
        yield errors
    finally:
        for fate in run.fates:
            fate.go()
        thread.join(WITHIN_S)
        run.struck = any(fate.has_come_true() for fate in run.fates)
        for fate in run.fates:
            fate.clear()


def _noted(errors: list[str | None], run: Run, driver: int = 0) -> None:
    spark = run.spark
    spark._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)  # each thread has its own
    try:
        errors.append(run.run(driver))
    except NotCarriedOut:
        errors.append(BUSY)


def two_drivers(run: Run, *, other_mode: bool = False) -> None:
    """Two drivers with checkpoints of their own begin at once."""
    errors: list[str | None] = []
    second = replace(run, mode=OTHER[run.mode]) if other_mode else run
    threads = [
        threading.Thread(target=_noted, args=(errors, each, driver)) for driver, each in enumerate((run, second))
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WITHIN_S)
    for error in errors:
        expect(error, *ENDINGS)
    _keep_one(run)


def mode_changed(run: Run) -> None:
    """The next run is in the other mode."""
    dies(run)
    run.mode = OTHER[run.mode]


def partitions_added(run: Run) -> None:
    """The topics that are read have one partition more."""
    expect(run.run())
    admin = AdminClient({"bootstrap.servers": run.bootstrap})
    for each in admin.create_partitions(
        [NewPartitions(topic, PARTITIONS + 1) for topic in run.topics.values()]
    ).values():
        each.result(CALL_S)
    run.partitions += 1


def two_modes(run: Run) -> None:
    """Two drivers in different modes begin at once."""
    two_drivers(run, other_mode=True)


def positions_expired(run: Run) -> None:
    """The group is gone when Spark runs the newest micro-batch again."""
    expect(run.run())
    admin = AdminClient({"bootstrap.servers": run.bootstrap})
    for each in admin.delete_consumer_groups([run.case.group(0)]).values():
        each.result(CALL_S)
    commits = run.checkpoint(0) / "commits"
    newest = max(int(each.name) for each in commits.iterdir() if each.name.isdecimal())
    for name in (str(newest), f".{newest}.crc"):
        (commits / name).unlink(missing_ok=True)


def topic_created_again(run: Run) -> None:
    """The topic that is read is deleted, and another one of its name gets longer than the positions."""
    expect(run.run())
    admin = AdminClient({"bootstrap.servers": run.bootstrap})
    for topic in run.topics.values():
        run.gone[topic] = run.committed(topic)
        admin.delete_topics([topic], operation_timeout=CALL_S)[topic].result(CALL_S)
    make_topics(run.bootstrap, **dict.fromkeys(run.topics.values(), PARTITIONS))
    run.fill(2)


def _keep_one(run: Run) -> None:
    if not run.case.keeps:
        for query in range(run.queries()):
            shutil.rmtree(run.checkpoint(query), ignore_errors=True)
            if run.checkpoint(query, 1).exists():
                shutil.move(run.checkpoint(query, 1), run.checkpoint(query))


FAULTS: Final[Mapping[str, Callable[[Run], None]]] = {
    "none": no_fault,
    "driver dies": driver_dies,
    "driver dies, other trigger sizes": driver_dies_other_sizes,
    "checkpoint lost": lost,
    "driver dies, checkpoint lost": dies_and_lost,
    "older checkpoint": older,
    "driver dies, older checkpoint": dies_and_older,
    "broker restarted": broker_restarted,
    "two drivers at once": two_drivers,
    "one driver stands still while another finishes": stands_still,
    "mode changed": mode_changed,
    "partitions added": partitions_added,
    "two modes at once": two_modes,
    "positions expired": positions_expired,
    "topic created again": topic_created_again,
}


def carried_out(
    case: Case, spark: "SparkSession", bootstrap: str, restart: Callable[[], None], sink: type[Mortal] = Mortal
) -> Verdict:
    """Carry out a case, with this sink."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        opened.enter_context(mortal(spark, sink))
        run = Run(case, spark, bootstrap, folder, restart, case.limits[0], case.cut, case.mode)
        run.begin()
        error: str | None = None
        try:
            FAULTS[case.fault](run)
            run.fill(1)
            expect(run.run())
        except Ended as refused:
            error = str(refused)
        verdict = judged(run.differences(may_be_cut_short=error is not None), error)
        return verdict if run.struck or verdict.result != EXACT else Verdict(EXACT, "", struck=False)
