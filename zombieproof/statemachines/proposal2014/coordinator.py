"""The steps of a coordinator: what it does about a request, an acknowledgement, a time-out, and when it takes over.

    begin(coordinator, journal, request, rules, notes)    -> the answer, and the TxId where it is DONE
    end(coordinator, journal, request, rules, notes)      -> the answer to Commit or Abort
    acknowledged(coordinator, journal, t, p, rules, notes)    the leader of partition p has its control record
    give_up(coordinator, journal, t, rules, notes)        nobody ends what has begun
    take_over(coordinator, journal, rules, notes)         a new one reads the journal

What a transaction has to tell leaders is in `Transaction.to_tell` and `to_end`: the host delivers it.
Source: reference §10.4 to §10.7.
"""

from typing import NamedTuple

from zombieproof.model.proposal2014.coordinating import (
    asks_leaders,
    decide_acknowledged,
    decide_connection,
    decide_end,
    decide_watermark,
    holds_up,
    is_answered_with,
    is_fenced_by,
    is_recorded,
    is_the_same,
    is_unfinished,
    reads_from,
)
from zombieproof.model.proposal2014.records import (
    PRODUCERS,
    TRANSACTIONS,
    Coordinator,
    Journal,
    Request,
)
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import (
    Answer,
    JournalEvent,
    JournalState,
    RequestKind,
    TransactionEvent,
    TransactionState,
)
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.notes import MachineIndex, Notes, move
from zombieproof.statemachines.proposal2014 import connections


class Begins(NamedTuple):
    """The answer to Begin, and the TxId; NONE where there is no room in the journal for another one."""

    answer: int
    transaction: int


def begin(coordinator: Coordinator, journal: Journal, request: Request, rules: Rules, notes: Notes) -> Begins:
    """Answer a Begin: what an older generation has begun is aborted, and BEGIN is in the journal."""
    answer = _hear(coordinator, journal, request, rules, notes)
    if answer != Answer.DONE:
        return Begins(answer, NONE)
    for t in range(journal.count):
        if is_the_same(journal.begun[t], int(request.producer), int(request.generation), int(request.chosen), rules):
            return Begins(answer, t)
    for t in range(journal.count):
        if is_answered_with(coordinator.transactions[t], int(request.producer), int(request.generation), rules):
            return Begins(answer, t)
    for t in range(journal.count):
        if holds_up(coordinator.transactions[t], int(request.producer), rules):
            return Begins(int(Answer.NOT_FINISHED), NONE)
    if journal.count == TRANSACTIONS:
        return Begins(answer, NONE)
    t = int(journal.count)
    begun = journal.begun[t]
    begun.producer = request.producer
    begun.generation = request.generation
    begun.partitions = request.partitions
    begun.chosen = request.chosen
    journal.count += 1
    _append(coordinator, journal, t, int(TransactionEvent.BEGIN), rules, notes)
    if rules.leaders_are_told == 1:
        coordinator.transactions[t].to_tell = request.partitions
    return Begins(answer, t)


def end(coordinator: Coordinator, journal: Journal, request: Request, rules: Rules, notes: Notes) -> int:
    """Answer a Commit or an Abort."""
    answer = _hear(coordinator, journal, request, rules, notes)
    if answer != Answer.DONE:
        return answer
    t = int(request.transaction)
    verdict = decide_end(int(coordinator.transactions[t].state), request.kind == RequestKind.COMMIT, rules)
    if verdict.event != TransactionEvent.NOTHING:
        _decide(coordinator, journal, t, verdict.event, rules, notes)
    return verdict.answer


def acknowledged(coordinator: Coordinator, journal: Journal, t: int, p: int, rules: Rules, notes: Notes) -> None:
    """The leader of partition `p` has appended the control record of TxId `t`."""
    transaction = coordinator.transactions[t]
    transaction.to_end = transaction.to_end & ~(1 << p)
    if is_unfinished(int(transaction.state)):
        transaction.acknowledged = transaction.acknowledged | (1 << p)
        _finish(coordinator, journal, t, rules, notes)


