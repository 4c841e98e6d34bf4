"""How fast the checker is: distinct and generated worlds per CPU second, bytes for each distinct world.

    make bench
    make bench ARGS="--runs 9 two_phase_commit"

Each line is the median of several explorations in one process, compilation left out. CPU seconds are those of all
threads. Other processes on the machine make the numbers smaller, so the slowest and the fastest run are printed too.
"""

import argparse
import functools
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil

from zombieproof.checker.explore import Result, explore
from zombieproof.checker.two_phase_commit import Rules, two_phase_commit

TWO_PHASE_COMMIT = {7: 296_448, 8: 1_745_408, 9: 10_340_352}


@dataclass(frozen=True)
class Benchmark:
    """Something to explore: `distinct` is the number of worlds that it must find."""

    name: str
    distinct: int
    run: Callable[[], Result]


def benchmarks() -> Iterator[Benchmark]:
    """All benchmarks in the order of their cost."""
    for managers, distinct in TWO_PHASE_COMMIT.items():
        run = functools.partial(explore, two_phase_commit(managers), Rules())
        yield Benchmark(f"two_phase_commit n={managers}", distinct, run)


def measure(benchmark: Benchmark, runs: int) -> str:
    """Run a benchmark once to compile it and then `runs` times, and return its line."""
    benchmark.run()
    results = [benchmark.run() for _ in range(runs)]
    for result in results:
        if (result.verdict, result.distinct) != ("holds", benchmark.distinct):
            sys.exit(
                f"{benchmark.name}: {result.verdict}, {result.distinct:,} worlds instead of {benchmark.distinct:,}"
            )
    rates = sorted(result.distinct / result.cpu_seconds / 1e6 for result in results)
    distinct = statistics.median(rates)
    generated = distinct * results[0].generated / results[0].distinct
    return (
        f"{benchmark.name:24} {results[0].distinct:>12,} {results[0].generated:>13,} {distinct:9.2f} "
        f"{rates[0]:6.2f}-{rates[-1]:<6.2f} {generated:9.1f} {results[0].bytes_per_state:9.1f} "
        f"{results[0].world_bytes:7} {statistics.median(r.seconds for r in results):8.2f}"
    )


def main() -> None:
    """Print one line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="benchmarks whose names contain one of these words; all by default")
    parser.add_argument("--runs", type=int, default=5, help="runs of each benchmark (default 5)")
    arguments = parser.parse_args()
    chosen = [b for b in benchmarks() if not arguments.names or any(word in b.name for word in arguments.names)]
    if not chosen or arguments.runs < 1:
        parser.error(f"nothing to run; there are {', '.join(b.name for b in benchmarks())}, and --runs is at least 1")
    memory = psutil.virtual_memory().total / 2**30
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs, {memory:.0f} GiB")
    print(f"{'':24} {'distinct':>12} {'generated':>13} {'distinct, M/CPU s':>23} {'generated':>9} {'bytes per':>9}")
    print(f"{'':24} {'':12} {'':13} {'median':>9} {'spread':>13} {'M/CPU s':>9} {'distinct':>9} {'world':>7} {'s':>8}")
    for benchmark in chosen:
        print(measure(benchmark, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
