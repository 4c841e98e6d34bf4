"""The same actions on two hosts: plain objects interpreted, packed records compiled, compared after each step.

A counterexample is a list of actions. `replay` runs it and tells each step in words. `agree_everywhere` does the same
for every action of every state that a breadth-first search finds, and keeps its states in a set: slow, exact, and free
of fingerprints, buffers and threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from zombieproof.checker.engine.hosts import (
    CompiledHost,
    HostsDisagree,
    InterpretedHost,
    ModelFault,
    difference,
    is_at_rest,
)
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Model, Promise

__all__ = ["ActionDisabled", "Agreement", "HostsDisagree", "ModelFault", "ReplayedStep", "agree_everywhere", "replay"]


class ActionDisabled(ValueError):
    """A list of actions that the model does not allow; the message names the step and what is enabled there."""


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """One action: its number and words, the state before and after, the trail of what it did."""

    action: int
    text: str
    before: Any
    after: Any
    trail: Any


@dataclass(frozen=True, slots=True)
class Agreement:
    """What `agree_everywhere` saw: counts as in an exploration, the packed states, the names of promises.

    `broken` are *always* promises that failed in some state, `satisfied` *sometimes* promises that held in some state.
    """

    distinct: int
    generated: int
    depth: int
    states: frozenset[bytes]
    broken: frozenset[str]
    satisfied: frozenset[str]


def replay(model: Model, setup: object, actions: Iterable[int]) -> list[ReplayedStep]:
    """Run `actions` from the initial state on both hosts and return the steps.

    Raises HostsDisagree where the hosts differ, ActionDisabled where an action is disabled or unknown.
    """
    both = _Both(model, setup)
    state = both.interpreted.initial()
    steps = []
    for number, action in enumerate(actions, start=1):
        where = f"{model.name}, step {number}"
        if not 0 <= action < model.actions:
            raise ActionDisabled(f"{where}: action {action} is unknown; give 0 to {model.actions - 1}")
        after, trail = both.step(state, action, where)
        if after is None:
            enabled = [a for a in range(model.actions) if both.interpreted.step(state, a)[0] is not None]
            raise ActionDisabled(f"{where}: action {action} is disabled; enabled here: {enabled}")
        steps.append(ReplayedStep(action, model.describe(state, action, setup), state, after, trail))
        state = after
    return steps


def breaks(model: Model, setup: object, promise: Promise, state: Any) -> bool:
    """Whether a state breaks a promise of the kind always, or one of the kind at rest because it is."""
    if promise.kind in ("sometimes", "leads_to") or promise.judge(state, setup):
        return False
    if promise.kind == "always":
        return True
    layouts = layout_of(model.state, model.sizes), layout_of(model.trail, model.sizes)
    return is_at_rest(model, InterpretedHost(model, setup, *layouts), state)


def agree_everywhere(model: Model, setup: object, max_states: int | None = None) -> Agreement:
    """Search breadth first, interpreted, comparing every action and promise of every state with the compiled model.

    Ends after `max_states` states if given. Raises HostsDisagree, and ModelFault where the model breaks a rule.
    """
    both = _Both(model, setup)
    state_layout = both.compiled.engine.state
    frontier = [both.interpreted.initial()]
    seen = {state_layout.pack(frontier[0])}
    generated = depth = 0
    while frontier and (max_states is None or len(seen) < max_states):
        following = []
        for state in frontier:
            if both.judge(state):
                continue
            is_at_rest = True
            for action in range(model.actions):
                after, _ = both.step(state, action, f"{model.name}, level {depth}")
                if after is None:
                    continue
                is_at_rest = is_at_rest and action in model.faults
                generated += 1
                packed = state_layout.pack(after)
                if packed not in seen:
                    seen.add(packed)
                    following.append(after)
            if is_at_rest:
                both.broken |= {p.name for p in model.promises if p.kind == "at_rest" and not p.judge(state, setup)}
        frontier = following
        depth += bool(frontier)
    return Agreement(len(seen), generated, depth, frozenset(seen), frozenset(both.broken), frozenset(both.satisfied))


class _Both:
    """Both hosts of a model, compared at every step."""

    def __init__(self, model: Model, setup: object) -> None:
        self.model, self.setup = model, setup
        self.compiled = CompiledHost(model, setup)
        engine = self.compiled.engine
        self.interpreted = InterpretedHost(model, setup, engine.state, engine.trail)
        self.broken: set[str] = set()
        self.satisfied: set[str] = set()

    def step(self, state: Any, action: int, where: str) -> tuple[Any, Any]:
        """Return the successor, or None, and the trail; raises HostsDisagree."""
        layout, trails = self.compiled.engine.state, self.compiled.engine.trail
        after, trail = self.interpreted.step(state, action)
        packed, packed_trail = self.compiled.step(layout.pack(state), action)
        if (after is None) != (packed is None):
            one, other = ("disabled", "enabled") if after is None else ("enabled", "disabled")
            raise HostsDisagree(f"{where}: action {action} is {one} interpreted and {other} compiled")
        if after is None or packed is None:
            return None, trail
        expected = layout.pack(after)
        if expected != packed:
            differs = difference(layout, expected, packed)
            raise HostsDisagree(f"{where}: action {action} leads to different states: {differs}")
        if trails.pack(trail) != packed_trail:
            differs = difference(trails, trails.pack(trail), packed_trail)
            raise HostsDisagree(f"{where}: action {action} leaves different trails: {differs}")
        return after, trail

    def judge(self, state: Any) -> int:
        """Judge a state on both hosts and return the bound that it hit; raises HostsDisagree."""
        holds, code = self.compiled.judge(self.compiled.engine.state.pack(state))
        expected = self.model.bound_hit(state, self.setup)
        if code != expected:
            raise HostsDisagree(f"{self.model.name}: bound_hit is {expected} interpreted and {code} compiled")
        if code:
            return code
        for promise, found in zip(self.model.promises, holds, strict=True):
            says = promise.judge(state, self.setup)
            if says != found:
                raise HostsDisagree(f"{self.model.name}: {promise.name} is {says} interpreted and {found} compiled")
            if promise.kind == "always" and not says:
                self.broken.add(promise.name)
            if promise.kind == "sometimes" and says:
                self.satisfied.add(promise.name)
        return 0
