"""What is known of a fault beside its sentence, as data: of what shape it is, which records, and what became of them.

Judges fill it while they find; `explaining` reads it. Nothing here is an opinion about causes.
"""

from dataclasses import dataclass, field
from enum import StrEnum

SPANS_MAX = 1_000
"""Further spans of a fault that repeats are counted, not listed."""


class Harm(StrEnum):
    """What became of the records that a fault is about."""

    NONE = "none"
    """No record has another fate than it should."""
    LOST = "lost"
    """They were committed, or told to be, and read_committed never shows them."""
    VISIBLE = "visible"
    """They should not be visible to read_committed, and are."""
    DOUBLED = "doubled"
    """They are in the log twice."""
    MISSING = "missing"
    """They never came into the log, though what followed them did."""
    STUCK = "stuck"
    """They are open at the end of the log and hold the last stable offset back."""
    DISCARDED = "discarded"
    """They were aborted by a marker that carries out no decision about them."""
    UNKNOWN = "unknown"
    """The evidence does not tell."""


class Shape(StrEnum):
    """What is wrong, told apart where a promise can be broken in several ways."""

    MARKER_MISSING = "the marker is missing"
    MARKER_CONTRARY = "the marker says the opposite of the decision"
    MARKERS_DIFFER = "markers of one transaction differ"
    MARKER_UNLISTED = "the marker is on a partition that is not listed"
    MARKER_EPOCH = "the marker has another epoch than was decided"
    MARKER_EARLY = "the marker ends a transaction that is not decided"
    MARKER_UNDECIDED = "nobody decided the marker"
    MARKER_FENCED = "the marker is of an older producer epoch"
    MARKER_DEPOSED = "the marker is of an older coordinator epoch"
    DATA_LATE = "data behind the marker of its own transaction"
    DATA_UNLISTED = "data on a partition that is not listed"
    DATA_UNKNOWN = "data of an epoch without a transaction"
    DATA_FENCED = "data of an older producer epoch"
    DATA_PLAIN = "plain data inside a transaction"
    SEQUENCE_GAP = "a sequence is missing"
    SEQUENCE_REPEATED = "a sequence is there twice"
    RECORD_ILLEGAL = "a record of the coordinator makes an illegal move"
    RECORD_ODD = "a record of the coordinator holds what no decision writes"
    RECORD_EPOCH = "a record of the coordinator has a lower epoch"
    COORDINATOR_LINE = "a coordinator reports an illegal move"
    CLIENT_LINE = "a client reports an illegal move"
    LINE_WITHOUT_RECORD = "a coordinator reports a transition that is not in its log"
    TOLD_COMMITTED = "an application was told committed"
    TOLD_ABORTED = "an application was told aborted"
    TOLD_UNDECIDED = "an application was told an end that nobody decided"
    TOLD_NOTHING = "an application was told nothing, and part of its transaction counts"
    ABSENT = "an acknowledged record is not in the log"
    COPIES_DIFFER = "copies differ"
    INDEX_LACKS = "the index lacks an aborted transaction"
    INDEX_INVENTS = "the index has an aborted transaction that the log has not"


@dataclass(slots=True)
class MarkerSeen:
    """A marker in the log. `commits` is None where the source does not show what it decides."""

    commits: bool | None
    producer_epoch: int
    offset: int
    timestamp_ms: int

    @property
    def kind(self) -> str:
        """What it says."""
        return "control" if self.commits is None else "COMMIT" if self.commits else "ABORT"


@dataclass(slots=True)
class CoordinatorDecision:
    """What the coordinator decided about a transaction, and when; offsets are of ``__transaction_state``.

    `commits` is None while it is open, or where the log does not tell. Times are the coordinator's, in ms.
    """

    commits: bool | None
    marker_epoch: int | None
    log_partition: int
    prepared_at: int | None = None
    prepared_ms: int | None = None
    completed_at: int | None = None
    completed_ms: int | None = None


@dataclass(slots=True)
class Circumstances:
    """What a judge knows of a fault. None and empty: it does not apply, or the evidence does not tell.

    `spans` are first and last offset of the data, or of the marker, that the fault is about; batches of other producers
    may lie between. `elsewhere` says in words where more of it is, on other partitions. `data_epoch` is the producer
    epoch of that data, `opened_at` the offset at which the transaction opened that holds it. `file` and `line` are
    those of a log line. `answered_ms` is when the application was answered about the end of its transaction.
    """

    shape: Shape | None = None
    harm: Harm = Harm.NONE
    spans: list[tuple[int, int]] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    data_epoch: int | None = None
    decided: CoordinatorDecision | None = None
    ended_by: MarkerSeen | None = None
    opened_at: int | None = None
    expected_epoch: int | None = None
    expected_sequence: int | None = None
    found_sequence: int | None = None
    repeats_offset: int | None = None
    moved_from: str | None = None
    moved_to: str | None = None
    answered_ms: int | None = None
    file: str | None = None
    line: int | None = None
    timestamp_ms: int | None = None

    def add_span(self, first: int, last: int) -> None:
        """More data of the same fault."""
        if self.spans and self.spans[-1][1] + 1 == first:
            self.spans[-1] = (self.spans[-1][0], last)
        elif len(self.spans) < SPANS_MAX:
            self.spans.append((first, last))


def harm_of_end(should_commit: bool | None, ending: MarkerSeen | None) -> Harm:
    """What became of data that should be committed (False: aborted, None: not known), by the marker that ended it."""
    if ending is None:
        return Harm.STUCK
    if should_commit is None or ending.commits is None:
        return Harm.UNKNOWN
    if should_commit == ending.commits:
        return Harm.NONE
    return Harm.LOST if should_commit else Harm.VISIBLE
