"""Marker delivery (server action): what a coordinator does with the markers of a decided transaction.

Behaviour: one marker for each partition, to whoever leads it; each is sent until it is acknowledged; when none is
missing the transaction is completed. Removals are in memory only: a coordinator that loads a prepared transaction
sends every marker again.
Source: reference §2.12; ``TransactionMarkerChannelManager.scala``, ``TransactionMarkerRequestCompletionHandler.scala``.
"""

from enum import IntEnum

from zombieproof.model.decisions.end_txn import completion_by
from zombieproof.model.decisions.verdicts import agree, refuse
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Row


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


def route_marker(topic_exists: bool, leader_is_live: bool, rules: Rules) -> int:
    """Where the marker of one partition goes: to its leader, into waiting, or nowhere if the topic is gone.

    Some releases take a partition without a live leader for a deleted one (B73 in `model.known_defects`).
    """
    if leader_is_live:
        return int(Route.SEND)
    if not topic_exists or rules.marker_waits_for_leader == 0:
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


def judge_standing(lookup_error: int, known: bool, is_same_coordinator_epoch: bool) -> int:
    """What an answer (or a partition without a topic) finds: WRITTEN where this coordinator still drives the id.

    FORGET where another one does, or will: it sends every marker again. An id in office that is not known is an
    internal error.
    """
    if lookup_error != Error.NONE:
        return int(MarkerOutcome.FORGET)
    if not known:
        return int(MarkerOutcome.INTERNAL_ERROR)
    return int(MarkerOutcome.WRITTEN if is_same_coordinator_epoch else MarkerOutcome.FORGET)


def version_of_write_txn_markers(rules: Rules) -> int:
    """The version that a coordinator sends: 2 says of which transaction version a marker is (KIP-1228)."""
    return 2 if rules.marker_strict == 1 else 1


def decide_completion(txn: Transaction, lookup_error: int, is_same_coordinator_epoch: bool, rules: Rules) -> Verdict:
    """Whether a prepared transaction is complete: every partition has its marker and nobody took over (C1 to C5).

    `txn.partitions` are those whose marker is missing. Refused with C2 or C4 the completion is dropped: whoever loads
    the transaction drives it to its end.
    """
    if txn.partitions != 0 and rules.markers_before_completion == 1:
        return agree(Row.C1)
    if lookup_error != Error.NONE:
        return refuse(lookup_error, Row.C2)
    if not txn.known:
        return refuse(Error.UNKNOWN_SERVER_ERROR, Row.C3)
    if not is_same_coordinator_epoch:
        return refuse(Error.NOT_COORDINATOR, Row.C4)
    verdict = completion_by(txn, rules)
    return verdict._replace(row=int(Row.C5))
