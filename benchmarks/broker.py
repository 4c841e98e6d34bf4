"""How fast a cluster over logs on disk is, through producers in process, beside what its disk can do alone.

Transactions of one record each, by 1 and 16 producers in threads; records of 100 bytes, 1,000 in a transaction; at each
durability. *Syncs of the disk* are what one thread gets out of it when it writes 100 bytes and syncs them, and nothing
else. A transaction waits for `SYNCS` of them one after the other: the record that it is ongoing, the batch, the
decision, the marker and the completion each depend on the one before (reference §2.17); none can be left out or joined.
Recovery: a log that was not closed is opened. Memory: what the broker keeps for each producer id.

    python benchmarks/broker.py [--folder FOLDER] [--seconds 5] [--durability fsync page-cache memory]
"""

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.clients.embedded_transport import EmbeddedTransport
from zombieproof.clients.producer import Producer
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.model.vocabulary import Error

SYNCS = 5
SETTINGS = Settings(transaction_state_log_num_partitions=4, offsets_topic_num_partitions=1)
VALUE = b"v" * 100
BATCH_RECORDS = 1_000
RECOVERY_BYTES = 64 << 20
PRODUCER_IDS = 50_000
QUICK = {"retry_backoff_ms": 1}
"""A producer that begins a transaction while the one before is being completed is told CONCURRENT_TRANSACTIONS, and
waits for ``retry.backoff.ms`` (100 by default) before it tries again: by default that is what is measured."""


def syncs_per_second(folder: Path, seconds: float) -> float:
    """What one thread gets that writes 100 bytes behind the last, and syncs."""
    path = folder / "alone"
    number, count = os.open(path, os.O_RDWR | os.O_CREAT), 0
    try:
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            os.pwrite(number, VALUE, count * len(VALUE))
            os.fdatasync(number)
            count += 1
        return count / (time.perf_counter() - started)
    finally:
        os.close(number)
        path.unlink()


def opened(folder: Path, durability: Durability) -> Embedded:
    """A fresh cluster with one broker."""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    return Embedded(data, topics={"t": 16}, settings=SETTINGS, durability=durability)


def transactions(
    folder: Path, durability: Durability, producers: int, seconds: float, backoff: dict[str, int]
) -> float:
    """Committed transactions of one record a second, all producers together."""
    counts = [0] * producers
    with opened(folder, durability) as embedded:
        over = threading.Event()

        def work(index: int) -> None:
            producer = Producer(EmbeddedTransport(embedded), transactional_id=f"id-{index}", linger_ms=0, **backoff)
            producer.init_transactions()
            ready.wait()
            while not over.is_set():
                producer.begin_transaction()
                producer.send("t", VALUE, partition=index)
                producer.commit_transaction()
                counts[index] += 1

        ready = threading.Barrier(producers + 1)
        threads = [threading.Thread(target=work, args=(index,)) for index in range(producers)]
        for thread in threads:
            thread.start()
        ready.wait()
        started = time.perf_counter()
        time.sleep(seconds)
        over.set()
        for thread in threads:
            thread.join()
        return sum(counts) / (time.perf_counter() - started)


def records(folder: Path, durability: Durability, seconds: float) -> tuple[float, float]:
    """Records of 100 bytes a second, 1,000 in a transaction: by the clock, and by CPU time."""
    with opened(folder, durability) as embedded:
        producer = Producer(EmbeddedTransport(embedded), transactional_id="id", **QUICK)
        producer.init_transactions()
        count, started, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - started < seconds:
            producer.begin_transaction()
            for _ in range(BATCH_RECORDS):
                producer.send("t", VALUE, partition=0)
            producer.commit_transaction()
            count += BATCH_RECORDS
        return count / (time.perf_counter() - started), count / (time.process_time() - cpu)


def _produced(embedded: Embedded, batch: Batch) -> None:
    answer = embedded.ask(Produce(12, None, -1, {("t", 0): (SentBatch(batch),)}))
    assert isinstance(answer, ProduceAnswer)
    assert answer.partitions["t", 0].error == Error.NONE


def recovery(folder: Path) -> tuple[float, float]:
    """Seconds for a GiB of log that was not closed: batches of 16 KiB, and batches of one record."""
    found = []
    for count, size in ((16, 1_000), (1, 100)):
        data = folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        embedded = Embedded(data, topics={"t": 1}, settings=SETTINGS, durability=Durability.PAGE_CACHE)
        record, written = Record(None, b"v" * size), 0
        wanted = RECOVERY_BYTES if count > 1 else RECOVERY_BYTES // 8
        while written < wanted:
            batch = Batch(records=(record,) * count, last_offset_delta=count - 1, timestamp_ms=embedded.clock.now_ms())
            _produced(embedded, batch)
            written = embedded.directories[1].logs["t", 0].segments[-1].size
        embedded.abandon()
        started = time.perf_counter()
        again = Embedded(data, settings=SETTINGS)
        found.append((time.perf_counter() - started) * (1 << 30) / written)
        again.close()
    return found[0], found[1]


def memory_per_million_ids(folder: Path) -> float:
    """MiB that a broker keeps for a million producer ids with a batch each in one partition."""
    process = psutil.Process()
    with opened(folder, Durability.PAGE_CACHE) as embedded:
        record = (Record(None, VALUE),)
        before = process.memory_info().rss
        for producer_id in range(PRODUCER_IDS):
            _produced(embedded, Batch(producer_id, 0, 0, False, record, timestamp_ms=embedded.clock.now_ms()))
        return (process.memory_info().rss - before) / PRODUCER_IDS * 1_000_000 / (1 << 20)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="a folder on the disk that is measured; a temporary one by default")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--durability", nargs="*", choices=[each.value for each in Durability])
    asked = parser.parse_args()
    chosen = [Durability(each) for each in asked.durability or [each.value for each in Durability]]
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        _report("syncs of the disk alone, a second", lambda: f"{syncs_per_second(folder, asked.seconds):,.0f}")
        for durability in chosen:
            for producers, backoff in ((1, {}), (1, QUICK), (16, {}), (16, QUICK)):
                alone = syncs_per_second(folder, 1.0)
                rate = transactions(folder, durability, producers, asked.seconds, backoff)
                quick = ", retry.backoff.ms 1" if backoff else ""
                share = f", {100 * SYNCS * rate / alone:.0f} % of the disk's syncs" if producers == 1 else ""
                said = f"{rate:,.0f}{share if durability is Durability.FSYNC else ''}"
                _report(
                    f"{durability.value}: transactions a second, {producers} producers{quick}", lambda said=said: said
                )
            by_clock, by_cpu = records(folder, durability, asked.seconds)
            _report(
                f"{durability.value}: records a second", lambda c=by_clock, p=by_cpu: f"{c:,.0f} ({p:,.0f} a CPU s)"
            )
        large, small = recovery(folder)
        _report("recovery, seconds a GiB", lambda: f"{large:,.1f} (batches of 16 KiB), {small:,.1f} (of one record)")
        _report("MiB for a million producer ids", lambda: f"{memory_per_million_ids(folder):,.0f}")


def _report(what: str, measure: Callable[[], str]) -> None:
    print(f"{what:52} {measure()}", flush=True)


if __name__ == "__main__":
    main()
