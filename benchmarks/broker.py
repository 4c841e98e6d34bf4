"""How fast a cluster over logs on disk is, through clients in process, beside what its disk can do alone.

Transactions of one record each, by 1 and 16 producers in threads; records of 100 bytes, 1,000 in a transaction, written
and read; at each durability. *Syncs of the disk* are what one thread gets out of it when it writes 100 bytes and syncs
them, and nothing else. A transaction waits for `SYNCS` of them one after the other: the record that it is ongoing, the
batch, the decision, the marker and the completion each depend on the one before (reference §2.17); none can be left
out or joined. Clients have Kafka's settings, but where a line says otherwise. Besides seconds of the clock seconds of
the CPU are told, of all threads: what else runs on the machine changes them less. `--sync-ms 1` makes every sync take
a millisecond longer, as on a disk with other work, or across a network; the disk alone is measured with the same delay.

    python benchmarks/broker.py [--folder FOLDER] [--seconds 5] [--quick] [--durability fsync page-cache memory]
                                [--sync-ms 0]
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from broker_logs import GIB, VALUE, Recovered, memory_of_ids, opened, recovery

from zombieproof.broker.store.config import Durability
from zombieproof.broker.store.disk import RealDisk
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.embedded_transport import EmbeddedTransport
from zombieproof.clients.producer import Producer

SYNCS = 5
BATCH_RECORDS = 1_000
LARGE_BATCH = 128 << 10
ONE_RECORD, KAFKAS_BATCH = 1, 150
"""Records in a batch: of 100 bytes 150 fill 16 KiB, which is Kafka's ``batch.size``."""


class LateDisk(RealDisk):
    """The disk of the operating system, and every sync takes so many milliseconds longer."""

    def __init__(self, root: Path, sync_ms: float) -> None:
        super().__init__(root)
        self._late_s = sync_ms / 1000

    def sync(self, path: str) -> None:
        """Sync the bytes of a file, late."""
        super().sync(path)
        self._wait()

    def sync_directory(self, path: str) -> None:
        """Sync the names in a folder, late."""
        super().sync_directory(path)
        self._wait()

    def _wait(self) -> None:
        if self._late_s:
            time.sleep(self._late_s)


def syncs_per_second(disk: RealDisk, seconds: float) -> float:
    """What one thread gets that writes 100 bytes behind the last, and syncs."""
    path, count = "alone", 0
    try:
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            disk.write(path, count * len(VALUE), VALUE)
            disk.sync(path)
            count += 1
        return count / (time.perf_counter() - started)
    finally:
        disk.remove(path)


class Measured:
    """How many of something in a second of the clock, and in one of the CPU."""

    def __init__(self) -> None:
        self._started, self._cpu = time.perf_counter(), time.process_time()
        self.count, self.by_clock, self.by_cpu = 0, 0.0, 0.0

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.perf_counter() - self._started

    def end(self, count: int) -> "Measured":
        """It is over."""
        self.count = count
        self.by_clock, self.by_cpu = count / self.seconds, count / (time.process_time() - self._cpu)
        return self


def transactions(folder: Path, durability: Durability, producers: int, seconds: float, sync_ms: float) -> Measured:
    """Committed transactions of one record, all producers together."""
    counts = [0] * producers
    with opened(folder, durability, disk=LateDisk(folder / "data", sync_ms)) as embedded:
        over = threading.Event()

        def work(index: int) -> None:
            producer = Producer(EmbeddedTransport(embedded), transactional_id=f"id-{index}")
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
        measured = Measured()
        time.sleep(seconds)
        over.set()
        for thread in threads:
            thread.join()
        return measured.end(sum(counts))


