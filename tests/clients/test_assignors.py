"""Kafka's assignors: every partition to one reader, balanced, and with little moved.

The cases by hand are those of ``RangeAssignorTest``, ``RoundRobinAssignorTest`` and ``CooperativeStickyAssignorTest``.
"""

from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.broker.group.assignors import Assigned
from zombieproof.clients.assignors import ASSIGNORS, Assignor, Members, Subscriber, balance, owners
from zombieproof.formats.consumer_protocol import Subscription
from zombieproof.formats.topics import TopicPartition

RANGE, ROUND_ROBIN, COOPERATIVE = (ASSIGNORS[name] for name in ("range", "roundrobin", "cooperative-sticky"))
every_assignor = pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)

TOPICS = ["t", "u", "v"]
COUNTS = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 6))


def member(*topics: str, owned: tuple[TopicPartition, ...] = (), generation: int = -1) -> Subscriber:
    return Subscriber(Subscription(topics, owned, generation))


MEMBERS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.builds(
        lambda topics, owned, generation, instance: Subscriber(
            Subscription(tuple(sorted(topics)), tuple(sorted(owned)), generation), instance
        ),
        st.sets(st.sampled_from(TOPICS)),
        st.sets(st.tuples(st.sampled_from(TOPICS), st.integers(0, 6)), max_size=6),
        st.integers(-1, 2),
        st.none(),
    ),
    max_size=5,
)


def faults(members: Members, counts: Mapping[str, int], assigned: Assigned, withheld: set[TopicPartition]) -> list[str]:
    """What is wrong with an assignment, whoever made it."""
    found = []
    given_out = Counter(partition for partitions in assigned.values() for partition in partitions)
    found += [f"{partition} is given {times} times" for partition, times in given_out.items() if times > 1]
    wanted = {topic for each in members.values() for topic in each.subscription.topics}
    there = {(topic, number) for topic in wanted for number in range(counts.get(topic, 0))}
    found += [f"{partition} is given to nobody" for partition in there - given_out.keys() - withheld]
    found += [f"{partition} does not exist" for partition in given_out.keys() - there]
    for name, partitions in assigned.items():
        found += [f"{name} does not read {tp}" for tp in partitions if tp[0] not in members[name].subscription.topics]
    return found if assigned.keys() == members.keys() else [*found, "members are left out"]


def claimed(members: Members) -> set[TopicPartition]:
    return {tp for each in members.values() for tp in each.subscription.owned}


@every_assignor
@given(MEMBERS, COUNTS)
def test_every_partition_is_given_to_one_member_that_reads_it(
    assign: Assignor, members: Members, counts: Mapping[str, int]
) -> None:
    withheld = claimed(members) if assign is COOPERATIVE else set[TopicPartition]()
    assert faults(members, counts, assign(members, counts), withheld) == []


@given(MEMBERS, COUNTS)
def test_nobody_has_two_more_than_another_one_who_could_take_one(members: Members, counts: Mapping[str, int]) -> None:
    assigned = balance(members, counts)
    for giver, partitions in assigned.items():
        for taker, others in assigned.items():
            could = any(tp[0] in members[taker].subscription.topics for tp in partitions)
            assert not (could and len(partitions) > len(others) + 1), (giver, taker, assigned)


@given(MEMBERS, COUNTS)
def test_what_is_balanced_stays(members: Members, counts: Mapping[str, int]) -> None:
    first = balance(members, counts)
    again = {
        name: Subscriber(Subscription(each.subscription.topics, tuple(first[name]), 5))
        for name, each in members.items()
    }
    assert balance(again, counts) == first
    assert COOPERATIVE(again, counts) == first


@given(MEMBERS, COUNTS)
def test_a_partition_that_moves_waits_until_it_was_given_back(members: Members, counts: Mapping[str, int]) -> None:
    assigned = COOPERATIVE(members, counts)
    for name, partitions in assigned.items():
        for partition in partitions:
            others = [other for other in members if partition in members[other].subscription.owned and other != name]
            assert others == []


@given(MEMBERS, COUNTS)
def test_two_rounds_are_enough(members: Members, counts: Mapping[str, int]) -> None:
    first = COOPERATIVE(members, counts)
    back = {
        name: Subscriber(Subscription(each.subscription.topics, tuple(first[name]), 5))
        for name, each in members.items()
    }
    assert faults(back, counts, COOPERATIVE(back, counts), set()) == []


