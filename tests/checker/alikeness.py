"""Whether what a model declares to be alike is: tried on states that its scopes really reach, by compiled code."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from zombieproof.checker.engine.hosts import CompiledHost
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.sorts import Sort
from zombieproof.checker.engine.symmetry import image, symmetric

Successors = set[tuple[bool, bytes]]


def nobody_notices(model: Model, setup: object, judged: Sequence[str], most: int = 100_000, tried: int = 200) -> int:
    """See that no action and no promise tells images of a state apart; returns how many representatives there were.

    Up to about `most` representatives are reached, and `tried` of them (all, if there are no more) compared with their
    image under each exchange of the first member with another; the other exchanges are made of those. The same promises
    hold, and the same orbits are reached by faults and by what is none.
    """
    found = symmetric(model, setup, judged)
    assert found.used
    layout, chance = layout_of(model.state, model.sizes), random.Random(7)
    host = CompiledHost(found.model, setup)
    reached = list(representatives(found.model, setup, host, most))
    for packed in reached if len(reached) <= tried else chance.sample(reached, tried):
        for sort in found.used:
            for member in range(1, sort.count):
                other = layout.pack(image(model, sort, layout.unpack(packed), setup, 0, member))
                same_in_both(host, model, judged, packed, other)
    return len(reached)


def same_in_both(host: CompiledHost, model: Model, judged: Sequence[str], state: bytes, other: bytes) -> None:
    """See that promises say the same of two states, and that the same orbits follow."""
    for promise, one, two in zip(model.promises, host.judge(state)[0], host.judge(other)[0], strict=True):
        assert one == two or promise.name not in judged, promise.name
    assert successors(host, other) == successors(host, state)


def representatives(model: Model, setup: object, host: CompiledHost, most: int) -> Iterator[bytes]:
    """The states that are reached, as they are explored; no more than about `most`."""
    frontier = [layout_of(model.state, model.sizes).pack(model.initial(setup))]
    seen = set(frontier)
    while frontier and len(seen) < most:
        yield from frontier
        following = []
        for state in frontier:
            for _, after in successors(host, state):
                if after not in seen:
                    seen.add(after)
                    following.append(after)
        frontier = following
    yield from frontier


def successors(host: CompiledHost, state: bytes) -> Successors:
    """What a state leads to, each with whether it is by a fault; nothing where a capacity was reached."""
    model = host.engine.model
    if host.judge(state)[1]:
        return set()
    found = ((action in model.faults, host.step(state, action)[0]) for action in range(model.actions))
    return {(is_fault, after) for is_fault, after in found if after is not None}


def names_of(model: Model, sort: Sort) -> list[str]:
    """The promises of a model that tell nobody of a sort apart."""
    return [promise.name for promise in model.promises if promise.name not in sort.told_apart_by]
