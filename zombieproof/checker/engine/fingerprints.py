"""Fingerprints: 64 bits by which a state is known, and how one follows from another's where few words have changed.

Like `kernels`, these functions are compiled in copies that are bound to the sizes and keys of a model.

Two states that differ are taken for one with probability 2**-64, for keys drawn at random: `weight` is strongly
universal. The keys are not drawn anew for each run, but nobody chose them either (`compiled.keys`), and no model knows
them. Of n states some two have the same fingerprint with a probability below n**2 / 2**65, which every result tells.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from zombieproof.checker.engine.intrinsics import add_weighed, note_changes, trailing_zeros, word_of

WORDS: int = 1
KEYS: Any = ((1, 1),)
"""For each word of a state and one more: low and high half of its key."""

FEW_WORDS: Final = 8
_NO = np.uint64(0)
_ONE = np.uint64(1)
_SHIFT = np.uint64(32)
_ODD_1 = np.uint64(0xD6E8FEB86659FD93)
_ODD_2 = np.uint64(0xCF3083B3A8C5D2A5)


def weight(words: Any, row: Any) -> Any:
    """Return the sum of the words of a row, each times the key of its place, and of a key without a word.

    Modulo 2**128, as a low and a high half. The high half is a strongly universal hash: for keys drawn at random two
    states have the same with probability 2**-64, whatever they are (Lemire and Kaser, "Strongly universal string
    hashing is fast", 2014, MULTILINEAR). A word that changes adds its change, times its key.
    """
    low, high = np.uint64(KEYS[WORDS, 0]), np.uint64(KEYS[WORDS, 1])
    for word in range(WORDS):
        low, high = add_weighed(low, high, word_of(words, row, word, WORDS), _NO, KEYS[word, 0], KEYS[word, 1])
    return low, high


def scattered(weighed: Any) -> Any:
    """Return the high half of a weight with its bits mixed, one to one, so that every bit says something; never 0."""
    mixed = (weighed ^ (weighed >> _SHIFT)) * _ODD_1
    mixed = (mixed ^ (mixed >> _SHIFT)) * _ODD_2
    mixed ^= mixed >> _SHIFT
    return mixed if mixed != 0 else _ONE


def fingerprint(words: Any, row: Any) -> Any:
    """Return 64 bits for the words of a row, never 0."""
    return scattered(weight(words, row)[1])


def moved(weighed: Any, changes: Any, place: Any, words: Any, row: Any, others: Any, other: Any) -> Any:
    """Return the weight of a row by that of another; where there are many, note in `changes` which words differ."""
    if WORDS <= FEW_WORDS:
        return weight(words, row)
    note_changes(changes, place, words, row, others, other, WORDS)
    low, high = weighed
    for part in range(changes.shape[1]):
        left = changes[place, part]
        while left != 0:
            word = 64 * part + trailing_zeros(left)
            new, old = word_of(words, row, word, WORDS), word_of(others, other, word, WORDS)
            key = np.uint64(word)
            low, high = add_weighed(low, high, new, old, KEYS[key, 0], KEYS[key, 1])
            left &= left - _ONE
    return low, high
