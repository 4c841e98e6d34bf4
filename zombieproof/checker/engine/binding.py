"""What compiled code of a model is made of: the kernels, whose global names stand for what the model says.

Only this needs Numba; it is imported by who has to compile.
"""

from __future__ import annotations

import hashlib
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numba.core.errors import NumbaError

from zombieproof.checker.engine import (
    coverage,
    fingerprints,
    graph_kernels,
    intrinsics,
    kernels,
    looking_up,
    packing,
    places,
    public,
    reading,
    units,
    wandering,
    widths,
)
from zombieproof.checker.engine.internals.native import Code
from zombieproof.checker.engine.internals.room import with_room
from zombieproof.checker.engine.kinds import follow
from zombieproof.checker.engine.layout import Layout
from zombieproof.checker.engine.lowering import Lowering, LoweringError, frozen, frozen_words, marked, part
from zombieproof.checker.engine.model import Model

_KERNELS: Final = (
    "worth",
    "ample",
    "mark_successors",
    "expand",
    "flags_of",
    "asked",
    "list_judged",
    "judge",
    "judged",
    "unfinished",
    "gather",
    "turn_of",
    "hand_over",
    "settle",
    "run",
)
_OF_TABLES: Final = ("queue", "home_of", "next_bucket", "sought", "place_in", "deduplicate")
_WEIGHING: Final = ("weight", "scattered", "fingerprint", "moved")
_OF_WALKS: Final = ("shuffled", "coprime")
_PACKING: Final = ("pack_whole", "pack_row", "unpack_whole", "unpack_row", "unpack")
_GLOBALS: Final = (
    vars(wandering) | vars(graph_kernels) | vars(packing) | vars(fingerprints) | vars(looking_up) | vars(kernels)
)
_OF_GRAPHS: Final = ("list_leading", "owed_in", "print_of", "close")
_PARTS: Final = (
    (fingerprints, _WEIGHING),
    (packing, _PACKING),
    (looking_up, _OF_TABLES),
    (kernels, _KERNELS),
    (wandering, _OF_WALKS),
    (graph_kernels, _OF_GRAPHS),
)
_ENTRIES: Final[dict[str, Callable[..., Any]]] = {
    "engine": kernels.engine,
    "rehash": looking_up.rehash,
    "wander": wandering.wander,
    "note": graph_kernels.note,
    "first_back": graph_kernels.first_back,
    "link": graph_kernels.link,
    "components": graph_kernels.components,
}


class Source(Protocol):
    """What is compiled: a model, the layouts of its records, its functions lowered, and the hash of all that."""

    model: Model
    state: Layout
    trail: Layout

    @property
    def key(self) -> str:
        """The hash of all that is compiled."""

    @property
    def lowering(self) -> Lowering:
        """The functions, lowered. Raises LoweringError."""


def lowered(model: Model) -> Lowering:
    """Lower all functions of a model. Raises LoweringError."""
    lowering = Lowering(sizes=model.sizes)
    for function in model.functions:
        lowering.read(function)
    followed = follow(model, lowering.lowered)
    if not widths.is_ours(model):
        widths.guard(lowering, followed.stores)
    return lowering


def code_of(name: str, source: Source, scope: dict[str, Any], arguments: tuple[Any, ...]) -> Code:
    """Compile an entry point for arguments. `scope` is that of all entry points of a model; it is filled by the first.

    Raises:
        LoweringError: there is a function that Numba cannot compile.
    """
    try:
        return with_room(_code_of, name, source, scope, arguments)
    except (NumbaError, KeyError) as error:
        raise LoweringError(_explained(source, error)) from error


def callable_of(name: str, source: Source, scope: dict[str, Any]) -> Callable[..., Any]:
    """Return an entry point that Numba's public interface compiles when it is called; `scope` as for `code_of`.

    It raises LoweringError for a function that Numba cannot compile.
    """
    dispatcher = public.entry(_entry_point(name, source, scope))

    def call(*arguments: Any) -> Any:
        try:
            return dispatcher(*arguments)
        except (NumbaError, KeyError) as error:
            raise LoweringError(_explained(source, error)) from error

    return call


