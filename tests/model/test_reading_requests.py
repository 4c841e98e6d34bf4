"""ListOffsets, OffsetForLeaderEpoch, leader epochs of a Fetch, descriptions of groups: what is decided about them."""

import pytest

from zombieproof.model.decisions.consumer_group_heartbeat import interval_until_next
from zombieproof.model.decisions.describe_groups import (
    consumer_group_state,
    error_of_classic_description,
    error_of_consumer_description,
    tells_what_members_say,
)
from zombieproof.model.decisions.fetch import epoch_meant, error_of_leader_epoch, error_of_read
from zombieproof.model.decisions.leader_epochs import decide_end_of_epoch, diverges, error_of_unknown_epoch
from zombieproof.model.decisions.list_offsets import error_of_listing, place_of
from zombieproof.model.decisions.offset_commit import expires_at
from zombieproof.model.decisions.offset_delete import is_old
from zombieproof.model.decisions.offset_fetch import decide_offset_reader
from zombieproof.model.vocabulary import NONE, ClassicGroupState, ConsumerGroupState, Error, Place
from zombieproof.statemachines.group_coordinator import descriptions
from zombieproof.statemachines.partition_leader import leader_epochs

UNSUPPORTED = Error.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("at", "since"), [(0, 1), (-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 1 << 15)]
)
def test_a_version_knows_some_places_and_refuses_the_others(at: int, since: int) -> None:
    known = [error_of_listing(False, at, version) == Error.NONE for version in range(1, 12)]
    assert known == [version >= since for version in range(1, 12)]
    assert error_of_listing(False, at, since - 1) == UNSUPPORTED
    assert error_of_listing(True, at, since) == error_of_listing(True, at, since - 1) == Error.INVALID_REQUEST


def test_what_lies_here_is_all_there_is() -> None:
    assert [place_of(at) for at in (5, 0, -1, -2, -3, -4, -5)] == [
        Place.TIME,
        Place.TIME,
        Place.LATEST,
        Place.EARLIEST,
        Place.GREATEST_TIME,
        Place.EARLIEST,
        Place.LATEST_TIERED,
    ]


@pytest.mark.parametrize(
    ("said", "error"), [(NONE, 0), (4, 0), (3, Error.FENCED_LEADER_EPOCH), (5, Error.UNKNOWN_LEADER_EPOCH)]
)
def test_who_means_another_leader_is_told_so_before_it_is_told_who_leads(said: int, error: int) -> None:
    assert error_of_leader_epoch(said, 4) == error
    assert error_of_read(True, True, False, True, said, 4) == (error or Error.NOT_LEADER_OR_FOLLOWER)
    assert error_of_read(True, False, False, True, said, 4) == Error.NOT_LEADER_OR_FOLLOWER
    assert error_of_read(False, False, False, True, said, 4) == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of_read(True, True, True, True, said, 4) == error


def test_any_number_that_is_no_epoch_means_none() -> None:
    assert [epoch_meant(said) for said in (-5, -1, 0, 3)] == [NONE, NONE, 0, 3]


EPOCHS = ((1, 0), (3, 10), (4, 20))


@pytest.mark.parametrize(
    ("epoch", "found"),
    [(NONE, (NONE, NONE)), (0, (0, 0)), (1, (1, 10)), (2, (1, 10)), (3, (3, 20)), (4, (4, 25)), (5, (NONE, NONE))],
)
def test_an_epoch_ends_where_the_next_one_begins(epoch: int, found: tuple[int, int]) -> None:
    assert leader_epochs.end_of_epoch(EPOCHS, epoch, 25) == found
    assert leader_epochs.end_of_epoch((), epoch, 25) == decide_end_of_epoch(epoch, NONE, NONE, NONE, 25) == (NONE, NONE)


