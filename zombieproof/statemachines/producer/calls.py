"""The producer client: the calls of its application.

Theory of operation: a call is refused and changes nothing, or it moves the producer at once and says which requests
follow. A call that takes a while is made again by a caller that has not waited for it, and then gets the same result.
Source: reference §5.2, §5.3, §5.4; ``TransactionManager.java``, ``KafkaProducer.java``; KIP-890, KIP-939.
"""

from zombieproof.model.decisions.producer_client import (
    bumps_on_upgrade,
    decide_prepare,
    event_of_completion,
    has_ongoing_transaction,
    is_resumed,
    must_bump_after_end,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, ProducerEvent, ProducerState, Reaction
from zombieproof.statemachines.kernel import ILLEGAL
from zombieproof.statemachines.notes import PRODUCER_TABLE, MachineIndex, Notes, move
from zombieproof.statemachines.producer.effects import Joins, ProducerEffects, Refusal, Settlement
from zombieproof.statemachines.producer.failures import fail
from zombieproof.statemachines.producer.records import Joining, Pending, Producer, ProducerHost

PREPARE_REFUSED = Error.INVALID_TXN_STATE
"""The error as which an application gets a prepareTransaction that is not for this producer, or not now."""


def is_in_error(producer: Producer) -> bool:
    """Whether only abort is left, or nothing."""
    return producer.state in (ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR)


def is_at_its_end(producer: Producer) -> bool:
    """Whether nothing is left but to close the producer."""
    return producer.state == ProducerState.FATAL_ERROR


def is_completing(producer: Producer) -> bool:
    """Whether the transaction is being ended."""
    return producer.state in (ProducerState.COMMITTING_TRANSACTION, ProducerState.ABORTING_TRANSACTION)


def has_transaction(producer: Producer) -> bool:
    """Whether a transaction is open or being ended."""
    return has_ongoing_transaction(producer.state)


def _resumes(producer: Producer, pending: int, target: int, is_end: bool, rules: Rules) -> bool:
    """Whether a call that leads to state `target` is the one before it, made again; `is_end`: commit or abort."""
    if pending == Pending.NOTHING:
        return False
    is_the_same = pending == Pending.THE_SAME
    return (is_the_same or is_end) and is_resumed(is_the_same, producer.state == target, rules)


def _is_refused(
    producer: Producer,
    pending: int,
    resumes: bool,
    may_follow_error: bool,
    host: ProducerHost,
    effects: ProducerEffects,
) -> bool:
    """The guards that every transactional call begins with, in their order; a call that is resumed stops here too."""
    if not host.transactional:
        effects.refusal = Refusal.NOT_TRANSACTIONAL
    elif resumes:
        effects.resumes = True
    elif pending == Pending.ANOTHER:
        effects.refusal = Refusal.ANOTHER_IS_PENDING
    elif is_in_error(producer) and not may_follow_error:
        effects.refusal = Refusal.AFTER_ERROR
    return effects.refusal != Refusal.ALLOWED or effects.resumes


def _is_moved(producer: Producer, event: int, effects: ProducerEffects, notes: Notes) -> bool:
    """The application asks for `event`; False, and a refusal, if the table does not have it."""
    if PRODUCER_TABLE[producer.state][event] == ILLEGAL:
        effects.refusal = Refusal.ILLEGAL
        effects.illegal = event
        return False
    producer.state = move(notes, MachineIndex.PRODUCER, producer.state, event)
    return True


def init_transactions(
    producer: Producer, pending: int, host: ProducerHost, rules: Rules, effects: ProducerEffects, notes: Notes
) -> None:
    """``initTransactions``: InitProducerId sets out."""
    resumes = _resumes(producer, pending, ProducerState.INITIALIZING, False, rules)
    if _is_refused(producer, pending, resumes, False, host, effects):
        return
    if _is_moved(producer, ProducerEvent.INIT_TRANSACTIONS, effects, notes):
        effects.sends_init = True


def begin_transaction(
    producer: Producer, pending: int, host: ProducerHost, effects: ProducerEffects, notes: Notes
) -> None:
    """``beginTransaction``: nobody is asked."""
    if not _is_refused(producer, pending, pending == Pending.THE_SAME, False, host, effects):
        _is_moved(producer, ProducerEvent.BEGIN, effects, notes)


def send(producer: Producer, joining: int, pending: int, host: ProducerHost, effects: ProducerEffects) -> None:
    """``send``: a record for a partition that stands so (`Joining`) to the transaction; it has to join first."""
    if is_in_error(producer):
        effects.refusal = Refusal.AFTER_ERROR
    elif pending != Pending.NOTHING:
        effects.refusal = Refusal.ANOTHER_IS_PENDING
    elif not host.transactional:
        return
    elif producer.state != ProducerState.IN_TRANSACTION:
        effects.refusal = Refusal.NOT_IN_TRANSACTION
    elif producer.transaction_version >= 2:
        producer.started = True
        effects.joins = Joins.JOIN
    elif joining == Joining.OUTSIDE:
        effects.joins = Joins.HAVE_TO_ASK


def send_offsets(
    producer: Producer,
    offsets: int,
    names_generation_alone: bool,
    pending: int,
    host: ProducerHost,
    effects: ProducerEffects,
) -> None:
    """``sendOffsetsToTransaction`` with so many offsets: TxnOffsetCommit, before TV2 behind AddOffsetsToTxn."""
    if host.transactional and names_generation_alone:
        effects.refusal = Refusal.NO_MEMBER
    elif _is_refused(producer, pending, pending == Pending.THE_SAME, False, host, effects):
        return
    elif producer.state != ProducerState.IN_TRANSACTION:
        effects.refusal = Refusal.NOT_IN_TRANSACTION
    elif offsets == 0:
        effects.settles = Settlement.SUCCEEDS
    elif producer.transaction_version >= 2:
        producer.started = True
        effects.sends = ApiKey.TXN_OFFSET_COMMIT
        effects.transaction_version = int(producer.transaction_version)
    else:
        effects.sends = ApiKey.ADD_OFFSETS_TO_TXN
        effects.transaction_version = int(producer.transaction_version)


def commit_transaction(
    producer: Producer, pending: int, host: ProducerHost, rules: Rules, effects: ProducerEffects, notes: Notes
) -> None:
    """``commitTransaction``: EndTxn is queued, and leaves when no batch is incomplete."""
    resumes = _resumes(producer, pending, ProducerState.COMMITTING_TRANSACTION, True, rules)
    if _is_refused(producer, pending, resumes, False, host, effects):
        return
    if _is_moved(producer, ProducerEvent.COMMIT, effects, notes):
        _end(producer, True, host, rules, effects)


def abort_transaction(
    producer: Producer, pending: int, host: ProducerHost, rules: Rules, effects: ProducerEffects, notes: Notes
) -> None:
    """``abortTransaction``: the way out of an abortable error; what has not asked to join is left out."""
    resumes = _resumes(producer, pending, ProducerState.ABORTING_TRANSACTION, True, rules)
    if _is_refused(producer, pending, resumes, producer.state == ProducerState.ABORTABLE_ERROR, host, effects):
        return
    if _is_moved(producer, ProducerEvent.ABORT, effects, notes):
        effects.drops_new = True
        _end(producer, False, host, rules, effects)


def _end(producer: Producer, committed: bool, host: ProducerHost, rules: Rules, effects: ProducerEffects) -> None:
    """EndTxn follows the transaction's version; then the cluster's counts, and a raised epoch may have to follow."""
    ended_version = int(producer.transaction_version)
    effects.sends = ApiKey.END_TXN
    effects.committed = committed
    effects.transaction_version = ended_version
    producer.transaction_version = host.cluster_version
    if bumps_on_upgrade(ended_version >= 2, host.cluster_version >= 2, rules):
        producer.bump = True
    if must_bump_after_end(producer.bump, ended_version):
        producer.raises = True
        effects.sends_init = True
        effects.raises_epoch = True


def prepare_transaction(
    producer: Producer, pending: int, host: ProducerHost, effects: ProducerEffects, notes: Notes
) -> None:
    """``prepareTransaction``: an outer commit, which is told producer id and epoch, decides (KIP-939)."""
    if _is_refused(producer, pending, pending == Pending.THE_SAME, False, host, effects):
        return
    if decide_prepare(host.two_phase_commit, producer.state) != Error.NONE:
        effects.refusal = Refusal.NOT_TWO_PHASE
    elif _is_moved(producer, ProducerEvent.PREPARE, effects, notes):
        producer.prepared_id = int(producer.producer_id)
        producer.prepared_epoch = int(producer.producer_epoch)


def complete_transaction(
    producer: Producer,
    completed_id: int,
    completed_epoch: int,
    pending: int,
    host: ProducerHost,
    rules: Rules,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """``completeTransaction``: commit if the outer commit tells of the prepared transaction, else abort (KIP-939)."""
    if producer.prepared_id == NONE or producer.state != ProducerState.PREPARED_TRANSACTION:
        effects.refusal = Refusal.NOTHING_PREPARED
        return
    event = event_of_completion(producer.prepared_id, producer.prepared_epoch, completed_id, completed_epoch)
    if event == ProducerEvent.COMMIT:
        commit_transaction(producer, pending, host, rules, effects, notes)
    else:
        abort_transaction(producer, pending, host, rules, effects, notes)


def resume_transaction(producer: Producer, host: ProducerHost, notes: Notes) -> None:
    """A new instance takes up the transaction whose producer id and epoch were stored outside, and asks nobody.

    Source: ``FlinkKafkaInternalProducer.resumeTransaction``; no release has an API for it (KIP-939 would ask the
    coordinator to keep what is prepared).
    """
    for event in (ProducerEvent.INIT_TRANSACTIONS, ProducerEvent.INITIALIZED, ProducerEvent.BEGIN):
        producer.state = move(notes, MachineIndex.PRODUCER, producer.state, event)
    producer.producer_id = int(producer.prepared_id)
    producer.producer_epoch = int(producer.prepared_epoch)
    producer.started = True
    producer.transaction_version = host.cluster_version


def aborts_on_close(producer: Producer, has_work: bool) -> bool:
    """``close``: whether a transaction that was left open is aborted now, when everything else is done."""
    return has_transaction(producer) and not is_completing(producer) and not has_work


def close_by_force(producer: Producer, effects: ProducerEffects, notes: Notes) -> None:
    """``close`` without patience: everything that is not over fails at once."""
    effects.fails_batches = True
    fail(producer, Reaction.FATAL, NONE, effects, notes)


def forget(producer: Producer) -> None:
    """The process is gone. A new instance knows nothing."""
    producer.state = ProducerState.UNINITIALIZED
    producer.producer_id = NONE
    producer.producer_epoch = NONE
    producer.started = False
    producer.bump = False
    producer.raises = False
    producer.transaction_version = 0
    producer.prepared_id = NONE
    producer.prepared_epoch = NONE
    producer.coordinator_raises = False
