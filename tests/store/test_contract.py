"""Every store keeps the contract: in memory, segments on a disk, segments on a disk that fails; small segments too."""

from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.contract import StoreContract, batch_of
from zombieproof.broker.store.disk import Disk, RealDisk
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.broker.store.log_directory import LogDirectory
from zombieproof.broker.store.segment_indexes import SegmentIndexes
from zombieproof.broker.store.segment_log import SegmentLog

PARTITION = ("t", 0)
TOPIC_ID = UUID(int=7)


class TestStoreInMemory(StoreContract):
    def open(self) -> Store:
        return Store(MemoryLog(), MemorySnapshots())

    def reopen(self, store: Store) -> Store:
        return store

    def crash(self, store: Store) -> Store:
        return store


class OnDisk(StoreContract):
    """Segments, in a log directory of a disk."""

    config = LogConfig()
    durability = Durability.FSYNC
    disk: Disk
    directory: LogDirectory

    def on(self, disk: Disk) -> Store:
        self.disk = disk
        self.directory = LogDirectory(disk, "d", ManualClock(), self.durability)
        return self.directory.open_store(PARTITION, TOPIC_ID, self.config)

    def reopen(self, store: Store) -> Store:
        self.directory.close()
        return self.on(self.disk)


class TestSegmentsOnDisk(OnDisk):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.root = tmp_path

    def open(self) -> Store:
        return self.on(RealDisk(self.root))

    def crash(self, store: Store) -> Store:
        self.disk.close()
        return self.on(RealDisk(self.root))


class TestSegmentsInThePageCache(TestSegmentsOnDisk):
    durability = Durability.PAGE_CACHE


class TestSegmentsOnDiskThatForgets(OnDisk):
    fate = Fate.DROPPED

    def open(self) -> Store:
        return self.on(FaultDisk())

    def crash(self, store: Store) -> Store:
        assert isinstance(self.disk, FaultDisk)
        return self.on(self.disk.survivor(self.fate, Random(3)))


class TestSegmentsOnDiskThatForgetsAtRandom(TestSegmentsOnDiskThatForgets):
    fate = Fate.RANDOM


class Rolling(SegmentLog):
    """A log that begins a new segment before every batch, by itself."""

    def append(self, batch: "object") -> "object":  # type: ignore[override]  # the same, after a roll
        self.roll()
        return super().append(batch)  # type: ignore[arg-type]


class TestSmallSegments(TestSegmentsOnDiskThatForgets):
    @pytest.fixture(autouse=True)
    def rolling(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("zombieproof.broker.store.log_directory.SegmentLog", Rolling)


class TestDenseIndexes(TestSegmentsOnDiskThatForgets):
    config = LogConfig(index_interval_bytes=1)


class Hasty(SegmentIndexes):
    """An index of times that leaves out the batch which is due."""

    def offset_since(self, timestamp_ms: int) -> int:
        return super().offset_since(timestamp_ms) + 1


def test_an_index_of_times_that_leaves_a_batch_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zombieproof.broker.store.segment.SegmentIndexes", Hasty)
    with pytest.raises(AssertionError):
        TestDenseIndexes().test_batches_are_found_by_their_times()


class Forgetful(SegmentLog):
    """A log that says that it is durable when it is written."""

    @property
    def durable_offset(self) -> int:
        return self.end_offset


class Unsynced(SegmentLog):
    """A log that syncs nothing."""

    def sync(self, files: object, names: bool) -> None:
        pass


class Nameless(SegmentLog):
    """A log that does not sync the names of its files."""

    def sync(self, files: object, names: bool) -> None:
        super().sync(files, False)  # type: ignore[arg-type]  # files as they are


@pytest.mark.parametrize("bad", [Unsynced, Nameless])
def test_a_store_that_does_not_sync_is_found(bad: type[SegmentLog], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zombieproof.broker.store.log_directory.SegmentLog", bad)
    with pytest.raises(AssertionError):
        TestSegmentsOnDiskThatForgets().test_what_is_flushed_is_durable_and_outlives_a_crash()


def test_a_store_that_gives_an_offset_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryLog, "end_offset", property(lambda self: 0))
    with pytest.raises((AssertionError, ValueError)):
        TestStoreInMemory().test_a_batch_gets_the_next_offset_and_is_read_at_once()


def test_each_file_has_the_name_that_kafka_gives_it(tmp_path: Path) -> None:
    directory = LogDirectory(RealDisk(tmp_path), "d", ManualClock())
    store = directory.open_store(PARTITION, TOPIC_ID)
    store.log.append(batch_of(b"a"))
    store.snapshots.write(1, b"")
    directory.close()
    zeros = "0" * 20
    assert sorted(each.name for each in (tmp_path / "d" / "t-0").iterdir()) == sorted(
        [f"{zeros}{suffix}" for suffix in (".index", ".log", ".timeindex", ".txnindex")]
        + ["00000000000000000001.snapshot", "leader-epoch-checkpoint", "partition.metadata", "segment-checkpoint"]
    )


@pytest.mark.parametrize("fate", [Fate.KEPT, Fate.RANDOM])
def test_what_was_done_in_a_folder_goes_with_it_when_it_moves(fate: Fate) -> None:
    disk = FaultDisk()
    disk.make_directory("top/folder")
    for path in ("", "top"):
        disk.sync_directory(path)
    disk.write("top/folder/new.tmp", 0, b"1")
    disk.rename("top/folder/new.tmp", "top/folder/new")
    disk.rename("top/folder", "top/moved")
    disk.make_directory("top/folder")
    disk.sync_directory("top")
    for seed in range(8):
        found = disk.survivor(fate, Random(seed))
        assert found.listed("top/folder") == ()
        assert set(found.listed("top/moved")) <= {"new.tmp", "new"}
    assert disk.survivor(Fate.KEPT).listed("top/moved") == ("new",)
