"""Where a compiled model used an index outside its array: found by doing the last batch again, world by world."""

from __future__ import annotations

import traceback
from collections.abc import Iterable

from zombieproof.checker.hosts import CompiledHost, ModelFault
from zombieproof.checker.model import Model
from zombieproof.checker.search import Search


def index_fault(search: Search, setup: object) -> ModelFault:
    """Return the error for an IndexError in compiled code, with the actions that lead there if they can be found."""
    model = search.engine.model
    host = CompiledHost(model, setup)
    level = len(search.levels.blocks) - 2
    block, first, last = search.batch
    for row in range(first, last):
        world = block.worlds.words[row].tobytes()
        for action in range(model.actions):
            try:
                after, _ = host.step(world, action)
                if after is not None:
                    host.judge(after)
            except IndexError:
                path = [*search.levels.path(level, block.base + row), action]
                return ModelFault(
                    f"{model.name}: an index is outside its array in the last of the actions {path}, or when its world "
                    "is judged. Legal: 0 up to the length of the array",
                    _place(model, setup, path),
                )
    return ModelFault(f"{model.name}: an index is outside its array when a world is judged")


def _place(model: Model, setup: object, path: Iterable[int]) -> str:
    """`file:line` where the actions raise IndexError interpreted; "" where they do not, as for an index below 0."""
    world = model.initial(setup)
    try:
        for action in path:
            model.step(world, action, setup, model.trail())
            model.normalise(world, setup)
        for promise in model.promises:
            promise.judge(world, setup)
    except IndexError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{last.filename}:{last.lineno}"
    return ""
