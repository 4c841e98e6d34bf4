"""A log whose beginning was not given is not taken as one that begins there."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.traces.dumps import Printed
from tests.traces.test_producer_states import entry, gaps_of, judged, shown, snapshot
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Judgement

NEXT = (Printed(8, 1, producer_id=-1), Printed(9, 2, sequence=4), Printed(11, 1, marker="COMMIT"))


def begin(number: int) -> str:
    return f"what was given begins at offset {number}, and nothing shows that the log does"


def test_a_later_segment_alone_is_judged_with_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examined = judged(tmp_path, NEXT)
    assert (0, 7, begin(8)) in gaps_of(examined)
    report = examined.report
    assert (report.lso, report.lso_at_least, report.committed_at_least) == ({"orders-0": 0}, ["orders-0"], ["orders-0"])
    assert (report.verdict, report.is_in_full) == (Judgement.CONFORMS, False)
    text = shown(examined, capsys)
    assert text.startswith("nothing is known to be open")
    assert "orders-0: last stable offset at least 0 of 12; what was open before offset 8 is not known" in text


@pytest.mark.parametrize(("sequence", "may_begin_before"), [(0, False), (3, True)])
def test_the_first_transaction_may_have_begun_before(
    sequence: int, may_begin_before: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examined = judged(tmp_path, (Printed(8, 2, sequence=sequence), Printed(10, 1, producer_id=-1)))
    [opened] = examined.seen["orders", 0].open_transactions
    assert (opened.first_offset, opened.may_begin_before) == (8, may_begin_before)
    text = shown(examined, capsys)
    assert text.startswith("open")
    assert ("it may have begun before the first offset that was given" in text) == may_begin_before


def test_a_transaction_after_a_marker_of_its_producer_began_in_the_log(tmp_path: Path) -> None:
    examined = judged(tmp_path, (*NEXT, Printed(12, 1, sequence=6)))
    assert [each.may_begin_before for each in examined.seen["orders", 0].open_transactions] == [False]


def epochs(folder: Path, first: int) -> None:
    (folder / "leader-epoch-checkpoint").write_text(f"0\n1\n0 {first}\n")


def log_start(folder: Path, first: int) -> None:
    (folder.parent / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {first}\n")


def moved(folder: Path, first: int) -> None:
    line = f"Incremented log start offset to {first} due to segment deletion"
    where = "[UnifiedLog partition=t-0, dir=/data]"
    text = f"[2026-11-30 17:47:59,687] INFO {where} {line} (org.apache.kafka.storage.internals.log.UnifiedLog)\n"
    (folder.parent / "server.log").write_text(text)


def at_the_start(folder: Path, first: int) -> None:
    """A snapshot that knows a producer without an open transaction."""
    shutil.copy(folder / "end", folder / f"{first:020}.snapshot")


PROOFS: list[Callable[[Path, int], None]] = [epochs, log_start, moved, at_the_start]


@pytest.fixture
def later(samples: Path, tmp_path: Path) -> tuple[Path, int]:
    """A segment of a recording without its first batch, alone, and the offset that it begins at."""
    folder = tmp_path / "data/t-0"
    shutil.copytree(samples / "01-commit/segments/t-0", folder)
    (folder / "00000000000000000004.snapshot").rename(folder / "end")
    (folder / "leader-epoch-checkpoint").unlink()
    whole = folder / "00000000000000000000.log"
    data = whole.read_bytes()
    size = 12 + int.from_bytes(data[8:12])
    first = int.from_bytes(data[size : size + 8])
    (folder / f"{first:020}.log").write_bytes(data[size:])
    whole.unlink()
    return folder, first


@pytest.mark.parametrize("proof", PROOFS)
def test_other_evidence_shows_that_the_log_begins_there(
    proof: Callable[[Path, int], None], later: tuple[Path, int]
) -> None:
    folder, first = later
    report = replay([folder.parent])
    assert begin(first) in [gap.why for gap in report.not_judged]
    assert report.lso_at_least == ["t-0"]
    proof(folder, first)
    report = replay([folder.parent])
    assert [gap for gap in report.not_judged if gap.name == "t-0"] == []
    assert (report.lso, report.lso_at_least) == ({"t-0": 4}, [])


@pytest.mark.parametrize("proof", [log_start, moved])
def test_evidence_of_an_earlier_start_shows_nothing(
    proof: Callable[[Path, int], None], later: tuple[Path, int]
) -> None:
    folder, first = later
    proof(folder, first - 1)
    assert begin(first) in [gap.why for gap in replay([folder.parent]).not_judged]


def test_an_earlier_leader_epoch_shows_that_offsets_are_lost(later: tuple[Path, int]) -> None:
    folder, first = later
    epochs(folder, first - 1)
    report = replay([folder.parent])
    assert [(gap.first_offset, gap.last_offset) for gap in report.not_judged if gap.name == "t-0"] == [
        (first - 1, first - 1)
    ]
    assert (report.lso, report.lso_at_least) == ({"t-0": first - 1}, ["t-0"])


def test_a_snapshot_at_the_beginning_is_enough_in_text(tmp_path: Path) -> None:
    examined = judged(tmp_path, NEXT, snapshot(8, entry(7, None)))
    assert gaps_of(examined) == []
    assert (examined.report.lso, examined.report.lso_at_least) == ({"orders-0": 12}, [])


# ---------------------------------------------------------------- markers before what was given


def without_head(text: str, first: int) -> str:
    """The text of a dump from a batch on, as of a segment that begins there."""
    head, _, _ = text.partition("baseOffset: ")
    name = head.replace(f"{0:020}.log", f"{first:020}.log").replace("offset: 0", f"offset: {first}")
    return name + text[text.index(f"baseOffset: {first} ") :]


@pytest.mark.parametrize("is_end_shown", [False, True])
def test_a_marker_before_what_was_given_is_not_missing(is_end_shown: bool, samples: Path, tmp_path: Path) -> None:
    """An aborted transaction whose late data hangs at offset 4; its marker at offset 3 was not given."""
    dump = samples / "10-hanging/dump"
    shutil.copy(dump / "__transaction_state-1.txt", tmp_path)
    (tmp_path / "t-0.txt").write_text(without_head((dump / "t-0.txt").read_text(), 4))
    if is_end_shown:
        shutil.copytree(samples / "10-hanging/segments/t-0", tmp_path / "t-0")
        (tmp_path / "t-0/00000000000000000000.log").unlink()
        (tmp_path / "t-0/00000000000000000000.txnindex").unlink()
    report = replay([tmp_path])
    promises = [finding.promise for finding in report.findings]
    assert promises == (["no_open_transaction_that_nobody_owns"] if is_end_shown else [])
    assert all("had its ABORT marker before it, or has none" in finding.message for finding in report.findings)
    assert any(gap.name == "t-0" and (gap.first_offset, gap.last_offset) == (0, 3) for gap in report.not_judged) or (
        is_end_shown
    )


def starts_of(text: str) -> list[int]:
    found = [line.split()[1] for line in text.splitlines() if line.startswith("baseOffset: ")]
    return [int(offset) for offset in found if int(offset) > 0]


RECORDED = ["01-commit", "10-hanging", "25-kafka39-commit-abort-zombie"]


@pytest.mark.parametrize("name", RECORDED)
def test_no_beginning_that_is_left_out_makes_a_violation_or_a_wrong_offset(
    name: str, samples: Path, tmp_path: Path
) -> None:
    """The dump of each data partition is cut before each of its batches; all else is given whole."""
    dump = samples / name / "dump"
    whole = {
        path.name: path.read_text() for path in dump.glob("*.txt") if ".b" not in path.name and ".s" not in path.name
    }
    for file, text in whole.items():
        (tmp_path / file).write_text(text)
    before = replay([tmp_path])
    violated = {(finding.promise, finding.topic) for finding in before.findings}
    tried = 0
    for file, text in whole.items():
        for first in [] if file.startswith("__") else starts_of(text):
            (tmp_path / file).write_text(without_head(text, first))
            report = replay([tmp_path])
            place = file.removesuffix(".txt")
            assert {(finding.promise, finding.topic) for finding in report.findings} <= violated
            assert report.lso[place] <= before.lso[place]
            assert report.lso[place] == before.lso[place] or place in report.lso_at_least
            assert set(report.committed[place]) <= set(before.committed[place])
            assert not report.is_in_full
            tried += 1
        (tmp_path / file).write_text(text)
    assert tried
