"""The steps of a group: in which order things happen, who waits, and what follows from appends and time."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import pytest

from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, ClassicGroupEvent, ClassicGroupState, Error, Row
from zombieproof.statemachines.classic_group import deletion, joining, membership, rebalances
from zombieproof.statemachines.classic_group.deletion import KnownOffset
from zombieproof.statemachines.classic_group.effects import (
    GroupAppend,
    GroupEffects,
    GroupHost,
    Identity,
    MemberRequest,
    Operation,
    PendingRequest,
    Wait,
)
from zombieproof.statemachines.classic_group.members import NO_RESULT, GroupMembers, Standing, next_deadline
from zombieproof.statemachines.classic_group.members import Member as ClassicMember
from zombieproof.statemachines.find_coordinator import find_coordinator
from zombieproof.statemachines.group_coordinator.offsets import Asked, error_of_marker, is_read
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes

S, E = ClassicGroupState, ClassicGroupEvent
NEW, STATIC = Identity(), Identity(instance=1)
FOLLOWER = Identity(member=1, member_is_known=True)
LEADER = FOLLOWER._replace(is_leader=True)
NOW, SESSION_MS, REBALANCE_MS = 1_000, 100, 500


@dataclass(slots=True)
class Group:
    state: int = S.STABLE
    generation: int = 4
    known: bool = True
    dead: bool = False
    empty: bool = False
    is_consumer: bool = False


def nothing_known() -> Group:
    return Group(S.EMPTY, NONE, known=False, empty=True)


def made() -> Group:
    """A group that has just been made."""
    return Group(S.EMPTY, 0, empty=True)


def wanted(effects: Any) -> dict[str, int]:
    """Everything that is not as in effects that want nothing."""
    nothing = type(effects)()
    names = [field.name for field in fields(effects)]
    return {name: int(getattr(effects, name)) for name in names if getattr(effects, name) != getattr(nothing, name)}


def member(number: int, **facts: Any) -> ClassicMember:
    """A member that is in."""
    usual = {"standing": Standing.IN, "session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": REBALANCE_MS}
    return ClassicMember(number, **(usual | facts))


def two(**facts: Any) -> list[ClassicMember]:
    """Members 1, which leads, and 2."""
    return [member(1, **facts), member(2, **facts)]


class Play:
    """Requests at one group, and what each step of them wanted; `delay_ms` is that of the first rebalance."""

    def __init__(self, group: Group, *members: ClassicMember, delay_ms: int = 0) -> None:
        self.group, self.pending, self.notes = group, PendingRequest(), Notes()
        self.members = GroupMembers(list(members), leader=members[0].number if members else NONE)
        self.host = GroupHost(NOW, delay_ms, 10, 10_000)
        self.effects: list[dict[str, int]] = []
        self.sender = ClassicMember()

    def _want(self, effects: GroupEffects) -> "Play":
        self.effects.append(wanted(effects))
        return self

    def ask(self, step: Callable[..., None], *arguments: Any) -> "Play":
        effects = GroupEffects()
        step(self.group, self.pending, *arguments, effects, self.notes)
        return self._want(effects)

    def delete(self, lookup: Error, transactions: int = 0, rules: Rules | None = None) -> "Play":
        """DeleteGroups of the group, in which `transactions` have offsets pending."""
        effects, rules = GroupEffects(), rules or Rules()
        deletion.delete_group(self.group, transactions, self.pending, lookup, rules, effects, self.notes)
        return self._want(effects)

    def join(self, sender: Identity, number: int = 9, former: int = NONE, **said: Any) -> "Play":
        """JoinGroup of a member, or of one that takes a seat for it."""
        self.sender = self._seat(number)
        self.sender.former = former
        effects, request = GroupEffects(), asked(sender, **said)
        joining.join(self.group, self.members, self.sender, self.pending, request, self.host, effects, self.notes)
        return self._want(effects)

    def sync(self, sender: Identity, number: int = 1, **said: Any) -> "Play":
        self.sender, effects = self._seat(number), GroupEffects()
        membership.sync(self.group, self.members, self.sender, self.pending, asked(sender, **said), effects, self.notes)
        return self._want(effects)

    def leave(self, *leavers: tuple[Identity, int], version: int = 3, rules: Rules | None = None) -> "Play":
        for sender, number in leavers:
            effects = GroupEffects()
            request = asked(sender, version=version)
            membership.leave(
                self.group,
                self.members,
                self._seat(number),
                self.pending,
                request,
                rules or Rules(),
                effects,
                self.notes,
            )
            self._want(effects)
        effects = GroupEffects()
        membership.all_left(self.group, self.members, self.pending, self.host, effects, self.notes)
        return self._want(effects)

    def outcome(self, error: int = Error.NONE) -> "Play":
        effects = GroupEffects()
        membership.appended(self.group, self.members, self.sender, self.pending, error, self.host, effects, self.notes)
        return self._want(effects)

    def time(self, now_ms: int) -> "Play":
        """Everything that is due by then happens, one after the other."""
        self.host = self.host._replace(now_ms=now_ms)
        while NONE < next_deadline(self.members) <= now_ms:
            effects = GroupEffects()
            rebalances.time_passes(self.group, self.members, self.pending, self.host, effects, self.notes)
            self._want(effects)
        return self

    def _seat(self, number: int) -> ClassicMember:
        found = next((each for each in self.members.members if each.number == number), None)
        if found is None:
            found = ClassicMember(number)
            self.members.members = [*self.members.members, found]
        return found

    def told(self) -> dict[int, tuple[int, int]]:
        """Who was told what: of its JoinGroup, and of its SyncGroup."""
        every = {each.number: (each.join_result, each.sync_result) for each in self.members.members}
        return {number: told for number, told in every.items() if told != (NO_RESULT, NO_RESULT)}

    def numbers(self) -> list[int]:
        """Who is in."""
        return [each.number for each in self.members.members if each.standing == Standing.IN]

    def moves(self) -> list[tuple[int, int]]:
        taken = self.notes.moves[: self.notes.count]
        assert {move.machine for move in taken} <= {MachineIndex.CLASSIC_GROUP}
        return [(move.event, move.target) for move in taken]

    def guards(self) -> list[tuple[Decision, Row, int]]:
        noted = self.notes.decisions[: self.notes.decision_count]
        return [(Decision(each.decision), Row(each.row), each.error) for each in noted]


def asked(sender: Identity, lookup: int = Error.NONE, has_group_id: bool = True, **said: Any) -> MemberRequest:
    usual = {"version": 3, "generation": 4, "session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": REBALANCE_MS}
    return MemberRequest(has_group_id=has_group_id, lookup_error=lookup, sender=sender, **(usual | said))


def said(lookup: int = Error.NONE) -> MemberRequest:
    return asked(NEW, lookup)


JOINED, SYNCED = (0, NO_RESULT), (NO_RESULT, 0)
OPENED, ALL_IN = (E.REBALANCE, S.PREPARING_REBALANCE), (E.ALL_JOINED, S.COMPLETING_REBALANCE)
WAITS = {"waits": Wait.JOIN}

# ---------------------------------------------------------------- JoinGroup


def test_the_first_member_has_nobody_to_wait_for() -> None:
    play = Play(made()).join(NEW)
    assert (play.effects, play.told()) == ([WAITS | {"gives_id": 1}], {9: JOINED})
    assert play.moves() == [OPENED, ALL_IN]
    assert (play.group.generation, play.members.leader) == (1, 9)
    assert (play.sender.until_ms, play.sender.is_new) == (NOW + SESSION_MS, 0), "its session begins when it is told"


def test_a_new_member_waits_for_those_that_are_there() -> None:
    play = Play(Group(), *two()).join(NEW)
    assert (play.effects, play.told(), play.moves()) == ([WAITS | {"gives_id": 1}], {}, [OPENED])
    assert play.members.join_until_ms == NOW + REBALANCE_MS
    play.join(FOLLOWER, 2)
    assert play.told() == {}
    play.join(LEADER, 1)
    assert (play.effects[1:], play.told()) == ([WAITS, WAITS], {1: JOINED, 2: JOINED, 9: JOINED})
    assert (play.moves(), play.group.generation, play.members.leader) == ([OPENED, ALL_IN], 5, 1)
    assert play.members.join_until_ms == NONE


def test_a_rebalance_takes_as_long_as_its_slowest_member_may_take() -> None:
    play = Play(Group(), member(1, rebalance_timeout_ms=700), member(2)).join(NEW, rebalance_timeout_ms=600)
    assert play.members.join_until_ms == NOW + 700


def test_an_id_that_was_promised_is_waited_for() -> None:
    play = Play(Group(), member(1), member(2, standing=Standing.PROMISED)).join(NEW).join(LEADER, 1)
    assert play.told() == {}
    play.join(Identity(member=1, is_pending=True), 2)
    assert play.told() == {1: JOINED, 2: JOINED, 9: JOINED}


def test_a_group_is_durable_before_anybody_is_in_it() -> None:
    play = Play(nothing_known()).join(NEW)
    assert play.effects == [{"gives_id": 1, "append": GroupAppend.NEW_GROUP}]
    assert (play.pending.operation, play.moves(), play.numbers()) == (Operation.JOIN, [], [])
    play.group = made()
    play.outcome()
    assert (play.effects[1], play.told()) == (WAITS, {9: JOINED})
    assert play.group.generation == 1


def test_nobody_is_in_a_group_that_could_not_be_made() -> None:
    play = Play(nothing_known()).join(NEW).outcome(Error.COORDINATOR_NOT_AVAILABLE)
    assert play.effects[1] == {"replies": 1, "error": Error.COORDINATOR_NOT_AVAILABLE}
    assert (play.moves(), play.pending.operation, play.numbers()) == ([], Operation.NOTHING, [])


def test_an_empty_group_of_the_other_protocol_makes_room() -> None:
    play = Play(Group(is_consumer=True, empty=True)).join(NEW)
    assert play.effects == [{"gives_id": 1, "append": GroupAppend.NEW_GROUP}]


@pytest.mark.parametrize("is_there", [True, False])
def test_an_id_is_promised_after_the_group_is_there(is_there: bool) -> None:
    play = Play(Group() if is_there else nothing_known(), *(two() if is_there else ())).join(NEW, version=4)
    if not is_there:
        assert play.effects.pop() == {"gives_id": 1, "append": GroupAppend.NEW_GROUP}
        play.group = made()
        play.outcome()
    promised = {"replies": 1, "error": Error.MEMBER_ID_REQUIRED}
    assert play.effects == [promised | ({"gives_id": 1} if is_there else {})]
    assert (play.moves(), play.sender.standing, play.sender.until_ms) == ([], Standing.PROMISED, NOW + SESSION_MS)


RETURNS = STATIC._replace(instance_is_known=True)


@pytest.mark.parametrize(("version", "shown"), [(5, {"leader": 1}), (8, {"leader": 1}), (9, {})])
def test_a_static_instance_that_begins_anew_is_told_who_led_before(version: int, shown: dict[str, int]) -> None:
    play = Play(Group(), member(1, is_static=1), member(2)).join(RETURNS, former=1, version=version).outcome()
    assert play.effects == [
        {"gives_id": 1, "append": GroupAppend.GROUP},
        {"replies": 1, "generation": 4, **shown},
    ]
    assert (play.moves(), play.numbers(), play.members.leader) == ([], [2, 9], 9)


def test_a_place_that_could_not_be_made_durable_is_given_back() -> None:
    play = Play(Group(), member(1, is_static=1), member(2)).join(RETURNS, former=1).outcome(Error.NOT_COORDINATOR)
    assert play.effects[1] == {"replies": 1, "error": Error.NOT_COORDINATOR}
    assert (play.numbers(), play.members.leader) == ([1, 2], 1)


def test_whoever_had_the_place_of_a_static_instance_is_fenced_where_it_waits() -> None:
    waiting = member(1, is_static=1, awaits_join=1)
    play = Play(Group(S.PREPARING_REBALANCE), waiting, member(2)).join(RETURNS, former=1)
    assert (play.told(), play.effects) == ({1: (Error.FENCED_INSTANCE_ID, NO_RESULT)}, [WAITS | {"gives_id": 1}])
    play.join(FOLLOWER, 2)
    assert (play.told()[9], play.told()[2], play.members.leader) == (JOINED, JOINED, 9)


def test_a_follower_that_joins_again_is_told_the_generation() -> None:
    play = Play(Group(), *two()).join(FOLLOWER, 2)
    assert play.effects == [{"replies": 1, "generation": 4}]


# ---------------------------------------------------------------- all of them


def test_who_does_not_coordinate_a_group_says_so_before_anything() -> None:
    for request in (Play.join, Play.sync):
        elsewhere = request(Play(Group()), LEADER, lookup=Error.NOT_COORDINATOR)
        assert elsewhere.effects == [{"replies": 1, "error": Error.NOT_COORDINATOR}]
        assert elsewhere.guards() == []
        nameless = request(Play(Group()), LEADER, lookup=Error.NOT_COORDINATOR, has_group_id=0)
        assert nameless.effects == [{"replies": 1, "error": Error.INVALID_GROUP_ID}]
        assert [guard for _, guard, _ in nameless.guards()] == [Row.NO_GROUP_ID]


def test_a_session_time_out_is_judged_by_whoever_is_asked() -> None:
    play = Play(Group()).join(LEADER, lookup=Error.NOT_COORDINATOR, session_timeout_ms=9)
    assert play.guards() == [(Decision.JOIN_GROUP, Row.SESSION_TIMEOUT, Error.INVALID_SESSION_TIMEOUT)]


def test_a_heartbeat_answers_and_keeps_a_member_alive() -> None:
    told = []
    for group, request in (
        (Group(), asked(FOLLOWER)),
        (Group(), asked(FOLLOWER, generation=3)),
        (Group(S.PREPARING_REBALANCE), asked(FOLLOWER)),
        (Group(), asked(FOLLOWER, Error.COORDINATOR_LOAD_IN_PROGRESS)),
        (Group(), asked(FOLLOWER, Error.NOT_COORDINATOR)),
    ):
        effects, notes, alive = GroupEffects(), Notes(), member(2, until_ms=NOW + 1)
        membership.heartbeat(group, alive, request, GroupHost(NOW, 0, 0, 0), effects, notes)
        told.append((effects.replies, effects.error, alive.until_ms - NOW, notes.count))
    assert told == [
        (1, 0, SESSION_MS, 0),
        (1, Error.ILLEGAL_GENERATION, 1, 0),
        (1, Error.REBALANCE_IN_PROGRESS, SESSION_MS, 0),
        (1, 0, 1, 0),
        (1, Error.NOT_COORDINATOR, 1, 0),
    ]


@pytest.mark.parametrize(("state", "lives_until_ms"), [(S.STABLE, NOW + SESSION_MS), (S.COMPLETING_REBALANCE, NOW + 1)])
def test_a_commit_keeps_a_member_alive(state: ClassicGroupState, lives_until_ms: int) -> None:
    alive = member(2, until_ms=NOW + 1)
    membership.committed(Group(state), alive, NOW)
    assert alive.until_ms == lives_until_ms


# ---------------------------------------------------------------- SyncGroup


def test_a_group_is_stable_when_the_assignment_is_durable() -> None:
    play = Play(Group(S.COMPLETING_REBALANCE), *two(owes_sync=1)).sync(FOLLOWER, 2).sync(LEADER, 1)
    assert play.effects == [{"waits": Wait.SYNC}, {"waits": Wait.SYNC, "append": GroupAppend.GROUP}]
    assert (play.told(), play.group.state) == ({}, S.COMPLETING_REBALANCE)
    play.outcome()
    assert (play.effects[2], play.told(), play.group.state) == ({}, {1: SYNCED, 2: SYNCED}, S.STABLE)
    assert play.moves() == [(E.ASSIGN, S.STABLE)]


def test_a_member_that_is_late_finds_its_assignment() -> None:
    play = Play(Group(), *two()).sync(FOLLOWER, 2)
    assert (play.effects, play.told()) == ([{"replies": 1}], {})


def test_an_assignment_that_is_not_durable_is_everybodys_error_and_all_join_again() -> None:
    play = Play(Group(S.COMPLETING_REBALANCE), *two(owes_sync=1)).sync(FOLLOWER, 2).sync(LEADER, 1)
    play.outcome(Error.NOT_COORDINATOR)
    failed = (NO_RESULT, Error.NOT_COORDINATOR)
    assert (play.effects[2], play.told()) == ({}, {1: failed, 2: failed})
    assert play.moves() == [OPENED]


def test_an_outcome_that_finds_the_group_elsewhere_changes_nothing() -> None:
    """The second look: somebody joined while the assignment was under way."""
    play = Play(Group(S.COMPLETING_REBALANCE), *two()).sync(LEADER, 1).join(NEW)
    rebalancing = (NO_RESULT, Error.REBALANCE_IN_PROGRESS)
    assert (play.told(), play.moves()) == ({1: rebalancing}, [OPENED])
    play.outcome()
    assert (play.group.state, play.notes.illegal) == (S.PREPARING_REBALANCE, 0)
    again = Play(Group(S.COMPLETING_REBALANCE), *two()).sync(LEADER, 1)
    again.group.generation += 1
    again.outcome()
    assert (again.moves(), again.told()) == ([], {})


# ---------------------------------------------------------------- LeaveGroup


def test_those_who_leave_together_open_one_rebalance() -> None:
    play = Play(Group(), *two(), member(3)).leave((FOLLOWER, 2), (LEADER, 1), (Identity(member=1), 4))
    assert play.effects == [{}, {}, {"error": Error.UNKNOWN_MEMBER_ID}, {"replies": 1}]
    assert (play.moves(), play.numbers(), play.members.leader) == ([OPENED], [3], 3)


def test_whoever_waits_is_told_that_it_was_taken_out() -> None:
    waiting = member(2, awaits_join=1)
    play = Play(Group(S.PREPARING_REBALANCE), member(1, awaits_join=1), waiting, member(3))
    play.leave((FOLLOWER, 2))
    assert play.told() == {2: (Error.UNKNOWN_MEMBER_ID, NO_RESULT)}
    play.leave((FOLLOWER, 3))
    assert (play.told()[1], play.group.state) == (JOINED, S.COMPLETING_REBALANCE)


@pytest.mark.parametrize("error", [Error.NONE, Error.NOT_COORDINATOR])
def test_an_empty_generation_is_durable_at_once_and_answered_alike_if_it_is_not(error: Error) -> None:
    play = Play(Group(), member(1)).leave((LEADER, 1)).outcome(error)
    assert play.effects[1:] == [{"append": GroupAppend.GROUP}, {"replies": 1}]
    assert (play.group.state, play.group.generation, play.members.leader) == (S.EMPTY, 5, NONE)


@pytest.mark.parametrize(
    ("state", "rebalances_too", "moves"),
    [
        (S.EMPTY, 1, []),
        (S.STABLE, 1, [OPENED]),
        (S.STABLE, 0, []),
        (S.PREPARING_REBALANCE, 0, [ALL_IN]),
    ],
)
def test_an_id_that_was_only_promised_is_forgotten(
    state: ClassicGroupState, rebalances_too: int, moves: list[Any]
) -> None:
    promised = member(9, standing=Standing.PROMISED)
    waiting = int(state == S.PREPARING_REBALANCE)
    members = two(awaits_join=waiting) if state != S.EMPTY else list[ClassicMember]()
    play = Play(Group(state, empty=not members), *members, promised)
    play.leave((Identity(member=1, is_pending=True), 9), rules=Rules(given_back_id_rebalances=rebalances_too))
    assert (play.effects, play.moves(), promised.standing) == ([{}, {"replies": 1}], moves, Standing.NOBODY)


def test_whose_error_is_that_of_the_request() -> None:
    unknown, dead, stranger = Error.UNKNOWN_MEMBER_ID, Error.COORDINATOR_NOT_AVAILABLE, (Identity(member=1), 4)
    assert Play(Group()).leave(stranger).effects[-1] == {"replies": 1}
    assert Play(Group()).leave(stranger, version=2).effects[-1] == {"replies": 1, "error": unknown}
    assert Play(Group(dead=True)).leave((LEADER, 1), (LEADER, 1)).effects[-1] == {"replies": 1, "error": dead}
    effects = GroupEffects()
    membership.begin_leaving(said(Error.NOT_COORDINATOR), effects)
    assert wanted(effects) == {"replies": 1, "error": Error.NOT_COORDINATOR}
    assert [membership.names_leavers(version) for version in (2, 3)] == [False, True]


# ---------------------------------------------------------------- time


def test_who_does_not_join_in_time_is_gone() -> None:
    play = Play(Group(), *two()).join(NEW).join(FOLLOWER, 2).time(NOW + REBALANCE_MS - 1)
    assert (play.told(), play.numbers()) == ({}, [1, 2, 9])
    play.time(NOW + REBALANCE_MS)
    assert (play.told(), play.numbers(), play.members.leader) == ({2: JOINED, 9: JOINED}, [2, 9], 2)
    assert play.moves() == [OPENED, ALL_IN]


def test_a_static_member_that_does_not_join_in_time_stays() -> None:
    play = Play(Group(), member(1, is_static=1), member(2)).join(FOLLOWER, 2).join(NEW).time(NOW + REBALANCE_MS)
    assert (play.numbers(), play.members.leader, play.told()) == ([1, 9], 9, {9: JOINED})


def test_a_rebalance_to_which_only_nobody_came_goes_on() -> None:
    static = member(1, is_static=1, until_ms=NOW + 9 * REBALANCE_MS)
    play = Play(Group(S.PREPARING_REBALANCE), static)
    play.members.join_until_ms = NOW
    play.time(NOW)
    assert (play.moves(), play.members.join_until_ms) == ([], NOW + REBALANCE_MS)


def test_without_any_time_for_a_rebalance_time_passes_all_the_same() -> None:
    play = Play(Group(S.PREPARING_REBALANCE), member(1, is_static=1, rebalance_timeout_ms=0))
    play.members.join_until_ms = NOW
    assert play.time(NOW).members.join_until_ms == NOW + 1


def test_who_does_not_ask_for_its_assignment_is_gone() -> None:
    play = Play(Group(S.COMPLETING_REBALANCE), *two(owes_sync=1), member(3, owes_sync=1))
    play.members.sync_until_ms = NOW + 5
    play.sync(LEADER, 1).outcome().sync(FOLLOWER, 3).time(NOW + 5)
    assert (play.numbers(), play.moves()) == ([1, 3], [(E.ASSIGN, S.STABLE), OPENED])


def test_where_nobody_asks_for_an_assignment_nobody_is_left() -> None:
    play = Play(Group(S.COMPLETING_REBALANCE), *two(owes_sync=1))
    play.members.sync_until_ms = NOW
    play.time(NOW).outcome()
    assert (play.group.state, play.effects[0]) == (S.EMPTY, {"append": GroupAppend.GROUP})


def test_everybody_who_has_asked_in_time_stays() -> None:
    play = Play(Group(S.COMPLETING_REBALANCE), *two(owes_sync=1))
    play.members.sync_until_ms = NOW + 5
    play.sync(FOLLOWER, 2).sync(LEADER, 1).outcome()
    assert play.members.sync_until_ms == NONE


@pytest.mark.parametrize(
    ("facts", "goes"),
    [
        ({}, True),
        ({"awaits_join": 1}, False),
        ({"awaits_sync": 1}, False),
        ({"awaits_join": 1, "is_new": 1}, True),
    ],
)
def test_a_silent_member_is_gone_unless_it_waits(facts: dict[str, int], goes: bool) -> None:
    play = Play(Group(S.PREPARING_REBALANCE), member(1), member(2, until_ms=NOW, **facts)).time(NOW)
    assert play.numbers() == ([1] if goes else [1, 2])
    assert play.told() == ({2: (Error.UNKNOWN_MEMBER_ID, NO_RESULT)} if goes and facts else {})


def test_the_end_of_a_session_opens_a_rebalance_or_ends_one() -> None:
    stable = Play(Group(), member(1), member(2, until_ms=NOW)).time(NOW)
    assert stable.moves() == [OPENED]
    waited = Play(Group(S.PREPARING_REBALANCE), member(1, awaits_join=1), member(2, until_ms=NOW)).time(NOW)
    assert (waited.moves(), waited.told()) == ([ALL_IN], {1: JOINED})
    last = Play(Group(), member(1, until_ms=NOW)).time(NOW)
    assert (last.group.state, last.effects) == (S.EMPTY, [{"append": GroupAppend.GROUP}])
    promised = Play(Group(), member(1), member(2, standing=Standing.PROMISED, until_ms=NOW)).time(NOW)
    assert (promised.moves(), promised.members.members[1].standing) == ([], Standing.NOBODY)


def test_the_first_rebalance_of_a_group_waits_for_more_members() -> None:
    play = Play(made(), delay_ms=200).join(NEW, 1).join(NEW, 2)
    assert (play.told(), play.members.join_until_ms) == ({}, NOW + 200)
    play.time(NOW + 200)
    assert (play.told(), play.members.join_until_ms) == ({}, NOW + 400), "somebody came meanwhile"
    play.time(NOW + 400)
    assert (play.told(), play.members.leader) == ({1: JOINED, 2: JOINED}, 1)


def test_the_first_rebalance_of_a_group_waits_no_longer_than_its_members_may() -> None:
    play = Play(made(), delay_ms=200).join(NEW, 1, rebalance_timeout_ms=250).join(NEW, 2).time(NOW + 200)
    assert play.members.join_until_ms == NOW + 250
    short = Play(made(), delay_ms=200).join(NEW, 1, rebalance_timeout_ms=150).join(NEW, 2).time(NOW + 200)
    assert short.told() == {1: JOINED, 2: JOINED}


def test_the_first_rebalance_of_a_group_ends_empty_if_all_have_left() -> None:
    play = Play(made(), delay_ms=200).join(NEW, 1).leave((LEADER, 1))
    assert (play.told(), play.group.state) == ({1: (Error.UNKNOWN_MEMBER_ID, NO_RESULT)}, S.PREPARING_REBALANCE)
    assert play.time(NOW + 200).group.state == S.EMPTY


def test_a_coordinator_that_resigns_sends_everybody_away() -> None:
    play = Play(Group(S.PREPARING_REBALANCE), member(1, awaits_join=1), member(2, awaits_sync=1), member(3))
    rebalances.resigned(play.members, Error.NOT_COORDINATOR)
    away = Error.NOT_COORDINATOR
    assert play.told() == {1: (away, NO_RESULT), 2: (NO_RESULT, away)}


def test_sessions_begin_when_a_group_is_loaded() -> None:
    members = GroupMembers([member(1), member(2, session_timeout_ms=NONE)])
    rebalances.loaded(members, NOW)
    assert [each.until_ms for each in members.members] == [NOW + SESSION_MS, NONE]


# ---------------------------------------------------------------- what goes


@pytest.mark.parametrize(
    ("group", "offset", "effects"),
    [
        (nothing_known(), KnownOffset(True, True, False), {"replies": 1, "error": Error.GROUP_ID_NOT_FOUND}),
        (Group(), KnownOffset(True, True, False), {"replies": 1, "error": Error.NON_EMPTY_GROUP}),
        (Group(is_consumer=True), KnownOffset(True, True, True), {"error": Error.GROUP_SUBSCRIBED_TO_TOPIC}),
        (Group(is_consumer=True), KnownOffset(True, False, False), {"append": GroupAppend.TOMBSTONES}),
        (Group(empty=True), KnownOffset(False, True, False), {"append": GroupAppend.TOMBSTONES}),
        (Group(empty=True), KnownOffset(False, False, False), {}),
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
    play = Play(Group(S.EMPTY, empty=True)).delete(Error.NONE)
    assert (play.effects, play.group.state) == ([{"append": GroupAppend.TOMBSTONES, "ends": 1}], S.EMPTY)
    play.ask(deletion.ended, outcome)
    assert play.group.state == state
    assert play.guards() == [(Decision.DELETE_GROUPS, Row.GROUP_DELETED, Error.NONE)]


def test_a_consumer_group_ends_without_a_state() -> None:
    play = Play(Group(is_consumer=True, empty=True)).delete(Error.NONE).ask(deletion.ended, 0)
    assert (play.effects[1], play.moves(), play.notes.illegal) == ({"replies": 1}, [], 0)


@pytest.mark.parametrize(
    ("group", "lookup", "error"),
    [
        (Group(), Error.NOT_COORDINATOR, Error.NOT_COORDINATOR),
        (nothing_known(), Error.NONE, Error.GROUP_ID_NOT_FOUND),
        (Group(S.DEAD, dead=True), Error.NONE, Error.GROUP_ID_NOT_FOUND),
        (Group(), Error.NONE, Error.NON_EMPTY_GROUP),
        (Group(is_consumer=True), Error.NONE, Error.NON_EMPTY_GROUP),
    ],
)
def test_a_group_that_stays(group: Group, lookup: Error, error: Error) -> None:
    play = Play(group).delete(lookup)
    assert (play.effects, play.pending.operation) == ([{"replies": 1, "error": error}], Operation.NOTHING)


def test_pending_offsets_hold_their_group_only_where_a_rule_says_so() -> None:
    waits = with_switches(Rules(), on=["deletion_waits_for_offsets"])
    for transactions, rules, goes in ((1, Rules(), True), (1, waits, False), (0, waits, True)):
        play = Play(Group(S.EMPTY, empty=True)).delete(Error.NONE, transactions, rules)
        stays = {"replies": 1, "error": Error.NON_EMPTY_GROUP}
        assert play.effects == [{"append": GroupAppend.TOMBSTONES, "ends": 1} if goes else stays]


def test_groups_of_one_partition_fail_together() -> None:
    assert deletion.error_of_deletion(Error.GROUP_ID_NOT_FOUND, Error.NONE) == Error.GROUP_ID_NOT_FOUND
    assert deletion.error_of_deletion(Error.GROUP_ID_NOT_FOUND, Error.NOT_COORDINATOR) == Error.NOT_COORDINATOR


@pytest.mark.parametrize(
    ("group", "offset", "goes"),
    [
        (Group(empty=True), KnownOffset(True, False, False, committed_ms=0), True),
        (Group(empty=True), KnownOffset(True, False, False, committed_ms=1), False),
        (Group(empty=True), KnownOffset(True, True, False), False),
        (Group(), KnownOffset(True, False, False), False),
        (Group(is_consumer=True), KnownOffset(True, False, False), True),
        (Group(is_consumer=True, empty=True), KnownOffset(True, False, True), False),
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
    assert is_read(Asked(False, True, 1, True), Rules(), notes).error == Error.UNKNOWN_TOPIC_ID
    assert notes.decision_count == 0
    assert is_read(Asked(True, True, 1, True), Rules(), notes).error == Error.UNSTABLE_OFFSET_COMMIT
    assert (is_read(Asked(True, False, 1, True), Rules(), notes).error, notes.decision_count) == (Error.NONE, 2)


def test_a_marker_to_a_coordinator_that_moved_is_sent_again() -> None:
    assert error_of_marker(Error.COORDINATOR_LOAD_IN_PROGRESS) == Error.NOT_LEADER_OR_FOLLOWER
    assert error_of_marker(Error.NONE) == Error.NONE
