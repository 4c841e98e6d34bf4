"""The end of a transaction at the log of a partition: judged, appended, remembered; and read again from a log.

Source: reference §3.5; ``KafkaApis.handleWriteTxnMarkersRequest``, ``ProducerAppendInfo.appendEndTxnMarker``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.fetch import last_stable_offset_at_abort
from zombieproof.model.decisions.write_txn_markers import (
    decide_marker,
    error_of_marker_place,
    error_of_marker_producer,
    evolve_marker,
    first_offset_of_ended,
)
from zombieproof.model.records import IncomingMarker, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Origin, Row
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note
from zombieproof.statemachines.partition_leader.effects import PartitionEffects, answer


class MarkerPlace(NamedTuple):
    """Where a marker of a producer is to go: whether there is such a partition, led here, and how many are in sync.

    `error_of_group` is why the group coordinator cannot take it, for a partition of ``__consumer_offsets``.
    """

    exists: bool
    leads: bool
    in_sync: int
    min_in_sync: int
    error_of_group: int = 0
    producer_id: int = 0
    producer_epoch: int = 0


def front_door(place: MarkerPlace, effects: PartitionEffects) -> None:
    """A marker reaches a broker: whether it can be written there at all; if so it goes on to `arrives`."""
    error = error_of_marker_place(place.exists, place.leads, place.in_sync, place.min_in_sync)
    if error == Error.NONE:
        error = place.error_of_group
    if error == Error.NONE:
        error = error_of_marker_producer(place.producer_id, place.producer_epoch)
    if error == Error.NONE:
        effects.goes_on = True
    else:
        answer(effects, error, Row.NO_ROW)


def arrives(
    entry: ProducerEntry, marker: IncomingMarker, origin: int, rules: Rules, effects: PartitionEffects, notes: Notes
) -> None:
    """A marker is at the log: written, even where nothing is open, or refused."""
    verdict = decide_marker(entry, marker, origin, rules)
    note(notes, Decision.MARKER, verdict.row, verdict.error)
    if verdict.error != Error.NONE:
        answer(effects, verdict.error, verdict.row)
        return
    effects.appends = True
    effects.row = verdict.row
    effects.event = verdict.event


def appended(
    entry: ProducerEntry,
    marker: IncomingMarker,
    offset: int,
    event: int,
    rules: Rules,
    effects: PartitionEffects,
    notes: Notes,
) -> None:
    """The marker lies in the log at `offset`, and has ended what `ended_from` says."""
    state = move(notes, MachineIndex.PARTITION_LEADER, entry.state, event)
    open_since = evolve_marker(entry, marker, event, state)
    effects.ended_from = ended_from(open_since, offset, rules)


def ended_from(open_since: int, marker_offset: int, rules: Rules) -> int:
    """Where the transaction began that a marker ended, or NONE; `open_since` is where what was open began."""
    return first_offset_of_ended(open_since, marker_offset, rules)


def in_log(
    entry: ProducerEntry, marker: IncomingMarker, offset: int, rules: Rules, effects: PartitionEffects, notes: Notes
) -> None:
    """A marker is met in a log: it counts, whatever it says."""
    verdict = decide_marker(entry, marker, Origin.REPLICATION, rules)
    effects.error = verdict.error
    appended(entry, marker, offset, verdict.event, rules, effects, notes)


class Ended(NamedTuple):
    """A transaction that a marker has ended: its first offset, and what is stable once the marker is replicated.

    `is_listed`: the index of aborted transactions gets it. Where nothing was ended `first_offset` is NONE.
    """

    first_offset: int
    is_listed: bool
    last_stable_offset: int


def ended(first_offset: int, marker_offset: int, committed: bool, first_undecided: int) -> Ended:
    """What a marker at `marker_offset` ended; `first_undecided` is where what is still open begins, or NONE."""
    is_listed = not committed and first_offset != NONE
    return Ended(first_offset, is_listed, last_stable_offset_at_abort(marker_offset, first_undecided))
