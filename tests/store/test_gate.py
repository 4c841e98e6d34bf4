"""Nothing is lost, doubled, torn or held back, whatever a disk, a clock or a kill does; and who loses is found."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from tests.store import gate
from tests.store.crashing import Reached, crash_in_recovery, crash_points
from tests.store.damage import bit_flips
from tests.store.damages import damages
from tests.store.failing import disk_errors
from zombieproof.broker.data_directory import DataDirectory
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.group.offset_store import OffsetStore
from zombieproof.broker.group.store import GroupStore
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.repairing import Repairs
from zombieproof.broker.store import swapping
from zombieproof.broker.store.cleaner import Pass
from zombieproof.broker.store.fault_disk import Fate, Fault
from zombieproof.broker.store.log_cleaner import dirt_of
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.broker.store.log_loader import LogLoader
from zombieproof.broker.store.segment import Segment
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.batches import Batch
from zombieproof.formats.record_batch import header_at
from zombieproof.formats.transaction_index import IndexEntry
from zombieproof.model.vocabulary import NONE

SWAPPED = (".cleaned", ".swap", ".log", ".txnindex")
"""Names of files that a swap of segments writes or renames."""


def reached_by(row: str) -> Reached:
    total = Reached()
    for job in gate.ROWS[row].jobs("commit"):
        part = job()
        if part is not None:
            total.add(part)
    return total


LONG = ("points", "frames")


@pytest.mark.sample("pauses", "clocks")
@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=[pytest.mark.slow] if row in LONG else [], id=row) for row in gate.ROWS if row != "kills"],
)
def test_nothing_is_wrong_after(row: str) -> None:
    reached = reached_by(row)
    assert sum(reached.counts.values()) > 0
    assert reached.findings == []


@pytest.mark.slow
def test_nothing_is_wrong_after_kills(repository_root: Path) -> None:
    # A process of its own: one that is forked must not have the threads of the test runner.
    command = [sys.executable, "-m", "tests.store.gate", "kills", "--depth", "commit", "--processes", "1"]
    done = subprocess.run(command, cwd=repository_root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 cycles" in done.stdout


def test_a_row_that_there_is_not_is_refused(repository_root: Path) -> None:
    command = [sys.executable, "-m", "tests.store.gate", "nothing"]
    done = subprocess.run(command, cwd=repository_root, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such row: nothing; there are points" in done.stderr


# ---------------------------------------------------------------- hosts that lose something


def durable_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentLog, "durable_offset", property(lambda log: log.end_offset))


def no_file_is_synced(patch: pytest.MonkeyPatch) -> None:
    sync = SegmentLog.sync
    patch.setattr(SegmentLog, "sync", lambda log, files, names: sync(log, (), names))


def no_name_is_synced(patch: pytest.MonkeyPatch) -> None:
    sync = SegmentLog.sync
    patch.setattr(SegmentLog, "sync", lambda log, files, names: sync(log, files, False))


def answered_before_the_sync(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Embedded, "_begin_sync", _synced_too_early(Embedded._begin_sync))


def _synced_too_early(begin: object) -> object:
    def begun(embedded: Embedded) -> object:
        found = begin(embedded)  # type: ignore[operator]  # the method that was there
        for node, syncing in found:
            for log, end_offset, _, _ in syncing.parts:
                log.synced(end_offset)
                embedded.cluster.flushed(node, embedded.directories[node].partition_of(log))
        embedded._deliver()
        return found

    return begun


def blocks_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    keep = DataDirectory._keep_next_id
    patch.setattr(DataDirectory, "_keep_next_id", lambda directory, _: keep(directory, 0))


def the_log_is_not_read_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Replica, "_fold_log", lambda *_: [])


def checksums_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("zombieproof.broker.store.segment.is_sound", lambda header, data, at: True)
    patch.setattr("zombieproof.formats.encoding.sound_header_at", header_at)


def offsets_are_not_read_again(patch: pytest.MonkeyPatch) -> None:
    load = GroupStore.load

    def blind(store: GroupStore) -> None:
        load(store)
        store.offsets = OffsetStore()

    patch.setattr(GroupStore, "load", blind)


def cleaned_files_are_not_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("zombieproof.broker.store.swapping.sync_cleaned", lambda _, cleaned: cleaned.write_indexes())


def old_segments_go_before_the_new_one_counts(patch: pytest.MonkeyPatch) -> None:
    def swap_in(files: LogFiles, cleaned: Segment, old: Sequence[Segment]) -> None:
        for segment in old:
            files.delete(segment)
        files.held.insert(files.held.index(old[0]), cleaned)
        swap(files, cleaned, [cleaned])
        for segment in old:
            files.held.remove(segment)

    def swap(files: LogFiles, cleaned: Segment, replaced: Sequence[Segment]) -> None:
        swapping.sync_cleaned(files, cleaned)
        swapping._rename(files, cleaned, swapping.SWAP)
        files.disk.sync_directory(files.directory)
        swapping._rename(files, cleaned, "")

    patch.setattr("zombieproof.broker.store.compaction.swap_in", swap_in)


def swaps_are_dropped_by_whoever_finds_them(patch: pytest.MonkeyPatch) -> None:
    finish = swapping.finish_swaps

    def drop(files: LogFiles, reach: Callable[[Segment], int]) -> None:
        for name in files.disk.listed(files.directory):
            if name.endswith(swapping.SWAP):
                files.disk.remove(f"{files.directory}/{name}")
        finish(files, reach)

    patch.setattr("zombieproof.broker.store.log_loader.finish_swaps", drop)


def markers_go_before_their_data(patch: pytest.MonkeyPatch) -> None:
    left_of = Pass._left_of_control

    def without_markers(one: Pass, batch: Batch) -> Batch | None:
        left = left_of(one, batch)
        return left if batch.marker is None or batch.marker.committed else None

    patch.setattr(Pass, "_left_of_control", without_markers)


def the_cleaner_goes_beyond_what_is_stable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "zombieproof.broker.store.log_cleaner.dirt_of",
        lambda partition, log, _, now_ms: dirt_of(partition, log, log.end_offset, now_ms),
    )


def the_newest_of_a_key_goes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pass, "_stays", lambda one, batch, record, offset: offset > one._newest.get(record.key, NONE))


def an_index_is_made_anew_in_place(patch: pytest.MonkeyPatch) -> None:
    def in_place(segment: Segment, entries: Iterable[IndexEntry]) -> None:
        segment.cut_aborted(0)
        for entry in entries:
            segment.add_aborted(entry)

    patch.setattr(Segment, "replace_aborted", in_place)
    # A clean start would compare it with the record of it, and mend it.
    patch.setattr(LogLoader, "_look_at_aborted", lambda *_: None)


Loser = tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], Reached]]


LOSERS: dict[str, Loser] = {
    "durable at once": (durable_at_once, lambda: crash_points("transactions", 16, every=9)),
    "no file is synced": (no_file_is_synced, lambda: crash_points("plain", 24, every=3)),
    "no name is synced": (no_name_is_synced, lambda: crash_points("plain", 24, every=5)),
    "answered before the sync": (answered_before_the_sync, lambda: crash_points("fences", 12, every=1)),
    "blocks of producer ids are not kept": (blocks_are_not_kept, lambda: crash_points("plain", 12, every=9)),
    "the log is not read again": (the_log_is_not_read_again, lambda: crash_points("fences", 12, every=9)),
    "crashes during recovery lose the log": (no_file_is_synced, lambda: crash_in_recovery("fences", 12, 3)),
    "an index of aborted transactions is made anew in place": (
        an_index_is_made_anew_in_place,
        lambda: crash_in_recovery("fences", 16, 50, part=12, parts=25),
    ),
    "offsets are not read again": (offsets_are_not_read_again, lambda: crash_points("groups", 12, every=29)),
    "cleaned files are not synced": (
        cleaned_files_are_not_synced,
        lambda: crash_points("compaction", 16, every=11, within=SWAPPED, fates=(Fate.DROPPED,)),
    ),
    "old segments go before the new one counts": (
        old_segments_go_before_the_new_one_counts,
        lambda: crash_points("compaction", 16, every=5, within=SWAPPED, fates=(Fate.KEPT,)),
    ),
    "swaps are dropped by whoever finds them": (
        swaps_are_dropped_by_whoever_finds_them,
        lambda: crash_points("compaction", 16, every=1, within=(".txnindex",), fates=(Fate.KEPT,)),
    ),
    "markers go before their data": (markers_go_before_their_data, lambda: crash_points("compaction", 16, every=29)),
    "the cleaner goes beyond what is stable": (
        the_cleaner_goes_beyond_what_is_stable,
        lambda: crash_points("compaction", 16, every=29),
    ),
    "the newest of a key goes": (the_newest_of_a_key_goes, lambda: crash_points("compaction", 16, every=29)),
    "checksums are not checked": (
        checksums_are_not_checked,
        lambda: bit_flips(0, 8191),
    ),
    "remedies do nothing": (
        lambda patch: patch.setattr(Repairs, "apply", lambda _: []),
        lambda: damages(12, 1, nodes=(1,)),
    ),
    "a failed sync counts": (
        lambda patch: patch.setattr(SegmentLog, "fail", lambda log, _: log.synced(log.end_offset)),
        lambda: disk_errors("transactions", 12, Fault.EIO, every=1),
    ),
}


@pytest.mark.share(2)
@pytest.mark.sample("offsets are not read again")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.deep] if name == "answered before the sync" else [], id=name)
        for name in LOSERS
    ],
)
def test_a_store_that_loses_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lose, check = LOSERS[name]
    lose(monkeypatch)
    try:
        found = check().findings
    except Exception as error:  # noqa: BLE001  # clients that cannot go on have noticed as well
        found = [str(error)]
    assert found
