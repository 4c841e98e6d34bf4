"""The producer client (client action): what it makes of an answer, and when it may skip a request.

Behaviour: every error is retried, ends the transaction (abortable: only abort is left), or ends the producer (fatal).
Source: reference §5.3, §5.5, §5.6; ``TransactionManager.java``, ``Sender.java``; KIP-360, KIP-588, KIP-1050.
"""

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, ApiKey, Error, ProducerEvent, ProducerState, Reaction

FIRST_RETRY_BACKOFF_MS = 20
"""How long the first AddPartitionsToTxn of a transaction waits for the previous one to complete."""

FIRST_INIT_THAT_RAISES = 3
"""The first version of InitProducerId in which a client asks for a raised epoch (KIP-360)."""

FIRST_INIT_WITH_TWO_PHASES = 6
"""The first version of InitProducerId with enable2Pc and keepPreparedTxn (KIP-939)."""

FIRST_COMMIT_WITH_MEMBER = 3
"""The first version of TxnOffsetCommit that names a group's member and generation (KIP-447)."""


def react(api: int, error: int, committing: bool, rules: Rules) -> int:
    """What a transactional client does with the answer of a coordinator (the table of §5.5).

    `committing` tells an EndTxn that commits from one that aborts.
    """
    if error == Error.NONE:
        return int(Reaction.DONE)
    if is_repeated_after(api, error, rules):
        return _react_to_retriable(api, error)
    if error in (Error.INVALID_PRODUCER_EPOCH, Error.PRODUCER_FENCED):
        return int(Reaction.FATAL)
    if error == Error.TRANSACTION_ABORTABLE:
        fatal = api == ApiKey.END_TXN and not committing and rules.abort_120_fatal == 1
        return int(Reaction.FATAL) if fatal else int(Reaction.ABORTABLE)
    if starts_over_after(api, error, rules):
        return int(Reaction.ABORTABLE)
    if error == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return int(Reaction.FATAL)
    if api == ApiKey.INIT_PRODUCER_ID or error == Error.INVALID_TXN_STATE:
        return int(Reaction.FATAL)
    if error in (Error.INVALID_PRODUCER_ID_MAPPING, Error.UNKNOWN_PRODUCER_ID):
        return _react_to_unknown_producer(api, error, rules)
    return _react_to_other(api, error, rules)


def retry_rebuilds_topic_ids(rules: Rules) -> bool:
    """Whether a repeated TxnOffsetCommit finds a topic that was created again under its name.

    By name it does. By id (KIP-1319, client 4.4) it keeps the id that the request was built with (B79).
    """
    return rules.commit_by_topic_id == 0 or rules.retry_looks_topic_ids_up == 1


def is_retriable(error: int) -> bool:
    """Whether the error's class is retriable (reference §0)."""
    return error in (
        Error.CORRUPT_MESSAGE,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.REQUEST_TIMED_OUT,
        Error.NETWORK_EXCEPTION,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.CONCURRENT_TRANSACTIONS,
        Error.KAFKA_STORAGE_ERROR,
        Error.UNSTABLE_OFFSET_COMMIT,
        Error.UNKNOWN_TOPIC_ID,
    )


def is_repeated_after(api: int, error: int, rules: Rules) -> bool:
    """Whether a client repeats its request: since 3.3.2 the error's class decides, for TxnOffsetCommit since 3.8.

    Before, each request named the errors that it repeats. A retriable error that it did not name ended the producer, or
    the transaction if partitions were to be added.
    """
    if api == ApiKey.TXN_OFFSET_COMMIT:
        if rules.commit_retries_by_class == 1:
            return is_retriable(error)
        if error == Error.COORDINATOR_LOAD_IN_PROGRESS:
            return rules.commit_waits_for_load == 1
        return error in (
            Error.COORDINATOR_NOT_AVAILABLE,
            Error.NOT_COORDINATOR,
            Error.REQUEST_TIMED_OUT,
            Error.UNKNOWN_TOPIC_OR_PARTITION,
        )
    if rules.retries_by_class == 1:
        return is_retriable(error)
    if api == ApiKey.FIND_COORDINATOR:
        return error == Error.COORDINATOR_NOT_AVAILABLE
    if api == ApiKey.ADD_PARTITIONS_TO_TXN and error == Error.UNKNOWN_TOPIC_OR_PARTITION:
        return True
    return error in (
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.CONCURRENT_TRANSACTIONS,
    )


