"""A model, compiled: its functions lowered, the kernels bound to them, one entry point, kept in a cache (`cache`)."""

from __future__ import annotations

import hashlib
import inspect
import threading
import types
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from zombieproof.checker.engine import places, public
from zombieproof.checker.engine.cache import SUFFIX, Kept, folder_of, is_on, key_of, note_key
from zombieproof.checker.engine.internals import expected
from zombieproof.checker.engine.internals.identity import identity
from zombieproof.checker.engine.internals.native import Code, EntryPoint, Kinds
from zombieproof.checker.engine.internals.room import with_room
from zombieproof.checker.engine.layout import Layout, layout_of
from zombieproof.checker.engine.model import Malformed, Model
from zombieproof.checker.engine.sources import LoweringError, plain_function
from zombieproof.checker.engine.versions import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from zombieproof.checker.engine.lowering import Lowering

_SOURCES: Final = (
    "compiled",
    "binding",
    "public",
    "internals/native",
    "kernels",
    "looking_up",
    "fingerprints",
    "wandering",
    "graph_kernels",
    "packing",
    "units",
    "places",
    "reading",
    "intrinsics",
    "coverage",
    "internals/compilation",
    "internals/emission",
    "internals/remembering",
    "lowering",
    "rewriting",
    "folding",
    "sources",
    "kinds",
    "widths",
    "layout",
    "field_by_field",
    "model",
    "orders",
    "sorts",
    "internals/room",
    "versions",
)
"""Our own modules that decide what is compiled, or how it is called: this one, and all that `binding` reaches."""
_ENTRIES: Final = ("engine", "rehash", "wander", "note", "first_back", "link", "components")
_MOST_ACTIONS: Final = 1 << 16


AnyEntryPoint = EntryPoint | public.EntryPoint


@dataclass(frozen=True)
class Engine:
    """A model that can be called: the layouts of its records, its source, the hash of all that, and the entry points.

    `call` is `kernels.engine`; the others are called as they are in `looking_up`, `wandering` and `graph_kernels`. Each
    is loaded from the cache or compiled by the first who calls it. It raises LoweringError for a function that Numba
    cannot compile, IndexError for an index outside its array.
    """

    model: Model
    state: Layout
    setup: Layout
    trail: Layout
    source: _Source
    key: str
    call: AnyEntryPoint
    rehash: AnyEntryPoint
    wander: AnyEntryPoint
    note: AnyEntryPoint
    first_back: AnyEntryPoint
    link: AnyEntryPoint
    components: AnyEntryPoint


_engines: dict[int, Engine] = {}
_entries: dict[str, tuple[Any, ...]] = {}
_lock = threading.Lock()


def compiled(model: Model) -> Engine:
    """Return the engine of a model, made once in a process.

    Raises:
        LoweringError: a function of the model cannot be lowered.
        LayoutError: a record cannot be laid out.
        Malformed: the model has more actions or promises than the engine can number.
    """
    with _lock:
        if id(model) not in _engines:  # the engine keeps the model, so the number is not given to another
            _engines[id(model)] = with_room(_engine, model)
        return _engines[id(model)]


def is_keeping() -> bool:
    """Whether what is compiled is kept for the next process."""
    return is_on() and expected.fault() is None


def is_kept(model: Model) -> bool:
    """Whether the cache has the code of a model, so that nothing of it has to be lowered or compiled."""
    known = _Source(model).known
    folder = folder_of(known) if known is not None else None
    return folder is not None and any(folder.glob(f"{_ENTRIES[0]}-*{SUFFIX}"))


def _engine(model: Model) -> Engine:
    if not 0 < model.actions <= _MOST_ACTIONS or len(model.promises) > places.MAX_PROMISES:
        raise Malformed(
            f"{model.name} has {model.actions} actions and {len(model.promises)} promises; "
            f"an engine takes 1 to {_MOST_ACTIONS} actions and up to {places.MAX_PROMISES} promises"
        )
    _check_parameters(model)
    source = _Source(model)
    if source.key not in _entries:
        _entries[source.key] = _entered(source)
    return Engine(model, source.state, source.setup, source.trail, source, source.key, *_entries[source.key])


