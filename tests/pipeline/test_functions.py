"""Digests of Python functions: what counts as another function, and what does not."""

import array
import collections
import datetime as dt
import decimal
import enum
import fractions
import functools
import importlib
import ipaddress
import math
import operator
import os
import re
import string
import subprocess
import sys
import threading
import uuid
import weakref
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from zombieproof.pipeline.spark.functions import UntoldFunction, digest_of

HELPED = """
import argparse
FACTOR = 2
OTHER = []
RATES = {"eur": 1.5, "usd": {"old": 7}}
KNOWN = {"a", ("b", 2)}
options = argparse.Namespace(limit=10)

def helper(x):
    return x + 1

class Base:
    LEAST = 5
    def inherited(self, x): return x // 3

class Scale(Base):
    __slots__ = ("k",)
    def __init__(self, k): self.k = k
    def __call__(self, x): return x * self.k
    @staticmethod
    def half(x): return x / 2

class Plain:
    def __init__(self): self.text = "p"
    def shown(self, x): return f"{self.text}: {x}"

scale = Scale(3)
plain = Plain()

def f(x, y=1):
    '''A text.'''
    OTHER.append(x)
    plain.shown(x)
    scale.inherited(RATES["eur"] * options.limit * (x in KNOWN) * Base.LEAST)
    return [helper(x) * FACTOR, scale(x), Scale.half(x), len({each for each in (x, y)}), x in {"a", "b", "c"}]
"""


def defined(text: str, name: str = "f") -> Any:
    """A function of a program that is run from its text, as ``__main__`` is."""
    made: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, "/somewhere/program.py", "exec"), made)
    return made[name]


BASE = digest_of(defined(HELPED))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y=1", "y=2"),
        ("FACTOR = 2", "FACTOR = 3"),
        ("return x + 1", "return x + 2"),
        ("return x * self.k", "return x + self.k"),
        ("return x / 2", "return x / 4"),
        ("(x, y)}", "(y, x)}"),
        ('"b", "c"}', '"b", "d"}'),
        ("scale(x)", "helper(x)"),
        ("OTHER = []", "OTHER = ()"),
        ("OTHER = []", "OTHER = [1, 2]"),
        ("Scale(3)", "Scale(4)"),
        ('"eur": 1.5', '"eur": 1.6'),
        ('{"old": 7}', '{"old": 8}'),
        ('{"eur": 1.5, "usd": {"old": 7}}', '{"usd": {"old": 7}, "eur": 1.5}'),
        ('("b", 2)}', '("b", 3)}'),
        ("limit=10", "limit=11"),
        ("LEAST = 5", "LEAST = 6"),
        ("x // 3", "x // 4"),
        ('self.text = "p"', 'self.text = "q"'),
        ("{self.text}:", "{self.text};"),
    ],
)
def test_other_code_constants_and_helpers_are_another_function(old: str, new: str) -> None:
    assert HELPED.count(old) == 1
    assert digest_of(defined(HELPED.replace(old, new))) != BASE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 2", "# a comment\n\nFACTOR = 2"),
        ('{"a", ("b", 2)}', '{("b", 2), "a"}'),
        ("scale = Scale", "unused = object()\nscale = Scale"),
    ],
)
def test_lines_orders_of_sets_and_unused_objects_are_not(old: str, new: str) -> None:
    assert digest_of(defined(HELPED.replace(old, new))) == BASE


def scaled(factor: int) -> Callable[[int], int]:
    return lambda x: x * factor


def held(value: Any) -> Any:
    return value


def wrapped(function: Callable[[int], int]) -> Callable[[int], int]:
    @functools.wraps(function)
    def inner(x: int) -> int:
        return function(x)

    return inner


def test_variables_of_enclosing_functions_and_wrapped_functions_count() -> None:
    assert digest_of(scaled(2)) == digest_of(scaled(2)) != digest_of(scaled(3))
    assert digest_of(wrapped(scaled(2))) == digest_of(wrapped(scaled(2))) != digest_of(wrapped(scaled(3)))
    assert digest_of(functools.partial(pow, 2)) != digest_of(functools.partial(pow, 3))
    assert digest_of(functools.partial(scaled, factor=2)) != digest_of(functools.partial(scaled, factor=3))


def dispatched(function: Callable[[int], int]) -> Any:
    @functools.singledispatch
    def by_type(x: Any) -> Any:
        return x

    by_type.register(int, function)
    return by_type


class Colour(enum.Enum):
    RED = 1
    BLUE = object()


