"""Nothing that depends on an append is answered, readable or sent before the stores say that it is durable."""

from dataclasses import replace
from random import Random

import pytest

from tests.live.held_log import HeldLog, crash, flush, held, log_of, settle
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Exchange, Request
from zombieproof.broker.cluster.operations import Load
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    GroupLeft,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetToCommit,
    SyncGroup,
    SyncGroupAnswer,
    TxnOffsetCommit,
    TxnOffsetsCommitted,
)
from zombieproof.messages.partitions import (
    Fetch,
    FetchAnswer,
    MarkerToWrite,
    Produce,
    ProduceAnswer,
    Produced,
    SentBatch,
    WriteTxnMarkers,
    WriteTxnMarkersAnswer,
)
from zombieproof.messages.transactions import (
    DescribeTransactions,
    DescribeTransactionsAnswer,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
)
from zombieproof.model.vocabulary import NONE, Error, Isolation

T0: TopicPartition = ("t", 0)
LOG: TopicPartition = (TRANSACTION_STATE, 0)
OFFSETS: TopicPartition = (CONSUMER_OFFSETS, 0)
INIT = InitProducerId(5, "x", 60_000, NONE, NONE)


def cluster_of(nodes: int = 1, **settings: int) -> Cluster:
    """Every node has a replica of everything, and node 1 leads; all stores wait to be flushed."""
    known = replace(
        Settings(
            transaction_state_log_num_partitions=1,
            offsets_topic_num_partitions=1,
            group_initial_rebalance_delay_ms=0,
        ),
        **settings,  # type: ignore[arg-type]  # all of them are integers
    )
    everywhere = [tuple(range(1, nodes + 1))]
    topics = {"t": everywhere, TRANSACTION_STATE: everywhere, CONSUMER_OFFSETS: everywhere}
    cluster = Cluster(nodes, settings=known, topics=topics, open_store=held)
    settle(cluster)
    return cluster


def send(cluster: Cluster, request: Request) -> Exchange:
    """A request, delivered to node 1 with all that follows, but nothing becomes durable."""
    exchange = cluster.send(request, 1)
    cluster.settle()
    return exchange


def ask(cluster: Cluster, request: Request) -> Answer:
    """The answer when everything is durable."""
    exchange = cluster.send(request, 1)
    settle(cluster)
    assert exchange.answer is not None
    return exchange.answer


def batch(*values: bytes, identity: tuple[int, int] = (NONE, NONE), sequence: int = NONE) -> Batch:
    """Records of a producer, or of nobody."""
    records = tuple(Record(None, value) for value in values)
    return Batch(*identity, sequence, False, records, last_offset_delta=len(records) - 1, timestamp_ms=1_000_000)


def produce(one: Batch, acks: int = -1, name: str | None = None) -> Produce:
    """A Produce to the partition."""
    return Produce(12, name, acks, {T0: (SentBatch(one),)})


def transactional(identity: tuple[int, int], sequence: int = 0, value: bytes = b"v") -> Produce:
    """A Produce of the transaction of id x."""
    return produce(replace(batch(value, identity=identity, sequence=sequence), transactional=True), name="x")


def told(exchange: Exchange) -> Produced:
    """What a Produce was told."""
    assert isinstance(exchange.answer, ProduceAnswer)
    return exchange.answer.partitions[T0]


def readable(cluster: Cluster, isolation: Isolation = Isolation.READ_UNCOMMITTED, node: int = 1) -> list[object]:
    """The values that a reader gets."""
    answer = cluster.ask(Fetch(12, isolation, {T0: 0}), node)
    assert isinstance(answer, FetchAnswer)
    return [record.value for one in answer.partitions[T0].batches for record in one.records]


def init(cluster: Cluster) -> tuple[int, int]:
    """The identity of id x."""
    granted = ask(cluster, INIT)
    assert isinstance(granted, InitProducerIdAnswer)
    return granted.producer_id, granted.producer_epoch


