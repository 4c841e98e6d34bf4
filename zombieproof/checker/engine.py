"""A model, compiled: its functions lowered, the kernels bound to them, one entry point, kept in a cache.

The cache folder is named after a hash of everything that was lowered (see `Lowering.source_hash`), because Numba's own cache looks
at one file only and would run yesterday's model after an edit in another. ZOMBIEPROOF_CACHE_DIR chooses where the folders
are (default: the user's cache folder), ZOMBIEPROOF_NO_CACHE=1 switches the cache off.
"""

from __future__ import annotations

import os
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from zombieproof.checker import coverage, intrinsics, kernels
from zombieproof.checker.compilation import entry, part
from zombieproof.checker.layout import Layout, layout_of
from zombieproof.checker.lowering import Lowering
from zombieproof.checker.model import Model

_KERNELS: Final = ("fingerprint", "owner_of", "partition", "expand", "deduplicate", "judged", "gather", "run")


@dataclass(frozen=True)
class Engine:
    """A compiled model. `call` is `kernels.engine`, `rehash` is `kernels.rehash`, compiled."""

    model: Model
    world: Layout
    setup: Layout
    trail: Layout
    key: str
    call: Callable[..., int]
    rehash: Callable[..., None]


_engines: dict[tuple[str, int], Engine] = {}


def compiled(model: Model) -> Engine:
    """Return the engine of a model: made once in a process, compiled at its first call, loaded from the cache if possible.

    Raises LoweringError where a function of the model cannot be lowered, LayoutError where a record cannot be laid out.
    """
    lowering = Lowering()
    for function in (model.step, model.normalise, model.bound_hit, *(p.holds for p in model.promises)):
        lowering.read(function)
    world, setup, trail = (layout_of(record, model.sizes) for record in (model.world, model.setup, model.trail))
    own = [Path(module.__file__ or "").read_bytes() for module in (kernels, intrinsics, coverage)]
    names = [
        (f.__module__, f.__qualname__)
        for f in (model.step, model.normalise, model.bound_hit, *(p.holds for p in model.promises))
    ]
    key = lowering.source_hash(
        names, world.padded.descr, setup.padded.descr, trail.padded.descr, model.actions, model.coverage, own
    )
    if (key, id(model)) not in _engines:
        call, rehash = _bound(model, lowering, world, trail, key)
        _engines[key, id(model)] = Engine(model, world, setup, trail, key, call, rehash)
    return _engines[key, id(model)]


def _bound(model: Model, lowering: Lowering, world: Layout, trail: Layout, key: str) -> tuple[Any, Any]:
    scope: dict[str, Any] = {
        **{name: value for name, value in vars(kernels).items() if name.isupper() or name.startswith(("_", "np"))},
        "__name__": kernels.__name__,  # Numba imports it again when it loads the cache
        "np": np,
        "prefetch": intrinsics.prefetch,
        "folded_product": intrinsics.folded_product,
        "WORDS": world.padded.itemsize // 8,
        "TRAIL_WORDS": trail.padded.itemsize // 8,
        "ACTIONS": model.actions,
        "PROMISES": len(model.promises),
        "step": lowering.lower(model.step),
        "normalise": lowering.lower(model.normalise),
        "bound_hit": lowering.lower(model.bound_hit),
        "count_moves": _jitted(
            coverage.count_moves if any(model.coverage) else coverage.count_nothing, {"__name__": coverage.__name__}
        ),
        "judge": _judge([(lowering.lower(promise.holds), promise.parameters) for promise in model.promises]),
    }
    for name in _KERNELS:
        scope[name] = _jitted(getattr(kernels, name), scope)
    file = _entry_file(key)
    entries = []
    for function in (kernels.engine, kernels.rehash):
        code = function.__code__ if file is None else function.__code__.replace(co_filename=str(file))
        entries.append(entry(types.FunctionType(code, scope, function.__name__), cache=file is not None))
    return entries[0], entries[1]


def _jitted(function: Callable[..., Any], scope: dict[str, Any]) -> Any:
    assert isinstance(function, types.FunctionType)
    return part(types.FunctionType(function.__code__, scope, function.__name__))


def _judge(promises: list[tuple[Any, str]]) -> Any:
    """Return a function that judges the promise of a given number."""
    lines = ["def judge(world, setup, promise):"]
    lines += [f"    if promise == {i}: return bool(promise_{i}({given}))" for i, (_, given) in enumerate(promises)]
    lines += ["    return True"]
    scope: dict[str, Any] = {"__name__": __name__, **{f"promise_{i}": p for i, (p, _) in enumerate(promises)}}
    exec("\n".join(lines), scope)  # noqa: S102  # the text is the four lines above
    return part(scope["judge"])


def cache_folder() -> Path | None:
    """Return where compiled models are kept, or None if they are not to be kept."""
    if os.environ.get("ZOMBIEPROOF_NO_CACHE", "") not in ("", "0"):
        return None
    chosen = os.environ.get("ZOMBIEPROOF_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "zombieproof"


def _entry_file(key: str) -> Path | None:
    """Return the file in the cache folder that stands for the source of the entry points, or None without a cache.

    Numba keeps what it compiles beside the source file of a function, and takes it for current while that file is untouched.
    """
    folder = cache_folder()
    if folder is None:
        return None
    file = folder / key / "entry.py"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".new", delete=False) as new:
                new.write('"""Stands for the source of a compiled model; the folder is named after its hash."""\n')
            Path(new.name).replace(file)
    except OSError:
        return None
    return file
