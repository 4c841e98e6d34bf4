"""zombieproof repair: it tells, and repairs only when it is asked to; what serve refuses opens then."""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from zombieproof.broker.cluster.metadata import NOBODY
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.contract import batch_of
from zombieproof.cli.main import main
from zombieproof.report.exits import Exit

SETTINGS = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)
LOG = "broker-1/t-0/00000000000000000000.log"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory that was stopped in order, with three records in a log."""
    with Embedded(tmp_path / "d", topics={"t": 1}, settings=SETTINGS) as embedded:
        for value in (b"a", b"b", b"c"):
            embedded.cluster.stores[1, ("t", 0)].log.append(batch_of(value))
    return tmp_path / "d"


def contents(path: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file()}


def test_a_sound_directory_needs_no_repair(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(directory)]) == Exit.HOLDS
    assert "No repair is needed" in capsys.readouterr().out
    assert main(["repair", str(directory), "--apply"]) == Exit.HOLDS


def test_a_repair_is_told_before_it_is_made(
    directory: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    log = directory / LOG
    log.write_bytes(log.read_bytes()[:-1])
    before = contents(directory)
    assert main(["repair", str(directory)]) == Exit.INCONCLUSIVE
    told = " ".join(capsys.readouterr().out.split())
    for words in (f"{LOG}: it has", "segment-checkpoint", "repair: keep every sound batch", "loses: 1 offsets: 2"):
        assert words in told, told
    assert f"To repair: zombieproof repair {directory} --apply" in told
    assert contents(directory) == before
    with caplog.at_level("ERROR"), Embedded(directory, settings=SETTINGS):
        pass
    assert f"t-0 is offline: {log}: it has" in caplog.text
    assert f"zombieproof repair {directory}" in caplog.text
    assert main(["repair", str(directory), "--apply"]) == Exit.HOLDS
    kept = next(directory.glob("repaired-*"))
    assert (kept / LOG).read_bytes() == before[str(log)]
    with Embedded(directory, settings=SETTINGS) as embedded:
        found = embedded.cluster.stores[1, ("t", 0)].log
        assert [record.value for batch in found.read() for record in batch.records] == [b"a", b"b"]
        assert found.end_offset == 3, "the offset of the record that is lost is not given again"


def test_a_directory_of_another_version_is_not_repaired(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = directory / "cluster.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 2}))
    before = contents(directory)
    assert main(["repair", str(directory), "--apply"]) == Exit.INCONCLUSIVE
    assert "open it with the version that wrote it" in capsys.readouterr().out
    assert contents(directory) == before


def test_a_path_that_is_no_data_directory_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter").write_text("dear")
    assert main(["repair", str(tmp_path / "none")]) == Exit.USAGE
    assert main(["repair", str(tmp_path / "other")]) == Exit.USAGE
    said = capsys.readouterr().err
    assert "no such directory" in said
    assert "is no data directory" in said
    assert not (tmp_path / "none").exists()


def test_a_directory_in_use_is_not_repaired(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Embedded(directory, settings=SETTINGS):
        assert main(["repair", str(directory), "--apply"]) == Exit.USAGE
    assert "another process uses it" in capsys.readouterr().err


# ---------------------------------------------------------------- wrong kinds of files, stray segments


def instead(path: Path, make: Callable[[Path], object]) -> None:
    """Something else takes the place of a file or folder."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    make(path)


