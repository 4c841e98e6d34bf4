"""EndTxn (API key 26, versions 0-5): commit or abort the transaction.

Behaviour: success means that the decision is durable (PREPARE_COMMIT or PREPARE_ABORT), not that markers are written.
A server that fences or times out a transaction takes the same way with ``from_client`` 0.
Versions: 2 may be answered with PRODUCER_FENCED; 4 with TRANSACTION_ABORTABLE; 5 is transaction version 2: the epoch is
raised by every end, the answer carries the producer id and epoch to go on with, and an abort without a transaction is
legal.
Source: reference §2.10, §2.11; KIP-98, KIP-890; ``TransactionCoordinator.endTransaction``, ``endTransactionWithTV1``.
"""

from zombieproof.model.decisions.init_producer_id import is_exhausted
from zombieproof.model.decisions.keep_prepared import has_ended_kept, is_kept, owner_epoch, owner_producer_id
from zombieproof.model.decisions.verdicts import agree, refuse, transit
from zombieproof.model.records import Transaction, TransactionRequest, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import (
    NONE,
    CoordinatorEvent,
    Error,
    Row,
    TransactionState,
    TransactionVersion,
)

FIRST_VERSION_OF_TV2 = 5


def decide_end_txn_front_door(has_transactional_id: bool, version: int) -> Verdict:
    """Judge the request alone (E1, T1): it has to name a transactional id."""
    if not has_transactional_id:
        return refuse(Error.INVALID_REQUEST, Row.T1 if version >= FIRST_VERSION_OF_TV2 else Row.E1)
    return agree(Row.NO_ROW)


def decide_end_txn(
    txn: Transaction, request: TransactionRequest, rules: Rules, from_client: bool, next_producer_id: int
) -> Verdict:
    """Answer EndTxn: the request's version says by which rules (§0).

    For an end that the server itself wants the host gives version 5 where the cluster's transaction version is 2.
    `next_producer_id` is used if the epoch is exhausted; NONE says that none could be allocated.
    """
    if rules.end_by_request_version == 0:
        return _decide_by_record(txn, request, rules, from_client, next_producer_id)
    if request.version >= FIRST_VERSION_OF_TV2:
        return decide_end_txn_v2(txn, request, rules, from_client, next_producer_id)
    if is_kept(txn) and from_client:
        return refuse(Error.INVALID_TXN_STATE, Row.KEPT)
    return decide_end_txn_classic(txn, request, rules, from_client)


def decide_end_txn_classic(txn: Transaction, request: TransactionRequest, rules: Rules, from_client: bool) -> Verdict:
    """Answer EndTxn versions 0-4 (E2 to E12)."""
    if not txn.known:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.NOT_KNOWN)
    if request.producer_id != txn.producer_id:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.E3)
    if _is_fenced(txn, request, rules, from_client):
        return refuse(Error.PRODUCER_FENCED, Row.E4)
    if txn.pending_state not in (NONE, TransactionState.PREPARE_EPOCH_FENCE):
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.E5)
    return _decide_by_state(txn, request)