def advance(cluster: Cluster, milliseconds: int) -> None:
    """Time passes, and brokers look at their clocks."""
    assert isinstance(cluster.clock, ManualClock)
    cluster.clock.advance(milliseconds)
    cluster.end_waits()
    cluster.settle()


# ---------------------------------------------------------------- records


@pytest.mark.parametrize("acks", [-1, 1])
def test_a_record_is_answered_and_read_when_it_is_durable(acks: int) -> None:
    cluster = cluster_of()
    sent = send(cluster, produce(batch(b"1", b"2"), acks))
    assert (sent.is_over, readable(cluster)) == (False, [])
    flush(cluster, T0)
    cluster.settle()
    assert (told(sent).base_offset, readable(cluster)) == (0, [b"1", b"2"])


def test_without_acks_nobody_is_answered() -> None:
    cluster = cluster_of()
    sent = send(cluster, produce(batch(b"1"), 0))
    settle(cluster)
    assert (sent.is_over, readable(cluster)) == (False, [b"1"])


def test_many_appends_become_durable_together() -> None:
    cluster = cluster_of()
    sent = [send(cluster, produce(batch(b"%d" % number))) for number in range(5)]
    log_of(cluster, 1, T0).flush()
    late = send(cluster, produce(batch(b"late")))
    cluster.flushed(1, T0)
    cluster.settle()
    assert [told(each).base_offset for each in sent] == [0, 1, 2, 3, 4]
    assert not late.is_over, "the group commit was before it"


def test_a_batch_that_is_sent_again_is_not_acknowledged_before_it_is_durable() -> None:
    cluster = cluster_of()
    one = produce(batch(b"1", identity=(7, 0), sequence=0))
    first, again = send(cluster, one), send(cluster, one)
    assert not first.is_over
    assert not again.is_over
    flush(cluster, T0)
    cluster.settle()
    assert [told(each) for each in (first, again)] == [
        Produced(0, 0, 0),
        Produced(0, 0, 0, log_append_time_ms=1_000_000),
    ]
    assert log_of(cluster, 1, T0).end_offset == 1


def test_a_refusal_waits_for_nothing() -> None:
    cluster = cluster_of()
    send(cluster, produce(batch(b"1", identity=(7, 1), sequence=0)))
    assert told(send(cluster, produce(batch(b"2", identity=(7, 0), sequence=0)))).error == Error.INVALID_PRODUCER_EPOCH


def test_all_replicas_in_sync_have_to_be_durable() -> None:
    cluster = cluster_of(nodes=3)
    sent = send(cluster, produce(batch(b"1")))
    local = send(cluster, produce(batch(b"2"), acks=1))
    for node, is_over in ((1, False), (3, False), (2, True)):
        flush(cluster, T0, nodes=(node,))
        cluster.settle()
        assert (sent.is_over, local.is_over) == (is_over, True)
    assert [readable(cluster, node=node) for node in (1, 2, 3)] == [[b"1", b"2"]] * 3


def test_a_follower_lets_nobody_read_what_is_not_replicated() -> None:
    cluster = cluster_of(nodes=2)
    send(cluster, produce(batch(b"1")))
    flush(cluster, T0, nodes=(2,))
    assert [readable(cluster, node=node) for node in (1, 2)] == [[], []]


def test_a_replica_that_comes_back_is_in_sync_when_it_has_made_durable_what_counts() -> None:
    cluster = cluster_of(nodes=2)
    cluster.kill(2)
    assert told(ask_and_flush(cluster, produce(batch(b"1")))).error == Error.NONE
    cluster.start(2, was_clean=False)
    assert cluster.metadata.partitions[T0].in_sync == (1,), "it has the record, but not for sure"
    flush(cluster, nodes=(2,))
    assert cluster.metadata.partitions[T0].in_sync == (1, 2)


def ask_and_flush(cluster: Cluster, request: Request) -> Exchange:
    """An exchange, when everything is durable."""
    exchange = cluster.send(request, 1)
    settle(cluster)
    return exchange