class _Source:
    """What a model is compiled from. It is lowered when that is needed, which it is not for what is in the cache.

    Attributes:
        known: its `key`, where the cache says what that is.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.state, self.setup, self.trail = (
            layout_of(record, model.sizes) for record in (model.state, model.setup, model.trail)
        )
        self._name = identity(model.functions, *self._others(), *versions()) if is_keeping() else None
        self.known = key_of(self._name) if self._name is not None else None

    @cached_property
    def key(self) -> str:
        """The hash of the lowered functions and of all that is compiled with them. Raises LoweringError."""
        if self.known is not None:
            return self.known
        names = [self.lowering.read(function).name for function in self.model.functions]
        key = self.lowering.source_hash(names, *self._others())
        if self._name is not None:
            note_key(self._name, key)
        return key

    def _others(self) -> tuple[object, ...]:
        """What decides beside the functions: layouts, numbers, and our own sources."""
        model = self.model
        here = Path(__file__).parent
        own = [hashlib.sha256((here / f"{name}.py").read_bytes()).hexdigest() for name in _SOURCES]
        takes = [promise.parameters for promise in model.promises], sorted(model.faults), model.followed.clusters
        dtypes = [layout.padded.descr for layout in (self.state, self.setup, self.trail)]
        return dtypes, takes, model.actions, model.coverage, own

    @cached_property
    def lowering(self) -> Lowering:
        """The functions, lowered. Raises LoweringError."""
        from zombieproof.checker.engine.binding import lowered  # noqa: PLC0415  # Numba is loaded when it is needed

        return lowered(self.model)


def _check_parameters(model: Model) -> None:
    wanted = {
        "step": "(state, action, setup, trail)",
        "worth_trying": "(state, setup, part)",
        "tasks": "(state, action, setup)",
        "normalise": "(state, setup)",
        "bound_hit": "(state, setup)",
    }
    for name, legal in wanted.items():
        function = plain_function(getattr(model, name))
        found = inspect.signature(function).parameters
        if len(found) != legal.count(",") + 1:
            where = f"{places_of(function)}: {model.name}"
            raise LoweringError(f"{where}: {name} has {len(found)} parameters. Legal: {legal.count(',') + 1}, {legal}.")
    for promise in model.promises:
        function = plain_function(promise.holds)
        if not 1 <= len(inspect.signature(function).parameters) <= 2:
            where = f"{places_of(function)}: {model.name}"
            raise LoweringError(f"{where}: {promise.name} has other parameters than (state) or (state, setup).")


def _entered(source: _Source) -> tuple[AnyEntryPoint, ...]:
    """Return the entry points. What they are bound to is made when one has to be compiled."""
    scope: dict[str, Any] = {}
    if expected.fault() is not None:
        return tuple(_public_entry(name, source, scope) for name in _ENTRIES)
    folder = folder_of(source.key)
    return tuple(_entry(name, source, scope, Kept(folder, name) if folder else None) for name in _ENTRIES)


def _public_entry(name: str, source: _Source, scope: dict[str, Any]) -> public.EntryPoint:
    def make() -> Callable[..., Any]:
        from zombieproof.checker.engine.binding import callable_of  # noqa: PLC0415  # Numba is loaded when it is needed

        return callable_of(name, source, scope)

    return public.EntryPoint(make)


def _entry(name: str, source: _Source, scope: dict[str, Any], kept: Kept | None) -> EntryPoint:
    def take(kinds: Kinds) -> Code | None:
        return kept.take(kinds) if kept else None

    def make(kinds: Kinds, arguments: tuple[Any, ...]) -> Code:
        from zombieproof.checker.engine.binding import code_of  # noqa: PLC0415  # Numba is loaded when it is needed

        code = code_of(name, source, scope, arguments)
        if kept:
            kept.keep(kinds, code)
        return code

    return EntryPoint(take, make)


def places_of(function: types.FunctionType) -> str:
    """Return file and line of a function."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
