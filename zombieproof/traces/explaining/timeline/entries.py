"""The entries of a timeline: what each piece of evidence says of a subject, in the order of that piece.

A source is one log or one file; within it the order is certain, and nothing here puts it beside another.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.readers.timestamps import local, utc


class EntryKind(StrEnum):
    """What an entry is."""

    DATA = "data"
    MARKER = "marker"
    CONTROL = "control"
    STATE = "state"
    OFFSETS = "offsets"
    SNAPSHOT = "snapshot"
    ABORTED_INDEX = "aborted index"
    UNKNOWN = "unknown"
    """A place of a log of which nothing is known: damaged, cleaned away, before its start."""
    COORDINATOR = "coordinator"
    BROKER = "broker"
    CLIENT = "client"
    CALL = "call"
    OUTCOME = "outcome"


@dataclass(slots=True)
class Entry:
    """One thing that happened. `time_ms` is the time that the source gives it, None where it gives none.

    `by_client`: the time was set by a client's clock inside a broker's log. `line` is one of `file`; `offset` and
    `last_offset` are those of `topic` and `partition`. `findings` are the promises that are broken here, by their
    number in the timeline.
    """

    kind: EntryKind
    source: str
    text: str
    file: str
    time_ms: int | None = None
    line: int | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    last_offset: int | None = None
    transactional_id: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    by_client: bool = False
    utc: str | None = None
    local: str | None = None
    findings: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.time_ms is not None:
            self.utc, self.local = utc(self.time_ms), local(self.time_ms)

    @property
    def place(self) -> TopicPartition | None:
        """The partition that it lies on."""
        return None if self.topic is None or self.partition is None else (self.topic, self.partition)

    def holds(self, place: TopicPartition, offset: int) -> bool:
        """Whether it is what lies at an offset of a partition."""
        if self.place != place or self.offset is None or self.kind in NOT_IN_THE_LOG:
            return False
        return self.offset <= offset <= (self.offset if self.last_offset is None else self.last_offset)


NOT_IN_THE_LOG = (EntryKind.SNAPSHOT, EntryKind.ABORTED_INDEX, EntryKind.UNKNOWN)


def span(first: int, last: int) -> str:
    """One offset or a range, short."""
    return str(first) if first == last else f"{first}-{last}"


def places(partitions: Iterable[TopicPartition]) -> str:
    """Partitions as a list."""
    return "[" + ", ".join(sorted(f"{topic}-{partition}" for topic, partition in partitions)) + "]"
