"""The crash tests at the depth that is asked for: `python -m tests.store.gate --depth gate` (`make gate`, `make soak`).

Every row of the table is a fault; it says how often it was injected, and what clients found wrong afterwards. Nothing
may be. The last rows are of brokers that are sent malformed frames, and valid requests
in any order. With ``--write`` the table is put into
``docs/crashes.md``; rows that were not asked for stay there as they were.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.store import clocks, crashing, damage, damages, failing, kills
from tests.store.crashing import Reached
from tests.store.workloads import WORKLOADS
from tests.wire import fuzz, sequences
from zombieproof.broker.store.fault_disk import Fault

PAGE = Path(__file__).resolve().parents[2] / "docs" / "crashes.md"
DEPTHS = ("commit", "gate", "soak")
SIZES = {"plain": 8, "transactions": 2, "fences": 2, "groups": 2, "restarts": 1, "compaction": 1}
"""How long each workload is against the others: a crash point of the later ones costs more."""

Job = Callable[[], Reached | None]


@dataclass(frozen=True)
class Row:
    """A fault of the table, in parts that can be carried out beside each other; `aim` is its figure at the gate."""

    name: str
    aim: str
    jobs: Callable[[str], list[Job]]


def crash_points(depth: str) -> list[Job]:
    if depth == "commit":
        return [partial(crashing.crash_points, name, 16 * share, every=47) for name, share in SIZES.items()]
    size, parts = {"gate": (38, 6), "soak": (120, 12)}[depth]
    return [
        partial(crashing.crash_points, name, size * share, every=parts, part=part)
        for name, share in SIZES.items()
        for part in range(parts)
    ]


def kill_cycles(depth: str) -> list[Job]:
    parts, cycles = {"commit": (1, 10), "gate": (10, 100), "soak": (100, 100)}[depth]
    return [partial(kills.kills, cycles, seed) for seed in range(parts)]


def nested(depth: str) -> list[Job]:
    size, images, parts = {"commit": (8, 1, 1), "gate": (16, 50, 5), "soak": (16, 250, 10)}[depth]
    return [
        partial(crashing.crash_in_recovery, name, size, images, part=part, parts=parts)
        for name in WORKLOADS
        if name != "plain"
        for part in range(parts)
    ]


def torn(depth: str) -> list[Job]:
    every = 40 if depth == "commit" else 1
    jobs: list[Job] = [partial(crashing.torn_writes, name, 16, every=every) for name in ("transactions", "fences")]
    every, parts = (150, 1) if depth == "commit" else (8, 8)
    long = partial(crashing.torn_writes, "plain", 4, every=every, longest=crashing.FOUR_KIB)
    return jobs + [partial(long, part=part) for part in range(parts)]


def flips(depth: str) -> list[Job]:
    step, parts = (4099, 1) if depth == "commit" else (8, 8)
    return [partial(damage.bit_flips, first, step) for first in range(parts)]


def errors(depth: str) -> list[Job]:
    every, names = (23, ("transactions",)) if depth == "commit" else (1, ("plain", "transactions", "fences", "groups"))
    found: list[Job] = [
        partial(failing.disk_errors, name, 12, fault, every=every, repeats=repeats)
        for name in names
        for fault, repeats in ((Fault.EIO, False), (Fault.EIO, True), (Fault.ENOSPC, True), (Fault.LIE, False))
    ]
    return found + [partial(failing.full_tmpfs, name) for name in ("plain", "transactions")]


def damaged_directories(depth: str) -> list[Job]:
    if depth == "commit":
        return [partial(damages.damages, 12, 1, nodes=(1,))]
    parts, each = {"gate": (20, 100), "soak": (100, 200)}[depth]
    return [partial(damages.damages, each, seed) for seed in range(parts)]


def clock_jumps(depth: str) -> list[Job]:
    parts, each = {"commit": (1, 200), "gate": (20, 5_000), "soak": (100, 10_000)}[depth]
    return [partial(clocks.clock_schedules, each, seed) for seed in range(parts)]


def pauses(depth: str) -> list[Job]:
    cycles = {"commit": 20, "gate": 200, "soak": 2_000}[depth]
    return [partial(clocks.paused_producers, cycles), partial(clocks.paused_coordinators, cycles)]


def frames(depth: str) -> list[Job]:
    parts, each = {"commit": (1, 1_000), "gate": (20, 50_000), "soak": (200, 50_000)}[depth]
    return [partial(fuzz.part, each, seed) for seed in range(parts)]


def request_sequences(depth: str) -> list[Job]:
    parts, each = {"commit": (1, 15), "gate": (5, 5_000), "soak": (50, 5_000)}[depth]
    return [
        partial(sequences.part, each, seed, nodes, stored)
        for seed in range(parts)
        for nodes in (1, 3)
        for stored in (False, True)
    ]


# Parts of the first rows are the longest, those of the last rows short: no core waits long for the other in the end.
ROWS = {
    "points": Row(
        "crash at each write point, three fates of what was not synced", "all points, 20,000 recoveries", crash_points
    ),
    "kills": Row("SIGKILL of a process, by a timer and at the n-th sync", "1,000 cycles", kill_cycles),
    "nested": Row("crash during recovery", "every point after 200 images", nested),
    "torn": Row("torn write: the last one cut at every byte", "every byte up to 4 KiB", torn),
    "flips": Row("a bit turns in a log of 64 KiB", "every bit", flips),
    "errors": Row(
        "EIO, no room, a sync that reports success and syncs nothing; a full tmpfs", "every operation", errors
    ),
    "damages": Row(
        "a file or folder of a stopped directory is damaged; one and three brokers",
        "2,000 damages",
        damaged_directories,
    ),
    "clocks": Row("the clock jumps, goes back, stands still", "100,000 schedules", clock_jumps),
    "pauses": Row("producer and coordinator paused past the time-out", "200 cycles each", pauses),
    "frames": Row("malformed frames, made of valid requests", "1,000,000 frames", frames),
    "sequences": Row(
        "valid requests of all APIs about the same topics, from several connections",
        "100,000 sequences",
        request_sequences,
    ),
}


def carry_out(job: Job) -> tuple[Reached | None, float]:
    """One part, and the CPU seconds that it took."""
    before = time.process_time()
    return job(), time.process_time() - before


def run(names: list[str], depth: str, processes: int) -> dict[str, tuple[Reached, float, int]]:
    """The rows: what they have come to, their CPU seconds, and how many parts could not be carried out."""
    found = {name: (Reached(), 0.0, 0) for name in names}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        tasks = [(name, pool.submit(carry_out, job)) for name in names for job in ROWS[name].jobs(depth)]
        for number, (name, task) in enumerate(tasks, 1):
            part, seconds = task.result()
            total, spent, missing = found[name]
            if part is not None:
                total.add(part)
            found[name] = total, spent + seconds, missing + (part is None)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number} of {len(tasks)} parts")
                sys.stderr.flush()
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    return found


Rows = dict[str, str]
"""The lines of the table, by the names of their faults."""


def lines_of(found: dict[str, tuple[Reached, float, int]]) -> Rows:
    """A line of Markdown for each row."""
    lines = Rows()
    for name, (reached, seconds, missing) in found.items():
        reached_counts = damages.by_kind(reached)["all"] if name == "damages" and reached.counts else reached.counts
        counts = ", ".join(f"{count:,} {what}" for what, count in reached_counts.items())
        counts += f" ({missing} parts not carried out: no right to mount)" if missing else ""
        row = ROWS[name]
        lines[row.name] = f"| {row.name} | {row.aim} | {counts} | {len(reached.findings)} | {seconds:.0f} |"
    return lines


def lines_on(page: str) -> Rows:
    """The lines of the table on a page of this depth."""
    names = {row.name for row in ROWS.values()}
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in page.splitlines()}
    return {name: line for name, line in lines.items() if name in names}


def text_of(lines: Rows, damage: str) -> str:
    """The table, and below it what became of damaged directories."""
    head = ["| fault | figure asked for | reached | wrong afterwards | CPU s |", "|---|---|---|---|---|"]
    rows = [lines[row.name] for row in ROWS.values() if row.name in lines]
    return "\n".join([*head, *rows]) + (f"\n\n{damage}" if damage else "")


def damage_table(reached: Reached) -> str:
    """What became of damaged directories, by kind of file, as Markdown."""
    outcomes = [each.value for each in damages.Outcome]
    lines = [f"| damaged | tried | {' | '.join(outcomes)} |", "|---" * (len(outcomes) + 2) + "|"]
    for kind, counts in damages.by_kind(reached).items():
        cells = " | ".join(f"{counts[outcome]:,}" for outcome in outcomes)
        lines.append(f"| {kind} | {sum(counts.values()):,} | {cells} |")
    return "\n".join(lines)


def main() -> int:
    """0: nothing was wrong; 1: something was; 130: interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.store.gate", description="Stores under every fault.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all by default")
    parser.add_argument("--depth", choices=DEPTHS, default="gate")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="one for each core by default")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    if unknown := set(asked.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    started = time.monotonic()
    try:
        found = run(asked.rows or list(ROWS), asked.depth, asked.processes)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    lines = lines_of(found)
    damage = f"{DAMAGE}\n\n{damage_table(found['damages'][0])}" if "damages" in found else ""
    said = [text_of(lines, damage), f"{asked.depth}: {time.monotonic() - started:.0f} s"]
    for reached, _, _ in found.values():
        said += reached.findings[:20]
    sys.stdout.write("\n".join(said) + "\n")
    if asked.write:
        head, page = HEAD.format(depth=asked.depth), PAGE.read_text() if PAGE.exists() else ""
        if page.startswith(head.partition("\n")[0]):  # What was not asked for stays as it was.
            lines = lines_on(page) | lines
            damage = damage or "".join(page.partition(DAMAGE)[1:]).rstrip("\n")
        PAGE.write_text(head + text_of(lines, damage) + "\n")
    return int(any(reached.findings for reached, _, _ in found.values()))


HEAD = """<!-- Generated by `make gate`: it crashes everything first, so edit nothing here. Depth: {depth}. -->

# Crashes

Brokers over logs on disk are crashed in every way of this table. Afterwards what is left is opened again, new clients
take over, everything is read, and what clients were told is held against what is there
(`zombieproof.traces.history`). *Wrong afterwards* counts what was found: lost or doubled records, transactions torn,
read before or without their commit or open for ever, offsets that are not those committed, directories that do not
open. Of frames it is an end of the brokers, a call of more than a second, or memory that grows by more than 64 MiB:
what comes of a frame is an answer, silence as of a fetch that waits, or the end of its connection. Of sequences it is
an internal error, a response that cannot be read, or a directory that does not open after a power failure.

"""

DAMAGE = """## Damage to a stopped directory

Each case damages one file or folder of a directory that was stopped cleanly, killed, or killed again after a start: a
bit, a cut at any byte or between two batches, an emptied or deleted file, zeros, an older version, another file of the
same kind, a missing folder. The directory is opened, every replica is read, clients continue, and it is opened again.

- *Rebuilt*: the reading is the same, and a line in the log says what was rebuilt or fetched again.
- *Refused*: the remedy that the refusal names is executed. The directory then opens, and lacks only what the repair
  said that it loses.
- *One partition offline*: all others are read and written, and the named remedy works, too.

The last four columns must be 0. One kind of damage is not drawn, because nothing on the disk tells of it: batches that
were written in the last second before a kill, and are missing as if they had never been written."""

if __name__ == "__main__":
    sys.exit(main())
