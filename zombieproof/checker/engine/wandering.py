"""The loop of random walks, compiled together with a model like `kernels`."""

from __future__ import annotations

from typing import Any

import numpy as np

from zombieproof.checker.engine.intrinsics import clear_words, copy_words
from zombieproof.checker.engine.kernels import (
    ACTIONS,
    EVERYTHING,
    TRAIL_WORDS,
    WORDS,
    bound_hit,
    judged,
    list_judged,
    normalise,
    step,
    unfinished,
    worth,
)
from zombieproof.checker.engine.places import (
    DEEPEST,
    DEPTH,
    DONE,
    GENERATED,
    LIMIT,
    RANDOM,
    STOPPED,
    UNFINISHED,
    VIOLATED,
    WALKS,
)

_ONE = np.uint64(1)


def shuffled(random: Any) -> Any:
    """Return the next of a sequence of random numbers, none of them 0 (Marsaglia's xorshift with 13, 7 and 17)."""
    random ^= random << np.uint64(13)
    random ^= random >> np.uint64(7)
    return random ^ (random << np.uint64(17))


def coprime(one: int, other: int) -> bool:
    """Return whether two numbers have no common divisor but 1."""
    while other != 0:
        one, other = other, one % other
    return one == 1


def wander(states: Any, path: Any, around: Any, tally: Any) -> int:  # noqa: PLR0915  # one loop, whose values are kept
    """Take steps at random, walk after walk, until `tally[LIMIT]` are taken or a promise is broken.

    Row 0 of `states` is the initial one, row 1 where the walk is; `path` takes the actions of the walk. Of the enabled
    actions the first in an order drawn anew for each step is taken. A walk ends where nothing is enabled, where a
    capacity is exceeded, and where `path` is full.
    """
    setup = around.setup[0]
    trail = around.trail[0]
    random = np.uint64(tally[RANDOM])
    depth = tally[DEPTH]
    list_judged(tally)
    taken = 0
    answer = DONE
    while taken < tally[LIMIT]:
        if depth == 0:
            copy_words(states.words, 1, states.words, 0, WORDS)
        random = shuffled(random)
        start: Any = np.int64(random % np.uint64(ACTIONS))
        random = shuffled(random)
        stride: Any = 1 + np.int64(random % np.uint64(ACTIONS))
        while not coprime(stride, ACTIONS):
            stride = stride % ACTIONS + 1
        action = -1
        for turn in range(ACTIONS):
            tried = (start + turn * stride) % ACTIONS
            if worth(states.records[1], setup, tried // 64) >> np.uint64(tried % 64) & _ONE == 0:
                continue
            clear_words(around.trail_words, 0, TRAIL_WORDS)
            if step(states.records[1], tried, setup, trail):
                action = tried
                break
        if action < 0:
            if unfinished(states.records[1], setup, tally):
                tally[VIOLATED] = tally[UNFINISHED]
                answer = STOPPED
                break
            tally[WALKS] += 1
            if depth == 0:
                break
            depth = 0
            continue
        normalise(states.records[1], setup)
        path[depth] = action
        depth += 1
        tally[DEPTH] = depth
        taken += 1
        tally[DEEPEST] = max(tally[DEEPEST], depth)
        judged(states.records[1], setup, depth, tally, EVERYTHING, 0)
        if tally[VIOLATED] >= 0:
            answer = STOPPED
            break
        if depth == path.shape[0] or bound_hit(states.records[1], setup) != 0:
            tally[WALKS] += 1
            depth = 0
    tally[RANDOM] = np.int64(random)
    tally[DEPTH] = depth
    tally[GENERATED] += taken
    return answer
