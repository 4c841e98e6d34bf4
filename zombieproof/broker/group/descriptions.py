"""Groups as administrators are told of them: DescribeGroups, ListGroups, ConsumerGroupDescribe.

What is told is decided by the steps (``statemachines.group_coordinator.descriptions``); here groups are looked up.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from zombieproof.broker.group.classic_group import ClassicGroup
from zombieproof.broker.group.classic_member import GroupMember
from zombieproof.broker.group.consumer_group import ConsumerGroup, ConsumerMember
from zombieproof.broker.group.senders import AnyGroup
from zombieproof.broker.group.store import GroupStores
from zombieproof.formats.topics import TopicPartition, UnnamedTopic
from zombieproof.messages.group_descriptions import (
    ConsumerDescription,
    ConsumerGroupDescribe,
    ConsumerGroupDescription,
    ConsumerGroupsDescribed,
    DescribeGroups,
    GroupDescription,
    GroupListing,
    GroupsDescribed,
    GroupsListed,
    ListGroups,
    MemberDescription,
)
from zombieproof.messages.groups import CONSUMERS
from zombieproof.model.vocabulary import ClassicGroupState, Error
from zombieproof.statemachines.classic_group.members import Standing
from zombieproof.statemachines.group_coordinator import descriptions as steps

CLASSIC, CONSUMER = "classic", "consumer"
"""The types of groups."""


@dataclass(slots=True)
class Descriptions:
    """The groups that one broker answers for."""

    stores: GroupStores

    def describe(self, request: DescribeGroups) -> GroupsDescribed:
        """Answer DescribeGroups."""
        return GroupsDescribed(tuple([self._classic(name, request.version) for name in request.groups]))

    def describe_consumers(self, request: ConsumerGroupDescribe) -> ConsumerGroupsDescribed:
        """Answer ConsumerGroupDescribe."""
        return ConsumerGroupsDescribed(tuple([self._consumers(name) for name in request.groups]))

    def list(self, request: ListGroups) -> GroupsListed:
        """Answer ListGroups."""
        groups = [group for store in self.stores.all() for group in store.groups.values()]
        rows = [_listing(group) for group in groups]
        passed = [row for row in rows if steps.passes(row.state, row.type, request.states, request.types)]
        return GroupsListed(int(Error.NONE), tuple(passed))

    def _find(self, name: str) -> tuple[int, AnyGroup | None]:
        found = self.stores.find(name)
        return found.error, None if found.store is None else found.store.group(name)

    def _classic(self, name: str, version: int) -> GroupDescription:
        lookup, group = self._find(name)
        known, is_consumer = group is not None and group.known, group is not None and group.is_consumer
        error = steps.describes_classic(lookup, known, is_consumer, version)
        if lookup != Error.NONE:
            return GroupDescription(name, error)
        if not isinstance(group, ClassicGroup):
            why = f"Group {name} is not a classic group." if is_consumer else f"Group {name} not found."
            dead = steps.name_of(ClassicGroupState.DEAD)
            return GroupDescription(name, error, None if error == Error.NONE else why, dead)
        tells = steps.tells_members(group.state)
        return GroupDescription(
            name,
            error,
            state=steps.name_of(ClassicGroupState(group.state)),
            protocol_type=group.protocol_type,
            protocol=(group.protocol or "") if tells else "",
            members=tuple([_member(group, seat, tells=tells) for seat in group.seats if seat.standing == Standing.IN]),
        )

    def _consumers(self, name: str) -> ConsumerGroupDescription:
        lookup, group = self._find(name)
        known, is_consumer = group is not None and group.known, group is not None and group.is_consumer
        error = steps.describes_consumer(lookup, known, is_consumer)
        if lookup != Error.NONE:
            return ConsumerGroupDescription(name, error)
        if not isinstance(group, ConsumerGroup):
            why = f"Group {name} is not a consumer group." if known else f"Group {name} not found."
            return ConsumerGroupDescription(name, error, why)
        return ConsumerGroupDescription(
            name,
            error,
            state=_state_of(group),
            epoch=group.generation,
            assignment_epoch=group.assignment_epoch,
            assignor=group.assignor,
            members=tuple([_consumer(each, member) for each, member in group.members.items()]),
        )


def _state_of(group: ConsumerGroup) -> str:
    states = [member.state for member in group.members.values()]
    return steps.name_of(steps.state_of_consumers(group.generation, group.assignment_epoch, states))


def _listing(group: ClassicGroup | ConsumerGroup) -> GroupListing:
    if isinstance(group, ConsumerGroup):
        return GroupListing(group.name, CONSUMERS, _state_of(group), CONSUMER)
    return GroupListing(group.name, group.protocol_type, steps.name_of(ClassicGroupState(group.state)), CLASSIC)


def _member(group: ClassicGroup, seat: GroupMember, *, tells: bool) -> MemberDescription:
    said = seat.protocols.get(group.protocol or "", b"") if tells else b""
    got = seat.assignment if tells else b""
    return MemberDescription(seat.name, seat.instance, seat.client_id, seat.client_host, said, got)


def _consumer(name: str, member: ConsumerMember) -> ConsumerDescription:
    return ConsumerDescription(
        name,
        member.instance,
        member.epoch,
        member.client_id,
        member.client_host,
        member.topics,
        member.topic_pattern or "",
        _named(member.partitions),
        _named(member.target),
    )


def _named(partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Those of topics that exist: of others nothing is told, as in Kafka."""
    return tuple(sorted(each for each in partitions if not isinstance(each[0], UnnamedTopic)))
