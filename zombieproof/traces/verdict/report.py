"""What `replay` answers: models of its JSON.

The JSON is a contract: fields are added, never renamed or taken away.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.evidence import Unit
from zombieproof.traces.verdict.circumstances import Circumstances
from zombieproof.traces.verdict.explanation import Explanation
from zombieproof.traces.verdict.listed import ListedTransactions, OrListed


class Judgement(StrEnum):
    """The verdict about a recorded history."""

    CONFORMS = "conforms"
    VIOLATES = "violates"
    DAMAGED = "damaged"


class TransactionOutcome(StrEnum):
    """How a transaction ended. UNKNOWN: the record that says so is not in the evidence."""

    COMMIT = "commit"
    ABORT = "abort"
    OPEN = "open"
    UNKNOWN = "unknown"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Finding(_Data):
    """A broken promise and where. What does not apply, or the evidence does not tell, is None.

    `circumstances` are facts of the judge, `explanation` is there once the finding was explained (`explaining`).
    """

    promise: str
    transactional_id: str | None
    producer_id: int | None
    producer_epoch: int | None
    topic: str | None
    partition: int | None
    offset: int | None
    message: str
    circumstances: Circumstances | None = None
    explanation: Explanation | None = None


class DamagedPlace(_Data):
    """A place that could not be read; `position` counts bytes from 0 or lines from 1, as `unit` says."""

    file: str
    position: int
    unit: Unit
    message: str


class TransactionSummary(_Data):
    """One transaction. `producer_epoch` is the epoch of its data, `transactional_id` None without coordinator's log."""

    transactional_id: str | None
    producer_id: int
    producer_epoch: int | None
    outcome: TransactionOutcome
    partitions: list[str]


class Narrowed(_Data):
    """What was asked for, and how much was left out of the report for it.

    `topics` are patterns, `left_out` topics of which logs are there and were not read. The window includes both ends,
    in milliseconds; last stable offsets and what is committed are those of the whole logs.
    """

    topics: list[str]
    left_out: list[str]
    since_ms: int | None
    until_ms: int | None
    findings_left_out: int
    transactions_left_out: int


class JudgedPartition(_Data):
    """A partition that was judged: offsets `first_offset` up to, not including, `end_offset` of the copy in `files`.

    `copies` counts those that differ in content; `source` is segment or dump. `end_shown_by` says what shows that the
    copy goes up to the end of the log; None: nothing does.
    """

    partition: str
    first_offset: int
    end_offset: int
    copies: int
    source: str
    files: list[str]
    end_shown_by: str | None


class EarlierLog(_Data):
    """A partition that had a log before its present one, or has none any more, because its topic was deleted.

    `count` transactions and records of `partition` belong to that log: they are not expected in the present one, which
    existed at `present_began_ms` (milliseconds since 1970; None: the partition does not exist any more).
    """

    partition: str
    count: int
    present_began_ms: int | None


class FileNotRead(_Data):
    """A file that is no evidence, and why."""

    file: str
    reason: str


class UnusedOfFile(_Data):
    """Lines of a text that look like evidence and were not used: why, how many, and the number of the first."""

    reason: str
    count: int
    first_line: int


class LinesOfFile(_Data):
    """How many lines of a text were used, and those that look like evidence and were not."""

    file: str
    used: int
    unused: list[UnusedOfFile]


class Judged(_Data):
    """What a verdict is about. `written_in` are the formats and dialects of text that were recognised.

    `compacted` names partitions of other than internal topics, and the offsets that the cleaner took from them.
    `lines` counts the lines of texts that were used, and those that were not.
    """

    partitions: list[JudgedPartition] = []
    transactional_ids: list[str] = []
    written_in: list[str] = []
    compacted: list[str] = []
    files_read: list[str] = []
    files_not_read: list[FileNotRead] = []
    lines: list[LinesOfFile] = []


class Gap(StrEnum):
    """Why something was not judged."""

    MISSING = "missing"
    """Evidence names it, and it was not given."""
    UNREADABLE = "unreadable"
    """It was given, and a part of it is damaged, cut or lost."""
    HIDDEN = "hidden"
    """It was given in a form that does not show it."""
    EVERYTHING = "everything"
    """Nothing was given that can be judged."""
    CLUSTERS = "clusters"
    """It is of several clusters."""


