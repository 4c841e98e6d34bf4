"""Marker delivery and completion: reference §2.12."""

from collections.abc import Callable
from typing import Any

import pytest

from zombieproof.model.decisions.marker_delivery import (
    MarkerOutcome,
    Route,
    decide_completion,
    judge_marker_answer,
    judge_standing,
    route_marker,
    version_of_write_txn_markers,
)
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NOTHING, Error, Row, TransactionState
from zombieproof.model.vocabulary import CoordinatorEvent as E

LADDERS: dict[str, Any] = {
    "completion": (
        decide_completion,
        lambda: {
            "txn": Transaction(
                known=False,
                state=TransactionState.PREPARE_COMMIT,
                producer_id=4000,
                producer_epoch=7,
                partitions=0b0001,
            ),
            "lookup_error": Error.NOT_COORDINATOR,
            "is_same_coordinator_epoch": 0,
            "rules": Rules(),
        },
        (
            ("a marker is missing", {}, Row.C1, Error.NONE, NOTHING),
            ("none is missing", {"txn.partitions": 0}, Row.C2, Error.NOT_COORDINATOR, NOTHING),
            ("still the coordinator", {"lookup_error": 0}, Row.C3, Error.UNKNOWN_SERVER_ERROR, NOTHING),
            ("the id is known", {"txn.known": True}, Row.C4, Error.NOT_COORDINATOR, NOTHING),
            ("in the same epoch", {"is_same_coordinator_epoch": 1}, Row.C5, Error.NONE, E.MARKERS_WRITTEN),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def test_the_completion_keeps_what_completion_of_says() -> None:
    txn = Transaction(known=True, state=3, producer_id=4000, next_producer_id=6000, producer_epoch=32767)
    txn.client_transaction_version = 2
    verdict = decide_completion(txn, 0, True, Rules())
    assert (verdict.producer_id, verdict.producer_epoch, verdict.next_producer_id) == (6000, 0, -1)


def test_without_the_rule_a_transaction_completes_while_markers_are_missing() -> None:
    txn = Transaction(known=True, state=3, producer_id=4000, partitions=1)
    assert decide_completion(txn, 0, True, with_switches(Rules(), off=["markers_before_completion"])).row == Row.C5


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        *[(error, MarkerOutcome.WRITTEN) for error in (0, 43, 35)],
        *[(error, MarkerOutcome.RETRY) for error in (3, 6, 19, 20, 7, 56)],
        *[(error, MarkerOutcome.FORGET) for error in (47, 52)],
        *[(error, MarkerOutcome.INTERNAL_ERROR) for error in (2, 10, 18, 21, 48, -1)],
    ],
)
def test_what_an_answer_to_a_marker_means(error: int, outcome: MarkerOutcome) -> None:
    assert judge_marker_answer(error) == outcome


@pytest.mark.parametrize(
    ("topic_exists", "leader_is_live", "route"),
    [(True, True, Route.SEND), (False, True, Route.SEND), (True, False, Route.WAIT), (False, False, Route.SKIP)],
)
def test_a_marker_waits_for_a_leader_unless_the_topic_is_gone(
    topic_exists: bool, leader_is_live: bool, route: Route
) -> None:
    assert route_marker(topic_exists, leader_is_live, Rules()) == route


def test_kafka_4_3_1_skips_the_marker_of_a_partition_without_a_leader() -> None:
    assert route_marker(True, False, with_switches(Rules(), off=["marker_waits_for_leader"])) == Route.SKIP


@pytest.mark.parametrize(
    ("lookup_error", "known", "is_same_coordinator_epoch", "outcome"),
    [
        (Error.NOT_COORDINATOR, False, False, MarkerOutcome.FORGET),
        (Error.COORDINATOR_LOAD_IN_PROGRESS, False, False, MarkerOutcome.FORGET),
        (Error.NONE, False, False, MarkerOutcome.INTERNAL_ERROR),
        (Error.NONE, True, False, MarkerOutcome.FORGET),
        (Error.NONE, True, True, MarkerOutcome.WRITTEN),
    ],
)
def test_an_answer_counts_only_for_the_coordinator_that_asked(
    lookup_error: int, known: bool, is_same_coordinator_epoch: bool, outcome: MarkerOutcome
) -> None:
    assert judge_standing(lookup_error, known, is_same_coordinator_epoch) == outcome


def test_markers_carry_their_transaction_version_since_kip_1228() -> None:
    assert version_of_write_txn_markers(Rules()) == 2
    assert version_of_write_txn_markers(with_switches(Rules(), off=["marker_strict"])) == 1
