"""A compiled model is kept and taken again, and never taken for another: whichever source changes, the model is new."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from zombieproof.checker.engine.cache import cache_folder
from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.lowering import Lowering
from zombieproof.checker.engine.model import Model

STEPS = '''
"""Counts up to what another module says."""

from dataclasses import dataclass, replace

from {package}.limits import Limit, TABLE, highest
from zombieproof.checker.engine.model import Model, Promise


@dataclass(slots=True)
class State:
    count: int = 0


@dataclass(slots=True)
class Nothing:
    unused: int = 0


def step(state, action, setup, trail):
    """Count."""
    if state.count >= highest() + Limit.MORE + TABLE[0]:
        return False
    state.count += 1
    return True


def counts(state):
    return state.count >= 0


MODEL = Model(
    name="steps",
    state=State,
    setup=Nothing,
    trail=Nothing,
    actions=1,
    step=step,
    describe=lambda state, action, setup: "",
    initial=lambda setup: State(),
    promises=(Promise("counts", "always", counts),),
)


def leap(state, action, setup, trail):
    """Count by two."""
    if state.count >= 2 * highest():
        return False
    state.count += 2
    return True


LEAPS = replace(MODEL, step=leap)
'''
LIMITS = '''
"""How far to count."""

from enum import IntEnum

TABLE = (0, 1)


class Limit(IntEnum):
    MORE = 1


def highest():
    """Say how far."""
    return 3
'''
RUN = """
import sys, time
from zombieproof.checker.engine import lowering
if "one-key" in sys.argv:
    lowering.Lowering.source_hash = lambda self, *others: "the-same-for-all"
from {package} import steps
from zombieproof.checker.engine.explore import explore
from numba.core import compiler
compiled = []
compile_extra = compiler.CompilerBase.compile_extra
compiler.CompilerBase.compile_extra = lambda self, func: (compiled.append(func), compile_extra(self, func))[1]
for name in sys.argv[1].split("+"):
    print(explore(getattr(steps, name), steps.Nothing()).distinct, end=" ")
print(len(compiled) > 0)
"""


def write(folder: Path, package: str, limits: str = LIMITS, steps: str = STEPS) -> None:
    (folder / package).mkdir(exist_ok=True)
    (folder / package / "__init__.py").write_text("")
    (folder / package / "steps.py").write_text(steps.replace("{package}", package))
    (folder / package / "limits.py").write_text(limits)


def run(folder: Path, root: Path, models: str = "MODEL", *arguments: str) -> tuple[int | bool, ...]:
    """Explore models of `folder` in a process of their own; return their states, and whether anything was compiled."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{folder}{os.pathsep}{root}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ZOMBIEPROOF_CACHE_DIR": str(folder / "cache"),
        "ZOMBIEPROOF_NO_CACHE": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("{package}", "counting"), models, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    *distinct, was_compiled = done.stdout.split()
    return *map(int, distinct), was_compiled == "True"


@pytest.mark.slow
def test_an_edit_in_another_file_is_noticed(tmp_path: Path, repository_root: Path) -> None:
    write(tmp_path, "counting")
    assert run(tmp_path, repository_root) == (5, True)
    assert run(tmp_path, repository_root) == (5, False)
    write(tmp_path, "counting", LIMITS.replace("return 3", "return 7"))
    assert run(tmp_path, repository_root) == (9, True)
    write(tmp_path, "counting")
    assert run(tmp_path, repository_root) == (5, False)


@pytest.mark.slow
def test_without_the_hash_in_the_folder_name_yesterdays_model_would_run(tmp_path: Path, repository_root: Path) -> None:
    write(tmp_path, "counting")
    assert run(tmp_path, repository_root, "MODEL", "one-key") == (5, True)
    write(tmp_path, "counting", LIMITS.replace("return 3", "return 7"))
    assert run(tmp_path, repository_root, "MODEL", "one-key") == (5, False)


@pytest.mark.slow
def test_models_that_were_kept_by_different_processes_do_not_get_mixed_up(
    tmp_path: Path, repository_root: Path
) -> None:
    write(tmp_path, "counting")
    assert run(tmp_path, repository_root, "MODEL") == (5, True)
    assert run(tmp_path, repository_root, "LEAPS") == (4, True)
    assert run(tmp_path, repository_root, "MODEL+LEAPS") == (5, 4, False)
    assert run(tmp_path, repository_root, "LEAPS+MODEL") == (4, 5, False)


@pytest.mark.slow
def test_what_is_kept_is_explored_without_what_compiles_it(tmp_path: Path, repository_root: Path) -> None:
    """Importing Numba takes a third of the time of a short exploration."""
    program = """
import sys
from counting import steps
from zombieproof.checker.engine.explore import explore
print(explore(steps.MODEL, steps.Nothing()).distinct, "numba" in sys.modules)
"""
    write(tmp_path, "counting")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{repository_root}",
        "ZOMBIEPROOF_CACHE_DIR": str(tmp_path / "cache"),
        "ZOMBIEPROOF_NO_CACHE": "",
    }
    for is_loaded in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"5 {is_loaded}\n"


@pytest.mark.parametrize("module", ["search", "spilling", "recording", "fairness", "walking"])
def test_no_way_to_explore_loads_what_compiles(module: str) -> None:
    engine = "zombieproof.checker.engine"
    program = f"import sys, {engine}.explore, {engine}.{module}; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


EDITS: list[tuple[str, str, bool]] = [
    ("return 3", "return 4", True),
    ("MORE = 1", "MORE = 2", True),
    ("TABLE = (0, 1)", "TABLE = (0, 2)", True),
    ("return 3", "return 3 + 0", True),
    ("Say how far.", "Tell how far.", False),
    ("def highest", "# A remark.\ndef highest", False),
]


@pytest.mark.parametrize(("old", "new", "differs"), EDITS, ids=lambda value: str(value).strip())
def test_the_hash_changes_with_what_is_compiled_and_with_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, differs: bool
) -> None:
    # A source that is edited twice in a second, to the same length, is not read anew where Python keeps what it made.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, "edited")
    before = key_of("edited")
    assert LIMITS.replace(old, new) != LIMITS
    write(tmp_path, "edited", LIMITS.replace(old, new))
    assert (key_of("edited") != before) is differs


def key_of(package: str) -> str:
    """Import the package anew and return the hash of its step and all that it calls."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
    importlib.invalidate_caches()
    lowering = Lowering()
    lowering.read(importlib.import_module(f"{package}.steps").step)
    return lowering.source_hash()


def test_a_model_with_other_sizes_has_another_key(coins: Model, variant: Callable[..., Model]) -> None:
    wide = variant(sizes={(coins.state, "overflow"): "i2"})
    assert compiled(wide).key != compiled(coins).key
    assert compiled(variant()).key == compiled(coins).key


def test_a_model_that_is_used_again_is_not_lowered_again(coins: Model) -> None:
    assert compiled(coins) is compiled(coins)


def test_the_folder_is_chosen_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ZOMBIEPROOF_NO_CACHE", "ZOMBIEPROOF_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache_folder() == tmp_path / ".cache" / "zombieproof"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "zombieproof"
    monkeypatch.setenv("ZOMBIEPROOF_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.setenv("ZOMBIEPROOF_NO_CACHE", "1")
    assert cache_folder() is None
