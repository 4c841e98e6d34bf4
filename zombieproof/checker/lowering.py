"""Lowering: the same plain function, compiled on packed records.

`Lowering.lower(function)` rewrites the function and, recursively, all functions it calls (see `rewriting`), and compiles
the results with Numba. Internal functions are reached only from compiled code: they get no wrapper for Python,
release no lock themselves, and count no references (records never own memory).
"""

from __future__ import annotations

import ast
import hashlib
import platform
import types
from collections.abc import Callable, Iterable
from typing import Any

import llvmlite
import numba
import numpy as np

from zombieproof.checker import intrinsics
from zombieproof.checker.compilation import part
from zombieproof.checker.rewriting import INT64, REPLACE, Lowered, LoweringError, plain_function, rewrite

__all__ = ["Lowering", "LoweringError", "source_hash"]


class Lowering:
    """Lowers functions, each once. `packages`: top-level packages whose functions may be lowered, beside the root's own."""

    def __init__(self, packages: Iterable[str] = ("zombieproof",)) -> None:
        self.packages = frozenset(packages)
        self.lowered: dict[types.FunctionType, Lowered] = {}
        self.compiled: dict[types.FunctionType, Any] = {}
        self._open: list[types.FunctionType] = []

    def read(self, function: Callable[..., Any]) -> Lowered:
        """Rewrite a function and all that it calls; raises LoweringError."""
        plain = plain_function(function)
        packages = self.packages | {plain.__module__.partition(".")[0]}
        return self._read(plain, packages)

    def _read(self, function: types.FunctionType, packages: frozenset[str]) -> Lowered:
        if function in self._open:
            names = " -> ".join(f.__qualname__ for f in [*self._open[self._open.index(function) :], function])
            raise LoweringError(f"{function.__module__}: functions call each other in a circle: {names}. Legal: loops.")
        if function not in self.lowered:
            self._open.append(function)
            try:
                lowered = rewrite(function, packages, intrinsics.SPECIAL)
                for callee in lowered.functions.values():
                    self._read(callee, packages)
            finally:
                self._open.pop()
            self.lowered[function] = lowered
        return self.lowered[function]

    def lower(self, function: Callable[..., Any]) -> Any:
        """Return a Numba dispatcher of the lowered function, to be called from compiled code."""
        plain = plain_function(function)
        self.read(plain)
        return self._compiled(plain)

    def _compiled(self, function: types.FunctionType) -> Any:
        if function not in self.compiled:
            lowered = self.lowered[function]
            scope: dict[str, Any] = {
                "__name__": function.__module__,
                INT64: numba.int64,
                REPLACE: intrinsics.replace,
                **{name: getattr(intrinsics, name) for name in intrinsics.SPECIAL.values()},
                **{name: self._compiled(callee) for name, callee in lowered.functions.items()},
                **{name: _frozen(table) for name, table in lowered.tables.items()},
                **lowered.classes,
            }
            self.compiled[function] = part(clone(lowered, scope), checked=True)
        return self.compiled[function]

    def source_hash(self, *parts: object) -> str:
        """Hash all that was lowered so far, `parts` and the versions of what compiles it."""
        return source_hash(self.lowered.values(), *parts)


def clone(lowered: Lowered, scope: dict[str, Any]) -> types.FunctionType:
    """Return the function that the lowered text defines in `scope`, with the original file and lines."""
    module = ast.Module([lowered.tree], [])
    exec(compile(module, lowered.filename, "exec"), scope)  # noqa: S102  # the text is a function of this process
    function: types.FunctionType = scope[lowered.tree.name]
    return function


def source_hash(functions: Iterable[Lowered], *parts: object) -> str:
    """Return the SHA-256 of lowered texts (with the constants and tables in them), `parts`, and of the versions."""
    digest = hashlib.sha256()
    versions = [numba.__version__, np.__version__, llvmlite.__version__, platform.python_version(), platform.machine()]
    for text in [*versions, *sorted(lowered.text() for lowered in functions), *(repr(part) for part in parts)]:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _frozen(table: tuple[Any, ...]) -> Any:
    array = np.array(table, np.int64)
    array.setflags(write=False)
    return array
