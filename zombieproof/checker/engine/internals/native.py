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
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np

_WORD: Final = ctypes.c_int64
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_CONFIGURATION: Final = Path(".numba_config.yaml")

Kinds = tuple[int, ...]
"""What decides for which arguments code is compiled: numbers of this process (`said` says what they stand for)."""


@dataclass(frozen=True)
class Code:
    """A compiled function.

    Attributes:
        name: what the object file calls it.
        gives: whether it returns an int64; else nothing.
        needs: functions of the process that it calls.
        content: the object file.
        spreading: that of the function that reads its arguments from memory (`spreading_to`).
    """

    name: str
    gives: bool
    needs: tuple[str, ...]
    content: bytes
    spreading: bytes

    def packed(self) -> bytes:
        """All of it, to be kept."""
        head = json.dumps([self.name, self.gives, self.needs, len(self.content)])
        return head.encode() + b"\n" + self.content + self.spreading

    @classmethod
    def unpacked(cls, kept: bytes) -> Code:
        """The code from what `packed` gave."""
        head, _, both = kept.partition(b"\n")
        name, gives, needs, size = json.loads(head)
        return cls(name, gives, tuple(needs), both[:size], both[size:])

    def is_complete(self) -> bool:
        """Whether all that it needs is in this process; what is not would end the process when it is linked."""
        return all(llvm.address_of_symbol(name) is not None for name in self.needs)


_CALL: Final = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_SPREADING: Final = "spread"


class Linked:
    """A function that can be called, for as long as this object is there."""

    def __init__(self, code: Code) -> None:
        # A linker for each: names of one object file never meet those of another.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        for content in (code.content, code.spreading):
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(content))
        self._engine.finalize_object()
        self._function = _CALL(self._engine.get_function_address(_SPREADING))
        self._gives = code.gives

    def __call__(self, words: list[int]) -> int | None:
        """Call it with arguments that were spread; other threads of Python run on. Raises what `called` raises."""
        return self.called(array("q", words))

    def called(self, block: array[int]) -> int | None:
        """Call it with arguments that were spread, and written down.

        Raises:
            IndexError: an index was outside its array.
        """
        result, exception = _WORD(0), ctypes.c_void_p()
        place, _ = block.buffer_info()
        status = self._function(ctypes.addressof(result), ctypes.addressof(exception), place)
        if status:
            raise _raised(status, exception.value)
        return result.value if self._gives else None


def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()


def spreading_to(name: str, words: int) -> bytes:
    """Compile a function `spread(result, exception, words)` that calls another one with each word as an argument.

    To hand two hundred arguments over one by one takes longer than what some calls do. To compile it takes as long as
    to link all the rest, so it is kept beside what it calls.
    """
    pointer = "ptr" if llvm.llvm_version_info[0] >= 17 else "i64*"  # as LLVM writes it since then
    kinds = ", ".join([pointer, pointer, *["i64"] * words])
    given = ", ".join([f"{pointer} %result", f"{pointer} %exception", *[f"i64 %w{i}" for i in range(words)]])
    lines = [f'declare i32 @"{name}"({kinds})']
    lines += [f"define i32 @{_SPREADING}({pointer} %result, {pointer} %exception, {pointer} %words) {{"]
    for i in range(words):
        lines += [f"%p{i} = getelementptr i64, {pointer} %words, i64 {i}", f"%w{i} = load i64, {pointer} %p{i}"]
    text = "\n".join([*lines, f'%status = call i32 @"{name}"({given})', "ret i32 %status", "}"])
    return bytes(_machine().emit_object(llvm.parse_assembly(text)))


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


@dataclass(frozen=True, slots=True)
class Laid:
    """An argument, or a part of one, that stays where it is and is handed over again and again: it was spread once."""

    value: Any
    kinds: Kinds
    words: list[int]


def laid(value: Any) -> Any:
    """Return what is handed over in place of an argument: it, spread for many calls. Raises TypeError."""
    kinds, words = spread((value,))
    return Laid(value, kinds, words)


