"""How fast checker, replay and live brokers are, in states, events, requests per CPU second; how soon commands start.

    make bench
    make bench ARGS="--runs 9 two_phase_commit"
    make bench ARGS="wire --runs 1"
    make bench ARGS="audit --runs 1"

Each line is the median of several runs in one process, compilation left out. CPU seconds are those of all threads. An
event of replay is a batch, a marker or a record of an internal topic; the recording is the largest at hand. A request
is one step of a recorded sequence, asked of a cluster in this process and compared with the recorded answer; what
brokers do with few and with many partitions, and what they keep in memory, is measured by ``brokers``. A command
is started as a process of its own, from its start to its end. Other processes on the machine make the numbers worse, so
the slowest and the fastest run are printed too. Brokers on the wire, beside others, are measured only where that is
asked for: it takes minutes (``python benchmarks/wire.py --help``), and so are logs of up to a hundred million batches
in the screen (``python benchmarks/audit.py --help``).
"""

import argparse
import functools
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import audit
import brokers
import psutil
import wire

from zombieproof.checker.engine.explore import Result, explore
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit
from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import read
from zombieproof.conformance.runner import play
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay

TWO_PHASE_COMMIT = {7: 296_448, 8: 1_745_408, 9: 10_340_352}
OF_TRANSACTIONS = ("consume_transform_produce", "reader")
ROOT = Path(__file__).resolve().parents[1]
ANSWERS = (
    ROOT.parent / "shared" / "recordings" / "random-tv2.jsonl.gz",
    ROOT / "tests" / "answers" / "sample.jsonl.gz",
)
LIVE = "requests to live brokers"
START = "start of "
MEMORY = "memory after produces"
WIRE = "wire"
AUDIT = "audit"
STARTED = (
    # Python alone, and with the public API imported: the difference is what the import costs.
    ("-c", "pass"),
    ("-c", "import zombieproof"),
    ("--version",),
    ("--help",),
    ("check", "--help"),
    ("scenarios",),
    ("rules",),
    ("replay", str(ROOT / "tests" / "recordings" / "01-commit")),
    ("conform", "--recording", str(ROOT / "tests" / "answers" / "sample.jsonl.gz"), "--limit", "1"),
)
PROGRAM = "import sys; from zombieproof.cli import main; sys.exit(main())"
SEQUENCES = 300
RECORDINGS = (ROOT.parent / "shared" / "traces" / "19-soak", ROOT / "tests" / "recordings" / "01-commit")


@dataclass(frozen=True)
class Benchmark:
    """Something to explore: `distinct` is the number of states that it must find."""

    name: str
    distinct: int
    run: Callable[[], Result]


def benchmarks() -> Iterator[Benchmark]:
    """All benchmarks in the order of their cost."""
    for managers, distinct in TWO_PHASE_COMMIT.items():
        run = functools.partial(explore, two_phase_commit(managers), Rules())
        yield Benchmark(f"two_phase_commit n={managers}", distinct, run)
    for name in OF_TRANSACTIONS:
        scenario = SCENARIOS[name]
        setup = scenario.setup(scenario.own_rules(), scenario.bounds)
        judged = (*scenario.always, *scenario.sometimes)
        run = functools.partial(explore, scenario.model(scenario.bounds), setup, promises=judged)
        yield Benchmark(name, scenario.distinct, run)


def measure_replay(name: str, folder: Path, runs: int) -> str:
    """Collect and judge a recording `runs` times, and return its line."""
    spent = []
    for _ in range(runs):
        began = time.process_time()
        evidence = collect([folder])
        events = sum(len(log.batches) for log in evidence.logs)
        events += len(evidence.transaction_states) + len(evidence.offset_commits)
        replay(evidence)
        spent.append(time.process_time() - began)
    rates = sorted(events / each for each in spent)
    return f"{name:24} {events:>12,} {statistics.median(rates):>13,.0f} {rates[0]:>9,.0f}-{rates[-1]:<9,.0f}"


def measure_answers(path: Path, runs: int) -> str:
    """Play the first sequences of recorded answers `runs` times, and return the line."""
    spent, steps = [], 0
    sequences = list(islice(read(path), SEQUENCES))
    for _ in range(runs):
        began = time.process_time()
        played = [play(sequence, InProcess) for sequence in sequences]
        spent.append(time.process_time() - began)
        steps = sum(each.steps for each in played)
        if any(each.difference is not None for each in played):
            sys.exit(f"{path.name}: an answer is not the recorded one; see zombieproof conform --recording {path}")
    rates = sorted(steps / each for each in spent)
    return f"{LIVE:24} {steps:>12,} {statistics.median(rates):>13,.0f} {rates[0]:>9,.0f}-{rates[-1]:<9,.0f}"


