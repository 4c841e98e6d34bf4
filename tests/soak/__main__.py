"""`python -m tests.soak`: rounds of random faults until so many transactions are over; each judged by its history.

A round is made of its seed alone: `--seed N --rounds 1` takes it again. Exit codes: 0 nothing was found, 1 a history
has an anomaly (it is kept as a file for `zombieproof history`) or applications stood still, 2 wrong usage.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from pathlib import Path

from tests.soak.soak import Round, Soak, Stuck
from zombieproof.report.history_text import show
from zombieproof.report.screen import Screen
from zombieproof.traces.history.history_file import History, format_event, format_header

DEFAULT_TRANSACTIONS = 100_000
IN_A_ROUND = 300


def played(seed: int, transactions: int) -> Round | str:
    """One round; its history is kept only if something was found. A text: why there is none."""
    try:
        found = Soak(seed, transactions).run()
    except Stuck as stuck:
        return str(stuck)
    if found.verdict.is_clean:
        found.history = History(())
    return found


def rounds(arguments: argparse.Namespace) -> Iterator[tuple[int, Round | str]]:
    """Rounds in the order of their seeds, made by some processes at once."""
    seeds = count(arguments.seed)
    if arguments.rounds:
        seeds = islice(seeds, arguments.rounds)  # type: ignore[assignment]  # both are iterators of integers
    with ProcessPoolExecutor(arguments.workers) as pool:
        while ahead := list(islice(seeds, 4 * arguments.workers)):
            results = pool.map(played, ahead, [arguments.in_a_round] * len(ahead))
            yield from zip(ahead, results, strict=True)


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--transactions", type=int, default=DEFAULT_TRANSACTIONS, help="how many at least")
    parser.add_argument("--rounds", type=int, default=0, help="how many at most; 0: as many as it takes")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; the next has the next one")
    parser.add_argument("--in-a-round", type=int, default=IN_A_ROUND, help="transactions of one cluster")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--keep", type=Path, default=Path(), help="folder for histories with an anomaly")
    arguments = parser.parse_args()
    began, screen = time.monotonic(), Screen()
    totals, faults, bad = Counter[str](), Counter[str](), 0
    for seed, found in rounds(arguments):
        if isinstance(found, str):
            screen.say(found)
            bad += 1
            continue
        counts = found.verdict.counts
        totals += Counter(
            rounds=1,
            transactions=counts.transactions,
            committed=counts.committed,
            aborted=counts.aborted,
            unknown=counts.unknown,
            acknowledged=counts.acknowledged,
            events=counts.events,
        )
        faults += found.faults
        if not found.verdict.is_clean:
            bad += 1
            kept = arguments.keep / f"soak-{seed}.jsonl"
            kept.write_text(
                "".join(f"{line}\n" for line in (format_header(), *map(format_event, found.history.events)))
            )
            screen.say(f"seed {seed} ({', '.join(found.weather.faults) or 'no faults'}), kept as {kept}:")
            show(screen, found.verdict)
        if totals["rounds"] % 20 == 0:
            _tell(screen, seed, totals, time.monotonic() - began)
        if totals["transactions"] >= arguments.transactions:
            break
    _tell(screen, seed, totals, time.monotonic() - began)
    screen.say(f"faults: {', '.join(f'{name} {number:,}' for name, number in sorted(faults.items()))}")
    screen.say(f"{bad:,} rounds with anomalies" if bad else "no anomaly")
    return 1 if bad else 0


def _tell(screen: Screen, seed: int, totals: Counter[str], seconds: float) -> None:
    said = ", ".join(f"{name} {number:,}" for name, number in totals.items())
    screen.say(f"up to seed {seed}: {said}; {totals['transactions'] / seconds:,.0f} transactions/s")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