class NotJudged(_Data):
    """A part of the history about which the verdict says nothing.

    `name` is a topic-partition, or "__transaction_state" where the number of its partition is not known. Offsets are
    None where the whole is meant; `last_offset` is None also where everything behind `first_offset` is. `fetch` says
    what would be needed. `accepted`: the caller said that it need not be judged.
    """

    name: str
    gap: Gap
    first_offset: int | None = None
    last_offset: int | None = None
    why: str
    fetch: str
    accepted: bool = False


class StatedPosition(_Data):
    """The position of a group as a tool reports it; `group` None: the source does not name it.

    `is_record`: a console consumer printed the record of the commit, whose transaction may be open or aborted.
    """

    group: str | None
    partition: str
    offset: int
    end_offset: int | None
    lag: int | None
    committed_ms: int | None
    is_record: bool
    told_by: str


class StatedEnd(_Data):
    """An offset that a tool reports of a partition: its end, or its last stable offset."""

    partition: str
    offset: int
    told_by: str


class StatedByTools(_Data):
    """Output of Kafka's tools, and snapshots of partitions without a log.

    `snapshots` are sentences, one for each. `unfinished` counts their open transactions.
    `agreed` counts states and offsets that a log has as well, `compared` are sentences on those that differ; they are
    no findings. `notes` say what was not used.
    """

    positions: list[StatedPosition] = []
    ends: list[StatedEnd] = []
    snapshots: list[str] = []
    unfinished: int = 0
    agreed: int = 0
    compared: list[str] = []
    notes: list[str] = []


class ClientError(_Data):
    """An error that a client's log tells, and its first line; `count` lines tell the same.

    `severity` is fatal, abortable, failed write, timeout, retried (the client asks again) or error. `code` is Kafka's
    name, "" where the client gives none. `open_ms` says how long the transaction was open by then, `limit_ms` how long
    it, or the request, may last; `timed_out` that the coordinator had to abort it. `fenced_by` names the client that
    took its place, where a log shows it. `means`, `next_step` and `collect` are for people.
    """

    severity: str
    code: str
    reason: str
    file: str
    line: int
    timestamp_ms: int | None
    count: int
    open_ms: int | None
    limit_ms: int | None
    timed_out: bool
    fenced_by: str | None
    means: str
    next_step: str
    collect: str


class ClientSeen(_Data):
    """A client whose log was read: `producers` are its producer ids with their epochs, as 7:3, in order."""

    client: str
    library: str
    file: str
    transactional_ids: list[str]
    producers: list[str]
    errors: list[ClientError]


class Report(_Data):
    """The answer of `replay`.

    The verdict is about what is in `judged`; about what is in `not_judged` it says nothing.
    `committed` holds the offsets that a read_committed consumer gets and `lso` the last stable offset, by
    "topic-partition" (all partitions but those of ``__transaction_state``). `group_offsets` holds the committed
    offset by group and "topic-partition". `narrowed` is None when everything was asked for. `earlier_logs` counts what
    belongs to topics that were deleted. `stated` is what tools report, None without their output; positions of groups
    that no log has are in `group_offsets` too. `clients` are those whose logs were read: what they say is not judged.
    `clients_unseen` says what the logs alone cannot show; empty where something of clients was given. `lso_at_least`
    and `committed_at_least` name partitions of which the evidence hides an outcome: the last stable offset, or the
    committed records, may be more than those listed.
    """

    verdict: Judgement
    findings: list[Finding]
    damage: list[DamagedPlace]
    transactions: Annotated[Sequence[TransactionSummary], OrListed()]
    committed: dict[str, Annotated[Sequence[int], OrListed()]]
    lso: dict[str, int]
    group_offsets: dict[str, dict[str, int]]
    narrowed: Narrowed | None = None
    judged: Judged = Judged()
    not_judged: list[NotJudged] = []
    earlier_logs: list[EarlierLog] = []
    stated: StatedByTools | None = None
    clients_unseen: str = ""
    lso_at_least: list[str] = []
    committed_at_least: list[str] = []
    clients: list[ClientSeen] = []

    @property
    def is_in_full(self) -> bool:
        """Whether everything that the evidence names was judged, or need not be."""
        return all(gap.accepted for gap in self.not_judged)

    def outcomes(self) -> Counter[TransactionOutcome]:
        """How many transactions ended in which way."""
        listed = self.transactions
        if isinstance(listed, ListedTransactions) and listed.counts is not None:
            return Counter({TransactionOutcome(outcome): count for outcome, count in listed.counts.items()})
        return Counter(transaction.outcome for transaction in listed)


def named(place: TopicPartition) -> str:
    """A topic partition as people and Kafka's tools write it; without a number that is not known."""
    return place[0] if place[1] < 0 else f"{place[0]}-{place[1]}"
