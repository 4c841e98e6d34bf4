"""Groups through consumers: who reads what, who is thrown out when, and what a zombie is told."""

from typing import Any

import pytest

from tests.clients.readers import (
    GROUP,
    Frozen,
    Listener,
    cluster_of,
    member,
    numbers,
    pass_time,
    together,
    values,
    write,
)
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.group.classic_group import ClassicGroup
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.consumer_errors import CommitRefused, FencedInstance, GroupRefused, RebalanceUnderWay
from zombieproof.clients.errors import AbortableError
from zombieproof.clients.group_link import GroupLink
from zombieproof.clients.producer import Producer
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.tasks import Tasks
from zombieproof.clients.transport import ClusterTransport
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import FindCoordinator
from zombieproof.model.vocabulary import ClassicGroupState

P0: TopicPartition = ("t", 0)
COOPERATIVE: dict[str, Any] = {"partition.assignment.strategy": "cooperative-sticky"}
ALL = [0, 1, 2, 3]


@pytest.fixture
def cluster() -> Cluster:
    return cluster_of()


@pytest.fixture
def transport(cluster: Cluster) -> ClusterTransport:
    return ClusterTransport(cluster)


def group(cluster: Cluster) -> ClassicGroup:
    """The group as its coordinator has it."""
    (topic, number), node = cluster.metadata.group_partition("g"), cluster.group_coordinator_of("g")
    assert node is not None
    store = cluster.brokers[node].groups.store(number)
    assert store is not None, topic
    found = store.groups["g"]
    assert isinstance(found, ClassicGroup)
    return found


# ---------------------------------------------------------------- who reads what


@pytest.mark.parametrize(
    ("strategy", "shares"),
    [("range", ([0, 1], [2, 3])), ("roundrobin", ([0, 2], [1, 3])), ("cooperative-sticky", ([0, 1], [2, 3]))],
)
def test_two_members_share_what_one_had(
    transport: ClusterTransport, strategy: str, shares: tuple[list[int], list[int]]
) -> None:
    first = member(transport, partition_assignment_strategy=strategy)
    together(first)
    assert numbers(first) == ALL
    second = member(transport, partition_assignment_strategy=strategy)
    together(first, second)
    assert (numbers(first), numbers(second)) == shares
    second.close()
    together(first, rounds=20)
    assert numbers(first) == ALL


def test_five_members_of_four_partitions_read_each_record_once(transport: ClusterTransport) -> None:
    members = [member(transport) for _ in range(5)]
    together(*members)
    for number in ALL:
        write(transport, *(f"{number}-{i}" for i in range(5)), partition=number)
    found = values(together(*members))
    assert sorted(found) == sorted(f"{number}-{i}" for number in ALL for i in range(5))
    assert sorted(number for each in members for number in numbers(each)) == ALL


def test_a_generation_gives_back_everything_and_deals_it_out_anew(transport: ClusterTransport) -> None:
    heard = Listener()
    first = member(transport, heard)
    together(first)
    second = member(transport)
    together(first, second)
    assert heard.told == [("assigned", ALL), ("revoked", ALL), ("assigned", [0, 1])]


def test_a_cooperative_rebalance_moves_only_what_has_to_move(transport: ClusterTransport) -> None:
    heard, others = Listener(), Listener()
    first = member(transport, heard, **COOPERATIVE)
    write(transport, "a", "b")
    assert values(together(first)) == ["a", "b"]
    second = member(transport, others, **COOPERATIVE)
    together(first, second)
    assert heard.told == [("assigned", ALL), ("revoked", [2, 3])]
    assert others.told == [("assigned", [2, 3])]
    write(transport, "c")
    assert values(together(first, second)) == ["c"], "what it keeps it reads on, from memory"
    third = member(transport, None, **COOPERATIVE)
    together(first, second, third)
    assert sorted(numbers(first) + numbers(second) + numbers(third)) == ALL
    assert len(numbers(third)) == 1
    assert [*heard.told[2:], *others.told[1:]] == [("revoked", numbers(third))], "one has moved"


