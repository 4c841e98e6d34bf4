"""What one API of Kafka's is on the wire: which messages of ours a request is, and what their answers are written as.

And the other way round, for whoever asks: what a message of ours is written as, and what an answer to it says. Most is
told by the names in `messages`, so `api_of_messages` is all that most APIs need. Whatever else there is to an API
stands in its file under `wire.apis`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.may import May, everything, may_on_cluster
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.registry import APIS
from zombieproof.model.access import CLUSTER_NAME, AclOperation, ResourceType
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.statemachines import authorizing
from zombieproof.wire.entities import entity_class, read
from zombieproof.wire.mapping import message_of, values_of
from zombieproof.wire.names import Names, TopicNames

Values = Mapping[str, Any]

O = AclOperation  # noqa: E741  # as in Kafka's tables
OPERATIONS: Mapping[ResourceType, tuple[AclOperation, ...]] = {
    ResourceType.TOPIC: (
        *(O.READ, O.WRITE, O.CREATE, O.DESCRIBE, O.DELETE, O.ALTER, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS),
    ),
    ResourceType.GROUP: (O.READ, O.DESCRIBE, O.DELETE, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS),
    ResourceType.CLUSTER: (
        *(O.CREATE, O.CLUSTER_ACTION, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS, O.IDEMPOTENT_WRITE, O.ALTER, O.DESCRIBE),
    ),
}
"""What is told of who asks, of each type of resource (``AclEntry.supportedOperations``)."""

DENIED = "Cluster authorization failed."

SAYS_NOTHING: Values = {"throttle_time": 0, "error_message": None, "authorized_operations": -(1 << 31)}
"""What an answer says in fields of which no broker here knows anything."""


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int


def _nobody_asks(entries: Iterable[Entry]) -> None:
    raise ValueError("nobody here asks for rights")


@dataclass(slots=True)
class Around:
    """What an answer may need besides what the broker says: names, where brokers listen, and what all of them know.

    `up` says which brokers are, `node` which of them answers, and `may` whether whoever asks may do something; `access`
    is what is in force, where rights are asked for, and `set_access` puts other entries in force. `protocol` is what
    listeners speak (Kafka's ``SecurityProtocol``).
    """

    metadata: Metadata
    addresses: Mapping[int, Address]
    cluster_id: str
    up: Callable[[], Collection[int]]
    node: int = NONE
    protocol: str = "PLAINTEXT"
    may: May = everything
    access: AccessList | None = None
    set_access: Callable[[Iterable[Entry]], None] = _nobody_asks
    names: TopicNames = field(init=False)

    def __post_init__(self) -> None:
        """Topics have the ids of this cluster."""
        self.names = TopicNames(self.metadata.topic_ids, self.metadata.topic_names, self.metadata.last_ids)

    def of(self, may: May, access: AccessList, set_access: Callable[[Iterable[Entry]], None]) -> "Around":
        """The same, for somebody who asks."""
        other = copy(self)
        other.may, other.access, other.set_access = may, access, set_access
        return other

    def at(self, node: int) -> "Around":
        """The same, for the answers of a broker."""
        other = copy(self)
        other.node = node
        return other

    def with_said(self, said: Mapping[str, UUID]) -> "Around":
        """The same, for the answer to a request that has named topics by these ids."""
        names = self.names.with_said(said) if said else self.names
        if names is self.names:
            return self
        other = copy(self)
        other.names = names
        return other

    def operations(self, resource: ResourceType, name: str) -> int:
        """What whoever asks may do with a resource, as a set of bits (``AclOperation``)."""
        return sum(1 << each for each in OPERATIONS[resource] if self.may(each, resource, name))

    def operations_on_cluster(self) -> int:
        """The same of the cluster; nothing of it is told to who may not know of it."""
        if not may_on_cluster(self.may, AclOperation.DESCRIBE):
            return 0
        return self.operations(ResourceType.CLUSTER, CLUSTER_NAME)


ToMessages = Callable[[Any, int, Names], tuple[Request, ...]]
"""The messages of ours that a request of a version is, for the broker that it came to."""

ToValues = Callable[[Any, tuple[Answer, ...], int, Around], Values]
"""What the answer to a request is made of, from those to its messages, in their order."""


Written = Callable[[Any, Names], Values]
"""What a request is made of, from a message of ours."""

Told = Callable[[Any, Any, Names], Any]
"""The answer to a message of ours, from what came."""


Refused = Callable[[Any, int], Values]
"""The response that says an error, and nothing else (``*Request.getErrorResponse``)."""

ReadAnswer = Callable[[bytes, Any, Names], Any]
"""The same, from the bytes behind the header."""


@dataclass(frozen=True, slots=True)
class WireApi:
    """One API. `versions` are those that are read and written here.

    `refused` None: the response to an error is made of the refusals of its messages (`messages.refusals`).
    """

    key: ApiKey
    versions: range
    to_messages: ToMessages
    to_values: ToValues
    written: Written
    read_answer: ReadAnswer
    besides: Values = field(default_factory=lambda: SAYS_NOTHING)
    refused: Refused | None = None


def refused_at_top(entity: Any, error: int) -> Values:
    """The refusal of most questions for what all brokers know."""
    return {"error_code": error, "error_message": DENIED if error == Error.CLUSTER_AUTHORIZATION_FAILED else None}


def api_of_facts(
    key: ApiKey,
    versions: range,
    told: Callable[[Any, int, Around], Values],
    refused: Refused = refused_at_top,
    check: Callable[[Any], None] | None = None,
) -> WireApi:
    """An API that asks for what all brokers know of their cluster, or changes it: no broker of ours is asked.

    `refused`: the response without the right on the cluster, or before authentication. `check`: raises `Malformed` of
    what Kafka does not read.
    """
    operation = authorizing.operation_on_cluster(key)

    def as_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
        error = authorizing.fact_enters(operation == NONE or may_on_cluster(around.may, AclOperation(operation)))
        return refused(entity, error) if error else told(entity, version, around)

    def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
        if check is not None:
            check(entity)
        return ()

    return WireApi(key, versions, to_messages, as_values, _not_written, _not_written, refused=refused)


def _not_written(*_: Any) -> Any:
    raise TypeError("nobody here asks for what all brokers know of their cluster: there is no message of it")


def api_of_messages(  # noqa: PLR0913  # each has a default, and an API names the few that it needs
    key: ApiKey,
    *,
    versions: range | None = None,
    to_messages: ToMessages | None = None,
    to_values: ToValues | None = None,
    written: Written | None = None,
    told: Told | None = None,
    read_answer: ReadAnswer | None = None,
    besides: Values | None = None,
    refused: Refused | None = None,
) -> WireApi:
    """An API that the registry has, with what is more to it; each request is one message unless told otherwise."""
    api = next(each for each in APIS if each.key == key)

    def as_message(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
        return (message_of(api.request, entity, version, names),)

    def as_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
        return values_of(answers[0], version, around.names)

    return WireApi(
        key,
        versions or api.versions,
        to_messages or as_message,
        to_values or as_values,
        written or _written,
        read_answer or partial(_read_answer, key, told or partial(_told, api.answer)),
        {**SAYS_NOTHING, **(besides or {})},
        refused,
    )


def with_operations(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """Groups that are described; with what whoever asks may do with each, where that is asked for."""
    values = values_of(answers[0], version, around.names)
    if getattr(entity, "include_authorized_operations", False):
        for row in values["groups"]:
            if not row["error_code"]:
                row["authorized_operations"] = around.operations(ResourceType.GROUP, row["group_id"])
    return values


def _written(request: Any, names: Names) -> Values:
    return values_of(request, request.version, names)


def _read_answer(key: ApiKey, told: Told, data: bytes, request: Any, names: Names) -> Any:
    entity, _ = read(entity_class(key, request.version, "response"), data)
    return told(entity, request, names)


def _told(answer: type, entity: Any, request: Any, names: Names) -> Any:
    return message_of(answer, entity, request.version, names)
