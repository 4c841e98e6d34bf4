"""Replication of a log (no API key): what counts once the high watermark has passed it, and what a cut leaves.

Behaviour: a leader appends at the end of its log, and the high watermark follows when every replica in sync has the
record. Who asks for ``acks=all`` is answered then, and so is a coordinator about its marker; consumers read up to
there. An election can take everything above it away.
Source: reference §3.1, §3.6, §3.7; ``Partition.checkEnoughReplicasReachOffset``, ``ReplicaManager.readFromLog``,
``ProducerStateManager.truncateAndReload``.
"""

from zombieproof.model.rules import Rules


def is_everywhere(high_watermark: int, end_offset: int, rules: Rules) -> bool:
    """Whether everything below `end_offset` counts as replicated for who waits for that."""
    return rules.answers_wait == 0 or high_watermark >= end_offset


def readable_end(high_watermark: int, log_end: int, rules: Rules) -> int:
    """The offset from which on no consumer gets anything, whatever its isolation."""
    return int(high_watermark if rules.watermark_bound == 1 else log_end)


def holds_back(marker_offset: int, high_watermark: int, rules: Rules) -> bool:
    """Whether a transaction that was ended at `marker_offset` is not stable yet (§3.6)."""
    return rules.stable_waits_for_marker == 1 and marker_offset >= high_watermark


def reloads_when_cut(rules: Rules) -> bool:
    """Whether a replica whose log is cut forgets of its producers what it knows from behind the cut."""
    return rules.cut_log_reloads == 1
