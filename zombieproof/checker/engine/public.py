"""The engine on Numba's public interface: what it uses where `internals` are not as expected.

Numba optimises each function with all that it calls, and again in each caller: a model of hundreds of functions, called
five or six deep, would be optimised a dozen times over. So each function is compiled once, and they call each other by
address; where that does not work either, Numba does as it always does. Its own cache cannot hold functions that were
made in memory: every process compiles what it explores.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from zombieproof.checker.engine.internals.native import plain

_OPTIONS: Final = {"nopython": True, "nogil": True, "error_model": "numpy"}
_INNER: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""For what neither Python nor C calls: a third of the work, because each wrapper is compiled as a function is."""


def entry(function: Callable[..., Any]) -> Any:
    """Return a dispatcher for a function that Python calls."""
    import numba  # noqa: PLC0415  # it is loaded when something has to be compiled

    return numba.jit(**_OPTIONS)(function)


def part(function: Callable[..., Any], *, checked: bool) -> Any:
    """Return what compiled code calls in the place of a function.

    `checked`: an index outside its array raises IndexError.
    """
    import numba  # noqa: PLC0415  # the same

    if calls_by_address():
        return _by_address(function, checked=checked)
    return numba.jit(**_OPTIONS, boundscheck=checked)(function)


@functools.cache
def calls_by_address() -> bool:
    """Whether compiled code can call a function by its address, with this version of Numba: it is tried."""
    import numba  # noqa: PLC0415  # the same
    import numpy as np  # noqa: PLC0415  # the same

    numbers = np.arange(3)
    try:
        scope = {"__name__": __name__, "called": _by_address(_element, checked=True)}
        caller = numba.jit(**_OPTIONS)(types.FunctionType(_element_and_one.__code__, scope))
        if [caller(numbers, i) for i in range(3)] != [1, 2, 3]:
            return False
        try:
            caller(numbers, 3)
        except IndexError:
            return True
    except Exception:  # noqa: BLE001  # whatever is not as expected
        return False
    return False


def _element(numbers: Any, index: int) -> Any:
    return numbers[index]


def _element_and_one(numbers: Any, index: int) -> Any:
    return called(numbers, index) + 1  # type: ignore[name-defined]  # noqa: F821  # `calls_by_address` gives it


def _by_address(function: Callable[..., Any], *, checked: bool) -> Any:
    """Return an intrinsic that compiles the function for the kinds of a call, and calls it where it then is.

    What it returns keeps the compiled functions: callers know nothing of them but their addresses.
    """
    import numba  # noqa: PLC0415  # the same
    from llvmlite import ir  # noqa: PLC0415  # the same
    from numba.core import cgutils  # noqa: PLC0415  # the same
    from numba.extending import intrinsic  # noqa: PLC0415  # the same

    dispatcher = numba.jit(**_OPTIONS, **_INNER, boundscheck=checked)(function)
    calls: dict[Any, Any] = {}

    def made(kinds: tuple[Any, ...]) -> Any:
        dispatcher.compile(kinds)
        compiled = dispatcher.overloads[kinds]
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            gives, takes, convention = signature.return_type, signature.args, context.call_conv
            kind = convention.get_function_type(gives, takes).as_pointer()
            callee = builder.inttoptr(ir.Constant(ir.IntType(64), address), kind)
            status, result = convention.call_function(builder, callee, gives, takes, arguments)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result

        return compiled.signature.return_type(*kinds), codegen

    def call(typingctx: Any, *arguments: Any) -> Any:
        del typingctx
        kinds = tuple(map(numba.types.unliteral, arguments))
        if kinds not in calls:
            calls[kinds] = made(kinds)
        return calls[kinds]

    call.__name__ = call.__qualname__ = function.__name__
    names = ["typingctx", *inspect.signature(function).parameters]  # Numba takes no starred parameter here
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # functions may have one
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return intrinsic(call)


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
