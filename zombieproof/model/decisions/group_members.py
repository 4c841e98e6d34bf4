"""Who a request to a group says that it is: what the requests of the classic protocol have in common.

Behaviour: a request names a group, which is there and of the classic protocol; it may name a static instance
(KIP-345), then the instance must be known and be this member; the member must be in the group, and in its generation.
Source: ``GroupMetadataManager.java``, ``ClassicGroup.validateMember``.
"""

from typing import NamedTuple, Protocol

from zombieproof.model.decisions.txn_offset_commit import GroupFacts
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row


class ClassicFacts(GroupFacts, Protocol):
    """What else the coordinator knows of a group where its members speak."""

    @property
    def state(self) -> int:
        """Its `ClassicGroupState`."""
        ...

    @property
    def is_consumer(self) -> bool:
        """Whether it is a group of the consumer protocol (KIP-848)."""
        ...


class Identity(NamedTuple):
    """What a request says of its sender, and what the group knows of it; -1: not given.

    `is_pending`: the member has got its id, but has not joined with it yet. `shares_protocol`: every member knows an
    assignor that the sender knows; of SyncGroup, what it says of the protocol is that of the group. `has_news`: it says
    something else to the assignors than before. `changes_protocol`: with it another assignor would be chosen.
    """

    member: int = NONE
    instance: int = NONE
    member_is_known: bool = False
    instance_is_known: bool = False
    instance_is_this_member: bool = False
    is_leader: bool = False
    is_pending: bool = False
    shares_protocol: bool = True
    has_news: bool = False
    changes_protocol: bool = False


def decide_identity(sender: Identity) -> AppendVerdict:
    """UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, or NO_ROW: the sender is who it says."""
    if sender.instance != NONE:
        if not sender.instance_is_known:
            return append_refused(Error.UNKNOWN_MEMBER_ID, Row.UNKNOWN_MEMBER)
        if not sender.instance_is_this_member:
            return append_refused(Error.FENCED_INSTANCE_ID, Row.FENCED_INSTANCE)
    if not sender.member_is_known:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Row.UNKNOWN_MEMBER)
    return append_accepted(Row.NO_ROW, NOTHING)


def decide_classic_group(group: ClassicFacts, has_group_id: bool) -> AppendVerdict:
    """What is wrong with a group in which somebody speaks, or NO_ROW: it is a classic one, and lives."""
    if not has_group_id:
        return append_refused(Error.INVALID_GROUP_ID, Row.NO_GROUP_ID)
    if not group.known:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Row.NOT_KNOWN)
    if group.is_consumer:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Row.OTHER_PROTOCOL)
    if group.dead:
        return append_refused(Error.COORDINATOR_NOT_AVAILABLE, Row.O4)
    return append_accepted(Row.NO_ROW, NOTHING)


def decide_generation(group: ClassicFacts, sender: Identity, generation: int, has_group_id: bool) -> AppendVerdict:
    """The error about the group, the sender or the generation that it names, or NO_ROW: it is a member of that."""
    verdict = decide_classic_group(group, has_group_id)
    if verdict.error != Error.NONE:
        return verdict
    verdict = decide_identity(sender)
    if verdict.error != Error.NONE:
        return verdict
    if generation != group.generation:
        return append_refused(Error.ILLEGAL_GENERATION, Row.WRONG_GENERATION)
    return append_accepted(Row.NO_ROW, NOTHING)