def test_a_leader_begins_its_epoch_before_it_has_written_anything() -> None:
    assert leader_epochs.with_present_epoch(EPOCHS, 5, 25) == (*EPOCHS, (5, 25))
    assert leader_epochs.with_present_epoch(EPOCHS, 4, 25) == EPOCHS, "it has written"
    assert leader_epochs.with_present_epoch(EPOCHS, 5, NONE) == EPOCHS, "it follows"
    assert [leader_epochs.epoch_at(EPOCHS, at) for at in (0, 9, 10, 99)] == [1, 1, 3, 4]
    assert leader_epochs.epoch_at((), 0) == NONE


def test_who_has_read_farther_than_an_epoch_goes_has_read_elsewhere() -> None:
    assert not diverges(10, 1, 1, 10)
    assert diverges(11, 1, 1, 10)
    assert diverges(5, 2, 1, 10), "of that epoch there is nothing"
    assert error_of_unknown_epoch(NONE) == Error.OFFSET_OUT_OF_RANGE
    assert error_of_unknown_epoch(0) == Error.NONE


# ---------------------------------------------------------------- offsets of groups


def test_an_offset_expires_when_its_commit_has_said_else_with_all_others() -> None:
    assert (expires_at(100, NONE), expires_at(100, 50)) == (NONE, 150)
    assert [is_old(100, NONE, now, 50) for now in (149, 150)] == [False, True]
    assert [is_old(100, 120, now, 50) for now in (119, 120)] == [False, True]


@pytest.mark.parametrize(
    ("reader", "error"),
    [
        ((False, True, 7, False, NONE), Error.NONE),
        ((True, False, -1, False, NONE), Error.NONE),
        ((True, True, 3, False, NONE), Error.UNKNOWN_MEMBER_ID),
        ((True, False, 3, False, NONE), Error.UNKNOWN_MEMBER_ID),
        ((True, True, 2, True, 3), Error.STALE_MEMBER_EPOCH),
        ((True, True, 3, True, 3), Error.NONE),
    ],
)
def test_who_reads_offsets_of_a_consumer_group_is_in_it_or_says_nothing(
    reader: tuple[bool, bool, int, bool, int], error: int
) -> None:
    assert decide_offset_reader(*reader) == error


# ---------------------------------------------------------------- descriptions


def test_a_group_is_described_to_who_asks_about_its_kind() -> None:
    not_found = Error.GROUP_ID_NOT_FOUND
    assert [error_of_classic_description(True, False, version) for version in (5, 6)] == [0, 0]
    assert [error_of_classic_description(False, False, version) for version in (5, 6)] == [0, not_found]
    assert [error_of_classic_description(True, True, version) for version in (5, 6)] == [0, not_found]
    assert error_of_consumer_description(True, True) == Error.NONE
    assert error_of_consumer_description(True, False) == error_of_consumer_description(False, False) == not_found
    assert descriptions.describes_classic(Error.NOT_COORDINATOR, False, False, 6) == Error.NOT_COORDINATOR
    assert [state for state in ClassicGroupState if tells_what_members_say(state)] == [ClassicGroupState.STABLE]


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ((0, 2, 1, True), ConsumerGroupState.EMPTY),
        ((1, 2, 1, True), ConsumerGroupState.ASSIGNING),
        ((1, 2, 2, False), ConsumerGroupState.RECONCILING),
        ((1, 2, 2, True), ConsumerGroupState.STABLE),
    ],
)
def test_how_far_a_consumer_group_is(facts: tuple[int, int, int, bool], state: ConsumerGroupState) -> None:
    assert consumer_group_state(*facts) == state


def test_names_of_states_and_types_pass_however_they_are_written() -> None:
    assert descriptions.name_of(ClassicGroupState.PREPARING_REBALANCE) == "PreparingRebalance"
    assert descriptions.passes("Stable", "classic", (), ())
    assert descriptions.passes("Stable", "classic", ("empty", "STABLE"), ("Classic",))
    assert not descriptions.passes("Stable", "classic", ("Empty",), ())
    assert not descriptions.passes("Stable", "classic", ("Stable",), ("consumer",))


def test_a_member_that_has_left_beats_no_more() -> None:
    assert [interval_until_next(epoch, 5000) for epoch in (3, 0, -1, -2)] == [5000, 5000, 0, 0]
