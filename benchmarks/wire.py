"""How fast brokers are on the wire: `zombieproof serve` beside what is present of kfake and Apache Kafka.

    python benchmarks/wire.py [--seconds 20] [--rounds 1] [--quick] [--only NAME ...] [--write FILE] [--kafka-home DIR]
    make bench ARGS="wire --runs 1"

The load is confluent-kafka (librdkafka) with its own settings, on loopback, in this process; each broker is a process
of its own with its own settings, started empty, one after the other, and again in each round. Measured are, for
`--seconds` each after a warm-up of a tenth: committed transactions of one message, by one producer and by 16 (each
with a transactional id and a partition of its own, in a thread of its own); records of 100 bytes, 1,000 in a
transaction, by one producer to one partition; and the same records read back with read_committed.

Told are: how many in a second of the clock; microseconds of the CPU, of all threads of the broker's process, for each
(which other work on the machine changes less); the most memory it had at the end. Ratios are those of the rates in
this run, ours against each other broker. Kafka syncs nothing unless told: `Kafka fsync` is one with
``log.flush.interval.messages=1``. What cannot be run here is told as not run, with the reason.
"""

import argparse
import importlib.util
import os
import platform
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wire_brokers import KafkaJars, NotHere, Standing, Subject, kafka, kfake, ours

from zombieproof.report.pages import table, write_page

VALUE = b"v" * 100
BATCH_RECORDS = 1_000
MOST_AT_ONCE = 10_000
PRODUCERS = 16
SECONDS = 20.0
PATIENCE_S = 60.0
WARM_UP = 0.1
QUIET = {"log_level": 3}
"""Only errors are told."""
ONE, MANY, WRITTEN, READ = "transactions/s, 1 producer", f"transactions/s, {PRODUCERS} producers", "written", "read"
WORKS = (ONE, MANY, f"records/s {WRITTEN}", f"records/s {READ}")


class Rate(NamedTuple):
    """What was measured: how many a second, and CPU microseconds of the broker for each."""

    by_clock: float
    cpu_us: float


class Measured(NamedTuple):
    """One broker in one round: a rate for each of `WORKS`, and the most MiB that it had."""

    rates: dict[str, Rate]
    peak_mebibytes: float


# ---------------------------------------------------------------- the load


def measured(broker: Standing, seconds: float, work: Callable[[threading.Event], Callable[[], int]]) -> Rate:
    """Let work be done for so long, after a warm-up; `work` begins it, and returns what says how much is done."""
    over = threading.Event()
    done = work(over)
    try:
        time.sleep(seconds * WARM_UP)
        count, since, cpu = done(), time.perf_counter(), broker.cpu_seconds()
        time.sleep(seconds)
        count, took, cpu = done() - count, time.perf_counter() - since, broker.cpu_seconds() - cpu
    finally:
        over.set()
    return Rate(count / took, cpu / max(count, 1) * 1e6)


class Producers:
    """Producers in threads, each of which commits transactions of `records` records until it is over."""

    def __init__(self, broker: Standing, topic: str, producers: int, records: int) -> None:
        self._broker, self._topic, self._records = broker, topic, records
        self.counts = [0] * producers
        self._threads: list[threading.Thread] = []
        self._failed: list[BaseException] = []

    def __call__(self, over: threading.Event) -> Callable[[], int]:
        """Begin; returned is what says how many transactions were committed until now."""
        ready = threading.Barrier(len(self.counts) + 1)
        for index in range(len(self.counts)):
            self._threads.append(threading.Thread(target=self._run, args=(index, ready, over)))
            self._threads[-1].start()
        ready.wait(PATIENCE_S)
        return self._count

    def _count(self) -> int:
        if self._failed:
            raise self._failed[0]
        return sum(self.counts)

    def end(self) -> None:
        """Wait for all of them."""
        for thread in self._threads:
            thread.join()
        self._count()

    def _run(self, index: int, ready: threading.Barrier, over: threading.Event) -> None:
        try:
            producer = _clients().Producer(
                {"bootstrap.servers": self._broker.address, "transactional.id": f"{self._topic}-{index}", **QUIET}
            )
            producer.init_transactions(PATIENCE_S)
            ready.wait(PATIENCE_S)
            while not over.is_set():
                producer.begin_transaction()
                for _ in range(self._records):
                    producer.produce(self._topic, VALUE, partition=index)
                producer.commit_transaction(PATIENCE_S)
                self.counts[index] += 1
        except Exception as error:  # noqa: BLE001  # `end` raises it
            ready.abort()
            self._failed.append(error)


