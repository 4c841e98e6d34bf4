"""The producer client: what the answer to a batch, or the end of its delivery time, leads to.

Theory of operation: a batch keeps its sequence while its outcome is unknown. It is stored, sent again, split, or fails,
and one that fails may end the transaction and leaves a gap in the sequences of its partition, which is repaired.
Source: reference §5.6; ``Sender.completeBatch``, ``TransactionManager.canRetry``, ``handleFailedBatch``,
``maybeResolveSequences``; KIP-360, KIP-1050.
"""

from zombieproof.model.decisions.producer_batches import (
    BatchStanding,
    advance,
    identity_behind_forgotten_sequences,
    react_to_batch,
    repair_after_failure,
    resolve_sequences,
)
from zombieproof.model.decisions.producer_client import error_for_application
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, ProducerEvent, ProducerState, Reaction, SequenceRepair
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.producer.effects import Fate, ProducerEffects
from zombieproof.statemachines.producer.failures import fail, happen
from zombieproof.statemachines.producer.records import Batch, BatchAnswer, Numbering, Producer, ProducerHost
from zombieproof.statemachines.producer.requests import keep_identity
from zombieproof.statemachines.producer.sequences import forget, restart


def handle_batch(
    producer: Producer,
    numbering: Numbering,
    batch: Batch,
    answer: BatchAnswer,
    rules: Rules,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """The answer to a batch. What was given up before can still be stored, and cannot fail again."""
    if answer.error == Error.NONE:
        _store(numbering, batch, answer.base_offset, rules, effects)
        return
    if batch.is_done:
        return
    may_retry = batch.in_time and batch.has_attempts
    reaction = react_to_batch(answer.error, answer.log_start_offset, _standing(numbering, batch, may_retry), rules)
    if reaction == Reaction.DONE:
        _store(numbering, batch, NONE, rules, effects)
    elif reaction == Reaction.SPLIT_BATCH:
        effects.fate = Fate.SPLIT
    elif reaction in (Reaction.RETRY, Reaction.BUMP_LOCALLY, Reaction.RENUMBER_AND_RETRY):
        effects.fate = Fate.REPEATED
        if reaction == Reaction.BUMP_LOCALLY:
            numbering.wants_bump = True
        elif reaction == Reaction.RENUMBER_AND_RETRY:
            restart(producer, numbering, effects)
    else:
        _fail(producer, numbering, batch, reaction, answer.error, rules, effects, notes)


def expire_batch(
    producer: Producer, numbering: Numbering, batch: Batch, rules: Rules, effects: ProducerEffects, notes: Notes
) -> None:
    """The delivery time of a batch is over. Whether one that was sent is stored shows in what happens behind it."""
    reaction = react_to_batch(Error.REQUEST_TIMED_OUT, NONE, _standing(numbering, batch, False), rules)
    given_up = batch._replace(has_attempts=False)
    _fail(producer, numbering, given_up, reaction, Error.REQUEST_TIMED_OUT, rules, effects, notes)
    if batch.base_sequence != NONE:
        behind = advance(batch.base_sequence, batch.records, rules)
        numbering.unresolved = max(int(numbering.unresolved), behind)


def refuse_record(
    producer: Producer, error: int, host: ProducerHost, rules: Rules, effects: ProducerEffects, notes: Notes
) -> None:
    """A record was refused before it could be in a batch: too large, no right to its topic, ..."""
    reaction = react_to_batch(error, NONE, BatchStanding(transactional=host.transactional, may_retry=False), rules)
    effects.application_error = error_for_application(error, host.transactional, 0, rules)
    fail(producer, reaction, ApiKey.PRODUCE, effects, notes)


def resolve(
    producer: Producer,
    numbering: Numbering,
    in_flight: int,
    host: ProducerHost,
    rules: Rules,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """A partition that gave a sent batch up: once nothing is in flight there it shows whether it was stored."""
    if numbering.unresolved == NONE or producer.state == ProducerState.FATAL_ERROR:
        return
    is_next = numbering.next_sequence - numbering.last_acked_sequence == 1
    reaction = resolve_sequences(in_flight, is_next, host.transactional, rules)
    if reaction == Reaction.RETRY:
        return
    numbering.unresolved = NONE
    if reaction == Reaction.BUMP_LOCALLY:
        numbering.wants_bump = True
    elif reaction == Reaction.FORGET_PRODUCER_ID:
        _forget_identity(producer, effects, notes)
    elif reaction != Reaction.DONE:
        fail(producer, reaction, NONE, effects, notes)


def forget_partition(
    producer: Producer, numbering: Numbering, rules: Rules, effects: ProducerEffects, notes: Notes
) -> None:
    """New metadata does not have the partition as it was known, and an idempotent producer drops its sequences.

    What is in flight there keeps its own. Nothing new leaves behind it, as behind any other change of the identity.
    """
    forget(numbering)
    effects.forgets_partition = True
    reaction = identity_behind_forgotten_sequences(rules)
    if reaction == Reaction.BUMP_LOCALLY:
        effects.forgets_sequences = True
        keep_identity(producer, True, rules, effects, notes)
    elif reaction == Reaction.FORGET_PRODUCER_ID:
        _forget_identity(producer, effects, notes)


def _standing(numbering: Numbering, batch: Batch, may_retry: bool) -> BatchStanding:
    return BatchStanding(
        transactional=batch.transactional,
        records=batch.records,
        may_retry=may_retry,
        is_next=batch.base_sequence - numbering.last_acked_sequence == 1,
        has_been_renumbered=batch.has_been_renumbered,
        partition_is_unresolved=numbering.unresolved != NONE,
        follows_unresolved=numbering.unresolved != NONE and numbering.unresolved == batch.base_sequence,
        last_acked_offset=numbering.last_acked_offset,
    )


def _store(numbering: Numbering, batch: Batch, base_offset: int, rules: Rules, effects: ProducerEffects) -> None:
    """The batch is stored, somewhere if `base_offset` is NONE; a partition that was forgotten stays forgotten."""
    effects.fate = Fate.STORED
    effects.base_offset = base_offset
    if not numbering.known:
        return
    last = advance(batch.base_sequence, batch.records - 1, rules)
    numbering.last_acked_sequence = max(int(numbering.last_acked_sequence), last)
    if base_offset != NONE:
        numbering.last_acked_offset = max(int(numbering.last_acked_offset), base_offset + batch.records - 1)


def _fail(
    producer: Producer,
    numbering: Numbering,
    batch: Batch,
    reaction: int,
    error: int,
    rules: Rules,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """The batch fails for good: first what that makes of the producer, then of the sequences of the partition.

    That of one which may be sent no more might have been stored: its sequences are not given to others.
    """
    effects.fate = Fate.FAILED
    effects.application_error = error_for_application(error, batch.transactional, 0, rules)
    fail(producer, reaction, ApiKey.PRODUCE, effects, notes)
    if producer.state == ProducerState.FATAL_ERROR or batch.base_sequence == NONE:
        return
    repair = repair_after_failure(error, batch.transactional, batch.has_attempts, rules)
    if repair == SequenceRepair.SHIFT_LATER_BATCHES and numbering.known:
        numbering.next_sequence -= batch.records
        effects.shifts = batch.records
    elif repair == SequenceRepair.FORGET_PARTITION:
        forget(numbering)
        effects.forgets_partition = True
    elif repair == SequenceRepair.BUMP_LOCALLY:
        numbering.wants_bump = True
    elif repair == SequenceRepair.FORGET_PRODUCER_ID and batch.producer_id == producer.producer_id:
        _forget_identity(producer, effects, notes)


def _forget_identity(producer: Producer, effects: ProducerEffects, notes: Notes) -> None:
    """The producer id is given up, and every sequence with it (before KIP-360); once for each reason."""
    if producer.producer_id == NONE:
        return
    producer.producer_id = NONE
    producer.producer_epoch = NONE
    effects.forgets_sequences = True
    happen(producer, ProducerEvent.RESET, effects, notes)
