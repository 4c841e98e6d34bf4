"""zombieproof sweep --checkpoint: a sweep that is stopped goes on where it was, and only from what is its own."""

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

from zombieproof import system
from zombieproof.cli import sweep as command

MANAGERS = ("sweep", "two_phase_commit", "--bound", "n=1..5", "--seconds", "60")
WAITING = ("sweep", "two_phase_commit", "--bound", "n=2..3", "--bound", "wait_for_all=0..1", "--seconds", "60")


def counts(outcome: Any) -> list[tuple[dict[str, int], str, int, int, int]]:
    [scenario] = outcome.json["scenarios"]
    names = ("bounds", "verdict", "distinct", "generated", "depth")
    return [tuple(row[name] for name in names) for row in scenario["combinations"]]


@pytest.fixture
def explored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The places that were explored, not taken from a file."""
    places: list[tuple[int, ...]] = []
    explorer = command.explorer

    def noting(watcher: Any) -> Any:
        explore = explorer(watcher)

        def noted(space: Any, place: tuple[int, ...], seconds: float) -> Any:
            places.append(place)
            return explore(space, place, seconds)

        return noted

    monkeypatch.setattr(command, "explorer", noting)
    return places


def test_what_is_known_is_not_explored_again(run: Any, tmp_path: Path, explored: list[Any]) -> None:
    kept = tmp_path / "kept.jsonl"
    whole = run(*MANAGERS, "--checkpoint", kept, "--json")
    assert (whole.code, explored) == (0, [(0,), (1,), (2,), (3,), (4,)])
    lines = kept.read_bytes().splitlines(keepends=True)
    assert len(lines) == 6
    explored.clear()
    # Killed while it wrote its fourth line.
    kept.write_bytes(b"".join(lines[:4]) + lines[4][:40])
    again = run(*MANAGERS, "--checkpoint", kept, "--resume", "--json")
    assert (again.code, explored, counts(again)) == (0, [(3,), (4,)], counts(whole))
    timeless = [
        [{**json.loads(line), "seconds": 0, "sha256": ""} for line in each]
        for each in (lines, kept.read_text().splitlines())
    ]
    assert timeless[0] == timeless[1]


def test_a_story_that_was_found_before_is_told_again(run: Any, tmp_path: Path, explored: list[Any]) -> None:
    kept, story = tmp_path / "kept.jsonl", tmp_path / "story.jsonl"
    first = run(*WAITING, "--checkpoint", kept, "--brief")
    explored.clear()
    again = run(*WAITING, "--checkpoint", kept, "--resume", "--brief", "-o", story)
    assert (first.code, again.code, explored) == (1, 1, [])
    told = first.out[: first.out.index("verdict")]
    assert "nobody_commits_what_another_aborted is broken" in told
    assert told == again.out[: again.out.index("verdict")]
    assert run("replay", story).code == 1


def test_what_is_inconclusive_is_tried_again(run: Any, tmp_path: Path, explored: list[Any]) -> None:
    asked = ("sweep", "two_phase_commit", "--bound", "n=2", "--checkpoint", tmp_path / "kept.jsonl")
    assert run(*asked, "--memory", "1M").code == 3
    explored.clear()
    assert (run(*asked, "--resume").code, explored) == (0, [(0,)])


@pytest.mark.slow
def test_a_sweep_that_is_killed_at_any_moment_goes_on(run: Any, tmp_path: Path) -> None:
    kept, chance = tmp_path / "kept.jsonl", random.Random(7)
    program = "import sys; from zombieproof.cli import main; sys.exit(main())"
    asked = [*MANAGERS, "--checkpoint", str(kept)]
    for _ in range(4):
        before = kept.stat().st_size if kept.exists() else 0
        resume = ["--resume"] if kept.exists() else []
        with subprocess.Popen([sys.executable, "-c", program, *asked, *resume], stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and (not kept.exists() or kept.stat().st_size == before):
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
        assert process.returncode in (0, -signal.SIGKILL)
    ended = run(*asked, "--resume", "--json")
    assert (ended.code, counts(ended)) == (0, counts(run(*MANAGERS, "--json")))


def test_a_file_is_refused_that_is_damaged_or_of_something_else(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.jsonl"
    asked = (*MANAGERS[:3], "n=1..2", "--checkpoint", kept)
    assert run(*asked).code == 0
    written = kept.read_bytes()
    head, first, second = written.splitlines(keepends=True)

    def refused(content: bytes, *options: object, resume: bool = True) -> str:
        kept.write_bytes(content)
        outcome = run(*(options or asked), *(["--resume"] if resume else []))
        assert (outcome.code, outcome.out, kept.read_bytes()) == (2, "", content)
        return str(outcome.err)

    assert "the file exists; continue it with --resume" in refused(written, resume=False)
    other = first.replace(b'"distinct": ', b'"distinct": 1')
    assert "line 2 is damaged: its checksum does not match" in refused(head + other + second)
    assert "line 3 is damaged: invalid JSON" in refused(head + first + b"{\n")
    for foreign in (b"my notes\n", b"my notes", b"[]\n"):
        assert "it is not a checkpoint of a sweep; give another file; this one was not changed" in refused(foreign)
    assert "restore the file from a copy, or remove it and start again" in refused(head.replace(b"n=1", b"n=0"))
    more = ("sweep", "two_phase_commit", "--bound", "n=1..3", "--checkpoint", kept)
    assert "the combinations of this sweep: two_phase_commit(n=1/2/3); in the file: two_phase_commit(n=1/2)" in refused(
        written, *more
    )
    monkeypatch.setattr("zombieproof.farm.kept_sweep.sources", lambda _: "others")
    assert "it was written by another version of the model or the checker; start again with another file" in refused(
        written
    )


def test_a_file_that_cannot_be_is_refused(run: Any, tmp_path: Path) -> None:
    asked = MANAGERS[:4]
    assert "--resume continues from a file" in run(*asked, "--resume").err
    assert "no such file; omit --resume" in run(*asked, "--resume", "--checkpoint", tmp_path / "none").err
    outcome = run(*asked, "--checkpoint", tmp_path / "no" / "kept")
    assert (outcome.code, "give a writable file" in outcome.err) == (2, True)


def test_two_processes_do_not_write_one_file(run: Any, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    kept = tmp_path / "kept.jsonl"
    assert run(*MANAGERS[:3], "n=1", "--checkpoint", kept).code == 0
    held = os.open(kept, os.O_RDWR)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcome = run(*MANAGERS[:3], "n=1", "--checkpoint", kept, "--resume")
    finally:
        os.close(held)
    assert (outcome.code, "another process is using it" in outcome.err) == (2, True)


def test_where_there_are_no_locks_nothing_is_kept(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_fcntl", None)
    outcome = run(*MANAGERS, "--checkpoint", tmp_path / "kept.jsonl")
    assert (outcome.code, "cannot lock files" in outcome.err) == (2, True)
