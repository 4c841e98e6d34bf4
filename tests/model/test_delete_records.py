"""DeleteRecords: in which order its guards answer, and what the offsets mean (KIP-107)."""

from typing import Any

import pytest

from zombieproof.model.decisions.delete_records import error_of_record_deletion, offset_to_delete_up_to
from zombieproof.model.vocabulary import Error

LADDER = [
    ("exists", False, Error.UNKNOWN_TOPIC_OR_PARTITION),
    ("is_internal", True, Error.INVALID_TOPIC_EXCEPTION),
    ("leads", False, Error.NOT_LEADER_OR_FOLLOWER),
    ("is_offline", True, Error.KAFKA_STORAGE_ERROR),
    ("lets_records_go", False, Error.POLICY_VIOLATION),
    ("offset", 11, Error.OFFSET_OUT_OF_RANGE),
]
SOUND: dict[str, Any] = {
    "exists": True,
    "is_internal": False,
    "leads": True,
    "is_offline": False,
    "lets_records_go": True,
    "offset": 10,
    "high_watermark": 10,
}


def test_each_guard_answers_before_those_below_it() -> None:
    asked = SOUND | {name: wrong for name, wrong, _ in LADDER}
    for name, _, error in LADDER:
        assert error_of_record_deletion(**asked) == error
        asked |= {name: SOUND[name]}
    assert error_of_record_deletion(**asked) == Error.NONE


@pytest.mark.parametrize(
    ("offset", "error"),
    [(-2, 1), (-1, 0), (0, 0), (10, 0), (11, 1)],
    ids=["no offset", "the high watermark", "the beginning", "the last one", "beyond"],
)
def test_what_is_not_replicated_does_not_go(offset: int, error: int) -> None:
    assert error_of_record_deletion(**(SOUND | {"offset": offset})) == error


def test_minus_one_means_all_that_is_replicated() -> None:
    assert (offset_to_delete_up_to(-1, 7), offset_to_delete_up_to(3, 7)) == (7, 3)
