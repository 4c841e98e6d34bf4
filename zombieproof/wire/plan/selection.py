"""Which requests a fault is for, when, and what waits for what: the parts of a plan that name requests."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from zombieproof.messages.registry import APIS
from zombieproof.model.vocabulary import ApiKey
from zombieproof.statemachines.coordinator.listings import STATE_NAMES

API_NAMES = {each.name: each.key for each in APIS}
"""Every API of which requests reach brokers; ApiVersions is answered before them."""
ASKED_BY_BROKERS = frozenset({ApiKey.WRITE_TXN_MARKERS, ApiKey.ALLOCATE_PRODUCER_IDS})
STATES = tuple(STATE_NAMES.values())


class Sender(StrEnum):
    """Who asks."""

    CLIENT = "client"
    BROKER = "broker"


def one_of(what: str, legal: Any, reason: str = "") -> Any:
    """A check that a name is one of the legal ones."""

    def check(name: str) -> str:
        if name not in legal:
            raise ValueError(f"{name!r} is no {what}; legal: {', '.join(legal)}{reason}")
        return name

    return check


_WHY_NOT_API_VERSIONS = " (ApiVersions is answered before any broker is asked)"
ApiName = Annotated[
    str,
    AfterValidator(one_of("API that brokers are asked", API_NAMES, _WHY_NOT_API_VERSIONS)),
    Field(json_schema_extra={"enum": list(API_NAMES)}),
]
StateName = Annotated[
    str, AfterValidator(one_of("state of a transactional id", STATES)), Field(json_schema_extra={"enum": list(STATES)})
]
Pattern = Annotated[str, Field(min_length=1, description="a name; * and ? stand for any characters, for any one")]
Positive = Annotated[int, Field(ge=1)]
Milliseconds = Annotated[int, Field(ge=1)]
Place = tuple[Annotated[str, Field(min_length=1)], Annotated[int, Field(ge=0)]]


class Part(BaseModel):
    """A part of a plan: nothing unknown is accepted."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Requests(Part):
    """Which requests: those for which everything that is said is so.

    `nth`: only the nth of those that all else fits, but for `while_state`. `while_state` is the state at its
    coordinator of the transactional id that the request is about. `sender` is a client unless it is said; of
    WriteTxnMarkers a broker.
    """

    api: ApiName | None = None
    version: Annotated[int, Field(ge=0)] | None = None
    sender: Sender | None = None
    client_id: Pattern | None = None
    transactional_id: Pattern | None = None
    group: Pattern | None = None
    topic: Pattern | None = None
    partition: Place | None = None
    node: Positive | None = None
    committed: bool | None = Field(default=None, description="of EndTxn: whether it commits")
    nth: Positive | None = None
    while_state: StateName | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"names no requests; say at least one of {', '.join(type(self).model_fields)}")
        return self

    @property
    def key(self) -> ApiKey | None:
        """The API by its key."""
        return None if self.api is None else API_NAMES[self.api]

    @property
    def asker(self) -> Sender:
        """Who asks."""
        return self.sender or (Sender.BROKER if self.key in ASKED_BY_BROKERS else Sender.CLIENT)


class When(Part):
    """Which of the requests that fit meet the fault: the one that is `on_call`, or the first so many `times`."""

    on_call: Positive | None = None
    times: Positive | None = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        if (self.on_call is None) == (self.times is None):
            raise ValueError("says either on_call: N or times: N; the words once and every_time stand alone")
        return self


WhenOrWord = Annotated[
    Annotated[Literal["once", "every_time"], Tag("word")] | Annotated[When, Tag("turns")],
    Discriminator(lambda found: "word" if isinstance(found, str) else "turns"),
]


class Until(Part):
    """What something waits for: a request that comes, one that has been answered, a time, or a word of the test."""

    request: Requests | None = None
    answer: Requests | None = None
    after_ms: Milliseconds | None = None
    release: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        said = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(said) != 1:
            found = " and ".join(said) or "nothing"
            raise ValueError(f"waits for {found}; legal is exactly one of {', '.join(type(self).model_fields)}")
        return self
