"""Subscriptions and assignments as bytes: what members of a group say to each other, in every version."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.formats.batches import GroupValue
from zombieproof.formats.consumer_protocol import (
    Assignment,
    Subscription,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from zombieproof.formats.encoding import read_batches
from zombieproof.formats.faults import Undecodable, Unwritable
from zombieproof.formats.topics import CONSUMER_OFFSETS

NAMES = st.text(min_size=1, max_size=5)
PARTITIONS = st.sets(st.tuples(NAMES, st.integers(0, 2**31 - 1)), max_size=4).map(lambda found: tuple(sorted(found)))
SUBSCRIPTIONS = st.builds(
    Subscription,
    st.sets(NAMES, max_size=3).map(lambda found: tuple(sorted(found))),
    PARTITIONS,
    st.integers(-1, 99),
    st.none() | NAMES,
    st.none() | st.binary(max_size=4),
)


@given(SUBSCRIPTIONS, st.integers(0, 3))
def test_a_subscription_is_read_as_it_was_written(said: Subscription, version: int) -> None:
    found = read_subscription(write_subscription(said, version))
    assert (found.topics, found.user_data) == (said.topics, said.user_data)
    assert found.owned == (said.owned if version >= 1 else ())
    assert found.generation == (said.generation if version >= 2 else -1)
    assert found.rack == (said.rack if version >= 3 else None)


@given(PARTITIONS, st.none() | st.binary(max_size=4), st.integers(0, 3))
def test_an_assignment_is_read_as_it_was_written(
    partitions: tuple[tuple[str, int], ...], user_data: bytes | None, version: int
) -> None:
    said = Assignment(partitions, user_data)
    assert read_assignment(write_assignment(said, version)) == said


def test_the_bytes_are_those_of_kafkas_consumer() -> None:
    """By hand after ``ConsumerProtocolSubscription.json`` and ``ConsumerProtocolAssignment.json``."""
    said = Subscription(("t",), (("t", 0), ("t", 2)), 7)
    topics, owned = b"\0\0\0\1\0\1t", b"\0\0\0\1\0\1t" + b"\0\0\0\2" + b"\0\0\0\0" + b"\0\0\0\2"
    null_bytes, null_text = b"\xff\xff\xff\xff", b"\xff\xff"
    assert write_subscription(said) == b"\0\3" + topics + null_bytes + owned + b"\0\0\0\7" + null_text
    assert write_subscription(said, 0) == b"\0\0" + topics + null_bytes
    assert write_assignment(Assignment(said.owned), 1) == b"\0\1" + owned + null_bytes


def test_a_later_version_is_read_as_the_newest_and_what_follows_is_passed_over() -> None:
    data = write_subscription(Subscription(("t",), generation=4))
    assert read_subscription(b"\0\x63" + data[2:] + b"more") == Subscription(("t",), generation=4)


def test_no_bytes_say_nothing() -> None:
    assert read_subscription(b"") == Subscription(())
    assert read_assignment(b"") == Assignment(())


def test_what_is_cut_short_or_of_no_version_is_refused() -> None:
    whole = {
        read_subscription: write_subscription(Subscription(("t",), (("t", 0),), 7, "r", b"u")),
        read_assignment: write_assignment(Assignment((("t", 0),), b"u")),
    }
    for read, data in whole.items():
        for end in range(1, len(data)):
            with pytest.raises(Undecodable):
                read(data[:end])
        with pytest.raises(Undecodable, match="version -1 of the"):
            read(b"\xff\xff" + data[2:])


def test_a_version_that_does_not_exist_is_not_written() -> None:
    with pytest.raises(Unwritable, match="versions 0 to 3 are written"):
        write_subscription(Subscription(()), 4)


# ---------------------------------------------------------------- what Kafka's own consumers said


def said_in(folder: Path) -> list[tuple[bytes, bytes]]:
    """The subscription and assignment of each member of each classic group in the logs of real clusters."""
    found = []
    for file in sorted(folder.rglob("*.log")):
        if file.parent.name.startswith(CONSUMER_OFFSETS):
            for batch in read_batches(file.read_bytes(), CONSUMER_OFFSETS):
                values = (record.value for record in batch.records)
                found += [row for value in values if isinstance(value, GroupValue) for _, row in value.said]
    return found


def test_what_kafkas_consumers_said_is_read_and_written_again(repository_root: Path) -> None:
    said = said_in(repository_root / "tests/recordings")
    assert said != []
    for subscription, assignment in said:
        read, got = read_subscription(subscription), read_assignment(assignment)
        assert {topic for topic, _ in got.partitions} <= set(read.topics) != set()
        assert write_subscription(read, int.from_bytes(subscription[:2])) == subscription
        assert write_assignment(got, int.from_bytes(assignment[:2])) == assignment


def test_what_kafkas_consumers_said_in_all_recordings_is_read_and_written_again(shared_folder: Path) -> None:
    said = said_in(shared_folder / "traces")
    owned = [read_subscription(subscription).owned for subscription, _ in said]
    assert any(owned), "one of them has partitions when it joins again"
    for subscription, assignment in said:
        assert write_subscription(read_subscription(subscription), int.from_bytes(subscription[:2])) == subscription
        assert write_assignment(read_assignment(assignment), int.from_bytes(assignment[:2])) == assignment