def plain(argument: Any) -> Any:
    """An argument as it was before parts of it were laid."""
    if isinstance(argument, Laid):
        return argument.value
    if isinstance(argument, tuple):
        parts = map(plain, argument)
        return argument._make(parts) if hasattr(argument, "_make") else tuple(parts)
    return argument


def spread(arguments: tuple[Any, ...]) -> tuple[Kinds, list[int]]:
    """Return the kinds of arguments, and the words that a compiled function takes for them.

    Arguments are arrays, integers, tuples of them, and what was `laid`. The arrays have to be there until the call is
    over.

    Raises:
        TypeError: something else.
    """
    kinds: list[int] = []
    words: list[int] = []
    for argument in arguments:
        _spread(argument, kinds, words)
    return tuple(kinds), words


_met: Final[dict[int, tuple[Any, int, tuple[int, ...]]]] = {}
"""Arrays that were spread and are still there, by identity: a search calls with the same ones again and again.

An array that others refer to, weakly too, is not resized in place by NumPy.
"""
_numbers: Final[dict[Any, int]] = {}
"""What decides about one argument or part of one, with its number."""


def _number(kind: Any) -> int:
    return _numbers.setdefault(kind, len(_numbers))


_INTEGER: Final = _number(int)


def _spread(value: Any, kinds: list[int], words: list[int]) -> None:
    if isinstance(value, np.ndarray):
        met = _met.get(id(value))
        if met is None or met[0]() is not value:
            met = _meet(value)
        kinds.append(met[1])
        words += met[2]
    elif isinstance(value, Laid):
        kinds += value.kinds
        words += value.words
    elif isinstance(value, tuple):
        kinds.append(_number((type(value), len(value))))
        last, its_kinds, its_words = None, slice(0), slice(0)
        for each in value:
            if each is last and isinstance(each, tuple):  # the same once more, as the ways of a thread may be
                kinds += kinds[its_kinds]
                words += words[its_words]
                continue
            last, kind, word = each, len(kinds), len(words)
            _spread(each, kinds, words)
            its_kinds, its_words = slice(kind, len(kinds)), slice(word, len(words))
    elif type(value) in (int, np.int64) and _LEAST <= value <= _MOST:
        kinds.append(_INTEGER)
        words.append(int(value))
    else:
        raise TypeError(f"compiled code takes arrays, integers of 64 bits and tuples of them, not {value!r}")


def _meet(one: Any) -> tuple[Any, int, tuple[int, ...]]:
    place, flags = id(one), one.flags
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    met = _met[place] = (
        weakref.ref(one, lambda _, met=_met: met.pop(place, None)),  # type: ignore[misc]
        _number((one.dtype, one.ndim, order, flags.writeable)),
        (0, 0, one.size, one.itemsize, one.ctypes.data, *one.shape, *one.strides),
    )
    return met


def said(kinds: Kinds) -> str:
    """Kinds in words that are the same in each process."""
    known = {number: kind for kind, number in _numbers.items()}
    return repr([_said(known[number]) for number in kinds])


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


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments, which stay where they are for as long as this object is there."""

    linked: Linked
    block: array[int]
    arguments: tuple[Any, ...]

    def __call__(self) -> Any:
        """Call it. Raises IndexError for an index outside its array."""
        return self.linked.called(self.block)


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
        return self._of(kinds, arguments)(words)

    def prepared(self, *arguments: Any) -> Call:
        """Return what calls it with these arguments each time, and with what is in their arrays then.

        To tell where two hundred arguments are takes as long as some calls. Raises TypeError, and what `make` raises.
        """
        kinds, words = spread(arguments)
        return Call(self._of(kinds, arguments), array("q", words), arguments)

    def _of(self, kinds: Kinds, arguments: tuple[Any, ...]) -> Linked:
        if kinds in self._linked:
            return self._linked[kinds]
        with self._lock:
            if kinds not in self._linked:
                code = self._take(kinds)
                if code is None or not code.is_complete():
                    code = self._make(kinds, plain(arguments))
                self._linked[kinds] = Linked(code)
            return self._linked[kinds]
