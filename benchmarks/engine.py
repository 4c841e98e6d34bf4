"""The engine of the checker beside others on one graph: distinct states for each second of user CPU, as ratios.

    python benchmarks/engine.py [--managers 9] [--rounds 3] [--only NAME ...] [--large] [--earlier DIR] [--write FILE]
    python benchmarks/engine.py --profile zombie_takeover

The graph is two-phase commit with N resource managers. The peers' sources are our own and lie beside this file, in
``two_phase_commit/``: C by hand, plain and with prefetch; Promela for Spin, depth first and without its reduction; Rust
for Stateright, breadth first on one thread; TLA+ for TLC, breadth first with one worker. Every one of them has to
report the number of states that the graph has, or else its row is an error, and so is the exit code. Ours is the
command as users run it, a whole process with its start, from a warm cache. Two of it at once say what a second core is
worth where nothing is shared but the machine: no two workers can be expected to do better. Peers are compiled first,
optimised, and that is not counted. All take turns in each round, ours three of them but on the large graph: the
shorter a run, the more it differs from the next; medians are printed, with the spread. Bytes of a state
are those of the whole process at its peak, divided by all states. The protocol itself is only ours: `zombie_takeover`,
and with ``--large`` the same with bounds that make it many times larger. A last table says what it takes to compile a
model, with an empty cache. For a first look: ``--managers 7 --rounds 1 --peers``.

``--earlier DIR``: a clone of this program at an earlier commit, set up by `make .venv/ready`; it takes its turns on
the same graphs, with its own defaults, and ratios to it are printed.

Needed for peers: gcc; spin and gcc; cargo; java, and TLC's classes in TLC_CLASSPATH (tla2tools.jar). What is missing
is named as missing. ``--profile`` says where the time of one exploration goes (``python benchmarks/engine_profile.py
SCENARIO [ROUNDS] [BOUNDS]``).
"""

import argparse
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from zombieproof.report.pages import table, write_page

SOURCES = Path(__file__).parent / "two_phase_commit"
DISTINCT = {4: 1_568, 5: 8_832, 6: 50_816, 7: 296_448, 8: 1_745_408, 9: 10_340_352, 10: 61_515_776}
"""Resource managers -> distinct states, as published for TLC's TwoPhase; tests of the engine pin all but 10."""
MANAGERS = 9
PROGRAM = "import sys; from zombieproof.cli import main; sys.exit(main())"
EARLIER = "zombieproof as it was"
SPIN = "Spin, depth first"
TLC = "TLC, breadth first"
PLAIN_C = "C by hand"
TAKEOVER = 7_506_469
LARGE = "lost=4"
SHIPPED = "zombieproof, as shipped"
TWO_WORKERS = "zombieproof, --workers 2"
TWICE = "zombieproof, two at once"
OURS = SHIPPED, TWO_WORKERS, TWICE
BASES = SPIN, PLAIN_C, TLC, EARLIER, SHIPPED
TURNS = 3
"""How often ours is run in each round, on graphs that take it seconds."""
LEAST = "lost=0,doubled=0,doubled_batches=0,late=0,crashes=0"
_LARGE_GRAPH = f"zombie_takeover, {LARGE}, one round"
_COMPILING = "Compiling the model of zombie_takeover"
_COLD = ("check", "zombie_takeover", "--json", "--bounds", LEAST)


class Wrong(Exception):
    """A peer or the command did not say what the graph has."""


class Missing(Exception):
    """A tool that a peer needs is not here."""


