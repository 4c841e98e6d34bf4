"""Segments on disk: when they are sealed, what goes with time, what is rebuilt, cut, and refused."""

from dataclasses import replace
from uuid import UUID

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.node import Store, Tokens
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.broker.partition.producer_states import ProducerStates
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.contract import batch_of
from zombieproof.broker.store.fault_disk import Fault, FaultDisk, Plan
from zombieproof.broker.store.log_directory import LogDirectory
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.batches import Batch, Marker
from zombieproof.formats.record_batch import header_at
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import Error, Origin

TOPIC_ID = UUID(int=7)
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100, segment_ms=10_000, retention_ms=60_000)


class Place:
    """A partition on a disk, with all that a replica needs."""

    def __init__(self, config: LogConfig = SMALL) -> None:
        self.disk, self.clock, self.config = FaultDisk(), ManualClock(1_700_000_000_000), config
        self.open()

    def open(self) -> Replica:
        self.directory = LogDirectory(self.disk, "d", self.clock)
        self.store = self.directory.open_store(("t", 0), TOPIC_ID, self.config)
        self.replica = replica_of(self.store, self.clock)
        self.replica.recover(self.directory.was_clean)
        self.replica.lead(3)
        return self.replica

    @property
    def log(self) -> SegmentLog:
        log = self.store.log
        assert isinstance(log, SegmentLog)
        return log

    def write(self, count: int, *, producer_id: int = 0, first: int = 0, transactional: bool = False) -> None:
        for number in range(first, first + count):
            batch = batch_of(b"v" * 50, producer_id=producer_id, transactional=transactional)
            done = self.replica.append(
                replace(batch, base_sequence=number, timestamp_ms=self.clock.now_ms()), 0, Origin.COORDINATOR
            )
            assert done.error == Error.NONE, Error(done.error)

    def end(self, producer_id: int, *, committed: bool) -> None:
        self.replica.append_marker(producer_id, 0, Marker(committed, 0), Origin.COORDINATOR)

    def close(self) -> None:
        self.log.flush()
        self.replica.stop()
        self.directory.close()

    def reopen(self) -> Replica:
        self.close()
        return self.open()

    def crash(self) -> Replica:
        self.disk = self.disk.copy()
        return self.open()

    def names(self, suffix: str) -> list[str]:
        return [name for name in self.disk.listed("d/t-0") if name.endswith(suffix)]


def replica_of(store: Store, clock: ManualClock) -> Replica:
    return Replica(("t", 0), store.log, preset("3.5"), Settings(), clock, Journal(), Tokens(), store.snapshots)


@pytest.fixture
def place() -> Place:
    return Place()


# ---------------------------------------------------------------- sealing


def test_a_segment_is_sealed_before_it_gets_too_large(place: Place) -> None:
    place.write(20)
    bases = [segment.base_offset for segment in place.log.segments]
    assert len(bases) > 3
    assert all(segment.size <= SMALL.segment_bytes for segment in place.log.segments)
    assert [int(name[:20]) for name in place.names(".log")] == bases
    assert [int(name[:20]) for name in place.names(".snapshot")] == bases[1:]
    assert len(place.names(".index")) == len(bases) - 1, "the last segment has its index in memory"


def test_a_batch_that_does_not_fit_begins_a_segment() -> None:
    place = Place(replace(SMALL, segment_bytes=1_000))
    for size in (100, 100, 200, 2_000, 10):
        batch = replace(batch_of(b"v" * size), timestamp_ms=place.clock.now_ms())
        assert place.replica.append(batch, 0, Origin.CLIENT).error == Error.NONE
    sizes = [segment.size for segment in place.log.segments]
    assert [segment.base_offset for segment in place.log.segments] == [0, 2, 3, 4], sizes
    assert sorted(sizes)[-2] <= 1_000 < max(sizes), "only a batch that is larger by itself makes a larger segment"


def test_a_segment_is_sealed_when_it_is_old(place: Place) -> None:
    place.write(1)
    place.clock.advance(9_999)
    place.write(1, first=1)
    assert len(place.log.segments) == 1
    place.clock.advance(1)
    place.write(1, first=2)
    assert len(place.log.segments) == 2


def test_a_sealed_segment_is_on_the_disk(place: Place) -> None:
    place.write(20)
    sealed = place.log.segments[-1].base_offset
    assert place.log.recovery_point == sealed < place.log.end_offset


# ---------------------------------------------------------------- retention


def test_old_segments_go_and_their_files_with_them(place: Place) -> None:
    place.write(20)
    place.clock.advance(60_001)
    place.write(1, first=20)
    start = place.log.expired_before(place.log.end_offset)
    assert start == place.log.segments[-1].base_offset > 0
    place.replica.raise_log_start(start)
    assert (place.log.start_offset, [int(name[:20]) for name in place.names(".log")]) == (start, [start])
    assert place.names(".deleted"), "files are renamed first"
    place.clock.advance(place.config.file_delete_delay_ms)
    place.log.remove_deleted()
    assert not place.names(".deleted")
    assert place.reopen().log.start_offset == start


