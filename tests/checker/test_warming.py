"""What is compiled beside is in the cache when it is asked for; nobody is left behind."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker import warming
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.warming import compile_all, compiling_beside, firsts_of

TWO = [SCENARIOS["two_phase_commit"], SCENARIOS["spark_naive_sink"]]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The processes that were begun, with an empty cache."""
    monkeypatch.delenv("ZOMBIEPROOF_NO_CACHE", raising=False)
    monkeypatch.setenv("ZOMBIEPROOF_CACHE_DIR", str(tmp_path))
    processes: list[Any] = []
    popen = subprocess.Popen

    def noting(*arguments: Any, **named: Any) -> Any:
        processes.append(popen(*arguments, **named))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", noting)
    return processes


def test_each_model_is_named_once_by_its_first_scenario() -> None:
    firsts = firsts_of(list(SCENARIOS.values()))
    assert firsts[0].name == "one_transaction"
    names = [each.model(each.bounds).name for each in firsts]
    assert len(set(names)) == len(names)
    assert set(names) == {each.model(each.bounds).name for each in SCENARIOS.values()}


def test_what_is_begun_is_ended(begun: list[Any]) -> None:
    with compiling_beside(TWO, 2):
        assert len(begun) == 1
        assert begun[0].poll() is None
    assert begun[0].poll() is not None


def test_nothing_is_begun_with_one_core_one_model_or_no_cache(
    begun: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with compiling_beside(TWO, 1), compiling_beside(TWO[:1], 2):
        pass
    monkeypatch.setenv("ZOMBIEPROOF_NO_CACHE", "1")
    with compiling_beside(TWO, 2):
        pass
    assert begun == []


@pytest.mark.slow
def test_what_was_compiled_is_kept(begun: list[Any], tmp_path: Path) -> None:
    command = [sys.executable, "-c", warming._PROGRAM, "two_phase_commit"]
    assert subprocess.run(command, check=False).returncode == 0
    assert list(tmp_path.glob("*/engine-*.compiled"))


def test_a_scenario_that_is_not_there_is_no_secret() -> None:
    with pytest.raises(KeyError):
        compile_all(["no_such_scenario"])
