"""What happened to clients, as events: what they asked for, what they were told, what they read.

JSON Lines: a header, then one event a line, each with its ``kind`` and with ``at``, the place in real time at which it
happened (any unit, increasing within a file; files of one history share the clock). What changes something is two
events, one when it is asked for and one when there is an answer, so that what a dead client has asked for is known. An
answer that never came is not there, or ``unknown``: then it may have happened or not, the same for everybody.
``failed`` says more: it did not happen, and never will.

A *process* is one instance of an application: whoever starts again is another one. Labels of transactions and values
of records are unique in a history. Partitions are named as Kafka's tools do: ``orders-3``.
"""

from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

FORMAT: Final = "zombieproof-history"
VERSION: Final = 1
NOTHING: Final = -1
"""The committed offset where nothing was committed."""

_FORM = ConfigDict(extra="forbid", strict=True)

Name = Annotated[str, Field(min_length=1)]
Offset = Annotated[int, Field(ge=0)]
Isolation = Literal["read_committed", "read_committed_buffering", "read_uncommitted"]
"""How a reader reads. Who buffers is handed each transaction when its marker is there: not in the order of offsets."""
Outcome = Literal["ok", "failed", "fenced", "unknown"]


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True)
class Header:
    """The first line of a file."""

    format: Literal["zombieproof-history"]
    version: int
    kind: Literal["history"] = "history"


class Input(NamedTuple):
    """One record that a group has read: what an output was made of."""

    group: Name
    partition: Name
    offset: Offset


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Init:
    """A process asks to be the only one under its transactional id."""

    at: int
    process: Name
    transactional_id: Name
    kind: Literal["init"] = "init"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Initialized:
    """What it was told; ``ok``: whoever had the id before is shut out."""

    at: int
    process: Name
    outcome: Outcome
    kind: Literal["initialized"] = "initialized"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Begin:
    """A process begins a transaction."""

    at: int
    process: Name
    transaction: Name
    kind: Literal["begin"] = "begin"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Send:
    """A record sets out, in a transaction or (None) outside of any. `inputs`: what it was made of."""

    at: int
    process: Name
    partition: Name
    value: Name
    transaction: Name | None = None
    inputs: tuple[Input, ...] = ()
    kind: Literal["send"] = "send"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Sent:
    """What the process was told of a record; with ``acknowledged`` comes its offset, unless it was not told.

    A leader that recognises a batch as one that it has had may not remember where it put it.
    """

    at: int
    process: Name
    value: Name
    outcome: Literal["acknowledged", "failed", "fenced", "unknown"]
    offset: Offset | None = None
    kind: Literal["sent"] = "sent"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class CommitOffsets:
    """Offsets of a group set out: with a transaction, or (None) by themselves.

    `offsets`: by partition the offset that the group reads next. `inputs`: records that were dealt with, where no
    record that was sent says so.
    """

    at: int
    process: Name
    group: Name
    offsets: dict[Name, Offset]
    transaction: Name | None = None
    inputs: tuple[Input, ...] = ()
    kind: Literal["commit_offsets"] = "commit_offsets"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class OffsetsCommitted:
    """What the process was told of the offsets that it sent last."""

    at: int
    process: Name
    outcome: Outcome
    kind: Literal["offsets_committed"] = "offsets_committed"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class End:
    """A process asks for the end of a transaction."""

    at: int
    process: Name
    transaction: Name
    wants: Literal["commit", "abort"]
    kind: Literal["end"] = "end"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Ended:
    """What it was told of the end. ``fenced`` says nothing of what the end came to; ``failed``: there was none."""

    at: int
    process: Name
    transaction: Name
    outcome: Literal["committed", "aborted", "failed", "fenced", "unknown"]
    kind: Literal["ended"] = "ended"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Positioned:
    """A reader starts, starts again, or goes elsewhere: by partition the next offset that it wants."""

    at: int
    reader: Name
    isolation: Isolation
    positions: dict[Name, Offset]
    kind: Literal["positioned"] = "positioned"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Read:
    """A record is handed to the application of a reader."""

    at: int
    reader: Name
    partition: Name
    offset: Offset
    value: str
    kind: Literal["read"] = "read"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class FinalRead:
    """A reader has read all that it gets of a partition, when no client was at work and every time-out was over.

    `since`: when it asked for the log's `end`. Between its start and its `position` it was handed everything.
    """

    at: int
    since: int
    reader: Name
    partition: Name
    position: Offset
    end: Offset
    kind: Literal["final_read"] = "final_read"


@dataclass(config=_FORM, slots=True, frozen=True, kw_only=True, eq=False)
class Fetched:
    """Committed offsets that somebody got, asked for at `since`; -1 where a group has none.

    `stable`: whether offsets of transactions that are not finished were waited for (KIP-447).
    """

    at: int
    since: int
    process: Name
    group: Name
    offsets: dict[Name, Annotated[int, Field(ge=NOTHING)]]
    stable: bool = True
    kind: Literal["fetched"] = "fetched"


Event: TypeAlias = (
    Init
    | Initialized
    | Begin
    | Send
    | Sent
    | CommitOffsets
    | OffsetsCommitted
    | End
    | Ended
    | Positioned
    | Read
    | FinalRead
    | Fetched
)

EVENT: Final[TypeAdapter[Event]] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])
HEADER: Final[TypeAdapter[Header]] = TypeAdapter(Header)

KINDS: Final = {each.__dataclass_fields__["kind"].default: each for each in Event.__args__}
"""Kind -> class of each event."""
