"""What `replay` answers: models of its JSON, and the faults from which findings are made.

The JSON is a contract: fields are added, never renamed or taken away.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from zombieproof.traces.circumstances import Circumstances
from zombieproof.traces.evidence import TopicPartition, Unit
from zombieproof.traces.explaining.models import Explanation
from zombieproof.traces.promises import PROMISES


class Judgement(StrEnum):
    """The verdict about a recorded history."""

    CONFORMS = "conforms"
    VIOLATES = "violates"
    DAMAGED = "damaged"


class Outcome(StrEnum):
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
    outcome: Outcome
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


class Report(_Data):
    """The answer of `replay`.

    `committed` holds the offsets that a read_committed consumer gets and `lso` the last stable offset, by
    "topic-partition" (all partitions but those of ``__transaction_state``). `group_offsets` holds the committed
    offset by group and "topic-partition". `narrowed` is None when everything was asked for.
    """

    verdict: Judgement
    findings: list[Finding]
    damage: list[DamagedPlace]
    transactions: list[TransactionSummary]
    committed: dict[str, list[int]]
    lso: dict[str, int]
    group_offsets: dict[str, dict[str, int]]
    narrowed: Narrowed | None = None


@dataclass(slots=True)
class Fault:
    """A broken promise while it is being established: consequences of the same fault are added to it.

    `place` is None for a fault of a transactional id alone. `repeated` counts further steps with the same fault.
    """

    promise: str
    message: str
    transactional_id: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    place: TopicPartition | None = None
    offset: int | None = None
    consequences: list[str] = field(default_factory=list)
    repeated: int = 0
    last_offset: int | None = None
    circumstances: Circumstances = field(default_factory=Circumstances)

    def __post_init__(self) -> None:
        assert self.promise in PROMISES, self.promise

    def add(self, consequence: str) -> None:
        """Say once more what follows from this fault."""
        if consequence not in self.consequences:
            self.consequences.append(consequence)

    def finding(self) -> Finding:
        """The finding that is reported."""
        again = f" (and {self.repeated} more like it, up to offset {self.last_offset})" if self.repeated else ""
        topic, partition = self.place or (None, None)
        return Finding(
            promise=self.promise,
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            topic=topic,
            partition=partition,
            offset=self.offset,
            message="; ".join([self.message + again, *self.consequences]),
            circumstances=self.circumstances,
        )


def named(place: TopicPartition) -> str:
    """A topic partition as people and Kafka's tools write it."""
    return f"{place[0]}-{place[1]}"
