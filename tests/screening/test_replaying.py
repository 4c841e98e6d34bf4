"""Behind the screen the same is reported as without it, field by field, and nothing is held that grows with the log."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given

from tests.screening.drawn import LOGS, put, put_all
from tests.screening.logs import Leader, Written
from zombieproof.formats.control_records import EndMarker
from zombieproof.formats.transaction_index import ENTRY
from zombieproof.model.rules import Rules, preset
from zombieproof.screening import spilling
from zombieproof.screening.choosing import LEAST_BYTES, screen_for
from zombieproof.screening.cleared_log import ClearedLog
from zombieproof.screening.outcomes import SeveralLogs
from zombieproof.screening.taking import LogScreen, candidates
from zombieproof.traces.evidence import Evidence, Holes
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.judging.histories.cleared_history import cleared_history
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts
from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.narrowing import EVERYTHING, Narrowing
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.stored_batches import STRIDE, StoredBatches
from zombieproof.traces.replay import judge
from zombieproof.traces.watching import Watch

HELD = "zombieproof.traces.judging.histories.cleared_history.HELD"
ALL_ON_DISK: dict[str, Any] = {"HELD_BYTES": 0, "STEP": 2, "WINDOW": 4}
HERE = Path(__file__).resolve().parents[1]
RECORDINGS = [
    folder
    for root in (HERE / "recordings", HERE.parents[1] / "shared" / "traces")
    for folder in (sorted(root.iterdir()) if root.is_dir() else ())
    if folder.is_dir()
]


def told(paths: Iterable[Path], screen: LogScreen | None, narrowing: Narrowing = EVERYTHING) -> tuple[Any, Evidence]:
    """Everything that can be told of some paths, and how it was read."""
    evidence = collect(paths, screen=screen, narrowing=narrowing)
    examined = judge(evidence, narrowing=narrowing)
    report = explain(examined.report, evidence)
    lengths = {place: len(offsets) for place, offsets in report.committed.items()}
    says = report.model_dump(mode="json"), report.outcomes(), lengths, len(report.transactions)
    return (*says, what_is_open(examined, narrowing), dict(examined.evidence.named_offsets)), evidence


def agree(paths: list[Path], narrowing: Narrowing = EVERYTHING) -> int:
    """How many logs were cleared, if the same is told with a screen and without."""
    plain, _ = told(paths, None, narrowing)
    screened, evidence = told(paths, LogScreen(), narrowing)
    assert screened == plain
    with patch.multiple(spilling, **ALL_ON_DISK), patch(HELD, 0):
        assert told(paths, LogScreen(), narrowing)[0] == plain
    return sum(log.cleared is not None for log in evidence.logs)


# ---------------------------------------------------------------- what real clusters recorded


@pytest.mark.long("19-soak", "20-epoch-exhaustion")
@pytest.mark.sample("01-commit", "hanging", "zombie", "removed", "truncated")
@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda folder: folder.name)
def test_of_a_recording_the_same_is_told(folder: Path) -> None:
    agree([folder])
    for part in sorted({path.parent.parent for path in folder.rglob("*.log") if path.stem.isdecimal()}):
        agree([part])


@pytest.mark.sample("01-commit", "hanging", "zombie", "removed", "truncated")
@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda folder: folder.name)
def test_of_the_partitions_of_a_recording_alone_the_same_is_told(folder: Path) -> None:
    """Without the coordinator's log, all at once and in a window of time."""
    parts = [path for path in sorted(folder.rglob("*-*")) if path.is_dir() and any(path.glob("*.log"))]
    data = [path for path in parts if not path.name.startswith("__") and path.parent == parts[0].parent]
    if data:
        agree(data)
        agree(data, Narrowing(since_ms=1_000, until_ms=1 << 45))


@pytest.mark.slow
def test_most_partitions_of_recordings_are_cleared() -> None:
    cleared = others = 0
    for folder in RECORDINGS:
        for segments in folder.rglob("segments"):
            _, evidence = told([segments], LogScreen())
            topics = [log for log in evidence.logs if not log.is_internal]
            cleared += sum(log.cleared is not None for log in topics)
            others += sum(log.cleared is None for log in topics)
    assert cleared > 2 * others > 0


# ---------------------------------------------------------------- logs that are drawn


