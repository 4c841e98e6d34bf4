"""The steps of a group of the consumer protocol: epochs, what is given back before it is given, and time."""

from dataclasses import dataclass, fields

import pytest

from zombieproof.model.rules import Rules, preset
from zombieproof.model.vocabulary import NONE, ConsumerMemberEvent, ConsumerMemberState, Error, Row
from zombieproof.statemachines.consumer_group_member import heartbeat as consumer
from zombieproof.statemachines.consumer_group_member import reconciling
from zombieproof.statemachines.consumer_group_member.heartbeat import (
    Beat,
    ConsumerGroupEffects,
    HeartbeatFacts,
    HeartbeatHost,
    HeartbeatShape,
)
from zombieproof.statemachines.consumer_group_member.reconciling import Reconciliation
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes

S, E = ConsumerMemberState, ConsumerMemberEvent
NOW = 1_000
SESSION_MS, REBALANCE_MS = 45_000, 500


@dataclass(slots=True)
class Group:
    generation: int = 2
    assignment_epoch: int = 2
    assigned_ms: int = 0
    patterns_read_ms: int = NONE


@dataclass(slots=True)
class Member:
    epoch: int = 2
    previous_epoch: int = 1
    state: int = S.STABLE
    rebalance_timeout_ms: int = REBALANCE_MS
    session_until_ms: int = NONE
    revoke_until_ms: int = NONE


HOST = HeartbeatHost(Error.NONE, NOW, interval_ms=1000)
KNOWN = HeartbeatFacts(members=1, member_is_known=True, member_epoch=2, previous_epoch=1)
STRANGER = HeartbeatFacts()
STATIC = KNOWN._replace(has_instance=True, instance_is_known=True, instance_is_this_member=True, instance_epoch=2)
SHAPE = HeartbeatShape(1, 2, True, True, False, False, True, True, True)


def wanted(effects: ConsumerGroupEffects) -> dict[str, int]:
    """What a step wants, without what it does not."""
    found = {each.name: int(getattr(effects, each.name)) for each in fields(effects)}
    return {name: value for name, value in found.items() if value}


def beat(
    group: Group, member: Member, said: Beat, facts: HeartbeatFacts = KNOWN, host: HeartbeatHost = HOST
) -> ConsumerGroupEffects:
    effects = ConsumerGroupEffects()
    consumer.heartbeat(group, member, said, facts, host, Rules(), effects, Notes())
    return effects


def led(member: Member, facts: Reconciliation, group: Group | None = None) -> ConsumerGroupEffects:
    effects = ConsumerGroupEffects()
    reconciling.reconcile(Group() if group is None else group, member, facts, HOST, effects, Notes())
    return effects


# ---------------------------------------------------------------- heartbeats


def test_a_member_that_joins_raises_the_epoch_and_is_led_to_the_new_assignment() -> None:
    group, member = Group(), Member(0, 0)
    effects = beat(group, member, Beat(0, True), STRANGER)
    assert wanted(effects) == {"subscribes": 1, "assigns": 1, "compares": 1, "appends": 1, "tells_assignment": 1}
    assert (group.generation, group.assignment_epoch, group.assigned_ms) == (3, 3, NOW)
    assert member.session_until_ms == NOW + SESSION_MS
    assert wanted(led(member, Reconciliation(), group)) == {"gives": 1, "appends": 1, "epoch": 3, "tells_change": 1}
    assert (member.epoch, member.previous_epoch) == (3, 0)


def test_who_reads_nothing_joins_and_no_epoch_rises() -> None:
    group, member = Group(1, 1, NONE), Member(0, 0)
    effects = beat(group, member, Beat(0, False), STRANGER)
    assert wanted(effects) == {"subscribes": 1, "compares": 1, "appends": 1, "tells_assignment": 1}
    assert group == Group(1, 1, NONE)


