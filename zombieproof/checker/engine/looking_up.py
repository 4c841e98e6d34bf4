"""The table of fingerprints, as compiled code looks things up in it: which region, which bucket, what is new.

Compiled with a model like `kernels`. `storage.Table` owns its memory and lets it grow.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from zombieproof.checker.engine.intrinsics import look_up, prefetch, trailing_zeros
from zombieproof.checker.engine.places import BUCKET, FRESH, POSITION, QUEUED, RECENT, REGION_BITS

REGION_SHIFT: Final = np.uint64(64 - REGION_BITS)
AHEAD: Final = 32
"""So many candidates before its turn the bucket of one is asked for."""
NEAR: Final = 12
"""So many before its turn the bucket is there: where it is full of others, the next one is asked for."""
HALF: Final = np.uint64((1 << 32) - 1)
HALF_BITS: Final = np.uint64(32)
_NONE = np.uint64(0)
FULL_BUCKET: Final = (1 << BUCKET) - 1
LAST_RECENT: Final = np.uint64(RECENT - 1)
SLOTS_OF_BUCKET: Final = np.uint64(BUCKET)


def queue(out: Any, candidate: Any, mark: Any, queued: Any) -> Any:
    """Have a candidate looked up, unless its fingerprint is among those seen last; returns how many are to be.

    Most of what is not new was seen a moment ago: that is told here, and the table is not asked, of which little is in
    the caches of the processor.
    """
    place = (mark >> HALF_BITS) & LAST_RECENT
    out.fresh[np.uint64(candidate)] = 0
    out.order[np.uint64(queued)] = candidate
    is_recent = out.recent[place] == mark
    out.recent[place] = mark
    return queued if is_recent else queued + 1


def home_of(mark: Any, width: Any) -> Any:
    """Return the first slot of the bucket to look at for a fingerprint in a region of `width`: its low half, scaled."""
    return (((mark & HALF) * (width // SLOTS_OF_BUCKET)) >> HALF_BITS) * SLOTS_OF_BUCKET


def next_bucket(bucket: Any, width: Any) -> Any:
    """Return the first slot of the bucket behind another, behind the last one the first."""
    bucket += SLOTS_OF_BUCKET
    return _NONE if bucket == width else bucket


def sought(table: Any, region: Any, width: Any, mark: Any) -> Any:
    """Return the first slot of the bucket that has a fingerprint or a place for it, and what `look_up` says of that."""
    bucket = home_of(mark, width)
    seen = look_up(table, region, bucket, mark)
    while seen == 0:
        bucket = next_bucket(bucket, width)
        seen = look_up(table, region, bucket, mark)
    return bucket, seen


def place_in(bucket: Any, seen: Any) -> Any:
    """Return the slot of a bucket into which goes what `look_up` has not seen there."""
    return bucket + np.uint64(trailing_zeros(np.uint64(seen >> BUCKET)))


def deduplicate(out: Any, table: Any, used: Any, tally: Any, has_turn: Any) -> bool:
    """Mark what is new of the candidates in `order`; False where a region has to grow first.

    Without the turn only those that the table has are taken out of `order`: what is there was found by units before,
    whatever becomes of the table. Of the others nobody knows before the turn has come. It does not matter that another
    thread writes into the table meanwhile, lets it grow or empties it: a slot is read as it was before or is then.
    """
    found = tally[QUEUED]
    width = np.uint64(table.shape[1])
    limit = table.shape[1] * 13 // 16
    position = tally[POSITION]
    ready = near = position
    left = 0
    while position < found:
        while ready < found and ready < position + AHEAD:
            mark = out.prints[np.uint64(out.order[np.uint64(ready)])]
            prefetch(table, mark >> REGION_SHIFT, home_of(mark, width))
            ready += 1
        while near < found and near < position + NEAR:
            mark = out.prints[np.uint64(out.order[np.uint64(near)])]
            bucket = home_of(mark, width)
            if look_up(table, mark >> REGION_SHIFT, bucket, mark) == 0:
                prefetch(table, mark >> REGION_SHIFT, next_bucket(bucket, width))
            near += 1
        candidate = np.uint64(out.order[np.uint64(position)])
        mark = out.prints[candidate]
        region = mark >> REGION_SHIFT
        bucket, seen = sought(table, region, width, mark)
        if seen & FULL_BUCKET == 0 and not has_turn:
            out.order[np.uint64(left)] = candidate
            left += 1
        elif seen & FULL_BUCKET == 0:
            if used[region] >= limit:
                tally[POSITION] = position
                return False
            table[region, place_in(bucket, seen)] = mark
            used[region] += 1
            out.fresh[candidate] = 1
            tally[FRESH] += 1
        else:
            out.fresh[candidate] = 0
        position += 1
    if has_turn:
        tally[POSITION] = position
    else:
        tally[QUEUED] = left
    return True


def rehash(old: Any, new: Any, filled: Any, region: int) -> None:
    """Insert what a region of the old table holds into the same region of the new, whose buckets fill from their start.

    `filled` has room for a number for each of them: to look at a slot right behind a write into it would take longer.
    """
    width = np.uint64(new.shape[1])
    for bucket in range(filled.shape[0]):
        filled[bucket] = 0
    for bucket in range(0, old.shape[1], BUCKET):
        for place in range(bucket, bucket + BUCKET):
            mark = old[region, place]
            if mark == 0:
                break
            home = home_of(mark, width)
            while filled[home // SLOTS_OF_BUCKET] == BUCKET:
                home = next_bucket(home, width)
            there = filled[home // SLOTS_OF_BUCKET]
            new[region, home + np.uint64(there)] = mark
            filled[home // SLOTS_OF_BUCKET] = there + 1
