"""Where a compiled model used an index outside its array: found by doing the last batch again, state by state."""

from __future__ import annotations

import traceback

from zombieproof.checker.engine.compiled import Engine
from zombieproof.checker.engine.hosts import CompiledHost, ModelFault
from zombieproof.checker.engine.layout import LayoutError
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.search import Search
from zombieproof.checker.engine.sources import place_of


def index_fault(search: Search, setup: object) -> ModelFault:
    """Return the error for an IndexError in compiled code, with the actions that lead there if they can be found."""
    model = search.engine.model
    host = CompiledHost(model, setup)
    level = len(search.levels.blocks) - 2
    for index, state in search.rows(*search.batch):
        for action in range(model.actions):
            try:
                after, _ = host.step(state, action)
                if after is not None:
                    host.judge(after)
            except IndexError:
                return _fault(search.engine, setup, [*search.levels.path(level, index), action])
    return ModelFault(f"{model.name}: an index is outside its array when a state is judged")


def fault_behind(engine: Engine, setup: object, path: list[int]) -> ModelFault:
    """Return the error for an IndexError in compiled code at the end of `path`, or in an action behind it."""
    host = CompiledHost(engine.model, setup)
    state = engine.state.pack(engine.model.initial(setup))
    for number, action in enumerate(path):
        try:
            after, _ = host.step(state, action)
            assert after is not None, "the walk took it"
            state = after
            host.judge(state)
        except IndexError:
            return _fault(engine, setup, path[: number + 1])
    for action in range(engine.model.actions):
        try:
            host.step(state, action)
        except IndexError:
            return _fault(engine, setup, [*path, action])
    return _outside(engine.model, path, "")


def _fault(engine: Engine, setup: object, path: list[int]) -> ModelFault:
    """The error, by what the same actions do when they are interpreted; an index below 0 is legal there."""
    model = engine.model
    trail = engine.trail.unpack(bytes(engine.trail.padded.itemsize))
    state = model.initial(setup)
    try:
        for action in path:
            model.step(state, action, setup, trail)
            engine.state.pack(state)
            model.normalise(state, setup)
            engine.state.pack(state)
        for promise in model.promises:
            promise.judge(state, setup)
    except LayoutError as error:
        place = place_of(error.record, error.field) if error.record is not None else ""
        return ModelFault(
            f"{model.name}: a value does not fit its field in the last of the actions {path}: {error}", place
        )
    except IndexError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return _outside(model, path, f"{last.filename}:{last.lineno}")
    return _outside(model, path, "")


def _outside(model: Model, path: list[int], place: str) -> ModelFault:
    return ModelFault(
        f"{model.name}: an index is outside its array in the last of the actions {path}, or when its state is judged. "
        "Legal: 0 up to the length of the array",
        place,
    )
