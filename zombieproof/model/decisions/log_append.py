"""Append to the transaction log (server action): when a transition may be written, and what its outcome does to memory.

Behaviour: every transition of a transactional id goes through here. The coordinator looks again, before and after the
append, whether it still is the coordinator: a transition that was prepared under one coordinator epoch is never
completed under another. An append that failed may be in the log all the same (errors REQUEST_TIMED_OUT and
NOT_ENOUGH_REPLICAS_AFTER_APPEND); memory stays where it was.
Source: reference §2.6, §14 (first row); ``TransactionStateManager.appendTransactionToLog``.
"""

from enum import IntEnum
from typing import NamedTuple

from zombieproof.model.decisions.verdicts import agree, refuse
from zombieproof.model.records import Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Row, TransactionVersion


class Aftermath(IntEnum):
    """What the outcome of an append does to the transaction in memory."""

    COMPLETE = 0
    GIVE_UP = 1
    KEEP_PENDING = 2
    LEAVE_ALONE = 3


class AppendOutcome(NamedTuple):
    """What becomes of the transaction in memory, and the error that the operation is told."""

    aftermath: int
    error: int


def decide_log_append(
    client_transaction_version: int, lookup_error: int, known: bool, is_same_coordinator_epoch: bool, rules: Rules
) -> Verdict:
    """Whether a prepared transition may be appended (G1 to G4); refused, its pending state stays set.

    `lookup_error` is what ``decide_lookup`` says now, `is_same_coordinator_epoch` if the coordinator epoch is that
    of the preparation. Where the cluster's transaction version is 0, records have value version 0, which cannot hold
    the transaction version of a TV2 request: such an id answers CONCURRENT_TRANSACTIONS until it is loaded again.
    """
    if rules.transaction_version == TransactionVersion.TV0 and client_transaction_version != TransactionVersion.TV0:
        return refuse(Error.UNSUPPORTED_VERSION, Row.NOT_WRITABLE)
    if lookup_error != Error.NONE:
        return refuse(lookup_error, Row.G1)
    if not known:
        return refuse(Error.NOT_COORDINATOR, Row.G2)
    if not is_same_coordinator_epoch:
        return refuse(Error.NOT_COORDINATOR, Row.G3)
    return agree(Row.G4)


def error_of_append(error: int) -> int:
    """What an operation is told of the error of its append."""
    if error in (
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.REQUEST_TIMED_OUT,
    ):
        return int(Error.COORDINATOR_NOT_AVAILABLE)
    if error in (Error.NOT_LEADER_OR_FOLLOWER, Error.KAFKA_STORAGE_ERROR):
        return int(Error.NOT_COORDINATOR)
    if error in (Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE):
        return int(Error.UNKNOWN_SERVER_ERROR)
    return int(error)


def decide_append_outcome(
    error: int, lookup_error: int, known: bool, is_same_coordinator_epoch: bool, retries: bool, rules: Rules
) -> AppendOutcome:
    """What the outcome of an append does; `error` is that of ``error_of_append``.

    `retries`: for the completion of a transaction, which is tried again after COORDINATOR_NOT_AVAILABLE, and after no
    other error: behind one that no coordinator expects its transaction stays decided, and nobody drives it.
    """
    here = lookup_error == Error.NONE and known and is_same_coordinator_epoch
    if error != Error.NONE:
        if not here:
            return AppendOutcome(int(Aftermath.LEAVE_ALONE), int(error))
        if rules.memory_follows_log == 0:
            return AppendOutcome(int(Aftermath.COMPLETE), int(error))
        if retries and error == Error.COORDINATOR_NOT_AVAILABLE and rules.completion_is_appended_again == 1:
            return AppendOutcome(int(Aftermath.KEEP_PENDING), int(error))
        clears = rules.refused_append_clears_pending == 1
        return AppendOutcome(int(Aftermath.GIVE_UP if clears else Aftermath.LEAVE_ALONE), int(error))
    if here:
        return AppendOutcome(int(Aftermath.COMPLETE), int(Error.NONE))
    moved = lookup_error if lookup_error != Error.NONE else Error.NOT_COORDINATOR
    return AppendOutcome(int(Aftermath.LEAVE_ALONE), int(moved))
