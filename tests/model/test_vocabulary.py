"""Words and their numbers: reference §0, §2.1, §7.5."""

from enum import IntEnum

import pytest

from tests.model.kafka_versions import known
from zombieproof.model import vocabulary
from zombieproof.model.vocabulary import NOTHING, ApiKey, Error, Row, TransactionState

ENUMS = [value for value in vars(vocabulary).values() if isinstance(value, type) and issubclass(value, IntEnum)]


@pytest.mark.parametrize("words", [enum for enum in ENUMS if enum is not IntEnum], ids=lambda words: words.__name__)
def test_no_number_means_two_things(words: type[IntEnum]) -> None:
    assert len(words.__members__) == len({int(member) for member in words})


@pytest.mark.parametrize("words", [e for e in ENUMS if e.__name__.endswith("Event")], ids=lambda words: words.__name__)
def test_the_first_event_of_every_machine_is_that_nothing_happens(words: type[IntEnum]) -> None:
    assert words(NOTHING).name == "NOTHING"


def test_state_numbers_are_those_of_the_log() -> None:
    names = "EMPTY ONGOING PREPARE_COMMIT PREPARE_ABORT COMPLETE_COMMIT COMPLETE_ABORT DEAD PREPARE_EPOCH_FENCE"
    assert [state.name for state in TransactionState] == names.split()
    assert [int(state) for state in TransactionState] == list(range(8))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (0, "NONE"),
        (14, "COORDINATOR_LOAD_IN_PROGRESS"),
        (15, "COORDINATOR_NOT_AVAILABLE"),
        (16, "NOT_COORDINATOR"),
        (22, "ILLEGAL_GENERATION"),
        (25, "UNKNOWN_MEMBER_ID"),
        (42, "INVALID_REQUEST"),
        (45, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (47, "INVALID_PRODUCER_EPOCH"),
        (48, "INVALID_TXN_STATE"),
        (49, "INVALID_PRODUCER_ID_MAPPING"),
        (50, "INVALID_TRANSACTION_TIMEOUT"),
        (51, "CONCURRENT_TRANSACTIONS"),
        (52, "TRANSACTION_COORDINATOR_FENCED"),
        (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (55, "OPERATION_NOT_ATTEMPTED"),
        (58, "SASL_AUTHENTICATION_FAILED"),
        (59, "UNKNOWN_PRODUCER_ID"),
        (88, "UNSTABLE_OFFSET_COMMIT"),
        (90, "PRODUCER_FENCED"),
        (105, "TRANSACTIONAL_ID_NOT_FOUND"),
        (120, "TRANSACTION_ABORTABLE"),
    ],
)
def test_error_codes_are_kafkas(code: int, name: str) -> None:
    assert Error(code).name == name


def test_api_keys_are_kafkas() -> None:
    kafkas = {name: key for name, (key, *_) in known()["4.4"].items()}
    for key in ApiKey:
        assert kafkas["".join(word.capitalize() for word in key.name.split("_"))] == key


def test_a_guard_fits_into_a_byte() -> None:
    assert all(0 <= guard <= 255 for guard in Row)
