"""Explorations that end early and go on from a checkpoint: everything is as if they had never ended."""

import errno
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zombieproof import system
from zombieproof.checker.engine.checkpoint import MANIFEST
from zombieproof.checker.engine.explore import Progress, Result, explore
from zombieproof.checker.engine.folder import LOCK, Folder, FolderRefused, Keeping
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.search import Search
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit

Houses = Callable[..., Any]


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


def each_level(folder: Path) -> Keeping:
    return Keeping(folder, every_seconds=0.0, asked={"the scenario": "coins"})


def going_on(folder: Path) -> Keeping:
    return replace(each_level(folder), resume=True)


def facts(result: Result) -> tuple[object, ...]:
    """All of a result that must not depend on whether it was stopped."""
    coverage = None if result.coverage is None else result.coverage.tolist()
    kept = (result.verdict, result.why, result.distinct, result.generated, result.depth, result.promises)
    return (*kept, result.violated, result.witnesses, coverage, result.bound_hits)


def stopped(model: Model, setup: object, folder: Path, depth: int, **limits: Any) -> None:
    """Explore, keeping each level, until the process is gone somewhere in the level behind `depth`."""

    def gone(search: Any, *arguments: Any) -> None:
        if search.depth >= depth:
            raise Killed
        whole(search, *arguments)

    whole = Search.level
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "level", gone)
        with pytest.raises(Killed):
            explore(model, setup, keeping=each_level(folder), **limits)


def test_a_promise_that_needs_the_whole_graph_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="everybody_ends needs the whole graph of states, which neither a checkpoint"):
        explore(two_phase_commit(3), Rules(), keeping=each_level(tmp_path))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("depth", [0, 1, 5, 10, 15])
def test_what_goes_on_is_what_was_never_stopped(depth: int, workers: int, tmp_path: Path) -> None:
    model = two_phase_commit(5)
    safety = [promise.name for promise in model.promises if promise.kind != "leads_to"]
    stopped(model, Rules(), tmp_path / "kept", depth, promises=safety)
    result = explore(model, Rules(), keeping=going_on(tmp_path / "kept"), workers=workers, promises=safety)
    assert facts(result) == facts(explore(model, Rules(), promises=safety))
    assert result.distinct == 8_832
    assert result.checkpoint is not None
    assert (result.checkpoint.resumed, result.checkpoint.depth) == (depth, 16)


@pytest.mark.parametrize(
    "house_of",
    [{}, {"forbidden_sum": 9}, {"wanted_sum": 2}, {"wanted_sum": 99}, {"most": 6, "room": 3}, {"sorted": 1}],
    ids=["holds", "violated", "witnessed_before", "never", "capacity", "normal_forms"],
)
def test_verdict_counterexample_witnesses_coverage_and_bounds_are_kept(
    house_of: dict[str, int], coins: Model, house: Houses, tmp_path: Path
) -> None:
    setup = house(**{"most": 5, **house_of})
    stopped(coins, setup, tmp_path / "kept", 4)
    assert facts(explore(coins, setup, keeping=going_on(tmp_path / "kept"))) == facts(explore(coins, setup))


def test_it_can_be_stopped_again_and_again(coins: Model, house: Houses, tmp_path: Path) -> None:
    stopped(coins, house(), tmp_path, 0)
    for depth in range(2, 12, 2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"{__name__}.each_level", going_on_alone)
            stopped(coins, house(), tmp_path, depth)
    assert facts(explore(coins, house(), keeping=going_on(tmp_path))) == facts(explore(coins, house()))


def going_on_alone(folder: Path) -> Keeping:
    return Keeping(folder, every_seconds=0.0, resume=True, asked={"the scenario": "coins"})


def test_limits_go_on_as_well(coins: Model, house: Houses, tmp_path: Path) -> None:
    stopped(coins, house(), tmp_path, 4, max_states=77)
    result = explore(coins, house(), keeping=going_on(tmp_path), max_states=77)
    assert facts(result) == facts(explore(coins, house(), max_states=77))


