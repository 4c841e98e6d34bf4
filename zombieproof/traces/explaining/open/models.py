"""What is open, as data: on partitions, and at coordinators."""

from dataclasses import dataclass, field
from enum import StrEnum

from zombieproof.traces.verdict.report import DamagedPlace, Judgement, Narrowed, NotJudged, TransactionOutcome


class EndedBy(StrEnum):
    """Who will end what is open on a partition."""

    OWNER = "owner"
    """Its producer, or the coordinator when the time is up."""
    MARKER = "marker"
    """It is decided: the marker is under way."""
    NOBODY = "nobody"
    """The coordinator has nothing open there: a hanging transaction."""
    UNKNOWN = "unknown"
    """The evidence does not tell what the coordinator knows."""


@dataclass(slots=True)
class OpenOnPartition:
    """A transaction on a partition without its marker. `state` is that of its transactional id, None if not known.

    `records` are its records there. `decided` is what its coordinator decided if it forgot the marker: commit or abort.
    `pending_offsets` are offsets of groups that wait for it. `is_certain` is False where its marker can stand in what
    cannot be read; then nobody can say who will end it. `tool_says` names the owner by a tool, where no log does.
    `may_begin_before`: its first records may stand before the first offset that was given.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    since_ms: int | None
    last_offset: int
    records: int
    transactional_id: str | None
    state: str | None
    due_ms: int | None
    ended_by: EndedBy
    decided: TransactionOutcome | None
    is_certain: bool
    pending_offsets: list[str] = field(default_factory=list)
    tool_says: str = ""
    may_begin_before: bool = False


@dataclass(slots=True)
class HeldPartition:
    """A partition with open transactions, the first of which holds its last stable offset.

    `waiting_records` lie behind it and belong to nothing that is open or aborted: readers of committed data would get
    them. `held_ms` is how long it has been held, up to the newest record of the evidence. `unknown` says why the last
    stable offset may be another one, which is not before this one; it is empty where that is known.
    """

    topic: str
    partition: int
    last_stable_offset: int
    end_offset: int
    waiting_records: int
    held_ms: int | None
    transactions: list[OpenOnPartition]
    unknown: str = ""


@dataclass(slots=True)
class NotKnown:
    """A partition of which the log shows nothing open, and that may have something open. `why` is a sentence."""

    topic: str
    partition: int
    at_least: int
    end_offset: int
    why: str


@dataclass(slots=True)
class OpenTransaction:
    """What a coordinator has open. `log_partition` and `offset` say where it began in ``__transaction_state``.

    Of the partitions that it lists, `pending` wait for the marker, `marked` have it, `unread` are not in the evidence;
    before a decision all are pending or unread. `is_certain` is False where later records of the id may be missing.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    since_ms: int | None
    log_partition: int
    offset: int
    timeout_ms: int
    due_ms: int | None
    is_overdue: bool
    pending: list[str]
    marked: list[str]
    unread: list[str]
    is_certain: bool


@dataclass(slots=True)
class StatedOpen:
    """A transaction that is open on a partition according to tools or a snapshot, and that no log has.

    `partition` is None where nothing names it. None elsewhere: the sources do not tell. `told_by` names them; the first
    one is what the other fields follow. `duration_min` is the tool's own, `age_ms` is the time from the last write
    to the newest time of the evidence. `checks` are commands to run before one of `commands`, each with what it has to
    show.
    """

    topic: str
    partition: int | None
    first_offset: int
    producer_id: int
    producer_epoch: int | None
    coordinator_epoch: int | None
    last_written_ms: int | None
    age_ms: int | None
    duration_min: int | None
    as_of_offset: int | None
    told_by: list[str]
    transactional_id: str | None
    state: str | None
    due_ms: int | None
    ended_by: EndedBy
    log_says: str
    waiting_groups: list[str]
    checks: list[tuple[str, str]]
    commands: list[str]


@dataclass(slots=True)
class StatedTransaction:
    """An unfinished transaction of a coordinator, according to a tool; `log_says` compares it with its log."""

    transactional_id: str | None
    producer_id: int
    producer_epoch: int | None
    state: str
    coordinator_id: int | None
    start_ms: int | None
    duration_ms: int | None
    timeout_ms: int | None
    due_ms: int | None
    partitions: list[str] | None
    told_by: str
    log_says: str


@dataclass(slots=True)
class Open:
    """All that is open as of the newest record of the evidence, `as_of_ms`.

    `stated` and `stated_transactions` are open according to tools and snapshots, not to a log. `sources` names
    what they were taken from, also where nothing is open. `unread` names lines of tools, and
    places of damaged snapshots, that were not used: they may hold more. `undecided` names rows of tools that contradict
    each other or a log, where nothing tells which is later. `damage` may hide the end of what is open, `not_known` are
    partitions on which more may be open.
    """

    verdict: Judgement
    as_of_ms: int | None
    partitions: list[HeldPartition]
    transactions: list[OpenTransaction]
    narrowed: Narrowed | None = None
    not_judged: list[NotJudged] = field(default_factory=list)
    stated: list[StatedOpen] = field(default_factory=list)
    stated_transactions: list[StatedTransaction] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    damage: list[DamagedPlace] = field(default_factory=list)
    not_known: list[NotKnown] = field(default_factory=list)
