"""Machine code that was kept is linked and called, without what once compiled it.

Numba takes half a second of each process to be imported and to find its own functions. An entry point that was compiled
before needs none of that: its object file is linked by LLVM, and its function is called by its address, as Numba's
calling convention says (numba.core.callconv.CPUCallConv): `int32 function(result *, exception **, arguments ...)`, an
array being its owner twice (none), number and size of elements, address, shape and strides.

What was compiled just now is called in the same way, so that there is one.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np

_WORD: Final = ctypes.c_int64
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_CONFIGURATION: Final = Path(".numba_config.yaml")

Kinds = tuple[Any, ...]
"""What decides for which arguments code is compiled; hashable."""


@dataclass(frozen=True)
class Code:
    """A compiled function.

    Attributes:
        name: what the object file calls it.
        gives: whether it returns an int64; else nothing.
        needs: functions of the process that it calls.
        content: the object file.
    """

    name: str
    gives: bool
    needs: tuple[str, ...]
    content: bytes

    def packed(self) -> bytes:
        """All of it, to be kept."""
        return json.dumps([self.name, self.gives, self.needs]).encode() + b"\n" + self.content

    @classmethod
    def unpacked(cls, kept: bytes) -> Code:
        """The code from what `packed` gave."""
        head, _, content = kept.partition(b"\n")
        name, gives, needs = json.loads(head)
        return cls(name, gives, tuple(needs), content)

    def is_complete(self) -> bool:
        """Whether all that it needs is in this process; what is not would end the process when it is linked."""
        return all(llvm.address_of_symbol(name) is not None for name in self.needs)


class Linked:
    """A function that can be called, for as long as this object is there."""

    def __init__(self, code: Code) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
        # A linker for each: names of one object file never meet those of another.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.content))
        self._engine.finalize_object()
        self._address = self._engine.get_function_address(code.name)
        self._gives = code.gives
        self._functions: dict[int, Callable[..., int]] = {}

    def __call__(self, words: list[int]) -> int | None:
        """Call it with arguments that were spread; other threads of Python run on.

        Raises:
            IndexError: an index was outside its array.
        """
        function = self._functions.get(len(words))
        if function is None:
            kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[_WORD] * len(words))
            function = self._functions[len(words)] = kind(self._address)
        result, exception = _WORD(0), ctypes.c_void_p()
        status = function(ctypes.addressof(result), ctypes.addressof(exception), *words)
        if status:
            raise _raised(status, exception.value)
        return result.value if self._gives else None


class _Exception(ctypes.Structure):
    """How compiled code says what it raises; only the beginning: the class, its arguments and the place, pickled."""

    _fields_ = (("content", ctypes.c_void_p), ("size", ctypes.c_int32))


def _raised(status: int, address: int | None) -> Exception:
    if (
        status < 0 or address is None
    ):  # pragma: no cover  # an exception of Python, which compiled code here cannot have
        return RuntimeError(f"compiled code ended with status {status}")
    there = _Exception.from_address(address)
    cls, arguments, _ = pickle.loads(ctypes.string_at(there.content, there.size))  # noqa: S301  # it stands in our code
    found: Exception = cls(*arguments or ())
    return found


def spread(arguments: tuple[Any, ...]) -> tuple[Kinds, list[int]]:
    """Return the kinds of arguments, and the words that a compiled function takes for them.

    Arguments are arrays, integers, and tuples of them. The arrays have to be there until the call is over.

    Raises:
        TypeError: something else.
    """
    kinds: list[Any] = []
    words: list[int] = []
    for argument in arguments:
        _spread(argument, kinds, words)
    return tuple(kinds), words


_met: Final[dict[int, tuple[Any, tuple[Any, ...], tuple[int, ...]]]] = {}
"""Arrays that were spread and are still there, by identity: a search calls with the same ones again and again.

An array that others refer to, weakly too, is not resized in place by NumPy.
"""


def _spread(value: Any, kinds: list[Any], words: list[int]) -> None:
    if isinstance(value, np.ndarray):
        met = _met.get(id(value))
        if met is None or met[0]() is not value:
            met = _meet(value)
        kinds.append(met[1])
        words += met[2]
    elif isinstance(value, tuple):
        kinds.append((type(value), len(value)))
        for each in value:
            _spread(each, kinds, words)
    elif type(value) in (int, np.int64) and _LEAST <= value <= _MOST:
        kinds.append(int)
        words.append(int(value))
    else:
        raise TypeError(f"compiled code takes arrays, integers of 64 bits and tuples of them, not {value!r}")


def _meet(array: Any) -> tuple[Any, tuple[Any, ...], tuple[int, ...]]:
    place, flags = id(array), array.flags
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    met = _met[place] = (
        weakref.ref(array, lambda _, met=_met: met.pop(place, None)),  # type: ignore[misc]
        (array.dtype, array.ndim, order, flags.writeable),
        (0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides),
    )
    return met


def said(kinds: Kinds) -> str:
    """Kinds in words that are the same in each process."""
    return repr([_said(kind) for kind in kinds])


def _said(kind: Any) -> Any:
    if isinstance(kind, tuple):
        return [_said(each) for each in kind]
    return f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else repr(kind)


def processor() -> str:
    """For what machine code is made here: the processor, and what Numba was told of it or of how to compile."""
    told = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("NUMBA_"))
    try:
        configured = _CONFIGURATION.read_bytes()
    except OSError:
        configured = b""
    features = llvm.get_host_cpu_features().flatten()
    return repr((llvm.get_process_triple(), llvm.get_host_cpu_name(), features, told, configured))


class EntryPoint:
    """A function that Python calls; for each combination of kinds its code is taken from where it is kept, or compiled.

    `take` gives the code for kinds, or None; `make` compiles it for arguments, and has it kept.
    """

    def __init__(self, take: Callable[[Kinds], Code | None], make: Callable[[Kinds, tuple[Any, ...]], Code]) -> None:
        self._take, self._make = take, make
        self._linked: dict[Kinds, Linked] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Call it. Raises IndexError, TypeError, and what `make` raises."""
        kinds, words = spread(arguments)
        linked = self._linked.get(kinds)
        return (linked or self._first(kinds, arguments))(words)

    def _first(self, kinds: Kinds, arguments: tuple[Any, ...]) -> Linked:
        with self._lock:
            if kinds not in self._linked:
                code = self._take(kinds)
                if code is None or not code.is_complete():
                    code = self._make(kinds, arguments)
                self._linked[kinds] = Linked(code)
            return self._linked[kinds]
