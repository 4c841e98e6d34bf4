"""ConsumerGroupHeartbeat: KIP-848 epochs, and when the assignment follows (KIP-1263)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.consumer_group_heartbeat import assignment_is_due, decide_heartbeat
from zombieproof.model.vocabulary import NOTHING, Error, MembershipEvent, Row


def facts(**changes: int) -> Any:
    usual = {
        "has_group_id": True,
        "has_member_id": True,
        "names_topics": True,
        "group_is_there": True,
        "group_is_of_other_protocol": False,
        "member_is_known": True,
        "member_epoch": 5,
        "previous_epoch": 4,
    }
    return SimpleNamespace(**(usual | changes))


LADDERS: dict[str, Any] = {
    "a member joins": (
        decide_heartbeat,
        lambda: {
            "facts": facts(
                has_group_id=False,
                has_member_id=False,
                names_topics=False,
                group_is_there=False,
                group_is_of_other_protocol=True,
                member_is_known=False,
            ),
            "epoch": 0,
        },
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("no topic is named", {"facts.has_group_id": True}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("classic members are there", {"facts.names_topics": True}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, 0),
            ("a new group", {"facts.group_is_of_other_protocol": False}, Row.MEMBER_JOINS, 0, MembershipEvent.JOIN),
            ("a group that is", {"facts.group_is_there": True}, Row.MEMBER_JOINS, 0, MembershipEvent.JOIN),
        ),
    ),
    "a member stays": (
        decide_heartbeat,
        lambda: {
            "facts": facts(
                has_group_id=False,
                has_member_id=False,
                group_is_there=False,
                group_is_of_other_protocol=True,
                member_is_known=False,
            ),
            "epoch": 6,
        },
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("nobody is named", {"facts.has_group_id": True}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("of another protocol", {"facts.has_member_id": True}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("no group", {"facts.group_is_of_other_protocol": False}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("a stranger", {"facts.group_is_there": True}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("ahead", {"facts.member_is_known": True}, Row.OTHER_EPOCH, Error.FENCED_MEMBER_EPOCH, NOTHING),
            ("two behind", {"epoch": 3}, Row.OTHER_EPOCH, Error.FENCED_MEMBER_EPOCH, NOTHING),
            ("one behind", {"epoch": 4}, Row.MEMBER_IS_IN, Error.NONE, MembershipEvent.STAY),
            ("in its epoch", {"epoch": 5}, Row.MEMBER_IS_IN, Error.NONE, MembershipEvent.STAY),
        ),
    ),
    "a member leaves": (
        decide_heartbeat,
        lambda: {"facts": facts(has_member_id=False, group_is_there=False, member_is_known=False), "epoch": -2},
        (
            ("for a while", {}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("without a name", {"epoch": -1}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("no group", {"facts.has_member_id": True}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("a stranger", {"facts.group_is_there": True}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("a member", {"facts.member_is_known": True}, Row.MEMBER_LEAVES, Error.NONE, MembershipEvent.LEAVE),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.mark.parametrize(
    ("group_epoch", "assignment_epoch", "assigned_ms", "now_ms", "due"),
    [(2, -1, -1, 50, 1), (3, 2, 50, 1049, 0), (3, 2, 50, 1050, 1), (3, 2, 0, 999, 0), (2, 2, 50, 9999, 0)],
    ids=["the first", "too early", "late enough", "assigned at time 0", "nothing changed"],
)
def test_the_assignment_follows_once_in_an_interval(
    group_epoch: int, assignment_epoch: int, assigned_ms: int, now_ms: int, due: int
) -> None:
    assert assignment_is_due(group_epoch, assignment_epoch, assigned_ms, now_ms, 1000) == due
