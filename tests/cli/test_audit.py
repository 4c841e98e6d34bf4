"""`zombieproof audit` reports what `replay` reports, wherever segments are screened."""

from pathlib import Path
from typing import Any

import pytest

from zombieproof.cli import audit, extras, judging
from zombieproof.screening.taking import LogScreen
from zombieproof.traces.evidence import PartitionLog

SAMPLES = ("01-commit", "10-hanging", "23-truncated-segment", "30-tampered-abort-marker-removed")


@pytest.fixture
def recordings(repository_root: Path) -> Path:
    return repository_root / "tests/recordings"


@pytest.mark.parametrize("part", ["", "segments", "dump"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_the_report_and_the_exit_code_are_those_of_replay(run: Any, recordings: Path, sample: str, part: str) -> None:
    folder = recordings / sample / part
    if folder.is_dir():
        for form in ("text", "json", "markdown", "junit"):
            replayed, audited = run("replay", folder, "--format", form), run("audit", folder, "--format", form)
            assert (audited.code, audited.out) == (replayed.code, replayed.out)


def test_segments_are_screened(run: Any, recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cleared: list[PartitionLog] = []
    known = LogScreen.cleared

    def noted(screen: LogScreen) -> list[PartitionLog]:
        cleared.extend(known(screen))
        return cleared

    monkeypatch.setattr(LogScreen, "cleared", noted)
    assert run("audit", recordings / "01-commit" / "segments").code == 0
    assert [log.topic_partition for log in cleared] == [("t", 0), ("t", 1)]


def test_large_logs_name_what_screens_them_faster(run: Any, recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs, says = recordings / "01-commit" / "segments", "--processes N uses several, --spark MASTER a cluster"
    assert says not in run("audit", logs).err
    monkeypatch.setattr(audit, "LARGE", 1)
    assert says in run("audit", logs).err
    assert says not in run("audit", logs, "--processes", "2").err


def test_gaps_are_accepted_and_topics_left_out_as_replay_does(run: Any, recordings: Path) -> None:
    half = recordings / "09-offline-partition-lost-commit" / "segments" / "broker-1"
    assert run("audit", half).code == 3
    assert run("audit", half, "--allow-gaps", "e-0").code == 0
    assert run("audit", recordings / "01-commit", "--topic", "t", "--json").json["narrowed"]["topics"] == ["t"]
    assert "the files have no topic 'nowhere'" in run("audit", half, "--topic", "nowhere").err


@pytest.mark.slow
def test_several_processes_report_the_same(run: Any, recordings: Path) -> None:
    folder = recordings / "30-tampered-abort-marker-removed" / "segments"
    replayed, audited = run("replay", folder, "--json"), run("audit", folder, "--json", "--processes", 2)
    assert (audited.code, audited.out) == (replayed.code, replayed.out)


def test_what_makes_no_sense_is_said(run: Any, recordings: Path, tmp_path: Path) -> None:
    for given, says in (
        (("--processes", 2, "--spark", "local[2]", recordings), "choose one"),
        (("--processes", 0, recordings), "--processes"),
        ((tmp_path / "nothing",), "no such file or folder"),
        ((), "path"),
        (("--json", "--format", "junit", recordings), "choose one format"),
    ):
        outcome = run("audit", *given)
        assert (outcome.code, says in outcome.err.lower()) == (2, True), outcome.err


def test_a_trace_of_this_program_is_replayed_not_audited(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = tmp_path / "story.jsonl"
    story.write_text("{}")
    monkeypatch.setattr(audit, "is_trace", lambda path: path == story)
    outcome = run("audit", story)
    assert outcome.code == 2
    assert f"zombieproof replay {story}" in outcome.err


def test_without_spark_it_is_said_what_to_install(run: Any, recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    outcome = run("audit", "--spark", "local[2]", recordings)
    assert outcome.code == 2
    assert "pip install 'zombieproof[spark]'" in outcome.err


def test_an_interruption_says_what_was_judged(run: Any, recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(judging, "judge", interrupted)
    outcome = run("audit", recordings / "01-commit" / "segments")
    assert outcome.code == 130
    assert outcome.out.startswith("interrupted while reading")
