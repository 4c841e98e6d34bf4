"""Reading: what a consumer makes of each batch that it fetched, for the producer id of that batch.

Theory of operation: read_committed goes by the broker's list: where an aborted transaction begins (`is_due`) its
producer is skipped (`aborted_begins`) until its abort marker; all that is forgotten with each answer (`keeps_states`).
Buffering needs no list and forgets nothing. `read` judges one batch or marker under either, or under read_uncommitted.
Source: reference §6; ``CompletedFetch.java``.
"""

from dataclasses import dataclass
from typing import NamedTuple

from zombieproof.model.decisions.consume import Delivery, decide_read
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ConsumerEvent, Isolation
from zombieproof.statemachines.notes import MachineIndex, Notes, move


@dataclass(slots=True)
class ConsumerEffects:
    """What becomes of a batch, or of what is held back of its producer id; at most one is True.

    - `delivers`: the application gets the batch;
    - `holds`: it is held back until its marker;
    - `delivers_held`: the application gets what was held back;
    - `drops_held`: nobody gets that.

    With none of them the batch is passed over.
    """

    delivers: bool = False
    holds: bool = False
    delivers_held: bool = False
    drops_held: bool = False


class Met(NamedTuple):
    """A batch as a consumer meets it; `is_empty`: a control batch whose marker was compacted away."""

    control: bool
    committed: bool
    transactional: bool
    is_empty: bool = False


def isolation_of_request(isolation: int) -> int:
    """What the broker is asked for: it is not told of buffering, and has nothing to hold back then."""
    if isolation == Isolation.READ_COMMITTED:
        return int(Isolation.READ_COMMITTED)
    return int(Isolation.READ_UNCOMMITTED)


def keeps_states(isolation: int) -> bool:
    """Whether what is known of producers outlives the answer that told it."""
    return isolation == Isolation.READ_COMMITTED_BUFFERING


def is_due(first_offset: int, producer_id: int, last_offset: int, rules: Rules) -> bool:
    """Whether a listed transaction that begins at `first_offset` is met with a batch of `producer_id` up to there."""
    return rules.aborted_list == 1 and producer_id != NONE and first_offset <= last_offset


def aborted_begins(state: int, isolation: int, notes: Notes) -> int:
    """An aborted transaction of the list begins, of a producer id in `state`: its state from then on."""
    verdict = decide_read(isolation, state, False, False, True, True)
    if verdict.event != ConsumerEvent.ABORTED_TRANSACTION_BEGINS:
        return int(state)
    return move(notes, MachineIndex.CONSUMER, state, verdict.event)


def read(state: int, isolation: int, met: Met, rules: Rules, effects: ConsumerEffects, notes: Notes) -> int:
    """A batch or marker of a producer id in `state`: its state from then on.

    Plain data is of no transaction: whatever becomes of its producer's transaction does not concern it.
    """
    if met.is_empty:
        clear(effects)
        return int(state)
    skipping_ends = rules.skipping_ends == 1
    return judge(state, isolation, met.control, met.committed, met.transactional, skipping_ends, effects, notes)


def clear(effects: ConsumerEffects) -> None:
    """Nothing becomes of a batch."""
    effects.delivers = False
    effects.holds = False
    effects.delivers_held = False
    effects.drops_held = False


def judge(  # a record of a producer id or of a TxId, whatever it comes from
    state: int,
    isolation: int,
    control: bool,
    committed: bool,
    transactional: bool,
    skipping_ends: bool,
    effects: ConsumerEffects,
    notes: Notes,
) -> int:
    """The same for what has a machine in `state`, whoever tells what is there.

    `skipping_ends`: an abort marker ends a transaction that is skipped.
    """
    clear(effects)
    verdict = decide_read(isolation, state, control, committed, transactional, False)
    if verdict.delivery == Delivery.THIS_BATCH:
        effects.delivers = True
    elif verdict.delivery == Delivery.HELD_BACK:
        effects.delivers_held = True
    elif verdict.delivery == Delivery.DROP_HELD_BACK:
        effects.drops_held = True
    elif isolation == Isolation.READ_COMMITTED_BUFFERING and not control:
        effects.holds = True
    never_ends = verdict.event == ConsumerEvent.ABORT_MARKER and not skipping_ends
    if never_ends or (not control and not transactional):
        return int(state)
    return move(notes, MachineIndex.CONSUMER, state, verdict.event)
