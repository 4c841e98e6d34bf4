"""Expiry of transactional ids (server action): an id that nobody used for long is forgotten.

Source: reference §2.14; ``TransactionStateManager.removeExpiredTransactionalIds``.
"""

from zombieproof.model.decisions.verdicts import agree, transit
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Row, TransactionState


def decide_expiration(txn: Transaction, now_ms: int, expiration_ms: int, rules: Rules) -> Verdict:
    """EXPIRE (the tombstone) if the id is idle and unused since `expiration_ms`, else leave it alone (Y1, Y2)."""
    idle = txn.state in (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    busy = txn.pending_state != NONE or not idle
    if not txn.known or txn.last_update_ms > now_ms - expiration_ms or (busy and rules.only_idle_ids_expire == 1):
        return agree(Row.Y1)
    return transit(
        Row.Y2,
        CoordinatorEvent.EXPIRE,
        txn.producer_id,
        txn.producer_epoch,
        txn.last_producer_epoch,
        txn.next_producer_id,
        0,
        txn.client_transaction_version,
    )
