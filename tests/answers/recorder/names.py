"""Names in a sequence and those that a real cluster, which has seen other sequences, has for the same things."""

from collections.abc import Iterable
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from zombieproof.conformance.symbols import UNKNOWN_TOPIC_ID, ZERO_TOPIC_ID, place_group, place_transactional_id
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.messages.schema import Entity
from zombieproof.model.placement import partition_for

PARTITIONS = 2
"""How many partitions each internal topic has, as in all recordings of one broker."""


class Names:
    """The names of one sequence.

    Args:
        run: tells this sequence from all others of the cluster.
        topics: those that exist.
    """

    def __init__(self, run: str, topics: Iterable[str]) -> None:
        self.topics = {topic: f"{topic}-{run}" for topic in topics}
        self.ids: dict[str, UUID] = {}
        self._unknown = uuid4()
        self._run = run
        self._real: dict[str, str] = {}

    def topic(self, topic: str) -> dict[str, Any]:
        """Every name of a topic that some version of a request has a field for."""
        real = topic if topic in INTERNAL_TOPICS else self.topics.get(topic, f"{topic}-{self._run}")
        topic_id = None if topic == ZERO_TOPIC_ID else self.ids.get(real, self._unknown)
        return {"name": real, "topic": real, "topic_name": real, "topic_id": topic_id}

    def sent(self, entity: Entity, value: Any) -> Any:
        """What a transactional id or a group is called there."""
        return self.transactional_id(value) if entity is Entity.TRANSACTIONAL_ID else self.group(value)

    def told(self, entity: Entity, value: Any) -> Any:
        """The symbol of a group or transactional id that was named before."""
        return self.symbol_of(value) if entity in {Entity.GROUP, Entity.TRANSACTIONAL_ID} and value else value

    def pattern(self, pattern: str) -> str:
        """A regular expression of topics, which stand in it by their names."""
        for topic, real in self.topics.items():
            pattern = pattern.replace(topic, real)
        return pattern

    def topic_of(self, row: Any) -> str:
        """The topic that a row of an answer is about."""
        if not hasattr(row, "topic_id") or getattr(row, "name", None):
            real = str(getattr(row, "name", None) or getattr(row, "topic", ""))
            return real.removesuffix(f"-{self._run}")
        if row.topic_id is None or row.topic_id.int == 0:
            return ZERO_TOPIC_ID
        known = {topic_id: name for name, topic_id in self.ids.items()}.get(row.topic_id)
        return next((topic for topic, real in self.topics.items() if real == known), known or UNKNOWN_TOPIC_ID)

    def transactional_id(self, name: str | None) -> str | None:
        """A transactional id that lives in the partition in which the symbol lives."""
        return None if not name else self._placed(name, place_transactional_id(name, PARTITIONS))

    def group(self, name: str) -> str:
        """A group that lives in the partition in which the symbol lives."""
        return self._placed(name, place_group(name, PARTITIONS)) if name else name

    def symbol_of(self, real: str) -> str:
        """The symbol of a group or transactional id that was named before."""
        return next((name for name, known in self._real.items() if known == real), real)

    def _placed(self, name: str, partition: int) -> str:
        if name not in self._real:
            tried = (f"{name}-{self._run}-{number}" for number in count())
            self._real[name] = next(each for each in tried if partition_for(each, PARTITIONS) == partition)
        return self._real[name]
