"""What a member of a consumer group has on its way to what it shall have, and when it is removed."""

from collections.abc import Callable
from typing import Any

from zombieproof.model.decisions.consumer_group_reconciliation import decide_time
from zombieproof.model.vocabulary import NOTHING, Error, MembershipEvent, Row

GONE = MembershipEvent.LEAVE

LADDERS: dict[str, Any] = {
    "times of a member": (
        decide_time,
        lambda: {"session_until_ms": 5, "revoke_until_ms": 5, "now_ms": 5},
        (
            ("silent for too long", {}, Row.SESSION_TIMEOUT, Error.NONE, GONE),
            ("it keeps what it shall not", {"session_until_ms": 6}, Row.REBALANCE_TIMEOUT, Error.NONE, GONE),
            ("the same without a session", {"session_until_ms": -1}, Row.REBALANCE_TIMEOUT, Error.NONE, GONE),
            ("not yet", {"revoke_until_ms": 6}, Row.NO_ROW, Error.NONE, NOTHING),
            ("never", {"revoke_until_ms": -1}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()
