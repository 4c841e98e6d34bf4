"""LeaveGroup (API key 13, versions 0-5): a member of a classic group goes, and the others rebalance.

Versions: 3 names several members, each with an error of its own, and static instances: without a member id an
instance is removed by whoever names it, as an administrator does (KIP-345).
Source: ``GroupMetadataManager.classicGroupLeave``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_identity
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupEvent, Error, Guard

FIRST_VERSION_WITH_LEAVERS = 3


def is_of_the_whole_request(error: int) -> bool:
    """Whether an error is about the group, not about the one who leaves: from version 3 on it stands alone then."""
    return error in (Error.INVALID_GROUP_ID, Error.COORDINATOR_NOT_AVAILABLE)


def decide_leave_group(group: ClassicFacts, sender: Identity, has_group_id: int) -> AppendVerdict:
    """REBALANCE: the member is removed; NOTHING without an error: it had an id only, and that is forgotten."""
    if has_group_id == 0:
        return append_refused(Error.INVALID_GROUP_ID, Guard.NO_GROUP_ID)
    if group.known == 0:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Guard.NOT_KNOWN)
    if group.is_consumer == 1:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Guard.OTHER_PROTOCOL)
    if group.dead == 1:
        return append_refused(Error.COORDINATOR_NOT_AVAILABLE, Guard.O4)
    if sender.member == NONE:
        if sender.instance_is_known == 1:
            return append_accepted(Guard.MEMBER_LEAVES, ClassicGroupEvent.REBALANCE)
        return append_refused(Error.UNKNOWN_MEMBER_ID, Guard.MEMBER_NOT_NAMED)
    if sender.is_pending == 1:
        return append_accepted(Guard.MEMBER_LEAVES, NOTHING)
    verdict = decide_identity(sender)
    if verdict.error != Error.NONE:
        return verdict
    return append_accepted(Guard.MEMBER_LEAVES, ClassicGroupEvent.REBALANCE)
