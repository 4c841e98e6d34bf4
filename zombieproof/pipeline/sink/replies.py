"""The errors of librdkafka as replies to a delivery (`Reply`).

librdkafka itself says of an error of its transactional calls whether the same call may be made again (`retriable`),
whether the transaction has to be aborted (`txn_requires_abort`), and whether the producer is of no use any
more (`fatal`).
Source: librdkafka's ``INTRODUCTION.md``, "Transactional producer API"; KIP-98.
"""

from typing import Protocol

from zombieproof.model.spark_sink.vocabulary import Reply

OTHERS = frozenset({"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"})
"""Another producer has the id, or the coordinator took it away (a transaction that timed out): both look the same."""

UNANSWERED = frozenset(
    {
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "_TRANSPORT",
        "_ALL_BROKERS_DOWN",
        "_WAIT_COORD",
        "_IN_PROGRESS",
        "_PREV_IN_PROGRESS",
        "REQUEST_TIMED_OUT",
        "UNSTABLE_OFFSET_COMMIT",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "NOT_COORDINATOR",
        "CONCURRENT_TRANSACTIONS",
    }
)
"""No answer yet, or a broker that cannot answer now (librdkafka does not mark these errors for `committed`)."""


PASSING = UNANSWERED | {"_MSG_TIMED_OUT", "NETWORK_EXCEPTION", "NOT_LEADER_FOR_PARTITION", "NOT_ENOUGH_REPLICAS"}
"""Errors that end one delivery, and not the next one once brokers are back."""


class ClientError(Protocol):
    """The methods of confluent-kafka's ``KafkaError``."""

    def name(self) -> str:
        """Kafka's name of it, or librdkafka's own, which begins with an underscore."""

    def fatal(self) -> bool:
        """Whether the producer is of no use any more."""

    def retriable(self) -> bool:
        """Whether the same call may be made again."""

    def txn_requires_abort(self) -> bool:
        """Whether the transaction has to be aborted."""


def reply_of(error: ClientError) -> Reply:
    """The reply that an error of a call is; fencing comes first, since librdkafka calls it fatal as well."""
    if error.name() in OTHERS:
        return Reply.FENCED
    if error.fatal():
        return Reply.FATAL
    if error.txn_requires_abort():
        return Reply.ABORTABLE
    if error.retriable() or error.name() in UNANSWERED:
        return Reply.UNKNOWN
    return Reply.FATAL


def reply_of_row(error: ClientError) -> Reply:
    """The reply that the error of a row is: before the commit no row is in the output, so all can be aborted."""
    reply = reply_of(error)
    return reply if reply == Reply.FENCED or error.fatal() else Reply.ABORTABLE
