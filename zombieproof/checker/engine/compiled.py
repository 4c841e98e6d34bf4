"""A model, compiled: its functions lowered, the kernels bound to them, one entry point, kept in a cache (`cache`)."""

from __future__ import annotations

import hashlib
import inspect
import re
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numba.core.errors import NumbaError

from zombieproof.checker.engine import (
    compilation,
    coverage,
    fingerprints,
    graph_kernels,
    intrinsics,
    kernels,
    looking_up,
    packing,
    places,
    reading,
    wandering,
    widths,
)
from zombieproof.checker.engine import lowering as lowering_module
from zombieproof.checker.engine.cache import Kept, folder_of, is_on, key_of, note_key
from zombieproof.checker.engine.compilation import entry, part, with_room
from zombieproof.checker.engine.identity import identity
from zombieproof.checker.engine.kinds import follow
from zombieproof.checker.engine.layout import Layout, layout_of
from zombieproof.checker.engine.lowering import Lowering, LoweringError, frozen, frozen_words, marked, versions
from zombieproof.checker.engine.model import Malformed, Model
from zombieproof.checker.engine.sources import plain_function

_WEIGHING: Final = ("weight", "scattered", "fingerprint", "moved")
_KERNELS: Final = (
    "worth",
    "ample",
    "mark_successors",
    "expand",
    "flags_of",
    "asked",
    "list_judged",
    "judged",
    "unfinished",
    "gather",
    "turn_of",
    "hand_over",
    "settle",
    "run",
)
_OF_TABLES: Final = ("queue", "home_of", "next_bucket", "deduplicate")
_OF_WALKS: Final = ("shuffled", "coprime")
_PACKING: Final = ("pack_whole", "pack_row", "unpack_whole", "unpack_row", "unpack")
_GLOBALS: Final = (
    vars(wandering) | vars(graph_kernels) | vars(packing) | vars(fingerprints) | vars(looking_up) | vars(kernels)
)
_SOURCES: Final = (
    kernels,
    looking_up,
    fingerprints,
    wandering,
    graph_kernels,
    packing,
    places,
    reading,
    intrinsics,
    coverage,
    compilation,
    lowering_module,
)
_OF_GRAPHS: Final = ("owed_in", "sum_up")
_PARTS: Final = (
    (fingerprints, _WEIGHING),
    (packing, _PACKING),
    (looking_up, _OF_TABLES),
    (kernels, _KERNELS),
    (wandering, _OF_WALKS),
    (graph_kernels, _OF_GRAPHS),
)
_ENTRIES: Final = (
    kernels.engine,
    looking_up.rehash,
    wandering.wander,
    graph_kernels.note,
    graph_kernels.link,
    graph_kernels.components,
)
_MOST_ACTIONS: Final = 1 << 16


@dataclass(frozen=True)
class Engine:
    """A compiled model: the layouts of its records, its source, the hash of all that, and the entry points."""

    model: Model
    state: Layout
    setup: Layout
    trail: Layout
    source: _Source
    key: str
    entry: Callable[..., int]
    rehash: Callable[..., None]
    wander: Callable[..., int]
    note: Callable[..., int]
    link: Callable[..., int]
    components: Callable[..., int]

    def call(self, *arguments: Any) -> int:
        """Call `kernels.engine`; the first call compiles it or loads it from the cache.

        Raises LoweringError for a function that Numba cannot compile, IndexError for an index outside its array.
        """
        return self._called(self.entry, arguments)

    def walk(self, *arguments: Any) -> int:
        """Call `wandering.wander`, which is compiled for itself, by the first who walks; raises what `call` raises."""
        return self._called(self.wander, arguments)

    def look(self, entry: Callable[..., int], *arguments: Any) -> int:
        """Call one of the entries of `graph_kernels`; each is compiled for itself. Raises what `call` raises."""
        return self._called(entry, arguments)

    def _called(self, entry: Callable[..., int], arguments: tuple[Any, ...]) -> int:
        try:
            return with_room(entry, *arguments)
        except (NumbaError, KeyError) as error:
            raise LoweringError(_explained(self, error)) from error


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
        key: the hash of the lowered functions and of all that is compiled with them.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.state, self.setup, self.trail = (
            layout_of(record, model.sizes) for record in (model.state, model.setup, model.trail)
        )
        name = identity(model.functions, *self._others(), *versions()) if is_on() else None
        known = key_of(name) if name is not None else None
        self.key = known if known is not None else self._key()
        if name is not None and known is None:
            note_key(name, self.key)

    def _others(self) -> tuple[object, ...]:
        """What decides beside the functions: layouts, numbers, and our own sources."""
        model = self.model
        own = [Path(file or "").read_bytes() for file in (__file__, *(module.__file__ for module in _SOURCES))]
        takes = [promise.parameters for promise in model.promises], sorted(model.faults), model.followed.clusters
        dtypes = [layout.padded.descr for layout in (self.state, self.setup, self.trail)]
        return dtypes, takes, model.actions, model.coverage, own

    def _key(self) -> str:
        names = [self.lowering.read(function).name for function in self.model.functions]
        return self.lowering.source_hash(names, *self._others())

    @cached_property
    def lowering(self) -> Lowering:
        """The functions, lowered. Raises LoweringError."""
        lowering = Lowering(sizes=self.model.sizes)
        for function in self.model.functions:
            lowering.read(function)
        followed = follow(self.model, lowering.lowered)
        if not widths.is_ours(self.model):
            widths.guard(lowering, followed.stores)
        return lowering


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


