"""What a recorded request says: one form for each API, with the versions in which each field exists.

Everything is strict: a field that is unknown, missing, of another type or of another version is refused.
Source: reference §7.5, §7.6.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NodeSymbol = Annotated[
    str,
    StringConstraints(pattern=r"^(old-)?(coordinator|group:g\d+|leader:.+-\d+|follower:.+-\d+)$"),
]
"""Who has a role now, or (``old-``) had it before it moved the last time."""

ProducerSymbol = int | Annotated[str, StringConstraints(pattern=r"^p\d+$")]
PartitionSymbol = int | Annotated[str, StringConstraints(pattern=r"^(g\d+)?$")]
"""A number, or for a partition of ``__consumer_offsets`` a group that lives in it."""

PartitionRow = tuple[str, PartitionSymbol]
OffsetRow = tuple[str, int, int, str | Annotated[int, Field(ge=0, le=1 << 20)] | None]
"""Topic, partition, offset, metadata; an integer is that many ``m``."""

Epoch = Annotated[int, Field(ge=-(1 << 15), lt=1 << 15)]
Millis = Annotated[int, Field(ge=0, lt=1 << 40)]


class Form(BaseModel):
    """What all forms share: nothing that is not described, and nothing converted."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def versions(since: int = 0, until: int = 1 << 15) -> Any:
    """A field that exists in these versions of its request only."""
    return Field(default=None, json_schema_extra={"since": since, "until": until})


class InitProducerIdForm(Form):
    """`repeat`: sent that many times, the last answer counts."""

    transactional_id: str | None
    timeout_ms: int
    pid: ProducerSymbol | None = versions(since=3)
    epoch: Epoch | None = versions(since=3)
    enable_2pc: bool | None = versions(since=6)
    keep_prepared: bool | None = versions(since=6)
    repeat: Annotated[int, Field(ge=1, le=1 << 17)] = 1


class AddedForm(Form):
    """One transaction of a request of a broker."""

    transactional_id: str
    pid: ProducerSymbol
    epoch: Epoch
    verify_only: bool
    partitions: tuple[PartitionRow, ...]


class AddPartitionsToTxnForm(Form):
    """Of a client up to version 3, of a broker from version 4 on."""

    transactional_id: str | None = versions(until=3)
    pid: ProducerSymbol | None = versions(until=3)
    epoch: Epoch | None = versions(until=3)
    partitions: tuple[PartitionRow, ...] | None = versions(until=3)
    transactions: tuple[AddedForm, ...] | None = versions(since=4)


class AddOffsetsToTxnForm(Form):
    """The group whose offsets join a transaction."""

    transactional_id: str | None
    pid: ProducerSymbol
    epoch: Epoch
    group: str


class EndTxnForm(Form):
    """Commit or abort."""

    transactional_id: str | None
    pid: ProducerSymbol
    epoch: Epoch
    committed: bool


class BatchForm(Form):
    """A batch; `control`, `base_offset`, `last_offset_delta` and `corrupt` make it one that is refused."""

    pid: ProducerSymbol
    epoch: Epoch
    base_sequence: int
    transactional: bool
    values: tuple[str, ...]
    control: Literal["COMMIT", "ABORT"] | None = None
    base_offset: int = 0
    last_offset_delta: int | None = None
    corrupt: bool = False


class BatchesForm(Form):
    """The batches of one partition."""

    topic: str
    partition: PartitionSymbol
    batches: tuple[BatchForm, ...]


class ProduceForm(Form):
    """Batches for some partitions."""

    transactional_id: str | None
    acks: int
    partitions: tuple[BatchesForm, ...]


class MarkerForm(Form):
    """A marker for some partitions; `tv` is the transaction version that it says (version 2 and up)."""

    pid: ProducerSymbol
    epoch: Epoch
    committed: bool
    coordinator_epoch: int
    partitions: tuple[PartitionRow, ...]
    tv: int | None = None


class WriteTxnMarkersForm(Form):
    """Markers, sent as another broker."""

    markers: tuple[MarkerForm, ...]


class DescribeTransactionsForm(Form):
    """Transactional ids."""

    transactional_ids: tuple[str, ...]


class ListTransactionsForm(Form):
    """Filters; empty ones let everything through."""

    states: tuple[str, ...]
    pids: tuple[ProducerSymbol, ...]
    duration: int | None = versions(since=1)


class PartitionsForm(Form):
    """Partitions."""

    partitions: tuple[PartitionRow, ...]


class ListOffsetsForm(Form):
    """Partitions whose latest offset is asked for."""

    isolation: Literal["read_uncommitted", "read_committed"]
    partitions: tuple[PartitionRow, ...]


class FetchForm(Form):
    """Topic, partition and offset to read from."""

    isolation: Literal["read_uncommitted", "read_committed"]
    partitions: tuple[tuple[str, int, int], ...]


class TxnOffsetCommitForm(Form):
    """Offsets that join a transaction."""

    transactional_id: str | None
    group: str
    pid: ProducerSymbol
    epoch: Epoch
    offsets: tuple[OffsetRow, ...]
    generation: int | None = versions(since=3)
    member: str | None = versions(since=3)
    instance: str | None = versions(since=3)


class OffsetCommitForm(Form):
    """Offsets outside of any transaction."""

    group: str
    generation: int
    member: str
    offsets: tuple[OffsetRow, ...]
    instance: str | None = None


class HeartbeatForm(Form):
    """A member of a classic group is alive."""

    group: str
    member: str
    generation: int
    instance: str | None = versions(since=3)


class MetadataForm(Form):
    """Topics; `by_id`: asked for by their ids."""

    topics: tuple[str, ...]
    by_id: bool = False


class OffsetFetchForm(Form):
    """Partitions whose committed offsets are asked for; None: all."""

    group: str
    require_stable: bool
    partitions: tuple[tuple[str, int], ...] | None


class JoinGroupForm(Form):
    """Member "": a new one."""

    group: str
    member: str
    instance: str | None = None


class SyncGroupForm(Form):
    """The member that takes its assignment."""

    group: str
    member: str
    generation: int
    instance: str | None = None


class LeaveGroupForm(Form):
    """The member that leaves; from version 3 on members, each with its static instance."""

    group: str
    member: str | None = versions(until=2)
    members: tuple[tuple[str, str | None], ...] | None = versions(since=3)


class ConsumerGroupHeartbeatForm(Form):
    """Epoch 0 joins, -1 leaves."""

    group: str
    member: str
    epoch: int
    topics: tuple[str, ...] | None = None


class FindCoordinatorForm(Form):
    """Key type 0 is a group, 1 a transactional id."""

    key: str
    key_type: int


class WaitForm(Form):
    """Time passes; the broker aborts the transaction by itself."""

    transactional_id: str
    ms: Millis


class SleepForm(Form):
    """Time passes."""

    ms: Millis


class RestartForm(Form):
    """All brokers end in this way and start again."""

    how: Literal["clean", "crash"]


class NodeForm(Form):
    """The node that something happens to."""

    node: NodeSymbol


class NothingForm(Form):
    """A step that says all by its name."""
