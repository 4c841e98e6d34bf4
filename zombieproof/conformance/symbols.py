"""Names in a recording and the values that they stand for while a sequence is played.

Producer ids and group members get their names in the order in which answers contain them; coordinator epochs are
counted from the one at the start. Everything else is itself.
"""

from collections.abc import Iterable, Sequence

from zombieproof.conformance.forms import PartitionSymbol, ProducerSymbol
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.model.placement import partition_for
from zombieproof.model.vocabulary import NONE

UNKNOWN_TOPIC_ID = "unknown-id"
"""The topic whose id belongs to no topic, where a version names topics by id."""


ZERO_TOPIC_ID = "zero-id"
"""The topic whose id is all zeros, which is the id of none."""

IDS_OF_NO_TOPIC = frozenset({UNKNOWN_TOPIC_ID, ZERO_TOPIC_ID})


class UnknownSymbol(ValueError):
    """A name that stands for nothing yet."""


def is_group(symbol: str) -> bool:
    """Whether it is the name of a group: g`n`, or the empty one."""
    return not symbol or (symbol[:1] == "g" and symbol[1:].isdecimal())


def place_group(group: str, partitions: int) -> int:
    """The partition of ``__consumer_offsets`` that a group lives in: `n` mod their number for g`n`, 0 for ""."""
    if not is_group(group):
        return partition_for(group, partitions)
    return int(group[1:] or 0) % partitions


def place_transactional_id(transactional_id: str, partitions: int) -> int:
    """The partition of ``__transaction_state`` that an id lives in: `n` mod their number for x`n`."""
    if transactional_id[:1] == "x" and transactional_id[1:].isdecimal():
        return int(transactional_id[1:]) % partitions
    return partition_for(transactional_id, partitions)


class Symbols:
    """What names stand for, as of one step of one sequence.

    Args:
        offsets_partitions: how many partitions ``__consumer_offsets`` has.
        topics: those of the sequence; the internal ones are there too.
    """

    def __init__(self, offsets_partitions: int, topics: Iterable[str]) -> None:
        self._offsets_partitions = offsets_partitions
        self._topics = frozenset((*topics, CONSUMER_OFFSETS, TRANSACTION_STATE))
        self._producer_ids: dict[str, int] = {}
        self._producers: dict[int, str] = {}
        self._members: dict[str, str] = {}
        self._member_names: dict[str, str] = {}
        self._groups: dict[int, str] = {}
        self._epochs: Sequence[int] = ()

    # ---------------------------------------------------------------- producer ids

    def producer_id(self, symbol: ProducerSymbol) -> int:
        """The producer id that `symbol` stands for.

        Raises:
            UnknownSymbol: no answer has contained it so far.
        """
        if isinstance(symbol, int):
            return symbol
        if symbol not in self._producer_ids:
            raise UnknownSymbol(
                f"{symbol} stands for no producer id: the answers before contain {len(self._producer_ids)} of them; "
                "legal are their names, counted from p0, and integers for ids that were never granted"
            )
        return self._producer_ids[symbol]

    def granted(self, producer_id: int) -> ProducerSymbol:
        """The name of a producer id in an answer that grants one: a new name if it is the first."""
        if producer_id != NONE and producer_id not in self._producers:
            name = f"p{len(self._producers)}"
            self._producers[producer_id], self._producer_ids[name] = name, producer_id
        return self.producer(producer_id)

    def producer(self, producer_id: int) -> ProducerSymbol:
        """The name of a producer id, or the id itself if no answer has granted it."""
        return self._producers.get(producer_id, producer_id)

    # ---------------------------------------------------------------- group members

    def member(self, symbol: str) -> str:
        """The member id that `symbol` stands for; a name that no answer has contained is itself."""
        return self._members.get(symbol, symbol)

    def member_name(self, member: str) -> str:
        """The name of a member id in an answer: a new name if it is the first."""
        if not member:
            return member
        if member not in self._member_names:
            name = f"m{len(self._member_names)}"
            self._member_names[member], self._members[name] = name, member
        return self._member_names[member]

    def known_member_name(self, member: str) -> str:
        """The name of a member id in an answer that only repeats it."""
        return self._member_names.get(member, member)

    # ---------------------------------------------------------------- partitions

    def group(self, group: str) -> str:
        """A group occurs in a request: its partition can be named after it from now on."""
        self._groups.setdefault(place_group(group, self._offsets_partitions), group)
        return group

    def by_id(self, topic: str) -> str:
        """What a topic is called where a request names it by its id: one that does not exist has an id of no topic."""
        return topic if topic in self._topics or topic in IDS_OF_NO_TOPIC else UNKNOWN_TOPIC_ID

    def partition(self, topic: str, symbol: PartitionSymbol) -> TopicPartition:
        """A partition; one of ``__consumer_offsets`` may be named by a group that lives in it.

        Raises:
            UnknownSymbol: a partition of another topic is no number.
        """
        if isinstance(symbol, int):
            return topic, symbol
        if topic != CONSUMER_OFFSETS:
            raise UnknownSymbol(
                f"{symbol!r} is no partition of {topic}: only those of {CONSUMER_OFFSETS} are named after groups; "
                "legal is a number"
            )
        return topic, place_group(self.group(symbol), self._offsets_partitions)

    def partitions(self, rows: Iterable[tuple[str, PartitionSymbol]]) -> tuple[TopicPartition, ...]:
        """A list of partitions."""
        return tuple(self.partition(topic, symbol) for topic, symbol in rows)

    def partition_name(self, partition: TopicPartition) -> PartitionSymbol:
        """The number of a partition, or a group that lives in it if one has occurred."""
        topic, number = partition
        return self._groups.get(number, number) if topic == CONSUMER_OFFSETS else number

    # ---------------------------------------------------------------- coordinator epochs

    def coordinator_epochs(self, epochs: Sequence[int]) -> None:
        """The epochs that the coordinator has had so far, in order."""
        self._epochs = epochs

    def coordinator_epoch(self, symbol: int) -> int:
        """The coordinator epoch that `symbol` stands for: one it has had, else one relative to the first."""
        if symbol == NONE:
            return NONE
        return self._epochs[symbol] if 0 <= symbol < len(self._epochs) else self._epochs[0] + symbol

    def coordinator_epoch_name(self, epoch: int) -> int:
        """The symbol of a coordinator epoch."""
        if epoch == NONE:
            return NONE
        return self._epochs.index(epoch) if epoch in self._epochs else epoch - self._epochs[0]
