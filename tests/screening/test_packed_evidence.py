"""Folders that were packed are the same evidence, and are judged alike."""

import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from zombieproof.screening.packed.contents import packed_content
from zombieproof.screening.packed.folders import pack
from zombieproof.screening.tables import read_table
from zombieproof.screening.taking import LogScreen
from zombieproof.traces.evidence import Evidence, LoggedBatch, PartitionLog
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge
from zombieproof.traces.verdict.report import Judgement, Report

pytest.importorskip("pyarrow", reason="pyarrow (extra `audit`) is missing; nothing else tests packed evidence")

HERE = Path(__file__).resolve().parents[1]
RECORDINGS = [
    folder
    for root in (HERE / "recordings", HERE.parents[1] / "shared" / "traces")
    for folder in (sorted(root.iterdir()) if root.is_dir() else ())
    if folder.is_dir() and any(folder.rglob("segments/**/*.log*"))
]


def of_packed(folder: Path, output: Path) -> tuple[Evidence, set[str]]:
    """The evidence of a folder after it was packed, and the files that were left out."""
    made = pack([folder], output)
    return collect([output / folder.name], tables=packed_content), {each.file for each in made.left_out}


def told(value: object, output: Path, folder: Path) -> str:
    """What evidence says, with paths as they were before."""
    return repr(value).replace(str(output / folder.name), str(folder)).replace(".parquet", "")


def findings(report: Report, output: Path, folder: Path) -> str:
    return told(report.model_dump(mode="json", exclude={"judged": {"files_not_read"}}), output, folder)


@pytest.mark.long("19-soak", "20-epoch-exhaustion")
@pytest.mark.sample("hanging", "lost-commit", "truncated")
@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda folder: folder.name)
def test_a_packed_recording_is_the_same_evidence_and_is_judged_alike(folder: Path, tmp_path: Path) -> None:
    raw = collect([folder])
    packed, left_out = of_packed(folder, tmp_path)
    raw.ignored = [each for each in raw.ignored if each.file not in left_out]
    for name in {field.name for field in fields(Evidence)} - {"agreements"}:
        assert told(getattr(packed, name), tmp_path, folder) == repr(getattr(raw, name)), name
    agreements = {frozenset(told(each, tmp_path, folder)[1:-1] for each in pair) for pair in packed.agreements}
    assert agreements == raw.agreements
    assert findings(judge(packed).report, tmp_path, folder) == findings(judge(raw).report, tmp_path, folder)


@pytest.mark.long("19-soak", "20-epoch-exhaustion")
@pytest.mark.sample("hanging", "lost-commit", "truncated")
@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda folder: folder.name)
def test_a_packed_recording_is_judged_alike_behind_the_screen(folder: Path, tmp_path: Path) -> None:
    pack([folder], tmp_path)
    raw = judge(collect([folder], screen=LogScreen())).report
    packed = collect([tmp_path / folder.name], screen=LogScreen(), tables=read_table)
    assert findings(judge(packed).report, tmp_path, folder) == findings(raw, tmp_path, folder)
    unscreened = judge(collect([folder])).report
    assert [each.promise for each in raw.findings] == [each.promise for each in unscreened.findings]
    for log in packed.logs:
        if log.cleared is not None:
            assert told(list(log.batches), tmp_path, folder) == repr(batches_of(folder, log, tmp_path))


def batches_of(folder: Path, log: PartitionLog, output: Path) -> list[LoggedBatch]:
    """The batches of the same log, read of its segments."""
    [same] = [
        each
        for each in collect([folder]).logs
        if each.files == [told(file, output, folder)[1:-1] for file in log.files]
    ]
    return list(same.batches)


def test_there_are_recordings_with_segments() -> None:
    assert RECORDINGS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording in which a marker is missing."""
    found = tmp_path / "given"
    shutil.copytree(HERE / "recordings" / "01-commit" / "segments", found / "segments")
    return found


def test_a_packed_file_that_was_changed_is_damage(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert not of_packed(folder, output)[0].damage
    [changed] = output.rglob("t-0/*.parquet")
    data = changed.read_bytes()
    changed.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    evidence = collect([output], tables=packed_content)
    [damage] = evidence.damage
    assert (damage.file, "pack the segment again" in damage.message) == (str(changed), True)
    assert judge(evidence).report.verdict is not Judgement.CONFORMS


def test_without_a_reader_of_packed_segments_they_are_damage(folder: Path, tmp_path: Path) -> None:
    pack([folder], tmp_path / "out")
    evidence = collect([tmp_path / "out"])
    assert {damage.message for damage in evidence.damage} == {
        "it is a packed segment, and nothing that reads these was given"
    }


def test_a_folder_without_segments_is_found_when_it_is_packed_too(folder: Path, tmp_path: Path) -> None:
    for segment in folder.glob("segments/t-0/*.log"):
        segment.unlink()
    evidence, _ = of_packed(folder, tmp_path / "out")
    assert [damage.message for damage in evidence.damage] == ["the folder of a partition holds no segment"]


def test_reading_tells_how_far_it_is(folder: Path, tmp_path: Path) -> None:
    from zombieproof.traces.watching import Stage, Watch  # noqa: PLC0415

    class Heard(Watch):
        total = done = 0

        def begins(self, stage: Stage, total: int, names: Any) -> None:
            self.total = total

        def advances(self, count: int) -> None:
            self.done += count

    pack([folder], tmp_path / "out")
    heard = Heard()
    collect([tmp_path / "out"], watch=heard, tables=packed_content)
    assert heard.done == heard.total > 0
