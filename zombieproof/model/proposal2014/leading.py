"""Deciding at the leader of a partition: payload, and what its log cleaner may remove.

Behaviour: payload of an older generation is refused, that of a second process with the same one, and that of a TxId
that is no valid pending transaction, because an abort may overtake it. A control record is appended whenever the
coordinator asks, and acknowledged.
Source: reference §10.5, §10.7, §10.9.
"""

from zombieproof.model.proposal2014.coordinating import is_second_connection
from zombieproof.model.proposal2014.records import KnownProducer
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import Answer, LeaderEvent, LeaderState, OffsetsEvent, OffsetsState


def decide_payload(state: int, known: KnownProducer, instance: int, generation: int, rules: Rules) -> int:
    """Answer payload of a TxId that a leader has in `state`; `known` is what it knows of its producerId."""
    if rules.leaders_fence == 1 and generation < known.generation:
        return int(Answer.STALE_GENERATION)
    if is_second_connection(known, instance, generation, rules):
        return int(Answer.TWO_CONNECTIONS)
    if state == LeaderState.FINISHED:
        return int(Answer.ABORTED)
    if state == LeaderState.UNKNOWN and rules.leaders_are_told == 1:
        return int(Answer.UNKNOWN_TRANSACTION)
    return int(Answer.DONE)


def decide_control(rules: Rules) -> int:
    """The event of a TxId whose control record is appended."""
    if rules.leaders_remember_finished == 1:
        return int(LeaderEvent.APPEND_CONTROL)
    return int(LeaderEvent.APPEND_CONTROL_AND_FORGET)


def decide_settled(state: int, another_is_pending: bool) -> int:
    """The event of a group's offsets, which are in `state`, at a control record."""
    is_one = another_is_pending and state == OffsetsState.PENDING
    return int(OffsetsEvent.SETTLE_ONE if is_one else OffsetsEvent.SETTLE)


def names_the_last(is_of_the_group: bool, rules: Rules) -> bool:
    """Whether G-LAST-COMMIT names a transaction to a group, be it with offsets of that group or of others."""
    return is_of_the_group or rules.last_commit_is_of_a_group == 0


def may_be_cleaned(is_pending: bool, is_beyond: bool, is_superseded: bool, rules: Rules) -> bool:
    """Whether the cleaner removes a message.

    Args:
        is_pending: it is of a transaction without a control record here.
        is_beyond: it is at or past the transactional high watermark.
        is_superseded: there is a later one of its key, or nobody wants it because its transaction was aborted.
    """
    return is_superseded and not is_pending and not (is_beyond and rules.cleaning_stops_at_watermark == 1)


def supersedes(is_committed: bool, is_beyond: bool, rules: Rules) -> bool:
    """Whether a message stands for the earlier ones of its key; plain ones are committed."""
    if is_beyond and rules.cleaning_stops_at_watermark == 1:
        return False
    return is_committed or rules.only_committed_supersede == 0


def may_control_be_cleaned(messages_left: int, is_beyond: bool, rules: Rules) -> bool:
    """Whether the cleaner removes a control record of a TxId of which so many messages are left."""
    if is_beyond and rules.cleaning_stops_at_watermark == 1:
        return False
    return messages_left == 0 or rules.controls_stay == 0