def into_nothing(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


def a_folder(path: Path) -> None:
    (path / "in it").mkdir(parents=True)


def a_file(path: Path) -> None:
    path.write_text("a file")


def to_itself(path: Path) -> None:
    path.symlink_to(path.name)


INDEX = LOG.replace(".log", ".index")
MISTAKES: dict[str, tuple[Callable[[Path], object], str, list[str]]] = {
    "a log is a folder": (lambda d: instead(d / LOG, a_folder), LOG, ["it is a folder, and a file is due"]),
    "a log is a fifo": (lambda d: instead(d / LOG, os.mkfifo), LOG, ["neither a file nor a folder"]),
    "a log is a link to nothing": (lambda d: instead(d / LOG, into_nothing), LOG, ["symbolic link", "mounted?"]),
    "an index is a link to itself": (lambda d: instead(d / INDEX, to_itself), INDEX, ["symbolic link"]),
    "a record is a folder": (
        lambda d: instead(d / "broker-1/t-0/segment-checkpoint", a_folder),
        "broker-1/t-0/segment-checkpoint",
        ["it is a folder, and a file is due"],
    ),
    "a partition is a file": (
        lambda d: instead(d / "broker-1/t-0", a_file),
        "broker-1/t-0",
        ["it is a file, and a folder is due", "begin an empty log at offset 3", "the offsets 0 to 2"],
    ),
    "a partition is a link to nothing": (
        lambda d: instead(d / "broker-1/t-0", into_nothing),
        "broker-1/t-0",
        ["symbolic link", "mounted?", "begin an empty log at offset 3"],
    ),
    "a partition was renamed": (
        lambda d: (d / "broker-1/t-0").rename(d / "broker-1/t-00"),
        "broker-1/t-00",
        ["cluster.json knows no such partition", "broker-1/t-0: the folder is missing"],
    ),
    "a broker is a file": (
        lambda d: instead(d / "broker-1", a_file),
        "broker-1",
        ["it is a file, and a folder is due"],
    ),
    "a broker is a link to nothing": (
        lambda d: instead(d / "broker-1", into_nothing),
        "broker-1",
        ["symbolic link", "mounted?", "all records of t-0"],
    ),
    "a checkpoint is a folder": (
        lambda d: instead(d / "broker-1/recovery-point-offset-checkpoint", a_folder),
        "broker-1/recovery-point-offset-checkpoint",
        ["it is a folder, and a file is due"],
    ),
    "cluster.json is a folder": (lambda d: instead(d / "cluster.json", a_folder), "cluster.json", ["it is a folder"]),
    "the copy is a folder": (
        lambda d: instead(d / "cluster-copy.json", a_folder),
        "cluster-copy.json",
        ["it is a folder"],
    ),
    "a segment that no offset can have": (
        lambda d: (d / "broker-1/t-0/99999999999999999999.log").write_bytes(b""),
        "broker-1/t-0/99999999999999999999.log",
        ["the segment before it ends at offset 3", "move it away", "loses: nothing"],
    ),
    "an empty segment far above the end": (
        lambda d: (d / "broker-1/t-0/00000000000000000500.log").write_bytes(b""),
        "broker-1/t-0/00000000000000000500.log",
        ["begins at offset 500", "the segment before it ends at offset 3", "loses: nothing"],
    ),
    "a full segment far above the end": (
        lambda d: shutil.copy(d / LOG, d / "broker-1/t-0/00000000000000000500.log"),
        "broker-1/t-0/00000000000000000500.log",
        ["begins at offset 500", "bytes in it"],
    ),
    "a segment in another": (
        lambda d: shutil.copy(d / LOG, d / "broker-1/t-0/00000000000000000002.log"),
        "broker-1/t-0/00000000000000000002.log",
        ["begins at offset 2", "the segment before it ends at offset 3", "bytes in it"],
    ),
}
HOLDS_ALL = ("a record", "an index", "a checkpoint", "cluster", "the copy", "a segment", "an empty", "a full")


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_not_what_its_name_says_is_named_and_moved_away(
    name: str, is_clean: bool, directory: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    make, path, words = MISTAKES[name]
    if not is_clean:
        (directory / "broker-1/.kafka_cleanshutdown").unlink()
    make(directory)
    assert main(["repair", str(directory)]) == Exit.INCONCLUSIVE
    told = " ".join(capsys.readouterr().out.split())
    for each in (f"{path}: ", *words, f"zombieproof repair {directory} --apply"):
        assert each in told, told
    with caplog.at_level("ERROR"), suppress(Damaged), Embedded(directory, settings=SETTINGS) as embedded:
        assert embedded.cluster.metadata.partitions["t", 0].leader == NOBODY
        assert f"zombieproof repair {directory}" in caplog.text
    assert main(["repair", str(directory), "--apply"]) == Exit.HOLDS
    kept = next(directory.glob("repaired-*"))
    assert os.path.lexists(kept / path)
    caplog.clear()
    with Embedded(directory, topics={"t": 1}, settings=SETTINGS) as embedded:
        assert embedded.cluster.metadata.partitions["t", 0].leader != NOBODY, caplog.text
        found = embedded.cluster.stores[1, ("t", 0)].log
        values = [record.value for batch in found.read() for record in batch.records]
    assert values == ([b"a", b"b", b"c"] if name.startswith(HOLDS_ALL) else [])


def test_a_link_to_a_folder_is_used(directory: Path) -> None:
    (directory / "broker-1/t-0").rename(directory.parent / "elsewhere")
    (directory / "broker-1/t-0").symlink_to(directory.parent / "elsewhere")
    assert main(["repair", str(directory)]) == Exit.HOLDS
    with Embedded(directory, settings=SETTINGS) as embedded:
        assert embedded.cluster.stores[1, ("t", 0)].log.end_offset == 3


def test_a_lock_that_is_a_folder_is_named(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instead(directory / ".lock", a_folder)
    assert main(["repair", str(directory)]) == Exit.USAGE
    assert f"{directory / '.lock'}: it is a folder, and a file is due: remove the folder" in capsys.readouterr().err
