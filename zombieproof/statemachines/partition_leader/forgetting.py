"""What a leader forgets: producers that were silent, guards that nobody used, everything when its memory is gone.

Source: reference §3.7, §3.4 step 8; ``ProducerStateManager.removeExpiredProducers``.
"""

from typing import NamedTuple

from zombieproof.model.decisions import replication
from zombieproof.model.decisions.produce import (
    decide_expiry,
    drop_guard,
    evolve_expiry,
    forget_batches,
    is_late,
    should_expire,
)
from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, PartitionEvent, PartitionState
from zombieproof.statemachines.notes import MachineIndex, Notes, move


class Silence(NamedTuple):
    """Times in ms: of the last batch or marker, of the guard (NONE: there is none), now; and how long is too long."""

    last_timestamp_ms: int
    verified_ms: int
    now_ms: int
    expiration_ms: int


def is_due(entry: ProducerEntry, silence: Silence) -> bool:
    """Whether a producer is to be forgotten now: never while its transaction is open."""
    return should_expire(entry, silence.last_timestamp_ms, silence.now_ms, silence.expiration_ms)


def sweep(entry: ProducerEntry, silence: Silence, notes: Notes) -> int:
    """One sweep of what is known of a producer id: the event that happened, NOTHING if all is kept."""
    silent = is_due(entry, silence)
    old = silence.verified_ms != NONE and silence.now_ms - silence.verified_ms >= silence.expiration_ms
    return forget(entry, silent, old, notes)


def forget(entry: ProducerEntry, producer_is_silent: bool, guard_is_old: bool, notes: Notes) -> int:
    """Forget the producer, or its guard, whichever is due: the event that happened."""
    event = decide_expiry(entry, producer_is_silent, guard_is_old)
    if event != PartitionEvent.NOTHING:
        evolve_expiry(entry, event, move(notes, MachineIndex.PARTITION_LEADER, entry.state, event))
    return event


def lose_memory(entry: ProducerEntry) -> None:
    """Whoever knew this is gone: what comes next is read from the log (``batches.in_log``, ``markers.in_log``)."""
    forget_batches(entry)
    drop_guard(entry)
    entry.known = False
    entry.state = PartitionState.NO_ENTRY
    entry.producer_epoch = NONE
    entry.coordinator_epoch = NONE
    entry.txn_first_offset = NONE


def reads_its_log(rules: Rules) -> bool:
    """Whether a leader that begins reads its log: without, it knows nothing."""
    return rules.leader_reads_log == 1


def reloads_when_cut(rules: Rules) -> bool:
    """Whether a replica whose log is cut reads the rest of it: without, it goes on with what it knew."""
    return replication.reloads_when_cut(rules)


def hangs(last_timestamp_ms: int, now_ms: int, max_transaction_timeout_ms: int) -> bool:
    """Whether the earliest open transaction of a partition hangs, whose producer wrote last at that time (KIP-664)."""
    return is_late(last_timestamp_ms, now_ms, max_transaction_timeout_ms)
