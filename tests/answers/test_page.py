"""docs/conformance.md says what lies beside the clone, and the program that writes it notices what is not equal."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.answers import __main__ as program
from tests.answers.page import recording_row
from zombieproof.conformance.recording import count


def test_the_page_has_a_row_for_every_recording(repository_root: Path, shared_folder: Path) -> None:
    said = (repository_root / "docs/conformance.md").read_text(encoding="utf-8")
    for file in (shared_folder / "recordings").glob("*.jsonl.gz"):
        with gzip.open(file) as lines:
            steps = sum(len(json.loads(line)["steps"]) for line in lines)
        sequences = count(file) or 0
        assert f"| {' | '.join(recording_row(file.name, sequences, steps, sequences, sequences))} |" in said


@pytest.fixture
def beside(one: dict[str, Any], repository_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one recording of one sequence, and the cases that ship."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "recordings").mkdir()
    (tmp_path / "conformance").mkdir()
    (tmp_path / "recordings/one.jsonl").write_text(json.dumps(one))
    lines = (repository_root / "tests/conformance/sample.yaml").read_text(encoding="utf-8")
    (tmp_path / "conformance/kafka-cases.yaml").write_text(lines, encoding="utf-8")
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(program, "run_cases", lambda _: [])
    return tmp_path


def test_what_is_equal_is_written_down(beside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main([str(beside)]) == 0
    assert "1 sequences equal, 1 through sockets, 0 different; 0 of 0 cases met" in capsys.readouterr().out
    assert "| `one.jsonl` | 1 | " in (beside / "docs/conformance.md").read_text(encoding="utf-8")


def test_what_differs_is_exit_code_1(beside: Path, one: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    one["steps"][0]["answer"]["error"] = 77
    (beside / "recordings/one.jsonl").write_text(json.dumps(one))
    assert program.main([str(beside)]) == 1
    assert "0 sequences equal, 0 through sockets, 2 different" in capsys.readouterr().out


def test_a_folder_without_recordings_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main([str(tmp_path)]) == 2
    assert "holds no recordings/" in capsys.readouterr().err
