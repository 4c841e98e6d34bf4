"""CreateTopics, and topics that are made because somebody asks for them: there at once, and after a crash."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from zombieproof.bridge.again import live_again
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.cluster.metadata import NOBODY
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.data_directory import DataDirectory
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.admin import (
    CreatePartitions,
    CreateTopics,
    NewTopic,
    PartitionsCreated,
    ReplicaAssignment,
    Setting,
    TopicCreated,
    TopicsCreated,
    TopicToWiden,
)
from zombieproof.messages.partitions import (
    DeleteTopics,
    DescribeTopics,
    Fetch,
    FetchAnswer,
    Produce,
    ProduceAnswer,
    SentBatch,
    TopicsDescribed,
)
from zombieproof.messages.transactions import EndTxn, InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error, Isolation
from zombieproof.traces.trace_file import read_live

T: TopicPartition = ("t", 0)
SETTINGS = Settings(
    transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1, group_initial_rebalance_delay_ms=0
)
RETENTION = (Setting("retention.ms", "7"), Setting("flush.ms", "5"))
Host = Cluster | Embedded


def created(host: Host, *topics: NewTopic, only_looks: bool = False) -> list[TopicCreated]:
    answer = host.ask(CreateTopics(7, topics, validate_only=only_looks))
    assert isinstance(answer, TopicsCreated)
    return list(answer.topics)


def described(host: Host, name: str, *, creates: bool = False) -> int:
    answer = host.ask(DescribeTopics(12, (name,), creates=creates))
    assert isinstance(answer, TopicsDescribed)
    return answer.topics[name]


def produced(host: Host, partition: TopicPartition, node: int | None = None) -> int:
    batch = SentBatch(Batch(records=(Record(None, b"v"),)))
    answer = host.ask(Produce(9, None, -1, {partition: (batch,)}), node)
    assert isinstance(answer, ProduceAnswer)
    return answer.partitions[partition].error


def count_of(host: Host, partition: TopicPartition) -> int:
    answer = host.ask(Fetch(12, Isolation.READ_COMMITTED, {partition: 0}, max_wait_ms=0))
    assert isinstance(answer, FetchAnswer)
    return sum(len(batch.records) for batch in answer.partitions[partition].batches)


def replicas_of(cluster: Cluster, topic: str) -> list[tuple[int, ...]]:
    return [cluster.metadata.partitions[each].replicas for each in cluster.metadata.partitions_of([topic])]


# ---------------------------------------------------------------- what is there


def test_a_new_topic_can_be_written_and_read_at_once() -> None:
    cluster = Cluster(settings=SETTINGS)
    (row,) = created(cluster, NewTopic("t", 3, 1, settings=RETENTION))
    assert (row.error, row.partitions, row.replication_factor) == (Error.NONE, 3, 1)
    assert [produced(cluster, ("t", number)) for number in range(4)] == [0, 0, 0, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert count_of(cluster, T) == 1
    assert cluster.brokers[1].partitions.replicas[T].config == LogConfig(retention_ms=7)


def test_a_transaction_goes_into_a_new_topic() -> None:
    cluster = Cluster(settings=SETTINGS)
    created(cluster, NewTopic("t"))
    identity = cluster.ask(InitProducerId(4, "x", 60_000, NONE, NONE))
    assert isinstance(identity, InitProducerIdAnswer)
    who = identity.producer_id, identity.producer_epoch
    batch = SentBatch(Batch(*who, 0, transactional=True, records=(Record(None, b"v"),)))
    cluster.ask(Produce(12, "x", -1, {T: (batch,)}))
    assert count_of(cluster, T) == 0
    cluster.ask(EndTxn(5, "x", *who, True))
    assert count_of(cluster, T) == 1


def test_what_is_only_looked_at_is_not_made() -> None:
    cluster = Cluster(settings=SETTINGS)
    version = cluster.metadata.version
    (row,) = created(cluster, NewTopic("t", 3, 1), only_looks=True)
    assert (row.error, row.partitions) == (Error.NONE, 3)
    assert described(cluster, "t") == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.metadata.version == version


@pytest.mark.parametrize("name", ["num_partitions", "default_replication_factor"])
def test_brokers_make_no_topics_of_nothing(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name.replace('_', '.')} is 0; legal is 1 or more"):
        replace(SETTINGS, **{name: 0})  # type: ignore[arg-type]  # both are numbers


def test_by_default_there_are_as_many_partitions_and_replicas_as_brokers_say() -> None:
    cluster = Cluster(2, settings=Settings(num_partitions=3, default_replication_factor=2))
    described(cluster, "t", creates=True)
    assert replicas_of(cluster, "t") == [(1, 2), (2, 1), (1, 2)]
    too_many = Cluster(settings=Settings(default_replication_factor=2))
    (row,) = created(too_many, NewTopic("t"))
    assert row.error == Error.INVALID_REPLICATION_FACTOR
    assert described(too_many, "t", creates=True) == described(too_many, "t") == Error.UNKNOWN_TOPIC_OR_PARTITION


def test_no_request_makes_more_partitions_than_one_may() -> None:
    cluster = Cluster(settings=SETTINGS, topics={"t": 1})
    for partitions in (10_001, 2_147_483_647):
        rows = created(cluster, NewTopic("u", partitions, 1), NewTopic("v", -2_147_483_648, 1))
        assert [row.error for row in rows] == [Error.POLICY_VIOLATION, Error.POLICY_VIOLATION]
        answer = cluster.ask(CreatePartitions(3, (TopicToWiden("t", partitions + 1),)))
        assert isinstance(answer, PartitionsCreated)
        assert [row.error for row in answer.topics] == [Error.POLICY_VIOLATION]
    assert cluster.metadata.count("t") == 1


@pytest.mark.parametrize("value", ["1_0", "\u0663x", "9" * 5000, "1e3", "+", ""])
def test_what_is_no_number_is_no_setting(value: str) -> None:
    (row,) = created(Cluster(settings=SETTINGS), NewTopic("t", settings=(Setting("retention.ms", value),)))
    assert (row.error, (row.message or "").rpartition(": ")[2]) == (Error.INVALID_CONFIG, "Not a number of type LONG")


def test_partitions_are_spread_over_the_brokers_and_every_replica_is_one() -> None:
    cluster = Cluster(3, settings=SETTINGS)
    created(cluster, NewTopic("t", 4, 2))
    assert replicas_of(cluster, "t") == [(1, 2), (2, 3), (3, 1), (1, 2)]
    assert [produced(cluster, ("t", number), node) for number, node in enumerate((1, 2, 3, 1))] == [0, 0, 0, 0]
    assert cluster.stores[2, T].log.end_offset == 1, "the follower has it"
    cluster.kill(1)
    assert produced(cluster, T, 2) == Error.NONE


def test_whoever_lives_leads_a_new_topic_and_who_comes_back_follows() -> None:
    cluster = Cluster(3, settings=SETTINGS)
    cluster.kill(1)
    created(cluster, NewTopic("t", 3, 2), NewTopic("m", assignments=(ReplicaAssignment(0, (1, 3)),)))
    assert replicas_of(cluster, "t") == [(2, 3), (2, 3), (3, 2)]
    known = cluster.metadata.partitions["m", 0]
    assert (known.replicas, known.in_sync, known.leader) == ((1, 3), (3,), 3)
    assert produced(cluster, ("m", 0), 3) == Error.NONE
    cluster.start(1)
    assert known.in_sync == (3, 1)
    assert cluster.stores[1, ("m", 0)].log.end_offset == 1


def test_places_where_nobody_lives_are_refused() -> None:
    cluster = Cluster(2, settings=SETTINGS)
    cluster.kill(2)
    (row,) = created(cluster, NewTopic("m", assignments=(ReplicaAssignment(0, (2,)),)))
    assert row.error == Error.INVALID_REPLICA_ASSIGNMENT
    assert row.message == (
        "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled shutdown."
    )
    cluster.create_topic("n", [(2,)])
    assert cluster.metadata.partitions["n", 0].leader == NOBODY
    cluster.start(2)
    assert produced(cluster, ("n", 0), 2) == Error.NONE


def test_a_topic_of_a_name_that_was_deleted_is_another_one() -> None:
    cluster = Cluster(settings=SETTINGS)
    created(cluster, NewTopic("t", settings=RETENTION))
    before = cluster.metadata.topic_ids["t"]
    produced(cluster, T)
    cluster.ask(DeleteTopics(6, ("t",)))
    created(cluster, NewTopic("t"))
    assert (count_of(cluster, T), cluster.metadata.stated_of("t")) == (0, {})
    assert cluster.metadata.topic_ids["t"] != before


# ---------------------------------------------------------------- because somebody asks


def test_who_asks_for_a_topic_that_is_not_there_finds_it_the_next_time() -> None:
    cluster = Cluster(settings=SETTINGS)
    assert described(cluster, "t", creates=True) == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert described(cluster, "t", creates=True) == Error.NONE
    assert produced(cluster, T) == Error.NONE


@pytest.mark.parametrize("name", ["bad name", "", "__cluster_metadata", "a.b"])
def test_no_topic_is_made_of_a_name_that_cannot_be_one(name: str) -> None:
    cluster = Cluster(settings=SETTINGS, topics={"a_b": 1})
    for _ in range(2):
        assert described(cluster, name, creates=True) != Error.NONE
    assert cluster.metadata.count(name) == 0


def test_no_topic_is_made_where_request_or_brokers_do_not_let_it_be() -> None:
    off = Cluster(settings=Settings(auto_create_topics_enable=False))
    described(off, "t", creates=True)
    assert described(off, "t", creates=True) == Error.UNKNOWN_TOPIC_OR_PARTITION
    on = Cluster(settings=SETTINGS)
    described(on, "t")
    assert described(on, "t") == Error.UNKNOWN_TOPIC_OR_PARTITION
    by_id = on.ask(DescribeTopics(12, ("t",), by_id=True, creates=True))
    assert by_id == TopicsDescribed({"t": Error.UNKNOWN_TOPIC_ID})
    assert described(on, "t") == Error.UNKNOWN_TOPIC_OR_PARTITION


# ---------------------------------------------------------------- on the disk, and in a trace


def test_a_data_directory_keeps_a_new_topic_and_what_was_said_of_it(tmp_path: Path) -> None:
    with Embedded(tmp_path / "data", settings=SETTINGS) as embedded:
        created(embedded, NewTopic("t", 2, settings=RETENTION))
        assert produced(embedded, T) == Error.NONE
    with Embedded(tmp_path / "data", settings=SETTINGS, default_config=LogConfig(segment_ms=9)) as again:
        assert count_of(again, T) == 1
        assert again.cluster.metadata.stated_of("t") == {"retention.ms": "7", "flush.ms": "5"}
        assert again.directories[1].logs[T].config.retention_ms == 7


def survivors() -> list[tuple[FaultDisk, bool]]:
    """What a crash leaves at every operation while a topic is made and written, and whether that was told by then."""
    disk = FaultDisk()
    embedded = Embedded(settings=SETTINGS, clock=ManualClock(), disk=disk)
    told, points = list[int](), list[tuple[FaultDisk, bool]]()
    disk.before = lambda: points.extend((disk.survivor(fate, Random(len(points))), len(told) > 0) for fate in Fate)
    told += [row.error for row in created(embedded, NewTopic("t", 2, 1, settings=RETENTION))]
    assert produced(embedded, T) == Error.NONE
    embedded.close()
    disk.before = None
    return points


def states_after_crashes() -> set[tuple[bool, bool]]:
    """Whether it was told, and whether the topic is there; others, and the same again, can be made afterwards."""
    found = set()
    for disk, was_told in survivors():
        again = Embedded(settings=SETTINGS, clock=ManualClock(), disk=disk)
        is_there = described(again, "t") == Error.NONE
        found.add((was_told, is_there))
        assert [row.error for row in created(again, NewTopic("u"))] == [Error.NONE]
        if is_there:
            assert again.cluster.metadata.stated_of("t") == {"retention.ms": "7", "flush.ms": "5"}
        else:
            assert [row.error for row in created(again, NewTopic("t", 2))] == [Error.NONE]
        assert [produced(again, ("t", number)) for number in range(2)] == [Error.NONE, Error.NONE]
        again.abandon()
    return found


def test_a_crash_at_every_operation_leaves_the_whole_topic_or_nothing_and_what_was_told_stays_so() -> None:
    assert states_after_crashes() == {(False, False), (False, True), (True, True)}


def test_folders_that_are_made_before_it_is_known_whose_they_are_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = DataDirectory._keep_next_id

    def too_late(directory: DataDirectory, next_id: int) -> None:
        keep(directory, next_id)
        directory._kept = type("Everything", (set,), {"__contains__": lambda _, topic_id: True})()

    monkeypatch.setattr(DataDirectory, "_keep_next_id", too_late)
    with pytest.raises((Damaged, AssertionError)):
        states_after_crashes()


def widths_after_crashes(nodes: int) -> list[tuple[int, int]]:
    """At every operation while a topic gets partitions: how many there were at least, and how many are there then."""
    disk = FaultDisk()
    told, points = [2], list[tuple[FaultDisk, int]]()
    embedded = Embedded(nodes=nodes, settings=SETTINGS, clock=ManualClock(), disk=disk)
    created(embedded, NewTopic("t", 2))
    assert produced(embedded, T) == Error.NONE
    disk.before = lambda: points.extend((disk.survivor(fate, Random(len(points))), told[-1]) for fate in Fate)
    widened = embedded.ask(CreatePartitions(3, (TopicToWiden("t", 4),)))
    assert isinstance(widened, PartitionsCreated)
    told.append(4)
    embedded.close()
    disk.before = None
    found = []
    for survivor, least in points:
        again = Embedded(nodes=nodes, settings=SETTINGS, clock=ManualClock(), disk=survivor)
        found.append((least, again.cluster.metadata.count("t")))
        again.ask(CreatePartitions(3, (TopicToWiden("t", 5),)))
        partitions = [("t", number) for number in range(5)]
        assert [produced(again, each, again.cluster.leader_of(each)) for each in partitions] == 5 * [Error.NONE]
        again.abandon()
    return found


@pytest.mark.sample("1")
@pytest.mark.parametrize("nodes", [1, 3])
def test_a_crash_at_every_operation_leaves_all_new_partitions_or_none(nodes: int) -> None:
    assert set(widths_after_crashes(nodes)) == {(2, 2), (2, 4), (4, 4)}


def test_folders_of_partitions_that_are_made_before_they_are_known_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    know = DataDirectory._know

    def by_topic(directory: DataDirectory, partition: TopicPartition) -> None:
        know(directory, (partition[0], 0))

    monkeypatch.setattr(DataDirectory, "_know", by_topic)
    with pytest.raises(Damaged, match=r"t-2: cluster.json knows no such partition"):
        widths_after_crashes(1)


def test_a_live_run_in_which_topics_are_made_is_taken_again_from_its_trace(tmp_path: Path) -> None:
    for number, default in enumerate((LogConfig(), LogConfig(max_message_bytes=0))):
        path = tmp_path / f"run{number}.jsonl"
        with LiveTraceFile(path) as trace:
            embedded = Embedded(
                settings=SETTINGS, clock=ManualClock(), disk=FaultDisk(), journal=trace, default_config=default
            )
            created(embedded, NewTopic("t", 2, settings=RETENTION), NewTopic("bad name"))
            described(embedded, "u", creates=True)
            errors = [produced(embedded, T), produced(embedded, ("u", 0)), produced(embedded, ("v", 0))]
            assert errors == [*2 * [Error.MESSAGE_TOO_LARGE if number else Error.NONE], 3]
            embedded.close()
        record = read_live(path)
        judged = live_again(record, path.name)
        assert (judged.finding, judged.open_question, judged.judged) == (None, "", len(record.events))
