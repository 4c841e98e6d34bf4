"""Fetch, ListOffsets and OffsetFetch: reference §3.6, §4.5, §6."""

import pytest

from zombieproof.model.decisions.fetch import (
    earlier_offset,
    error_of_fetch,
    error_of_topic,
    fetch_bound,
    first_unstable_offset,
    is_due,
    is_listed_as_aborted,
    last_stable_offset,
    last_stable_offset_at_abort,
    not_below_log_start,
    offset_by_time,
)
from zombieproof.model.decisions.offset_fetch import decide_offset_fetch
from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, Isolation


def test_a_topic_that_is_asked_for_by_an_id_is_unknown_by_its_id() -> None:
    assert [error_of_topic(True, by_id) for by_id in (False, True)] == [Error.NONE, Error.NONE]
    assert error_of_topic(False, False) == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of_topic(False, True) == Error.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("open_at", "first"), [([], NONE), ([NONE], NONE), ([7], 7), ([9, NONE, 4, 6], 4), ([0, 3], 0)]
)
def test_the_first_unstable_offset_is_that_of_the_earliest_open_transaction(open_at: list[int], first: int) -> None:
    assert first_unstable_offset([ProducerEntry(txn_first_offset=offset) for offset in open_at]) == first


@pytest.mark.parametrize(("unstable", "stable"), [(NONE, 10), (4, 4), (0, 0), (10, 10), (12, 10)])
def test_the_last_stable_offset_is_never_above_the_high_watermark(unstable: int, stable: int) -> None:
    assert last_stable_offset(10, unstable) == stable


@pytest.mark.parametrize(
    ("isolation", "bound"),
    [
        (Isolation.READ_UNCOMMITTED, 10),
        (Isolation.READ_COMMITTED, 4),
        (Isolation.READ_COMMITTED_BUFFERING, 10),
    ],
)
def test_how_far_a_consumer_may_read(isolation: Isolation, bound: int) -> None:
    assert fetch_bound(isolation, 10, 4, Rules()) == bound


def test_without_the_stable_bound_read_committed_reads_on() -> None:
    assert fetch_bound(Isolation.READ_COMMITTED, 10, 4, with_switches(Rules(), off=["stable_bound"])) == 10


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound", "listed"),
    [(0, 20, True), (8, 20, True), (9, 20, False), (0, 5, False), (0, 6, True), (5, 6, True)],
    ids=["all of it", "from its marker on", "behind its marker", "up to its first", "with its first", "its first only"],
)
def test_the_aborted_list_names_what_overlaps_the_fetch(fetch_offset: int, upper_bound: int, listed: bool) -> None:
    first, last = 5, 8
    assert is_listed_as_aborted(first, last, fetch_offset, upper_bound) is listed


@pytest.mark.parametrize(("other", "stable"), [(NONE, 9), (3, 3)])
def test_the_aborted_index_holds_what_was_stable_then(other: int, stable: int) -> None:
    assert last_stable_offset_at_abort(8, other) == stable


@pytest.mark.parametrize(
    ("require_stable", "pending", "error"),
    [(True, 1, Error.UNSTABLE_OFFSET_COMMIT), (True, 0, Error.NONE), (False, 1, Error.NONE), (False, 0, Error.NONE)],
)
def test_who_asks_for_stable_offsets_waits_for_pending_ones(require_stable: bool, pending: int, error: Error) -> None:
    assert decide_offset_fetch(require_stable, pending, Rules()) == error


def test_before_kip_447_nobody_could_ask_for_stable_offsets() -> None:
    assert decide_offset_fetch(True, 1, with_switches(Rules(), off=["kip447_stable"])) == Error.NONE


@pytest.mark.parametrize(
    ("one", "other", "earlier"), [(NONE, NONE, NONE), (3, NONE, 3), (NONE, 3, 3), (3, 5, 3), (5, 3, 3), (0, 3, 0)]
)
def test_of_two_offsets_the_lower_counts_and_none_is_no_offset(one: int, other: int, earlier: int) -> None:
    assert earlier_offset(one, other) == earlier


@pytest.mark.parametrize(("unstable", "raised"), [(NONE, NONE), (3, 5), (5, 5), (7, 7)])
def test_nothing_below_the_log_start_is_unstable(unstable: int, raised: int) -> None:
    assert not_below_log_start(unstable, 5) == raised


@pytest.mark.parametrize(("offset", "error"), [(4, 1), (5, 0), (9, 0), (10, 1)])
def test_a_fetch_must_begin_between_the_start_and_the_end_of_the_log(offset: int, error: int) -> None:
    assert error_of_fetch(offset, 5, 9) == error


@pytest.mark.parametrize(
    ("has_error", "bytes_read", "waited_ms", "due"),
    [
        (False, 9, 99, False),
        (True, 0, 0, True),
        (False, 10, 0, True),
        (False, 11, 0, True),
        (False, 0, 100, True),
        (False, 0, 101, True),
    ],
)
def test_a_fetch_waits_for_bytes_or_until_its_time_is_over(
    has_error: bool, bytes_read: int, waited_ms: int, due: bool
) -> None:
    assert is_due(has_error, bytes_read, 10, waited_ms, 100) == due


@pytest.mark.parametrize(("found", "told"), [(3, 3), (4, NONE), (5, NONE)])
def test_an_offset_by_time_is_one_that_the_reader_may_read(found: int, told: int) -> None:
    assert offset_by_time(found, 4) == told
