"""Digests of Python functions: equal for the same code, wherever its file is and however often the program starts.

The text of a plan names a function and hides its body, so two queries with different functions of one name look the
same. A digest covers the code of a function, its defaults, its attributes, the variables of enclosing functions, and
the globals that the code names: constants, collections, and functions, classes and objects of the same top-level
module. File names and line numbers do not count. Objects count by their class and by what `pickle` would keep of them;
one that cannot be pickled is an error, as it could not be told from another. Globals that are functions and classes of
other modules count by name.
"""

import copyreg
import datetime as dt
import decimal
import enum
import fractions
import functools
import hashlib
import pathlib
import re
import threading
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
from typing import Any, Final, NamedTuple

PLAIN: Final = frozenset(
    (
        *(str, bytes, bool, int, float, complex, type(None), type(...), range),
        *(dt.date, dt.datetime, dt.time, dt.timedelta, dt.timezone, zoneinfo.ZoneInfo),
        *(decimal.Decimal, fractions.Fraction, uuid.UUID),
        *(pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath),
    )
)
"""Types of values that never change, and whose text is the same in each process. Subclasses may have more in them."""
LOCKS: Final = (type(threading.Lock()), type(threading.RLock()))
"""Types of objects that say nothing of what a function returns."""
DISPATCHER: Final = getattr(functools.singledispatch(str), "__code__")  # noqa: B009  # its type hides that
"""The code of each function that chooses another one by the type of its argument; it keeps a cache of its choices."""
CACHE: Final = type(functools.cache(str))
"""The type of a function that keeps what it has returned."""
MOST: Final = 5_000_000
"""Values that one digest covers."""
MOST_NESTED: Final = 20
"""Sets in objects in sets, and so on."""
MAIN: Final = "__main__"
PROTOCOL: Final = 4
OF_SPARK: Final = "pyspark"
"""PySpark wraps the functions of a user in its own, whose globals do not count."""
OF_ENUMS: Final = frozenset(vars(enum.Flag("Any", "")))
OF_PYTHON: Final = frozenset(
    (
        *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__annotations__"),
        *("__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__"),
        *("__orig_bases__", "__parameters__", "__type_params__", "__conditional_annotations__", "_abc_impl"),
    )
)
"""Members of classes that Python itself makes: texts, names, slots and the like."""


class UntoldFunction(ValueError):
    """A function that might be taken for another; the message says what in it cannot be read."""


def digest_of(function: Any) -> str:
    """Return the digest of a function, or of any other object that a query calls.

    Raises:
        UntoldFunction: it holds something that cannot be told from something else.
    """
    made = hashlib.sha256()
    named = function if isinstance(function, (FunctionType, type)) else type(function)
    for part in _Reading({_top(named)}).parts(function):
        made.update(part.encode("utf-8", "surrogatepass") + b"\n")
    return made.hexdigest()


class _Inside(NamedTuple):
    """A value within another, whose parts come next."""

    value: Any


Parts = Iterator[str | _Inside]


