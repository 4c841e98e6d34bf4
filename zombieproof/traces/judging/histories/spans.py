"""From when to when something was there, by the clocks that wrote it."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Evidence, PartitionLog
from zombieproof.traces.judging.histories.partition_history import PartitionHistory, Run
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.narrowing import Span
from zombieproof.traces.verdict.faults import Fault


def span_of_evidence(evidence: Evidence) -> Span:
    """The first and the last time that a record or an application gives; None where there is none."""
    times = [time for log in evidence.logs for time in _times(log)]
    times += [record.timestamp_ms for record in evidence.transaction_states]
    times += [record.value.last_update_ms for record in evidence.transaction_states if record.value]
    times += [call.timestamp_ms for call in evidence.client_calls if call.timestamp_ms is not None]
    known = [time for time in times if time >= 0]
    return min(known, default=None), max(known, default=None)


def _times(log: PartitionLog) -> Iterable[int]:
    if log.cleared is not None:
        return (time for time in (log.cleared.earliest_ms, log.cleared.latest_ms) if time is not None)
    return (batch.max_timestamp_ms for batch in log.batches)


def span_of_fault(fault: Fault, evidence: Evidence, partitions: Mapping[TopicPartition, PartitionHistory]) -> Span:
    """From when to when a fault was there, as far as its partition tells."""
    if fault.place is None or fault.offset is None:
        return None, None
    history = partitions.get(fault.place)
    log = history.log if history else evidence.log(*fault.place)
    time = None if log is None else time_at(log, fault.offset)
    if history is None or fault.producer_id is None:
        return time, time
    run = history.run_at(fault.producer_id, fault.offset)
    if run is None:
        return time, time
    first, last = span_of_run(run)
    return _least(time, first), None if last is None else max(last, time or last)


def span_of_run(run: Run) -> Span:
    """From its first data to its marker, by the clocks that wrote them; without an end while it has none."""
    return run.stretches[0].first_ms, None if run.ending is None else run.ending.timestamp_ms


def time_at(log: PartitionLog, offset: int) -> int | None:
    """The time of the batch that holds an offset, or of the last one behind the end; None if it has none."""
    index = bisect_left(log.batches, offset, key=lambda batch: batch.last_offset)
    batches = log.batches[index : index + 1] or log.batches[-1:]
    time = batches[0].max_timestamp_ms if batches else NONE
    return time if time >= 0 else None


def span_of_transaction(txn: RecordedTransaction) -> Span:
    """From when to when a transaction lasted, by the coordinator's log; without an end while it is not complete."""
    first = next((time for time in (txn.opened_ms, txn.prepared_ms, txn.completed_ms) if time is not None), None)
    return first, txn.completed_ms


def _least(*times: int | None) -> int | None:
    return min((time for time in times if time is not None), default=None)