def records(
    folder: Path, durability: Durability, seconds: float, sync_ms: float, **named: int
) -> tuple[Measured, Measured]:
    """Records of 100 bytes, 1,000 in a transaction, in one partition: written, and read (read_committed)."""
    with opened(folder, durability, disk=LateDisk(folder / "data", sync_ms)) as embedded:
        producer = Producer(EmbeddedTransport(embedded), transactional_id="id", **named)
        producer.init_transactions()
        count, measured = 0, Measured()
        while measured.seconds < seconds:
            producer.begin_transaction()
            for _ in range(BATCH_RECORDS):
                producer.send("t", VALUE, partition=0)
            producer.commit_transaction()
            count += BATCH_RECORDS
        written = measured.end(count)
        settings = {"isolation_level": "read_committed", "auto_offset_reset": "earliest", "group_id": "readers"}
        with Consumer(EmbeddedTransport(embedded), **settings, enable_auto_commit=False) as consumer:
            consumer.assign([("t", 0)])
            count, measured = 0, Measured()
            while count < written.count:
                count += len(consumer.poll(1000))
            return written, measured.end(count)


def _of_clients(folder: Path, durability: Durability, seconds: float, sync_ms: float) -> None:
    name = durability.value
    for producers in (1, 16):
        alone = syncs_per_second(LateDisk(folder, sync_ms), 1.0)
        found = transactions(folder, durability, producers, seconds, sync_ms)
        share = ""
        if durability is Durability.FSYNC:
            share = f"; x {SYNCS} syncs = {100 * SYNCS * found.by_clock / alone:.0f} % of the disk's {alone:,.0f}"
        _report(f"{name}: transactions, {producers} producer{'s' * (producers > 1)}", f"{_said(found)}{share}")
    written, read = records(folder, durability, seconds, sync_ms)
    large, _ = records(folder, durability, seconds, sync_ms, batch_size=LARGE_BATCH)
    _report(f"{name}: records written, batch.size 16384", _said(written))
    _report(f"{name}: records written, batch.size {LARGE_BATCH}", _said(large))
    _report(f"{name}: records read, read_committed", _said(read))


def _said(found: Measured) -> str:
    return f"{found.by_clock:>9,.0f} a second {found.by_cpu:>9,.0f} a CPU second"


def _of_logs(folder: Path, mebibytes: int) -> None:
    rows: tuple[tuple[str, Callable[[], Recovered]], ...] = (
        ("batches of 16 KiB", lambda: recovery(folder, KAFKAS_BATCH, mebibytes << 20)),
        ("batches of one record", lambda: recovery(folder, ONE_RECORD, mebibytes << 18)),
        ("16 KiB, all but the last MiB synced", lambda: recovery(folder, KAFKAS_BATCH, mebibytes << 20, synced=True)),
    )
    for name, measure in rows:
        found = measure()
        a_gib = GIB / found.size
        _report(
            f"recovery, {name}",
            f"{found.seconds * a_gib:>9,.2f} s a GiB {found.cpu * a_gib:>9,.2f} CPU s a GiB "
            f"({found.batches:,} batches, {found.size >> 20} MiB, 5 producer ids)",
        )


def _report(what: str, said: str) -> None:
    print(f"{what:50} {said}", flush=True)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="a folder on the disk that is measured; a temporary one by default")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each rate is measured")
    parser.add_argument("--quick", action="store_true", help="a second each, small logs: for a first look")
    parser.add_argument("--durability", nargs="*", choices=[each.value for each in Durability])
    parser.add_argument("--sync-ms", type=float, default=0.0, help="every sync takes so much longer (0)")
    asked = parser.parse_args()
    seconds = min(asked.seconds, 1.0) if asked.quick else asked.seconds
    chosen = [Durability(each) for each in asked.durability or [each.value for each in Durability]]
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        _report(
            "syncs of the disk alone", f"{syncs_per_second(LateDisk(folder, asked.sync_ms), seconds):>9,.0f} a second"
        )
        for durability in chosen:
            _of_clients(folder, durability, seconds, asked.sync_ms)
        _of_logs(folder, 64 if asked.quick else 512)
        ids = 10_000 if asked.quick else 100_000
        bytes_each = memory_of_ids(folder, ids)
        _report("memory of a million producer ids", f"{bytes_each * 1e6 / (1 << 20):>9,.0f} MiB (of {ids:,} measured)")


if __name__ == "__main__":
    main()
