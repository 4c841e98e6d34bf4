"""What the topics of a sequence are called on the wire, with those that stand for ids of no topic."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from zombieproof.conformance.symbols import UNKNOWN_TOPIC_ID, ZERO_TOPIC_ID
from zombieproof.messages.schema import Entity
from zombieproof.wire.names import NO_ID, TopicNames

SOME_ID = UUID(int=(1 << 128) - 1)
"""The id of no topic."""

SYMBOLS = {UNKNOWN_TOPIC_ID: SOME_ID, ZERO_TOPIC_ID: NO_ID}


@dataclass(slots=True)
class SymbolNames:
    """The names of the topics of a sequence, with those that stand for ids of no topic.

    A topic that is gone is called by the id that it had.
    """

    topics: TopicNames
    _had: dict[str, UUID] = field(default_factory=dict)

    def topic(self, topic: str) -> Mapping[str, Any]:
        """Name and id."""
        known = self.topics.topic(topic)
        return {**known, "topic_id": SYMBOLS[topic] if topic in SYMBOLS else self._id_of(topic, known["topic_id"])}

    def _id_of(self, topic: str, topic_id: UUID) -> UUID:
        """A topic that never was has no id: in a version that names topics by ids it is that of none."""
        if topic_id != NO_ID:
            self._had[topic] = topic_id
        return self._had.get(topic, SOME_ID)

    def topic_of(self, row: Any) -> str:
        """The topic that a row is about."""
        ids = {topic_id: topic for topic, topic_id in (*self._had.items(), *SYMBOLS.items())}
        name = getattr(row, "name", None) or getattr(row, "topic", None)
        if not name and hasattr(row, "topic_id") and (row.topic_id or NO_ID) in ids:
            return ids[row.topic_id or NO_ID]
        return self.topics.topic_of(row)

    def sent(self, entity: Entity, value: Any) -> Any:
        """Itself."""
        return value

    def told(self, entity: Entity, value: Any) -> Any:
        """Itself."""
        return value
