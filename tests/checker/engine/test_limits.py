"""How an exploration ends before it is exhaustive: what it says, and that what it knows is kept."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zombieproof.checker.engine.explore import Progress, explore
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.storage import MIB, Memory, OutOfMemory, Part, Shelf, Table
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit

Houses = Callable[..., Any]

INTERRUPTED = """
import signal
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
result = explore(two_phase_commit(9), Rules(), progress=lambda now: print("under way", flush=True))
print(result.verdict, result.why, result.interrupted, result.distinct, result.promises[0].holds)
"""


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("limit", [1, 2, 1000, 2000, 3374])
def test_a_limit_of_states_is_kept_to_the_state(
    coins: Model, house: Houses, limit: int, workers: int, shared_by: Callable[..., list[int]]
) -> None:
    alone = explore(coins, house(most=14), max_states=limit)
    at_work = shared_by(workers)
    result = explore(coins, house(most=14), max_states=limit, workers=workers)
    assert (result.verdict, result.distinct) == ("inconclusive", limit)
    assert result.why == f"the limit of {limit:,} distinct states was reached"
    assert (result.generated, result.depth) == (alone.generated, alone.depth)
    assert result.coverage.tolist() == alone.coverage.tolist()
    assert max(at_work, default=1) > 1 or workers == 1 or limit < 1000


def test_a_limit_that_is_just_enough_is_no_limit(coins: Model, house: Houses) -> None:
    assert explore(coins, house(most=4), max_states=125).verdict == "holds"


def test_a_limit_of_steps_leaves_the_rest_unknown(coins: Model, house: Houses) -> None:
    result = explore(coins, house(most=4, wanted_sum=9), max_depth=3)
    assert (result.verdict, result.distinct, result.depth) == ("inconclusive", 20, 3)
    assert result.why == "the depth of 3 steps was reached with states left to expand"
    assert {judged.holds for judged in result.promises} == {None}
    assert explore(coins, house(most=4), max_depth=13).verdict == "holds"


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"max_states": 0}, {"max_depth": -1}])
def test_a_limit_that_makes_no_sense_is_refused(coins: Model, house: Houses, wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is .*; give "):
        explore(coins, house(), **wrong)  # type: ignore[arg-type]  # one of three integers


def test_the_memory_limit_ends_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    explore(two_phase_commit(7), Rules(), max_states=1)  # compiled before memory is counted
    little = explore(two_phase_commit(7), Rules(), memory_bytes=Memory().resident() + 4 * MIB)
    assert little.verdict == "inconclusive"
    assert little.why is not None
    assert re.match(
        r"the memory limit of [\d,]+ MiB is reached: [\d,]+ MiB are held and .* needs \d+ MiB more", little.why
    )
    assert 1 < little.distinct < 296_448
    enough = explore(two_phase_commit(7), Rules(), memory_bytes=Memory().resident() + 100 * MIB)
    assert (enough.verdict, enough.distinct) == ("holds", 296_448)


def test_without_room_for_one_state_nothing_is_reached() -> None:
    nothing = explore(two_phase_commit(7), Rules(), memory_bytes=1)
    assert (nothing.verdict, nothing.distinct) == ("inconclusive", 0)


def test_a_table_that_may_not_grow_stays_as_it_is() -> None:
    table = Table(Memory(1))
    before = table.slots
    with pytest.raises(OutOfMemory, match="fingerprints"):
        table.grow(lambda *_: None)
    assert table.slots is before


def test_a_system_that_gives_no_pages_ends_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    memory = Memory()
    monkeypatch.setattr("zombieproof.checker.engine.storage.mmap.mmap", refuse)
    with pytest.raises(OutOfMemory, match=r"the system refuses 3 MiB more: Cannot allocate memory"):
        memory.pages((3, MIB), "u1")


def test_a_level_that_cannot_be_numbered_ends_inconclusive() -> None:
    shelf = Shelf(Memory(), np.dtype("V8"), 1)
    units, prints = np.zeros((1, 2), np.int64), np.zeros(2, np.uint64)
    two = Part(2, np.zeros(4, np.uint8), units, prints, np.zeros(2, np.uint32), np.zeros(2, np.uint16))
    assert shelf.block((1 << 32) - 2, [two]).fill == 2
    with pytest.raises(OutOfMemory, match=r"more than 4,294,967,296 states"):
        shelf.block((1 << 32) - 1, [two])


def test_stop_leaves_what_was_found(coins: Model, house: Houses) -> None:
    stop = threading.Event()
    stop.set()
    result = explore(coins, house(most=7, wanted_sum=0), stop=stop)
    assert (result.verdict, result.why, result.interrupted) == ("inconclusive", "interrupted", True)
    assert result.distinct == 4
    assert result.witnesses == {"the_sum_is_reached": []}


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_between_batches_leaves_what_was_found(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zombieproof.checker.engine.explore._PROGRESS_SECONDS", 0.0)
    seen: list[Progress] = []

    def interrupt(now: Progress) -> None:
        seen.append(now)
        if now.depth > 3:
            raise KeyboardInterrupt

    result = explore(two_phase_commit(6), Rules(), progress=interrupt, workers=workers)
    assert (result.verdict, result.why, result.interrupted) == ("inconclusive", "interrupted", True)
    assert result.distinct == seen[-1].distinct > 1
    assert result.generated == seen[-1].generated > result.distinct
    assert 0 <= seen[-1].frontier < seen[-1].distinct


@pytest.mark.slow
def test_a_real_ctrl_c_is_noticed_within_moments(repository_root: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, cwd=repository_root
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "under way\n"
        process.send_signal(signal.SIGINT)
        try:
            rest, _ = process.communicate(timeout=5)
        finally:
            process.kill()
    verdict, why, interrupted, distinct, holds = rest.splitlines()[-1].split()
    assert (verdict, why, interrupted, holds) == ("inconclusive", "interrupted", "True", "None")
    assert 0 < int(distinct) < 10_340_352
