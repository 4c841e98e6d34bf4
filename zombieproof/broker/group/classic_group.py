"""A group of the classic protocol in memory: members, instances, leader, generation (reference §4.1, O4 to O7).

A rebalance ends with the request that opened it: members that are in the group count as having joined again, as those
of prompt clients would have. Kafka lets the joining ones wait for them.
"""

from dataclasses import dataclass, field

from zombieproof.broker.cluster.journal import Journal
from zombieproof.formats.batches import GroupValue
from zombieproof.model.decisions.group_members import Identity
from zombieproof.model.vocabulary import NONE, ClassicGroupEvent, ClassicGroupState
from zombieproof.statemachines.classic_group import CLASSIC_GROUP


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

    def join(self, member: str, instance: str | None, journal: Journal) -> None:
        """`member` joins, or joins again, and with it a new generation begins."""
        self.pending.discard(member)
        if instance is not None:
            self.take_instance(member, instance)
        self.members.setdefault(member, instance)
        self.rebalance(journal)

    def take_instance(self, member: str, instance: str) -> None:
        """`member` takes the place of the one that was this static instance, if there was one."""
        former = self.member_of(instance)
        if former is None or former == member:
            return
        self.members = {(member if known == former else known): static for known, static in self.members.items()}
        if self.leader == former:
            self.leader = member

    def lose(self, member: str) -> None:
        """`member` leaves; when all who leave together have left, the others `rebalance`."""
        del self.members[member]

    def assign(self, journal: Journal) -> None:
        """The leader's assignment is durable."""
        self._move(ClassicGroupEvent.ASSIGN, journal)

    def delete(self, journal: Journal) -> None:
        """Nobody needs the group any more."""
        self._move(ClassicGroupEvent.DELETE, journal)

    def value(self) -> GroupValue:
        """What of the group is written into the log."""
        return GroupValue(
            generation=self.generation,
            members=tuple((member, self.generation) for member in self.members),
            leader=self.leader,
            instances=tuple((member, instance) for member, instance in self.members.items() if instance is not None),
        )

    def rebalance(self, journal: Journal) -> None:
        """A new generation begins with those who are in the group, or with nobody."""
        self._move(ClassicGroupEvent.REBALANCE, journal)
        self.generation += 1
        if self.leader not in self.members:
            self.leader = next(iter(self.members), "")
        self._move(ClassicGroupEvent.ALL_JOINED if self.members else ClassicGroupEvent.NOBODY_LEFT, journal)

    def _move(self, event: int, journal: Journal) -> None:
        self.state = journal.move(CLASSIC_GROUP, self.name, self.state, event)


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


@dataclass(frozen=True, slots=True)
class NoGroup:
    """The facts of a group that does not exist."""

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
