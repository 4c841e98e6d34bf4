"""TxnOffsetCommit and the offsets that wait for a marker: reference §4.1 to §4.4."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.txn_offset_commit import (
    answer_to_marker,
    decide_commit_to_consumer_group,
    decide_metadata_size,
    decide_refused_append,
    decide_txn_offset_commit,
    decide_txn_offset_commit_front_door,
    evolve_offsets_marker,
    evolve_pending,
    evolve_taken_back,
    evolve_tombstone,
)
from zombieproof.model.records import GroupOffset, PendingOffset
from zombieproof.model.rules import Rules, preset_for, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, Error, PendingOffsetsState, Row
from zombieproof.model.vocabulary import GroupEvent as E

COMMITS = E.TXN_OFFSET_COMMIT


def group(**facts: int) -> Any:
    return SimpleNamespace(**({"known": True, "dead": False, "empty": False, "generation": 4} | facts))


def request(version: int = 5, generation: int = NONE, member: int = NONE, instance: int = NONE) -> Any:
    return SimpleNamespace(version=version, generation=generation, member=member, instance=instance)


def nothing_right() -> dict[str, Any]:
    return {
        "group": group(known=False, dead=True, empty=True),
        "request": request(6, generation=3, member=1, instance=1),
        "member_is_known": False,
        "instance_is_known": False,
        "instance_is_this_member": False,
        "rules": Rules(),
    }


LADDERS: dict[str, Any] = {
    "front door": (
        decide_txn_offset_commit_front_door,
        lambda: {"is_active": False, "has_group_id": False},
        (
            ("the coordinator starts or stops", {}, Row.O1, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("no group", {"is_active": True}, Row.O1, Error.INVALID_GROUP_ID, NOTHING),
            ("a group", {"has_group_id": True}, Row.NO_ROW, Error.NONE, NOTHING),
        ),
    ),
    "a classic group": (
        decide_txn_offset_commit,
        nothing_right,
        (
            ("no such group", {}, Row.O3, Error.GROUP_ID_NOT_FOUND, NOTHING),
            ("asked by an older version", {"request.version": 5}, Row.O3, Error.ILLEGAL_GENERATION, NOTHING),
            ("the group is known", {"group.known": True}, Row.O4, Error.COORDINATOR_NOT_AVAILABLE, NOTHING),
            ("and lives", {"group.dead": False}, Row.O6, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the instance is known", {"instance_is_known": True}, Row.O6, Error.FENCED_INSTANCE_ID, NOTHING),
            ("and is this member", {"instance_is_this_member": True}, Row.O6, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("the member is known", {"member_is_known": True}, Row.O6, Error.ILLEGAL_GENERATION, NOTHING),
            ("of the present generation", {"request.generation": 4}, Row.O6, Error.NONE, COMMITS),
            ("without a generation, nobody there", {"request.generation": NONE}, Row.O5, Error.NONE, COMMITS),
            ("somebody is there", {"group.empty": False}, Row.O6, Error.ILLEGAL_GENERATION, NOTHING),
            ("nothing is said of a member", {"request.member": NONE, "request.instance": NONE}, Row.O7, 0, COMMITS),
            ("and there is no such group", {"group.known": False}, Row.O3, Error.NONE, COMMITS),
        ),
    ),
    "a group of the consumer protocol": (
        decide_commit_to_consumer_group,
        lambda: {
            "has_members": True,
            "request": request(6, generation=5, member=1),
            "member_is_known": False,
            "member_epoch": 4,
            "is_classic_member": True,
            "assignment_epoch": NONE,
            "rules": Rules(),
        },
        (
            ("the member is unknown", {}, Row.O8, Error.UNKNOWN_MEMBER_ID, NOTHING),
            ("known, but the epoch is ahead", {"member_is_known": True}, Row.O8, Error.ILLEGAL_GENERATION, NOTHING),
            ("a member of that protocol", {"is_classic_member": False}, Row.O8, Error.STALE_MEMBER_EPOCH, NOTHING),
            ("in an older version", {"request.version": 5}, Row.O8, Error.ILLEGAL_GENERATION, NOTHING),
            ("behind, not its partition", {"request.generation": 3}, Row.O8, Error.ILLEGAL_GENERATION, NOTHING),
            ("its partition only since", {"assignment_epoch": 4}, Row.O8, Error.ILLEGAL_GENERATION, NOTHING),
            ("its partition then already", {"assignment_epoch": 3}, Row.O8, Error.NONE, COMMITS),
            ("of the present epoch", {"request.generation": 4, "assignment_epoch": NONE}, Row.O8, 0, COMMITS),
            ("without an epoch", {"request.generation": NONE}, Row.O8, Error.ILLEGAL_GENERATION, NOTHING),
            ("without a member either", {"request.member": NONE}, Row.O8, Error.NONE, COMMITS),
            ("nobody is there", {"has_members": False, "request.member": 1}, Row.O8, Error.NONE, COMMITS),
        ),
    ),
    "an offset's metadata": (
        decide_metadata_size,
        lambda: {"metadata_bytes": 4097, "max_bytes": 4096},
        (
            ("too long", {}, Row.O9, Error.OFFSET_METADATA_TOO_LARGE, NOTHING),
            ("just short enough", {"metadata_bytes": 4096}, Row.O10, Error.NONE, COMMITS),
        ),
    ),
}


def test_rows_answer_in_the_brokers_order(rung: Callable[[], None]) -> None:
    rung()


def test_generation_0_is_a_generation() -> None:
    """Only a negative one means that none is given."""
    arguments = nothing_right() | {"request": request(5, generation=0)}
    assert decide_txn_offset_commit(**arguments).error == Error.ILLEGAL_GENERATION
    arguments["group"] = group(empty=True)
    assert decide_txn_offset_commit(**arguments).error == Error.UNKNOWN_MEMBER_ID
    for has_members in (False, True):
        verdict = decide_commit_to_consumer_group(has_members, arguments["request"], False, 4, False, NONE, Rules())
        assert verdict.error == Error.UNKNOWN_MEMBER_ID


def test_before_kip_447_nobody_looked_at_members() -> None:
    rules = with_switches(Rules(), off=["kip447_fence"])
    arguments = nothing_right() | {"group": group(), "rules": rules}
    assert decide_txn_offset_commit(**arguments).row == Row.O7
    stale = decide_commit_to_consumer_group(True, request(6, generation=3, member=1), False, 4, False, NONE, rules)
    assert stale.error == Error.NONE


def waiting(offset: int, record_offset: int) -> PendingOffset:
    return PendingOffset(state=PendingOffsetsState.PENDING, offset=offset, record_offset=record_offset)


def test_a_committed_offset_waits() -> None:
    pending = PendingOffset()
    evolve_pending(pending, 17, 100, PendingOffsetsState.PENDING)
    assert pending == waiting(17, 100)


@pytest.mark.parametrize(
    ("is_commit", "before", "after"),
    [
        (True, GroupOffset(), GroupOffset(17, 100)),
        (True, GroupOffset(3, 99), GroupOffset(17, 100)),
        (True, GroupOffset(20, 101), GroupOffset(20, 101)),
        (False, GroupOffset(3, 99), GroupOffset(3, 99)),
        (False, GroupOffset(), GroupOffset()),
    ],
    ids=["the first", "a later one", "a plain commit came in between", "aborted", "aborted, the first"],
)
def test_the_marker_decides_about_waiting_offsets(is_commit: bool, before: GroupOffset, after: GroupOffset) -> None:
    committed, pending = GroupOffset(before.offset, before.record_offset), waiting(17, 100)
    evolve_offsets_marker(committed, pending, is_commit, PendingOffsetsState.NO_PENDING_OFFSETS)
    assert (committed, pending) == (after, PendingOffset())


def test_a_marker_with_nothing_waiting_changes_nothing() -> None:
    committed, pending = GroupOffset(3, 99), PendingOffset()
    evolve_offsets_marker(committed, pending, True, PendingOffsetsState.NO_PENDING_OFFSETS)
    assert (committed, pending) == (GroupOffset(3, 99), PendingOffset())


def test_a_refused_commit_leaves_what_waits_alone() -> None:
    assert decide_refused_append(waiting(17, 100), Rules()) == E.NOTHING
    assert decide_refused_append(PendingOffset(), Rules()) == E.NOTHING


def test_before_4_0_a_refused_commit_takes_along_what_waits() -> None:
    for release in ("0.11.0", "3.9.1", "3.9.2"):
        pending = waiting(17, 100)
        assert decide_refused_append(pending, preset_for(release)) == E.TAKE_BACK
        assert decide_refused_append(PendingOffset(), preset_for(release)) == E.NOTHING
        evolve_taken_back(pending, PendingOffsetsState.NO_PENDING_OFFSETS)
        assert pending == PendingOffset()
    assert decide_refused_append(waiting(17, 100), preset_for("4.0", 0)) == E.NOTHING


def test_a_tombstone_takes_committed_and_waiting_offsets() -> None:
    committed, pending = GroupOffset(3, 99), waiting(17, 100)
    evolve_tombstone(committed, pending, PendingOffsetsState.NO_PENDING_OFFSETS)
    assert (committed, pending) == (GroupOffset(), PendingOffset())


@pytest.mark.parametrize(("error", "answer"), [(15, 6), (14, 6), (16, 6), (0, 0), (47, 47), (52, 52)])
def test_the_transaction_coordinator_is_told_an_error_that_it_retries(error: int, answer: int) -> None:
    assert answer_to_marker(error) == answer
