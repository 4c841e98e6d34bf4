"""Nothing is lost, doubled, torn or held back, whatever a disk, a clock or a kill does; and who loses is found."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store import gate
from tests.store.crashing import Reached, crash_in_recovery, crash_points
from tests.store.damage import bit_flips
from tests.store.failing import disk_errors
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.group.offset_store import OffsetStore
from zombieproof.broker.group.store import GroupStore
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.store.fault_disk import Fault
from zombieproof.broker.store.log_directory import Syncing
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.formats.record_batch import header_at


def reached_by(row: str) -> Reached:
    total = Reached()
    for job in gate.ROWS[row].jobs("commit"):
        part = job()
        if part is not None:
            total.add(part)
    return total


@pytest.mark.parametrize("row", [row for row in gate.ROWS if row != "kills"])
def test_nothing_is_wrong_after(row: str) -> None:
    reached = reached_by(row)
    assert sum(reached.counts.values()) > 0
    assert reached.findings == []


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
    carry_out = Syncing.carry_out

    def late(syncing: Syncing) -> None:
        for log, end_offset, _, _ in syncing.parts:
            log.synced(end_offset)
        carry_out(syncing)

    patch.setattr(Syncing, "carry_out", late)
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
    init = ProducerIdController.__init__
    patch.setattr(ProducerIdController, "__init__", lambda self, next_id=0, size=1000: init(self, 0, size))


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


Loser = tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], Reached]]

LOSERS: dict[str, Loser] = {
    "durable at once": (durable_at_once, lambda: crash_points("transactions", 16, every=3)),
    "no file is synced": (no_file_is_synced, lambda: crash_points("plain", 24, every=3)),
    "no name is synced": (no_name_is_synced, lambda: crash_points("plain", 24, every=3)),
    "answered before the sync": (answered_before_the_sync, lambda: crash_points("fences", 12, every=1)),
    "blocks of producer ids are not kept": (blocks_are_not_kept, lambda: crash_points("plain", 12, every=9)),
    "the log is not read again": (the_log_is_not_read_again, lambda: crash_points("fences", 12, every=9)),
    "crashes during recovery lose the log": (no_file_is_synced, lambda: crash_in_recovery("fences", 12, 3)),
    "offsets are not read again": (offsets_are_not_read_again, lambda: crash_points("groups", 12, every=29)),
    "checksums are not checked": (
        checksums_are_not_checked,
        lambda: bit_flips(0, 8191),
    ),
    "a failed sync counts": (
        lambda patch: patch.setattr(SegmentLog, "fail", lambda log, _: log.synced(log.end_offset)),
        lambda: disk_errors("transactions", 12, Fault.EIO, every=1),
    ),
}


@pytest.mark.parametrize("name", LOSERS)
def test_a_store_that_loses_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lose, check = LOSERS[name]
    lose(monkeypatch)
    try:
        found = check().findings
    except Exception as error:  # noqa: BLE001  # clients that cannot go on have noticed as well
        found = [str(error)]
    assert found
