"""What a start after a crash reads: nothing below what was synced, indexed, and known of producers."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.damage import bit_flips
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.node import Store, Tokens
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.partition.producer_states import CompletedTransaction, ProducerStates
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.broker.store.contract import batch_of
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.broker.store.log_directory import LogDirectory
from zombieproof.broker.store.segment_indexes import SegmentIndexes
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.batches import Batch, DataHeader, Marker
from zombieproof.formats.encoding import view_batch, write_batch
from zombieproof.formats.offset_indexes import (
    OFFSET_ENTRY,
    OffsetEntry,
    read_offset_index,
    read_time_index,
    write_offset_index,
    write_time_index,
)
from zombieproof.formats.record_batch import HEADER, header_at
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import NONE, Error, Origin

TOPIC_ID = UUID(int=1)
LOG, INDEX = "d/t-0/00000000000000000000.log", "d/t-0/00000000000000000000.index"
VALUE = b"v" * 1000


class CountingDisk(FaultDisk):
    """A disk that notes what is read of logs: where, and how many bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[int, int]] = []

    def read(self, path: str, at: int = 0, size: int | None = None) -> bytes:
        data = super().read(path, at, size)
        if path.endswith(".log"):
            self.reads.append((at, len(data)))
        return data


class Broker:
    """One partition on a disk, and the broker that has it."""

    def __init__(self, disk: FaultDisk) -> None:
        self.disk, self.clock = disk, ManualClock(1_700_000_000_000)
        self.start()

    def start(self) -> None:
        self.directory = LogDirectory(self.disk, "d", self.clock)
        self.store: Store = self.directory.open_store(("t", 0), TOPIC_ID)
        settings, rules = Settings(), preset("3.5")
        self.replica = Replica(
            ("t", 0), self.store.log, rules, settings, self.clock, Journal(), Tokens(), self.store.snapshots
        )
        self.replica.recover(self.directory.was_clean)
        self.replica.lead(3)

    @property
    def log(self) -> SegmentLog:
        assert isinstance(self.store.log, SegmentLog)
        return self.store.log

    def write(self, count: int, *, producer_id: int = 0) -> None:
        known = self.replica.producers.get(producer_id)
        first = 0 if known is None else known.batches[known.batch_count - 1].last_sequence + 1
        for number in range(first, first + count):
            batch = batch_of(VALUE, producer_id=producer_id, transactional=producer_id > 0)
            batch = replace(batch, base_sequence=number, timestamp_ms=self.clock.now_ms())
            assert self.replica.append(batch, 0, Origin.COORDINATOR).error == Error.NONE

    def end(self, producer_id: int, *, committed: bool) -> None:
        self.replica.append_marker(producer_id, 0, Marker(committed, 0), Origin.COORDINATOR)

    def sync(self) -> None:
        """Everything is on the disk, and a second later that is noted."""
        self.log.flush()
        self.clock.advance(1000)
        self.directory.checkpoint()


def killed_late() -> tuple[Broker, CountingDisk, int]:
    """A broker that was killed once, went on, synced, and is killed again; where in the log it was killed first."""
    disk = CountingDisk()
    broker = Broker(disk)
    broker.write(300, producer_id=1)
    broker.end(1, committed=False)
    broker.sync()
    broker.start()
    first = broker.log.segments[-1].size
    broker.write(200, producer_id=1)
    broker.end(1, committed=False)
    broker.sync()
    broker.write(3)
    disk.reads.clear()
    return broker, disk, first


def test_a_start_reads_what_lies_above_the_recovery_point_and_the_newest_snapshot() -> None:
    broker, disk, first = killed_late()
    before, size = broker.replica.aborted, broker.log.segments[-1].size
    broker.start()
    reads = [(at, count) for at, count in disk.reads if (at, count) != (0, HEADER.size)]
    assert min(at for at, _ in reads) > first - 3 * 4096, (
        "the entry of the index before the snapshot is where it begins"
    )
    assert sum(count for _, count in reads) < 2 * (size - first), "what is above it is read twice at most"
    assert broker.replica.aborted.collect(0, 1 << 40) == before.collect(0, 1 << 40)
    assert len(broker.replica.aborted.collect(0, 1 << 40).aborted) == 2


def test_what_is_not_checkpointed_is_looked_at() -> None:
    broker, disk, _ = killed_late()
    disk.remove("d/recovery-point-offset-checkpoint")
    disk.remove("d/log-state-checkpoint")
    size = broker.log.segments[-1].size
    broker.start()
    assert sum(count for _, count in disk.reads) > size


def test_a_start_that_believes_no_index_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SegmentIndexes, "read_below", lambda *_: None)
    with pytest.raises(AssertionError, match="is where it begins"):
        test_a_start_reads_what_lies_above_the_recovery_point_and_the_newest_snapshot()


# ---------------------------------------------------------------- the index


