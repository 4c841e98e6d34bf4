"""Where the states of a level come from: for each the parent in the level above, and the action, in few bits.

States are numbered in the order of their parents. So the parents of a part of a level are a row of bits: a zero for
each step to the next parent, a one for each state. Together over all levels that is about two bits a state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

_FEW: Final = 1 << 8
_BYTE: Final = 8
_SIZES: Final = 3 * 8
_AT_ONCE: Final = 1 << 13  # rows, so that what is only needed on the way is in the caches of the processor


@dataclass(frozen=True, slots=True)
class Origins:
    """Parents and actions of `count` states that follow each other; `first` is the parent of the first.

    `bits` are packed eight to a byte; `actions` are u1 where the model has few, else u2.
    """

    first: int
    count: int
    bits: Any
    actions: Any

    @property
    def nbytes(self) -> int:
        """What they take."""
        return int(self.bits.nbytes + self.actions.nbytes)

    def of(self, place: int) -> tuple[int, int]:
        """Return parent and action of the state `place` of these.

        The bytes before the one with its one are counted, not unpacked.
        """
        ones = np.cumsum(np.bitwise_count(self.bits), dtype=np.int64)
        byte = int(np.searchsorted(ones, place, side="right"))
        before = int(ones[byte - 1]) if byte else 0
        within = int(np.flatnonzero(np.unpackbits(self.bits[byte : byte + 1]))[place - before])
        return self.first + byte * _BYTE + within - place, int(self.actions[place])

    def whole(self) -> tuple[Any, Any]:
        """Return parents and actions of all."""
        ones = np.flatnonzero(np.unpackbits(self.bits))[: self.count]
        return ones - np.arange(-self.first, self.count - self.first), self.actions

    def pieces(self) -> tuple[Any, Any, Any]:
        """Return what `read` takes: sizes, bits, actions."""
        return np.array([self.first, self.count, self.bits.nbytes], np.int64), self.bits, self.actions


class Readable(Protocol):
    """A file that is read at any place."""

    def array(self, place: int, count: int, dtype: Any) -> Any:
        """Return an array that begins there."""


@dataclass(frozen=True, slots=True)
class StoredOrigins:
    """`Origins` that are read when they are asked for."""

    store: Readable
    place: int
    first: int
    count: int
    bits: int
    actions: Any

    nbytes = 0

    def of(self, place: int) -> tuple[int, int]:
        """Return parent and action of a state."""
        return self.read().of(place)

    def whole(self) -> tuple[Any, Any]:
        """Return parents and actions of all."""
        return self.read().whole()

    def pieces(self) -> tuple[Any, Any, Any]:
        """Return what `origins.read` takes."""
        return self.read().pieces()

    def read(self) -> Origins:
        """Read them."""
        bits = self.store.array(self.place, self.bits, np.uint8)
        return Origins(self.first, self.count, bits, self.store.array(self.place + self.bits, self.count, self.actions))


def read(content: Any, most: int) -> Iterator[Origins]:
    """Read what `pieces` of several have given, one behind the other, as bytes."""
    place = 0
    while place < len(content):
        first, count, size = map(int, content[place : place + _SIZES].view(np.int64))
        bits = content[place + _SIZES :][:size]
        place += _SIZES + size
        size = count * np.dtype(actions_type(most)).itemsize
        yield Origins(first, count, bits, content[place : place + size].view(actions_type(most)))
        place += size


def actions_type(most: int) -> Any:
    """Return how the numbers of so many actions are kept."""
    return np.uint8 if most <= _FEW else np.uint16


def origins(parents: Any, actions: Any, most: int) -> Origins:
    """Keep parents, which never go down, and the actions of a model that has `most`."""
    count = len(parents)
    if not count:
        return Origins(0, 0, np.empty(0, np.uint8), np.empty(0, actions_type(most)))
    first = int(parents[0])
    bits = np.zeros(int(parents[-1]) - first + count, np.uint8)
    for begin in range(0, count, _AT_ONCE):
        some = parents[begin : begin + _AT_ONCE]
        bits[np.arange(begin - first, begin - first + len(some)) + some] = 1
    return Origins(first, count, np.packbits(bits), actions.astype(actions_type(most)))