def _entered(source: _Source) -> tuple[Any, ...]:
    """Return the entry points: kernels whose global names, once they are compiled, are those of this model."""
    scope: dict[str, Any] = {"__name__": kernels.__name__}  # Numba imports it again when it loads from the cache

    def bind() -> None:
        if "step" not in scope:
            _bind(source, scope)

    folder = folder_of(source.key)
    if folder is None:
        bind()
    clones = [marked(_with_globals(function, scope), source.key[:16]) for function in _ENTRIES]
    return tuple(
        entry(clone, Kept(folder, function.__name__, bind) if folder is not None else None)
        for clone, function in zip(clones, _ENTRIES, strict=True)
    )


def _bind(source: _Source, scope: dict[str, Any]) -> None:
    """Give the kernels what their global names stand for."""
    model, lowering, state = source.model, source.lowering, source.state
    lowering.mark = mark = source.key[:16]
    words = state.padded.itemsize // 8
    scope |= {
        **{name: value for name, value in _GLOBALS.items() if name.isupper()},
        "np": np,
        "clear_words": intrinsics.clear_words,
        "copy_words": intrinsics.copy_words,
        "leading_zeros": intrinsics.leading_zeros,
        "load_shared": intrinsics.load_shared,
        "load_word": intrinsics.load_word,
        "prefetch": intrinsics.prefetch,
        "add_weighed": intrinsics.add_weighed,
        "look_up": intrinsics.look_up,
        "note_changes": intrinsics.note_changes,
        "store_shared": intrinsics.store_shared,
        "store_word": intrinsics.store_word,
        "take_next": intrinsics.take_next,
        "trailing_zeros": intrinsics.trailing_zeros,
        "word_of": intrinsics.word_of,
        "WORDS": words,
        "HEAD": packing.head_of(words),
        "PARTS": places.words_of_bits(words),
        "IS_WHOLE": packing.is_whole(words),
        "UNIT_ROWS": packing.unit_rows(words),
        "MOST_BYTES": packing.most_bytes(words),
        "TRAIL_WORDS": source.trail.padded.itemsize // 8,
        "ACTIONS": model.actions,
        "ACTION_PARTS": places.words_of_bits(model.actions),
        "PROMISES": len(model.promises),
        "KEYS": keys(words),
        "READERS": reading.readers_of_words(reading.words_read(model, lowering.lowered, state)),
        "PROMISE_PARTS": places.words_of_bits(len(model.promises)),
        "EVERYTHING": reading.every_word(state),
        "FAULTS": frozen(tuple(int(action in model.faults) for action in range(model.actions))),
        "CLUSTERS": len(model.followed.clusters),
        "CLUSTER_OF": frozen(model.followed.cluster_of(model.actions)),
        "step": _step(model, lowering),
        "worth_trying": lowering.lower(model.worth_trying),
        "tasks": lowering.lower(model.tasks),
        "normalise": lowering.lower(model.normalise),
        "bound_hit": lowering.lower(model.bound_hit),
        "is_ready": lowering.lower(model.followed.is_ready),
        "judge": _judge(model, lowering),
    }
    count = coverage.count_moves if any(model.coverage) else coverage.count_nothing
    scope["count_moves"] = part(marked(_with_globals(count, {"__name__": kernels.__name__}), mark), checked=False)
    for module, names in _PARTS:
        for name in names:
            scope[name] = part(marked(_with_globals(getattr(module, name), scope), mark), checked=False)


