"""From a path through representatives to one of the model itself, whose actions are those that really happen.

An action that leads from one representative to the next is told of the members as they stand in the first; in the state
that was really reached others stand there. Of that state one action at least leads to an image of the next
representative, because actions do not tell members apart, and it is looked for.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from zombieproof.checker.engine.hosts import InterpretedHost, ModelFault
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.places import words_of_bits


def unfold(model: Model, symmetric: Model, setup: object, actions: Iterable[int]) -> list[int]:
    """Return actions of `model` that lead, step by step, to images of the states on the path in `symmetric`.

    Raises ModelFault where there are none: a sort of the model is declared wrongly.
    """
    layouts = layout_of(model.state, model.sizes), layout_of(model.trail, model.sizes)
    hosts = InterpretedHost(model, setup, *layouts), InterpretedHost(symmetric, setup, *layouts)
    real, representative = (host.initial() for host in hosts)
    found: list[int] = []
    for number, action in enumerate(actions, start=1):
        representative, _ = hosts[1].step(representative, action)
        if representative is None:
            raise ModelFault(f"{symmetric.name}, step {number}: action {action} is disabled")
        wanted = layouts[0].leaves(representative)
        for tried in _candidates(model, setup, real, action):
            after, _ = hosts[0].step(real, tried)
            if after is not None and layouts[0].leaves(_least(symmetric, setup, after)) == wanted:
                real = after
                found.append(tried)
                break
        else:
            raise ModelFault(
                f"{symmetric.name}, step {number}: action {action} leads from the representative to a state that no "
                "action reaches from its image, so members that the model declares to be alike are not"
            )
    return found


def _candidates(model: Model, setup: object, state: Any, first: int) -> Iterator[int]:
    """All actions that are worth a try, the one of the representative first."""
    yield first
    parts = [model.worth_trying(state, setup, part) for part in range(words_of_bits(model.actions))]
    yield from (action for action in range(model.actions) if action != first and parts[action // 64] >> action % 64 & 1)


def _least(symmetric: Model, setup: object, state: Any) -> Any:
    least = copy.deepcopy(state)
    symmetric.normalise(least, setup)
    return least