def test_what_is_revoked_can_be_committed_first_and_the_next_owner_goes_on_there(transport: ClusterTransport) -> None:
    write(transport, "a", "b", partition=3)
    heard = Listener()
    first = member(transport, heard)
    heard.on_revoked = first.commit
    assert values(together(first)) == ["a", "b"]
    second = member(transport)
    assert together(first, second) == []
    assert 3 in numbers(second)
    write(transport, "c", partition=3)
    assert values(together(first, second)) == ["c"]


def test_offsets_that_commit_themselves_do_it_before_partitions_go(transport: ClusterTransport) -> None:
    write(transport, "a", "b", partition=3)
    first = member(transport, enable_auto_commit=True)
    assert values(together(first)) == ["a", "b"]
    second = member(transport, enable_auto_commit=True)
    assert together(first, second) == []
    assert 3 in numbers(second)


def test_nothing_is_committed_while_it_is_being_decided_who_reads_what(transport: ClusterTransport) -> None:
    """The others have joined the next generation, and its leader, who assigns, does not go on."""
    process = Frozen(transport)
    leader, follower = member(process), member(transport)
    together(leader, follower)
    third = member(transport)
    while group(transport.cluster).state != ClassicGroupState.COMPLETING_REBALANCE:
        for each in (follower, third, leader):
            each.poll(0)
        transport.turn(transport.now_ms() + 100)
    process.is_frozen = True
    follower.poll(100)
    with pytest.raises(RebalanceUnderWay, match="poll until the rebalance is over"):
        follower.commit({P0: 1})
    process.thaw()
    together(leader, follower, third)
    follower.commit({P0: 1})


def test_members_without_a_common_assignor_are_refused(transport: ClusterTransport) -> None:
    first = member(transport, partition_assignment_strategy="range")
    together(first)
    second = member(transport, partition_assignment_strategy="roundrobin")
    with pytest.raises(GroupRefused, match="INCONSISTENT_GROUP_PROTOCOL: group g does not take a member of"):
        together(second)
    both = member(transport, partition_assignment_strategy="roundrobin,range")
    together(first, both)
    assert (numbers(first), numbers(both)) == ([0, 1], [2, 3])


def test_a_session_that_the_broker_does_not_allow_is_refused(transport: ClusterTransport) -> None:
    consumer = member(transport, session_timeout_ms=5_999, heartbeat_interval_ms=1000)
    with pytest.raises(GroupRefused, match=r"INVALID_SESSION_TIMEOUT: group g does not take a member of session"):
        together(consumer)


def test_the_next_coordinator_knows_who_is_in_the_group_and_what_each_has() -> None:
    cluster = cluster_of(nodes=3)
    transport = ClusterTransport(cluster)
    first, second = member(transport), member(transport)
    together(first, second)
    generation = first.group_metadata().generation
    node = cluster.group_coordinator_of("g")
    assert node is not None
    cluster.elect(cluster.metadata.group_partition("g"))
    together(first, second, rounds=40)
    assert cluster.group_coordinator_of("g") != node
    assert first.group_metadata().generation == generation, "nobody had to join again"
    said = {seat.name: seat.assignment for seat in group(cluster).seats}
    assert all(said.values())
    first.commit({P0: 1})
    assert first.committed([P0]) == {P0: OffsetAndMetadata(1)}


# ---------------------------------------------------------------- time


def test_a_silent_member_is_removed_after_its_session_and_not_before(
    transport: ClusterTransport, cluster: Cluster
) -> None:
    first, second = member(transport, session_timeout_ms=10_000), member(transport, session_timeout_ms=10_000)
    together(first, second)
    second.crash()
    pass_time(transport, 6_999)
    together(first, rounds=1, timeout_ms=0)
    assert len(group(cluster).members) == 2
    pass_time(transport, 3_001)
    together(first)
    assert (numbers(first), len(group(cluster).members)) == (ALL, 1)