class _Reading:
    """One walk over a function and what it refers to, which reads each object once."""

    def __init__(self, tops: set[str], nested: int = 0, left: list[int] | None = None) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []
        self._tops = tops
        self._nested = nested
        self._left = [MOST] if left is None else left
        self._used: dict[str, set[str]] = {}

    def parts(self, value: Any) -> Iterator[str]:
        """Yield texts that tell one value from another.

        Raises:
            UntoldFunction: there are none.
        """
        walks: list[Parts] = [_all((value,))]
        while walks:
            for part in walks[-1]:
                if isinstance(part, str):
                    yield part
                    continue
                walks.append(self._of(part.value))
                break
            else:
                walks.pop()

    def _of(self, value: Any) -> Parts:
        self._left[0] -= 1
        if self._left[0] < 0:
            raise UntoldFunction(f"it refers to more than {MOST} values")
        if id(value) in self._seen:
            yield f"again {self._seen[id(value)]}"
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)  # its id is taken as long as it lives
        kind = type(value)
        if kind is CodeType:
            yield from _code(value)
        elif kind in (tuple, list):
            yield f"{kind.__qualname__} of {len(value)}"
            yield from _all(value)
        elif kind in (dict, MappingProxyType):
            yield f"{kind.__qualname__} of {len(value)}"
            for pair in value.items():  # in their order, which a function may depend on
                yield from _all(pair)
        elif kind is re.Pattern:
            yield f"pattern {value.pattern!r} {value.flags}"
        elif isinstance(value, (set, frozenset)):
            yield from self._set(value)
        else:
            yield from self._object(value)

    def _set(self, value: set[Any] | frozenset[Any]) -> Parts:
        """Yield elements in an order that is the same in each process."""
        kind = type(value)
        if kind in (set, frozenset) and all(map(_is_simple, value)):
            yield f"{kind.__qualname__} of {sorted(map(_text, value))}"
            return
        if self._nested == MOST_NESTED:
            raise UntoldFunction("sets are nested too deep in it, or hold themselves")
        yield f"{kind.__qualname__} of {len(value)}"
        yield from sorted(self._alone(each) for each in value)
        if kind not in (set, frozenset):
            yield from _all((kind, getattr(value, "__dict__", None)))

    def _alone(self, value: Any) -> str:
        inside = _Reading(set(self._tops), self._nested + 1, self._left)
        return hashlib.sha256("\n".join(inside.parts(value)).encode("utf-8", "surrogatepass")).hexdigest()

    def _object(self, value: Any) -> Parts:
        kind = type(value)
        yield kind.__qualname__
        if isinstance(value, FunctionType):
            yield from self._function(value)
        elif isinstance(value, enum.Enum):
            yield str(value.name)
            own = {name: each for name, each in vars(value).items() if not name.startswith("_")}
            yield from _all((value.value, own, kind))
        elif kind is functools.partial:
            yield from _all((value.func, value.args, *value.keywords.items(), *vars(value).items()))
        elif isinstance(value, MethodType):
            yield from _all((value.__func__, value.__self__))
        elif isinstance(value, (staticmethod, classmethod, property)):
            yield from _accessor(value)
        elif isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, type):
            yield from self._class(value)
        elif isinstance(value, BuiltinFunctionType):
            yield f"{value.__module__}.{value.__qualname__}"
            yield from _all((value.__self__,))
        elif isinstance(value, CACHE):
            yield from _all((value.__wrapped__,))
        elif not isinstance(value, LOCKS):
            yield from self._reduced(value)

    def _class(self, value: type) -> Parts:
        yield f"{value.__module__}.{value.__qualname__}" if value.__module__ != MAIN else value.__qualname__
        if _top(value) not in self._tops:
            return
        yield from _all((*value.__bases__, type(value)))
        members, made = vars(value), OF_PYTHON
        if isinstance(value, enum.EnumMeta):
            yield from _named(value.__members__, in_order=True)
            made |= OF_ENUMS | value.__members__.keys()
        yield from _named(
            {name: members[name] for name in members if name not in made or _is_own(members[name], value)}
        )

    def _reduced(self, value: Any) -> Parts:
        """Yield what `pickle` would keep of an object."""
        kind = type(value)
        try:
            reducer = copyreg.dispatch_table.get(kind)
            kept = value.__reduce_ex__(PROTOCOL) if reducer is None else reducer(value)
        except Exception as error:  # code of the user's
            raise UntoldFunction(f"it refers to an object of {kind.__module__}.{kind.__qualname__}: {error}") from error
        if _top(kind) in self._tops:
            yield from _all((kind,))
        if isinstance(kept, str):
            yield f"{getattr(value, '__module__', '')} {kept}"
            return
        make, arguments, state, items, pairs = (*kept, None, None, None)[:5]
        yield f"{make.__module__}.{make.__qualname__}"
        if isinstance(make, (FunctionType, type)) and _top(make) in self._tops:
            yield from _all((make,))
        yield from _all((arguments, state, list(items or ()), list(pairs or ())))

    def _function(self, function: FunctionType) -> Parts:
        code, known = function.__code__, function.__globals__
        if code is DISPATCHER:
            yield from _all((vars(function)["registry"],))
            return
        is_of_spark = _top(function) == OF_SPARK
        if not is_of_spark:
            self._tops.add(_top(function))
        yield from _all((code, function.__defaults__, *sorted((function.__kwdefaults__ or {}).items())))
        modules: dict[str, Any] = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                inside = cell.cell_contents
            except ValueError:  # a variable that is assigned later
                continue
            if isinstance(inside, ModuleType):
                modules[name] = inside
            yield from _all((inside,))
        if is_of_spark:
            return
        names = set(_names(code))
        yield from self._globals({name: known[name] for name in names & known.keys()} | modules, names, _top(function))
        if function.__dict__:
            yield from _named(function.__dict__)

    def _globals(self, known: Mapping[str, Any], names: set[str], top: str) -> Parts:
        """Yield what code refers to in its module; in other modules of the same package, if it has these names."""
        for name in sorted(known):
            value = known[name]
            yield name
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == top:
                used = self._used.setdefault(value.__name__, set())
                inside = {each: vars(value)[each] for each in (names & vars(value).keys()) - used}
                used |= names
                yield from self._globals(inside, names, top)
            elif isinstance(value, (FunctionType, type)) and _top(value) != top:
                yield f"{value.__module__}.{value.__qualname__}"
            else:
                yield from _all((value,))