def transactions(broker: Standing, topic: str, producers: int, seconds: float) -> Rate:
    """Committed transactions of one message."""
    load = Producers(broker, topic, producers, records=1)
    try:
        return measured(broker, seconds, load)
    finally:
        load.end()


def written(broker: Standing, topic: str, seconds: float) -> tuple[Rate, int]:
    """Records in transactions of 1,000; and how many were written in all."""
    load = Producers(broker, topic, 1, BATCH_RECORDS)
    try:
        rate = measured(broker, seconds, load)
    finally:
        load.end()
    return Rate(rate.by_clock * BATCH_RECORDS, rate.cpu_us / BATCH_RECORDS), sum(load.counts) * BATCH_RECORDS


def read(broker: Standing, topic: str, count: int, seconds: float) -> Rate:
    """Those records from the first on, with read_committed, at most for so long."""
    kafka_clients = _clients()
    consumer = kafka_clients.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "readers",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            **QUIET,
        }
    )
    consumer.assign([kafka_clients.TopicPartition(topic, 0, 0)])
    try:
        found, since, cpu = 0, time.perf_counter(), broker.cpu_seconds()
        while found < count and time.perf_counter() - since < seconds:
            came = consumer.consume(min(MOST_AT_ONCE, count - found), 1.0)
            if not came and time.perf_counter() - since > PATIENCE_S:
                raise RuntimeError(f"{count - found} of {count} records are missing")
            for message in came:
                if message.error() is not None:
                    raise RuntimeError(str(message.error()))
            found += len(came)
        return Rate(found / (time.perf_counter() - since), (broker.cpu_seconds() - cpu) / max(found, 1) * 1e6)
    finally:
        consumer.close()


def _clients() -> Any:
    import confluent_kafka  # noqa: PLC0415  # what cannot be run is told without it

    return confluent_kafka


def _make_topics(broker: Standing) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic  # noqa: PLC0415  # as above

    admin = AdminClient({"bootstrap.servers": broker.address, **QUIET})
    topics = [NewTopic("transactions", PRODUCERS, 1), NewTopic("records", 1, 1)]
    for made in admin.create_topics(topics, operation_timeout=PATIENCE_S).values():
        made.result(10)


def measure(subject: Subject, folder: Path, seconds: float) -> Measured:
    """All works at one broker, which is started for them.

    Raises:
        NotHere: it cannot be started.
    """
    with subject.start(folder) as broker:
        _make_topics(broker)
        rates = {
            ONE: transactions(broker, "transactions", 1, seconds),
            MANY: transactions(broker, "transactions", PRODUCERS, seconds),
        }
        rates[WORKS[2]], count = written(broker, "records", seconds)
        rates[WORKS[3]] = read(broker, "records", count, seconds)
        return Measured(rates, broker.peak_mebibytes())


# ---------------------------------------------------------------- the table


def subjects(jars: KafkaJars) -> tuple[Subject, ...]:
    """Everything that may be measured."""
    return (ours("memory"), kfake(), ours("fsync"), kafka(jars, syncs=False), kafka(jars, syncs=True))


def measure_all(
    chosen: Sequence[Subject], seconds: float, rounds: int, folder: Path | None = None, page: Path | None = None
) -> None:
    """Measure, one broker after the other in each round, and print the table of medians; write it as a `page`."""
    try:
        version = _clients().libversion()[0]
    except ModuleNotFoundError:
        print(f"not run: confluent-kafka is not installed here ({sys.executable} -m pip install confluent-kafka)")
        return
    loop = "uvloop" if importlib.util.find_spec("uvloop") else "asyncio's own event loop"
    machine = (
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs, librdkafka {version}, {loop}"
    )
    print(machine)
    found: dict[str, list[Measured]] = {subject.name: [] for subject in chosen}
    for number in range(rounds):
        for subject in chosen:
            with tempfile.TemporaryDirectory(dir=folder) as name:
                try:
                    found[subject.name].append(measure(subject, Path(name), seconds))
                except NotHere as why:
                    print(f"{subject.name}: not run: {why}", flush=True)
                    continue
            told = ", ".join(f"{work} {rate.by_clock:,.0f}" for work, rate in found[subject.name][-1].rates.items())
            print(f"round {number + 1}: {subject.name}: {told}", flush=True)
    medians = {name: _median(each) for name, each in found.items() if each}
    _print(medians, seconds, rounds)
    if page is not None:
        print(f"\nwritten: {write_page(page, _page(medians, seconds, rounds, machine))}")


