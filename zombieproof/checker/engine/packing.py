"""States in few bytes: a row is written as what differs from the row before it.

States that follow each other in a level are mostly successors of one parent, and differ in a few bytes. A row begins
with one bit for each word, set where the word differs; then, for each word that does, one byte that says from which
byte on and how many, and those bytes (exclusive or). Bytes are written and read eight at a time, and only the place of
the next word says how many of them count: so nothing branches but for each word. Rows come in *units*: the first of a
unit is written as what differs from zeros, so that a unit is read without the ones before it. Rows of few words are
written as they are: there is little to leave out, and looking for it takes a sixth of the time of an exploration.

Like those of `kernels`, these functions are compiled together with a model.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from zombieproof.checker.engine.intrinsics import (
    add_weighed,
    clear_words,
    copy_words,
    leading_zeros,
    load_word,
    note_changes,
    store_word,
    trailing_zeros,
)
from zombieproof.checker.engine.places import BASE, BLOCK, LAST, PARENT, UNIT, UNITS

WORDS: int = 1
HEAD: int = 8
"""How many bytes the bits at the beginning of a row take."""
PARTS: int = 1
"""How many words."""
IS_WHOLE: int = 0
"""1 where rows are written as they are."""
KEYS: Any = ((1, 1), (1, 1))
"""Those of `fingerprints`."""

BYTE: Final = np.uint64(0xFF)
NOTHING: Final = np.uint64(0)
ONE: Final = np.uint64(1)
BITS_OF_FIRST: Final = 3


def pack_row(words: Any, row: Any, last: Any, changes: Any, spare: Any, packed: Any, place: Any) -> Any:
    """Write a row as what differs from `last`, which it becomes; returns the place behind it.

    `changes[spare]` is written over. What is written over behind the row is no more than a row takes at most.
    """
    if IS_WHOLE == 1:
        return pack_whole(words, row, packed, place)
    note_changes(changes, spare, words, row, last, 0, WORDS)
    for part in range(PARTS):
        store_word(packed, place + 8 * part, changes[spare, part])
    place += HEAD
    for part in range(PARTS):
        left = changes[spare, part]
        while left != 0:
            word = 64 * part + trailing_zeros(left)
            left &= left - ONE
            changed = words[row, word] ^ last[0, word]
            last[0, word] = words[row, word]
            first = trailing_zeros(changed) >> 3
            count = 8 - first - (leading_zeros(changed) >> 3)
            packed[np.uint64(place)] = first | count << BITS_OF_FIRST
            store_word(packed, place + 1, changed >> np.uint64(first << 3))
            place += 1 + count
    return place


def pack_whole(words: Any, row: Any, packed: Any, place: Any) -> Any:
    """Write a row as it is."""
    for word in range(WORDS):
        for byte in range(8):
            packed[place + byte] = (words[row, word] >> np.uint64(8 * byte)) & BYTE
        place += 8
    return place


def unpack_row(packed: Any, place: Any, words: Any, row: Any, low: Any, high: Any) -> Any:
    """Make of the row before, which is there, the row that is written; returns the place behind it.

    And the weight of the row, as a low and a high half, by that of the row before (`fingerprints.moved`).
    """
    if IS_WHOLE == 1:
        return unpack_whole(packed, place, words, row), low, high
    begin = place
    place += HEAD
    for part in range(PARTS):
        end = min(8 * part + 8, HEAD)
        left = load_word(packed, begin + end - 8) >> np.uint64(8 * (8 * part + 8 - end))
        while left != 0:
            word = 64 * part + trailing_zeros(left)
            left &= left - ONE
            span = np.int64(packed[np.uint64(place)])
            count = span >> BITS_OF_FIRST
            place += 1 + count
            changed = load_word(packed, place - 8) >> np.uint64(64 - (count << 3))
            old = words[row, word]
            new = old ^ changed << np.uint64((span & 7) << 3)
            words[row, word] = new
            key = np.uint64(word)
            low, high = add_weighed(low, high, new, old, KEYS[key, 0], KEYS[key, 1])
    return place, low, high


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
    low = high = NOTHING
    while unit < tally[UNITS]:
        count = parents.units[unit + 1, 1] - parents.units[unit, 1]
        if rows + count > room:
            break
        place = parents.units[unit, 0]
        for row in range(rows, rows + count):
            if row == rows:
                clear_words(parents.states.words, row, WORDS)
                low, high = np.uint64(KEYS[WORDS, 0]), np.uint64(KEYS[WORDS, 1])
            else:
                copy_words(parents.states.words, row, parents.states.words, row - 1, WORDS)
            place, low, high = unpack_row(parents.packed, place, parents.states.words, row, low, high)
            parents.states.weights[row, 0], parents.states.weights[row, 1] = low, high
        rows += count
        unit += 1
    tally[PARENT] = 0
    tally[LAST] = rows
    tally[UNIT] = unit
