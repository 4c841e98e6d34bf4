"""InitProducerId (API key 22, versions 0-6): a producer takes its transactional id, or a fresh producer id.

Behaviour: grants (producer id, epoch). On an open transaction it fences and aborts it and answers
CONCURRENT_TRANSACTIONS; the client asks again until the abort is through.
Versions: 3 carries the expected producer id and epoch (KIP-360); 4 may be answered with PRODUCER_FENCED (KIP-588);
6 has Enable2Pc and KeepPreparedTxn (KIP-939, unstable).
Source: reference §2.7; ``TransactionCoordinator.handleInitProducerId``.
"""

from zombieproof.model.decisions.verdicts import agree, refuse, transit
from zombieproof.model.records import ProducerIdentity, Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import (
    NONE,
    CoordinatorEvent,
    Error,
    Row,
    TransactionState,
    TransactionVersion,
)

TIMEOUT_MS_OF_TWO_PHASE_COMMIT = 2147483647


def decide_init_front_door(  # noqa: PLR0913, PLR0917  # each fact of the request that it judges has a name here
    has_id: bool,
    id_is_empty: bool,
    enable_2pc: bool,
    two_phase_commit_enabled: bool,
    keep_prepared: bool,
    timeout_ms: int,
    max_timeout_ms: int,
    is_half_an_expectation: bool = False,
    kip939: int = 0,
) -> Verdict:
    """Judge the request alone, before the coordinator looks anything up (I1 to I5).

    `is_half_an_expectation`: exactly one of the expected producer id and epoch is -1. The verdict's row is I1 when
    the request asks for a producer id without a transactional id (allocate one, nothing else counts), NO_ROW when
    the coordinator has to decide. `kip939` is what the rules say of it: by their leave a request that keeps what is
    prepared is judged further by ``decide_keep_front_door`` and ``decide_keep_prepared``.
    """
    if is_half_an_expectation:
        return refuse(Error.INVALID_REQUEST, Row.HALF_AN_EXPECTATION)
    if not has_id:
        return agree(Row.I1)
    if id_is_empty:
        return refuse(Error.INVALID_REQUEST, Row.I2)
    if enable_2pc and not two_phase_commit_enabled:
        return refuse(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Row.I3)
    if keep_prepared and kip939 == 0:
        return refuse(Error.UNSUPPORTED_VERSION, Row.I4)
    if not enable_2pc and not 0 < timeout_ms <= max_timeout_ms:
        return refuse(Error.INVALID_TRANSACTION_TIMEOUT, Row.I5)
    return agree(Row.NO_ROW)


def decide_init_producer_id(txn: Transaction, request: ProducerIdentity, rules: Rules, new_producer_id: int) -> Verdict:
    """Answer InitProducerId for a transactional id (I7 to I13).

    `new_producer_id` is the id that is used if one is needed; NONE says that none could be allocated. A verdict with
    event FENCE (I12) asks the host to abort under the verdict's epoch and to answer CONCURRENT_TRANSACTIONS.
    """
    if not txn.known:
        return _grant_new(Row.I7, new_producer_id, NONE, TransactionVersion.TV0)
    expected = rules.kip360 == 1 and request.producer_id != NONE
    if txn.pending_state != NONE:
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.I8)
    if expected and not _was_granted_here(txn, request, rules):
        return refuse(Error.PRODUCER_FENCED, Row.I9)
    if txn.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.I10)
    if txn.state == TransactionState.ONGOING:
        if not can_be_fenced(txn, rules):
            return refuse(Error.UNKNOWN_SERVER_ERROR, Row.I12)
        raised = fence_epoch(txn, rules) if rules.fence_bump == 1 else txn.producer_epoch
        return fence(txn, raised, Row.I12)
    if txn.state in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE):
        return refuse(Error.UNKNOWN_SERVER_ERROR, Row.I13)
    if is_exhausted(txn.producer_epoch, rules):
        if expected and request.producer_epoch != txn.producer_epoch:
            return refuse(Error.UNKNOWN_SERVER_ERROR, Row.I11B)
        last = txn.producer_epoch if expected else NONE
        return _grant_new(Row.I11A, new_producer_id, last, txn.client_transaction_version)
    if not expected:
        raised = rules.init_raises_epoch == 1 or txn.producer_epoch == NONE
        return _grant(Row.I11C, txn, txn.producer_epoch + 1 if raised else txn.producer_epoch, NONE)
    if txn.producer_epoch in (NONE, request.producer_epoch):
        return _grant(Row.I11D, txn, txn.producer_epoch + 1, txn.producer_epoch)
    if request.producer_epoch == txn.last_producer_epoch:
        return _grant(Row.I11E, txn, txn.producer_epoch, txn.last_producer_epoch)
    return refuse(Error.PRODUCER_FENCED, Row.I11F)


def is_exhausted(producer_epoch: int, rules: Rules) -> bool:
    """Whether an epoch is the last one that a client may use (EXH in the reference)."""
    return producer_epoch >= rules.epoch_max - 1


def can_be_fenced(txn: Transaction, rules: Rules) -> bool:
    """Whether there is an epoch to fence under: before 4.3 none was left to a transaction open under the last one."""
    return rules.last_epoch_recovery == 1 or txn.producer_epoch != rules.epoch_max


def fence_epoch(txn: Transaction, rules: Rules) -> int:
    """The epoch under which the present owner is fenced (§2.3, FenceProducerEpoch)."""
    if txn.failed_epoch_fence or txn.producer_epoch == rules.epoch_max:
        return int(txn.producer_epoch)
    return int(txn.producer_epoch + 1)


def fence(txn: Transaction, producer_epoch: int, row: int) -> Verdict:
    """The verdict that fences the owner of an open transaction under `producer_epoch`."""
    return transit(
        row,
        CoordinatorEvent.FENCE,
        txn.producer_id,
        producer_epoch,
        txn.last_producer_epoch,
        txn.next_producer_id,
        txn.partitions,
        txn.client_transaction_version,
    )


def _was_granted_here(txn: Transaction, request: ProducerIdentity, rules: Rules) -> bool:
    rotated = request.producer_id == txn.previous_producer_id and is_exhausted(request.producer_epoch, rules)
    return txn.producer_epoch == NONE or request.producer_id == txn.producer_id or rotated


def _grant(row: int, txn: Transaction, producer_epoch: int, last_producer_epoch: int) -> Verdict:
    return transit(
        row,
        CoordinatorEvent.INIT,
        txn.producer_id,
        producer_epoch,
        last_producer_epoch,
        txn.next_producer_id,
        0,
        txn.client_transaction_version,
    )


def _grant_new(row: int, new_producer_id: int, last_producer_epoch: int, client_transaction_version: int) -> Verdict:
    if new_producer_id == NONE:
        return refuse(Error.COORDINATOR_LOAD_IN_PROGRESS, row)
    return transit(
        row, CoordinatorEvent.INIT, new_producer_id, 0, last_producer_epoch, NONE, 0, client_transaction_version
    )
