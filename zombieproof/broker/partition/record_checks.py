"""The records of a client's batch, looked at one by one where that is needed, and what is said of those refused.

Source: ``LogValidator.java``, ``ReplicaManager.scala``.
"""

from dataclasses import replace

from zombieproof.formats.batches import Batch
from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produced
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.partition_leader.validation import LogLimits, RecordFacts, must_look, record_error

TOLD = 3
"""So many records are named in the text."""


def refused_records(batch: Batch, now_ms: int, limits: LogLimits) -> dict[int, int]:
    """Which records are refused, by index, each with its error.

    Records of a batch that says nothing of time have that of the broker.
    """
    is_stamped = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    newest_ms = now_ms if batch.timestamp_ms == NONE else batch.timestamp_ms
    if not must_look(RecordFacts(has_key=True, timestamp_ms=newest_ms, is_stamped=is_stamped), now_ms, limits):
        return {}
    errors = {}
    for index, (record, time_ms) in enumerate(zip(batch.records, batch.timestamps, strict=True)):
        at_ms = now_ms if time_ms == NONE else time_ms
        error = record_error(RecordFacts(record.key is not None, at_ms, is_stamped), now_ms, limits)
        if error != Error.NONE:
            errors[index] = error
    return errors


def of_records(told: Produced, refused: dict[int, int], partition: TopicPartition) -> Produced:
    """The answer for a batch of which records were refused: which, and in Kafka's words why."""
    topic, number = partition
    if told.error == Error.INVALID_TIMESTAMP:
        message = "One or more records have been rejected due to invalid timestamp"
    else:
        why = f"Compacted topic cannot accept message without key in topic partition {topic}-{number}"
        named = [f"RecordError(batchIndex={index}, message='{why}')" for index in list(refused)[:TOLD]]
        message = (
            f"One or more records have been rejected due to {len(refused)} record errors in total, and only showing "
            f"the first three errors at most: [{', '.join(named)}]"
        )
    return replace(told, record_errors=tuple(refused), message=message)