def test_a_member_that_works_for_an_hour_between_two_polls_stays_if_it_may(transport: ClusterTransport) -> None:
    patient = member(transport, max_poll_interval_ms=3_700_000)
    together(patient)
    generation = patient.group_metadata().generation
    pass_time(transport, 3_600_000)
    together(patient)
    assert (patient.group_metadata().generation, numbers(patient)) == (generation, ALL)


def test_a_member_that_is_not_polled_in_time_goes_and_is_told_that_it_lost_everything(
    transport: ClusterTransport, cluster: Cluster
) -> None:
    heard = Listener()
    slow, other = member(transport, heard, max_poll_interval_ms=60_000), member(transport)
    together(slow, other)
    had = numbers(slow)
    for _ in range(90):
        other.poll(1000)
    assert (numbers(other), len(group(cluster).members)) == (ALL, 1)
    with pytest.raises(CommitRefused, match="poll to join again"):
        slow.commit({("t", had[0]): 1})
    together(slow, other)
    assert ("lost", had) in heard.told
    assert sorted(numbers(slow) + numbers(other)) == ALL


def test_a_rebalance_ends_with_its_time_out_without_those_who_do_not_come(
    transport: ClusterTransport, cluster: Cluster
) -> None:
    """The one who does not come beats on: its process lives, but its application does not poll."""
    stuck = member(transport, max_poll_interval_ms=30_000)
    together(stuck)
    began_ms = transport.now_ms()
    other = member(transport, max_poll_interval_ms=30_000)
    while not numbers(other):
        other.poll(1000)
    assert 29_000 <= transport.now_ms() - began_ms <= 32_000
    assert (numbers(other), len(group(cluster).members)) == (ALL, 1)


# ---------------------------------------------------------------- static members


def test_a_static_member_that_comes_back_in_time_has_its_place_and_nobody_else_notices(
    transport: ClusterTransport, cluster: Cluster
) -> None:
    heard = Listener()
    other = member(transport, heard, group_instance_id="i-2")
    static = member(transport, group_instance_id="i-1")
    together(other, static, rounds=10)
    had, told, generation = numbers(static), list(heard.told), group(cluster).generation
    static.close()
    pass_time(transport, 20_000)
    again = member(transport, group_instance_id="i-1")
    together(again, other)
    assert (numbers(again), heard.told, group(cluster).generation) == (had, told, generation)
    again.commit({("t", had[0]): 3})
    again.crash()
    for _ in range(60):
        other.poll(1000)
    assert numbers(other) == ALL, "after its session its place is gone"


def test_a_second_consumer_of_an_instance_fences_the_first(transport: ClusterTransport) -> None:
    first = member(transport, group_instance_id="i-1")
    together(first)
    second = member(transport, group_instance_id="i-1")
    together(second)
    assert numbers(second) == ALL
    with pytest.raises(FencedInstance, match=r"FENCED_INSTANCE_ID: .* close this consumer"):
        first.commit({P0: 1})
    with pytest.raises(FencedInstance):
        together(first, rounds=30)
    second.commit({P0: 2})


# ---------------------------------------------------------------- zombies


def test_a_zombie_commits_nothing_and_its_successor_reads_what_it_has_not_committed(
    transport: ClusterTransport,
) -> None:
    write(transport, "a", "b")
    process = Frozen(transport)
    zombie = member(process, session_timeout_ms=10_000)
    assert values(together(zombie)) == ["a", "b"]
    process.is_frozen = True
    successor = member(transport)
    assert values(together(successor, rounds=80)) == ["a", "b"]
    successor.commit()
    process.thaw()
    with pytest.raises(CommitRefused, match=r"UNKNOWN_MEMBER_ID: .* nothing was committed: poll to join again"):
        zombie.commit({P0: 1})
    assert successor.committed([P0]) == {P0: OffsetAndMetadata(2)}
    together(zombie, successor)
    assert sorted(numbers(zombie) + numbers(successor)) == ALL