@dataclass(frozen=True, slots=True)
class Spent:
    """One process: user CPU seconds, all CPU seconds, seconds, most MiB of memory, and what it wrote."""

    user: float
    cpu: float
    seconds: float
    peak_mib: float
    said: str

    def rate(self, distinct: int) -> float:
        """Distinct states for each second of user CPU, in millions."""
        return distinct / max(self.user, 1e-3) / 1e6


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that explores. `make` compiles it into a folder and returns the command, `count` reads what it says.

    `at_once`: how many of it run at the same time; `turns`: how often in each round.
    """

    name: str
    make: Callable[[Path], list[str]]
    count: Callable[[str], int]
    at_once: int = 1
    turns: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a subject: how many states all that ran at once found, how often it ran, or why not."""

    name: str
    distinct: int = 0
    runs: tuple[Spent, ...] = ()
    fault: str = ""

    @property
    def rates(self) -> list[float]:
        """Distinct states for each second of user CPU, in millions, from the slowest run to the fastest."""
        return sorted(run.rate(self.distinct) for run in self.runs)

    @property
    def rate(self) -> float:
        """Their median."""
        return statistics.median(self.rates)


# ---------------------------------------------------------------- processes


def run(command: Sequence[str], folder: Path) -> Spent:
    """Run a command to its end, and see what it took.

    Raises:
        Wrong: its exit code is not 0.
    """
    return run_at_once(command, folder, 1)[0]


def run_at_once(command: Sequence[str], folder: Path, times: int) -> list[Spent]:
    """Run a command so many times at the same time, and see what each took; the seconds are those until all ended.

    Raises:
        Wrong: an exit code is not 0.
    """
    began = time.perf_counter()
    running = [(folder / f"said{number}", _started(command, folder, f"said{number}")) for number in range(times)]
    ended = [(said, *_ended(process)) for said, process in running]
    took, spent = time.perf_counter() - began, list[Spent]()
    for said, code, used in ended:
        text = said.read_text(errors="replace")
        if code:
            raise Wrong(f"exit code {code}: {_last(text)}")
        spent.append(Spent(used.ru_utime, used.ru_utime + used.ru_stime, took, used.ru_maxrss / 1024, text))
    return spent


def _started(command: Sequence[str], folder: Path, said: str) -> subprocess.Popen[bytes]:
    with (folder / said).open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=_environment())


def _ended(process: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def tool(name: str) -> str:
    """Where a program is.

    Raises:
        Missing: nowhere.
    """
    found = shutil.which(name)
    if found is None:
        raise Missing(f"{name} is not installed")
    return found


def compiled(command: Sequence[str], folder: Path, **environment: str) -> None:
    """Run a compiler.

    Raises:
        Missing: it does not compile: what is needed for it is not here.
    """
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | environment)
    if ran.returncode:
        raise Missing(f"{Path(command[0]).name} failed: {_last(ran.stderr or ran.stdout)}")


# ---------------------------------------------------------------- who explores


def by_hand(managers: int, *options: str) -> Subject:
    """C by hand."""

    def make(folder: Path) -> list[str]:
        program = str(folder / "two_phase")
        compiled([tool("gcc"), "-O3", "-march=native", "-o", program, str(SOURCES / "two_phase.c")], folder)
        return [program, str(managers), *options]

    return Subject(PLAIN_C + (f" with {options[0]}" if options else ""), make, _counted(r"^(\d+) distinct"))


