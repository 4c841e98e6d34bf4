"""What is done to a cluster from outside: settings, releases and features that change, fetches that wait, kills."""

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster, NoSuchNode, in_memory
from zombieproof.broker.cluster.network import Exchange
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    OffsetCommit,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetsCommitted,
    OffsetToCommit,
)
from zombieproof.messages.partitions import (
    Fetch,
    FetchAnswer,
    ListOffsets,
    ListOffsetsAnswer,
    Produce,
    ProduceAnswer,
    SentBatch,
    WriteTxnMarkers,
)
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionToAdd,
)
from zombieproof.model.releases import UnknownRelease
from zombieproof.model.rules import Rules, preset_for
from zombieproof.model.vocabulary import NONE, Error, Isolation

T0: TopicPartition = ("t", 0)
SMALL = {"transaction_state_log_num_partitions": 1, "offsets_topic_num_partitions": 1}


def cluster_of(nodes: int = 1, rules: Rules | None = None, release: str = "4.3", **settings: int) -> Cluster:
    """A small cluster with one topic, of which every node has a replica."""
    known = Settings(**{**SMALL, **settings})  # type: ignore[arg-type]  # all of them are integers
    return Cluster(nodes, rules, known, {"t": [tuple(range(1, nodes + 1))]}, release=release)


def advance(cluster: Cluster, milliseconds: int) -> None:
    """Time passes."""
    assert isinstance(cluster.clock, ManualClock)
    cluster.clock.advance(milliseconds)


def produce(cluster: Cluster, *values: bytes) -> int:
    """Append plain records to the partition; the error."""
    records = tuple(Record(None, value) for value in values)
    batch = Batch(records=records, last_offset_delta=len(records) - 1, timestamp_ms=cluster.clock.now_ms())
    answer = cluster.ask(Produce(9, None, -1, {T0: (SentBatch(batch),)}), cluster.leader_of(T0))
    assert isinstance(answer, ProduceAnswer)
    return answer.partitions[T0].error


# ---------------------------------------------------------------- fetches that wait


SIZE = len(write_batch(Batch(records=(Record(None, b"12345"),), base_offset=0, timestamp_ms=0)))
"""Of a batch of one record with such a value."""


def waiting_fetch(cluster: Cluster, min_bytes: int = 2 * SIZE, max_wait_ms: int = 100) -> Exchange:
    """A fetch from the beginning, delivered."""
    request = Fetch(11, Isolation.READ_COMMITTED, {T0: 0}, min_bytes, max_wait_ms)
    exchange = cluster.send(request, 1)
    cluster.settle()
    return exchange


def values_in(exchange: Exchange) -> list[object]:
    """The values in the answer to a fetch."""
    assert isinstance(exchange.answer, FetchAnswer)
    return [record.value for batch in exchange.answer.partitions[T0].batches for record in batch.records]


def look_again(cluster: Cluster) -> None:
    """The broker looks at the fetches that wait."""
    cluster.end_waits()
    cluster.settle()


def test_a_fetch_waits_until_its_time_is_over_and_brings_what_is_there_then() -> None:
    cluster = cluster_of()
    fetch = waiting_fetch(cluster)
    produce(cluster, b"12345")
    advance(cluster, 99)
    look_again(cluster)
    assert not fetch.is_over
    advance(cluster, 1)
    look_again(cluster)
    assert values_in(fetch) == [b"12345"]


def test_a_fetch_is_answered_as_soon_as_there_is_enough() -> None:
    cluster = cluster_of()
    fetch = waiting_fetch(cluster)
    produce(cluster, b"12345")
    look_again(cluster)
    assert not fetch.is_over
    produce(cluster, b"67890")
    look_again(cluster)
    assert values_in(fetch) == [b"12345", b"67890"]
    look_again(cluster)


def test_a_fetch_of_what_is_there_does_not_wait() -> None:
    cluster = cluster_of()
    produce(cluster, b"12345")
    assert waiting_fetch(cluster, min_bytes=SIZE).is_over
    assert waiting_fetch(cluster, min_bytes=SIZE + 1, max_wait_ms=0).is_over


def test_a_fetch_with_an_error_or_without_partitions_does_not_wait() -> None:
    cluster = cluster_of()
    for partitions in ({("nope", 0): 0}, {T0: 7}, {}):
        answer = cluster.ask(Fetch(11, Isolation.READ_COMMITTED, partitions, 10, 1000))
        assert isinstance(answer, FetchAnswer)
        assert [row.error != Error.NONE for row in answer.partitions.values()] == [True] * len(partitions)


