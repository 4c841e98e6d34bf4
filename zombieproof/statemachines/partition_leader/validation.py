"""Whether a client's batch fits its topic: asked by the leader that has its bytes, and handed to ``front_door``.

Theory of operation: a host that sees bytes says how large a batch is and what its newest record says of time; where
that does not settle it (`must_look`), it hands in each record (`record_error`). `fit` is what the batch is judged by.
"""

from zombieproof.model.decisions.log_validation import (
    FITS,
    NO_LIMIT_MS,
    Fit,
    LogLimits,
    RecordFacts,
    decide_record,
    fits_no_segment,
    is_too_large,
    needs_no_look,
    worse_of,
)

__all__ = [
    "FITS",
    "NO_LIMIT_MS",
    "Fit",
    "LogLimits",
    "RecordFacts",
    "fit",
    "is_of_records",
    "must_look",
    "record_error",
    "worse_of",
]


def must_look(newest: RecordFacts, now_ms: int, limits: LogLimits) -> bool:
    """Whether each record has to be looked at; `newest` is what their batch says of them."""
    return not needs_no_look(newest, now_ms, limits)


def record_error(record: RecordFacts, now_ms: int, limits: LogLimits) -> int:
    """The error of one record, or NONE."""
    return decide_record(record, now_ms, limits)


def fit(size: int, error_of_records: int, limits: LogLimits) -> Fit:
    """How a batch of so many bytes fits, the worst error of whose records (`worse_of`) is known."""
    return Fit(is_too_large(size, limits), error_of_records, fits_no_segment(size, limits))


def is_of_records(seen: Fit, answered: int) -> bool:
    """Whether what is answered is what is wrong with records."""
    return bool(seen.error_of_records) and seen.error_of_records == answered and not seen.is_too_large
