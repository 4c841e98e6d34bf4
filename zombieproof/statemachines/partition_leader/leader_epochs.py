"""Leader epochs of a partition: which leader has written what, and where the records of one end.

Theory of operation: each leader begins its epoch at the end of the log that it has then, also if it writes nothing.
Source: KIP-101, KIP-279, KIP-320; ``LeaderEpochFileCache.java``, ``UnifiedLog.endOffsetForEpoch``.
"""

from collections.abc import Sequence

from zombieproof.model.decisions.leader_epochs import EndOfEpoch, decide_end_of_epoch
from zombieproof.model.vocabulary import NONE

Epochs = Sequence[tuple[int, int]]
"""(epoch, first offset), oldest first."""


def with_present_epoch(epochs: Epochs, leader_epoch: int, led_from: int) -> tuple[tuple[int, int], ...]:
    """The epochs of a log, and that of its present leader, who has led it from an offset on; NONE: it does not lead."""
    if led_from == NONE or (epochs and epochs[-1][0] >= leader_epoch):
        return tuple(epochs)
    return (*epochs, (leader_epoch, led_from))


def epoch_at(epochs: Epochs, offset: int) -> int:
    """The epoch to which an offset belongs; NONE: none is known."""
    return next((epoch for epoch, start in reversed(epochs) if start <= offset), NONE)


def end_of_epoch(epochs: Epochs, epoch: int, log_end: int) -> EndOfEpoch:
    """The greatest known epoch up to `epoch`, and where it ends; NONE, NONE: there is none.

    The newest one ends with the log; of an epoch that is newer nobody knows anything.
    """
    newest = epochs[-1][0] if epochs else NONE
    known = next((each for each, _ in reversed(epochs) if each <= epoch), NONE)
    following = next((start for each, start in epochs if each > epoch), NONE)
    return decide_end_of_epoch(epoch, newest, known, following, log_end)
