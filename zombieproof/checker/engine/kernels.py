"""The loops of exploration that are compiled together with a model: expand, deduplicate, gather.

These functions are never called as they stand. `engine` compiles copies in which the names under "what the model
gives" are bound to the lowered functions of a model and to its sizes. All counters of a call live in `tally`, an
int64 array (`places`).

A batch goes through three phases. *Expand* turns parents into candidates: successors with their fingerprints, in the
order of parent and action. *Deduplicate* (`looking_up`) keeps of each fingerprint the first candidate in order, if the
table does not hold it yet. *Gather* writes what was kept to the next level and judges promises. Several threads expand
different parents at once, which is most of the work; each of the other two phases is done by one of them at a time.
Who waits for the second drops meanwhile the candidates that the table has.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from zombieproof.checker.engine.fingerprints import FEW_WORDS, fingerprint, moved, scattered
from zombieproof.checker.engine.intrinsics import (
    clear_words,
    copy_words,
    load_shared,
    load_word,
    store_shared,
    take_next,
    trailing_zeros,
    word_of,
)
from zombieproof.checker.engine.looking_up import deduplicate, queue
from zombieproof.checker.engine.places import (
    ACTIVE,
    ALWAYS,
    AT_REST,
    BASE,
    BLOCK_FULL,
    BOUNDS,
    BYTES,
    CULPRIT,
    DEDUPLICATE,
    DONE,
    DRAINED,
    DRAINS,
    ENDED,
    EXPAND,
    EXPECTED,
    FILL,
    FILLED,
    FIRST,
    FOUND,
    FRESH,
    GATHER,
    GENERATED,
    GROWN,
    INDEX,
    JUDGED,
    LAST,
    LIMIT,
    LOOKED_UP,
    MAX_BOUNDS,
    NEVER,
    NEXT,
    OLDEST,
    PARENT,
    PENDING,
    POSITION,
    QUEUED,
    RENEWED,
    RESULT,
    RUN,
    SIFTED,
    SIGN,
    SKIP,
    SOMETIMES,
    STAGE,
    STEP,
    STOPPED,
    TABLE_FULL,
    TURN,
    UNFINISHED,
    UNIT,
    UNITS,
    UNPACK,
    VIOLATED,
    WAITING,
    WITNESSES,
)

# --- what the model gives ---------------------------------------------------------------------------------------------

WORDS: int = 1
PARTS: int = 1
TRAIL_WORDS: int = 1
UNIT_ROWS: int = 1
MOST_BYTES: int = 1
ACTIONS: int = 1
ACTION_PARTS: int = 1
PROMISES: int = 0
PROMISE_PARTS: int = 1
FAULTS: Any = (0,)
READERS: Any = ((1,),)
"""For each word of a state, and for those that it has not: which promises may read it, as bits."""
EVERYTHING: Any = ((1,),)
"""One row: all words of a state."""
CLUSTERS: int = 0
CLUSTER_OF: Any = (-1,)


def step(state: Any, action: int, setup: Any, trail: Any) -> bool:
    """Take the action if it is enabled."""
    raise NotImplementedError


def worth_trying(state: Any, setup: Any, part: int) -> int:
    """Return which of the actions from 64 * `part` on are worth a try, as bits."""
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


def holding(state: Any, setup: Any, part: int, wanted: Any) -> Any:
    """Return as bits which of the promises from 64 * `part` on hold in a state, of those that are wanted."""
    raise NotImplementedError


def count_moves(trail: Any, coverage: Any, sign: int) -> None:
    """Add the moves of one step to the coverage."""
    raise NotImplementedError


def pack_row(words: Any, row: Any, last: Any, changes: Any, spare: Any, packed: Any, place: Any) -> Any:
    """Write a row as what differs from `last` (`packing`)."""
    raise NotImplementedError


def unpack(parents: Any, tally: Any) -> None:
    """Unpack the parents that are to be expanded next (`packing`)."""
    raise NotImplementedError


LOOKS: Final = 200_000
"""How often a thread looks whether its turn has come before it lets others run: some hundred microseconds."""
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def expand(parents: Any, out: Any, around: Any, tally: Any) -> None:
    """Expand parents until they end, one is found unfinished, or the buffer cannot surely take another's successors."""
    parent = tally[PARENT]
    last = tally[LAST]
    base = tally[BASE]
    skip, sign = tally[SKIP], tally[SIGN]
    room = out.prints.shape[0] - ACTIONS - 1
    setup = around.setup[0]
    trail = around.trail[0]
    found = 0
    tally[FIRST] = parent
    tally[QUEUED] = 0
    while parent < last and found <= room:
        if bound_hit(parents.records[parent], setup) == 0:
            first = found
            only = ample(parents.records[parent], setup)
            while True:
                has_gone = True
                is_at_rest = True
                for part in range(ACTION_PARTS):
                    left = worth(parents.records[parent], setup, part)
                    while left != 0:
                        action = 64 * part + trailing_zeros(left)
                        left &= left - _ONE
                        if only >= 0 and CLUSTER_OF[action] != only:
                            continue
                        if has_gone:  # an action that is not enabled has left the copy of the parent as it was
                            copy_words(out.states.words, found, parents.words, parent, WORDS)
                        clear_words(around.trail_words, 0, TRAIL_WORDS)
                        has_gone = step(out.states.records[found], action, setup, trail)
                        if has_gone:
                            is_at_rest = is_at_rest and FAULTS[action] == 1
                            if found >= skip:
                                count_moves(trail, around.coverage, sign)
                            normalise(out.states.records[found], setup)
                            out.parents[np.uint64(found)] = base + parent
                            out.actions[np.uint64(found)] = action
                            found += 1
                if only < 0 or not is_at_rest:
                    break
                only = -1
                found = first
            mark_successors(parents, parent, out, first, found, tally)
            if is_at_rest and unfinished(parents.records[parent], setup, tally):
                parent += 1
                break
        parent += 1
    tally[PARENT] = parent
    tally[FOUND] = found
    tally[POSITION] = tally[FRESH] = tally[SIFTED] = 0


