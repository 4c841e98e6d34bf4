"""What a cause is, as data: how it is recognised, what it is known as, where the checker shows it, what prevents it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.verdict.circumstances import Shape


class Recognised(NamedTuple):
    """A cause fits. `because` says what in the evidence speaks for it; "" when nothing speaks against it.

    `is_told`: a broker's log says it, so that nothing more is to be looked for.
    """

    is_likely: bool
    because: str = ""
    is_told: bool = False


Recognise = Callable[[Scene], Recognised | None]


@dataclass(frozen=True, slots=True)
class Witness:
    """A scenario of the checker that breaks a promise in the same way, with a mutant of it.

    `without` is given where switching these rules off is all that the mutant does: then the command says so.
    `breaks` is the promise of the model that breaks.
    """

    scenario: str
    mutant: str
    breaks: str
    without: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that tells the shortest story."""
        if self.without:
            return f"zombieproof check {self.scenario} " + " ".join(f"--without {rule}" for rule in self.without)
        return f"zombieproof check {self.scenario} --mutant {self.mutant}"


@dataclass(frozen=True, slots=True)
class Prevention:
    """What keeps it from happening again, and what that costs."""

    sentence: str
    cost: str
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause.

    Attributes:
        name: what it is, in words joined by underscores.
        shapes: the shapes of faults that it can explain.
        sentence: what happened, in one sentence.
        recognise: whether it fits a finding, and how well.
        apart: what would tell it from other causes of the same fault.
        switches: the fields of `Rules` that say what was not kept; their releases are taken from there.
        bugs, issues: entries of docs/bugs.md, and how they are known in public.
        releases: releases in words, where no switch tells them.
        is_last_resort: it is said only where no other cause is likely.
        witness: where the checker shows the same; None where that is not modelled.
    """

    name: str
    shapes: tuple[Shape, ...]
    sentence: str
    recognise: Recognise
    apart: str
    switches: tuple[str, ...] = ()
    bugs: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    releases: str = ""
    is_last_resort: bool = False
    witness: Witness | None = None
    preventions: tuple[Prevention, ...] = ()
