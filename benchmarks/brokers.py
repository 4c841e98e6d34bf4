"""How fast live brokers are, in requests per CPU second, with few and with many partitions; what they keep in memory.

One broker in this process, logs in memory. A produce is a batch with one record of an idempotent producer, acknowledged
by all. A transaction is one record with its Produce, its EndTxn, and everything that brokers say to each other for it.
Topics grow before the measurement: starting a broker is left out. For memory, the log of the partition keeps its newest
batches only, as retention would: what grows beside is the broker's. With --trace the same is measured once more while
the trace of the run is written to a file, and what is written.

    python benchmarks/brokers.py [--partitions 1 100 10000] [--seconds 3] [--runs 3] [--requests 1000000] [--trace]
"""

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX, Error

PARTITIONS = (1, 100, 10_000)
REQUESTS = 1_000_000
SECONDS = 3.0
HEADER = f"\n{'one broker':32} {'per CPU s':>14} {'spread':>19}"
SAMPLES = 10
KEPT_BATCHES = 1_000
ID = "orders"


class RetainedLog(MemoryLog):
    """A log in memory that drops its older half whenever it has twice as many batches as are kept."""

    def append(self, batch: Batch) -> Batch:
        """Keep `batch`, and not too many before it."""
        appended = super().append(batch)
        if len(self._batches) >= 2 * KEPT_BATCHES:
            self.raise_start(self._batches[-KEPT_BATCHES].base_offset)
        return appended


def retained(node: int, partition: TopicPartition) -> Store:
    """A store whose log does not grow."""
    return Store(RetainedLog(), MemorySnapshots())


def _cluster(partitions: int, journal: Journal | None = None) -> Cluster:
    few = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)
    return Cluster(1, settings=few, topics={"t": partitions}, open_store=retained, journal=journal)


def _init(cluster: Cluster, transactional_id: str | None) -> tuple[int, int]:
    granted = cluster.ask(InitProducerId(5, transactional_id, 60_000, NONE, NONE))
    assert isinstance(granted, InitProducerIdAnswer)
    assert granted.error == Error.NONE, granted
    return granted.producer_id, granted.producer_epoch


def _produce(
    cluster: Cluster, identity: tuple[int, int], sequence: int, at: TopicPartition, transactional_id: str | None
) -> None:
    records = (Record(None, b"0123456789"),)
    batch = Batch(*identity, sequence, transactional_id is not None, records, timestamp_ms=cluster.clock.now_ms())
    answer = cluster.ask(Produce(12, transactional_id, -1, {at: (SentBatch(batch),)}))
    assert isinstance(answer, ProduceAnswer)
    assert answer.partitions[at].error == Error.NONE, answer


def produces(cluster: Cluster, partitions: int) -> Iterator[None]:
    """One produce after the other, to one partition after the other."""
    identity, sequences = _init(cluster, None), [0] * partitions
    while True:
        for number in range(partitions):
            _produce(cluster, identity, sequences[number], ("t", number), None)
            sequences[number] = (sequences[number] + 1) & SEQUENCE_MAX
            yield


def transactions(cluster: Cluster, partitions: int) -> Iterator[None]:
    """One transaction after the other, in one partition after the other."""
    identity = _init(cluster, ID)
    while True:
        for number in range(partitions):
            _produce(cluster, identity, 0, ("t", number), ID)
            ended = cluster.ask(EndTxn(5, ID, *identity, True))
            assert isinstance(ended, EndTxnAnswer)
            assert ended.error == Error.NONE, ended
            identity = ended.producer_id, ended.producer_epoch
            yield


Work = Callable[[Cluster, int], Iterator[None]]
WORKS: dict[str, Work] = {"produces": produces, "transactions": transactions}


def _forget_journal(cluster: Cluster) -> None:
    """A cluster that keeps a journal whether one is wanted or not must not be measured by it."""
    with contextlib.suppress(AttributeError):
        cluster.journal.clear()  # type: ignore[attr-defined]  # only such a cluster's has this


def rate(work: Work, partitions: int, seconds: float, journal: Journal | None = None) -> float:
    """How many there are in a CPU second."""
    cluster = _cluster(partitions, journal)
    steps, done = work(cluster, partitions), 0
    next(steps)
    began = time.process_time()
    while (spent := time.process_time() - began) < seconds:
        next(steps)
        done += 1
        if done % 1000 == 0:
            _forget_journal(cluster)
    return done / spent


def measure(name: str, partitions: int, seconds: float, runs: int) -> str:
    """The line of one kind of work at a number of partitions."""
    rates = sorted(rate(WORKS[name], partitions, seconds) for _ in range(runs))
    name = f"{name}, {partitions:,} partitions"
    return f"{name:32} {statistics.median(rates):>14,.0f} {rates[0]:>9,.0f}-{rates[-1]:<9,.0f}"


def measure_traced(name: str, partitions: int, seconds: float, runs: int) -> str:
    """The same while the run's trace is written to a file; behind it the bytes of one unit of work."""
    rates, sizes = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.jsonl"
            with LiveTraceFile(path) as trace:
                rates.append(rate(WORKS[name], partitions, seconds, trace))
            sizes.append(path.stat().st_size / (rates[-1] * seconds))
    rates.sort()
    name = f"{name}, traced, {partitions:,} part."
    size = f"{statistics.median(sizes):>9,.0f} bytes each"
    return f"{name:32} {statistics.median(rates):>14,.0f} {rates[0]:>9,.0f}-{rates[-1]:<9,.0f} {size}"


def measure_memory(requests: int) -> Iterator[str]:
    """Lines of memory in use while `requests` produces are answered."""
    cluster, process = _cluster(1), psutil.Process()
    steps, began = produces(cluster, 1), time.process_time()
    for number in range(requests + 1):
        if number % max(1, requests // SAMPLES) == 0:
            memory = process.memory_info().rss / 2**20
            name = f"memory after {number:,} produces"
            yield f"{name:32} {memory:>10,.1f} MiB {time.process_time() - began:>9,.1f} CPU s"
        next(steps)


def main() -> None:
    """Print one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, nargs="+", default=PARTITIONS, help="numbers of partitions")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU seconds of each run (default 3)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each measurement (default 3)")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="produces for memory; 0: none (default 1000000)")
    parser.add_argument("--trace", action="store_true", help="measure with a trace of the run as well")
    arguments = parser.parse_args()
    if min(*arguments.partitions, arguments.runs, 1) < 1 or arguments.seconds <= 0 or arguments.requests < 0:
        parser.error("--partitions and --runs are at least 1, --seconds is above 0, --requests is not below 0")
    print(HEADER)
    for name in WORKS:
        for partitions in arguments.partitions:
            print(measure(name, partitions, arguments.seconds, arguments.runs), flush=True)
            if arguments.trace:
                print(measure_traced(name, partitions, arguments.seconds, arguments.runs), flush=True)
    if arguments.requests:
        for line in measure_memory(arguments.requests):
            print(line, flush=True)


if __name__ == "__main__":
    main()
