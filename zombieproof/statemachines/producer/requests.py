"""The producer client: which request leaves next, where to and in which version, and what is settled before.

Theory of operation: one transactional request is under way at a time. What waits stands by `rank`; the first has its
turn. Before, what follows from earlier answers is settled: an end, a new start, a new identity.
Source: reference §5.3, §5.4, §5.6; ``TransactionManager.nextRequest``, ``bumpIdempotentEpochAndResetIdIfNeeded``,
``Sender.maybeSendAndPollTransactionalRequest``.
"""

from zombieproof.model.decisions.producer_batches import can_raise_locally
from zombieproof.model.decisions.producer_client import (
    can_ask_for_raised_epoch,
    end_is_needed,
    is_dropped_in,
    names_member_in_vain,
    priority,
    request_version,
    version_for_two_phase_commit,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, ProducerEvent, ProducerState
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.producer.answers import finish, refuse_version
from zombieproof.statemachines.producer.effects import ProducerEffects, Turn
from zombieproof.statemachines.producer.failures import happen
from zombieproof.statemachines.producer.records import Destination, Producer, ProducerHost, Request


def rank(request: Request) -> int:
    """Where a request stands among those that wait, smallest first; of equal ones the first that came."""
    return priority(request.api, request.raises_epoch)


def can_raise_epoch(producer: Producer, host: ProducerHost) -> bool:
    """Whether an abortable error leaves a way to go on with a clean epoch (KIP-360)."""
    return not host.transactional or producer.transaction_version >= 2 or producer.coordinator_raises


def settle(
    producer: Producer,
    starts_over: bool,
    wants_bump: bool,
    host: ProducerHost,
    rules: Rules,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """What earlier answers led to, before anything is sent.

    `starts_over`: the failure that explains the state is a refused initialisation; `wants_bump`: a gap in a partition
    makes an idempotent producer raise its epoch.
    """
    if producer.state == ProducerState.FATAL_ERROR:
        effects.gives_up = True
        effects.fails_batches = True
        return
    if starts_over:
        effects.fails_batches = True
        happen(producer, ProducerEvent.RESET, effects, notes)
    elif not host.transactional:
        keep_identity(producer, wants_bump, rules, effects, notes)
    if producer.state in (ProducerState.ABORTABLE_ERROR, ProducerState.ABORTING_TRANSACTION):
        effects.fails_unsent = True


def keep_identity(producer: Producer, wants_bump: bool, rules: Rules, effects: ProducerEffects, notes: Notes) -> None:
    """An idempotent producer raises its epoch without asking anybody; with none left it asks for a new producer id."""
    if wants_bump:
        effects.restarts = True
        if producer.producer_id != NONE and can_raise_locally(producer.producer_epoch, rules):
            producer.producer_epoch += 1
        elif producer.producer_id != NONE:
            producer.producer_id = NONE
            producer.producer_epoch = NONE
            happen(producer, ProducerEvent.RESET, effects, notes)
    if producer.producer_id == NONE and producer.state != ProducerState.INITIALIZING:
        effects.sends_init = happen(producer, ProducerEvent.INIT_TRANSACTIONS, effects, notes)


def take_turn(
    producer: Producer,
    request: Request,
    has_incomplete_batches: bool,
    is_too_early: bool,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """`request` is the first that waits: it leaves, goes on waiting, fails unsent, or is over without being sent."""
    ends = request.api == ApiKey.END_TXN
    if is_too_early or (ends and has_incomplete_batches):
        effects.turn = Turn.WAITS
    elif is_dropped_in(producer.state, request.api):
        if request.raises_epoch:
            producer.raises = False
        effects.turn = Turn.FAILS_UNSENT
    elif ends and not end_is_needed(producer.started):
        effects.turn = Turn.IS_SKIPPED
        finish(producer, request, effects, notes)
    else:
        effects.turn = Turn.LEAVES


def address(
    producer: Producer,
    request: Request,
    destination: Destination,
    host: ProducerHost,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """`request` is about to leave: in `version` if there is one, else its coordinator has to be found first."""
    if request.to_coordinator and (not destination.is_known or not destination.is_ready):
        effects.looks_up = True
        effects.repeats = True
        effects.wait_ms = 0 if not destination.is_known else host.retry_backoff_ms
        return
    if destination.coordinates_transactions:
        producer.coordinator_raises = can_ask_for_raised_epoch(destination.newest_init)
    version = request_version(request.api, destination.newest, request.transaction_version)
    if request.two_phase_commit:
        version = version_for_two_phase_commit(destination.newest)
    in_vain = request.api == ApiKey.TXN_OFFSET_COMMIT and names_member_in_vain(version, request.names_member)
    if version == NONE or in_vain:
        refuse_version(producer, request, effects, notes)
    else:
        effects.version = version


def produce_version(producer: Producer, newest: int) -> int:
    """The version of a Produce to a leader whose newest one this is; NONE if it has none."""
    return request_version(ApiKey.PRODUCE, newest, producer.transaction_version)
