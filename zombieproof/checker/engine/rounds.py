"""Whether a story that is said to go on for ever does: it closes, owes something all the time, and is fair.

Interpreted, and apart from the search that finds such stories (`fairness`), which it holds to its word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zombieproof.checker.engine.hosts import InterpretedHost
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.engine.replay import replay


def fault_of_round(model: Model, setup: object, promise: Promise, actions: Sequence[int], repeats_from: int) -> str:
    """Return why the actions behind the first `repeats_from` do not break a *leads to* promise for ever; "" if they do.

    Raises:
        ActionDisabled, HostsDisagree: see `replay`.
    """
    if not 0 <= repeats_from <= len(actions):
        return f"repeats from step {repeats_from + 1}, and there are {len(actions)} steps"
    steps = replay(model, setup, actions)
    states = [model.initial(setup), *(step.after for step in steps)][repeats_from:]
    layout = layout_of(model.state, model.sizes)
    if layout.pack(states[0]) != layout.pack(states[-1]):
        return f"step {len(actions)} does not lead back to where step {repeats_from + 1} begins"
    for number, state in enumerate(states, start=repeats_from):
        if promise.judge(state, setup):
            return f"nothing is owed after step {number}: {promise.name} holds there"
    host = InterpretedHost(model, setup, layout, layout_of(model.trail, model.sizes))
    starved = set.intersection(*(_able(host, state) for state in states))
    starved -= {
        model.tasks(step.before, step.action, setup)
        for step in steps[repeats_from:]
        if step.action not in model.faults and layout.pack(step.before) != layout.pack(step.after)
    }
    starved.discard(0)
    return f"who is task {min(starved)} can always act, and never does" if starved else ""


def _able(host: InterpretedHost, state: Any) -> set[int]:
    """The tasks that can act in a state: with a step that changes something, and is no fault."""
    found = set()
    for action in range(host.model.actions):
        if action not in host.model.faults:
            after, _ = host.step(state, action)
            if after is not None and host.state.pack(after) != host.state.pack(state):
                found.add(int(host.model.tasks(state, action, host.setup)))
    return found
