"""What is compiled in another process is in the cache when it is asked for; nobody is left behind."""

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from zombieproof.checker import warming
from zombieproof.checker.checking import check
from zombieproof.checker.engine import compiled
from zombieproof.checker.request import Request
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.warming import compile_all, compile_apart, compiling_beside, firsts_of

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


COMMIT = SCENARIOS["two_phase_commit"]


def apart(scenario: Scenario, request: Request | None = None, stop: threading.Event | None = None) -> float:
    return compile_apart(scenario.model(scenario.bounds), scenario, request or Request(), stop)


@pytest.mark.slow
@pytest.mark.parametrize(("no_cache", "code", "reduced"), [("", 0, ("--reduce", "symmetry")), ("1", 3, ())])
def test_what_compiling_holds_is_not_counted_where_memory_is_limited(
    no_cache: str, code: int, reduced: tuple[str, ...], tmp_path: Path
) -> None:
    """Where nothing is kept nothing can be compiled apart: then the memory is too little."""
    command = "check", "two_phase_commit", "--bounds", "n=6", "--memory", "150M", *reduced
    program = "import sys; from zombieproof.cli import main; sys.exit(main())"
    cache = {"ZOMBIEPROOF_CACHE_DIR": str(tmp_path), "ZOMBIEPROOF_NO_CACHE": no_cache}
    ran = subprocess.run(
        [sys.executable, "-c", program, *command], env=os.environ | cache, capture_output=True, text=True, check=False
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert len(list(tmp_path.glob("*/*.compiled"))) == (0 if no_cache else 2)


def test_only_where_memory_is_limited_a_process_is_begun(begun: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def noted(*all_of: object) -> float:
        asked.append(all_of)
        return 7.0

    monkeypatch.setattr("zombieproof.checker.checking.compile_apart", noted)
    stop = threading.Event()
    stop.set()
    monkeypatch.setenv("ZOMBIEPROOF_NO_CACHE", "1")
    assert check(COMMIT, stop=stop).result.compile_seconds < 7
    assert asked == []
    request = Request(memory_bytes=1 << 30)
    assert check(COMMIT, request, stop=stop).result.compile_seconds >= 7
    assert [each[1:] for each in asked] == [(COMMIT, request, stop)]


def test_nothing_is_compiled_apart_that_is_kept_unknown_or_cannot_be_kept(
    begun: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert apart(replace(COMMIT)) == 0  # another process does not know it
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "is_kept", lambda _: True)
        assert apart(COMMIT) == 0
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZOMBIEPROOF_CACHE_DIR", str(tmp_path / "file"))
    assert apart(COMMIT) == 0
    monkeypatch.setenv("ZOMBIEPROOF_NO_CACHE", "1")
    assert apart(COMMIT) == 0
    assert begun == []


def test_who_compiles_apart_is_ended_with_what_waits_for_it(begun: list[Any]) -> None:
    stop = threading.Event()
    stop.set()
    assert apart(COMMIT, stop=stop) < 5
    assert begun[0].poll() is not None


def test_what_fails_apart_is_told_by_who_asks_then(begun: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_APART", "import sys; sys.exit(3)")
    assert apart(COMMIT, Request(bounds=MappingProxyType({"n": 5}))) > 0
    assert begun[0].returncode == 3