def measure_start(arguments: tuple[str, ...], runs: int) -> str:
    """Start a command once to warm up and then `runs` times, and return its line."""
    took, spent = [], []
    for _ in range(runs + 1):
        process, began = psutil.Process().cpu_times(), time.perf_counter()
        command = arguments if arguments[0] == "-c" else ("-c", PROGRAM, *arguments)
        subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, check=True)
        took.append(time.perf_counter() - began)
        after = psutil.Process().cpu_times()
        spent.append(sum(after[2:4]) - sum(process[2:4]))
    took, spent = sorted(took[1:]), sorted(spent[1:])
    return (
        f"{_start(arguments):24} {statistics.median(took):>12.2f} {took[0]:>13.2f}-{took[-1]:<9.2f}"
        f"{statistics.median(spent):>9.2f}"
    )


def _start(arguments: tuple[str, ...]) -> str:
    """The name of a start: the command without its files."""
    return START + " ".join(argument for argument in arguments[:2] if "/" not in argument)


def measure(benchmark: Benchmark, runs: int) -> str:
    """Run a benchmark once to compile it and then `runs` times, and return its line."""
    benchmark.run()
    results = [benchmark.run() for _ in range(runs)]
    for result in results:
        if (result.verdict, result.distinct) != ("holds", benchmark.distinct):
            sys.exit(
                f"{benchmark.name}: {result.verdict}, {result.distinct:,} states instead of {benchmark.distinct:,}"
            )
    rates = sorted(result.distinct / result.cpu_seconds / 1e6 for result in results)
    distinct = statistics.median(rates)
    generated = distinct * results[0].generated / results[0].distinct
    return (
        f"{benchmark.name:24} {results[0].distinct:>12,} {results[0].generated:>13,} {distinct:9.2f} "
        f"{rates[0]:6.2f}-{rates[-1]:<6.2f} {generated:9.1f} {results[0].bytes_per_state:9.1f} "
        f"{results[0].state_bytes:7} {statistics.median(r.seconds for r in results):8.2f}"
    )


LONG: dict[str, Callable[[int], None]] = {
    WIRE: lambda runs: wire.measure_all(wire.subjects(wire.KafkaJars()), wire.SECONDS, runs),
    AUDIT: lambda runs: audit.measure_all(audit.MILLIONS, runs),
}
"""Benchmarks that are run only when they are asked for by their whole name, alone."""


def main() -> None:
    """Print one line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="benchmarks whose names contain one of these words; all by default")
    parser.add_argument("--runs", type=int, default=5, help="runs of each benchmark (default 5)")
    arguments = parser.parse_args()
    if len(arguments.names) == 1 and arguments.names[0] in LONG:
        LONG[arguments.names[0]](arguments.runs)
        return
    recording = next(path for path in RECORDINGS if path.is_dir())
    of_replay = {"replay of segments": recording / "segments", "replay of text": recording / "dump"}

    def is_chosen(name: str) -> bool:
        return not arguments.names or any(word in name for word in arguments.names)

    chosen = [b for b in benchmarks() if is_chosen(b.name)]
    replays = {name: folder for name, folder in of_replay.items() if is_chosen(name)}
    starts = [each for each in STARTED if is_chosen(_start(each))]
    works = [(name, count) for name in brokers.WORKS for count in brokers.PARTITIONS if is_chosen(name)]
    if not (chosen or replays or starts or works or is_chosen(LIVE) or is_chosen(MEMORY)) or arguments.runs < 1:
        names = ", ".join(
            [
                *(b.name for b in benchmarks()),
                *of_replay,
                LIVE,
                *brokers.WORKS,
                MEMORY,
                *map(_start, STARTED),
                WIRE,
                AUDIT,
            ]
        )
        parser.error(f"nothing to run; there are {names}, and --runs is at least 1")
    memory = psutil.virtual_memory().total / 2**30
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs, {memory:.0f} GiB")
    if chosen:
        print(f"{'':24} {'distinct':>12} {'generated':>13} {'distinct, M/CPU s':>23} {'generated':>9} {'bytes per':>9}")
        print(
            f"{'':24} {'':12} {'':13} {'median':>9} {'spread':>13} {'M/CPU s':>9} {'distinct':>9} {'state':>7} {'s':>8}"
        )
    for benchmark in chosen:
        print(measure(benchmark, arguments.runs), flush=True)
    if replays:
        print(f"\n{recording.name:24} {'events':>12} {'events/CPU s':>13} {'spread':>19}")
    for name, folder in replays.items():
        print(measure_replay(name, folder, arguments.runs), flush=True)
    if is_chosen(LIVE):
        answers = next(path for path in ANSWERS if path.is_file())
        print(f"\n{answers.name.split('.')[0]:24} {'requests':>12} {'requests/CPU s':>14} {'spread':>18}")
        print(measure_answers(answers, arguments.runs), flush=True)
    if works:
        print(brokers.HEADER)
    for name, count in works:
        print(brokers.measure(name, count, brokers.SECONDS, arguments.runs), flush=True)
    if is_chosen(MEMORY):
        print()
        for line in brokers.measure_memory(brokers.REQUESTS):
            print(line, flush=True)
    if starts:
        print(f"\n{'':24} {'seconds':>12} {'spread':>23} {'CPU s':>8}")
    for each in starts:
        print(measure_start(each, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
