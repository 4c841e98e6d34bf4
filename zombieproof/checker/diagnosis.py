"""Where a compiled model used an index outside its array: found by doing the last batch again, world by world."""

from __future__ import annotations

from zombieproof.checker.hosts import CompiledHost, ModelFault
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
                    "is judged. Interpreted the same actions raise an IndexError that names the line"
                )
    return ModelFault(f"{model.name}: an index is outside its array when a world is judged")
