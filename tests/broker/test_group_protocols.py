"""What members of a classic group say to assignors and get from them: choice, refusal, durability. Bytes are theirs."""

import pytest

from tests.broker.group_host import GROUP, GroupHost
from zombieproof.broker.group.classic_group import ClassicGroup
from zombieproof.broker.group.classic_member import GroupMember, chosen_by
from zombieproof.broker.group.store import GroupStore
from zombieproof.formats.batches import GroupKey, GroupValue
from zombieproof.messages.groups import (
    CONSUMERS,
    GroupProtocol,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    MemberAssignment,
    SyncGroup,
    SyncGroupAnswer,
)
from zombieproof.model.vocabulary import Error


@pytest.fixture
def host() -> GroupHost:
    return GroupHost()


def protocols(**said: bytes) -> tuple[GroupProtocol, ...]:
    return tuple(GroupProtocol(name, metadata) for name, metadata in said.items())


def join(
    member: str = "", said: tuple[GroupProtocol, ...] = (), version: int = 3, instance: str | None = None
) -> JoinGroup:
    return JoinGroup(version, GROUP, member, instance, protocols=said or protocols(range=b"r"))


def leader_of(host: GroupHost, said: tuple[GroupProtocol, ...] = (), instance: str | None = None) -> str:
    """The only member of the stable generation 1; it has got ``mine``."""
    joined = host.ask(join(said=said, version=5 if instance else 3, instance=instance), JoinGroupAnswer)
    sync(host, joined.member, 1, {joined.member: b"mine"})
    return joined.member


def sync(
    host: GroupHost, member: str, generation: int, gives: dict[str, bytes] | None = None, protocol: str | None = None
) -> SyncGroupAnswer:
    rows = tuple(MemberAssignment(name, given) for name, given in (gives or {}).items())
    said = protocol or group(host).protocol or "range"
    return host.ask(SyncGroup(5, GROUP, generation, member, None, rows, CONSUMERS, said), SyncGroupAnswer)


def group(host: GroupHost) -> ClassicGroup:
    store = host.coordinator.store(0)
    assert store is not None
    found = store.groups[GROUP]
    assert isinstance(found, ClassicGroup)
    return found


def test_the_leader_is_told_what_all_have_said_and_the_others_are_not(host: GroupHost) -> None:
    leader = leader_of(host)
    second = host.send(join(said=protocols(range=b"s")))
    led = host.ask(join(leader, protocols(range=b"r2")), JoinGroupAnswer)
    followed = host.joined(second)
    assert led.members == (JoinedMember(leader, b"r2"), JoinedMember(followed.member, b"s"))
    assert (led.protocol_type, led.protocol, led.skips_assignment) == ("consumer", "range", False)
    assert (followed.members, followed.protocol, followed.leader) == ((), "range", leader)


def test_each_gets_what_the_leader_says_whoever_asks_first(host: GroupHost) -> None:
    leader = leader_of(host)
    second = host.send(join())
    host.ask(join(leader), JoinGroupAnswer)
    follower = host.joined(second).member
    waits = host.send(SyncGroup(3, GROUP, 2, follower))
    assert sync(host, leader, 2, {leader: b"a", follower: b"b"}).assignment == b"a"
    told = host.answers.pop(waits)
    assert told == SyncGroupAnswer(0, b"b", "consumer", "range")
    assert sync(host, follower, 2).assignment == b"b", "it asks again"


def test_a_member_that_the_leader_does_not_name_gets_nothing(host: GroupHost) -> None:
    leader = leader_of(host)
    assert host.ask(join(leader), JoinGroupAnswer).generation == 2
    assert sync(host, leader, 2, {"somebody": b"x"}).assignment == b""


@pytest.mark.parametrize(
    ("likes", "chosen"),
    [
        (("ab", "ba", "ab"), "a"),
        (("ab", "b"), "b"),
        (("acb", "cb", "bc"), "c"),
        (("ab", "ba"), "a"),
        (("a", "b"), None),
        ((), None),
    ],
)
def test_the_assignor_is_the_one_that_most_like_best_of_those_that_all_know(
    likes: tuple[str, ...], chosen: str | None
) -> None:
    members = [GroupMember(protocols=dict.fromkeys(each, b"")) for each in likes]
    assert chosen_by(members) == chosen


def test_who_knows_no_assignor_that_all_know_is_refused_and_the_others_go_on(host: GroupHost) -> None:
    leader = leader_of(host, protocols(range=b"", sticky=b""))
    for said in (protocols(other=b""), ()):
        request = JoinGroup(3, GROUP, "", protocols=said)
        assert host.ask(request, JoinGroupAnswer).error == Error.INCONSISTENT_GROUP_PROTOCOL
    other_type = JoinGroup(3, GROUP, "", protocol_type="connect")
    assert host.ask(other_type, JoinGroupAnswer).error == Error.INCONSISTENT_GROUP_PROTOCOL
    assert host.beat_classic(leader, 1) == Error.NONE
    second = host.send(join(said=protocols(sticky=b"")))
    assert host.ask(join(leader, protocols(range=b"", sticky=b"")), JoinGroupAnswer).protocol == "sticky"
    assert host.joined(second).protocol == "sticky"


