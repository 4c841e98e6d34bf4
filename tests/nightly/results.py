"""What nights have found, committed: a line for each scope, the last that was found of it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

PLACE = Path(__file__).with_name("results.jsonl")


@dataclass(frozen=True)
class Found:
    """What came out of a scope; `seconds` of CPU and `mib` at the most were measured; the rest is the same anywhere.

    `promise` is the one that is broken, in a story of so many `steps` (0 where none is); `lacks` says what states would
    need more room for, where that made a scope inconclusive. `sources` is a hash of what was explored.
    """

    scope: str
    verdict: str
    promise: str
    distinct: int
    generated: int
    depth: int
    seconds: float
    mib: int
    lacks: str = ""
    sources: str = ""
    steps: int = 0

    @property
    def facts(self) -> tuple[str, str, str, int, int, int, int]:
        """What is the same on every machine."""
        return self.verdict, self.promise, self.lacks, self.distinct, self.generated, self.depth, self.steps

    @property
    def words(self) -> str:
        """The same in words."""
        broken = f" ({self.promise} in {self.steps} steps)" if self.promise else ""
        room = f" (no room for {self.lacks})" if self.lacks else ""
        return f"{self.verdict}{broken}{room}, {self.distinct:,} states of {self.generated:,}, depth {self.depth}"


class Damaged(ValueError):
    """The file of results cannot be read; it says which line."""


def read(place: Path = PLACE) -> dict[str, Found]:
    """What is committed, by scope.

    Raises:
        Damaged: a line is none.
    """
    found = {}
    lines = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            one = Found(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise Damaged(f"{place}, line {number}: {error}; restore it: git checkout {place.name}") from error
        found[one.scope] = one
    return found


def write(found: Mapping[str, Found], order: Iterable[str], place: Path = PLACE) -> None:
    """Write them in an order, whole or not at all; what is of no scope any more is left away."""
    new = place.with_suffix(".new")
    new.write_text("".join(f"{json.dumps(asdict(found[name]))}\n" for name in order if name in found), encoding="utf-8")
    new.replace(place)