def test_what_ended_for_lack_of_memory_goes_on_with_more(coins: Model, house: Houses, tmp_path: Path) -> None:
    stopped(coins, house(), tmp_path, 6)
    little = explore(coins, house(), keeping=going_on(tmp_path), memory_bytes=1)
    assert (little.verdict, little.checkpoint and little.checkpoint.depth) == ("inconclusive", 6)
    assert facts(explore(coins, house(), keeping=going_on(tmp_path))) == facts(explore(coins, house()))


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_leaves_the_last_checkpoint(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zombieproof.checker.engine.explore._PROGRESS_SECONDS", 0.0)
    levels: list[int] = []

    def interrupt(now: Progress) -> None:
        levels.append(now.checkpoint)
        if now.depth >= 6:
            raise KeyboardInterrupt

    model, judged = two_phase_commit(6), ["nobody_commits_what_another_aborted"]
    ended = explore(model, Rules(), keeping=each_level(tmp_path), progress=interrupt, workers=workers, promises=judged)
    assert ended.interrupted
    assert ended.checkpoint is not None
    assert ended.checkpoint.depth == levels[-1] == 6
    whole = facts(explore(model, Rules(), promises=judged))
    assert facts(explore(model, Rules(), keeping=going_on(tmp_path), promises=judged)) == whole


def test_between_two_checkpoints_passes_the_time_that_was_asked(coins: Model, house: Houses, tmp_path: Path) -> None:
    result = explore(coins, house(), keeping=Keeping(tmp_path, every_seconds=3600.0))
    assert result.checkpoint is not None
    assert (result.checkpoint.depth, result.checkpoint.resumed) == (0, -1)  # the first is made at once


# ---------------------------------------------------------------- what is refused


def test_without_a_checkpoint_there_is_nothing_to_go_on_from(coins: Model, house: Houses, tmp_path: Path) -> None:
    with pytest.raises(FolderRefused, match=r"--resume: the folder has no checkpoint"):
        explore(coins, house(), keeping=going_on(tmp_path))


def test_a_checkpoint_is_not_lost_to_one_who_begins(coins: Model, house: Houses, tmp_path: Path) -> None:
    stopped(coins, house(), tmp_path, 4)
    with pytest.raises(FolderRefused, match=r"the folder already has a checkpoint"):
        explore(coins, house(), keeping=each_level(tmp_path))


def other_step(state: Any, action: int, house: Any, trail: Any) -> bool:
    """Put a coin on heap `action`, unless it has three: another model, of the same shape."""
    if state.heaps[action] >= 3:
        return False
    state.heaps[action] += 1
    return True


def test_states_of_other_sources_are_not_used(
    coins: Model, house: Houses, variant: Callable[..., Model], tmp_path: Path
) -> None:
    stopped(coins, house(), tmp_path, 4)
    with pytest.raises(FolderRefused, match="--resume: the model"):
        explore(variant(step=other_step), house(), keeping=going_on(tmp_path))
    assert facts(explore(coins, house(), keeping=going_on(tmp_path))) == facts(explore(coins, house()))


@pytest.mark.parametrize(
    ("asked", "differs"),
    [
        ({"setup": {"most": 5}}, "the setup"),
        ({"promises": ["no_heap_is_negative"]}, "the promises"),
        ({"max_states": 9}, "max_states None, this run 9"),
        ({"max_depth": 9}, "max_depth None, this run 9"),
        ({"scenario": "notes"}, "the scenario coins, this run notes; use the same options, or give another folder"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_another_question_is_refused(
    asked: dict[str, Any], differs: str, coins: Model, house: Houses, tmp_path: Path
) -> None:
    stopped(coins, house(), tmp_path, 4)
    scenario = asked.pop("scenario", "coins")
    setup = house(**asked.pop("setup", {}))
    with pytest.raises(FolderRefused, match=f"--resume: the checkpoint has {differs}"):
        explore(coins, setup, keeping=replace(going_on(tmp_path), asked={"the scenario": scenario}), **asked)


def files_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.name != LOCK)


@pytest.mark.parametrize("damage", ["cut", "longer", "flipped", "missing"])
def test_each_damaged_file_is_noticed(damage: str, coins: Model, house: Houses, tmp_path: Path) -> None:
    stopped(coins, house(), tmp_path, 4)
    files = files_of(tmp_path)
    assert {file.name for file in files} >= {MANIFEST, "levels-000000", "levels-000004", "states-000004"}
    for file in files:
        whole = file.read_bytes()
        middle = len(whole) // 2
        if damage == "missing":
            file.unlink()
        else:
            flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
            file.write_bytes({"cut": whole[:-1], "longer": whole + b"x", "flipped": flipped}[damage])
        words = f"{file.name} is damaged: .*restore the folder from a copy|the folder has no checkpoint"
        with pytest.raises(FolderRefused, match=words):
            explore(coins, house(), keeping=going_on(tmp_path))
        file.write_bytes(whole)
    assert facts(explore(coins, house(), keeping=going_on(tmp_path))) == facts(explore(coins, house()))


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"format": "zombieproof checkpoint 0"}', "\0\xff"])
def test_a_manifest_that_is_none_is_refused(text: str, coins: Model, house: Houses, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(FolderRefused, match=f"{MANIFEST} is damaged: its format|{MANIFEST} is damaged: it is no whole"):
        explore(coins, house(), keeping=going_on(tmp_path))


def test_a_manifest_that_was_edited_is_refused(coins: Model, house: Houses, tmp_path: Path) -> None:
    stopped(coins, house(), tmp_path, 4)
    sealed = json.loads((tmp_path / MANIFEST).read_bytes())
    sealed["manifest"]["data"]["generated"] += 1
    (tmp_path / MANIFEST).write_text(json.dumps(sealed))
    with pytest.raises(FolderRefused, match="its checksum is another"):
        explore(coins, house(), keeping=going_on(tmp_path))


def test_a_folder_with_files_of_others_is_left_alone(coins: Model, house: Houses, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("chapter 1")
    with pytest.raises(FolderRefused, match=r"the folder contains other files: thesis.txt; give a new or empty folder"):
        explore(coins, house(), keeping=each_level(tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder(coins: Model, house: Houses, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderRefused, match="not a folder; give a new or empty folder"):
        explore(coins, house(), keeping=each_level(tmp_path / "file"))
    with pytest.raises(FolderRefused, match="No such file or directory; give a writable folder"):
        explore(coins, house(), keeping=each_level(tmp_path / "nowhere" / "kept"))


def test_two_at_a_time_do_not_share_a_folder(coins: Model, house: Houses, tmp_path: Path) -> None:
    stopped(coins, house(), tmp_path, 4)
    with (
        Folder(tmp_path, "--checkpoint", re.compile(".*")),
        pytest.raises(FolderRefused, match=r"another process is using it \(\d+\); wait until it ends"),
    ):
        explore(coins, house(), keeping=going_on(tmp_path))
    assert explore(coins, house(), keeping=going_on(tmp_path)).verdict == "holds"


# ---------------------------------------------------------------- a disk that is full


@pytest.mark.parametrize("operation", ["sync", "replace"])
@pytest.mark.parametrize("which", range(9))
def test_a_full_disk_ends_the_exploration_and_leaves_the_checkpoint_before(
    operation: str, which: int, coins: Model, house: Houses, tmp_path: Path
) -> None:
    stopped(coins, house(), tmp_path, 4)
    with pytest.MonkeyPatch.context() as patch:
        full_disk(patch, operation, which)
        result = explore(coins, house(), keeping=going_on(tmp_path))
    assert result.verdict == "inconclusive"
    assert result.why is not None
    assert f"cannot write a checkpoint to {tmp_path}: No space left on device" in result.why
    assert result.checkpoint is not None
    assert f"the checkpoint of level {result.checkpoint.depth} is intact. Free disk space and continue" in result.why
    assert not list(tmp_path.glob("*.part"))
    assert facts(explore(coins, house(), keeping=going_on(tmp_path))) == facts(explore(coins, house()))


def full_disk(patch: pytest.MonkeyPatch, operation: str, which: int) -> None:
    """Let an operation fail from its call number `which` on."""
    module, usual = (system, system.sync) if operation == "sync" else (Path, Path.replace)
    calls = itertools.count()

    def failing(*arguments: Any) -> Any:
        if next(calls) >= which:
            raise OSError(errno.ENOSPC, "No space left on device")
        return usual(*arguments)

    patch.setattr(module, operation, failing)


def test_a_full_disk_before_the_first_checkpoint_says_so(coins: Model, house: Houses, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        full_disk(patch, "sync", 0)
        result = explore(coins, house(), keeping=each_level(tmp_path))
    assert result.why is not None
    assert "there is no earlier one. Free disk space" in result.why
    assert result.checkpoint is None
