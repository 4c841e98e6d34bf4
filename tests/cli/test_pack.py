"""zombieproof pack: what it makes of folders, what it says, and what it refuses."""

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from zombieproof.screening.packed import folders, writing
from zombieproof.screening.packed.folders import Packing, pack
from zombieproof.traces.evidence import EvidenceError
from zombieproof.traces.readers.files import opened

pytest.importorskip("pyarrow", reason="pyarrow (extra `audit`) is missing; nothing else tests packing")

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"
COMMIT = RECORDINGS / "01-commit"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory of a broker, with everything that may lie in one."""
    found = tmp_path / "broker-1"
    shutil.copytree(COMMIT / "segments", found)
    partition = found / "e-0"
    partition.mkdir()
    segment = next(found.glob("*/00000000000000000000.log"))
    shutil.copy(segment, partition)
    (partition / "00000000000000000000.index").write_bytes(bytes(4096))
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (found / "meta.properties").write_text("version=1\nnode.id=1\n")
    (found / "notes.bin").write_bytes(b"\0\1")
    (found / "empty-0").mkdir()
    return found


def files_of(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_a_folder_keeps_its_shape_and_all_evidence(run: Any, logs: Path, tmp_path: Path) -> None:
    outcome = run("pack", logs, "--output", tmp_path / "out")
    segments = {str(file.relative_to(tmp_path)) for file in logs.rglob("*.log")}
    expected = {f"{segment}.parquet" for segment in segments} | {
        "broker-1/e-0/00000000000000000000.index",
        "broker-1/e-0/leader-epoch-checkpoint",
        "broker-1/meta.properties",
    }
    others = {str(file.relative_to(tmp_path)) for file in logs.rglob("*") if file.is_file()} - segments
    assert expected <= files_of(tmp_path / "out") <= expected | others
    assert (tmp_path / "out" / "broker-1" / "e-0" / "00000000000000000000.index").stat().st_size == 0
    assert (tmp_path / "out" / "broker-1" / "empty-0").is_dir()
    assert f"skipped: {logs}/notes.bin: it is neither text nor a segment\n" in outcome.out
    assert f"{len(segments)} segments, {len(segments)} packed now" in outcome.out
    assert f"damaged: {logs}/empty-0, byte 0: the folder is empty\n" in outcome.out
    assert (outcome.code, outcome.err) == (3, "")


def test_a_second_run_packs_what_has_changed(run: Any, logs: Path, tmp_path: Path) -> None:
    (logs / "empty-0").rmdir()
    output = tmp_path / "out"
    assert run("pack", logs, "-o", output).code == 0
    before = {file: (output / file).stat().st_mtime_ns for file in files_of(output)}
    again = run("pack", logs, "-o", output)
    assert "0 packed now" in again.out
    assert {file: (output / file).stat().st_mtime_ns for file in files_of(output)} == before
    with (logs / "e-0" / "00000000000000000000.log").open("ab") as segment:
        segment.write(b"\xff" * 40)
    (logs / "meta.properties").write_text("version=1\nnode.id=12\n")
    grown = run("pack", logs, "-o", output)
    assert (grown.code, "1 packed now" in grown.out) == (3, True)
    assert "the last 40 bytes are not a whole batch: the tail is torn" in grown.out
    assert (output / "broker-1" / "meta.properties").read_text() == "version=1\nnode.id=12\n"
    assert "the tail is torn" in run("pack", logs, "-o", output).out, "damage that was packed before is told again"


def test_what_is_no_longer_there_is_told(run: Any, logs: Path, tmp_path: Path) -> None:
    (logs / "empty-0").rmdir()
    run("pack", logs, "-o", tmp_path / "out")
    (logs / "e-0" / "00000000000000000000.log").rename(logs / "e-0" / "00000000000000000007.log")
    outcome = run("pack", logs, "-o", tmp_path / "out")
    left = tmp_path / "out" / "broker-1" / "e-0" / "00000000000000000000.log.parquet"
    assert f"not from this input: {left}; remove it, or pack into another folder\n" in outcome.out
    assert (outcome.code, left.is_file()) == (3, True)


@pytest.mark.parametrize("given", ["broker-1/e-0", "broker-1/e-0/00000000000000000000.log"])
def test_a_part_keeps_the_names_of_its_partition_and_broker(run: Any, logs: Path, tmp_path: Path, given: str) -> None:
    assert run("pack", tmp_path / given, "-o", tmp_path / "out").code == 0
    assert "broker-1/e-0/00000000000000000000.log.parquet" in files_of(tmp_path / "out")


def test_records_are_kept_on_request(run: Any, logs: Path, tmp_path: Path) -> None:
    for name, options in (("less", ()), ("all", ("--records",))):
        run("pack", logs / "e-0", "-o", tmp_path / name, *options)
    sizes = [sum(file.stat().st_size for file in (tmp_path / name).rglob("*.parquet")) for name in ("less", "all")]
    assert sizes[0] < sizes[1]


def test_what_is_wrong_is_said(run: Any, logs: Path, tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        outcome = run("pack", *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        return str(outcome.err)

    assert "missing option '--output'" in refused(logs)
    assert "no such file or folder; name files or folders that exist" in refused("nowhere", "-o", tmp_path / "out")
    assert "is a file; give a folder" in refused(logs, "-o", logs / "meta.properties")
    assert "which is to be packed; give a folder beside it" in refused(logs, "-o", logs / "out")
    (tmp_path / "other").mkdir()
    shutil.copytree(logs, tmp_path / "other" / "broker-1")
    assert "pack each into a folder of its own" in refused(
        logs, tmp_path / "other" / "broker-1", "-o", tmp_path / "out"
    )
    assert "no segments found; give Kafka log directories" in refused(logs / "meta.properties", "-o", tmp_path / "out")
    run("pack", logs / "e-0", "-o", tmp_path / "packed")
    assert "is packed already: give the segments" in refused(tmp_path / "packed", "-o", tmp_path / "again")
    with pytest.raises(EvidenceError, match="nothing is named"):
        pack([], tmp_path / "out")


def test_a_missing_package_is_named_with_its_extra(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("zombieproof.cli.extras.find_spec", lambda _: None)
    outcome = run("pack", COMMIT, "-o", tmp_path / "out")
    assert (outcome.code, outcome.err) == (
        2,
        "zombieproof: zombieproof pack needs pyarrow, which is not installed: pip install 'zombieproof[audit]'\n",
    )


def test_an_interrupted_run_keeps_what_is_whole(
    run: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = writing.pack_segment
    packed: list[Any] = []

    def once(*arguments: Any, **options: Any) -> Any:
        if packed:
            raise KeyboardInterrupt
        packed.append(real(*arguments, **options))
        return packed[0]

    monkeypatch.setattr(folders, "pack_segment", once)
    outcome = run("pack", logs, "-o", tmp_path / "out")
    assert (outcome.code, outcome.out) == (
        130,
        "interrupted; 1 segment packed; run the same command again to continue\n",
    )
    monkeypatch.undo()
    again = run("pack", logs, "-o", tmp_path / "out")
    segments = len(list(logs.rglob("*.log")))
    assert f"{segments} segments, {segments - 1} packed now" in again.out


def test_a_file_that_cannot_be_read_is_damage(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = logs / "e-0" / "00000000000000000000.log"
    real = opened

    def refusing(path: Path) -> Any:
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(writing, "opened", refusing)
    made = pack([logs], tmp_path / "out")
    assert f"{closed}: it cannot be read: Permission denied" in [f"{each.file}: {each.message}" for each in made.damage]
    assert made.segments


def test_a_disk_that_is_full_is_no_damage(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing._Writer, "finish", full)
    with pytest.raises(OSError, match="No space left"):
        pack([logs], tmp_path / "out")
    assert not [name for name in files_of(tmp_path / "out") if "parquet" in name]


def test_segments_in_archives_are_packed(run: Any, tmp_path: Path) -> None:
    segment = next((COMMIT / "segments").rglob("*.log"))
    folder = tmp_path / "e-0"
    folder.mkdir()
    (folder / "00000000000000000000.log.gz").write_bytes(gzip.compress(segment.read_bytes()))
    outcome = run("pack", folder, "-o", tmp_path / "out")
    assert (outcome.code, files_of(tmp_path / "out")) == (0, {"e-0/00000000000000000000.log.gz.parquet"})


def test_progress_is_told_in_bytes_of_the_files(logs: Path, tmp_path: Path) -> None:
    from zombieproof.traces.watching import Stage, Watch  # noqa: PLC0415

    class Heard(Watch):
        total = done = 0

        def begins(self, stage: Stage, total: int, names: Any) -> None:
            self.total = total

        def advances(self, count: int) -> None:
            assert count > 0
            self.done += count

    heard = Heard()
    pack([logs], tmp_path / "out", watch=heard, made=Packing())
    assert heard.total == heard.done == sum(file.stat().st_size for file in logs.rglob("*") if file.is_file())