def test_who_waits_for_a_replica_that_goes_is_told_whether_enough_are_left() -> None:
    for least, error in ((1, Error.NONE), (2, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)):
        cluster = cluster_of(nodes=2, min_insync_replicas=least)
        sent = send(cluster, produce(batch(b"1")))
        flush(cluster, T0, nodes=(1,))
        cluster.settle()
        assert not sent.is_over
        cluster.kill(2)
        cluster.settle()
        assert told(sent).error == error


# ---------------------------------------------------------------- transactions


def test_no_identity_is_granted_before_its_record_is_durable() -> None:
    cluster = cluster_of()
    sent = send(cluster, INIT)
    assert not sent.is_over
    flush(cluster, LOG)
    cluster.settle()
    assert isinstance(sent.answer, InitProducerIdAnswer)
    assert sent.answer.error == Error.NONE


def test_no_batch_joins_a_transaction_before_its_partition_is_durable() -> None:
    cluster = cluster_of()
    sent = send(cluster, transactional(init(cluster)))
    assert log_of(cluster, 1, T0).end_offset == 0
    flush(cluster, LOG)
    cluster.settle()
    assert (log_of(cluster, 1, T0).end_offset, sent.is_over) == (1, False)
    flush(cluster, T0)
    cluster.settle()
    assert told(sent).error == Error.NONE


def test_no_marker_is_sent_before_the_decision_is_durable_and_nothing_completes_before_the_markers_are() -> None:
    cluster = cluster_of()
    identity = init(cluster)
    assert isinstance(ask(cluster, transactional(identity)), ProduceAnswer)
    ended = send(cluster, EndTxn(5, "x", *identity, True))
    assert (ended.is_over, log_of(cluster, 1, T0).end_offset) == (False, 1), "no answer, no marker"
    flush(cluster, LOG)
    cluster.settle()
    assert isinstance(ended.answer, EndTxnAnswer)
    assert log_of(cluster, 1, T0).end_offset == 2, "the marker"
    assert (readable(cluster, Isolation.READ_COMMITTED), state(cluster)) == ([], "PrepareCommit")
    decided = log_of(cluster, 1, LOG).end_offset
    flush(cluster, T0)
    cluster.settle()
    assert (readable(cluster, Isolation.READ_COMMITTED), state(cluster)) == ([b"v"], "PrepareCommit")
    assert log_of(cluster, 1, LOG).end_offset == decided + 1
    flush(cluster, LOG)
    assert state(cluster) == "CompleteCommit"


def test_a_coordinator_that_is_deposed_while_it_loads_can_be_elected_again() -> None:
    cluster = cluster_of(nodes=2)
    send(cluster, INIT)
    send(cluster, commit(5))
    for partition in (LOG, OFFSETS):
        cluster.elect(partition, 2)
        cluster.elect(partition, 1, old_resigns=False)
        cluster.elect(partition, 2)
    settle(cluster)
    taken = cluster.send(INIT, 2)
    asked = cluster.send(OffsetFetch(7, "g", True, (T0,)), 2)
    settle(cluster)
    assert isinstance(taken.answer, InitProducerIdAnswer)
    assert isinstance(asked.answer, OffsetFetchAnswer)
    assert (taken.answer.error, asked.answer.partitions[T0].offset) == (Error.NONE, 5)


def test_a_coordinator_that_begins_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Load, "judge", lambda *_, is_over: Error.NONE)
    with pytest.raises(AssertionError):
        test_a_coordinator_that_begins_goes_on_with_what_is_durable_only()


def state(cluster: Cluster) -> str:
    """The state of id x."""
    answer = cluster.ask(DescribeTransactions(0, ("x",)), 1)
    assert isinstance(answer, DescribeTransactionsAnswer)
    return str(answer.transactions[0].state)


