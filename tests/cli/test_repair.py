"""zombieproof repair: it tells, and repairs only when it is asked to; what serve refuses opens then."""

import json
from pathlib import Path

import pytest

from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
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
    assert "Nothing has to be repaired" in capsys.readouterr().out
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
    assert "there is no such directory" in said
    assert "is no data directory" in said
    assert not (tmp_path / "none").exists()


def test_a_directory_in_use_is_not_repaired(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Embedded(directory, settings=SETTINGS):
        assert main(["repair", str(directory), "--apply"]) == Exit.USAGE
    assert "another process uses it" in capsys.readouterr().err
