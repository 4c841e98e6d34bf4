"""A coordinator comes and goes: it reads its log, and drops what it held. Ids that nobody uses are forgotten.

Source: reference §2.14, §2.15; ``TransactionStateManager.loadTransactionsForTxnTopicPartition``.
"""

from zombieproof.model.decisions import coordinator_elections, transition
from zombieproof.model.decisions.transactional_id_expiration import decide_expiration
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, CoordinatorEvent
from zombieproof.statemachines.coordinator import appends
from zombieproof.statemachines.coordinator.completion import drive
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects
from zombieproof.statemachines.coordinator.records import Office, Operation, PendingTransition
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, note, successor


def load(txn: Transaction, durable: Transaction, rules: Rules, effects: CoordinatorEffects) -> None:
    """The last record of an id was read (Z3, Z5); a decided transaction goes on where the rules say so (Z6).

    `durable` is the record as it lies in the log, or one that is not known.
    """
    completing = NONE
    if durable.known:
        completing = successor(MachineIndex.COORDINATOR, durable.state, CoordinatorEvent.MARKERS_WRITTEN)
    transition.load(txn, durable, completing, rules)
    if txn.pending_state != NONE and rules.reload_drives_markers == 1:
        drive(txn, effects)


def write(durable: Transaction, target: Transaction, rules: Rules) -> None:
    """What the log holds of a record that is durable: all but what only memory knows (§2.2)."""
    transition.write(durable, target, rules)


def installs(is_loading: bool, present_epoch: int, coordinator_epoch: int) -> bool:
    """Whether a load that is through is installed: not if its partition was lost (Z4), or is here anew already.

    `present_epoch` is the coordinator epoch under which the partition is held now, NONE if it is not.
    """
    return is_loading and present_epoch <= coordinator_epoch


def ends_load(loading_epoch: int, resigned_epoch: int, rules: Rules) -> bool:
    """Whether a resignation (under `resigned_epoch`, or NONE) ends a load that began under `loading_epoch` (Z7)."""
    return coordinator_elections.ends_load(loading_epoch, resigned_epoch, rules)


def expire(
    txn: Transaction,
    pending: PendingTransition,
    expiration_ms: int,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """One id of the sweep: its tombstone is appended if nobody used it for `expiration_ms` (Y1, Y2)."""
    verdict = decide_expiration(txn, office.now_ms, expiration_ms, rules)
    if verdict.event != CoordinatorEvent.EXPIRE:
        return
    note(notes, Decision.EXPIRATION, verdict.row, verdict.error)
    pending.operation = Operation.EXPIRE
    appends.prepare(txn, pending, verdict, 0, office.now_ms, office, notes)
    appends.append(txn, pending, office, rules, effects, notes)