def test_a_zombie_cannot_send_its_offsets_to_a_transaction_either(transport: ClusterTransport) -> None:
    write(transport, "a")
    process = Frozen(transport)
    zombie = member(process, session_timeout_ms=10_000)
    assert values(together(zombie)) == ["a"]
    producer = Producer(transport, transactional_id="x", transaction_timeout_ms=600_000)
    producer.init_transactions()
    producer.begin_transaction()
    process.is_frozen = True
    successor = member(transport)
    together(successor, rounds=80)
    process.thaw()
    with pytest.raises(AbortableError):
        producer.send_offsets_to_transaction(zombie.positions(), zombie.group_metadata())
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send_offsets_to_transaction(successor.positions(), successor.group_metadata())
    producer.commit_transaction()
    assert successor.committed([P0]) == {P0: OffsetAndMetadata(1)}


def test_offsets_of_an_open_transaction_are_waited_for(transport: ClusterTransport) -> None:
    write(transport, "a", "b")
    first = member(transport, isolation_level="read_committed")
    assert values(together(first)) == ["a", "b"]
    producer = Producer(transport, transactional_id="x")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send_offsets_to_transaction({P0: 2}, first.group_metadata())
    first.close()
    second = member(transport, isolation_level="read_committed")
    assert together(second, rounds=10) == [], "it waits for the decision"
    producer.commit_transaction()
    assert together(second, rounds=10) == []
    assert second.position(P0) == 2


# ---------------------------------------------------------------- what is wrong is noticed


def test_a_broker_that_takes_commits_of_zombies_is_noticed(
    transport: ClusterTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClassicGroup, "sender", _anybody)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_a_zombie_commits_nothing_and_its_successor_reads_what_it_has_not_committed(transport)


_sender = ClassicGroup.sender


def _anybody(self: ClassicGroup, name: str, instance: str | None) -> Any:
    found = _sender(self, name, instance)
    return found if not name else found._replace(member_is_known=True)


def test_a_member_that_keeps_what_it_should_give_back_is_noticed(
    transport: ClusterTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(transport, "a", partition=3)
    monkeypatch.setattr("zombieproof.clients.fetcher.Fetcher.assign", _keeps)
    with pytest.raises(AssertionError):
        test_two_members_share_what_one_had(transport, "range", ([0, 1], [2, 3]))


def _keeps(self: Any, partitions: Any) -> None:
    from zombieproof.clients.partition_reader import PartitionReader  # noqa: PLC0415  # beside its use

    for partition in partitions:
        self.readers.setdefault(partition, PartitionReader(partition, self.isolation, self.pending))


def test_a_topic_that_grows_is_noticed_when_what_is_known_of_the_cluster_is_old(
    transport: ClusterTransport, cluster: Cluster
) -> None:
    """A topic that was not there is one that had no partitions."""
    consumer = Consumer(transport, {**GROUP, "enable.auto.commit": False, "metadata.max.age.ms": 60_000})
    consumer.subscribe(["t", "later"])
    together(consumer)
    cluster.create_topic("later", 1)
    for _ in range(50):
        consumer.poll(1000)
    assert ("later", 0) not in consumer.assignment()
    for _ in range(15):
        consumer.poll(1000)
    assert ("later", 0) in consumer.assignment()


def test_a_group_that_cannot_be_reached_is_asked_less_and_less_often(transport: ClusterTransport) -> None:
    settings = ConsumerSettings({**GROUP, "retry.backoff.ms": 100, "retry.backoff.max.ms": 1000})
    link, now_ms = GroupLink(transport, settings, "g"), transport.now_ms()
    assert [link.back_off().until_ms - now_ms for _ in range(6)] == [100, 200, 400, 800, 1000, 1000]
    answered_twice(link, transport)
    assert link.back_off().until_ms - transport.now_ms() == 100, "an answer without a pause behind it ends the row"


def answered_twice(link: GroupLink, transport: ClusterTransport) -> None:
    """Ask twice, and be answered."""
    tasks = Tasks(transport)
    for _ in range(2):
        task = tasks.start(link.ask(FindCoordinator(6, "g", 0)))
        transport.wait_until(lambda task=task: task.is_over, 1000)  # type: ignore[misc]  # bound in its own round
        assert task.is_over
