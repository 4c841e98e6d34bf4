"""zombieproof sweep: it finds what `check` finds of each combination, and exits as it does."""

from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli import exploring

MANAGERS = ("sweep", "two_phase_commit", "--bound", "n=1..4", "--seconds", "30")
WAITING = ("sweep", "two_phase_commit", "--bound", "n=2..3", "--bound", "wait_for_all=0..1")


def test_each_combination_is_what_check_finds(run: Any) -> None:
    outcome = run(*MANAGERS, "--json")
    assert (outcome.code, outcome.json["verdict"]) == (0, "holds")
    [scenario] = outcome.json["scenarios"]
    counts = [(row["bounds"], row["distinct"], row["verdict"]) for row in scenario["combinations"]]
    check = run("check", "two_phase_commit", "--bounds", "n=3", "--json").json["scenarios"][0]
    assert counts[2] == ({"n": 3}, check["distinct"], "holds")
    assert counts[3][1] == 1_568
    assert (scenario["never_above"], scenario["left"], scenario["violated"]) == ({"n": 4}, [], None)


def test_the_table_has_the_largest_that_hold_and_the_rest_on_request(run: Any) -> None:
    out = run(*MANAGERS).out
    assert [line.split()[-1] for line in out.splitlines()[1:2]] == ["n=4"]
    assert "4 combinations: 4 holds; 3 below larger ones that hold are hidden" in out
    assert "two_phase_commit: never tried\n  n above 4; this is the last value of the sweep\n" in out
    every = run(*MANAGERS, "--all").out
    assert [line.split()[-1] for line in every.splitlines()[1:5]] == ["n=1", "n=2", "n=3", "n=4"]


def test_what_breaks_is_told_written_and_replayed(run: Any, tmp_path: Path) -> None:
    story = tmp_path / "story.jsonl"
    outcome = run(*WAITING, "-o", story)
    assert outcome.code == 1
    assert "nobody_commits_what_another_aborted is broken" in outcome.out
    assert "is in" in outcome.err
    again = run("replay", story)
    assert again.code == 1
    assert "nobody_commits_what_another_aborted is broken after 3 steps, as the file says" in again.out
    folder = tmp_path / "stories"
    folder.mkdir()
    run(*WAITING, "-o", folder)
    assert [file.name for file in folder.iterdir()] == ["two_phase_commit.jsonl"]
    assert run(*WAITING, "--json").json["scenarios"][0]["violated"]["promise"] == "nobody_commits_what_another_aborted"


def test_less_is_reached_with_fewer_faults_and_that_breaks_nothing(run: Any) -> None:
    outcome = run("sweep", "late_produce", "--bound", "lost=0..1", "--bound", "crashes=0", "--json")
    assert outcome.code == 0
    [scenario] = outcome.json["scenarios"]
    assert [row["bounds"] for row in scenario["combinations"]] == [{"lost": 0, "crashes": 0}, {"lost": 1, "crashes": 0}]


@pytest.mark.slow
def test_a_missing_rule_is_found_with_the_fewest_faults(run: Any) -> None:
    outcome = run("sweep", "leaderless_partition", "--without", "marker_waits_for_leader", "--json", "--seconds", "4")
    assert outcome.code == 1
    [scenario] = outcome.json["scenarios"]
    broken = [row for row in scenario["combinations"] if row["verdict"] == "violated"]
    assert broken
    assert sum(broken[0]["bounds"].values()) <= 2


def test_time_that_is_up_is_no_verdict(run: Any) -> None:
    outcome = run("sweep", "two_phase_commit", "--bound", "n=9", "--seconds", "0.05", "--json")
    assert (outcome.code, outcome.json["verdict"]) == (3, "inconclusive")
    [scenario] = outcome.json["scenarios"]
    assert (scenario["combinations"], scenario["never_above"]) == ([], {"n": None})
    assert [row["bounds"] for row in scenario["left"]] == [{"n": 9}]
    text = run("sweep", "two_phase_commit", "--bound", "n=9", "--seconds", "0.05").out
    assert "no time for any" in text
    assert "n: any value" in text


def test_memory_that_ends_is_inconclusive(run: Any) -> None:
    outcome = run("sweep", "two_phase_commit", "--bound", "n=2", "--memory", "1M")
    assert outcome.code == 3
    assert "two_phase_commit, n=2 is inconclusive: " in outcome.out


def test_scenarios_without_faults_are_named(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: SCENARIOS[name] for name in ("late_produce", "two_phase_commit")}
    monkeypatch.setattr(exploring, "SCENARIOS", few)
    outcome = run("sweep", "--seconds", "0.5", "--json")
    assert (outcome.code, [each["name"] for each in outcome.json["scenarios"]]) == (0, ["late_produce"])
    assert {"lost", "crashes"} <= set(outcome.json["scenarios"][0]["never_above"])
    assert "skipped, because none of their bounds is a fault: two_phase_commit" in outcome.err


def test_only_scenarios_of_a_model(run: Any) -> None:
    outcome = run("sweep", "--model", "two_phase_commit", "--bound", "n=1..2", "--json")
    names = [each["name"] for each in outcome.json["scenarios"]]
    assert (outcome.code, names) == (0, ["two_phase_commit", "two_phase_commit_ends"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--seconds", "0"), "--seconds 0: give more than 0"),
        (("--minutes", "nan"), "--minutes nan: give more than 0"),
        (("--seconds", "1", "--minutes", "1"), "--seconds and --minutes: choose one"),
        (("two_phase_commit",), "two_phase_commit: none of its bounds is a fault; name a bound to sweep over"),
        (("two_phase_commit", "--bound", "n"), "--bound 'n' is not NAME=VALUES"),
        (("two_phase_commit", "--bound", "m=1"), "there is no bound of these scenarios named 'm'"),
        (("two_phase_commit", "timeout", "--bound", "n=1"), "timeout has no bound n"),
        (("two_phase_commit", "--bound", "n=0"), "n=0 is out of range"),
        (("--model", "threephase"), "there is no model named 'threephase'"),
        (("nobody",), "there is no scenario named 'nobody'"),
        (("timeout", "late_produce", "-o", "one.jsonl"), "give a folder"),
        (("timeout", "--json", "--format", "text", "--memory", "none"), "--memory 'none' is not a valid size"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Any, arguments: tuple[str, ...], said: str) -> None:
    outcome = run("sweep", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
