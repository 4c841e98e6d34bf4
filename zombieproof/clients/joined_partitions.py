"""The partitions of one transaction: to be added, being added, added.

Source: reference §5.2, §5.3; ``TransactionManager.java``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.formats.topics import TopicPartition
from zombieproof.statemachines.producer.records import Joining


@dataclass(slots=True)
class JoinedPartitions:
    """`new` wait for AddPartitionsToTxn, `pending` for its answer, `added` are in the transaction."""

    new: list[TopicPartition] = field(default_factory=list)
    pending: set[TopicPartition] = field(default_factory=set)
    added: set[TopicPartition] = field(default_factory=set)

    def standing(self, partition: TopicPartition) -> Joining:
        """How `partition` stands to the transaction."""
        if partition in self.added:
            return Joining.JOINED
        return Joining.PENDING if partition in self.pending or partition in self.new else Joining.OUTSIDE

    def ask_for_new(self) -> tuple[TopicPartition, ...]:
        """The partitions that the next request names: the new ones, with those that wait for an answer."""
        if not self.new:
            return ()
        self.pending.update(self.new)
        self.new.clear()
        return tuple(sorted(self.pending))

    def settle(self, partitions: Iterable[TopicPartition], *, are_added: bool) -> None:
        """The answer for these partitions is here."""
        named = set(partitions)
        self.pending -= named
        if are_added:
            self.added |= named

    def clear(self) -> None:
        """The transaction is over."""
        self.new.clear()
        self.pending.clear()
        self.added.clear()
