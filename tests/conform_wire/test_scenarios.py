"""Every directed scenario: met by brokers that are right, and failed by one that is wrong in its way."""

from typing import NamedTuple

import pytest

from tests.conform_wire.judging import SCENARIOS, judged
from tests.conform_wire.wrong import served, way
from zombieproof.conformance.outside.published import published

LONG = {
    "an_exhausted_epoch_is_followed_by_another_producer_id",
    "an_epoch_exhausted_by_transactions_is_followed_by_another_producer_id",
}
"""They ask tens of thousands of times."""

CLUSTERS = {"transaction.version 2": (2, "4.3"), "transaction.version 1": (1, "4.3"), "3.9": (0, "3.9")}


class Found(NamedTuple):
    """A wrong broker, the step at which it is found, and the published bugs that it is told to have."""

    way: str
    step: int
    bugs: tuple[str, ...] = ()


WRONG: dict[str, Found] = {
    "a_takeover_of_an_open_transaction_is_told_to_ask_again": Found("never concurrent", 4),
    "a_transaction_begins_after_the_markers_of_the_one_before": Found("lists nothing aborted", 9, ("B01",)),
    "an_end_is_asked_twice_at_once": Found("refuses repeated ends", 5, ("B61",)),
    "two_producers_do_not_wait_for_each_other": Found("describes all as complete", 6),
    "a_transaction_is_described": Found("describes all as complete", 3),
    "transactions_are_listed_by_state_and_producer": Found("lists all as empty", 5),
    "producers_of_a_partition_are_described": Found("forgets where transactions begin", 5),
    "what_does_not_exist_is_not_described": Found("says yes", 1),
    "a_coordinator_is_found": Found("says yes", 2),
    "every_instance_has_an_epoch_of_its_own": Found("without init_raises_epoch", 2),
    "a_producer_bumps_its_own_epoch": Found("without kip360", 3),
    "half_an_expectation_is_refused": Found("says yes", 2),
    "idempotent_producers_have_ids_of_their_own": Found("one producer id", 2),
    "every_transaction_has_an_epoch_of_its_own": Found("bumps nothing at the end", 3, ("B01",)),
    "an_exhausted_epoch_is_followed_by_another_producer_id": Found("one producer id", 3),
    "an_epoch_exhausted_by_transactions_is_followed_by_another_producer_id": Found("bumps nothing at the end", 7),
    "fenced_is_said_by_version_at_end_txn": Found("without strict_end", 3),
    "fenced_is_said_by_version_at_add_partitions": Found("says yes", 3),
    "fenced_is_said_by_version_at_add_offsets": Found("says yes", 3),
    "fenced_is_said_by_version_at_init": Found("says yes", 4),
    "nothing_to_end_is_an_error": Found("says yes", 2),
    "an_empty_transactional_id_is_refused": Found("says yes", 1),
    "one_unknown_partition_spoils_the_request": Found("says yes", 2),
    "a_zombie_ends_nothing": Found("says yes", 5, ("B01",)),
    "a_zombie_adds_no_partition": Found("says yes", 3),
    "a_zombie_writes_nothing": Found("says yes", 5, ("B04",)),
    "a_takeover_aborts_what_was_open": Found("markers of another epoch", 5, ("B10",)),
    "a_zombie_adds_no_offsets": Found("says yes", 3, ("B07",)),
    "a_zombie_commits_no_offsets": Found("says yes", 7, ("B07",)),
    "another_producer_id_is_not_known": Found("says yes", 3),
    "a_duplicate_is_written_once": Found("without duplicate_check", 3, ("B66",)),
    "a_gap_is_refused": Found("without sequence_check", 3),
    "a_part_of_a_duplicate_is_no_duplicate": Found("without sequence_check", 3),
    "a_new_epoch_begins_at_zero": Found("without epoch_fencing", 5),
    "sequence_numbers_wrap_around": Found("without kip360", 2),
    "a_duplicate_in_a_transaction_is_written_once": Found("duplicates are out of order", 4, ("B66",)),
    "sequence_numbers_go_on_over_transactions": Found("without sequence_check", 6),
    "a_late_commit_does_not_end_a_later_transaction": Found("says yes", 5, ("B01",)),
    "a_late_abort_does_not_end_a_later_transaction": Found("says yes", 5, ("B02",)),
    "late_data_does_not_join_a_later_transaction": Found("says yes", 5, ("B03",)),
    "late_data_opens_no_transaction": Found("without verification", 4, ("B04",)),
    "data_needs_its_partition_in_the_transaction": Found("without verification", 3, ("B38",)),
    "offsets_need_their_group_in_the_transaction": Found("without verification", 2, ("B38",)),
    "a_client_writes_no_marker": Found("says yes", 4),
    "a_damaged_batch_is_refused": Found("says yes", 2),
    "the_marker_has_the_epoch_of_its_transaction": Found("markers of another epoch", 5),
    "the_marker_of_the_newest_has_the_next_epoch": Found("markers of another epoch", 4, ("B03",)),
    "a_transactional_batch_needs_its_id": Found("says yes", 3),
    "offsets_are_pending_until_the_marker": Found("without kip447_stable", 5, ("B08",)),
    "aborted_offsets_are_dropped": Found("commits offsets at once", 6, ("B63",)),
    "stability_is_per_partition": Found("without kip447_stable", 4, ("B08",)),
    "offsets_of_a_stale_generation_are_refused": Found("without kip447_fence", 5, ("B07",)),
    "two_transactions_commit_offsets_of_one_partition": Found("calls everything stable", 8, ("B08",)),
    "offsets_and_records_commit_together": Found("commits what is aborted", 8),
    "offsets_need_no_request_before_them": Found("hears no require_stable", 3, ("B08",)),
    "a_transaction_that_takes_too_long_is_aborted": Found("says yes", 5, ("B06",)),
    "offsets_of_a_transaction_that_takes_too_long_are_dropped": Found("commits offsets at once", 5),
    "a_time_out_longer_than_the_broker_allows_is_refused": Found("says yes", 1),
    "open_data_is_behind_the_last_stable_offset": Found("without stable_bound", 5, ("B65",)),
    "aborted_data_is_in_the_list": Found("lists nothing aborted", 5, ("B65",)),
    "two_transactions_lie_in_one_another": Found("without stable_bound", 8, ("B65",)),
    "every_partition_has_its_marker": Found("has no marker but of partition 0", 7, ("B73",)),
    "an_aborted_and_a_committed_transaction_follow_each_other": Found("lists nothing aborted", 8, ("B65",)),
}
"""One broker for each scenario that fails it."""


