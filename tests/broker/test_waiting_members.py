"""Members of a group that wait for each other in a cluster: elections, brokers that end, connections, time."""

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Exchange, Request
from zombieproof.broker.cluster.operations import GroupTimer, WaitingMember
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import GroupError, Heartbeat, JoinGroup, JoinGroupAnswer, SyncGroup, SyncGroupAnswer
from zombieproof.model.vocabulary import Error

OFFSETS: TopicPartition = (CONSUMER_OFFSETS, 0)
NEW = JoinGroup(3, "g", "")


def cluster_of(nodes: int = 2, delay_ms: int = 0) -> Cluster:
    """Node 1 coordinates the group, and the others have its log."""
    settings = Settings(group_initial_rebalance_delay_ms=delay_ms)
    topics = {CONSUMER_OFFSETS: [tuple(range(1, nodes + 1))]}
    return Cluster(nodes, settings=settings, topics=topics)


def send(cluster: Cluster, request: Request, node: int = 1) -> Exchange:
    """A request whose answer is not waited for."""
    exchange = cluster.send(request, node)
    cluster.settle()
    return exchange


def joined(exchange: Exchange) -> JoinGroupAnswer:
    """What a JoinGroup was answered."""
    assert isinstance(exchange.answer, JoinGroupAnswer), exchange
    return exchange.answer


def leader_of(cluster: Cluster, **timeouts: int) -> str:
    """The only member of the stable generation 1."""
    member = joined(send(cluster, JoinGroup(3, "g", "", **timeouts))).member  # type: ignore[arg-type]  # times only
    assert send(
        cluster, SyncGroup(5, "g", 1, member, protocol_type="consumer", protocol="range")
    ).answer == SyncGroupAnswer(0, b"", "consumer", "range")
    return member


def waiting(cluster: Cluster, node: int = 1) -> int:
    """How many requests of members wait at a node."""
    return sum(isinstance(operation, WaitingMember) for _, operation in cluster.brokers[node].desk.waits)


def advance(cluster: Cluster, ms: int) -> None:
    """Time passes, and brokers look at their clock once."""
    assert isinstance(cluster.clock, ManualClock)
    cluster.clock.advance(ms)
    cluster.end_waits()
    cluster.settle()


def test_a_member_that_waits_is_sent_to_the_next_coordinator() -> None:
    cluster = cluster_of()
    leader = leader_of(cluster)
    sent = send(cluster, NEW)
    assert (sent.is_over, waiting(cluster)) == (False, 1)
    cluster.elect(OFFSETS)
    cluster.settle()
    assert (joined(sent).error, waiting(cluster)) == (Error.NOT_COORDINATOR, 0)
    again = send(cluster, NEW, node=2)
    assert joined(send(cluster, JoinGroup(3, "g", leader), node=2)).generation == 2
    assert joined(again).generation == 2, "the group is what it was"


def test_a_coordinator_that_does_not_know_that_it_is_none_lets_members_wait() -> None:
    cluster = cluster_of()
    leader_of(cluster)
    sent = send(cluster, NEW)
    cluster.elect(OFFSETS, old_resigns=False)
    cluster.settle()
    assert not sent.is_over
    cluster.resign(1)
    cluster.settle()
    assert joined(sent).error == Error.NOT_COORDINATOR


def test_a_sync_group_that_waits_is_sent_away_as_well() -> None:
    cluster = cluster_of()
    leader = leader_of(cluster)
    second = send(cluster, NEW)
    send(cluster, JoinGroup(3, "g", leader))
    sent = send(cluster, SyncGroup(5, "g", 2, joined(second).member, protocol_type="consumer", protocol="range"))
    assert not sent.is_over
    cluster.elect(OFFSETS)
    cluster.settle()
    assert sent.answer == SyncGroupAnswer(Error.NOT_COORDINATOR)
    assert send(cluster, Heartbeat(3, "g", 1, leader), node=2).answer == GroupError(0), "generation 2 was never durable"


def test_a_broker_that_stops_in_order_tells_those_who_wait_and_one_that_is_killed_does_not() -> None:
    for nodes in (1, 2):
        stopped, killed = cluster_of(nodes), cluster_of(nodes)
        told, lost = ((leader_of(each), send(each, NEW))[1] for each in (stopped, killed))
        stopped.stop(1)
        killed.kill(1)
        for each in (stopped, killed):
            each.settle()
        assert joined(told).error == Error.NOT_COORDINATOR
        assert (lost.is_closed, lost.answer) == (True, None)


def test_members_come_again_after_a_restart() -> None:
    cluster = cluster_of(1)
    leader = leader_of(cluster)
    lost = send(cluster, NEW)
    cluster.restart(clean=False)
    cluster.settle()
    assert lost.is_closed
    assert send(cluster, Heartbeat(3, "g", 1, leader)).answer == GroupError(0), "who waited was in no log"
    again = send(cluster, NEW)
    assert joined(send(cluster, JoinGroup(3, "g", leader))).generation == joined(again).generation == 2


def test_who_hangs_up_while_it_waits_is_a_member_all_the_same() -> None:
    cluster = cluster_of()
    leader = leader_of(cluster)
    sent = send(cluster, NEW)
    cluster.disconnect(sent)
    assert (waiting(cluster), sent.is_closed) == (0, True)
    assert joined(send(cluster, JoinGroup(3, "g", leader))).generation == 2
    assert (sent.answer, cluster.network.in_flight) == (None, [])
    assert send(
        cluster, SyncGroup(5, "g", 2, leader, protocol_type="consumer", protocol="range")
    ).answer == SyncGroupAnswer(0, b"", "consumer", "range")
    advance(cluster, 300_000)
    assert send(cluster, Heartbeat(3, "g", 2, leader)).answer == GroupError(Error.UNKNOWN_MEMBER_ID)


def test_a_request_that_is_sent_twice_waits_once_and_is_answered_once() -> None:
    cluster = cluster_of()
    leader = leader_of(cluster)
    promised = joined(send(cluster, JoinGroup(4, "g", ""))).member
    first, last = (send(cluster, JoinGroup(4, "g", promised)) for _ in range(2))
    assert waiting(cluster) == 1
    send(cluster, JoinGroup(3, "g", leader))
    assert (first.answer, joined(last).generation, waiting(cluster)) == (None, 2, 0)


def test_a_rebalance_ends_with_its_time_out() -> None:
    cluster = cluster_of()
    leader_of(cluster, rebalance_timeout_ms=5_000)
    sent = send(cluster, JoinGroup(3, "g", "", rebalance_timeout_ms=5_000))
    advance(cluster, 4_999)
    assert not sent.is_over
    advance(cluster, 1)
    assert (joined(sent).generation, joined(sent).leader) == (2, joined(sent).member)


def test_a_group_waits_three_seconds_for_its_first_members_unless_it_is_told_otherwise() -> None:
    assert Settings().group_initial_rebalance_delay_ms == 3_000
    cluster = cluster_of(delay_ms=3_000)
    sent = send(cluster, NEW)
    advance(cluster, 2_999)
    assert not sent.is_over
    advance(cluster, 1)
    assert joined(sent).generation == 1


def test_heartbeats_leave_nothing_behind() -> None:
    cluster = cluster_of()
    leader = leader_of(cluster)
    for _ in range(50):
        advance(cluster, 10_000)
        assert send(cluster, Heartbeat(3, "g", 1, leader)).answer == GroupError(0)
    timers = [operation for _, operation in cluster.brokers[1].desk.waits if isinstance(operation, GroupTimer)]
    assert len(timers) <= 2
