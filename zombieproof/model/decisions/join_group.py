"""JoinGroup (API key 11, versions 0-9): a member takes part in the next generation of a classic group.

Behaviour: a new member gets its id and opens a rebalance, and so does the leader that joins again, and whoever has
something new to say to the assignors; while a rebalance is open whoever joins takes part in it, and waits until it
ends. A member that joins again otherwise is told the generation that it is in. All have to know one assignor. Nobody
joins a group that speaks the consumer protocol (KIP-848), as if its members' assignors were none that a classic member
knows. Whether there is room (KIP-389) is looked at before what a member says and who it is, so that a static member
that begins anew does not get its own place in a full group (recordings ``n-guard-*``).
Versions: 1 carries the rebalance time-out, which was the session's before; 4 answers a new dynamic member with its id
only, and the member joins with it (KIP-394); 5 carries the static instance (KIP-345); 9 tells a static member that
takes its place again that it leads (KIP-814).
Source: ``GroupCoordinatorService.joinGroup``, ``GroupMetadataManager.classicGroupJoinToClassicGroup``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_identity
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupEvent, ClassicGroupState, Error, Row

FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
FIRST_VERSION_THAT_NEEDS_A_MEMBER_ID = 4
FIRST_VERSION_THAT_SKIPS_ASSIGNMENT = 9


def decide_join_terms(has_group_id: bool, session_timeout_ms: int, least_ms: int, most_ms: int) -> AppendVerdict:
    """What the broker judges before it looks the group up: its name, and the session time-out."""
    if not has_group_id:
        return append_refused(Error.INVALID_GROUP_ID, Row.NO_GROUP_ID)
    if session_timeout_ms < least_ms or session_timeout_ms > most_ms:
        return append_refused(Error.INVALID_SESSION_TIMEOUT, Row.SESSION_TIMEOUT)
    return append_accepted(Row.NO_ROW, NOTHING)


def rebalance_timeout_of(version: int, session_timeout_ms: int, rebalance_timeout_ms: int) -> int:
    """For how long the others wait for a member: as long as its session lasts, where it does not say it."""
    return int(rebalance_timeout_ms if version >= FIRST_VERSION_WITH_REBALANCE_TIMEOUT else session_timeout_ms)


def has_room(state: int, is_member: bool, awaits_join: bool, members: int, awaiting: int, most: int) -> bool:
    """Whether somebody may join a group of at most `most`: while it rebalances those count who have joined already."""
    if state in (ClassicGroupState.EMPTY, ClassicGroupState.DEAD):
        return True
    if state == ClassicGroupState.PREPARING_REBALANCE:
        return awaits_join or awaiting < most
    return is_member or members < most


def decide_join_group(group: ClassicFacts, sender: Identity, version: int, is_full: bool = False) -> AppendVerdict:
    """REBALANCE: a rebalance begins or goes on with the sender; NOTHING without an error: it learns the generation."""
    if group.is_consumer and not group.empty:
        return append_refused(Error.INCONSISTENT_GROUP_PROTOCOL, Row.OTHER_PROTOCOL)
    if not group.known and sender.member != NONE:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Row.NOT_KNOWN)
    if group.dead:
        return append_refused(Error.COORDINATOR_NOT_AVAILABLE, Row.O4)
    if is_full:
        return append_refused(Error.GROUP_MAX_SIZE_REACHED, Row.GROUP_FULL)
    if not sender.shares_protocol:
        return append_refused(Error.INCONSISTENT_GROUP_PROTOCOL, Row.OTHER_PROTOCOL)
    if sender.member == NONE:
        return _decide_new_member(group, sender, version)
    if sender.is_pending:
        return append_accepted(Row.MEMBER_JOINS, ClassicGroupEvent.REBALANCE)
    verdict = decide_identity(sender)
    if verdict.error != Error.NONE:
        return verdict
    leads_a_stable_group = group.state == ClassicGroupState.STABLE and sender.is_leader
    if leads_a_stable_group or sender.has_news or group.state == ClassicGroupState.PREPARING_REBALANCE:
        return append_accepted(Row.MEMBER_JOINS, ClassicGroupEvent.REBALANCE)
    return append_accepted(Row.MEMBER_IS_IN, NOTHING)


def _decide_new_member(group: ClassicFacts, sender: Identity, version: int) -> AppendVerdict:
    if sender.instance == NONE:
        if version >= FIRST_VERSION_THAT_NEEDS_A_MEMBER_ID:
            return append_refused(Error.MEMBER_ID_REQUIRED, Row.MEMBER_ID_FIRST)
    elif sender.instance_is_known and group.state == ClassicGroupState.STABLE and not sender.changes_protocol:
        return append_accepted(Row.MEMBER_IS_IN, NOTHING)
    return append_accepted(Row.MEMBER_JOINS, ClassicGroupEvent.REBALANCE)


def knows_that_it_leads(version: int) -> bool:
    """Whether a static member that takes the place of its leading instance is told so; else it is told who led."""
    return version >= FIRST_VERSION_THAT_SKIPS_ASSIGNMENT