def _react_to_retriable(api: int, error: int) -> int:
    moved = error in (Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR)
    timed_out = error == Error.REQUEST_TIMED_OUT and api == ApiKey.TXN_OFFSET_COMMIT
    if (moved and api != ApiKey.FIND_COORDINATOR) or timed_out:
        return int(Reaction.FIND_COORDINATOR_AND_RETRY)
    return int(Reaction.RETRY)


def _react_to_unknown_producer(api: int, error: int, rules: Rules) -> int:
    """INVALID_PRODUCER_ID_MAPPING ended the producer since 4.0; before, both could be aborted and bumped away."""
    if api in (ApiKey.TXN_OFFSET_COMMIT, ApiKey.FIND_COORDINATOR):
        return int(Reaction.FATAL)
    if error == Error.INVALID_PRODUCER_ID_MAPPING and rules.mapping_fatal == 1:
        return int(Reaction.FATAL)
    return abortable_if_possible(rules)


def abortable_if_possible(rules: Rules) -> int:
    """Abortable with a raised epoch where the coordinator can raise it (KIP-360), else fatal."""
    return int(Reaction.ABORTABLE_AND_BUMP) if rules.kip360 == 1 else int(Reaction.FATAL)


def abortable_and_bump_if_possible(rules: Rules) -> int:
    """Abortable; with a raised epoch where the coordinator can raise it (KIP-360)."""
    return int(Reaction.ABORTABLE_AND_BUMP) if rules.kip360 == 1 else int(Reaction.ABORTABLE)


def _react_to_other(api: int, error: int, rules: Rules) -> int:
    """A client that does not name its membership (before KIP-447) does not know how one is refused."""
    membership = rules.kip447_fence == 1 and error in (
        Error.UNKNOWN_MEMBER_ID,
        Error.ILLEGAL_GENERATION,
        Error.FENCED_INSTANCE_ID,
        Error.GROUP_ID_NOT_FOUND,
        Error.STALE_MEMBER_EPOCH,
    )
    if api == ApiKey.TXN_OFFSET_COMMIT and (membership or error == Error.GROUP_AUTHORIZATION_FAILED):
        return int(Reaction.ABORTABLE)
    if api in (ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.FIND_COORDINATOR) and error == Error.GROUP_AUTHORIZATION_FAILED:
        return int(Reaction.ABORTABLE)
    if api == ApiKey.ADD_PARTITIONS_TO_TXN:
        return int(Reaction.ABORTABLE)
    return int(Reaction.FATAL)


def react_to_produce(error: int, transactional: bool, is_next_expected: bool, rules: Rules) -> int:
    """What a client does with the answer to a batch (the table of §5.6), while retries are left.

    `is_next_expected`: nothing before the batch is unacknowledged: an out-of-order answer is then not the
    fault of an earlier batch under way.
    """
    if error in (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER):
        return int(Reaction.DONE)
    if is_retriable(error):
        return int(Reaction.RETRY)
    if error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER and not is_next_expected:
        return int(Reaction.RETRY)
    if error == Error.INVALID_PRODUCER_ID_MAPPING and rules.mapping_fatal == 1:
        return int(Reaction.FATAL)
    if error in (
        Error.PRODUCER_FENCED,
        Error.CLUSTER_AUTHORIZATION_FAILED,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        Error.UNSUPPORTED_VERSION,
    ):
        return int(Reaction.FATAL)
    if error == Error.INVALID_PRODUCER_EPOCH and transactional and rules.kip588 == 0:
        return int(Reaction.FATAL)
    if transactional:
        return abortable_and_bump_if_possible(rules)
    if error in (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID):
        return int(Reaction.BUMP_LOCALLY) if rules.kip360 == 1 else int(Reaction.FORGET_PRODUCER_ID)
    return int(Reaction.FAIL_BATCH)


