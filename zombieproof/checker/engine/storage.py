"""Memory of an exploration: the table of fingerprints, the levels, the buffers, and the limit that they keep.

A level is a list of blocks. A block holds states, packed, and for each of them the parent's index in the level above
and the action. When a block has been expanded its states are forgotten, and only what leads to each stays (`origins`).
"""

from __future__ import annotations

import mmap
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import psutil

from zombieproof import system
from zombieproof.checker.engine.origins import Origins, StoredOrigins, origins
from zombieproof.checker.engine.places import (
    BUCKET,
    RECENT,
    REGION_BITS,
    REGIONS,
    Candidates,
    Kept,
    States,
    words_of_bits,
)
from zombieproof.checker.engine.units import most_bytes, unit_rows

MIB: Final = 1 << 20
FIRST_SLOTS: Final = 1 << 10
_HUGE_PAGE: Final = 2 * MIB
_HALF: Final = (1 << 32) - 1
_DOUBLES_BELOW: Final = 2 * MIB
_GROWS_BY: Final = 29, 20  # so that behind it 14.3 bytes are taken for each fingerprint, and before it 9.8
_SHARE_OF_AVAILABLE: Final = 0.8
_MOST_IN_A_LEVEL: Final = 1 << 32  # parents are kept in four bytes


class OutOfMemory(Exception):
    """The next allocation would pass the limit; the message says what needed how much."""