def test_an_assignment_that_is_not_due_leaves_a_member_in_its_epoch() -> None:
    group, member = Group(assigned_ms=1), Member()
    effects = beat(group, member, Beat(2, True, has_news=True))
    assert wanted(effects) == {"subscribes": 1, "compares": 1, "appends": 1, "epoch": 2}
    assert (group.generation, group.assignment_epoch) == (3, 2)
    later = beat(group, member, Beat(2, False), host=HOST._replace(now_ms=1001))
    assert wanted(later) == {"assigns": 1, "compares": 1, "appends": 1, "epoch": 2}


def test_other_partitions_of_what_is_read_raise_the_epoch() -> None:
    group = Group()
    beat(group, Member(), Beat(2, False), host=HOST._replace(topics_changed=True))
    assert (group.generation, group.assignment_epoch) == (3, 3)


def test_a_member_that_says_all_is_told_all() -> None:
    assert wanted(beat(Group(), Member(), Beat(2, False))) == {"compares": 1, "epoch": 2}
    assert wanted(beat(Group(), Member(), Beat(2, False, is_full=True)))["tells_assignment"] == 1
    assert wanted(beat(Group(), Member(), Beat(0, False)))["tells_assignment"] == 1


def test_a_member_that_only_lives_is_answered_without_an_append() -> None:
    member = Member()
    assert wanted(beat(Group(), member, Beat(2, False))) == {"compares": 1, "epoch": 2}
    assert wanted(led(member, Reconciliation())) == {"replies": 1, "epoch": 2}


def test_a_member_leaves_and_the_epoch_rises() -> None:
    group = Group()
    not_the_last = KNOWN._replace(members=2)
    assert wanted(beat(group, Member(), Beat(-1, False), not_the_last)) == {"leaves": 1, "appends": 1, "epoch": -1}
    assert (group.generation, group.assignment_epoch) == (3, 2)


def test_a_static_member_leaves_its_place_and_no_epoch_rises() -> None:
    group, member = Group(), Member(session_until_ms=7, revoke_until_ms=7)
    assert wanted(beat(group, member, Beat(-2, False), STATIC)) == {"leaves_place": 1, "appends": 1, "epoch": -2}
    assert (group, member.epoch, member.session_until_ms, member.revoke_until_ms) == (Group(), -2, 7, NONE)
    back = beat(group, member, Beat(0, False), STATIC._replace(instance_epoch=-2))
    assert wanted(back) == {"replaces": 1, "subscribes": 1, "compares": 1, "appends": 1, "tells_assignment": 1}
    assert (group, member.epoch, member.previous_epoch) == (Group(), 0, 0)


@pytest.mark.parametrize(("error", "restores"), [(Error.NONE, 0), (Error.NOT_COORDINATOR, 1)])
def test_a_change_that_is_not_durable_is_taken_back(error: Error, restores: int) -> None:
    effects = beat(Group(), Member(0, 0), Beat(0, True), STRANGER)
    consumer.appended(error, effects)
    assert (effects.replies, effects.error, effects.restores, effects.appends) == (1, error, restores, 0)


def test_a_refused_heartbeat_changes_nothing() -> None:
    group, member = Group(), Member()
    assert wanted(beat(group, member, Beat(7, True))) == {"replies": 1, "error": Error.FENCED_MEMBER_EPOCH}
    assert (group, member) == (Group(), Member())


@pytest.mark.parametrize(
    ("said", "lookup_error", "told"),
    [
        (SHAPE._replace(has_group_id=False), Error.NOT_COORDINATOR, Error.INVALID_REQUEST),
        (SHAPE._replace(assignor_is_known=False), Error.NOT_COORDINATOR, Error.UNSUPPORTED_ASSIGNOR),
        (SHAPE, Error.NOT_COORDINATOR, Error.NOT_COORDINATOR),
        (SHAPE, Error.NONE, None),
    ],
)
def test_a_request_is_judged_by_itself_before_its_group_is_looked_up(
    said: HeartbeatShape, lookup_error: Error, told: Error | None
) -> None:
    effects = ConsumerGroupEffects()
    consumer.arrives(said, lookup_error, effects, Notes())
    assert (effects.replies, effects.error) == (told is not None, told or 0)


