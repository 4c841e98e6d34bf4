"""Explorations larger than memory: runs on disk, and everything as it is in memory."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.checker.engine.explore import Result, explore
from zombieproof.checker.engine.folder import LOCK, FolderRefused, Keeping
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.spill import OWNER, Candidates, Spill
from zombieproof.checker.engine.spilling import SpillingSearch
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit

Houses = Callable[..., Any]


def facts(result: Result) -> tuple[object, ...]:
    """All of a result that must not depend on where its states were."""
    coverage = None if result.coverage is None else result.coverage.tolist()
    kept = (result.verdict, result.why, result.distinct, result.generated, result.depth, result.promises)
    return (*kept, result.violated, result.witnesses, coverage, result.bound_hits)


SAFETY = [promise.name for promise in two_phase_commit(6).promises if promise.kind != "leads_to"]


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tables of 256 slots that never grow, blocks and windows of a few rows; returns at which depths all was full."""
    emptied: list[int] = []
    monkeypatch.setattr("zombieproof.checker.engine.storage.FIRST_SLOTS", 4)
    monkeypatch.setattr("zombieproof.checker.engine.spilling._SHARE_OF_TABLE", 0.0)
    monkeypatch.setattr("zombieproof.checker.engine.search.BLOCK_ROWS", 100)
    monkeypatch.setattr("zombieproof.checker.engine.spilling.BLOCK_ROWS", 100)
    monkeypatch.setattr("zombieproof.checker.engine.spill._WINDOW", 5)
    room = SpillingSearch.make_room

    def counted(search: SpillingSearch) -> None:
        emptied.append(search.depth)
        room(search)

    monkeypatch.setattr(SpillingSearch, "make_room", counted)
    return emptied


@pytest.mark.sample("holds-2", "violated-1")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("rules", [Rules(), Rules(wait_for_all=0)], ids=["holds", "violated"])
def test_runs_on_disk_change_nothing(
    rules: Rules, workers: int, little: list[int], tmp_path: Path, shared_by: Callable[..., list[int]]
) -> None:
    model = two_phase_commit(6)
    expected = facts(explore(model, rules, promises=SAFETY))
    at_work = shared_by(workers, small_units=False)
    result = explore(model, rules, promises=SAFETY, spill=tmp_path / "spill", workers=workers)
    assert facts(result) == expected
    assert result.spilled is not None
    assert result.spilled.written_bytes > 8 * result.distinct or rules.wait_for_all == 0
    assert len(little) > 100 or rules.wait_for_all == 0
    assert not (tmp_path / "spill").exists()
    assert max(at_work) == workers or rules.wait_for_all == 0


@pytest.mark.parametrize(
    "house_of",
    [
        {},
        {"forbidden_sum": 19},
        {"forbidden_sum": 18},
        {"wanted_sum": 17},
        {"wanted_sum": 99},
        {"most": 12, "room": 7},
        {"sorted": 1},
    ],
    ids=["holds", "violated", "violated_before", "witnessed", "never", "capacity", "normal_forms"],
)
def test_verdict_counterexample_witnesses_coverage_and_bounds_are_those_of_memory(
    house_of: dict[str, int], coins: Model, house: Houses, little: list[int], tmp_path: Path
) -> None:
    setup = house(**{"most": 12, **house_of})
    expected = facts(explore(coins, setup))
    assert facts(explore(coins, setup, spill=tmp_path)) == expected
    assert little or house_of == {"sorted": 1}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long("holds")
@pytest.mark.slow
@pytest.mark.parametrize("forbidden", [-1, 61], ids=["holds", "violated"])
def test_threads_find_on_disk_what_one_finds_in_memory(
    forbidden: int, coins: Model, house: Houses, little: list[int], tmp_path: Path, shared_by: Callable[..., list[int]]
) -> None:
    setup = house(most=40, forbidden_sum=forbidden, wanted_sum=60)
    expected = facts(explore(coins, setup))
    at_work = shared_by(2, small_units=False)
    assert facts(explore(coins, setup, spill=tmp_path, workers=2)) == expected
    assert little
    assert max(at_work) == 2


@pytest.mark.parametrize("most", [1, 500, 777, 778, 1000, 2196, 2197])
def test_a_limit_of_states_is_kept_to_the_state(
    most: int, coins: Model, house: Houses, little: list[int], tmp_path: Path
) -> None:
    expected = facts(explore(coins, house(most=12), max_states=most))
    assert facts(explore(coins, house(most=12), max_states=most, spill=tmp_path)) == expected


