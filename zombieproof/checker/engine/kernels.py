"""The loops of exploration that are compiled together with a model: expand, deduplicate, gather.

These functions are never called as they stand. `engine` compiles copies in which the names under "what the model
gives" are bound to the lowered functions of a model and to its sizes. All counters of a call live in `tally`, an
int64 array (`places`).

A batch goes through three phases that share nothing. *Expand* turns parents into candidates: successors with their
fingerprints, in the order of parent and action. *Deduplicate* keeps of each fingerprint the first candidate in order,
if the table does not hold it yet. *Gather* copies what was kept to the next level and judges promises. Several threads
expand different parents, deduplicate different regions of the table, and gather different candidates.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from zombieproof.checker.engine.intrinsics import clear_words, copy_words, folded_product, prefetch
from zombieproof.checker.engine.places import (
    ACTIVE,
    ALWAYS,
    AT_REST,
    BASE,
    BLOCK_FULL,
    BOUNDS,
    CULPRIT,
    DEDUPLICATE,
    DEEPEST,
    DEPTH,
    DONE,
    EXPAND,
    FILL,
    FIRST,
    FOUND,
    FRESH,
    GATHER,
    GENERATED,
    INDEX,
    LAST,
    LIMIT,
    MAX_BOUNDS,
    OWNERS,
    PARENT,
    POSITION,
    RANDOM,
    REGION_BITS,
    REGIONS,
    RESULT,
    RUN,
    SIGN,
    SKIP,
    SOMETIMES,
    STAGE,
    STARTS,
    STEP,
    STOPPED,
    TABLE_FULL,
    UNFINISHED,
    VIOLATED,
    WALKS,
    WITNESSES,
)

# --- what the model gives ---------------------------------------------------------------------------------------------

WORDS: int = 1
TRAIL_WORDS: int = 1
ACTIONS: int = 1
PROMISES: int = 0
FAULTS: Any = (0,)
CLUSTERS: int = 0
CLUSTER_OF: Any = (-1,)


def step(state: Any, action: int, setup: Any, trail: Any) -> bool:
    """Take the action if it is enabled."""
    raise NotImplementedError


def next_action(state: Any, action: int, setup: Any) -> int:
    """Return the first action from this one on that is worth a try."""
    raise NotImplementedError


def normalise(state: Any, setup: Any) -> None:
    """Bring the state into its normal form."""
    raise NotImplementedError


def bound_hit(state: Any, setup: Any) -> int:
    """Return the code of the capacity that was reached, or 0."""
    raise NotImplementedError


def is_ready(state: Any, setup: Any, cluster: int) -> bool:
    """Return whether the actions of a cluster are enough in a state (see `orders`)."""
    raise NotImplementedError


def judge(state: Any, setup: Any, promise: int) -> bool:
    """Return whether a promise, by its number, holds in a state."""
    raise NotImplementedError


def count_moves(trail: Any, coverage: Any, sign: int) -> None:
    """Add the moves of one step to the coverage."""
    raise NotImplementedError


REGION_SHIFT: Final = np.uint64(64 - REGION_BITS)
AHEAD: Final = 24
_ONE = np.uint64(1)
_SEED = np.uint64(0x9E3779B97F4A7C15)
_KEY_1 = np.uint64(0xA0761D6478BD642F)
_KEY_2 = np.uint64(0xE7037ED1A0B428DB)
_KEY_3 = np.uint64(0x8EBC6AF09C88C6E3)
_KEY_4 = np.uint64(0x589965CC75374CC3)


def fingerprint(words: Any, row: Any) -> Any:
    """Return 64 bits for the words of a row, never 0: two lanes of folded 128-bit products."""
    left = _SEED
    right = _KEY_4
    word = 0
    while word + 4 <= WORDS:
        left = folded_product(words[row, word] ^ _KEY_1, words[row, word + 1] ^ left)
        right = folded_product(words[row, word + 2] ^ _KEY_2, words[row, word + 3] ^ right)
        word += 4
    if word + 2 <= WORDS:
        left = folded_product(words[row, word] ^ _KEY_1, words[row, word + 1] ^ left)
        word += 2
    if word < WORDS:
        right = folded_product(words[row, word] ^ _KEY_2, right)
    mixed = folded_product(left ^ _KEY_3, right ^ _KEY_4)
    mixed = folded_product(mixed ^ _KEY_1, left ^ _KEY_2)
    return mixed if mixed != 0 else _ONE


def expand(parents: Any, out: Any, around: Any, tally: Any) -> None:
    """Expand parents until they end, one is found unfinished, or the buffer cannot surely take another's successors."""
    parent = tally[PARENT]
    last = tally[LAST]
    base = tally[BASE]
    skip = tally[SKIP]
    sign = tally[SIGN]
    room = out.prints.shape[0] - ACTIONS - 1
    setup = around.setup[0]
    trail = around.trail[0]
    found = 0
    tally[FIRST] = parent
    while parent < last and found <= room:
        if bound_hit(parents.records[parent], setup) == 0:
            begun = found
            only = ample(parents.records[parent], setup)
            while True:
                copy_words(out.states.words, found, parents.words, parent, WORDS)
                is_at_rest = True
                action = max(0, next_action(out.states.records[found], 0, setup))
                while action < ACTIONS:
                    clear_words(around.trail_words, 0, TRAIL_WORDS)
                    belongs = only < 0 or CLUSTER_OF[action] == only
                    if belongs and step(out.states.records[found], action, setup, trail):
                        is_at_rest = is_at_rest and FAULTS[action] == 1
                        if found >= skip:
                            count_moves(trail, around.coverage, sign)
                        normalise(out.states.records[found], setup)
                        out.prints[found] = fingerprint(out.states.words, found)
                        out.parents[found] = base + parent
                        out.actions[found] = action
                        found += 1
                        copy_words(out.states.words, found, parents.words, parent, WORDS)
                    action = max(action + 1, next_action(out.states.records[found], action + 1, setup))
                if only < 0 or not is_at_rest:
                    break
                only = -1
                found = begun
            if is_at_rest and unfinished(parents.records[parent], setup, tally):
                parent += 1
                break
        parent += 1
    tally[PARENT] = parent
    tally[FOUND] = found
    tally[POSITION] = 0
    tally[FRESH] = 0
    if tally[OWNERS] > 1:
        partition(out, tally)


