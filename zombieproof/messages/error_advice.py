"""Advice about errors of the protocol, for applications of transactional clients.

Clients put it into their exceptions, and `replay` prints it for errors in clients' logs.
Source: reference §5.2, §5.5; KIP-588, KIP-890, KIP-1050; KAFKA-20785.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from zombieproof.model.vocabulary import Error

NOT_FOR_THE_NEXT_EITHER: Final = frozenset(
    {
        Error.CLUSTER_AUTHORIZATION_FAILED,
        Error.GROUP_AUTHORIZATION_FAILED,
        Error.INVALID_REQUEST,
        Error.INVALID_TRANSACTION_TIMEOUT,
        Error.TOPIC_AUTHORIZATION_FAILED,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        Error.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        Error.UNSUPPORTED_VERSION,
    }
)
"""What a new producer meets again (KIP-1050, *invalid configuration*)."""

HINTS: Final[Mapping[int, str]] = {
    Error.INVALID_TRANSACTION_TIMEOUT: "transaction.timeout.ms is above the transaction.max.timeout.ms of the brokers: "
    "lower the one, or raise the other",
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "ask for the right to the transactional.id",
    Error.UNSUPPORTED_VERSION: "the brokers are too old for what was asked",
}
"""What to do about an error besides what its class says."""

_ABORT: Final = "abort the transaction, then it can be tried again"
_RENEW: Final = "close the producer, and go on with a new one from what is committed"
_CHANGE: Final = "close the producer; a new one fails as well"

_OWNER: Final = "the logs of every instance with this transactional id around that time, and its coordinator's log"
_STATE: Final = "the log of the broker that coordinates the id, and its partition of __transaction_state"


class Meaning(NamedTuple):
    """The event that an error stands for, and the evidence that shows its cause."""

    happened: str
    collect: str


_FENCED: Final = Meaning("a newer instance took the transactional id, or the transaction timed out", _OWNER)
_MOVING: Final = Meaning(
    "the coordinator is starting or moving to another broker; the client asks again",
    "the brokers' logs, if it lasts longer than a minute",
)
MEANINGS: Final[Mapping[int, Meaning]] = {
    Error.PRODUCER_FENCED: _FENCED,
    Error.INVALID_PRODUCER_EPOCH: _FENCED,
    Error.INVALID_TXN_STATE: Meaning(
        "the coordinator has no open transaction for the request; often it aborted the transaction by timeout before",
        _STATE,
    ),
    Error.INVALID_PRODUCER_ID_MAPPING: Meaning(
        "the coordinator knows another producer id for the transactional id, or none: the id was idle for longer than "
        "transactional.id.expiration.ms, or __transaction_state lost records",
        _STATE,
    ),
    Error.UNKNOWN_PRODUCER_ID: Meaning(
        "the leader of the partition forgot the producer: it was idle for longer than producer.id.expiration.ms, or "
        "its records were deleted",
        "the partition's directory with its .snapshot files, and the leader's log",
    ),
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: Meaning(
        "a batch before this one is not in the log: it failed before, or the leader lost records",
        "the partition's directory from every replica, and the leader's log",
    ),
    Error.CONCURRENT_TRANSACTIONS: Meaning(
        "the coordinator is still ending the last transaction of the id; the client asks again",
        "if it lasts longer than a minute: the coordinator's log, and `kafka-transactions.sh find-hanging`",
    ),
    Error.TRANSACTION_ABORTABLE: Meaning(
        "a part of the transaction could not be sent, verified or written",
        "the logs of the coordinator and of the leader",
    ),
    Error.TRANSACTION_COORDINATOR_FENCED: Meaning("another broker coordinates the id by now", _STATE),
    Error.TRANSACTIONAL_ID_NOT_FOUND: Meaning("the coordinator does not know the transactional id", _STATE),
    Error.FENCED_INSTANCE_ID: Meaning(
        "another member of the group has the same group.instance.id", "the logs of all members of the group"
    ),
    Error.REQUEST_TIMED_OUT: Meaning(
        "there was no answer in time: whether the request took effect is not known",
        "the log of the broker that got the request, and `kafka-transactions.sh describe` for the id",
    ),
    Error.COORDINATOR_LOAD_IN_PROGRESS: _MOVING,
    Error.COORDINATOR_NOT_AVAILABLE: _MOVING,
    Error.NOT_COORDINATOR: _MOVING,
}
"""Errors that are about transactions."""


def next_step(error: int, *, is_fatal: bool) -> str:
    """Return the next step of an application, with a hint if there is one; `is_fatal`: the producer cannot continue."""
    step = _ABORT if not is_fatal else _CHANGE if error in NOT_FOR_THE_NEXT_EITHER else _RENEW
    return f"{step}; {HINTS[error]}" if error in HINTS else step
