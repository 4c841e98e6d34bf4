"""``python -m tests.nightly``: explore scopes beyond the default set until time is up; write docs/nightly.md."""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.nightly import results
from tests.nightly.exploring import Means, explorer, in_order, nightly, of_these_sources
from tests.nightly.page import PAGE, page
from tests.nightly.results import Found
from zombieproof.checker.engine.folder import FolderRefused
from zombieproof.checker.engine.spill import see_that_it_is_free
from zombieproof.checker.nightly import SCOPES, Scope

ROOT = Path(__file__).resolve().parents[2]
CHEAP = 30_000
"""States up to which a scope is explored again by --check."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns 1 where something is not as it was, or breaks and is not known to, 2 for a folder that cannot be used, 3
    where a scope was not reached, 130 where somebody interrupted it: what was found until then stands.
    """
    given = _parsed(arguments)
    try:
        if given.spill is not None:
            see_that_it_is_free(given.spill)
        return _explored(given)
    except FolderRefused as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was found is kept, and the next run goes on\n")
        return 130


def _explored(given: argparse.Namespace) -> int:
    known = results.read()
    found, faults, unreached = dict(known), list[str](), list[Scope]()
    memory = None if given.memory_gib is None else int(given.memory_gib * 2**30)
    explore = explorer(Means(given.workers, memory, given.spill), known)
    for scope, one in nightly(chosen(given, known), explore, given.seconds):
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
            _write_page()
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    sys.stderr.writelines(f"not reached, inconclusive: {scope.name}\n" for scope in unreached)
    if given.check:
        return _compared(page(SCOPES, known)) or bool(faults) or 3 * bool(unreached)
    _write_page()
    return 1 if faults else 3 if unreached else 0


def chosen(given: argparse.Namespace, known: Mapping[str, Found]) -> list[Scope]:
    """The scopes that are asked for, the cheapest first.

    With --check those that are known and cheap, with --missing those without a result; else all but those that were
    found by these very sources, so that a run goes on where one was stopped.
    """
    if given.check:
        asked = [scope for scope in SCOPES if scope.name in known and known[scope.name].distinct <= CHEAP]
    elif given.missing:
        asked = [scope for scope in SCOPES if scope.name not in known]
    else:
        by_these = {name for name, one in known.items() if one.sources == of_these_sources()}
        asked = [scope for scope in SCOPES if scope.name not in by_these]
    sys.stderr.write(f"{len(asked)} of {len(SCOPES)} scopes are to be explored\n")
    return in_order(asked, known)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.nightly", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8 * 3600.0, help="how long; 8 hours by default")
    parser.add_argument("--workers", type=int, default=1, help="threads")
    parser.add_argument("--memory-gib", type=float, help="what is beyond goes to --spill")
    parser.add_argument(
        "--spill", type=Path, metavar="DIR", help="for what does not fit; a temporary folder by default"
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="explore only what is cheap, compare, and write nothing")
    only.add_argument("--missing", action="store_true", help="explore only what has no result yet")
    given = parser.parse_args(arguments)
    if not (math.isfinite(given.seconds) and given.seconds > 0):
        parser.error(f"--seconds {given.seconds:g}: give more than 0")
    if given.workers < 1 or (given.memory_gib is not None and not given.memory_gib > 0):
        parser.error("--workers and --memory-gib: give more than 0")
    return given


def _write_page() -> None:
    (ROOT / PAGE).write_text(page(SCOPES, results.read()), encoding="utf-8")


def _compared(text: str) -> int:
    place = ROOT / PAGE
    if place.exists() and place.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{PAGE} does not say what tests/nightly/results.jsonl says: run `make check-nightly`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
