"""Exhaustive exploration: every reachable state, breadth first, until the end or a limit.

The result is the same for any number of workers: the same counts, the same shortest counterexample. Only an
exploration that is ended from outside (memory, Ctrl-C, `stop`) depends on how far it came.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from zombieproof.checker.engine.checkpoint import CheckpointFault, Checkpoints
from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.diagnosis import index_fault
from zombieproof.checker.engine.folder import FolderRefused, Keeping
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.engine.places import MOST_THREADS
from zombieproof.checker.engine.result import Checkpoint, Counterexample, Judged, Progress, Result, Verdict, exceeded
from zombieproof.checker.engine.search import Search
from zombieproof.checker.engine.snapshots import keep, take_up
from zombieproof.checker.engine.spill import Spill, SpillFault
from zombieproof.checker.engine.storage import MIB, Memory, OutOfMemory

if TYPE_CHECKING:
    from zombieproof.checker.engine.fairness import Debt

__all__ = ["Counterexample", "Judged", "Progress", "Result", "Stop", "Verdict", "explore"]

_PROGRESS_SECONDS: Final = 0.2


class Stop(Protocol):
    """What can ask an exploration to end: a threading.Event."""

    def is_set(self) -> bool:
        """Return whether the exploration is to end."""


class _Ended(Exception):
    """The exploration ends before it is exhaustive; the message says why."""


class _Interrupted(_Ended):
    """Somebody wants the exploration to end."""


def explore(  # noqa: PLR0913  # one parameter for each limit and for each way to listen
    model: Model,
    setup: object,
    *,
    promises: Collection[str] | None = None,
    memory_bytes: int | None = None,
    workers: int = 1,
    max_depth: int | None = None,
    max_states: int | None = None,
    keeping: Keeping | None = None,
    spill: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    stop: Stop | None = None,
) -> Result:
    """Explore `model` from its initial state for `setup`.

    Args:
        model: the model.
        setup: an object of the model's setup class.
        promises: names of the promises to judge; all by default.
        memory_bytes: limit for the whole process (resident set): the exploration ends, inconclusive, before a growth
            that would pass it. By default it may use four fifths of what is available.
        workers: threads, at least 1; more than `places.MOST_THREADS` are as many as that.
        max_depth: steps from the initial state after which the exploration ends, inconclusive if there is more.
        max_states: distinct states after which it ends, inconclusive if there is more.
        keeping: where checkpoints are made, and whether to go on from one: then everything is as if the exploration
            had never been stopped. A checkpoint that cannot be written ends it, inconclusive.
        spill: a folder for what does not fit into `memory_bytes`; with the same result. It is empty again afterwards. A
            folder that takes no more ends the exploration, inconclusive. Not together with `keeping`.
        progress: called a few times a second.
        stop: asked a few times a second.

    Raises:
        FolderRefused: the folder of `keeping`, or that of `spill`, cannot be used, or its checkpoint not for this.
        ValueError: a promise is unknown, or a limit makes no sense.
        LoweringError, LayoutError: the model cannot be compiled, or `setup` does not fit its record.
        ModelFault: the model uses an index outside its array.

    Ctrl-C ends the exploration with a partial result that says so.
    """
    _check(model, promises, workers, max_depth, max_states)
    if keeping is not None and spill is not None:
        raise ValueError("keeping and spill: give one; spilled states cannot be resumed from")
    judged = [p for p in model.promises if promises is None or p.name in promises]
    began = time.perf_counter()
    if (keeping is not None or spill is not None) and (owing := [p.name for p in judged if p.kind == "leads_to"]):
        raise FolderRefused(
            f"{', '.join(owing)} needs the whole graph of states, which neither a checkpoint nor a spill folder "
            "has; omit the folder, or check other properties only"
        )
    search = _search(model, setup, judged, Memory(memory_bytes), max_states, spills=spill is not None)
    owed: list[Debt] = []
    clock = _Clock(began)
    with (
        _checkpoints(search, keeping, judged, max_states, max_depth) as checkpoints,
        _spilling(search, spill) as spilled,
    ):
        after_batch = _listener(search, clock, checkpoints, progress, stop)
        why: str | None = None
        interrupted = False
        try:
            search.begin()
            clock.start(take_up(search, checkpoints) if checkpoints and checkpoints.data else (0.0, 0.0))
            _levels(search, workers, max_depth, after_batch, _keeper(search, clock, checkpoints))
            if search.stopped and search.violated < 0:
                why = f"the limit of {max_states:,} distinct states was reached"
            elif search.violated < 0:
                owed = _owed(search, judged)
        except (_Ended, OutOfMemory, CheckpointFault, SpillFault) as ended:
            why = str(ended)
            interrupted = isinstance(ended, _Interrupted)
        except IndexError:
            raise index_fault(search, setup) from None
        except KeyboardInterrupt:
            why, interrupted = "interrupted", True
        with contextlib.suppress(OutOfMemory, SpillFault):  # which has been said
            search.settle()
        result = _result(search, judged, clock, owed, why, interrupted)
        return replace(result, checkpoint=_last(checkpoints), spilled=spilled.report() if spilled else None)


def _search(  # what a search is made of
    model: Model, setup: object, judged: list[Promise], memory: Memory, max_states: int | None, *, spills: bool
) -> Search:
    """Return a search that notes what is owed, if it is asked what the model leads to, else one that need not."""
    names = [promise.name for promise in judged]
    owing = [promise.name for promise in judged if promise.kind == "leads_to"]
    if owing:
        from zombieproof.checker.engine.recording import RecordingSearch  # noqa: PLC0415  # few need it

        return RecordingSearch(compiled(model), setup, names, memory, max_states, owing)
    if spills:
        from zombieproof.checker.engine.spilling import SpillingSearch  # noqa: PLC0415  # few need it

        return SpillingSearch(compiled(model), setup, names, memory, max_states)
    return Search(compiled(model), setup, names, memory, max_states)


def _owed(search: Search, judged: list[Promise]) -> list[Debt]:
    """What the model leads to, and may stay away for ever: nothing, unless it was asked for that."""
    if not any(promise.kind == "leads_to" for promise in judged):
        return []
    from zombieproof.checker.engine.fairness import debts  # noqa: PLC0415  # few need it
    from zombieproof.checker.engine.recording import RecordingSearch  # noqa: PLC0415  # few need it

    assert isinstance(search, RecordingSearch)
    search.settle()
    return debts(search)


@contextlib.contextmanager
def _checkpoints(
    search: Search, keeping: Keeping | None, judged: list[Promise], max_states: int | None, max_depth: int | None
) -> Iterator[Checkpoints | None]:
    if keeping is None:
        yield None
        return
    asked = {
        "the promises": ", ".join(promise.name for promise in judged),
        "max_states": str(max_states),
        "max_depth": str(max_depth),
        "the setup": hashlib.sha256(search.setup.tobytes()).hexdigest()[:16],
        "the initial state": hashlib.sha256(search.initial).hexdigest()[:16],
    }
    with Checkpoints(keeping, search.engine.key, asked) as checkpoints:
        yield checkpoints


@contextlib.contextmanager
def _spilling(search: Search, folder: Path | None) -> Iterator[Spill | None]:
    if folder is None:
        yield None
        return
    from zombieproof.checker.engine.spilling import SpillingSearch  # noqa: PLC0415  # few need it

    assert isinstance(search, SpillingSearch)
    with contextlib.closing(Spill(folder, search.engine.key)) as spill:
        search.use(spill)
        yield spill


def _keeper(search: Search, clock: _Clock, checkpoints: Checkpoints | None) -> Callable[[], None]:
    """Return what is called before each level."""

    def between() -> None:
        if checkpoints is not None and checkpoints.is_due():
            keep(search, checkpoints, (clock.seconds, clock.cpu_seconds))

    return between


def _last(checkpoints: Checkpoints | None) -> Checkpoint | None:
    if checkpoints is None or checkpoints.depth < 0:
        return None
    return Checkpoint(checkpoints.folder, checkpoints.depth, checkpoints.data.get("depth", -1))


class _Clock:
    def __init__(self, began: float) -> None:
        self.began = self.started = began
        self.cpu_started = time.process_time()
        self.compiled = False
        self.spent = 0.0, 0.0

    def start(self, spent: tuple[float, float]) -> None:
        """Begin to count: what was before is compilation. `spent` are seconds and CPU seconds of earlier runs."""
        self.started, self.cpu_started, self.compiled = time.perf_counter(), time.process_time(), True
        self.spent = spent

    @property
    def seconds(self) -> float:
        return self.spent[0] + time.perf_counter() - self.started if self.compiled else 0.0

    @property
    def cpu_seconds(self) -> float:
        return self.spent[1] + time.process_time() - self.cpu_started if self.compiled else 0.0

    @property
    def compile_seconds(self) -> float:
        return (self.started if self.compiled else time.perf_counter()) - self.began


def _check(
    model: Model, promises: Collection[str] | None, workers: int, max_depth: int | None, max_states: int | None
) -> None:
    check_promises(model, promises)
    if workers < 1:
        raise ValueError(f"workers is {workers}; give 1 or more")
    if max_states is not None and max_states < 1:
        raise ValueError(f"max_states is {max_states}; give 1 or more, or None")
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth is {max_depth}; give 0 or more, or None")


def check_promises(model: Model, promises: Collection[str] | None) -> None:
    """See that the model has the promises; raises ValueError."""
    known = [promise.name for promise in model.promises]
    unknown = sorted(set(promises or ()) - set(known))
    if unknown:
        raise ValueError(f"{model.name} has no promise {', '.join(unknown)}; it has {', '.join(known)}")


def _levels(
    search: Search,
    workers: int,
    max_depth: int | None,
    after_batch: Callable[[int], None],
    between: Callable[[], None],
) -> None:
    """Go level by level to the end."""
    workers = min(workers, MOST_THREADS)
    with _executor(workers) as executor:
        while search.levels.blocks[-1] and not search.stopped:
            between()
            if max_depth is not None and search.depth >= max_depth:
                raise _Ended(f"the depth of {max_depth} steps was reached with states left to expand")
            search.level(executor, workers, after_batch)


@contextlib.contextmanager
def _executor(workers: int) -> Iterator[ThreadPoolExecutor | None]:
    if workers == 1:
        yield None
        return
    with ThreadPoolExecutor(workers - 1, "explore") as executor:
        yield executor


def _listener(
    search: Search,
    clock: _Clock,
    checkpoints: Checkpoints | None,
    progress: Callable[[Progress], None] | None,
    stop: Stop | None,
) -> Callable[[int], None]:
    """Return what is called after each batch."""
    shown = time.perf_counter()

    def after_batch(frontier: int) -> None:
        nonlocal shown
        resident = search.memory.resident()
        if stop is not None and stop.is_set():
            raise _Interrupted("interrupted")
        if progress is not None and time.perf_counter() - shown >= _PROGRESS_SECONDS:
            shown = time.perf_counter()
            level = checkpoints.depth if checkpoints is not None else -1
            progress(
                Progress(
                    search.distinct, search.generated, search.depth, frontier, clock.seconds, resident / MIB, level
                )
            )

    return after_batch


def _result(
    search: Search, judged: list[Promise], clock: _Clock, owed: list[Debt], why: str | None, interrupted: bool
) -> Result:
    model = search.engine.model
    hits = {model.bounds.get(code, f"bound {code}"): int(n) for code, n in enumerate(search.bounds) if n}
    if hits and why is None:
        why = exceeded(hits)
    violated: Counterexample | None = None
    if search.violated >= 0:
        actions = search.levels.path(*search.culprit)
        violated, why = Counterexample(model.promises[search.violated].name, actions), None
    exhaustive = why is None and violated is None
    if owed:
        violated, why = Counterexample(owed[0].promise, owed[0].actions, owed[0].repeats_from), None
    broken = {debt.promise for debt in owed} | ({violated.promise} if violated else set())
    outcomes = tuple(
        Judged(promise.name, promise.kind, _outcome(search, promise, broken, exhaustive)) for promise in judged
    )
    never = [o.name for o in outcomes if o.kind == "sometimes" and o.holds is False]
    if never and not owed:
        violated = Counterexample(never[0], None)
        why = f"no reachable state satisfies {', '.join(never)}"
    verdict: Verdict = "violated" if violated else "inconclusive" if why else "holds"
    return Result(
        verdict=verdict,
        why=why,
        distinct=search.distinct,
        generated=search.generated,
        depth=search.depth,
        seconds=clock.seconds,
        cpu_seconds=clock.cpu_seconds,
        compile_seconds=clock.compile_seconds,
        peak_mib=max(search.memory.resident(), search.memory.peak) / MIB,
        bytes_per_state=(search.table.slots.nbytes + search.levels.nbytes()) / max(search.distinct, 1),
        frontier_bytes=search.levels.packed_bytes / max(search.levels.packed_states, 1),
        state_bytes=search.engine.state.padded.itemsize,
        collision_probability=search.distinct**2 / 2**65,
        promises=outcomes,
        violated=violated,
        witnesses={model.promises[i].name: path for i, path in sorted(search.witnesses.items())},
        coverage=search.coverage if any(model.coverage) else None,
        bound_hits=hits,
        interrupted=interrupted,
    )


def _outcome(search: Search, promise: Promise, broken: Collection[str], exhaustive: bool) -> bool | None:
    if promise.kind == "sometimes" and search.engine.model.promises.index(promise) in search.witnesses:
        return True
    if promise.kind != "sometimes" and promise.name in broken:
        return False
    if not exhaustive:
        return None
    return promise.kind != "sometimes"
