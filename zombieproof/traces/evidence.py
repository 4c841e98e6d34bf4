"""What was recorded: the small records that every reader of this folder fills, and one body of evidence made of them.

Nothing here judges. A field that a source cannot know is None (or `NONE`, -1, where Kafka itself writes -1).
Batches whose CRC does not match are kept apart (`PartitionLog.unsound`): nothing they say may be believed.
Source: reference §7 (formats), §9 (text dialects).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto

from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.cleared import Cleared
from zombieproof.traces.tool_reports import ToolReports


class EvidenceError(Exception):
    """The command line names something that cannot be evidence at all (a path that does not exist)."""


class Source(StrEnum):
    """Where a log was read from. A segment holds everything; a text dump may hold headers only."""

    SEGMENT = "segment"
    DUMP = "dump"


class Unit(StrEnum):
    """What `Damage.position` counts: bytes from 0, or lines from 1."""

    BYTE = "byte"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Damage:
    """A place that could not be read. Files packed with xz or gzip count bytes of what they hold, unpacked."""

    file: str
    position: int
    message: str
    unit: Unit = Unit.BYTE


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file that is no evidence, and why."""

    file: str
    reason: str


@dataclass(slots=True)
class LoggedRecord:
    """One record of a batch, as a log or a dump shows it; a broker's is `formats.batches.Record`.

    `key` and `value` are None when null in the log, and also when `has_payload` is False: then the source
    (a text dump without payloads) does not show them.
    """

    offset: int
    timestamp_ms: int
    sequence: int
    key: bytes | None
    value: bytes | None
    has_payload: bool = True


@dataclass(frozen=True, slots=True)
class LoggedMarker:
    """The end of a transaction on one partition, as a log or a dump shows it (reference §7.4)."""

    commit: bool
    coordinator_epoch: int


@dataclass(slots=True)
class LoggedBatch:
    """One record batch of magic 2, as a log or a dump shows it (reference §7.3); a broker's is `formats.batches.Batch`.

    `position` and `size` are bytes in the segment. `count` is the number of records left, which after compaction can be
    below `last_offset - base_offset + 1` and even 0. `crc` is None in dialects that do not print it.
    `marker` is None for data and for control batches that end no transaction (leader change, or all records compacted
    away); in a text dump without records also for markers, see `hides_marker`. `records` is None when they
    were not read: they are for internal topics, for batches with fewer records than offsets, and on demand.
    `file` is the segment, or the text dump that shows it.
    """

    base_offset: int
    last_offset: int
    count: int
    base_sequence: int
    last_sequence: int
    producer_id: int
    producer_epoch: int
    partition_leader_epoch: int
    is_transactional: bool
    is_control: bool
    delete_horizon_ms: int | None
    position: int
    max_timestamp_ms: int
    timestamp_type: TimestampType
    size: int
    codec: Codec
    crc: int | None
    is_valid: bool
    file: str
    marker: LoggedMarker | None = None
    records: list[LoggedRecord] | None = None

    @property
    def is_dense(self) -> bool:
        """Whether every offset from base to last still has its record."""
        return self.count == self.last_offset - self.base_offset + 1

    @property
    def hides_marker(self) -> bool:
        """Whether it is a marker of which the source does not show if it commits or aborts.

        Control batches without a producer (a new leader, a KRaft snapshot) are not markers, nor are those that the
        cleaner emptied.
        """
        is_marker = self.is_control and self.is_transactional and self.producer_id != NONE
        return is_marker and self.marker is None and self.records is None and self.count > 0

    def offsets(self) -> list[int]:
        """Offsets of the records; all from base to last where the source does not tell which of them are left."""
        if self.records is None or self.is_dense:
            return list(range(self.base_offset, self.last_offset + 1)) if self.count else []
        return [record.offset for record in self.records]


@dataclass(frozen=True, slots=True)
class OffsetGap:
    """Offsets `first`…`last` between two sound batches (or before the first) that the log does not hold.

    `damaged` tells that an unreadable place stands there; otherwise compaction (or a hand) took them away.
    """

    first: int
    last: int
    damaged: bool


