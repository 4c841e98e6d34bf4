"""Groups of the consumer protocol at one broker: changes while members are in, and appends that fail."""

import time
from typing import Any

import pytest

from tests.broker.group_host import GROUP, A, B, GroupHost
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.assignors import balanced, ranges, server_assignor
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.patterns import matching
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from zombieproof.model.vocabulary import NONE, ConsumerMemberState, Error

SECOND = 1_000
MOST = 2_147_483_647
Owned = tuple[TopicPartition, ...] | None


@pytest.fixture
def host() -> GroupHost:
    return GroupHost()


def beat(
    host: GroupHost, member: str, epoch: int, owned: Owned = (), topics: tuple[str, ...] | None = ("in",)
) -> ConsumerGroupHeartbeatAnswer:
    """A heartbeat that says all."""
    said = ConsumerGroupHeartbeat(1, GROUP, member, epoch, topics, owned=owned)
    return host.ask(said, ConsumerGroupHeartbeatAnswer)


def by_pattern(host: GroupHost, pattern: str, member: str = "m", epoch: int = 0) -> ConsumerGroupHeartbeatAnswer:
    said = ConsumerGroupHeartbeat(1, GROUP, member, epoch, topic_pattern=pattern)
    return host.ask(said, ConsumerGroupHeartbeatAnswer)


def group_of(host: GroupHost) -> ConsumerGroup:
    store = host.coordinator.store(0)
    assert store is not None
    group = store.groups[GROUP]
    assert isinstance(group, ConsumerGroup)
    return group


def giving_back(host: GroupHost) -> None:
    """a is to give B back, and b waits for it."""
    beat(host, "a", 0)
    host.advance(SECOND)
    assert beat(host, "b", 0).assignment == ()
    assert beat(host, "a", 2, (A, B)).assignment == (A,)


# ---------------------------------------------------------------- topics change


def test_a_topic_that_gets_partitions_is_assigned_anew(host: GroupHost) -> None:
    assert beat(host, "m", 0, topics=("in", "new")).assignment == (A, B)
    host.advance(SECOND)
    host.metadata.create("other", [(1,)])
    assert beat(host, "m", 2, (A, B), None).epoch == 2, "nobody reads it"
    host.metadata.create("new", [(1,), (1,)])
    told = host.ask(ConsumerGroupHeartbeat(1, GROUP, "m", 2, owned=None), ConsumerGroupHeartbeatAnswer)
    assert (told.epoch, told.assignment) == (3, (A, B, ("new", 0), ("new", 1)))
    assert beat(host, "m", 3, told.assignment, None).epoch == 3


def test_a_pattern_means_topics_that_are_made_later_too(host: GroupHost) -> None:
    assert by_pattern(host, "in|new.*").assignment == ()
    host.advance(0)
    assert by_pattern(host, "in|new.*", epoch=1).assignment == (A, B)
    host.metadata.create("newer", [(1,)])
    host.metadata.create("__new", [(1,)])
    by_pattern(host, "in|new.*", epoch=2)
    host.advance(9 * SECOND)
    assert by_pattern(host, "in|new.*", epoch=2).assignment == (A, B), "patterns are not read so often"
    host.advance(2 * SECOND)
    by_pattern(host, "in|new.*", epoch=2)
    host.advance(0)
    assert by_pattern(host, "in|new.*", epoch=2).assignment == (A, B, ("newer", 0))


def test_what_a_pattern_means_survives_the_coordinator(host: GroupHost) -> None:
    by_pattern(host, "in")
    host.advance(0)
    by_pattern(host, "in", epoch=1)
    known = group_of(host).value()
    host.restart()
    assert group_of(host).value() == known
    assert group_of(host).patterns == {"in": ("in",)}
    assert beat(host, "m", -1, topics=None).error == Error.NONE
    host.restart()
    assert group_of(host).patterns == {}


@pytest.mark.parametrize(
    ("pattern", "topics"),
    [
        ("a", ("a",)),
        ("a.*", ("a", "ab")),
        ("b", ()),
        ("", ()),
        ("a|ab", ("a", "ab")),
        ("(?i)A", ("a",)),
        (r"\w+", ("a", "ab", "b1")),
        (r"a\(?=", ()),
        (r"\\1", ()),
        (r"\pN", ()),
        (r"\Qab\E", ("ab",)),
        ("[[:alpha:]]+", ("a", "ab")),
        (r"a\z", ("a",)),
        ("(", None),
        ("*", None),
        ("(?=a)a", None),
        ("(?!b).", None),
        ("(?<=a)b", None),
        ("(?<!a)b", None),
        (r"(a)\1", None),
        ("(?P<n>a)(?P=n)", None),
        ("a++", None),
        ("a*+", None),
        ("(?>a)", None),
        ("(a)?(?(1)b|c)", None),
        ("a{1001}", None),
        ("a{1,1001}", None),
        ("a{0,1000}", ("a",)),
        ("(" * 10_000, None),
    ],
)
def test_a_pattern_is_read_as_re2_reads_it(pattern: str, topics: tuple[str, ...] | None) -> None:
    found = matching(pattern, ("b1", "ab", "a"))
    assert topics == (None if found is None else tuple(sorted(found)))