def _median(each: Sequence[Measured]) -> Measured:
    rates = {
        work: Rate(
            statistics.median(one.rates[work].by_clock for one in each),
            statistics.median(one.rates[work].cpu_us for one in each),
        )
        for work in WORKS
    }
    return Measured(rates, max(one.peak_mebibytes for one in each))


def _ratios(found: dict[str, Measured], name: str, work: str) -> str:
    """Of a broker of ours, to each other broker."""
    if not name.startswith("zombieproof"):
        return ""
    rate = found[name].rates[work].by_clock
    others = {other: one.rates[work].by_clock for other, one in found.items() if other != name}
    return ", ".join(f"{other} {rate / there:.2f}" for other, there in others.items() if there)


def _print(found: dict[str, Measured], seconds: float, rounds: int) -> None:
    print(f"\n{rounds} x {seconds:g} s each; CPU us: of the broker's process, for one transaction or record")
    for work in WORKS:
        print(f"\n{work:30} {'a second':>12} {'CPU us each':>12}  ratio to")
        for name, one in found.items():
            rate = one.rates[work]
            print(f"{name:30} {rate.by_clock:>12,.0f} {rate.cpu_us:>12,.1f}  {_ratios(found, name, work)}")
    print("\nmost memory, MiB")
    for name, one in found.items():
        print(f"{name:30} {one.peak_mebibytes:>12,.0f}")


_HEAD = """<!-- Generated by `python benchmarks/wire.py --write docs/speed.md`. -->
# How fast brokers are on the wire

`zombieproof serve` beside what was present of kfake and Apache Kafka, each a process of its own with its own settings,
started empty; the load is confluent-kafka with its own settings, on loopback. What is measured, and how, says
`python benchmarks/wire.py --help`. Kafka syncs nothing unless told: *Kafka fsync* is one that flushes after each
message. Broker and load share the cores of one machine, so rates say what it can do; microseconds of the broker's CPU
change less.
"""


def _page(found: dict[str, Measured], seconds: float, rounds: int, machine: str) -> str:
    """The same as a page."""
    parts = [_HEAD, f"{rounds} x {seconds:g} s for each rate. {machine}.\n"]
    for work in WORKS:
        rows = [
            (name, f"{one.rates[work].by_clock:,.0f}", f"{one.rates[work].cpu_us:,.1f}", _ratios(found, name, work))
            for name, one in found.items()
        ]
        parts.append(f"## {work}\n\n{table(('broker', 'a second:', 'CPU µs each:', 'ratio to'), rows)}")
    memory = [(name, f"{one.peak_mebibytes:,.0f}") for name, one in found.items()]
    parts.append(f"## Most memory\n\n{table(('broker', 'MiB:'), memory)}")
    return "\n".join(parts)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each rate is measured (20)")
    parser.add_argument("--rounds", type=int, default=1, help="how often all brokers are measured, in turn (1)")
    parser.add_argument("--quick", action="store_true", help="2 seconds each: for a first look")
    parser.add_argument("--only", nargs="+", help="brokers whose names contain one of these words, in small letters")
    parser.add_argument("--folder", type=Path, help="a folder on the disk that is measured; a temporary one by default")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table as a page of Markdown as well")
    parser.add_argument("--kafka-home", type=Path, help="a folder of Kafka as it is distributed, with its libs")
    parser.add_argument("--kafka-classpath", help="Kafka's jars, as java takes them")
    parser.add_argument("--kafka-release", help="the release that Maven gets where neither is given (that of its pom)")
    asked = parser.parse_args()
    jars = KafkaJars(asked.kafka_classpath, asked.kafka_home, asked.kafka_release)
    words = asked.only or [""]
    chosen = [each for each in subjects(jars) if any(word in each.name.lower() for word in words)]
    if not chosen or asked.seconds <= 0 or asked.rounds < 1:
        parser.error(f"nothing to run; there are {', '.join(each.name for each in subjects(jars))}")
    measure_all(
        chosen, min(asked.seconds, 2.0) if asked.quick else asked.seconds, asked.rounds, asked.folder, asked.write
    )


if __name__ == "__main__":
    main()
