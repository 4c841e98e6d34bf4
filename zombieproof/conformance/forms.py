"""What a recorded step says: one form for each API, made of its messages, and those of time and faults.

Everything is strict: a field that is unknown, missing, of another type or of another version is refused.
Source: reference §7.5, §7.6.
"""

from dataclasses import MISSING, fields
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, create_model

from zombieproof.conformance.recorded_names import AS_LISTS, LEFT_OUT, OPTIONAL, name_of
from zombieproof.messages.groups import OffsetToCommit, PlainOffsetToCommit
from zombieproof.messages.partitions import ListOffsets, Produce
from zombieproof.messages.registry import Api
from zombieproof.messages.schema import (
    EVER,
    Entity,
    FieldOfMessage,
    Rows,
    fields_of,
    record_in,
    without_none,
)
from zombieproof.messages.transactions import InitProducerId
from zombieproof.model.access import AclOperation
from zombieproof.model.vocabulary import Isolation

NodeSymbol = Annotated[
    str,
    StringConstraints(pattern=r"^(old-)?(coordinator|group:g\d+|leader:.+-\d+|follower:.+-\d+)$"),
]
"""Who has a role now, or (``old-``) had it before it moved the last time."""

ProducerSymbol = int | Annotated[str, StringConstraints(pattern=r"^p\d+$")]
PartitionSymbol = int | Annotated[str, StringConstraints(pattern=r"^(g\d+)?$")]
"""A number, or for a partition of ``__consumer_offsets`` a group that lives in it."""

Metadata = str | Annotated[int, Field(ge=0, le=1 << 20)] | None
"""An integer is that many ``m``."""

IsolationSymbol = Literal["read_uncommitted", "read_committed"]
"""The two that a request can name."""

PermissionName = Literal["ALLOW", "DENY"]
AclOperationName = Annotated[str, StringConstraints(pattern=f"^({'|'.join(AclOperation.__members__)})$")]
ResourceName = Literal["Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User"]
"""As Kafka's tools say them."""

Epoch = Annotated[int, Field(ge=-(1 << 15), lt=1 << 15)]
Millis = Annotated[int, Field(ge=0, lt=1 << 40)]


