"""ConsumerGroupHeartbeat: KIP-848 epochs, static members, and when the assignment follows (KIP-1263)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.consumer_group_heartbeat import assignment_is_due, decide_heartbeat, decide_shape
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NOTHING, Error, MembershipEvent, Row


def facts(**changes: int) -> Any:
    usual = {
        "group_is_there": True,
        "group_is_of_other_protocol": False,
        "members": 1,
        "most_members": 2,
        "member_is_known": True,
        "member_epoch": 5,
        "previous_epoch": 4,
        "owns_subset": True,
        "has_instance": False,
        "instance_is_known": True,
        "instance_is_this_member": True,
        "instance_epoch": 5,
        "pattern_is_valid": True,
    }
    return SimpleNamespace(**(usual | changes))


def shape(**changes: int) -> Any:
    usual = {
        "version": 0,
        "epoch": 0,
        "has_group_id": True,
        "has_member_id": True,
        "has_instance": True,
        "instance_is_empty": False,
        "subscribes": True,
        "begins": True,
        "assignor_is_known": True,
    }
    return SimpleNamespace(**(usual | changes))


BAD = (Row.NO_GROUP_ID, Error.INVALID_REQUEST, NOTHING)

LADDERS: dict[str, Any] = {
    "what a heartbeat says": (
        decide_shape,
        lambda: {
            "said": shape(
                version=1,
                epoch=-3,
                has_group_id=False,
                has_member_id=False,
                has_instance=False,
                instance_is_empty=True,
                subscribes=False,
                begins=False,
                assignor_is_known=False,
            )
        },
        (
            ("no group is named", {}, *BAD),
            ("an instance without a name", {"said.has_group_id": True}, *BAD),
            ("no member is named", {"said.instance_is_empty": False}, *BAD),
            ("an epoch that is none", {"said.has_member_id": True}, *BAD),
            ("a place of nobody", {"said.epoch": -2}, *BAD),
            ("a place without a member", {"said.has_instance": True, "said.has_member_id": False}, *BAD),
            ("the same where brokers give ids", {"said.version": 0}, *BAD),
            ("nobody leaves", {"said.epoch": -1}, *BAD),
            ("nobody stays", {"said.epoch": 1}, *BAD),
            ("nothing is read", {"said.epoch": 0}, *BAD),
            ("no time-out, or partitions", {"said.subscribes": True}, *BAD),
            ("an assignor of no broker", {"said.begins": True}, Row.UNKNOWN_ASSIGNOR, 112, NOTHING),
            ("nothing is wrong", {"said.assignor_is_known": True}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "a member joins": (
        decide_heartbeat,
        lambda: {
            "facts": facts(
                group_is_there=False,
                group_is_of_other_protocol=True,
                members=2,
                member_is_known=False,
                pattern_is_valid=False,
            ),
            "epoch": 0,
            "rules": Rules(),
        },
        (
            ("classic members are there", {}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("too many are there", {"facts.group_is_of_other_protocol": False}, Row.GROUP_FULL, 81, NOTHING),
            ("its pattern is none", {"facts.members": 1}, Row.BAD_PATTERN, 128, NOTHING),
            ("a new group", {"facts.pattern_is_valid": True}, Row.MEMBER_JOINS, 0, MembershipEvent.JOIN),
            ("a group that is", {"facts.group_is_there": True}, Row.MEMBER_JOINS, 0, MembershipEvent.JOIN),
            ("it is in", {"facts.member_is_known": True}, Row.MEMBER_IS_IN, 0, MembershipEvent.STAY),
            ("and all places taken", {"facts.members": 2}, Row.MEMBER_IS_IN, 0, MembershipEvent.STAY),
        ),
    ),
    "a static member joins": (
        decide_heartbeat,
        lambda: {
            "facts": facts(has_instance=True, instance_is_known=False, member_is_known=False, members=2),
            "epoch": 0,
            "rules": Rules(),
        },
        (
            ("too many are there", {}, Row.GROUP_FULL, Error.GROUP_MAX_SIZE_REACHED, NOTHING),
            ("another one has its place", {"facts.instance_is_known": True}, Row.UNRELEASED_INSTANCE, 111, NOTHING),
            ("so has it itself", {"facts.member_is_known": True}, Row.UNRELEASED_INSTANCE, 111, NOTHING),
            ("its place was left", {"facts.instance_epoch": -2}, Row.MEMBER_JOINS, 0, MembershipEvent.REPLACE),
            (
                "nobody has it",
                {"facts.instance_is_known": False, "facts.member_is_known": False, "facts.members": 1},
                Row.MEMBER_JOINS,
                0,
                MembershipEvent.JOIN,
            ),
            ("it becomes static", {"facts.member_is_known": True}, Row.MEMBER_IS_IN, 0, MembershipEvent.STAY),
        ),
    ),
    "a static member stays": (
        decide_heartbeat,
        lambda: {
            "facts": facts(has_instance=True, instance_is_known=False, instance_is_this_member=False),
            "epoch": 6,
            "rules": Rules(),
        },
        (
            ("nobody has its place", {}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("another one has", {"facts.instance_is_known": True}, Row.FENCED_INSTANCE, 82, NOTHING),
            ("ahead", {"facts.instance_is_this_member": True}, Row.OTHER_EPOCH, Error.FENCED_MEMBER_EPOCH, NOTHING),
            ("in its epoch", {"epoch": 5}, Row.MEMBER_IS_IN, Error.NONE, MembershipEvent.STAY),
            ("it goes for a while", {"epoch": -2}, Row.MEMBER_LEAVES, 0, MembershipEvent.LEAVE_PLACE),
            ("it goes", {"epoch": -1}, Row.MEMBER_LEAVES, 0, MembershipEvent.LEAVE),
            ("not another one", {"facts.instance_is_this_member": False}, Row.FENCED_INSTANCE, 82, NOTHING),
        ),
    ),
    "a member stays": (
        decide_heartbeat,
        lambda: {
            "facts": facts(
                group_is_there=False,
                group_is_of_other_protocol=True,
                member_is_known=False,
                owns_subset=False,
                members=2,
            ),
            "epoch": 6,
            "rules": Rules(),
        },
        (
            ("of another protocol", {}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("no group", {"facts.group_is_of_other_protocol": False}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("a full one", {"facts.group_is_there": True}, Row.GROUP_FULL, Error.GROUP_MAX_SIZE_REACHED, NOTHING),
            ("a stranger", {"facts.members": 1}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("ahead", {"facts.member_is_known": True}, Row.OTHER_EPOCH, Error.FENCED_MEMBER_EPOCH, NOTHING),
            ("two behind", {"epoch": 3}, Row.OTHER_EPOCH, Error.FENCED_MEMBER_EPOCH, NOTHING),
            ("one behind, with too much", {"epoch": 4}, Row.OTHER_EPOCH, Error.FENCED_MEMBER_EPOCH, NOTHING),
            ("one behind", {"facts.owns_subset": True}, Row.MEMBER_IS_IN, Error.NONE, MembershipEvent.STAY),
            ("in its epoch", {"epoch": 5, "facts.owns_subset": False}, Row.MEMBER_IS_IN, 0, MembershipEvent.STAY),
            ("anew", {"epoch": 0}, Row.MEMBER_IS_IN, Error.NONE, MembershipEvent.STAY),
        ),
    ),
    "a member leaves": (
        decide_heartbeat,
        lambda: {"facts": facts(group_is_there=False, member_is_known=False, members=2), "epoch": -1, "rules": Rules()},
        (
            ("no group", {}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("a stranger", {"facts.group_is_there": True}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("a member", {"facts.member_is_known": True}, Row.MEMBER_LEAVES, Error.NONE, MembershipEvent.LEAVE),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def test_who_left_its_place_is_no_member_any_more_until_somebody_takes_it() -> None:
    """Also with the epoch with which it went, which is older than any."""
    gone = facts(member_epoch=-2, previous_epoch=4)
    assert {decide_heartbeat(gone, epoch, Rules()).error for epoch in (0, 4, 5)} == {Error.FENCED_MEMBER_EPOCH}


@pytest.mark.parametrize(
    ("group_epoch", "assignment_epoch", "assigned_ms", "now_ms", "due"),
    [(2, -1, -1, 50, 1), (3, 2, 50, 1049, 0), (3, 2, 50, 1050, 1), (3, 2, 0, 999, 0), (2, 2, 50, 9999, 0)],
    ids=["the first", "too early", "late enough", "assigned at time 0", "nothing changed"],
)
def test_the_assignment_follows_once_in_an_interval(
    group_epoch: int, assignment_epoch: int, assigned_ms: int, now_ms: int, due: int
) -> None:
    assert assignment_is_due(group_epoch, assignment_epoch, assigned_ms, now_ms, 1000) == due