def changed(change: Callable[[list[OffsetEntry]], Iterable[OffsetEntry]]) -> Callable[[bytes], bytes]:
    return lambda data: write_offset_index(change(read_offset_index(data, 0)), 0)


HARMS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut in an entry": lambda data: data[:-3],
    "descending": lambda data: data + data[: OFFSET_ENTRY.size],
    "zeros": lambda data: data[:-8] + bytes(8),
    "another batch": changed(lambda entries: (*entries[:-1], entries[-1]._replace(offset=entries[-1].offset + 1))),
    "no batch": changed(lambda entries: (*entries[:-1], entries[-1]._replace(position=entries[-1].position + 7))),
    "behind the end": changed(lambda entries: (*entries[:-1], entries[-1]._replace(position=1 << 30))),
}


@pytest.mark.parametrize("harm", HARMS)
def test_an_index_that_does_not_fit_is_not_believed(harm: str) -> None:
    broker, disk, _ = killed_late()
    sound, data = list(broker.log.read()), disk.read(INDEX)
    disk.truncate(INDEX, 0)
    disk.write(INDEX, 0, HARMS[harm](data))
    broker.start()
    assert list(broker.log.read()) == sound
    for offset in range(0, broker.log.end_offset, 7):
        assert next(broker.log.read(offset)).base_offset == offset
    assert disk.read(INDEX)[: len(data)] == data, "it was made anew"


def test_times_of_another_log_are_not_believed_after_a_crash_and_never_again() -> None:
    """A start after a crash continues the indexes. They are sealed with the segment, and lookups by time use them."""
    broker = Broker(FaultDisk())
    times, begun_ms = INDEX.replace(".index", ".timeindex"), broker.clock.now_ms()
    for _ in range(60):
        broker.write(1)
        broker.clock.advance(1000)
    broker.sync()
    disk = broker.disk
    earlier = [each._replace(timestamp_ms=each.timestamp_ms - 30_000) for each in read_time_index(disk.read(times), 0)]
    assert len(earlier) > 10
    disk.write(times, 0, write_time_index(earlier, 0))
    broker.start()
    broker.replica.roll()
    broker.log.roll()
    broker.replica.stop()
    broker.directory.close()
    broker.start()
    found = [next(broker.log.read_since(begun_ms + 1000 * offset)).base_offset for offset in range(60)]
    assert found == list(range(60))


