"""Verification (broker to coordinator, KIP-890): before the first batch of a transaction a leader asks the coordinator.

Behaviour: a *guard* (a token) is handed out, the coordinator is asked, and the batch is appended only if the guard is
still the partition's guard of that producer. A marker removes the guard, so an answer from before the marker never
authorises a batch behind it.
Source: reference §3.4; ``UnifiedLog.maybeStartTransactionVerification``, ``AddPartitionsToTxnManager.java``.
"""

from enum import IntEnum
from typing import NamedTuple

from zombieproof.model.decisions.produce import has_open_transaction
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict, IncomingBatch, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Mode, PartitionEvent, Row


def mode_of_produce(version: int) -> int:
    """How Produce of a version makes its partition part of the transaction (§3.4)."""
    if version >= 12:
        return int(Mode.ADD)
    return int(Mode.GENERIC) if version == 11 else int(Mode.DEFAULT)


def mode_of_txn_offset_commit(version: int) -> int:
    """How TxnOffsetCommit of a version makes the offsets partition part of the transaction (§3.4)."""
    if version >= 5:
        return int(Mode.ADD)
    return int(Mode.GENERIC) if version == 4 else int(Mode.DEFAULT)


def decide_verification(entry: ProducerEntry, batch: IncomingBatch, mode: int, rules: Rules) -> AppendVerdict:
    """Whether the coordinator has to be asked (event VERIFY), or the batch may be tried at once (NOTHING).

    The guards are the steps of §3.4. Of a Produce request only batches with a producer id come here: a transactional
    one without is appended and opens nothing (§14). TxnOffsetCommit comes here in any case.
    """
    if not batch.transactional:
        return append_accepted(Row.W5, PartitionEvent.NOTHING)
    if mode != Mode.ADD and rules.verification == 0:
        return append_accepted(Row.STEP_1, PartitionEvent.NOTHING)
    if rules.stale_epoch_first == 1 and batch.producer_epoch < entry.producer_epoch:
        return append_refused(Error.INVALID_PRODUCER_EPOCH, Row.STEP_2)
    if has_open_transaction(entry, batch.producer_epoch, rules):
        return append_accepted(Row.STEP_2, PartitionEvent.NOTHING)
    return append_accepted(Row.STEP_3, PartitionEvent.VERIFY)


def evolve_verification(entry: ProducerEntry, batch: IncomingBatch, mode: int, token: int, state: int) -> int:
    """Get or create the verification entry and return its guard; `token` is used if there is none yet.

    The same guard serves later batches; a lower sequence of the same epoch lowers what is waited for, a higher epoch
    replaces epoch and sequence.
    """
    entry.state = state
    if entry.guard == 0:
        entry.guard = token
        entry.guard_epoch = batch.producer_epoch
        entry.lowest_sequence = batch.base_sequence
        entry.supports_epoch_bump = mode == Mode.ADD
    elif batch.producer_epoch > entry.guard_epoch:
        entry.guard_epoch = batch.producer_epoch
        entry.lowest_sequence = batch.base_sequence
    elif batch.producer_epoch == entry.guard_epoch and batch.base_sequence < entry.lowest_sequence:
        entry.lowest_sequence = batch.base_sequence
    return int(entry.guard)


def version_of_verification(rules: Rules) -> int:
    """The version of AddPartitionsToTxn that brokers speak among themselves; 5 can be told TRANSACTION_ABORTABLE."""
    return 5 if rules.abortable_code == 1 else 4


class QueueVerdict(NamedTuple):
    """What becomes of the request that waits and of the one that comes: NONE, or the error it is answered with."""

    error_of_queued: int
    error_of_incoming: int


