"""A job is one exploration, resolved: what `zombieproof check` would be asked, and what must come out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from zombieproof.checker.request import Request, Walks

Expected = Literal["holds", "unbroken", "violated", "breaks", "anything"]
"""What must come out.

"breaks" is a mutant as it is pinned, which breaks its promise in as many steps as are pinned; "unbroken" is the most
that random walks can come to: they broke nothing.
"""

OWN: Final = "own"
"""What stands for the preset under which a scenario holds."""


@dataclass(frozen=True, slots=True)
class Job:
    """One exploration. It travels to other processes and machines as it is.

    Attributes:
        key: a hash of what is explored and of the sources that explore it: the name of its result.
        sources: a hash of the sources alone.
        scenario: its name; `file` is the absolute path of the file that defines it, "" for registered ones; `asked` is
            how it was asked for.
        model: the name of the model, whose code all jobs of it share.
        rules, on, off, mutant, bounds: as in a `Request`; what says nothing new is left away.
        words: the rules in words.
        walks: random walks instead of an exploration, or None.
        states: about how many states there are to explore, or steps to walk.
        expected: what must come out; `promise` and `steps` say what a mutant must break, and in how many steps.
    """

    key: str
    sources: str
    scenario: str
    model: str
    words: str
    file: str = ""
    asked: str = ""
    rules: str = ""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    mutant: str = ""
    bounds: Mapping[str, int] = field(default_factory=dict)
    walks: Walks | None = None
    states: int = 0
    expected: Expected = "holds"
    promise: str = ""
    steps: int = 0

    def request(self, workers: int = 1, memory_bytes: int | None = None) -> Request:
        """The same as what `check` takes."""
        return Request(self.rules, self.on, self.off, self.mutant, dict(self.bounds), workers, memory_bytes, self.walks)

    @property
    def command(self) -> str:
        """The command that explores the same and tells the story of what it breaks."""
        words = ["zombieproof", "check", self.asked or self.scenario]
        words += ["--rules", self.rules] if self.rules else []
        words += [word for name in self.on for word in ("--with", name)]
        words += [word for name in self.off for word in ("--without", name)]
        words += ["--mutant", self.mutant] if self.mutant else []
        words += ["--bounds", self.bounds_in_words] if self.bounds else []
        if self.walks is not None:
            words += ["--simulate", f"{self.walks.steps}steps", "--seed", str(self.walks.seed)]
        return shlex.join(words)

    @property
    def bounds_in_words(self) -> str:
        """The bounds that are not the scenario's own: "lost=2,crashes=1"."""
        return ",".join(f"{name}={value}" for name, value in self.bounds.items())

    @property
    def within(self) -> str:
        """The same, and the seed of random walks: "lost=2, seed 7"."""
        seed = f"seed {self.walks.seed}" if self.walks else ""
        return ", ".join(filter(None, (self.bounds_in_words, seed)))

    @property
    def name(self) -> str:
        """The exploration in a few words."""
        parts = (self.scenario, self.mutant and f"mutant {self.mutant}", self.within)
        return ", ".join(filter(None, parts))
