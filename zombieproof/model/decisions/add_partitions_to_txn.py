"""AddPartitionsToTxn (API key 24, versions 0-5): partitions join the transaction; or a leader asks whether one has.

Behaviour: the first partition opens the transaction and starts its clock. Verify-only (KIP-890 part 1, from broker to
coordinator, version 4 and up) changes nothing and does not look at what is pending.
Versions: 2 may be answered with PRODUCER_FENCED; 4 is a batch of transactions, for brokers; 5 may be answered with
TRANSACTION_ABORTABLE. From version 4 on the client's operation counts as transaction version 2 (since Kafka 4.0;
before, records did not say so).
Source: reference §2.8, §2.9; ``TransactionCoordinator.handleAddPartitionsToTransaction``,
``handleVerifyPartitionsInTransaction``.
"""

from zombieproof.model.decisions.keep_prepared import names_owner_of_kept
from zombieproof.model.decisions.verdicts import agree, refuse, transit
from zombieproof.model.records import Transaction, TransactionRequest, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Error, Row, TransactionState, TransactionVersion


def decide_add_partitions_front_door(has_transactional_id: bool, verify_only: bool) -> Verdict:
    """Judge the request alone (P1, V1): it has to name a transactional id."""
    if not has_transactional_id:
        return refuse(Error.INVALID_REQUEST, Row.V1 if verify_only else Row.P1)
    return agree(Row.NO_ROW)


def decide_add_partitions_to_txn(txn: Transaction, request: TransactionRequest, rules: Rules) -> Verdict:
    """Answer AddPartitionsToTxn that adds (P2 to P8); one answer for all its partitions."""
    of_version_2 = request.version > 3 and rules.client_version_in_records == 1
    return decide_join(txn, request, rules, TransactionVersion.TV2 if of_version_2 else TransactionVersion.TV0)


def decide_join(
    txn: Transaction, request: TransactionRequest, rules: Rules, client_transaction_version: int
) -> Verdict:
    """Whether the partitions of `request` join the transaction, by an operation of the given transaction version.

    Releases before 4.0 compare producer id and epoch before they look for a transition under way (P3). A participant
    that keeps a transaction adds nothing to it (KIP-939).
    """
    if not txn.known:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.NOT_KNOWN)
    if rules.pending_first == 1 and txn.pending_state != NONE:
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.P3)
    if names_owner_of_kept(txn, request):
        return refuse(Error.INVALID_TXN_STATE, Row.KEPT)
    if request.producer_id != txn.producer_id:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.P4)
    if request.producer_epoch != txn.producer_epoch:
        return refuse(Error.PRODUCER_FENCED, Row.P5)
    if txn.pending_state != NONE:
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.P3)
    if txn.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.P6)
    if txn.state == TransactionState.ONGOING and (request.partitions & ~txn.partitions) == 0:
        return agree(Row.P7)
    verdict = transit(
        Row.P8,
        CoordinatorEvent.ADD_PARTITION,
        txn.producer_id,
        txn.producer_epoch,
        txn.last_producer_epoch,
        txn.next_producer_id,
        txn.partitions | request.partitions if txn.state == TransactionState.ONGOING else request.partitions,
        client_transaction_version,
    )
    return verdict._replace(next_producer_epoch=int(txn.next_producer_epoch))


def decide_verify_partitions(txn: Transaction, request: TransactionRequest, rules: Rules) -> Verdict:
    """Answer a leader that asks whether its partition is in the transaction (V2 to V7), for one partition."""
    if not txn.known:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.NOT_KNOWN)
    if request.producer_id != txn.producer_id:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.V3)
    if request.producer_epoch != txn.producer_epoch:
        return refuse(Error.PRODUCER_FENCED, Row.V4)
    if txn.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.V5)
    if (request.partitions & ~txn.partitions) == 0:
        return agree(Row.V6)
    if rules.abortable_code == 1:
        return refuse(Error.TRANSACTION_ABORTABLE, Row.V7)
    return refuse(Error.INVALID_TXN_STATE, Row.V7)


FIRST_VERSION_OF_BROKERS = 4
"""AddPartitionsToTxn of this version and up comes from brokers, on behalf of clients that wrote to a partition."""


def error_of_partition_to_add(exists: bool, is_internal: bool, version: int, may_write: bool = True) -> int:
    """Why one partition of AddPartitionsToTxn cannot join (§2.8, §14.1), or NONE; the others are then not attempted.

    A client may not add the internal topics, nor those that it may not write to; whether there are such is not told.
    A broker adds the offsets partition on behalf of TxnOffsetCommit, and was asked for its own right.
    """
    if (is_internal or not may_write) and version < FIRST_VERSION_OF_BROKERS:
        return int(Error.TOPIC_AUTHORIZATION_FAILED)
    return int(Error.NONE if exists else Error.UNKNOWN_TOPIC_OR_PARTITION)
