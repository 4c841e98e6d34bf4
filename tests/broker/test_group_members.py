"""Members of groups: generations of the classic protocol, epochs of KIP-848, and what of them survives."""

import copy
from dataclasses import replace

import pytest

from tests.broker.group_host import GROUP, A, B, GroupHost
from zombieproof.formats.batches import GroupKey
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    Heartbeat,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    SyncGroup,
    SyncGroupAnswer,
)
from zombieproof.model.vocabulary import NONE, Error, Row


@pytest.fixture
def host() -> GroupHost:
    return GroupHost()


def commits(host: GroupHost, generation: int, member: str) -> tuple[int, int]:
    """What a transactional and a plain commit of a member are answered."""
    rows = host.txn_commit((A, 1), generation=generation, member=member)
    return rows.errors[A], host.commit((A, 1), generation=generation, member=member).errors[A]


# ---------------------------------------------------------------- the classic protocol


def test_every_generation_has_its_number(host: GroupHost) -> None:
    first = host.join()
    assert (first.error, first.generation, first.leader) == (0, 1, first.member)
    assert host.sync(first.member, 1) == Error.NONE
    again = host.join(first.member)
    assert (again.generation, again.member) == (2, first.member)
    assert host.sync(first.member, 1) == Error.ILLEGAL_GENERATION
    assert host.sync(first.member, 2) == Error.NONE
    assert host.leave(first.member) == Error.NONE
    anew = host.join()
    assert (anew.generation, anew.leader) == (4, anew.member), "the empty generation was number 3"
    assert anew.member != first.member


def test_a_plain_commit_waits_for_the_assignment_and_a_transactional_one_does_not(host: GroupHost) -> None:
    member = host.join().member
    assert commits(host, 1, member) == (Error.NONE, Error.REBALANCE_IN_PROGRESS)
    host.sync(member, 1)
    assert commits(host, 1, member) == (Error.NONE, Error.NONE)


