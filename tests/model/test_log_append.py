"""The append of a coordinator to its log: reference §2.6."""

from collections.abc import Callable
from typing import Any

import pytest

from zombieproof.model.decisions.log_append import (
    Aftermath,
    decide_append_outcome,
    decide_log_append,
    error_of_append,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NOTHING, Error, Row, TransactionVersion

LADDERS: dict[str, Any] = {
    "before the append": (
        decide_log_append,
        lambda: {
            "client_transaction_version": TransactionVersion.TV2,
            "lookup_error": Error.COORDINATOR_LOAD_IN_PROGRESS,
            "known": False,
            "is_same_coordinator_epoch": 0,
            "rules": Rules(transaction_version=TransactionVersion.TV0),
        },
        (
            ("a TV2 record on a TV0 cluster", {}, Row.NOT_WRITABLE, Error.UNSUPPORTED_VERSION, NOTHING),
            ("a cluster that can hold it", {"rules.transaction_version": 1}, Row.G1, 14, NOTHING),
            ("not loading", {"lookup_error": Error.NONE}, Row.G2, Error.NOT_COORDINATOR, NOTHING),
            ("the id is known", {"known": True}, Row.G3, Error.NOT_COORDINATOR, NOTHING),
            ("in the same coordinator epoch", {"is_same_coordinator_epoch": 1}, Row.G4, Error.NONE, NOTHING),
            ("a TV0 record on a TV0 cluster", {"rules.transaction_version": 0, "client_transaction_version": 0},
             Row.G4, Error.NONE, NOTHING),
        ),
    ),
}  # fmt: skip


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.mark.parametrize(
    ("error", "told"),
    [(0, 0), (3, 15), (19, 15), (20, 15), (7, 15), (6, 16), (56, 16), (10, -1), (18, -1), (35, 35), (2, 2)],
)
def test_the_operation_is_told_a_coordinators_error(error: int, told: int) -> None:
    assert error_of_append(Error(error)) == Error(told)


@pytest.mark.parametrize(
    ("error", "lookup_error", "known", "is_same_coordinator_epoch", "retries", "outcome"),
    [
        (0, 0, True, True, False, (Aftermath.COMPLETE, Error.NONE)),
        (0, 14, True, True, False, (Aftermath.LEAVE_ALONE, Error.COORDINATOR_LOAD_IN_PROGRESS)),
        (0, 16, True, True, False, (Aftermath.LEAVE_ALONE, Error.NOT_COORDINATOR)),
        (0, 0, False, True, False, (Aftermath.LEAVE_ALONE, Error.NOT_COORDINATOR)),
        (0, 0, True, False, False, (Aftermath.LEAVE_ALONE, Error.NOT_COORDINATOR)),
        (15, 0, True, True, True, (Aftermath.KEEP_PENDING, Error.COORDINATOR_NOT_AVAILABLE)),
        (15, 0, True, True, False, (Aftermath.GIVE_UP, Error.COORDINATOR_NOT_AVAILABLE)),
        (16, 0, True, True, True, (Aftermath.GIVE_UP, Error.NOT_COORDINATOR)),
        (-1, 0, True, True, True, (Aftermath.GIVE_UP, Error.UNKNOWN_SERVER_ERROR)),
        (15, 0, True, False, True, (Aftermath.LEAVE_ALONE, Error.COORDINATOR_NOT_AVAILABLE)),
        (15, 0, False, True, True, (Aftermath.LEAVE_ALONE, Error.COORDINATOR_NOT_AVAILABLE)),
        (-1, 16, True, True, False, (Aftermath.LEAVE_ALONE, Error.UNKNOWN_SERVER_ERROR)),
    ],
)
def test_memory_follows_the_log_only_where_the_coordinator_is_still_the_same(
    error: int, lookup_error: int, known: bool, is_same_coordinator_epoch: bool, retries: bool, outcome: tuple[int, int]
) -> None:
    decided = decide_append_outcome(error, lookup_error, known, is_same_coordinator_epoch, retries, Rules())
    assert decided == outcome
