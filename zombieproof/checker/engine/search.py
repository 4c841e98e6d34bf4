"""One exploration under way: what is held, and how a level is turned into the next, by one thread or several."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Final

import numpy as np

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine.batches import Place, Prepared
from zombieproof.checker.engine.compiled import Engine
from zombieproof.checker.engine.model import Kind
from zombieproof.checker.engine.origins import origins
from zombieproof.checker.engine.places import Kept, Slots, Surroundings
from zombieproof.checker.engine.storage import MIB, Block, Levels, Memory, Part, Shelf, Table
from zombieproof.checker.engine.units import most_bytes

JUDGED: Final[dict[Kind, int]] = {"always": k.ALWAYS, "sometimes": k.SOMETIMES, "at_rest": k.AT_REST, "leads_to": 0}
"""What `tally` says of a promise that is judged, state by state."""

_BATCH_SECONDS: Final = 0.25
_WORTH_A_THREAD_SECONDS: Final = 0.001  # a thread begins 0.4 ms later than the one before
_SMALL_BUFFER: Final = MIB // 2
_FIRST_BATCH: Final = 64
BLOCK_ROWS: Final = 1 << 18
BLOCK_BYTES: Final = 32 * MIB
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
        self.common = self._tally()
        self._places: list[Place] = []
        self._parts: list[Part] = []
        self._fill = self._bytes = 0
        self._seen: dict[int, tuple[int, int]] = {}
        self._batch = _FIRST_BATCH
        self._seconds_per_parent = 0.0
        self._spent: list[float] = []
        self._is_shared = False
        self._filled: deque[tuple[Kept, int, int]] = deque()
        self._makes_blocks = threading.Lock()
        self._has_lost = False
        self._rooms: list[Kept] = []
        self._prepared: dict[tuple[int, int], Prepared] = {}

    # --- levels ---

    def begin(self) -> None:
        """Make level 0 of the initial state. The first call of the engine: it compiles, or loads from the cache."""
        self._places.append(self._place(_SMALL_BUFFER))
        out = self._places[0].out
        self._kept = self._room()
        self.batch = (_NO_BLOCK, 0, 0)
        self.levels.blocks.append([])
        self._places[0].parents.words[0] = out.states.words[0] = np.frombuffer(self.initial, np.uint64)
        tally = self._tally()
        self._call(k.JUDGE, _NO_BLOCK, tally)
        self.table.insert(int(out.prints[0]))
        tally[k.INDEX] = 1
        kept = self._tally()
        kept[k.ACTIVE : k.ACTIVE + k.MAX_PROMISES], kept[k.FOUND], out.fresh[0] = 0, 1, 1
        self._call(k.GATHER, _NO_BLOCK, kept)
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

        `executor` runs up to `workers` threads, but for this one; there is none for one.
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
                threads = min(workers, last - first, self._worth(parents)) if executor else 1
                self._run_batch(threads, block, first, last, executor)
                left -= parents
                first = last
                if self.stopped:
                    self.settle()
                    return
                after_batch(left)
            self._prepared.clear()
            self.done_with(block)
        self.settle()
        self.depth += bool(self.levels.blocks[-1])

    def bring(self, block: Block) -> None:
        """Have the states of a block in memory."""

    def done_with(self, block: Block) -> None:
        """Forget the states of a block, which have been expanded."""
        block.release()

    def settle(self) -> None:
        """Make blocks of all that the last level has, and see which ways lead to what was found there."""
        try:
            self._close(1)
        finally:
            for promise, (level, index) in self._seen.items():
                if index < self.levels.count(level):
                    self.witnesses[promise] = self.levels.path(level, index)
            self._seen.clear()

    def _close(self, least: int) -> None:
        """Empty what is kept: into a block, if there are so many rows, or else to wait for one."""
        fill, size = self._fill, self._bytes
        self._fill = self._bytes = 0
        if fill or self._parts:
            self._into_block(self._kept, fill, size, least)

    def _roomy(self, rows: int) -> None:
        """See that so many rows more can be kept."""
        kept = self._kept
        bytes_left = len(kept.packed) - self._bytes
        if len(kept.parents) - self._fill < rows or bytes_left < rows * most_bytes(kept.last.shape[1]):
            self._close(self.block_size()[0])

    def _into_block(self, kept: Kept, fill: int, size: int, least: int) -> None:
        """Make a block of the parts that wait and of what is kept, if they have so many rows; if not, it waits too."""
        parts = [*self._parts, self.shelf.part(kept, fill, size)]
        if sum(part.fill for part in parts) >= least:
            self._parts = []
            self.put(self.shelf.block(self.levels.count(-1), parts), parts)
        elif fill:
            self._parts.append(self.shelf.apart(parts[-1]))

    def put(self, block: Block, parts: list[Part]) -> None:
        """Add a block, made of parts, to the last level."""
        block.packed = self.shelf.joined(parts)
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
        self._call(k.UNPACK, block, tally, place)
        return tally

    def _worth(self, parents: int) -> int:
        """How many threads the work on so many parents is worth."""
        return max(1, int(parents * self._seconds_per_parent / _WORTH_A_THREAD_SECONDS))

    def _run_batch(
        self, threads: int, block: Block, first: int, last: int, executor: ThreadPoolExecutor | None
    ) -> None:
        """Run a batch and adapt the size of the next: short enough for Ctrl-C, long enough to be worth a call."""
        began = time.perf_counter()
        self._explored(block, first, last, executor, threads)
        seconds = time.perf_counter() - began
        parents = int(block.units[last, 1] - block.units[first, 1])
        self._seconds_per_parent = sum(self._spent) / parents
        self._spent.clear()
        if seconds > _BATCH_SECONDS:
            self._batch = max(_FIRST_BATCH, self._batch // 2)
        elif seconds < _BATCH_SECONDS / 2 and parents >= self._batch:
            self._batch *= 2

    # --- threads ---

    def _explored(self, block: Block, first: int, last: int, executor: ThreadPoolExecutor | None, threads: int) -> None:
        """Take some units through all phases, by one thread or several."""
        common = self.common = self._tally()
        common[k.FILL], common[k.BYTES] = self._fill, self._bytes
        common[k.NEXT] = common[k.LOOKED_UP] = common[k.TURN] = first
        common[k.UNITS] = last
        while len(self._places) < threads * k.WAYS:
            is_first = len(self._places) % k.WAYS == 0
            self._places.append(self._place(_SMALL_BUFFER, None if is_first else self._places[-1].out.recent))
        at_work = [self._places[one * k.WAYS : (one + 1) * k.WAYS] for one in range(threads)]
        if executor and threads > 1:
            found = self._together(block, at_work, executor)
        else:
            found = [self._work(block, places) for places in at_work]
        self._fill, self._bytes = int(common[k.FILL]), int(common[k.BYTES])
        for places, answer in zip(at_work, found, strict=True):
            self._end(block, places, answer)

    def _together(self, block: Block, at_work: list[list[Place]], executor: ThreadPoolExecutor) -> list[int]:
        """Have several threads take units, this one too; they make blocks of what they have filled."""
        self._is_shared = True
        answers = [executor.submit(self._work, block, places) for places in at_work[1:]]
        try:
            own = self._work(block, at_work[0])
            wait(answers)
        except BaseException:
            self.common[k.ENDED] = 1
            wait(answers)
            raise
        finally:
            self._is_shared = False
            self._make_blocks()
        return [own, *(answer.result() for answer in answers)]

    def _exchange(self, fill: int, size: int) -> None:
        """Put aside what is kept, until blocks are made, and take other room."""
        self._filled.append((self._kept, fill, size))
        self._fill = self._bytes = 0
        self._kept = self._rooms.pop() if self._rooms else self._room()

    def _make_blocks(self) -> None:
        """Make blocks of what was put aside, in order; where one cannot be made, nothing behind it becomes one."""
        with self._makes_blocks:
            while self._filled and not self._has_lost:
                self._has_lost = True
                filled = self._filled.popleft()
                self._into_block(*filled, self.block_size()[0])
                self._rooms.append(filled[0])
                self._has_lost = False

    def _work(self, block: Block, places: list[Place]) -> int:
        """Take units until there are none left, or nobody takes any more; returns DONE, STOPPED or NEVER.

        What goes wrong with a unit is raised when its turn has come, and only if nothing ends the search before.
        """
        for place in places:
            if place.tally is None:
                place.tally = self._tally()
            place.tally[:] = self._tally()  # the same array for each batch: where it is has been found out
            place.tally[k.BLOCK] = block.base
        mine, fault, unit = places[0].tally, None, 0
        try:
            while True:
                for place in places:
                    place.tally[k.GROWN], place.tally[k.FILLED] = self.common[k.GROWN], self.common[k.FILLED]
                try:
                    answer = self._run(block, places)
                except IndexError as error:
                    stages = [place.tally[k.STAGE] for place in self._pending(places)]
                    if k.EXPAND not in stages:  # it is a promise that fails, and the turn has come
                        raise
                    mine[k.PENDING] = stages.index(k.EXPAND)
                    failing = places[(mine[k.OLDEST] + mine[k.PENDING]) % k.WAYS]
                    fault, unit = error, int(failing.tally[k.UNIT]) - 1
                    self.common[k.NEXT] = self.common[k.UNITS]
                    continue
                if answer in (k.TABLE_FULL, k.BLOCK_FULL):
                    self._help(answer, mine)
                elif answer == k.DRAINED:
                    self._make_blocks()
                    mine[k.DRAINS] = 0
                elif answer == k.WAITING:
                    if not self.table.help():
                        time.sleep(0)
                elif answer != k.RENEWED:
                    break
            if fault is not None and answer == k.DONE and self._has_turn(unit):
                raise fault
        except BaseException:
            self.common[k.ENDED] = 1
            raise
        return answer

    @staticmethod
    def _pending(places: list[Place]) -> list[Place]:
        """The places of a thread whose unit is not settled, in the order of the units."""
        mine = places[0].tally
        return [places[(mine[k.OLDEST] + i) % k.WAYS] for i in range(mine[k.PENDING])]

    def _help(self, answer: int, mine: Any) -> None:
        """Make room in the table or in the block, by the thread that has the turn.

        Beside others it makes the block when its own units are settled, so that nobody waits for one of them then.
        """
        if answer == k.TABLE_FULL:
            self.make_room()
            self.common[k.GROWN] += 1
        elif answer == k.BLOCK_FULL:
            if self._is_shared:
                self._exchange(int(self.common[k.FILL]), int(self.common[k.BYTES]))
                self.common[k.FILLED] += 1
                mine[k.DRAINS] = 1
            else:
                self._fill, self._bytes = int(self.common[k.FILL]), int(self.common[k.BYTES])
                self._close(self.block_size()[0])
            self.common[k.FILL] = self.common[k.BYTES] = 0

    def _has_turn(self, unit: int) -> bool:
        """Wait for the turn of a unit; False if another thread stops before."""
        while self.common[k.TURN] < unit:
            if self.common[k.ENDED]:
                return False
            time.sleep(0)
        return True

    def _end(self, block: Block, places: list[Place], answer: int) -> None:
        """Take what a thread has found in a batch; what it has expanded and nobody has settled was never there."""
        pending = self._pending(places)
        for place in places:
            place.tally[k.INDEX] = self.common[k.INDEX]
        if answer == k.STOPPED:
            stopped = pending.pop(0)
            if stopped.tally[k.STAGE] == k.GATHER:
                self._stop(block, stopped)
        for place in pending:
            self._uncount(block, place, 0)
            place.tally[k.UNFINISHED] = -1
        for place in places:
            self._merge(place.tally)

    def make_room(self) -> None:
        """Let the table take more fingerprints; raises OutOfMemory."""
        self._prepared.clear()
        self.table.grow(self.engine.rehash)

    # --- what a call needs and leaves ---

    def _room(self) -> Kept:
        """Room for what is kept until it becomes a part of a block."""
        return self.shelf.kept(len(self._places[0].out.prints), *self.block_size())

    def block_size(self) -> tuple[int, int]:
        """How many rows a block has at least, but for the last of a level, and the bytes behind which it is closed."""
        return BLOCK_ROWS, BLOCK_BYTES

    def _place(self, size: int, recent: Any = None) -> Place:
        """Where a thread works, with room for candidates of about `size` bytes, and what it has met last elsewhere."""
        trail = np.zeros((1, self.engine.trail.padded.itemsize // 8), np.uint64)
        records = trail.view(self.engine.trail.padded).reshape(-1)
        out = self.shelf.candidates(size, self.table.recent() if recent is None else recent)
        return Place(Surroundings(self.setup, records, trail, self._no_coverage()), self.shelf.scratch(0), out)

    def _no_coverage(self) -> Any:
        return np.zeros(tuple(max(1, count) for count in self.engine.model.coverage), np.int64)

    def _tally(self) -> Any:
        tally = np.zeros(k.PLACES, np.int64)
        tally[k.SIGN] = 1
        tally[k.VIOLATED] = tally[k.UNFINISHED] = -1
        tally[k.WITNESSES : k.WITNESSES + k.MAX_PROMISES] = -1
        tally[k.ACTIVE : k.ACTIVE + k.MAX_PROMISES] = self.active
        tally[k.INDEX] = self.distinct - self._before
        tally[k.LIMIT] = _NO_LIMIT if self.max_states is None else self.max_states - self._before
        return tally

    def _call(self, phase: int, block: Block, tally: Any, place: Place | None = None) -> int:
        """Call one phase. The same call is made again and again while one block is expanded: it is prepared once."""
        place = place or self._places[0]
        prepared = self._prepared.get((phase, id(place)))
        if prepared is None or not self._is_ready(prepared, block):
            prepared = self._prepared[phase, id(place)] = self._prepare(phase, block, place)
        prepared.tally[:] = tally
        try:
            return self._timed(prepared.call)
        finally:
            tally[:] = prepared.tally

    def _is_ready(self, prepared: Prepared, block: Block) -> bool:
        return prepared.block is block and prepared.slots is self.table.slots and prepared.kept is self._kept

    def _prepare(self, phase: int, block: Block, place: Place) -> Prepared:
        tally = self._tally()
        way = place.way(block, tally)
        slots = Slots(self.table.slots, self.table.used)
        call = self.engine.call.prepared(phase, (way,) * k.WAYS, self._kept, slots, tally)
        return Prepared(block, slots.table, self._kept, tally, call)

    def _run(self, block: Block, places: list[Place]) -> int:
        ways = tuple(each.way(block, each.tally) for each in places)
        slots = Slots(self.table.slots, self.table.used)
        return self._timed(lambda: self.engine.call(k.RUN, ways, self._kept, slots, self.common))

    def _timed(self, call: Callable[[], Any]) -> int:
        began = _thread_seconds()
        answer: int = call()
        self._spent.append(_thread_seconds() - began)
        return answer

    def _stop(self, block: Block, place: Place) -> None:
        """End at the candidate at which gathering stopped; its parents are unpacked at its place."""
        tally = place.tally
        self.stopped = True
        self.depth += 1
        tally[k.UNFINISHED] = -1  # a parent that is unfinished stands behind those whose successors are gathered
        last = int(tally[k.CULPRIT]) + 1
        tally[k.GENERATED] += last
        self._uncount(block, place, last)

    def _uncount(self, block: Block, place: Place, skip: int) -> None:
        """Take back the coverage of all candidates at a place but the first `skip`; their parents are unpacked."""
        tally, again = place.tally, self._tally()
        again[k.PARENT], again[k.LAST], again[k.BASE] = tally[k.FIRST], tally[k.PARENT], tally[k.BASE]
        again[k.SKIP], again[k.SIGN] = skip, -1
        self._call(k.EXPAND, block, again, place)

    def _merge(self, tally: Any) -> None:
        """Add the counters of a call, and keep what it found out about promises."""
        self.generated += int(tally[k.GENERATED])
        self.distinct = self._before + int(tally[k.INDEX])
        self.bounds += tally[k.BOUNDS : k.BOUNDS + k.MAX_BOUNDS]
        level = len(self.levels.blocks) - 1
        witnesses = tally[k.WITNESSES : k.WITNESSES + len(self.engine.model.promises)]
        for i in np.flatnonzero(witnesses >= 0).tolist():
            if i not in self.witnesses and i not in self._seen:
                self._seen[i] = level, int(witnesses[i])
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
        return sum((place.around.coverage for place in self._places), self._no_coverage())
