"""FindCoordinator and the look-up before every coordinator operation: reference §2.5."""

from collections.abc import Callable
from typing import Any

from zombieproof.model.decisions.find_coordinator import decide_find_coordinator, decide_lookup
from zombieproof.model.vocabulary import NOTHING, Error, Guard

LADDERS: dict[str, Any] = {
    "somebody to ask": (
        decide_find_coordinator,
        lambda: {"topic_exists": 0, "leader_is_live": 0},
        (
            ("no internal topic", {}, Guard.NO_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("no leader", {"topic_exists": 1}, Guard.NO_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("a leader", {"leader_is_live": 1}, Guard.NO_GUARD, Error.NONE, NOTHING),
        ),
    ),
    "look-up": (
        decide_lookup,
        lambda: {"is_loading": 1, "is_coordinator": 0},
        (
            ("the partition is being loaded", {}, Guard.L1, Error.COORDINATOR_LOAD_IN_PROGRESS, NOTHING),
            ("somebody else leads it", {"is_loading": 0}, Guard.L2, Error.NOT_COORDINATOR, NOTHING),
            ("here", {"is_coordinator": 1}, Guard.NO_GUARD, Error.NONE, NOTHING),
        ),
    ),
}


def test_guards_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()
