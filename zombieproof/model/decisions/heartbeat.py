"""Heartbeat (API key 12, versions 0-4): a member of a classic group is alive, and asks whether it has to join again.

Behaviour: only in the present generation; it has to while others are waited for, and lives all the same. While its
assignment is awaited a member is as good as in. A coordinator that still reads its log takes every member for alive.
Versions: 3 carries the static instance (KIP-345).
Source: ``GroupCoordinatorService.heartbeat``, ``GroupMetadataManager.classicGroupHeartbeatToClassicGroup``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_generation
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NOTHING, ClassicGroupState, Error, Row


def error_of_heartbeat_elsewhere(lookup_error: int) -> int:
    """What a member is told by a broker that does not answer for its group, or not yet."""
    return int(Error.NONE if lookup_error == Error.COORDINATOR_LOAD_IN_PROGRESS else lookup_error)


def decide_classic_heartbeat(
    group: ClassicFacts, sender: Identity, generation: int, has_group_id: bool
) -> AppendVerdict:
    """Without an error the member stays as it is; REBALANCING: it is alive, and is to join again."""
    verdict = decide_generation(group, sender, generation, has_group_id)
    if verdict.error != Error.NONE:
        return verdict
    if group.state == ClassicGroupState.PREPARING_REBALANCE:
        return append_refused(Error.REBALANCE_IN_PROGRESS, Row.REBALANCING)
    return append_accepted(Row.MEMBER_IS_IN, NOTHING)
