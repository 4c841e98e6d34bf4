"""Circumstances of data and markers: which marker, which decision, and what belongs to no transaction or to another."""

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory, Run, Stretch
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.verdict.circumstances import (
    Circumstances,
    CoordinatorDecision,
    Harm,
    MarkerSeen,
    Shape,
    harm_of_end,
)
from zombieproof.traces.verdict.report import TransactionOutcome

OF_DATA = (Shape.DATA_LATE, Shape.DATA_UNLISTED, Shape.DATA_UNKNOWN, Shape.DATA_FENCED)


def seen(ending: Ending | None) -> MarkerSeen | None:
    """A marker as it is reported."""
    if ending is None:
        return None
    return MarkerSeen(ending.commits, ending.epoch, ending.offset, ending.timestamp_ms)


def decision_about(txn: RecordedTransaction, log_partition: int) -> CoordinatorDecision:
    """The decision about a transaction as it is reported."""
    commits = {"commit": True, "abort": False}.get(txn.outcome.value)
    return CoordinatorDecision(
        commits,
        txn.marker_epoch,
        log_partition,
        txn.prepared_at,
        txn.prepared_ms,
        txn.completed_at,
        txn.completed_ms,
    )


def of_stranger(history: IdHistory, place: TopicPartition, run: Run, stretch: Stretch) -> Circumstances:
    """Data that belongs to no transaction of its transactional id."""
    return Circumstances(
        _shape(history, place, run, stretch),
        spans=[(stretch.first_offset, stretch.last_offset)],
        data_epoch=stretch.epoch,
        decided=_last_decision(history, run, stretch),
    )


def _shape(history: IdHistory, place: TopicPartition, run: Run, stretch: Stretch) -> Shape:
    for txn in reversed(history.transactions):
        if (txn.producer_id, txn.data_epoch) != (run.producer_id, stretch.epoch):
            continue
        if txn.partitions is not None and place not in txn.partitions:
            return Shape.DATA_UNLISTED
        if txn.decided:
            return Shape.DATA_LATE
    return Shape.DATA_UNKNOWN


def _last_decision(history: IdHistory, run: Run, stretch: Stretch) -> CoordinatorDecision | None:
    """The last decision about transactions of the epoch that wrote this data."""
    own = (run.producer_id, stretch.epoch)
    found = [txn for txn in history.transactions if (txn.producer_id, txn.data_epoch) == own and txn.decided]
    return decision_about(found[-1], history.log_partition) if found else None


def of_marker(
    history: IdHistory, shape: Shape, ending: Ending, txn: RecordedTransaction | None = None
) -> Circumstances:
    """A marker, and the data that it ended."""
    run = ending.run
    return Circumstances(
        shape,
        spans=[(run.first_offset, run.last_offset)] if run is not None else [],
        data_epoch=run.epoch if run is not None else None,
        decided=None if txn is None else decision_about(txn, history.log_partition),
        ended_by=seen(ending),
    )


def of_missing_marker(
    history: IdHistory, txn: RecordedTransaction, run: Run | None, stretch: Stretch | None
) -> Circumstances:
    """A transaction without its marker on a partition, and its data there, if there is any."""
    found = Circumstances(
        Shape.MARKER_MISSING, data_epoch=txn.data_epoch, decided=decision_about(txn, history.log_partition)
    )
    if run is not None and stretch is not None:
        found.spans, found.ended_by = [(stretch.first_offset, stretch.last_offset)], seen(run.ending)
        found.harm = harm_of_end(txn.outcome is TransactionOutcome.COMMIT, found.ended_by)
    return found


def settle(partition: PartitionHistory) -> None:
    """Add to what was found while a partition was folded how the data ended: that comes later in its log."""
    for runs in partition.runs.values():
        for run in runs:
            for fault in run.faults:
                settled(fault.circumstances, run)
    for fault in partition.faults:
        found = fault.circumstances
        if found.shape is Shape.SEQUENCE_GAP:
            found.harm = Harm.MISSING
        elif found.shape is Shape.DATA_FENCED and found.harm is Harm.NONE:
            # It is in no run: plain data, which everybody sees.
            found.harm = Harm.VISIBLE
        elif found.shape is Shape.SEQUENCE_REPEATED:
            aborted = found.ended_by is not None and found.ended_by.commits is False
            found.harm = Harm.NONE if aborted else Harm.DOUBLED


def settled(found: Circumstances, run: Run | None) -> Circumstances:
    """The same circumstances, with what is known of the run that the fault is about."""
    if run is None:
        return found
    if found.ended_by is None:
        found.ended_by = seen(run.ending)
    found.opened_at = run.first_offset
    if found.shape in OF_DATA:
        found.harm = _harm_of_strangers(run)
    elif found.shape is Shape.MARKER_MISSING and found.decided is None:
        found.harm = harm_of_end(None, found.ended_by)
    elif found.shape in (Shape.MARKER_FENCED, Shape.MARKER_DEPOSED):
        found.spans = [(run.first_offset, run.last_offset)]
        found.data_epoch = run.epoch
        found.harm = harm_of_end(found.decided.commits if found.decided else None, found.ended_by)
    if run.interrupted and found.harm is Harm.STUCK:
        found.harm = Harm.UNKNOWN
    return found


def _harm_of_strangers(run: Run) -> Harm:
    """What became of data that belongs to no transaction: nobody decided about it, whatever ended it."""
    if run.ending is None:
        return Harm.STUCK
    if run.ending.commits is None:
        return Harm.UNKNOWN
    return Harm.VISIBLE if run.ending.commits else Harm.DISCARDED