# ---------------------------------------------------------------- what is given back, and what is given


@pytest.mark.parametrize(
    ("state", "epoch", "facts", "event", "after"),
    [
        (S.STABLE, 3, Reconciliation(), None, 3),
        (S.STABLE, 2, Reconciliation(), E.SETTLE, 3),
        (S.STABLE, 2, Reconciliation(awaits=True), E.AWAIT, 3),
        (S.STABLE, 2, Reconciliation(loses=True, keeps_lost=True, awaits=True), E.REVOKE, 2),
        (S.STABLE, 2, Reconciliation(loses=True), E.SETTLE, 3),
        (S.STABLE, 3, Reconciliation(loses=True, keeps_lost=True), E.REVOKE, 3),
        (S.UNREVOKED_PARTITIONS, 2, Reconciliation(keeps_revoked=True), None, 2),
        (S.UNREVOKED_PARTITIONS, 2, Reconciliation(), E.SETTLE, 3),
        (S.UNREVOKED_PARTITIONS, 2, Reconciliation(awaits=True), E.AWAIT, 3),
        (S.UNREVOKED_PARTITIONS, 1, Reconciliation(loses=True, keeps_lost=True), E.REVOKE, 1),
        (S.UNREVOKED_PARTITIONS, 3, Reconciliation(loses=True, keeps_lost=True), E.REVOKE, 3),
        (S.UNRELEASED_PARTITIONS, 3, Reconciliation(awaits=True), E.AWAIT, 3),
        (S.UNRELEASED_PARTITIONS, 3, Reconciliation(), E.SETTLE, 3),
        (S.UNRELEASED_PARTITIONS, 2, Reconciliation(loses=True, keeps_lost=True), E.REVOKE, 2),
    ],
)
def test_a_member_is_in_the_epoch_of_the_assignment_when_it_has_given_back(
    state: ConsumerMemberState, epoch: int, facts: Reconciliation, event: ConsumerMemberEvent | None, after: int
) -> None:
    member, notes, effects = Member(epoch, 1, state), Notes(), ConsumerGroupEffects()
    reconciling.reconcile(Group(3, 3), member, facts, HOST, effects, notes)
    assert (member.epoch, effects.epoch) == (after, after)
    moves = [(each.machine, each.event) for each in notes.moves[: notes.count]]
    assert moves == ([] if event is None else [(MachineIndex.CONSUMER_GROUP_MEMBER, event)])
    assert (effects.revokes, effects.gives) == (event is E.REVOKE, event in (E.AWAIT, E.SETTLE))
    assert effects.replies == (event is None)
    assert member.previous_epoch == (1 if event is None else epoch)


def test_who_is_to_give_back_has_its_rebalance_time_out_and_nobody_else() -> None:
    member = Member()
    led(member, Reconciliation(loses=True, keeps_lost=True), Group(3, 3))
    assert member.revoke_until_ms == NOW + REBALANCE_MS
    member.revoke_until_ms -= 1
    led(member, Reconciliation(keeps_revoked=True), Group(3, 3))
    assert member.revoke_until_ms == NOW + REBALANCE_MS - 1, "it does not begin anew with each heartbeat"
    led(member, Reconciliation(), Group(3, 3))
    assert member.revoke_until_ms == NONE


