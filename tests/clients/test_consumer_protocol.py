"""Groups of the consumer protocol (KIP-848) through consumers: what moves and when, silence, static members."""

from typing import Any

import pytest

from tests.clients.readers import Frozen, Listener, cluster_of, member, numbers, pass_time, together, values, write
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.clients import consumer_membership
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.consumer_errors import CommitRefused, FencedInstance, GroupRefused
from zombieproof.clients.consumer_membership import ConsumerMembership
from zombieproof.clients.transport import ClusterTransport, Transport
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import ConsumerGroupHeartbeat
from zombieproof.statemachines.consumer_group_member import reconciling

P0: TopicPartition = ("t", 0)
P3: TopicPartition = ("t", 3)
ALL = [0, 1, 2, 3]


@pytest.fixture
def cluster() -> Cluster:
    return cluster_of()


@pytest.fixture
def transport(cluster: Cluster) -> ClusterTransport:
    return ClusterTransport(cluster)


def consumer_member(transport: Transport, listener: Listener | None = None, **given: Any) -> Consumer:
    return member(transport, listener, group_protocol="consumer", **given)


def consumer_group(cluster: Cluster) -> ConsumerGroup:
    """The group as its coordinator has it."""
    (_, number), node = cluster.metadata.group_partition("g"), cluster.group_coordinator_of("g")
    assert node is not None
    store = cluster.brokers[node].groups.store(number)
    assert store is not None
    found = store.groups["g"]
    assert isinstance(found, ConsumerGroup)
    return found


def test_members_of_the_consumer_protocol_share_and_go_on(transport: ClusterTransport) -> None:
    write(transport, "a", "b", partition=3)
    heard = Listener()
    first = consumer_member(transport, heard)
    assert values(together(first)) == ["a", "b"]
    first.commit()
    second = consumer_member(transport)
    together(first, second, rounds=40)
    assert sorted(numbers(first) + numbers(second)) == ALL
    assert (len(numbers(first)), len(numbers(second))) == (2, 2)
    assert heard.told == [("assigned", ALL), ("revoked", numbers(second))], "what it keeps it keeps"
    write(transport, "c", partition=3)
    assert values(together(first, second)) == ["c"]
    second.close()
    together(first, rounds=40)
    assert numbers(first) == ALL


def test_nobody_gets_a_partition_before_its_owner_has_given_it_back(transport: ClusterTransport) -> None:
    """The first member commits what it has read while it gives back, however long that takes."""
    write(transport, "a", "b", partition=3)
    heard = Listener()
    first = consumer_member(transport, heard)
    assert values(together(first)) == ["a", "b"]
    second = consumer_member(transport)
    together(second, rounds=60)
    assert (numbers(first), numbers(second)) == (ALL, []), "the first does not poll, and gives nothing back"
    heard.on_revoked = first.commit
    assert together(first, second, rounds=40) == []
    assert sorted(numbers(first) + numbers(second)) == ALL
    assert heard.told == [("assigned", ALL), ("revoked", numbers(second))]
    assert second.position(P3) == 2


def test_the_partitions_of_a_member_that_is_killed_pass_on_after_its_session(
    transport: ClusterTransport, cluster: Cluster
) -> None:
    first, second = consumer_member(transport), consumer_member(transport)
    together(first, second, rounds=40)
    had = numbers(first)
    second.crash()
    for _ in range(39):
        first.poll(1000)
    assert (numbers(first), len(consumer_group(cluster).members)) == (had, 2)
    for _ in range(12):
        first.poll(1000)
    assert (numbers(first), len(consumer_group(cluster).members)) == (ALL, 1)


def test_who_is_not_polled_and_gives_nothing_back_is_out_and_told_that_it_lost_everything(
    transport: ClusterTransport, cluster: Cluster
) -> None:
    """Its process lives, and its application does not poll for as long as it may."""
    heard = Listener()
    slow, other = consumer_member(transport, heard, max_poll_interval_ms=30_000), consumer_member(transport)
    together(slow)
    for _ in range(60):
        other.poll(1000)
    assert (numbers(other), len(consumer_group(cluster).members)) == (ALL, 1)
    with pytest.raises(CommitRefused, match="poll to join again"):
        slow.commit({P0: 1})
    together(slow, other, rounds=60)
    assert heard.told[:2] == [("assigned", ALL), ("lost", ALL)]
    assert sorted(numbers(slow) + numbers(other)) == ALL


def test_a_static_member_of_the_consumer_protocol_that_comes_back_keeps_its_partitions(
    transport: ClusterTransport, cluster: Cluster
) -> None:
    heard = Listener()
    other = consumer_member(transport, heard, group_instance_id="i-2")
    static = consumer_member(transport, group_instance_id="i-1")
    together(other, static, rounds=40)
    had, told, generation = numbers(static), list(heard.told), consumer_group(cluster).generation
    assert len(had) == 2
    static.close()
    for _ in range(20):
        other.poll(1000)
    again = consumer_member(transport, group_instance_id="i-1")
    together(again, other, rounds=10)
    assert (numbers(again), heard.told, consumer_group(cluster).generation) == (had, told, generation)
    again.commit({("t", had[0]): 3})
    again.close()
    for _ in range(60):
        other.poll(1000)
    assert numbers(other) == ALL, "after its session its place is gone"