def test_a_pattern_takes_no_exponential_time() -> None:
    began = time.process_time()
    assert matching("(a+)+", ["a" * 26 + "-"]) == frozenset()
    assert time.process_time() - began < 1


# ---------------------------------------------------------------- appends, coordinators


def test_an_append_that_fails_takes_back_what_was_to_be_given_back(host: GroupHost) -> None:
    beat(host, "a", 0)
    host.advance(SECOND)
    beat(host, "b", 0)
    known = group_of(host).value()
    host.replica.leads = False
    assert beat(host, "a", 2, (A, B)).error == Error.NOT_COORDINATOR
    assert group_of(host).value() == known
    host.replica.leads = True
    assert beat(host, "a", 2, (A, B)).assignment == (A,)


def test_a_coordinator_goes_on_with_what_is_given_back(host: GroupHost) -> None:
    giving_back(host)
    known = group_of(host).value()
    host.restart()
    assert group_of(host).value() == known
    assert group_of(host).members["a"].state == ConsumerMemberState.UNREVOKED_PARTITIONS
    assert beat(host, "b", 3, topics=None).assignment is None
    assert beat(host, "a", 2, (A,)).epoch == 3
    assert beat(host, "b", 3, topics=None).assignment == (B,)


def test_silence_is_durable(host: GroupHost) -> None:
    """Who was removed for it is not in again after a restart, and its partitions are free."""
    giving_back(host)
    host.advance(44 * SECOND)
    beat(host, "b", 3, topics=None)
    host.advance(SECOND)
    assert group_of(host).members.keys() == {"b"}
    host.restart()
    assert beat(host, "a", 2, (A, B)).error == Error.UNKNOWN_MEMBER_ID
    assert beat(host, "b", 3).assignment == (A, B)


def test_sessions_begin_anew_at_the_next_coordinator(host: GroupHost) -> None:
    beat(host, "a", 0)
    host.advance(44 * SECOND)
    host.restart()
    host.advance(44 * SECOND)
    assert group_of(host).members.keys() == {"a"}
    host.advance(SECOND)
    assert group_of(host).members == {}


def test_who_may_take_its_time_is_not_removed_for_giving_back_late(host: GroupHost) -> None:
    """Its rebalance time-out is that of Kafka's consumer: five minutes."""
    giving_back(host)
    for _ in range(29):
        host.advance(10 * SECOND)
        beat(host, "a", 2, None)
        beat(host, "b", 3, None)
    assert group_of(host).members.keys() == {"a", "b"}
    host.advance(10 * SECOND)
    assert group_of(host).members.keys() == {"b"}


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (
            {"group_consumer_session_timeout_ms": 44_999},
            "group.consumer.session.timeout.ms is 44999; legal is 45000 to",
        ),
        ({"group_consumer_session_timeout_ms": 60_001}, "legal is 45000 to 60000"),
        (
            {"group_consumer_heartbeat_interval_ms": 4_999},
            "group.consumer.heartbeat.interval.ms is 4999; legal is 5000",
        ),
        (
            {
                "group_consumer_heartbeat_interval_ms": 1_000,
                "group_consumer_min_heartbeat_interval_ms": 1_000,
                "group_consumer_session_timeout_ms": 1_000,
                "group_consumer_min_session_timeout_ms": 1_000,
            },
            "must be less than",
        ),
    ],
)
def test_settings_are_within_their_bounds(given: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        Settings(**given)


# ---------------------------------------------------------------- assignors


def test_the_assignor_that_most_members_want_is_taken_and_uniform_where_nobody_cares() -> None:
    assert server_assignor([]) is balanced
    assert server_assignor(["range"]) is ranges
    assert server_assignor(["range", "uniform"]) is balanced
    assert server_assignor(["range", "uniform", "range"]) is ranges


def test_a_topic_that_nobody_else_reads_is_one_members_alone() -> None:
    readers, counts = {"t": ["a", "b"], "u": ["b"]}, {"t": 3, "u": 1}
    for assign in (ranges, balanced):
        assigned = assign(["a", "b"], readers, counts, {})
        assert sorted(tp for each in assigned.values() for tp in each) == [("t", 0), ("t", 1), ("t", 2), ("u", 0)]
        assert ("u", 0) in assigned["b"]
    assert ranges(["a", "b"], readers, counts, {})["a"] == [("t", 0), ("t", 1)]
    assert len(balanced(["a", "b"], readers, counts, {})["a"]) == 2


def test_internal_topics_are_meant_by_no_pattern(host: GroupHost) -> None:
    by_pattern(host, ".*")
    host.advance(0)
    assert group_of(host).patterns == {".*": ("in",)}
    assert CONSUMER_OFFSETS in host.metadata.topic_ids
    assert group_of(host).patterns_read_ms != NONE
