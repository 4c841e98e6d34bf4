"""What logs cost a broker: seconds to open one after a kill, and memory for each producer id that is in it.

How a log is made: batches of `count` records of 100 bytes, by five producer ids in turn, straight into the log of one
partition, in the page cache; then the process is as good as killed (`Embedded.abandon`). Opening it reads every byte
above the recovery point, and every header above the newest snapshot; here both are at the beginning, but for the log
that was synced before its last MiB.
"""

import gc
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.model.vocabulary import Error

SETTINGS = Settings(transaction_state_log_num_partitions=4, offsets_topic_num_partitions=1)
VALUE = b"v" * 100
PRODUCERS = 5
NEW_BYTES = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Recovered:
    """A log that was opened after a kill: what was in it, and the seconds that it took, by the clock and of the CPU."""

    batches: int
    size: int
    seconds: float
    cpu: float


def opened(folder: Path, durability: Durability, partitions: int = 16, disk: Disk | None = None) -> Embedded:
    """A fresh cluster with one broker; `disk` in place of that of the operating system."""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    return Embedded(data, topics={"t": partitions}, settings=SETTINGS, durability=durability, disk=disk)


def recovery(folder: Path, count: int, size: int, *, synced: bool = False) -> Recovered:
    """Open a log of so many bytes, in batches of `count` records; `synced`: all but the last MiB was, and was noted."""
    embedded = opened(folder, Durability.PAGE_CACHE, 1)
    log = embedded.directories[1].logs["t", 0]
    written = _fill(log, count, size - NEW_BYTES if synced else size, 0)
    if synced:
        log.flush()
        embedded.directories[1].checkpoint(at_once=True)
        written = _fill(log, count, size, written)
    embedded.abandon()
    empty = _open(folder / "data", nothing=True)
    seconds, cpu = _open(folder / "data")
    return Recovered(written, size, seconds - empty[0], cpu - empty[1])


def _fill(log: SegmentLog, count: int, size: int, written: int) -> int:
    records = (Record(None, VALUE),) * count
    while log.segments[-1].size < size:
        producer_id, number = written % PRODUCERS, written // PRODUCERS * count
        log.append(
            Batch(producer_id, 0, number, records=records, last_offset_delta=count - 1, timestamp_ms=1, leader_epoch=0)
        )
        written += 1
    return written


def _open(data: Path, *, nothing: bool = False) -> tuple[float, float]:
    """How long it takes to open a directory; `nothing`: one like it with empty logs, of which nothing is measured."""
    if nothing:
        data = data.with_name("empty")
        shutil.rmtree(data, ignore_errors=True)
        Embedded(data, topics={"t": 1}, settings=SETTINGS, durability=Durability.PAGE_CACHE).abandon()
    gc.collect()
    started, cpu = time.perf_counter(), time.process_time()
    again = Embedded(data, settings=SETTINGS, durability=Durability.PAGE_CACHE)
    found = time.perf_counter() - started, time.process_time() - cpu
    again.abandon()
    return found


def memory_of_ids(folder: Path, count: int) -> float:
    """Bytes that a broker keeps for a producer id that has written one batch into one partition."""
    process, record = psutil.Process(), (Record(None, VALUE),)
    with opened(folder, Durability.PAGE_CACHE) as embedded:
        gc.collect()
        before = process.memory_info().rss
        for producer_id in range(count):
            batch = Batch(producer_id, 0, 0, False, record, timestamp_ms=embedded.clock.now_ms())
            answer = embedded.ask(Produce(12, None, -1, {("t", 0): (SentBatch(batch),)}))
            assert isinstance(answer, ProduceAnswer)
            assert answer.partitions["t", 0].error == Error.NONE
        gc.collect()
        return (process.memory_info().rss - before) / count
