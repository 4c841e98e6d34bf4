"""What a history says: instances, transactions, writes, readers, offsets of groups."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from operator import attrgetter
from typing import NamedTuple

from zombieproof.traces.history.events import (
    NOTHING,
    Begin,
    CommitOffsets,
    End,
    Ended,
    Event,
    Fetched,
    FinalRead,
    Init,
    Initialized,
    Input,
    Isolation,
    OffsetsCommitted,
    Positioned,
    Read,
    Send,
    Sent,
)

_OFFSET = attrgetter("offset")


class Fate(Enum):
    """What became of something, as far as it was told. UNKNOWN: either way is legal, but one way for everybody."""

    COMMITTED = auto()
    ABORTED = auto()
    UNKNOWN = auto()


@dataclass(slots=True, eq=False)
class Write:
    """One record: what was asked, what was told, and who has read it under which isolation."""

    send: Send
    transaction: "Transaction | None"
    sent: Sent | None = None
    reads: list[Read] = field(default_factory=list)

    @property
    def is_acknowledged(self) -> bool:
        """Whether it is stored, as the process was told."""
        return self.sent is not None and self.sent.outcome == "acknowledged"

    @property
    def offset(self) -> int:
        """The offset that was acknowledged; -1 where none was told."""
        return self.sent.offset if self.sent is not None and self.sent.offset is not None else NOTHING

    @property
    def fate(self) -> Fate:
        """That of its transaction; outside of one, what was told of the record itself."""
        if self.transaction is not None:
            return self.transaction.fate
        if self.sent is None or self.sent.outcome in ("unknown", "fenced"):
            return Fate.UNKNOWN
        return Fate.COMMITTED if self.sent.outcome == "acknowledged" else Fate.ABORTED


@dataclass(slots=True, eq=False)
class OffsetCommit:
    """Offsets of a group: what was asked and told."""

    sent: CommitOffsets
    transaction: "Transaction | None"
    told: OffsetsCommitted | None = None

    @property
    def fate(self) -> Fate:
        """What became of them; offsets that a transaction was refused are not part of it."""
        if self.told is not None and self.told.outcome == "failed":
            return Fate.ABORTED
        if self.transaction is not None and self.transaction.fate is Fate.ABORTED:
            return Fate.ABORTED
        if not self.is_acknowledged:
            return Fate.UNKNOWN
        return Fate.COMMITTED if self.transaction is None else self.transaction.fate

    @property
    def is_acknowledged(self) -> bool:
        """Whether the group coordinator has them, as the process was told."""
        return self.told is not None and self.told.outcome == "ok"

    @property
    def asked_at(self) -> int | None:
        """From when on they can be committed; None: never."""
        if self.transaction is None:
            return self.sent.at
        return None if self.transaction.commit is None else self.transaction.commit.at

    @property
    def known_at(self) -> int | None:
        """From when on it is known that they are committed; None: it is not known."""
        if self.told is None or not self.is_acknowledged:
            return None
        return self.told.at if self.transaction is None else self.transaction.known_at


@dataclass(slots=True, eq=False)
class Transaction:
    """One transaction: its records and offsets, and what was asked and told of its end.

    `seen` is the first time that one of its records was read under read_committed.
    """

    begin: Begin
    writes: list[Write] = field(default_factory=list)
    offsets: list[OffsetCommit] = field(default_factory=list)
    commit: End | None = None
    last_end: End | None = None
    told: Ended | None = None
    seen: Read | None = None

    @property
    def name(self) -> str:
        """Its label."""
        return self.begin.transaction

    @property
    def fate(self) -> Fate:
        """What became of it, as far as its process was told; without a commit asked for it can only be aborted."""
        if self.commit is None:
            return Fate.ABORTED
        match self.told.outcome if self.told is not None else "unknown":
            case "committed":
                return Fate.COMMITTED
            case "aborted" | "failed":
                return Fate.ABORTED
        return Fate.UNKNOWN

    @property
    def known_at(self) -> int | None:
        """From when on it is known to be committed: told, or seen by a reader; None: it is not."""
        told = self.told.at if self.told is not None and self.told.outcome == "committed" else None
        times = [at for at in (told, self.seen.at if self.seen is not None else None) if at is not None]
        return min(times, default=None)

    @property
    def is_committed(self) -> bool:
        """Whether it is known to be committed, be it told or seen."""
        return self.fate is Fate.COMMITTED or (self.fate is Fate.UNKNOWN and self.seen is not None)


@dataclass(slots=True, eq=False)
class Span:
    """A reader's way through one partition, from one position on: everything in between was handed out."""

    reader: str
    isolation: Isolation
    partition: str
    positioned: Positioned
    reads: list[Read] = field(default_factory=list)
    final: FinalRead | None = None

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.positioned.positions[self.partition]

    @property
    def is_committed(self) -> bool:
        """Whether the reader gets only what is committed."""
        return self.isolation != "read_uncommitted"

    @property
    def is_in_order(self) -> bool:
        """Whether records are handed out in the order of their offsets."""
        return self.isolation != "read_committed_buffering"

    @property
    def end(self) -> int:
        """What is below was passed; the reader said so, or it has read what follows."""
        last = self.reads[-1].offset + 1 if self.reads and self.is_in_order else self.start
        return last if self.final is None else max(last, self.final.position)

    def passed_over(self, offsets: Sequence[int]) -> Iterator[int]:
        """Of some offsets in their order those that the reader was past without a record."""
        got = {read.offset for read in self.reads}
        within = offsets[bisect_left(offsets, self.start) : bisect_left(offsets, self.end)]
        return (offset for offset in within if offset not in got)

    def passing(self, offset: int) -> Event:
        """The event that shows that the reader is past `offset`."""
        if self.is_in_order:
            index = bisect_right(self.reads, offset, key=_OFFSET)
            if index < len(self.reads):
                return self.reads[index]
        return self.final if self.final is not None else self.positioned


class PassedOver(NamedTuple):
    """A reader was past the place of an acknowledged write, and did not get it.

    `is_behind_end`: only its final read shows that, because the place is behind the end of the log, or not known.
    """

    write: Write
    span: Span
    is_behind_end: bool


@dataclass(slots=True, eq=False)
class Instance:
    """A process under a transactional id: when it got it, and when it learned that it is shut out."""

    process: str
    init: Init | None = None
    initialized: Initialized | None = None
    fenced: Event | None = None


@dataclass(slots=True)
class Facts:
    """Everything that the rules look at."""

    transactions: dict[str, Transaction] = field(default_factory=dict)
    writes: dict[str, Write] = field(default_factory=dict)
    commits: list[OffsetCommit] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    instances: dict[str, Instance] = field(default_factory=dict)
    fetches: list[Fetched] = field(default_factory=list)
    strangers: list[Read] = field(default_factory=list)
    """Reads of values that nobody had sent by then, or sent to another partition."""
    passed_over: list[PassedOver] = field(default_factory=list)

    def by_producer(self) -> dict[tuple[str, str], list[Write]]:
        """The writes of each process to each partition, in the order in which they were sent."""
        found: dict[tuple[str, str], list[Write]] = defaultdict(list)
        for write in self.writes.values():
            found[write.send.process, write.send.partition].append(write)
        return found

    def claims(self) -> Iterator[tuple[Input, Write | OffsetCommit]]:
        """Each record that somebody has dealt with, and by what."""
        for write in self.writes.values():
            for made_of in write.send.inputs:
                yield made_of, write
        for commit in self.commits:
            for made_of in commit.sent.inputs:
                yield made_of, commit