def spin(managers: int) -> Subject:
    """Promela for Spin: depth first, without its reduction."""

    def make(folder: Path) -> list[str]:
        compiled([tool("spin"), f"-DN={managers}", "-a", str(SOURCES / "two_phase.pml")], folder)
        flags = ("-O3", "-march=native", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=32768")
        compiled([tool("gcc"), *flags, "-o", "pan", "pan.c"], folder)
        return [str(folder / "pan"), "-m1000", "-w24"]

    return Subject(SPIN, make, _spin_states)


def stateright(managers: int) -> Subject:
    """Rust with Stateright."""

    def make(folder: Path) -> list[str]:
        manifest = str(SOURCES / "stateright" / "Cargo.toml")
        build = [tool("cargo"), "build", "--release", "--locked", "--manifest-path", manifest]
        compiled(build, folder, CARGO_TARGET_DIR=str(folder))
        return [str(folder / "release" / "two_phase"), str(managers)]

    return Subject("Stateright, breadth first", make, _counted(r"^(\d+) distinct"))


def tlc(managers: int) -> Subject:
    """TLA+ with TLC."""

    def make(folder: Path) -> list[str]:
        classes = os.environ.get("TLC_CLASSPATH", "")
        if not classes:
            raise Missing("TLC_CLASSPATH does not say where tla2tools.jar is")
        shutil.copy(SOURCES / "TwoPhaseCommit.tla", folder)
        lines = "SPECIFICATION Spec", f"CONSTANT N = {managers}", "INVARIANT Agreed", "CHECK_DEADLOCK FALSE"
        (folder / "TwoPhaseCommit.cfg").write_text("\n".join(lines) + "\n")
        flags = "-XX:+UseParallelGC", "-cp", classes
        return [tool("java"), *flags, "tlc2.TLC", "-workers", "1", "TwoPhaseCommit"]

    return Subject(TLC, make, _tlc_states)


def ours(name: str, scenario: str, bounds: str, *options: str, at_once: int = 1, turns: int = 1) -> Subject:
    """The command of this program; it is run once before, with the same compiled model, so that its cache is warm."""

    def make(folder: Path) -> list[str]:
        return _warmed([sys.executable, "-c", PROGRAM], scenario, bounds, options, folder)

    return Subject(name, make, _ours, at_once, turns)


def as_it_was(directory: Path, scenario: str, bounds: str) -> Subject:
    """The command of an earlier commit, with its own defaults; its cache is warm too."""
    return Subject(EARLIER, lambda folder: _warmed(_command_in(directory), scenario, bounds, (), folder), _ours)


def _warmed(program: list[str], scenario: str, bounds: str, options: tuple[str, ...], folder: Path) -> list[str]:
    command = [*program, "check", scenario, "--json"]
    least = bounds if scenario == "two_phase_commit" else LEAST
    warming = [*command, "--bounds", least, *options]
    subprocess.run(warming, cwd=folder, stdout=subprocess.DEVNULL, env=_environment(), check=False)
    return [*command, *(["--bounds", bounds] if bounds else []), *options]


def _command_in(directory: Path) -> list[str]:
    return [tool("env"), f"PYTHONPATH={directory.resolve()}", str(_python_in(directory)), "-c", PROGRAM]


def _python_in(directory: Path) -> Path:
    return directory.resolve() / ".venv" / "bin" / "python"


def commit_in(directory: Path | None) -> str:
    """Which commit a clone is at."""
    if directory is None:
        return ""
    asked = [tool("git"), "-C", str(directory), "log", "-1", "--format=commit %h of %cs, with its own defaults"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def compiling(directory: Path | None) -> list[Subject]:
    """What compiles a model, with a cache of its own that is empty each time, and explores the few states of it."""

    def cold(program: list[str]) -> list[str]:
        # The folder is made and removed by the shell that runs the command, each time anew.
        kept = "cache=$(mktemp -d) && trap 'rm -rf \"$cache\"' EXIT"
        there = 'XDG_CACHE_HOME="$cache" ZOMBIEPROOF_CACHE_DIR="$cache" "$@"'
        return [tool("sh"), "-c", f"{kept} && {there}", "sh", *program, *_COLD]

    now = [Subject(SHIPPED, lambda _: cold([sys.executable, "-c", PROGRAM]), _ours)]
    before = [Subject(EARLIER, lambda _: cold(_command_in(directory)), _ours)] if directory else []
    return [*now, *before]


def _environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[1])
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}


def _counted(pattern: str) -> Callable[[str], int]:
    def count(said: str) -> int:
        found = re.search(pattern, said, re.MULTILINE)
        if not found:
            raise Wrong(f"it does not say how many states there are: {_last(said)}")
        return int(found[1])

    return count


