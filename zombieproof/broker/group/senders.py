"""Who sends a request to a group of the classic protocol, whatever group there is."""

from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.classic_member import GroupMember
from zombieproof.broker.group.store import Group
from zombieproof.messages.groups import JoinGroup
from zombieproof.statemachines.classic_group.effects import Identity
from zombieproof.statemachines.classic_group.members import GroupMembers

AnyGroup = Group | NoGroup


def protocols_of(request: JoinGroup) -> dict[str, bytes]:
    """The assignors that the sender knows, with what it says to each."""
    return {each.name: each.metadata for each in request.protocols}


def with_protocols(sender: Identity, group: AnyGroup, request: JoinGroup) -> Identity:
    """What the group knows of who joins, with how its protocols stand to those of the others."""
    protocols = protocols_of(request)
    if not isinstance(group, ClassicGroup):
        return sender._replace(shares_protocol=bool(request.protocol_type and protocols))
    said = list(group.find(request.member).protocols.items()) if request.member else None
    return sender._replace(
        shares_protocol=group.shares_protocol(request.protocol_type, protocols),
        has_news=said not in (None, list(protocols.items())),
        changes_protocol=group.protocol_with(protocols, request.instance) != group.protocol,
    )


def records_of(group: AnyGroup) -> GroupMembers:
    """The members of a group; a group that has no such members has none."""
    return group.records if isinstance(group, ClassicGroup) else GroupMembers()


def seat_of(group: AnyGroup, member: str, instance: str | None) -> GroupMember:
    """The member, or its static instance, of whichever group there is."""
    return group.find(member, instance) if isinstance(group, ClassicGroup) else GroupMember(name=member)
