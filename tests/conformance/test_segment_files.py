"""Kafka's cases of files beside a log: index of aborted transactions, snapshots, segments; on a disk that can fail."""

import errno
import os
from uuid import UUID

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.node import Tokens
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.contract import batch_of
from zombieproof.broker.store.fault_disk import FaultDisk
from zombieproof.broker.store.known_logs import SNAPSHOT
from zombieproof.broker.store.log_directory import LogDirectory
from zombieproof.broker.store.segment import file_name
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.broker.store.snapshot_files import SnapshotFiles
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.formats.transaction_index import read_index
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import NONE, Error, Isolation, Origin

FOLDER = "d/t-0"
INDEX = f"{FOLDER}/{file_name(0, '.txnindex')}"


class FailingDisk(FaultDisk):
    """A disk on which files with a certain end cannot be written."""

    fails = "nothing"

    def write(self, path: str, at: int, data: bytes) -> None:
        if path.endswith(self.fails):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        super().write(path, at, data)

    def sync(self, path: str) -> None:
        if path.endswith(self.fails):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        super().sync(path)


class Scene:
    """A replica over segments."""

    def __init__(self, disk: FaultDisk | None = None) -> None:
        self.disk, self.clock = disk or FailingDisk(), ManualClock()
        self.directory = LogDirectory(self.disk, "d", self.clock)
        store = self.directory.open_store(("t", 0), UUID(int=1), LogConfig(segment_bytes=1 << 20))
        assert isinstance(store.log, SegmentLog)
        self.log, rules = store.log, preset("3.5")
        self.replica = Replica(("t", 0), store.log, rules, Settings(), self.clock, Journal(), Tokens(), store.snapshots)
        self.replica.recover(self.directory.was_clean)
        self.replica.lead(0)

    def append(self, count: int, *, sequence: int, transactional: bool = True) -> int:
        records = tuple(Record(None, b"v") for _ in range(count))
        identity = (1, 0, sequence) if transactional else (NONE, NONE, NONE)
        batch = Batch(*identity, transactional, records, last_offset_delta=count - 1)
        return self.replica.append(batch, 0, Origin.CLIENT).error

    def abort(self) -> int:
        return self.replica.append_marker(1, 0, Marker(False, 0), Origin.COORDINATOR).error


def with_entry(entry: tuple[int, int, int, int]) -> Scene:
    scene = Scene()
    scene.log.append(batch_of(*(b"v" for _ in range(20))))
    scene.log.add_aborted(AbortedTransaction(*entry))
    return scene


@pytest.mark.case("TI-005")
def test_an_index_that_was_moved_is_appended_to_where_it_is() -> None:
    scene = with_entry((0, 0, 10, 2))
    scene.log.move_to("d/elsewhere")
    scene.log.add_aborted(AbortedTransaction(1, 5, 15, 16))
    entries, fault = read_index(scene.disk.read(INDEX.replace(FOLDER, "d/elsewhere")))
    assert ([entry.first_offset for entry in entries], fault) == ([0, 5], None)


@pytest.mark.case("TI-006")
def test_the_path_of_an_index_follows_its_folder() -> None:
    scene = with_entry((0, 0, 10, 2))
    scene.log.move_to("d/elsewhere")
    assert scene.log.segments[0].path(".txnindex") == INDEX.replace(FOLDER, "d/elsewhere")
    assert not scene.disk.exists(FOLDER)
    assert len(list(scene.log.read())) == 1


@pytest.mark.case("TI-007")
def test_an_index_without_entries_is_flushed_before_it_has_one() -> None:
    scene = Scene()
    scene.log.flush()
    assert not scene.disk.exists(INDEX)
    scene.log.append(batch_of(*(b"v" for _ in range(20))))
    scene.log.add_aborted(AbortedTransaction(0, 0, 10, 2))
    scene.log.flush()
    assert scene.disk.size(INDEX) > 0


@pytest.mark.case("TI-008")
def test_an_index_is_deleted_with_its_segment() -> None:
    scene = with_entry((0, 0, 10, 2))
    assert scene.disk.exists(INDEX)
    scene.log.restart_at(30)
    assert not scene.disk.exists(INDEX)


@pytest.mark.case("LG-009")
def test_the_offset_of_a_snapshot_is_in_its_name() -> None:
    scene = Scene()
    kept = SnapshotFiles(scene.log)
    kept.write(23423423, b"")
    assert scene.disk.exists(f"{FOLDER}/{file_name(23423423, SNAPSHOT)}")
    assert kept.offsets() == (23423423,)


@pytest.mark.case("LG-024")
def test_what_is_stable_begins_no_earlier_than_the_log() -> None:
    scene = Scene()
    assert [scene.append(5, sequence=0), scene.append(3, sequence=0, transactional=False)] == [0, 0]
    scene.replica.roll()
    scene.log.roll()
    assert scene.append(5, sequence=5) == Error.NONE
    scene.log.flush()
    scene.replica.raise_high_watermark()
    assert scene.replica.first_unstable_offset == 0
    scene.replica.raise_log_start(8)
    assert (scene.replica.first_unstable_offset, len(scene.log.segments)) == (8, 1)
    assert not scene.disk.exists(INDEX)


@pytest.mark.case("LG-025")
def test_a_marker_whose_index_entry_cannot_be_written_ends_nothing() -> None:
    scene = Scene()
    assert scene.append(10, sequence=0) == Error.NONE
    assert isinstance(scene.disk, FailingDisk)
    scene.disk.fails = ".txnindex"
    for _ in range(2):
        assert scene.abort() == Error.KAFKA_STORAGE_ERROR
        assert (scene.log.end_offset, scene.replica.last_stable_offset) == (11, 0)
    scene.replica.high_watermark = 12
    assert scene.replica.last_stable_offset == 0
    found = Scene(scene.disk.copy())
    found.replica.high_watermark = 12
    assert (len(found.replica.aborted), found.log.end_offset) == (1, 11)
    assert found.replica.first_unstable_offset == NONE
    assert found.replica.fetch(0, Isolation.READ_COMMITTED).aborted == ((1, 0),)


@pytest.mark.case("LG-028")
def test_a_segment_whose_snapshot_cannot_be_flushed_is_not_recovered_yet() -> None:
    scene = Scene()
    assert scene.append(1, sequence=0) == Error.NONE
    assert isinstance(scene.disk, FailingDisk)
    scene.disk.fails = SNAPSHOT
    with pytest.raises(Exception, match="closed for writes"):
        scene.replica.roll()
    assert scene.log.recovery_point == 0
    assert scene.log.failure is not None
