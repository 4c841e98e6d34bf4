"""`zombieproof check --spill`: what it reports and what it refuses."""

from pathlib import Path
from typing import Any

import pytest


def test_a_spilled_exploration_reports_the_same_and_what_was_on_disk(run: Any, tmp_path: Path) -> None:
    asked = ("check", "two_phase_commit", "--bounds", "n=4")
    plain, spilled = run(*asked, "--json"), run(*asked, "--spill", tmp_path / "disk", "--json")
    [one], [other] = plain.json["scenarios"], spilled.json["scenarios"]
    assert (one["distinct"], one["generated"], one["depth"]) == (1_568, other["generated"], other["depth"])
    assert one["distinct"] == other["distinct"]
    assert one["spilled"] is None
    assert 0 < other["spilled"]["most_bytes"] <= other["spilled"]["written_bytes"]
    assert not (tmp_path / "disk").exists()
    said = run(*asked, "--spill", tmp_path / "disk").out
    assert f"MiB were in {tmp_path / 'disk'}, of " in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--simulate", "1"], "--spill and --simulate: choose one"),
        (["--checkpoint", "k"], "--spill and --checkpoint: choose one"),
        ([], "the folder contains other files: mine.txt; give a new or empty folder"),
    ],
)
def test_what_makes_no_sense_is_refused(
    run: Any, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("")
    outcome = run("check", "two_phase_commit", "--bounds", "n=3", "--spill", tmp_path, *arguments)
    assert outcome.code == 2
    assert message in outcome.err
