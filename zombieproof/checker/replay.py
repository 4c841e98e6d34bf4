"""The same actions on two hosts: plain objects interpreted, packed records compiled, compared byte for byte after each step.

A counterexample is a list of actions. `replay` runs it and tells each step in words; `agree_everywhere` does the same for every
action of every world that a breadth-first search finds, and keeps its worlds in a set: slow, exact, and free of fingerprints, buffers and threads.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from zombieproof.checker import places as k
from zombieproof.checker.engine import Engine, compiled
from zombieproof.checker.places import Candidates, Kept, Surroundings, Worlds
from zombieproof.checker.layout import Layout
from zombieproof.checker.model import Model


class HostsDisagree(Exception):
    """Interpreted and compiled differ; the message names the step, the action and the first leaf that differs."""


class ActionDisabled(ValueError):
    """A list of actions that the model does not allow; the message names the step and what is enabled there."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action: its number and words, the world before and after, the trail of what it did."""

    action: int
    text: str
    before: Any
    after: Any
    trail: Any


@dataclass(frozen=True, slots=True)
class Agreement:
    """What `agree_everywhere` saw; `worlds` are the packed worlds."""

    distinct: int
    generated: int
    depth: int
    worlds: frozenset[bytes]
    broken: frozenset[str]
    satisfied: frozenset[str]


