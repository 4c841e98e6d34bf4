"""Deciding where a source begins and how far a micro-batch goes.

Behaviour: without a checkpoint a reader begins where its group has committed, which is what the sink has put into its
transactions, so that a lost checkpoint costs nothing; where the group has committed nothing, it begins as it is told.
A batch goes no further than the last stable offset: above it nothing is decided. Offsets are not counts: markers and
aborted records have some too.
Source: KIP-447; reference §6 (read_committed); Spark's ``DataSourceStreamReader``.
"""

from zombieproof.model.spark_sink.vocabulary import ReaderEvent
from zombieproof.model.vocabulary import NONE


def decide_place(committed: int) -> int:
    """Whether a reader without a checkpoint begins at the position that its group has committed (NONE: it has none)."""
    return int(ReaderEvent.PLACE_AS_TOLD if committed == NONE else ReaderEvent.PLACE_AT_COMMITTED)


def past_of_batch(position: int, last_stable_offset: int, most: int) -> int:
    """Where a batch ends that begins at `position`: at most `most` offsets further (NONE: no limit), below the LSO."""
    if last_stable_offset <= position:
        return position
    if most != NONE and position + most < last_stable_offset:
        return position + most
    return last_stable_offset
