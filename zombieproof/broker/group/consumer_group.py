"""A group of the consumer protocol in memory (KIP-848): epochs of group, assignment and members (reference §4.1, O8).

The assignment is the plainest that is balanced: what a member has it keeps as far as its share goes. A partition that
moves is its new member's at once; Kafka waits until the old one has given it back.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.formats.batches import GroupValue
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE, ClassicGroupState
from zombieproof.statemachines.classic_group.effects import Identity
from zombieproof.statemachines.consumer_group.heartbeat import FIRST_GROUP_EPOCH


@dataclass(slots=True)
class ConsumerMember:
    """A member: its epoch, the one before, the topics it reads, and the epoch in which it got each partition."""

    epoch: int = 0
    previous_epoch: int = 0
    topics: tuple[str, ...] = ()
    partitions: dict[TopicPartition, int] = field(default_factory=dict)


@dataclass(slots=True)
class ConsumerGroup:
    """One group; `assigned_ms` NONE: nothing was assigned since it was created or loaded."""

    name: str
    generation: int = FIRST_GROUP_EPOCH
    assignment_epoch: int = NONE
    assigned_ms: int = NONE
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    state: int = ClassicGroupState.STABLE

    known = True
    is_consumer = True
    dead = False

    @property
    def empty(self) -> bool:
        """Whether the group has no members."""
        return not self.members

    def sender(self, member: str, instance: str | None) -> Identity:
        """What the group knows of who sends a request of the classic protocol: nobody of that is in it."""
        return Identity(member=NONE if member == "" else 1, instance=NONE if instance is None else 1)

    def epoch_of(self, member: str) -> int:
        """The epoch of a member; NONE if it is none."""
        return self.members[member].epoch if member in self.members else NONE

    def assignment_epoch_of(self, member: str, partition: TopicPartition) -> int:
        """Since which epoch `partition` is the member's; NONE if it is not."""
        return self.members[member].partitions.get(partition, NONE) if member in self.members else NONE

    def topics(self) -> frozenset[str]:
        """What the members read."""
        return frozenset(topic for member in self.members.values() for topic in member.topics)

    def value(self) -> GroupValue:
        """What of the group is written into the log."""
        return GroupValue(
            generation=self.generation,
            members=tuple((name, member.epoch) for name, member in self.members.items()),
            assignment_epoch=self.assignment_epoch,
            topics=tuple((name, member.topics) for name, member in self.members.items()),
            partitions=tuple((name, tuple(member.partitions.items())) for name, member in self.members.items()),
            previous_epochs=tuple((name, member.previous_epoch) for name, member in self.members.items()),
        )

    def assign(self, every: Iterable[TopicPartition]) -> None:
        """Give out all partitions that exist of what the members read."""
        wanted = sorted(every)
        free = list(wanted)
        for member in self.members.values():
            share = -(-len(wanted) // len(self.members))
            kept = [tp for tp in sorted(member.partitions) if tp in free and tp[0] in member.topics][:share]
            free = [tp for tp in free if tp not in kept]
            member.partitions = {tp: member.partitions[tp] for tp in kept}
        for tp in free:
            readers = [member for member in self.members.values() if tp[0] in member.topics]
            if readers:
                min(readers, key=lambda member: len(member.partitions)).partitions[tp] = self.assignment_epoch


def loaded_consumer_group(name: str, value: GroupValue) -> ConsumerGroup:
    """The group as the newest record of the log tells it."""
    topics, partitions, before = dict(value.topics), dict(value.partitions), dict(value.previous_epochs)
    members = {
        member: ConsumerMember(
            epoch, before.get(member, epoch), topics.get(member, ()), dict(partitions.get(member, ()))
        )
        for member, epoch in value.members
    }
    return ConsumerGroup(name, value.generation, value.assignment_epoch, NONE, members)
