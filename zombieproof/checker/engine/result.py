"""What an exploration found, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zombieproof.checker.engine.model import Kind

Verdict = Literal["holds", "violated", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a promise: `holds` is None where the exploration ended before that was known."""

    name: str
    kind: Kind
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A broken promise.

    `actions` lead on a shortest way from the initial state to one that breaks it; None for a *sometimes* promise that
    no reachable state satisfies: there is nothing to show. Of a *leads to* promise the actions behind the first
    `repeats_from` lead back to where they begin, and repeat for ever; if there are none, nobody has to act any more.
    """

    promise: str
    actions: list[int] | None
    repeats_from: int | None = None


def exceeded(hits: Mapping[str, int]) -> str:
    """Say which capacities were exceeded, each in how many states."""
    return "a capacity was exceeded: " + ", ".join(f"{name} in {n:,} states" for name, n in hits.items())


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration is: `frontier` states of level `depth` are still to be expanded.

    `checkpoint` is the level of the last checkpoint, or -1.
    """

    distinct: int
    generated: int
    depth: int
    frontier: int
    seconds: float
    resident_mib: float
    checkpoint: int = -1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last checkpoint of an exploration: its folder and level, and the level from which the run went on, or -1."""

    folder: Path
    depth: int
    resumed: int


@dataclass(frozen=True, slots=True)
class Spilled:
    """What an exploration had on disk: its folder, the most bytes at the end of a level, and all that were written."""

    folder: Path
    most_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True)
class Result:
    """What an exploration found.

    Attributes:
        verdict: holds, violated or inconclusive.
        why: why it is inconclusive, or which *sometimes* promises never held; else None.
        distinct: states reached, the initial one included; up to and with the first that breaks a promise.
        generated: successors computed, with repetitions, up to the same.
        depth: steps from the initial state to the farthest state reached.
        seconds, cpu_seconds: of the exploration.
        compile_seconds: before it; next to nothing when the process has used the model before.
        peak_mib: greatest resident set of the process, as sampled.
        bytes_per_state: what fingerprint, parent and action of each distinct state take, empty slots of the table
            included.
        frontier_bytes: what a state took, packed, while it waited to be expanded; the mean of all.
        state_bytes: what it takes while it is expanded.
        collision_probability: expected number of pairs of states with one fingerprint, n²/2⁶⁵; of such a pair one is
            missed.
        promises: what became of each promise that was judged.
        violated: the broken promise, if there is one.
        witnesses: for each *sometimes* promise that held, the actions of a shortest way to a state where it does.
        coverage: counts by machine, state and event of the moves of all generated successors, or None without machines.
        bound_hits: for each capacity that was exceeded, in words, in how many states.
        walks: how many random walks there were; 0 for an exploration. Then `generated` are their steps, and `distinct`
            is 0: nobody knows which states were there before.
        interrupted: the exploration was ended by Ctrl-C or `stop`; everything above is what was known by then.
        checkpoint: the last checkpoint, where some were asked for and one stands.
        spilled: what was on disk, where a folder for that was given.
    """

    verdict: Verdict
    why: str | None
    distinct: int
    generated: int
    depth: int
    seconds: float
    cpu_seconds: float
    compile_seconds: float
    peak_mib: float
    bytes_per_state: float
    frontier_bytes: float
    state_bytes: int
    collision_probability: float
    promises: tuple[Judged, ...]
    violated: Counterexample | None
    witnesses: dict[str, list[int]]
    coverage: Any
    bound_hits: dict[str, int]
    interrupted: bool
    walks: int = 0
    checkpoint: Checkpoint | None = None
    spilled: Spilled | None = None

    @property
    def lacked_room(self) -> bool:
        """Whether it is inconclusive for no other reason than exceeded capacities: it came to its end without them."""
        return self.verdict == "inconclusive" and bool(self.bound_hits) and self.why == exceeded(self.bound_hits)
