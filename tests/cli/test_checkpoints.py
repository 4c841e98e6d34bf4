"""`zombieproof check --checkpoint`: processes that are really killed, and what the command refuses."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

MODEL = '''
"""Four dice that only go up: {sides}⁴ states."""

from dataclasses import dataclass

from zombieproof import Model, Promise, Scenario, array, integer


@dataclass(slots=True)
class State:
    """The dice."""

    dice: list[int] = array(int, 4)


@dataclass(slots=True)
class Setup:
    """A sum that must not be there; too large, it never is."""

    forbidden: int = integer(0, width="i2")


@dataclass(slots=True)
class Trail:
    """Nothing."""

    unused: int = 0


def step(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    """Turn a die to its next side."""
    if state.dice[action] >= {sides} - 1:
        return False
    state.dice[action] += 1
    return True


def the_sum_is_allowed(state: State, setup: Setup) -> bool:
    """The sum is not the forbidden one."""
    return state.dice[0] + state.dice[1] + state.dice[2] + state.dice[3] != setup.forbidden


MODEL = Model(
    name="dice",
    state=State,
    setup=Setup,
    trail=Trail,
    actions=4,
    step=step,
    describe=lambda state, action, setup: f"die {{action}} goes on",
    initial=lambda setup: State(),
    promises=(Promise("the_sum_is_allowed", "always", the_sum_is_allowed, "The sum is allowed."),),
)
SCENARIO = Scenario(
    name="dice",
    story="Dice go up.",
    model=lambda bounds: MODEL,
    setup=lambda rules, bounds: Setup(4 * ({sides} - 1) + 1 - 2 * bounds["broken"]),
    bounds={{"broken": 0}},
    always=("the_sum_is_allowed",),
    sometimes=(),
)
'''
SIDES = 28
PROGRAM = "import sys; from zombieproof.cli import main; sys.exit(main())"


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", PROGRAM, "check", *map(str, arguments), "--json"]


def killed_at_random(asked: list[object], folder: Path, chance: random.Random, longest: float) -> bool:
    """Begin or go on, and kill the process at some moment of its work; returns whether it was killed."""
    resume = ["--resume"] if (folder / "checkpoint.json").exists() else []
    kept = ["--checkpoint", folder, "--checkpoint-every", 0]
    lock = folder / "lock"
    held = lock.read_bytes() if lock.exists() else b""
    with subprocess.Popen(command(*asked, *kept, *resume), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and (not lock.exists() or lock.read_bytes() in (held, b"")):
            time.sleep(0.005)
        try:
            process.wait(chance.uniform(0, longest))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
    assert process.returncode in (0, 1, -signal.SIGKILL), said
    return process.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.long("holds")
@pytest.mark.parametrize("broken", [0, 1], ids=["holds", "violated"])
def test_killed_at_any_moment_and_resumed_nothing_differs(
    broken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is kept and read again is the same whichever verdict comes in the end.
    profile = os.environ.get("ZOMBIEPROOF_TESTS", "quick")
    kills = {"quick": 2, "ci": 3 if broken else 8}.get(profile, 20)
    monkeypatch.setenv("ZOMBIEPROOF_CACHE_DIR", str(tmp_path / "cache"))
    model = tmp_path / "dice.py"
    model.write_text(MODEL.format(sides=SIDES))
    asked: list[object] = [model, "--bounds", f"broken={broken}"]
    began = time.perf_counter()
    whole = facts(subprocess.run(command(*asked), capture_output=True, check=False))
    longest = time.perf_counter() - began
    chance, number = random.Random(broken), 0
    folder = tmp_path / "kept0"
    while kills:
        if killed_at_random(asked, folder, chance, longest / 3):
            kills -= 1
        else:  # it came to its end: the next begins anew
            number += 1
            folder = tmp_path / f"kept{number}"
    resume = ["--resume"] if (folder / "checkpoint.json").exists() else []
    last = subprocess.run(command(*asked, "--checkpoint", folder, *resume), capture_output=True, check=False)
    assert facts(last) == whole
    assert whole["code"] == broken
    assert whole["distinct"] == (SIDES**4 - 4 if broken else SIDES**4)


def facts(ended: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert ended.returncode in (0, 1), ended.stderr
    [scenario] = json.loads(ended.stdout)["scenarios"]
    for changing in ("seconds", "cpu_seconds", "peak_mib", "checkpoint"):
        del scenario[changing]
    return {"code": ended.returncode, **scenario}


def test_the_report_says_where_the_checkpoint_is(run: Any, tmp_path: Path) -> None:
    asked = ("check", "two_phase_commit", "--bounds", "n=3", "--checkpoint", tmp_path / "kept")
    first = run(*asked, "--checkpoint-every", 0)
    assert first.code == 0
    assert "the checkpoint in" in first.out
    again = run(*asked, "--resume", "--json")
    kept = again.json["scenarios"][0]["checkpoint"]
    assert kept == {"folder": str(tmp_path / "kept"), "depth": kept["depth"], "resumed": kept["depth"]}
    assert kept["depth"] > 0
    assert run("check", "two_phase_commit", "--bounds", "n=3", "--json").json["scenarios"][0]["checkpoint"] is None


def test_what_ends_early_says_how_to_go_on(run: Any, tmp_path: Path) -> None:
    asked = ("check", "two_phase_commit", "--bounds", "n=3", "--checkpoint", tmp_path / "kept")
    assert run(*asked).code == 0
    outcome = run(*asked, "--resume", "--memory", "1M")
    assert outcome.code == 3
    said = " ".join(outcome.out.split())
    assert "is of depth 0; zombieproof check two_phase_commit --bounds n=3 --checkpoint" in said
    assert "--resume goes on from it" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["two_phase_commit", "--resume"], "--resume continues from a checkpoint"),
        (
            ["two_phase_commit", "--checkpoint-every", "5"],
            "--checkpoint-every 5 needs --checkpoint: add --checkpoint DIR",
        ),
        (
            ["two_phase_commit", "--checkpoint", "k", "--checkpoint-every", "-1"],
            "0 saves after every level",
        ),
        (
            ["two_phase_commit", "--checkpoint", "k", "--checkpoint-every", "nan"],
            "0 saves after every level",
        ),
        (["--checkpoint", "k"], "--checkpoint saves one exploration, but "),
        (["two_phase_commit", "--checkpoint", "k", "--mutants"], "--mutants and --compare run several"),
        (["two_phase_commit", "--checkpoint", "k", "--simulate", "1"], "--checkpoint and --simulate: choose one"),
        (["two_phase_commit", "--checkpoint", "k", "--resume"], "--resume: the folder has no checkpoint"),
    ],
)
def test_what_makes_no_sense_is_refused(
    run: Any, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("check", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_a_checkpoint_of_other_bounds_or_rules_is_refused(run: Any, tmp_path: Path) -> None:
    kept = ("--checkpoint", tmp_path)
    assert run("check", "two_phase_commit", "--bounds", "n=3", *kept).code == 0
    outcome = run("check", "two_phase_commit", "--bounds", "n=4", *kept, "--resume")
    assert outcome.code == 2
    assert "the checkpoint has the bounds n=3, this run n=4" in outcome.err
    outcome = run("check", "two_phase_commit", "--bounds", "n=3", *kept)
    assert outcome.code == 2
    assert "the folder already has a checkpoint" in outcome.err
