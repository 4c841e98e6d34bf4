"""The names of a sequence, and those that stand for them at a cluster where others live too.

A sequence says x0, g0 and t0, and has the cluster for itself. Outside each of its names begins with a prefix that
nobody else has. Groups whose number is even live in one partition of ``__consumer_offsets`` and the others in another
one, as in a recording; all transactional ids live in the same partition of ``__transaction_state``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from zombieproof.conformance.symbols import IDS_OF_NO_TOPIC, place_group
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TopicPartition
from zombieproof.messages.consumer_groups import ConsumerGroupHeartbeat
from zombieproof.messages.groups import FindCoordinator
from zombieproof.messages.partitions import DeleteTopics, DescribeTopics, TopicsDeleted, TopicsDescribed
from zombieproof.messages.schema import Entity, FieldOfMessage, fields_of, record_in
from zombieproof.model.placement import partition_for

READER: Final = "x0"
PLACES: Final = 2
"""How many partitions of ``__consumer_offsets`` a recorded cluster has."""
OF_GROUPS: Final = 0

_TOPICS: Final = frozenset(
    {
        (DescribeTopics, "topics"),
        (TopicsDescribed, "topics"),
        (DeleteTopics, "topics"),
        (TopicsDeleted, "topics"),
        (ConsumerGroupHeartbeat, "topics"),
    }
)
"""Fields that hold names of topics and no partitions."""


@dataclass(slots=True)
class Renaming:
    """The names of one sequence.

    Args:
        prefix: what every name outside begins with.
        offsets_partitions: how many partitions ``__consumer_offsets`` has there; 0: it is not known.
        transaction_partitions: the same of ``__transaction_state``.
    """

    prefix: str
    offsets_partitions: int = 0
    transaction_partitions: int = 0
    _outside: dict[tuple[str, str], str] = field(default_factory=dict)
    _inside: dict[str, str] = field(default_factory=dict)
    _places: dict[int, int] = field(default_factory=dict)

    # ---------------------------------------------------------------- names

    def topic(self, name: str) -> str:
        """A topic as it is called outside."""
        if name in INTERNAL_TOPICS or name in IDS_OF_NO_TOPIC or not name:
            return name
        return self._kept("topic", name, lambda: f"{self.prefix}{name}")

    def transactional_id(self, name: str | None) -> str | None:
        """A transactional id as it is called outside; none and the empty one are themselves."""
        if not name:
            return name
        partitions = self.transaction_partitions

        def fits(each: str) -> bool:
            return not partitions or partition_for(each, partitions) == self.transaction_partition()

        return self._kept("transactional id", name, lambda: _found(f"{self.prefix}{name}", fits))

    def group(self, name: str | None) -> str | None:
        """A group as it is called outside; the empty one is itself."""
        if not name:
            return name
        return self._kept("group", name, lambda: self._new_group(name))

    def _new_group(self, name: str) -> str:
        partitions = self.offsets_partitions
        if not partitions:
            return f"{self.prefix}{name}"
        place = place_group(name, PLACES)
        taken = {each for other, each in self._places.items() if other != place} if partitions > 1 else set()

        def fits(each: str) -> bool:
            at = partition_for(each, partitions)
            return at == self._places.get(place, at) and at not in taken

        found = _found(f"{self.prefix}{name}", fits)
        self._places.setdefault(place, partition_for(found, partitions))
        return found

    def _kept(self, kind: str, name: str, made: Callable[[], str]) -> str:
        if (kind, name) not in self._outside:
            outside = made()
            self._outside[kind, name], self._inside[outside] = outside, name
        return self._outside[kind, name]

    def all_of(self, kind: str) -> list[str]:
        """The names outside of one kind that were used: "topic", "transactional id" or "group"."""
        return [outside for (of, _), outside in self._outside.items() if of == kind]

    def inside(self, name: str | None) -> str | None:
        """What a name from outside is called in the sequence; one that is none of its is itself."""
        return name if name is None else self._inside.get(name, name)

    def is_own(self, name: str) -> bool:
        """Whether a name outside is one of this sequence."""
        return name in self._inside

    # ---------------------------------------------------------------- partitions

    def partition(self, partition: TopicPartition) -> TopicPartition:
        """A partition outside."""
        topic, number = partition
        if topic == CONSUMER_OFFSETS and self.offsets_partitions:
            if number not in self._places and number < PLACES:
                # No group has lived there so far: one that does says where that is.
                self.group(f"g{number}")
            return topic, self._places.get(number, number)
        return self.topic(topic), number

    def partition_inside(self, partition: TopicPartition) -> TopicPartition:
        """A partition as the sequence calls it."""
        topic, number = partition
        if topic == CONSUMER_OFFSETS:
            return topic, next((place for place, at in self._places.items() if at == number), number)
        return str(self.inside(topic)), number

    def transaction_partition(self) -> int:
        """The partition of ``__transaction_state`` that all transactional ids of the sequence live in."""
        return partition_for(f"{self.prefix}{READER}", self.transaction_partitions)

    # ---------------------------------------------------------------- messages

    def sent(self, message: Any) -> Any:
        """A request with the names outside."""
        if isinstance(message, FindCoordinator):
            rename = self.group if message.key_type == OF_GROUPS else self.transactional_id
            return replace(message, key=rename(message.key) or "")
        names: Mapping[Entity, Callable[[Any], Any]] = {
            Entity.TRANSACTIONAL_ID: self.transactional_id,
            Entity.GROUP: self.group,
            Entity.PARTITION: self.partition,
        }
        return _renamed(message, names, self.topic)

    def told(self, message: Any) -> Any:
        """An answer with the names of the sequence."""
        names: Mapping[Entity, Callable[[Any], Any]] = {
            Entity.TRANSACTIONAL_ID: self.inside,
            Entity.GROUP: self.inside,
            Entity.PARTITION: self.partition_inside,
        }
        return _renamed(message, names, self.inside)


def _found(name: str, fits: Callable[[str], bool]) -> str:
    """The name, or the first one that begins with it and fits."""
    return name if fits(name) else next(each for number in count() if fits(each := f"{name}-{number}"))


def _renamed(message: Any, names: Mapping[Entity, Callable[[Any], Any]], topic: Callable[[str], Any]) -> Any:
    changed: dict[str, Any] = {}
    kind: type = type(message)
    for each in fields_of(kind):
        value = getattr(message, each.name)
        if value is None:
            continue
        if (kind, each.name) in _TOPICS:
            changed[each.name] = _each(value, topic)
            continue
        new = _value(each, value, names, topic)
        if new is not value:
            changed[each.name] = new
    return replace(message, **changed) if changed else message


def _value(
    of: FieldOfMessage, value: Any, names: Mapping[Entity, Callable[[Any], Any]], topic: Callable[[str], Any]
) -> Any:
    rename, record = names.get(of.entity), record_in(of.kind)
    if of.name == "partition" and of.ours is not None:
        return names[Entity.PARTITION](value)
    if record is not None:
        if isinstance(value, dict):
            keyed = rename or (lambda key: key)
            return {keyed(key): _renamed(row, names, topic) for key, row in value.items()}
        return tuple(_renamed(row, names, topic) for row in value)
    return value if rename is None else _each(value, rename)


def _each(value: Any, rename: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {rename(key): row for key, row in value.items()}
    if isinstance(value, frozenset):
        return frozenset(rename(each) for each in value)
    # A pair of a topic and a number is a partition, and no list of them.
    is_one = isinstance(value, str) or (isinstance(value, tuple) and value[:1] and isinstance(value[-1], int))
    return rename(value) if is_one else tuple(rename(each) for each in value)
