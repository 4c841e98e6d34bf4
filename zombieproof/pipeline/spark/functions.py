"""Digests of Python functions: equal for the same code, wherever its file is and however often the program starts.

The text of a plan names a function and hides its body, so two queries with different functions of one name look the
same. A digest covers the code of a function, its defaults, the variables of enclosing functions, and the globals that
the code names: constants, collections, and functions, classes and objects of the same top-level module. File names and
line numbers do not count. Other objects count by what `pickle` would keep of them. Globals that are functions and
classes of other modules count by name.
"""

import collections
import copyreg
import datetime as dt
import decimal
import enum
import fractions
import functools
import hashlib
import operator
import pathlib
import re
import uuid
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, Final

PLAIN: Final = (
    *(str, bytes, int, float, complex, type(None), type(...), range, slice),
    *(dt.date, dt.time, dt.timedelta, dt.timezone, zoneinfo.ZoneInfo),
    *(decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath),
    *(operator.attrgetter, operator.itemgetter, operator.methodcaller),
)
"""Types of values that never change, and whose text is the same in each process."""
DEEPEST: Final = 50
"""Values that are nested deeper count by their type."""
MAIN: Final = "__main__"
PROTOCOL: Final = 4
OF_SPARK: Final = "pyspark"
"""PySpark wraps the functions of a user in its own, whose globals do not count."""


def digest_of(function: Any) -> str:
    """Return the digest of a function, or of any other object that a query calls."""
    made = hashlib.sha256()
    named = function if isinstance(function, (FunctionType, type)) else type(function)
    for part in _Reading(_top(named)).parts(function):
        made.update(part.encode() + b"\n")
    return made.hexdigest()


class _Reading:
    """One walk over a function and what it refers to, which reads each object once."""

    def __init__(self, top: str) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []
        self._tops = {top}
        self._used: dict[str, set[str]] = {}

    def parts(self, value: Any, depth: int = 0) -> Iterator[str]:
        """Yield texts that tell one value from another."""
        if isinstance(value, (enum.Enum, *PLAIN)):
            yield _text(value)
            return
        if id(value) in self._seen:
            yield f"again {self._seen[id(value)]}"
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)  # its id is taken as long as it lives
        if depth > DEEPEST:
            yield f"{type(value).__qualname__}"
        elif isinstance(value, CodeType):
            yield f"code {value.co_code.hex()} {value.co_names} {value.co_varnames} {value.co_flags}"
            yield from self._all(value.co_consts, depth)
        elif isinstance(value, (tuple, list, collections.deque)):
            yield f"{type(value).__qualname__} of {len(value)}"
            yield from self._all(value, depth)
        elif isinstance(value, (dict, MappingProxyType)):
            yield f"{type(value).__qualname__} of {len(value)}"
            for key in sorted(value, key=_text):  # for example made of a set, whose order is another in each process
                yield from self._all((key, value[key]), depth)
        elif isinstance(value, re.Pattern):
            yield f"pattern {value.pattern!r} {value.flags}"
        elif isinstance(value, (set, frozenset)):
            yield f"{type(value).__qualname__} of {sorted(map(_text, value))}"
        else:
            yield from self._object(value, depth)

    def _object(self, value: Any, depth: int) -> Iterator[str]:
        yield type(value).__qualname__
        if isinstance(value, FunctionType):
            yield from self._function(value, depth)
        elif isinstance(value, functools.partial):
            yield from self._all((value.func, value.args, *sorted(value.keywords.items())), depth)
        elif isinstance(value, MethodType):
            yield from self._all((value.__func__, value.__self__), depth)
        elif isinstance(value, (staticmethod, classmethod)):
            yield from self.parts(value.__func__, depth + 1)
        elif isinstance(value, property):
            yield from self.parts(value.fget, depth + 1)
        elif isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, type):
            yield f"{value.__module__}.{value.__qualname__}" if value.__module__ != MAIN else value.__qualname__
            if _top(value) in self._tops:
                yield from self._all((base for base in value.__bases__ if _top(base) == _top(value)), depth)
                members = vars(value)
                own = {name: members[name] for name in members if not _is_pythons(name, members)}
                yield from self._named(own, depth)
        elif isinstance(value, BuiltinFunctionType):
            yield f"{value.__module__}.{value.__qualname__}"
            yield from self.parts(value.__self__, depth + 1)
        elif callable(value) and hasattr(value, "__wrapped__"):
            yield from self.parts(value.__wrapped__, depth + 1)
        else:
            yield from self._reduced(value, depth)

    def _reduced(self, value: Any, depth: int) -> Iterator[str]:
        """Yield what `pickle` would keep of an object; nothing of one that cannot be pickled."""
        try:
            reducer = copyreg.dispatch_table.get(type(value))
            kept = value.__reduce_ex__(PROTOCOL) if reducer is None else reducer(value)
        except Exception:  # noqa: BLE001  # code of the user's
            return
        if isinstance(kept, str):
            yield kept
            return
        make, arguments, state, items, pairs = (*kept, None, None, None)[:5]
        yield f"{make.__module__}.{make.__qualname__}"
        yield from self._all((arguments, state, list(items or ()), list(pairs or ())), depth)

    def _function(self, function: FunctionType, depth: int) -> Iterator[str]:
        code, known = function.__code__, function.__globals__
        if _top(function) != OF_SPARK:
            self._tops.add(_top(function))
        yield from self._all((code, function.__defaults__, *sorted((function.__kwdefaults__ or {}).items())), depth)
        for cell in function.__closure__ or ():
            try:
                inside = cell.cell_contents
            except ValueError:  # a variable that is assigned later
                continue
            yield from self.parts(inside, depth + 1)
        if _top(function) != OF_SPARK:
            names = set(_names(code))
            yield from self._globals({name: known[name] for name in names & known.keys()}, names, _top(function), depth)

    def _globals(self, known: Mapping[str, Any], names: set[str], top: str, depth: int) -> Iterator[str]:
        """Yield what code refers to in its module; in other modules of the same package, if it has these names."""
        for name in sorted(known):
            value = known[name]
            yield name
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == top:
                used = self._used.setdefault(value.__name__, set())
                inside = {each: vars(value)[each] for each in (names & vars(value).keys()) - used}
                used |= names
                yield from self._globals(inside, names, top, depth + 1)
            elif isinstance(value, (FunctionType, type)) and _top(value) != top:
                yield f"{value.__module__}.{value.__qualname__}"
            else:
                yield from self.parts(value, depth + 1)

    def _named(self, values: Mapping[str, Any], depth: int) -> Iterator[str]:
        for name in sorted(values):
            yield name
            yield from self.parts(values[name], depth + 1)

    def _all(self, values: Iterable[Any], depth: int) -> Iterator[str]:
        for each in values:
            yield from self.parts(each, depth + 1)


def _text(value: Any) -> str:
    """Tell a value that never changes from others; of another one, its name or that of its type."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, bytes):
        return f"bytes {hashlib.sha256(value).hexdigest()}"
    if isinstance(value, PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, (tuple, frozenset)):
        inside = [_text(each) for each in value]
        return f"{type(value).__qualname__} {inside if isinstance(value, tuple) else sorted(inside)}"
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _is_pythons(name: str, members: Mapping[str, Any]) -> bool:
    """Whether Python itself made a member of a class: texts, names, slots and the like."""
    return name.startswith("__") and name.endswith("__") and not isinstance(members[name], FunctionType)


def _top(value: Any) -> str:
    """The top-level module of a function or a class."""
    return str(value.__module__).partition(".")[0]


def _names(code: CodeType) -> Iterator[str]:
    """The names that a code refers to, with those of functions within it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
