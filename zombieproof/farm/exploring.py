"""One job is explored, as `check` explores it. Whatever goes wrong in it is said in its result, and is its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zombieproof.checker import own
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.farm.found import Found, failure
from zombieproof.farm.jobs import Job
from zombieproof.farm.sources import sources

if TYPE_CHECKING:
    from zombieproof.checker.checking import Checked
    from zombieproof.checker.engine.result import Progress

Watch = Callable[[Job, "Progress | None"], None]
"""Called when an exploration begins, and a few times a second while it runs in this process."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an exploration may use: threads, and the memory of its process.

    Without a limit of memory it may use four fifths of what is available when it begins, or its part of that where
    `sharing` explorations are made at a time on a machine.
    """

    workers: int = 1
    memory_bytes: int | None = None
    sharing: int = 1

    def in_force(self) -> int | None:
        """The limit of memory for an exploration that begins now, in bytes."""
        if self.memory_bytes is not None or self.sharing == 1:
            return self.memory_bytes
        from zombieproof.checker.engine.storage import Memory  # noqa: PLC0415  # it loads NumPy

        alone = Memory()
        return alone.peak + (alone.limit - alone.peak) // self.sharing


def explore(job: Job, limits: Limits, watch: Watch | None = None) -> Found:
    """Explore a job. A counterexample is run again, interpreted beside compiled, before it is believed.

    Raises:
        KeyboardInterrupt: somebody interrupted it; what was found until then is nothing.
    """
    try:
        if sources(job.file) != job.sources:
            return failure(job, "where it was to be explored there are other sources than where it was planned")
        scenario = _scenario(job.file, job.scenario)
        return _explored(job, scenario, limits, watch)
    except Exception as error:  # noqa: BLE001  # the other explorations of the farm are not to suffer from it
        return failure(job, _in_words(error, job))


def _explored(job: Job, scenario: Scenario, limits: Limits, watch: Watch | None) -> Found:
    from zombieproof.checker.checking import check  # noqa: PLC0415  # Numba is loaded when it is needed
    from zombieproof.checker.engine.replay import replay  # noqa: PLC0415  # the same

    progress = None
    if watch is not None:
        watch(job, None)
        progress = functools.partial(watch, job)
    checked = check(scenario, job.request(limits.workers, limits.in_force()), progress=progress)
    result = checked.result
    if result.interrupted:
        raise KeyboardInterrupt
    actions = result.violated.actions if result.violated else None
    if actions is not None:
        replay(checked.model, checked.setup, actions)
    return _found(job, checked, limits)


def _found(job: Job, checked: Checked, limits: Limits) -> Found:
    result = checked.result
    violated = result.violated
    return Found(
        key=job.key,
        sources=job.sources,
        scenario=job.scenario,
        mutant=job.mutant,
        rules=job.words,
        verdict=result.verdict,
        why=result.why if result.verdict == "inconclusive" else None,
        bounds=dict(checked.bounds),
        distinct=None if result.walks else result.distinct,
        generated=result.generated,
        depth=result.depth,
        promise=violated.promise if violated else None,
        steps=len(violated.actions) if violated and violated.actions is not None else None,
        pinned=checked.scenario.distinct if checked.is_pinned and checked.scenario.distinct else None,
        seed=job.walks.seed if job.walks else None,
        walks=result.walks,
        seconds=result.seconds,
        cpu_seconds=result.cpu_seconds,
        compile_seconds=result.compile_seconds,
        peak_mib=result.peak_mib,
        memory_bytes=limits.memory_bytes,
    )


@functools.cache
def _scenario(file: str, name: str) -> Scenario:
    """A scenario by name. A file is read once in a process.

    Raises:
        OwnFault: the file is not there, or has a mistake.
    """
    return own.load(f"{file}:{name}")[0] if file else SCENARIOS[name]


def _in_words(error: Exception, job: Job) -> str:
    """What failed: the mistake of the author of a model where it is one, else the error as it is."""
    if isinstance(error, own.OwnFault):
        return str(error)
    from zombieproof.checker.examination import blame  # noqa: PLC0415  # it loads Numba

    said = ""
    if job.file:
        said = blame(error, _scenario(job.file, job.scenario))
    return said or f"{type(error).__name__}: {error}"
