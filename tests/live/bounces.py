"""What happens to brokers while applications go on."""

from collections.abc import Callable

from tests.live.stage import Stage, Waits, pause
from zombieproof.messages.groups import OffsetsCommitted
from zombieproof.messages.partitions import ProduceAnswer, WriteTxnMarkersAnswer
from zombieproof.messages.transactions import EndTxnAnswer
from zombieproof.model.rules import Rules

AWAY_MS = 40
"""How long a broker stays away: about as long as a transaction takes."""

LONG_AWAY_MS = 150
"""How long it stays away, and stays, where brokers go one after the other without end."""

WATCHED_MS = 100
"""How long the right moment to kill a broker is waited for."""

MOMENTS = (ProduceAnswer, EndTxnAnswer, OffsetsCommitted, WriteTxnMarkersAnswer)
"""Answers that are lost when a broker is killed: what they say has been done all the same."""


def bounce_brokers(stage: Stage, goes_on: Callable[[], bool], *, clean: bool) -> Waits[int]:
    """Stop (or kill) and start one broker after the other, while it goes on; how often that was."""
    cluster, bounces = stage.cluster, 0
    while goes_on():
        for node in sorted(cluster.brokers):
            if goes_on():
                yield from bounce(stage, node, clean=clean, away_ms=LONG_AWAY_MS)
                yield from pause(stage, LONG_AWAY_MS)
                bounces += 1
    return bounces


def bounce(stage: Stage, node: int, *, clean: bool, moment: type | None = None, away_ms: int = AWAY_MS) -> Waits[None]:
    """One broker goes, if it can be when it has just given an answer of this kind, which is lost, and comes back."""
    if moment is not None:
        latest_ms = stage.now_ms + WATCHED_MS
        yield lambda: _has_answered(stage, node, moment) or stage.now_ms >= latest_ms
    stage.cluster.stop(node) if clean else stage.cluster.kill(node)
    yield from pause(stage, away_ms)
    stage.cluster.start(node, was_clean=clean)


def _has_answered(stage: Stage, node: int, kind: type) -> bool:
    in_flight = stage.cluster.network.in_flight
    return any(m.is_answer and m.sender == node and isinstance(m.body, kind) for m in in_flight)


def upgrade(stage: Stage, node: int, rules: Rules, release: str) -> Waits[None]:
    """One broker stops in order, and comes back as another release; the feature level of the cluster stays."""
    stage.cluster.stop(node)
    stage.cluster.upgrade(node, rules, release)
    yield from pause(stage, AWAY_MS)
    stage.cluster.start(node)
