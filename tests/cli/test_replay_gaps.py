"""What was not judged is said in every form of `replay` and beside every question, with the same exit code."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

LOST = "09-offline-partition-lost-commit"


@pytest.fixture
def half(repository_root: Path) -> Path:
    """One broker of three: it has not the partition on which the record was lost."""
    return repository_root / "tests/recordings" / LOST / "segments/broker-1"


QUESTIONS: tuple[list[str], ...] = ([], ["--open"], ["--timeline", "orders-1"], ["--format", "markdown"])


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_every_question_says_how_far_the_verdict_goes(run: Any, half: Path, question: list[str]) -> None:
    outcome = run("replay", half, *question)
    assert outcome.code == 3
    assert "conforms as far as it could be judged" in outcome.out.splitlines()[0]
    assert "e-0" in outcome.out
    accepted = run("replay", half, *question, "--allow-gaps", "e-0")
    assert accepted.code == 0
    assert "as far as it could be judged" not in accepted.out


@pytest.mark.parametrize("question", QUESTIONS[:3], ids=" ".join)
def test_json_lists_the_gaps_of_every_question(run: Any, half: Path, question: list[str]) -> None:
    outcome = run("replay", half, *question, "--json")
    found = json.loads(outcome.out)
    assert (outcome.code, found["verdict"]) == (3, "conforms")
    assert [(gap["name"], gap["gap"]) for gap in found["not_judged"]] == [("e-0", "missing")]


def test_a_gap_is_an_error_in_junit_unless_it_is_accepted(run: Any, half: Path) -> None:
    for allowed, errors in (([], ["not judged"]), (["--allow-gaps", "e"], [])):
        [suite] = ET.fromstring(run("replay", half, "--format", "junit", *allowed).out)
        assert [error.get("type") for error in suite.findall("testcase/error")] == errors


def test_a_partition_of_a_topic_that_is_left_out_is_no_gap(run: Any, half: Path) -> None:
    narrowed = run("replay", half, "--topic", "d")
    assert narrowed.code == 0
    assert "not judged" not in narrowed.out
    assert run("replay", half, "--topic", "e").code == 3


def test_gaps_are_no_matter_of_counterexamples(run: Any, tmp_path: Path) -> None:
    story = tmp_path / "story.jsonl"
    run("check", "late_produce", "--mutant", "no_verification", "-o", story)
    outcome = run("replay", story, "--allow-gaps", "e-0")
    assert outcome.code == 2
    assert "--allow-gaps is for recordings" in outcome.err


@pytest.mark.parametrize("question", QUESTIONS[:3], ids=" ".join)
def test_nothing_is_told_of_two_clusters_but_that_they_are_two(
    run: Any, repository_root: Path, question: list[str]
) -> None:
    recordings = repository_root / "tests/recordings"
    outcome = run("replay", recordings / "01-commit", recordings / "12-delayed-abort", *question)
    assert outcome.code == 3
    assert outcome.out.splitlines()[0] == "damaged: this is evidence of several clusters"


@pytest.mark.parametrize("question", QUESTIONS[:2], ids=" ".join)
def test_that_nothing_is_open_is_not_said_without_a_log(run: Any, tmp_path: Path, question: list[str]) -> None:
    (tmp_path / "client.jsonl").write_text('{"t": 1, "client": "a", "action": "begin", "args": {}, "result": "ok"}\n')
    outcome = run("replay", tmp_path, *question)
    assert outcome.code == 3
    assert outcome.out.splitlines()[0] == "nothing could be judged"
