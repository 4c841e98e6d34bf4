"""DeleteGroups: in which order its guards answer (KIP-229)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from zombieproof.model.decisions.delete_groups import decide_delete_group
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupEvent, Error, Row

LADDERS: dict[str, Any] = {
    "a group goes": (
        decide_delete_group,
        lambda: {
            "group": SimpleNamespace(known=False, dead=True, empty=False, generation=NONE),
            "transactions": 1,
            "rules": with_switches(Rules(), on=["deletion_waits_for_offsets"]),
        },
        (
            ("there is none", {}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("it is dead", {"group.known": True}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("it has members", {"group.dead": False}, Row.GROUP_IN_USE, Error.NON_EMPTY_GROUP, NOTHING),
            ("offsets are pending", {"group.empty": True}, Row.GROUP_IN_USE, Error.NON_EMPTY_GROUP, NOTHING),
            ("nothing is left", {"transactions": 0}, Row.GROUP_DELETED, Error.NONE, ClassicGroupEvent.DELETE),
        ),
    ),
}


def test_by_the_rules_of_every_release_pending_offsets_do_not_hold_their_group() -> None:
    group = SimpleNamespace(known=True, dead=False, empty=True, generation=NONE)
    for line in RELEASES:
        assert decide_delete_group(group, 1, preset(line)).event == ClassicGroupEvent.DELETE


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()
