"""Random walks: for worlds too large to explore. They find what is broken, and never show that a promise holds.

A walk takes one enabled action after the other at random, from the initial state until nothing is enabled. The same
seed takes the same walks, wherever and however fast. What breaks a promise is made shorter (`shortened`), until no step
of the story can be left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

import numpy as np

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine.diagnosis import fault_behind
from zombieproof.checker.engine.explore import Stop, check_promises
from zombieproof.checker.engine.hosts import CompiledHost, is_at_rest, rows_of
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.places import MOST_SEED
from zombieproof.checker.engine.result import Counterexample, Judged, Progress, Result
from zombieproof.checker.engine.search import JUDGED
from zombieproof.checker.engine.storage import MIB, Memory

LONGEST: Final = 10_000
"""Steps of a walk, at the most."""
_FIRST_STEPS: Final = 1000
_CALL_SECONDS: Final = 0.05
_ODD: Final = 0x9E3779B97F4A7C15
_WORD: Final = (1 << 64) - 1


def wander(
    model: Model,
    setup: object,
    *,
    seed: int = 0,
    steps: int | None = None,
    seconds: float | None = None,
    promises: Collection[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    stop: Stop | None = None,
) -> Result:
    """Walk through `model` at random from its initial state for `setup`.

    Args:
        model: the model.
        setup: an object of the model's setup class.
        seed: which walks, from 0 to `MOST_SEED`.
        steps, seconds: after so many steps of all walks, or so long, it ends; at least one of them is given.
        promises: names of the promises to judge; all by default. *Sometimes* promises are not; *at rest* promises are
            where nothing at all is enabled; *leads to* promises are not.
        progress: called a few times a second.
        stop: asked a few times a second.

    Returns:
        The verdict is violated or inconclusive; see `Result.walks`.

    Raises:
        ValueError: a promise is unknown, or a limit makes no sense.
        LoweringError, LayoutError: the model cannot be compiled, or `setup` does not fit its record.
        ModelFault: the model uses an index outside its array.
    """
    _check(model, promises, seed, steps, seconds)
    judged = [p for p in model.promises if (promises is None or p.name in promises) and p.kind != "sometimes"]
    began = time.perf_counter()
    walkers = Walkers(model, setup, [p.name for p in judged], seed)
    walkers.walk(0)  # compiles it, or loads it from the cache
    started, cpu = time.perf_counter(), time.process_time()
    interrupted = False
    try:
        _until(walkers, steps, seconds, progress, stop)
    except KeyboardInterrupt:
        interrupted = True
    violated = None
    if walkers.broken is not None:
        violated = Counterexample(walkers.broken, shortened(model, setup, walkers.path, walkers.broken))
    memory = Memory()
    return Result(
        verdict="violated" if violated else "inconclusive",
        why=None if violated else walkers.why(seed, interrupted=interrupted),
        distinct=0,
        generated=walkers.steps,
        depth=walkers.deepest,
        seconds=time.perf_counter() - started,
        cpu_seconds=time.process_time() - cpu,
        compile_seconds=started - began,
        peak_mib=max(memory.resident(), memory.peak) / MIB,
        bytes_per_state=0.0,
        frontier_bytes=0.0,
        state_bytes=walkers.host.engine.state.padded.itemsize,
        collision_probability=0.0,
        promises=tuple(
            Judged(p.name, p.kind, False if violated and violated.promise == p.name else None) for p in judged
        ),
        violated=violated,
        witnesses={},
        coverage=None,
        bound_hits={model.bounds.get(code, f"bound {code}"): n for code, n in walkers.bounds.items()},
        interrupted=interrupted,
        walks=walkers.walks,
    )


def _check(model: Model, promises: Collection[str] | None, seed: int, steps: int | None, seconds: float | None) -> None:
    check_promises(model, promises)
    if not 0 <= seed <= MOST_SEED:
        raise ValueError(f"seed is {seed}; give 0 to {MOST_SEED}")
    if steps is None and seconds is None:
        raise ValueError("walks without an end; give steps, or seconds, or both")
    if steps is not None and steps < 1:
        raise ValueError(f"steps is {steps}; give 1 or more")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise ValueError(f"seconds is {seconds}; give more than 0")


def _until(
    walkers: Walkers,
    steps: int | None,
    seconds: float | None,
    progress: Callable[[Progress], None] | None,
    stop: Stop | None,
) -> None:
    """Walk in calls that are short enough for Ctrl-C, to the limit or to a broken promise."""
    began = time.perf_counter()
    share = _FIRST_STEPS
    while walkers.broken is None and not walkers.is_stuck and (steps is None or walkers.steps < steps):
        before = time.perf_counter()
        if (seconds is not None and before - began >= seconds) or (stop is not None and stop.is_set()):
            return
        walkers.walk(share if steps is None else min(share, steps - walkers.steps))
        took = time.perf_counter() - before
        share = max(1, int(share * min(2.0, _CALL_SECONDS / max(took, 1e-6))))
        if progress is not None:
            resident = Memory().resident() / MIB
            progress(Progress(0, walkers.steps, walkers.deepest, 0, time.perf_counter() - began, resident))


class Walkers:
    """Walks under way: one after the other, in compiled code."""

    def __init__(self, model: Model, setup: object, judged: Sequence[str], seed: int) -> None:
        self.model, self._setup = model, setup
        self.host = CompiledHost(model, setup)
        self._states = rows_of(self.host.engine.state.padded, 2)
        self._states.words[0] = np.frombuffer(self.host.engine.state.pack(model.initial(setup)), np.uint64)
        self._path = np.zeros(LONGEST, np.uint16)
        self._tally = np.zeros(k.PLACES, np.int64)
        self._tally[k.VIOLATED] = self._tally[k.UNFINISHED] = -1
        self._tally[k.RANDOM] = np.uint64((seed + 1) * _ODD & _WORD).view(np.int64)
        for i, promise in enumerate(model.promises):
            self._tally[k.ACTIVE + i] = JUDGED[promise.kind] if promise.name in judged else 0
        self._judged = judged
        self._is_begun = False

    def walk(self, steps: int) -> None:
        """So many steps more, or fewer if a promise breaks."""
        if not self._is_begun:
            self._is_begun = True
            self._judge_initial()
        self._tally[k.LIMIT] = 0 if self.broken is not None else steps
        try:
            self.host.engine.wander(self._states, self._path, self.host.around, self._tally)
        except IndexError:
            raise fault_behind(self.host.engine, self._setup, self.path) from None

    def _judge_initial(self) -> None:
        holds, code = self.host.judge(self._states.words[0].tobytes())
        for i, promise in enumerate(self.model.promises):
            judged = promise.kind == "always" and promise.name in self._judged
            if judged and not code and not holds[i] and self.broken is None:
                self._tally[k.VIOLATED] = i

    @property
    def broken(self) -> str | None:
        """The promise that is broken where the walk is."""
        number = int(self._tally[k.VIOLATED])
        return None if number < 0 else self.model.promises[number].name

    @property
    def path(self) -> list[int]:
        """The actions of the walk."""
        actions: list[int] = self._path[: int(self._tally[k.DEPTH])].tolist()
        return actions

    @property
    def steps(self) -> int:
        """Of all walks."""
        return int(self._tally[k.GENERATED])

    @property
    def deepest(self) -> int:
        """Steps of the longest walk."""
        return int(self._tally[k.DEEPEST])

    @property
    def walks(self) -> int:
        """How many there were, with the one under way."""
        return int(self._tally[k.WALKS]) + bool(self._tally[k.DEPTH] or not self._tally[k.WALKS])

    @property
    def is_stuck(self) -> bool:
        """Whether nothing is enabled in the initial state."""
        return bool(self._tally[k.WALKS]) and not self.steps

    @property
    def bounds(self) -> dict[int, int]:
        """How often a capacity was exceeded, by its code."""
        found = self._tally[k.BOUNDS : k.BOUNDS + k.MAX_BOUNDS]
        return {code: int(count) for code, count in enumerate(found) if count}

    def why(self, seed: int, *, interrupted: bool) -> str:
        """Why nothing is known after all."""
        said = (
            f"{self.steps:,} steps at random in {self.walks:,} walks (seed {seed}) broke nothing, which proves nothing"
        )
        hits = [f"{self.model.bounds.get(code, f'bound {code}')} {n:,} times" for code, n in self.bounds.items()]
        said += f"; a capacity was exceeded: {', '.join(hits)}" if hits else ""
        return f"{said}; it was interrupted" if interrupted else said


def shortened(model: Model, setup: object, actions: Sequence[int], promise: str) -> list[int]:
    """A part of `actions` that is enabled step by step and breaks `promise`, of which no step can be left out."""
    story = _Story(model, setup, promise)
    best = story.broken_by(actions)
    assert best is not None, "the walk broke it"
    size = max(1, len(best) // 2)
    while True:
        at, is_shorter = 0, False
        while at < len(best):
            without = story.broken_by([*best[:at], *best[at + size :]])
            if without is None:
                at += size
            else:
                best, is_shorter = without, True
        if size == 1 and not is_shorter:
            return best
        size = max(1, size // 2)


def breaks(model: Model, setup: object, actions: Sequence[int], promise: str) -> bool:
    """Whether `actions` are enabled step by step, and the last one breaks `promise`, and none before."""
    return _Story(model, setup, promise).broken_by(actions) == list(actions)


class _Story:
    """Actions from the initial state, and whether they break a promise."""

    def __init__(self, model: Model, setup: object, promise: str) -> None:
        self._host = CompiledHost(model, setup)
        self._initial = self._host.engine.state.pack(model.initial(setup))
        self._model = model
        self._promise = next(i for i, each in enumerate(model.promises) if each.name == promise)

    def broken_by(self, actions: Sequence[int]) -> list[int] | None:
        """The actions up to the one that breaks the promise; None if one of them is disabled, or none breaks it."""
        state = self._initial
        for number, action in enumerate(actions):
            if self._is_broken(state):
                return list(actions[:number])
            after, _ = self._host.step(state, action)
            if after is None:
                return None
            state = after
        return list(actions) if self._is_broken(state) else None

    def _is_broken(self, state: bytes) -> bool:
        holds, code = self._host.judge(state)
        if code or holds[self._promise]:
            return False
        always = self._model.promises[self._promise].kind == "always"
        return always or is_at_rest(self._model, self._host, state)
