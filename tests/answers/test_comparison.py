"""What is compared of an answer, and which decision gave it."""

from typing import Any

from zombieproof.broker.cluster.journal import Decided
from zombieproof.conformance.comparison import answering, canonical, errors_in
from zombieproof.model.vocabulary import Row

Json = dict[str, Any]


def test_order_and_remarks_say_nothing_but_values_do() -> None:
    one: Json = {"partitions": [["t0", 1, 0], ["t0", 0, 3]], "_message": "text"}
    assert canonical(one, 2) == canonical({"partitions": [["t0", 0, 3], ["t0", 1, 0]]}, 2)
    assert canonical(one, 2) != canonical({"partitions": [["t0", 0, 0], ["t0", 1, 3]]}, 2)
    assert canonical({"batches": [1, 2]}, 2) != canonical({"batches": [2, 1]}, 2)
    assert canonical({"started": True}, 2) != canonical({"started": 1}, 2)
    assert canonical({"started": True}, 2) == canonical({"started": True}, 2)


def test_an_offsets_partition_is_its_number_under_any_name() -> None:
    named: list[Json] = [{"partitions": [["__consumer_offsets", name, 0]]} for name in ("g1", "g3", 1)]
    assert canonical(named[0], 2) == canonical(named[1], 2) == canonical(named[2], 2)
    assert canonical(named[0], 3) != canonical(named[1], 3)
    rows: list[Json] = [{"partitions": [{"topic": "__consumer_offsets", "partition": name}]} for name in ("", "g0", 0)]
    assert canonical(rows[0], 2) == canonical(rows[1], 2) == canonical(rows[2], 2)
    assert canonical({"partitions": [["t0", "g1", 0]]}, 2) != canonical({"partitions": [["t0", 1, 0]]}, 2)
    assert canonical({"partitions": [["__consumer_offsets", "other", 0]]}, 2) != canonical(named[2], 2)


def test_errors_are_found_wherever_they_stand() -> None:
    assert errors_in({"error": 51, "pid": 90}) == {51}
    assert errors_in({"partitions": [["t0", 0, 3], ["t0", 1, 55]]}) == {3, 55}
    assert errors_in({"error": 0, "transactions": [{"partitions": [["t0", 0, 49]]}, {"error": 105}]}) == {0, 49, 105}
    assert errors_in({"partitions": [{"topic": "t0", "error": 7, "aborted": [["p0", 14]]}]}) == {7}
    assert errors_in({"closed": True}) == set()


def test_the_decision_that_answered_is_named() -> None:
    look_up = Decided("find_coordinator", Row.L1, 16, "x0")
    refused = Decided("end_txn", Row.E4, 90, "x0")
    agreed = Decided("end_txn", Row.E6, 0, "x0")
    marker = Decided("marker_delivery", Row.C1, 0, "x0")
    assert answering("EndTxn", [agreed, marker], {0}) == agreed
    assert answering("EndTxn", [refused, marker], {90}) == refused
    assert answering("EndTxn", [refused, marker], {47}) == refused
    assert answering("EndTxn", [look_up, agreed], {16}) == look_up
    assert answering("Wait", [agreed, marker], {0}) == marker
    assert answering("Fetch", [], {0}) is None
