"""A swarm of random walks: each batch of them is within bounds that are drawn anew, the scenario's or larger ones.

Walks within one set of bounds are alike: much happens everywhere, and what needs that one thing happens often and
another never is hardly met (Groce and others 2012, swarm testing). The same seed draws the same bounds and takes the
same walks. What breaks a promise is made shorter, and its bounds as small as the story lets them be.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from zombieproof.checker.engine.explore import Progress, Result, Stop
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.places import MOST_SEED
from zombieproof.checker.engine.walking import breaks, wander
from zombieproof.checker.request import Walks
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.validation import MOST
from zombieproof.model.rules import Rules

BATCH_STEPS: Final = 50_000
"""Steps of the walks within one set of bounds: a tenth of a second, about."""
MOST_MORE: Final = 3
"""How often a fault may happen beyond the bounds of the scenario, at the most."""


@dataclass(frozen=True)
class Swarmed:
    """What a swarm found, with bounds, model and setup of the last batch: those of what is broken, if anything is."""

    bounds: dict[str, int]
    model: Model
    setup: object
    result: Result


def drawn(scenario: Scenario, own: Mapping[str, int], seed: int, number: int) -> tuple[dict[str, int], int]:
    """The bounds of a batch, and the seed of its walks; batch 0 is within the scenario's own bounds.

    Each fault may happen as often as in `own`, or, in every other batch, up to `MOST_MORE` times more. A fault that the
    scenario cannot have stays as it is.
    """
    chance = random.Random(f"{seed}/{number}")
    walks = chance.randint(0, MOST_SEED)
    bounds = dict(own)
    for fault in scenario.faults:
        more = chance.randint(1, MOST_MORE) if chance.random() < 0.5 else 0
        if number and more and fault in bounds:
            larger = {**bounds, fault: min(bounds[fault] + more, MOST)}
            if _is_legal(scenario, larger):
                bounds = larger
    return bounds, walks


def _is_legal(scenario: Scenario, bounds: Mapping[str, int]) -> bool:
    try:
        scenario.own_bounds(bounds)
    except UnknownBound:
        return False
    return True


def swarm(
    scenario: Scenario,
    rules: Rules,
    own: Mapping[str, int],
    walks: Walks,
    *,
    promises: Collection[str],
    progress: Callable[[Progress], None] | None = None,
    stop: Stop | None = None,
) -> Swarmed:
    """Walk in batches until something breaks, or the steps or seconds of all are over.

    Args:
        scenario, rules: what is walked through.
        own: the least bounds.
        walks: the seed, and how many steps or seconds; compilation is not counted.
        promises: the promises to judge; those that are not owed within the bounds drawn are left out.
        progress, stop: as of `wander`.
    """
    spent, batches = 0.0, list[Swarmed]()
    while True:
        results = [batch.result for batch in batches]
        taken = sum(result.generated for result in results)
        bounds, seed = drawn(scenario, own, walks.seed, len(batches))
        model, setup = scenario.model(bounds), scenario.setup(rules, bounds)
        not_owed = scenario.not_owed(bounds)
        began = time.perf_counter()
        result = wander(
            model,
            setup,
            seed=seed,
            steps=BATCH_STEPS if walks.steps is None else min(BATCH_STEPS, walks.steps - taken),
            seconds=None if walks.seconds is None else walks.seconds - spent,
            promises=[name for name in promises if name not in not_owed],
            progress=_after(results, progress),
            stop=stop,
        )
        spent += time.perf_counter() - began - result.compile_seconds
        batches.append(Swarmed(bounds, model, setup, result))
        is_over = spent >= (walks.seconds or math.inf) or taken + result.generated >= (walks.steps or math.inf)
        is_stopped = result.interrupted or (stop is not None and stop.is_set())
        if is_over or is_stopped or result.violated is not None or not result.generated:
            last = _smallest(scenario, rules, own, batches[-1])
            return replace(last, result=_together([*results, result], walks.seed))


def _after(before: Sequence[Result], progress: Callable[[Progress], None] | None) -> Callable[[Progress], None] | None:
    """Tell the progress of all batches, of the last one's."""
    if progress is None:
        return None
    steps, depth = sum(one.generated for one in before), max((one.depth for one in before), default=0)
    seconds = sum(one.seconds for one in before)

    def told(now: Progress) -> None:
        progress(
            replace(
                now,
                generated=now.generated + steps,
                depth=max(now.depth, depth),
                seconds=now.seconds + seconds,
            )
        )

    return told


def _smallest(scenario: Scenario, rules: Rules, own: Mapping[str, int], found: Swarmed) -> Swarmed:
    """The same story within the least bounds, one after the other, within which it breaks the same promise."""
    violated = found.result.violated
    if violated is None or violated.actions is None:
        return found
    for fault in scenario.faults:
        while found.bounds.get(fault, 0) > own.get(fault, 0):
            bounds = {**found.bounds, fault: found.bounds[fault] - 1}
            if violated.promise in scenario.not_owed(bounds) or not _is_legal(scenario, bounds):
                break
            model, setup = scenario.model(bounds), scenario.setup(rules, bounds)
            if not breaks(model, setup, violated.actions, violated.promise):
                break
            found = Swarmed(bounds, model, setup, found.result)
    return found


def _together(batches: Sequence[Result], seed: int) -> Result:
    """The result of all batches: that of the last one, with the counts of all."""
    last = batches[-1]
    hits: Counter[str] = Counter()
    for one in batches:
        hits.update(one.bound_hits)
    steps, walks = sum(one.generated for one in batches), sum(one.walks for one in batches)
    said = (
        f"{steps:,} steps at random in {walks:,} walks within {len(batches):,} draws of bounds (seed {seed}) "
        "broke nothing, which proves nothing"
    )
    said += f"; a capacity was exceeded: {', '.join(f'{name} {n:,} times' for name, n in hits.items())}" if hits else ""
    return replace(
        last,
        why=None if last.violated else f"{said}; it was interrupted" if last.interrupted else said,
        generated=steps,
        walks=walks,
        depth=max(one.depth for one in batches),
        seconds=sum(one.seconds for one in batches),
        cpu_seconds=sum(one.cpu_seconds for one in batches),
        compile_seconds=sum(one.compile_seconds for one in batches),
        peak_mib=max(one.peak_mib for one in batches),
        bound_hits=dict(hits),
    )