def test_the_last_segment_goes_as_well_when_it_is_too_old(place: Place) -> None:
    place.write(20)
    place.clock.advance(60_001)
    end = place.log.end_offset
    assert place.log.expired_before(end - 1) == place.log.segments[-1].base_offset, "it is not replicated yet"
    assert place.log.expired_before(end) == end
    place.replica.raise_log_start(end)
    assert (place.log.expired_before(end), list(place.log.read(end))) == (end, [])
    place.write(1, first=20)
    assert place.reopen().log.start_offset == end


def test_a_segment_that_was_the_last_one_at_a_crash_goes_when_it_is_too_old() -> None:
    """Nothing protects the times in its index: its batches are read."""
    place = Place(replace(SMALL, segment_bytes=1 << 20, index_interval_bytes=1))
    place.write(20)
    place.log.flush()
    place.directory.checkpoint()
    place.crash()
    assert not place.log.segments[-1]._indexes.has_all_times
    end = place.log.end_offset
    assert place.log.expired_before(end) == 0
    place.clock.advance(60_001)
    assert place.log.expired_before(end) == end


def test_aborted_transactions_are_forgotten_with_their_segments(place: Place) -> None:
    for number in range(6):
        place.write(3, producer_id=number, transactional=True)
        place.replica.append_marker(number, 0, Marker(False, 0), Origin.COORDINATOR)
    assert len(place.replica.aborted) == 6
    place.replica.raise_log_start(place.log.segments[-1].base_offset)
    left = tuple(place.log.aborted())
    assert tuple(place.replica.aborted) == left
    assert len(left) < 6
    found = place.reopen()
    assert tuple(found.aborted) == left


def test_nothing_goes_that_is_not_replicated_yet(place: Place) -> None:
    place.write(20)
    place.clock.advance(60_001)
    second = place.log.segments[1].base_offset
    assert place.log.expired_before(second) == second
    assert place.log.expired_before(second - 1) == 0


def test_a_log_that_is_too_large_loses_its_oldest_segments() -> None:
    place = Place(replace(SMALL, retention_ms=-1, retention_bytes=800))
    place.write(20)
    start = place.log.expired_before(place.log.end_offset)
    left = sum(segment.size for segment in place.log.segments if segment.base_offset >= start)
    assert left >= 800 > left - place.log.segments[0].size
    assert start > 0


def test_a_compacted_log_loses_nothing_by_its_age() -> None:
    place = Place(replace(SMALL, cleanup_policy="compact", retention_bytes=1))
    place.write(20)
    place.clock.advance(100 * SMALL.retention_ms)
    assert place.log.expired_before(place.log.end_offset) == 0


def test_records_are_deleted_into_an_aborted_transaction_and_it_stays_aborted(place: Place) -> None:
    place.write(3, producer_id=5, transactional=True)
    place.write(2, producer_id=6)
    place.end(5, committed=False)
    place.write(1, producer_id=6, first=2)
    place.replica.raise_log_start(2)
    for replica in (place.replica, place.reopen(), place.crash()):
        assert [tuple(entry)[:3] for entry in replica.aborted] == [(5, 0, 5)]


def test_an_aborted_transaction_that_began_in_a_segment_that_is_gone_stays_aborted(place: Place) -> None:
    place.write(12, producer_id=5, transactional=True)
    place.end(5, committed=False)
    place.replica.raise_log_start(9)
    assert place.log.segments[0].base_offset > 0
    for replica in (place.replica, place.reopen(), place.crash()):
        assert [tuple(entry)[:3] for entry in replica.aborted] == [(5, 0, 12)]


# ---------------------------------------------------------------- recovery


def test_a_start_folds_no_more_than_the_last_segment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write(40)
    replayed = list[int]()
    states = type(place.replica.producers)
    replay = states.replay

    def seen(self: ProducerStates, batch: Batch) -> object:
        replayed.append(batch.base_offset)
        return replay(self, batch)

    monkeypatch.setattr(states, "replay", seen)
    place.crash()
    assert replayed
    assert min(replayed) >= place.log.segments[-1].base_offset
    replayed.clear()
    place.reopen()
    assert replayed == [], "after a clean stop nothing is folded"


HARMS = [
    *((suffix, harm) for suffix in (".index", ".timeindex", ".txnindex") for harm in ("missing", "cut")),
    # Times of another segment are times of this one too, as far as anybody can tell.
    (".index", "of another segment"),
    (".txnindex", "of another segment"),
]


