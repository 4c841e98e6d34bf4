"""What a transition of a transactional id writes: prepared, made durable, completed.

A host does, in this order: ask a decision; take the target state from the table; `prepare` the record; append it;
then `complete` it in memory, or `give_up` if the append failed.

Source: reference §2.3 (table of prepare functions), §2.4, §2.6, §2.15; ``TransactionMetadata.java``.
"""

from zombieproof.model.decisions.end_txn import FIRST_VERSION_OF_TV2
from zombieproof.model.decisions.keep_prepared import is_kept
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, TransactionState, TransactionVersion


def prepare(txn: Transaction, verdict: Verdict, state: int, timeout_ms: int, now_ms: int, target: Transaction) -> None:
    """Write into `target` the record that `verdict` wants durable; `state` is what the table says.

    `timeout_ms` counts for INIT only (it is the request's); every other transition keeps the timeout.
    """
    target.known = True
    target.state = state
    target.pending_state = NONE
    target.producer_id = verdict.producer_id
    target.previous_producer_id = _previous_producer_id(txn, verdict)
    target.next_producer_id = verdict.next_producer_id
    target.next_producer_epoch = verdict.next_producer_epoch
    target.producer_epoch = verdict.producer_epoch
    target.last_producer_epoch = verdict.last_producer_epoch
    target.partitions = verdict.partitions
    target.timeout_ms = timeout_ms if verdict.event == CoordinatorEvent.INIT else txn.timeout_ms
    target.start_ms = _start_ms(txn, verdict, now_ms)
    keeps_time = verdict.event in (CoordinatorEvent.FENCE, CoordinatorEvent.EXPIRE)
    target.last_update_ms = txn.last_update_ms if keeps_time else now_ms
    target.client_transaction_version = verdict.client_transaction_version
    target.failed_epoch_fence = verdict.event != CoordinatorEvent.MARKERS_WRITTEN and txn.failed_epoch_fence


def _previous_producer_id(txn: Transaction, verdict: Verdict) -> int:
    """The id by which an answer that was lost is asked for again: of a kept transaction, the one its owner went by."""
    if not txn.known:
        return int(verdict.producer_id)
    if is_kept(txn) and verdict.next_producer_epoch == 0 and verdict.event != CoordinatorEvent.KEEP:
        return int(txn.next_producer_id)
    if verdict.event == CoordinatorEvent.MARKERS_WRITTEN and txn.next_producer_epoch == 0:
        return int(txn.previous_producer_id)
    return int(txn.producer_id)


def _start_ms(txn: Transaction, verdict: Verdict, now_ms: int) -> int:
    if verdict.event == CoordinatorEvent.INIT:
        return NONE
    opens = txn.state != TransactionState.ONGOING
    if opens and verdict.event in (CoordinatorEvent.ADD_PARTITION, CoordinatorEvent.ABORT):
        return int(now_ms)
    return int(txn.start_ms)


def complete(txn: Transaction, target: Transaction) -> None:
    """The record is durable: memory becomes what the log says, and nothing is pending."""
    txn.known = True
    txn.state = target.state
    txn.pending_state = NONE
    txn.producer_id = target.producer_id
    txn.previous_producer_id = target.previous_producer_id
    txn.next_producer_id = target.next_producer_id
    txn.producer_epoch = target.producer_epoch
    txn.last_producer_epoch = target.last_producer_epoch
    txn.partitions = target.partitions
    txn.timeout_ms = target.timeout_ms
    txn.start_ms = target.start_ms
    txn.last_update_ms = target.last_update_ms
    txn.client_transaction_version = target.client_transaction_version
    txn.failed_epoch_fence = target.failed_epoch_fence
    txn.next_producer_epoch = target.next_producer_epoch


def complete_by(txn: Transaction, target: Transaction, rules: Rules) -> None:
    """As ``complete``, by the rules of a release: before 4.0 InitProducerId left the old start time in memory (§14)."""
    start_ms = txn.start_ms
    complete(txn, target)
    if rules.init_clears_start == 0 and target.state == TransactionState.EMPTY:
        txn.start_ms = start_ms