def _all(values: Iterable[Any]) -> Parts:
    return (_text(each) if _is_plain(each) else _Inside(each) for each in values)


def _named(values: Mapping[str, Any], *, in_order: bool = False) -> Parts:
    for name in values if in_order else sorted(values):
        yield name
        yield from _all((values[name],))


def _code(code: CodeType) -> Parts:
    yield f"code {code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_flags}"
    if code.co_posonlyargcount or code.co_kwonlyargcount:
        yield f"arguments {code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount}"
    if handlers := getattr(code, "co_exceptiontable", b""):
        yield f"handlers {handlers.hex()}"
    yield from _all(code.co_consts)


def _accessor(value: Any) -> Parts:
    """Yield the functions of a property, a static method or a class method."""
    if isinstance(value, property):
        yield from _all((value.fget,))
        yield from _all(each for each in (value.fset, value.fdel) if each is not None)
    else:
        yield from _all((value.__func__,))
    if type(value) not in (staticmethod, classmethod, property):
        yield from _all((type(value), getattr(value, "__dict__", None)))


def _is_plain(value: Any) -> bool:
    """Whether the text of a value says all about it."""
    zone = value.tzinfo if isinstance(value, (dt.datetime, dt.time)) else None
    return type(value) in PLAIN and type(zone) in PLAIN


def _is_simple(value: Any) -> bool:
    return _is_plain(value) or (type(value) in (tuple, frozenset) and all(map(_is_simple, value)))


def _text(value: Any) -> str:
    """Tell a simple value from others."""
    if isinstance(value, bytes):
        return f"bytes {hashlib.sha256(value).hexdigest()}"
    if isinstance(value, (tuple, frozenset)):
        inside = [_text(each) for each in value]
        return f"{type(value).__qualname__} {inside if isinstance(value, tuple) else sorted(inside)}"
    return f"{type(value).__name__} {value!r}"


def _is_own(member: Any, of: type) -> bool:
    """Whether a member of a class is a function of its module, and not one that Python gives each class."""
    return isinstance(member, FunctionType) and _top(member) == _top(of)


def _top(value: Any) -> str:
    """The top-level module of a function or a class."""
    return str(value.__module__).partition(".")[0]


def _names(code: CodeType) -> Iterator[str]:
    """The names that a code refers to, with those of functions within it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