class CompiledHost:
    """A model compiled, one world at a time."""

    def __init__(self, model: Model, setup: object) -> None:
        self.engine: Engine = compiled(model)
        world, trail = self.engine.world, self.engine.trail
        self._words = np.zeros((1, world.padded.itemsize // 8), np.uint64)
        self._worlds = Worlds(self._words, self._words.view(world.padded).reshape(-1))
        trail_words = np.zeros((1, trail.padded.itemsize // 8), np.uint64)
        packed = np.frombuffer(bytearray(self.engine.setup.pack(setup)), np.uint64)
        machines, states, events = (max(1, count) for count in model.coverage)
        self._around = Surroundings(
            packed.view(self.engine.setup.padded).reshape(-1),
            trail_words.view(trail.padded).reshape(-1),
            trail_words,
            np.zeros((machines, states, events), np.int64),
        )
        small = np.zeros(1, np.uint32), np.zeros(1, np.uint16)
        prints, order, fresh = np.zeros(1, np.uint64), np.zeros(1, np.uint32), np.zeros(1, np.uint8)
        self._out = Candidates(self._worlds, prints, *small, order, fresh)
        self._kept = Kept(self._worlds, *small)
        self._table = np.zeros((k.REGIONS, 1), np.uint64), np.zeros(k.REGIONS, np.int64)
        self._state = np.zeros(k.PLACES, np.int64)

    def step(self, world: bytes, action: int) -> tuple[bytes | None, bytes]:
        """Return the packed successor in normal form, or None where the action is disabled, and the packed trail.

        Raises HostsDisagree for an action that is disabled and changed the world nevertheless.
        """
        self._words[0] = np.frombuffer(world, np.uint64)
        self._state[k.PARENT] = action
        self.engine.call(k.STEP, self._worlds, self._out, self._kept, *self._table, self._around, self._state)
        after = self._words.tobytes()
        trail = self._around.trail_words.tobytes()
        if self._state[k.RESULT]:
            return after, trail
        if after != world:
            where = _difference(self.engine.world, world, after)
            raise HostsDisagree(f"action {action} is disabled but has changed the world: {where}")
        return None, trail

    def judge(self, world: bytes) -> tuple[list[bool], int]:
        """Return what each promise says of a packed world, and the code of the bound that it hit."""
        self._words[0] = np.frombuffer(world, np.uint64)
        state = self._state
        holds = []
        code = 0
        for i in range(len(self.engine.model.promises)):
            state[:] = 0
            state[k.VIOLATED] = -1
            state[k.ACTIVE + i] = 1
            self.engine.call(k.JUDGE, self._worlds, self._out, self._kept, *self._table, self._around, state)
            code = int(state[k.BOUNDS : k.BOUNDS + k.MAX_BOUNDS].argmax()) if state[k.BOUNDS :].any() else 0
            holds.append(int(state[k.VIOLATED]) < 0)
        return holds, code


class _Interpreted:
    """A model interpreted."""

    def __init__(self, model: Model, setup: object, world: Layout, trail: Layout) -> None:
        self.model, self.setup, self.world, self.trail = model, setup, world, trail

    def step(self, before: Any, action: int) -> tuple[Any, Any]:
        """Return the successor, or None, and the trail; `before` stays as it is."""
        after = copy.deepcopy(before)
        trail = self.trail.unpack(bytes(self.trail.padded.itemsize))
        if self.model.step(after, action, self.setup, trail):
            self.model.normalise(after, self.setup)
            return after, trail
        if self.world.leaves(after) != self.world.leaves(before):
            where = _difference(self.world, self.world.pack(before), self.world.pack(after))
            raise HostsDisagree(
                f"{self.model.name}: action {action} is disabled but has changed the world, interpreted: {where}"
            )
        return None, trail


def replay(model: Model, setup: object, actions: Iterable[int]) -> list[Step]:
    """Run `actions` from the initial world on both hosts and return the steps.

    Raises HostsDisagree where the hosts differ, ActionDisabled where an action is disabled or unknown.
    """
    host = CompiledHost(model, setup)
    interpreted = _Interpreted(model, setup, host.engine.world, host.engine.trail)
    world = model.initial(setup)
    steps = []
    for number, action in enumerate(actions, start=1):
        where = f"{model.name}, step {number}"
        if not 0 <= action < model.actions:
            raise ActionDisabled(f"{where}: action {action} is unknown; give 0 to {model.actions - 1}")
        after, trail = _both(interpreted, host, world, action, where)
        if after is None:
            enabled = [a for a in range(model.actions) if interpreted.step(world, a)[0] is not None]
            raise ActionDisabled(f"{where}: action {action} is disabled; enabled here: {enabled}")
        steps.append(Step(action, model.describe(world, action, setup), world, after, trail))
        world = after
    return steps


def agree_everywhere(model: Model, setup: object, max_worlds: int | None = None) -> Agreement:
    """Search breadth first, interpreted, comparing every action of every world with the compiled model.

    Ends after `max_worlds` worlds if given. Raises HostsDisagree.
    """
    host = CompiledHost(model, setup)
    interpreted = _Interpreted(model, setup, host.engine.world, host.engine.trail)
    initial = model.initial(setup)
    seen = {host.engine.world.pack(initial)}
    frontier = [initial]
    generated = depth = 0
    broken: set[str] = set()
    satisfied: set[str] = set()
    while frontier and (max_worlds is None or len(seen) < max_worlds):
        following = []
        for world in frontier:
            _judge(interpreted, host, world, broken, satisfied)
            if model.bound_hit(world, setup):
                continue
            for action in range(model.actions):
                after, _ = _both(interpreted, host, world, action, f"{model.name}, level {depth}")
                if after is None:
                    continue
                generated += 1
                packed = host.engine.world.pack(after)
                if packed not in seen:
                    seen.add(packed)
                    following.append(after)
        frontier = following
        depth += bool(frontier)
    return Agreement(len(seen), generated, depth, frozenset(seen), frozenset(broken), frozenset(satisfied))


def _both(interpreted: _Interpreted, host: CompiledHost, world: Any, action: int, where: str) -> tuple[Any, Any]:
    after, trail = interpreted.step(world, action)
    layout = host.engine.world
    packed, packed_trail = host.step(layout.pack(world), action)
    if (after is None) != (packed is None):
        says = ("disabled", "enabled") if after is None else ("enabled", "disabled")
        raise HostsDisagree(f"{where}: action {action} is {says[0]} interpreted and {says[1]} compiled")
    if after is None or packed is None:
        return None, trail
    if layout.pack(after) != packed:
        difference = _difference(layout, layout.pack(after), packed)
        raise HostsDisagree(f"{where}: action {action} leads to different worlds: {difference}")
    if interpreted.trail.pack(trail) != packed_trail:
        difference = _difference(interpreted.trail, interpreted.trail.pack(trail), packed_trail)
        raise HostsDisagree(f"{where}: action {action} leaves different trails: {difference}")
    return after, trail


def _judge(interpreted: _Interpreted, host: CompiledHost, world: Any, broken: set[str], satisfied: set[str]) -> None:
    model, setup = interpreted.model, interpreted.setup
    holds, code = host.judge(host.engine.world.pack(world))
    expected = model.bound_hit(world, setup)
    if code != expected:
        raise HostsDisagree(f"{model.name}: bound_hit is {expected} interpreted and {code} compiled")
    if code:
        return
    for promise, compiled_says in zip(model.promises, holds, strict=True):
        says = promise.judge(world, setup)
        if says != compiled_says:
            raise HostsDisagree(f"{model.name}: {promise.name} is {says} interpreted and {compiled_says} compiled")
        if promise.kind == "always" and not says:
            broken.add(promise.name)
        if promise.kind == "sometimes" and says:
            satisfied.add(promise.name)


def _difference(layout: Layout, expected: bytes, found: bytes) -> str:
    """Return the first leaf that differs, in words."""
    left, right = layout.leaves(layout.unpack(expected)), layout.leaves(layout.unpack(found))
    for path, one, other in zip(layout.paths(), left, right, strict=True):
        if one != other:
            return f"{path} is {one} and {other}"
    return "only the padding differs"