class Holes(Enum):
    """Who took the offsets that are missing inside a log and are not unreadable."""

    CLEANER = auto()
    """The topic is compacted, or nothing speaks against it."""
    UNKNOWN = auto()
    """Nothing shows that the topic is compacted."""
    LOST = auto()
    """The records show that no cleaner was there: batches are lost."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Offsets from `first` on that a log held once and that were not given, and what shows it.

    `last` is None where everything behind may be lost.
    """

    first: int
    last: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A producer snapshot that contradicts the log beside it about offsets `first`…`last`, in words."""

    first: int
    last: int
    why: str


@dataclass(frozen=True, slots=True)
class HoleInCopy:
    """Offsets that `replica` lacks inside its copy of a partition, and that `other` has. `why`: it is no cleaner's."""

    place: TopicPartition
    replica: str
    other: str
    first: int
    last: int
    why: str
    is_judged: bool
    """Whether the copy is the one that is judged."""


@dataclass(slots=True)
class PartitionLog:
    """One copy of one partition: its sound batches by offset.

    `replica` says whose copy it is: the folder `broker-N` above the partition's folder, else the folder itself.
    `start_offset` is the log start (name of the first segment, or the log start checkpoint beside it), `end_offset` the
    offset that the next record would get. `torn_tail` tells that the end was cut: what stood behind `end_offset` is
    unknown. `damaged_at` holds the offset of the next sound batch (or `end_offset`) for each unreadable place.
    `cleaned` is True when a cleaner checkpoint names the partition. `files` are the segments or dumps. `lost` is what
    other evidence shows to be missing, `end_shown_by` what shows that the log was given up to its end (empty: nothing).
    `cleared` is what a screen knows of a log in which nothing is to be found: then `batches` are read when asked for.
    `holes` says who took the offsets that are missing inside, `holes_why` how that is known (`readers.cleaning`);
    `cleaned_to` is the offset up to which a cleaner had come (None: unknown). `is_guessed`: the partition was taken
    from the name of a dump. `is_printed_twice`: two dumps, with and without records, end with the same batch.
    `begin_shown_by` is what shows that it begins at `start_offset` (empty: nothing).
    `open_before` are open transactions that began before, by a producer snapshot; `knows_what_was_open`: no others
    were open there. `contradictions` are snapshots that the log contradicts.
    """

    topic: str
    partition: int
    replica: str
    source: Source
    batches: Sequence[LoggedBatch] = field(default_factory=list)
    unsound: list[LoggedBatch] = field(default_factory=list)
    start_offset: int = 0
    end_offset: int = 0
    torn_tail: bool = False
    cleaned: bool = False
    damaged_at: frozenset[int] = frozenset()
    files: list[str] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    end_shown_by: str = ""
    cleared: Cleared | None = None
    holes: Holes = Holes.CLEANER
    holes_why: str = ""
    cleaned_to: int | None = None
    is_guessed: bool = False
    is_printed_twice: bool = False
    begin_shown_by: str = ""
    open_before: "tuple[ProducerSnapshotEntry, ...]" = ()
    knows_what_was_open: bool = False
    contradictions: list[Contradiction] = field(default_factory=list)

    @property
    def topic_partition(self) -> TopicPartition:
        """Topic and partition number."""
        return (self.topic, self.partition)

    @property
    def is_internal(self) -> bool:
        """Whether Kafka's coordinators write it."""
        return self.topic in (TRANSACTION_STATE, CONSUMER_OFFSETS)

    def gaps(self) -> Iterator[OffsetGap]:
        """Offsets missing between the log start and the last sound batch, in order."""
        if self.cleared is not None and not self.cleared.has_gaps:
            return
        expected = self.start_offset
        for batch in self.batches:
            if batch.base_offset > expected:
                yield OffsetGap(expected, batch.base_offset - 1, batch.base_offset in self.damaged_at)
            expected = max(expected, batch.last_offset + 1)

    def missing(self) -> list[OffsetGap]:
        """Offsets that are missing inside and not unreadable."""
        return [gap for gap in self.gaps() if not gap.damaged]

    def unread_gaps(self) -> Iterator[OffsetGap]:
        """Offsets inside that are missing and were not taken by the cleaner, as far as that is known."""
        if self.damaged_at or self.holes is not Holes.CLEANER:
            yield from (gap for gap in self.gaps() if gap.damaged or self.holes is not Holes.CLEANER)

    @property
    def is_begin_unknown(self) -> bool:
        """Whether there may be batches before `start_offset`, and nothing tells what was open there."""
        return self.start_offset > 0 and not self.begin_shown_by and not self.knows_what_was_open

    @property
    def has_lost_batches(self) -> bool:
        """Whether batches inside are lost that no cleaner took."""
        return self.holes is Holes.LOST

    def signs_of_compaction(self) -> tuple[str, ...]:
        """What in the log itself tells that the cleaner was there, as sentences; empty when nothing does.

        Kafka assigns offsets without gaps, so a gap that no damage explains was made later. Names are never asked.
        """
        signs = ["a cleaner checkpoint names the partition"] if self.cleaned else []
        if self.cleared is not None and not (self.cleared.is_thinned or self.cleared.has_gaps):
            return tuple(signs)
        for batch in self.batches:
            if batch.delete_horizon_ms is not None:
                signs.append(f"the batch at offset {batch.base_offset} carries a delete horizon")
            elif not batch.is_dense:
                signs.append(
                    f"the batch at offset {batch.base_offset} holds {batch.count} records "
                    f"for {batch.last_offset - batch.base_offset + 1} offsets"
                )
        if not self.has_lost_batches:
            signs += [f"offsets {gap.first} to {gap.last} are missing" for gap in self.missing()]
        return tuple(signs)

    @property
    def compacted(self) -> bool:
        """Whether the log itself shows that the cleaner was there (see `signs_of_compaction`)."""
        if self.cleared is not None:
            return self.cleaned or self.cleared.is_thinned or (self.cleared.has_gaps and not self.has_lost_batches)
        return bool(self.signs_of_compaction())


