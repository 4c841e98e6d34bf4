"""The producer's requests to coordinators: order, versions, back-off, what is dropped (reference §5.3 to §5.5)."""

import pytest

from zombieproof.model.decisions.producer_client import (
    can_ask_for_raised_epoch,
    decides_alone,
    has_ongoing_transaction,
    is_dropped_in,
    names_member_in_vain,
    priority,
    request_version,
    retry_backoff_ms,
    starts_over_after,
    version_for_two_phase_commit,
    wants_raised_epoch,
)
from zombieproof.model.rules import Rules, preset
from zombieproof.model.vocabulary import NONE, ApiKey, Error, ProducerState, Reaction

S = ProducerState


def test_requests_leave_by_priority() -> None:
    kinds = [
        (ApiKey.INIT_PRODUCER_ID, True),
        (ApiKey.END_TXN, False),
        (ApiKey.ADD_PARTITIONS_TO_TXN, False),
        (ApiKey.INIT_PRODUCER_ID, False),
        (ApiKey.FIND_COORDINATOR, False),
    ]
    assert sorted(kinds, key=lambda kind: priority(*kind)) == [
        (ApiKey.FIND_COORDINATOR, False),
        (ApiKey.INIT_PRODUCER_ID, False),
        (ApiKey.ADD_PARTITIONS_TO_TXN, False),
        (ApiKey.END_TXN, False),
        (ApiKey.INIT_PRODUCER_ID, True),
    ]
    same = {
        priority(api, False)
        for api in (ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT)
    }
    assert len(same) == 1


@pytest.mark.parametrize(
    ("api", "error", "empty", "waits_ms"),
    [
        (ApiKey.ADD_PARTITIONS_TO_TXN, Error.CONCURRENT_TRANSACTIONS, True, 20),
        (ApiKey.ADD_PARTITIONS_TO_TXN, Error.CONCURRENT_TRANSACTIONS, False, 100),
        (ApiKey.ADD_PARTITIONS_TO_TXN, Error.COORDINATOR_LOAD_IN_PROGRESS, True, 100),
        (ApiKey.END_TXN, Error.CONCURRENT_TRANSACTIONS, True, 100),
    ],
)
def test_only_the_first_partition_of_a_transaction_is_asked_for_again_soon(
    api: ApiKey, error: Error, empty: bool, waits_ms: int
) -> None:
    assert retry_backoff_ms(api, error, empty, 100) == waits_ms


def test_a_shorter_configured_back_off_counts() -> None:
    assert retry_backoff_ms(ApiKey.ADD_PARTITIONS_TO_TXN, Error.CONCURRENT_TRANSACTIONS, True, 5) == 5


@pytest.mark.parametrize(
    ("api", "broker", "tv", "version"),
    [
        (ApiKey.PRODUCE, 13, 1, 11),
        (ApiKey.PRODUCE, 13, 2, 12),
        (ApiKey.PRODUCE, 9, 1, 9),
        (ApiKey.END_TXN, 5, 1, 4),
        (ApiKey.END_TXN, 5, 2, 5),
        (ApiKey.TXN_OFFSET_COMMIT, 5, 1, 4),
        (ApiKey.TXN_OFFSET_COMMIT, 5, 2, 5),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 5, 1, 3),
        (ApiKey.ADD_OFFSETS_TO_TXN, 4, 1, 4),
        (ApiKey.INIT_PRODUCER_ID, 6, 2, 5),
        (ApiKey.FIND_COORDINATOR, 2, 2, 2),
        (ApiKey.INIT_PRODUCER_ID, NONE, 2, NONE),
    ],
)
def test_a_request_is_sent_in_the_highest_version_that_both_sides_know(
    api: ApiKey, broker: int, tv: int, version: int
) -> None:
    assert request_version(api, broker, tv) == version


@pytest.mark.parametrize(("version", "raises"), [(NONE, False), (2, False), (3, True), (5, True)])
def test_a_coordinator_raises_epochs_since_init_producer_id_3(version: int, raises: bool) -> None:
    assert can_ask_for_raised_epoch(version) is raises


@pytest.mark.parametrize(("broker", "version"), [(NONE, NONE), (5, NONE), (6, 6), (7, 6)])
def test_two_phase_commit_needs_init_producer_id_6(broker: int, version: int) -> None:
    assert version_for_two_phase_commit(broker) == version


@pytest.mark.parametrize(("version", "member", "in_vain"), [(2, True, True), (3, True, False), (2, False, False)])
def test_a_member_is_named_since_txn_offset_commit_3(version: int, member: bool, in_vain: bool) -> None:
    assert names_member_in_vain(version, member) is in_vain