@pytest.mark.parametrize(("suffix", "harm"), HARMS)
def test_an_index_that_cannot_be_believed_is_made_anew(place: Place, suffix: str, harm: str) -> None:
    for producer_id in range(12):
        place.write(1, producer_id=producer_id, transactional=True)
        place.end(producer_id, committed=False)
        place.clock.advance(7)
    place.close()
    before = {name: place.disk.read(f"d/t-0/{name}") for name in place.names(suffix)}
    name = sorted(before)[1]
    path = f"d/t-0/{name}"
    if harm == "missing":
        place.disk.remove(path)
    elif harm == "cut":
        place.disk.truncate(path, place.disk.size(path) - 1)
    else:
        place.disk.write(path, 0, before[sorted(before)[2]])
    replica = place.open()
    assert [entry.producer_id for entry in replica.aborted] == list(range(12))
    assert len(list(replica.log.read())) == 24
    place.close()
    assert {each: place.disk.read(f"d/t-0/{each}") for each in before} == before


def test_a_torn_tail_is_cut_at_the_last_sound_batch(place: Place) -> None:
    place.write(4)
    path, size = place.log.segments[-1].path(".log"), place.log.segments[-1].size
    place.disk.write(path, size, b"\0" * 7 + b"torn")
    assert place.crash().log.end_offset == 4
    assert place.disk.size(path) == size


def test_damage_in_what_was_synced_is_no_torn_tail() -> None:
    place = Place(LogConfig())
    place.write(4)
    place.log.flush()
    place.directory.checkpoint(at_once=True)
    place.write(2, first=4)
    path = place.log.segments[-1].path(".log")
    position = place.log.segments[-1].position_of(2)
    place.disk.damage(path, 8 * (position + 70))
    before = place.disk.read(path)
    with pytest.raises(Damaged) as caught:
        place.crash()
    behind = position + header_at(before, position).size
    for words in (path, f"damaged at byte {position}", f"a sound batch follows at byte {behind}", "zombieproof repair"):
        assert words in str(caught.value)
    assert place.disk.read(path) == before, "nothing was changed"


def test_damage_in_a_sealed_segment_is_found_when_it_is_read(place: Place) -> None:
    place.write(20)
    place.close()
    path = place.log.segments[0].path(".log")
    place.disk.damage(path, 8 * 100)
    with pytest.raises(Damaged, match=r"00000000000000000000.log: damaged at byte"):
        list(place.open().log.read(0))


def test_a_segment_that_is_missing_is_noticed(place: Place) -> None:
    place.write(20)
    place.close()
    place.disk.remove(place.log.segments[1].path(".log"))
    with pytest.raises(Damaged, match=r"00000000000000000002.log: it is missing, with the offsets 2 to 3"):
        place.open()


def test_a_segment_that_is_missing_is_noticed_where_nothing_is_recorded(place: Place) -> None:
    place.write(20)
    place.close()
    for name in ("d/t-0/segment-checkpoint", "d/log-state-checkpoint", place.log.segments[1].path(".log")):
        place.disk.remove(name)
    with pytest.raises(Damaged, match=r"00000000000000000002.log: it is missing .its indexes are there"):
        place.open()
    for suffix in (".index", ".timeindex", ".txnindex"):
        place.disk.remove(place.log.segments[1].path(suffix))
    with pytest.raises(Damaged, match="the next one begins at"):
        place.open()


def test_a_file_that_a_crash_left_half_renamed_is_removed(place: Place) -> None:
    place.write(2)
    for name in ("00000000000000000000.log.deleted", "00000000000000000000.log.cleaned", "x.tmp"):
        place.disk.write(f"d/t-0/{name}", 0, b"x")
    place.reopen()
    assert not [name for name in place.disk.listed("d/t-0") if name.endswith(("deleted", "cleaned", "tmp"))]


# ---------------------------------------------------------------- failing


@pytest.mark.parametrize("fault", [Fault.EIO, Fault.ENOSPC])
def test_a_log_whose_disk_fails_is_closed_for_writes_and_opens_again(place: Place, fault: Fault) -> None:
    place.write(2)
    place.log.flush()
    place.disk.plan = Plan(place.disk.operations + 1, fault, torn_at=5)
    batch = replace(batch_of(b"x"), producer_id=9, producer_epoch=0, base_sequence=0)
    first = place.replica.append(batch, 0, Origin.COORDINATOR)
    again = place.replica.append(batch, 0, Origin.COORDINATOR)
    assert (first.error, again.error) == (Error.KAFKA_STORAGE_ERROR, Error.KAFKA_STORAGE_ERROR)
    assert place.log.end_offset == 2
    with pytest.raises(StorageFailure, match="closed for writes"):
        place.log.flush()
    place.disk.plan = Plan()
    assert place.crash().append(batch, 0, Origin.COORDINATOR).base_offset == 2


def test_a_leader_epoch_begins_where_its_first_batch_is(place: Place) -> None:
    place.write(2)
    place.replica.lead(5)
    place.write(1, first=2)
    assert place.disk.read("d/t-0/leader-epoch-checkpoint") == b"0\n2\n3 0\n5 2\n"
    place.log.truncate(2)
    assert place.disk.read("d/t-0/leader-epoch-checkpoint") == b"0\n1\n3 0\n"
