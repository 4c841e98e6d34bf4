"""The two hosts of a model, one state at a time: plain objects interpreted, packed records compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.layout import Layout
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.places import Candidates, Kept, Parents, States, Surroundings, words_of_bits


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
    """A model compiled. States come and go as packed bytes."""

    def __init__(self, model: Model, setup: object) -> None:
        self.engine = compiled(model)
        state, trail = self.engine.state.padded, self.engine.trail.padded
        self._states = rows_of(state)
        trails = rows_of(trail)
        packed = np.frombuffer(bytearray(self.engine.setup.pack(setup)), np.uint64)
        shape = tuple(max(1, count) for count in model.coverage)
        self.around = Surroundings(
            packed.view(self.engine.setup.padded).reshape(-1), trails.records, trails.words, np.zeros(shape, np.int64)
        )
        parents, actions = np.zeros(1, np.uint32), np.zeros(1, np.uint16)
        prints, fresh = np.zeros(1, np.uint64), np.zeros(1, np.uint8)
        changes = np.zeros((1, words_of_bits(self.engine.state.padded.itemsize // 8)), np.uint64)
        self._out = Candidates(self._states, prints, parents, actions, parents, fresh, changes, prints)
        packed, units = np.zeros(1, np.uint8), np.zeros((1, 2), np.int64)
        self._parents = Parents(self._states, packed, units)
        self._kept = Kept(self._states.words, packed, units, prints, parents, actions)
        self._slots = k.Slots(np.zeros((k.REGIONS, 1), np.uint64), np.zeros(k.REGIONS, np.int64))
        self._state = np.zeros(k.PLACES, np.int64)
        self._calls: dict[int, Callable[[], int]] = {}

    def _call(self, phase: int, state: bytes) -> bytes:
        self._states.words[0] = np.frombuffer(state, np.uint64)
        if phase not in self._calls:
            way = k.Way(self._parents, self._out, self.around, self._state)
            ways = (way,) * k.WAYS
            self._calls[phase] = self.engine.call.prepared(phase, ways, self._kept, self._slots, self._state)
        self._calls[phase]()
        after: bytes = self._states.words.tobytes()
        return after

    def step(self, state: bytes, action: int) -> tuple[bytes | None, bytes]:
        """Return the successor in normal form, or None where the action is disabled, and the packed trail.

        Raises ModelFault where a disabled action has changed the state, IndexError for an index outside its array.
        """
        self._state[k.PARENT] = action
        after = self._call(k.STEP, state)
        if self._state[k.RESULT]:
            return after, self.around.trail_words.tobytes()
        if after != state:
            where = difference(self.engine.state, state, after)
            name = self.engine.model.name
            raise ModelFault(f"{name}: action {action} is disabled but has changed the state, compiled: {where}")
        return None, b""

    def judge(self, state: bytes) -> tuple[list[bool], int]:
        """Return what each promise says of a state, and the code of the bound that it hit (then all is False).

        Raises ModelFault where a promise has changed the state.
        """
        count = len(self.engine.model.promises)
        self._state[:] = 0
        self._state[k.VIOLATED] = -1
        self._state[k.WITNESSES : k.WITNESSES + count] = -1
        self._state[k.ACTIVE : k.ACTIVE + count] = k.SOMETIMES
        after = self._call(k.JUDGE, state)
        if after != state:
            where = difference(self.engine.state, state, after)
            raise ModelFault(f"{self.engine.model.name}: a promise has changed the state, compiled: {where}")
        bounds = self._state[k.BOUNDS : k.BOUNDS + k.MAX_BOUNDS]
        return [bool(index == 0) for index in self._state[k.WITNESSES : k.WITNESSES + count]], int(bounds.argmax())

    def fingerprint(self, state: bytes) -> int:
        """Return the 64 bits by which exploration knows a state."""
        self.judge(state)
        return int(self._out.prints[0])


class InterpretedHost:
    """A model interpreted. States are objects; those that are given stay as they are."""

    def __init__(self, model: Model, setup: object, state: Layout, trail: Layout) -> None:
        self.model, self.setup, self.state, self.trail = model, setup, state, trail
        self._no_trail = trail.unpack(bytes(trail.padded.itemsize))

    def step(self, before: Any, action: int) -> tuple[Any, Any]:
        """Return the successor in normal form, or None where the action is disabled, and the trail.

        Raises ModelFault where a disabled action has changed the state, an enabled one is passed over, or a normal form
        has another normal form.
        """
        after = self.state.copy(before)
        trail = self.trail.copy(self._no_trail)
        if self.model.step(after, action, self.setup, trail):
            self.model.normalise(after, self.setup)
            self._check_normal(after, f"after action {action}")
            self._check_tried(before, action)
            return after, trail
        if not self.state.is_same(after, before):
            where = difference(self.state, self.state.pack(before), self.state.pack(after))
            raise ModelFault(f"{self.model.name}: action {action} is disabled but has changed the state: {where}")
        return None, trail

    def initial(self) -> Any:
        """Return the initial state; raises ModelFault where it is not in normal form."""
        state = self.model.initial(self.setup)
        self._check_normal(state, "at the beginning")
        return state

    def _check_tried(self, state: Any, enabled: int) -> None:
        """See that this one is worth a try."""
        if not self.model.worth_trying(state, self.setup, enabled // 64) >> enabled % 64 & 1:
            raise ModelFault(f"{self.model.name}: action {enabled} is enabled, but worth_trying leaves it out")

    def _check_normal(self, state: Any, when: str) -> None:
        again = self.state.copy(state)
        self.model.normalise(again, self.setup)
        if not self.state.is_same(again, state):
            where = difference(self.state, self.state.pack(state), self.state.pack(again))
            raise ModelFault(f"{self.model.name}: {when} the normal form has another normal form: {where}")


def is_at_rest(model: Model, host: CompiledHost | InterpretedHost, state: Any) -> bool:
    """Whether nothing can happen in a state of the host but faults; raises what its `step` raises."""
    return all(host.step(state, action)[0] is None for action in range(model.actions) if action not in model.faults)


def difference(layout: Layout, expected: bytes, found: bytes) -> str:
    """Return the first leaf that differs, in words."""
    left, right = layout.leaves(layout.unpack(expected)), layout.leaves(layout.unpack(found))
    for path, one, other in zip(layout.paths(), left, right, strict=True):
        if one != other:
            return f"{path} is {one} and {other}"
    return "only the padding differs"


def rows_of(dtype: np.dtype[np.void], count: int = 1) -> States:
    """Return so many rows of zeros."""
    words = np.zeros((count, dtype.itemsize // 8), np.uint64)
    return States(words, words.view(dtype).reshape(-1), np.zeros((count, 2), np.uint64))
