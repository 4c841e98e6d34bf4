"""Heartbeat (API key 12, versions 0-4): a member of a classic group is alive, and asks whether it has to join again.

Behaviour: only in the present generation; while its assignment is awaited a member is as good as in.
Versions: 3 carries the static instance (KIP-345).
Source: ``GroupMetadataManager.classicGroupHeartbeat``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_identity
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NOTHING, Error, Guard


def decide_classic_heartbeat(
    group: ClassicFacts, sender: Identity, generation: int, has_group_id: int
) -> AppendVerdict:
    """Without an error the member stays as it is: nobody has to be waited for here, so none is told to join again."""
    if has_group_id == 0:
        return append_refused(Error.INVALID_GROUP_ID, Guard.NO_GROUP_ID)
    if group.known == 0:
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
    return append_accepted(Guard.MEMBER_IS_IN, NOTHING)