def keys(words: int) -> Any:
    """Return the keys of the words of a state, and of none: 128 bits each, which nobody chose (SHA-256 of a name)."""
    found = [hashlib.sha256(f"zombieproof: the key of word {word}".encode()).digest() for word in range(words + 1)]
    return frozen_words([np.frombuffer(digest[:16], "<u8").tolist() for digest in found])


def _with_globals(function: Callable[..., Any], scope: dict[str, Any]) -> types.FunctionType:
    assert isinstance(function, types.FunctionType)
    return types.FunctionType(function.__code__, scope, function.__name__)


_FEW_ACTIONS: Final = 64


def _step(model: Model, lowering: Lowering) -> Any:
    """Return a function that takes an action; of few each is compiled for itself, with its number a constant."""
    step = lowering.lower(model.step)
    if model.actions > _FEW_ACTIONS:
        return step
    scope: dict[str, Any] = {"__name__": __name__, "step": step}
    lines = ["def one_step(state, action, setup, trail):"]
    lines += [f"    if action == {i}: return step(state, {i}, setup, trail)" for i in range(model.actions)]
    exec("\n".join([*lines, "    return False"]), scope)  # noqa: S102  # the text is made of the lines above
    return part(marked(scope["one_step"], lowering.mark), checked=False)


def _judge(model: Model, lowering: Lowering) -> Any:
    """Return a function that judges the promise of a given number."""
    lines = ["def judge(state, setup, promise):"]
    scope: dict[str, Any] = {"__name__": __name__}
    for i, promise in enumerate(model.promises):
        scope[f"promise_{i}"] = lowering.lower(promise.holds)
        lines.append(f"    if promise == {i}: return bool(promise_{i}({promise.parameters}))")
    exec("\n".join([*lines, "    return True"]), scope)  # noqa: S102  # the text is made of the lines above
    return part(marked(scope["judge"], lowering.mark), checked=False)


def places_of(function: types.FunctionType) -> str:
    """Return file and line of a function."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


_PLACE: Final = re.compile(r'^File "(?P<file>[^"]+)", line (?P<line>\d+)|.*defined at (?P<at>.+) \((?P<number>\d+)\)')
_TWO_KINDS: Final = re.compile(r"Cannot unify (?P<one>.+) and (?P<other>.+) for '(?P<name>\w+)[.\d]*'")


def _explained(engine: Engine, error: Exception) -> str:
    """Return an error of Numba as one of ours: what, where, what to do. The last line of the model that it names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lowered = tuple(engine.source.lowering.lowered.values())
    own = {each.filename: each.filename for each in lowered}
    own |= {Path(name).name: name for name in own}
    found = [(one["file"] or one["at"], one["line"] or one["number"]) for one in map(_PLACE.match, lines) if one]
    named = [f"{own[file]}:{line}" for file, line in found if file in own]
    where = named[-1] if named else engine.model.name
    if isinstance(error, KeyError):
        name = str(error.args[0])
        where = ", ".join(each.name for each in lowered if each.mentions(name)) or where
        what = f"a record has no field {name}"
    elif unified := _TWO_KINDS.search(str(error)):
        what = f"{unified['name']} is of two kinds, {unified['one']} and {unified['other']}"
    elif "Function(int64)" in str(error):
        what = "something that is no integer is stored, passed or returned where an integer is wanted"
    else:
        what = next((line for line in lines if not line.startswith(("Failed in", "During", "File"))), lines[0])[:300]
    return (
        f"{where}: {engine.model.name} cannot be compiled: {what}. "
        "Legal: integers, booleans, NamedTuples of them, the fields of records; a record is filled field by field."
    )
