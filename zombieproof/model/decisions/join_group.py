"""JoinGroup (API key 11, versions 0-9): a member takes part in the next generation of a classic group.

Behaviour: a new member gets its id and opens a rebalance, and so does the leader that joins again; a member that
joins again otherwise is told the generation that it is in. Nobody joins a group that speaks the consumer protocol
(KIP-848), as if its members' assignors were none that a classic member knows.
Versions: 4 answers a new dynamic member with its id only, and the member joins with it (KIP-394); 5 carries the static
instance (KIP-345).
Source: ``GroupMetadataManager.classicGroupJoinToClassicGroup``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_identity
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupEvent, ClassicGroupState, Error, Guard

FIRST_VERSION_THAT_NEEDS_A_MEMBER_ID = 4


def decide_join_group(group: ClassicFacts, sender: Identity, version: int, has_group_id: int) -> AppendVerdict:
    """REBALANCE: a new generation begins with the sender; NOTHING without an error: it learns the present one."""
    if has_group_id == 0:
        return append_refused(Error.INVALID_GROUP_ID, Guard.NO_GROUP_ID)
    if group.is_consumer == 1 and group.empty == 0:
        return append_refused(Error.INCONSISTENT_GROUP_PROTOCOL, Guard.OTHER_PROTOCOL)
    if group.known == 0 and sender.member != NONE:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Guard.NOT_KNOWN)
    if group.dead == 1:
        return append_refused(Error.COORDINATOR_NOT_AVAILABLE, Guard.O4)
    if sender.member == NONE:
        return _decide_new_member(group, sender, version)
    if sender.is_pending == 1:
        return append_accepted(Guard.MEMBER_JOINS, ClassicGroupEvent.REBALANCE)
    verdict = decide_identity(sender)
    if verdict.error != Error.NONE:
        return verdict
    if group.state == ClassicGroupState.STABLE and sender.is_leader == 1:
        return append_accepted(Guard.MEMBER_JOINS, ClassicGroupEvent.REBALANCE)
    return append_accepted(Guard.MEMBER_IS_IN, NOTHING)


def _decide_new_member(group: ClassicFacts, sender: Identity, version: int) -> AppendVerdict:
    if sender.instance == NONE:
        if version >= FIRST_VERSION_THAT_NEEDS_A_MEMBER_ID:
            return append_refused(Error.MEMBER_ID_REQUIRED, Guard.MEMBER_ID_FIRST)
    elif sender.instance_is_known == 1 and group.state == ClassicGroupState.STABLE:
        return append_accepted(Guard.MEMBER_IS_IN, NOTHING)
    return append_accepted(Guard.MEMBER_JOINS, ClassicGroupEvent.REBALANCE)