def _decide_by_state(txn: Transaction, request: TransactionRequest) -> Verdict:
    """E6 to E12. The answer to a retry names producer id and epoch, which versions 0-4 cannot carry."""
    if txn.state == TransactionState.ONGOING:
        fences = txn.pending_state == TransactionState.PREPARE_EPOCH_FENCE
        if fences and request.committed:
            return refuse(Error.UNKNOWN_SERVER_ERROR, Row.E6)
        return transit(
            Row.E6,
            CoordinatorEvent.COMMIT if request.committed else CoordinatorEvent.ABORT,
            txn.producer_id,
            request.producer_epoch if fences else txn.producer_epoch,
            NONE if fences else txn.last_producer_epoch,
            NONE,
            txn.partitions,
            TransactionVersion.TV0,
        )
    if txn.state == TransactionState.COMPLETE_COMMIT:
        same = request.committed
        return agree(Row.E7, txn.producer_id, txn.producer_epoch) if same else refuse(Error.INVALID_TXN_STATE, Row.E7)
    if txn.state == TransactionState.COMPLETE_ABORT:
        same = not request.committed
        return agree(Row.E8, txn.producer_id, txn.producer_epoch) if same else refuse(Error.INVALID_TXN_STATE, Row.E8)
    if txn.state == TransactionState.PREPARE_COMMIT:
        return _same_outcome(request.committed, Error.CONCURRENT_TRANSACTIONS, Row.E9)
    if txn.state == TransactionState.PREPARE_ABORT:
        return _same_outcome(not request.committed, Error.CONCURRENT_TRANSACTIONS, Row.E10)
    if txn.state == TransactionState.EMPTY:
        return refuse(Error.INVALID_TXN_STATE, Row.E11)
    return refuse(Error.UNKNOWN_SERVER_ERROR, Row.E12)


def _is_fenced(txn: Transaction, request: TransactionRequest, rules: Rules, from_client: bool) -> bool:
    older = request.producer_epoch < txn.producer_epoch
    if from_client:
        higher = rules.end_refuses_higher_epoch == 1 and request.producer_epoch > txn.producer_epoch
        return rules.strict_end == 1 and (older or higher)
    return older


def _same_outcome(same: bool, error: int, row: int) -> Verdict:
    return refuse(error, row) if same else refuse(Error.INVALID_TXN_STATE, row)


def decide_end_txn_v2(
    txn: Transaction, request: TransactionRequest, rules: Rules, from_client: bool, next_producer_id: int
) -> Verdict:
    """Answer EndTxn version 5 and server aborts of a TV2 cluster (T2 to T12)."""
    if not txn.known:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.NOT_KNOWN)
    if txn.pending_state not in (NONE, TransactionState.PREPARE_EPOCH_FENCE):
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.T3)
    if rules.kip939 == 1 and txn.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.KEPT)
    if is_kept(txn) and from_client:
        return _end_kept(txn, request, rules, next_producer_id)
    if request.producer_id != txn.producer_id and not _retries_overflow(txn, request, rules):
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.T4)
    if not _epoch_is_valid(txn, request, rules, from_client):
        return refuse(Error.PRODUCER_FENCED, Row.T5)
    if txn.state == TransactionState.ONGOING:
        return _end(Row.T6, txn, request, rules, next_producer_id)
    if txn.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        return _end_again(txn, request, rules, next_producer_id)
    if txn.state == TransactionState.PREPARE_COMMIT:
        return _same_outcome(request.committed, Error.CONCURRENT_TRANSACTIONS, Row.T9)
    if txn.state == TransactionState.PREPARE_ABORT:
        return _same_outcome(not request.committed, Error.CONCURRENT_TRANSACTIONS, Row.T10)
    if txn.state == TransactionState.EMPTY:
        if request.committed:
            return refuse(Error.INVALID_TXN_STATE, Row.T11)
        return _end(Row.T11, txn, request, rules, next_producer_id)
    return refuse(Error.UNKNOWN_SERVER_ERROR, Row.T12)


def _decide_by_record(
    txn: Transaction, request: TransactionRequest, rules: Rules, from_client: bool, next_producer_id: int
) -> Verdict:
    """Answer any version as the line of October 2024 did: one way for all, and the record says what a retry is.

    A record of transaction version 2 expects the raised epoch in every retry; there is no empty abort. Only what is
    open is ended by the rules of the request's version.
    """
    if not txn.known:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.NOT_KNOWN)
    of_version_2 = txn.client_transaction_version == TransactionVersion.TV2 and not _is_fence(txn)
    if request.producer_id != txn.producer_id and not (of_version_2 and _retries_overflow(txn, request, rules)):
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.E3)
    if of_version_2:
        is_over = txn.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
        is_no_retry = is_over and request.producer_epoch == txn.producer_epoch
        if is_no_retry or not _epoch_is_valid(txn, request, rules, from_client):
            return refuse(Error.PRODUCER_FENCED, Row.E4)
    elif _is_fenced(txn, request, rules, from_client):
        return refuse(Error.PRODUCER_FENCED, Row.E4)
    if txn.pending_state not in (NONE, TransactionState.PREPARE_EPOCH_FENCE):
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.E5)
    if txn.state == TransactionState.ONGOING and request.version >= FIRST_VERSION_OF_TV2:
        return _end(Row.E6, txn, request, rules, next_producer_id)
    return _decide_by_state(txn, request)


