"""The producer client (client action): what it makes of an answer, and when it may skip a request.

Behaviour: every error is retried, ends the transaction (abortable: only abort is left), or ends the producer (fatal).
Source: reference §5.3, §5.5, §5.6; ``TransactionManager.java``, ``Sender.java``; KIP-360, KIP-588, KIP-1050.
"""

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NOTHING, ApiKey, Error, ProducerEvent, ProducerState, Reaction


def react(api: int, error: int, committing: int, rules: Rules) -> int:
    """What a transactional client does with the answer of a coordinator (the table of §5.5).

    `committing` tells an EndTxn that commits from one that aborts.
    """
    if error == Error.NONE:
        return int(Reaction.DONE)
    if is_retriable(error):
        return _react_to_retriable(api, error)
    if error in (Error.INVALID_PRODUCER_EPOCH, Error.PRODUCER_FENCED):
        return int(Reaction.FATAL)
    if error == Error.TRANSACTION_ABORTABLE:
        fatal = api == ApiKey.END_TXN and committing == 0 and rules.abort_120_fatal == 1
        return int(Reaction.FATAL) if fatal else int(Reaction.ABORTABLE)
    if error == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return int(Reaction.ABORTABLE) if api == ApiKey.INIT_PRODUCER_ID else int(Reaction.FATAL)
    if error == Error.CLUSTER_AUTHORIZATION_FAILED:
        survives = api in (ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN)
        return int(Reaction.ABORTABLE) if survives else int(Reaction.FATAL)
    if api == ApiKey.INIT_PRODUCER_ID or error == Error.INVALID_TXN_STATE:
        return int(Reaction.FATAL)
    if error in (Error.INVALID_PRODUCER_ID_MAPPING, Error.UNKNOWN_PRODUCER_ID):
        return _react_to_unknown_producer(api, error, rules)
    return _react_to_other(api, error)


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
    if error == Error.INVALID_PRODUCER_ID_MAPPING and rules.kip1050 == 1:
        return int(Reaction.FATAL)
    return abortable_if_possible(rules)


def abortable_if_possible(rules: Rules) -> int:
    """Abortable with a raised epoch where the coordinator can raise it (KIP-360), else fatal."""
    return int(Reaction.ABORTABLE_AND_BUMP) if rules.kip360 == 1 else int(Reaction.FATAL)


def _react_to_other(api: int, error: int) -> int:
    membership = error in (
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


def react_to_produce(error: int, transactional: int, is_next_expected: int, rules: Rules) -> int:
    """What a client does with the answer to a batch (the table of §5.6), while retries are left.

    `is_next_expected` is 1 if nothing before the batch is unacknowledged: an out-of-order answer is then not the
    fault of an earlier batch under way.
    """
    if error in (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER):
        return int(Reaction.DONE)
    if is_retriable(error):
        return int(Reaction.RETRY)
    if error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER and is_next_expected == 0:
        return int(Reaction.RETRY)
    if error == Error.INVALID_PRODUCER_ID_MAPPING and rules.kip1050 == 1:
        return int(Reaction.FATAL)
    if error in (
        Error.PRODUCER_FENCED,
        Error.CLUSTER_AUTHORIZATION_FAILED,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        Error.UNSUPPORTED_VERSION,
    ):
        return int(Reaction.FATAL)
    if error == Error.INVALID_PRODUCER_EPOCH and transactional == 1 and rules.kip588 == 0:
        return int(Reaction.FATAL)
    if transactional == 1:
        return int(Reaction.ABORTABLE_AND_BUMP) if rules.kip360 == 1 else int(Reaction.ABORTABLE)
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


def end_is_needed(transaction_started: int) -> bool:
    """Whether EndTxn is sent at all: nothing was added, nothing has to be ended (§5.3)."""
    return transaction_started == 1


def must_bump_after_end(bump_requested: int, transaction_version: int) -> bool:
    """Whether InitProducerId follows EndTxn to raise the epoch: under TV2 EndTxn did it (§5.7)."""
    return bump_requested == 1 and transaction_version < 2
