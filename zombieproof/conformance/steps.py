"""The steps of a recorded sequence: one class for each request of the registry, and those of time and faults.

Source: reference §7.5.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, Union, cast

from pydantic import Field, JsonValue, create_model, model_validator

from zombieproof.conformance.forms import (
    AnsweredForm,
    CredentialsForm,
    Form,
    NodeForm,
    NodeSymbol,
    NothingForm,
    RestartForm,
    SaslHandshakeForm,
    SleepForm,
    WaitForm,
    form_of,
)
from zombieproof.messages.registry import APIS, Api, Receiver


class Step(Form):
    """What every step says. `version` decides by which rules the request is answered.

    `later`: its answer was not waited for; a later `Answered` tells what had come by then.
    """

    API: ClassVar[Api | None] = None
    """None: it is no request to a broker."""
    VERSIONS: ClassVar[range] = range(1)
    """Those that are described, where it is none."""

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
    later: str | None = None

    @model_validator(mode="after")
    def _is_of_its_version(self) -> Self:
        legal = self.VERSIONS if self.API is None else self.API.versions
        if self.version not in legal:
            raise ValueError(f"version {self.version} is not described here; legal are {legal[0]} to {legal[-1]}")
        for fault in _wrong_fields(self.version, self.request):
            raise ValueError(fault)
        if self.principal is not None and self.connection is not None:
            raise ValueError("a step is sent by a principal or over a connection, whose principal is who logged in")
        if self.connection is None and isinstance(self, ON_CONNECTIONS):
            raise ValueError("it says nothing without a connection; legal is any name in `connection`")
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


class WaitStep(Step):
    """No request: time."""

    api: Literal["Wait"]
    request: WaitForm


class SleepStep(Step):
    """No request: time."""

    api: Literal["Sleep"]
    request: SleepForm


class AnsweredStep(Step):
    """No request: what has come of one that was not waited for."""

    api: Literal["Answered"]
    request: AnsweredForm


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


class ApiVersionsStep(Step):
    """On a connection: which versions there are. Any version may be asked for."""

    VERSIONS = range(1 << 15)
    api: Literal["ApiVersions"]
    request: NothingForm


class SaslHandshakeStep(Step):
    """On a connection: a mechanism is named."""

    VERSIONS = range(2)
    api: Literal["SaslHandshake"]
    request: SaslHandshakeForm


class SaslAuthenticateStep(Step):
    """On a connection: a token by a request."""

    VERSIONS = range(3)
    api: Literal["SaslAuthenticate"]
    request: CredentialsForm


class SaslTokenStep(Step):
    """On a connection: a token without a header."""

    api: Literal["SaslToken"]
    request: CredentialsForm


ON_CONNECTIONS = (ApiVersionsStep, SaslHandshakeStep, SaslAuthenticateStep, SaslTokenStep)
"""Steps of authentication."""


def _step_of(api: Api) -> type[Step]:
    described: dict[str, Any] = {"api": (Literal[api.name], ...), "request": (form_of(api), ...)}
    made = cast("type[Step]", create_model(f"{api.name}Step", __base__=Step, **described))
    made.API = api
    return made


REQUESTS = tuple(_step_of(api) for api in APIS if api.receiver != Receiver.CONTROLLER)
"""A controller is no part of the clusters that are recorded."""

if TYPE_CHECKING:
    AnyStep = Step
else:
    _EVERY = (*REQUESTS, *ON_CONNECTIONS, WaitStep, SleepStep, AnsweredStep, RestartStep, MoveStep, ReturnStep)
    AnyStep = Annotated[Union[_EVERY], Field(discriminator="api")]  # noqa: UP007  # of as many as there are