def _end_kept(txn: Transaction, request: TransactionRequest, rules: Rules, next_producer_id: int) -> Verdict:
    """A participant ends what it kept: it must be the last one that took the transaction over (KIP-939)."""
    if request.producer_id != txn.next_producer_id:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.KEPT)
    if request.producer_epoch != txn.next_producer_epoch:
        return refuse(Error.PRODUCER_FENCED, Row.KEPT)
    return _end(Row.KEPT, txn, request, rules, next_producer_id)


def _end_again(txn: Transaction, request: TransactionRequest, rules: Rules, next_producer_id: int) -> Verdict:
    """The last transaction is through (T7, T8): an end that is repeated, or an empty abort."""
    after_commit = txn.state == TransactionState.COMPLETE_COMMIT
    row = Row.T7 if after_commit else Row.T8
    retry = _retries_bump(txn, request) or _retries_overflow(txn, request, rules)
    if retry and (request.committed) == after_commit:
        return agree(row, txn.producer_id, txn.producer_epoch)
    if retry and request.committed and rules.late_commit_is_fenced == 1:
        return refuse(Error.PRODUCER_FENCED, row)
    if retry or request.committed:
        return refuse(Error.INVALID_TXN_STATE, row)
    return _end(row, txn, request, rules, next_producer_id)


def _is_fence(txn: Transaction) -> bool:
    return txn.pending_state == TransactionState.PREPARE_EPOCH_FENCE


def _retries_bump(txn: Transaction, request: TransactionRequest) -> bool:
    return not _is_fence(txn) and txn.producer_epoch == request.producer_epoch + 1


def _retries_overflow(txn: Transaction, request: TransactionRequest, rules: Rules) -> bool:
    return (
        not _is_fence(txn)
        and txn.previous_producer_id == request.producer_id
        and request.producer_epoch == rules.epoch_max - 1
        and txn.producer_epoch == 0
    )


def _epoch_is_valid(txn: Transaction, request: TransactionRequest, rules: Rules, from_client: bool) -> bool:
    if rules.strict_end == 0 and from_client:
        return True
    current = request.producer_epoch == txn.producer_epoch
    if _is_fence(txn):
        return request.producer_epoch >= txn.producer_epoch and (not from_client or current)
    if txn.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        return _retries_bump(txn, request)
    if txn.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        return current or _retries_bump(txn, request) or _retries_overflow(txn, request, rules)
    return current