@pytest.mark.slow
@given(LOGS)
def test_of_directories_clean_and_damaged_the_same_is_told(
    tmp_path_factory: pytest.TempPathFactory, logs: list[tuple[Any, list[int], str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("directory")
    put_all(folder, logs)
    if any(folder.iterdir()):
        event(f"cleared: {agree([folder])}")
    shutil.rmtree(folder)


# ---------------------------------------------------------------- what a screen may not overlook

DATA = Written(0, 2, 0, 0, 0, is_transactional=True)
COMMIT = Written(2, 1, 0, 1, -1, is_transactional=True, marker=EndMarker(True, 0))
ABORT = replace(COMMIT, marker=EndMarker(False, 0))


def test_two_outcomes_of_one_transaction_are_found_on_cleared_partitions(tmp_path: Path) -> None:
    put(tmp_path, "a-0", [DATA, COMMIT])
    put(tmp_path, "b-0", [DATA, ABORT])
    assert agree([tmp_path]) == 2
    (report, *_), _ = told([tmp_path], LogScreen())
    assert [finding["promise"] for finding in report["findings"]] == ["same_outcome_on_every_partition"]


def test_two_outcomes_of_one_transaction_are_found_between_a_cleared_partition_and_a_folded_one(tmp_path: Path) -> None:
    put(tmp_path, "a-0", [DATA, COMMIT])
    put(tmp_path, "b-0", [DATA, ABORT, replace(ABORT, base_offset=3, epoch=0)])
    assert agree([tmp_path]) == 1
    (report, *_), _ = told([tmp_path], LogScreen())
    assert "same_outcome_on_every_partition" in [finding["promise"] for finding in report["findings"]]


def test_what_the_coordinator_contradicts_is_folded(tmp_path: Path) -> None:
    [log] = collect([put(tmp_path, "t-0", [DATA, COMMIT])], screen=LogScreen()).logs
    owner = {0: IdHistory("an id", 0, producer_ids={0})}
    assert cleared_history(log, CoordinatorFacts({(0, 0): 2}, {(0, 1): 2}, owner), Rules()) is not None
    for facts in (CoordinatorFacts({}, {(0, 1): 2}, owner), CoordinatorFacts({(0, 0): 2}, {}, owner)):
        assert cleared_history(log, facts, Rules()) is None


@pytest.mark.parametrize("forgets", ["agree", "transactional_producers", "aborted"])
def test_a_screen_that_forgets_something_is_noticed(
    forgets: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if forgets == "transactional_producers":
        folder = HERE / "recordings" / "30-tampered-abort-marker-removed" / "segments"
        monkeypatch.setattr(ClearedLog, "transactional_producers", lambda self: ())
    elif forgets == "agree":
        folder = put(put(tmp_path, "a-0", [DATA, COMMIT]), "b-0", [DATA, ABORT])
        monkeypatch.setattr(SeveralLogs, "agree", lambda self, ended: True)
    else:
        folder = put(tmp_path, "a-0", [DATA, ABORT])
        (folder / "a-0" / f"{0:020}.txnindex").write_bytes(ENTRY.pack(0, 0, 0, 2, 3))
        agree([folder])
        monkeypatch.setattr(ClearedLog, "aborted", lambda self: iter(()))
    with pytest.raises(AssertionError):
        agree([folder])


@pytest.mark.parametrize("offset", [7, 2], ids=["a gap", "no gap"])
@pytest.mark.parametrize("is_cleaned", [True, False])
def test_signs_of_compaction_are_those_of_the_batches(offset: int, is_cleaned: bool, tmp_path: Path) -> None:
    put(tmp_path, "t-0", [DATA, replace(COMMIT, base_offset=offset)])
    if is_cleaned:
        (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 8\n")
    [plain], [screened] = collect([tmp_path]).logs, collect([tmp_path], screen=LogScreen()).logs
    assert screened.cleared is not None
    assert screened.compacted == plain.compacted == is_cleaned
    assert screened.holes is plain.holes is (Holes.LOST if offset == 7 and not is_cleaned else Holes.CLEANER)
    assert screened.signs_of_compaction() == plain.signs_of_compaction()
    assert list(screened.gaps()) == list(plain.gaps())


# ---------------------------------------------------------------- what it takes, and when


def test_a_log_is_given_back_as_a_whole(tmp_path: Path) -> None:
    log = [DATA, COMMIT, replace(DATA, base_offset=3, epoch=1), replace(DATA, base_offset=5, epoch=1, sequence=7)]
    put(tmp_path, "t-0", log, (2, 3))
    assert agree([tmp_path]) == 0
    evidence = collect([tmp_path], screen=LogScreen())
    assert len(evidence.logs[0].batches) == 4
    assert isinstance(evidence.logs[0].batches, list)


def test_copies_of_a_partition_are_compared_and_not_cleared(tmp_path: Path) -> None:
    for broker in ("broker-1", "broker-2"):
        put(tmp_path / broker, "t-0", [DATA, COMMIT])
    assert agree([tmp_path]) == 0
    assert agree([tmp_path / "broker-1"]) == 1


def test_packed_segments_and_logs_of_coordinators_are_left_to_the_readers(tmp_path: Path) -> None:
    names = [f"{folder}/{0:020}.log" for folder in ("t-0", "__transaction_state-1", "__consumer_offsets-3", "nowhere")]
    files = [tmp_path / name for name in (*names, f"t-1/{0:020}.log", f"t-1/{7:020}.log.gz", "t-0/other.log")]
    assert candidates(files) == files[:1]


def test_where_a_log_starts_is_asked_of_its_checkpoint(tmp_path: Path) -> None:
    put(tmp_path, "t-0", [DATA, COMMIT, replace(DATA, base_offset=3, epoch=1)])
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    assert agree([tmp_path]) == 1
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    assert agree([tmp_path]) == 1
    (tmp_path / "log-start-offset-checkpoint").write_text("nonsense")
    assert agree([tmp_path]) == 1


def test_a_segment_that_has_gone_is_told_by_its_readers(tmp_path: Path) -> None:
    put(tmp_path, "t-0", [DATA, COMMIT])

    def gone(*_: object) -> Any:
        raise OSError("gone")

    evidence = collect([tmp_path], screen=LogScreen(lambda _: gone))
    assert evidence.logs[0].cleared is None
    assert len(evidence.logs[0].batches) == 2


def test_a_screen_is_for_much_and_for_the_newest_rules(tmp_path: Path) -> None:
    put(tmp_path, "t-0", [DATA, COMMIT])
    assert screen_for([tmp_path], EVERYTHING) is None
    assert screen_for([tmp_path], EVERYTHING, least_bytes=1) is not None
    assert screen_for([tmp_path], EVERYTHING, preset("newest"), least_bytes=1) is not None
    assert screen_for([tmp_path], EVERYTHING, preset("3.9"), least_bytes=1) is None
    assert screen_for([tmp_path], Narrowing(since_ms=1), least_bytes=1) is None
    assert screen_for([tmp_path], Narrowing(("other",)), least_bytes=1) is not None
    with (tmp_path / "t-0" / f"{0:020}.log").open("ab") as file:
        file.truncate(LEAST_BYTES)
    assert screen_for([tmp_path], EVERYTHING) is not None


def test_what_is_read_is_told_while_it_is_screened(tmp_path: Path) -> None:
    put(tmp_path, "t-0", [DATA, COMMIT])

    class Counting(Watch):
        total = done = 0

        def begins(self, stage: object, total: int, names: object) -> None:
            self.total += total

        def advances(self, count: int) -> None:
            self.done += count

    watch = Counting()
    judge(collect([tmp_path], watch=watch, screen=LogScreen()), watch=watch)
    assert watch.total == watch.done > 0


# ---------------------------------------------------------------- batches that stay where they are


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    leader = Leader()
    for number in range(STRIDE):
        leader.data(0, 1, is_transactional=True)
        leader.nobody(1)
        leader.marker(0, commits=number % 3 > 0, raises=number % 2 > 0)
    return put(tmp_path_factory.mktemp("long"), "t-0", leader.log, (100, 100 + STRIDE, 200 + STRIDE))


def test_stored_batches_are_those_that_readers_hold(long_log: Path) -> None:
    held, stored = collect([long_log]).logs[0].batches, collect([long_log], screen=LogScreen()).logs[0].batches
    assert isinstance(stored, StoredBatches)
    assert len(stored) == len(held) == 3 * STRIDE
    assert list(stored) == held
    assert list(reversed(stored)) == held[::-1]
    for part in (slice(0, 5), slice(98, 105), slice(-3, None), slice(5, 600, 7), slice(3, 3), slice(700, 9999)):
        assert stored[part] == held[part]
    assert [stored[at] for at in (0, 99, 100, 101, -1, -769 + 1)] == [held[at] for at in (0, 99, 100, 101, -1, -768)]
    for beyond in (768, -769):
        with pytest.raises(IndexError):
            stored[beyond]


def test_of_a_long_log_the_same_is_told(long_log: Path) -> None:
    assert agree([long_log]) == 1


def test_offsets_and_transactions_of_a_cleared_log_are_not_held(long_log: Path) -> None:
    report = judge(collect([long_log], screen=LogScreen())).report
    plain = judge(collect([long_log])).report
    offsets, transactions = report.committed["t-0"], report.transactions
    assert not isinstance(offsets, list)
    assert offsets == plain.committed["t-0"]
    assert offsets[3:9] == plain.committed["t-0"][3:9]
    assert offsets[-1] == plain.committed["t-0"][-1]
    assert offsets != [*plain.committed["t-0"], 1]
    assert transactions == plain.transactions
    assert repr(offsets) == repr(plain.committed["t-0"])
    with pytest.raises(IndexError):
        offsets[10_000]
    assert type(report).model_validate_json(report.model_dump_json()) == plain