# ---------------------------------------------------------------- offsets by time


def test_the_first_offset_at_a_time_is_found_as_far_as_the_reader_may_read() -> None:
    cluster = cluster_of()
    began_ms = cluster.clock.now_ms()
    produce(cluster, b"1", b"2")
    advance(cluster, 10)
    begin_transaction(cluster)
    found = {}
    for isolation in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED):
        for after_ms in (0, 1, 10, 11):
            answer = cluster.ask(ListOffsets(5, isolation, {T0: began_ms + after_ms}))
            assert isinstance(answer, ListOffsetsAnswer)
            row = answer.partitions[T0]
            found[isolation, after_ms] = (row.error, row.offset)
    assert [found[Isolation.READ_UNCOMMITTED, ms] for ms in (0, 1, 10, 11)] == [(0, 0), (0, 2), (0, 2), (0, NONE)]
    assert [found[Isolation.READ_COMMITTED, ms] for ms in (0, 1, 10, 11)] == [(0, 0), *[(0, NONE)] * 3]


# ---------------------------------------------------------------- offsets of groups


def committed(cluster: Cluster) -> int:
    answer = cluster.ask(OffsetFetch(7, "g", False, None), cluster.leader_of(cluster.metadata.group_partition("g")))
    assert isinstance(answer, OffsetFetchAnswer)
    return answer.partitions[T0].offset if T0 in answer.partitions else NONE


def test_offsets_that_nobody_needed_for_as_long_as_they_are_kept_go() -> None:
    cluster = cluster_of(offsets_retention_minutes=10)
    coordinator = cluster.leader_of(cluster.metadata.group_partition("g"))
    assert cluster.ask(OffsetCommit(8, "g", (OffsetToCommit(T0, 5, ""),)), coordinator) == OffsetsCommitted.of(
        {T0: Error.NONE}
    )
    advance(cluster, 10 * 60_000 - 1)
    cluster.expire_offsets()
    assert committed(cluster) == 5
    advance(cluster, 1)
    cluster.sweep()
    assert committed(cluster) == 5, "that is looked at by itself"
    cluster.expire_offsets()
    assert committed(cluster) == NONE


def begin_transaction(cluster: Cluster, version: int = 11) -> InitProducerIdAnswer:
    """A transaction of id "x" with one record, opened the old way."""
    coordinator = cluster.coordinator_of("x")
    granted = cluster.ask(InitProducerId(4, "x", 60_000, NONE, NONE), coordinator)
    assert isinstance(granted, InitProducerIdAnswer)
    identity = granted.producer_id, granted.producer_epoch
    added = cluster.ask(AddPartitionsToTxn(3, (TransactionToAdd("x", *identity, (T0,)),)), coordinator)
    assert isinstance(added, AddPartitionsToTxnAnswer)
    batch = Batch(*identity, 0, True, (Record(None, b"3"),), timestamp_ms=cluster.clock.now_ms())
    answer = cluster.ask(Produce(version, "x", -1, {T0: (SentBatch(batch),)}), cluster.leader_of(T0))
    assert isinstance(answer, ProduceAnswer)
    assert answer.partitions[T0].error == Error.NONE
    return granted


# ---------------------------------------------------------------- settings


def test_a_setting_that_is_changed_counts_at_once_and_behind_a_restart() -> None:
    cluster = cluster_of(nodes=2)
    cluster.configure("min_insync_replicas", 3)
    assert produce(cluster, b"1") == Error.NOT_ENOUGH_REPLICAS
    cluster.restart(clean=True)
    assert produce(cluster, b"1") == Error.NOT_ENOUGH_REPLICAS
    cluster.configure("min_insync_replicas", 2)
    assert produce(cluster, b"1") == Error.NONE


def test_a_setting_that_needs_a_restart_is_refused() -> None:
    with pytest.raises(ValueError, match=r"transactional_id_expiration_ms needs a restart; .* min_insync_replicas,"):
        cluster_of().configure("transactional_id_expiration_ms", 1)


def test_a_cluster_changes_neither_the_settings_nor_the_rules_that_it_was_given() -> None:
    settings, rules = Settings(**SMALL), Rules(transaction_version=0)  # type: ignore[arg-type]  # both are integers
    cluster = Cluster(1, rules, settings, {"t": 1})
    cluster.configure("min_insync_replicas", 2)
    cluster.finalize_transaction_version(2)
    assert (settings, rules) == (Settings(**SMALL), Rules(transaction_version=0))  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(("transaction_log", "topics"), [(2, 1), (0, 2)])