def worth(state: Any, setup: Any, part: Any) -> Any:
    """Return as an unsigned word which actions from 64 * `part` on there are that are worth a try."""
    actions = ACTIONS - 64 * part
    all_of_them = _ALL if actions >= 64 else (_ONE << np.uint64(actions)) - _ONE
    return np.uint64(worth_trying(state, setup, part)) & all_of_them


def mark_successors(parents: Any, parent: Any, out: Any, first: Any, found: Any, tally: Any) -> None:
    """Write the fingerprints of the successors of a parent, and queue them for the table.

    It is done behind the last of them: who reads a word right behind bytes that are written into it waits for them.
    """
    counts = tally[SIGN] > 0
    queued = tally[QUEUED]
    row = np.uint64(parent)
    weighed = parents.weights[row, 0], parents.weights[row, 1]
    for candidate in range(first, found):
        heavy = moved(weighed, out.changes, candidate, out.states.words, candidate, parents.words, parent)
        mark = scattered(heavy[1])
        out.prints[np.uint64(candidate)] = mark
        if counts:
            queued = queue(out, candidate, mark, queued)
    tally[QUEUED] = queued


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


def gather(out: Any, kept: Any, around: Any, tally: Any) -> bool:
    """Copy what is new to the next level and judge it; False where a promise is violated or the level is full."""
    setup = around.setup[0]
    fill = tally[FILL]
    index = tally[INDEX]
    place = tally[BYTES]
    stopped = False
    list_judged(tally)
    found = tally[FOUND]
    for eight in range(0, found, 8):
        flags = flags_of(out.fresh, eight, found)
        while flags != 0 and not stopped:
            candidate = eight + (trailing_zeros(flags) >> 3)
            flags &= flags - _ONE
            if index >= tally[LIMIT]:
                tally[CULPRIT] = candidate - 1
                stopped = True
                break
            if fill % UNIT_ROWS == 0:
                kept.units[fill // UNIT_ROWS, 0] = place
                kept.units[fill // UNIT_ROWS, 1] = fill
                clear_words(kept.last, 0, WORDS)
            place = pack_row(out.states.words, candidate, kept.last, out.changes, found, kept.packed, place)
            kept.prints[fill] = out.prints[candidate]
            kept.parents[fill] = out.parents[candidate]
            kept.actions[fill] = out.actions[candidate]
            judged(out.states.records[candidate], setup, index, tally, out.changes, candidate)
            fill += 1
            index += 1
            if tally[VIOLATED] >= 0:
                tally[CULPRIT] = candidate
                stopped = True
        if stopped:
            break
    tally[FILL] = fill
    tally[INDEX] = index
    tally[BYTES] = place
    return not stopped


def flags_of(fresh: Any, eight: Any, found: Any) -> Any:
    """Return as bytes of a word which of eight candidates, of those that were found, are new."""
    flags = load_word(fresh, eight)
    if found - eight < 8:
        flags &= (_ONE << np.uint64(8 * (found - eight))) - _ONE
    return flags


def asked(changes: Any, row: Any, part: Any) -> Any:
    """Return as bits which promises from 64 * `part` on read a word that has changed; of few words all of them do.

    What the others read of the state before, they said of that one.
    """
    if WORDS <= FEW_WORDS or word_of(changes, row, 0, PARTS) == _ALL:  # also where nobody knows what has changed
        return _ALL
    found = np.uint64(0)
    for words in range(PARTS):
        left = word_of(changes, row, words, PARTS)
        while left != 0:
            found |= READERS[np.uint64(64 * words + trailing_zeros(left)), np.uint64(part)]
            left &= left - _ONE
    return found


def judged(state: Any, setup: Any, index: Any, tally: Any, changes: Any, row: Any) -> None:
    """Judge one new state, unless a capacity was reached: what it says then is not what the model would do.

    `changes[row]` says in which words it differs from a state in which each promise was judged: those of the kind
    *always* held there, and those of the kind *sometimes* that are still active did not.
    """
    code = bound_hit(state, setup)
    if code != 0:
        tally[BOUNDS + code % MAX_BOUNDS] += 1
        return
    for part in range(PROMISE_PARTS):
        wanted = np.uint64(tally[JUDGED + part])
        if wanted != 0:
            wanted &= asked(changes, row, part)
        if wanted == 0:
            continue
        left = wanted & (holding(state, setup, part, wanted) ^ np.uint64(tally[EXPECTED + part]))
        while left != 0:
            promise = 64 * part + trailing_zeros(left)
            left &= left - _ONE
            if tally[ACTIVE + promise] == SOMETIMES:
                tally[WITNESSES + promise] = index
                tally[ACTIVE + promise] = 0
                list_judged(tally)
            elif tally[VIOLATED] < 0:
                tally[VIOLATED] = promise


def judge(state: Any, setup: Any, promise: Any) -> bool:
    """Return whether a promise, by its number, holds in a state."""
    return bool(holding(state, setup, promise // 64, _ONE << np.uint64(promise % 64)) != 0)


def list_judged(tally: Any) -> None:
    """Note as bits the promises that are judged in every state, and which of them are expected to hold."""
    for part in range(PROMISE_PARTS):
        tally[JUDGED + part] = tally[EXPECTED + part] = 0
    for promise in range(PROMISES):
        kind = tally[ACTIVE + promise]
        if kind in (ALWAYS, SOMETIMES):
            tally[JUDGED + promise // 64] |= 1 << promise % 64
        if kind == ALWAYS:
            tally[EXPECTED + promise // 64] |= 1 << promise % 64


def run(ways: Any, kept: Any, slots: Any, common: Any) -> int:
    """Take units of a batch through all three phases, beside other threads; the caller helps and calls again.

    Units are taken in their order and expanded at once, by whoever is free. Each of the phases behind is for one unit
    at a time, in the order of the units: so everything is found as one thread alone would find it. Whose turn has not
    come expands another unit, while one of its `ways` is free and the last one is expanded to its end: so a thread has
    its candidates looked up in the order in which it finds them. Who `DRAINS` takes none until all of its own are done.
    """
    mine = ways[0].tally
    while True:
        place = -1
        if mine[PENDING] > 0:
            oldest = mine[OLDEST]
            way = ways[oldest]
            if way.tally[STAGE] == EXPAND:
                place = oldest
            else:
                is_done = way.tally[PARENT] >= way.tally[LAST]
                takes_more = mine[DRAINS] == 0 and mine[PENDING] < len(ways)
                has_to_wait = not is_done or not takes_more or load_shared(common, NEXT) >= common[UNITS]
                answer = settle(way, kept, slots, common, LOOKS if has_to_wait else 1)
                if answer == DONE:
                    if is_done:
                        mine[OLDEST] = (oldest + 1) % len(ways)
                        mine[PENDING] -= 1
                        store_shared(common, TURN, way.tally[UNIT])
                    continue
                if answer != WAITING or has_to_wait:
                    return answer
        if place < 0:
            if mine[DRAINS] == 1:
                return DRAINED
            unit = take_next(common, NEXT)
            if unit >= common[UNITS]:
                if mine[PENDING] == 0:
                    return DONE
                continue
            if mine[PENDING] == 0:
                mine[OLDEST] = 0
            place = (mine[OLDEST] + mine[PENDING]) % len(ways)
            mine[PENDING] += 1
            ways[place].tally[STAGE] = EXPAND
            ways[place].tally[UNIT] = unit
            ways[place].tally[UNITS] = unit + 1
            unpack(ways[place].parents, ways[place].tally)
        way = ways[place]
        expand(way.parents.states, way.out, way.around, way.tally)
        way.tally[STAGE] = DEDUPLICATE


def settle(way: Any, kept: Any, slots: Any, common: Any, looks: Any) -> int:
    """Look candidates up, keep and judge what is new, if the turns of their unit come before so many looks."""
    tally = way.tally
    if tally[STAGE] == DEDUPLICATE:
        if tally[SIFTED] == 0 and turn_of(common, LOOKED_UP, tally, 1) == WAITING:
            deduplicate(way.out, slots.table, slots.used, tally, False)
            tally[SIFTED] = 1
        answer = turn_of(common, LOOKED_UP, tally, looks)
        if answer != DONE:
            return answer
        if common[GROWN] != tally[GROWN]:
            return RENEWED
        if not deduplicate(way.out, slots.table, slots.used, tally, True):
            return TABLE_FULL
        tally[STAGE] = GATHER
        if tally[PARENT] >= tally[LAST]:
            store_shared(common, LOOKED_UP, tally[UNIT])
    answer = turn_of(common, TURN, tally, looks)
    if answer != DONE:
        return answer
    if common[FILLED] != tally[FILLED]:
        return RENEWED
    hand_over(common, tally)
    if kept.parents.shape[0] - tally[FILL] < tally[FRESH]:
        return BLOCK_FULL
    if kept.packed.shape[0] - tally[BYTES] < tally[FRESH] * MOST_BYTES:
        return BLOCK_FULL
    is_done = gather(way.out, kept, way.around, tally)
    hand_over(tally, common)
    if is_done:
        tally[GENERATED] += tally[FOUND]
        tally[STAGE] = EXPAND
    if not is_done or tally[UNFINISHED] >= 0:
        store_shared(common, ENDED, 1)
        return STOPPED
    return DONE


def turn_of(common: Any, place: Any, tally: Any, looks: Any) -> int:
    """Wait a while for a turn of the unit that was expanded, the one before `tally[UNIT]`: DONE when it has come."""
    for _ in range(looks):
        if load_shared(common, place) == tally[UNIT] - 1:
            return DONE
        if load_shared(common, ENDED) == 1:
            return NEVER
    return WAITING


def hand_over(one: Any, other: Any) -> None:
    """Give what is kept so far, and which promises are still judged, to another tally."""
    other[FILL] = one[FILL]
    other[INDEX] = one[INDEX]
    other[BYTES] = one[BYTES]
    for promise in range(PROMISES):
        other[ACTIVE + promise] = one[ACTIVE + promise]


def engine(phase: int, ways: Any, kept: Any, slots: Any, common: Any) -> int:
    """The one way into compiled code, so that a model is compiled once; `phase` says which loop."""
    if phase == RUN:
        return run(ways, kept, slots, common)
    parents, out, around, tally = ways[0]
    if phase == EXPAND:
        expand(parents.states, out, around, tally)
    elif phase == UNPACK:
        unpack(parents, tally)
    elif phase == DEDUPLICATE:
        if not deduplicate(out, slots.table, slots.used, tally, True):
            return TABLE_FULL
    elif phase == GATHER:
        if not gather(out, kept, around, tally):
            return STOPPED
    elif phase == STEP:
        clear_words(around.trail_words, 0, TRAIL_WORDS)
        enabled = step(parents.states.records[0], tally[PARENT], around.setup[0], around.trail[0])
        if enabled:
            normalise(parents.states.records[0], around.setup[0])
        out.prints[0] = fingerprint(parents.states.words, 0)
        tally[RESULT] = 1 if enabled else 0
    else:
        list_judged(tally)
        judged(parents.states.records[0], around.setup[0], 0, tally, EVERYTHING, 0)
        out.prints[0] = fingerprint(parents.states.words, 0)
    return DONE