def test_a_second_member_gets_half_and_nothing_else_moves() -> None:
    four = tuple(("t", number) for number in range(4))
    members = {"a": member("t", owned=four, generation=3), "b": member("t")}
    assert COOPERATIVE(members, {"t": 4}) == {"a": [("t", 0), ("t", 1)], "b": []}, "the first round takes back"
    members["a"] = member("t", owned=four[:2], generation=4)
    assert COOPERATIVE(members, {"t": 4}) == {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("t", 3)]}


def test_a_member_that_goes_leaves_the_others_what_they_have() -> None:
    members = {
        "a": member("t", owned=(("t", 0), ("t", 3)), generation=1),
        "c": member("t", owned=(("t", 2), ("t", 5)), generation=1),
    }
    assigned = COOPERATIVE(members, {"t": 6})
    assert {("t", 0), ("t", 3)} < set(assigned["a"])
    assert {("t", 2), ("t", 5)} < set(assigned["c"])


def test_of_two_who_claim_a_partition_the_one_of_the_newer_generation_has_it() -> None:
    members = {"a": member("t", owned=(("t", 0),), generation=4), "b": member("t", owned=(("t", 0),), generation=3)}
    assert owners(members) == {("t", 0): "a"}
    members["b"] = member("t", owned=(("t", 0),), generation=4)
    assert owners(members) == {}, "nobody can tell whose it is"


@pytest.mark.parametrize(
    ("assign", "topics", "counts", "expected"),
    [
        (RANGE, {"a": "t", "b": "t"}, {"t": 3}, {"a": [0, 1], "b": [2]}),
        (RANGE, {"a": "t", "b": "t", "c": "t"}, {"t": 2}, {"a": [0], "b": [1], "c": []}),
        (ROUND_ROBIN, {"a": "t", "b": "t"}, {"t": 3}, {"a": [0, 2], "b": [1]}),
        (RANGE, {"a": "t"}, {}, {"a": []}),
        (ROUND_ROBIN, {"a": "", "b": "t"}, {"t": 2}, {"a": [], "b": [0, 1]}),
    ],
)
def test_kafkas_own_cases(
    assign: Assignor, topics: dict[str, str], counts: dict[str, int], expected: dict[str, list[int]]
) -> None:
    assigned = assign({name: member(*filter(None, [topic])) for name, topic in topics.items()}, counts)
    assert {name: [number for _, number in partitions] for name, partitions in assigned.items()} == expected


def test_ranges_and_turns_over_two_topics_with_members_who_read_different_ones() -> None:
    members = {"a": member("t"), "b": member("t", "u"), "c": member("t", "u")}
    counts = {"t": 3, "u": 2}
    assert RANGE(members, counts) == {"a": [("t", 0)], "b": [("t", 1), ("u", 0)], "c": [("t", 2), ("u", 1)]}
    assert ROUND_ROBIN(members, counts) == {"a": [("t", 0)], "b": [("t", 1), ("u", 0)], "c": [("t", 2), ("u", 1)]}


@pytest.mark.parametrize(("assign", "first_part"), [(RANGE, [0, 1]), (ROUND_ROBIN, [0, 3])])
def test_a_static_member_keeps_its_part_under_a_new_member_id(assign: Assignor, first_part: list[int]) -> None:
    for first in ("z", "b"):
        told = {first: "i-1", "m": "i-2", "a-new-one": None}
        members = {name: Subscriber(Subscription(("t",)), instance) for name, instance in told.items()}
        assert assign(members, {"t": 5})[first] == [("t", number) for number in first_part]


# ---------------------------------------------------------------- what is wrong is noticed


def gives_twice(members: Members, counts: Mapping[str, int]) -> Assigned:
    assigned = RANGE(members, counts)
    for partitions in assigned.values():
        partitions += [("t", 0)] if ("t", 0) not in partitions else []
    return assigned


def leaves_one_out(members: Members, counts: Mapping[str, int]) -> Assigned:
    return {name: partitions[1:] for name, partitions in RANGE(members, counts).items()}


def gives_to_strangers(members: Members, counts: Mapping[str, int]) -> Assigned:
    return dict(zip(members, reversed(RANGE(members, counts).values()), strict=True))


@pytest.mark.parametrize(
    ("mutant", "fault"),
    [
        (gives_twice, r"\('t', 0\) is given 2 times"),
        (leaves_one_out, "is given to nobody"),
        (gives_to_strangers, "does not read"),
    ],
)
def test_a_broken_assignor_is_noticed(mutant: Callable[[Members, Mapping[str, int]], Assigned], fault: str) -> None:
    members, counts = {"a": member("t"), "b": member("t", "u")}, {"t": 3, "u": 2}
    with pytest.raises(AssertionError, match=fault):
        assert "; ".join(faults(members, counts, mutant(members, counts), set())) == ""
