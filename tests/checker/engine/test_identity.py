"""What a model is without lowering it: whatever would be lowered is looked at, and the smallest change is noticed."""

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from zombieproof.checker.engine import cache
from zombieproof.checker.engine import compiled as engines
from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.internals.identity import Found, identity
from zombieproof.checker.engine.internals.native import Code
from zombieproof.checker.engine.lowering import Lowering
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.sources import plain_function
from zombieproof.checker.scenarios import SCENARIOS

KEY = "ab" * 32
MODELS = {scenario.model(scenario.bounds).name: scenario.model(scenario.bounds) for scenario in SCENARIOS.values()}
SAID = """
from zombieproof.checker.engine.internals.identity import identity
from zombieproof.checker.transactions.model import TRANSACTIONS
def is_vowel(letter): return letter in {"a", "e", "i", "o", "u"}
print(identity(TRANSACTIONS.functions), identity([is_vowel]))
"""
STEPS = '''
"""Counts up to what another module says."""

from {package} import limits
from {package}.limits import FAR, WAYS, Limit, Verdict, highest


def step(state: int, more: int = 1) -> bool:
    """Count."""
    verdict = Verdict(state)
    if WAYS[0] == 7 and state in (Limit.MORE, limits.MOST):
        return FAR.is_far
    return verdict.value >= highest() + more
'''
LIMITS = '''
"""How far to count."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

WAYS = (0, 1)
MOST = 9


class Limit(IntEnum):
    MORE = 1


class Verdict(NamedTuple):
    value: int
    row: int = 0


@dataclass(frozen=True)
class Place:
    far: int

    @property
    def is_far(self) -> bool:
        return self.far > 1


FAR = Place(2)


def highest() -> int:
    """Say how far."""
    return deeper(3)


def deeper(by: int) -> int:
    return by
'''


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module with a step, in a package of its own."""
    package = f"identified_{tmp_path.name}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / package / "steps.py").write_text(STEPS.replace("{package}", package))
    (tmp_path / package / "limits.py").write_text(LIMITS)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield importlib.import_module(f"{package}.steps")
    for name in [name for name in sys.modules if name.startswith(package)]:
        del sys.modules[name]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_everything_that_is_lowered_is_looked_at(model: Model) -> None:
    lowering, found = Lowering(), Found()
    for function in model.functions:
        lowering.read(function)
        found.follow(plain_function(function))
    assert len(list(found.said())) == len(found.functions)
    assert lowering.lowered.keys() <= found.functions.keys()
    assert {Path(each.filename).name for each in lowering.lowered.values()} <= {Path(f).name for f in found.files}


def other_limit(limits: ModuleType) -> Any:
    return IntEnum("Limit", {"MORE": 2}, module=limits.__name__, qualname="Limit")


CHANGES: dict[str, Callable[[ModuleType, ModuleType], None]] = {
    "a constant": lambda steps, limits: setattr(limits, "MOST", 10),
    "a table": lambda steps, limits: setattr(steps, "WAYS", (0, 2)),
    "an enum": lambda steps, limits: setattr(steps, "Limit", other_limit(limits)),
    "an enum that not all know as another": lambda steps, limits: setattr(limits, "Limit", other_limit(limits)),
    "an object": lambda steps, limits: setattr(steps, "FAR", limits.Place(3)),
    "a default": lambda steps, limits: setattr(steps.step, "__defaults__", (2,)),
    "an annotation": lambda steps, limits: steps.step.__annotations__.update(more=bool),
    "a default of a tuple": lambda steps, limits: setattr(limits.Verdict, "_field_defaults", {"row": 1}),
    "a function": lambda steps, limits: setattr(steps, "highest", limits.deeper),
    "a function two calls away": lambda steps, limits: setattr(limits, "deeper", lambda by: by + 1),
    "a property": lambda steps, limits: setattr(limits.Place, "is_far", property(lambda self: False)),
    "the code of a function": lambda steps, limits: setattr(
        limits.deeper, "__code__", limits.deeper.__code__.replace(co_consts=(None, 5))
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_changed_in_memory_is_another_model(
    steps: ModuleType, change: Callable[[ModuleType, ModuleType], None]
) -> None:
    before = identity([steps.step])
    assert before == identity([steps.step])
    change(steps, sys.modules[steps.__name__.replace("steps", "limits")])
    assert identity([steps.step]) not in (before, None)


def test_a_file_that_changes_is_another_model(steps: ModuleType) -> None:
    before = identity([steps.step])
    file = Path(str(steps.__file__)).with_name("limits.py")
    file.write_text(file.read_text().replace("Say how far", "Tell how far"))
    assert identity([steps.step]) not in (before, None)


def test_what_is_compiled_with_it_counts(steps: ModuleType) -> None:
    assert identity([steps.step], 1) != identity([steps.step], 2)


def test_what_cannot_be_told_apart_has_no_identity(steps: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "FAR", object())
    assert identity([steps.step]) is None


def test_it_is_the_same_in_every_process(repository_root: Path) -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SAID],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(repository_root), "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert [len(one) for one in said.pop().split()] == [64, 64]


# ---------------------------------------------------------------- notes


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.delenv("ZOMBIEPROOF_NO_CACHE", raising=False)
    monkeypatch.setenv("ZOMBIEPROOF_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_hash_is_found_under_the_identity_that_it_was_noted_for(kept: Path) -> None:
    assert cache.key_of("one") is None
    cache.note_key("one", KEY)
    assert cache.key_of("one") is None, "nothing was compiled for it"
    (kept / KEY).mkdir()
    assert cache.key_of("one") == KEY
    assert cache.key_of("other") is None


def test_a_note_that_is_damaged_or_anothers_counts_as_none(kept: Path) -> None:
    (kept / KEY).mkdir()
    cache.note_key("one", KEY)
    note = kept / "names" / "one"
    whole = note.read_bytes()
    (kept / "names" / "other").write_bytes(whole)
    assert cache.key_of("other") is None
    for cut in range(len(whole)):
        note.write_bytes(whole[:cut])
        assert cache.key_of("one") is None
        note.write_bytes(whole[:cut] + bytes([whole[cut] ^ 1]) + whole[cut + 1 :])
        assert cache.key_of("one") is None
    note.write_bytes(b"\xff\xfe")
    assert cache.key_of("one") is None


def test_notes_do_not_pile_up(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_KEPT_NAMES", 10)
    for number in range(30):
        cache.note_key(f"{number}", KEY)
    assert len(list((kept / "names").iterdir())) == 11


def test_what_was_not_used_for_longest_goes_when_there_is_no_more_room(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that is counted in bytes: a large model is not pushed out by small ones. Who only takes removes nothing."""

    def keep(key: str) -> None:
        folder = cache.folder_of(key)
        assert folder
        cache.Kept(folder, "one").keep((), Code("one", gives=True, needs=(), content=b"", spreading=b""))

    monkeypatch.setattr(cache, "_KEPT_BYTES", 5000)
    for age, (key, size) in enumerate({"a": 3000, "b": 100, "c": 4000, "d": 0}.items()):
        (kept / (key * 64)).mkdir()
        (kept / (key * 64) / "code").write_bytes(bytes(size))
        os.utime(kept / (key * 64), (1000 - age, 1000 - age))
    assert cache.folder_of("a" * 64)
    assert {one.name[0] for one in kept.iterdir()} == set("abcd")
    for number in range(9):
        keep(f"{number}" * 64)
    assert {one.name[0] for one in kept.iterdir()} == {"a", "b", *"012345678"}
    monkeypatch.setattr(cache, "_KEPT_FOLDERS", 10)
    keep("b" * 64)
    assert {one.name[0] for one in kept.iterdir()} == {"b", *"012345678"}


