"""DeleteGroups: in which order its guards answer (KIP-229)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from zombieproof.model.decisions.delete_groups import decide_delete_group
from zombieproof.model.vocabulary import NOTHING, ClassicGroupEvent, Error, Row

LADDERS: dict[str, Any] = {
    "a group goes": (
        decide_delete_group,
        lambda: {"group": SimpleNamespace(known=False, dead=True, empty=False)},
        (
            ("there is none", {}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("it is dead", {"group.known": True}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("it has members", {"group.dead": False}, Row.GROUP_IN_USE, Error.NON_EMPTY_GROUP, NOTHING),
            ("it has none", {"group.empty": True}, Row.GROUP_DELETED, Error.NONE, ClassicGroupEvent.DELETE),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()
