"""Time as the brokers see it: milliseconds, from a clock that somebody else moves."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from."""

    def now_ms(self) -> int:
        """Milliseconds since some fixed point; never negative."""
        ...


class ManualClock:
    """A clock that stands still until it is moved.

    Args:
        now_ms: where it begins.
    """

    def __init__(self, now_ms: int = 1_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """The time it was last moved to."""
        return self._now_ms

    def advance(self, milliseconds: int) -> None:
        """Move on by `milliseconds`, or back where they are negative: brokers must survive a clock that goes back."""
        self._now_ms += milliseconds


class SystemClock:
    """The time of the machine, as Kafka tells it: milliseconds since 1970. It may go back."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000


class AheadClock:
    """A clock that goes as another one does, and can be put forward.

    Args:
        clock: the other one; the system's by default.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock, self._ahead_ms = clock or SystemClock(), 0

    def now_ms(self) -> int:
        """The time of the other clock, and what this one was put forward by."""
        return self._clock.now_ms() + self._ahead_ms

    def advance(self, milliseconds: int) -> None:
        """Put it forward."""
        self._ahead_ms += milliseconds
