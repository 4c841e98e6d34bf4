"""Partitions join a transaction (AddPartitionsToTxn, AddOffsetsToTxn), or a leader asks whether one has.

Source: reference §2.8, §2.9; ``TransactionCoordinator.handleAddPartitionsToTransaction``,
``handleVerifyPartitionsInTransaction``.
"""

from zombieproof.model.decisions.add_offsets_to_txn import decide_add_offsets_to_txn
from zombieproof.model.decisions.add_partitions_to_txn import (
    decide_add_partitions_front_door,
    decide_add_partitions_to_txn,
    decide_verify_partitions,
    error_of_partition_to_add,
)
from zombieproof.model.decisions.versions import error_on_the_wire
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ApiKey, CoordinatorEvent, Error
from zombieproof.statemachines.coordinator import appends
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects, reply
from zombieproof.statemachines.coordinator.records import IdRequest, Office, Operation, PendingTransition
from zombieproof.statemachines.notes import Decision, Notes, note


def add_partitions(
    txn: Transaction,
    pending: PendingTransition,
    request: IdRequest,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """Answer AddPartitionsToTxn that adds (P1 to P8)."""
    pending.operation = Operation.JOIN
    _join(txn, pending, request, office, rules, effects, notes)


def add_offsets(
    txn: Transaction,
    pending: PendingTransition,
    request: IdRequest,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """Answer AddOffsetsToTxn; the request's mask is that of the group's offsets partition."""
    pending.operation = Operation.JOIN_OFFSETS
    _join(txn, pending, request, office, rules, effects, notes)


def _join(
    txn: Transaction,
    pending: PendingTransition,
    request: IdRequest,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    pending.asked_version = request.version
    of_offsets = pending.operation == Operation.JOIN_OFFSETS
    decision = Decision.ADD_OFFSETS if of_offsets else Decision.ADD_PARTITIONS
    front = decide_add_partitions_front_door(request.has_id, False)
    if front.error != Error.NONE:
        note(notes, decision, front.row, front.error)
    error = front.error if front.error != Error.NONE else appends.look_up(office, notes)
    if error != Error.NONE:
        joined(pending, error, effects)
        return
    if of_offsets:
        verdict = decide_add_offsets_to_txn(txn, request, rules)
    else:
        verdict = decide_add_partitions_to_txn(txn, request, rules)
    note(notes, decision, verdict.row, verdict.error)
    if verdict.event == CoordinatorEvent.NOTHING:
        joined(pending, verdict.error, effects)
        return
    appends.prepare(txn, pending, verdict, 0, office.now_ms, office, notes)
    error = appends.append(txn, pending, office, rules, effects, notes)
    if error != Error.NONE:
        joined(pending, error, effects)


def partition_is_refused(exists: bool, is_internal: bool, version: int, may_write: bool = True) -> int:
    """Why one partition of AddPartitionsToTxn cannot join any transaction, or NONE: looked at before the id is."""
    return error_of_partition_to_add(exists, is_internal, version, may_write)


def error_beside_refused(error: int) -> int:
    """What each partition is told of a transaction of which one was refused: the others were not attempted."""
    return int(error if error != Error.NONE else Error.OPERATION_NOT_ATTEMPTED)


def joined(pending: PendingTransition, error: int, effects: CoordinatorEffects) -> None:
    """The answer to who wanted partitions to join: one error for all of them."""
    of_offsets = pending.operation == Operation.JOIN_OFFSETS
    api = ApiKey.ADD_OFFSETS_TO_TXN if of_offsets else ApiKey.ADD_PARTITIONS_TO_TXN
    reply(effects, error_on_the_wire(api, pending.asked_version, error))


def verify_partition(
    txn: Transaction, request: IdRequest, office: Office, rules: Rules, effects: CoordinatorEffects, notes: Notes
) -> None:
    """Answer a leader about one partition (V1 to V7): nothing changes, and what is pending does not count."""
    front = decide_add_partitions_front_door(request.has_id, True)
    if front.error != Error.NONE:
        note(notes, Decision.VERIFY_PARTITIONS, front.row, front.error)
    error = front.error if front.error != Error.NONE else appends.look_up(office, notes)
    if error == Error.NONE:
        verdict = decide_verify_partitions(txn, request, rules)
        note(notes, Decision.VERIFY_PARTITIONS, verdict.row, verdict.error)
        error = verdict.error
    reply(effects, error_on_the_wire(ApiKey.ADD_PARTITIONS_TO_TXN, request.version, error))
