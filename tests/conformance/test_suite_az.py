"""The interpreter of AZ reads other versions, errors and numbers, and sees what is not so."""

from typing import Any

import pytest

from tests.conformance.cases import Case
from tests.conformance.runner import Outcome, interpret

NOT_RUNNABLE, FAILED, MET = Outcome.NOT_RUNNABLE, Outcome.FAILED, Outcome.MET


def case(given: Any, when: Any, expect: Any) -> Case:
    return Case("AZ-901", "S", "AZ", "a case", "both", given, when, expect, "")


FENCED = {"coordinator_answers": "PRODUCER_FENCED"}
GROUP_LOADS = {"group_coordinator_answers": "COORDINATOR_LOAD_IN_PROGRESS"}
MARKERS = {"markers": "several pids over offsets and data partitions"}


@pytest.mark.parametrize(
    ("given", "when", "expect", "outcome"),
    [
        (FENCED, "EndTxn v0-1, and v2+", {"v0_v1": "INVALID_PRODUCER_EPOCH", "v2_and_later": "PRODUCER_FENCED"}, MET),
        (FENCED, "EndTxn v0-2, and v3+", {"v0_to_v2": "PRODUCER_FENCED", "v3_and_later": "PRODUCER_FENCED"}, FAILED),
        (FENCED, "EndTxn v0-1, and v2+", {"v0_v1": "INVALID_PRODUCER_EPOCH"}, NOT_RUNNABLE),
        (FENCED, "EndTxn v0-2, and v2+", {"v0_to_v2": "NONE", "v2_and_later": "NONE"}, NOT_RUNNABLE),
        (FENCED, "TxnOffsetCommit", {"error": "PRODUCER_FENCED"}, NOT_RUNNABLE),
        ({"coordinator_answers": "UNKNOWN_MEMBER_ID"}, "EndTxn", {"error": "UNKNOWN_MEMBER_ID"}, NOT_RUNNABLE),
        ({"coordinator_answers": "NOT_COORDINATOR"}, "EndTxn", {"error": "NOT_COORDINATOR"}, MET),
        ({"coordinator_answers": "NOT_COORDINATOR"}, "InitProducerId", {"error": "NOT_COORDINATOR"}, MET),
        (
            {"coordinator_answers": "COORDINATOR_LOAD_IN_PROGRESS"},
            "AddOffsetsToTxn, every version",
            {"error": "COORDINATOR_LOAD_IN_PROGRESS"},
            MET,
        ),
        (GROUP_LOADS, "TxnOffsetCommit", {"error": "COORDINATOR_LOAD_IN_PROGRESS"}, FAILED),
        ({"group_coordinator": "fails with NOT_COORDINATOR"}, "TxnOffsetCommit", {"each": "NOT_COORDINATOR"}, MET),
        ({}, "TxnOffsetCommit", {"needs": "a right"}, NOT_RUNNABLE),
        ({"topic": "3 partitions"}, "AddPartitionsToTxn partition 3", {"each": "UNKNOWN_TOPIC_OR_PARTITION"}, MET),
        ({"topic": "3 partitions"}, "AddPartitionsToTxn partition 2", {"each": "UNKNOWN_TOPIC_OR_PARTITION"}, FAILED),
        ({"hw": "above lso", "lso": 4}, "ListOffsets latest, read_committed", {"offset": "4 (the LSO)"}, MET),
        ({"hw": "above lso", "lso": 4}, "ListOffsets latest, read_uncommitted", {"offset": "4 (the LSO)"}, FAILED),
        ({"hw": 8, "lso": "lower"}, "ListOffsets latest, read_uncommitted", {"offset": "8 (the high watermark)"}, MET),
        ({"hw": 8, "lso": "lower"}, "ListOffsets latest, read_uncommitted", {"offset": "8 (the LSO)"}, FAILED),
        ({"hw": 8, "lso": 4}, "ListOffsets latest, read_committed", {"offset": "4 (the LSO)"}, NOT_RUNNABLE),
        ({"colour": "red"}, "InitProducerId with only one of pid and epoch set", {"error": "NONE"}, NOT_RUNNABLE),
        (MARKERS, "WriteTxnMarkers", {"reply": "every pid and partition once"}, NOT_RUNNABLE),
        ({"acl": "none"}, "WriteTxnMarkers", "ok", NOT_RUNNABLE),
    ],
)
def test_cases_with_other_values_are_judged_by_what_they_say(
    given: Any, when: Any, expect: Any, outcome: Outcome
) -> None:
    result = interpret(case(given, when, expect))
    assert result.outcome == outcome, result.reason
