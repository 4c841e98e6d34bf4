"""Paths of the checker: the shortest way to each broken promise, as `check` found it, and random ones.

`python -m tests.bridge` writes the first kind anew, into `stories.json`: for each scenario and mutant the actions.
"""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zombieproof.bridge.twin import copied
from zombieproof.checker.checking import Request, chosen
from zombieproof.checker.engine.model import Model
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS

STORIES = Path(__file__).with_name("stories.json")

LONGEST = 200
Actions = tuple[int, ...]


def stories() -> Mapping[tuple[str, str], Actions]:
    """(scenario, mutant) -> the actions of its story."""
    found = json.loads(STORIES.read_text())
    return {(name, mutant): tuple(actions) for name, each in found.items() for mutant, actions in each.items()}


def chosen_for(scenario: Scenario, mutant: str = "", rules: str = "") -> tuple[Model, Any]:
    """Model and setup of a scenario, or of one of its mutants."""
    in_force, bounds = chosen(scenario, Request(mutant=mutant, rules=rules))
    return scenario.model(bounds), scenario.setup(in_force, bounds)


def walk(model: Model, setup: object, seed: int) -> Actions:
    """A random path until nothing can be done any more, or would exceed a capacity, or who asks for ever has asked."""
    chance, taken = random.Random(seed), list[int]()
    state = model.initial(setup)
    while len(taken) < LONGEST:
        actions = list(range(model.actions))
        chance.shuffle(actions)
        after, trail = copied(state), model.trail()
        for action in actions:
            if not model.step(after, action, setup, trail):
                continue  # and nothing was touched
            if not model.bound_hit(after, setup):
                model.normalise(after, setup)
                taken.append(action)
                state = after
                break
            after, trail = copied(state), model.trail()
        else:
            break
    return tuple(taken)


__all__ = ["SCENARIOS", "STORIES", "chosen_for", "stories", "walk"]
