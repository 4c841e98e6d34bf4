"""`python -m tests.soak`: rounds of random faults until so many transactions are over; each judged by its history.

There are two kinds of rounds. *messages*: three brokers whose messages are lost, doubled and late, whose leaders and
coordinators change. *disks*: brokers over a disk that fails in every way, and groups that rebalance, with the clients
that applications use. A round is made of its kind and its seed alone, so that it can be taken again.

Exit codes: 0 nothing was found, 1 a history has an anomaly (it is kept as a file for `zombieproof history`),
applications stood still or a disk is damaged, 2 wrong usage, 70 the soak itself failed, 130 interrupted.
"""

import argparse
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.rounds import KINDS, Failed, rounds
from tests.soak.soak import Round
from zombieproof.report.history_text import show
from zombieproof.report.screen import Column, Screen
from zombieproof.traces.history.history_file import format_event, format_header

DEFAULT_TRANSACTIONS = 100_000
IN_A_ROUND = 300


@dataclass
class Total:
    """What one kind of rounds has come to."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    bad: int = 0
    seconds: float = 0.0

    def add(self, found: Round) -> None:
        """One more round."""
        told = found.verdict.counts
        self.counts += Counter(
            rounds=1,
            transactions=told.transactions,
            committed=told.committed,
            aborted=told.aborted,
            unknown=told.unknown,
            acknowledged=told.acknowledged,
            reads=told.reads,
            events=told.events,
        )
        self.faults += found.faults
        self.bad += not found.verdict.is_clean
        self.seconds += found.seconds


class Report:
    """What is said while rounds go on, and in the end."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments, self.began, self.screen = arguments, time.monotonic(), Screen()
        self.totals = {kind: Total() for kind in KINDS}
        self.codes: set[int] = set()

    @property
    def transactions(self) -> int:
        """How many there were until now."""
        return sum(total.counts["transactions"] for total in self.totals.values())

    def take(self, kind: str, seed: int, found: Round | Failed) -> None:
        """Count a round; what is wrong with it is said at once, with the command that takes it again."""
        total = self.totals[kind]
        if isinstance(found, Failed):
            self.codes.add(found.code)
            total.bad += 1
            self.screen.say(f"{kind}, seed {seed}: {found.why}")
        else:
            total.add(found)
            if found.verdict.is_clean:
                return
            self.codes.add(1)
            kept = self.arguments.keep / f"soak-{kind}-{seed}.jsonl"
            lines = (format_header(), *map(format_event, found.history.events))
            kept.write_text("".join(f"{line}\n" for line in lines))
            self.screen.say(f"{kind}, seed {seed} ({', '.join(found.weather.faults) or 'no faults'}), kept as {kept}:")
            show(self.screen, found.verdict)
        again = f"--kind {kind} --seed {seed} --rounds 1 --in-a-round {self.arguments.in_a_round}"
        self.screen.say(f"again: python -m tests.soak {again}")

    def progress(self) -> None:
        """One line on a terminal, rewritten; elsewhere a line now and then."""
        seconds = time.monotonic() - self.began
        faults = sum(sum(total.faults.values()) for total in self.totals.values())
        bad = sum(total.bad for total in self.totals.values())
        said = (
            f"{self.transactions:,} transactions, {faults:,} faults, {bad:,} bad rounds; "
            f"{self.transactions / seconds:,.0f} transactions/s"
        )
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{said} ")
        elif sum(total.counts["rounds"] for total in self.totals.values()) % 20 == 0:
            sys.stderr.write(f"{said}\n")
        sys.stderr.flush()

    def end(self) -> int:
        """The table, and the exit code."""
        if sys.stderr.isatty():
            sys.stderr.write("\n")
        told = {kind: total for kind, total in self.totals.items() if total.counts or total.bad}
        names = list(dict.fromkeys(name for total in told.values() for name in total.counts))
        rows = [
            [kind, *(f"{total.counts[name]:,}" for name in names), f"{total.bad:,}"] for kind, total in told.items()
        ]
        both = [f"{sum(total.counts[name] for total in told.values()):,}" for name in names]
        rows.append(["together", *both, f"{sum(total.bad for total in told.values()):,}"])
        titles = [Column("rounds of"), *(Column(name, "right") for name in [*names, "bad"])]
        self.screen.table(titles, rows)
        for kind, total in told.items():
            faults = ", ".join(f"{_said(name)} {number:,}" for name, number in sorted(total.faults.items()))
            self.screen.say(f"{kind}: {faults or 'no faults'}")
        seconds = time.monotonic() - self.began
        self.screen.say(f"{seconds:,.0f} s, {self.transactions / seconds:,.0f} transactions/s")
        self.screen.say("no anomaly" if not self.codes else "something is wrong: see above")
        return max(self.codes, default=0)


def _said(fault: str) -> str:
    """The name of a fault for people."""
    return fault.removesuffix("_ms").replace("_", " ")


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--transactions", type=_number, default=DEFAULT_TRANSACTIONS, help="how many at least")
    parser.add_argument("--rounds", type=int, default=0, help="of each kind, at most; 0: as many as it takes")
    parser.add_argument("--kind", choices=KINDS, action="append", help="of rounds; all by default")
    parser.add_argument("--seed", type=_number, default=1, help="of the first round; the next has the next one")
    parser.add_argument("--in-a-round", type=_number, default=IN_A_ROUND, help="transactions of one cluster")
    parser.add_argument("--jobs", type=_number, default=os.cpu_count() or 1, help="processes; one for each core")
    parser.add_argument("--keep", type=Path, default=Path(), help="folder for histories with an anomaly")
    arguments = parser.parse_args()
    if not arguments.keep.is_dir():
        parser.error(f"--keep {arguments.keep}: there is no such folder: make it, or name another")
    report = Report(arguments)
    try:
        kinds = list(dict.fromkeys(arguments.kind or KINDS))
        asked = arguments.seed, arguments.rounds, arguments.in_a_round, arguments.jobs
        for kind, seed, found in rounds(kinds, *asked):
            report.take(kind, seed, found)
            report.progress()
            if report.transactions >= arguments.transactions:
                break
    except KeyboardInterrupt:
        report.end()
        report.screen.say("interrupted")
        return 130
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
