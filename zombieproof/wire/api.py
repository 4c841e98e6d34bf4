"""What one API of Kafka's is on the wire: which messages of ours a request is, and what their answers are written as.

And the other way round, for whoever asks: what a message of ours is written as, and what an answer to it says. Most is
told by the names in `messages`, so `api_of_messages` is all that most APIs need. Whatever else there is to an API
stands in its file under `wire.apis`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.registry import APIS
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.entities import entity_class, read
from zombieproof.wire.mapping import message_of, values_of
from zombieproof.wire.names import Names, TopicNames

Values = Mapping[str, Any]

EVERYTHING_OF_CLUSTER, EVERYTHING_OF_TOPIC = 8096, 3576
"""What one may do where everybody may do everything, as a set of bits (``AclOperation``)."""

SAYS_NOTHING: Values = {"throttle_time": 0, "error_message": None, "authorized_operations": -(1 << 31)}
"""What an answer says in fields of which no broker here knows anything."""


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int


@dataclass(slots=True)
class Around:
    """What an answer may need besides what the broker says: names, where brokers listen, and what all of them know.

    `up` says which brokers are.
    """

    metadata: Metadata
    addresses: Mapping[int, Address]
    cluster_id: str
    up: Callable[[], Collection[int]]
    names: TopicNames = field(init=False)

    def __post_init__(self) -> None:
        """Topics have the ids of this cluster."""
        self.names = TopicNames(self.metadata.topic_ids, self.metadata.topic_names)


ToMessages = Callable[[Any, int, Names], tuple[Request, ...]]
"""The messages of ours that a request of a version is, for the broker that it came to."""

ToValues = Callable[[Any, tuple[Answer, ...], int, Around], Values]
"""What the answer to a request is made of, from those to its messages, in their order."""


Written = Callable[[Any, Names], Values]
"""What a request is made of, from a message of ours."""

Told = Callable[[Any, Any, Names], Any]
"""The answer to a message of ours, from what came."""


ReadAnswer = Callable[[bytes, Any, Names], Any]
"""The same, from the bytes behind the header."""


@dataclass(frozen=True, slots=True)
class WireApi:
    """One API. `versions` are those that are read and written here."""

    key: ApiKey
    versions: range
    to_messages: ToMessages
    to_values: ToValues
    written: Written
    read_answer: ReadAnswer
    besides: Values = field(default_factory=lambda: SAYS_NOTHING)


def api_of_facts(key: ApiKey, versions: range, told: Callable[[Any, int, Around], Values]) -> WireApi:
    """An API that asks for what all brokers know of their cluster: no broker is asked, and nothing changes."""

    def as_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
        return told(entity, version, around)

    return WireApi(key, versions, _no_message, as_values, _not_written, _not_written)


def _no_message(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    return ()


def _not_written(*_: Any) -> Any:
    raise TypeError("nobody here asks for what all brokers know of their cluster: there is no message of it")


def api_of_messages(
    key: ApiKey,
    *,
    versions: range | None = None,
    to_messages: ToMessages | None = None,
    to_values: ToValues | None = None,
    written: Written | None = None,
    told: Told | None = None,
    read_answer: ReadAnswer | None = None,
    besides: Values | None = None,
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
    )


def _written(request: Any, names: Names) -> Values:
    return values_of(request, request.version, names)


def _read_answer(key: ApiKey, told: Told, data: bytes, request: Any, names: Names) -> Any:
    entity, _ = read(entity_class(key, request.version, "response"), data)
    return told(entity, request, names)


def _told(answer: type, entity: Any, request: Any, names: Names) -> Any:
    return message_of(answer, entity, request.version, names)
