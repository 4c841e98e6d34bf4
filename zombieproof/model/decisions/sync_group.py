"""SyncGroup (API key 14, versions 0-5): the leader says who reads what, the members ask for it.

Behaviour: only in the generation that was joined; the leader's assignment makes the group stable.
Source: ``GroupMetadataManager.classicGroupSync``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_identity
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NOTHING, ClassicGroupEvent, ClassicGroupState, Error, Guard


def decide_sync_group(group: ClassicFacts, sender: Identity, generation: int, has_group_id: int) -> AppendVerdict:
    """ASSIGN: the leader's assignment is to be made durable; NOTHING without an error: it is already.

    A follower that asks before its leader is told to join again; Kafka lets it wait instead, with the same outcome.
    """
    if has_group_id == 0:
        return append_refused(Error.INVALID_GROUP_ID, Guard.NO_GROUP_ID)
    if group.known == 0 or group.empty == 1:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Guard.NOT_KNOWN)
    if group.is_consumer == 1:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Guard.OTHER_PROTOCOL)
    if group.dead == 1:
        return append_refused(Error.COORDINATOR_NOT_AVAILABLE, Guard.O4)
    verdict = decide_identity(sender)
    if verdict.error != Error.NONE:
        return verdict
    if generation != group.generation:
        return append_refused(Error.ILLEGAL_GENERATION, Guard.WRONG_GENERATION)
    if group.state == ClassicGroupState.STABLE:
        return append_accepted(Guard.MEMBER_IS_IN, NOTHING)
    if sender.is_leader == 0:
        return append_refused(Error.REBALANCE_IN_PROGRESS, Guard.REBALANCING)
    return append_accepted(Guard.LEADER_ASSIGNS, ClassicGroupEvent.ASSIGN)
