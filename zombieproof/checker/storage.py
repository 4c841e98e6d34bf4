"""Memory of an exploration: the table of fingerprints, the levels, the buffers, and the limit they must keep.

A level is a list of blocks. Each block holds up to a fixed number of worlds, with the parent's index in the level above and the action for each;
when a block has been expanded its worlds are given to the next level and only parents and actions stay: six bytes a state.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import psutil

from zombieproof.checker.kernels import REGION_BITS, REGIONS, Candidates, Kept, Worlds

MIB: Final = 1 << 20
FIRST_SLOTS: Final = 1 << 10
BLOCK_BYTES: Final = 16 * MIB
_HUGE: Final = 2 * MIB
_SHARE_OF_AVAILABLE: Final = 0.8


class OutOfMemory(Exception):
    """The next allocation would pass the limit; the message says what needed how much."""


class Memory:
    """Allocates pages and refuses before the limit is passed.

    The limit counts what the whole process holds (its resident set) plus what is asked for. Without a limit, four fifths of the memory
    that is available at the start may be used.
    """

    def __init__(self, limit_bytes: int | None) -> None:
        self._process = psutil.Process()
        available = self.resident() + int(psutil.virtual_memory().available * _SHARE_OF_AVAILABLE)
        self.limit = available if limit_bytes is None else limit_bytes
        self.peak = 0
        self.sample()

    def resident(self) -> int:
        """Return the resident set of this process in bytes."""
        return int(self._process.memory_info().rss)

    def sample(self) -> None:
        """Note how much is held now; `peak` is the greatest sample."""
        self.peak = max(self.peak, self.resident())

    def check(self, needed: int, what: str) -> None:
        """Raise OutOfMemory if `needed` bytes more would pass the limit."""
        self.sample()
        held = self.resident()
        if held + needed > self.limit:
            raise OutOfMemory(
                f"the memory limit of {self.limit / MIB:,.0f} MiB is reached: {held / MIB:,.0f} MiB are held and "
                f"{what} needs {needed / MIB:,.0f} MiB more"
            )

    def pages(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a zeroed array of its own pages, huge ones where the system gives them. Untouched pages are not resident."""
        wanted = np.dtype(dtype)
        size = int(np.prod(shape)) * wanted.itemsize
        area = mmap.mmap(-1, max(size, 1))
        if size >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
            area.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(area, wanted, int(np.prod(shape))).reshape(shape)


class Table:
    """Open addressing over 64-bit fingerprints, in regions by their high bits; grows by doubling all regions."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.slots = memory.pages((REGIONS, FIRST_SLOTS), np.uint64)
        self.used = np.zeros(REGIONS, np.int64)

    def grow(self, rehash: Any) -> None:
        """Double every region; raises OutOfMemory, leaving the table as it is."""
        old = self.slots
        size = 2 * old.nbytes
        self._memory.check(size, f"a table for {size // 8:,} fingerprints")
        new = self._memory.pages((REGIONS, 2 * old.shape[1]), np.uint64)
        for region in range(REGIONS):
            rehash(old, new, region)
        self.slots = new

    def insert(self, mark: int) -> None:
        """Insert the first fingerprint of all."""
        region = mark >> (64 - REGION_BITS)
        self.slots[region, mark & (self.slots.shape[1] - 1)] = mark
        self.used[region] += 1


@dataclass(slots=True)
class Block:
    """A part of a level: `base` is the index in the level of its first row, `fill` how many rows there are."""

    kept: Kept | None
    parents: Any
    actions: Any
    base: int
    fill: int = 0

    def finish(self) -> None:
        """Keep only as much of parents and actions as is used."""
        self.parents = self.parents[: self.fill].copy()
        self.actions = self.actions[: self.fill].copy()


class Shelf:
    """Makes blocks and candidate buffers for worlds of one layout, and takes their pages back for the next."""

    def __init__(self, memory: Memory, dtype: np.dtype[np.void], actions: int) -> None:
        self._memory = memory
        self._dtype = dtype
        self._actions = actions
        self._free: list[Worlds] = []
        self.rows = max(256, BLOCK_BYTES // dtype.itemsize)

    def worlds(self, rows: int) -> Worlds:
        """Return `rows` zeroed worlds."""
        words = self._memory.pages((rows, self._dtype.itemsize // 8), np.uint64)
        return Worlds(words, words.view(self._dtype).reshape(-1))

    def block(self, base: int) -> Block:
        """Return an empty block; raises OutOfMemory."""
        if not self._free:
            self._memory.check(self.rows * (self._dtype.itemsize + 6), "the next level")
        worlds = self._free.pop() if self._free else self.worlds(self.rows)
        parents, actions = np.empty(self.rows, np.uint32), np.empty(self.rows, np.uint16)
        return Block(Kept(worlds, parents, actions), parents, actions, base)

    def release(self, block: Block) -> None:
        """Take the worlds of a block that has been expanded."""
        if block.kept is not None:
            self._free.append(block.kept.worlds)
            block.kept = None

    def candidates(self, rows: int) -> Candidates:
        """Return a buffer for at least `rows` candidates beside the successors of one parent."""
        rows += self._actions + 2
        return Candidates(
            self.worlds(rows),
            np.zeros(rows, np.uint64),
            np.zeros(rows, np.uint32),
            np.zeros(rows, np.uint16),
            np.zeros(rows, np.uint8),
        )


@dataclass(slots=True)
class Levels:
    """All levels: level 0 is the initial world."""

    blocks: list[list[Block]] = field(default_factory=list)

    def path(self, depth: int, index: int) -> list[int]:
        """Return the actions that lead from the initial world to the world `index` of level `depth`."""
        actions: list[int] = []
        for level in range(depth, 0, -1):
            block = next(b for b in reversed(self.blocks[level]) if b.base <= index)
            actions.append(int(block.actions[index - block.base]))
            index = int(block.parents[index - block.base])
        return actions[::-1]
