"""The two hosts of a model, one world at a time: plain objects interpreted, packed records compiled."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.layout import Layout
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.places import Candidates, Kept, Surroundings, Worlds


class ModelFault(Exception):
    """A model that breaks the rules for models; the message names the model and what it did.

    `place` is `file:line` of what did it, where that is known.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class HostsDisagree(ModelFault):
    """Interpreted and compiled differ; the message names the step, the action and the first leaf that differs."""


class CompiledHost:
    """A model compiled. Worlds come and go as packed bytes."""

    def __init__(self, model: Model, setup: object) -> None:
        self.engine = compiled(model)
        world, trail = self.engine.world.padded, self.engine.trail.padded
        self._worlds = _worlds(world)
        trails = _worlds(trail)
        packed = np.frombuffer(bytearray(self.engine.setup.pack(setup)), np.uint64)
        shape = tuple(max(1, count) for count in model.coverage)
        self._around = Surroundings(
            packed.view(self.engine.setup.padded).reshape(-1), trails.records, trails.words, np.zeros(shape, np.int64)
        )
        parents, actions = np.zeros(1, np.uint32), np.zeros(1, np.uint16)
        prints, order, fresh = np.zeros(1, np.uint64), np.zeros(1, np.uint32), np.zeros(1, np.uint8)
        self._out = Candidates(self._worlds, prints, parents, actions, order, fresh)
        self._kept = Kept(self._worlds, parents, actions)
        self._table = np.zeros((k.REGIONS, 1), np.uint64), np.zeros(k.REGIONS, np.int64)
        self._state = np.zeros(k.PLACES, np.int64)

    def _call(self, phase: int, world: bytes) -> bytes:
        self._worlds.words[0] = np.frombuffer(world, np.uint64)
        self.engine.call(phase, self._worlds, self._out, self._kept, *self._table, self._around, self._state)
        after: bytes = self._worlds.words.tobytes()
        return after

    def step(self, world: bytes, action: int) -> tuple[bytes | None, bytes]:
        """Return the successor in normal form, or None where the action is disabled, and the packed trail.

        Raises ModelFault where a disabled action has changed the world, IndexError for an index outside its array.
        """
        self._state[k.PARENT] = action
        after = self._call(k.STEP, world)
        if self._state[k.RESULT]:
            return after, self._around.trail_words.tobytes()
        if after != world:
            where = difference(self.engine.world, world, after)
            name = self.engine.model.name
            raise ModelFault(f"{name}: action {action} is disabled but has changed the world, compiled: {where}")
        return None, b""

    def judge(self, world: bytes) -> tuple[list[bool], int]:
        """Return what each promise says of a world, and the code of the bound that it hit (then all is False).

        Raises ModelFault where a promise has changed the world.
        """
        count = len(self.engine.model.promises)
        self._state[:] = 0
        self._state[k.VIOLATED] = -1
        self._state[k.WITNESSES : k.WITNESSES + count] = -1
        self._state[k.ACTIVE : k.ACTIVE + count] = k.SOMETIMES
        after = self._call(k.JUDGE, world)
        if after != world:
            where = difference(self.engine.world, world, after)
            raise ModelFault(f"{self.engine.model.name}: a promise has changed the world, compiled: {where}")
        bounds = self._state[k.BOUNDS : k.BOUNDS + k.MAX_BOUNDS]
        return [bool(index == 0) for index in self._state[k.WITNESSES : k.WITNESSES + count]], int(bounds.argmax())

    def fingerprint(self, world: bytes) -> int:
        """Return the 64 bits by which exploration knows a world."""
        self.judge(world)
        return int(self._out.prints[0])


class InterpretedHost:
    """A model interpreted. Worlds are objects; those that are given stay as they are."""

    def __init__(self, model: Model, setup: object, world: Layout, trail: Layout) -> None:
        self.model, self.setup, self.world, self.trail = model, setup, world, trail

    def step(self, before: Any, action: int) -> tuple[Any, Any]:
        """Return the successor in normal form, or None where the action is disabled, and the trail.

        Raises ModelFault where a disabled action has changed the world, or a normal form has another normal form.
        """
        after = copy.deepcopy(before)
        trail = self.trail.unpack(bytes(self.trail.padded.itemsize))
        if self.model.step(after, action, self.setup, trail):
            self.model.normalise(after, self.setup)
            self._check_normal(after, f"after action {action}")
            return after, trail
        if self.world.leaves(after) != self.world.leaves(before):
            where = difference(self.world, self.world.pack(before), self.world.pack(after))
            raise ModelFault(f"{self.model.name}: action {action} is disabled but has changed the world: {where}")
        return None, trail

    def initial(self) -> Any:
        """Return the initial world; raises ModelFault where it is not in normal form."""
        world = self.model.initial(self.setup)
        self._check_normal(world, "at the beginning")
        return world

    def _check_normal(self, world: Any, when: str) -> None:
        again = copy.deepcopy(world)
        self.model.normalise(again, self.setup)
        if self.world.leaves(again) != self.world.leaves(world):
            where = difference(self.world, self.world.pack(world), self.world.pack(again))
            raise ModelFault(f"{self.model.name}: {when} the normal form has another normal form: {where}")


def difference(layout: Layout, expected: bytes, found: bytes) -> str:
    """Return the first leaf that differs, in words."""
    left, right = layout.leaves(layout.unpack(expected)), layout.leaves(layout.unpack(found))
    for path, one, other in zip(layout.paths(), left, right, strict=True):
        if one != other:
            return f"{path} is {one} and {other}"
    return "only the padding differs"


def _worlds(dtype: np.dtype[np.void]) -> Worlds:
    words = np.zeros((1, dtype.itemsize // 8), np.uint64)
    return Worlds(words, words.view(dtype).reshape(-1))
