"""Transaction time-out (server action): the coordinator aborts what stays open for too long.

Behaviour: a scan finds candidates; each is looked at again, fenced, and aborted as by EndTxn(ABORT) of the server.
Source: reference §2.13; KAFKA-6119; ``TransactionCoordinator.abortTimedOutTransactions``.
"""

from zombieproof.model.decisions.init_producer_id import (
    TIMEOUT_MS_OF_TWO_PHASE_COMMIT,
    can_be_fenced,
    fence,
    fence_epoch,
)
from zombieproof.model.decisions.verdicts import agree, refuse
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Row, TransactionState


def is_timed_out(txn: Transaction, now_ms: int) -> bool:
    """Whether the scan takes a transaction for a candidate. A two-phase-commit transaction never is one."""
    return (
        txn.known
        and txn.pending_state == NONE
        and txn.state == TransactionState.ONGOING
        and txn.timeout_ms != TIMEOUT_MS_OF_TWO_PHASE_COMMIT
        and txn.start_ms + txn.timeout_ms < now_ms
    )


def decide_timeout(txn: Transaction, producer_id: int, rules: Rules) -> Verdict:
    """Look at a candidate again (X1 to X5): FENCE under a raised epoch, or leave it alone.

    `producer_id` is what the scan remembered. Kafka 0.11 did not raise the epoch (KAFKA-6119). X4 ends the whole pass,
    and so does X5 where nothing is left to fence under.
    """
    if not txn.known:
        return agree(Row.X1)
    if txn.producer_id != producer_id:
        return agree(Row.X2)
    if txn.pending_state != NONE:
        return agree(Row.X3)
    if txn.state != TransactionState.ONGOING:
        return refuse(Error.UNKNOWN_SERVER_ERROR, Row.X4)
    if not can_be_fenced(txn, rules):
        return refuse(Error.UNKNOWN_SERVER_ERROR, Row.X5)
    raised = fence_epoch(txn, rules) if rules.timeout_bump == 1 else txn.producer_epoch
    return fence(txn, raised, Row.X5)
