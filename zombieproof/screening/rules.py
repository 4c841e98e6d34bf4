"""Why something is not cleared: each rule of the screen, and the judge it stands for.

A rule is at least as strict as its judge. What breaks one may still conform: the fold decides.
"""

from enum import IntEnum


class Unclear(IntEnum):
    """What the screen found first; CLEAR is nothing. In brackets: who judges it in `traces`."""

    CLEAR = 0
    NOT_BELIEVED = 1
    """A batch that may not be believed, or damage (`readers.segments.read_part`)."""
    OUT_OF_ORDER = 2
    """Offsets fall (`SegmentContent.take`)."""
    TOO_FAR = 3
    """More offsets than a segment can have (`SegmentContent.take`), or a batch of so many that sequences might wrap."""
    LEADER_EPOCH_FALLS = 4
    """(`SegmentContent.take`)"""
    NO_EPOCH = 5
    """A producer id without an epoch: Kafka writes none."""
    EPOCH_FALLS = 6
    """An epoch below one of the same producer before it (A2, A4, M1: ``epochs_never_go_down``)."""
    NEW_EPOCH_INSIDE = 7
    """A new epoch writes into what is open (``a_new_epoch_begins_behind_a_marker``)."""
    PLAIN_INSIDE = 8
    """Plain data while a transaction is open (A6: ``no_plain_data_inside_a_transaction``)."""
    NO_SEQUENCE = 9
    """A client's batch with a producer id and without sequence."""
    SEQUENCE = 10
    """A sequence that is not the next (A1, S1 to S5: ``sequences_follow_each_other`` and its like)."""
    BEHIND_A_GAP = 11
    """Data behind missing offsets, of a producer that was there before: it may repeat (`partition_fold`)."""
    COORDINATOR_EPOCH_FALLS = 12
    """A marker of a deposed coordinator (M4: ``coordinator_epochs_never_go_down``)."""
    SEGMENT_MISSING = 13
    """A segment does not begin where the one before it ends (`readers.merge`)."""
    OTHER_RULES = 14
    """Judged by other rules than those of the newest release."""
    NOT_TRANSACTIONAL = 15
    """A marker that does not say that it is transactional: Kafka writes none, and judges count it differently."""
