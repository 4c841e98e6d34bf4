"""Marker delivery (server action): what a coordinator does with the markers of a decided transaction.

Behaviour: one marker for each partition, to whoever leads it; each is sent until it is acknowledged; when none is
missing the transaction is completed. Removals are in memory only: a coordinator that loads a prepared transaction
sends every marker again.
Source: reference §2.12; ``TransactionMarkerChannelManager.scala``, ``TransactionMarkerRequestCompletionHandler.scala``.
"""

from enum import IntEnum

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error


class Route(IntEnum):
    """Where a marker goes."""

    SEND = 0
    WAIT = 1
    SKIP = 2


class MarkerOutcome(IntEnum):
    """What an answer to a marker means."""

    WRITTEN = 0
    RETRY = 1
    FORGET = 2
    INTERNAL_ERROR = 3


def route_marker(topic_exists: int, leader_is_live: int, rules: Rules) -> int:
    """Where the marker of one partition goes: to its leader, into waiting, or nowhere if the topic is gone.

    Kafka 4.3.1 takes a partition without a live leader for a deleted one (KAFKA-20734).
    """
    if leader_is_live == 1:
        return int(Route.SEND)
    if topic_exists == 0 or rules.marker_waits_for_leader == 0:
        return int(Route.SKIP)
    return int(Route.WAIT)


def judge_marker_answer(error: int) -> int:
    """What the coordinator does with a leader's answer to one marker."""
    if error in (Error.NONE, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT, Error.UNSUPPORTED_VERSION):
        return int(MarkerOutcome.WRITTEN)
    if error in (
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.REQUEST_TIMED_OUT,
        Error.KAFKA_STORAGE_ERROR,
    ):
        return int(MarkerOutcome.RETRY)
    if error in (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED):
        return int(MarkerOutcome.FORGET)
    return int(MarkerOutcome.INTERNAL_ERROR)
