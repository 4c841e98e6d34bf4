"""DeleteRecords and DeleteTopics: whether records or topics go, up to where, and when all replicas have followed.

Theory of operation: the leader judges (`deletes`) and raises the start of its log, which followers take over. The
answer waits until the start of every replica that is up has come so far (`has_followed`).
Source: ``ControllerApis.deleteTopics``, ``Partition.deleteRecordsOnLeader``, ``DelayedDeleteRecords.java``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.delete_records import (
    error_of_record_deletion,
    offset_to_delete_up_to,
)
from zombieproof.model.decisions.delete_topics import error_of_topic_deletion
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.partition_leader.acknowledging import WAITS


class DeletionPlace(NamedTuple):
    """What a broker knows of a partition whose records are to go; `lets_records_go` is its topic's clean-up policy."""

    exists: bool
    is_internal: bool
    leads: bool
    is_offline: bool
    lets_records_go: bool
    high_watermark: int


class Deletion(NamedTuple):
    """An error, or NONE and the offset up to which records go."""

    error: int
    offset: int


def deletes(place: DeletionPlace, offset: int) -> Deletion:
    """One partition of a DeleteRecords reaches a broker."""
    error = error_of_record_deletion(
        place.exists,
        place.is_internal,
        place.leads,
        place.is_offline,
        place.lets_records_go,
        offset,
        place.high_watermark,
    )
    return Deletion(error, NONE if error != Error.NONE else offset_to_delete_up_to(offset, place.high_watermark))


def deletes_topic(
    is_enabled: bool,
    is_named_twice: bool,
    exists: bool,
    by_id: bool,
    is_internal: bool,
    may_describe: bool = True,
    may_delete: bool = True,
) -> int:
    """One topic of a DeleteTopics reaches a broker: the error that it is answered with, or NONE, and it goes."""
    return error_of_topic_deletion(is_enabled, is_named_twice, exists, by_id, is_internal, may_describe, may_delete)


def has_followed(leads: bool, low_watermark: int, offset: int, is_over: bool) -> int:
    """The error with which a deletion is answered, NONE when every replica that is up has followed, or WAITS."""
    if not leads:
        return int(Error.NOT_LEADER_OR_FOLLOWER)
    if low_watermark >= offset:
        return int(Error.NONE)
    return int(Error.REQUEST_TIMED_OUT) if is_over else WAITS