def test_a_model_that_is_noted_is_not_lowered(
    kept: Path, variant: Callable[..., Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_entries", {})  # another test may have compiled it into another cache
    first = compiled(variant())
    lowered: list[object] = []
    monkeypatch.setattr(Lowering, "read", lambda self, function: lowered.append(function))
    assert compiled(variant()).key == first.key
    assert not lowered


ENGINE = Path(engines.__file__).parent
WHETHER_AND_WHERE = {"cache", "internals/expected"}
"""They decide whether something is compiled and where it is kept, not what it is."""


def imported(file: Path) -> set[str]:
    """The modules beside a module that it imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            head, _, name = node.module.partition("zombieproof.checker.engine")
            if not head and node.module.startswith("zombieproof.checker.engine"):
                found |= {name[1:], *(f"{name[1:]}.{alias.name}".lstrip(".") for alias in node.names)}
    names = {name.replace(".", "/") for name in found}
    return {name for name in names if (ENGINE / f"{name}.py").is_file()} - WHETHER_AND_WHERE


def test_whatever_takes_part_in_compiling_a_model_is_in_the_name_of_what_is_kept() -> None:
    reached, left = {"compiled"}, ["binding"]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += imported(ENGINE / f"{name}.py")
    assert {"rewriting", "folding", "kernels"} < reached
    assert reached == set(engines._SOURCES)
