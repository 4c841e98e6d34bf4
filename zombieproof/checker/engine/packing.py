"""States in few bytes: a row is written as what differs from the row before it.

States that follow each other in a level are mostly successors of one parent, and differ in a few bytes. A row begins
with one bit for each word, set where the word differs; then, for each word that does, one byte with a bit for each byte
that differs, and those bytes (exclusive or). Rows come in *units*: the first of a unit is written as what differs from
zeros, so that a unit is read without the ones before it. Rows of few words are written as they are: there is little to
leave out, and looking for it takes a sixth of the time of an exploration.

Like those of `kernels`, these functions are compiled together with a model.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from zombieproof.checker.engine.intrinsics import clear_words, copy_words, differing_words, trailing_zeros
from zombieproof.checker.engine.places import BASE, BLOCK, LAST, PARENT, UNIT, UNITS

WORDS: int = 1
GROUPS: int = 1
TAIL: int = 1
IS_WHOLE: int = 0
"""1 where rows are written as they are."""

BYTE: Final = np.uint64(0xFF)
NOTHING: Final = np.uint64(0)
UNIT_BYTES: Final = 1 << 16
MOST_ROWS: Final = 1 << 10
FEW_WORDS: Final = 6


def unit_rows(words: int) -> int:
    """Return how many rows of so many words are in a unit."""
    return max(16, min(MOST_ROWS, UNIT_BYTES // (8 * words)))


def is_whole(words: int) -> int:
    """Return 1 where rows of so many words are written as they are, else 0."""
    return int(words <= FEW_WORDS)


def groups_of(words: int) -> int:
    """Return how many bytes have a bit for each word."""
    return -(-words // 8)


def most_bytes(words: int) -> int:
    """Return what a row takes at most."""
    return groups_of(words) + 9 * words


def pack_row(words: Any, row: Any, last: Any, packed: Any, place: Any) -> Any:
    """Write a row as what differs from `last`, which it becomes; returns the place behind it."""
    if IS_WHOLE == 1:
        return pack_whole(words, row, packed, place)
    group = place
    place += GROUPS
    for first in range(0, WORDS - TAIL, 8):
        differing = differing_words(words, row, last, 0, first, 8)
        packed[group] = differing
        group += 1
        place = pack_words(words, row, last, first, differing, packed, place)
    if TAIL != 0:
        differing = differing_words(words, row, last, 0, WORDS - TAIL, TAIL)
        packed[group] = differing
        place = pack_words(words, row, last, WORDS - TAIL, differing, packed, place)
    return place


def pack_whole(words: Any, row: Any, packed: Any, place: Any) -> Any:
    """Write a row as it is."""
    for word in range(WORDS):
        for byte in range(8):
            packed[place + byte] = (words[row, word] >> np.uint64(8 * byte)) & BYTE
        place += 8
    return place


def pack_words(words: Any, row: Any, last: Any, first: Any, differing: Any, packed: Any, place: Any) -> Any:
    """Write those of eight words that differ."""
    while differing != 0:
        word = first + trailing_zeros(np.uint64(differing))
        differing &= differing - 1
        changed = words[row, word] ^ last[0, word]
        last[0, word] = words[row, word]
        bits = 0
        mask = place
        place += 1
        while changed != 0:
            byte = trailing_zeros(changed) >> 3
            shift = np.uint64(byte << 3)
            packed[place] = (changed >> shift) & BYTE
            changed &= ~(BYTE << shift)
            bits |= 1 << byte
            place += 1
        packed[mask] = bits
    return place


def unpack_row(packed: Any, place: Any, words: Any, row: Any) -> Any:
    """Make of the row before, which is there, the row that is written; returns the place behind it."""
    if IS_WHOLE == 1:
        return unpack_whole(packed, place, words, row)
    group = place
    place += GROUPS
    for first in range(0, WORDS, 8):
        differing = np.int64(packed[group])
        group += 1
        while differing != 0:
            word = first + trailing_zeros(np.uint64(differing))
            differing &= differing - 1
            bits = np.int64(packed[place])
            place += 1
            changed = NOTHING
            while bits != 0:
                changed |= np.uint64(packed[place]) << np.uint64(trailing_zeros(np.uint64(bits)) << 3)
                bits &= bits - 1
                place += 1
            words[row, word] ^= changed
    return place


def unpack_whole(packed: Any, place: Any, words: Any, row: Any) -> Any:
    """Read a row that is written as it is."""
    for word in range(WORDS):
        found = NOTHING
        for byte in range(8):
            found |= np.uint64(packed[place + byte]) << np.uint64(8 * byte)
        words[row, word] = found
        place += 8
    return place


def unpack(parents: Any, tally: Any) -> None:
    """Unpack as many units as there is room for; their rows are the parents to be expanded next."""
    rows = 0
    unit = tally[UNIT]
    tally[BASE] = tally[BLOCK] + parents.units[unit, 1]
    room = parents.states.words.shape[0]
    while unit < tally[UNITS]:
        count = parents.units[unit + 1, 1] - parents.units[unit, 1]
        if rows + count > room:
            break
        place = parents.units[unit, 0]
        for row in range(rows, rows + count):
            if row == rows:
                clear_words(parents.states.words, row, WORDS)
            else:
                copy_words(parents.states.words, row, parents.states.words, row - 1, WORDS)
            place = unpack_row(parents.packed, place, parents.states.words, row)
        rows += count
        unit += 1
    tally[PARENT] = 0
    tally[LAST] = rows
    tally[UNIT] = unit
