"""FindCoordinator and the look-up before every coordinator operation: reference §2.5."""

from collections.abc import Callable
from typing import Any

from zombieproof.model.decisions.find_coordinator import decide_find_coordinator, decide_lookup
from zombieproof.model.vocabulary import NOTHING, Error, Row

LADDERS: dict[str, Any] = {
    "somebody to ask": (
        decide_find_coordinator,
        lambda: {"topic_exists": 0, "leader_is_live": 0},
        (
            ("no internal topic", {}, Row.NO_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("no leader", {"topic_exists": 1}, Row.NO_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("a leader", {"leader_is_live": 1}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "look-up": (
        decide_lookup,
        lambda: {"is_loading": 1, "is_coordinator": 0},
        (
            ("the partition is being loaded", {}, Row.L1, Error.COORDINATOR_LOAD_IN_PROGRESS, NOTHING),
            ("somebody else leads it", {"is_loading": 0}, Row.L2, Error.NOT_COORDINATOR, NOTHING),
            ("here", {"is_coordinator": 1}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()