def event_of_reaction(state: int, reaction: int) -> int:
    """The event that a reaction is for a producer in `state`: a failure, or NOTHING (§5.1).

    An abort that is under way is not disturbed by another abortable failure, and a fatal error by nothing.
    """
    if state == ProducerState.FATAL_ERROR:
        return NOTHING
    if reaction == Reaction.FATAL:
        return int(ProducerEvent.FATAL_FAILURE)
    fails = reaction in (Reaction.ABORTABLE, Reaction.ABORTABLE_AND_BUMP)
    return int(ProducerEvent.ABORTABLE_FAILURE) if fails and state != ProducerState.ABORTING_TRANSACTION else NOTHING


def end_is_needed(transaction_started: bool) -> bool:
    """Whether EndTxn is sent at all: nothing was added, nothing has to be ended (§5.3)."""
    return transaction_started


def error_for_application(error: int, transactional: bool, retries_left: int, rules: Rules) -> int:
    """The error as which a failed batch reaches the application (§5.6, KIP-1050).

    `retries_left` 0: the batch's time or its retries are used up.
    """
    ended_by_us = error == Error.INVALID_TXN_STATE or (retries_left == 0 and is_retriable(error))
    if transactional and ended_by_us and rules.kip1050 == 1:
        return int(Error.TRANSACTION_ABORTABLE)
    return int(error)


def bumps_on_upgrade(was_version_2: bool, is_version_2: bool, rules: Rules) -> bool:
    """Whether a client that learns of transaction version 2 while it ends a transaction asks for an epoch (§5.4)."""
    return rules.upgrade_bump == 1 and not was_version_2 and is_version_2


def decide_prepare(two_phase_commit: bool, state: int) -> int:
    """prepareTransaction: whether the client may, as the error that the application gets (§5.2, KIP-939).

    Success moves it by PREPARE once everything is sent; it then tells the producer id and epoch of its transaction.
    """
    if not two_phase_commit or state != ProducerState.IN_TRANSACTION:
        return int(Error.INVALID_TXN_STATE)
    return int(Error.NONE)


def event_of_initialisation(keep_prepared: bool, ongoing_producer_id: int) -> int:
    """What the answer to InitProducerId makes of a client: INITIALIZED, or PREPARE if a transaction was kept (§5.5)."""
    kept = keep_prepared and ongoing_producer_id != NONE
    return int(ProducerEvent.PREPARE if kept else ProducerEvent.INITIALIZED)


def event_of_completion(prepared_id: int, prepared_epoch: int, completed_id: int, completed_epoch: int) -> int:
    """completeTransaction: COMMIT if the outer commit tells of the transaction that is prepared, else ABORT (§5.2)."""
    same = prepared_id == completed_id and prepared_epoch == completed_epoch
    return int(ProducerEvent.COMMIT if same else ProducerEvent.ABORT)


def must_bump_after_end(bump_requested: bool, transaction_version: int) -> bool:
    """Whether InitProducerId follows EndTxn to raise the epoch: under TV2 EndTxn did it (§5.7)."""
    return bump_requested and transaction_version < 2


def decides_alone(api: int, error: int, rules: Rules) -> bool:
    """Whether the error of one partition settles an answer that has many: the first such one does (§5.5).

    Otherwise AddPartitionsToTxn is judged by all its partitions together, and TxnOffsetCommit repeats what is open.
    """
    reaction = react(api, error, True, rules)
    if reaction == Reaction.DONE:
        return False
    if api == ApiKey.TXN_OFFSET_COMMIT:
        return reaction not in (Reaction.RETRY, Reaction.FIND_COORDINATOR_AND_RETRY)
    return reaction != Reaction.ABORTABLE or error == Error.TRANSACTION_ABORTABLE


def wants_raised_epoch(reaction: int, api: int, state: int, transaction_version: int) -> bool:
    """Whether a failure in `state` makes the client raise its epoch behind the abort (§5.5, §5.6).

    Under TV2 EndTxn does it. A batch that fails while its transaction is being ended asks for nothing.
    """
    if reaction != Reaction.ABORTABLE_AND_BUMP or transaction_version >= 2:
        return False
    ending = state in (ProducerState.COMMITTING_TRANSACTION, ProducerState.ABORTING_TRANSACTION)
    return api != ApiKey.PRODUCE or not ending