def ample(state: Any, setup: Any) -> int:
    """Return the first cluster of actions that are enough in a state, -1 where all have to be taken."""
    for cluster in range(CLUSTERS):
        if is_ready(state, setup, cluster):
            return cluster
    return -1


def unfinished(state: Any, setup: Any, tally: Any) -> bool:
    """Return whether a promise of the kind *at rest* is broken in a state that is; the first one is noted."""
    for promise in range(PROMISES):
        if tally[ACTIVE + promise] == AT_REST and not judge(state, setup, promise):
            tally[UNFINISHED] = promise
            return True
    return False


def owner_of(mark: Any, owners: Any) -> Any:
    """Return the thread that owns the region of a fingerprint."""
    return (mark >> REGION_SHIFT) % owners


def partition(out: Any, tally: Any) -> None:
    """Sort the candidates by owner, each owner's in the order they have."""
    owners = np.uint64(tally[OWNERS])
    for owner in range(REGIONS + 1):
        tally[STARTS + owner] = 0
    for candidate in range(tally[FOUND]):
        tally[STARTS + 1 + np.int64(owner_of(out.prints[candidate], owners))] += 1
    for owner in range(REGIONS):
        tally[STARTS + 1 + owner] += tally[STARTS + owner]
    for candidate in range(tally[FOUND]):
        place = STARTS + np.int64(owner_of(out.prints[candidate], owners))
        out.order[tally[place]] = candidate
        tally[place] += 1
    for owner in range(REGIONS, 0, -1):
        tally[STARTS + owner] = tally[STARTS + owner - 1]
    tally[STARTS] = 0


def deduplicate(out: Any, table: Any, used: Any, tally: Any) -> bool:
    """Mark the candidates that are new, all or those of one owner; False where a region has to grow first."""
    found = tally[FOUND]
    alone = tally[OWNERS] == 1
    mask = np.uint64(table.shape[1] - 1)
    limit = table.shape[1] - table.shape[1] // 4
    position = tally[POSITION]
    ready = position
    while position < found:
        while ready < found and ready < position + AHEAD:
            mark = out.prints[ready if alone else np.int64(out.order[ready])]
            prefetch(table, mark >> REGION_SHIFT, mark & mask)
            ready += 1
        candidate = position if alone else np.int64(out.order[position])
        mark = out.prints[candidate]
        region = mark >> REGION_SHIFT
        slot = mark & mask
        while table[region, slot] != 0 and table[region, slot] != mark:
            slot = (slot + _ONE) & mask
        if table[region, slot] == 0:
            if used[region] >= limit:
                tally[POSITION] = position
                return False
            table[region, slot] = mark
            used[region] += 1
            out.fresh[candidate] = 1
            tally[FRESH] += 1
        else:
            out.fresh[candidate] = 0
        position += 1
    tally[POSITION] = position
    return True