class Form(BaseModel):
    """What all forms share: nothing that is not described, and nothing converted."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


# ---------------------------------------------------------------- time, faults, batches


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


class AnsweredForm(Form):
    """The request whose answer was not waited for, by the name that its step has in `later`."""

    of: str


class NodeForm(Form):
    """The node that something happens to."""

    node: NodeSymbol


class NothingForm(Form):
    """A step that says all by its name."""


# ---------------------------------------------------------------- users, rights, connections

AclRow = Annotated[
    tuple[str, PermissionName, AclOperationName, ResourceName, str]
    | tuple[str, PermissionName, AclOperationName, ResourceName, str, Literal["PREFIXED"]],
    Field(union_mode="left_to_right"),
]
"""User, permission, operation, type of resource, name; and whether names that begin so are meant."""


class SecurityForm(Form):
    """Who may do what when a sequence begins: `super` may do everything, and what no row allows is refused."""

    mechanism: Literal["PLAIN"]
    super: tuple[str, ...]
    acls: tuple[AclRow, ...]


class SaslHandshakeForm(Form):
    """A mechanism is named."""

    mechanism: str


class CredentialsForm(Form):
    """A token of PLAIN: of a user with the right password or a wrong one, or any `token` literally."""

    user: str = ""
    password: Literal["right", "wrong"] | None = None
    authzid: str = ""
    token: str | None = None


# ---------------------------------------------------------------- requests


class FieldOfForm(NamedTuple):
    """A field of a recorded request: its name, its type, and the versions that have it."""

    name: str
    kind: Any
    since: int
    until: int
    is_optional: bool


_KINDS: dict[Entity, Any] = {Entity.PRODUCER_ID: ProducerSymbol, Entity.PRODUCER_EPOCH: Epoch}
_KINDS_IN: dict[tuple[type, str], Any] = {
    (OffsetToCommit, "metadata"): Metadata,
    (PlainOffsetToCommit, "metadata"): Metadata,
    (Produce, "partitions"): tuple[BatchesForm, ...],
    (ListOffsets, "partitions"): tuple[tuple[str, PartitionSymbol], ...],
}
_MORE: dict[type, dict[str, Any]] = {InitProducerId: {"repeat": (Annotated[int, Field(ge=1, le=1 << 17)], 1)}}
"""Sent that many times, the last answer counts."""


@cache
def form_of(api: Api) -> type[Form]:
    """The form of the requests of an API."""
    return _made(api.name, api.request, api.versions[0], api.versions[-1])


def recorded_fields(message: type) -> tuple[FieldOfMessage, ...]:
    """The fields of a message, or of a record in it, that recordings have."""
    return tuple(
        each
        for each in fields_of(message)
        if (message, each.name) not in LEFT_OUT and (each.ours is None or (message, each.name) in OPTIONAL)
    )


def _made(name: str, message: type, first: int, last: int) -> type[Form]:
    """A form; what exists in all versions from `first` to `last` has to be there, but for what is optional."""
    described: dict[str, Any] = {}
    for field in _fields(message, 0, EVER):
        if field.is_optional:
            described[field.name] = (field.kind | None, None)
        elif field.since <= first and field.until >= last:
            described[field.name] = (field.kind, ...)
        elif field.until >= first:
            limits: dict[str, JsonValue] = {"since": field.since, "until": field.until}
            described[field.name] = (field.kind | None, Field(default=None, json_schema_extra=limits))
    described |= _MORE.get(message, {})
    return cast("type[Form]", create_model(f"{name}Form", __base__=Form, **described))


def _fields(message: type, since: int, until: int) -> list[FieldOfForm]:
    """What a message or record has between two versions; a record without a row of its own lends its fields."""
    found: list[FieldOfForm] = []
    for field in recorded_fields(message):
        record = record_in(field.kind)
        inlined = [wire for wire in field.wires if not wire.name]
        if record is not None:
            for wire in inlined:
                found += _fields(record, max(wire.since, since), min(wire.until, until))
        own = [wire for wire in field.wires if wire.name]
        first = max(min((wire.since for wire in own), default=0), since)
        last = min(max((wire.until for wire in own), default=EVER), until)
        if first <= last:
            is_optional = (message, field.name) in OPTIONAL
            kind = _kind(message, field, first)
            found.append(FieldOfForm(name_of(message, field.name), kind, first, last, is_optional))
    return found


def _kind(message: type, field: FieldOfMessage, since: int) -> Any:
    """The type of a field in a recording."""
    special = _KINDS_IN.get((message, field.name))
    if special is not None:
        return special
    kind, record = without_none(field.kind), record_in(field.kind)
    found: Any
    if any(isinstance(wire, Rows) for wire in field.wires):
        found = _many(_row(kind, record))
    elif record is not None:
        found = _many(_row_of(record) if record in AS_LISTS else _made(record.__name__, record, since, EVER))
    elif kind is Isolation:
        found = IsolationSymbol
    elif field.entity in _KINDS:
        found = _many(_KINDS[field.entity]) if get_args(kind) else _KINDS[field.entity]
    else:
        found = kind
    return found if kind is field.kind else found | None


def _many(kind: Any) -> Any:
    """A list of as many as there are."""
    return GenericAlias(tuple, (kind, Ellipsis))


def _row(kind: Any, record: type | None) -> Any:
    """A row of partitions: topic, number, and what is said about it."""
    if record is not None:
        return _row_of(record)
    values = get_args(kind)[1:] if getattr(kind, "__origin__", None) is dict else ()
    return GenericAlias(tuple, (str, PartitionSymbol, *values))


def _row_of(record: type) -> Any:
    """A record as a list; its partition is two entries."""
    kinds: list[Any] = []
    for field in fields_of(record):
        if field.ours is not None:
            kinds += [str, PartitionSymbol]
        elif (record, field.name) not in LEFT_OUT:
            kinds.append(_kind(record, field, 0))
    return GenericAlias(tuple, tuple(kinds))


def has_default(message: type, name: str) -> bool:
    """Whether a message can be made without a field."""
    field = next(each for each in fields(message) if each.name == name)
    return field.default is not MISSING
