"""``python -m tests.nightly``: explore scopes beyond the default set until time is up; write docs/nightly.md."""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.nightly import results
from tests.nightly.page import PAGE, page
from tests.nightly.results import Found
from zombieproof.checker.checking import check
from zombieproof.checker.nightly import SCOPES, Scope

ROOT = Path(__file__).resolve().parents[2]
CHEAP = 30_000
"""States up to which a scope is explored again by --check."""

Explore = Callable[[Scope, float], Found | None]


def in_order(scopes: Sequence[Scope], known: Mapping[str, Found]) -> list[Scope]:
    """The cheapest first: by the states that were found, else by those that are estimated."""
    return sorted(scopes, key=lambda scope: known[scope.name].distinct if scope.name in known else scope.states)


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def is_set(self) -> bool:
        return time.monotonic() >= self._until


def explorer(workers: int, memory_bytes: int | None) -> Explore:
    """What explores a scope within so many seconds; None: it did not come to its end."""

    def explore(scope: Scope, seconds: float) -> Found | None:
        result = check(scope.judged(), scope.request(workers, memory_bytes), stop=_Deadline(seconds)).result
        if result.verdict == "inconclusive":
            sys.stderr.write(f"  inconclusive: {result.why}\n")
            return None
        broken = result.violated
        promise, steps = (broken.promise, len(broken.actions or ())) if broken else ("", 0)
        facts = (scope.name, result.verdict, promise, result.distinct, result.generated, result.depth)
        return Found(*facts, round(result.cpu_seconds, 2), round(result.peak_mib), steps)

    return explore


def nightly(scopes: Sequence[Scope], explore: Explore, seconds: float) -> Iterator[tuple[Scope, Found | None]]:
    """Explore scopes one after the other; those for which there was no time come with None."""
    until = time.monotonic() + seconds
    for number, scope in enumerate(scopes, start=1):
        left = until - time.monotonic()
        if left <= 0:
            yield scope, None
            continue
        sys.stderr.write(f"{number} of {len(scopes)}: {scope.name}\n")
        yield scope, explore(scope, left)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 1 where something is not as it was, or breaks and is not known to, 3 where one was missed."""
    given = _parsed(arguments)
    known = results.read()
    scopes = in_order(SCOPES, known)
    if given.check:
        scopes = [scope for scope in scopes if scope.name in known and known[scope.name].distinct <= CHEAP]
    found, faults, unreached = dict(known), list[str](), list[Scope]()
    memory = None if given.memory_gib is None else int(given.memory_gib * 2**30)
    for scope, one in nightly(scopes, explorer(given.workers, memory), given.seconds):
        if one is None:
            unreached.append(scope)
            continue
        before = known.get(scope.name)
        if before is not None and before.facts != one.facts:
            faults.append(f"{scope.name}: {one.words}; before: {before.words}")
        elif one.verdict == "violated" and before is None and scope.story(one.promise) is None:
            faults.append(f"{scope.name}: {one.words}; it is expected to hold")
        found[scope.name] = one
        if not given.check:
            results.write(found, [each.name for each in SCOPES])
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    sys.stderr.writelines(f"not reached, inconclusive: {scope.name}\n" for scope in unreached)
    if given.check:
        return _compared(page(SCOPES, known)) or bool(faults) or 3 * bool(unreached)
    (ROOT / PAGE).write_text(page(SCOPES, results.read()), encoding="utf-8")
    return 1 if faults else 3 if unreached else 0


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.nightly", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8 * 3600.0, help="how long; 8 hours by default")
    parser.add_argument("--workers", type=int, default=1, help="threads")
    parser.add_argument("--memory-gib", type=float, help="end an exploration before using more")
    parser.add_argument("--check", action="store_true", help="explore only what is cheap, compare, and write nothing")
    given = parser.parse_args(arguments)
    if not (math.isfinite(given.seconds) and given.seconds > 0):
        parser.error(f"--seconds {given.seconds:g}: give more than 0")
    if given.workers < 1 or (given.memory_gib is not None and not given.memory_gib > 0):
        parser.error("--workers and --memory-gib: give more than 0")
    return given


def _compared(text: str) -> int:
    place = ROOT / PAGE
    if place.exists() and place.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{PAGE} does not say what tests/nightly/results.jsonl says: run `make check-nightly`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
