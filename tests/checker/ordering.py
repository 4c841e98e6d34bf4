"""Whether the order that a model declares is one: C0 to C3 of `engine.orders`, in every state of a scope."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from zombieproof.checker.engine.hosts import CompiledHost
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Model

Successors = dict[int, bytes]


@dataclass
class Watched:
    """A model and its setup, with the successors of each state that was looked at."""

    model: Model
    setup: object
    judged: Collection[str]
    known: dict[bytes, Successors] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.host, self.layout = CompiledHost(self.model, self.setup), layout_of(self.model.state, self.model.sizes)
        self.order = self.model.order(self.setup)
        self.cluster_of = self.order.cluster_of(self.model.actions)

    def after(self, state: bytes) -> Successors:
        """Action -> successor; nothing where a capacity was reached."""
        if state not in self.known:
            tried = () if self.is_full(state) else range(self.model.actions)
            steps = {action: self.host.step(state, action)[0] for action in tried}
            self.known[state] = {action: found for action, found in steps.items() if found is not None}
        return self.known[state]

    def of(self, state: bytes, cluster: int) -> Successors:
        """The same for the actions of a cluster."""
        return {action: found for action, found in self.after(state).items() if self.cluster_of[action] == cluster}

    def is_full(self, state: bytes) -> bool:
        """Whether a capacity was reached."""
        return self.host.judge(state)[1] != 0

    def ready(self, state: bytes) -> list[int]:
        """The clusters that are ready."""
        plain = self.layout.unpack(state)
        return [c for c in range(len(self.order.clusters)) if self.order.is_ready(plain, self.setup, c)]

    def measure(self, state: bytes) -> int:
        """What has to come down."""
        return self.order.measure(self.layout.unpack(state), self.setup)

    def is_fault(self, action: int) -> bool:
        """Whether an action is a fault."""
        return action in self.model.faults


def nothing_interferes(model: Model, setup: object, judged: Collection[str], most: int = 100_000) -> tuple[int, int]:
    """See that C0 to C3 hold in states of a scope, up to about `most`; returns how many, and how often one is ready.

    Promises of `Order.seen_by` are not judged.
    """
    watched = Watched(model, setup, set(judged) - model.order(setup).seen_by)
    frontier = [watched.layout.pack(model.initial(setup))]
    seen, count = set(frontier), 0
    while frontier and len(seen) < most:
        following = []
        for state in frontier:
            following += [each for each in watched.after(state).values() if each not in seen]
            seen.update(following)
            for cluster in () if watched.is_full(state) else watched.ready(state):
                count += 1
                is_ample(watched, state, cluster)
        frontier = list(dict.fromkeys(following))
    return len(seen), count


def is_ample(watched: Watched, state: bytes, cluster: int) -> None:
    """See that a cluster that is ready in a state is an ample set there."""
    actions = watched.of(state, cluster)
    assert any(not watched.is_fault(action) for action in actions), "C0"
    for after in actions.values():
        assert 0 <= watched.measure(after) < watched.measure(state), "C3"
    for other, after in watched.after(state).items():
        if watched.cluster_of[other] != cluster:
            _commutes(watched, cluster, state, other, after)


def _is_invisible(watched: Watched, before: bytes, state: bytes, after: bytes) -> None:
    """C2: what has just been broken is not mended, what has just been reached is not taken back."""
    said = [watched.host.judge(each)[0] for each in (before, state, after)]
    for promise, was, now, then in zip(watched.model.promises, *said, strict=True):
        if promise.name in watched.judged and now not in (was, then) and not watched.is_full(after):
            assert promise.kind != "always" or now, f"C2: {promise.name} is mended"
            assert promise.kind != "sometimes" or not now, f"C2: {promise.name} is taken back"


def _commutes(watched: Watched, cluster: int, state: bytes, other: int, after: bytes) -> None:
    """C1: a cluster is as ready behind another action, and either may come first. C2 for what is no fault."""
    actions = watched.of(state, cluster)
    if watched.is_full(after):
        for first in actions.values():
            is_met = any(map(watched.is_full, watched.after(first).values()))
            assert is_met or watched.is_full(first), "C1: a capacity is not reached"
        return
    assert cluster in watched.ready(after), f"C1: not ready behind action {other}"
    there = watched.of(after, cluster)
    assert {a for a in actions if not watched.is_fault(a)} <= set(there) <= set(actions), f"C1: behind action {other}"
    for action, both in there.items():
        if not watched.is_fault(action):
            _is_invisible(watched, state, after, both)
        first = actions[action]
        reached = [found for a, found in watched.after(first).items() if watched.is_fault(a) <= watched.is_fault(other)]
        assert watched.is_full(first) or both in reached, f"C1: {action} and {other} do not commute"
