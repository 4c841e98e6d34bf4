"""The interpreter of GO reads other numbers and names, and sees what is not so."""

from typing import Any

import pytest

from tests.conformance.cases import Case
from tests.conformance.runner import Outcome, interpret

NOT_RUNNABLE, FAILED, MET = Outcome.NOT_RUNNABLE, Outcome.FAILED, Outcome.MET


def case(given: Any, when: Any, expect: Any) -> Case:
    return Case("GO-901", "S", "GO", "a case", "both", given, when, expect, "")


TWO_PENDING = {"committed": "in-3 9", "pending": "pid 5: in-3 10; pid 6: in-4 20, out-0 30"}
EXPIRED = {"committed": "foo-0 100, older than the retention time"}


@pytest.mark.parametrize(
    ("given", "when", "expect", "outcome"),
    [
        ({"group": "classic, generation 3"}, "TxnOffsetCommit generation 3", {"error": "NONE"}, MET),
        ({"group": "classic, generation 3"}, "TxnOffsetCommit generation 2", {"error": "ILLEGAL_GENERATION"}, MET),
        ({"group": "classic, generation 3"}, "TxnOffsetCommit generation 2", {"error": "UNKNOWN_MEMBER_ID"}, FAILED),
        ({"group": "consumer, member at epoch 3"}, "TxnOffsetCommit epoch 3", {"appended": "1 offset record"}, MET),
        ({"group": "consumer, member at epoch 3"}, "TxnOffsetCommit epoch 4", {"appended": "1 offset record"}, FAILED),
        ({"group": "consumer, member at epoch 3"}, "TxnOffsetCommit epoch 4", {"appended": "0 offset records"}, MET),
        ({"group": "classic, member at epoch 3"}, "TxnOffsetCommit", {"error": "NONE"}, NOT_RUNNABLE),
        ({"group": "share"}, "TxnOffsetCommit", {"error": "NONE"}, NOT_RUNNABLE),
        (TWO_PENDING, "COMMIT marker of pid 6", {"committed": "in-3 9; in-4 20; out-0 30"}, MET),
        (TWO_PENDING, "COMMIT marker of pid 6", {"committed": "in-3 9; in-4 20"}, FAILED),
        (TWO_PENDING, "COMMIT marker of pid 6", {"committed": "in-3 9; in-4 20; out-0 none"}, FAILED),
        (TWO_PENDING, "COMMIT marker of pid 6", {"committed": "none"}, FAILED),
        (TWO_PENDING, "ABORT marker of pid 6", {"committed": "in-3 9; out-1 none"}, NOT_RUNNABLE),
        (TWO_PENDING, "ABORT marker of pid 6", {"pending": "pid 5: in-3 10"}, MET),
        (TWO_PENDING, "ABORT marker of pid 6", {"pending": "none"}, FAILED),
        (TWO_PENDING, "COMMIT marker", {"pending": "none"}, NOT_RUNNABLE),
        (TWO_PENDING, "OffsetDelete in-4", {"error": "NONE", "pending": "pid 5: in-3 10; pid 6: out-0 30"}, MET),
        (TWO_PENDING, "OffsetDelete in-4", {"error": "NONE", "pending": TWO_PENDING["pending"]}, FAILED),
        (TWO_PENDING, "replay tombstones of in-3, in-4 and out-0", {"pending": "none", "committed": "none"}, MET),
        (TWO_PENDING, "replay tombstones of in-4 and out-0", {"committed": "none"}, FAILED),
        (EXPIRED, "expire offsets", {"tombstones": ["foo-0"], "group_may_go": True}, MET),
        (EXPIRED, "expire offsets", {"tombstones": []}, FAILED),
        (EXPIRED, "expire offsets", {"group_may_go": False}, FAILED),
        ({"log": "plain commit in-0 4 (log position 1)"}, "COMMIT marker of pid 1", {"committed": "in-0 4"}, FAILED),
        ({"colour": "red"}, "expire offsets", {"tombstones": []}, NOT_RUNNABLE),
        (EXPIRED, "expire offsets", {"colour": "red"}, NOT_RUNNABLE),
        (
            {"pending": "pid 1, 2 over a-0, a-1"},
            "COMMIT and ABORT markers one by one",
            {"count": "rises with every commit"},
            NOT_RUNNABLE,
        ),
    ],
)
def test_cases_with_other_values_are_judged_by_what_they_say(
    given: Any, when: Any, expect: Any, outcome: Outcome
) -> None:
    result = interpret(case(given, when, expect))
    assert result.outcome == outcome, result.reason
