"""The steps of a recorded sequence: one class for each request, with the versions that are described.

Source: reference §7.5.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from zombieproof.conformance.forms import (
    AddOffsetsToTxnForm,
    AddPartitionsToTxnForm,
    ConsumerGroupHeartbeatForm,
    DescribeTransactionsForm,
    EndTxnForm,
    FetchForm,
    FindCoordinatorForm,
    Form,
    HeartbeatForm,
    InitProducerIdForm,
    JoinGroupForm,
    LeaveGroupForm,
    ListOffsetsForm,
    ListTransactionsForm,
    MetadataForm,
    NodeForm,
    NodeSymbol,
    NothingForm,
    OffsetCommitForm,
    OffsetFetchForm,
    PartitionsForm,
    ProduceForm,
    RestartForm,
    SleepForm,
    SyncGroupForm,
    TxnOffsetCommitForm,
    WaitForm,
    WriteTxnMarkersForm,
)


class Step(Form):
    """What every step says. `version` decides by which rules the request is answered."""

    VERSIONS: ClassVar[range] = range(1)

    client: str
    api: str
    version: int
    request: Form
    answer: dict[str, JsonValue]
    settled: bool
    transient: tuple[int, ...] | None = None
    node: NodeSymbol | None = None
    principal: str | None = None
    connection: str | None = None

    @model_validator(mode="after")
    def _is_of_its_version(self) -> Self:
        legal = self.VERSIONS
        if self.version not in legal:
            raise ValueError(f"version {self.version} is not described here; legal are {legal[0]} to {legal[-1]}")
        for fault in _wrong_fields(self.version, self.request):
            raise ValueError(fault)
        return self


def _wrong_fields(version: int, request: Form) -> Iterator[str]:
    """Fields that this version does not have, or lacks."""
    for name, field in type(request).model_fields.items():
        if not isinstance(field.json_schema_extra, dict):
            continue
        since, until = int(str(field.json_schema_extra["since"])), int(str(field.json_schema_extra["until"]))
        exists, is_given = since <= version <= until, name in request.model_fields_set
        if exists and not is_given:
            yield f"field {name!r} is missing: version {version} has it"
        if is_given and not exists:
            span = f"since {since}" if since else f"until {until}"
            yield f"version {version} has no field {name!r}: it exists {span}"


class InitProducerIdStep(Step):
    """API key 22."""

    VERSIONS = range(7)
    api: Literal["InitProducerId"]
    request: InitProducerIdForm


class AddPartitionsToTxnStep(Step):
    """API key 24."""

    VERSIONS = range(6)
    api: Literal["AddPartitionsToTxn"]
    request: AddPartitionsToTxnForm


class AddOffsetsToTxnStep(Step):
    """API key 25."""

    VERSIONS = range(5)
    api: Literal["AddOffsetsToTxn"]
    request: AddOffsetsToTxnForm


class EndTxnStep(Step):
    """API key 26."""

    VERSIONS = range(6)
    api: Literal["EndTxn"]
    request: EndTxnForm


class ProduceStep(Step):
    """API key 0."""

    VERSIONS = range(3, 14)
    api: Literal["Produce"]
    request: ProduceForm


class WriteTxnMarkersStep(Step):
    """API key 27."""

    VERSIONS = range(1, 3)
    api: Literal["WriteTxnMarkers"]
    request: WriteTxnMarkersForm


class DescribeTransactionsStep(Step):
    """API key 65."""

    api: Literal["DescribeTransactions"]
    request: DescribeTransactionsForm


class ListTransactionsStep(Step):
    """API key 66."""

    VERSIONS = range(3)
    api: Literal["ListTransactions"]
    request: ListTransactionsForm


class DescribeProducersStep(Step):
    """API key 61."""

    api: Literal["DescribeProducers"]
    request: PartitionsForm


class ListOffsetsStep(Step):
    """API key 2."""

    VERSIONS = range(5, 6)
    api: Literal["ListOffsets"]
    request: ListOffsetsForm


class FetchStep(Step):
    """API key 1."""

    VERSIONS = range(11, 18)
    api: Literal["Fetch"]
    request: FetchForm


class TxnOffsetCommitStep(Step):
    """API key 28."""

    VERSIONS = range(6)
    api: Literal["TxnOffsetCommit"]
    request: TxnOffsetCommitForm


class OffsetCommitStep(Step):
    """API key 8."""

    VERSIONS = range(8, 11)
    api: Literal["OffsetCommit"]
    request: OffsetCommitForm


class OffsetFetchStep(Step):
    """API key 9."""

    VERSIONS = range(7, 11)
    api: Literal["OffsetFetch"]
    request: OffsetFetchForm


class JoinGroupStep(Step):
    """API key 11."""

    VERSIONS = range(3, 10)
    api: Literal["JoinGroup"]
    request: JoinGroupForm


class SyncGroupStep(Step):
    """API key 14."""

    VERSIONS = range(3, 6)
    api: Literal["SyncGroup"]
    request: SyncGroupForm


class LeaveGroupStep(Step):
    """API key 13."""

    VERSIONS = range(2, 6)
    api: Literal["LeaveGroup"]
    request: LeaveGroupForm


class HeartbeatStep(Step):
    """API key 12."""

    VERSIONS = range(5)
    api: Literal["Heartbeat"]
    request: HeartbeatForm


class MetadataStep(Step):
    """API key 3."""

    VERSIONS = range(12, 13)
    api: Literal["Metadata"]
    request: MetadataForm


class ConsumerGroupHeartbeatStep(Step):
    """API key 68."""

    api: Literal["ConsumerGroupHeartbeat"]
    request: ConsumerGroupHeartbeatForm


class FindCoordinatorStep(Step):
    """API key 10."""

    VERSIONS = range(3, 4)
    api: Literal["FindCoordinator"]
    request: FindCoordinatorForm


class WaitStep(Step):
    """No request: time."""

    api: Literal["Wait"]
    request: WaitForm


class SleepStep(Step):
    """No request: time."""

    api: Literal["Sleep"]
    request: SleepForm


class RestartStep(Step):
    """No request: a fault."""

    api: Literal["Restart"]
    request: RestartForm


class MoveStep(Step):
    """No request: another node is elected."""

    api: Literal["Move", "Stop", "Kill"]
    request: NodeForm


class ReturnStep(Step):
    """No request: the node that is down comes back."""

    api: Literal["Return"]
    request: NothingForm


AnyStep = Annotated[
    InitProducerIdStep
    | AddPartitionsToTxnStep
    | AddOffsetsToTxnStep
    | EndTxnStep
    | ProduceStep
    | WriteTxnMarkersStep
    | DescribeTransactionsStep
    | ListTransactionsStep
    | DescribeProducersStep
    | ListOffsetsStep
    | FetchStep
    | TxnOffsetCommitStep
    | OffsetCommitStep
    | OffsetFetchStep
    | JoinGroupStep
    | SyncGroupStep
    | LeaveGroupStep
    | HeartbeatStep
    | MetadataStep
    | ConsumerGroupHeartbeatStep
    | FindCoordinatorStep
    | WaitStep
    | SleepStep
    | RestartStep
    | MoveStep
    | ReturnStep,
    Field(discriminator="api"),
]
