"""Private parts of Numba, llvmlite and Python are used where they are as expected; elsewhere the public interface."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from zombieproof.checker.engine import cache, public
from zombieproof.checker.engine import compiled as engines
from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.internals import expected, trial
from zombieproof.checker.engine.internals.expected import Versions
from zombieproof.checker.engine.sources import LoweringError
from zombieproof.checker.scenarios import SCENARIOS

PROGRAM = "import sys; from zombieproof.cli import main; sys.exit(main())"


@pytest.fixture
def asked_again() -> Iterator[None]:
    """The decision is made anew, and forgotten afterwards."""
    expected.fault.cache_clear()
    yield
    expected.fault.cache_clear()


@pytest.fixture
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_engines", {})
    monkeypatch.setattr(engines, "_entries", {})


def says(value: str | bool | None) -> Any:
    """What takes the place of `expected.fault`."""
    return lambda: value


# ---------------------------------------------------------------- what is tested


@pytest.mark.parametrize(
    ("version", "has"),
    [
        ("0.62.0", True),
        ("0.65.1", True),
        ("0.68", True),
        ("0.61.2", False),
        ("0.69.0", False),
        ("1.0.0", False),
        ("0.68rc1", False),
        ("unknown", False),
        ("", False),
    ],
)
def test_both_ends_of_a_range_are_tested(version: str, has: bool) -> None:
    assert Versions((0, 62), (0, 68)).has(version) is has


def test_what_is_installed_here_is_tested() -> None:
    assert expected.is_tested(), "raise TESTED in internals/expected.py once `make oldest test pythons` pass"


def test_the_classifiers_name_each_python_that_is_tested(repository_root: Path) -> None:
    project = tomllib.loads((repository_root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    minors = [int(each.removeprefix(prefix)) for each in project["classifiers"] if each.startswith(prefix)]
    first, last = expected.TESTED["Python"].first, expected.TESTED["Python"].last
    assert minors == list(range(first[1], last[1] + 1))
    assert project["requires-python"] == f">=3.{first[1]}"


@pytest.mark.parametrize("what", expected.TESTED)
def test_a_newer_version_of_anything_is_not(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    installed = {name: f"{each.last[0]}.{each.last[1]}.0" for name, each in expected.TESTED.items()}
    monkeypatch.setattr(expected, "_installed", lambda: installed)
    assert expected.is_tested()
    major, minor = expected.TESTED[what].last
    installed[what] = f"{major}.{minor + 1}.0"
    assert not expected.is_tested()


# ---------------------------------------------------------------- what is not is tried once


@pytest.mark.usefixtures("asked_again")
@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("pass", None),
        ("import os; os.abort()", "failed: exit code -6"),
        ("raise TypeError('make_tuple() takes 3 arguments')", "failed: TypeError: make_tuple() takes 3 arguments"),
    ],
)
def test_what_is_not_tested_is_tried_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, why: str | None
) -> None:
    monkeypatch.setenv("ZOMBIEPROOF_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ZOMBIEPROOF_NO_CACHE", raising=False)
    monkeypatch.setattr(expected, "is_tested", lambda: False)
    monkeypatch.setattr(expected, "_TRIAL", program)
    found = expected.fault()
    assert found is None if why is None else str(found).endswith(why)
    monkeypatch.setattr(expected, "_TRIAL", "raise AssertionError('it is tried again')")
    expected.fault.cache_clear()
    assert expected.fault() == found


@pytest.mark.usefixtures("asked_again")
def test_a_trial_that_does_not_end_is_no_outcome(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZOMBIEPROOF_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(expected, "is_tested", lambda: False)
    monkeypatch.setattr(expected, "_SECONDS", 0.2)
    monkeypatch.setattr(expected, "_TRIAL", "import time; time.sleep(60)")
    assert "did not finish within" in str(expected.fault())
    assert not list(tmp_path.rglob("*")), "a slow machine says nothing of Numba"


def test_the_trial_passes_here() -> None:
    trial.run()


def test_the_trial_notices_a_count_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "interpreted", lambda model, setup: (17, 3))
    with pytest.raises(trial.TrialFailed, match="17 states interpreted"):
        trial.run()


# ---------------------------------------------------------------- the public interface


@pytest.mark.slow
@pytest.mark.long("False")
@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize("by_address", [True, False])
def test_the_public_interface_finds_the_same(monkeypatch: pytest.MonkeyPatch, by_address: bool) -> None:
    monkeypatch.setattr(expected, "fault", says("a test wants it"))
    monkeypatch.setattr(public, "calls_by_address", says(by_address))
    engine = compiled(trial.trial_model())
    assert isinstance(engine.call, public.EntryPoint)
    trial.run()  # counts, the length of a story, an index outside its array


def one_more(number: int) -> int:
    return number + 1


def two_more(number: int) -> int:
    return called(called(number))  # type: ignore[name-defined,no-any-return]  # noqa: F821  # see the test


@pytest.mark.parametrize("by_address", [True, False])
def test_a_function_is_compiled_once_and_called_by_its_address(
    monkeypatch: pytest.MonkeyPatch, by_address: bool
) -> None:
    monkeypatch.setattr(public, "calls_by_address", says(by_address))
    scope = {"__name__": __name__, "called": public.part(one_more, checked=True)}
    caller = public.entry(FunctionType(two_more.__code__, scope))
    assert caller(3) == 5
    assert ("one_more" in caller.inspect_llvm(caller.signatures[0])) is not by_address


def test_functions_are_called_by_address_here() -> None:
    assert public.calls_by_address.__wrapped__()


@pytest.mark.parametrize("raised", [AttributeError("no library"), KeyError("Unrecognized options")])
def test_where_that_fails_functions_are_linked(monkeypatch: pytest.MonkeyPatch, raised: Exception) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(public, "_by_address", refuse)
    assert not public.calls_by_address.__wrapped__()


def test_where_a_wrong_index_goes_unnoticed_functions_are_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    by_address = public._by_address
    monkeypatch.setattr(public, "_by_address", lambda function, *, checked: by_address(function, checked=False))
    assert not public.calls_by_address.__wrapped__()


@pytest.mark.usefixtures("nothing_compiled")
def test_what_cannot_be_compiled_is_told_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "fault", says("a test wants it"))

    def explain(*_: object) -> str:
        return "explained"

    monkeypatch.setattr("zombieproof.checker.engine.binding._explained", explain)
    monkeypatch.setattr("zombieproof.checker.engine.binding._entry_point", lambda *_: undefined)
    with pytest.raises(LoweringError, match="explained"):
        compiled(trial.trial_model()).call(1)


def undefined(number: int) -> int:
    return number + missing  # type: ignore[name-defined,no-any-return]  # noqa: F821  # that is what is tested


COMPILED = {scenario.model(scenario.bounds).name for scenario in SCENARIOS.values()}


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(COMPILED))
def test_default_scenarios_have_equal_counts_on_the_public_interface(repository_root: Path, model: str) -> None:
    wanted = {
        scenario.name: scenario.distinct
        for scenario in SCENARIOS.values()
        if scenario.model(scenario.bounds).name == model
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "check", *wanted, "--json"],
        cwd=repository_root,
        env={**os.environ, "ZOMBIEPROOF_PUBLIC_NUMBA": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {each["name"]: each["distinct"] for each in json.loads(done.stdout)["scenarios"]} == wanted
    assert done.stderr.count("\n") == 1
    assert "the engine uses Numba's public interface because ZOMBIEPROOF_PUBLIC_NUMBA is set" in done.stderr


def test_nothing_is_kept_or_compiled_beside_on_the_public_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engines.is_keeping() == cache.is_on()
    monkeypatch.setattr(expected, "fault", says("a test wants it"))
    assert not engines.is_keeping()


def test_it_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "fault", says("a test wants it"))
    monkeypatch.setattr(expected._Warned, "is_warned", False)
    assert "because a test wants it" in str(expected.take_warning())
    assert expected.take_warning() is None


# ---------------------------------------------------------------- one folder


PRIVATE = ("numba.core.compiler", "numba.core.codegen", "numba.core.typed_passes", "numba.core.lowering", "callconv")


def test_private_parts_are_used_in_one_folder_only(repository_root: Path) -> None:
    package = repository_root / "zombieproof"
    folder = package / "checker/engine/internals"
    words = (*PRIVATE, "co_code", "co_stacksize", "co_linetable", "_getframe", "numba.core.typing", "numba.core.cpu")
    found = {
        file: [word for word in words if word in file.read_text(encoding="utf-8")] for file in package.rglob("*.py")
    }
    # It compares bytecode as a whole, of the same Python, and reads nothing in it.
    assert found.pop(package / "pipeline/spark/functions.py") == ["co_code"]
    assert {file.parent for file, used in found.items() if used} == {folder}
