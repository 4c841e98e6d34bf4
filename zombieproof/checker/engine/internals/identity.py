"""What a model is without lowering it: a hash of the functions as they stand in memory, and of the files they are from.

Lowering reads and rewrites hundreds of functions, only to find that what they come to was compiled before. Equal
identities mean equal lowered texts: whatever lowering looks at goes into the hash. That is the code of each function,
its parameters' defaults and annotations, and all that its names stand for, functions and classes in turn; so what was
patched in this process counts, not only what was edited. The files are there on top, for what only their text says.
It may differ where the texts are equal (a remark was edited): then the model is lowered, as if it were new.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import inspect
import marshal
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from zombieproof.checker.engine.sources import plain_function

_NAME: Final = re.compile(r"\w+")
_DEEPEST: Final = 6
_PLAIN: Final = frozenset(
    (bool, int, str, bytes, float, types.NoneType, types.EllipsisType, types.MemberDescriptorType)
)


class Unsaid(Exception):
    """Something that a function refers to cannot be told from others of its kind."""


def identity(functions: Iterable[Callable[..., Any]], *others: object) -> str | None:
    """Return the SHA-256 of all that `functions` are and call, and of `others`; None if that cannot be said."""
    found = Found()
    for function in functions:
        found.follow(plain_function(function))
    try:
        said = [*found.said(), *(repr(other) for other in others)]
    except (Unsaid, AttributeError):  # AttributeError: code objects of this Python are not as `_code` expects them
        return None
    digest = hashlib.sha256()
    for text in said:
        digest.update(text.encode())
        digest.update(b"\0")
    for code in found.codes:
        digest.update(hashlib.sha256(code).digest())
    for file in sorted(found.files):
        digest.update(file.encode())
        digest.update(Path(file).read_bytes() if Path(file).is_file() else b"")
    return digest.hexdigest()


class Found:
    """The functions that are reached, in the order in which they are met, what they do, and the files that they are in.

    An IntEnum says the same whoever refers to it, so it is said once, and has its number in that order from then on.
    """

    def __init__(self) -> None:
        self.functions: dict[types.FunctionType, None] = {}
        self.codes: list[bytes] = []
        self.files: set[str] = set()
        self._left: list[types.FunctionType] = []
        self._enums: dict[type, str] = {}
        self._heads: dict[type, tuple[str, ...]] = {}

    def follow(self, function: types.FunctionType) -> str:
        """Note a function, whose content is said later; return its name."""
        if function not in self.functions:
            self.functions[function] = None
            self._left.append(function)
        return f"{function.__module__}.{function.__qualname__}"

    def said(self) -> Iterable[str]:
        """Say of each function what it is, until none is left.

        Raises:
            Unsaid: something cannot be told from others of its kind.
        """
        while self._left:
            yield self._function(self._left.pop())

    def _function(self, function: types.FunctionType) -> str:
        code = function.__code__
        self.files.add(code.co_filename)
        self.codes.append(_code(code))
        annotations = {name: str(value) for name, value in function.__annotations__.items()}
        found = {*code.co_names, *_NAME.findall(" ".join(annotations.values()))}
        scope: Mapping[str, Any] = function.__globals__
        if code.co_freevars:
            closed = zip(code.co_freevars, function.__closure__ or (), strict=True)
            scope = {**scope, **{name: cell.cell_contents for name, cell in closed}}
            found.update(code.co_freevars)
        names = sorted(found)
        return repr(
            (
                f"{function.__module__}.{function.__qualname__}",
                annotations,
                self._value(function.__defaults__, names, 0),
                self._value(function.__kwdefaults__, names, 0),
                [(name, self._value(scope[name], names, 0)) for name in names if name in scope],
            )
        )

    def _value(self, value: Any, names: list[str], depth: int) -> Any:
        """What a name stands for; of modules, classes and objects what may be meant: what has one of `names`."""
        if depth > _DEEPEST:
            raise Unsaid
        if type(value) in _PLAIN:  # as most are
            return value
        if isinstance(value, types.FunctionType) and not hasattr(value, "__wrapped__"):
            return self.follow(value)
        if isinstance(value, enum.Enum):
            return repr(value)
        if isinstance(value, tuple | list):
            return type(value).__name__, [self._value(each, names, depth + 1) for each in value]
        if isinstance(value, set | frozenset):
            return type(value).__name__, sorted(repr(self._value(each, names, depth + 1)) for each in value)
        if isinstance(value, Mapping):
            return [(self._value(k, names, depth + 1), self._value(v, names, depth + 1)) for k, v in value.items()]
        if isinstance(value, property):
            return "property", self._value(value.fget, names, depth + 1)
        if isinstance(value, staticmethod | classmethod) or (callable(value) and hasattr(value, "__wrapped__")):
            value = value if isinstance(value, type) else inspect.unwrap(value)
        if isinstance(value, types.FunctionType):
            return self.follow(value)
        if isinstance(value, types.ModuleType):
            return value.__name__, self._attributes(vars(value), names, depth)
        if isinstance(value, type):
            return self._class(value, names, depth)
        if dataclasses.is_dataclass(value):
            parts = [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value)]
            return self._class(type(value), names, depth), [(n, self._value(v, names, depth + 1)) for n, v in parts]
        shown = repr(value)
        if " at 0x" in shown:
            raise Unsaid(shown)
        return shown

    def _class(self, cls: type, names: list[str], depth: int) -> Any:
        if cls in self._enums:
            return self._enums[cls]
        said = self._heads.get(cls) or self._met(cls)
        if issubclass(cls, enum.Enum):
            self._enums[cls] = f"{said[0]}, enumeration {len(self._enums)}"
            return self._enums[cls], said[1:], [repr(each) for each in cls]
        if hasattr(cls, "_fields"):
            fields = cls._fields, getattr(cls, "_field_defaults", {})
            return said, self._value(fields, names, depth + 1), self._attributes(vars(cls), names, depth)
        return said, self._attributes(vars(cls), names, depth)

    def _met(self, cls: type) -> tuple[str, ...]:
        """Note the file of a class that is met for the first time; return its name, and those of its bases."""
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        if isinstance(file, str):
            self.files.add(file)
        self._heads[cls] = f"{cls.__module__}.{cls.__qualname__}", *(each.__qualname__ for each in cls.__mro__)
        return self._heads[cls]

    def _attributes(self, scope: Mapping[str, Any], names: list[str], depth: int) -> list[Any]:
        return [(name, self._value(scope[name], names, depth + 1)) for name in names if name in scope]


_WITHOUT_REFERENCES: Final = 2
"""The newest format of code objects in which equal ones are equal bytes: later ones tell what is held once."""


def _code(code: types.CodeType) -> bytes:
    """All of a code object: what it does, and where it stands."""
    if _is_ordered(code):
        return marshal.dumps(code, _WITHOUT_REFERENCES)
    said = code.co_code, [_constant(each) for each in code.co_consts], code.co_names, code.co_varnames
    places = code.co_filename, code.co_firstlineno, code.co_linetable
    return repr((said, code.co_argcount, code.co_flags, places)).encode()


def _is_ordered(code: types.CodeType) -> bool:
    """Whether there is no set among the constants, whose order is another in each process."""
    return not any(
        isinstance(each, frozenset) or (isinstance(each, types.CodeType) and not _is_ordered(each))
        for each in code.co_consts
    )


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _code(value)
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
