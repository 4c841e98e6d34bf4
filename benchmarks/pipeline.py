"""The pipeline beside Spark's own Kafka source and sink, which write at least once: the same brokers, one session.

    python benchmarks/pipeline.py [--rows 500000 5000000] [--rounds 5] [--defaults] [--quick] [--only NAME ...]
                                  [--write FILE]

Rows of 100 bytes in four partitions are copied from one topic into another, by ``Trigger.AvailableNow``: in
micro-batches of 500,000 (rows a second), and in small ones (the median of how long one takes). CPU seconds and the most
memory are those of driver, JVM and Python workers during a query, without the broker's. Memory is given for both halves
of the query's time, which shows whether it grows with the rows. The pairs take turns in each round; the first round
warms the JVM up, and is not counted. The broker that keeps everything in memory copies at most 1,000,000 rows.

Needed: Java 17, the extra `spark`, and the jars of Spark's connector (``make spark-connector`` gets them; else
``--jars FOLDER``). Without them ours are measured alone.
"""

import argparse
import contextlib
import itertools
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from wire_brokers import KafkaJars, NotHere, Standing, Subject, kafka, ours

from zombieproof.report.pages import table, write_page

ROOT = Path(__file__).resolve().parents[1]
JARS = ROOT / ".clients" / "spark-connector" / "lib"
BYTES = 100
PARTITIONS = 4
LARGE_ROWS = 500_000
"""In a micro-batch, about."""
SMALL_BATCHES = 20
SMALL_ROWS = 400
WAIT_S = 120.0
MEMORY = ours("memory")
MOST_IN_MEMORY = 1_000_000
ADVISED = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
}
"""Settings that docs/pipeline.md advises. They concern Python workers alone."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a sink, with what the sink is told."""

    name: str
    source: str
    sink: str
    told: dict[str, str]