def named(names: object) -> list[object]:
    return [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in names]  # type: ignore[attr-defined]


@pytest.mark.share(4)
@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", named(SCENARIOS))
@pytest.mark.sample("transaction.version 2")
@pytest.mark.long(
    "another_producer_id-transaction.version 1",
    "another_producer_id-3.9",
    "an_exhausted_epoch_is_followed_by_another_producer_id-transaction.version 2",
)
def test_a_broker_that_is_right_conforms(name: str, cluster: str) -> None:
    level, release = CLUSTERS[cluster]
    with served(transaction_version=level, release=release) as bootstrap:
        found = judged(name, bootstrap)
    if (name, cluster) == ("a_zombie_commits_no_offsets", "3.9"):
        # It has this bug, as 3.9.1 has.
        assert (found.verdict, found.bugs) == ("deviates", ("B74",))
        return
    scenario = SCENARIOS[name][1]
    assert found.verdict == ("conforms" if level in scenario.transaction_versions else "not applicable"), found


@pytest.mark.share(2)
@pytest.mark.long("an_epoch_exhausted_by_transactions")
@pytest.mark.parametrize("name", named(WRONG))
def test_a_broker_that_is_wrong_in_this_way_deviates(name: str) -> None:
    expected = WRONG[name]
    with served(way(expected.way)) as bootstrap:
        found = judged(name, bootstrap)
    assert (found.verdict, found.step, found.bugs) == ("deviates", expected.step, expected.bugs), found


def test_every_scenario_was_seen_failing() -> None:
    assert set(WRONG) == set(SCENARIOS)


def test_every_published_bug_that_is_named_is_told_and_found() -> None:
    named = {bug for _, scenario in SCENARIOS.values() for step in scenario.steps for bug in step.matches}
    assert named == set(published())
