"""A farm on Spark: each task of explorations is a task of Spark, and what is found is a DataFrame.

One exploration is never spread over tasks. Every task is a job of its own in Spark, so that a result is here when its
task ends, and a task that Spark gives up (four attempts on a cluster, one in `local[n]`) takes no other along. A task
that Spark runs twice gives the same results; the first counts. Executors need the same zombieproof as the driver, and
files of one's own on storage that they see; what was compiled is kept on each of them (ZOMBIEPROOF_CACHE_DIR).

The schema of the results is `zombieproof.farm.found.SCHEMA`: `columns()` tells it as Spark does.
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Generator, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from zombieproof.farm.expanding import jobs_of
from zombieproof.farm.exploring import Limits, Watch, explore
from zombieproof.farm.found import SCHEMA, Entry, Found, failure, row_of
from zombieproof.farm.plan import Plan, load_plan
from zombieproof.farm.runners import Runner
from zombieproof.farm.running import run
from zombieproof.farm.store import Store
from zombieproof.farm.tasks import Task
from zombieproof.pipeline.own_session import EXTRA, NoSpark, first_words, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_AT_A_TIME: Final = 64
"""How many tasks are handed to Spark before the first is done; it runs as many of them as there is room for."""
_TYPES: Final = {
    "string": "string",
    "long": "bigint",
    "double": "double",
    "boolean": "boolean",
    "counts": "map<string,bigint>",
}


def columns() -> str:
    """The schema of the results as Spark's DDL: "scenario string, rules string, ..."."""
    return ", ".join(f"{column.name} {_TYPES[column.kind]}" for column in SCHEMA)


def results(
    spark: SparkSession,
    plan: Plan | Path | str,
    folder: Path | str | None = None,
    *,
    memory_bytes: int | None = None,
    fresh: bool = False,
) -> DataFrame:
    """Run a farm on Spark; a row for each exploration, with the columns of `SCHEMA`.

    The explorations are made before this returns: the DataFrame holds what was found, and computes nothing again.

    Args:
        spark: a session with a SparkContext (not Spark Connect).
        plan: a plan, or the YAML file that it is in.
        folder: where the driver keeps each result, and from where a farm that was stopped goes on; nowhere by default.
        memory_bytes: the limit of memory of an exploration's process.
        fresh: take nothing from the folder.

    Raises:
        PlanFault: the plan cannot be.
        NoSpark: the session has no SparkContext.
        KeyboardInterrupt: somebody interrupted it; what was found is in the folder.
        OSError: a result cannot be kept.
    """
    jobs = jobs_of(plan if isinstance(plan, tuple) else load_plan(plan))
    store = None if folder is None else Store(Path(folder))
    runner = on_spark(spark, Limits(memory_bytes=memory_bytes))
    harvest = run(jobs, runner, store, memory_bytes=memory_bytes, fresh=fresh)
    if harvest.interrupted:
        raise KeyboardInterrupt
    return frame(spark, harvest.entries)


def frame(spark: SparkSession, entries: Iterable[Entry]) -> DataFrame:
    """What was found as a DataFrame, a row for each exploration."""
    return spark.createDataFrame([tuple(row_of(entry).values()) for entry in entries], columns())


def write_parquet(entries: Iterable[Entry], path: Path) -> None:
    """Write what was found as one Parquet file, with the columns of `SCHEMA`.

    Raises:
        NoSpark: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  # optional
        import pyarrow.parquet as pq  # noqa: PLC0415  # optional
    except ImportError as error:
        raise NoSpark(f"Parquet needs pyarrow, which is not installed: {EXTRA}") from error
    types = {
        "string": pa.string(),
        "long": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "counts": pa.map_(pa.string(), pa.int64()),
    }
    schema = pa.schema([pa.field(c.name, types[c.kind], metadata={"meaning": c.meaning}) for c in SCHEMA])
    rows = [{**row, "bounds": list(_counts(row).items())} for row in map(row_of, entries)]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def _counts(row: dict[str, Any]) -> dict[str, int]:
    return dict(row["bounds"])


# ---------------------------------------------------------------- the runner


def on_spark(spark: SparkSession, limits: Limits, watch: Watch | None = None) -> Runner:
    """A runner whose tasks are tasks of Spark.

    Raises:
        NoSpark: the session has no SparkContext, as with Spark Connect.
    """
    try:
        context = spark.sparkContext
    except Exception as error:
        raise NoSpark("a farm needs a session with a SparkContext; Spark Connect has none") from error
    sharing = int(context.getConf().get("spark.executor.cores", "0") or 0) or _local_cores(context)
    limits = Limits(limits.workers, limits.memory_bytes, sharing)

    def run_all(tasks: Sequence[Task]) -> Generator[Found, None, None]:
        yield from _Handed(spark, tasks, limits, watch).run()

    return run_all


def on_master(master: str, limits: Limits, watch: Watch | None = None) -> Runner:
    """A runner on a master such as "local[2]": a session is begun when there is something to explore.

    What it gives raises NoSpark where Spark cannot be used.
    """

    def run_all(tasks: Sequence[Task]) -> Generator[Found, None, None]:
        yield from on_spark(session(master, "zombieproof farm"), limits, watch)(tasks)

    return run_all


def _local_cores(context: Any) -> int:
    return int(context.defaultParallelism) if str(context.master).startswith("local") else 1


class _Handed:
    """Tasks in the hands of Spark: threads of the driver hand over one after the other and wait for it."""

    def __init__(self, spark: SparkSession, tasks: Sequence[Task], limits: Limits, watch: Watch | None) -> None:
        self.spark, self.tasks, self.watch = spark, tasks, watch
        self.context = context = spark.sparkContext
        self.group = f"zombieproof farm {uuid.uuid4()}"
        self.rdd = context.parallelize(list(tasks), len(tasks)).flatMap(partial(_explore_all, limits=limits))
        self.numbers = iter(range(len(tasks)))
        self.lock = threading.Lock()
        self.done: queue.Queue[list[Found]] = queue.Queue()
        self.is_over = False

    def run(self) -> Generator[Found, None, None]:
        from pyspark import inheritable_thread_target  # noqa: PLC0415  # optional

        hand_over = inheritable_thread_target(self.spark)(self._hand_over)
        count = min(_AT_A_TIME, len(self.tasks))
        threads = [threading.Thread(target=hand_over, name=f"farm-{n}", daemon=True) for n in range(count)]
        try:
            for thread in threads:
                thread.start()
            for _ in self.tasks:
                yield from self.done.get()
        finally:
            self.is_over = True
            self.context.cancelJobGroup(self.group)

    def _hand_over(self) -> None:
        self.context.setJobGroup(self.group, "zombieproof farm", interruptOnCancel=True)
        while not self.is_over:
            with self.lock:
                number = next(self.numbers, None)
            if number is None:
                return
            task = self.tasks[number]
            if self.watch is not None:
                self.watch(task[0], None)
            try:
                found = self.context.runJob(self.rdd, list, [number])
            except Exception as error:  # noqa: BLE001  # whatever Spark says, the other tasks go on
                found = [failure(job, f"Spark gave the task up: {first_words(error)}") for job in task]
            self.done.put(found)


def _explore_all(task: Task, limits: Limits) -> list[Found]:
    """What a worker of Spark does."""
    return [explore(job, limits) for job in task]
