"""What happens to brokers while applications go on."""

from collections.abc import Callable

from tests.live.stage import Stage, Waits, pause
from zombieproof.model.rules import Rules

AWAY_MS = 40
"""How long a broker stays away."""


def bounce_brokers(stage: Stage, goes_on: Callable[[], bool], *, clean: bool) -> Waits[int]:
    """Stop (or kill) and start one broker after the other, while it goes on; how often that was."""
    cluster, bounces = stage.cluster, 0
    while goes_on():
        for node in sorted(cluster.brokers):
            if goes_on():
                yield from bounce(stage, node, clean=clean)
                yield from pause(stage, AWAY_MS)
                bounces += 1
    return bounces


def bounce(stage: Stage, node: int, *, clean: bool) -> Waits[None]:
    """One broker goes and comes back."""
    stage.cluster.stop(node) if clean else stage.cluster.kill(node)
    yield from pause(stage, AWAY_MS)
    stage.cluster.start(node, was_clean=clean)


def upgrade(stage: Stage, node: int, rules: Rules, release: str) -> Waits[None]:
    """One broker stops in order, and comes back as another release; the feature level of the cluster stays."""
    stage.cluster.stop(node)
    stage.cluster.upgrade(node, rules, release)
    yield from pause(stage, AWAY_MS)
    stage.cluster.start(node)