# ---------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("session", "revoke", "row"),
    [
        (NONE, NONE, None),
        (NOW + 1, NOW + 1, None),
        (NOW, NONE, Row.SESSION_TIMEOUT),
        (NOW + 1, NOW, Row.REBALANCE_TIMEOUT),
        (0, 0, Row.SESSION_TIMEOUT),
    ],
)
def test_who_is_silent_or_keeps_what_it_shall_not_is_removed(session: int, revoke: int, row: Row | None) -> None:
    group, effects, notes = Group(), ConsumerGroupEffects(), Notes()
    member = Member(session_until_ms=session, revoke_until_ms=revoke)
    reconciling.time_passes(group, member, 2, NOW, Rules(), effects, notes)
    assert wanted(effects) == ({} if row is None else {"leaves": 1, "appends": 1})
    assert group.generation == (2 if row is None else 3)
    noted = [(each.decision, each.row) for each in notes.decisions[: notes.decision_count]]
    assert noted == ([] if row is None else [(Decision.CONSUMER_GROUP_HEARTBEAT, row)])


@pytest.mark.parametrize("release", ["4.3", "4.4"])
@pytest.mark.parametrize("members", [1, 2])
def test_the_last_member_takes_the_time_of_the_assignment_along_since_4_4(release: str, members: int) -> None:
    """Whether it leaves or is removed."""
    left, removed, rules = Group(assigned_ms=NOW), Group(assigned_ms=NOW), preset(release)
    assignment_epoch = left.assignment_epoch
    facts = KNOWN._replace(members=members)
    consumer.heartbeat(left, Member(), Beat(-1, False), facts, HOST, rules, ConsumerGroupEffects(), Notes())
    late = Member(session_until_ms=NOW)
    reconciling.time_passes(removed, late, members, NOW, rules, ConsumerGroupEffects(), Notes())
    forgets = release == "4.4" and members == 1
    expected = (3, NONE) if forgets else (assignment_epoch, NOW)
    assert [(each.assignment_epoch, each.assigned_ms) for each in (left, removed)] == [expected] * 2


def test_times_begin_anew_where_a_member_is_read_from_the_log() -> None:
    for state, revoke in ((S.STABLE, NONE), (S.UNREVOKED_PARTITIONS, NOW + REBALANCE_MS)):
        member = Member(state=state)
        reconciling.loaded(member, NOW, SESSION_MS)
        assert (member.session_until_ms, member.revoke_until_ms) == (NOW + SESSION_MS, revoke)


@pytest.mark.parametrize(
    ("times", "first"), [([], NONE), ([(NONE, NONE)], NONE), ([(9, NONE), (8, 7)], 7), ([(0, NONE), (NONE, 1)], 0)]
)
def test_a_group_looks_at_its_clock_when_the_first_time_is_over(times: list[tuple[int, int]], first: int) -> None:
    members = [Member(session_until_ms=session, revoke_until_ms=revoke) for session, revoke in times]
    assert reconciling.next_deadline(members) == first


@pytest.mark.parametrize(
    ("read_ms", "unread", "changed", "now_ms", "due"),
    [
        (NONE, True, False, 0, True),
        (NONE, False, False, 0, False),
        (5, True, True, 10_005, False),
        (5, True, False, 10_006, True),
        (5, False, True, 10_006, True),
        (5, False, False, 10_006, False),
        (5, False, False, 600_005, True),
    ],
)
def test_regular_expressions_are_read_when_they_are_new_and_not_too_often(
    read_ms: int, unread: bool, changed: bool, now_ms: int, due: bool
) -> None:
    effects = ConsumerGroupEffects()
    reconciling.look_at_patterns(Group(patterns_read_ms=read_ms), unread, changed, now_ms, 600_000, effects)
    assert effects.reads_patterns == due


@pytest.mark.parametrize(("changes", "changes_topics"), [(False, False), (True, False), (True, True)])
def test_the_epoch_rises_when_a_regular_expression_means_other_topics(changes: bool, changes_topics: bool) -> None:
    group, effects = Group(), ConsumerGroupEffects()
    reconciling.patterns_read(group, changes, changes_topics, NOW, effects)
    assert (group.generation, group.patterns_read_ms, effects.appends) == (2 + changes_topics, NOW, changes)