@pytest.mark.slow
def test_a_level_that_does_not_fit_is_begun_again_once(
    little: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    again = SpillingSearch._begin_again

    def counted(search: SpillingSearch, *arguments: Any) -> None:
        begun.append(search.depth)
        again(search, *arguments)

    monkeypatch.setattr(SpillingSearch, "_begin_again", counted)
    assert explore(two_phase_commit(6), Rules(), promises=SAFETY, spill=tmp_path).distinct == 50_816
    assert len(begun) == 1
    assert len(set(little)) > 5


def test_what_fits_into_memory_stays_there(coins: Model, house: Houses, tmp_path: Path) -> None:
    result = explore(coins, house(), spill=tmp_path)
    assert facts(result) == facts(explore(coins, house()))
    assert result.spilled is not None
    assert result.spilled.written_bytes > 0


# ---------------------------------------------------------------- the folder


def test_nothing_stays_after_ctrl_c(little: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zombieproof.checker.engine.explore._PROGRESS_SECONDS", 0.0)

    def interrupt(now: Any) -> None:
        assert (tmp_path / OWNER).exists()
        if now.depth > 8:
            raise KeyboardInterrupt

    result = explore(two_phase_commit(6), Rules(), promises=SAFETY, progress=interrupt, spill=tmp_path)
    assert (result.verdict, result.interrupted) == ("inconclusive", True)
    assert little
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", [0, 1, 5, 40])
def test_a_full_folder_ends_the_exploration_and_is_emptied(
    which: int, little: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, calls = os.pwrite, iter(range(10**6))

    def full(file: int, content: Any, place: int) -> int:
        if isinstance(content, memoryview) and next(calls) >= which:
            raise OSError(errno.ENOSPC, "No space left on device")
        return usual(file, content, place)

    monkeypatch.setattr(os, "pwrite", full)
    result = explore(two_phase_commit(6), Rules(), promises=SAFETY, spill=tmp_path)
    assert result.verdict == "inconclusive"
    assert result.why == (
        f"cannot write to --spill {tmp_path}: No space left on device; "
        "free disk space, or give a folder on a larger disk"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_of_others_is_left_alone(coins: Model, house: Houses, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("chapter 1")
    with pytest.raises(FolderRefused, match=r"--spill .*: the folder contains other files: thesis.txt"):
        explore(coins, house(), spill=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("owner", ['{"key": "0123456789abcdef0123"}', "{}", "", None])
def test_what_another_model_has_left_is_refused(owner: str | None, coins: Model, house: Houses, tmp_path: Path) -> None:
    (tmp_path / "run-000001").write_bytes(b"12345678")
    if owner is not None:
        (tmp_path / OWNER).write_text(owner)
    left = "0123456789abcdef" if owner and "0" in owner else "unknown"
    with pytest.raises(FolderRefused, match=f"of an exploration of another model .hash {left}, this one"):
        explore(coins, house(), spill=tmp_path)
    assert (tmp_path / "run-000001").exists()


def left_as_by_a_kill(spill: Spill) -> None:
    for store in spill._stores:
        store._file.close()
    spill._folder.__exit__(None, None, None)


def test_what_the_same_model_has_left_is_removed(coins: Model, house: Houses, tmp_path: Path) -> None:
    keys: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Spill, "close", left_as_by_a_kill)
        explore(coins, house(), spill=tmp_path)
        keys += [file.name for file in tmp_path.iterdir()]
    assert OWNER in keys
    assert explore(coins, house(), spill=tmp_path).verdict == "holds"
    assert list(tmp_path.iterdir()) == []


def test_two_at_a_time_do_not_share_a_folder(coins: Model, house: Houses, tmp_path: Path) -> None:
    spill = Spill(tmp_path, "key")
    with pytest.raises(FolderRefused, match="another process is using it"):
        explore(coins, house(), spill=tmp_path)
    spill.close()
    assert not (tmp_path / LOCK).exists()


def test_checkpoints_of_a_spilled_exploration_are_refused(coins: Model, house: Houses, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keeping and spill: give one"):
        explore(coins, house(), spill=tmp_path / "a", keeping=Keeping(tmp_path / "b"))


# ---------------------------------------------------------------- runs


PRINTS = st.lists(st.integers(1, 40).map(lambda low: low * 0x0412_3456_789A_BCDF % 2**64), max_size=60)


@pytest.mark.slow
@given(levels=st.lists(st.lists(PRINTS, max_size=4), max_size=12))
def test_of_each_fingerprint_the_first_candidate_is_new(
    levels: list[list[list[int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    spill = Spill(tmp_path_factory.mktemp("spill"), "key")
    known: set[int] = set()
    for blocks in levels:
        candidates, expected = Candidates(spill), []
        for block in blocks:
            candidates.add(np.array(block, np.uint64))
        for mark in (mark for block in blocks for mark in block):
            expected.append(mark not in known)
            known.add(mark)
        assert candidates.judged().tolist() == expected
    spill.close()


LITTLE_MEMORY = """
from pathlib import Path
from sys import argv
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.storage import MIB, Memory
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit

model, workers, folder = two_phase_commit(8), int(argv[1]), Path(argv[2])
safety = [promise.name for promise in model.promises if promise.kind != "leads_to"]
explore(model, Rules(), promises=safety, max_depth=1)
limit = Memory().resident() + 48 * MIB
result = explore(model, Rules(), promises=safety, workers=workers, memory_bytes=limit, spill=folder)
print(result.verdict, result.distinct, result.why)
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_forty_eight_mib_more_are_enough_for_all_that_stays_in_memory(
    workers: int, tmp_path: Path, repository_root: Path
) -> None:
    """In a process of its own: the limit is for all that it holds. With the blocks of a search in memory it is not."""
    command = [sys.executable, "-c", LITTLE_MEMORY, str(workers), str(tmp_path / "disk")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=repository_root)
    assert done.stdout.split() == ["holds", "1745408", "None"]
