"""What a topic is called on the wire: by its name in old versions, by its id in new ones (KIP-516)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from zombieproof.formats.topics import UnnamedTopic
from zombieproof.messages.schema import Entity

NO_ID = UUID(int=0)

NAMES = ("name", "topic", "topic_name")
"""What messages call the name of a topic."""


class Names(Protocol):
    """What things are called on the wire, where that is not what they are called here."""

    def topic(self, topic: str) -> Mapping[str, Any]:
        """Every name of a topic that a message has a field for: ``name``, ``topic``, ``topic_name``, ``topic_id``."""
        ...

    def topic_of(self, row: Any) -> str:
        """The topic that a row of a message is about."""
        ...

    def sent(self, entity: Entity, value: Any) -> Any:
        """What a value of a request is called on the wire."""
        ...

    def told(self, entity: Entity, value: Any) -> Any:
        """What a value of an answer is called here."""
        ...


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The names of a cluster: everything is called here as there, and a topic has an id.

    `last` are the ids that deleted topics had: an answer may have been given before one was deleted.
    """

    ids: Mapping[str, UUID] = field(default_factory=dict)
    names: Mapping[UUID, str] = field(default_factory=dict)
    last: Mapping[str, UUID] = field(default_factory=dict)

    def topic(self, topic: str) -> Mapping[str, Any]:
        """Name and id; a topic that was named by an id of none has that id again."""
        if isinstance(topic, UnnamedTopic):
            return {"name": None, "topic": "", "topic_name": "", "topic_id": topic.id}
        topic_id = self.ids.get(topic) or self.last.get(topic, NO_ID)
        return {"name": topic, "topic": topic, "topic_name": topic, "topic_id": topic_id}

    def topic_of(self, row: Any) -> str:
        """The topic that a row is about: as it is named, else whose id it has."""
        name = next((found for each in NAMES if (found := getattr(row, each, None))), None)
        if name or not hasattr(row, "topic_id"):
            return str(name or "")
        topic_id = row.topic_id or NO_ID
        return self.names.get(topic_id) or UnnamedTopic.of(topic_id)

    def with_said(self, said: Mapping[str, UUID]) -> "TopicNames":
        """The same, but that topics have the ids which a request has named them by, whatever happened to them since."""
        if all(self.ids.get(topic) == topic_id for topic, topic_id in said.items()):
            return self
        return TopicNames({**self.ids, **said}, self.names, self.last)

    def sent(self, entity: Entity, value: Any) -> Any:
        """Itself."""
        return value

    def told(self, entity: Entity, value: Any) -> Any:
        """Itself."""
        return value


@dataclass(frozen=True, slots=True)
class NamesOfARequest:
    """The names of a cluster while one request is read. `said`: the ids of the topics that it has named.

    A topic may be gone, or be another one of that name, when the response is written.
    """

    cluster: TopicNames
    said: dict[str, UUID] = field(default_factory=dict)

    def topic(self, topic: str) -> Mapping[str, Any]:
        """Every name of a topic; the response will name it by the id that it has now."""
        self.said[topic] = self.cluster.ids.get(topic, NO_ID)
        return self.cluster.topic(topic)

    def topic_of(self, row: Any) -> str:
        """The topic that a row is about."""
        topic, topic_id = self.cluster.topic_of(row), getattr(row, "topic_id", None)
        if topic_id is not None and self.cluster.ids.get(topic) == topic_id:
            self.said[topic] = topic_id
        return topic

    def sent(self, entity: Entity, value: Any) -> Any:
        """Itself."""
        return value

    def told(self, entity: Entity, value: Any) -> Any:
        """Itself."""
        return value
