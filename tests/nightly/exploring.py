"""Scopes are explored one after the other, in memory, and with a folder for the rest where they do not fit."""

import contextlib
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.nightly.results import Found
from zombieproof.checker.checking import check
from zombieproof.checker.engine.result import Progress, Result
from zombieproof.checker.engine.storage import Memory
from zombieproof.checker.nightly import Scope
from zombieproof.farm.sources import sources

SHOWN_EVERY = 30.0
"""Seconds from one line about an exploration to the next."""
BYTES = 48
"""Of memory for each state of a scope, about: what is beyond the limit with that is spilled from the beginning."""

Explore = Callable[[Scope, float], Found | None]


@dataclass(frozen=True)
class Means:
    """What explorations may use: threads, bytes of memory (None: most of what is available), and a folder for the rest.

    `spill` is None for a temporary folder, which is made where it is needed and is gone afterwards.
    """

    workers: int = 1
    memory_bytes: int | None = None
    spill: Path | None = None


def of_these_sources() -> str:
    """The beginning of the hash of all that decides what is found."""
    return sources()[:12]


def in_order(scopes: Sequence[Scope], known: Mapping[str, Found]) -> list[Scope]:
    """The cheapest first: by the states that were found, else by those that are estimated."""
    return sorted(scopes, key=lambda scope: _expected(scope, known))


def _expected(scope: Scope, known: Mapping[str, Found]) -> float:
    return known[scope.name].distinct if scope.name in known else scope.states


def words_of_time(seconds: float) -> str:
    """Seconds in words, in the largest unit of which there are some: "3 h 05 min", "12 min", "40 s"."""
    whole = math.floor(max(seconds, 0.0))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min" if minutes else f"{whole} s"


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self._until - time.monotonic()

    def is_set(self) -> bool:
        return self.left <= 0


def explorer(means: Means, known: Mapping[str, Found]) -> Explore:
    """What explores a scope within so many seconds; None: it did not come to its end.

    When it explores it raises what `check` raises, FolderRefused for a folder that cannot be used, and
    KeyboardInterrupt where somebody interrupts it.
    """
    limit = Memory(means.memory_bytes).limit

    def explore(scope: Scope, seconds: float) -> Found | None:
        deadline = _Deadline(seconds)
        may_spill = not scope.judged().leads_to  # which is judged on the whole graph, in memory
        if may_spill and _expected(scope, known) * BYTES > limit:
            return _found(scope, _spilled(scope, means, deadline))
        result = _checked(scope, means, deadline, None)
        if may_spill and result.verdict == "inconclusive" and not result.lacked_room and not result.interrupted:
            sys.stderr.write(f"  {result.why}; once more, with what does not fit on disk\n")
            result = _spilled(scope, means, deadline)
        return _found(scope, result)

    return explore


def _spilled(scope: Scope, means: Means, deadline: _Deadline) -> Result:
    with contextlib.ExitStack() as stack:
        folder = means.spill
        if folder is None:
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix="zombieproof-nightly-"))
            folder = Path(made) / "spill"
        return _checked(scope, means, deadline, folder)


def _checked(scope: Scope, means: Means, deadline: _Deadline, spill: Path | None) -> Result:
    request = scope.request(means.workers, means.memory_bytes, spill)
    result = check(scope.judged(), request, progress=_shower(deadline), stop=deadline).result
    if result.interrupted and not deadline.is_set():
        raise KeyboardInterrupt
    return result


def _shower(deadline: _Deadline) -> Callable[[Progress], None]:
    """Return what tells now and then how far an exploration is."""
    shown = time.monotonic()

    def show(now: Progress) -> None:
        nonlocal shown
        if time.monotonic() - shown < SHOWN_EVERY:
            return
        shown = time.monotonic()
        sys.stderr.write(
            f"  {now.distinct:,} distinct, depth {now.depth}, frontier {now.frontier:,}, {now.resident_mib:,.0f} MiB; "
            f"{words_of_time(deadline.left)} left\n"
        )

    return show


def _found(scope: Scope, result: Result) -> Found | None:
    if result.verdict == "inconclusive" and not result.lacked_room:
        sys.stderr.write(f"  inconclusive: {'time is up' if result.interrupted else result.why}\n")
        return None
    broken = result.violated
    promise, steps = (broken.promise, len(broken.actions or ())) if broken else ("", 0)
    facts = (scope.name, result.verdict, promise, result.distinct, result.generated, result.depth)
    lacks = ", ".join(result.bound_hits) if result.lacked_room else ""
    measured = round(result.cpu_seconds, 2), round(result.peak_mib)
    return Found(*facts, *measured, lacks, of_these_sources(), steps)


def nightly(scopes: Sequence[Scope], explore: Explore, seconds: float) -> Iterator[tuple[Scope, Found | None]]:
    """Explore scopes one after the other; those for which there was no time come with None."""
    deadline = _Deadline(seconds)
    for number, scope in enumerate(scopes, start=1):
        if deadline.is_set():
            yield scope, None
            continue
        sys.stderr.write(f"{number} of {len(scopes)}, {words_of_time(deadline.left)} left: {scope.name}\n")
        sys.stderr.flush()
        one = explore(scope, deadline.left)
        if one is not None:
            sys.stderr.write(f"  {one.words}\n")
        yield scope, one
