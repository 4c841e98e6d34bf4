"""The producer's batches (client action): what an answer to Produce means for a batch, and what may be sent.

Behaviour: a batch keeps its sequence while its outcome is unknown. It is retried, fails for good, or makes the
producer number its partition anew; what is in flight under an older identity is finished under that identity.
Versions: the rules are those of KIP-360; without it an idempotent producer forgets its producer id instead.
Source: reference §5.3, §5.6; ``Sender.java``, ``TransactionManager.canRetry``, ``RecordAccumulator.java``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.producer_client import (
    abortable_and_bump_if_possible,
    abortable_if_possible,
    is_retriable,
    react_to_produce,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Reaction, SequenceRepair


class BatchStanding(NamedTuple):
    """How an answered batch stands, in ints.

    `is_next`: nothing before it is unacknowledged; `has_been_renumbered`: its sequence was given anew since it was
    built; `partition_is_unresolved`: an earlier batch was given up with its outcome unknown, and `follows_unresolved`
    if this one comes right behind it; `may_retry`: delivery time and attempts are left.
    """

    transactional: bool = False
    records: int = 1
    may_retry: bool = True
    is_next: bool = True
    has_been_renumbered: bool = False
    partition_is_unresolved: bool = False
    follows_unresolved: bool = False
    last_acked_offset: int = NONE


class DrainStanding(NamedTuple):
    """How the first waiting batch of a partition stands, in ints.

    `joined`: its partition is in the transaction; `in_flight`: batches of the partition that are not answered for;
    `is_stale`: the partition was last numbered under another (producer id, epoch).
    """

    joined: bool = True
    has_producer_id: bool = True
    has_sequence: bool = False
    in_flight: int = 0
    is_stale: bool = False
    is_unresolved: bool = False
    is_lowest_in_flight: bool = False


def react_to_batch(error: int, log_start_offset: int, batch: BatchStanding, rules: Rules) -> int:
    """What a client does with the answer to a batch: the table of §5.6 with all that its rows ask."""
    if error == Error.MESSAGE_TOO_LARGE and batch.records > 1:
        return int(Reaction.SPLIT_BATCH)
    if not batch.may_retry:
        return _react_without_retry(error, batch, rules)
    if error == Error.UNKNOWN_PRODUCER_ID:
        return _react_to_forgotten_producer(log_start_offset, batch, rules)
    if error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
        return _react_to_gap(batch, rules)
    return react_to_produce(error, batch.transactional, True, rules)


def _react_without_retry(error: int, batch: BatchStanding, rules: Rules) -> int:
    """No time or attempt is left: what would have been repeated fails; a transaction can only be aborted."""
    if is_retriable(error):
        return abortable_and_bump_if_possible(rules) if batch.transactional else int(Reaction.FAIL_BATCH)
    reaction = react_to_produce(error, batch.transactional, True, rules)
    return int(Reaction.FAIL_BATCH) if reaction == Reaction.BUMP_LOCALLY else reaction


def _react_to_forgotten_producer(log_start_offset: int, batch: BatchStanding, rules: Rules) -> int:
    if log_start_offset == NONE or batch.has_been_renumbered:
        return int(Reaction.RETRY)
    if batch.last_acked_offset < log_start_offset and (batch.transactional or rules.kip360 == 0):
        return int(Reaction.RENUMBER_AND_RETRY)
    return react_to_produce(Error.UNKNOWN_PRODUCER_ID, batch.transactional, True, rules)


def _react_to_gap(batch: BatchStanding, rules: Rules) -> int:
    waits = not batch.partition_is_unresolved and (batch.has_been_renumbered or not batch.is_next)
    reaction = react_to_produce(Error.OUT_OF_ORDER_SEQUENCE_NUMBER, batch.transactional, not waits, rules)
    if reaction == Reaction.BUMP_LOCALLY and batch.partition_is_unresolved and not batch.follows_unresolved:
        return int(Reaction.RETRY)
    return reaction


def repair_after_failure(error: int, transactional: bool, outcome_is_known: bool, rules: Rules) -> int:
    """What a batch that failed for good does to its partition's sequences; `outcome_is_known`: it was not stored."""
    lost = error in (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID)
    if lost and not transactional and rules.kip360 == 0:
        return int(SequenceRepair.FORGET_PRODUCER_ID)
    if error == Error.UNKNOWN_PRODUCER_ID:
        return int(SequenceRepair.FORGET_PARTITION)
    if not transactional and rules.kip360 == 1 and (lost or outcome_is_known):
        return int(SequenceRepair.BUMP_LOCALLY)
    return int(SequenceRepair.SHIFT_LATER_BATCHES) if outcome_is_known else int(SequenceRepair.KEEP)


def resolve_sequences(in_flight: int, is_next: bool, transactional: bool, rules: Rules) -> int:
    """What becomes of a partition that gave a sent batch up (§5.6).

    RETRY while others are in flight; then DONE if a later one was acknowledged (`is_next`: the next sequence follows
    the last acknowledged one), else what makes a new numbering possible.
    """
    if in_flight > 0:
        return int(Reaction.RETRY)
    if is_next:
        return int(Reaction.DONE)
    if transactional:
        return abortable_if_possible(rules)
    return int(Reaction.BUMP_LOCALLY) if rules.kip360 == 1 else int(Reaction.FORGET_PRODUCER_ID)


def identity_behind_forgotten_sequences(rules: Rules) -> int:
    """What an idempotent producer does that knows the sequences of a partition no more, and begins it at 0 (§5.6).

    DONE, going on under the same identity, is only without the rule: a leader then takes what is new for a repetition.
    """
    if rules.forgotten_partition_changes_identity == 0:
        return int(Reaction.DONE)
    return int(Reaction.BUMP_LOCALLY) if rules.kip360 == 1 else int(Reaction.FORGET_PRODUCER_ID)


def may_be_sent(batch: DrainStanding) -> bool:
    """Whether the first waiting batch of a partition may leave (§5.3, last sentence, and §5.6).

    A batch with a sequence is a repetition: it only waits for those before it.
    """
    if not batch.joined or not batch.has_producer_id:
        return False
    if batch.has_sequence:
        return batch.in_flight == 0 or batch.is_lowest_in_flight
    return not batch.is_unresolved and not (batch.in_flight > 0 and batch.is_stale)


def advance(sequence: int, records: int, rules: Rules) -> int:
    """The sequence `records` further: behind the largest comes 0 (§3.3.1)."""
    if sequence > rules.sequence_max - records:
        return records - (rules.sequence_max - sequence) - 1
    return sequence + records


def can_raise_locally(producer_epoch: int, rules: Rules) -> bool:
    """Whether an idempotent producer has an epoch left; else it asks for a new producer id (§5.6)."""
    return producer_epoch < rules.epoch_max
