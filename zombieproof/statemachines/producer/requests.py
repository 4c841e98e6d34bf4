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
    return host.transactional == 0 or producer.transaction_version >= 2 or producer.coordinator_raises == 1


def settle(
    producer: Producer,
    starts_over: int,
    wants_bump: int,
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
        effects.gives_up = 1
        effects.fails_batches = 1
        return
    if starts_over == 1:
        effects.fails_batches = 1
        happen(producer, ProducerEvent.RESET, effects, notes)
    elif host.transactional == 0:
        keep_identity(producer, wants_bump, rules, effects, notes)
    if producer.state in (ProducerState.ABORTABLE_ERROR, ProducerState.ABORTING_TRANSACTION):
        effects.fails_unsent = 1


def keep_identity(producer: Producer, wants_bump: int, rules: Rules, effects: ProducerEffects, notes: Notes) -> None:
    """An idempotent producer raises its epoch without asking anybody; with none left it asks for a new producer id."""
    if wants_bump == 1:
        effects.restarts = 1
        if producer.producer_id != NONE and can_raise_locally(producer.producer_epoch, rules):
            producer.producer_epoch += 1
        elif producer.producer_id != NONE:
            producer.producer_id = NONE
            producer.producer_epoch = NONE
            happen(producer, ProducerEvent.RESET, effects, notes)
    if producer.producer_id == NONE and producer.state != ProducerState.INITIALIZING:
        effects.sends_init = 1 if happen(producer, ProducerEvent.INIT_TRANSACTIONS, effects, notes) else 0


def take_turn(
    producer: Producer,
    request: Request,
    has_incomplete_batches: int,
    is_too_early: int,
    effects: ProducerEffects,
    notes: Notes,
) -> None:
    """`request` is the first that waits: it leaves, goes on waiting, fails unsent, or is over without being sent."""
    ends = request.api == ApiKey.END_TXN
    if is_too_early == 1 or (ends and has_incomplete_batches == 1):
        effects.turn = Turn.WAITS
    elif is_dropped_in(producer.state, request.api):
        if request.raises_epoch == 1:
            producer.raises = 0
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
    if request.to_coordinator == 1 and (destination.is_known == 0 or destination.is_ready == 0):
        effects.looks_up = 1
        effects.repeats = 1
        effects.wait_ms = 0 if destination.is_known == 0 else host.retry_backoff_ms
        return
    if destination.coordinates_transactions == 1:
        producer.coordinator_raises = 1 if can_ask_for_raised_epoch(destination.newest_init) else 0
    version = request_version(request.api, destination.newest, request.transaction_version)
    if request.two_phase_commit == 1:
        version = version_for_two_phase_commit(destination.newest)
    in_vain = request.api == ApiKey.TXN_OFFSET_COMMIT and names_member_in_vain(version, request.names_member)
    if version == NONE or in_vain:
        refuse_version(producer, request, effects, notes)
    else:
        effects.version = version


def produce_version(producer: Producer, newest: int) -> int:
    """The version of a Produce to a leader whose newest one this is; NONE if it has none."""
    return request_version(ApiKey.PRODUCE, newest, producer.transaction_version)