def test_the_transaction_log_may_need_more_replicas_than_topics(transaction_log: int, topics: int) -> None:
    cluster = cluster_of(nodes=2, transaction_state_log_min_isr=transaction_log, min_insync_replicas=topics)
    cluster.kill(2)
    granted = cluster.ask(InitProducerId(4, "x", 60_000, NONE, NONE), 1)
    assert isinstance(granted, InitProducerIdAnswer)
    assert granted.error == Error.COORDINATOR_NOT_AVAILABLE
    assert produce(cluster, b"1") == (Error.NONE if topics == 1 else Error.NOT_ENOUGH_REPLICAS)


# ---------------------------------------------------------------- releases and features


def test_only_a_node_that_is_down_is_upgraded() -> None:
    cluster = cluster_of(nodes=2)
    for node in (1, 3):
        with pytest.raises(NoSuchNode, match=f"node {node} is not down; down are none"):
            cluster.upgrade(node, Rules(), "4.3")


def test_a_feature_level_that_a_broker_does_not_have_is_refused() -> None:
    cluster = cluster_of(nodes=2, rules=preset_for("3.9"), release="3.9")
    cluster.stop(1)
    cluster.upgrade(1, preset_for("4.3"), "4.3")
    cluster.start(1)
    with pytest.raises(UnknownRelease, match=r"Kafka 3\.9 does not support transaction version 2"):
        cluster.finalize_transaction_version(2)
    assert cluster.rules.transaction_version == 0


def test_an_upgraded_broker_speaks_to_an_old_one_as_that_understands_it() -> None:
    cluster = cluster_of(nodes=2, rules=preset_for("3.9"), release="3.9")
    cluster.stop(2)
    cluster.upgrade(2, preset_for("4.3"), "4.3")
    cluster.start(2)
    cluster.settle()
    cluster.elect(("__transaction_state", 0), 2)
    granted = begin_transaction(cluster)
    exchange = cluster.send(EndTxn(3, "x", granted.producer_id, granted.producer_epoch, True), 2)
    versions = set()
    while cluster.network.in_flight:
        versions |= {m.body.version for m in cluster.network.in_flight if isinstance(m.body, WriteTxnMarkers)}
        cluster.step()
    assert exchange.answer == EndTxnAnswer(int(Error.NONE))
    assert versions == {1}, "3.9 has no version 2"
    log = [batch.marker for batch in cluster.stores[1, T0].log.read()]
    assert log[-1] is not None
    assert log[-1].committed


def test_every_broker_follows_a_raised_feature_level_at_once() -> None:
    cluster = cluster_of(rules=preset_for("4.3", 0))
    cluster.finalize_transaction_version(2)
    granted = begin_transaction(cluster)
    ended = cluster.ask(EndTxn(5, "x", granted.producer_id, granted.producer_epoch, True))
    assert isinstance(ended, EndTxnAnswer)
    assert (ended.error, ended.producer_epoch) == (Error.NONE, granted.producer_epoch + 1)


# ---------------------------------------------------------------- kills


def test_who_waits_for_a_broker_that_is_killed_sees_the_connection_end() -> None:
    cluster = cluster_of(nodes=2)
    coordinator = cluster.coordinator_of("x")
    assert coordinator is not None
    cluster.brokers[coordinator].transactions.holds_appends = True
    exchange = cluster.send(InitProducerId(4, "x", 60_000, NONE, NONE), coordinator)
    cluster.settle()
    assert not exchange.is_over, "the broker is at work"
    cluster.kill(coordinator)
    cluster.settle()
    assert exchange.is_closed


def test_each_replica_has_the_store_that_was_opened_for_it_and_finds_it_again() -> None:
    opened = list[tuple[int, TopicPartition]]()

    def open_store(node: int, partition: TopicPartition) -> Store:
        opened.append((node, partition))
        return in_memory(node, partition)

    few = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)
    cluster = Cluster(2, settings=few, topics={"t": [(1, 2)]}, open_store=open_store)
    assert produce(cluster, b"kept") == Error.NONE
    cluster.restart(clean=False)
    assert sorted(opened) == sorted((node, tp) for node in (1, 2) for tp in cluster.metadata.partitions)
    assert [store.log.end_offset for (_, tp), store in cluster.stores.items() if tp == T0] == [1, 1]
