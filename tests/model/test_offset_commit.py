"""OffsetCommit, OffsetDelete and the expiry of offsets: reference §4.1, §4.2, §4.5; KIP-211, KIP-496, KIP-848."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.group_members import Identity
from zombieproof.model.decisions.offset_commit import (
    decide_offset_commit,
    decide_plain_commit_to_consumer_group,
    error_of_offset_place,
)
from zombieproof.model.decisions.offset_delete import decide_offset_delete, decide_offset_expiry, group_may_go
from zombieproof.model.vocabulary import NONE, NOTHING, ClassicGroupState, Error, GroupEvent, Row


def sender(**facts: int) -> Any:
    return SimpleNamespace(**(Identity()._asdict() | facts))


LADDERS: dict[str, Any] = {
    "a plain commit to a classic group": (
        decide_offset_commit,
        lambda: {
            "group": SimpleNamespace(
                known=False, dead=True, empty=True, generation=4, state=ClassicGroupState.COMPLETING_REBALANCE
            ),
            "sender": sender(instance=1),
            "version": 9,
            "generation": 3,
        },
        (
            ("no such group", {}, Row.O3, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("asked by an older version", {"version": 8}, Row.O3, Error.ILLEGAL_GENERATION, NOTHING),
            ("the group is known", {"group.known": True}, Row.O4, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("and lives", {"group.dead": False}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the instance is", {"sender.instance_is_known": True}, Row.FENCED_INSTANCE, Error.FENCED_INSTANCE_ID, 0),
            ("it is this member", {"sender.instance_is_this_member": True}, Row.UNKNOWN_MEMBER, 25, NOTHING),
            ("which is in it", {"sender.member_is_known": True}, Row.WRONG_GENERATION, Error.ILLEGAL_GENERATION, 0),
            ("of this generation", {"generation": 4}, Row.REBALANCING, Error.REBALANCE_IN_PROGRESS, NOTHING),
            ("assigned", {"group.state": ClassicGroupState.STABLE}, Row.O6, Error.NONE, NOTHING),
            ("without a generation, nobody there", {"generation": NONE}, Row.O5, Error.NONE, NOTHING),
            ("somebody is there", {"group.empty": False}, Row.WRONG_GENERATION, Error.ILLEGAL_GENERATION, NOTHING),
            ("nobody is named", {"sender.instance": NONE}, Row.MEMBER_NOT_NAMED, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("and there is no such group", {"group.known": False}, Row.O3, Error.NONE, NOTHING),
        ),
    ),
    "a plain commit to a group of the consumer protocol": (
        decide_plain_commit_to_consumer_group,
        lambda: {
            "has_members": True,
            "member_is_known": False,
            "member_epoch": 4,
            "assignment_epoch": NONE,
            "version": 8,
            "generation": 5,
        },
        (
            ("a stranger", {}, Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("an older version", {"member_is_known": True}, Row.OTHER_PROTOCOL, Error.UNSUPPORTED_VERSION, NOTHING),
            ("ahead", {"version": 9}, Row.WRONG_GENERATION, Error.STALE_MEMBER_EPOCH, NOTHING),
            ("behind, not its partition", {"generation": 3}, Row.WRONG_GENERATION, Error.STALE_MEMBER_EPOCH, 0),
            ("its partition only since", {"assignment_epoch": 4}, Row.WRONG_GENERATION, 113, NOTHING),
            ("its partition then already", {"assignment_epoch": 3}, Row.O8, Error.NONE, NOTHING),
            ("of its epoch", {"generation": 4, "assignment_epoch": NONE}, Row.O8, Error.NONE, NOTHING),
            ("without an epoch", {"generation": NONE}, Row.WRONG_GENERATION, Error.STALE_MEMBER_EPOCH, NOTHING),
            ("and nobody is there", {"has_members": False, "member_is_known": False}, Row.O8, Error.NONE, NOTHING),
        ),
    ),
    "an offset is deleted": (
        decide_offset_delete,
        lambda: {
            "has_group_id": False,
            "group_is_known": False,
            "is_in_use": True,
            "reads_topic": True,
            "is_committed": False,
            "is_pending": False,
        },
        (
            ("no group is named", {}, Row.NO_GROUP_ID, Error.INVALID_GROUP_ID, NOTHING),
            ("there is none", {"has_group_id": True}, Row.NOT_KNOWN, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("it has classic members", {"group_is_known": True}, Row.SUBSCRIBED, Error.NON_EMPTY_GROUP, NOTHING),
            ("somebody reads it", {"is_in_use": False}, Row.SUBSCRIBED, Error.GROUP_SUBSCRIBED_TO_TOPIC, NOTHING),
            ("nobody does, nothing is there", {"reads_topic": False}, Row.OFFSET_DELETED, Error.NONE, NOTHING),
            ("one waits", {"is_pending": True}, Row.OFFSET_DELETED, Error.NONE, GroupEvent.TOMBSTONE),
            (
                "one is committed",
                {"is_pending": False, "is_committed": True},
                Row.OFFSET_DELETED,
                0,
                GroupEvent.TOMBSTONE,
            ),
        ),
    ),
    "an offset expires": (
        decide_offset_expiry,
        lambda: {
            "reads_topic": True,
            "committed_ms": 100,
            "until_ms": NONE,
            "now_ms": 199,
            "retention_ms": 100,
            "is_pending": True,
        },
        (
            ("somebody reads it", {}, Row.OFFSET_KEPT, Error.NONE, NOTHING),
            ("a transaction holds it", {"reads_topic": False}, Row.OFFSET_KEPT, Error.NONE, NOTHING),
            ("too young", {"is_pending": False}, Row.OFFSET_KEPT, Error.NONE, NOTHING),
            ("old enough", {"now_ms": 200}, Row.OFFSET_EXPIRED, Error.NONE, GroupEvent.TOMBSTONE),
            ("its commit has said longer", {"until_ms": 201}, Row.OFFSET_KEPT, Error.NONE, NOTHING),
            ("but not so long", {"until_ms": 200}, Row.OFFSET_EXPIRED, Error.NONE, GroupEvent.TOMBSTONE),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def test_generation_0_is_a_generation() -> None:
    empty = SimpleNamespace(
        known=True, dead=False, empty=True, generation=4, state=ClassicGroupState.EMPTY, is_consumer=False
    )
    verdict = decide_offset_commit(empty, sender(), 8, 0)
    assert (verdict.row, verdict.error) == (Row.UNKNOWN_MEMBER, Error.UNKNOWN_MEMBER_ID)
    absent = SimpleNamespace(
        known=False, dead=False, empty=True, generation=NONE, state=ClassicGroupState.EMPTY, is_consumer=False
    )
    assert decide_offset_commit(absent, sender(), 8, 0).error == Error.ILLEGAL_GENERATION
    assert decide_plain_commit_to_consumer_group(False, False, NONE, NONE, 9, 0).error == Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("members", "offsets_left", "pending", "may_go"), [(0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)]
)
def test_a_group_goes_when_nothing_holds_it(members: int, offsets_left: int, pending: int, may_go: int) -> None:
    assert group_may_go(members, offsets_left, pending) == may_go


def test_an_offset_needs_a_partition_and_where_ids_name_topics_one_of_a_topic() -> None:
    assert error_of_offset_place(True, True) == Error.NONE
    assert error_of_offset_place(False, True) == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert [error_of_offset_place(exists, False) for exists in (False, True)] == [Error.UNKNOWN_TOPIC_ID] * 2
