"""zombieproof check --simulate --swarm: bounds are drawn, and what breaks within them is told, written and replayed."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.scenarios import SCENARIOS

SWARM = ("check", "zombie_takeover", "--simulate", "2000000steps", "--swarm", "--seed", "3")


@pytest.mark.slow
def test_a_story_says_its_bounds_and_becomes_a_file(run: Any, tmp_path: Path) -> None:
    story = tmp_path / "story.jsonl"
    outcome = run(*SWARM, "-o", story)
    assert outcome.code == 1
    [line] = [line for line in outcome.out.splitlines() if line.startswith("  Within bounds that were drawn: ")]
    bounds = line.partition(": ")[2].replace(" ", "")
    [command] = [line for line in outcome.out.splitlines() if "save this counterexample" in line]
    assert f"--bounds {bounds}" in shlex.join(shlex.split(command.partition("#")[0]))
    again = run("replay", story)
    assert again.code == 1
    assert "as the file says" in again.out


def test_json_has_the_bounds_and_the_same_seed_the_same_story(run: Any) -> None:
    one, other = (run(*SWARM, "--json").json["scenarios"][0] for _ in range(2))
    assert one["violated"] == other["violated"]
    assert one["bounds"] == other["bounds"]
    assert sum(one["bounds"].values()) > sum(SCENARIOS["zombie_takeover"].bounds.values())


def test_a_swarm_without_walks_is_refused(run: Any) -> None:
    outcome = run("check", "late_produce", "--swarm")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--swarm needs --simulate: add --simulate SECONDS" in outcome.err
