"""A promise that is broken for ever: told with what repeats, kept in the file, and refused where it does not go on."""

import json
from pathlib import Path
from typing import Any

import pytest

ENDS = ("two_phase_commit_ends", "--bounds", "n=2")
STARVED = (*ENDS, "--mutant", "the_manager_never_gives_up")


@pytest.fixture
def story(run: Any, tmp_path: Path) -> Path:
    path = tmp_path / "story.jsonl"
    assert run("check", *STARVED, "-o", path).code == 1
    return path


def changed(story: Path, **conclusion: Any) -> Path:
    """The file with another last line; None takes a field away."""
    *lines, last = story.read_text().splitlines()
    end = {key: value for key, value in {**json.loads(last), **conclusion}.items() if value is not None}
    story.write_text("\n".join([*lines, json.dumps(end)]) + "\n")
    return story


def test_what_holds_is_said_to_hold(run: Any) -> None:
    outcome = run("check", *ENDS, "--json")
    (scenario,) = outcome.json["scenarios"]
    assert (outcome.code, scenario["verdict"], scenario["violated"]) == (0, "holds", None)
    assert {"name": "everybody_ends", "kind": "leads_to", "holds": True} in scenario["promises"]


def test_the_story_says_what_repeats(run: Any) -> None:
    outcome = run("check", *STARVED)
    lines = [line.strip() for line in outcome.out.splitlines()]
    begins = lines.index("Then, for ever:")
    assert lines[begins + 1] == "4. the transaction manager learns that resource manager 0 is prepared"
    assert lines[begins + 2] == "Everything is as before step 4 now: it goes on there, and so on for ever."
    assert "Broken for ever after 3 steps: everybody_ends" in lines


def test_json_and_file_say_from_which_step_on_it_repeats(run: Any, story: Path) -> None:
    (scenario,) = run("check", *STARVED, "--json").json["scenarios"]
    assert (scenario["violated"]["repeats_from"], len(scenario["violated"]["steps"])) == (3, 4)
    assert json.loads(story.read_text().splitlines()[-1])["repeats_from"] == 3


def test_replay_sees_that_it_goes_on_for_ever(run: Any, story: Path) -> None:
    outcome = run("replay", story)
    assert outcome.code == 1
    assert "Then, for ever:" in outcome.out
    assert "violates: everybody_ends is broken for ever after 3 steps, as the file says" in outcome.out


@pytest.mark.parametrize(
    ("conclusion", "fault"),
    [
        (
            {"repeats_from": 1},
            "everybody_ends is not broken for ever: step 4 does not lead back to where step 2 begins",
        ),
        ({"repeats_from": None}, "the verdict lacks repeats_from: everybody_ends is broken by what goes on for ever"),
        ({"repeats_from": 5}, "repeats_from is 0 to the number of steps, 4"),
        ({"repeats_from": -1}, "greater than or equal to 0"),
    ],
)
def test_what_does_not_go_on_for_ever_is_refused(run: Any, story: Path, conclusion: Any, fault: str) -> None:
    outcome = run("replay", changed(story, **conclusion))
    assert outcome.code != 1
    assert fault in " ".join((outcome.out + outcome.err).split())


def test_a_round_in_which_somebody_starves_is_refused(run: Any, story: Path) -> None:
    """After its first step, in which manager 0 prepares, nothing has repeated, and the others can act."""
    lines = story.read_text().splitlines()
    end = json.loads(lines[-1]) | {"steps": 1, "repeats_from": 1}
    story.write_text("\n".join([*lines[:2], json.dumps(end)]) + "\n")
    outcome = run("replay", story)
    assert "everybody_ends is not broken for ever: who is task 1 can always act, and never does" in outcome.out


def test_a_promise_that_is_broken_in_a_state_does_not_repeat(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "story.jsonl"
    assert run("check", *ENDS, "--mutant", "the_manager_never_gives_up", "-o", path).code == 1
    name = "nobody_commits_what_another_aborted"
    lines = path.read_text().replace("everybody_ends", name)
    path.write_text(lines)
    outcome = run("replay", path)
    assert f"the verdict says repeats_from, and {name} is a promise of the kind always" in outcome.out
