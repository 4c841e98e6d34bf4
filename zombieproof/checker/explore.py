"""Exhaustive exploration: every reachable world, breadth first, until the end or a limit.

The result is the same for any number of workers: the same counts, the same shortest counterexample.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

import numpy as np

from zombieproof.checker import kernels as k
from zombieproof.checker.engine import Engine, compiled
from zombieproof.checker.kernels import Surroundings
from zombieproof.checker.model import Kind, Model
from zombieproof.checker.storage import MIB, Block, Levels, Memory, OutOfMemory, Shelf, Table

Verdict = Literal["holds", "violated", "inconclusive"]
_CALL_SECONDS: Final = 0.1


class Stop(Protocol):
    """What can ask an exploration to end: a threading.Event."""

    def is_set(self) -> bool:
        """Return whether the exploration is to end."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a promise: `holds` is None where the exploration ended before that was known."""

    name: str
    kind: Kind
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Counterexample:
    """The actions of a shortest way from the initial world to one that breaks `promise`."""

    promise: str
    actions: list[int]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration is: `frontier` worlds of level `depth` are still to be expanded."""

    distinct: int
    generated: int
    depth: int
    frontier: int
    seconds: float
    resident_mib: float


@dataclass(slots=True)
class Result:
    """What an exploration found.

    Attributes:
        verdict: holds, violated or inconclusive; `why` says why it is inconclusive, or that a *sometimes* promise never held.
        distinct: reachable worlds seen, the initial one included; up to and with the first that breaks a promise.
        generated: successors computed, with repetitions.
        depth: steps on the longest of the shortest ways from the initial world.
        seconds, cpu_seconds: of the exploration; compile_seconds: before it, 0 when the engine was compiled already.
        peak_mib: greatest resident set of the process, as sampled.
        bytes_per_state: what the table, parents and actions take for each distinct world; world_bytes: a world of the frontier.
        collision_probability: expected number of pairs of worlds with the same fingerprint, n²/2⁶⁵: such a world would be missed.
        violated: the counterexample; None if no world breaks a promise.
        witnesses: for each *sometimes* promise that held, the actions of a shortest way to a world where it does.
        coverage: counts (machine, state, event) of the moves of all generated successors.
        bound_hits: for each capacity that was exceeded, in words, in how many worlds.
        interrupted: the exploration was ended by Ctrl-C or `stop`.
    """

    verdict: Verdict
    why: str | None
    distinct: int
    generated: int
    depth: int
    seconds: float
    cpu_seconds: float
    compile_seconds: float
    peak_mib: float
    bytes_per_state: float
    world_bytes: int
    collision_probability: float
    promises: list[Judged]
    violated: Counterexample | None
    witnesses: dict[str, list[int]]
    coverage: Any
    bound_hits: dict[str, int]
    interrupted: bool


def explore(
    model: Model,
    setup: object,
    *,
    promises: Collection[str] | None = None,
    memory_bytes: int | None = None,
    workers: int = 1,
    max_depth: int | None = None,
    max_states: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    stop: Stop | None = None,
) -> Result:
    """Explore `model` from its initial world for `setup`.

    Args:
        model: the model.
        setup: an object of the model's setup class.
        promises: names of the promises to judge; all by default.
        memory_bytes: limit for the whole process (resident set); where the next growth would pass it the result is inconclusive.
            By default four fifths of what is available.
        workers: threads.
        max_depth: steps after which the exploration ends, inconclusive if there would be more.
        max_states: distinct worlds after which it ends, inconclusive.
        progress: called a few times a second.
        stop: asked a few times a second.

    Raises ValueError for an unknown promise, LoweringError and LayoutError for a model that cannot be compiled.
    Ctrl-C ends the exploration with a partial result.
    """
    unknown = set(promises or ()) - {promise.name for promise in model.promises}
    if unknown:
        known = ", ".join(promise.name for promise in model.promises)
        raise ValueError(f"{model.name} has no promise {', '.join(sorted(unknown))}; it has {known}")
    began = time.perf_counter()
    engine = compiled(model)
    exploration = _Exploration(engine, setup, promises, Memory(memory_bytes))
    exploration.compile_seconds = time.perf_counter() - began
    return exploration.explored(workers, max_depth, max_states, progress, stop)


class _Ended(Exception):
    """The exploration ends before it is exhaustive; the message says why."""


class _Exploration:
    def __init__(self, engine: Engine, setup: object, promises: Collection[str] | None, memory: Memory) -> None:
        self.engine = engine
        self.model = engine.model
        self.memory = memory
        self.table = Table(memory)
        self.shelf = Shelf(memory, engine.world.padded, self.model.actions)
        self.setup = _one(engine.setup.pack(setup), engine.setup.padded)
        self.levels = Levels()
        self.state = np.zeros(k.PLACES, np.int64)
        self.state[k.VIOLATED] = -1
        self.state[k.WITNESSES : k.WITNESSES + k.MAX_PROMISES] = -1
        self.state[k.OWNERS] = 1
        self.state[k.SIGN] = 1
        for i, promise in enumerate(self.model.promises):
            if promises is None or promise.name in promises:
                self.state[k.ACTIVE + i] = 1 if promise.kind == "always" else 2
        self.judging = self.state[k.ACTIVE : k.ACTIVE + k.MAX_PROMISES].copy()
        self.around = self.surroundings()
        buffer_rows = max(64, min(8192, (256 << 10) // engine.world.padded.itemsize))
        self.buffer = self.shelf.candidates(buffer_rows)
        self.witnesses: dict[str, list[int]] = {}
        self.distinct = 0
        self.generated = 0
        self.depth = 0
        self.chunk = 64
        self.compile_seconds = 0.0
        initial = self.model.initial(setup)
        self.first = engine.world.pack(initial)

    def surroundings(self) -> Surroundings:
        trail = np.zeros((1, self.engine.trail.padded.itemsize // 8), np.uint64)
        machines, states, events = self.model.coverage
        coverage = np.zeros((max(machines, 1), max(states, 1), max(events, 1)), np.int64)
        return Surroundings(self.setup, trail.view(self.engine.trail.padded).reshape(-1), trail, coverage)

    def call(self, phase: int, parents: Any, kept: Any) -> int:
        return self.engine.call(
            phase, parents, self.buffer, kept, self.table.slots, self.table.used, self.around, self.state
        )

    def explored(
        self,
        workers: int,
        max_depth: int | None,
        max_states: int | None,
        progress: Callable[[Progress], None] | None,
        stop: Stop | None,
    ) -> Result:
        began, cpu_began = time.perf_counter(), time.process_time()
        why: str | None = None
        interrupted = False
        try:
            self.begin()
            began, cpu_began = time.perf_counter(), time.process_time()
            while self.levels.blocks[-1] and self.state[k.VIOLATED] < 0:
                if max_depth is not None and self.depth >= max_depth:
                    raise _Ended(f"the depth of {max_depth} steps was reached with worlds left to expand")
                self.level(max_states, progress, stop, began)
        except _Ended as ended:
            why = str(ended)
            interrupted = "interrupted" in why
        except OutOfMemory as full:
            why = str(full)
        except KeyboardInterrupt:
            why, interrupted = "interrupted", True
        self.memory.sample()
        return self.result(why, interrupted, time.perf_counter() - began, time.process_time() - cpu_began)

    def begin(self) -> None:
        """Make level 0 of the initial world, and compile."""
        began = time.perf_counter()
        block = self.shelf.block(0)
        assert block.kept is not None
        block.kept.worlds.words[0] = np.frombuffer(self.first, np.uint64)
        self.call(k.JUDGE, block.kept.worlds, block.kept)
        self.table.insert(int(self.buffer.prints[0]))
        block.fill = 1
        self.levels.blocks.append([block])
        self.distinct = 1
        self.witness(0)
        self.compile_seconds += time.perf_counter() - began

    def witness(self, depth: int) -> None:
        """Keep the ways to the witnesses that were found."""
        for i, promise in enumerate(self.model.promises):
            index = int(self.state[k.WITNESSES + i])
            if index >= 0:
                self.witnesses[promise.name] = self.levels.path(depth, index)
                self.state[k.WITNESSES + i] = -1

    def level(
        self, max_states: int | None, progress: Callable[[Progress], None] | None, stop: Stop | None, began: float
    ) -> None:
        """Expand the last level into the next."""
        self.levels.blocks.append([])
        source, target = self.levels.blocks[-2:]
        state = self.state
        state[k.INDEX] = 0
        before, made = self.distinct, self.generated
        for block in source:
            assert block.kept is not None
            state[k.PARENT] = 0
            state[k.STAGE] = k.EXPAND
            while state[k.PARENT] < block.fill or state[k.STAGE] != k.EXPAND:
                if not target or target[-1].fill == self.shelf.rows:
                    target.append(self.shelf.block(int(state[k.INDEX])))
                    state[k.FILL] = 0
                into = target[-1]
                state[k.LAST] = min(block.fill, int(state[k.PARENT]) + self.chunk)
                state[k.BASE] = block.base
                state[k.GENERATED] = 0
                started = time.perf_counter()
                answer = self.call(k.RUN, block.kept.worlds, into.kept)
                spent = time.perf_counter() - started
                into.fill = int(state[k.FILL])
                self.generated += int(state[k.GENERATED])
                self.distinct = before + int(state[k.INDEX])
                if answer == k.TABLE_FULL:
                    self.table.grow(self.engine.rehash)
                elif answer == k.BLOCK_FULL:
                    target.append(self.shelf.block(int(state[k.INDEX])))
                    state[k.FILL] = 0
                elif answer == k.STOPPED:
                    self.generated += int(state[k.CULPRIT]) + 1
                    self.uncount(block)
                    self.depth += 1
                    self.witness(self.depth)
                    return
                else:
                    self.chunk = int(min(1 << 20, max(64, self.chunk * (2 if spent < _CALL_SECONDS / 2 else 1 if spent < _CALL_SECONDS else 0.5))))
                self.memory.sample()
                if stop is not None and stop.is_set():
                    raise _Ended("interrupted")
                if max_states is not None and self.distinct >= max_states:
                    raise _Ended(f"the limit of {max_states:,} distinct worlds was reached")
                if progress is not None:
                    progress(Progress(self.distinct, self.generated, self.depth, 0, time.perf_counter() - began, self.memory.resident() / MIB))
            self.shelf.release(block)
            block.finish()
        while target and not target[-1].fill:
            self.shelf.release(target.pop())
        if target:
            self.depth += 1
        self.witness(self.depth)

    def uncount(self, block: Block) -> None:
        """Take back the coverage of candidates behind the one that broke a promise."""
        state = self.state
        state[k.LAST] = state[k.PARENT]
        state[k.PARENT] = state[k.FIRST]
        state[k.SKIP] = state[k.CULPRIT] + 1
        state[k.SIGN] = -1
        assert block.kept is not None
        self.call(k.EXPAND, block.kept.worlds, block.kept)

    def result(self, why: str | None, interrupted: bool, seconds: float, cpu_seconds: float) -> Result:
        broken = int(self.state[k.VIOLATED])
        violated = None
        if broken >= 0:
            name = self.model.promises[broken].name
            index = int(self.state[k.INDEX]) - 1 if self.depth else 0
            violated = Counterexample(name, self.levels.path(self.depth, index))
            why = None
        hits = {
            self.model.bounds.get(code, f"bound {code}"): int(self.state[k.BOUNDS + code])
            for code in range(k.MAX_BOUNDS)
            if self.state[k.BOUNDS + code]
        }
        if hits and why is None and violated is None:
            why = "a capacity was exceeded: " + ", ".join(f"{name} in {count:,} worlds" for name, count in hits.items())
        judged = [
            Judged(promise.name, promise.kind, self.held(i, why is None and violated is None))
            for i, promise in enumerate(self.model.promises)
            if self.judging[i]
        ]
        vacuous = [j.name for j in judged if j.holds is False and j.kind == "sometimes"]
        verdict: Verdict = "violated" if violated or vacuous else "inconclusive" if why else "holds"
        if vacuous:
            why = f"no reachable world satisfies {', '.join(vacuous)}"
            violated = violated or Counterexample(vacuous[0], [])
        kept = sum(b.parents.nbytes + b.actions.nbytes for level in self.levels.blocks for b in level)
        return Result(
            verdict=verdict,
            why=why,
            distinct=self.distinct,
            generated=self.generated,
            depth=self.depth,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            compile_seconds=self.compile_seconds,
            peak_mib=self.memory.peak / MIB,
            bytes_per_state=(self.table.slots.nbytes + kept) / max(self.distinct, 1),
            world_bytes=self.engine.world.padded.itemsize,
            collision_probability=self.distinct**2 / 2**65,
            promises=judged,
            violated=violated,
            witnesses=self.witnesses,
            coverage=self.around.coverage if any(self.model.coverage) else None,
            bound_hits=hits,
            interrupted=interrupted,
        )

    def held(self, i: int, exhaustive: bool) -> bool | None:
        promise = self.model.promises[i]
        if promise.kind == "sometimes":
            return True if promise.name in self.witnesses else False if exhaustive else None
        if int(self.state[k.VIOLATED]) == i:
            return False
        return True if exhaustive else None


def _one(packed: bytes, dtype: np.dtype[np.void]) -> Any:
    """Return an array of the one record that `packed` holds."""
    return np.frombuffer(bytearray(packed), np.uint64).view(dtype).reshape(-1)