def starts_over_after(api: int, error: int, rules: Rules) -> bool:
    """Whether the producer goes back to UNINITIALIZED: its initialisation was refused for lack of rights (§5.5)."""
    denied = error in (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Error.CLUSTER_AUTHORIZATION_FAILED)
    return api == ApiKey.INIT_PRODUCER_ID and denied and rules.refused_init_starts_over == 1


def is_dropped_in(state: int, api: int) -> bool:
    """Whether a queued request fails unsent in `state`: after an error, but the abort's coordinator may be found."""
    if state == ProducerState.ABORTABLE_ERROR:
        return api != ApiKey.FIND_COORDINATOR
    return state == ProducerState.FATAL_ERROR


def is_resumed(is_the_same: bool, is_under_way: bool, rules: Rules) -> bool:
    """Whether a call is taken for the one before it, whose caller stopped waiting, and gets its result (§5.2).

    A commit or abort for the same one, and never for the other: that one may be taking effect. `is_under_way`: the
    producer is in the state that the call led to. Until KAFKA-13412 who asked again behind the answer was refused.
    """
    if not is_the_same:
        return rules.only_the_same_end_is_resumed == 0
    return is_under_way or rules.ended_call_keeps_result == 1


def has_ongoing_transaction(state: int) -> bool:
    """Whether a transaction is open or being ended: none while INITIALIZING raises the epoch (§5.2)."""
    return state in (
        ProducerState.IN_TRANSACTION,
        ProducerState.PREPARED_TRANSACTION,
        ProducerState.COMMITTING_TRANSACTION,
        ProducerState.ABORTING_TRANSACTION,
        ProducerState.ABORTABLE_ERROR,
    )


def priority(api: int, raises_epoch: bool) -> int:
    """The order in which queued requests leave, smallest first (§5.3).

    `raises_epoch`: the InitProducerId that follows the end of a transaction.
    """
    if api == ApiKey.FIND_COORDINATOR:
        return 0
    if api == ApiKey.INIT_PRODUCER_ID:
        return 4 if raises_epoch else 1
    return 3 if api == ApiKey.END_TXN else 2


def retry_backoff_ms(api: int, error: int, transaction_is_empty: bool, configured_ms: int) -> int:
    """How long a repeated request waits; `transaction_is_empty`: no partition has joined it yet (§5.3)."""
    first = api == ApiKey.ADD_PARTITIONS_TO_TXN and transaction_is_empty
    if first and error == Error.CONCURRENT_TRANSACTIONS:
        return min(FIRST_RETRY_BACKOFF_MS, configured_ms)
    return configured_ms


def request_version(api: int, broker_version: int, transaction_version: int) -> int:
    """The version in which a request is sent: the highest both sides know (§5.4, §7.5); NONE: the broker has none.

    A client that follows TV1 stays below the versions that add partitions or raise epochs by themselves.
    """
    ours = _newest_version(api, transaction_version)
    return NONE if broker_version < 0 else min(ours, broker_version)


def _newest_version(api: int, transaction_version: int) -> int:
    tv2 = transaction_version >= 2
    if api == ApiKey.PRODUCE:
        return 12 if tv2 else 11
    if api in (ApiKey.END_TXN, ApiKey.TXN_OFFSET_COMMIT):
        return 5 if tv2 else 4
    if api == ApiKey.ADD_PARTITIONS_TO_TXN:
        return 3
    if api == ApiKey.ADD_OFFSETS_TO_TXN:
        return 4
    return 5 if api == ApiKey.INIT_PRODUCER_ID else 6


def version_for_two_phase_commit(broker_version: int) -> int:
    """The version of an InitProducerId that speaks of two-phase commit; NONE: the broker does not (KIP-939)."""
    return FIRST_INIT_WITH_TWO_PHASES if broker_version >= FIRST_INIT_WITH_TWO_PHASES else NONE


def can_ask_for_raised_epoch(broker_version: int) -> bool:
    """Whether a coordinator of this newest InitProducerId version raises the epoch when asked (KIP-360)."""
    return broker_version >= FIRST_INIT_THAT_RAISES


def names_member_in_vain(version: int, names_member: bool) -> bool:
    """Whether a TxnOffsetCommit names a group member in a version that cannot carry it: the client gives up."""
    return names_member and version < FIRST_COMMIT_WITH_MEMBER
