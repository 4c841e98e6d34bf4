"""OffsetDelete (API key 47, version 0), and the expiry of offsets: how a committed offset goes.

Behaviour: a tombstone removes the committed offset and every one that waits for a marker (reference §4.2). Offsets
expire only while nobody reads the topic and no transaction holds an offset of the same partition open (§4.5).
Source: KIP-496, KIP-211; ``OffsetMetadataManager.deleteOffsets``, ``cleanupExpiredOffsets``.
"""

from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NONE, NOTHING, Error, GroupEvent, Row


def decide_offset_delete(
    has_group_id: bool, group_is_known: bool, is_in_use: bool, reads_topic: bool, is_committed: bool, is_pending: bool
) -> AppendVerdict:
    """TOMBSTONE: it is to be written; NOTHING without an error: there is no such offset.

    `is_in_use`: a group has members that are no consumers, and what they read is their own affair.
    """
    if not has_group_id:
        return append_refused(Error.INVALID_GROUP_ID, Row.NO_GROUP_ID)
    if not group_is_known:
        return append_refused(Error.GROUP_ID_NOT_FOUND, Row.NOT_KNOWN)
    if is_in_use:
        return append_refused(Error.NON_EMPTY_GROUP, Row.SUBSCRIBED)
    if reads_topic:
        return append_refused(Error.GROUP_SUBSCRIBED_TO_TOPIC, Row.SUBSCRIBED)
    if not is_committed and not is_pending:
        return append_accepted(Row.OFFSET_DELETED, NOTHING)
    return append_accepted(Row.OFFSET_DELETED, GroupEvent.TOMBSTONE)


def is_old(committed_ms: int, until_ms: int, now_ms: int, retention_ms: int) -> bool:
    """Whether an offset has been kept for long enough: until when its commit has said, else as long as all others."""
    if until_ms != NONE:
        return now_ms >= until_ms
    return now_ms - committed_ms >= retention_ms


def decide_offset_expiry(
    reads_topic: bool, committed_ms: int, until_ms: int, now_ms: int, retention_ms: int, is_pending: bool
) -> AppendVerdict:
    """TOMBSTONE: the committed offset has expired; NOTHING: it stays."""
    if reads_topic or is_pending or not is_old(committed_ms, until_ms, now_ms, retention_ms):
        return append_accepted(Row.OFFSET_KEPT, NOTHING)
    return append_accepted(Row.OFFSET_EXPIRED, GroupEvent.TOMBSTONE)


def group_may_go(members: int, offsets_left: int, pending_transactions: int) -> bool:
    """Whether the group is to be removed: nobody is in it, no offset is left, and no transaction holds one open."""
    return members == 0 and offsets_left == 0 and pending_transactions == 0
