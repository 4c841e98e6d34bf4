"""A group of the classic protocol in memory: members, instances, leader, generation (reference §4.1, O4 to O7).

Who is in it and who waits is in the records of its steps (``statemachines.classic_group.members``); here they have
names, and the requests that wait for them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from zombieproof.broker.group.classic_member import NO_REQUEST, GroupMember, chosen_by, dropped, known_by_all
from zombieproof.broker.group.effects import GroupEffect, Reply
from zombieproof.formats.batches import GroupValue
from zombieproof.formats.consumer_protocol import read_subscription
from zombieproof.formats.faults import Undecodable
from zombieproof.messages.groups import CONSUMERS, JoinedMember, JoinGroupAnswer, SyncGroupAnswer
from zombieproof.model.vocabulary import NONE, ClassicGroupState, Error
from zombieproof.statemachines.classic_group.effects import Identity
from zombieproof.statemachines.classic_group.members import NO_RESULT, GroupMembers, Standing

NO_PROTOCOL = "range"
"""What a member knows of which the log does not say it."""


@dataclass(slots=True)
class ClassicGroup:
    """One group. `seats` are those who are in it and those who have got an id, in the order in which they came.

    `wakes_ms` is when it looks at its clock next, NONE: never. `protocol`: the assignor of this generation.
    """

    name: str
    state: int = ClassicGroupState.EMPTY
    generation: int = 0
    seats: list[GroupMember] = field(default_factory=list)
    records: GroupMembers = field(init=False)
    wakes_ms: int = NONE
    protocol_type: str = CONSUMERS
    protocol: str | None = None
    _protocol_of: int = 0
    _by_name: dict[str, GroupMember] = field(default_factory=dict)
    _numbers: int = 0

    known = True
    is_consumer = False

    def __post_init__(self) -> None:
        self.records = GroupMembers(self.seats)

    @property
    def dead(self) -> bool:
        """Whether the group is being removed."""
        return self.state == ClassicGroupState.DEAD

    @property
    def empty(self) -> bool:
        """Whether the group has no members."""
        return self.state == ClassicGroupState.EMPTY

    @property
    def members(self) -> dict[str, str | None]:
        """The members, each with its static instance."""
        return {seat.name: seat.instance for seat in self.seats if seat.standing == Standing.IN}

    @property
    def pending(self) -> set[str]:
        """The ids that were given out and not joined with; they are in memory only."""
        return {seat.name for seat in self.seats if seat.standing == Standing.PROMISED}

    @property
    def leader(self) -> str:
        """The member that leads, "" if there is none."""
        return next((seat.name for seat in self.seats if seat.number == self.records.leader), "")

    # ---------------------------------------------------------------- who is who

    def find(self, member: str, instance: str | None = None) -> GroupMember:
        """The member, or for "" the static instance; one that is new, where there is no such."""
        holder = self._holder(instance)
        seat = holder if member == "" else self._by_name.get(member)
        return GroupMember(name=member, instance=instance) if seat is None else seat

    def newcomer(self, instance: str | None) -> GroupMember:
        """Somebody who may become a member."""
        holder = self._holder(instance)
        if holder is None:
            return GroupMember(instance=instance)
        return GroupMember(instance=instance, former=holder.number, assignment=holder.assignment)

    def sender(self, member: str, instance: str | None) -> Identity:
        """What the group knows of who sends a request."""
        holder, seat = self._holder(instance), self._by_name.get(member)
        return Identity(
            member=NONE if member == "" else 1,
            instance=NONE if instance is None else 1,
            member_is_known=seat is not None and seat.standing == Standing.IN,
            instance_is_known=holder is not None,
            instance_is_this_member=holder is not None and holder.name == member,
            is_leader=seat is not None and seat.number == self.records.leader,
            is_pending=seat is not None and seat.standing == Standing.PROMISED,
        )

    def _holder(self, instance: str | None) -> GroupMember | None:
        if instance is None:
            return None
        return next((seat for seat in self.seats if seat.instance == instance and seat.standing == Standing.IN), None)

    # ---------------------------------------------------------------- protocols

    def _members(self) -> list[GroupMember]:
        return [seat for seat in self.seats if seat.standing == Standing.IN]

    def shares_protocol(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether every member knows one of these assignors; where there is no member, whether there is any."""
        known, members = frozenset(names), self._members()
        if not members:
            return protocol_type != "" and known != frozenset()
        return protocol_type == self.protocol_type and not known.isdisjoint(known_by_all(members))

    def is_protocol(self, protocol_type: str | None, name: str | None) -> bool:
        """Whether these are the type and the name of this generation's protocol; None: not said."""
        return protocol_type in (None, self.protocol_type) and (self.protocol is None or name in (None, self.protocol))

    def protocol_with(self, protocols: Mapping[str, bytes], instance: str | None) -> str | None:
        """The assignor that would be chosen if the static `instance` knew `protocols`."""
        others = [seat for seat in self._members() if seat.instance != instance]
        return chosen_by([*others, GroupMember(protocols=protocols)])

    def _choose_protocol(self) -> None:
        """A new generation has an assignor of its own choice."""
        if self._protocol_of != self.generation:
            self._protocol_of, self.protocol = self.generation, chosen_by(self._members())

    def take_protocol(self, value: GroupValue) -> None:
        """The protocol is what the log says."""
        self.protocol_type, self.protocol, self._protocol_of = value.protocol_type, value.protocol, value.generation

    def topics(self) -> frozenset[str] | None:
        """What the members read; None: they are no consumers, or say it in a way that no broker reads."""
        if self.protocol_type != CONSUMERS:
            return None if self._members() else frozenset()
        said = [seat.protocols.get(self.protocol or "", b"") for seat in self._members()]
        try:
            read = [read_subscription(each) for each in said]
        except Undecodable:
            return None
        return frozenset(topic for each in read for topic in each.topics) if all(said) else None

    def give(self, assignments: Mapping[str, bytes]) -> None:
        """Each member gets what the leader says; one that it does not name gets nothing."""
        for seat in self.seats:
            seat.assignment = assignments.get(seat.name, b"")

    def told_to_leader(self) -> tuple[JoinedMember, ...]:
        """The members of this generation, with what they say to its assignor."""
        return tuple(
            JoinedMember(seat.name, seat.protocols.get(self.protocol or "", b""), seat.instance)
            for seat in self._members()
        )

    # ---------------------------------------------------------------- who comes and goes

    def seat(self, seat: GroupMember) -> None:
        """Somebody is looked at as if it were in the group; who has not come to be so is not (`clear`)."""
        if seat.number == NONE:
            self._numbers += 1
            seat.number = self._numbers
            self.seats.append(seat)
        if seat.name:
            self._by_name[seat.name] = seat

    def clear(self) -> list[GroupEffect]:
        """Who is in no longer is forgotten, with its requests that wait."""
        effects = list[GroupEffect]()
        for seat in [seat for seat in self.seats if seat.standing == Standing.NOBODY]:
            self.seats.remove(seat)
            self._by_name.pop(seat.name, None)
            effects += [*dropped(seat.join_number), *dropped(seat.sync_number)]
        return effects

    def take_results(self) -> list[GroupEffect]:
        """The answers to those who are told something by the step that has just been taken."""
        effects = list[GroupEffect]()
        self._choose_protocol()
        for seat in self.seats:
            if seat.join_result != NO_RESULT:
                effects.append(Reply(seat.join_number, (self.name,), self._joined(seat, seat.join_result)))
                seat.join_result, seat.join_number = NO_RESULT, NO_REQUEST
            if seat.sync_result != NO_RESULT:
                effects.append(Reply(seat.sync_number, (self.name,), self.synced(seat, seat.sync_result)))
                seat.sync_result, seat.sync_number = NO_RESULT, NO_REQUEST
        return effects

    def _joined(self, seat: GroupMember, error: int) -> JoinGroupAnswer:
        if error == Error.NONE:
            return self.joined(seat, self.leader)
        return JoinGroupAnswer(error, member="" if error == Error.UNKNOWN_MEMBER_ID else seat.name)

    def joined(self, seat: GroupMember, leader: str, *, skips_assignment: bool = False) -> JoinGroupAnswer:
        """What a member is told of this generation; it is told of the others where it leads."""
        return JoinGroupAnswer(
            int(Error.NONE),
            self.generation,
            leader,
            seat.name,
            self.protocol_type,
            self.protocol or None,
            self.told_to_leader() if seat.name == leader else (),
            skips_assignment,
        )

    def synced(self, seat: GroupMember, error: int) -> SyncGroupAnswer:
        """What a member got in this generation."""
        if error != Error.NONE:
            return SyncGroupAnswer(error)
        return SyncGroupAnswer(error, seat.assignment, self.protocol_type, self.protocol)

    # ---------------------------------------------------------------- the log

    def value(self) -> GroupValue:
        """What of the group is written into the log."""
        seats = [seat for seat in self.seats if seat.standing == Standing.IN]
        return GroupValue(
            generation=self.generation,
            members=tuple((seat.name, self.generation) for seat in seats),
            leader=self.leader,
            instances=tuple((seat.name, seat.instance) for seat in seats if seat.instance is not None),
            timeouts=tuple(
                (seat.name, (seat.session_timeout_ms, seat.rebalance_timeout_ms))
                for seat in seats
                if seat.session_timeout_ms != NONE
            ),
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            said=tuple(
                (seat.name, (seat.protocols.get(self.protocol or "", b""), seat.assignment))
                for seat in seats
                if seat.assignment or seat.protocols.get(self.protocol or "", b"")
            ),
        )


