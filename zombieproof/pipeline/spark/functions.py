"""Digests of Python functions: equal for the same code, wherever its file is and however often the program starts.

The text of a plan names a function and hides its body, so two queries with different functions of one name look the
same. A digest covers the code of a function, its defaults, the variables of enclosing functions, and the globals that
the code names: constants, and functions and classes of the same top-level module. File names and line numbers do not
count. Values that may change while a program runs count by type: lists, dictionaries and attributes of objects.
"""

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
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
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
OF_SPARK: Final = "pyspark"
"""PySpark wraps the functions of a user in its own, whose globals do not count."""


def digest_of(function: Any) -> str:
    """Return the digest of a function, or of any other object that a query calls."""
    return hashlib.sha256("\n".join(_Reading().parts(function, 0)).encode()).hexdigest()


class _Reading:
    """One walk over a function and what it refers to, which reads each object once."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []

    def parts(self, value: Any, depth: int) -> Iterator[str]:
        """Yield texts that tell one value from another."""
        if isinstance(value, enum.Enum):
            yield f"{type(value).__qualname__}.{value.name}"
            return
        if isinstance(value, PLAIN):
            yield f"{type(value).__name__} {value!r}"
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
        elif isinstance(value, tuple):
            yield f"tuple of {len(value)}"
            yield from self._all(value, depth)
        elif isinstance(value, re.Pattern):
            yield f"pattern {value.pattern!r} {value.flags}"
        elif isinstance(value, frozenset):
            yield f"set of {sorted(digest_of(each) for each in value)}"
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
            yield value.__qualname__
            members = vars(value)
            for name in sorted(members):
                if callable(members[name]) or isinstance(members[name], (staticmethod, classmethod, property)):
                    yield name
                    yield from self.parts(members[name], depth + 1)
        elif isinstance(value, BuiltinFunctionType):
            yield f"{value.__module__}.{value.__qualname__}"
            yield from self.parts(value.__self__, depth + 1)
        elif callable(value) and hasattr(value, "__wrapped__"):
            yield from self.parts(value.__wrapped__, depth + 1)
        elif callable(value) and isinstance(vars(type(value)).get("__call__"), FunctionType):
            yield from self.parts(type(value), depth + 1)

    def _function(self, function: FunctionType, depth: int) -> Iterator[str]:
        code, known = function.__code__, function.__globals__
        yield from self._all((code, function.__defaults__, *sorted((function.__kwdefaults__ or {}).items())), depth)
        for cell in function.__closure__ or ():
            try:
                inside = cell.cell_contents
            except ValueError:  # a variable that is assigned later
                continue
            yield from self.parts(inside, depth + 1)
        for name in sorted(set(_names(code)) & known.keys()) if _top(function) != OF_SPARK else ():
            value = known[name]
            yield name
            if isinstance(value, (FunctionType, type)) and _top(value) != _top(function):
                yield f"{value.__module__}.{value.__qualname__}"
            else:
                yield from self.parts(value, depth + 1)

    def _all(self, values: tuple[Any, ...], depth: int) -> Iterator[str]:
        for each in values:
            yield from self.parts(each, depth + 1)


def _top(value: Any) -> str:
    """The top-level module of a function or a class."""
    return str(value.__module__).partition(".")[0]


def _names(code: CodeType) -> Iterator[str]:
    """The names that a code refers to, with those of functions within it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