@dataclass(frozen=True, slots=True)
class TransactionLogValue:
    """What the coordinator wrote down about a transactional id (reference §7.1).

    None: the source does not say (text before Kafka 4.1 has no previous and next producer id, start time or client
    version; versions 0 of the value have no tagged fields). `next_producer_id` and `start_ms` are -1 for none.
    """

    producer_id: int
    previous_producer_id: int | None
    next_producer_id: int | None
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    last_update_ms: int
    start_ms: int | None
    client_transaction_version: int | None


@dataclass(frozen=True, slots=True)
class TransactionStateRecord:
    """One record of ``__transaction_state``. `value` None is a tombstone: the id is forgotten.

    `partition`, `offset` and `timestamp_ms` are `NONE` (-1) when the source is a console consumer, which prints none.
    `order` is the place among the records of the same source, ascending; it is the order of events within a partition.
    """

    transactional_id: str
    partition: int
    offset: int
    timestamp_ms: int
    value: TransactionLogValue | None
    file: str
    order: int = 0


@dataclass(frozen=True, slots=True)
class OffsetCommitRecord:
    """One committed offset in ``__consumer_offsets`` (reference §7.2). `offset` and `metadata` are None in a tombstone.

    A transactional commit counts only when the marker of its producer id behind it commits.
    `log_partition` and `log_offset` say where the record stands.
    """

    group: str
    topic: str
    partition: int
    offset: int | None
    metadata: str | None
    timestamp_ms: int
    producer_id: int
    producer_epoch: int
    is_transactional: bool
    log_partition: int
    log_offset: int
    file: str

    @property
    def is_tombstone(self) -> bool:
        """Whether the record forgets the committed offset."""
        return self.offset is None


@dataclass(frozen=True, slots=True)
class ProducerSnapshotEntry:
    """What a partition leader remembered of one producer (reference §3.7, §9.2).

    `last_sequence`, `last_offset` and `offset_delta` describe the newest batch; they are `NONE`, `NONE` and 0 when only
    a marker is known. `current_txn_first_offset` None: no transaction is open.
    `last_timestamp_ms` is that of the newest batch in dumps up to Kafka 2.3.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    current_txn_first_offset: int | None
    last_timestamp_ms: int
    last_sequence: int = NONE
    last_offset: int = NONE
    offset_delta: int = 0


@dataclass(frozen=True, slots=True)
class ProducerSnapshot:
    """Producer state of one partition as of `offset` (all batches below it are folded in)."""

    topic: str
    partition: int
    replica: str
    offset: int
    entries: tuple[ProducerSnapshotEntry, ...]
    file: str


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """One entry of the index of aborted transactions (reference §3.6): offsets in the partition."""

    topic: str
    partition: int
    replica: str
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    file: str


@dataclass(frozen=True, slots=True)
class DiskIdentity:
    """What ``meta.properties`` of a log directory says; None: it does not."""

    folder: str
    cluster_id: str | None
    node_id: int | None


@dataclass(frozen=True, slots=True)
class TopicIdentity:
    """What ``partition.metadata`` of a partition's folder says."""

    folder: str
    topic: str
    partition: int
    topic_id: str


