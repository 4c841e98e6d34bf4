"""A transaction is ended: by its client, by the server behind a fence; when that is durable, somebody looks again.

Source: reference §2.10, §2.11; ``TransactionCoordinator.endTransaction``.
"""

from zombieproof.model.decisions import transition
from zombieproof.model.decisions.end_txn import decide_after_append, decide_end_txn, decide_end_txn_front_door
from zombieproof.model.decisions.versions import error_on_the_wire
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, CoordinatorEvent, Error, TransactionState
from zombieproof.statemachines.coordinator import appends
from zombieproof.statemachines.coordinator.completion import drive
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects, reply
from zombieproof.statemachines.coordinator.init_producer_id import refuse_init
from zombieproof.statemachines.coordinator.records import IdRequest, Office, Operation, PendingTransition
from zombieproof.statemachines.notes import Decision, Notes, note


def end_txn(
    txn: Transaction,
    pending: PendingTransition,
    request: IdRequest,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """Answer EndTxn of a client, of any version."""
    pending.operation = Operation.END_BY_CLIENT
    pending.asked_version = request.version
    pending.version = request.version
    pending.producer_id = request.producer_id
    pending.producer_epoch = request.producer_epoch
    pending.committed = request.committed
    front = decide_end_txn_front_door(request.has_id, request.version)
    if front.error != Error.NONE:
        note(notes, Decision.END_TXN, front.row, front.error)
        _answer(pending, front.error, NONE, NONE, effects)
        return
    _end(txn, pending, True, office, rules, effects, notes)


def end_by_server(
    txn: Transaction,
    pending: PendingTransition,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """Abort a transaction whose owner was fenced: the second half of I12 and X5; `pending` is what the fence left."""
    _end(txn, pending, False, office, rules, effects, notes)


def _end(
    txn: Transaction,
    pending: PendingTransition,
    from_client: bool,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    error = appends.look_up(office, notes)
    if error != Error.NONE:
        _answer(pending, error, NONE, NONE, effects)
        return
    fences = txn.pending_state == TransactionState.PREPARE_EPOCH_FENCE
    verdict = decide_end_txn(txn, pending, rules, from_client, office.next_producer_id)
    note(notes, Decision.END_TXN, verdict.row, verdict.error)
    appends.takes_producer_id(verdict, office, effects)
    if verdict.event == CoordinatorEvent.NOTHING:
        if fences and not from_client:
            txn.pending_state = NONE
        _answer(pending, verdict.error, verdict.producer_id, verdict.producer_epoch, effects)
        return
    pending.fences = fences
    if fences and transition.fence_counts_at_once(pending.version, rules):
        transition.fence_in_memory(txn, pending.producer_epoch)
    appends.prepare(txn, pending, verdict, 0, office.now_ms, office, notes)
    error = appends.append(txn, pending, office, rules, effects, notes)
    if error != Error.NONE:
        _answer(pending, error, NONE, NONE, effects)


def look_again(
    txn: Transaction, pending: PendingTransition, office: Office, effects: CoordinatorEffects, notes: Notes
) -> None:
    """The decision is durable and in memory: look again (F2 to F5), answer, and send the markers."""
    decided(txn, pending, Error.NONE, office, effects, notes)


def decided(
    txn: Transaction,
    pending: PendingTransition,
    error: int,
    office: Office,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """What a decision comes to (F1 to F5), and the answer; `error` is what became of its append."""
    same = office.coordinator_epoch == pending.coordinator_epoch
    lookup_error = appends.look_up(office, notes)
    verdict = decide_after_append(txn, pending, pending.target.state, error, lookup_error, same)
    note(notes, Decision.END_TXN, verdict.row, verdict.error)
    _answer(pending, verdict.error, verdict.producer_id, verdict.producer_epoch, effects)
    if verdict.error == Error.NONE:
        drive(txn, effects)


def _answer(
    pending: PendingTransition, error: int, producer_id: int, producer_epoch: int, effects: CoordinatorEffects
) -> None:
    """The answer to who ended it. Nobody waits for a time-out, whose error is a result all the same.

    InitProducerId has to be asked again when the abort is decided.
    """
    if pending.operation == Operation.END_BY_INIT:
        refuse_init(effects, pending.asked_version, error if error != Error.NONE else Error.CONCURRENT_TRANSACTIONS)
    elif pending.operation == Operation.END_BY_CLIENT:
        reply(
            effects,
            error_on_the_wire(ApiKey.END_TXN, pending.asked_version, error),
            producer_id,
            producer_epoch,
        )
    else:
        effects.error = error