def test_no_entry_of_a_torn_tail_is_left_in_the_index() -> None:
    broker = Broker(FaultDisk())
    broker.write(50)
    broker.sync()
    broker.write(50)
    for log in broker.directory.logs.values():
        log.extend_indexes()
    broker.disk.truncate(LOG, broker.log.segments[-1].size // 2 + 7)
    broker.start()
    end = broker.log.end_offset
    assert 49 < end < 100
    assert all(entry.offset < end for entry in read_offset_index(broker.disk.read(INDEX), 0))


@pytest.mark.sample("DROPPED")
@pytest.mark.parametrize("fate", list(Fate))
def test_an_index_that_was_not_synced_takes_nothing_away(fate: Fate) -> None:

    for seed in range(10):
        broker, disk, _ = killed_late()
        durable = broker.log.durable_offset
        sound = [each for each in broker.log.read() if each.last_offset < durable]
        broker.disk = disk.survivor(fate, Random(seed))
        broker.start()
        assert list(broker.log.read())[: len(sound)] == sound


@pytest.mark.slow
def test_damage_that_a_start_does_not_look_at_is_found_by_who_reads_it() -> None:
    found = bit_flips(5, 641, is_indexed=True)
    assert found.findings == []
    assert found.counts["bits noticed"] == sum(found.counts.values())


@pytest.mark.parametrize("harm", ["gone", "empty"])
def test_leader_epochs_are_known_again_from_all_batches(harm: str) -> None:
    broker, disk, _ = killed_late()
    broker.replica.lead(5)
    broker.write(40, producer_id=1)
    broker.sync()
    path = "d/t-0/leader-epoch-checkpoint"
    before = disk.read(path)
    disk.truncate(path, 0)
    if harm == "gone":
        disk.remove(path)
    broker.start()
    assert disk.read(path) == before


def test_a_batch_of_another_leader_epoch_is_found_by_who_reads_it() -> None:
    broker, disk, _ = killed_late()
    second = header_at(disk.read(LOG, 0, HEADER.size), 0).size
    disk.damage(LOG, 8 * (second + 12) + 31)
    broker.start()
    with pytest.raises(Damaged, match=re.escape(f"damaged at byte {second}: leader epoch 131 where 3 is due")):
        list(broker.log.read())


# ---------------------------------------------------------------- snapshots of a log that was cut


def last_sequences(states: ProducerStates) -> dict[int, int]:
    """The last sequence of each producer."""
    return {each: entry.batches[entry.batch_count - 1].last_sequence for each, entry in states.items()}


@pytest.mark.parametrize("start", [0, 1])
def test_a_crash_leaves_no_snapshot_from_before_the_log_was_cut(start: int) -> None:
    """A follower whose log was cut rolls at the offset of an older snapshot, which knows batches that are gone."""
    broker = Broker(disk := FaultDisk())
    broker.write(3)
    broker.replica.roll()
    broker.log.roll()
    broker.write(2)
    broker.replica.raise_log_start(start)
    broker.log.flush()
    broker.clock.advance(1000)
    broker.directory.checkpoint()
    survivors = list[FaultDisk]()
    disk.before = lambda: survivors.extend(disk.survivor(fate, Random(len(disk.log))) for fate in Fate)
    broker.replica.truncate(2)
    broker.write(1, producer_id=1)
    broker.replica.roll()
    broker.log.roll()
    broker.write(1, producer_id=1)
    broker.log.flush()
    disk.before = None
    for survivor in (*survivors, disk.copy()):
        again = Broker(survivor)
        folded = states()
        for batch in again.log.read():
            folded.replay(batch)
        assert last_sequences(again.replica.producers) == last_sequences(folded)


# ---------------------------------------------------------------- what is folded

Step = tuple[int, str]


def told(steps: list[Step]) -> Iterator[Batch]:
    """A log of what producers 0 to 3 have done; 0 has no transactions. A data batch has three records."""
    end, epochs, is_open = 0, dict.fromkeys(range(4), 0), dict.fromkeys(range(4), False)
    sequences = dict.fromkeys(range(4), 0)
    for producer_id, what in steps:
        if what == "data":
            values = (VALUE[:1],) * 3
            batch = batch_of(*values, producer_id=producer_id, transactional=producer_id > 0)
            batch = replace(batch, base_sequence=sequences[producer_id], producer_epoch=epochs[producer_id])
            sequences[producer_id] += 3
            is_open[producer_id] = producer_id > 0
        elif what == "raise" and not is_open[producer_id]:
            epochs[producer_id] += 1
            sequences[producer_id] = 0
            continue
        elif what in ("commit", "abort") and is_open[producer_id]:
            marker = Marker(what == "commit", 0)
            batch = Batch(producer_id, epochs[producer_id], transactional=True, marker=marker)
            is_open[producer_id] = False
        else:
            continue
        yield replace(batch, base_offset=end, timestamp_ms=1_000_000 + end)
        end += batch.last_offset_delta + 1


def states() -> ProducerStates:
    clock = ManualClock(1_000_000)
    return ProducerStates("t-0", preset("newest"), Settings(), clock, Journal(), MemorySnapshots())


def headers(batches: Iterable[Batch]) -> Iterator[Batch | DataHeader]:
    """As a log on disk tells of them."""
    for batch in batches:
        data = write_batch(batch)
        header = HEADER.unpack_from(data)
        yield view_batch(data) if batch.marker is not None else tuple.__new__(DataHeader, header)


def remembered(of: ProducerStates) -> tuple[bytes, list[int]]:
    """What a snapshot keeps, and where the open transactions begin, in their order."""
    of.take_snapshot()
    kept = of.snapshots.newest_up_to(1 << 40)
    return (b"" if kept is None else kept[1]), list(of._open)  # what decides the LSO


def folded_as_replayed(steps: list[Step], fold: Callable[[ProducerStates], Iterable[CompletedTransaction]]) -> None:
    one, other, batches = states(), states(), list(told(steps))
    completed = [each for each in map(one.replay, batches) if each is not None]
    assert list(fold(other)) == completed
    other.map_end_offset = one.map_end_offset
    assert remembered(other) == remembered(one)


STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["data", "data", "data", "commit", "abort", "raise"])))


@settings(deadline=None)
@given(STEPS)
def test_a_log_that_is_folded_says_of_producers_what_each_of_its_batches_says(steps: list[Step]) -> None:
    folded_as_replayed(steps, lambda states: states.fold(headers(told(steps))))


def test_a_fold_that_forgets_the_newest_batch_is_noticed() -> None:
    steps = [(1, "data"), (1, "data"), (2, "data"), (1, "abort"), (2, "data")]
    folded_as_replayed(steps, lambda states: states.fold(headers(told(steps))))
    with pytest.raises(AssertionError):
        folded_as_replayed(steps, lambda states: states.fold(list(headers(told(steps)))[:-1]))


def test_a_header_tells_of_producers_what_its_batch_tells() -> None:
    batch = next(told([(1, "data")]))
    batch = replace(batch, base_sequence=(1 << 31) - 2, leader_epoch=4)
    header = tuple.__new__(DataHeader, HEADER.unpack_from(write_batch(batch)))
    names = "producer_id producer_epoch base_sequence last_sequence transactional marker is_empty_control base_offset"
    for name in (*names.split(), "last_offset", "last_offset_delta", "timestamp_ms", "leader_epoch"):
        assert getattr(header, name) == getattr(batch, name), name
    assert header.last_sequence == 0
    assert replace(batch, base_sequence=NONE).last_sequence == NONE
