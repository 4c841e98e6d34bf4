"""The steps of a group: in which order things happen, and what follows from the outcome of an append."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import pytest

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ClassicGroupEvent, ClassicGroupState, Error, Guard
from zombieproof.statemachines.classic_group import deletion, membership
from zombieproof.statemachines.classic_group.deletion import KnownOffset
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    Identity,
    MemberChange,
    Operation,
    PendingRequest,
)
from zombieproof.statemachines.classic_group.membership import MemberRequest
from zombieproof.statemachines.consumer_group import heartbeat as consumer
from zombieproof.statemachines.consumer_group.heartbeat import Beat, ConsumerGroupEffects, HeartbeatFacts, HeartbeatHost
from zombieproof.statemachines.find_coordinator import find_coordinator
from zombieproof.statemachines.group_coordinator.offsets import Asked, error_of_marker, is_read
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes

S, E = ClassicGroupState, ClassicGroupEvent
NEW, STATIC = Identity(), Identity(instance=1)
FOLLOWER = Identity(member=1, member_is_known=1)
LEADER = FOLLOWER._replace(is_leader=1)


@dataclass(slots=True)
class Group:
    state: int = S.STABLE
    generation: int = 4
    known: int = 1
    dead: int = 0
    empty: int = 0
    is_consumer: int = 0


def nothing_known() -> Group:
    return Group(S.EMPTY, NONE, known=0, empty=1)


def made() -> Group:
    """A group that has just been made."""
    return Group(S.EMPTY, 0, empty=1)


def wanted(effects: Any) -> dict[str, int]:
    """Everything that is not as in effects that want nothing."""
    nothing = type(effects)()
    names = [field.name for field in fields(effects)]
    return {name: int(getattr(effects, name)) for name in names if getattr(effects, name) != getattr(nothing, name)}


class Play:
    """One request at one group, and what each step of it wanted."""

    def __init__(self, group: Group) -> None:
        self.group, self.pending, self.notes = group, PendingRequest(), Notes()
        self.effects: list[dict[str, int]] = []

    def ask(self, step: Callable[..., None], *arguments: Any) -> "Play":
        effects = GroupEffects()
        step(self.group, self.pending, *arguments, effects, self.notes)
        self.effects.append(wanted(effects))
        return self

    def outcome(self, error: int = Error.NONE) -> "Play":
        effects = GroupEffects()
        membership.appended(self.group, self.pending, error, effects, self.notes)
        self.effects.append(wanted(effects))
        return self

    def moves(self) -> list[tuple[int, int]]:
        taken = self.notes.moves[: self.notes.count]
        assert {move.machine for move in taken} <= {MachineIndex.CLASSIC_GROUP}
        return [(move.event, move.target) for move in taken]

    def guards(self) -> list[tuple[Decision, Guard, int]]:
        noted = self.notes.decisions[: self.notes.decision_count]
        return [(Decision(each.decision), Guard(each.guard), each.error) for each in noted]


def said(version: int = 3, generation: int = 4, lookup: int = Error.NONE, has_group_id: int = 1) -> MemberRequest:
    return MemberRequest(version, has_group_id, lookup, generation)


# ---------------------------------------------------------------- JoinGroup

REBALANCED = [(E.REBALANCE, S.PREPARING_REBALANCE), (E.ALL_JOINED, S.COMPLETING_REBALANCE)]
JOINED = {"member": MemberChange.JOINS, "elects": 1, "replies": 1, "leads": 1}


def test_a_new_member_joins_a_group_that_is_there() -> None:
    play = Play(Group()).ask(membership.join, NEW, said())
    assert play.effects == [JOINED | {"gives_id": 1, "generation": 5}]
    assert play.moves() == REBALANCED
    assert (play.group.state, play.group.generation) == (S.COMPLETING_REBALANCE, 5)


def test_a_group_is_durable_before_anybody_is_in_it() -> None:
    play = Play(nothing_known()).ask(membership.join, NEW, said())
    assert play.effects == [{"gives_id": 1, "append": GroupAppend.NEW_GROUP}]
    assert (play.pending.operation, play.moves()) == (Operation.JOIN, [])
    play.group = made()
    play.outcome()
    assert play.effects[1] == JOINED | {"generation": 1}
    assert play.group.generation == 1


def test_nobody_is_in_a_group_that_could_not_be_made() -> None:
    play = Play(nothing_known()).ask(membership.join, NEW, said()).outcome(Error.COORDINATOR_NOT_AVAILABLE)
    assert play.effects[1] == {"replies": 1, "error": Error.COORDINATOR_NOT_AVAILABLE}
    assert (play.moves(), play.pending.operation) == ([], Operation.NOTHING)


def test_an_empty_group_of_the_other_protocol_makes_room() -> None:
    play = Play(Group(is_consumer=1, empty=1)).ask(membership.join, NEW, said())
    assert play.effects == [{"gives_id": 1, "append": GroupAppend.NEW_GROUP}]


@pytest.mark.parametrize("is_there", [True, False])
def test_an_id_is_promised_after_the_group_is_there(is_there: bool) -> None:
    play = Play(Group() if is_there else nothing_known()).ask(membership.join, NEW, said(version=4))
    if not is_there:
        assert play.effects.pop() == {"gives_id": 1, "append": GroupAppend.NEW_GROUP}
        play.group = made()
        play.outcome()
    promised = {"member": MemberChange.PROMISED, "replies": 1, "error": Error.MEMBER_ID_REQUIRED}
    assert play.effects == [promised | ({"gives_id": 1} if is_there else {})]
    assert play.moves() == []


def test_a_static_instance_that_begins_anew_is_told_who_led_before() -> None:
    play = Play(Group()).ask(membership.join, STATIC._replace(instance_is_known=1), said()).outcome()
    replaced = {"gives_id": 1, "member": MemberChange.REPLACES, "append": GroupAppend.GROUP}
    assert play.effects == [replaced, {"replies": 1, "generation": 4, "leads": 2}]
    assert play.moves() == []


def test_a_place_that_could_not_be_made_durable_is_given_back() -> None:
    play = Play(Group()).ask(membership.join, STATIC._replace(instance_is_known=1), said())
    play.outcome(Error.NOT_COORDINATOR)
    assert play.effects[1] == {"member": MemberChange.GIVES_BACK, "replies": 1, "error": Error.NOT_COORDINATOR}


def test_a_follower_that_joins_again_is_told_the_generation() -> None:
    play = Play(Group()).ask(membership.join, FOLLOWER, said())
    assert play.effects == [{"replies": 1, "generation": 4, "leads": 1}]


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize(
    ("step", "decision"),
    [(membership.join, Decision.JOIN_GROUP), (membership.sync, Decision.SYNC_GROUP)],
)
def test_who_does_not_coordinate_a_group_says_so_before_anything(step: Any, decision: Decision) -> None:
    elsewhere = Play(Group()).ask(step, LEADER, said(lookup=Error.NOT_COORDINATOR))
    assert elsewhere.effects == [{"replies": 1, "error": Error.NOT_COORDINATOR}]
    assert elsewhere.guards() == []
    nameless = Play(Group()).ask(step, LEADER, said(lookup=Error.NOT_COORDINATOR, has_group_id=0))
    assert nameless.effects == [{"replies": 1, "error": Error.INVALID_GROUP_ID}]
    assert nameless.guards() == [(decision, Guard.NO_GROUP_ID, Error.INVALID_GROUP_ID)]


def test_a_heartbeat_only_answers() -> None:
    told = []
    for request in (said(), said(generation=3), said(lookup=Error.COORDINATOR_LOAD_IN_PROGRESS)):
        effects, notes = GroupEffects(), Notes()
        membership.heartbeat(Group(), FOLLOWER, request, effects, notes)
        told.append((wanted(effects), notes.count))
    assert told == [
        ({"replies": 1}, 0),
        ({"replies": 1, "error": Error.ILLEGAL_GENERATION}, 0),
        ({"replies": 1, "error": Error.COORDINATOR_LOAD_IN_PROGRESS}, 0),
    ]


# ---------------------------------------------------------------- SyncGroup


def test_a_group_is_stable_when_the_assignment_is_durable() -> None:
    play = Play(Group(S.COMPLETING_REBALANCE)).ask(membership.sync, LEADER, said())
    assert (play.effects, play.group.state) == ([{"append": GroupAppend.GROUP}], S.COMPLETING_REBALANCE)
    play.outcome()
    assert (play.effects[1], play.group.state) == ({"replies": 1}, S.STABLE)
    assert play.moves() == [(E.ASSIGN, S.STABLE)]


def test_an_assignment_that_is_not_durable_counts_for_nothing() -> None:
    play = Play(Group(S.COMPLETING_REBALANCE)).ask(membership.sync, LEADER, said()).outcome(Error.NOT_COORDINATOR)
    assert play.effects[1] == {"replies": 1, "error": Error.NOT_COORDINATOR}
    assert (play.group.state, play.moves()) == (S.COMPLETING_REBALANCE, [])


def test_an_outcome_that_finds_the_group_elsewhere_is_an_illegal_move() -> None:
    """The table has the last word: the group was emptied while its assignment was under way."""
    play = Play(Group(S.COMPLETING_REBALANCE)).ask(membership.sync, LEADER, said())
    play.group.state = S.EMPTY
    play.outcome()
    assert play.notes.illegal == MachineIndex.CLASSIC_GROUP + 1
    assert (play.notes.illegal_state, play.notes.illegal_event, play.group.state) == (S.EMPTY, E.ASSIGN, S.EMPTY)


# ---------------------------------------------------------------- LeaveGroup


def left(play: Play, *leavers: Identity, version: int = 3, members: int = 1) -> Play:
    for who in leavers:
        play.ask(membership.leave, who, said(version))
    return play.ask(membership.all_left, members)


def test_those_who_leave_together_open_one_rebalance() -> None:
    play = left(Play(Group()), FOLLOWER, LEADER, Identity(member=1))
    gone = {"member": MemberChange.LEAVES}
    assert play.effects == [gone, gone, {"error": Error.UNKNOWN_MEMBER_ID}, {"elects": 1, "replies": 1}]
    assert (play.moves(), play.group.generation) == (REBALANCED, 5)


@pytest.mark.parametrize("error", [Error.NONE, Error.NOT_COORDINATOR])
def test_an_empty_generation_is_durable_at_once_and_answered_alike_if_it_is_not(error: Error) -> None:
    play = left(Play(Group()), LEADER, members=0).outcome(error)
    assert play.effects[1:] == [{"elects": 1, "append": GroupAppend.GROUP}, {"replies": 1}]
    assert play.group.state == S.EMPTY


def test_an_id_that_was_only_promised_is_forgotten_and_nobody_rebalances() -> None:
    play = left(Play(Group()), Identity(member=1, is_pending=1))
    assert play.effects == [{"member": MemberChange.RENOUNCES}, {"replies": 1}]
    assert play.moves() == []


def test_whose_error_is_that_of_the_request() -> None:
    unknown, dead = Error.UNKNOWN_MEMBER_ID, Error.COORDINATOR_NOT_AVAILABLE
    assert left(Play(Group()), Identity(member=1)).effects[-1] == {"replies": 1}
    assert left(Play(Group()), Identity(member=1), version=2).effects[-1] == {"replies": 1, "error": unknown}
    assert left(Play(Group(dead=1)), LEADER, LEADER).effects[-1] == {"replies": 1, "error": dead}
    effects = GroupEffects()
    membership.begin_leaving(said(lookup=Error.NOT_COORDINATOR), effects)
    assert wanted(effects) == {"replies": 1, "error": Error.NOT_COORDINATOR}
    assert [membership.names_leavers(version) for version in (2, 3)] == [False, True]


# ---------------------------------------------------------------- what goes


@pytest.mark.parametrize(
    ("group", "offset", "effects"),
    [
        (nothing_known(), KnownOffset(1, 1, 0), {"replies": 1, "error": Error.GROUP_ID_NOT_FOUND}),
        (Group(), KnownOffset(1, 1, 0), {"replies": 1, "error": Error.NON_EMPTY_GROUP}),
        (Group(is_consumer=1), KnownOffset(1, 1, 1), {"error": Error.GROUP_SUBSCRIBED_TO_TOPIC}),
        (Group(is_consumer=1), KnownOffset(1, 0, 0), {"append": GroupAppend.TOMBSTONES}),
        (Group(empty=1), KnownOffset(0, 1, 0), {"append": GroupAppend.TOMBSTONES}),
        (Group(empty=1), KnownOffset(0, 0, 0), {}),
    ],
)
def test_an_offset_goes_or_stays(group: Group, offset: KnownOffset, effects: dict[str, int]) -> None:
    told = GroupEffects()
    deletion.delete_offset(group, offset, said(), told, Notes())
    assert wanted(told) == effects


def test_nothing_to_delete_is_answered_at_once() -> None:
    told, pending = GroupEffects(), PendingRequest()
    deletion.all_judged(pending, 0, told)
    assert (wanted(told), pending.operation) == ({"replies": 1}, Operation.NOTHING)


@pytest.mark.parametrize(("outcome", "state"), [(Error.NONE, S.DEAD), (Error.NOT_COORDINATOR, S.EMPTY)])
def test_a_group_is_dead_when_its_tombstone_is_durable(outcome: Error, state: ClassicGroupState) -> None:
    play = Play(Group(S.EMPTY, empty=1)).ask(deletion.delete_group, Error.NONE)
    assert (play.effects, play.group.state) == ([{"append": GroupAppend.TOMBSTONES, "ends": 1}], S.EMPTY)
    play.outcome(outcome)
    assert play.group.state == state
    assert play.guards() == [(Decision.DELETE_GROUPS, Guard.GROUP_DELETED, Error.NONE)]


def test_a_consumer_group_ends_without_a_state() -> None:
    play = Play(Group(is_consumer=1, empty=1)).ask(deletion.delete_group, Error.NONE).outcome()
    assert (play.effects[1], play.moves(), play.notes.illegal) == ({"replies": 1}, [], 0)


@pytest.mark.parametrize(
    ("group", "lookup", "error"),
    [
        (Group(), Error.NOT_COORDINATOR, Error.NOT_COORDINATOR),
        (nothing_known(), Error.NONE, Error.GROUP_ID_NOT_FOUND),
        (Group(S.DEAD, dead=1), Error.NONE, Error.GROUP_ID_NOT_FOUND),
        (Group(), Error.NONE, Error.NON_EMPTY_GROUP),
        (Group(is_consumer=1), Error.NONE, Error.NON_EMPTY_GROUP),
    ],
)
def test_a_group_that_stays(group: Group, lookup: Error, error: Error) -> None:
    play = Play(group).ask(deletion.delete_group, lookup)
    assert (play.effects, play.pending.operation) == ([{"replies": 1, "error": error}], Operation.NOTHING)


def test_groups_of_one_partition_fail_together() -> None:
    assert deletion.error_of_deletion(Error.GROUP_ID_NOT_FOUND, Error.NONE) == Error.GROUP_ID_NOT_FOUND
    assert deletion.error_of_deletion(Error.GROUP_ID_NOT_FOUND, Error.NOT_COORDINATOR) == Error.NOT_COORDINATOR


@pytest.mark.parametrize(
    ("group", "offset", "goes"),
    [
        (Group(empty=1), KnownOffset(1, 0, 0, committed_ms=0), True),
        (Group(empty=1), KnownOffset(1, 0, 0, committed_ms=1), False),
        (Group(empty=1), KnownOffset(1, 1, 0), False),
        (Group(), KnownOffset(1, 0, 0), False),
        (Group(is_consumer=1), KnownOffset(1, 0, 0), True),
        (Group(is_consumer=1, empty=1), KnownOffset(1, 0, 1), False),
    ],
)
def test_what_expires_in_a_sweep(group: Group, offset: KnownOffset, goes: bool) -> None:
    told = GroupEffects()
    deletion.expire_offset(group, offset, 100, 100, told, Notes())
    assert wanted(told) == ({"append": GroupAppend.TOMBSTONES} if goes else {})


@pytest.mark.parametrize(
    ("members", "left_over", "transactions", "tombstones", "effects"),
    [
        (0, 0, 0, 0, {"append": GroupAppend.TOMBSTONES, "ends": 1}),
        (1, 0, 0, 2, {"append": GroupAppend.TOMBSTONES}),
        (0, 1, 0, 0, {"replies": 1}),
        (0, 0, 1, 0, {"replies": 1}),
    ],
)
def test_a_group_goes_with_the_last_of_its_offsets(
    members: int, left_over: int, transactions: int, tombstones: int, effects: dict[str, int]
) -> None:
    told = GroupEffects()
    deletion.end_sweep(PendingRequest(), members, left_over, transactions, tombstones, told)
    assert wanted(told) == effects


# ---------------------------------------------------------------- the consumer protocol


@dataclass(slots=True)
class Epochs:
    generation: int = 2
    assignment_epoch: int = 2
    assigned_ms: int = 0


@dataclass(slots=True)
class Member:
    epoch: int = 2
    previous_epoch: int = 1


HOST = HeartbeatHost(Error.NONE, now_ms=1000, interval_ms=1000)
KNOWN = HeartbeatFacts(1, 1, 1, 1, 0, 1, 2, 1)
STRANGER = KNOWN._replace(has_member_id=0, member_is_known=0, member_epoch=0, previous_epoch=0)


def beat(
    group: Epochs, member: Member, said: Beat, facts: HeartbeatFacts = KNOWN, host: HeartbeatHost = HOST
) -> ConsumerGroupEffects:
    effects = ConsumerGroupEffects()
    consumer.heartbeat(group, member, said, facts, host, effects, Notes())
    return effects


def test_a_member_that_joins_raises_the_epoch_and_has_the_new_assignment() -> None:
    group, member = Epochs(), Member(0, 0)
    effects = beat(group, member, Beat(0, 1), STRANGER)
    assert wanted(effects) == {"gives_id": 1, "subscribes": 1, "assigns": 1, "appends": 1, "epoch": 3}
    assert (group.generation, group.assignment_epoch, group.assigned_ms) == (3, 3, 1000)
    assert (member.epoch, member.previous_epoch) == (3, 0)


def test_an_assignment_that_is_not_due_leaves_a_member_in_its_epoch() -> None:
    group, member = Epochs(assigned_ms=1), Member()
    effects = beat(group, member, Beat(2, 1))
    assert wanted(effects) == {"subscribes": 1, "appends": 1, "epoch": 2}
    assert (group.generation, group.assignment_epoch) == (3, 2)
    later = beat(group, member, Beat(2, 0), host=HOST._replace(now_ms=1001))
    assert wanted(later) == {"assigns": 1, "appends": 1, "epoch": 3}


def test_a_member_that_only_lives_is_answered_without_an_append() -> None:
    assert wanted(beat(Epochs(), Member(), Beat(2, 0))) == {"replies": 1, "epoch": 2}


def test_a_member_leaves_and_the_epoch_rises() -> None:
    group = Epochs()
    assert wanted(beat(group, Member(), Beat(-1, 0))) == {"leaves": 1, "appends": 1, "epoch": -1}
    assert (group.generation, group.assignment_epoch) == (3, 2)


@pytest.mark.parametrize(("error", "restores"), [(Error.NONE, 0), (Error.NOT_COORDINATOR, 1)])
def test_a_change_that_is_not_durable_is_taken_back(error: Error, restores: int) -> None:
    effects = beat(Epochs(), Member(0, 0), Beat(0, 1), STRANGER)
    consumer.appended(error, effects)
    assert (effects.replies, effects.error, effects.restores, effects.appends) == (1, error, restores, 0)


@pytest.mark.parametrize(
    ("facts", "host", "said", "error"),
    [
        (KNOWN, HOST._replace(lookup_error=Error.NOT_COORDINATOR), Beat(2, 0), Error.NOT_COORDINATOR),
        (KNOWN._replace(has_group_id=0), HOST._replace(lookup_error=16), Beat(2, 0), Error.INVALID_REQUEST),
        (KNOWN, HOST, Beat(7, 0), Error.FENCED_MEMBER_EPOCH),
    ],
)
def test_a_refused_heartbeat_changes_nothing(
    facts: HeartbeatFacts, host: HeartbeatHost, said: Beat, error: Error
) -> None:
    group = Epochs()
    assert wanted(beat(group, Member(), said, facts, host)) == {"replies": 1, "error": error}
    assert group == Epochs()


# ---------------------------------------------------------------- what only reads


@pytest.mark.parametrize(
    ("topic_exists", "leader", "key_type", "answer"),
    [
        (True, 3, 0, (Error.NONE, 3)),
        (True, 3, 1, (Error.NONE, 3)),
        (True, 3, 2, (Error.INVALID_REQUEST, NONE)),
        (True, NONE, 0, (Error.COORDINATOR_NOT_AVAILABLE, NONE)),
        (False, NONE, 0, (Error.COORDINATOR_NOT_AVAILABLE, NONE)),
    ],
)
def test_who_coordinates(topic_exists: bool, leader: int, key_type: int, answer: tuple[int, int]) -> None:
    assert find_coordinator(topic_exists, leader, key_type, Notes()) == answer


def test_a_topic_of_no_id_is_told_before_an_unstable_offset() -> None:
    notes = Notes()
    assert is_read(Asked(0, 1, 1, 1), Rules(), notes).error == Error.UNKNOWN_TOPIC_ID
    assert notes.decision_count == 0
    assert is_read(Asked(1, 1, 1, 1), Rules(), notes).error == Error.UNSTABLE_OFFSET_COMMIT
    assert (is_read(Asked(1, 0, 1, 1), Rules(), notes).error, notes.decision_count) == (Error.NONE, 2)


def test_a_marker_to_a_coordinator_that_moved_is_sent_again() -> None:
    assert error_of_marker(Error.COORDINATOR_LOAD_IN_PROGRESS) == Error.NOT_LEADER_OR_FOLLOWER
    assert error_of_marker(Error.NONE) == Error.NONE