BUILT_IN = Pair("Spark's own (at least once)", "kafka", "kafka", {})
OUR_SOURCE = Pair("zombieproof's source, Spark's own sink", "zombieproof", "kafka", {})
PAIRS = (
    BUILT_IN,
    OUR_SOURCE,
    Pair("zombieproof, mode batch", "zombieproof", "zombieproof", {"mode": "batch"}),
    Pair("zombieproof, mode partition", "zombieproof", "zombieproof", {"mode": "partition"}),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """One query: seconds of each micro-batch that had rows, CPU seconds of all of it, and the most memory (MiB).

    Memory is that of JVM and of Python, in the first half of the time and in the second.
    """

    batches: tuple[float, ...]
    rows: int
    cpu: float
    halves: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a pair: rows a second, CPU microseconds for a row, seconds of a small micro-batch.

    `jvm` and `python` are MiB in the first half of a query and in the second.
    """

    rate: float
    cpu_us: float
    small_s: float
    jvm: tuple[float, float]
    python: tuple[float, float]


# ---------------------------------------------------------------- topics


def make_topics(address: str, names: Sequence[str]) -> None:
    """Make topics."""
    from confluent_kafka.admin import AdminClient, NewTopic  # noqa: PLC0415  # an extra

    admin = AdminClient({"bootstrap.servers": address})
    for each in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        each.result(WAIT_S)


def drop_topic(address: str, name: str) -> None:
    """Delete a topic, so that outputs do not fill the memory or the disk."""
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415  # an extra

    admin = AdminClient({"bootstrap.servers": address})
    admin.delete_topics([name])[name].result(WAIT_S)


def fill(address: str, topic: str, rows: int) -> None:
    """Write rows in committed transactions."""
    import confluent_kafka  # noqa: PLC0415  # an extra

    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "transactional.id": f"fill-{topic}", "linger.ms": 20}
    )
    producer.init_transactions(WAIT_S)
    value, per_transaction = b"x" * BYTES, 50_000
    for first in range(0, rows, per_transaction):
        producer.begin_transaction()
        for number in range(first, min(rows, first + per_transaction)):
            while True:
                try:
                    producer.produce(topic, value, partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.01)
        producer.commit_transaction(WAIT_S)


def committed(address: str, topic: str) -> int:
    """How many rows readers of committed records find."""
    import confluent_kafka  # noqa: PLC0415  # an extra

    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "count",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    count, ended = 0, 0
    while ended < PARTITIONS:
        for message in consumer.consume(10_000, 0.5):
            if message.error() is None:
                count += 1
            elif message.error().name() == "_PARTITION_EOF":
                ended += 1
            else:
                raise RuntimeError(f"{topic} cannot be counted: {message.error()}")
    consumer.close()
    return count


# ---------------------------------------------------------------- queries


def session(folder: Path, jars: Path | None, more: Mapping[str, str]) -> Any:
    """A session as users have one: C2 on, two cores, 3 GB."""
    os.environ.update({"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable})
    from pyspark.sql import SparkSession  # noqa: PLC0415  # an extra, and after what it reads

    from zombieproof.pipeline import register  # noqa: PLC0415  # an extra

    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "OFF",
        **more,
    }
    if jars is not None:
        settings["spark.jars"] = ",".join(map(str, sorted(jars.glob("*.jar"))))
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def run(spark: Any, pair: Pair, broker: Standing, topics: tuple[str, str], most: int, checkpoint: Path) -> Seen:
    """Copy one topic into another, as far as it goes."""
    (source, target), address = topics, broker.address
    kafka_s = {"kafka.bootstrap.servers": address}
    own = {"kafka.group.id": target}
    told = {**kafka_s, "subscribe": source, "startingOffsets": "earliest"}
    told["maxOffsetsPerTrigger"] = str(most)
    if pair.source == "kafka":
        told["kafka.isolation.level"] = "read_committed"
    else:
        told |= {**own, "includeSource": "true"}
    columns = ["key", "value"] + (["source"] if pair.source == "zombieproof" else [])
    rows = spark.readStream.format(pair.source).options(**told).load().select(*columns)
    sink = {**kafka_s, **pair.told, "topic": target} | (own if pair.sink == "zombieproof" else {})
    before = cpu_seconds(broker)
    peak = Peak(broker)
    query = (
        rows.writeStream.format(pair.sink)
        .options(**sink)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    used, halves = cpu_seconds(broker) - before, peak.end()
    told_of = [each for each in query.recentProgress if each["numInputRows"]]
    batches = tuple(each["durationMs"]["triggerExecution"] / 1000 for each in told_of)
    return Seen(batches, sum(each["numInputRows"] for each in told_of), used, halves)


def processes(broker: Standing) -> list[psutil.Process]:
    """This one and all that it has started, but for the broker."""
    me = psutil.Process()
    return [each for each in (me, *me.children(recursive=True)) if each.pid != broker.process.pid]


class Peak(threading.Thread):
    """Looks ten times a second how much memory JVM and Python processes have that is not shared (MiB), from now on."""

    def __init__(self, broker: Standing) -> None:
        super().__init__(daemon=True)
        self._broker, self._is_over = broker, threading.Event()
        self._looks: list[tuple[float, float]] = []
        self.start()

    def run(self) -> None:
        """Look."""
        while not self._is_over.wait(0.1):
            total = [0.0, 0.0]
            for process in processes(self._broker):
                with contextlib.suppress(psutil.NoSuchProcess):
                    told = process.memory_info()
                    total[process.name() != "java"] += (told.rss - told.shared) / (1 << 20)
            self._looks.append((total[0], total[1]))

    def end(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the most of the JVM and of all Python processes together, in the first half and in the second."""
        self._is_over.set()
        self.join()
        half = len(self._looks) // 2
        return _most(self._looks[:half]), _most(self._looks[half:])


def _most(looks: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return max((each[0] for each in looks), default=0.0), max((each[1] for each in looks), default=0.0)


def cpu_seconds(broker: Standing) -> float:
    """Of the processes, ended ones included where the system tells it."""
    total = 0.0
    for process in processes(broker):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


# ---------------------------------------------------------------- measuring


def measure(
    subject: Subject, spark: Any, pairs: Sequence[Pair], rows: int, rounds: int, folder: Path
) -> dict[str, Result]:
    """All pairs at one broker, with one number of rows."""
    broker_folder = folder / "broker"
    broker_folder.mkdir()
    seen: dict[str, tuple[list[Seen], list[Seen]]] = {pair.name: ([], []) for pair in pairs}
    with subject.start(broker_folder) as broker:
        make_topics(broker.address, ["large", "small"])
        fill(broker.address, "large", rows)
        for _ in range(SMALL_BATCHES):
            fill(broker.address, "small", SMALL_ROWS)
        for number in range(rounds + 1):
            for index, pair in enumerate(pairs):
                large = _run(spark, pair, broker, "large", LARGE_ROWS, folder, f"{number}-{index}")
                if large.rows != rows or (count := committed(broker.address, f"large-{number}-{index}")) != rows:
                    raise SystemExit(
                        f"{pair.name}: {rows} rows were written, {large.rows} read, {count} are in the output"
                    )
                drop_topic(broker.address, f"large-{number}-{index}")
                small = _run(spark, pair, broker, "small", SMALL_ROWS, folder, f"{number}-{index}")
                if number:
                    seen[pair.name][0].append(large)
                    seen[pair.name][1].append(small)
                print(
                    f"round {number}: {subject.name}: {pair.name}: {rows / sum(large.batches):,.0f} rows/s, "
                    f"small {statistics.median(small.batches):.3f} s, MiB of JVM and Python "
                    + ", then ".join(f"{jvm:,.0f} + {python:,.0f}" for jvm, python in large.halves),
                    flush=True,
                )
    return {
        name: Result(
            statistics.median(rows / sum(each.batches) for each in large),
            statistics.median(each.cpu / rows * 1e6 for each in large),
            statistics.median(each for one in small for each in one.batches),
            *(
                (
                    statistics.median(each.halves[0][kind] for each in large),
                    statistics.median(each.halves[1][kind] for each in large),
                )
                for kind in (0, 1)
            ),
        )
        for name, (large, small) in seen.items()
    }


def _run(spark: Any, pair: Pair, broker: Standing, source: str, most: int, folder: Path, turn: str) -> Seen:
    target = f"{source}-{turn}"
    make_topics(broker.address, [target])
    return run(spark, pair, broker, (source, target), most, folder / f"checkpoint-{target}")


HEAD = """<!-- Generated by `python benchmarks/pipeline.py --write docs/pipeline-speed.md`. -->
# How fast the pipeline is

Rows of {bytes} bytes, copied from one topic into another on Spark, exactly once by the two modes of our sink, beside
Spark's own Kafka source and sink, which write at least once: the same brokers, one session, in turns. What is measured,
and how, says `python benchmarks/pipeline.py --help`. Aims at Kafka: 1.5 (mode batch) and 1.7 (mode partition) of the
rate of Spark's own pair, the sink alone at 0.8 of Spark's own sink, and a small micro-batch at most 0.2 s longer than
with our source and Spark's own sink. The session has the settings that [pipeline.md](pipeline.md) advises; they concern
Python workers alone. Driver, workers and broker share the cores of one machine.

"""


def page(found: dict[str, dict[str, Result]], machine: str) -> str:
    """The results as a page."""
    parts = [HEAD.format(bytes=BYTES), f"Medians. {machine}.\n"]
    for title, results in found.items():
        parts.append(f"\n## {title}\n\n{table(TITLES, _rows(results))}")
    return "".join(parts)


TITLES = (
    "source and sink",
    "rows/s:",
    "ratio:",
    "of Spark's own sink:",
    "CPU µs a row:",
    "JVM, MiB at most, both halves:",
    "Python, MiB at most, both halves:",
    "small micro-batch, s:",
    "more than Spark's own, s:",
    "than Spark's own sink, s:",
)


def _rows(results: dict[str, Result]) -> list[tuple[str, ...]]:
    base, same_source = results.get(BUILT_IN.name), results.get(OUR_SOURCE.name)
    return [
        (
            name,
            f"{each.rate:,.0f}",
            "" if base is None else f"{each.rate / base.rate:.2f}",
            "" if same_source is None or name == BUILT_IN.name else f"{each.rate / same_source.rate:.2f}",
            f"{each.cpu_us:,.1f}",
            f"{each.jvm[0]:,.0f}, {each.jvm[1]:,.0f}",
            f"{each.python[0]:,.0f}, {each.python[1]:,.0f}",
            f"{each.small_s:.3f}",
            "" if base is None else f"{each.small_s - base.small_s:+.3f}",
            "" if same_source is None or name == BUILT_IN.name else f"{each.small_s - same_source.small_s:+.3f}",
        )
        for name, each in results.items()
    ]


def _java() -> str:
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    return told[0] if told else "no Java"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[LARGE_ROWS, 5_000_000], help="rows that are copied (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (%(default)s)")
    parser.add_argument("--defaults", action="store_true", help="Spark's default settings, not those that are advised")
    parser.add_argument("--quick", action="store_true", help="50,000 rows, one round: for a first look")
    parser.add_argument("--only", nargs="+", default=[""], help="brokers whose names contain one of these words")
    parser.add_argument("--jars", type=Path, default=JARS, help="a folder with the jars of Spark's connector")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table as a page of Markdown as well")
    asked = parser.parse_args()
    sizes, rounds = ([50_000], 1) if asked.quick else (asked.rows, asked.rounds)
    subjects = [
        each
        for each in (MEMORY, kafka(KafkaJars(), syncs=False))
        if any(word.lower() in each.name.lower() for word in asked.only)
    ]
    if not subjects or min(sizes) < 1 or rounds < 1:
        parser.error("nothing to run; brokers are zombieproof memory and Kafka, rows and rounds from 1 on")
    jars = asked.jars if any(asked.jars.glob("*.jar")) else None
    if jars is None:
        print(f"Spark's own is not measured: {asked.jars} has no jars (make spark-connector gets them)")
    pairs = PAIRS if jars else tuple(each for each in PAIRS if each.sink != BUILT_IN.sink)
    found: dict[str, dict[str, Result]] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        spark = session(Path(name), jars, {} if asked.defaults else ADVISED)
        machine = (
            f"Spark {spark.version}, {_java()}, Python {platform.python_version()}, {platform.machine()}, "
            f"{os.cpu_count()} CPUs"
        )
        print(machine)
        for number, (rows, subject) in enumerate(itertools.product(sizes, subjects)):
            if subject is MEMORY and rows > MOST_IN_MEMORY:
                continue
            folder = Path(name) / str(number)
            folder.mkdir()
            try:
                results = measure(subject, spark, pairs, rows, rounds, folder)
                found[f"{subject.name}, {rows:,} rows, {rounds} rounds"] = results
            except NotHere as why:
                print(f"{subject.name}: not run: {why}")
        spark.stop()
    for broker, results in found.items():
        print(f"\n{broker}\n{table(TITLES, _rows(results))}")
    if asked.write is not None:
        print(f"written: {write_page(asked.write, page(found, machine))}")


if __name__ == "__main__":
    main()
