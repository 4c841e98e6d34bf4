"""A search whose fingerprints leave memory: duplicates are removed at the end of a level.

While the table has room, a level is explored as in memory, and the fingerprints of what it has found become a run.
When the table may not grow any more, the level is begun again *blind*: the table is emptied, and is only a filter of
what was seen lately in this level. What passes it is a *candidate*. At the end of the level the candidates that a run
has, and all but the first of each fingerprint, are dropped; the others are judged in their order, as they would have
been in memory. So counts, depth, verdict, witnesses and the shortest counterexample are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine.batches import Place
from zombieproof.checker.engine.origins import Origins, StoredOrigins
from zombieproof.checker.engine.places import REGIONS
from zombieproof.checker.engine.search import Search
from zombieproof.checker.engine.spill import Candidates, Spill, Store, borders
from zombieproof.checker.engine.storage import MIB, Block, Part

BLOCK_ROWS: Final = 1 << 16
BLOCK_BYTES: Final = 8 * MIB
_SHARE_OF_TABLE: Final = 0.5
_AT_ONCE: Final = MIB
_REGION_BYTES: Final = 64  # of a candidate, while its region is sorted


class _Full(Exception):
    """The table may not grow any more: the level is begun again."""


@dataclass(slots=True)
class _Before:
    """What a level began with."""

    generated: int
    bounds: Any
    active: Any
    coverage: Any


class SpillingSearch(Search):
    """A search with a folder for what does not fit into memory."""

    def use(self, spill: Spill) -> None:
        """Say where to; before `begin`."""
        self._spill = spill
        self._prints: list[Any] = []
        self._candidates: Candidates | None = None
        self._is_blind = False
        self._stored: dict[int, tuple[Store, int, int]] = {}
        self._states = self._following = spill.store("states")
        self._origins = spill.store("origins")
        held = self.memory.resident()
        self._most_table = max(self.table.slots.nbytes, int((self.memory.limit - held) * _SHARE_OF_TABLE))

    # --- levels ---

    def begin(self) -> None:
        """Make level 0."""
        super().begin()
        self._add_run()

    def level(self, executor: ThreadPoolExecutor | None, workers: int, after_batch: Callable[[int], None]) -> None:
        """Expand the last level into the next."""
        source, depth = self.levels.blocks[-1], self.depth
        self._following = self._spill.store("states")
        before = _Before(self.generated, self.bounds.copy(), self.active.copy(), np.array(self.coverage))
        if not self._is_blind:
            try:
                super().level(executor, workers, after_batch)
                self._add_run()
            except _Full:
                self._is_blind = True
                self._begin_again(before, depth)
        if self._is_blind:
            self._blind(before, executor, workers, after_batch)
        for block in source:
            self._stored.pop(id(block), None)
            block.release()
        self._spill.drop(self._states)
        self._states = self._following

    def _begin_again(self, before: _Before, depth: int) -> None:
        """Forget what the level has found so far, and what memory knows of the levels before."""
        for block in self.levels.blocks.pop():
            self._stored.pop(id(block), None)
        self.generated, self.distinct, self.depth = before.generated, self._before, depth
        self.bounds[:], self.active[:] = before.bounds, before.active
        self._count_anew(before.coverage)
        self._seen.clear()
        self._drop_rows()

    def _drop_rows(self) -> None:
        self._parts.clear()
        self._prints.clear()
        self._fill = self._bytes = 0

    def _count_anew(self, coverage: Any) -> None:
        for place in self._places:
            place.around.coverage[:] = 0
        self._places[0].around.coverage[:] = coverage

    def _add_run(self) -> None:
        """Make a run of what was found in this level, as long as the table knows what is new."""
        if not self.stopped:
            prints = np.sort(np.concatenate([np.empty(0, np.uint64), *self._prints]))
            ends = borders(prints)
            self._spill.add_run(prints[ends[region] : ends[region + 1]] for region in range(REGIONS))
        self._prints.clear()

    # --- a blind level ---

    def _blind(
        self, before: _Before, executor: ThreadPoolExecutor | None, workers: int, after_batch: Callable[[int], None]
    ) -> None:
        source, depth = self.levels.blocks[-1], self.depth
        known, active, most = self.distinct, self.active, self.max_states
        self.table.clear()
        self._candidates = Candidates(self._spill)
        self.active = np.where(active == k.AT_REST, active, 0)  # parents are judged: they are states
        self.max_states = None
        try:
            super().level(executor, workers, after_batch)
        finally:
            candidates, self._candidates, self.active = self._candidates, None, active
            self.distinct, self.depth, self.max_states = known, depth, most
        self.bounds[:] = before.bounds
        self.memory.check(candidates.count * (1 + _REGION_BYTES // REGIONS), "the end of a level")
        unfinished, self.stopped = (self.violated, self.culprit, self.stopped), False
        self.violated = -1
        waiting, waited = self.levels.blocks.pop(), self._following
        self.levels.blocks.append([])
        self._following = self._spill.store("states")
        self._select(source, waiting, candidates.judged(), before)
        self._spill.drop(waited)
        self.depth += bool(self.distinct > self._before or self.stopped)
        if not self.stopped and unfinished[2]:
            self.violated, self.culprit, self.stopped = unfinished

    def _select(self, source: list[Block], waiting: list[Block], alive: Any, before: _Before) -> None:
        """Gather and judge the candidates that are new."""
        self.table.clear()
        place = self._wide_place()
        out = place.out
        for block in waiting:
            self.bring(block)
            parents, actions = block.origins.whole()
            last = unit = 0
            while unit < block.last_unit:
                there = self._unpacked(block, unit, block.last_unit, place)
                unit, rows = int(there[k.UNIT]), int(there[k.LAST])
                first, last = last, last + rows
                self._roomy(rows)
                out.states.words[:rows] = place.parents.words[:rows]
                out.fresh[:rows] = alive[block.base + first : block.base + last]
                out.changes[:rows] = k.ALL_BITS  # nobody knows any more, so every promise is judged
                out.parents[:rows], out.actions[:rows] = parents[first:last], actions[first:last]
                tally = self._tally()
                tally[k.FOUND], tally[k.FILL], tally[k.BYTES] = rows, self._fill, self._bytes
                answer = self._call(k.GATHER, block, tally, place)
                self._fill, self._bytes = int(tally[k.FILL]), int(tally[k.BYTES])
                if answer == k.STOPPED:
                    self.stopped = True
                self._merge(tally)
                if self.stopped:
                    is_limit = int(tally[k.VIOLATED]) < 0
                    row = first + int(tally[k.CULPRIT]) + is_limit
                    self.settle()
                    self._recount(source, (int(parents[row]), int(actions[row])), before, more=not is_limit)
                    return
            self._stored.pop(id(block), None)
            block.release()
        self.settle()

    def _wide_place(self) -> Place:
        """A place for many units at once: a call takes as long as a unit."""
        return replace(self._place(_AT_ONCE), parents=self.shelf.scratch(_AT_ONCE))

    def _recount(self, source: list[Block], culprit: tuple[int, int], before: _Before, *, more: bool) -> None:
        """Count successors and coverage anew, up to the one that stops the exploration, and with it if `more`."""
        self.generated = before.generated
        self._count_anew(before.coverage)
        for block in source:
            self.bring(block)
            for unit in range(block.last_unit):
                there = self._unpacked(block, unit, unit + 1, self._places[0])
                if self._recounted(block, there, culprit, int(more)):
                    return

    def _recounted(self, block: Block, there: Any, culprit: tuple[int, int], more: int) -> bool:
        """Expand a unit again; returns whether the culprit was in it."""
        row, place = 0, self._places[0]
        while row < there[k.LAST]:
            tally = self._tally()
            tally[k.PARENT], tally[k.LAST], tally[k.BASE] = row, there[k.LAST], there[k.BASE]
            tally[k.ACTIVE : k.ACTIVE + k.MAX_PROMISES] = 0
            self._call(k.EXPAND, block, tally, place)
            found, row = int(tally[k.FOUND]), int(tally[k.PARENT])
            here = np.flatnonzero((place.out.parents[:found] == culprit[0]) & (place.out.actions[:found] == culprit[1]))
            if len(here):
                self.generated += int(here[0]) + more
                place.tally = tally
                self._uncount(block, place, int(here[0]) + more)
                return True
            self.generated += found
        return False

    # --- what the search asks ---

    def block_size(self) -> tuple[int, int]:
        """Blocks are smaller where memory is little."""
        return BLOCK_ROWS, BLOCK_BYTES

    def make_room(self) -> None:
        """Grow the table as far as it may; then empty it, or begin the level again without knowing what is new."""
        if self.table.next_bytes() <= self._most_table:
            super().make_room()
        elif self._is_blind:
            self.table.clear()
        else:
            raise _Full

    def put(self, block: Block, parts: list[Part]) -> None:
        """Add a block to the last level; its states and origins go to the disk."""
        self.levels.take(block)
        self._stored[id(block)] = self._following, self._following.size, int(block.units[-1, 0])
        for part in parts:
            self._following.add(part.packed)
            if self._candidates is not None:
                self._candidates.add(part.prints)
            elif not self._is_blind:
                self._prints.append(part.prints.copy())
        origins = block.origins
        assert isinstance(origins, Origins)
        if self._candidates is None:
            place = self._origins.add(origins.bits)
            self._origins.add(origins.actions)
            block.origins = StoredOrigins(
                self._origins, place, origins.first, origins.count, len(origins.bits), origins.actions.dtype
            )

    def bring(self, block: Block) -> None:
        """Read the states of a block."""
        if block.packed is None:
            store, place, size = self._stored[id(block)]
            block.packed = store.array(place, size, np.uint8)

    def done_with(self, block: Block) -> None:
        """Forget the states of a block until they are asked for again."""
        block.packed = None
