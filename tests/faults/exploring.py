"""The shortest counterexample of a scenario, interpreted: what `zombieproof check` finds, without compiling anything.

A fault changes the source that the checker compiles, and half a minute of compilation for each is too much. The same
actions, promises and bounds over plain objects take milliseconds for a state, which is enough for scopes of some
thousand states. `python -m tests.faults.exploring SCENARIO [BOUND=NUMBER ...]` prints what it found as JSON.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Model
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS


class Found(NamedTuple):
    """`promise` is the one that breaks, "" if none does, after so many `steps`; `distinct` states were visited.

    `overflows` counts states in which a capacity was exceeded: where it is not 0 nothing is proved.
    """

    promise: str
    steps: int
    distinct: int
    overflows: int


def explored(scenario: Scenario, changed: Mapping[str, int], most_steps: int | None = None) -> Found:
    """Breadth first through a scenario, to the first state that breaks an *always* promise.

    What has to be reached *sometimes* is not judged: under smaller bounds it need not be. With `most_steps` states that
    are further away are not looked at.
    """
    bounds = scenario.own_bounds(changed)
    model, setup = scenario.model(bounds), scenario.setup(scenario.own_rules(), bounds)
    always = [promise for promise in model.promises if promise.name in scenario.always]
    pack = layout_of(model.state, model.sizes).pack
    first = model.initial(setup)
    seen, frontier, steps, overflows = {pack(first)}, [first], 0, 0
    while frontier and (most_steps is None or steps <= most_steps):
        following = []
        for state in frontier:
            if model.bound_hit(state, setup):
                overflows += 1
                continue
            for promise in always:
                if not promise.judge(state, setup):
                    return Found(promise.name, steps, len(seen), overflows)
            for after in _successors(model, setup, state):
                packed = pack(after)
                if packed not in seen:
                    seen.add(packed)
                    following.append(after)
        frontier, steps = following, steps + 1
    return Found("", steps - 1, len(seen), overflows)


def _successors(model: Model, setup: object, state: Any) -> list[Any]:
    copied = layout_of(model.state, model.sizes).copy
    found, after, trail = list[Any](), copied(state), model.trail()
    for action in range(model.actions):
        if model.step(after, action, setup, trail):
            model.normalise(after, setup)
            found.append(after)
            after, trail = copied(state), model.trail()
    return found


def read_bounds(pairs: Iterable[str]) -> dict[str, int]:
    """Bounds as they stand in a table or on a command line: "lost=0"."""
    return {bound: int(number) for bound, _, number in (pair.partition("=") for pair in pairs)}


if __name__ == "__main__":
    name, *bounds = sys.argv[1:]
    sys.stdout.write(json.dumps(explored(SCENARIOS[name], read_bounds(bounds))._asdict()) + "\n")