def give_up(coordinator: Coordinator, journal: Journal, t: int, rules: Rules, notes: Notes) -> None:
    """Abort what has begun: its time is over, or its producer is gone."""
    _decide(coordinator, journal, t, int(TransactionEvent.PREPARE_ABORT), rules, notes)


def may_give_up(coordinator: Coordinator, t: int) -> bool:
    """Whether it has begun, and a time-out."""
    transaction = coordinator.transactions[t]
    return transaction.state == TransactionState.BEGUN and transaction.has_timeout


def take_over(coordinator: Coordinator, journal: Journal, rules: Rules, notes: Notes) -> None:
    """Read the journal; what is prepared is carried out again, and leaders are told again of what has begun."""
    for t in range(TRANSACTIONS):
        _forget(coordinator, t)
    coordinator.state = int(JournalState.AT_END)
    for offset in range(reads_from(int(journal.checkpoint), rules), journal.end):
        record = journal.records[offset]
        _take(coordinator, journal, int(record.transaction), int(record.event), offset, rules, notes)
    if coordinator.state == JournalState.AT_END:
        coordinator.high_watermark = journal.end
    for producer in range(PRODUCERS):
        connections.forget(coordinator.known[producer])
    for t in range(journal.count):
        transaction = coordinator.transactions[t]
        known = coordinator.known[journal.begun[t].producer]
        if rules.generations_are_kept == 1 or is_unfinished(int(transaction.state)):
            known.generation = max(known.generation, journal.begun[t].generation)
        if transaction.state == TransactionState.BEGUN:
            transaction.has_timeout = rules.time_outs_are_recorded == 1
            if rules.leaders_are_told == 1:
                transaction.to_tell = transaction.partitions
        elif rules.prepared_are_redone == 0 or not is_unfinished(int(transaction.state)):
            transaction.to_end = 0


def tell_again(coordinator: Coordinator, p: int, rules: Rules) -> None:
    """Partition `p` has a new leader: it is told of what has begun there."""
    for t in range(TRANSACTIONS):
        transaction = coordinator.transactions[t]
        is_its = (transaction.partitions >> p) & 1 == 1
        if is_its and transaction.state == TransactionState.BEGUN and rules.leaders_are_told == 1:
            transaction.to_tell = transaction.to_tell | (1 << p)


def _hear(coordinator: Coordinator, journal: Journal, request: Request, rules: Rules, notes: Notes) -> int:
    """Whether a request is heard; who has two connections loses what it has begun, and who is older as well."""
    known = coordinator.known[request.producer]
    answer = decide_connection(known, int(request.instance), int(request.generation), rules)
    if answer == Answer.TWO_CONNECTIONS:
        known.closed = True
        for t in range(journal.count):
            transaction = coordinator.transactions[t]
            is_its = transaction.producer == request.producer and transaction.generation == request.generation
            if is_its and transaction.state == TransactionState.BEGUN:
                _decide(coordinator, journal, t, int(TransactionEvent.PREPARE_ABORT), rules, notes)
    elif answer == Answer.DONE:
        connections.connect(known, int(request.instance), int(request.generation))
        for t in range(journal.count):
            if is_fenced_by(coordinator.transactions[t], int(request.producer), int(request.generation), rules):
                _decide(coordinator, journal, t, int(TransactionEvent.PREPARE_ABORT), rules, notes)
    return answer


def _decide(coordinator: Coordinator, journal: Journal, t: int, event: int, rules: Rules, notes: Notes) -> None:
    """PREPARE_COMMIT or PREPARE_ABORT is in the journal, and the leaders are asked for their control records."""
    _append(coordinator, journal, t, event, rules, notes)
    _finish(coordinator, journal, t, rules, notes)


def _finish(coordinator: Coordinator, journal: Journal, t: int, rules: Rules, notes: Notes) -> None:
    """The final record, if it is time for it."""
    event = decide_acknowledged(coordinator.transactions[t], rules)
    if event != TransactionEvent.NOTHING:
        _append(coordinator, journal, t, event, rules, notes)