def _end(row: int, txn: Transaction, request: TransactionRequest, rules: Rules, next_producer_id: int) -> Verdict:
    """Decide under the next epoch; an exhausted one is ended under the last epoch, and a new producer id follows.

    A client's commit cannot take over a fence under way, and no epoch follows the last one: both are internal errors.
    Before KAFKA-19367 the epoch of a fence was raised a second time here; before KAFKA-20090 a fence never rotated,
    and not even an abort could follow the last epoch.
    """
    fences = _is_fence(txn)
    twice = fences and rules.single_fence_bump == 0
    ended = request.producer_epoch if twice else txn.producer_epoch
    used = owner_epoch(txn) if is_kept(txn) else ended
    rotates = is_exhausted(used, rules) and not (fences and rules.fence_rotation == 0)
    if rotates and next_producer_id == NONE:
        return refuse(Error.COORDINATOR_LOAD_IN_PROGRESS, row)
    at_last_epoch = ended == rules.epoch_max
    if request.committed and (fences or at_last_epoch):
        return refuse(Error.UNKNOWN_SERVER_ERROR, row)
    if at_last_epoch and (twice or rules.last_epoch_recovery == 0):
        return refuse(Error.UNKNOWN_SERVER_ERROR, row)
    verdict = transit(
        row,
        CoordinatorEvent.COMMIT if request.committed else CoordinatorEvent.ABORT,
        txn.producer_id,
        ended if at_last_epoch else ended + 1,
        ended,
        next_producer_id if rotates else (owner_producer_id(txn) if is_kept(txn) else NONE),
        txn.partitions,
        TransactionVersion.TV2,
    )
    if is_kept(txn):
        return verdict._replace(next_producer_epoch=int(0 if rotates else used + 1))
    return verdict


def decide_after_append(
    txn: Transaction,
    request: TransactionRequest,
    prepared_state: int,
    append_error: int = 0,
    lookup_error: int = 0,
    is_same_coordinator_epoch: bool = True,
) -> Verdict:
    """Look again once the decision is durable: only then is the answer success and the markers go out (F1 to F5).

    Another request may have come between the append and this look (reference §2.17), and the host may have ceased to
    be the coordinator (`lookup_error`: what ``decide_lookup`` says now; `is_same_coordinator_epoch`: as at the start).
    After F1 the host calls ``give_up``.
    """
    if append_error != Error.NONE:
        return refuse(append_error, Row.F1)
    if lookup_error != Error.NONE:
        return refuse(lookup_error, Row.F2)
    if not is_same_coordinator_epoch:
        return refuse(Error.NOT_COORDINATOR, Row.F3)
    kept = has_ended_kept(txn, request)
    if request.producer_id != txn.producer_id and not kept:
        return refuse(Error.INVALID_PRODUCER_ID_MAPPING, Row.F4)
    raised = request.version >= FIRST_VERSION_OF_TV2 and txn.producer_epoch == request.producer_epoch + 1
    if request.producer_epoch != txn.producer_epoch and not raised and not kept:
        return refuse(Error.PRODUCER_FENCED, Row.F4)
    if txn.pending_state != NONE:
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.F4)
    if txn.state != prepared_state:
        return refuse(Error.INVALID_TXN_STATE, Row.F4)
    if request.version >= FIRST_VERSION_OF_TV2:
        completed = completion_of(txn)
        return agree(Row.F5, completed.producer_id, completed.producer_epoch)
    return agree(Row.F5)


def completion_of(txn: Transaction) -> Verdict:
    """The record that ends a prepared transaction once every partition has its marker (§2.3, Complete)."""
    rotates = txn.client_transaction_version == TransactionVersion.TV2 and txn.next_producer_id != NONE
    goes_on_at = txn.next_producer_epoch if is_kept(txn) else 0
    return transit(
        Row.F5,
        CoordinatorEvent.MARKERS_WRITTEN,
        txn.next_producer_id if rotates else txn.producer_id,
        goes_on_at if rotates else txn.producer_epoch,
        goes_on_at - 1 if rotates and goes_on_at > 0 else txn.last_producer_epoch,
        NONE,
        0,
        txn.client_transaction_version,
    )


def completion_by(txn: Transaction, rules: Rules) -> Verdict:
    """As ``completion_of``, by the rules of a release: while TV2 was made, an end took the last epoch for its own."""
    completed = completion_of(txn)
    if rules.completion_keeps_last_epoch == 1 or txn.client_transaction_version != TransactionVersion.TV2:
        return completed
    return transit(
        completed.row,
        completed.event,
        completed.producer_id,
        completed.producer_epoch,
        txn.producer_epoch,
        completed.next_producer_id,
        completed.partitions,
        completed.client_transaction_version,
    )