@pytest.mark.parametrize(
    ("generation", "member", "transactional", "plain"),
    [
        (1, "me", 0, 0),
        (0, "me", Error.ILLEGAL_GENERATION, Error.ILLEGAL_GENERATION),
        (2, "me", Error.ILLEGAL_GENERATION, Error.ILLEGAL_GENERATION),
        (1, "bogus", Error.UNKNOWN_MEMBER_ID, Error.UNKNOWN_MEMBER_ID),
        (1, "", Error.UNKNOWN_MEMBER_ID, Error.UNKNOWN_MEMBER_ID),
        (NONE, "", 0, Error.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_commit_names_a_member_and_its_generation(
    host: GroupHost, generation: int, member: str, transactional: int, plain: int
) -> None:
    me = host.stable_member()
    assert commits(host, generation, me if member == "me" else member) == (transactional, plain)


def test_a_member_that_asks_twice_while_the_leader_is_busy_learns_the_same(host: GroupHost) -> None:
    first = host.join()
    assert host.join(first.member) == first


def test_two_members_share_a_generation(host: GroupHost) -> None:
    leader = host.stable_member()
    waiting = host.send(JoinGroup(3, GROUP, ""))
    assert waiting not in host.answers
    assert host.beat_classic(leader, 1) == host.sync(leader, 1) == Error.REBALANCE_IN_PROGRESS
    again = host.join(leader)
    second = host.joined(waiting)
    assert (again.generation, again.leader) == (second.generation, second.leader) == (2, leader)
    early = host.send(SyncGroup(3, GROUP, 2, second.member))
    assert early not in host.answers
    assert (host.sync(leader, 2), host.answers.pop(early)) == (0, SyncGroupAnswer(0, b"", "consumer", "range"))
    assert host.join(second.member).generation == 2, "a follower opens no rebalance"
    assert host.leave(leader) == Error.NONE
    alone = host.join(second.member)
    assert (alone.generation, alone.leader) == (3, second.member)


def test_a_member_that_asks_again_is_answered_once_at_its_last_request(host: GroupHost) -> None:
    leader = host.stable_member()
    member = host.join(version=4).member
    first, last = (host.send(JoinGroup(4, GROUP, member)) for _ in range(2))
    assert host.dropped == {first}
    assert (host.join(leader).generation, host.joined(last).generation) == (2, 2)
    early, late = (host.send(SyncGroup(3, GROUP, 2, member)) for _ in range(2))
    assert host.dropped == {first, early}
    assert (host.sync(leader, 2), host.answers.pop(late)) == (0, SyncGroupAnswer(0, b"", "consumer", "range"))
    assert host.answers == {}


def test_a_generation_counts_for_offsets_from_the_end_of_a_rebalance_on(host: GroupHost) -> None:
    leader = host.stable_member()
    waiting = host.send(JoinGroup(3, GROUP, ""))
    assert commits(host, 1, leader) == (0, 0), "while others are waited for the old one counts"
    host.join(leader)
    member = host.joined(waiting).member
    assert commits(host, 1, leader) == (Error.ILLEGAL_GENERATION,) * 2
    assert commits(host, 2, member) == (0, Error.REBALANCE_IN_PROGRESS)
    host.sync(leader, 2)
    assert commits(host, 2, member) == (0, 0)


def test_a_member_that_never_joins_again_is_gone_with_its_offsets(host: GroupHost) -> None:
    former = host.ask(JoinGroup(3, GROUP, "", rebalance_timeout_ms=1_000), JoinGroupAnswer).member
    host.sync(former, 1)
    waiting = host.send(JoinGroup(3, GROUP, "", rebalance_timeout_ms=500))
    host.advance(999)
    assert (waiting in host.answers, commits(host, 1, former)) == (False, (0, 0))
    host.advance(1)
    joined = host.joined(waiting)
    assert (joined.generation, joined.leader) == (2, joined.member)
    assert commits(host, 1, former) == (Error.UNKNOWN_MEMBER_ID,) * 2


def test_sessions_begin_anew_with_another_broker(host: GroupHost) -> None:
    member = host.ask(JoinGroup(3, GROUP, "", session_timeout_ms=10_000), JoinGroupAnswer).member
    host.sync(member, 1)
    host.advance(9_000)
    host.restart()
    host.advance(9_999)
    assert host.beat_classic(member, 1) == Error.NONE
    host.advance(10_000)
    assert host.beat_classic(member, 1) == Error.UNKNOWN_MEMBER_ID


def test_a_group_looks_at_its_clock_seldom(host: GroupHost) -> None:
    """Heartbeats put off the end of a session; when it would have ended the group looks for what is next."""
    member = host.stable_member()
    for _ in range(20):
        host.advance(10_000)
        assert host.beat_classic(member, 1) == Error.NONE
    assert len(host.wakes) == 1


def test_who_is_no_member_is_told_so(host: GroupHost) -> None:
    unknown = Error.UNKNOWN_MEMBER_ID
    assert (host.join("bogus").error, host.sync("bogus", 1), host.leave("bogus")) == (unknown, unknown, unknown)
    host.stable_member()
    assert (host.join("bogus").error, host.sync("bogus", 1), host.leave("bogus")) == (unknown, unknown, unknown)
    assert host.leave("") == unknown


def test_a_group_needs_a_name(host: GroupHost) -> None:
    host.coordinator.resign(0)
    requests = (JoinGroup(3, "", ""), SyncGroup(3, "", 1, "m"), LeaveGroup(2, "", "m"), Heartbeat(3, "", 1, "m"))
    answers = [host.told(request) for request in requests]
    assert {getattr(answer, "error", None) for answer in answers} == {Error.INVALID_GROUP_ID}
    beat = host.told(ConsumerGroupHeartbeat(0, "", "", 0, ("in",)))
    assert getattr(beat, "error", None) == Error.INVALID_REQUEST


def test_a_newer_client_gets_its_id_before_it_joins(host: GroupHost) -> None:
    told = host.join(version=5)
    assert (told.error, told.generation) == (Error.MEMBER_ID_REQUIRED, NONE)
    assert host.sync(told.member, 0) == Error.UNKNOWN_MEMBER_ID
    joined = host.join(told.member, version=5)
    assert (joined.error, joined.generation, joined.leader) == (0, 1, told.member)
    assert (host.leave(told.member), host.leave(told.member)) == (Error.NONE, Error.UNKNOWN_MEMBER_ID)


def test_an_id_that_was_given_out_can_be_given_back(host: GroupHost) -> None:
    told = host.join(version=5)
    assert host.leave(told.member) == Error.NONE
    assert host.leave(told.member) == Error.UNKNOWN_MEMBER_ID


def test_a_static_instance_that_begins_anew_takes_its_own_place(host: GroupHost) -> None:
    first = host.join(version=5, instance="i")
    host.sync(first.member, first.generation)
    second = host.join(version=5, instance="i")
    assert (second.generation, second.leader) == (1, first.member), "it is not told that it leads"
    assert second.member != first.member
    assert commits(host, 1, first.member) == (Error.UNKNOWN_MEMBER_ID, Error.UNKNOWN_MEMBER_ID)
    assert commits(host, 1, second.member) == (0, 0)
    host.restart()
    assert commits(host, 1, second.member) == (0, 0)
    assert host.join(first.member, version=5, instance="i").error == Error.FENCED_INSTANCE_ID
    assert host.join(first.member, version=5, instance="j").error == Error.UNKNOWN_MEMBER_ID
    again = host.join(second.member, version=5, instance="i")
    assert (again.generation, again.leader) == (2, second.member), "all the same it leads"


def test_a_static_instance_moves_also_while_the_group_rebalances(host: GroupHost) -> None:
    first = host.join(version=5, instance="i")
    second = host.join(version=5, instance="i")
    assert (second.generation, second.leader) == (2, second.member)
    assert first.member != second.member


# ---------------------------------------------------------------- what survives


def test_the_assignment_makes_a_generation_durable(host: GroupHost) -> None:
    member = host.stable_member()
    host.join(member)
    host.restart()
    assert host.txn_commit((A, 1), generation=1, member=member).errors[A] == Error.NONE
    again = host.join(member)
    assert (again.generation, again.leader) == (2, member)


def test_an_empty_group_keeps_its_generation(host: GroupHost) -> None:
    host.leave(host.stable_member())
    host.restart()
    assert host.commit((A, 1)).errors[A] == Error.NONE
    assert host.join().generation == 3


def test_a_member_that_joined_without_an_assignment_is_forgotten(host: GroupHost) -> None:
    member = host.join().member
    host.restart()
    assert host.join(member).error == Error.UNKNOWN_MEMBER_ID
    assert host.join().generation == 1
    keys = [record.key for batch in host.replica.log.read() for record in batch.records]
    assert keys == [GroupKey(GROUP)], "the group itself was written when it began"


# ---------------------------------------------------------------- the consumer protocol


def test_the_first_member_is_in_epoch_2(host: GroupHost) -> None:
    first = host.beat("", 0)
    assert (first.error, first.epoch) == (0, 2)
    assert first.assignment == (A, B)
    assert host.beat(first.member, 2) == first
    assert host.beat(first.member, 2, None) == replace(first, assignment=None), "nothing is new"


def test_a_second_member_is_in_the_epoch_of_the_assignment_until_that_follows(host: GroupHost) -> None:
    first, second = host.beat("", 0).member, host.beat("", 0)
    assert second.epoch == 2
    assert host.beat(first, 2).epoch == 2
    host.place.clock.advance(1000)
    assert (host.beat(first, 2).epoch, host.beat(second.member, 2).epoch) == (3, 3)
    assert host.beat(first, 2).error == Error.NONE, "the answer with the new epoch may have been lost"
    assert host.beat(first, 1).error == host.beat(first, 4).error == Error.FENCED_MEMBER_EPOCH


def test_another_subscription_is_another_epoch(host: GroupHost) -> None:
    member = host.beat("", 0).member
    host.place.clock.advance(1000)
    assert host.beat(member, 2, ("in", "out")).epoch == 3


def test_what_a_member_reads_no_more_is_not_its_own(host: GroupHost) -> None:
    member = host.beat("", 0).member
    host.place.clock.advance(1000)
    assert host.beat(member, 2, ("out",)).epoch == 3
    assert host.txn_commit((A, 1), generation=2, member=member).errors[A] == Error.ILLEGAL_GENERATION


def test_a_member_that_left_is_gone(host: GroupHost) -> None:
    member = host.beat("", 0).member
    left = host.beat(member, -1)
    assert (left.error, left.member, left.epoch) == (0, member, -1)
    assert host.beat(member, 2).error == Error.UNKNOWN_MEMBER_ID
    assert host.txn_commit((A, 1), generation=2, member=member).errors[A] == Error.UNKNOWN_MEMBER_ID
    assert host.txn_commit((A, 1)).errors[A] == Error.NONE
    host.place.clock.advance(1000)
    assert host.beat("", 0).epoch == 4


@pytest.mark.parametrize(
    ("generation", "member", "error"),
    [
        (2, "me", 0),
        (3, "me", Error.ILLEGAL_GENERATION),
        (1, "me", Error.ILLEGAL_GENERATION),
        (2, "bogus", Error.UNKNOWN_MEMBER_ID),
        (NONE, "", 0),
        (NONE, "me", Error.ILLEGAL_GENERATION),
        (0, "", Error.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_commit_names_a_member_and_its_epoch(host: GroupHost, generation: int, member: str, error: int) -> None:
    me = host.beat("", 0).member
    assert host.txn_commit((A, 1), generation=generation, member=me if member == "me" else member).errors[A] == error


def test_an_older_epoch_is_enough_for_what_the_member_had_then_and_has_still(host: GroupHost) -> None:
    first = host.beat("", 0).member
    host.beat("", 0)
    host.place.clock.advance(1000)
    assert host.beat(first, 2).epoch == 3
    assert host.txn_commit((A, 1), generation=2, member=first).errors == {A: 0}
    assert host.txn_commit((A, 1), (B, 1), generation=2, member=first).errors == {
        A: Error.ILLEGAL_GENERATION,
        B: Error.ILLEGAL_GENERATION,
    }
    assert host.commit((A, 2), generation=2, member=first, version=9).errors == {A: 0}
    assert host.commit((B, 2), generation=2, member=first, version=9).errors == {B: Error.STALE_MEMBER_EPOCH}
    assert host.commit((A, 2), generation=3, member=first, version=8).errors == {A: Error.UNSUPPORTED_VERSION}
    host.restart()
    assert host.txn_commit((A, 1), generation=2, member=first).errors == {A: 0}
    assert host.txn_commit((B, 1), generation=2, member=first).errors == {B: Error.ILLEGAL_GENERATION}


def test_an_empty_group_changes_its_protocol_and_keeps_its_offsets(host: GroupHost) -> None:
    host.commit((A, 3))
    member = host.beat("", 0).member
    assert host.offset() == 3
    assert host.join().error == Error.INCONSISTENT_GROUP_PROTOCOL
    assert host.sync(member, 2) == host.leave(member) == Error.UNKNOWN_MEMBER_ID
    host.restart()
    assert host.beat(member, 2).epoch == 2
    host.beat(member, -1)
    twin = copy.deepcopy(host)
    assert twin.join("bogus").error == Error.UNKNOWN_MEMBER_ID
    assert twin.join(version=5, instance="i").generation == 1
    classic = host.join()
    assert (classic.error, classic.generation, host.offset()) == (0, 1, 3)
    rows = [(row.key, row.value is None) for batch in host.replica.log.read() for row in batch.records[:2]]
    assert rows[1] == (GroupKey(GROUP), True), "the record of the former protocol is taken back"
    last = [(isinstance(row.key, bytes), row.value is None) for row in list(host.replica.log.read())[-1].records]
    assert last == [(True, True), (True, True), (False, False)], "group and assignment end, the other group begins"
    host.sync(classic.member, 1)
    assert host.beat("", 0).error == host.beat("m", 1).error == Error.GROUP_ID_NOT_FOUND
    host.restart()
    assert host.txn_commit((A, 1), generation=1, member=classic.member).errors[A] == Error.NONE


def test_a_broker_that_cannot_write_changes_nothing(host: GroupHost) -> None:
    member = host.beat("", 0).member
    host.replica.follow(9)
    host.place.clock.advance(1000)
    assert host.beat("", 0).error == Error.NOT_COORDINATOR
    assert host.beat(member, -1).error == Error.NOT_COORDINATOR
    host.replica.lead(9)
    assert host.beat(member, 2).epoch == 2


def test_a_group_that_cannot_be_written_does_not_begin(host: GroupHost) -> None:
    host.replica.follow(9)
    joined = host.join()
    assert (joined.error, joined.member, joined.generation) == (Error.NOT_COORDINATOR, "", NONE)
    assert host.beat("", 0).error == Error.NOT_COORDINATOR
    host.replica.lead(9)
    assert host.commit((A, 1), generation=0).errors[A] == Error.ILLEGAL_GENERATION, "there is none"
    assert host.join().generation == 1


def test_an_instance_whose_new_member_cannot_be_written_stays_who_it_was(host: GroupHost) -> None:
    member = host.join(version=5, instance="i").member
    host.sync(member, 1)
    host.replica.follow(9)
    assert host.join(version=5, instance="i").error == Error.NOT_COORDINATOR
    host.replica.lead(9)
    assert commits(host, 1, member) == (0, 0)


def test_an_assignment_that_cannot_be_written_makes_everybody_join_again(host: GroupHost) -> None:
    member = host.join().member
    host.replica.follow(9)
    assert host.sync(member, 1) == Error.NOT_COORDINATOR
    host.replica.lead(9)
    assert (host.beat_classic(member, 1), host.sync(member, 1)) == (Error.REBALANCE_IN_PROGRESS,) * 2
    assert host.join(member).generation == 2
    assert host.sync(member, 2) == Error.NONE


def test_every_decision_about_members_is_noted(host: GroupHost) -> None:
    host.leave(host.stable_member())
    host.beat("", 0)
    noted = [(row.decision, row.row, row.error, row.subject) for row in host.place.journal.decisions]
    assert noted == [
        ("join_group", Row.MEMBER_JOINS, 0, GROUP),
        ("sync_group", Row.LEADER_ASSIGNS, 0, GROUP),
        ("leave_group", Row.MEMBER_LEAVES, 0, GROUP),
        ("consumer_group_heartbeat", Row.MEMBER_JOINS, 0, GROUP),
    ]