class Memory:
    """Gives pages, and refuses before a limit is passed.

    The limit is for what the whole process holds (its resident set) together with what is asked for. Without a limit,
    four fifths of the memory that is available at the start may be used.
    """

    def __init__(self, limit_bytes: int | None = None) -> None:
        self._process = psutil.Process()
        self.peak = self.resident()
        self.limit = self.peak + int(_available() * _SHARE_OF_AVAILABLE) if limit_bytes is None else limit_bytes

    def resident(self) -> int:
        """Return the resident set of this process in bytes, and remember the greatest that was seen in `peak`."""
        held = int(self._process.memory_info().rss)
        self.peak = max(getattr(self, "peak", 0), held)
        return held

    def check(self, needed: int, what: str) -> None:
        """Raise OutOfMemory if `needed` bytes more would pass the limit."""
        held = self.resident()
        if held + needed > self.limit:
            raise OutOfMemory(
                f"the memory limit of {self.limit / MIB:,.0f} MiB is reached: {held / MIB:,.0f} MiB are held and "
                f"{what} needs {needed / MIB:,.0f} MiB more"
            )

    @staticmethod
    def area(size: int) -> mmap.mmap:
        """Return zeroed pages for `size` bytes or more, huge ones where the system gives them.

        A page takes memory when it is first touched. Raises OutOfMemory where the system refuses.
        """
        wholes = size // _HUGE_PAGE
        # The system lets an area begin where a huge page does if it is a whole number of them.
        length = (wholes + 1) * _HUGE_PAGE if wholes else max(size, 1)
        try:
            area = system.private_pages(length)
        except OSError as error:
            raise OutOfMemory(f"the system refuses {size / MIB:,.0f} MiB more: {error.strerror}") from None
        if wholes:  # The last one only if half of it is wanted.
            system.prefer_huge_pages(area, (size + _HUGE_PAGE // 2) // _HUGE_PAGE * _HUGE_PAGE)
        return area

    def pages(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a zeroed array of its own pages."""
        count = int(np.prod(shape))
        return np.frombuffer(self.area(count * np.dtype(dtype).itemsize), dtype, count).reshape(shape)


def _available() -> int:
    """Return what the machine, or the control group of this process, has left in bytes."""
    available = int(psutil.virtual_memory().available)
    left = system.memory_left_in_group()
    return available if left is None else min(available, left)


class Growth:
    """A table that goes over into a larger one, region by region, by all threads that come by.

    `give_back` is told of how many regions, from the first one on, nothing is needed any more.
    """

    def __init__(self, rehash: Any, old: Any, new: Any, give_back: Callable[[int], object]) -> None:
        self._rehash, self._old, self._new, self._give_back = rehash, old, new, give_back
        self._left = deque(range(REGIONS))
        self._under_way = set(self._left)
        self._lock = threading.Lock()

    def help(self) -> bool:
        """Take over regions until none is left; returns whether there was one."""
        filled = np.empty(self._new.shape[1] // BUCKET, np.uint8)
        region = self._take()
        helped = region is not None
        while region is not None:
            try:
                self._rehash(self._old, self._new, filled, region)
            finally:
                self._end(region)
            region = self._take()
        return helped

    def _take(self) -> int | None:
        try:
            return self._left.popleft()
        except IndexError:
            return None

    def _end(self, region: int) -> None:
        with self._lock:
            is_first = region == min(self._under_way)
            self._under_way.remove(region)
            if is_first:
                self._give_back(min(self._under_way, default=REGIONS))

    def wait(self) -> None:
        """Wait for those who have taken the last ones; nobody looks at the old table any more."""
        while not self._is_over():
            time.sleep(0)

    def _is_over(self) -> bool:
        with self._lock:
            return not self._under_way


class Table:
    """Open addressing over 64-bit fingerprints, in regions by their high bits.

    A fingerprint lies in the first bucket that had a free slot, from its home on: its low half, scaled to the size of
    the region. So a region may have any number of buckets, and goes over into a larger one from its beginning to its
    end. While it is small the table doubles; then it grows by less, so that little of it is ever empty.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._area = memory.area(REGIONS * FIRST_SLOTS * 8)
        self.slots: Any = np.frombuffer(self._area, np.uint64).reshape(REGIONS, FIRST_SLOTS)
        self.used = np.zeros(REGIONS, np.int64)
        self._recents: list[Any] = []
        self._growth: Growth | None = None

    def grow(self, rehash: Any) -> None:
        """Make every region larger, giving back pages on the way. Raises OutOfMemory, leaving the table as it is.

        The peak is the new table and an old region for each thread.
        """
        size = self.slots.nbytes
        region_bytes = size // REGIONS
        width = self._next_width()
        self._memory.check(8 * REGIONS * width - size + region_bytes, f"a table of {REGIONS * width:,} fingerprints")
        area = self._memory.area(8 * REGIONS * width)
        slots: Any = np.frombuffer(area, np.uint64, REGIONS * width).reshape(REGIONS, width)
        self._growth = Growth(rehash, self.slots, slots, self._give_back)
        self._growth.help()
        self._growth.wait()
        self._growth = None
        self.slots, self._area = slots, area

    def help(self) -> bool:
        """Take a part of the work, where another thread lets the table grow; returns whether there was any."""
        growth = self._growth
        return growth is not None and growth.help()

    def _next_width(self) -> int:
        width: int = self.slots.shape[1]
        return (
            2 * width
            if self.slots.nbytes < _DOUBLES_BELOW
            else -(-width * _GROWS_BY[0] // _GROWS_BY[1] // BUCKET) * BUCKET
        )

    def next_bytes(self) -> int:
        """Return what the table takes after it has grown."""
        return 8 * REGIONS * self._next_width()

    def recent(self) -> Any:
        """Return room for the fingerprints that a thread has met last (`places.Candidates`)."""
        self._recents.append(np.zeros(RECENT, np.uint64))
        return self._recents[-1]

    def clear(self) -> None:
        """Forget all fingerprints, and keep the size."""
        self.slots[:] = 0
        self.used[:] = 0
        for recent in self._recents:
            recent[:] = 0

    def _give_back(self, regions: int) -> None:
        """Give the pages of the first regions back."""
        size = self.slots.nbytes // REGIONS * regions // _HUGE_PAGE * _HUGE_PAGE
        if size:
            system.release_pages(self._area, 0, size)

    def take(self, used: Any, slots: Any) -> None:
        """Be the table that another one was; raises OutOfMemory."""
        self._area = self._memory.area(slots.nbytes)
        self.slots = np.frombuffer(self._area, np.uint64, slots.size).reshape(REGIONS, -1)
        self.slots[:] = slots
        self.used[:] = used

    def insert(self, mark: int) -> None:
        """Insert the first fingerprint of all."""
        region = mark >> (64 - REGION_BITS)
        self.slots[region, ((mark & _HALF) * (self.slots.shape[1] // BUCKET) >> 32) * BUCKET] = mark
        self.used[region] += 1


@dataclass(slots=True)
class Block:
    """A part of a level: `base` is the index in the level of its first row, `fill` how many rows there are.

    `packed` are its states, in `units` (`places.Parents`), until they have been expanded.
    """

    base: int
    fill: int
    origins: Origins | StoredOrigins
    packed: Any = None
    units: Any = None

    @property
    def last_unit(self) -> int:
        """How many units there are, while its states are there."""
        return len(self.units) - 1

    def behind(self, unit: int, rows: int) -> int:
        """Return the unit behind those that, from this one on, have so many rows, or a few more."""
        wanted = self.units[unit, 1] + rows
        return min(self.last_unit, max(unit + 1, int(np.searchsorted(self.units[:, 1], wanted))))

    def release(self) -> None:
        """Forget the states, which have been expanded."""
        self.packed = self.units = None


@dataclass(slots=True)
class Part:
    """Rows on their way into a block: packed, in units that count from its own first row, as they are kept."""

    fill: int
    packed: Any
    units: Any
    prints: Any
    parents: Any
    actions: Any


def _together(arrays: list[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


class Shelf:
    """Makes blocks and buffers for states of one layout."""

    def __init__(self, memory: Memory, dtype: np.dtype[np.void], actions: int) -> None:
        self._memory = memory
        self._dtype = dtype
        self._actions = actions
        self._words = dtype.itemsize // 8

    def states(self, rows: int, weighed: int = 0) -> States:
        """Return `rows` zeroed states, with room for the weights of the first `weighed`."""
        words = self._memory.pages((rows, self._words), np.uint64)
        return States(words, words.view(self._dtype).reshape(-1), np.zeros((weighed, 2), np.uint64))

    def scratch(self, size: int) -> States:
        """Return room for parents of about `size` bytes, for at least a unit."""
        rows = max(unit_rows(self._words), size // self._dtype.itemsize)
        return self.states(rows, rows)

    def part(self, kept: Kept, fill: int, size: int) -> Part:
        """Return the first `fill` rows that are kept, which take `size` bytes."""
        units = -(-fill // unit_rows(self._words))
        rows = kept.prints[:fill], kept.parents[:fill], kept.actions[:fill]
        return Part(fill, kept.packed[:size], kept.units[:units], *rows)

    def apart(self, part: Part) -> Part:
        """Return a copy, which stays when what is kept changes; raises OutOfMemory."""
        rows = part.prints.copy(), part.parents.copy(), part.actions.copy()
        return Part(part.fill, self.joined([part]), part.units.copy(), *rows)

    def block(self, base: int, parts: list[Part]) -> Block:
        """Make a block of parts that follow each other, without their states; raises OutOfMemory."""
        fill = sum(part.fill for part in parts)
        if base + fill > _MOST_IN_A_LEVEL:
            raise OutOfMemory(f"a level has more than {_MOST_IN_A_LEVEL:,} states, which is all that can be numbered")
        units = np.zeros((sum(len(part.units) for part in parts) + 1, 2), np.int64)
        row = place = unit = 0
        for part in parts:
            units[unit : unit + len(part.units)] = part.units + np.array([place, row])
            place, row, unit = place + len(part.packed), row + part.fill, unit + len(part.units)
        units[unit] = place, row
        parents, actions = (_together([getattr(part, name) for part in parts]) for name in ("parents", "actions"))
        return Block(base, fill, origins(parents, actions, self._actions), None, units)

    def joined(self, parts: list[Part]) -> Any:
        """Return the states of parts, in pages of their own, which are given back whatever thread made them.

        Raises OutOfMemory.
        """
        size = sum(len(part.packed) for part in parts)
        self._memory.check(size, "the next level")
        return np.concatenate([part.packed for part in parts], out=self._memory.pages((size,), np.uint8))

    def kept(self, rows: int, more_rows: int, more_bytes: int) -> Kept:
        """Return room for so many rows, whatever they take, and so many rows and bytes more."""
        packed = np.empty(rows * most_bytes(self._words) + more_bytes, np.uint8)
        rows += more_rows
        units = np.zeros((rows // unit_rows(self._words) + 1, 2), np.int64)
        last = np.zeros((1, self._words), np.uint64)
        prints, parents, actions = (np.empty(rows, kind) for kind in (np.uint64, np.uint32, np.uint16))
        return Kept(last, packed, units, prints, parents, actions)

    def candidates(self, size: int, recent: Any) -> Candidates:
        """Return room for candidates of about `size` bytes, and for the successors of at least one parent."""
        rows = max(64, size // self._dtype.itemsize) + self._actions + 2
        parts = words_of_bits(self._dtype.itemsize // 8)
        self._memory.check(rows * (self._dtype.itemsize + 19 + 8 * parts), "a buffer for successors")
        return Candidates(
            self.states(rows),
            np.zeros(rows, np.uint64),
            np.zeros(rows, np.uint32),
            np.zeros(rows, np.uint16),
            np.zeros(rows, np.uint32),
            np.zeros(rows + 8, np.uint8),
            np.zeros((rows, parts), np.uint64),
            recent,
        )


@dataclass(slots=True)
class Levels:
    """All levels, each a list of blocks; level 0 is the initial state.

    `packed_states` have waited to be expanded, in `packed_bytes`.
    """

    blocks: list[list[Block]] = field(default_factory=list)
    packed_states: int = 0
    packed_bytes: int = 0

    def take(self, block: Block) -> None:
        """Add a block to the last level."""
        self.blocks[-1].append(block)
        self.packed_states += block.fill
        self.packed_bytes += int(block.units[-1, 0]) + block.units.nbytes

    def count(self, level: int) -> int:
        """Return how many states a level has."""
        blocks = self.blocks[level]
        return blocks[-1].base + blocks[-1].fill if blocks else 0

    def path(self, depth: int, index: int) -> list[int]:
        """Return the actions that lead from the initial state to the state `index` of level `depth`."""
        actions: list[int] = []
        for level in range(depth, 0, -1):
            block = next(b for b in reversed(self.blocks[level]) if b.base <= index)
            index, action = block.origins.of(index - block.base)
            actions.append(action)
        return actions[::-1]

    def nbytes(self) -> int:
        """Return what parents and actions take."""
        return sum(block.origins.nbytes for level in self.blocks for block in level)
