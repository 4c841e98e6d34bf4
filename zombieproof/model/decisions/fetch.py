"""Fetch (API key 1) and ListOffsets (2): how far a reader may read, and which transactions it is told are aborted.

Source: reference §3.6, §6; ``UnifiedLog.maybeIncrementFirstUnstableOffset``, ``LocalLog.addAbortedTransactions``.
"""

from collections.abc import Sequence

from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Isolation


def first_unstable_offset(entries: Sequence[ProducerEntry]) -> int:
    """The first offset of the earliest open transaction of a partition, or NONE (markers count as replicated)."""
    first = NONE
    for entry in entries:
        if entry.txn_first_offset != NONE and (first == NONE or entry.txn_first_offset < first):
            first = int(entry.txn_first_offset)
    return first


def last_stable_offset(high_watermark: int, first_unstable: int) -> int:
    """min(high watermark, first unstable offset); `first_unstable` NONE means there is none."""
    if first_unstable != NONE and first_unstable < high_watermark:
        return int(first_unstable)
    return int(high_watermark)


def fetch_bound(isolation: int, high_watermark: int, last_stable: int, rules: Rules) -> int:
    """The offset from which on a consumer gets nothing."""
    stable = isolation == Isolation.READ_COMMITTED and rules.stable_bound == 1
    return int(last_stable) if stable else int(high_watermark)


def is_listed_as_aborted(first_offset: int, last_offset: int, fetch_offset: int, upper_bound: int) -> bool:
    """Whether an entry of the aborted index goes with a fetch of ``[fetch_offset, upper_bound)`` (§6)."""
    return last_offset >= fetch_offset and first_offset < upper_bound


def last_stable_offset_at_abort(marker_offset: int, other_first_unstable: int) -> int:
    """The last stable offset written into the aborted index: other open transactions hold it back (§3.6)."""
    return int(marker_offset + 1) if other_first_unstable == NONE else int(other_first_unstable)
