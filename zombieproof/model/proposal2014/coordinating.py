"""Deciding at the transaction coordinator: begin, commit, abort, time-out, acknowledgement.

Behaviour: BEGIN names all partitions of a transaction, which gets its TxId there. PREPARE_COMMIT and PREPARE_ABORT are
the decision, and are answered; the final record follows when all leaders have acknowledged. A request of an older
generation is refused.
Source: reference §10.4 to §10.7.
"""

from typing import NamedTuple

from zombieproof.model.proposal2014.records import Begun, KnownProducer, Transaction
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import Answer, JournalEvent, TransactionEvent, TransactionState


class Verdict(NamedTuple):
    """The event of the transaction, and the answer."""

    event: int
    answer: int


def decide_connection(known: KnownProducer, instance: int, generation: int, rules: Rules) -> int:
    """Whether a request of an instance is heard at all: DONE, STALE_GENERATION or TWO_CONNECTIONS (reference §10.7)."""
    if rules.coordinator_fences == 1 and generation < known.generation:
        return int(Answer.STALE_GENERATION)
    return int(Answer.TWO_CONNECTIONS if is_second_connection(known, instance, generation, rules) else Answer.DONE)


def is_second_connection(known: KnownProducer, instance: int, generation: int, rules: Rules) -> bool:
    """Whether another instance with the same generation is connected, or was."""
    if rules.one_connection == 0 or generation != known.generation:
        return False
    return known.closed or known.connected not in (0, instance + 1)


def is_the_same(begun: Begun, producer: int, generation: int, chosen: int, rules: Rules) -> bool:
    """Whether a Begin is that of a transaction which has begun, because its producer chose the same TxId."""
    if rules.coordinator_chooses_tx_ids == 1 or begun.producer != producer:
        return False
    return begun.generation == generation and begun.chosen == chosen


def is_answered_with(transaction: Transaction, producer: int, generation: int, rules: Rules) -> bool:
    """Whether a Begin is answered with this TxId: it has begun already, for the same producer and generation."""
    if rules.begin_is_deduplicated == 0 or transaction.state != TransactionState.BEGUN:
        return False
    return transaction.producer == producer and transaction.generation == generation


def holds_up(transaction: Transaction, producer: int, rules: Rules) -> bool:
    """Whether a Begin of a producer waits for this transaction."""
    if rules.begin_waits_for_the_last == 0 or transaction.producer != producer:
        return False
    return is_unfinished(int(transaction.state))


def is_fenced_by(transaction: Transaction, producer: int, generation: int, rules: Rules) -> bool:
    """Whether what has begun is aborted because a newer generation of its producer is there."""
    if rules.coordinator_fences == 0 or transaction.state != TransactionState.BEGUN:
        return False
    return transaction.producer == producer and transaction.generation < generation


def decide_end(state: int, commits: bool, rules: Rules) -> Verdict:
    """Answer CommitTransaction or AbortTransaction for a TxId that is in `state`: a retry is answered as at first."""
    if state == TransactionState.BEGUN:
        event = TransactionEvent.PREPARE_COMMIT if commits else TransactionEvent.PREPARE_ABORT
        return Verdict(int(event), int(Answer.COMMITTED if commits else Answer.ABORTED))
    if rules.ends_are_idempotent == 0:
        return Verdict(int(TransactionEvent.NOTHING), int(Answer.UNKNOWN_TRANSACTION))
    if state in (TransactionState.PREPARED_COMMIT, TransactionState.COMMITTED):
        return Verdict(int(TransactionEvent.NOTHING), int(Answer.COMMITTED))
    if state in (TransactionState.PREPARED_ABORT, TransactionState.ABORTED):
        return Verdict(int(TransactionEvent.NOTHING), int(Answer.ABORTED))
    return Verdict(int(TransactionEvent.NOTHING), int(Answer.UNKNOWN_TRANSACTION))


def decide_acknowledged(transaction: Transaction, rules: Rules) -> int:
    """The event when leaders have acknowledged: the final record, once all have (reference §10.5, E6)."""
    all_have = transaction.acknowledged == transaction.partitions
    if transaction.state == TransactionState.PREPARED_COMMIT:
        if all_have or rules.acknowledged_before_final == 0:
            return int(TransactionEvent.COMMIT)
    elif transaction.state == TransactionState.PREPARED_ABORT and (all_have or not asks_leaders(False, rules)):
        if rules.aborted_is_recorded == 0:
            return int(TransactionEvent.LEAVE_UNRECORDED)
        return int(TransactionEvent.ABORT)
    return int(TransactionEvent.NOTHING)


def is_recorded(event: int, rules: Rules) -> bool:
    """Whether what becomes of a transaction is a record of the journal."""
    if event in (TransactionEvent.PREPARE_COMMIT, TransactionEvent.PREPARE_ABORT):
        return rules.prepares_are_recorded == 1
    return event != TransactionEvent.LEAVE_UNRECORDED


def asks_leaders(commits: bool, rules: Rules) -> bool:
    """Whether what is decided is told the leaders, for their control records."""
    return commits or rules.aborts_have_control_records == 1


def decide_watermark(high_watermark: int, oldest: int) -> int:
    """The event of the journal when a transaction is finished; `oldest`: where the oldest in flight began, -1: none."""
    if oldest < 0:
        return int(JournalEvent.FINISH_LAST)
    return int(JournalEvent.FINISH_YOUNGER if oldest == high_watermark else JournalEvent.FINISH_OLDEST)


def reads_from(checkpoint: int, rules: Rules) -> int:
    """The offset of the journal from which a new coordinator reads."""
    return 0 if rules.finished_are_remembered == 1 else checkpoint


def is_unfinished(state: int) -> bool:
    """Whether a transaction holds the high watermark of the journal."""
    return state in (TransactionState.BEGUN, TransactionState.PREPARED_COMMIT, TransactionState.PREPARED_ABORT)
