"""The producer client: what the answer of a coordinator leads to.

Theory of operation: an answer is repeated, ends the transaction or the producer, or is a success, and then what follows
depends on what was asked. The errors of many partitions are weighed first and count as one.
Source: reference §5.3, §5.5, §5.7; the handlers in ``TransactionManager.java``.
"""

from zombieproof.model.decisions.producer_client import (
    decides_alone,
    event_of_initialisation,
    must_bump_after_end,
    react,
    retry_backoff_ms,
    retry_rebuilds_topic_ids,
    starts_over_after,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, ProducerEvent, Reaction
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.producer.effects import Joins, ProducerEffects, Settlement
from zombieproof.statemachines.producer.failures import fail, happen
from zombieproof.statemachines.producer.records import Answer, Producer, ProducerHost, Request


def weigh(api: int, so_far: int, error: int, rules: Rules) -> int:
    """The error of an answer whose partitions so far came to `so_far`, and whose next has `error`; it begins at NONE.

    The first that decides alone counts. Else, of AddPartitionsToTxn, a missing right before all others; of
    TxnOffsetCommit what sends it to another coordinator.
    """
    if error == Error.NONE or decides_alone(api, so_far, rules):
        return so_far
    if so_far == Error.NONE or decides_alone(api, error, rules):
        return error
    if api == ApiKey.TXN_OFFSET_COMMIT:
        moves = react(api, error, False, rules) == Reaction.FIND_COORDINATOR_AND_RETRY
        return error if moves else so_far
    return error if error == Error.TOPIC_AUTHORIZATION_FAILED else so_far


def handle(
    producer: Producer,
    request: Request,
    answer: Answer,
    open_partitions: int,
    host: ProducerHost,
    rules: Rules,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """The answer to `request`; `open_partitions` of a TxnOffsetCommit are not known to have their offsets stored."""
    if request.api == ApiKey.ADD_PARTITIONS_TO_TXN and not decides_alone(request.api, answer.error, rules):
        effects.joins = Joins.JOIN if answer.error == Error.NONE else Joins.ARE_REFUSED
    reaction = react(request.api, answer.error, request.committed, rules)
    if reaction == Reaction.DONE and open_partitions > 0:
        reaction = int(Reaction.RETRY)
    if reaction == Reaction.DONE:
        _succeed(producer, request, answer, host, effects, notes)
    elif reaction in (Reaction.RETRY, Reaction.FIND_COORDINATOR_AND_RETRY):
        if reaction == Reaction.FIND_COORDINATOR_AND_RETRY:
            effects.looks_up = request.to_coordinator
        _repeat(request.api, answer.error, host, effects)
    else:
        effects.settles = Settlement.FAILS
        effects.starts_over = starts_over_after(request.api, answer.error, rules)
        fail(producer, reaction, request.api, effects, notes)


def lose(request: Request, host: ProducerHost, effects: ProducerEffects) -> None:
    """No answer to `request` will come, or it could not be sent: its coordinator is looked up before it is repeated."""
    effects.looks_up = request.to_coordinator
    _repeat(request.api, Error.NETWORK_EXCEPTION, host, effects)


def refuse_version(producer: Producer, request: Request, effects: ProducerEffects, notes: Notes) -> None:
    """The broker does not know `request` in its version: nothing repairs that."""
    effects.unsupported = True
    effects.settles = Settlement.FAILS
    fail(producer, Reaction.FATAL, request.api, effects, notes)


def rebuilds_topic_ids(commits_offsets: bool, rules: Rules) -> bool:
    """Whether a repeated request takes its topic ids from the metadata, or keeps those of the first attempt."""
    return commits_offsets and retry_rebuilds_topic_ids(rules)


def _repeat(api: int, error: int, host: ProducerHost, effects: ProducerEffects) -> None:
    effects.repeats = True
    effects.wait_ms = retry_backoff_ms(api, error, host.joined == 0, host.retry_backoff_ms)


def _succeed(
    producer: Producer, request: Request, answer: Answer, host: ProducerHost, effects: ProducerEffects, notes: Notes
) -> None:
    if request.api == ApiKey.INIT_PRODUCER_ID:
        _initialise(producer, request, answer, host, effects, notes)
    elif request.api == ApiKey.ADD_OFFSETS_TO_TXN:
        producer.started = True
        effects.sends = ApiKey.TXN_OFFSET_COMMIT
        effects.transaction_version = request.transaction_version
    elif request.api == ApiKey.END_TXN:
        if answer.producer_id != NONE:
            adopt(producer, answer.producer_id, answer.producer_epoch, True, effects)
        finish(producer, request, effects, notes)
    else:
        if request.api == ApiKey.ADD_PARTITIONS_TO_TXN:
            producer.started = True
        effects.settles = Settlement.SUCCEEDS


def adopt(
    producer: Producer, producer_id: int, producer_epoch: int, forgets_sequences: bool, effects: ProducerEffects
) -> None:
    """Take a granted identity. Behind the end of a transaction every sequence begins again at 0."""
    effects.forgets_sequences = forgets_sequences
    effects.adopts = True
    producer.producer_id = producer_id
    producer.producer_epoch = producer_epoch


def _initialise(
    producer: Producer, request: Request, answer: Answer, host: ProducerHost, effects: ProducerEffects, notes: Notes
) -> None:
    """InitProducerId was granted. One that raises the epoch looks up no version: EndTxn's did."""
    adopt(producer, answer.producer_id, answer.producer_epoch, request.raises_epoch, effects)
    event = event_of_initialisation(request.keep_prepared, answer.ongoing_id)
    if event == ProducerEvent.PREPARE:
        producer.prepared_id = answer.ongoing_id
        producer.prepared_epoch = answer.ongoing_epoch
        producer.started = True
    if request.raises_epoch:
        producer.raises = False
    if happen(producer, event, effects, notes):
        effects.settles = Settlement.SUCCEEDS
        if not request.raises_epoch:
            producer.transaction_version = host.cluster_version


def finish(producer: Producer, request: Request, effects: ProducerEffects, notes: Notes) -> None:
    """The transaction that `request` (EndTxn) ends is over; its call is, too, unless the epoch is raised first."""
    bumps = must_bump_after_end(producer.bump, request.transaction_version)
    event = ProducerEvent.BUMP_EPOCH if bumps else ProducerEvent.END_ACKNOWLEDGED
    if not happen(producer, event, effects, notes):
        return
    producer.bump = False
    producer.started = False
    producer.prepared_id = NONE
    producer.prepared_epoch = NONE
    effects.ends = True
    if bumps and not producer.raises:
        producer.raises = True
        effects.sends_init = True
        effects.raises_epoch = True
    else:
        effects.settles = Settlement.SUCCEEDS
