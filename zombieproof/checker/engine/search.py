"""One exploration under way: what is held, and how a level is turned into the next, by one thread or several."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine.batches import Filled, Place, Share, taken
from zombieproof.checker.engine.compiled import Engine
from zombieproof.checker.engine.model import Kind
from zombieproof.checker.engine.origins import origins
from zombieproof.checker.engine.places import Parents, Surroundings
from zombieproof.checker.engine.storage import MIB, Block, Buffer, Levels, Memory, Part, Shelf, Table

JUDGED: Final[dict[Kind, int]] = {"always": k.ALWAYS, "sometimes": k.SOMETIMES, "at_rest": k.AT_REST, "leads_to": 0}
"""What `tally` says of a promise that is judged, state by state."""

_BATCH_SECONDS: Final = 0.1
_BATCH_BYTES: Final = 16 * MIB
_WORTH_A_THREAD_SECONDS: Final = 0.0025
_CALL_SECONDS: Final = 20e-6
_PIECES_PER_THREAD: Final = 4
_SMALL_BUFFER: Final = MIB // 4
_LARGE_BUFFER: Final = MIB
_PARENTS: Final = MIB // 2
_FIRST_BATCH: Final = 64
BLOCK_ROWS: Final = 1 << 16
BLOCK_BYTES: Final = MIB
_thread_seconds: Final[Callable[[], float]] = getattr(time, "thread_time", time.perf_counter)
_NO_LIMIT: Final = np.iinfo(np.int64).max
_NO_BLOCK: Final = Block(
    0, 0, origins(np.empty(0, np.uint32), np.empty(0, np.uint16), 1), np.empty(0, np.uint8), np.zeros((1, 2), np.int64)
)


class Search:
    """The states reached so far, level by level.

    `distinct` and `generated` count states and successors; `depth` is the last level that has states. `stopped` is
    set when a promise was broken (`violated`; `culprit`, its level and its place there) or the limit of states was
    reached: the numbers are then those up to that very state, whatever the number of threads. Where it is at rest that
    a promise is broken, they are those up to the last successor of the states before.
    """

    def __init__(
        self, engine: Engine, setup: object, judged: Collection[str], memory: Memory, max_states: int | None
    ) -> None:
        self.engine = engine
        self.memory = memory
        self.max_states = max_states
        self.table = Table(memory)
        self.shelf = Shelf(memory, engine.state.padded, engine.model.actions, self.table.recent)
        self.setup = np.frombuffer(bytearray(engine.setup.pack(setup)), np.uint64).view(engine.setup.padded).reshape(-1)
        self.initial = engine.state.pack(engine.model.initial(setup))
        self.levels = Levels()
        self.active = np.zeros(k.MAX_PROMISES, np.int64)
        for i, promise in enumerate(engine.model.promises):
            if promise.name in judged:
                self.active[i] = JUDGED[promise.kind]
        self.bounds = np.zeros(k.MAX_BOUNDS, np.int64)
        self.witnesses: dict[int, list[int]] = {}
        self.violated = -1
        self.culprit = (0, 0)
        self.stopped = False
        self.distinct = self.generated = self.depth = 0
        self._before = 0
        self._buffers: deque[Buffer] = deque()
        self._places = [self._place(0)]
        self._idle: deque[Place] = deque()
        self._parts: list[Part] = []
        self._fill = self._bytes = 0
        self._seen: dict[int, tuple[int, int]] = {}
        self._batch = _FIRST_BATCH
        self._seconds_per_parent = 0.0
        self._spent: list[float] = []

    # --- levels ---

    def begin(self) -> None:
        """Make level 0 of the initial state. The first call of the engine: it compiles, or loads from the cache."""
        self._small = self.shelf.buffer(_SMALL_BUFFER, BLOCK_ROWS, BLOCK_BYTES)
        self.batch = (_NO_BLOCK, 0, 0)
        self.levels.blocks.append([])
        self._places[0].parents.words[0] = self._small.out.states.words[0] = np.frombuffer(self.initial, np.uint64)
        tally = self._tally()
        self._call(k.JUDGE, _NO_BLOCK, self._small, tally)
        self.table.insert(int(self._small.out.prints[0]))
        tally[k.INDEX] = 1
        kept = self._tally()
        kept[k.ACTIVE : k.ACTIVE + k.MAX_PROMISES], kept[k.FOUND], self._small.out.fresh[0] = 0, 1, 1
        self._call(k.GATHER, _NO_BLOCK, self._small, kept)
        self._fill, self._bytes = int(kept[k.FILL]), int(kept[k.BYTES])
        self.stopped = int(tally[k.VIOLATED]) >= 0
        self._merge(tally)
        self.settle()

    def restart(self, coverage: Any) -> None:
        """Forget what has begun, for the levels of a checkpoint, with the coverage that was counted until then."""
        self.levels.blocks.clear()
        counted = self._places[0].around.coverage
        counted[:] = coverage.reshape(counted.shape)

    def level(self, executor: ThreadPoolExecutor | None, workers: int, after_batch: Callable[[int], None]) -> None:
        """Expand the last level into the next; `after_batch` gets the number of states still to be expanded.

        `executor` runs up to `workers` threads; there is none for one.
        """
        source: list[Block] = self.levels.blocks[-1]
        left = self.levels.count(-1)
        self._before = self.distinct
        self.levels.blocks.append([])
        for block in source:
            self.bring(block)
            first = 0
            while first < block.last_unit:
                last = block.behind(first, self._batch)
                self.batch = (block, first, last)
                parents = int(block.units[last, 1] - block.units[first, 1])
                threads = min(workers, self._worth(parents)) if executor else 1
                self._timed(threads, block, first, last, executor)
                left -= parents
                first = last
                if self.stopped:
                    self.settle()
                    return
                after_batch(left)
            self.done_with(block)
        self.settle()
        self.depth += bool(self.levels.blocks[-1])

    def look_at(self, place: Place, buffer: Buffer, tally: Any) -> None:
        """See what parents that are unpacked have just been expanded to."""

    def bring(self, block: Block) -> None:
        """Have the states of a block in memory."""

    def done_with(self, block: Block) -> None:
        """Forget the states of a block, which have been expanded."""
        block.release()

    def settle(self) -> None:
        """Make blocks of all that the last level has, and see which ways lead to what was found there."""
        try:
            self._close()
            self._into_block(1)
        finally:
            for promise, (level, index) in self._seen.items():
                if index < self.levels.count(level):
                    self.witnesses[promise] = self.levels.path(level, index)
            self._seen.clear()

    def _close(self) -> None:
        """Make a part of what the small buffer has kept."""
        if self._fill:
            self._parts.append(self._small.part(self._fill, self._bytes))
        self._fill = self._bytes = 0

    def _into_block(self, least: int) -> None:
        """Make a block of the parts that there are, if they have so many rows."""
        if sum(part.fill for part in self._parts) >= least:
            parts, self._parts = self._parts, []
            self.put(self.shelf.block(self.levels.count(-1), parts), parts)

    def put(self, block: Block, parts: list[Part]) -> None:
        """Add a block, made of parts, to the last level."""
        del parts
        self.levels.take(block)

    def rows(self, block: Block, first: int, last: int) -> Iterator[tuple[int, bytes]]:
        """The states of some units of a block, each with its index in the level."""
        for unit in range(first, last):
            tally = self._unpacked(block, unit, unit + 1, self._places[0])
            words = self._places[0].parents.words
            yield from ((int(tally[k.BASE]) + row, words[row].tobytes()) for row in range(tally[k.LAST]))

    def _unpacked(self, block: Block, first: int, last: int, place: Place) -> Any:
        """Unpack as many units as there is room for; returns the counters that say which."""
        tally = self._tally()
        tally[k.UNIT], tally[k.UNITS], tally[k.BLOCK] = first, last, block.base
        self._call(k.UNPACK, block, self._small, tally, place)
        return tally

    def _worth(self, parents: int) -> int:
        """How many threads the work on so many parents is worth.

        Each thread marks its fingerprints in the buffers of all, so that calls grow with the square of the threads, and
        calls are made one at a time. Half the time of a batch may go into them.
        """
        work = parents * self._seconds_per_parent
        shared = math.isqrt(int(work / 2 / (_PIECES_PER_THREAD * _CALL_SECONDS)))
        return max(1, min(int(work / _WORTH_A_THREAD_SECONDS), shared))

    def _timed(self, threads: int, block: Block, first: int, last: int, executor: ThreadPoolExecutor | None) -> None:
        """Run a batch and adapt the size of the next: short enough for Ctrl-C, long enough to be worth a call."""
        began = time.perf_counter()
        if executor and threads > 1:
            size = self._threaded(block, first, last, executor, threads)
        else:
            size = self._alone(block, first, last)
        seconds = time.perf_counter() - began
        parents = int(block.units[last, 1] - block.units[first, 1])
        self._seconds_per_parent = sum(self._spent) / parents
        self._spent.clear()
        if seconds > _BATCH_SECONDS or size > _BATCH_BYTES:
            self._batch = max(_FIRST_BATCH, self._batch // 2)
        elif seconds < _BATCH_SECONDS / 2 and size < _BATCH_BYTES // 2 and parents >= self._batch:
            self._batch *= 2

    # --- one thread ---

    def _alone(self, block: Block, first: int, last: int) -> int:
        tally = self._tally()
        tally[k.UNIT], tally[k.UNITS], tally[k.BLOCK], tally[k.STAGE] = first, last, block.base, k.EXPAND
        answer = k.TABLE_FULL
        while answer not in (k.DONE, k.STOPPED):
            if answer == k.BLOCK_FULL:
                self._close()
                self._into_block(BLOCK_ROWS)
            tally[k.FILL], tally[k.BYTES] = self._fill, self._bytes
            answer = self._call(k.RUN, block, self._small, tally)
            self._fill, self._bytes = int(tally[k.FILL]), int(tally[k.BYTES])
            if answer == k.TABLE_FULL:
                self.make_room()
        if answer == k.STOPPED and tally[k.STAGE] == k.GATHER:
            self._stop(block, self._small, tally, self._places[0])
        self._merge(tally)
        return 0

    # --- several threads ---

    def _threaded(self, block: Block, first: int, last: int, executor: ThreadPoolExecutor, threads: int) -> int:
        cuts = np.unique(np.linspace(first, last, _PIECES_PER_THREAD * threads + 1).astype(int)).tolist()
        pieces = list(itertools.pairwise(cuts))
        filled = [
            one for some in executor.map(lambda piece: self._expand(block, threads, *piece), pieces) for one in some
        ]
        for number, one in enumerate(filled):
            if one.tally[k.UNFINISHED] >= 0:
                for behind in filled[number + 1 :]:
                    self._uncount_filled(block, behind, 0, self._idle[-1])
                    self._buffers.append(behind.buffer)
                del filled[number + 1 :]
                break
        self._deduplicate(block, filled, executor, threads)
        index = self.distinct - self._before
        for one in filled:
            one.tally[k.FILL], one.tally[k.BYTES], one.tally[k.INDEX] = 0, 0, index
            index += int(one.tally[k.FRESH])
        place = self._idle[-1]
        answers = executor.map(lambda one: self._call(k.GATHER, block, one.buffer, one.tally), filled)
        self._close()
        for one, answer in zip(filled, list(answers), strict=True):
            if self.stopped:
                self._uncount_filled(block, one, 0, place)
                continue
            self._parts.append(one.buffer.part(int(one.tally[k.FILL]), int(one.tally[k.BYTES])))
            if answer == k.STOPPED:
                self._unpacked(block, *one.units, place)
                self._stop(block, one.buffer, one.tally, place)
            else:
                one.tally[k.GENERATED] = one.tally[k.FOUND]
            self._merge(one.tally)
        self._into_block(BLOCK_ROWS)
        self._buffers.extend(one.buffer for one in filled)
        return sum(int(one.tally[k.FOUND]) for one in filled) * self.engine.state.padded.itemsize

    def _expand(self, block: Block, owners: int, first: int, last: int) -> list[Filled]:
        """Expand some units into as many buffers as they need."""
        filled = []
        place = taken(self._idle) or self._one_more()
        is_finished = True
        while first < last and is_finished:
            there = self._unpacked(block, first, last, place)
            units = first, int(there[k.UNIT])
            parent, rows, first = 0, int(there[k.LAST]), units[1]
            while parent < rows and is_finished:
                buffer = taken(self._buffers) or self.shelf.buffer(_LARGE_BUFFER)
                tally = self._tally()
                tally[k.PARENT], tally[k.LAST], tally[k.BASE] = parent, rows, there[k.BASE]
                tally[k.OWNERS] = owners
                self._call(k.EXPAND, block, buffer, tally, place)
                self.look_at(place, buffer, tally)
                parent = int(tally[k.PARENT])
                is_finished = tally[k.UNFINISHED] < 0
                filled.append(Filled(buffer, tally, units))
        self._idle.append(place)
        return filled

    def _deduplicate(self, block: Block, filled: list[Filled], executor: ThreadPoolExecutor, owners: int) -> None:
        """Let each thread mark what is new in its regions of the table, and grow the table while one has to wait."""
        shares = [Share(owner, self._tally()) for owner in range(owners)]
        for share in shares:
            share.tally[k.OWNERS] = owners
        while not all(list(executor.map(lambda share: self._share(block, filled, share), shares))):
            self.make_room()
        for i, one in enumerate(filled):
            one.tally[k.FRESH] = sum(share.fresh[i] for share in shares)

    def make_room(self) -> None:
        """Let the table take more fingerprints; raises OutOfMemory."""
        self.table.grow(self.engine.rehash)

    def _share(self, block: Block, filled: list[Filled], share: Share) -> bool:
        while share.buffer < len(filled):
            one = filled[share.buffer]
            share.tally[k.FOUND] = one.tally[k.STARTS + share.owner + 1]
            share.tally[k.POSITION] = max(share.tally[k.POSITION], one.tally[k.STARTS + share.owner])
            if self._call(k.DEDUPLICATE, block, one.buffer, share.tally) == k.TABLE_FULL:
                return False
            share.fresh.append(int(share.tally[k.FRESH]))
            share.tally[k.FRESH] = share.tally[k.POSITION] = 0
            share.buffer += 1
        return True

    # --- what a call needs and leaves ---

    def _one_more(self) -> Place:
        place = self._place(_PARENTS)
        self._places.append(place)
        return place

    def _place(self, size: int) -> Place:
        trail = np.zeros((1, self.engine.trail.padded.itemsize // 8), np.uint64)
        shape = tuple(max(1, count) for count in self.engine.model.coverage)
        records = trail.view(self.engine.trail.padded).reshape(-1)
        return Place(Surroundings(self.setup, records, trail, np.zeros(shape, np.int64)), self.shelf.scratch(size))

    def _tally(self) -> Any:
        tally = np.zeros(k.PLACES, np.int64)
        tally[k.OWNERS] = tally[k.SIGN] = 1
        tally[k.VIOLATED] = tally[k.UNFINISHED] = -1
        tally[k.WITNESSES : k.WITNESSES + k.MAX_PROMISES] = -1
        tally[k.ACTIVE : k.ACTIVE + k.MAX_PROMISES] = self.active
        tally[k.INDEX] = self.distinct - self._before
        tally[k.LIMIT] = _NO_LIMIT if self.max_states is None else self.max_states - self._before
        return tally

    def _call(self, phase: int, block: Block, buffer: Buffer, tally: Any, place: Place | None = None) -> int:
        place = place or self._places[0]
        parents = Parents(place.parents, block.packed, block.units)
        table, used = self.table.slots, self.table.used
        began = _thread_seconds()
        answer = self.engine.call(phase, parents, buffer.out, buffer.kept, table, used, place.around, tally)
        if phase != k.DEDUPLICATE:
            # There, what threads cost each other is more than the work: it must not seem worth even more threads.
            self._spent.append(_thread_seconds() - began)
        return answer

    def _stop(self, block: Block, buffer: Buffer, tally: Any, place: Place) -> None:
        """End at the candidate at which gathering stopped; its parents are unpacked at `place`."""
        self.stopped = True
        self.depth += 1
        tally[k.UNFINISHED] = -1  # a parent that is unfinished stands behind those whose successors are gathered
        last = int(tally[k.CULPRIT]) + 1
        tally[k.GENERATED] += last
        self._uncount(block, buffer, tally, last, place)

    def _uncount_filled(self, block: Block, filled: Filled, skip: int, place: Place) -> None:
        self._unpacked(block, *filled.units, place)
        self._uncount(block, filled.buffer, filled.tally, skip, place)

    def _uncount(self, block: Block, buffer: Buffer, tally: Any, skip: int, place: Place) -> None:
        """Take back the coverage of all candidates of a buffer but the first `skip`; their parents are unpacked."""
        again = self._tally()
        again[k.PARENT], again[k.LAST], again[k.BASE] = tally[k.FIRST], tally[k.PARENT], tally[k.BASE]
        again[k.SKIP], again[k.SIGN] = skip, -1
        self._call(k.EXPAND, block, buffer, again, place)

    def _merge(self, tally: Any) -> None:
        """Add the counters of a call, and keep what it found out about promises."""
        self.generated += int(tally[k.GENERATED])
        self.distinct = self._before + int(tally[k.INDEX])
        self.bounds += tally[k.BOUNDS : k.BOUNDS + k.MAX_BOUNDS]
        level = len(self.levels.blocks) - 1
        for i in range(len(self.engine.model.promises)):
            index = int(tally[k.WITNESSES + i])
            if index >= 0 and i not in self.witnesses and i not in self._seen:
                self._seen[i] = level, index
                self.active[i] = 0
        if tally[k.VIOLATED] >= 0:
            self.violated, self.culprit = int(tally[k.VIOLATED]), (level, int(tally[k.INDEX]) - 1)
        elif tally[k.UNFINISHED] >= 0:
            at = int(tally[k.BASE] + tally[k.PARENT]) - 1
            self.violated, self.culprit, self.stopped = int(tally[k.UNFINISHED]), (level - 1, at), True
            self.depth += self.distinct > self._before

    @property
    def coverage(self) -> Any:
        """Counts of moves by machine, state and event, over all threads."""
        return sum(place.around.coverage for place in self._places)
