"""Damage proves no absence: wherever a file is cut, and whichever is lost, nothing is found that is not so.

What is cut conforms as far as it could be judged, or is damaged; a verdict without reserve is given only when all that
is concluded from the whole is concluded from what is left.
What ends with a whole line of a dump, or a whole batch of a segment, cannot be told from a whole log when nothing else
speaks of its end; there the finding itself says so.
"""

import lzma
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from zombieproof.cli.judging import exit_code
from zombieproof.screening.taking import LogScreen
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Report

FORMS = ("segments", "dump")
SAMPLES = sorted(path for path in (Path(__file__).parents[1] / "recordings").iterdir() if path.is_dir())
SHARED = Path(__file__).parents[3] / "shared" / "traces"
RECORDINGS = sorted(path for path in SHARED.iterdir() if path.is_dir()) if SHARED.is_dir() else []
UNSHOWN = "nothing shows that"


def faults(report: Report) -> set[tuple[object, ...]]:
    return {(each.promise, each.topic, each.partition, each.offset, each.producer_id) for each in report.findings}


def conclusions(report: Report) -> tuple[object, ...]:
    return report.transactions, report.committed, report.lso, report.group_offsets


def cuts(data: bytes, is_text: bool, most: int) -> list[int]:
    """Where to cut: in the middle of lines and behind them, or anywhere in bytes; at most so many, spread evenly."""
    places = list(range(len(data)))
    if is_text:
        places, at = [], 0
        for line in data.split(b"\n")[:-1]:
            places += [at + len(line) // 2, at + len(line) + 1]
            at += len(line) + 1
        places = places[:-1]
    step = max(1, len(places) // most)
    return places[(step // 2) :: step]


def complaints(whole: Report, cut: Report, is_unwitnessed: bool) -> Iterator[str]:
    """What is said of a cut history that is not so."""
    for finding in cut.findings:
        is_known = faults(cut.model_copy(update={"findings": [finding]})) <= faults(whole)
        if not is_known and not (is_unwitnessed and UNSHOWN in finding.message):
            yield f"{finding.promise}: {finding.message}"
    if exit_code(cut) == 0 and conclusions(cut) != conclusions(whole) and not is_unwitnessed:
        yield "conforms without reserve, and another history was judged"


def is_unwitnessed(file: Path, data: bytes) -> bool:
    """Whether what is left ends with a whole line or batch, and no other file speaks of the log that it shows."""
    if file.suffix == ".txt":
        return "__" in file.name and ".console" not in file.name and data.endswith(b"\n")
    return file.suffix == ".log" and not list(file.parent.glob("*.snapshot")) and ends_with_a_batch(data)


def ends_with_a_batch(data: bytes) -> bool:
    at = 0
    while at + 12 <= len(data):
        at += 12 + int.from_bytes(data[at + 8 : at + 12])
    return at == len(data)


def check(folder: Path, most: int) -> None:
    whole = replay([folder])
    found: list[str] = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = file.read_bytes()
        text = lzma.decompress(data) if file.suffix == ".xz" else data
        for at in cuts(data, file.suffix == ".txt", most):
            file.write_bytes(data[:at])
            said = complaints(whole, replay([folder]), is_unwitnessed(file, data[:at]))
            found += (f"{file.relative_to(folder)} cut at {at} of {len(text)}: {each}" for each in said)
        file.write_bytes(data)
    assert found == []


def is_named_by_nothing(whole: Report, partition: str) -> bool:
    """Whether a partition is in no transaction, so that nothing tells of it when it is gone."""
    return all(partition not in txn.partitions for txn in whole.transactions)


@pytest.mark.sample("23-truncated-segment", "10-hanging")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("recording", SAMPLES, ids=lambda path: path.name)
def test_a_cut_file_gives_no_finding_of_its_own(recording: Path, form: str, tmp_path: Path) -> None:
    shutil.copytree(recording / form, tmp_path / form)
    check(tmp_path / form, most=5)


@pytest.mark.deep
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_wherever_a_file_is_cut_it_gives_no_finding_of_its_own(recording: Path, form: str, tmp_path: Path) -> None:
    shutil.copytree(recording / form, tmp_path / form)
    check(tmp_path / form, most=1 if recording.name in ("17-producer-performance", "19-soak") else 20)


@pytest.mark.parametrize("recording", SAMPLES, ids=lambda path: path.name)
def test_a_lost_partition_gives_no_finding_and_is_named(recording: Path, tmp_path: Path) -> None:
    root = tmp_path / "segments"
    shutil.copytree(recording / "segments", root)
    whole = replay([root])
    logs = sorted({path.parent for path in root.rglob("*.log")})
    for log in logs:
        shutil.move(log, tmp_path / "gone")
        left = replay([root])
        assert faults(left) <= faults(whole)
        is_last_copy = not list(root.rglob(log.name))
        if is_last_copy and not is_named_by_nothing(whole, log.name):
            assert log.name in {gap.name for gap in left.not_judged}
            assert exit_code(left) != 0
        shutil.move(tmp_path / "gone", log)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_segment_gives_no_finding_and_what_it_held_is_named(samples: Path, tmp_path: Path, lost: int) -> None:
    """A segment is three here, as after a roll: the first, one between others, the last."""
    shutil.copytree(samples / "09-offline-partition-lost-commit" / "segments" / "broker-1", tmp_path / "broker-1")
    folder = tmp_path / "broker-1" / "d-0"
    (log,) = replay([tmp_path]).judged.partitions[1:]
    assert log.partition == "d-0"
    split(folder / "00000000000000000000.log", (0, 2, 4))
    whole = replay([tmp_path])
    assert whole.findings == []
    sorted(folder.glob("*.log"))[lost].unlink()
    left = replay([tmp_path])
    assert left.findings == []
    spans = {(gap.first_offset, gap.last_offset) for gap in left.not_judged if gap.name == "d-0"}
    assert spans == {[(0, 1), (2, 3), (4, 5)][lost]}


# ---------------------------------------------------------------- holes that the cleaner leaves


THINNED = ((0, b"a", b"1"), (2, b"c", b"1"))
"""A batch of three offsets of which the cleaner took one."""


def rolled(folder: Path, *segments: tuple[int, Sequence[bytes]]) -> Path:
    """The folder of a partition with these segments."""
    folder.mkdir()
    for base, batches in segments:
        (folder / f"{base:020}.log").write_bytes(b"".join(batches))
    return folder


def holes(folder: Path, *, screened: bool) -> set[tuple[int | None, int | None]]:
    evidence = collect([folder], screen=LogScreen() if screened else None)
    assert evidence.damage == []
    return {(gap.first_offset, gap.last_offset) for gap in replay(evidence).not_judged}


both = pytest.mark.parametrize("screened", [True, False], ids=["screened", "read"])


@both
def test_the_cleaner_leaves_a_hole_at_the_end_of_a_segment(
    tmp_path: Path, batch: Callable[..., bytes], screened: bool
) -> None:
    """Records, and whole batches, at the end of a segment are gone; so are whole segments that held nothing else."""
    one, later = batch(THINNED), batch([(0, b"d", b"1")], base_offset=9)
    assert holes(rolled(tmp_path / "c-0", (0, [one]), (9, [later])), screened=screened) == set()
    inside = [batch([(0, b"a", b"1")]), batch([(0, b"b", b"1")], base_offset=4)]
    assert holes(rolled(tmp_path / "c-1", (0, inside), (9, [later])), screened=screened) == set()
    many = ((0, [one]), (20, [batch(base_offset=25)]), (40, [batch(base_offset=40)]), (90, [batch(base_offset=95)]))
    assert holes(rolled(tmp_path / "c-2", *many), screened=screened) == set()


@both
def test_a_hole_between_segments_of_a_topic_that_was_not_compacted_is_reported(
    tmp_path: Path, batch: Callable[..., bytes], screened: bool
) -> None:
    segments = ((0, [batch()]), (1, [batch(base_offset=1)]), (9, [batch(base_offset=9)]))
    assert holes(rolled(tmp_path / "t-0", *segments), screened=screened) == {(2, 8)}


@both
def test_a_name_in_the_cleaners_checkpoint_alone_shows_no_cleaning_of_a_hole(
    tmp_path: Path, batch: Callable[..., bytes], screened: bool
) -> None:
    """The checkpoint names every topic that may be compacted, before anything was."""
    rolled(tmp_path / "t-0", (0, [batch()]), (9, [batch(base_offset=9)]))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 0\n")
    assert holes(tmp_path, screened=screened) == {(1, 8)}


@both
def test_a_torn_end_of_a_segment_is_no_hole_of_the_cleaner(
    tmp_path: Path, batch: Callable[..., bytes], screened: bool
) -> None:
    folder = rolled(tmp_path / "c-0", (0, [batch(THINNED), batch(base_offset=5)[:-2]]), (9, [batch(base_offset=9)]))
    evidence = collect([folder], screen=LogScreen() if screened else None)
    assert evidence.damage
    assert {(gap.first_offset, gap.last_offset) for gap in replay(evidence).not_judged} == {(3, 8)}


@both
def test_an_index_without_its_segment_shows_that_one_is_lost_in_a_compacted_topic(
    tmp_path: Path, batch: Callable[..., bytes], screened: bool
) -> None:
    folder = rolled(tmp_path / "c-0", (0, [batch(THINNED)]), (9, [batch(base_offset=9)]))
    (folder / f"{4:020}.index").touch()
    assert holes(folder, screened=screened) == {(4, 8)}


@both
def test_records_that_were_deleted_from_the_middle_of_a_segment_are_no_hole(
    tmp_path: Path, batch: Callable[..., bytes], screened: bool
) -> None:
    """DeleteRecords moves the log start into a segment; the leader epochs may begin before it still."""
    folder = rolled(tmp_path / "t-0", (5, [batch(base_offset=5), batch(base_offset=6)]), (7, [batch(base_offset=7)]))
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 6\n")
    assert holes(tmp_path, screened=screened) == set()
    (tmp_path / "log-start-offset-checkpoint").unlink()
    assert holes(tmp_path, screened=screened) == {(0, 4)}


def split(segment: Path, bases: tuple[int, ...]) -> None:
    """Roll a segment into several that begin at these offsets."""
    data = segment.read_bytes()
    at, parts = 0, dict.fromkeys(bases, b"")
    while at < len(data):
        offset = int.from_bytes(data[at : at + 8])
        size = 12 + int.from_bytes(data[at + 8 : at + 12])
        parts[max(base for base in bases if base <= offset)] += data[at : at + size]
        at += size
    for base, part in parts.items():
        segment.with_name(f"{base:020}.log").write_bytes(part)


def test_a_dump_cut_in_a_line_hides_no_markers(samples: Path, tmp_path: Path) -> None:
    """The dumps that an operator makes: of two partitions and of the coordinator's log, one cut by a full disk."""
    for name in ("t-0.txt", "t-1.txt", "__transaction_state-1.txt"):
        shutil.copy(samples / "01-commit" / "dump" / name, tmp_path)
    assert replay([tmp_path]).findings == []
    text = (tmp_path / "t-0.txt").read_text()
    (tmp_path / "t-0.txt").write_text(text[: text.rindex("isControl: true") + 4])
    report = replay([tmp_path])
    assert report.findings == []
    (gap,) = report.not_judged
    assert (gap.name, gap.first_offset, gap.last_offset) == ("t-0", 3, None)


def test_a_packed_file_that_is_cut_hides_no_markers(samples: Path, tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    shutil.copytree(samples / "01-commit/segments/__transaction_state-1", tmp_path / "__transaction_state-1")
    packed = lzma.compress((samples / "01-commit/segments/t-0/00000000000000000000.log").read_bytes())
    (folder / "00000000000000000000.log.xz").write_bytes(packed[:40])
    report = replay([folder, tmp_path / "__transaction_state-1"])
    assert report.findings == []
    assert "t-0" in {gap.name for gap in report.not_judged}


def test_a_finding_at_the_end_of_a_log_says_when_nothing_shows_that_it_is_the_end(
    samples: Path, tmp_path: Path
) -> None:
    """Of two dumps that end with whole lines either may have been made before the other."""
    for name in ("t-0.txt", "__transaction_state-1.txt"):
        shutil.copy(samples / "01-commit" / "dump" / name, tmp_path)
    text = (tmp_path / "t-0.txt").read_text()
    (tmp_path / "t-0.txt").write_text(text[: text.rindex("baseOffset: ")])
    (finding,) = replay([tmp_path]).findings
    assert "nothing shows that t-0 was given up to its end" in finding.message
    shutil.copy(samples / "01-commit/dump/t-0.state.txt", tmp_path)
    report = replay([tmp_path])
    assert report.findings == []
    assert "producer snapshot" in next(gap.why for gap in report.not_judged if gap.name == "t-0")
