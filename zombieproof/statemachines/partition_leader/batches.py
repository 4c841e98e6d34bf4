"""Data at the log of a partition: looked at under its lock, appended, remembered; and read again from a log.

Theory of operation: `append` is the second look: duplicates, epoch, guard, sequence, whatever was said before. Nothing
is remembered before the batch has its offset (`appended`). A batch that lies in a log, a leader's or one's own, is
remembered in the same way (`in_log`): what it did to its producer id is decided here and nowhere else.
Source: reference §3.3; ``UnifiedLog.append``, ``ProducerAppendInfo.java``.
"""

from zombieproof.model.decisions.produce import decide_append, evolve_append, newest_sequence
from zombieproof.model.records import IncomingBatch, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Origin, PartitionEvent, Row
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note
from zombieproof.statemachines.partition_leader.effects import PartitionEffects, answer
from zombieproof.statemachines.partition_leader.verification import NO_GUARD


def append(
    entry: ProducerEntry,
    batch: IncomingBatch,
    guard: int,
    origin: int,
    rules: Rules,
    effects: PartitionEffects,
    notes: Notes,
) -> None:
    """A batch is at the log, with the guard that it came with. What has no producer id is judged by nobody."""
    if batch.producer_id == NONE:
        effects.appends = True
        effects.row = Row.A7
        effects.event = PartitionEvent.NOTHING
        return
    verdict = decide_append(entry, batch, guard, origin, rules)
    note(notes, Decision.PRODUCE, verdict.row, verdict.error)
    if verdict.error != Error.NONE or verdict.event == PartitionEvent.NOTHING:
        answer(effects, verdict.error, verdict.row)
        effects.duplicate_of = verdict.duplicate_of
        return
    effects.appends = True
    effects.row = verdict.row
    effects.event = verdict.event


def appended(
    entry: ProducerEntry,
    batch: IncomingBatch,
    base_offset: int,
    last_offset: int,
    event: int,
    rules: Rules,
    notes: Notes,
) -> None:
    """The batch lies in the log at these offsets, and `event` is what its producer id did by that."""
    state = move(notes, MachineIndex.PARTITION_LEADER, entry.state, event)
    evolve_append(entry, batch, base_offset, last_offset, state, rules)


def in_log(
    entry: ProducerEntry,
    batch: IncomingBatch,
    base_offset: int,
    last_offset: int,
    rules: Rules,
    effects: PartitionEffects,
    notes: Notes,
) -> None:
    """A batch is met in a log: by a follower, by a leader that begins, by whoever starts again.

    One that no leader would have written contradicts what is known: it is not remembered, and `error` says why.
    """
    verdict = decide_append(entry, batch, NO_GUARD, Origin.REPLICATION, rules)
    effects.error = verdict.error
    if verdict.error != Error.NONE:
        notes.contradicts = True
        return
    appended(entry, batch, base_offset, last_offset, verdict.event, rules, notes)


def last_sequence_of(entry: ProducerEntry) -> int:
    """The last sequence of a producer id that is known, or NONE: what DescribeProducers says."""
    return newest_sequence(entry)