def _append(coordinator: Coordinator, journal: Journal, t: int, event: int, rules: Rules, notes: Notes) -> None:
    """A record of the journal, and what it does in memory."""
    offset = int(journal.end)
    if is_recorded(event, rules):
        journal.records[offset].event = event
        journal.records[offset].transaction = t
        journal.end += 1
    _take(coordinator, journal, t, event, offset, rules, notes)
    if coordinator.state == JournalState.AT_END:
        coordinator.high_watermark = journal.end


def _take(
    coordinator: Coordinator, journal: Journal, t: int, event: int, offset: int, rules: Rules, notes: Notes
) -> None:
    """A record in memory, as it was appended or is read; one of a TxId whose BEGIN was not read is passed over."""
    transaction = coordinator.transactions[t]
    if event == TransactionEvent.BEGIN:
        begun = journal.begun[t]
        transaction.producer = begun.producer
        transaction.generation = begun.generation
        transaction.partitions = begun.partitions
        transaction.has_timeout = True
        transaction.begun_at = offset
    elif transaction.state == TransactionState.NONE:
        return
    notes.subject = t
    if event in (TransactionEvent.COMMIT, TransactionEvent.ABORT) and transaction.state == TransactionState.BEGUN:
        # Where PREPARE_* is no record, the final one says what had been decided.
        decided = (
            TransactionEvent.PREPARE_COMMIT if event == TransactionEvent.COMMIT else TransactionEvent.PREPARE_ABORT
        )
        transaction.state = move(notes, MachineIndex.PROPOSAL2014_COORDINATOR, int(transaction.state), int(decided))
    transaction.state = move(notes, MachineIndex.PROPOSAL2014_COORDINATOR, int(transaction.state), event)
    if event == TransactionEvent.BEGIN:
        notes.subject = 0
        if coordinator.state == JournalState.AT_END:
            coordinator.high_watermark = offset
        coordinator.state = move(
            notes, MachineIndex.PROPOSAL2014_JOURNAL, int(coordinator.state), int(JournalEvent.BEGIN)
        )
    elif is_unfinished(int(transaction.state)):
        transaction.has_timeout = False
        if asks_leaders(transaction.state == TransactionState.PREPARED_COMMIT, rules):
            transaction.to_end = transaction.partitions
    else:
        _advance(coordinator, offset, int(transaction.producer), rules, notes)


def _advance(coordinator: Coordinator, offset: int, producer: int, rules: Rules, notes: Notes) -> None:
    """A transaction is finished: the high watermark, and what is forgotten with it."""
    oldest = NONE
    is_pending = False
    for t in range(TRANSACTIONS):
        transaction = coordinator.transactions[t]
        if is_unfinished(int(transaction.state)):
            if oldest == NONE:
                oldest = int(transaction.begun_at)
            is_pending = is_pending or transaction.producer == producer
    notes.subject = 0
    event = decide_watermark(int(coordinator.high_watermark), oldest)
    coordinator.state = move(notes, MachineIndex.PROPOSAL2014_JOURNAL, int(coordinator.state), event)
    coordinator.high_watermark = offset + 1 if oldest == NONE else oldest
    if rules.generations_are_kept == 0 and not is_pending:
        connections.forget(coordinator.known[producer])
    if rules.finished_are_remembered == 0:
        for t in range(TRANSACTIONS):
            transaction = coordinator.transactions[t]
            if transaction.state != TransactionState.NONE and transaction.begun_at < coordinator.high_watermark:
                _forget(coordinator, t)


def _forget(coordinator: Coordinator, t: int) -> None:
    """Nothing is known of a TxId any more."""
    transaction = coordinator.transactions[t]
    transaction.state = int(TransactionState.NONE)
    transaction.producer = 0
    transaction.generation = 0
    transaction.partitions = 0
    transaction.acknowledged = 0
    transaction.has_timeout = False
    transaction.begun_at = 0
    transaction.to_tell = 0
    transaction.to_end = 0
