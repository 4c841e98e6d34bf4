"""What the version of a request changes about the error in its answer: reference §2.7, §2.8, §2.10, §4.1."""

import pytest

from zombieproof.model.decisions.versions import error_on_the_wire
from zombieproof.model.vocabulary import ApiKey, Error


@pytest.mark.parametrize(
    ("api", "first"),
    [
        (ApiKey.INIT_PRODUCER_ID, 4),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 2),
        (ApiKey.ADD_OFFSETS_TO_TXN, 2),
        (ApiKey.END_TXN, 2),
    ],
)
def test_older_clients_are_told_invalid_producer_epoch(api: ApiKey, first: int) -> None:
    assert error_on_the_wire(api, first - 1, Error.PRODUCER_FENCED) == Error.INVALID_PRODUCER_EPOCH
    assert error_on_the_wire(api, first, Error.PRODUCER_FENCED) == Error.PRODUCER_FENCED


def test_other_apis_never_hide_that_a_producer_is_fenced() -> None:
    assert error_on_the_wire(ApiKey.PRODUCE, 0, Error.PRODUCER_FENCED) == Error.PRODUCER_FENCED


def test_old_committers_of_offsets_are_told_that_the_coordinator_is_not_available() -> None:
    told = [error_on_the_wire(ApiKey.TXN_OFFSET_COMMIT, v, Error.COORDINATOR_LOAD_IN_PROGRESS) for v in (1, 2)]
    assert told == [Error.COORDINATOR_NOT_AVAILABLE, Error.COORDINATOR_LOAD_IN_PROGRESS]


@pytest.mark.parametrize("error", [Error.NONE, Error.INVALID_TXN_STATE, Error.CONCURRENT_TRANSACTIONS])
def test_every_other_error_is_told_as_it_is(error: Error) -> None:
    assert error_on_the_wire(ApiKey.END_TXN, 0, error) == error