def loaded_classic_group(name: str, value: GroupValue) -> ClassicGroup:
    """The group as the newest record of the log tells it: stable, if it has members."""
    instances, timeouts, said = dict(value.instances), dict(value.timeouts), dict(value.said)
    group = ClassicGroup(name, ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY, value.generation)
    group.take_protocol(value)
    for member, _ in value.members:
        session_ms, rebalance_ms = timeouts.get(member, (NONE, NONE))
        subscription, assignment = said.get(member, (b"", b""))
        seat = GroupMember(
            name=member,
            instance=instances.get(member),
            protocols={value.protocol or NO_PROTOCOL: subscription},
            assignment=assignment,
            is_static=member in instances,
            standing=Standing.IN,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
        )
        group.seat(seat)
        if member == value.leader:
            group.records.leader = seat.number
    return group


@dataclass(slots=True)
class NoGroup:
    """The facts of a group that does not exist; nothing changes them."""

    known: bool = False
    dead: bool = False
    empty: bool = True
    generation: int = NONE
    state: int = ClassicGroupState.EMPTY
    is_consumer: bool = False

    def sender(self, member: str, instance: str | None) -> Identity:
        """Nobody is known to a group that does not exist."""
        return Identity(member=NONE if member == "" else 1, instance=NONE if instance is None else 1)


NO_GROUP = NoGroup()
