"""The error that a client's text is about, by Kafka's name for it.

Clients print a name, the class of a Java exception, or the sentence that Kafka's protocol gives to the code.
Source: clients ``protocol/Errors.java``; librdkafka ``rdkafka.c`` (codes with a leading underscore are its own).
"""

import re
from collections.abc import Mapping
from typing import Final

from zombieproof.model.vocabulary import Error

LOCAL: Final[Mapping[str, Error]] = {
    "_FENCED": Error.PRODUCER_FENCED,
    "_TIMED_OUT": Error.REQUEST_TIMED_OUT,
    "_MSG_TIMED_OUT": Error.REQUEST_TIMED_OUT,
}
"""librdkafka's own codes that mean the same as one of the protocol."""

EXCEPTIONS: Final[Mapping[str, Error]] = {
    "ProducerFencedException": Error.PRODUCER_FENCED,
    "InvalidProducerEpochException": Error.INVALID_PRODUCER_EPOCH,
    "InvalidPidMappingException": Error.INVALID_PRODUCER_ID_MAPPING,
    "InvalidTxnStateException": Error.INVALID_TXN_STATE,
    "InvalidTxnTimeoutException": Error.INVALID_TRANSACTION_TIMEOUT,
    "TransactionAbortableException": Error.TRANSACTION_ABORTABLE,
    "TransactionCoordinatorFencedException": Error.TRANSACTION_COORDINATOR_FENCED,
    "TransactionalIdAuthorizationException": Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    "TransactionalIdNotFoundException": Error.TRANSACTIONAL_ID_NOT_FOUND,
    "ConcurrentTransactionsException": Error.CONCURRENT_TRANSACTIONS,
    "OutOfOrderSequenceException": Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    "UnknownProducerIdException": Error.UNKNOWN_PRODUCER_ID,
    "FencedInstanceIdException": Error.FENCED_INSTANCE_ID,
    "UnstableOffsetCommitException": Error.UNSTABLE_OFFSET_COMMIT,
}
"""Exceptions of ``org.apache.kafka.common.errors`` that are about transactions."""

SENTENCES: Final[tuple[tuple[str, Error], ...]] = (
    ("newer producer with the same transactionalId which fences", Error.PRODUCER_FENCED),
    ("been fenced by another producer with the same transactionalId", Error.PRODUCER_FENCED),
    ("been fenced by a newer instance", Error.PRODUCER_FENCED),
    ("Error code = 90", Error.PRODUCER_FENCED),
    ("with an old epoch", Error.INVALID_PRODUCER_EPOCH),
    ("transactional operation in an invalid state", Error.INVALID_TXN_STATE),
    ("not currently assigned to its transactional id", Error.INVALID_PRODUCER_ID_MAPPING),
    ("out of order sequence number", Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ("concurrent operation on the same transaction", Error.CONCURRENT_TRANSACTIONS),
    ("could not locate the producer metadata", Error.UNKNOWN_PRODUCER_ID),
    ("transaction timeout is larger than the maximum", Error.INVALID_TRANSACTION_TIMEOUT),
    ("ransactional Id authorization failed", Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ("ransactional ID authorization failed", Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ("client can abort the transaction to continue", Error.TRANSACTION_ABORTABLE),
    ("oordinator load in progress", Error.COORDINATOR_LOAD_IN_PROGRESS),
    ("oordinator is loading", Error.COORDINATOR_LOAD_IN_PROGRESS),
    ("oordinator is not available", Error.COORDINATOR_NOT_AVAILABLE),
    ("oordinator not available", Error.COORDINATOR_NOT_AVAILABLE),
    ("Timed out", Error.REQUEST_TIMED_OUT),
    ("timed out", Error.REQUEST_TIMED_OUT),
    ("Timeout expired", Error.REQUEST_TIMED_OUT),
    ("has passed since batch creation", Error.REQUEST_TIMED_OUT),
)
"""What clients print for a code: Kafka's own sentence, or a client's."""

_NAME = re.compile(r"\b_?[A-Z]+(?:_[A-Z]+)+\b|\b_FENCED\b")
_EXCEPTION = re.compile(r"\b[A-Z]\w+Exception\b")


def code_in(text: str) -> str:
    """The name of the error that a text is about: "PRODUCER_FENCED"; "" where it names none that is known."""
    for name in _NAME.findall(text):
        if name in LOCAL:
            return LOCAL[name].name
        if name in Error.__members__:
            return str(name)
    for name in _EXCEPTION.findall(text):
        if name in EXCEPTIONS:
            return EXCEPTIONS[name].name
    return next((error.name for sentence, error in SENTENCES if sentence in text), "")