def test_a_coordinator_that_begins_goes_on_with_what_is_durable_only() -> None:
    cluster = cluster_of(nodes=2)
    identity = init(cluster)
    assert isinstance(ask(cluster, transactional(identity)), ProduceAnswer)
    ended = send(cluster, EndTxn(5, "x", *identity, True))
    cluster.elect(LOG, 2)
    cluster.settle()
    assert isinstance(ended.answer, EndTxnAnswer)
    assert ended.answer.error == Error.NOT_COORDINATOR
    loading = cluster.ask(INIT, 2)
    assert isinstance(loading, InitProducerIdAnswer)
    assert loading.error == Error.COORDINATOR_LOAD_IN_PROGRESS
    assert log_of(cluster, 1, T0).end_offset == 1, "the decision is in its log, and may still be lost"
    settle(cluster)
    assert readable(cluster, Isolation.READ_COMMITTED) == [b"v"]


# ---------------------------------------------------------------- groups


def commit(offset: int) -> OffsetCommit:
    """Commit an offset of nobody's."""
    return OffsetCommit(8, "g", (OffsetToCommit(T0, offset, ""),))


def test_offsets_are_answered_and_told_when_they_are_durable() -> None:
    cluster = cluster_of()
    committed = send(cluster, commit(5))
    asked = send(cluster, OffsetFetch(7, "g", True, (T0,)))
    assert not committed.is_over
    assert not asked.is_over, "the offset is in memory, but nobody may rely on it"
    flush(cluster, OFFSETS)
    cluster.settle()
    assert isinstance(asked.answer, OffsetFetchAnswer)
    assert (committed.answer, asked.answer.partitions[T0].offset) == (OffsetsCommitted.of({T0: 0}), 5)


def test_offsets_of_a_transaction_are_answered_when_they_are_durable() -> None:
    cluster = cluster_of()
    committed = send(cluster, TxnOffsetCommit(5, "x", "g", *init(cluster), (OffsetToCommit(T0, 5, ""),)))
    flush(cluster, LOG)
    cluster.settle()
    assert (committed.is_over, log_of(cluster, 1, OFFSETS).end_offset) == (False, 1)
    flush(cluster, OFFSETS)
    cluster.settle()
    assert committed.answer == TxnOffsetsCommitted.of({T0: 0})


GROUP_REQUESTS: list[tuple[Request, type]] = [
    (commit(6), OffsetsCommitted),
    (OffsetFetch(7, "g", True, None), OffsetFetchAnswer),
    (OffsetDelete(0, "g", (T0,)), OffsetsDeleted),
    (JoinGroup(3, "g", ""), JoinGroupAnswer),
    (SyncGroup(5, "g", 1, "m", protocol_type="consumer", protocol="range"), SyncGroupAnswer),
    (LeaveGroup(5, "g", "", (Leaver("m"),)), GroupLeft),
    (ConsumerGroupHeartbeat(0, "modern", "", 0, ("t",)), ConsumerGroupHeartbeatAnswer),
]