def test_an_empty_group_takes_any_protocol_but_none(host: GroupHost) -> None:
    for request in (JoinGroup(3, GROUP, "", protocols=()), JoinGroup(3, GROUP, "", protocol_type="")):
        assert host.ask(request, JoinGroupAnswer).error == Error.INCONSISTENT_GROUP_PROTOCOL
    joined = host.ask(JoinGroup(3, GROUP, "", protocol_type="connect"), JoinGroupAnswer)
    assert (joined.error, joined.protocol_type) == (0, "connect")


def test_a_follower_with_something_new_to_say_opens_a_rebalance_and_one_without_does_not(host: GroupHost) -> None:
    leader = leader_of(host)
    second = host.send(join(said=protocols(range=b"s")))
    host.ask(join(leader), JoinGroupAnswer)
    follower = host.joined(second).member
    sync(host, leader, 2)
    assert host.ask(join(follower, protocols(range=b"s")), JoinGroupAnswer).generation == 2
    again = host.send(join(follower, protocols(range=b"new")))
    assert host.beat_classic(leader, 2) == Error.REBALANCE_IN_PROGRESS
    led = host.ask(join(leader), JoinGroupAnswer)
    assert (led.generation, host.joined(again).generation) == (3, 3)
    assert JoinedMember(follower, b"new") in led.members


def test_a_refused_join_leaves_what_the_member_has_said(host: GroupHost) -> None:
    leader = leader_of(host, protocols(range=b"mine"))
    refused = JoinGroup(3, GROUP, leader, protocols=protocols(range=b"x"), session_timeout_ms=1)
    assert host.ask(refused, JoinGroupAnswer).error == Error.INVALID_SESSION_TIMEOUT
    assert group(host).told_to_leader() == (JoinedMember(leader, b"mine"),)


def test_a_sync_that_names_another_protocol_is_refused(host: GroupHost) -> None:
    leader = leader_of(host)
    assert sync(host, leader, 1, protocol="other").error == Error.INCONSISTENT_GROUP_PROTOCOL
    assert sync(host, leader, 1, protocol="range") == SyncGroupAnswer(0, b"mine", "consumer", "range")


def test_what_was_said_and_given_is_in_the_log_and_known_after_a_restart(host: GroupHost) -> None:
    leader = leader_of(host, protocols(sticky=b"said"))
    host.restart()
    known = group(host)
    assert (known.protocol_type, known.protocol) == ("consumer", "sticky")
    assert sync(host, leader, 1).assignment == b"mine"
    assert host.ask(join(leader, protocols(sticky=b"said")), JoinGroupAnswer).members == (
        JoinedMember(leader, b"said"),
    )


def test_what_could_not_be_made_durable_was_given_to_nobody(host: GroupHost, monkeypatch: pytest.MonkeyPatch) -> None:
    joined = host.ask(join(), JoinGroupAnswer)
    monkeypatch.setattr(GroupStore, "write", lambda *_: int(Error.NOT_COORDINATOR))
    rows = (MemberAssignment(joined.member, b"x"),)
    asked = host.send(SyncGroup(5, GROUP, 1, joined.member, None, rows, CONSUMERS, "range"))
    assert host.answers.pop(asked) == SyncGroupAnswer(Error.NOT_COORDINATOR)
    assert [seat.assignment for seat in group(host).seats] == [b""]


def test_a_static_leader_that_comes_back_goes_on_with_what_it_had(host: GroupHost) -> None:
    leader = leader_of(host, instance="i")
    again = host.ask(join(version=9, instance="i"), JoinGroupAnswer)
    assert (again.error, again.generation, again.skips_assignment) == (0, 1, True)
    assert again.member != leader
    assert again.members == (JoinedMember(again.member, b"r", "i"),)
    assert sync(host, again.member, 1).assignment == b"mine"
    older = host.ask(join(version=5, instance="i"), JoinGroupAnswer)
    assert (older.skips_assignment, older.members) == (False, ()), "it is not told that it leads"


def test_a_static_member_that_would_change_the_assignor_opens_a_rebalance(host: GroupHost) -> None:
    leader_of(host, protocols(range=b"", sticky=b""), instance="i")
    again = host.ask(join(said=protocols(sticky=b"", range=b""), version=9, instance="i"), JoinGroupAnswer)
    assert (again.generation, again.protocol, again.skips_assignment) == (2, "sticky", False)


def test_a_group_whose_members_have_all_gone_in_a_rebalance_takes_whoever_comes(host: GroupHost) -> None:
    """Somebody has got an id and does not join with it: the rebalance is open, and nobody is in it."""
    leader = leader_of(host)
    promised = host.ask(join(version=4), JoinGroupAnswer)
    assert promised.error == Error.MEMBER_ID_REQUIRED
    waits = host.send(join(leader))
    host.leave(leader)
    assert host.answers.pop(waits, None) is not None
    assert (group(host).members, group(host).empty) == ({}, False)
    host.send(join(said=protocols(another=b"")))
    assert [dict(seat.protocols) for seat in group(host).seats if seat.name != promised.member] == [{"another": b""}]


def test_a_group_of_which_the_log_says_no_protocol_is_one_that_can_be_joined(host: GroupHost) -> None:
    """As brokers wrote it that did not know what members say."""
    store = host.coordinator.store(0)
    assert store is not None
    store._replay_group(GroupKey(GROUP), GroupValue(3, (("m", 3),), "m"))
    assert group(host).shares_protocol("consumer", ["range"])
