"""How fast logs are screened, from segments and from packed files, and what it costs as they grow.

    python benchmarks/audit.py [--events 1 10 100] [--runs 3] [--folder DIR] [--write DIR]
    make bench ARGS="audit --runs 1"

An event is a batch, data or marker: one row of the screen. The logs are of one topic, in partitions of a million
batches, each with one record of 100 bytes (or a marker), 10 batches in a transaction, 20 producers at a time; the
partitions are links to one file, and are packed one by one. A process of its own screens a whole topic: it reads the
segments (and checks every batch's checksum) or the packed files (and checks those of their pages), runs the kernel over
every row, and merges the summaries of a partition's segments. Told are CPU seconds of all its threads, from the first
file on, without loading and compiling, and the most memory that it had in all, with both; the median of the runs.
Packing is told as well: CPU seconds with its start, and bytes an event; and so are the commands `replay` and `audit` as
they are shipped, once for each size: CPU seconds of all that they take, with start and compiling.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import audit_logs
import audit_plot

from zombieproof.report.pages import table, write_page

MILLIONS = (1, 10, 100)
RUNS = 3
RAW, PACKED = "segments", "packed files"
AIMS = {RAW: 1e6, PACKED: 1e7}
"""Events in a CPU second."""
MOST_MEBIBYTES = 1024
PROGRAM = "import sys; from zombieproof.cli import main; sys.exit(main())"
CONFORMS = ("0", "3")
"""Exit codes: conforms, or conforms as far as it could be judged (what is in front of a cleaned log cannot be)."""
PAGE, PLOT = "audit.md", "audit.svg"
COMMAND = "python benchmarks/audit.py --write docs"


class Measured(NamedTuple):
    """One process: so many events, CPU seconds, the most MiB, and seconds of the clock."""

    events: int
    cpu_seconds: float
    peak_mebibytes: float
    seconds: float


class Packing(NamedTuple):
    """What packing took, and made: CPU seconds, bytes of the segments and of the packed files."""

    events: int
    cpu_seconds: float
    raw_bytes: int
    packed_bytes: int


class Command(NamedTuple):
    """A whole command: what it read, so many events, CPU seconds, the most MiB."""

    name: str
    events: int
    cpu_seconds: float
    peak_mebibytes: float


# ---------------------------------------------------------------- in the process that is measured


def screen(folder: Path) -> int:
    """Screen a topic; how many events it has."""
    from zombieproof.screening.clearing import screen_segment, whole  # noqa: PLC0415  # only the one process needs them
    from zombieproof.screening.packed.reading import screen_packed  # noqa: PLC0415
    from zombieproof.traces.readers.files import is_table  # noqa: PLC0415

    events = 0
    for partition in sorted(folder.iterdir()):
        files = sorted(file for file in partition.iterdir() if not file.name.startswith("."))
        summary = whole(screen_packed(each) if is_table(each.name) else screen_segment(each, "topic") for each in files)
        if not summary.is_clear:
            sys.exit(f"{partition}: not clear ({summary.unclear.name}): the log conforms, so the screen is wrong")
        events += summary.batches
    return events


def measure_here(folder: Path, warm: Path) -> Measured:
    """Screen a topic in this process, behind one that makes everything ready."""
    screen(warm)
    cpu, clock = time.process_time(), time.perf_counter()
    events = screen(folder)
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    return Measured(events, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, clock)


# ---------------------------------------------------------------- around it


def measure(folder: Path, warm: Path, runs: int) -> Measured:
    """The medians of some processes."""
    found = []
    for _ in range(runs):
        command = [sys.executable, __file__, "--here", str(folder), str(warm)]
        told = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        found.append(Measured(*json.loads(told)))
    return Measured(
        found[0].events,
        statistics.median(each.cpu_seconds for each in found),
        max(each.peak_mebibytes for each in found),
        statistics.median(each.seconds for each in found),
    )


def pack(folder: Path, output: Path, events: int) -> Packing:
    """Pack a topic as the command does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", PROGRAM, "pack", *map(str, sorted(folder.iterdir())), "--output", str(output)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Packing(events, spent, _bytes(folder), _bytes(output))


MEASURED = "import resource, sys; from zombieproof.cli import main; code = main(); "
MEASURED += "used = resource.getrusage(resource.RUSAGE_SELF); "
MEASURED += "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, code, file=sys.stderr)"


def command(name: str, words: Sequence[str], events: int) -> Command:
    """Run a command as users do, and see what it took; what it is given conforms."""
    ran = subprocess.run([sys.executable, "-c", MEASURED, *words], capture_output=True, check=True, text=True)
    cpu, peak, code = ran.stderr.splitlines()[-1].split()
    if code not in CONFORMS:
        sys.exit(f"{name}: exit code {code}; the log conforms\n{ran.stdout}")
    return Command(name, events, float(cpu), float(peak))


