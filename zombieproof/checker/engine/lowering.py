"""Lowering: the same plain function, compiled on packed records.

`Lowering.lower(function)` rewrites the function and, recursively, all functions that it calls (see `rewriting`), and
makes each a part of what Numba compiles (see `compilation`).
"""

from __future__ import annotations

import ast
import hashlib
import types
from collections.abc import Callable, Iterable
from typing import Any

import numba
import numpy as np

from zombieproof.checker.engine import intrinsics, public
from zombieproof.checker.engine.internals import expected
from zombieproof.checker.engine.layout import Sizes
from zombieproof.checker.engine.rewriting import Lowered, rewrite
from zombieproof.checker.engine.sources import INT64, OF_RECORDS, REPLACE, LoweringError, plain_function
from zombieproof.checker.engine.versions import versions
from zombieproof.model import fields

__all__ = ["Lowering", "LoweringError", "source_hash"]


class Lowering:
    """Lowers functions, each once; they may call functions of `packages` and of their own top-level package.

    `sizes` are those of the one model that they are for, if there is one: what its layout makes constant is folded.
    `mark` becomes part of the names in compiled code. What one process has put into the cache another loads beside code
    of its own, and the linker goes by names: functions of two models must never have the same.
    """

    def __init__(self, packages: Iterable[str] = ("zombieproof",), sizes: Sizes | None = None) -> None:
        self.packages = frozenset(packages)
        self.sizes = sizes
        self.mark = ""
        self.lowered: dict[types.FunctionType, Lowered] = {}
        self._compiled: dict[types.FunctionType, Any] = {}
        self._open: list[types.FunctionType] = []

    def read(self, function: Callable[..., Any]) -> Lowered:
        """Rewrite a function and all that it calls; raises LoweringError."""
        plain = plain_function(function)
        return self._read(plain, self.packages | {plain.__module__.partition(".")[0]})

    def _read(self, function: types.FunctionType, packages: frozenset[str]) -> Lowered:
        if function in self._open:
            circle = [f.__qualname__ for f in [*self._open[self._open.index(function) :], function]]
            where = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
            raise LoweringError(
                f"{where}: {circle[0]} cannot be lowered: it calls itself, {' -> '.join(circle)}. Legal: loops."
            )
        if function not in self.lowered:
            self._open.append(function)
            try:
                lowered = rewrite(function, packages, self.sizes)
                for callee in lowered.functions.values():
                    self._read(callee, packages)
            finally:
                self._open.pop()
            self.lowered[function] = lowered
        return self.lowered[function]

    def lower(self, function: Callable[..., Any]) -> Any:
        """Return a Numba dispatcher of the lowered function, to be called from compiled code. Raises LoweringError."""
        self.read(function)
        return self._part(plain_function(function))

    def _part(self, function: types.FunctionType) -> Any:
        if function not in self._compiled:
            lowered = self.lowered[function]
            scope: dict[str, Any] = {
                "__name__": __name__,  # Numba imports it when it loads from the cache, and a test's module has no path
                INT64: numba.int64,
                REPLACE: intrinsics.replace,
                OF_RECORDS[fields.precedes]: intrinsics.precedes,
                OF_RECORDS[fields.is_same]: intrinsics.is_same,
                OF_RECORDS[fields.exchange]: intrinsics.exchange,
                **{name: self._part(callee) for name, callee in lowered.functions.items()},
                **{name: frozen(table) for name, table in lowered.tables.items()},
                **lowered.classes,
            }
            self._compiled[function] = part(marked(_clone(lowered, scope), self.mark), checked=True)
        return self._compiled[function]

    def source_hash(self, *others: object) -> str:
        """Hash all that was lowered so far, `others`, and the versions of what compiles it."""
        return source_hash(self.lowered.values(), *others)


def source_hash(functions: Iterable[Lowered], *others: object) -> str:
    """Return the SHA-256 of lowered texts (the constants and tables are in them), of `others`, and of versions."""
    digest = hashlib.sha256()
    for text in [*versions(), *sorted(lowered.text() for lowered in functions), *(repr(other) for other in others)]:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def part(function: Callable[..., Any], *, checked: bool) -> Any:
    """Return a dispatcher for a function that only compiled code calls.

    `checked`: an index outside its array raises IndexError, instead of reading or writing something else.
    """
    if expected.fault() is not None:
        return public.part(function, checked=checked)
    from zombieproof.checker.engine.internals import compilation  # noqa: PLC0415  # it may not import elsewhere

    return compilation.part(function, checked=checked)


def marked(function: types.FunctionType, mark: str) -> types.FunctionType:
    """Return the function, with `mark` in the name that it has in compiled code."""
    function.__qualname__ = function.__name__ = f"{function.__name__}_{mark}"
    return function


def _clone(lowered: Lowered, scope: dict[str, Any]) -> types.FunctionType:
    """Return the function that the lowered text defines in `scope`, with the original file and lines."""
    exec(compile(ast.Module([lowered.tree], []), lowered.filename, "exec"), scope)  # noqa: S102  # our text
    function: types.FunctionType = scope[lowered.tree.name]
    return function


def frozen(table: tuple[Any, ...]) -> Any:
    """Return a table of integers as compiled code takes it: a constant."""
    array = np.array(table, np.int64)
    array.setflags(write=False)
    return array


def frozen_words(table: Any) -> Any:
    """Return a table of words of 64 bits as compiled code takes it: a constant."""
    array = np.array(table, np.uint64)
    array.setflags(write=False)
    return array
