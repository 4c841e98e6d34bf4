"""Damage proves no absence: wherever a file is cut, and whichever is lost, nothing is found that is not so.

What is cut conforms as far as it could be judged, or is damaged; a verdict without reserve is given only when all that
is concluded from the whole is concluded from what is left.
A segment that ends with a whole batch cannot be told from a whole one when nothing else speaks of its end; there the
finding itself says so. In a dump that ends with a whole line, what rests on the end is not judged.
"""

import lzma
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from zombieproof.cli.judging import exit_code
from zombieproof.screening.taking import LogScreen
from zombieproof.traces.explaining.open.models import EndedBy
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge, replay
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


def complaints(whole: Report, cut: Report, *, is_unwitnessed: bool, is_of_bytes: bool) -> Iterator[str]:
    """What is said of a cut history that is not so."""
    for finding in cut.findings:
        is_known = faults(cut.model_copy(update={"findings": [finding]})) <= faults(whole)
        if not is_known and not (is_unwitnessed and is_of_bytes and UNSHOWN in finding.message):
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
            is_alone = is_unwitnessed(file, data[:at])
            said = complaints(whole, replay([folder]), is_unwitnessed=is_alone, is_of_bytes=file.suffix != ".txt")
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


# ---------------------------------------------------------------- ends that nothing shows


COMMIT_01 = "01-commit"


def dumps_of(recording: Path, *names: str, to: Path) -> None:
    for name in names:
        shutil.copy(recording / "dump" / name, to)


def cut_last(file: Path, batches: int = 1) -> None:
    """Cut a dump before its last batches: it ends with a whole line."""
    text = file.read_text()
    for _ in range(batches):
        text = text[: text.rindex("baseOffset: ")]
    file.write_text(text)


@pytest.fixture
def cut(samples: Path, tmp_path: Path) -> Path:
    """Dumps of a coordinator's log and of t-0, without the marker that t-0 ends with."""
    dumps_of(samples / COMMIT_01, "t-0.txt", "__transaction_state-1.txt", to=tmp_path)
    cut_last(tmp_path / "t-0.txt")
    return tmp_path


def end_gap(report: Report, name: str) -> str:
    (gap,) = (gap for gap in report.not_judged if gap.name == name and gap.first_offset is not None)
    assert gap.last_offset is None
    return gap.why


def test_a_marker_is_not_missing_where_nothing_shows_that_a_dump_goes_up_to_the_end(cut: Path) -> None:
    """Of two dumps that end with whole lines either may have been made before the other, or be cut."""
    report = replay([cut])
    assert (report.findings, exit_code(report)) == ([], 3)
    assert "the COMMIT marker with epoch 1 is missing" in end_gap(report, "t-0")
    assert "cut at its end, or older than the rest" in end_gap(report, "t-0")


def test_a_decision_is_not_missing_where_nothing_shows_that_a_dump_goes_up_to_the_end(
    samples: Path, tmp_path: Path
) -> None:
    dumps_of(samples / COMMIT_01, "t-0.txt", "__transaction_state-1.txt", to=tmp_path)
    assert replay([tmp_path]).findings == []
    cut_last(tmp_path / "__transaction_state-1.txt", 2)
    report = replay([tmp_path])
    assert (report.findings, exit_code(report)) == ([], 3)
    assert "the coordinator has not decided" in end_gap(report, "__transaction_state-1")


def test_a_producer_snapshot_behind_the_end_shows_that_the_rest_is_lost(cut: Path, samples: Path) -> None:
    dumps_of(samples / COMMIT_01, "t-0.state.txt", to=cut)
    report = replay([cut])
    assert report.findings == []
    assert "producer snapshot" in next(gap.why for gap in report.not_judged if gap.name == "t-0")


def test_a_marker_is_missing_where_a_tool_reports_the_end(cut: Path) -> None:
    (cut / "ends.txt").write_text("t:0:4\n")
    assert replay([cut]).findings == [], "the log goes on"
    (cut / "ends.txt").write_text("t:0:3\n")
    (finding,) = replay([cut]).findings
    assert finding.promise == "every_listed_partition_has_its_marker"
    assert "nothing shows that t-0 was given up to its end: if it was cut" in finding.message


def test_a_marker_is_missing_where_the_dump_shows_what_was_written_later(cut: Path, samples: Path) -> None:
    """The last batch of t-0 again as one without a producer, three seconds after the markers were acknowledged."""
    text = (cut / "t-0.txt").read_text()
    position = sum(int(size) for size in re.findall(r"^baseOffset: .* size: (\d+) ", text, re.MULTILINE))
    (stamp,) = set(re.findall(r"^baseOffset: 2 .* CreateTime: (\d+) ", text, re.MULTILINE))
    for later, found in ((0, 0), (3000, 1)):
        time = int(stamp) + later
        (cut / "t-0.txt").write_text(
            f"{text}baseOffset: 3 lastOffset: 3 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 "
            f"producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: "
            f"OptionalLong.empty position: {position} CreateTime: {time} size: 70 magic: 2 compresscodec: none "
            f"crc: 7 isvalid: true\n| offset: 3 CreateTime: {time} keySize: -1 valueSize: 1 sequence: -1 "
            "headerKeys: [] payload: x\n"
        )
        assert len(replay([cut]).findings) == found


def test_a_marker_is_missing_where_two_dumps_of_other_options_end_alike(samples: Path, tmp_path: Path) -> None:
    tampered = samples / "30-tampered-abort-marker-removed"
    dumps_of(tampered, "t-1.txt", "__transaction_state-1.txt", to=tmp_path)
    shutil.copy(tmp_path / "t-1.txt", tmp_path / "t-1-again.txt")
    assert replay([tmp_path]).findings == [], "the same text twice may be cut twice"
    dumps_of(tampered, "t-1.batches.txt", to=tmp_path)
    assert len(replay([tmp_path]).findings) == 1
    cut_last(tmp_path / "t-1.batches.txt")
    assert replay([tmp_path]).findings == []


def test_segments_keep_their_finding_and_it_says_what_else_may_be(samples: Path) -> None:
    (finding,) = replay([samples / "30-tampered-abort-marker-removed/segments"]).findings
    assert "nothing shows that t-1 was given up to its end: if it was cut, or copied" in finding.message


@pytest.mark.parametrize("recording", SAMPLES, ids=lambda path: path.name)
def test_no_dump_that_ends_with_an_earlier_line_gives_a_finding_of_its_own(recording: Path, tmp_path: Path) -> None:
    """Dumps of the logs alone: nothing beside them tells where they end."""
    files = [
        path for path in (recording / "dump").glob("*.txt") if not re.search(r"\.(batches|state|console)\.", path.name)
    ]
    dumps_of(recording, *(path.name for path in files), to=tmp_path)
    known = faults(replay([recording / "dump"]))
    for file in sorted(tmp_path.iterdir()):
        lines = file.read_text().splitlines(keepends=True)
        for left in range(max(2, len(lines) - 8), len(lines)):
            file.write_text("".join(lines[:left]))
            assert faults(replay([tmp_path])) <= known, (file.name, left)
        file.write_text("".join(lines))


def test_who_ends_what_is_open_is_not_known_where_its_marker_may_be_cut_off(cut: Path) -> None:
    (held,) = what_is_open(judge(collect([cut]))).partitions
    assert [(txn.ended_by, txn.is_certain) for txn in held.transactions] == [(EndedBy.UNKNOWN, False)]
