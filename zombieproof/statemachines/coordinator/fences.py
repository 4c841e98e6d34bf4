"""An owner is fenced: by a producer that takes its id over (I12), or because its transaction is open for too long (X5).

Theory of operation: the fence is a pending state and nothing else. What it is for stands in the `PendingTransition`
with which the host runs the server's EndTxn next (``ends.end_by_server``): in between a client may take the fence over.

Source: reference §2.7, §2.13, §2.17; ``TransactionCoordinator.abortTimedOutTransactions``.
"""

from zombieproof.model.decisions.end_txn import FIRST_VERSION_OF_TV2
from zombieproof.model.decisions.transaction_timeout import decide_timeout, is_timed_out
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import CoordinatorEvent, Error, TransactionVersion
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects
from zombieproof.statemachines.coordinator.records import Operation, PendingTransition
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note


def fence(
    txn: Transaction,
    pending: PendingTransition,
    verdict: Verdict,
    operation: int,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """The owner is fenced from now on, in memory; the server owes the abort that makes it durable."""
    txn.pending_state = move(notes, MachineIndex.COORDINATOR, txn.state, verdict.event)
    is_tv2 = rules.transaction_version == TransactionVersion.TV2
    pending.operation = operation
    pending.version = FIRST_VERSION_OF_TV2 if is_tv2 else FIRST_VERSION_OF_TV2 - 1
    pending.producer_id = txn.producer_id
    pending.producer_epoch = verdict.producer_epoch
    pending.committed = False
    effects.owes_end = True


def is_candidate(txn: Transaction, now_ms: int) -> bool:
    """Whether a sweep of time-outs will look at the transaction: candidates are collected before any is fenced."""
    return is_timed_out(txn, now_ms)


def time_out(
    txn: Transaction,
    pending: PendingTransition,
    producer_id: int,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """A candidate of the sweep is looked at again (X1 to X5); `producer_id` is what the sweep remembers of it."""
    verdict = decide_timeout(txn, producer_id, rules)
    note(notes, Decision.TIMEOUT, verdict.row, verdict.error)
    effects.error = verdict.error
    if verdict.error != Error.NONE:
        effects.ends_pass = True
    if verdict.event == CoordinatorEvent.FENCE:
        fence(txn, pending, verdict, Operation.END_BY_TIMEOUT, rules, effects, notes)
