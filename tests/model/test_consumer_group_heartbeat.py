"""ConsumerGroupHeartbeat: KIP-848 epochs, and when the assignment follows (KIP-1263)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.consumer_group_heartbeat import assignment_is_due, decide_heartbeat
from zombieproof.model.vocabulary import NOTHING, Error, MembershipEvent, Row


def facts(**changes: int) -> Any:
    usual = {
        "has_group_id": 1,
        "has_member_id": 1,
        "names_topics": 1,
        "group_is_there": 1,
        "group_is_of_other_protocol": 0,
        "member_is_known": 1,
        "member_epoch": 5,
        "previous_epoch": 4,
    }
    return SimpleNamespace(**(usual | changes))


LADDERS: dict[str, Any] = {
    "a member joins": (
        decide_heartbeat,
        lambda: {
            "facts": facts(
                has_group_id=0,
                has_member_id=0,
                names_topics=0,
                group_is_there=0,
                group_is_of_other_protocol=1,
                member_is_known=0,
            ),
            "epoch": 0,
        },
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("no topic is named", {"facts.has_group_id": 1}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("classic members are there", {"facts.names_topics": 1}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, 0),
            ("a new group", {"facts.group_is_of_other_protocol": 0}, Row.MEMBER_JOINS, 0, MembershipEvent.JOIN),
            ("a group that is", {"facts.group_is_there": 1}, Row.MEMBER_JOINS, 0, MembershipEvent.JOIN),
        ),
    ),
    "a member stays": (
        decide_heartbeat,
        lambda: {
            "facts": facts(
                has_group_id=0, has_member_id=0, group_is_there=0, group_is_of_other_protocol=1, member_is_known=0
            ),
            "epoch": 6,
        },
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("nobody is named", {"facts.has_group_id": 1}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("of another protocol", {"facts.has_member_id": 1}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("no group", {"facts.group_is_of_other_protocol": 0}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("a stranger", {"facts.group_is_there": 1}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("ahead", {"facts.member_is_known": 1}, Row.OTHER_EPOCH, Error.FENCED_MEMBER_EPOCH, NOTHING),
            ("two behind", {"epoch": 3}, Row.OTHER_EPOCH, Error.FENCED_MEMBER_EPOCH, NOTHING),
            ("one behind", {"epoch": 4}, Row.MEMBER_IS_IN, Error.NONE, MembershipEvent.STAY),
            ("in its epoch", {"epoch": 5}, Row.MEMBER_IS_IN, Error.NONE, MembershipEvent.STAY),
        ),
    ),
    "a member leaves": (
        decide_heartbeat,
        lambda: {"facts": facts(has_member_id=0, group_is_there=0, member_is_known=0), "epoch": -2},
        (
            ("for a while", {}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("without a name", {"epoch": -1}, Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING),
            ("no group", {"facts.has_member_id": 1}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("a stranger", {"facts.group_is_there": 1}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("a member", {"facts.member_is_known": 1}, Row.MEMBER_LEAVES, Error.NONE, MembershipEvent.LEAVE),
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
