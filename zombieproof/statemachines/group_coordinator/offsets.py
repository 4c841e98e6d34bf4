"""Offsets of a group: what a record, a marker or a tombstone in the log does to them, and what a reader is told.

Theory of operation: all of this follows the log of the group's partition and nothing else, but for `is_refused`: until
3.9 a commit that the log refuses takes along what waits in its place.
Source: reference §4.2 to §4.5; ``OffsetMetadataManager.replay``, ``replayEndTransactionMarker``, ``fetchOffsets``.
"""

from enum import IntEnum
from typing import NamedTuple

from zombieproof.model.decisions.offset_fetch import decide_offset_fetch, decide_offset_reader
from zombieproof.model.decisions.txn_offset_commit import (
    answer_to_marker,
    decide_refused_append,
    evolve_committed_tombstone,
    evolve_offsets_marker,
    evolve_pending,
    evolve_taken_back,
    evolve_tombstone,
    tombstone_reaches_pending,
)
from zombieproof.model.records import GroupOffset, PendingOffset
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, GroupEvent, PendingOffsetsState, Row
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note


class Meaning(IntEnum):
    """What a record of an offset in the log is."""

    TOMBSTONE = 0
    COMMITTED = 1
    WAITS = 2


def meaning_of(has_value: bool, producer_id: int) -> int:
    """What a record is: without a producer id it counts at once, also where its batch calls itself transactional."""
    if not has_value:
        return int(Meaning.TOMBSTONE)
    return int(Meaning.COMMITTED if producer_id == NONE else Meaning.WAITS)


def is_committed(committed: GroupOffset, offset: int, record_offset: int) -> None:
    """An offset that counts at once is in the log at `record_offset`."""
    committed.offset = offset
    committed.record_offset = record_offset


def waits(pending: PendingOffset, offset: int, record_offset: int, notes: Notes) -> None:
    """An offset of a transaction is in the log at `record_offset`."""
    state = move(notes, MachineIndex.GROUP_COORDINATOR, pending.state, GroupEvent.TXN_OFFSET_COMMIT)
    evolve_pending(pending, offset, record_offset, state)


def is_refused(pending: PendingOffset, rules: Rules, notes: Notes) -> int:
    """The log has refused an offset that was to go where `pending` is: the event that happens to that, or NOTHING."""
    event = decide_refused_append(pending, rules)
    if event != GroupEvent.NOTHING:
        evolve_taken_back(pending, move(notes, MachineIndex.GROUP_COORDINATOR, pending.state, event))
    return int(event)


def ends(committed: GroupOffset, pending: PendingOffset, outcome_is_commit: bool, notes: Notes) -> None:
    """The marker of the producer id whose offset is `pending` is in the log of the group's partition."""
    event = GroupEvent.COMMIT_MARKER if outcome_is_commit else GroupEvent.ABORT_MARKER
    state = move(notes, MachineIndex.GROUP_COORDINATOR, pending.state, event)
    evolve_offsets_marker(committed, pending, outcome_is_commit, state)


def committed_is_deleted(committed: GroupOffset) -> None:
    """Delete the committed offset alone: a tombstone in the log leaves pending offsets in place before 4.0."""
    evolve_committed_tombstone(committed)


def is_deleted(committed: GroupOffset, pending: PendingOffset, notes: Notes) -> None:
    """The tombstone of an offset is in the log; `pending` is one that waited in its place."""
    state = move(notes, MachineIndex.GROUP_COORDINATOR, pending.state, GroupEvent.TOMBSTONE)
    evolve_tombstone(committed, pending, state)


def tombstone_reaches_what_waits(from_log: bool, rules: Rules) -> bool:
    """Whether a deleted offset ends what waits in its place, or what is committed alone."""
    return tombstone_reaches_pending(from_log, rules)


def lose_memory(pending: PendingOffset) -> None:
    """Whoever knew this is gone: what waits is read from the log."""
    pending.state = PendingOffsetsState.NO_PENDING_OFFSETS
    pending.offset = NONE
    pending.record_offset = NONE


class OffsetRead(NamedTuple):
    """What an OffsetFetch is told of one partition: an error, or the committed offset if it `is_shown`."""

    error: int
    is_shown: bool


class Asked(NamedTuple):
    """One partition of an OffsetFetch, and what there is: how many producers have an offset that waits, and a value."""

    topic_id_is_known: bool
    require_stable: bool
    pending_transactions: int
    has_offset: bool


class Reader(NamedTuple):
    """Who an OffsetFetch says that it comes from, and what a group of the consumer protocol knows of him."""

    is_consumer: bool
    names_member: bool
    said_epoch: int
    member_is_known: bool = False
    member_epoch: int = NONE


def may_read(reader: Reader, notes: Notes) -> int:
    """An OffsetFetch comes to its group: NONE, or the error of the whole group."""
    error = decide_offset_reader(
        reader.is_consumer, reader.names_member, reader.said_epoch, reader.member_is_known, reader.member_epoch
    )
    if error != Error.NONE:
        note(notes, Decision.OFFSET_FETCH, Row.NO_ROW, error)
    return error


def is_read(asked: Asked, rules: Rules, notes: Notes) -> OffsetRead:
    """OffsetFetch of one partition."""
    if not asked.topic_id_is_known:
        return OffsetRead(int(Error.UNKNOWN_TOPIC_ID), False)
    error = decide_offset_fetch(asked.require_stable, asked.pending_transactions, rules)
    note(notes, Decision.OFFSET_FETCH, Row.NO_ROW, error)
    return OffsetRead(error, error == Error.NONE and asked.has_offset)


def error_of_marker(lookup_error: int) -> int:
    """What a transaction coordinator is told that sends a marker to a partition for which nobody answers here."""
    return answer_to_marker(lookup_error)
