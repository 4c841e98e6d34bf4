"""Sizes, keys and times of what a client sends, at their limits. That a real broker does so: ``tests/answers``."""

from typing import Any

import pytest

from zombieproof.model.decisions.log_validation import (
    NO_LIMIT_MS,
    LogLimits,
    RecordFacts,
    decide_record,
    fits_no_segment,
    is_too_large,
    needs_no_look,
    worse_of,
)
from zombieproof.model.vocabulary import Error

NOW_MS = 1_000_000
LIMITS = LogLimits(200, 1000, needs_keys=False, stamps=False, before_max_ms=NO_LIMIT_MS, after_max_ms=60)
GOOD = RecordFacts(has_key=True, timestamp_ms=NOW_MS, is_stamped=False)


def test_a_batch_may_be_as_large_as_its_limits() -> None:
    assert [is_too_large(size, LIMITS) for size in (200, 201)] == [False, True]
    assert [fits_no_segment(size, LIMITS) for size in (1000, 1001)] == [False, True]


@pytest.mark.parametrize(
    ("limits", "record", "error"),
    [
        ({}, {}, Error.NONE),
        ({}, {"has_key": False}, Error.NONE),
        ({}, {"timestamp_ms": NOW_MS + 60}, Error.NONE),
        ({}, {"timestamp_ms": NOW_MS + 61}, Error.INVALID_TIMESTAMP),
        ({}, {"timestamp_ms": 0}, Error.NONE),
        ({}, {"is_stamped": True}, Error.NONE),
        ({"before_max_ms": 60}, {"timestamp_ms": NOW_MS - 60}, Error.NONE),
        ({"before_max_ms": 60}, {"timestamp_ms": NOW_MS - 61}, Error.INVALID_TIMESTAMP),
        ({"needs_keys": True}, {}, Error.NONE),
        ({"needs_keys": True}, {"has_key": False, "timestamp_ms": NOW_MS + 61}, Error.INVALID_RECORD),
        ({"stamps": True}, {"timestamp_ms": NOW_MS + 61}, Error.NONE),
        ({"stamps": True}, {"is_stamped": True}, Error.INVALID_TIMESTAMP),
    ],
)
def test_a_record_is_judged_by_itself(limits: dict[str, Any], record: dict[str, Any], error: Error) -> None:
    assert decide_record(GOOD._replace(**record), NOW_MS, LIMITS._replace(**limits)) == error


def test_one_bad_time_counts_for_more_than_missing_keys() -> None:
    no_key, bad_time = Error.INVALID_RECORD, Error.INVALID_TIMESTAMP
    errors = (Error.NONE, no_key, bad_time)
    assert [[worse_of(one, other) for other in errors] for one in errors] == [
        [Error.NONE, no_key, bad_time],
        [no_key, no_key, bad_time],
        [bad_time, bad_time, bad_time],
    ]


def test_records_are_looked_at_where_the_newest_does_not_speak_for_all() -> None:
    assert needs_no_look(GOOD, NOW_MS, LIMITS)
    assert not needs_no_look(GOOD._replace(timestamp_ms=NOW_MS + 61), NOW_MS, LIMITS), "each is named"
    assert not needs_no_look(GOOD, NOW_MS, LIMITS._replace(before_max_ms=60)), "another may be older"
    assert not needs_no_look(GOOD, NOW_MS, LIMITS._replace(needs_keys=True))
    assert needs_no_look(GOOD, NOW_MS, LIMITS._replace(stamps=True))
    assert not needs_no_look(GOOD._replace(is_stamped=True), NOW_MS, LIMITS._replace(stamps=True))
