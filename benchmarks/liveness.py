"""What judging *leads to* promises costs: explorations that judge them, beside the same that judge safety alone.

    python -m benchmarks.liveness [--rounds 4]

Each exploration is in a process of its own, by one worker, the second there: all code is compiled and loaded. CPU time
(user and system) of the exploration alone, medians of alternating runs, and the most memory that the process held.
Exit code 1 if the two did not find the same states, or a promise did not hold.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.report.pages import table

SCOPES: Final = (
    ("two_phase_commit_ends", {"n": 7}),
    ("two_phase_commit_ends", {"n": 8}),
    ("all_comes_to_an_end", {"lost": 2, "doubled_batches": 1, "late": 1}),
)
TITLES: Final = ("scope", "states:", "generated:", "without, s:", "with, s:", "ratio:", "MiB without:", "MiB with:")
_MAXRSS_PER_MIB: Final = 1024


class Explored(NamedTuple):
    """What one exploration took and found."""

    seconds: float
    mib: int
    distinct: int
    generated: int
    verdict: str


def explored(name: str, bounds: dict[str, int], *, leads_to: bool) -> Explored:
    """Explore a scope in this process, with its *leads to* promises or without."""
    scenario = SCENARIOS[name]
    own = scenario.own_bounds(bounds)
    setup, model = scenario.setup(scenario.own_rules(), own), scenario.model(own)
    promises = [each for each in scenario.kept if leads_to or each not in scenario.leads_to]
    explore(model, setup, promises=promises)  # what is compiled is loaded
    began = time.process_time()
    found = explore(model, setup, promises=promises)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // _MAXRSS_PER_MIB
    return Explored(seconds, peak, found.distinct, found.generated, found.verdict)


def beside(name: str, bounds: dict[str, int], *, leads_to: bool) -> Explored:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.liveness", "--one", json.dumps([name, bounds, leads_to])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Explored(*json.loads(done.stdout))


def row_of(name: str, bounds: dict[str, int], rounds: int) -> tuple[str, ...]:
    """The row of a scope.

    Raises:
        ValueError: the runs did not find the same, or something did not hold.
    """
    beside(name, bounds, leads_to=True)  # compiled
    runs = [[beside(name, bounds, leads_to=leads_to) for leads_to in (False, True)] for _ in range(rounds)]
    found = {(each.distinct, each.generated, each.verdict) for pair in runs for each in pair}
    if len(found) > 1 or next(iter(found))[-1] != "holds":
        raise ValueError(f"{name} {bounds}: {found}")
    without, owing = ([pair[column] for pair in runs] for column in (0, 1))
    return (
        f"`{name}`, {', '.join(f'{bound}={value}' for bound, value in bounds.items())}",
        f"{without[0].distinct:,}",
        f"{without[0].generated:,}",
        f"{statistics.median(each.seconds for each in without):.2f}",
        f"{statistics.median(each.seconds for each in owing):.2f}",
        f"{statistics.median(two.seconds / one.seconds for one, two in runs):.1f}",
        f"{max(each.mib for each in without)}",
        f"{max(each.mib for each in owing)}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4, help="runs of each (%(default)s)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.one:
        name, bounds, leads_to = json.loads(asked.one)
        print(json.dumps(explored(name, bounds, leads_to=leads_to)))
        return 0
    if asked.rounds < 1:
        parser.error(f"--rounds {asked.rounds}: give 1 or more")
    try:
        rows = [row_of(name, bounds, asked.rounds) for name, bounds in SCOPES]
    except ValueError as fault:
        print(f"liveness: {fault}", file=sys.stderr)
        return 1
    print(table(TITLES, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
