"""Where the time of an exploration goes, by phase.

    python benchmarks/engine_profile.py SCENARIO [ROUNDS] [BOUNDS]

For example ``two_phase_commit 3 n=8``. One thread explores with one call for each phase of each buffer, so that CPU
time can be told apart: *expand*, *table*, *gather*, *unpack*. Inside of a call compiled code is inlined, and nobody who
samples can tell parts apart. So an exploration that applies the normal form twice, which changes nothing, shows what it
costs, and one that judges no promise what they cost. Fingerprints are made alone, over states of walks. All take turns.
What remains of *expand* are the actions, with copies of their parents; what remains of *gather*, and *unpack*, is the
frontier; what remains of all is Python. For bytes of a state see the last line.
"""

import random
import statistics
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import numba
import numpy as np

from zombieproof.checker.engine import explore as exploring
from zombieproof.checker.engine import fingerprints, places, search
from zombieproof.checker.engine.batches import Place
from zombieproof.checker.engine.binding import keys
from zombieproof.checker.engine.compiled import Engine, compiled
from zombieproof.checker.engine.hosts import CompiledHost
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.recording import RecordingSearch
from zombieproof.checker.engine.result import Result
from zombieproof.checker.engine.storage import Block, Memory
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.network import normalise as once
from zombieproof.cli.usage import WrongUsage, bounds_of

BUFFER_BYTES = 256 * 1024
"""Of states of which fingerprints are made, one after the other: as much as one thread expands at a time."""
PHASES = {places.EXPAND: "expand", places.DEDUPLICATE: "table", places.GATHER: "gather", places.UNPACK: "unpack"}
PARTS = ("actions", "normal form", "fingerprint", "table", "promises", "frontier", "Python")


def twice(state: Any, setup: Any) -> None:
    """The normal form of the transaction protocol, and again."""
    once(state, setup)
    once(state, setup)


class Apart(RecordingSearch):
    """A search by one thread that calls each phase for itself, adds up the CPU seconds of each, and records nothing."""

    seconds: dict[str, float]

    def __init__(
        self, engine: Engine, setup: object, judged: Collection[str], memory: Memory, max_states: int | None
    ) -> None:
        super().__init__(engine, setup, judged, memory, max_states, ())

    def look_at(self, place: Place, tally: Any) -> None:
        """Look at nothing."""

    def _call(self, phase: int, block: Block, tally: Any, place: Place | None = None) -> int:
        began = time.thread_time()
        answer = super()._call(phase, block, tally, place)
        if phase in PHASES:
            self.seconds[PHASES[phase]] += time.thread_time() - began
        return answer


@dataclass(frozen=True)
class Way:
    """One exploration: its result, and the CPU seconds of each phase."""

    result: Result
    phases: dict[str, float]


def apart(model: Model, setup: object, promises: tuple[str, ...]) -> Way:
    """Explore with phases apart."""
    Apart.seconds = dict.fromkeys(PHASES.values(), 0.0)
    kept = search.Search
    setattr(exploring, "Search", Apart)  # noqa: B010  # for this exploration
    try:
        return Way(exploring.explore(model, setup, promises=promises), Apart.seconds)
    finally:
        setattr(exploring, "Search", kept)  # noqa: B010  # as it was


