"""Two workers of the checker beside one: how many times as fast, at how much more CPU, near and far.

    python -m benchmarks.engine_workers [--rounds 8] [--large] [--write FILE]

The command as users run it, whole processes with their start, from a warm cache, in turns: one worker, two, two, one.
Every run has to find as many states as the graph has, or the exit code is 1. Around each turn of two workers it is
measured how long a word takes from one core to the other (`core_to_core.c`; needs gcc): on some machines, rented ones
above all, the two cores that a program gets share a cache at one moment and not at the next. A turn counts as *near*
when both took less than 100 ns, otherwise as *far*. One worker knows no difference.

A command begins with what only one thread does: Python, its libraries, the model. How long that takes says the check of
a graph of 288 states; *at most* says how many times as fast two workers could be if everything else took half the time.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.engine import DISTINCT, LARGE, TAKEOVER, Missing, Spent, Subject, Wrong, compiled, ours, run, tool
from zombieproof.report.pages import table, write_page

NEAR_NS: Final = 100
LARGE_ROUNDS: Final = 3
SMALL: Final = "n=3"
STARTS: Final = 5
SOURCE: Final = Path(__file__).with_name("core_to_core.c")
GRAPHS: Final = {
    "two_phase_commit, N = 9": ("two_phase_commit", "n=9", DISTINCT[9]),
    "zombie_takeover": ("zombie_takeover", "", TAKEOVER),
    "two_phase_commit, N = 10": ("two_phase_commit", "n=10", DISTINCT[10]),
}
LARGE_GRAPH: Final = f"zombie_takeover, {LARGE}"
LARGE_DISTINCT: Final = 135_824_390
TITLES: Final = (
    "graph",
    "cores",
    "turns:",
    "one worker, s:",
    "two, s:",
    "times as fast:",
    "spread:",
    "at most:",
    "CPU of one:",
)


@dataclass(slots=True)
class Turns:
    """What one graph took: runs of one worker, and those of two with the ns from core to core around each."""

    one: list[Spent] = field(default_factory=list)
    two: list[tuple[Spent, float]] = field(default_factory=list)


class Cores:
    """Says how far two cores are from each other now.

    Raises:
        Missing: there is no compiler.
    """

    def __init__(self, folder: Path) -> None:
        self._program = str(folder / "core_to_core")
        compiled([tool("gcc"), "-O2", "-pthread", "-o", self._program, str(SOURCE)], folder)

    def apart(self) -> float:
        """Nanoseconds that a word takes from one to the other."""
        said = subprocess.run([self._program], capture_output=True, text=True, check=True).stdout
        return float(said.split()[0])


def seconds_of_start(folder: Path) -> float:
    """What a check takes that explores next to nothing: the median."""
    folder.mkdir()
    command = ours("start", "two_phase_commit", SMALL).make(folder)
    return statistics.median(run(command, folder).seconds for _ in range(STARTS))


def measured(scenario: str, bounds: str, distinct: int, rounds: int, folder: Path, cores: Cores) -> Turns:
    """One worker and two, in turns.

    Raises:
        Wrong: a run failed, or did not find so many states.
    """
    folder.mkdir()
    one, two = (ours(f"{count}", scenario, bounds, "--workers", f"{count}") for count in (1, 2))
    commands = {each.name: each.make(folder) for each in (one, two)}
    turns = Turns()
    for turn in range(rounds):
        for each in (one, two) if turn % 2 == 0 else (two, one):
            before = cores.apart() if each is two else 0.0
            spent = _found(each, commands[each.name], distinct, folder)
            if each is one:
                turns.one.append(spent)
                continue
            apart = max(before, cores.apart())
            turns.two.append((spent, apart))
            print(f"{scenario} {bounds} turn {turn + 1}: {spent.seconds:.2f} s, {apart:.0f} ns apart", flush=True)
    return turns


def _found(subject: Subject, command: Sequence[str], distinct: int, folder: Path) -> Spent:
    spent = run(command, folder)
    if (count := subject.count(spent.said)) != distinct:
        raise Wrong(f"{count:,} states instead of {distinct:,}")
    return spent


def rows_of(graph: str, turns: Turns, start: float) -> list[tuple[str, ...]]:
    """The rows of a graph: of all turns, and where the cores were near in some and far in others, of each."""
    seconds = statistics.median(spent.seconds for spent in turns.one)
    cpu = statistics.median(spent.cpu for spent in turns.one)
    near = [spent for spent, apart in turns.two if apart < NEAR_NS]
    far = [spent for spent, apart in turns.two if apart >= NEAR_NS]
    groups = {"all": [*near, *far], "near": near, "far": far}
    return [
        (
            graph,
            cores,
            f"{len(spent)}",
            f"{seconds:.2f}",
            f"{(took := statistics.median(each.seconds for each in spent)):.2f}",
            f"{seconds / took:.2f}",
            f"{seconds / max(each.seconds for each in spent):.2f}-{seconds / min(each.seconds for each in spent):.2f}",
            f"{seconds / (start + (seconds - start) / 2):.2f}",
            f"{statistics.median(each.cpu for each in spent) / cpu:.2f}",
        )
        for cores, spent in groups.items()
        if spent
    ]


HEAD = """<!-- Generated by `{command}`. -->
# Two workers beside one

`zombieproof check --workers 2` beside `--workers 1`: whole commands in turns on one machine, medians. What is measured,
and how, says `python -m benchmarks.engine_workers --help`. Aim: 1.7 times as fast at 1.15 times the CPU. *Near* and
*far*: whether the two cores shared a cache around that turn; *at most*: where the start, which one thread does, is all
that two do not share.
"""


def page(rows: Sequence[tuple[str, ...]], command: str, machine: str) -> str:
    """The results as a page."""
    return f"{HEAD.format(command=command)}\n{machine}.\n\n{table(TITLES, rows)}"


def options() -> argparse.ArgumentParser:
    """What the command line takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8, help="turns of each (%(default)s)")
    large = f"zombie_takeover with {LARGE} as well, {LARGE_ROUNDS} turns: it takes ten minutes"
    parser.add_argument("--large", action="store_true", help=large)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table as a page of Markdown as well")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table; exit code 1 if a run did not find what the graph has."""
    parser = options()
    asked = parser.parse_args(arguments)
    if asked.rounds < 1:
        parser.error(f"--rounds {asked.rounds}: give 1 or more")
    graphs = {name: (*graph, asked.rounds) for name, graph in GRAPHS.items()}
    if asked.large:
        graphs[LARGE_GRAPH] = ("zombie_takeover", LARGE, LARGE_DISTINCT, min(LARGE_ROUNDS, asked.rounds))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            cores = Cores(folder)
            start = seconds_of_start(folder / "start")
            rows = [
                row
                for number, (graph, (scenario, bounds, distinct, rounds)) in enumerate(graphs.items())
                for row in rows_of(
                    graph, measured(scenario, bounds, distinct, rounds, folder / str(number), cores), start
                )
            ]
        except (Missing, Wrong) as fault:
            print(f"engine_workers: {fault}", file=sys.stderr)
            return 1
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs; start {start:.2f} s"
    print(f"{machine}\n{table(TITLES, rows)}")
    if asked.write is not None:
        command = " ".join(["python -m benchmarks.engine_workers", *(["--large"] if asked.large else [])])
        print(f"written: {write_page(asked.write, page(rows, f'{command} --write {asked.write}', machine))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
