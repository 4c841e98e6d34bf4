"""The engine on Numba's public interface: what it uses where `internals` are not as expected.

Numba then optimises each function with all that it calls, and again in each caller, and its own cache cannot hold
functions that were made in memory: every process compiles what it explores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from zombieproof.checker.engine.internals.native import plain

_OPTIONS: Final = {"nopython": True, "nogil": True, "error_model": "numpy"}


def part(function: Callable[..., Any], *, checked: bool) -> Any:
    """Return a dispatcher for a function; `checked`: an index outside its array raises IndexError."""
    import numba  # noqa: PLC0415  # it is loaded when something has to be compiled

    return numba.jit(**_OPTIONS, boundscheck=checked)(function)


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments, which stay where they are for as long as this object is there."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self) -> Any:
        """Call it. Raises IndexError for an index outside its array."""
        return self.function(*self.arguments)


class EntryPoint:
    """A function that Python calls. `make` returns it, compiled by the first call of each combination of kinds."""

    def __init__(self, make: Callable[[], Callable[..., Any]]) -> None:
        self._make = make
        self._made: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Call it. Raises IndexError, and what the function raises that `make` returns."""
        return self._function(*map(plain, arguments))

    def prepared(self, *arguments: Any) -> Call:
        """Return what calls it with these arguments each time, and with what is in their arrays then."""
        return Call(self._function, tuple(map(plain, arguments)))

    @property
    def _function(self) -> Callable[..., Any]:
        if self._made is None:
            self._made = self._make()
        return self._made
