"""When an append is acknowledged: what a leader tells whoever waits until a record is durable everywhere.

Behaviour: a leader that has lost its office says so, whatever became of the record. A record below the high watermark
is durable at every replica in sync; where too few of them are left the record may be lost all the same, and the answer
says that. A record that is not durable when its store fails never will be. Whose time is over is told so, and the
record may become durable later.
Source: ``DelayedProduce.scala``, ``Partition.checkEnoughReplicasReachOffset``.
"""

from zombieproof.model.decisions.replication import is_everywhere
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error

WAITS = -2
"""No error, and no answer either: the append is not durable yet."""


def is_durable_everywhere(high_watermark: int, end_offset: int, rules: Rules) -> bool:
    """Whether what lies below `end_offset` is durable at every replica in sync, as far as an answer waits for it."""
    return is_everywhere(high_watermark, end_offset, rules)


def acknowledge(leads: bool, is_durable: bool, is_offline: bool, in_sync: int, min_in_sync: int, is_over: bool) -> int:
    """The error that an append is answered with, or WAITS."""
    if not leads:
        return int(Error.NOT_LEADER_OR_FOLLOWER)
    if is_durable:
        return int(Error.NONE if in_sync >= min_in_sync else Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    if is_offline:
        return int(Error.KAFKA_STORAGE_ERROR)
    return int(Error.REQUEST_TIMED_OUT) if is_over else WAITS
