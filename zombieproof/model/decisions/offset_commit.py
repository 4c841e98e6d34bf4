"""OffsetCommit (API key 8, versions 2-10): offsets committed outside of transactions.

Behaviour: as TxnOffsetCommit, but a group with members wants to know from which one the commit comes, and none is
taken while the leader has not said yet who reads what.
Versions: 2 to 4 may say for how long an offset is kept; 6 carries the leader epoch of the record there; 7 carries the
static instance; 9 may be answered with GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH (KIP-848); 10 names topics by id.
Source: ``OffsetMetadataManager.validateOffsetCommit``, ``ClassicGroup`` and ``ConsumerGroup.validateOffsetCommit``.
"""

from zombieproof.model.decisions.group_members import ClassicFacts, Identity, decide_identity
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupState, Error, Row

FIRST_VERSION_WITH_CONSUMER_GROUPS = 9


def error_of_offset_place(exists: bool, topic_id_is_known: bool) -> int:
    """Whether there is what an offset is committed for; a topic that is named by an id may be none at all."""
    if not topic_id_is_known:
        return int(Error.UNKNOWN_TOPIC_ID)
    return int(Error.NONE if exists else Error.UNKNOWN_TOPIC_OR_PARTITION)


def expires_at(now_ms: int, retention_ms: int) -> int:
    """When an offset expires whose commit says for how long it is kept; NONE: it does not say it."""
    return int(NONE if retention_ms == NONE else now_ms + retention_ms)


def decide_offset_commit(group: ClassicFacts, sender: Identity, version: int, generation: int) -> AppendVerdict:
    """Judge a plain commit to a classic group, or to a group that is to be made for it."""
    if not group.known:
        if generation < 0:
            return append_accepted(Row.O3, NOTHING)
        if version >= FIRST_VERSION_WITH_CONSUMER_GROUPS:
            return append_refused(Error.GROUP_ID_NOT_FOUND, Row.O3)
        return append_refused(Error.ILLEGAL_GENERATION, Row.O3)
    if group.dead:
        return append_refused(Error.COORDINATOR_NOT_AVAILABLE, Row.O4)
    if generation < 0 and group.empty:
        return append_accepted(Row.O5, NOTHING)
    if generation < 0 and sender.member == NONE and sender.instance == NONE:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Row.MEMBER_NOT_NAMED)
    verdict = decide_identity(sender)
    if verdict.error != Error.NONE:
        return verdict
    if generation != group.generation:
        return append_refused(Error.ILLEGAL_GENERATION, Row.WRONG_GENERATION)
    if group.state == ClassicGroupState.COMPLETING_REBALANCE:
        return append_refused(Error.REBALANCE_IN_PROGRESS, Row.REBALANCING)
    return append_accepted(Row.O6, NOTHING)


def decide_plain_commit_to_consumer_group(
    has_members: bool, member_is_known: bool, member_epoch: int, assignment_epoch: int, version: int, generation: int
) -> AppendVerdict:
    """Judge a plain commit of one partition to a group of the consumer protocol; epochs as in TxnOffsetCommit (O8)."""
    if generation < 0 and not has_members:
        return append_accepted(Row.O8, NOTHING)
    if not member_is_known:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Row.UNKNOWN_MEMBER)
    if version < FIRST_VERSION_WITH_CONSUMER_GROUPS:
        return append_refused(Error.UNSUPPORTED_VERSION, Row.OTHER_PROTOCOL)
    older = generation < member_epoch and assignment_epoch != NONE and assignment_epoch <= generation
    if generation != member_epoch and not older:
        return append_refused(Error.STALE_MEMBER_EPOCH, Row.WRONG_GENERATION)
    return append_accepted(Row.O8, NOTHING)
