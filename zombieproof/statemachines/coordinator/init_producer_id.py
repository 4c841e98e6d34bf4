"""InitProducerId: a producer takes its transactional id, keeps what is prepared under it, or gets a producer id.

Source: reference §2.7, §11.2; ``TransactionCoordinator.handleInitProducerId``; KIP-360, KIP-939.
"""

from zombieproof.model.decisions.init_producer_id import (
    TIMEOUT_MS_OF_TWO_PHASE_COMMIT,
    decide_init_front_door,
    decide_init_producer_id,
)
from zombieproof.model.decisions.keep_prepared import decide_keep_front_door, decide_keep_prepared, granted
from zombieproof.model.decisions.versions import error_on_the_wire
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, CoordinatorEvent, Error, Row
from zombieproof.statemachines.coordinator import appends
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects, reply
from zombieproof.statemachines.coordinator.fences import fence
from zombieproof.statemachines.coordinator.records import InitRequest, Office, Operation, PendingTransition
from zombieproof.statemachines.notes import Decision, Notes, note


def init_producer_id(
    txn: Transaction,
    pending: PendingTransition,
    request: InitRequest,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """Answer InitProducerId: the request alone (I1 to I5), the lookup (I6), the id (I7 to I13 or KIP-939)."""
    if not _passes_front_door(request, office, rules, effects, notes):
        return
    error = appends.look_up(office, notes)
    if error != Error.NONE:
        refuse_init(effects, request.version, error)
        return
    next_producer_id = office.next_producer_id
    if not request.keep_prepared and not txn.known and next_producer_id != NONE:
        # Fresh metadata is held before anything is logged (I7).
        txn.known = True
        txn.producer_id = next_producer_id
        effects.holds = True
        effects.takes_producer_id = True
        next_producer_id = NONE
    verdict = _decide(txn, request, rules, next_producer_id, notes)
    appends.takes_producer_id(verdict, office, effects)
    pending.asked_version = request.version
    if verdict.event == CoordinatorEvent.FENCE:
        fence(txn, pending, verdict, Operation.END_BY_INIT, rules, effects, notes)
        return
    if verdict.event == CoordinatorEvent.NOTHING:
        refuse_init(effects, request.version, verdict.error)
        return
    pending.operation = Operation.GRANT
    timeout_ms = TIMEOUT_MS_OF_TWO_PHASE_COMMIT if request.enable_2pc else request.timeout_ms
    appends.prepare(txn, pending, verdict, timeout_ms, office.now_ms, office, notes)
    error = appends.append(txn, pending, office, rules, effects, notes)
    if error != Error.NONE:
        refuse_init(effects, request.version, error)


def _passes_front_door(
    request: InitRequest, office: Office, rules: Rules, effects: CoordinatorEffects, notes: Notes
) -> bool:
    half = (request.producer_id == NONE) != (request.producer_epoch == NONE)
    front = decide_init_front_door(
        request.has_id,
        request.id_is_empty,
        request.enable_2pc,
        request.two_phase_commit_enabled,
        request.keep_prepared,
        request.timeout_ms,
        request.max_timeout_ms,
        half,
        rules.kip939,
    )
    if front.row == Row.NO_ROW and request.keep_prepared:
        front = decide_keep_front_door(request.producer_id != NONE)
    if front.row == Row.NO_ROW:
        return True
    note(notes, Decision.INIT_PRODUCER_ID, front.row, front.error)
    if front.row != Row.I1:
        refuse_init(effects, request.version, front.error)
    elif office.next_producer_id == NONE:
        effects.lacks_producer_id = True
        reply(effects, Error.COORDINATOR_LOAD_IN_PROGRESS)
    else:
        effects.takes_producer_id = True
        reply(effects, Error.NONE, office.next_producer_id, 0)
    return False


def _decide(txn: Transaction, request: InitRequest, rules: Rules, next_producer_id: int, notes: Notes) -> Verdict:
    if request.keep_prepared:
        kept = decide_keep_prepared(txn, rules, next_producer_id)
        note(notes, Decision.KEEP_PREPARED, kept.row, kept.error)
        return kept
    verdict = decide_init_producer_id(txn, request, rules, next_producer_id)
    note(notes, Decision.INIT_PRODUCER_ID, verdict.row, verdict.error)
    return verdict


def refuse_init(effects: CoordinatorEffects, version: int, error: int) -> None:
    """InitProducerId of `version` is refused."""
    reply(effects, error_on_the_wire(ApiKey.INIT_PRODUCER_ID, version, error))


def grant(pending: PendingTransition, error: int, effects: CoordinatorEffects) -> None:
    """The append of a grant has its outcome: what its record says is granted."""
    if error != Error.NONE:
        refuse_init(effects, pending.asked_version, error)
        return
    given = granted(pending.target)
    reply(effects, Error.NONE, given.producer_id, given.producer_epoch)
    effects.ongoing_producer_id = given.ongoing_producer_id
    effects.ongoing_producer_epoch = given.ongoing_producer_epoch