def _spin_states(said: str) -> int:
    if "errors: 0" not in said or "max search depth too small" in said:
        raise Wrong(f"Spin found an error, or did not go to the end: {_last(said)}")
    return _counted(r"^\s*(\d+) states, stored")(said)


def _tlc_states(said: str) -> int:
    if "No error has been found" not in said:
        raise Wrong(f"TLC found an error, or did not go to the end: {_last(said)}")
    return _counted(r"generated, (\d+) distinct states found, 0 states left")(said)


def _ours(said: str) -> int:
    try:
        [found] = json.loads(said[said.index("{") :])["scenarios"]
        if found["verdict"] != "holds":
            raise Wrong(f"the verdict is {found['verdict']}")
        return int(found["distinct"])
    except (ValueError, KeyError) as error:
        raise Wrong(f"it does not say how many states there are: {_last(said)}") from error


def on_two_phase_commit(managers: int) -> list[Subject]:
    """Everybody who explores two-phase commit."""
    scenario, bounds = "two_phase_commit", f"n={managers}"
    return [
        by_hand(managers),
        by_hand(managers, "prefetch"),
        spin(managers),
        stateright(managers),
        tlc(managers),
        *ours_in_each_way(scenario, bounds),
    ]


def ours_in_each_way(scenario: str, bounds: str, turns: int = TURNS) -> list[Subject]:
    """Ours on a scenario, with other bounds or its own: as it is, which is with one thread, with two, and two of it."""
    return [
        ours(SHIPPED, scenario, bounds, turns=turns),
        ours(TWO_WORKERS, scenario, bounds, "--workers", "2", turns=turns),
        ours(TWICE, scenario, bounds, at_once=2, turns=turns),
    ]


# ---------------------------------------------------------------- measuring


def measure(subjects: Sequence[Subject], distinct: int | None, rounds: int, folder: Path) -> list[Row]:
    """Compile all, run them in turns, and compare what each says with `distinct`, or all with each other."""
    ready: dict[str, list[str]] = {}
    faults: dict[str, str] = {}
    runs: dict[str, list[Spent]] = {each.name: [] for each in subjects}
    for number, each in enumerate(subjects):
        place = folder / str(number)
        place.mkdir(parents=True)
        try:
            ready[each.name] = each.make(place)
        except Missing as why:
            faults[each.name] = f"missing: {why}"
    most = max((each.turns for each in subjects), default=0)
    for turn in range(rounds * most):
        for number, each in enumerate(subjects):
            if each.name in faults or turn % most >= each.turns:
                continue
            try:
                processes = run_at_once(ready[each.name], folder / str(number), each.at_once)
                for process in processes:
                    found = each.count(process.said)
                    distinct = distinct or found
                    if found != distinct:
                        raise Wrong(f"{found:,} states instead of {distinct:,}")
            except Wrong as why:
                faults[each.name] = f"error: {why}"
                continue
            spent = together(processes)
            runs[each.name].append(spent)
            rate = spent.rate((distinct or 0) * each.at_once)
            print(f"round {turn // most + 1}: {each.name}: {spent.cpu:.2f} CPU s, {rate:.2f} M/CPU s", flush=True)
    return [
        Row(each.name, fault=faults[each.name])
        if each.name in faults
        else Row(each.name, (distinct or 0) * each.at_once, tuple(runs[each.name]))
        for each in subjects
    ]


def together(processes: Sequence[Spent]) -> Spent:
    """What processes that ran at the same time took: the seconds until all ended, and of the rest the sum."""
    return Spent(
        sum(each.user for each in processes),
        sum(each.cpu for each in processes),
        max(each.seconds for each in processes),
        sum(each.peak_mib for each in processes),
        processes[-1].said,
    )


TITLES = (
    "who",
    "distinct:",
    "user CPU s:",
    "M/CPU s:",
    "spread:",
    "of Spin:",
    "of C:",
    "of TLC:",
    "of earlier:",
    "of shipped:",
    "seconds:",
    "times as fast:",
    "most MiB:",
    "bytes/state:",
)


