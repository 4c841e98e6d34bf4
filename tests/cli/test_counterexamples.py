"""A counterexample as a file: written by check, run again by replay, and refused where it is not so."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli import main

Lines = list[dict[str, Any]]


CHECK = ("check", "leaderless_partition", "--without", "marker_waits_for_leader", "-o")


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A counterexample that is found once."""
    path = tmp_path_factory.mktemp("explored") / "story.jsonl"
    assert main([*CHECK, str(path)]) == 1
    return path


@pytest.fixture
def story(explored: Path, tmp_path: Path) -> Path:
    """A file of the test's own."""
    return Path(shutil.copy(explored, tmp_path))


def test_where_the_counterexample_is_is_said(run: Any, explored: Path, tmp_path: Path) -> None:
    path = tmp_path / "story.jsonl"
    outcome = run(*CHECK, path)
    assert outcome.code == 1
    assert f"the counterexample is in {path}" in outcome.err
    assert path.read_text() == explored.read_text()


def test_replay_arrives_at_the_same_verdict(run: Any, story: Path) -> None:
    outcome = run("replay", story)
    assert outcome.code == 1
    assert "violates: an_acknowledged_commit_loses_nothing is broken after 26 steps, as the file says" in outcome.out


def test_replay_of_a_counterexample_has_the_json_of_every_replay(run: Any, story: Path) -> None:
    outcome = run("replay", story, "--json")
    assert {"verdict", "findings", "damage", "transactions", "committed", "lso"} <= set(outcome.json)
    assert outcome.json["verdict"] == "violates"
    assert [finding["promise"] for finding in outcome.json["findings"]] == ["an_acknowledged_commit_loses_nothing"]
    assert [transaction["outcome"] for transaction in outcome.json["transactions"]] == ["commit", "abort"]
    assert outcome.json["committed"] == {"p-0": [], "p-1": [0]}


@pytest.mark.parametrize("name", ["two_phase_commit", "reader", "idempotent_producer"])
def test_a_counterexample_of_each_kind_of_model_goes_round(run: Any, tmp_path: Path, name: str) -> None:
    mutant = SCENARIOS[name].mutants[0]
    path = tmp_path / "story.jsonl"
    assert run("check", name, "--mutant", mutant.name, "-o", path).code == 1
    assert json.loads(path.read_text().splitlines()[-1])["promise"] == mutant.breaks
    assert run("replay", path).code == 1


def test_several_counterexamples_go_into_a_folder(run: Any, tmp_path: Path) -> None:
    outcome = run("check", "late_produce", "timeout", "--rules", "kip98", "-o", tmp_path)
    assert outcome.code == 1
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["late_produce.jsonl", "timeout.jsonl"]
    assert run("replay", *tmp_path.iterdir()).code == 1


def test_nothing_is_written_where_nothing_is_broken(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "story.jsonl"
    outcome = run("check", "late_produce", "-o", path)
    assert (outcome.code, path.exists()) == (0, False)
    assert "no counterexample, so" in outcome.err


def _of_step(number: int, **changes: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[number].update(changes)


def _named(lines: Lines, name: str) -> None:
    lines[0]["promise"] = lines[-1]["promise"] = name


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (_of_step(7, action=400), 8, "step 7: there is no action 400"),
        (_of_step(1, action=1), 2, "step 1"),
        (_of_step(12, action=1), 13, "step 12: action 1 is not possible here"),
        (_of_step(3, digest="0" * 16), 4, "step 3: digest is"),
        (_of_step(13, moves=[]), 14, "step 13: moves is"),
        (_of_step(13, verdicts=[]), 14, "step 13: verdicts is"),
        (_of_step(13, name="crash"), 14, "step 13: name is"),
        (lambda lines: lines[0].update(scenario="no_such"), 1, "unknown; known: one_transaction"),
        (lambda lines: lines[0]["bounds"].pop("lost"), 1, "lacks the bounds lost"),
        (lambda lines: lines[0]["bounds"].update(lost=1000), 1, "out of range"),
        (lambda lines: lines[0]["rules"].update(marker_waits_for_leader=1), 14, "step 13"),
        (lambda lines: _named(lines, "a_transaction_has_one_decisions"), 28, "which is unknown"),
        (lambda lines: _named(lines, "epochs_never_go_down"), 28, "which is not broken after step 26"),
        (lambda lines: lines.pop(5), 6, "step 5 would be next"),
        (lambda lines: lines.pop(), 27, "ends with its verdict"),
    ],
)
def test_a_file_that_is_not_so_is_damaged_and_the_line_is_named(
    run: Any, story: Path, change: Callable[[Lines], object], line: int, says: str
) -> None:
    lines = [json.loads(text) for text in story.read_text().splitlines()]
    change(lines)
    story.write_text("".join(json.dumps(each) + "\n" for each in lines))
    outcome = run("replay", story, "--json")
    assert (outcome.code, outcome.json["verdict"]) == (3, "damaged")
    [place] = outcome.json["damage"]
    assert (place["file"], place["position"], place["unit"]) == (str(story), line, "line")
    assert says in place["message"]


def test_the_line_that_is_damaged_is_said_once(run: Any, story: Path) -> None:
    lines = story.read_text().splitlines()
    story.write_text("".join(f"{line}\n" for line in [*lines[:5], *lines[6:]]))
    assert run("replay", story).out.count("line 6") == 1


def test_a_description_may_be_worded_differently(run: Any, story: Path) -> None:
    lines = [json.loads(text) for text in story.read_text().splitlines()]
    lines[5]["description"] = "somebody says it better"
    story.write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert run("replay", story).code == 1


def test_a_story_that_breaks_nothing_conforms(run: Any, story: Path) -> None:
    lines = [json.loads(text) for text in story.read_text().splitlines()]
    del lines[0]["promise"], lines[26], lines[-1]["promise"]
    lines[-1].update(verdict="holds", steps=25)
    story.write_text("".join(json.dumps(each) + "\n" for each in lines))
    outcome = run("replay", story)
    assert outcome.code == 0
    assert "conforms: every step is possible and no promise is broken" in outcome.out


def test_a_story_that_breaks_a_promise_does_not_hold(run: Any, story: Path) -> None:
    lines = [json.loads(text) for text in story.read_text().splitlines()]
    del lines[0]["promise"], lines[-1]["promise"]
    lines[-1].update(verdict="holds")
    story.write_text("".join(json.dumps(each) + "\n" for each in lines))
    outcome = run("replay", story)
    assert outcome.code == 3
    assert "an_acknowledged_commit_loses_nothing is broken" in outcome.out


def test_a_trace_is_not_mixed_with_recordings_or_other_rules(run: Any, story: Path, repository_root: Path) -> None:
    mixed = run("replay", story, repository_root / "tests/recordings/01-commit")
    assert (mixed.code, "replay them separately" in mixed.err) == (2, True)
    ruled = run("replay", story, "--rules", "newest")
    assert (ruled.code, "is a zombieproof trace and has its own rules; omit --rules" in ruled.err) == (2, True)
