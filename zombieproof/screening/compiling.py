"""How functions of this package are compiled: once for each process, when they are first called."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same function, compiled; as it was it is `py_func`. Numba's cache looks at one file only: it is off."""
    return cast("Callable[Arguments, Result]", njit(nogil=True)(function))


def interpreted(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function as it was: for a few calls nothing has to be compiled."""
    return cast("Callable[Arguments, Result]", getattr(function, "py_func", function))


def inlined(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same, compiled into whoever calls it: a call would count references to every array that it hands over."""
    return cast("Callable[Arguments, Result]", njit(nogil=True, inline="always")(function))
