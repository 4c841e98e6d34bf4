"""``python -m tests.reductions``: explore all scenarios and mutants in each way; write docs/reductions.md."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.reductions.comparing import Row, compared, faults_of
from tests.reductions.page import PAGE, lines_of, page
from zombieproof.checker.scenarios import SCENARIOS

ROOT = Path(__file__).resolve().parents[2]


def explored(most: int | None = None) -> Iterator[Row]:
    """The rows of scenarios with at most `most` states, one after the other; stderr names the present one."""
    for scenario in SCENARIOS.values():
        if most is not None and scenario.distinct > most:
            continue
        for mutant in (None, *scenario.mutants):
            sys.stderr.write(f"{scenario.name}{', ' + mutant.name if mutant else ''}\n")
            yield compared(scenario, mutant)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 1 where a reduction changes what it must not, or the page says something else."""
    parser = argparse.ArgumentParser(prog="python -m tests.reductions", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page would differ")
    parser.add_argument("--most", type=int, metavar="STATES", help="with --check: leave larger scenarios out")
    asked = parser.parse_args(arguments)
    if asked.most is not None and not asked.check:
        parser.error("--most goes with --check: the page needs every scenario")
    rows = list(explored(asked.most))
    faults = [fault for row in rows for fault in faults_of(row)]
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    if faults:
        return 1
    text, place = page(rows), ROOT / PAGE
    if not asked.check:
        place.write_text(text, encoding="utf-8")
        return 0
    committed = place.read_text(encoding="utf-8") if place.exists() else ""
    if asked.most is not None:
        missing = [line for line in map(str.strip, lines_of(rows)) if line not in committed.splitlines()]
        sys.stderr.writelines(f"not in {PAGE}: {line}\n" for line in missing)
        return 1 if missing else 0
    differs = list(difflib.unified_diff(committed.splitlines(), text.splitlines(), str(PAGE), "found", lineterm=""))
    sys.stderr.writelines(f"{line}\n" for line in differs)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