def decide_queue(queued_epoch: int, incoming_epoch: int) -> QueueVerdict:
    """A broker keeps one waiting request for each transactional id at each coordinator node (step 4).

    `queued_epoch` is NONE where nothing waits. An incoming request that is not refused takes the place.
    """
    if queued_epoch == NONE or queued_epoch < incoming_epoch:
        replaced = Error.NONE if queued_epoch == NONE else Error.INVALID_PRODUCER_EPOCH
        return QueueVerdict(int(replaced), int(Error.NONE))
    if queued_epoch == incoming_epoch:
        return QueueVerdict(int(Error.NETWORK_EXCEPTION), int(Error.NONE))
    return QueueVerdict(int(Error.NONE), int(Error.INVALID_PRODUCER_EPOCH))


def asks_what_waits(waiting: int, rules: Rules) -> bool:
    """Whether a request leaves for a coordinator node when the one before it has come back, or is lost (step 4)."""
    return waiting > 0 and rules.questions_follow == 1


class ChannelFailure(IntEnum):
    """Why a broker got no answer to its verification request."""

    DISCONNECTED = 0
    TIMED_OUT = 1
    VERSION_MISMATCH = 2
    NOT_AUTHENTICATED = 3


def answer_of_failed_channel(failure: int) -> int:
    """What each partition is told where the coordinator did not answer (step 5).

    A coordinator that does not know the version verifies nothing, so that a rolling upgrade goes on.
    """
    if failure == ChannelFailure.VERSION_MISMATCH:
        return int(Error.NONE)
    if failure == ChannelFailure.NOT_AUTHENTICATED:
        return int(Error.SASL_AUTHENTICATION_FAILED)
    return int(Error.NETWORK_EXCEPTION)


def answer_of_broker_channel(error: int) -> int:
    """Translate an error of the whole verification request for each of its partitions (step 5)."""
    if error == Error.CLUSTER_AUTHORIZATION_FAILED:
        return int(Error.INVALID_TXN_STATE)
    return int(error)


def answer_of_coordinator(error: int, mode: int) -> int:
    """Translate the coordinator's answer for the leader (step 5)."""
    if error == Error.PRODUCER_FENCED:
        return int(Error.INVALID_PRODUCER_EPOCH)
    if error == Error.TRANSACTION_ABORTABLE and mode == Mode.DEFAULT:
        return int(Error.INVALID_TXN_STATE)
    return int(error)


def asks_again(error: int, mode: int, waited_ms: int, longest_ms: int) -> bool:
    """Whether a leader asks the coordinator once more before it tells the producer anything (step 6).

    The end of the transaction before is being completed, which takes as long as its markers: a producer that adds
    partitions by producing need not learn of that unless it takes for `longest_ms`.
    """
    return error == Error.CONCURRENT_TRANSACTIONS and mode == Mode.ADD and waited_ms < longest_ms


def answer_to_produce(error: int, mode: int) -> int:
    """What the producer is told when verification failed (step 6)."""
    if error in (
        Error.NETWORK_EXCEPTION,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
    ):
        return int(Error.NOT_ENOUGH_REPLICAS)
    if error == Error.CONCURRENT_TRANSACTIONS and mode != Mode.ADD:
        return int(Error.NOT_ENOUGH_REPLICAS)
    return int(error)


def answer_to_txn_offset_commit(error: int) -> int:
    """What the committer of offsets is told when verification or the append failed (step 7)."""
    if error == Error.NETWORK_EXCEPTION:
        return int(Error.COORDINATOR_LOAD_IN_PROGRESS)
    if error in (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_ENOUGH_REPLICAS, Error.REQUEST_TIMED_OUT):
        return int(Error.COORDINATOR_NOT_AVAILABLE)
    if error in (Error.NOT_LEADER_OR_FOLLOWER, Error.KAFKA_STORAGE_ERROR):
        return int(Error.NOT_COORDINATOR)
    if error in (Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE):
        return int(Error.UNKNOWN_SERVER_ERROR)
    return int(error)


SENTINEL = 0
"""The guard of a request for which nobody was asked: it never verifies."""