@dataclass(slots=True)
class TopicLife:
    """One topic of a name, from its creation to its deletion, as the cluster's metadata or an operator's calls say.

    Times are in milliseconds, None where they are not known: a topic without `removed_ms` exists. `topic_id` is ""
    where the source has none, `partitions` holds when each partition was created (empty: not known).
    """

    topic: str
    topic_id: str
    created_ms: int | None
    source: str
    removed_ms: int | None = None
    partitions: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncedUpTo:
    """An entry of a ``recovery-point-offset-checkpoint``: all records below `offset` were on the disk in `folder`."""

    folder: str
    place: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class EpochStart:
    """The earliest entry of a ``leader-epoch-checkpoint``: the log that lies in `folder` begins there or before.

    Retention moves the entry together with the log start (``LeaderEpochFileCache.truncateFromStart``).
    """

    folder: str
    offset: int


@dataclass(frozen=True, slots=True)
class Hosted:
    """A line of a broker's log that says that a broker has a copy of a partition.

    `node_id` is None where the line does not name its broker. `end_offset` is the offset of a producer snapshot that
    the line speaks of: the copy reached it. `NONE` where it speaks of none.
    """

    file: str
    line: int
    place: TopicPartition
    node_id: int | None
    end_offset: int = NONE


class Phase(StrEnum):
    """A transition is prepared in memory, then completed when its record is durable (reference §2.4)."""

    PREPARE = "prepare"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class TransitTarget:
    """The target of a coordinator's transition as its DEBUG line prints it. None: the dialect has no such field."""

    producer_id: int
    previous_producer_id: int | None
    next_producer_id: int | None
    producer_epoch: int
    last_producer_epoch: int
    timeout_ms: int
    partitions: frozenset[TopicPartition]
    start_ms: int
    last_update_ms: int
    client_transaction_version: int | None


@dataclass(frozen=True, slots=True)
class CoordinatorLine:
    """One DEBUG line of a coordinator: a transition prepared or completed.

    `timestamp_ms` reads the broker's wall clock as UTC (None where the line has no time). `target` is None in the
    prepare lines of Kafka 4, which name the target state only.
    """

    file: str
    line: int
    timestamp_ms: int | None
    transactional_id: str
    phase: Phase
    from_state: TransactionState
    to_state: TransactionState
    target: TransitTarget | None


LISTED_PLACE = re.compile(r"([a-zA-Z0-9._-]+)-(\d{1,10})", re.ASCII)


@dataclass(frozen=True, slots=True)
class BrokerLine:
    """A statement in the log of a broker, at any level (`readers.broker_statements`).

    `statement` is the name of its row, `fields` what the line says, `text` the same as a sentence. `timestamp_ms` reads
    the broker's wall clock as UTC (None where the line has no time).
    """

    file: str
    line: int
    timestamp_ms: int | None
    statement: str
    fields: Mapping[str, str]
    text: str

    @property
    def transactional_id(self) -> str | None:
        """The transactional id that it is about."""
        return self.fields.get("id")

    @property
    def group(self) -> str | None:
        """The group that it is about."""
        return self.fields.get("group")

    @property
    def producer(self) -> tuple[int, int | None] | None:
        """The producer id that it is about, and the epoch if the line has it."""
        producer_id, epoch = self.fields.get("producer_id"), self.fields.get("epoch")
        return None if producer_id is None else (int(producer_id), None if epoch is None else int(epoch))

    @property
    def places(self) -> frozenset[TopicPartition]:
        """The partitions that it is about, those of coordinators among them."""
        listed = ", ".join(self.fields[name] for name in ("place", "places", "home") if name in self.fields)
        found = {(each[1], int(each[2])) for each in LISTED_PLACE.finditer(listed)}
        if state_partition := self.fields.get("state_partition"):
            found.add((TRANSACTION_STATE, int(state_partition)))
        return frozenset(found)


@dataclass(slots=True)
class UnusedLines:
    """Lines that look like evidence and are not used: why, how many, and the number of the first."""

    reason: str
    count: int
    first: int