def fingerprint_seconds(model: Model, setup: object, count: int) -> float:
    """CPU seconds for so many fingerprints of states of walks, each made from that of the state before, in a buffer."""
    words = compiled(model).state.padded.itemsize // 8
    scope = {**vars(fingerprints), "WORDS": words, "KEYS": keys(words)}
    for name in ("weight", "scattered", "moved"):
        scope[name] = numba.njit(FunctionType(getattr(fingerprints, name).__code__, scope, name))
    moved, weight, scattered = scope["moved"], scope["weight"], scope["scattered"]

    def many(rows: Any, changes: Any, times: int) -> Any:
        total = np.uint64(0)
        for _ in range(times):
            weighed = weight(rows, 0)
            for row in range(1, rows.shape[0]):
                weighed = moved(weighed, changes, row, rows, row, rows, row - 1)
                total ^= scattered(weighed[1])
        return total

    rows = walked(model, setup, max(2, BUFFER_BYTES // (8 * words)))
    changes = np.zeros((len(rows), places.words_of_bits(words)), np.uint64)
    function = numba.njit(many)
    function(rows, changes, 1)  # compiles it
    times: int = max(1, 2_000_000 // len(rows))
    began = time.thread_time()
    function(rows, changes, times)
    return (time.thread_time() - began) / (times * (len(rows) - 1)) * count


def walked(model: Model, setup: object, count: int) -> Any:
    """So many states, a row each, as walks at random from the initial state come by them."""
    host = CompiledHost(model, setup)
    initial = host.engine.state.pack(model.initial(setup))
    drawn = random.Random(0)
    found, state = [initial], initial
    while len(found) < count:
        successors = [after for action in range(model.actions) if (after := host.step(state, action)[0]) is not None]
        state = drawn.choice(successors) if successors else initial
        found.append(state)
    return np.frombuffer(b"".join(found), np.uint64).reshape(count, -1)


def shares(whole: list[Way], doubled: list[Way], unjudged: list[Way], prints: float) -> dict[str, float]:
    """CPU seconds of each part; a difference that is below nothing, because of noise, is nothing."""

    def middle(ways: list[Way], phase: str) -> float:
        return statistics.median(way.phases[phase] for way in ways)

    expand, table, gather, unpack = (middle(whole, phase) for phase in PHASES.values())
    normal = max(0.0, middle(doubled, "expand") - expand) if doubled else 0.0
    promises = max(0.0, gather - middle(unjudged, "gather"))
    total = statistics.median(way.result.cpu_seconds for way in whole)
    values = (
        expand - normal - prints,
        normal,
        prints,
        table,
        promises,
        gather - promises + unpack,
        total - expand - table - gather - unpack,
    )
    return {part: max(0.0, seconds) for part, seconds in zip(PARTS, values, strict=True)}


def profile(scenario: Scenario, rounds: int, bounds: dict[str, int]) -> tuple[Result, dict[str, float]]:
    """Explore a scenario in these ways, in turns; return what it found, and the CPU seconds of each part.

    Raises:
        RuntimeError: the ways do not find the same graph.
    """
    own = scenario.own_bounds(bounds)
    model, setup = scenario.model(own), scenario.setup(scenario.own_rules(), own)
    judged = (*scenario.kept, *scenario.sometimes)
    ways: dict[str, tuple[Model, tuple[str, ...]]] = {"whole": (model, judged), "unjudged": (model, ())}
    if model.normalise is once:
        ways["doubled"] = (replace(model, normalise=twice), judged)
    found: dict[str, list[Way]] = {"whole": [], "unjudged": [], "doubled": []}
    for _ in range(rounds):
        for way, (each, promises) in ways.items():
            found[way].append(apart(each, setup, promises))
    counts = {way.result.distinct for some in found.values() for way in some}
    if len(counts) != 1:
        raise RuntimeError(f"the ways found {sorted(counts)} states: they are not the same graph")
    result = found["whole"][0].result
    prints = fingerprint_seconds(model, setup, result.generated)
    return result, shares(found["whole"], found["doubled"], found["unjudged"], prints)


def show(name: str, rounds: int, bounds: str) -> int:
    """Print the profile of a scenario; 2 if there is none, or nothing that can be profiled."""
    scenario = SCENARIOS.get(name)
    if scenario is None:
        print(f"there is no scenario {name!r}; there are: {', '.join(SCENARIOS)}")
        return 2
    try:
        result, parts = profile(scenario, rounds, bounds_of(bounds))
    except (UnknownBound, WrongUsage) as error:
        print(error)
        return 2
    total = sum(parts.values())
    print(f"{name}: {result.distinct:,} states in {total:.2f} CPU s, one thread, medians of {rounds}")
    for part, seconds in parts.items():
        print(
            f"  {part:12} {seconds:8.2f} s {seconds / total:6.1%} {seconds / result.generated * 1e9:8.1f} ns/successor"
        )
    print(f"  {result.bytes_per_state:.1f} bytes a visited state; {result.state_bytes} a state that is expanded")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Read the command line; 2 if it makes no sense."""
    name, rounds, bounds = (*arguments, *("", "3", "")[len(arguments) :])[:3]
    if not rounds.isdecimal() or not int(rounds):
        print(f"{rounds!r} are no rounds; give 1 or more")
        return 2
    return show(name, int(rounds), bounds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
