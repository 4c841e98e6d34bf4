"""What of the evidence is asked for: topics, and a window of time.

Topics narrow what is read: a log of another topic is left out, and whoever judges knows that it was. The coordinators'
own topics are always read, because nothing can be judged without them.

A window narrows what is reported, never what is read or folded: a log that is cut at a moment proves nothing about what
was open then. What touches the window is reported: a fault from the first record of its transaction on that partition
to the marker behind it, and for ever where nothing ended it. What has no time is always reported.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE

Span = tuple[int | None, int | None]
"""From and to, both included, in milliseconds; None: not known, or no end."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """`topics` are patterns (``*``, ``?``, ``[…]``), none for all; the window includes both ends, None has no end."""

    topics: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def has_window(self) -> bool:
        """Whether a time was given."""
        return self.since_ms is not None or self.until_ms is not None

    def leaves_out(self, topic: str) -> bool:
        """Whether logs of a topic are not read; the coordinators' own always are."""
        if not self.topics or topic in (TRANSACTION_STATE, CONSUMER_OFFSETS):
            return False
        return not any(fnmatchcase(topic, pattern) for pattern in self.topics)

    def touches(self, span: Span) -> bool:
        """Whether something that lasted from and to touches the window."""
        first, last = span
        if self.since_ms is not None and last is not None and last < self.since_ms:
            return False
        return self.until_ms is None or first is None or first <= self.until_ms


EVERYTHING = Narrowing()
