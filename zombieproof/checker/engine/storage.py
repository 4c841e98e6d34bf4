"""Memory of an exploration: the table of fingerprints, the levels, the buffers, and the limit that they keep.

A level is a list of blocks. A block holds up to a fixed number of states and, for each, the parent's index in the
level above and the action. When a block has been expanded its states give their place to the next level, and only
parents and actions stay: six bytes a state.
"""

from __future__ import annotations

import contextlib
import mmap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil

from zombieproof.checker.engine.places import REGION_BITS, REGIONS, Candidates, Kept, States

MIB: Final = 1 << 20
FIRST_SLOTS: Final = 1 << 10
BLOCK_BYTES: Final = 16 * MIB
_HUGE_PAGE: Final = 2 * MIB
_SHARE_OF_AVAILABLE: Final = 0.8
_MOST_IN_A_LEVEL: Final = 1 << 32  # parents are kept in four bytes
# Anonymous memory that is shared, as it is by default, gets no huge pages. Some systems have no such flags.
_PRIVATE: Final[dict[str, int]] = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
)
_CGROUP: Final = Path("/sys/fs/cgroup")


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
        """Return zeroed pages, huge ones where the system gives them. A page takes memory when it is first touched.

        Raises OutOfMemory where the system refuses.
        """
        try:
            area = mmap.mmap(-1, max(size, 1), **_PRIVATE)
        except OSError as error:
            raise OutOfMemory(f"the system refuses {size / MIB:,.0f} MiB more: {error.strerror}") from None
        if size >= _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without huge pages
                area.madvise(mmap.MADV_HUGEPAGE)
        return area

    def pages(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a zeroed array of its own pages."""
        count = int(np.prod(shape))
        return np.frombuffer(self.area(count * np.dtype(dtype).itemsize), dtype, count).reshape(shape)


def _available() -> int:
    """Return what the machine, or the control group of this process, has left in bytes."""
    available = int(psutil.virtual_memory().available)
    with contextlib.suppress(OSError, ValueError):  # no control group, or one without a limit
        limit = int((_CGROUP / "memory.max").read_text())
        available = min(available, max(0, limit - int((_CGROUP / "memory.current").read_text())))
    return available


class Table:
    """Open addressing over 64-bit fingerprints, in regions by their high bits; grows by doubling every region."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._area = memory.area(REGIONS * FIRST_SLOTS * 8)
        self.slots: Any = np.frombuffer(self._area, np.uint64).reshape(REGIONS, FIRST_SLOTS)
        self.used = np.zeros(REGIONS, np.int64)

    def grow(self, rehash: Any) -> None:
        """Double every region, one by one, giving back the old pages: the peak is the new table and one old region.

        Raises OutOfMemory, leaving the table as it is.
        """
        size = self.slots.nbytes
        region_bytes = size // REGIONS
        self._memory.check(size + region_bytes, f"a table of {size // 4:,} fingerprints")
        area = self._memory.area(2 * size)
        slots: Any = np.frombuffer(area, np.uint64).reshape(REGIONS, -1)
        for region in range(REGIONS):
            rehash(self.slots, slots, region)
            if region_bytes % mmap.PAGESIZE == 0 and hasattr(mmap, "MADV_DONTNEED"):
                self._area.madvise(mmap.MADV_DONTNEED, region * region_bytes, region_bytes)
        self.slots, self._area = slots, area

    def take(self, used: Any, slots: Any) -> None:
        """Be the table that another one was; raises OutOfMemory."""
        self._area = self._memory.area(slots.nbytes)
        self.slots = np.frombuffer(self._area, np.uint64).reshape(REGIONS, -1)
        self.slots[:] = slots
        self.used[:] = used

    def insert(self, mark: int) -> None:
        """Insert the first fingerprint of all."""
        region = mark >> (64 - REGION_BITS)
        self.slots[region, mark & (self.slots.shape[1] - 1)] = mark
        self.used[region] += 1


@dataclass(slots=True)
class Block:
    """A part of a level: `base` is the index in the level of its first row, `fill` how many rows there are.

    `kept` is None when the states have been expanded.
    """

    kept: Kept | None
    parents: Any
    actions: Any
    base: int
    fill: int = 0

    @property
    def states(self) -> States:
        """The states, while they are there."""
        assert self.kept is not None
        return self.kept.states


class Shelf:
    """Makes blocks and buffers for states of one layout, and takes their pages back for the next."""

    def __init__(self, memory: Memory, dtype: np.dtype[np.void], actions: int) -> None:
        self._memory = memory
        self._dtype = dtype
        self._actions = actions
        self._free: list[States] = []
        self.rows = max(1 << 12, BLOCK_BYTES // dtype.itemsize)

    def states(self, rows: int) -> States:
        """Return `rows` zeroed states."""
        words = self._memory.pages((rows, self._dtype.itemsize // 8), np.uint64)
        return States(words, words.view(self._dtype).reshape(-1))

    def block(self, base: int) -> Block:
        """Return an empty block; raises OutOfMemory."""
        if base + self.rows > _MOST_IN_A_LEVEL:
            raise OutOfMemory(f"a level has more than {_MOST_IN_A_LEVEL:,} states, which is all that can be numbered")
        if not self._free:
            self._memory.check(self.rows * (self._dtype.itemsize + 6), "the next level")
        states = self._free.pop() if self._free else self.states(self.rows)
        parents, actions = np.empty(self.rows, np.uint32), np.empty(self.rows, np.uint16)
        return Block(Kept(states, parents, actions), parents, actions, base)

    def release(self, block: Block) -> None:
        """Take the states of a block that has been expanded, and keep no more of the rest than is used."""
        self._free.append(block.states)
        block.kept = None
        block.parents = block.parents[: block.fill].copy()
        block.actions = block.actions[: block.fill].copy()

    def buffer(self, size: int) -> Candidates:
        """Return a buffer for candidates of about `size` bytes, with room for the successors of at least one parent."""
        rows = min(max(64, size // self._dtype.itemsize), self.rows // 2) + self._actions + 2
        self._memory.check(rows * (self._dtype.itemsize + 19), "a buffer for successors")
        return Candidates(
            self.states(rows),
            np.zeros(rows, np.uint64),
            np.zeros(rows, np.uint32),
            np.zeros(rows, np.uint16),
            np.zeros(rows, np.uint32),
            np.zeros(rows, np.uint8),
        )


@dataclass(slots=True)
class Levels:
    """All levels, each a list of blocks; level 0 is the initial state."""

    blocks: list[list[Block]] = field(default_factory=list)

    def count(self, level: int) -> int:
        """Return how many states a level has."""
        blocks = self.blocks[level]
        return blocks[-1].base + blocks[-1].fill if blocks else 0

    def path(self, depth: int, index: int) -> list[int]:
        """Return the actions that lead from the initial state to the state `index` of level `depth`."""
        actions: list[int] = []
        for level in range(depth, 0, -1):
            block = next(b for b in reversed(self.blocks[level]) if b.base <= index)
            actions.append(int(block.actions[index - block.base]))
            index = int(block.parents[index - block.base])
        return actions[::-1]

    def nbytes(self) -> int:
        """Return what parents and actions take."""
        return sum(b.parents.nbytes + b.actions.nbytes for level in self.blocks for b in level)
