"""A group of the classic protocol in memory: members, instances, leader, generation (reference §4.1, O4 to O7).

A rebalance ends with the request that opened it: members that are in the group count as having joined again, as those
of prompt clients would have. Kafka lets the joining ones wait for them.
"""

from dataclasses import dataclass, field

from zombieproof.formats.batches import GroupValue
from zombieproof.model.vocabulary import NONE, ClassicGroupState
from zombieproof.statemachines.classic_group.effects import Identity, MemberChange


@dataclass(slots=True)
class ClassicGroup:
    """One group. `members` in the order in which they joined, each with its static instance (None: it has none).

    `pending` are ids that were given out and not joined with; they are in memory only.
    """

    name: str
    state: int = ClassicGroupState.EMPTY
    generation: int = 0
    leader: str = ""
    members: dict[str, str | None] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)

    known = 1
    is_consumer = 0

    @property
    def dead(self) -> int:
        """1 if the group is being removed."""
        return int(self.state == ClassicGroupState.DEAD)

    @property
    def empty(self) -> int:
        """1 if the group has no members."""
        return int(self.state == ClassicGroupState.EMPTY)

    def sender(self, member: str, instance: str | None) -> Identity:
        """What the group knows of who sends a request."""
        owner = None if instance is None else self.member_of(instance)
        return Identity(
            member=NONE if member == "" else 1,
            instance=NONE if instance is None else 1,
            member_is_known=int(member in self.members),
            instance_is_known=int(owner is not None),
            instance_is_this_member=int(owner == member),
            is_leader=int(member != "" and member == self.leader),
            is_pending=int(member in self.pending),
        )

    def member_of(self, instance: str) -> str | None:
        """The member that is this static instance."""
        return next((member for member, known in self.members.items() if known == instance), None)

    def change(self, change: int, member: str, instance: str | None) -> None:
        """What a step wants to happen to `member`, or to the one that is this static instance."""
        if change == MemberChange.PROMISED:
            self.pending.add(member)
        elif change == MemberChange.JOINS:
            self.pending.discard(member)
            if instance is not None:
                self.take_instance(member, instance)
            self.members.setdefault(member, instance)
        elif change == MemberChange.RENOUNCES:
            self.pending.discard(member)
        elif change == MemberChange.LEAVES:
            del self.members[member or self.member_of(instance or "") or ""]
        elif instance is not None:
            # REPLACES, and GIVES_BACK, which names the former member.
            self.take_instance(member, instance)

    def elect(self) -> None:
        """The first that is in leads, if the leader is not."""
        if self.leader not in self.members:
            self.leader = next(iter(self.members), "")

    def take_instance(self, member: str, instance: str) -> None:
        """`member` takes the place of the one that was this static instance, if there was one."""
        former = self.member_of(instance)
        if former is None or former == member:
            return
        self.members = {(member if known == former else known): static for known, static in self.members.items()}
        if self.leader == former:
            self.leader = member

    def value(self) -> GroupValue:
        """What of the group is written into the log."""
        return GroupValue(
            generation=self.generation,
            members=tuple((member, self.generation) for member in self.members),
            leader=self.leader,
            instances=tuple((member, instance) for member, instance in self.members.items() if instance is not None),
        )


def loaded_classic_group(name: str, value: GroupValue) -> ClassicGroup:
    """The group as the newest record of the log tells it: stable, if it has members."""
    instances = dict(value.instances)
    return ClassicGroup(
        name,
        ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY,
        value.generation,
        value.leader,
        {member: instances.get(member) for member, _ in value.members},
    )


@dataclass(slots=True)
class NoGroup:
    """The facts of a group that does not exist; nothing changes them."""

    known: int = 0
    dead: int = 0
    empty: int = 1
    generation: int = NONE
    state: int = ClassicGroupState.EMPTY
    is_consumer: int = 0

    def sender(self, member: str, instance: str | None) -> Identity:
        """Nobody is known to a group that does not exist."""
        return Identity(member=NONE if member == "" else 1, instance=NONE if instance is None else 1)


NO_GROUP = NoGroup()