def gather(out: Any, kept: Any, around: Any, tally: Any) -> bool:
    """Copy what is new to the next level and judge it; False where a promise is violated or the level is full."""
    setup = around.setup[0]
    fill = tally[FILL]
    index = tally[INDEX]
    stopped = False
    for candidate in range(tally[FOUND]):
        if out.fresh[candidate] == 0:
            continue
        if index >= tally[LIMIT]:
            tally[CULPRIT] = candidate - 1
            stopped = True
            break
        copy_words(kept.states.words, fill, out.states.words, candidate, WORDS)
        kept.parents[fill] = out.parents[candidate]
        kept.actions[fill] = out.actions[candidate]
        judged(kept.states.records[fill], setup, index, tally)
        fill += 1
        index += 1
        if tally[VIOLATED] >= 0:
            tally[CULPRIT] = candidate
            stopped = True
            break
    tally[FILL] = fill
    tally[INDEX] = index
    return not stopped


def judged(state: Any, setup: Any, index: Any, tally: Any) -> None:
    """Judge one new state, unless a capacity was reached: what it says then is not what the model would do."""
    code = bound_hit(state, setup)
    if code != 0:
        tally[BOUNDS + code % MAX_BOUNDS] += 1
        return
    for promise in range(PROMISES):
        active = tally[ACTIVE + promise]
        if active in (0, AT_REST):
            continue
        holds = judge(state, setup, promise)
        if active == ALWAYS and not holds and tally[VIOLATED] < 0:
            tally[VIOLATED] = promise
        elif active == SOMETIMES and holds:
            tally[WITNESSES + promise] = index
            tally[ACTIVE + promise] = 0


def run(parents: Any, out: Any, kept: Any, table: Any, used: Any, around: Any, tally: Any) -> int:
    """Take parents through all three phases, one small buffer after the other; the caller helps and calls again."""
    while True:
        if tally[STAGE] == EXPAND:
            if tally[UNFINISHED] >= 0:
                return STOPPED
            if tally[PARENT] >= tally[LAST]:
                return DONE
            expand(parents, out, around, tally)
            tally[STAGE] = DEDUPLICATE
        if tally[STAGE] == DEDUPLICATE:
            if not deduplicate(out, table, used, tally):
                return TABLE_FULL
            tally[STAGE] = GATHER
        if tally[STAGE] == GATHER:
            if kept.parents.shape[0] - tally[FILL] < tally[FRESH]:
                return BLOCK_FULL
            if not gather(out, kept, around, tally):
                return STOPPED
            tally[GENERATED] += tally[FOUND]
            tally[STAGE] = EXPAND


def engine(phase: int, parents: Any, out: Any, kept: Any, table: Any, used: Any, around: Any, tally: Any) -> int:
    """The one way into compiled code, so that a model is compiled once; `phase` says which loop."""
    if phase == RUN:
        return run(parents, out, kept, table, used, around, tally)
    if phase == EXPAND:
        expand(parents, out, around, tally)
    elif phase == DEDUPLICATE:
        if not deduplicate(out, table, used, tally):
            return TABLE_FULL
    elif phase == GATHER:
        if not gather(out, kept, around, tally):
            return STOPPED
    elif phase == STEP:
        clear_words(around.trail_words, 0, TRAIL_WORDS)
        enabled = step(parents.records[0], tally[PARENT], around.setup[0], around.trail[0])
        if enabled:
            normalise(parents.records[0], around.setup[0])
        out.prints[0] = fingerprint(parents.words, 0)
        tally[RESULT] = 1 if enabled else 0
    else:
        judged(parents.records[0], around.setup[0], 0, tally)
        out.prints[0] = fingerprint(parents.words, 0)
    return DONE


def rehash(old: Any, new: Any, region: int) -> None:
    """Insert what a region of the old table holds into the same region of the new."""
    mask = np.uint64(new.shape[1] - 1)
    for place in range(old.shape[1]):
        mark = old[region, place]
        if mark != 0:
            slot = mark & mask
            while new[region, slot] != 0:
                slot = (slot + _ONE) & mask
            new[region, slot] = mark


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


def wander(states: Any, path: Any, around: Any, tally: Any) -> int:
    """Take steps at random, walk after walk, until `tally[LIMIT]` are taken or a promise is broken.

    Row 0 of `states` is the initial one, row 1 where the walk is; `path` takes the actions of the walk. Of the enabled
    actions the first in an order drawn anew for each step is taken. A walk ends where nothing is enabled, where a
    capacity is exceeded, and where `path` is full.
    """
    setup = around.setup[0]
    trail = around.trail[0]
    random = np.uint64(tally[RANDOM])
    depth = tally[DEPTH]
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
            if next_action(states.records[1], tried, setup) != tried:
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
        judged(states.records[1], setup, depth, tally)
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