@pytest.mark.parametrize(
    "values",
    [
        (dt.date(2024, 1, 1), dt.date(2025, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
        (dt.timedelta(1), dt.timedelta(2), dt.UTC, zoneinfo.ZoneInfo("UTC")),
        (decimal.Decimal(1), decimal.Decimal(2), fractions.Fraction(1, 2), range(3), range(4), 0, 0.0, False),
        (uuid.UUID(int=1), uuid.UUID(int=2), Path("/a"), Path("/b"), Colour.RED, Colour.BLUE),
        (math.sin, math.cos, "-".join, "+".join, operator.itemgetter(1), operator.itemgetter(2)),
        (functools.cache(scaled(2)), functools.cache(scaled(3)), functools.lru_cache(scaled(4))),
        (str.upper, str.lower, "a".__eq__, "b".__eq__, int | str, int | bytes),
        (ipaddress.ip_address("::1"), ipaddress.ip_address("::2"), ipaddress.ip_address("127.0.0.1")),
        (bytearray(b"a"), bytearray(b"b"), array.array("i", [1]), array.array("i", [2]), array.array("l", [1])),
        (string.Template("$a"), string.Template("$b"), functools.partialmethod(scaled, 2)),
        (functools.cached_property(scaled(2)), functools.cached_property(scaled(3))),
        (dispatched(scaled(2)), dispatched(scaled(3))),
        (SimpleNamespace(a=1), SimpleNamespace(a=2), collections.Counter("a"), collections.Counter("b")),
    ],
)
def test_values_that_never_change_count(values: tuple[Any, ...]) -> None:
    def made(value: Any) -> Callable[[int], Any]:
        return lambda x: (x, value)

    assert len({digest_of(made(value)) for value in values}) == len(values)
    assert [digest_of(made(value)) for value in values] == [digest_of(made(value)) for value in values]


OBJECTS = """
import abc, collections, dataclasses, enum, functools, threading
from typing import NamedTuple, Optional

def other(x): return x

class Rule(NamedTuple):
    rate: float = 1.0
    def apply(self, x): return x * 2

class Rate(enum.Enum):
    LOW = 1
    def of(self, x): return x + 3

class Table(dict):
    def __missing__(self, key): return key + 4

class Rules(list): pass
class Text(str):
    def go(self): return self + "5"

@dataclasses.dataclass(eq=False)
class Job:
    name: Optional[str] = "j"
    sizes: list = dataclasses.field(default_factory=lambda: [6], metadata={"unit": "km"})

class Meta(abc.ABCMeta):
    def __call__(cls, *given): return super().__call__(*given, 7)

class Made(metaclass=Meta):
    def __init__(self, *given): self.given = given
    def __hash__(self): return 1
    rate = property(lambda self: 1, lambda self, to: 8)

class Wrapper:
    def __init__(self, function, times):
        functools.update_wrapper(self, function)
        self.times = times
    def __call__(self, x): return x
    def __reduce__(self): return restored, (self.times,)

def restored(times): return Wrapper(other, times + 9)

rule, rate, table, rules, text, job = Rule(), Rate.LOW, Table(), Rules(), Text(), Job()
rules.least = 10
chosen = collections.defaultdict(lambda: 11)
ordered = collections.OrderedDict([("a", 12), ("b", 13)])
recent = collections.deque([1], maxlen=14)
objects = {Job("k"), Job("l"), Made(15)}
wrapper = Wrapper(other, 16)
fixed = functools.partial(other, x=17)
lock = threading.Lock()

def f(x, *, y=18):
    try:
        other.limit(x)
    except ValueError:
        return lock
    return rule.apply(x), rate.of, table[x], rules, text.go, job, chosen, ordered, recent, objects, wrapper, fixed, Made

f.limit = 19
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *((f"{number}", f"{number}0") for number in range(2, 20)),
        ("LOW = 1", "LOW = 100"),
        ('"km"', '"m"'),
        ('"j"', '"i"'),
        ('[("a", 12), ("b", 13)]', '[("b", 13), ("a", 12)]'),
        ('Job("l")', 'Job("m")'),
        ("recent = collections.deque([1], maxlen=14)", "recent = collections.deque([1])"),
        ("ValueError", "KeyError"),
        ("    try:\n        other.limit(x)", "    other.limit(x)\n    try:\n        pass"),
        ("def f(x, *, y=18)", "def f(x, y=18)"),
        ("class Table(dict)", "class Table(collections.UserDict)"),
    ],
)
def test_what_is_in_objects_and_their_classes_counts(old: str, new: str) -> None:
    found = re.findall(rf"(?<!\d){re.escape(old)}(?!\d)", OBJECTS)
    assert len(found) == 1
    changed = re.sub(rf"(?<!\d){re.escape(old)}(?!\d)", new.replace("\\", r"\\"), OBJECTS)
    assert digest_of(defined(OBJECTS)) == digest_of(defined(OBJECTS)) != digest_of(defined(changed))


def test_objects_of_libraries_count_by_their_contents() -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    made: list[Callable[[], Any]] = [
        lambda: numpy.array([1, 2]),
        lambda: numpy.array([1, 3]),
        lambda: numpy.array([1, 2], dtype="f4"),
        lambda: numpy.array([{"a": 1}], dtype=object),
        lambda: numpy.array([{"a": 2}], dtype=object),
        lambda: numpy.float64(1),
        lambda: numpy.float64(2),
        lambda: pandas.DataFrame({"a": [1], "b": ["x"]}),
        lambda: pandas.DataFrame({"a": [2], "b": ["x"]}),
        lambda: pandas.DataFrame({"a": [1], "c": ["x"]}),
        lambda: pandas.Series([1], index=["a"]),
        lambda: pandas.Series([1], index=["b"]),
        lambda: pandas.Timestamp("2026-01-01"),
        lambda: pandas.Timestamp("2026-01-02"),
    ]
    digests = [[digest_of(functools.partial(held, each())) for each in made] for _ in range(2)]
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == len(made)


def test_modules_that_an_enclosing_function_imports_count() -> None:
    def made(rate: int) -> Any:
        module = ModuleType("program.rates")
        vars(module)["RATE"] = rate
        function = defined("def outer(rates):\n    return lambda x: x * rates.RATE\n", "outer")(module)
        function.__module__ = "program"
        return function

    assert digest_of(made(1)) == digest_of(made(1)) != digest_of(made(2))


def holding_itself() -> Any:
    known: set[Any] = set()
    known.add(functools.partial(held, known))
    return known


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ((each for each in "a"), r"an object of builtins\.generator"),
        (memoryview(b"a"), r"an object of builtins\.memoryview"),
        (weakref.ref(scaled), r"an object of weakref\.ReferenceType"),
        ([threading.local()], r"an object of _thread\._local"),
        (holding_itself(), "sets are nested too deep in it, or hold themselves"),
    ],
)
def test_what_cannot_be_told_apart_is_an_error(value: Any, says: str) -> None:
    with pytest.raises(UntoldFunction, match=says):
        digest_of(lambda x: (x, value))


def test_deep_values_count_to_their_end() -> None:
    def deep(last: int) -> list[Any]:
        value: list[Any] = [last]
        for _ in range(5000):
            value = [value]
        return value

    assert digest_of(functools.partial(held, deep(1))) != digest_of(functools.partial(held, deep(2)))


def test_collections_that_hold_themselves_are_read_once() -> None:
    text = "KNOWN = {}\nKEPT = [KNOWN]\ndef f(x): return KNOWN[x](KEPT)\nKNOWN['f'] = f\nKNOWN['kept'] = KEPT + [%d]"
    assert digest_of(defined(text % 1)) == digest_of(defined(text % 1)) != digest_of(defined(text % 2))


def test_modules_of_the_same_package_count_by_what_is_used_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(rate: int, unused: int) -> str:
        package = tmp_path / f"package_{rate}_{unused}" / "rated"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "config.py").write_text(f"from rated import jobs\nNONE = 0\nRATE = {rate}\nUNUSED = {unused}\n")
        (package / "jobs.py").write_text(
            "from rated import config\n"
            "def f(x): return (config.NONE, g(x))\n"
            "def g(x): return config.jobs.f(x * config.RATE)\n"
        )
        for name in [each for each in sys.modules if each.partition(".")[0] == "rated"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.syspath_prepend(package.parent)
        return digest_of(importlib.import_module("rated.jobs").f)

    assert digest(1, 1) == digest(1, 2) != digest(2, 1)


def test_functions_that_call_themselves_or_each_other_are_read_once() -> None:
    text = "def f(x): return g(x)\ndef g(x): return f(x - {}) if x else f"
    assert digest_of(defined(text.format(1))) == digest_of(defined(text.format(1)))
    assert digest_of(defined(text.format(1))) != digest_of(defined(text.format(2)))


def test_a_restart_from_another_folder_gives_the_same_digest(tmp_path: Path) -> None:
    """Hashes of texts differ between processes, and file names between folders."""
    found = set()
    for folder, seed in (("a", "1"), ("b", "2")):
        program = tmp_path / folder / "program.py"
        program.parent.mkdir()
        last = "from zombieproof.pipeline.spark.functions import digest_of\nprint(digest_of(f))\n"
        program.write_text(
            f"{HELPED}\n{OBJECTS.replace('def f(', 'def g(').replace('f.limit', 'other.limit')}\nf.g = g\n{last}"
        )
        run = subprocess.run(
            [sys.executable, program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        found.add(run.stdout)
    assert len(found) == 1
