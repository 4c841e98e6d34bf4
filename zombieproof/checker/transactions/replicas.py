"""How far each log is replicated, where a scenario asks for it: the high watermark, and what lies above it.

Without `Bounds.replicated` a record is at every replica as soon as it is in the log.
"""

from zombieproof.checker.transactions.state import State


def high_watermark(state: State, p: int) -> int:
    """Up to where a partition's log is replicated."""
    if len(state.replicas) == 0:
        return int(state.partitions[p].end)
    return int(state.replicas[p].high_watermark)


def replicate(state: State, p: int) -> bool:
    """The other replicas of a partition in sync have its leader's next record."""
    if not state.partitions[p].leader or high_watermark(state, p) >= state.partitions[p].end:
        return False
    state.replicas[p].high_watermark += 1
    return True
