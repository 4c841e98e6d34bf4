"""What came of a plan: which faults fired, which never did and what came near, what was begun and not ended."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fired:
    """A fault that fired, the request that it met, and when (ms)."""

    fault: str
    request: str
    ms: int


@dataclass(frozen=True, slots=True)
class Unfired:
    """A fault that never fired, and what came near."""

    fault: str
    near: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """A fault whose turn it was, and that could not be."""

    fault: str
    why: str


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What came of a plan. `unfinished`: what is still held back, and what it waits for."""

    plan: str
    fired: tuple[Fired, ...]
    unfired: tuple[Unfired, ...]
    unfinished: tuple[str, ...]
    impossible: tuple[Impossible, ...]

    @property
    def is_whole(self) -> bool:
        """Whether everything that was planned has happened."""
        return not (self.unfired or self.unfinished or self.impossible)

    def __str__(self) -> str:
        lines = [f"plan {self.plan!r}: {len(self.fired)} faults fired" + ("" if self.is_whole else ", and not all did")]
        lines += [f"  fired at {each.ms} ms: {each.fault}, at {each.request}" for each in self.fired]
        lines += [f"  never fired: {each.fault}; {each.near}" for each in self.unfired]
        lines += [f"  never ended: {each}" for each in self.unfinished]
        lines += [f"  could not be: {each.fault}; {each.why}" for each in self.impossible]
        return "\n".join(lines)