def rows_of(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The cells of a table; ratios stay empty where what they are of did not run.

    What is "of" somebody compares rates; "times as fast" compares states for each second with ours as shipped.
    """
    rates = {row.name: row.rate for row in rows if row.runs}
    shipped = next((_speed(row) for row in rows if row.name == SHIPPED and row.runs), None)
    return [
        (
            row.name,
            f"{row.distinct:,}",
            f"{statistics.median(run.user for run in row.runs):.2f}",
            f"{row.rate:.2f}",
            f"{row.rates[0]:.2f}-{row.rates[-1]:.2f}",
            *(f"{row.rate / rates[base]:.2f}" if base in rates else "" for base in BASES),
            f"{statistics.median(run.seconds for run in row.runs):.2f}",
            f"{_speed(row) / shipped:.2f}" if shipped and row.name in OURS else "",
            f"{(peak := max(run.peak_mib for run in row.runs)):,.0f}",
            f"{peak * 2**20 / row.distinct:,.0f}",
        )
        if row.runs
        else (row.name, row.fault, *[""] * (len(TITLES) - 2))
        for row in rows
    ]


def _speed(row: Row) -> float:
    return row.distinct / statistics.median(run.seconds for run in row.runs)


COMPILING_TITLES = ("who", "user CPU s:", "all CPU s:", "spread:", "all, of earlier:", "most MiB:")


def rows_of_compiling(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The cells of the table on compiling: CPU seconds, and how many times those of the earlier commit."""
    took = {row.name: statistics.median(run.cpu for run in row.runs) for row in rows if row.runs}
    return [
        (
            row.name,
            f"{statistics.median(run.user for run in row.runs):.2f}",
            f"{took[row.name]:.2f}",
            f"{min(run.cpu for run in row.runs):.2f}-{max(run.cpu for run in row.runs):.2f}",
            f"{took[row.name] / took[EARLIER]:.2f}" if EARLIER in took else "",
            f"{max(run.peak_mib for run in row.runs):,.0f}",
        )
        if row.runs
        else (row.name, row.fault, *[""] * (len(COMPILING_TITLES) - 2))
        for row in rows
    ]


def table_of(graph: str, rows: Sequence[Row]) -> str:
    """The table of a graph, or of compiling."""
    if graph == _COMPILING:
        return table(COMPILING_TITLES, rows_of_compiling(rows))
    return table(TITLES, rows_of(rows))


HEAD = """<!-- Generated by `{command}`. -->
# How fast the checker's engine is

Distinct states for each second of user CPU, beside other checkers on the same graph and beside C by hand; whole
processes in turns on one machine. What is measured, and how, says `python benchmarks/engine.py --help`; the peers'
sources lie in `benchmarks/two_phase_commit/`. Aims: five times Spin on two-phase commit, three times what this
program did at an earlier commit, and two workers 1.7 times as fast as one at 1.15 of the CPU (0.87 of its rate).
"""


def command_of(asked: argparse.Namespace) -> str:
    """The command that writes such a page, of what decides which tables it has."""
    chosen = [
        *([f"--managers {asked.managers}"] if asked.managers != MANAGERS else []),
        *([f"--only {' '.join(asked.only)}"] if asked.only != [""] else []),
        *(f"--{name}" for name in ("peers", "large") if getattr(asked, name)),
        *(["--earlier DIR"] if asked.earlier else []),
    ]
    return " ".join(["python benchmarks/engine.py", *chosen, f"--write {asked.write}"])


def page(found: dict[str, list[Row]], command: str, rounds: int, machine: str, earlier: str) -> str:
    """The results as a page; `earlier` says which commit is meant by that, if any."""
    earlier = earlier and f" {EARLIER}: {earlier}."
    parts = [
        HEAD.format(command=command),
        f"\n{rounds} rounds, ours with {TURNS} turns in each; medians. {machine}.{earlier}\n",
    ]
    parts += [f"\n## {name}\n\n{table_of(name, rows)}" for name, rows in found.items()]
    return "".join(parts)


def options() -> argparse.ArgumentParser:
    """What the command line takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--managers", type=int, default=MANAGERS, choices=sorted(DISTINCT), help="resource managers (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds (%(default)s)")
    parser.add_argument("--only", nargs="+", default=[""], help="whoever's name contains one of these words")
    parser.add_argument("--peers", action="store_true", help="two-phase commit alone")
    parser.add_argument("--large", action="store_true", help=f"zombie_takeover with {LARGE} as well: it takes long")
    parser.add_argument("--earlier", type=Path, metavar="DIR", help="an earlier commit, set up there, takes its turns")
    parser.add_argument("--profile", metavar="SCENARIO", help="where the time of a scenario goes, and nothing else")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables as a page of Markdown as well")
    return parser


Graphs = dict[str, tuple[list[Subject], int | None]]
"""Names of graphs -> who explores it, and how many states it has, if that is pinned."""


def graphs_of(asked: argparse.Namespace) -> Graphs:
    """Everybody who was chosen, on each graph that was; a graph of nobody is left out."""

    def before(scenario: str, bounds: str) -> list[Subject]:
        return [as_it_was(asked.earlier, scenario, bounds)] if asked.earlier else []

    managers = f"n={asked.managers}"
    on_commit = [*on_two_phase_commit(asked.managers), *before("two_phase_commit", managers)]
    graphs: Graphs = {f"Two-phase commit, N = {asked.managers}": (on_commit, DISTINCT[asked.managers])}
    if not asked.peers:
        on_takeover = [*ours_in_each_way("zombie_takeover", ""), *before("zombie_takeover", "")]
        graphs["zombie_takeover"] = (on_takeover, TAKEOVER)
    if asked.large:
        on_large = [*ours_in_each_way("zombie_takeover", LARGE, turns=1), *before("zombie_takeover", LARGE)]
        graphs[_LARGE_GRAPH] = (on_large, None)
    if not asked.peers:
        graphs[_COMPILING] = (compiling(asked.earlier), None)
    words = [word.lower() for word in asked.only]
    chosen = {
        graph: ([each for each in subjects if any(word in each.name.lower() for word in words)], distinct)
        for graph, (subjects, distinct) in graphs.items()
    }
    return {graph: (subjects, distinct) for graph, (subjects, distinct) in chosen.items() if subjects}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print tables; exit code 1 if somebody did not say what the graph has."""
    parser = options()
    asked = parser.parse_args(arguments)
    if asked.rounds < 1:
        parser.error(f"--rounds {asked.rounds}: give 1 or more")
    if asked.earlier is not None and not _python_in(asked.earlier).exists():
        parser.error(f"--earlier {asked.earlier}: it is not set up; give a clone in which `make .venv/ready` was run")
    if asked.profile is not None:
        profile = [sys.executable, str(Path(__file__).with_name("engine_profile.py")), asked.profile, str(asked.rounds)]
        return subprocess.run(profile, env=_environment(), check=False).returncode
    graphs = graphs_of(asked)
    if not graphs:
        there_are = ", ".join(each.name for each in on_two_phase_commit(asked.managers))
        parser.error(f"--only {' '.join(asked.only)}: nobody is called so; there are: {there_are}")
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"
    print(machine)
    found: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for number, (graph, (subjects, distinct)) in enumerate(graphs.items()):
            rounds = 1 if graph == _LARGE_GRAPH else asked.rounds
            found[graph] = measure(subjects, distinct, rounds, Path(name) / str(number))
    for graph, rows in found.items():
        print(f"\n{graph}\n{table_of(graph, rows)}")
    if asked.write is not None:
        text = page(found, command_of(asked), asked.rounds, machine, commit_in(asked.earlier))
        print(f"written: {write_page(asked.write, text)}")
    return int(any(row.fault.startswith("error") for rows in found.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
