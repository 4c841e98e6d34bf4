"""Into the log: a transition is prepared, looked at once more, appended; its outcome completes it or gives it up.

Theory of operation: `prepare` sets the pending state and fills the `PendingTransition`. The host makes its `target`
durable, at once or later; a host that appends later asks `may_append` again just before. `append_ended` is what the
outcome comes to; what the operation does then is in ``outcomes``.

Source: reference §2.3, §2.4, §2.6; ``TransactionStateManager.appendTransactionToLog``.
"""

from zombieproof.model.decisions import transition
from zombieproof.model.decisions.find_coordinator import decide_lookup
from zombieproof.model.decisions.log_append import Aftermath, AppendOutcome, decide_append_outcome, decide_log_append
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Error, TransactionState, TransactionVersion
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects
from zombieproof.statemachines.coordinator.records import Office, Operation, PendingTransition
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note


def look_up(office: Office, notes: Notes) -> int:
    """Why the id is not here (L1, L2), or NONE."""
    verdict = decide_lookup(office.is_loading, office.leads)
    if verdict.error != Error.NONE:
        note(notes, Decision.LOOKUP, verdict.row, verdict.error)
    return int(verdict.error)


def forget(txn: Transaction) -> None:
    """Back to "not known"."""
    txn.known = False
    txn.state = TransactionState.EMPTY
    txn.pending_state = NONE
    txn.producer_id = NONE
    txn.previous_producer_id = NONE
    txn.next_producer_id = NONE
    txn.producer_epoch = NONE
    txn.last_producer_epoch = NONE
    txn.partitions = 0
    txn.timeout_ms = 0
    txn.start_ms = NONE
    txn.last_update_ms = NONE
    txn.client_transaction_version = TransactionVersion.TV0
    txn.failed_epoch_fence = False
    txn.next_producer_epoch = NONE


def prepare(
    txn: Transaction,
    pending: PendingTransition,
    verdict: Verdict,
    timeout_ms: int,
    now_ms: int,
    office: Office,
    notes: Notes,
) -> None:
    """What `verdict` wants is pending, as `pending.target`, under the present coordinator epoch."""
    source = txn.pending_state if txn.pending_state == TransactionState.PREPARE_EPOCH_FENCE else txn.state
    state = move(notes, MachineIndex.COORDINATOR, source, verdict.event)
    transition.prepare(txn, verdict, state, timeout_ms, now_ms, pending.target)
    txn.pending_state = state
    pending.coordinator_epoch = office.coordinator_epoch


def append(
    txn: Transaction,
    pending: PendingTransition,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> int:
    """What was just prepared is to be appended; or the error that forbids it."""
    error = may_append(txn, pending, office, rules, notes)
    if error == Error.NONE:
        effects.appends = True
    elif error == Error.UNSUPPORTED_VERSION:
        effects.throws = True
    return error


def may_append(txn: Transaction, pending: PendingTransition, office: Office, rules: Rules, notes: Notes) -> int:
    """The look before the append (G1 to G4): the error that forbids it, or NONE. Refused, its pending state stays."""
    # A tombstone holds no transaction version, and can always be written.
    version = 0 if pending.operation == Operation.EXPIRE else pending.target.client_transaction_version
    same = office.coordinator_epoch == pending.coordinator_epoch
    verdict = decide_log_append(version, look_up(office, notes), txn.known, same, rules)
    if verdict.error != Error.NONE:
        note(notes, Decision.LOG_APPEND, verdict.row, verdict.error)
    return int(verdict.error)


def completes(
    txn: Transaction,
    pending: PendingTransition,
    error: int,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> AppendOutcome:
    """What the outcome of the append does to memory (second table of §2.6); and what the operation is told.

    `error` is that of ``error_of_append``. A record that may not follow what is in memory changes nothing (§2.4).
    """
    same = office.coordinator_epoch == pending.coordinator_epoch
    retries = pending.operation == Operation.COMPLETE
    outcome = decide_append_outcome(error, look_up(office, notes), txn.known, same, retries, rules)
    if outcome.aftermath == Aftermath.GIVE_UP:
        failed = pending.fences and transition.fence_counts_at_once(pending.version, rules)
        transition.give_up(txn, failed, rules)
    elif outcome.aftermath == Aftermath.COMPLETE:
        if pending.operation == Operation.EXPIRE:
            forget(txn)
            effects.drops = True
        elif transition.is_valid(txn, pending.target):
            transition.complete_by(txn, pending.target, rules)
        else:
            notes.contradicts = True
    return outcome


def takes_producer_id(verdict: Verdict, office: Office, effects: CoordinatorEffects) -> None:
    """Whether a decision uses the producer id that was handed in, or lacks one."""
    if verdict.event == CoordinatorEvent.NOTHING:
        if verdict.error == Error.COORDINATOR_LOAD_IN_PROGRESS:
            effects.lacks_producer_id = True
    elif office.next_producer_id != NONE and office.next_producer_id in (verdict.producer_id, verdict.next_producer_id):
        effects.takes_producer_id = True
