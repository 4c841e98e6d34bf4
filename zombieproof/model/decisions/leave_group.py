"""LeaveGroup (API key 13, versions 0-5): a member of a classic group goes, and the others rebalance.

Versions: 3 names several members, each with an error of its own, and static instances: without a member id an
instance is removed by whoever names it, as an administrator does (KIP-345).
Source: ``GroupMetadataManager.classicGroupLeaveToClassicGroup``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_classic_group, decide_identity
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupEvent, Error, Row

FIRST_VERSION_WITH_LEAVERS = 3


def is_of_the_whole_request(error: int) -> bool:
    """Whether an error is about the group, not about the one who leaves: from version 3 on it stands alone then."""
    return error in (Error.INVALID_GROUP_ID, Error.COORDINATOR_NOT_AVAILABLE)


def decide_leave_group(group: ClassicFacts, sender: Identity, has_group_id: bool, rules: Rules) -> AppendVerdict:
    """Without an error the sender is removed, and REBALANCE: the others join again; NOTHING: it had an id only."""
    verdict = decide_classic_group(group, has_group_id)
    if verdict.error != Error.NONE:
        return verdict
    if sender.member == NONE:
        if sender.instance_is_known:
            return append_accepted(Row.MEMBER_LEAVES, ClassicGroupEvent.REBALANCE)
        return append_refused(Error.UNKNOWN_MEMBER_ID, Row.MEMBER_NOT_NAMED)
    if sender.is_pending:
        rebalances = rules.given_back_id_rebalances == 1
        return append_accepted(Row.MEMBER_LEAVES, ClassicGroupEvent.REBALANCE if rebalances else NOTHING)
    verdict = decide_identity(sender)
    if verdict.error != Error.NONE:
        return verdict
    return append_accepted(Row.MEMBER_LEAVES, ClassicGroupEvent.REBALANCE)
