"""The outcome of an append: memory first, then what the operation that wanted it goes on with.

Source: reference §2.6 (after the append), and what each operation does then, §2.7 to §2.14.
"""

from zombieproof.model.decisions.log_append import Aftermath, error_of_append
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.coordinator import appends
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects
from zombieproof.statemachines.coordinator.ends import decided
from zombieproof.statemachines.coordinator.init_producer_id import grant
from zombieproof.statemachines.coordinator.joins import joined
from zombieproof.statemachines.coordinator.records import Office, Operation, PendingTransition
from zombieproof.statemachines.notes import Notes


def append_answered(
    txn: Transaction,
    pending: PendingTransition,
    error: int,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """The log has answered an append with `error`."""
    append_ended(txn, pending, error_of_append(error), office, rules, effects, notes)


def append_ended(
    txn: Transaction,
    pending: PendingTransition,
    error: int,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """An append has its outcome; `error` is what operations are told of it (``error_of_append``, `may_append`).

    After a record that contradicts memory nothing is answered: Kafka throws there. Of an end that is durable the look
    behind it is a step of its own (§2.17): in between another request, or another coordinator, may come.
    """
    outcome = appends.completes(txn, pending, error, office, rules, effects, notes)
    if notes.contradicts:
        return
    if pending.operation == Operation.GRANT:
        grant(pending, outcome.error, effects)
    elif pending.operation in (Operation.JOIN, Operation.JOIN_OFFSETS):
        joined(pending, outcome.error, effects)
    elif pending.operation in (Operation.END_BY_CLIENT, Operation.END_BY_INIT, Operation.END_BY_TIMEOUT):
        if outcome.error == Error.NONE:
            effects.owes_look = True
        else:
            decided(txn, pending, outcome.error, office, effects, notes)
    elif pending.operation == Operation.COMPLETE and outcome.aftermath == Aftermath.KEEP_PENDING:
        effects.retries = True
