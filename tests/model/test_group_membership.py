"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: who may say what in which generation (KIP-345, KIP-394)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.group_members import Identity, decide_identity
from zombieproof.model.decisions.heartbeat import decide_classic_heartbeat, error_of_heartbeat_elsewhere
from zombieproof.model.decisions.join_group import (
    decide_join_group,
    decide_join_terms,
    has_room,
    knows_that_it_leads,
    rebalance_timeout_of,
)
from zombieproof.model.decisions.leave_group import decide_leave_group, is_of_the_whole_request
from zombieproof.model.decisions.sync_group import decide_sync_group, decide_sync_terms
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupEvent, ClassicGroupState, Error, Row

E, S = ClassicGroupEvent, ClassicGroupState


def group(**facts: int) -> Any:
    usual = {"known": True, "dead": False, "empty": False, "generation": 4, "state": S.STABLE, "is_consumer": False}
    return SimpleNamespace(**(usual | facts))


def sender(**facts: int) -> Any:
    return SimpleNamespace(**(Identity()._asdict() | facts))


WRONG = {"known": False, "dead": True, "is_consumer": True}

LADDERS: dict[str, Any] = {
    "terms of a member": (
        decide_join_terms,
        lambda: {"has_group_id": False, "session_timeout_ms": 9, "least_ms": 10, "most_ms": 5},
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_GROUP_ID, NOTHING),
            ("too short a session", {"has_group_id": True}, Row.SESSION_TIMEOUT, Error.INVALID_SESSION_TIMEOUT, 0),
            ("too long a session", {"least_ms": 9}, Row.SESSION_TIMEOUT, Error.INVALID_SESSION_TIMEOUT, NOTHING),
            ("as long as it may be", {"most_ms": 9}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "a member joins": (
        decide_join_group,
        lambda: {
            "group": group(**WRONG),
            "sender": sender(member=1, instance=1, is_pending=True, shares_protocol=False),
            "version": 5,
            "is_full": True,
        },
        (
            ("it speaks KIP-848", {}, Row.OTHER_PROTOCOL, Error.INCONSISTENT_GROUP_PROTOCOL, 0),
            ("but nobody is in it", {"group.empty": True}, Row.NOT_KNOWN, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the group exists", {"group.known": True}, Row.O4, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("and lives", {"group.dead": False}, Row.GROUP_FULL, Error.GROUP_MAX_SIZE_REACHED, NOTHING),
            ("there is room", {"is_full": False}, Row.OTHER_PROTOCOL, Error.INCONSISTENT_GROUP_PROTOCOL, NOTHING),
            ("all know an assignor", {"sender.shares_protocol": True}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
            ("the id was not given out", {"sender.is_pending": False}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, 0),
            ("the instance is", {"sender.instance_is_known": True}, Row.FENCED_INSTANCE, Error.FENCED_INSTANCE_ID, 0),
            ("it is this member", {"sender.instance_is_this_member": True}, Row.UNKNOWN_MEMBER, 25, NOTHING),
            ("a follower joins again", {"sender.member_is_known": True}, Row.MEMBER_IS_IN, Error.NONE, NOTHING),
            ("with news", {"sender.has_news": True}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
            ("without", {"sender.has_news": False}, Row.MEMBER_IS_IN, Error.NONE, NOTHING),
            ("the leader joins again", {"sender.is_leader": 1}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
            ("meanwhile", {"group.state": S.COMPLETING_REBALANCE}, Row.MEMBER_IS_IN, Error.NONE, NOTHING),
            ("is waited for", {"group.state": S.PREPARING_REBALANCE}, Row.MEMBER_JOINS, 0, E.REBALANCE),
            ("as everybody is", {"sender.is_leader": 0}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
        ),
    ),
    "somebody new joins": (
        decide_join_group,
        lambda: {
            "group": group(state=S.COMPLETING_REBALANCE),
            "sender": sender(instance=1, instance_is_known=True),
            "version": 4,
        },
        (
            ("as an instance that is being moved", {}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
            ("that has its place", {"group.state": S.STABLE}, Row.MEMBER_IS_IN, Error.NONE, NOTHING),
            ("with another assignor", {"sender.changes_protocol": True}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
            ("that is new", {"sender.instance_is_known": False}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
            ("as nobody", {"sender.instance": NONE}, Row.MEMBER_ID_FIRST, Error.MEMBER_ID_REQUIRED, NOTHING),
            ("by an older version", {"version": 3}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
            ("the group is made", {"group.known": False}, Row.MEMBER_JOINS, Error.NONE, E.REBALANCE),
        ),
    ),
    "a member asks for its assignment": (
        decide_sync_group,
        lambda: {
            "group": group(**WRONG, state=S.PREPARING_REBALANCE),
            "sender": sender(member=1, instance=1, shares_protocol=False),
            "generation": 3,
            "has_group_id": False,
        },
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_GROUP_ID, NOTHING),
            ("there is none", {"has_group_id": True}, Row.NOT_KNOWN, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("it speaks KIP-848", {"group.known": True}, Row.OTHER_PROTOCOL, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the classic one", {"group.is_consumer": False}, Row.O4, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("and lives", {"group.dead": False}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the instance is", {"sender.instance_is_known": True}, Row.FENCED_INSTANCE, Error.FENCED_INSTANCE_ID, 0),
            ("it is this member", {"sender.instance_is_this_member": True}, Row.UNKNOWN_MEMBER, 25, NOTHING),
            ("which is in it", {"sender.member_is_known": True}, Row.WRONG_GENERATION, Error.ILLEGAL_GENERATION, 0),
            ("of this generation", {"generation": 4}, Row.OTHER_PROTOCOL, Error.INCONSISTENT_GROUP_PROTOCOL, 0),
            ("by its assignor", {"sender.shares_protocol": True}, Row.REBALANCING, Error.REBALANCE_IN_PROGRESS, 0),
            ("when it is stable", {"group.state": S.STABLE}, Row.MEMBER_IS_IN, Error.NONE, NOTHING),
            ("too early", {"group.state": S.COMPLETING_REBALANCE}, Row.MEMBER_WAITS, Error.NONE, NOTHING),
            ("as the leader", {"sender.is_leader": 1}, Row.LEADER_ASSIGNS, Error.NONE, E.ASSIGN),
        ),
    ),
    "a member leaves": (
        decide_leave_group,
        lambda: {
            "group": group(**WRONG),
            "sender": sender(instance=1, is_pending=True),
            "has_group_id": False,
            "rules": Rules(),
        },
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_GROUP_ID, NOTHING),
            ("there is none", {"has_group_id": True}, Row.NOT_KNOWN, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("it speaks KIP-848", {"group.known": True}, Row.OTHER_PROTOCOL, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the classic one", {"group.is_consumer": False}, Row.O4, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("and lives", {"group.dead": False}, Row.MEMBER_NOT_NAMED, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("that had an id only", {"sender.member": 1}, Row.MEMBER_LEAVES, Error.NONE, E.REBALANCE),
            ("or not even that", {"sender.is_pending": False}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the instance is", {"sender.instance_is_known": True}, Row.FENCED_INSTANCE, Error.FENCED_INSTANCE_ID, 0),
            ("it is this member", {"sender.instance_is_this_member": True}, Row.UNKNOWN_MEMBER, 25, NOTHING),
            ("which is in it", {"sender.member_is_known": True}, Row.MEMBER_LEAVES, Error.NONE, E.REBALANCE),
        ),
    ),
    "a static instance is taken out": (
        decide_leave_group,
        lambda: {"group": group(), "sender": sender(instance=1), "has_group_id": True, "rules": Rules()},
        (
            ("which is unknown", {}, Row.MEMBER_NOT_NAMED, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("which is in", {"sender.instance_is_known": True}, Row.MEMBER_LEAVES, Error.NONE, E.REBALANCE),
        ),
    ),
    "a member is alive": (
        decide_classic_heartbeat,
        lambda: {
            "group": group(**WRONG),
            "sender": sender(member=1, instance=1),
            "generation": 3,
            "has_group_id": False,
        },
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_GROUP_ID, NOTHING),
            ("there is none", {"has_group_id": True}, Row.NOT_KNOWN, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("it speaks KIP-848", {"group.known": True}, Row.OTHER_PROTOCOL, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the classic one", {"group.is_consumer": False}, Row.O4, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("and lives", {"group.dead": False}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the instance is", {"sender.instance_is_known": True}, Row.FENCED_INSTANCE, Error.FENCED_INSTANCE_ID, 0),
            ("it is this member", {"sender.instance_is_this_member": True}, Row.UNKNOWN_MEMBER, 25, NOTHING),
            ("which is in it", {"sender.member_is_known": True}, Row.WRONG_GENERATION, Error.ILLEGAL_GENERATION, 0),
            ("of this generation", {"generation": 4}, Row.MEMBER_IS_IN, Error.NONE, NOTHING),
            ("is to join again", {"group.state": S.PREPARING_REBALANCE}, Row.REBALANCING, 27, NOTHING),
            ("whose assignment is awaited", {"group.state": S.COMPLETING_REBALANCE}, Row.MEMBER_IS_IN, 0, NOTHING),
        ),
    ),
    "who a sender is": (
        decide_identity,
        lambda: {"sender": sender(instance=1)},
        (
            ("an unknown instance", {}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("of somebody else", {"sender.instance_is_known": True}, Row.FENCED_INSTANCE, Error.FENCED_INSTANCE_ID, 0),
            ("its own, but not in", {"sender.instance_is_this_member": True}, Row.UNKNOWN_MEMBER, 25, NOTHING),
            ("in", {"sender.member_is_known": True}, Row.NO_ROW, Error.NONE, NOTHING),
            ("without an instance", {"sender.instance": NONE}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
}


def test_an_error_about_the_group_is_that_of_the_whole_request() -> None:
    """From LeaveGroup 3 on each member has an error of its own; these two stand alone."""
    own = (Error.NONE, Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID)
    assert not any(is_of_the_whole_request(error) for error in own)
    assert is_of_the_whole_request(Error.INVALID_GROUP_ID)
    assert is_of_the_whole_request(Error.COORDINATOR_NOT_AVAILABLE)


def test_a_static_leader_knows_of_it_since_version_9() -> None:
    assert [knows_that_it_leads(version) for version in (8, 9)] == [False, True]


def test_a_coordinator_that_reads_its_log_takes_members_for_alive() -> None:
    assert error_of_heartbeat_elsewhere(Error.COORDINATOR_LOAD_IN_PROGRESS) == Error.NONE
    assert error_of_heartbeat_elsewhere(Error.NOT_COORDINATOR) == Error.NOT_COORDINATOR


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


@pytest.mark.parametrize(
    ("state", "is_member", "awaits", "members", "awaiting", "room"),
    [
        (S.EMPTY, False, False, 9, 9, True),
        (S.DEAD, False, False, 9, 9, True),
        (S.PREPARING_REBALANCE, True, False, 2, 1, True),
        (S.PREPARING_REBALANCE, True, False, 2, 2, False),
        (S.PREPARING_REBALANCE, True, True, 2, 2, True),
        (S.COMPLETING_REBALANCE, False, False, 1, 0, True),
        (S.COMPLETING_REBALANCE, False, False, 2, 0, False),
        (S.STABLE, True, False, 2, 0, True),
        (S.STABLE, False, False, 2, 0, False),
    ],
)
def test_a_group_has_room_for_those_who_are_in_and_for_so_many(
    state: ClassicGroupState, is_member: bool, awaits: bool, members: int, awaiting: int, room: bool
) -> None:
    assert has_room(state, is_member, awaits, members, awaiting, 2) == room


def test_a_member_that_syncs_says_what_its_protocol_is() -> None:
    assert decide_sync_terms(4, False).error == Error.NONE
    assert decide_sync_terms(5, True).error == Error.NONE
    assert decide_sync_terms(5, False).error == Error.INCONSISTENT_GROUP_PROTOCOL


def test_others_wait_as_long_as_a_session_for_who_does_not_say_it() -> None:
    assert rebalance_timeout_of(0, 10, 20) == 10
    assert rebalance_timeout_of(1, 10, 20) == 20
