"""Which words of a state a promise may read, from the text of the functions that it consists of.

A leaf of a state is read by the names on its path: who never says `messages` reads no message, and who never says
`guard` reads no guard. Of a leaf all whose names are said somewhere it is taken that it is read.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from zombieproof.checker.engine.layout import WORD_BYTES, Layout
from zombieproof.checker.engine.lowering import frozen_words
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.places import words_of_bits
from zombieproof.checker.engine.rewriting import Lowered
from zombieproof.checker.engine.sources import OF_RECORDS, plain_function

Functions = Mapping[types.FunctionType, Lowered]
_OF_RECORDS = frozenset(OF_RECORDS.values())
_INDEX = re.compile(r"\[\d+\]")


def words_read(model: Model, lowered: Functions, state: Layout) -> Any:
    """Return for each promise of `model` (one at least) a row of bits, one for each word of `state`; a constant."""
    words = words_of_leaves(state)
    rows = [_empty(state)]
    for promise in model.promises:
        names = names_said(plain_function(promise.holds), lowered)
        row = _empty(state)
        if names & _OF_RECORDS:  # whole records, and it is not said which
            row |= every_word(state)[0]
        for path, found in words:
            if path <= names:
                for word in found:
                    row[word // 64] |= np.uint64(1 << word % 64)
        if not row.any():
            row[0] = np.uint64(1)  # what reads nothing has to be judged once all the same
        rows.append(row)
    return frozen_words(rows[1:] or rows)


def readers_of_words(reads: Any) -> Any:
    """Return for each word of a state, and up to the last bit of `words_read`, the promises that read it, as bits."""
    bits = np.unpackbits(reads.view(np.uint8), axis=1, bitorder="little").T
    readers = np.zeros((bits.shape[0], words_of_bits(bits.shape[1])), np.uint64)
    for word, promise in zip(*np.nonzero(bits), strict=True):
        readers[word, promise // 64] |= np.uint64(1 << int(promise) % 64)
    return frozen_words(readers)


def every_word(state: Layout) -> Any:
    """Return one row with the bits of all words; a constant."""
    return frozen_words([np.full_like(_empty(state), (1 << 64) - 1)])


def names_said(function: types.FunctionType, lowered: Functions) -> frozenset[str]:
    """Return the names of all attributes in a function and in those that it calls."""
    said: set[str] = set()
    seen: set[types.FunctionType] = set()
    left = [function]
    while left:
        one = lowered[left.pop()]
        if one.function not in seen:
            seen.add(one.function)
            said.update(node.attr for node in ast.walk(one.tree) if isinstance(node, ast.Attribute))
            said.update(node.id for node in ast.walk(one.tree) if isinstance(node, ast.Name) and node.id in _OF_RECORDS)
            left.extend(one.functions.values())
    return frozenset(said)


def words_of_leaves(state: Layout) -> list[tuple[frozenset[str], range]]:
    """Return for each leaf the names on its path and the words in which it lies."""
    found = []
    offset = 0
    for path, width in zip(state.paths(), state.widths(), strict=True):
        names = frozenset(_INDEX.sub("", path).split("."))
        found.append((names, range(offset // WORD_BYTES, (offset + width - 1) // WORD_BYTES + 1)))
        offset += width
    return found


def _empty(state: Layout) -> Any:
    return np.zeros(words_of_bits(state.padded.itemsize // WORD_BYTES), np.uint64)
