"""One exploration under way: what is held, and how a level is turned into the next, by one thread or several."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine.compiled import Engine
from zombieproof.checker.engine.model import Kind
from zombieproof.checker.engine.places import Candidates, Kept, Surroundings
from zombieproof.checker.engine.storage import MIB, Block, Levels, Memory, Shelf, Table

JUDGED: Final[dict[Kind, int]] = {"always": k.ALWAYS, "sometimes": k.SOMETIMES, "at_rest": k.AT_REST, "leads_to": 0}
"""What `tally` says of a promise that is judged, state by state."""

_T = TypeVar("_T")
_BATCH_SECONDS: Final = 0.1
_BATCH_BYTES: Final = 32 * MIB
_WORTH_A_THREAD_SECONDS: Final = 0.0025
_CALL_SECONDS: Final = 20e-6
_PIECES_PER_THREAD: Final = 4
_SMALL_BUFFER: Final = MIB // 4
_LARGE_BUFFER: Final = 2 * MIB
_FIRST_BATCH: Final = 64
_thread_seconds: Final[Callable[[], float]] = getattr(time, "thread_time", time.perf_counter)
_NO_LIMIT: Final = np.iinfo(np.int64).max


@dataclass(slots=True)
class Filled:
    """A buffer of candidates on its way through the phases, with its counters."""

    out: Candidates
    tally: Any
    kept: Kept | None = None


@dataclass(slots=True)
class Share:
    """What one thread deduplicates: its regions, in all buffers of a batch; `buffer` is where it is."""

    owner: int
    tally: Any
    buffer: int = 0
    fresh: list[int] = field(default_factory=list)


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
        self.shelf = Shelf(memory, engine.state.padded, engine.model.actions)
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
        self._buffers: deque[Candidates] = deque()
        self._around = [self._surroundings()]
        self._idle: deque[Surroundings] = deque(self._around)
        self._batch = _FIRST_BATCH
        self._seconds_per_parent = 0.0
        self._spent: list[float] = []

    # --- levels ---

    def begin(self) -> None:
        """Make level 0 of the initial state. The first call of the engine: it compiles, or loads from the cache."""
        self._small = self.shelf.buffer(_SMALL_BUFFER)
        block = self.shelf.block(0)
        block.states.words[0] = np.frombuffer(self.initial, np.uint64)
        block.fill = 1
        self.levels.blocks.append([block])
        self.batch = (block, 0, 0)
        tally = self._tally()
        self._call(k.JUDGE, block, self._small, block.kept, tally)
        self.table.insert(int(self._small.prints[0]))
        self.distinct = tally[k.INDEX] = 1
        self.stopped = int(tally[k.VIOLATED]) >= 0
        self._merge(tally)

    def level(self, executor: ThreadPoolExecutor | None, workers: int, after_batch: Callable[[int], None]) -> None:
        """Expand the last level into the next; `after_batch` gets the number of states still to be expanded.

        `executor` runs up to `workers` threads; there is none for one.
        """
        source: list[Block] = self.levels.blocks[-1]
        left = self.levels.count(-1)
        self._before = self.distinct
        self.levels.blocks.append([])
        for block in source:
            first = 0
            while first < block.fill:
                last = min(block.fill, first + self._batch)
                self.batch = (block, first, last)
                threads = min(workers, self._worth(last - first)) if executor else 1
                self._timed(threads, block, first, last, executor)
                left -= last - first
                first = last
                if self.stopped:
                    return
                after_batch(left)
            self.shelf.release(block)
        target = self.levels.blocks[-1]
        if target and not target[-1].fill:
            self.shelf.release(target.pop())
        self.depth += bool(target)

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
        parents = last - first
        self._seconds_per_parent = sum(self._spent) / parents
        self._spent.clear()
        if seconds > _BATCH_SECONDS or size > _BATCH_BYTES:
            self._batch = max(_FIRST_BATCH, self._batch // 2)
        elif seconds < _BATCH_SECONDS / 2 and size < _BATCH_BYTES // 2 and parents == self._batch:
            self._batch *= 2

    # --- one thread ---

    def _alone(self, block: Block, first: int, last: int) -> int:
        tally = self._tally()
        tally[k.PARENT], tally[k.LAST], tally[k.BASE], tally[k.STAGE] = first, last, block.base, k.EXPAND
        answer = k.BLOCK_FULL
        while answer not in (k.DONE, k.STOPPED):
            into = self._target(int(tally[k.FRESH]) if answer == k.BLOCK_FULL else 1)
            tally[k.FILL] = into.fill
            answer = self._call(k.RUN, block, self._small, into.kept, tally)
            into.fill = int(tally[k.FILL])
            if answer == k.TABLE_FULL:
                self.table.grow(self.engine.rehash)
        if answer == k.STOPPED and tally[k.STAGE] == k.GATHER:
            self._stop(block, self._small, tally)
        self._merge(tally)
        return 0

    def _target(self, room: int) -> Block:
        """Return the last block of the next level if it has room, else a new one."""
        target = self.levels.blocks[-1]
        if not target or self.shelf.rows - target[-1].fill < max(room, 1):
            target.append(self.shelf.block(self.levels.count(-1)))
        return target[-1]

    # --- several threads ---

    def _threaded(self, block: Block, first: int, last: int, executor: ThreadPoolExecutor, threads: int) -> int:
        cuts = np.linspace(first, last, _PIECES_PER_THREAD * threads + 1).astype(int).tolist()
        pieces = list(itertools.pairwise(cuts))
        filled = [
            one for some in executor.map(lambda piece: self._expand(block, threads, *piece), pieces) for one in some
        ]
        for number, one in enumerate(filled):
            if one.tally[k.UNFINISHED] >= 0:
                for behind in filled[number + 1 :]:
                    self._uncount(block, behind.out, behind.tally, 0)
                    self._buffers.append(behind.out)
                del filled[number + 1 :]
                break
        self._deduplicate(block, filled, executor, threads)
        for one in filled:
            into = self._target(int(one.tally[k.FRESH]))
            one.kept = into.kept
            one.tally[k.FILL], one.tally[k.INDEX] = into.fill, into.base + into.fill
            into.fill += int(one.tally[k.FRESH])
        answers = executor.map(lambda one: self._call(k.GATHER, block, one.out, one.kept, one.tally), filled)
        for one, answer in zip(filled, list(answers), strict=True):
            if self.stopped:
                self._uncount(block, one.out, one.tally, 0)
                continue
            if answer == k.STOPPED:
                self._stop(block, one.out, one.tally)
            else:
                one.tally[k.GENERATED] = one.tally[k.FOUND]
            self._merge(one.tally)
        self._buffers.extend(one.out for one in filled)
        return sum(int(one.tally[k.FOUND]) for one in filled) * self.engine.state.padded.itemsize

    def _expand(self, block: Block, owners: int, first: int, last: int) -> list[Filled]:
        """Expand some parents into as many buffers as they need."""
        filled = []
        around = _taken(self._idle) or self._one_more()
        is_finished = True
        while first < last and is_finished:
            out = _taken(self._buffers) or self.shelf.buffer(_LARGE_BUFFER)
            tally = self._tally()
            tally[k.PARENT], tally[k.LAST], tally[k.BASE] = first, last, block.base
            tally[k.OWNERS] = owners
            self._call(k.EXPAND, block, out, block.kept, tally, around)
            first = int(tally[k.PARENT])
            is_finished = tally[k.UNFINISHED] < 0
            filled.append(Filled(out, tally))
        self._idle.append(around)
        return filled

    def _deduplicate(self, block: Block, filled: list[Filled], executor: ThreadPoolExecutor, owners: int) -> None:
        """Let each thread mark what is new in its regions of the table, and grow the table while one has to wait."""
        shares = [Share(owner, self._tally()) for owner in range(owners)]
        for share in shares:
            share.tally[k.OWNERS] = owners
        while not all(list(executor.map(lambda share: self._share(block, filled, share), shares))):
            self.table.grow(self.engine.rehash)
        for i, one in enumerate(filled):
            one.tally[k.FRESH] = sum(share.fresh[i] for share in shares)

    def _share(self, block: Block, filled: list[Filled], share: Share) -> bool:
        while share.buffer < len(filled):
            one = filled[share.buffer]
            share.tally[k.FOUND] = one.tally[k.STARTS + share.owner + 1]
            share.tally[k.POSITION] = max(share.tally[k.POSITION], one.tally[k.STARTS + share.owner])
            if self._call(k.DEDUPLICATE, block, one.out, block.kept, share.tally) == k.TABLE_FULL:
                return False
            share.fresh.append(int(share.tally[k.FRESH]))
            share.tally[k.FRESH] = share.tally[k.POSITION] = 0
            share.buffer += 1
        return True

    # --- what a call needs and leaves ---

    def _one_more(self) -> Surroundings:
        around = self._surroundings()
        self._around.append(around)
        return around

    def _surroundings(self) -> Surroundings:
        trail = np.zeros((1, self.engine.trail.padded.itemsize // 8), np.uint64)
        shape = tuple(max(1, count) for count in self.engine.model.coverage)
        return Surroundings(
            self.setup, trail.view(self.engine.trail.padded).reshape(-1), trail, np.zeros(shape, np.int64)
        )

    def _tally(self) -> Any:
        tally = np.zeros(k.PLACES, np.int64)
        tally[k.OWNERS] = tally[k.SIGN] = 1
        tally[k.VIOLATED] = tally[k.UNFINISHED] = -1
        tally[k.WITNESSES : k.WITNESSES + k.MAX_PROMISES] = -1
        tally[k.ACTIVE : k.ACTIVE + k.MAX_PROMISES] = self.active
        tally[k.INDEX] = self.distinct - self._before
        tally[k.LIMIT] = _NO_LIMIT if self.max_states is None else self.max_states - self._before
        return tally

    def _call(
        self, phase: int, parents: Block, out: Candidates, kept: Any, tally: Any, around: Surroundings | None = None
    ) -> int:
        around = around or self._around[0]
        began = _thread_seconds()
        answer = self.engine.call(phase, parents.states, out, kept, self.table.slots, self.table.used, around, tally)
        if phase != k.DEDUPLICATE:
            # There, what threads cost each other is more than the work: it must not seem worth even more threads.
            self._spent.append(_thread_seconds() - began)
        return answer

    def _stop(self, block: Block, out: Candidates, tally: Any) -> None:
        """End at the candidate at which gathering stopped."""
        self.stopped = True
        self.depth += 1
        tally[k.UNFINISHED] = -1  # a parent that is unfinished stands behind those whose successors are gathered
        last = int(tally[k.CULPRIT]) + 1
        tally[k.GENERATED] += last
        self._uncount(block, out, tally, last)

    def _uncount(self, block: Block, out: Candidates, tally: Any, skip: int) -> None:
        """Take back the coverage of all candidates of a buffer but the first `skip`."""
        again = self._tally()
        again[k.PARENT], again[k.LAST], again[k.BASE] = tally[k.FIRST], tally[k.PARENT], block.base
        again[k.SKIP], again[k.SIGN] = skip, -1
        self._call(k.EXPAND, block, out, block.kept, again)

    def _merge(self, tally: Any) -> None:
        """Add the counters of a call, and keep what it found out about promises."""
        self.generated += int(tally[k.GENERATED])
        self.distinct = self._before + int(tally[k.INDEX])
        self.bounds += tally[k.BOUNDS : k.BOUNDS + k.MAX_BOUNDS]
        level = len(self.levels.blocks) - 1
        for i in range(len(self.engine.model.promises)):
            index = int(tally[k.WITNESSES + i])
            if index >= 0 and i not in self.witnesses:
                self.witnesses[i] = self.levels.path(level, index)
                self.active[i] = 0
        if tally[k.VIOLATED] >= 0:
            self.violated, self.culprit = int(tally[k.VIOLATED]), (level, int(tally[k.INDEX]) - 1)
        elif tally[k.UNFINISHED] >= 0:
            at = int(tally[k.BASE] + tally[k.PARENT]) - 1
            self.violated, self.culprit, self.stopped = int(tally[k.UNFINISHED]), (level - 1, at), True
            self.depth += bool(self.levels.count(-1))

    @property
    def coverage(self) -> Any:
        """Counts of moves by machine, state and event, over all threads."""
        return sum(around.coverage for around in self._around)


def _taken(pool: deque[_T]) -> _T | None:
    """Take one of what threads share, if there is one: between a look and a grasp another may take the last."""
    try:
        return pool.pop()
    except IndexError:
        return None