def commands(raw: Path, packed: Path, events: int) -> list[Command]:
    """The commands over one topic, by itself and beside the coordinator's log."""
    beside = raw.parent / f"{raw.name} coordinator"
    audit_logs.write_coordinator(beside)
    alone = "__transaction_state"
    return [
        command("replay, segments", ["replay", str(raw), "--allow-gaps", alone], events),
        command("replay, segments, beside `__transaction_state`", ["replay", str(raw), str(beside)], events),
        command("audit, packed files", ["audit", str(packed), "--allow-gaps", alone], events),
    ]


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure_all(millions: Sequence[int], runs: int, folder: Path | None = None, page: Path | None = None) -> None:
    """Measure every size, print a line for each, and write the page and its plot."""
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"
    print(machine)
    print(f"{'':14} {'events':>12} {'CPU s':>9} {'M events/CPU s':>15} {'s':>8} {'MiB':>7}")
    found: dict[str, list[Measured]] = {RAW: [], PACKED: []}
    packings: list[Packing] = []
    ran: list[Command] = []
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        warm, warm_packed = place / "warm", place / "warm packed"
        audit_logs.write_logs(warm, 1, 1000)
        pack(warm, warm_packed, 1000)
        for million in millions:
            raw, packed = place / f"{million}", place / f"{million} packed"
            audit_logs.write_logs(raw, million)
            packings.append(pack(raw, packed, million * audit_logs.EVENTS))
            for subject, topic, ready in ((RAW, raw, warm), (PACKED, packed, warm_packed)):
                measured = measure(topic, ready, runs)
                assert measured.events == million * audit_logs.EVENTS, measured
                found[subject].append(measured)
                print(_line(subject, measured), flush=True)
            print(_packing_line(packings[-1]), flush=True)
            ran += commands(raw, packed, million * audit_logs.EVENTS)
            for each in ran[-3:]:
                print(f"{each.name}: {each.cpu_seconds:.2f} CPU s, {each.peak_mebibytes:,.0f} MiB", flush=True)
    if page is not None:
        print(f"\nwritten: {write_page(page / PLOT, audit_plot.plot(COMMAND, _points(found)))}")
        print(f"written: {write_page(page / PAGE, _page(found, packings, ran, runs, machine))}")


def _line(subject: str, each: Measured) -> str:
    rate = each.events / each.cpu_seconds / 1e6
    return (
        f"{subject:14} {each.events:>12,} {each.cpu_seconds:>9.2f} {rate:>15.2f} {each.seconds:>8.2f} "
        f"{each.peak_mebibytes:>7,.0f}"
    )


def _packing_line(each: Packing) -> str:
    rate = each.events / each.cpu_seconds / 1e6
    small = each.packed_bytes / each.events
    return f"{'packing':14} {each.events:>12,} {each.cpu_seconds:>9.2f} {rate:>15.2f}   {small:.1f} bytes an event"


def _points(found: dict[str, list[Measured]]) -> dict[str, list[tuple[float, float]]]:
    return {name: [(each.events, each.cpu_seconds) for each in all_] for name, all_ in found.items()}


def _page(
    found: dict[str, list[Measured]], packings: Sequence[Packing], ran: Sequence[Command], runs: int, machine: str
) -> str:
    rows = [
        (
            name,
            f"{each.events:,}",
            f"{each.cpu_seconds:.2f}",
            f"{each.events / each.cpu_seconds / 1e6:.1f}",
            f"{each.peak_mebibytes:,.0f}",
        )
        for name, all_ in found.items()
        for each in all_
    ]
    packed = [
        (
            f"{each.events:,}",
            f"{each.cpu_seconds:.2f}",
            f"{each.events / each.cpu_seconds / 1e6:.1f}",
            f"{each.raw_bytes / each.events:.1f}",
            f"{each.packed_bytes / each.events:.1f}",
        )
        for each in packings
    ]
    return "\n".join(
        (
            _HEAD,
            f"Medians of {runs} runs. {machine}.\n",
            table(("read from", "events:", "CPU s:", "million events/CPU s:", "most MiB:"), rows),
            f"![CPU seconds by events]({PLOT})\n",
            "## The commands\n",
            "Each once, as it is shipped: with its start, the compiler, and everything that it reports.\n",
            table(("command", "events:", "CPU s:", "million events/CPU s:", "most MiB:"), _commands(ran)),
            "## Packing\n",
            table(("events:", "CPU s:", "million events/CPU s:", "bytes an event:", "packed:"), packed),
        )
    )


def _commands(ran: Sequence[Command]) -> list[tuple[str, ...]]:
    return [
        (
            each.name,
            f"{each.events:,}",
            f"{each.cpu_seconds:.1f}",
            f"{each.events / each.cpu_seconds / 1e6:.1f}",
            f"{each.peak_mebibytes:,.0f}",
        )
        for each in ran
    ]


_HEAD = f"""<!-- Generated by `{COMMAND}`. -->
# How fast logs are screened

What the compiled screen costs as logs grow, from segments as they lie on a broker's disk and from what `zombieproof
pack` makes of them ([packed.md](packed.md)). An *event* is a batch, data or marker: one row of the screen. A process
reads a whole topic, checks every checksum, runs the kernel over every row and merges the summaries of each partition's
segments; CPU seconds are those of all its threads, without loading and compiling, memory is all that it had. What is
screened, and how it is made, says `python benchmarks/audit.py --help`. Aims: {AIMS[RAW] / 1e6:.0f} million events in a
CPU second from segments, {AIMS[PACKED] / 1e6:.0f} from packed files, and less than {MOST_MEBIBYTES:,} MiB for 100
million events.
"""


def main() -> None:
    """Measure, and print a table."""
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(measure_here(*map(Path, sys.argv[2:4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=MILLIONS, help="sizes, in millions (1 10 100)")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"processes for each size ({RUNS})")
    parser.add_argument("--folder", type=Path, help="where the logs are made; a temporary folder by default")
    parser.add_argument("--write", type=Path, metavar="DIR", help=f"write {PAGE} and {PLOT} into a folder")
    asked = parser.parse_args()
    if asked.write is not None and find_spec("matplotlib") is None:
        parser.error("--write draws with matplotlib, which is not installed: pip install 'zombieproof[plot]'")
    if asked.runs < 1 or min(asked.events) < 1:
        parser.error("--runs and --events are at least 1")
    measure_all(asked.events, asked.runs, asked.folder, asked.write)


if __name__ == "__main__":
    main()
