"""What a leader's log takes of a client's batch, besides what makes it a batch: its size, keys, and time stamps.

Behaviour: a batch is too large for its topic, or for a segment; a record lacks the key that compaction needs, or its
time is too far from the broker's, unless the broker stamps batches itself: then no client may. Records are refused each
by itself, and the batch with them.
Source: ``LogValidator.java``, ``UnifiedLog.analyzeAndValidateRecords``; no § of the reference: answers of a real broker
are ``tests/answers/stored_batches.gz``.
"""

from typing import NamedTuple

from zombieproof.model.vocabulary import Error


class LogLimits(NamedTuple):
    """What a topic says; `stamps`: the broker puts in the time (``message.timestamp.type`` LogAppendTime)."""

    max_message_bytes: int
    segment_bytes: int
    needs_keys: bool
    stamps: bool
    before_max_ms: int
    after_max_ms: int


class RecordFacts(NamedTuple):
    """What is looked at of one record; `is_stamped`: its batch says that a broker has put in the time."""

    has_key: bool
    timestamp_ms: int
    is_stamped: bool


class Fit(NamedTuple):
    """How a batch fits its topic: the results of the functions below."""

    is_too_large: bool
    error_of_records: int
    fits_no_segment: bool


FITS = Fit(is_too_large=False, error_of_records=0, fits_no_segment=False)


def is_too_large(size: int, limits: LogLimits) -> bool:
    """Whether a batch of so many bytes is more than its topic takes (MESSAGE_TOO_LARGE)."""
    return size > limits.max_message_bytes


def fits_no_segment(size: int, limits: LogLimits) -> bool:
    """Whether no segment can hold a batch of so many bytes (RECORD_LIST_TOO_LARGE)."""
    return size > limits.segment_bytes


def decide_record(record: RecordFacts, now_ms: int, limits: LogLimits) -> int:
    """The error of one record, or NONE: keys come first."""
    if limits.needs_keys and not record.has_key:
        return int(Error.INVALID_RECORD)
    if limits.stamps:
        return int(Error.INVALID_TIMESTAMP if record.is_stamped else Error.NONE)
    too_old = now_ms - record.timestamp_ms > limits.before_max_ms
    too_new = record.timestamp_ms - now_ms > limits.after_max_ms
    return int(Error.INVALID_TIMESTAMP if too_old or too_new else Error.NONE)


def needs_no_look(newest: RecordFacts, now_ms: int, limits: LogLimits) -> bool:
    """Whether no record can be refused because not even the newest is, and a topic sets no other limit.

    `newest` is what a batch says of its newest record, which Kafka does not believe: it looks at every record.
    """
    is_bounded = limits.needs_keys or limits.before_max_ms < NO_LIMIT_MS
    return not is_bounded and decide_record(newest, now_ms, limits) == Error.NONE


def worse_of(error: int, other: int) -> int:
    """What a batch is refused with whose records have the one error and the other: a bad time counts for most."""
    if Error.INVALID_TIMESTAMP in (error, other):
        return int(Error.INVALID_TIMESTAMP)
    return int(error or other)


NO_LIMIT_MS = (1 << 63) - 1
"""``message.timestamp.before.max.ms`` where everything is young enough."""
