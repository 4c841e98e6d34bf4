"""What an exploration found, as it is kept, and whether it is what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from zombieproof.farm.jobs import Job

Outcome = Literal["as expected", "unexpected", "inconclusive", "failed"]


class Found(BaseModel):
    """What an exploration found: the numbers are those of `check`. It is kept as JSON in a file of its own.

    Attributes:
        key, sources: of the job that was explored.
        verdict: holds, violated or inconclusive; "error" if the exploration could not be made or not be finished.
        why: why it is inconclusive, or what failed.
        bounds: the bounds in force.
        distinct, generated, depth: states; nothing if the exploration failed.
        promise, steps: what is broken and the length of the shortest way there; no steps if nothing reaches a
            *sometimes* promise.
        seed, walks: of random walks, how many there were; `generated` are their steps then, nothing is distinct.
        pinned: the number of distinct states that is pinned for this exploration, if one is.
        seconds, cpu_seconds, compile_seconds, peak_mib: of the exploration; the last is of the process that it was in.
        memory_bytes: the limit that it had.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    sources: str
    scenario: str
    mutant: str
    rules: str
    verdict: Literal["holds", "violated", "inconclusive", "error"]
    why: str | None = None
    bounds: Mapping[str, int] = {}
    distinct: int | None = None
    generated: int | None = None
    depth: int | None = None
    promise: str | None = None
    steps: int | None = None
    pinned: int | None = None
    seed: int | None = None
    walks: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    compile_seconds: float = 0.0
    peak_mib: float = 0.0
    memory_bytes: int | None = None


def failure(job: Job, why: str) -> Found:
    """An exploration that could not be made."""
    return Found(
        key=job.key,
        sources=job.sources,
        scenario=job.scenario,
        mutant=job.mutant,
        rules=job.words,
        verdict="error",
        why=why,
        bounds=dict(job.bounds),
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """A job and what was found. `was_kept` says that it was found by an earlier farm."""

    job: Job
    found: Found
    was_kept: bool = False

    @property
    def outcome(self) -> Outcome:
        """Whether it is what was expected."""
        found, job = self.found, self.job
        if found.verdict == "error":
            return "failed"
        if job.expected == "breaks" and (found.promise, found.steps) == (job.promise, job.steps):
            return "as expected"
        if found.verdict == "inconclusive":
            is_enough = found.walks and job.expected in ("unbroken", "anything")
            return "as expected" if is_enough else "inconclusive"
        if job.expected == "holds":
            is_other_count = bool(found.pinned) and found.distinct != found.pinned
            return "as expected" if found.verdict == "holds" and not is_other_count else "unexpected"
        return "as expected" if job.expected in ("anything", found.verdict) else "unexpected"

    @property
    def remark(self) -> str:
        """What is not as expected, or is not known, in words; "" where all is said."""
        found, job = self.found, self.job
        if self.outcome in ("failed", "inconclusive"):
            return str(found.why)
        if self.outcome == "as expected":
            return ""
        if job.expected == "breaks":
            return f"expected: {job.promise} breaks in {job.steps} steps"
        if job.expected == "holds" and found.verdict == "holds":
            return f"{found.pinned:,} distinct states are pinned"
        return f"expected: {job.expected}"


class Column(NamedTuple):
    """A column of the results: its name, its type (string, long, double, boolean or counts), and what it holds."""

    name: str
    kind: Literal["string", "long", "double", "boolean", "counts"]
    meaning: str


SCHEMA: Final = (
    Column("scenario", "string", "the scenario's name"),
    Column("rules", "string", "the rules in words: a preset and what differs from it; own for a model without rules"),
    Column("mutant", "string", "the mutant, or null"),
    Column("bounds", "counts", "every bound in force, by name"),
    Column("seed", "long", "of random walks; null for an exploration"),
    Column("verdict", "string", "holds, violated, inconclusive, or error"),
    Column(
        "expected", "string", "holds, unbroken (by walks), violated, breaks (a mutant as it is pinned), or anything"
    ),
    Column("outcome", "string", "as expected, unexpected, inconclusive, or failed"),
    Column("distinct", "long", "distinct states reached; null if it failed, and for random walks"),
    Column("generated", "long", "successors computed, with repetitions, or steps of random walks; null if it failed"),
    Column("depth", "long", "steps to the farthest state; null if it failed"),
    Column("promise", "string", "the broken promise, or null"),
    Column("steps", "long", "length of the shortest counterexample, or null"),
    Column("seconds", "double", "of the exploration, without compilation"),
    Column("cpu_seconds", "double", "the same, of all its threads"),
    Column("compile_seconds", "double", "before it; next to nothing where the process had the model already"),
    Column("peak_mib", "double", "greatest resident set of the process that explored it, in MiB"),
    Column("why", "string", "why it is inconclusive, or what failed; else null"),
    Column("command", "string", "the command that explores the same and tells the story"),
    Column("key", "string", "hash of what was explored and of the sources that explored it"),
)
"""The results as a table: one row for each exploration."""


def row_of(entry: Entry) -> dict[str, object]:
    """The row of an exploration, in the order of `SCHEMA`."""
    known: dict[str, object] = {**entry.found.model_dump(), "bounds": dict(entry.found.bounds)}
    known |= {"mutant": entry.found.mutant or None, "expected": entry.job.expected}
    known |= {"outcome": entry.outcome, "command": entry.job.command}
    return {column.name: known[column.name] for column in SCHEMA}


def verdict_of(entries: Iterable[Entry]) -> str:
    """All together: one that is unexpected says so, else one that failed, else one that is inconclusive; else holds."""
    outcomes = {entry.outcome for entry in entries}
    words: tuple[tuple[Outcome, str], ...] = (
        ("unexpected", "violated"),
        ("failed", "error"),
        ("inconclusive", "inconclusive"),
    )
    return next((word for outcome, word in words if outcome in outcomes), "holds")