DECISIVE_FOR_PARTITIONS = {6, 7, 13, 14, 15, 16, 19, 20, 2, 3, 56, 88, 100, 51, 47, 90, 53, 48, 49, 59, 120}


@pytest.mark.parametrize("error", list(Error), ids=lambda error: error.name)
def test_which_error_of_a_partition_settles_the_answer(error: Error) -> None:
    adds = decides_alone(ApiKey.ADD_PARTITIONS_TO_TXN, error, Rules())
    assert adds == (error in DECISIVE_FOR_PARTITIONS)
    retriable = {2, 3, 6, 7, 13, 14, 15, 16, 19, 20, 51, 56, 88, 100}
    commits = decides_alone(ApiKey.TXN_OFFSET_COMMIT, error, Rules())
    assert commits == (error not in retriable and error != Error.NONE)


def test_until_3_9_an_unknown_mapping_settled_the_answer_too() -> None:
    assert decides_alone(ApiKey.ADD_PARTITIONS_TO_TXN, Error.INVALID_PRODUCER_ID_MAPPING, preset("3.9"))


@pytest.mark.parametrize(
    ("reaction", "api", "state", "tv", "raises"),
    [
        (Reaction.ABORTABLE_AND_BUMP, ApiKey.PRODUCE, S.IN_TRANSACTION, 1, True),
        (Reaction.ABORTABLE_AND_BUMP, ApiKey.PRODUCE, S.ABORTABLE_ERROR, 0, True),
        (Reaction.ABORTABLE_AND_BUMP, ApiKey.PRODUCE, S.IN_TRANSACTION, 2, False),
        (Reaction.ABORTABLE_AND_BUMP, ApiKey.PRODUCE, S.COMMITTING_TRANSACTION, 1, False),
        (Reaction.ABORTABLE_AND_BUMP, ApiKey.PRODUCE, S.ABORTING_TRANSACTION, 1, False),
        (Reaction.ABORTABLE_AND_BUMP, ApiKey.END_TXN, S.COMMITTING_TRANSACTION, 1, True),
        (Reaction.ABORTABLE_AND_BUMP, NONE, S.COMMITTING_TRANSACTION, 1, True),
        (Reaction.ABORTABLE, ApiKey.PRODUCE, S.IN_TRANSACTION, 1, False),
        (Reaction.FATAL, ApiKey.PRODUCE, S.IN_TRANSACTION, 1, False),
    ],
)
def test_which_failure_raises_the_epoch_behind_the_abort(
    reaction: Reaction, api: int, state: ProducerState, tv: int, raises: bool
) -> None:
    assert wants_raised_epoch(reaction, api, state, tv) is raises


@pytest.mark.parametrize(
    ("api", "error", "release", "starts_over"),
    [
        (ApiKey.INIT_PRODUCER_ID, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "3.6", True),
        (ApiKey.INIT_PRODUCER_ID, Error.CLUSTER_AUTHORIZATION_FAILED, "3.6", True),
        (ApiKey.INIT_PRODUCER_ID, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "3.5", False),
        (ApiKey.INIT_PRODUCER_ID, Error.CLUSTER_AUTHORIZATION_FAILED, "3.5", False),
        (ApiKey.INIT_PRODUCER_ID, Error.TRANSACTION_ABORTABLE, "newest", False),
        (ApiKey.ADD_PARTITIONS_TO_TXN, Error.CLUSTER_AUTHORIZATION_FAILED, "newest", False),
    ],
)
def test_after_a_refused_initialisation_the_producer_may_start_over_since_3_6(
    api: ApiKey, error: Error, release: str, starts_over: bool
) -> None:
    assert starts_over_after(api, error, preset(release)) is starts_over


@pytest.mark.parametrize("state", list(S), ids=lambda state: state.name)
def test_in_an_error_state_queued_requests_are_dropped_but_not_the_look_up_for_an_abort(state: ProducerState) -> None:
    for api in (ApiKey.FIND_COORDINATOR, ApiKey.END_TXN, ApiKey.ADD_PARTITIONS_TO_TXN):
        look_up = api == ApiKey.FIND_COORDINATOR
        dropped = state == S.FATAL_ERROR or (state == S.ABORTABLE_ERROR and not look_up)
        assert is_dropped_in(state, api) is dropped


def test_in_which_states_a_transaction_is_ongoing() -> None:
    idle = {S.UNINITIALIZED, S.INITIALIZING, S.READY, S.FATAL_ERROR}
    assert {state for state in S if not has_ongoing_transaction(state)} == idle