def _code_of(name: str, source: Source, scope: dict[str, Any], arguments: tuple[Any, ...]) -> Code:
    from zombieproof.checker.engine.internals.compilation import machine_code  # noqa: PLC0415  # see `lowering.part`

    return machine_code(_entry_point(name, source, scope), arguments)


def _entry_point(name: str, source: Source, scope: dict[str, Any]) -> types.FunctionType:
    if not scope:
        scope |= _bound(source)
    return marked(_with_globals(_ENTRIES[name], scope), source.key[:16])


def _bound(source: Source) -> dict[str, Any]:
    """Return what the global names of the kernels stand for: once they are compiled, they are those of this model."""
    model, lowering, state = source.model, source.lowering, source.state
    lowering.mark = mark = source.key[:16]
    words = state.padded.itemsize // 8
    scope: dict[str, Any] = {
        "__name__": kernels.__name__,
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
        "HEAD": units.head_of(words),
        "PARTS": places.words_of_bits(words),
        "IS_WHOLE": units.is_whole(words),
        "UNIT_ROWS": units.unit_rows(words),
        "MOST_BYTES": units.most_bytes(words),
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
        "holding": _holding(model, lowering),
    }
    count = coverage.count_moves if any(model.coverage) else coverage.count_nothing
    scope["count_moves"] = part(marked(_with_globals(count, {"__name__": kernels.__name__}), mark), checked=False)
    for module, names in _PARTS:
        for name in names:
            scope[name] = part(marked(_with_globals(getattr(module, name), scope), mark), checked=False)
    return scope


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


def _holding(model: Model, lowering: Lowering) -> Any:
    """Return a function that judges promises, which are given as bits: one after the other, each behind its own branch.

    What a processor expects of a branch it learns by what was asked before; a jump to the promise of a number is
    expected to go where it went last.
    """
    lines = ["def holding(state, setup, part, wanted):", "    held = NOTHING"]
    scope: dict[str, Any] = {"__name__": __name__, "NOTHING": np.uint64(0)}
    for i, promise in enumerate(model.promises):
        scope[f"promise_{i}"] = lowering.lower(promise.holds)
        scope[f"BIT_{i}"] = np.uint64(1 << i % 64)
        if i % 64 == 0:
            lines.append(f"    if part == {i // 64}:")
        lines.append(f"        if wanted & BIT_{i} != NOTHING and promise_{i}({promise.parameters}):")
        lines.append(f"            held |= BIT_{i}")
    exec("\n".join([*lines, "    return held"]), scope)  # noqa: S102  # the text is made of the lines above
    return part(marked(scope["holding"], lowering.mark), checked=False)


_PLACE: Final = re.compile(r'^File "(?P<file>[^"]+)", line (?P<line>\d+)|.*defined at (?P<at>.+) \((?P<number>\d+)\)')
_TWO_KINDS: Final = re.compile(r"Cannot unify (?P<one>.+) and (?P<other>.+) for '(?P<name>\w+)[.\d]*'")


def _explained(source: Source, error: Exception) -> str:
    """Return an error of Numba as one of ours: what, where, what to do. The last line of the model that it names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lowered = tuple(source.lowering.lowered.values())
    own = {each.filename: each.filename for each in lowered}
    own |= {Path(name).name: name for name in own}
    found = [(one["file"] or one["at"], one["line"] or one["number"]) for one in map(_PLACE.match, lines) if one]
    named = [f"{own[file]}:{line}" for file, line in found if file in own]
    where = named[-1] if named else source.model.name
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
        f"{where}: {source.model.name} cannot be compiled: {what}. "
        "Legal: integers, booleans, NamedTuples of them, the fields of records; a record is filled field by field."
    )