@dataclass(slots=True)
class LinesRead:
    """How many lines of a text were used, and those that look like evidence and were not, by reason."""

    file: str
    used: int = 0
    unused: dict[str, UnusedLines] = field(default_factory=dict)

    def leave_out(self, reason: str, line: int) -> None:
        """Count a line that is not used."""
        self.unused.setdefault(reason, UnusedLines(reason, 0, line)).count += 1

    def with_those_of(self, other: "LinesRead") -> "LinesRead":
        """Add what another reader of the same file counts: no line is evidence for both."""
        return LinesRead(self.file, self.used + other.used, self.unused | other.unused)


class ClientFact(StrEnum):
    """What a line of a client's log tells."""

    STATE = "state"
    """The client's own machine moved: `before` and `after` in the client's words."""
    IDENTITY = "identity"
    """The producer id and epoch that it uses from here on."""
    ASKED = "asked"
    """The application called, or the client sends, `after`: begin, commit, abort, init."""
    TOLD = "told"
    """The application was told how call `after` ended: `before` is "ok" or the error."""
    ERROR = "error"
    """It met an error: `after` is the reason, `before` is "fatal", "abortable" or "" where the line does not say."""
    FAILED = "failed"
    """A batch or an offset commit failed: `before` is its partition, `after` the reason."""
    WAITED = "waited"
    """It waited for `after` in vain: `waited_ms` long, at most `limit_ms`."""
    LIMIT = "limit"
    """Its transactions may take `limit_ms`: transaction.timeout.ms."""
    NOTE = "note"
    """Something else about its transactions: `after` is a phrase whose subject is the client."""


@dataclass(frozen=True, slots=True)
class ClientLine:
    """One line of the log of a client.

    `client` is the client's name as printed, or that of its library where a line has none. `transactional_id` is None
    in lines without it, as those of librdkafka. `timestamp_ms` reads a wall clock as UTC. `producer_id`,
    `producer_epoch`, `waited_ms` and `limit_ms` are `NONE` where the line has none. `library` names the client library
    ("" is the Java client), `code` the error by Kafka's name ("" where it has none that is known).
    """

    file: str
    line: int
    timestamp_ms: int | None
    client: str
    transactional_id: str | None
    fact: ClientFact
    before: str
    after: str
    producer_id: int = NONE
    producer_epoch: int = NONE
    library: str = ""
    code: str = ""
    waited_ms: int = NONE
    limit_ms: int = NONE

    @property
    def is_java(self) -> bool:
        """Whether the Java client printed it, whose machine is the protocol's."""
        return self.library in {"", "the Java client"}


@dataclass(frozen=True, slots=True)
class ClientCall:
    """What an application asked and was told: one line of a ``client.jsonl``.

    `result` is JSON as recorded: "ok" or another word, an object, or an object with an ``error``.
    """

    file: str
    line: int
    timestamp_ms: int | None
    client: str
    action: str
    args: dict[str, object]
    result: object

    @property
    def transactional_id(self) -> str | None:
        """The transactional id it was about, if any."""
        found = self.args.get("transactional_id")
        return found if isinstance(found, str) else None

    @property
    def error(self) -> str | None:
        """The error it was told, or None when it was told success (or something that is neither)."""
        if isinstance(self.result, dict):
            found = self.result.get("error")
            return found if isinstance(found, str) and found != "NONE" else None
        return None


@dataclass(frozen=True, slots=True)
class ClientOutcome:
    """What one application wrote in one transaction, asked for and was told: a summarised line of a ``client.jsonl``.

    `records` are (partition, offset) as acknowledged; the topic is not recorded. `asked` is commit or abort.
    """

    file: str
    line: int
    transactional_id: str
    transaction: int
    records: tuple[tuple[int, int], ...]
    asked: str
    told: str