@pytest.mark.parametrize(("request_", "kind"), GROUP_REQUESTS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("how", ["timed out", "deposed"])
def test_a_group_that_is_not_durable_in_time_says_so(request_: Request, kind: type, how: str) -> None:
    cluster = cluster_of(nodes=2)
    send(cluster, commit(5))
    sent = send(cluster, request_)
    assert not sent.is_over
    if how == "timed out":
        advance(cluster, 29_999)
        assert not sent.is_over
        advance(cluster, 1)
    else:
        cluster.elect(OFFSETS, 2)
        cluster.settle()
    assert isinstance(sent.answer, kind)
    answer = sent.answer
    errors = set(answer.errors.values()) if isinstance(answer, OffsetsCommitted) else {getattr(answer, "error", None)}
    assert errors == {Error.COORDINATOR_NOT_AVAILABLE if how == "timed out" else Error.NOT_COORDINATOR}


def test_members_that_wait_for_their_leader_have_its_assignment_when_it_is_durable() -> None:
    cluster = cluster_of()
    first = ask(cluster, JoinGroup(3, "g", ""))
    assert isinstance(first, JoinGroupAnswer)
    assert ask(
        cluster, SyncGroup(5, "g", 1, first.member, protocol_type="consumer", protocol="range")
    ) == SyncGroupAnswer(0, b"", "consumer", "range")
    second = send(cluster, JoinGroup(3, "g", ""))
    again = send(cluster, JoinGroup(3, "g", first.member))
    assert isinstance(second.answer, JoinGroupAnswer), "who joins has written nothing"
    synced = [
        send(cluster, SyncGroup(5, "g", 2, member, protocol_type="consumer", protocol="range"))
        for member in (second.answer.member, first.member)
    ]
    assert (again.is_over, [each.is_over for each in synced]) == (True, [False, False])
    flush(cluster, OFFSETS)
    cluster.settle()
    assert [each.answer for each in synced] == [SyncGroupAnswer(0, b"", "consumer", "range")] * 2


# ---------------------------------------------------------------- time-outs, elections, connections


def test_an_append_that_is_not_durable_in_time_is_answered_with_that() -> None:
    cluster = cluster_of()
    sent, taken = send(cluster, produce(batch(b"1"))), send(cluster, INIT)
    advance(cluster, 30_000)
    assert told(sent).error == Error.REQUEST_TIMED_OUT
    assert isinstance(taken.answer, InitProducerIdAnswer)
    assert taken.answer.error == Error.COORDINATOR_NOT_AVAILABLE
    settle(cluster)
    assert readable(cluster) == [b"1"], "it is there all the same, as Kafka says"


def test_markers_that_are_not_durable_in_time_are_sent_again() -> None:
    cluster = cluster_of()
    identity = init(cluster)
    assert isinstance(ask(cluster, transactional(identity)), ProduceAnswer)
    marker = MarkerToWrite(*identity, committed=True, coordinator_epoch=0, partitions=(T0,))
    sent = send(cluster, WriteTxnMarkers(1, (marker,)))
    assert not sent.is_over
    advance(cluster, 30_000)
    assert isinstance(sent.answer, WriteTxnMarkersAnswer)
    assert sent.answer.markers[0].errors == {T0: Error.REQUEST_TIMED_OUT}


def test_a_leader_that_is_deposed_says_so_to_whoever_waits() -> None:
    cluster = cluster_of(nodes=2)
    sent = send(cluster, produce(batch(b"1")))
    cluster.elect(T0, 2)
    cluster.settle()
    assert told(sent).error == Error.NOT_LEADER_OR_FOLLOWER


def test_who_hangs_up_is_not_answered_and_leaves_nothing_behind() -> None:
    cluster = cluster_of()
    for request in (
        produce(batch(b"1")),
        Fetch(12, Isolation.READ_UNCOMMITTED, {T0: 0}, 1_000, 1_000),
        commit(5),
        INIT,
    ):
        sent = send(cluster, request)
        cluster.disconnect(sent)
        settle(cluster)
        assert (sent.answer, sent.is_closed, len(cluster.brokers[1].desk.waits)) == (None, True, 0)
    assert readable(cluster) == [b"1"], "what was asked for has happened"


def test_a_broker_that_stops_in_order_makes_everything_durable() -> None:
    cluster = cluster_of()
    send(cluster, produce(batch(b"1")))
    cluster.stop(1)
    assert log_of(cluster, 1, T0).durable_offset == 1


def test_times_of_what_is_over_are_cleared_away() -> None:
    cluster = cluster_of()
    for number in range(300):
        assert told(ask_and_flush(cluster, produce(batch(b"%d" % number)))).error == Error.NONE
    assert len(cluster.brokers[1].desk.waits._deadlines) < 100


def test_a_held_log_loses_what_is_not_durable() -> None:
    cluster = cluster_of()
    send(cluster, produce(batch(b"1")))
    flush(cluster)
    for number in range(3):
        send(cluster, produce(batch(b"%d" % number)))
    ends = set()
    for seed in range(20):
        log = HeldLog()
        for one in log_of(cluster, 1, T0).read():
            log.append(one)
            if one.base_offset == 0:
                log.flush()
        log.crash(Random(seed))
        ends.add(log.end_offset)
    assert ends == {1, 2, 3, 4}
    assert crash(cluster, Random(1), (1,)) >= 0
