"""A group of the consumer protocol in memory (KIP-848): its members, and what each has and shall have (O8).

What a member says and what follows is decided by the steps (``statemachines.consumer_group_member``); here members,
topics and partitions have names.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from zombieproof.broker.group.assignors import server_assignor, wanted_assignor
from zombieproof.formats.batches import ConsumerMemberValue, GroupValue
from zombieproof.formats.topics import TopicPartition, UnnamedTopic
from zombieproof.model.vocabulary import NONE, ClassicGroupState
from zombieproof.statemachines.classic_group.effects import Identity
from zombieproof.statemachines.consumer_group_member.heartbeat import FIRST_GROUP_EPOCH, ConsumerGroupEffects
from zombieproof.statemachines.consumer_group_member.reconciling import Reconciliation


@dataclass(slots=True)
class ConsumerMember:
    """A member: its epochs, its state and times (see ``effects.ConsumerMemberRecord``), and what it has said.

    It has `partitions`, gives `revoking` back, each with the epoch in which it got it, and is to have `target`.
    """

    epoch: int = 0
    previous_epoch: int = 0
    state: int = 0
    rebalance_timeout_ms: int = NONE
    session_until_ms: int = NONE
    revoke_until_ms: int = NONE
    instance: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    assignor: str | None = None
    partitions: dict[TopicPartition, int] = field(default_factory=dict)
    revoking: dict[TopicPartition, int] = field(default_factory=dict)
    target: tuple[TopicPartition, ...] = ()

    def forget_topics(self, gone: Mapping[str, UnnamedTopic]) -> None:
        """Topics were deleted: until it has given back their partitions, the member has those of unnamed topics."""
        self.partitions = {_renamed(each, gone): epoch for each, epoch in self.partitions.items()}
        self.revoking = {_renamed(each, gone): epoch for each, epoch in self.revoking.items()}
        self.target = tuple([_renamed(each, gone) for each in self.target])

    def value(self) -> ConsumerMemberValue:
        """What of the member is written into the log."""
        return ConsumerMemberValue(
            self.previous_epoch,
            self.state,
            tuple(self.partitions.items()),
            tuple(self.revoking.items()),
            self.target,
            self.topics,
            self.topic_pattern,
            self.instance,
            self.rebalance_timeout_ms,
            self.assignor,
        )


def _renamed(partition: TopicPartition, gone: Mapping[str, UnnamedTopic]) -> TopicPartition:
    return gone.get(partition[0], partition[0]), partition[1]


@dataclass(slots=True)
class ConsumerGroup:
    """One group; its epochs and times are those of ``effects.ConsumerGroupRecord``.

    `patterns`: which topics the members' regular expressions mean, of those that have been read; `reads_patterns`: they
    are to be read. `counts`: how many partitions the topics had, None: that is to be looked up; `metadata_version`: of
    the metadata that was looked at, `patterns_version`: the same for them. `wakes_ms` is when it looks at its clock
    next, NONE: never.
    """

    name: str
    generation: int = FIRST_GROUP_EPOCH
    assignment_epoch: int = FIRST_GROUP_EPOCH
    assigned_ms: int = NONE
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    state: int = ClassicGroupState.STABLE
    patterns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    patterns_read_ms: int = NONE
    reads_patterns: bool = False
    counts: dict[str, int] | None = None
    metadata_version: int = NONE
    patterns_version: int = NONE
    wakes_ms: int = NONE

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

    def holder(self, instance: str | None) -> str:
        """The member that has a static instance, "": nobody has."""
        if instance is None:
            return ""
        return next((name for name, member in self.members.items() if member.instance == instance), "")

    def epoch_of(self, member: str) -> int:
        """The epoch of a member; NONE if it is none."""
        return self.members[member].epoch if member in self.members else NONE

    def assignment_epoch_of(self, member: str, partition: TopicPartition) -> int:
        """Since which epoch `partition` is the member's, were it to give it back; NONE if it is not."""
        known = self.members.get(member)
        return NONE if known is None else (known.partitions | known.revoking).get(partition, NONE)

    # ---------------------------------------------------------------- topics

    def read_by(self, member: ConsumerMember) -> frozenset[str]:
        """The topics that a member reads, as far as they are known."""
        return frozenset((*member.topics, *self.patterns.get(member.topic_pattern or "", ())))

    def topics(self) -> frozenset[str]:
        """What the members read."""
        return frozenset(topic for member in self.members.values() for topic in self.read_by(member))

    def wanted_patterns(self) -> frozenset[str]:
        """The regular expressions of the members."""
        return frozenset(each.topic_pattern for each in self.members.values() if each.topic_pattern is not None)

    def forget_patterns(self) -> None:
        """What no member says any more is not known any more."""
        wanted = self.wanted_patterns()
        self.patterns = {pattern: topics for pattern, topics in self.patterns.items() if pattern in wanted}

    def forget_topics(self, topic_ids: Mapping[str, UUID]) -> None:
        """Topics were deleted, and their names may soon be those of others: members have had partitions of these ids.

        The next heartbeat finds that a topic which the group reads has other partitions than before, whatever its name
        stands for then.
        """
        gone = {topic: UnnamedTopic.of(topic_id) for topic, topic_id in topic_ids.items()}
        for member in self.members.values():
            member.forget_topics(gone)
        if self.counts is not None:
            self.counts |= dict.fromkeys(self.counts.keys() & gone.keys(), NONE)

    # ---------------------------------------------------------------- who has what

    def assign(self, counts: Mapping[str, int]) -> None:
        """Say anew who shall read what of the topics that exist."""
        order = sorted(self.members, key=lambda name: (self.members[name].instance is None, self._sorts_as(name)))
        readers: dict[str, list[str]] = {}
        for name in order:
            for topic in self.read_by(self.members[name]):
                if counts.get(topic, 0) > 0:
                    readers.setdefault(topic, []).append(name)
        had = {partition: name for name, member in self.members.items() for partition in member.target}
        assignor = server_assignor(self._wanted_assignors())
        for name, partitions in assignor(order, dict(sorted(readers.items())), counts, had).items():
            self.members[name].target = tuple(partitions)

    @property
    def assignor(self) -> str:
        """Kafka's name of the assignor that most members want."""
        return wanted_assignor(self._wanted_assignors())

    def _wanted_assignors(self) -> list[str]:
        return [each.assignor for each in self.members.values() if each.assignor is not None]

    def _sorts_as(self, name: str) -> str:
        return self.members[name].instance or name

    def compare(self, member: ConsumerMember, owned: Iterable[TopicPartition] | None) -> Reconciliation:
        """How what a member has stands to what it shall have; `owned`: what it says to have, None: nothing is said."""
        shall = self._shall(member)
        lost = member.partitions.keys() - shall
        said = None if owned is None else set(owned)
        return Reconciliation(
            keeps_revoked=said is None or not said.isdisjoint(member.revoking),
            loses=bool(lost),
            keeps_lost=said is None or not said.isdisjoint(lost),
            awaits=bool(self._held_by_others(member, shall - member.partitions.keys())),
        )

    def follow(self, member: ConsumerMember, effects: ConsumerGroupEffects) -> None:
        """What a member has becomes what a step wants: of what it shall have it keeps what it has, and may get more."""
        shall = self._shall(member)
        wanted = shall - member.partitions.keys()
        if effects.revokes:
            member.revoking = {tp: epoch for tp, epoch in member.partitions.items() if tp not in shall}
        if effects.revokes or effects.gives:
            member.partitions = {tp: epoch for tp, epoch in member.partitions.items() if tp in shall}
        if effects.gives:
            free = sorted(wanted - self._held_by_others(member, wanted))
            member.partitions |= dict.fromkeys(free, self.assignment_epoch)
            member.revoking = {}

    def _shall(self, member: ConsumerMember) -> set[TopicPartition]:
        read = self.read_by(member)
        return {partition for partition in member.target if partition[0] in read}

    def _held_by_others(self, member: ConsumerMember, wanted: set[TopicPartition]) -> set[TopicPartition]:
        """What of it another member has, or has not given back yet."""
        if not wanted:
            return wanted
        others = (each for each in self.members.values() if each is not member)
        return {tp for each in others for held in (each.partitions, each.revoking) for tp in held} & wanted

    # ---------------------------------------------------------------- the log

    def value(self) -> GroupValue:
        """What of the group is written into the log."""
        return GroupValue(
            generation=self.generation,
            members=tuple((name, member.epoch) for name, member in self.members.items()),
            assignment_epoch=self.assignment_epoch,
            consumers=tuple((name, member.value()) for name, member in self.members.items()),
            patterns=tuple(self.patterns.items()),
        )


def loaded_consumer_group(name: str, value: GroupValue) -> ConsumerGroup:
    """The group as the newest records of the log tell it."""
    said = dict(value.consumers)
    group = ConsumerGroup(name, value.generation, value.assignment_epoch, patterns=dict(value.patterns))
    for member, epoch in value.members:
        group.members[member] = _loaded_member(epoch, said[member])
    # All partitions that a topic had when they were assigned last are somebody's.
    assigned = Counter(topic for member in group.members.values() for topic, _ in member.target)
    group.counts = {topic: assigned[topic] for topic in group.topics()}
    return group


def _loaded_member(epoch: int, value: ConsumerMemberValue) -> ConsumerMember:
    return ConsumerMember(
        epoch,
        value.previous_epoch,
        value.state,
        value.rebalance_timeout_ms,
        instance=value.instance,
        topics=value.topics,
        topic_pattern=value.topic_pattern,
        assignor=value.assignor,
        partitions=dict(value.partitions),
        revoking=dict(value.revoking),
        target=value.target,
    )
