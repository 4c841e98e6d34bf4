"""SyncGroup (API key 14, versions 0-5): the leader says who reads what, the members ask for it.

Behaviour: only in the generation that was joined; a member waits for the leader's assignment, which makes the group
stable. While others are waited for there is none to come: the member is to join again.
Versions: 3 carries the static instance (KIP-345); 5 says which protocol the member takes for that of the group, and is
refused before anything else where it does not (KIP-559).
Source: ``GroupMetadataManager.classicGroupSyncToClassicGroup``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_generation
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NOTHING, ClassicGroupEvent, ClassicGroupState, Error, Row

FIRST_VERSION_THAT_NAMES_ITS_PROTOCOL = 5


def decide_sync_terms(version: int, names_protocol: bool) -> AppendVerdict:
    """What any broker judges before it looks the group up."""
    if version >= FIRST_VERSION_THAT_NAMES_ITS_PROTOCOL and not names_protocol:
        return append_refused(Error.INCONSISTENT_GROUP_PROTOCOL, Row.OTHER_PROTOCOL)
    return append_accepted(Row.NO_ROW, NOTHING)


def decide_sync_group(group: ClassicFacts, sender: Identity, generation: int, has_group_id: bool) -> AppendVerdict:
    """ASSIGN: the leader's assignment becomes durable. NOTHING without an error: it is, or MEMBER_WAITS for it."""
    verdict = decide_generation(group, sender, generation, has_group_id)
    if verdict.error != Error.NONE:
        return verdict
    if not sender.shares_protocol:
        return append_refused(Error.INCONSISTENT_GROUP_PROTOCOL, Row.OTHER_PROTOCOL)
    if group.state == ClassicGroupState.PREPARING_REBALANCE:
        return append_refused(Error.REBALANCE_IN_PROGRESS, Row.REBALANCING)
    if group.state == ClassicGroupState.STABLE:
        return append_accepted(Row.MEMBER_IS_IN, NOTHING)
    if not sender.is_leader:
        return append_accepted(Row.MEMBER_WAITS, NOTHING)
    return append_accepted(Row.LEADER_ASSIGNS, ClassicGroupEvent.ASSIGN)