def write(durable: Transaction, target: Transaction, rules: Rules) -> None:
    """What the log holds of a record (§2.2): all but the last producer epoch and a failed fence.

    No release writes the last producer epoch (B81), and a value of version 0 has no room for it.
    """
    complete(durable, target)
    if rules.persist_last_epoch == 0 or rules.transaction_version == TransactionVersion.TV0:
        durable.last_producer_epoch = NONE
    durable.failed_epoch_fence = False


def fence_counts_at_once(version: int, rules: Rules) -> bool:
    """Whether a fence raises the epoch in memory before its abort is durable (`version`: of the EndTxn that aborts).

    So it is by the rules of version 0, and was by those of version 2 until KAFKA-19367.
    """
    return version < FIRST_VERSION_OF_TV2 or rules.single_fence_bump == 0


def fence_in_memory(txn: Transaction, producer_epoch: int) -> None:
    """The effect of a fence that counts at once (E6): the raised epoch is that of the transaction."""
    txn.producer_epoch = producer_epoch
    txn.last_producer_epoch = NONE


def give_up(txn: Transaction, fenced: bool, rules: Rules) -> None:
    """The append failed: nothing is pending, the state is what it was (§2.6); a failed TV0 fence is remembered (F1)."""
    txn.pending_state = NONE
    if fenced and rules.fence_failed_flag == 1:
        txn.failed_epoch_fence = True


def load(txn: Transaction, durable: Transaction, completing_state: int, rules: Rules) -> None:
    """A coordinator reads the last record of an id from its log (Z3, Z5).

    `completing_state` is the table's answer to MARKERS_WRITTEN (negative: there is none): a prepared transaction is
    driven to its end by whoever loads it. What the log does not hold is lost: the last producer epoch, the failed
    fence, and (before KAFKA-20310, and in value version 0) the previous and next producer ids.
    """
    write(txn, durable, rules)
    txn.known = durable.known
    holds_both = rules.persist_prev_next == 1 and rules.transaction_version != TransactionVersion.TV0
    if not txn.known or not holds_both:
        txn.previous_producer_id = NONE
        txn.next_producer_id = NONE
        txn.next_producer_epoch = NONE
    if txn.known and completing_state >= 0:
        txn.pending_state = completing_state


def is_valid(txn: Transaction, target: Transaction) -> bool:
    """Whether a durable record may follow what is in memory (the sanity check of §2.4; "must not happen" otherwise)."""
    if txn.pending_state != target.state:
        return False
    if target.state == TransactionState.EMPTY:
        return _valid_empty(txn, target)
    if target.timeout_ms != txn.timeout_ms or not _valid_epoch(txn, target):
        return False
    if target.state == TransactionState.ONGOING:
        return (txn.partitions & ~target.partitions) == 0
    if target.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        return target.partitions == txn.partitions and (
            target.start_ms == txn.start_ms or txn.state != TransactionState.ONGOING
        )
    completed = target.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    return completed and target.start_ms != NONE


def _valid_empty(txn: Transaction, target: Transaction) -> bool:
    same_or_next = target.producer_epoch in (txn.producer_epoch, txn.producer_epoch + 1)
    rotated = target.producer_epoch == 0 and target.producer_id != txn.producer_id
    return (same_or_next or rotated) and target.partitions == 0 and target.start_ms == NONE


def _valid_epoch(txn: Transaction, target: Transaction) -> bool:
    if target.client_transaction_version == TransactionVersion.TV2:
        completing = target.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
        if completing and is_kept(txn):
            return target.producer_id == txn.next_producer_id and target.producer_epoch == txn.next_producer_epoch
        if completing and target.producer_epoch == 0:
            last_is_known = target.last_producer_epoch in (txn.last_producer_epoch, txn.producer_epoch)
            return last_is_known and target.previous_producer_id == txn.producer_id
        if target.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
            return target.last_producer_epoch == txn.producer_epoch and target.producer_id == txn.producer_id
    return target.producer_epoch == txn.producer_epoch and target.producer_id == txn.producer_id