def test_an_instance_of_the_consumer_protocol_is_taken_only_when_its_place_was_left(
    transport: ClusterTransport,
) -> None:
    first = consumer_member(transport, group_instance_id="i")
    together(first)
    with pytest.raises(GroupRefused, match="UNRELEASED_INSTANCE_ID"):
        together(consumer_member(transport, group_instance_id="i"))
    first.crash()
    pass_time(transport, 45_000)
    together(consumer_member(transport, group_instance_id="i"))


def test_a_static_member_whose_place_another_one_took_is_fenced(transport: ClusterTransport) -> None:
    """It left its place, as far as the broker knows: a copy of what it said came late."""
    process = Frozen(transport)
    zombie = consumer_member(process, group_instance_id="i")
    together(zombie)
    process.is_frozen = True
    gone = ConsumerGroupHeartbeat(0, "g", zombie.group_metadata().member, -2, instance="i")
    node = transport.cluster.group_coordinator_of("g")
    assert node is not None
    transport.cluster.send(gone, node)
    successor = consumer_member(transport, group_instance_id="i")
    together(successor, rounds=10)
    assert numbers(successor) == ALL
    process.thaw()
    with pytest.raises(FencedInstance, match=r"FENCED_INSTANCE_ID: .* close this consumer"):
        together(zombie, successor, rounds=40)
    with pytest.raises(CommitRefused):
        zombie.commit({P0: 1})


def test_members_of_the_consumer_protocol_choose_an_assignor_of_the_broker(transport: ClusterTransport) -> None:
    first = consumer_member(transport, group_remote_assignor="range")
    second = consumer_member(transport, group_remote_assignor="range")
    together(first, second, rounds=40)
    assert sorted([numbers(first), numbers(second)]) == [[0, 1], [2, 3]]


def test_the_next_coordinator_goes_on_with_the_members_of_the_consumer_protocol() -> None:
    """Also where one was just to give something back."""
    cluster = cluster_of(nodes=3)
    transport = ClusterTransport(cluster)
    first = consumer_member(transport)
    together(first)
    second = consumer_member(transport)
    together(second, rounds=10)
    assert (numbers(first), numbers(second)) == (ALL, [])
    node = cluster.group_coordinator_of("g")
    cluster.elect(cluster.metadata.group_partition("g"))
    assert cluster.group_coordinator_of("g") != node
    together(first, second, rounds=60)
    assert (len(numbers(first)), len(numbers(second))) == (2, 2)
    second.crash()
    for _ in range(60):
        first.poll(1000)
    assert numbers(first) == ALL


def test_a_member_of_an_older_epoch_commits_nothing(transport: ClusterTransport) -> None:
    process = Frozen(transport)
    zombie = member(process, group_protocol="consumer")
    together(zombie)
    epoch = zombie.group_metadata().generation
    process.is_frozen = True
    second = consumer_member(transport)
    together(second, rounds=40)
    process.thaw()
    assert zombie.group_metadata().generation == epoch
    zombie.commit({P0: 1})
    together(zombie, second, rounds=60)
    assert zombie.group_metadata().generation > epoch
    stale = zombie.group_metadata()
    zombie.runtime._membership.epoch = 1  # type: ignore[union-attr]  # as if it had never heard of the others
    with pytest.raises(CommitRefused, match="STALE_MEMBER_EPOCH"):
        zombie.commit({P0: 1})
    assert stale.generation > 1


def test_a_commit_that_crosses_the_next_epoch_is_repeated_in_it(transport: ClusterTransport) -> None:
    first = consumer_member(transport)
    together(first)
    membership = first.runtime._membership
    assert isinstance(membership, ConsumerMembership)
    epoch, membership.epoch = membership.epoch, 1

    def hear() -> None:
        membership.epoch = epoch

    transport.call_at(transport.now_ms(), hear)
    first.commit({P0: 5})
    assert first.committed([P0]) == {P0: OffsetAndMetadata(5)}


def test_two_protocols_do_not_share_a_group(transport: ClusterTransport) -> None:
    first = consumer_member(transport)
    together(first)
    with pytest.raises(GroupRefused, match="INCONSISTENT_GROUP_PROTOCOL"):
        together(member(transport))


# ---------------------------------------------------------------- what is wrong is noticed


def test_a_broker_that_gives_what_another_one_still_has_is_noticed(
    transport: ClusterTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConsumerGroup, "_held_by_others", lambda group, member, wanted: set())
    with pytest.raises(AssertionError):
        test_nobody_gets_a_partition_before_its_owner_has_given_it_back(transport)


def test_a_broker_that_never_removes_anybody_is_noticed(
    transport: ClusterTransport, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciling, "time_passes", lambda *_: None)
    with pytest.raises(AssertionError):
        test_the_partitions_of_a_member_that_is_killed_pass_on_after_its_session(transport, cluster)


def test_a_static_member_that_leaves_for_good_is_noticed(
    transport: ClusterTransport, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_membership, "LEAVES_PLACE", consumer_membership.LEAVES)
    with pytest.raises(AssertionError):
        test_a_static_member_of_the_consumer_protocol_that_comes_back_keeps_its_partitions(transport, cluster)


def test_a_member_that_does_not_say_what_it_has_is_noticed(
    transport: ClusterTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConsumerMembership, "_has_to_say", False)
    monkeypatch.setattr(ConsumerMembership, "taken", _takes_in_silence)
    with pytest.raises(AssertionError):
        test_members_of_the_consumer_protocol_share_and_go_on(transport)


def _takes_in_silence(membership: ConsumerMembership, partitions: object, *, gave_back: bool) -> None:
    membership.news = None
