"""DeleteRecords (API key 21, versions 0-2): records of a partition up to an offset go, whosever transactions they are.

Behaviour: guards in the broker's order: there is such a partition, it is no internal one, this broker leads it, its
topic lets records go before their time (``cleanup.policy`` has ``delete``), and the offset is one that is replicated.
An offset below the start changes nothing and is answered with where the log begins.
Source: ``KafkaApis.handleDeleteRecordsRequest``, ``ReplicaManager.deleteRecordsOnLocalLog``,
``Partition.deleteRecordsOnLeader``, ``UnifiedLog.maybeIncrementLogStartOffset``; KIP-107.
"""

from zombieproof.model.vocabulary import Error

UP_TO_HIGH_WATERMARK = -1
"""The offset that stands for everything that is replicated."""


def offset_to_delete_up_to(offset: int, high_watermark: int) -> int:
    """The offset that a request means."""
    return int(high_watermark if offset == UP_TO_HIGH_WATERMARK else offset)


def error_of_record_deletion(
    exists: bool,
    is_internal: bool,
    leads: bool,
    is_offline: bool,
    lets_records_go: bool,
    offset: int,
    high_watermark: int,
) -> int:
    """The error that one partition of the request is answered with, or NONE."""
    if not exists:
        return int(Error.UNKNOWN_TOPIC_OR_PARTITION)
    if is_internal:
        return int(Error.INVALID_TOPIC_EXCEPTION)
    if not leads:
        return int(Error.NOT_LEADER_OR_FOLLOWER)
    if is_offline:
        return int(Error.KAFKA_STORAGE_ERROR)
    if not lets_records_go:
        return int(Error.POLICY_VIOLATION)
    meant = offset_to_delete_up_to(offset, high_watermark)
    return int(Error.OFFSET_OUT_OF_RANGE if meant < 0 or meant > high_watermark else Error.NONE)