@dataclass(slots=True)
class Evidence:
    """Everything that was read from one command line, each log once.

    `lines` counts the lines of texts, used or not.

    `logs` holds each partition's copies, the one to judge first (segments before dumps, then the longest); copies whose
    batches are all in a better one are left out. `transaction_states` and `offset_commits` come from the first copy of
    each internal partition, in log order. `left_out` are topics of which logs are there and were not read, on request.
    `named_offsets` holds, by replica and partition, the largest offset in the name of an index beside a segment.
    `dialects` holds what the files are written in, and which files. `agreements` holds pairs of folders of which one
    repeats a log of the other. `present_topics` are all topics of the cluster and how many partitions each has, where a
    ``cluster.json`` was given, and `unreplicated` are their partitions with one replica. `cleanup_policies` are the
    values of that setting, by topic, where a source has it. `synced` is what checkpoints say of synced records.
    `lines` counts the lines of texts that were used, and those that were not.
    `reports` is what tools printed, `holes_in_copies` what single copies of a partition lack.
    """

    files: list[str] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    logs: list[PartitionLog] = field(default_factory=list)
    transaction_states: list[TransactionStateRecord] = field(default_factory=list)
    offset_commits: list[OffsetCommitRecord] = field(default_factory=list)
    snapshots: list[ProducerSnapshot] = field(default_factory=list)
    aborted_transactions: list[AbortedTransaction] = field(default_factory=list)
    coordinator_lines: list[CoordinatorLine] = field(default_factory=list)
    broker_lines: list[BrokerLine] = field(default_factory=list)
    client_lines: list[ClientLine] = field(default_factory=list)
    client_calls: list[ClientCall] = field(default_factory=list)
    client_outcomes: list[ClientOutcome] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    disks: list[DiskIdentity] = field(default_factory=list)
    topic_identities: list[TopicIdentity] = field(default_factory=list)
    topic_lives: list[TopicLife] = field(default_factory=list)
    present_topics: dict[str, int] | None = None
    unreplicated: set[TopicPartition] = field(default_factory=set)
    cleanup_policies: dict[str, str] = field(default_factory=dict)
    synced: list[SyncedUpTo] = field(default_factory=list)
    epoch_starts: list[EpochStart] = field(default_factory=list)
    hosted: list[Hosted] = field(default_factory=list)
    named_offsets: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)
    lines: list[LinesRead] = field(default_factory=list)
    dialects: dict[str, list[str]] = field(default_factory=dict)
    agreements: set[frozenset[str]] = field(default_factory=set)
    reports: ToolReports = field(default_factory=ToolReports)
    holes_in_copies: list[HoleInCopy] = field(default_factory=list)

    def replicas(self, topic: str, partition: int) -> list[PartitionLog]:
        """All differing copies of a partition, the one to judge first; empty when none was read."""
        return [log for log in self.logs if log.topic_partition == (topic, partition)]

    def copies(self) -> dict[TopicPartition, list[PartitionLog]]:
        """All differing copies of every partition, the one to judge first."""
        found: dict[TopicPartition, list[PartitionLog]] = {}
        for log in self.logs:
            found.setdefault(log.topic_partition, []).append(log)
        return found

    def log(self, topic: str, partition: int) -> PartitionLog | None:
        """The copy of a partition to judge, or None when none was read."""
        return next((log for log in self.logs if log.topic_partition == (topic, partition)), None)

    def partition_logs(self) -> dict[TopicPartition, PartitionLog]:
        """The copy to judge of every partition, internal ones too, ordered by topic and partition."""
        chosen: dict[TopicPartition, PartitionLog] = {}
        for log in self.logs:
            chosen.setdefault(log.topic_partition, log)
        return dict(sorted(chosen.items()))

    def histories(self) -> dict[str, list[TransactionStateRecord]]:
        """Records of ``__transaction_state`` of each transactional id, in log order."""
        found: dict[str, list[TransactionStateRecord]] = {}
        for record in self.transaction_states:
            found.setdefault(record.transactional_id, []).append(record)
        return found

    def life_of(self, topic: str) -> TopicLife | None:
        """The present topic of a name, or the last one if all are deleted; None where no source tells of one."""
        lives = [life for life in self.topic_lives if life.topic == topic]
        ids = {each.topic_id for each in self.topic_identities if each.topic == topic}
        if len(ids) == 1 and any(life.topic_id in ids for life in lives):
            lives = [life for life in lives if life.topic_id in ids]
        return lives[-1] if lives else None

    def created_ms(self, place: TopicPartition) -> int | None:
        """When the partition was created that has this name at present; None where no source tells."""
        life = self.life_of(place[0])
        return None if life is None else life.partitions.get(place[1], life.created_ms)

    def is_gone(self, place: TopicPartition) -> bool:
        """Whether the topic is deleted, or the one that has its name at present has no such partition."""
        if self.present_topics is not None:
            return place[1] >= self.present_topics.get(place[0], 0)
        life = self.life_of(place[0])
        if life is None:
            return False
        return life.removed_ms is not None or bool(life.partitions and place[1] not in life.partitions)
