"""Requests that change settings, widen topics, and elect: what brokers do from then on, on the disk and in a trace."""

from pathlib import Path

import pytest

from zombieproof.bridge.again import live_again
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.fault_disk import FaultDisk
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.admin import (
    AlterConfigs,
    ConfigsAltered,
    ConfigsDescribed,
    CreatePartitions,
    CreateTopics,
    DescribeConfigs,
    DescribeLogDirs,
    ElectLeaders,
    IncrementalAlterConfigs,
    LeadersElected,
    LogDirsDescribed,
    NewTopic,
    PartitionsCreated,
    ReplicaAssignment,
    ResourceToAlter,
    ResourceToChange,
    ResourceToDescribe,
    Setting,
    SettingChange,
    SettingDescribed,
    TopicToWiden,
)
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.topics import PREFERRED, UNCLEAN, Elected, LedBy, elects
from zombieproof.traces.trace_file import read_live

T: TopicPartition = ("t", 0)
SETTINGS = Settings(
    transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1, group_initial_rebalance_delay_ms=0
)
TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
Host = Cluster | Embedded


def produced(host: Host, partition: TopicPartition, value: bytes = b"v", node: int | None = None) -> int:
    answer = host.ask(Produce(9, None, -1, {partition: (SentBatch(Batch(records=(Record(None, value),))),)}), node)
    assert isinstance(answer, ProduceAnswer)
    return answer.partitions[partition].error


def changed(host: Host, kind: int, name: str, *changes: SettingChange, node: int | None = None) -> int:
    answer = host.ask(IncrementalAlterConfigs(1, (ResourceToChange(kind, name, changes),)), node)
    assert isinstance(answer, ConfigsAltered)
    return answer.resources[0].error


def told(host: Host, kind: int, name: str, setting: str, node: int | None = None) -> SettingDescribed:
    answer = host.ask(DescribeConfigs(4, (ResourceToDescribe(kind, name, (setting,)),), True), node)
    assert isinstance(answer, ConfigsDescribed)
    (found,) = answer.resources[0].settings
    return found


def widened(host: Host, *topics: TopicToWiden) -> list[int]:
    answer = host.ask(CreatePartitions(3, topics))
    assert isinstance(answer, PartitionsCreated)
    return [row.error for row in answer.topics]


def elected(host: Host, kind: int, *partitions: TopicPartition) -> dict[TopicPartition, int]:
    answer = host.ask(ElectLeaders(2, partitions or None, kind))
    assert isinstance(answer, LeadersElected)
    return {partition: row.error for partition, row in answer.partitions.items()}


# ---------------------------------------------------------------- settings


def test_a_changed_setting_of_a_topic_counts_from_then_on_at_every_replica() -> None:
    cluster = Cluster(2, settings=SETTINGS, topics={"t": [(1, 2)]})
    assert produced(cluster, T, b"12345") == Error.NONE
    assert changed(cluster, TOPIC, "t", SettingChange("max.message.bytes", SET, "4")) == Error.NONE
    assert produced(cluster, T, b"12345") == Error.MESSAGE_TOO_LARGE
    assert cluster.brokers[2].partitions.replicas[T].config.max_message_bytes == 4
    changed(cluster, TOPIC, "t", SettingChange("max.message.bytes", DELETE))
    assert produced(cluster, T, b"12345") == Error.NONE
    assert cluster.brokers[2].partitions.replicas[T].config == LogConfig()


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("retention.ms", " 4 ", "4"),
        ("max.message.bytes", "+00012", "12"),
        ("cleanup.policy", " compact , delete,delete", "compact,delete"),
        ("preallocate", " TRUE ", "true"),
        ("compression.type", " zstd ", "zstd"),
        ("min.cleanable.dirty.ratio", "1", "1.0"),
        ("min.cleanable.dirty.ratio", "NaN", "NaN"),
        ("min.cleanable.dirty.ratio", "nan", None),
        ("min.cleanable.dirty.ratio", "inf", None),
    ],
)
def test_a_setting_of_a_topic_is_told_as_it_was_read(setting: str, value: str, expected: str | None) -> None:
    """As Kafka 4.4.0 told it; None: it refused the value."""
    cluster = Cluster(1, topics={"t": 1}, settings=SETTINGS)
    before = told(cluster, TOPIC, "t", setting).value
    error = changed(cluster, TOPIC, "t", SettingChange(setting, SET, value))
    assert error == (Error.NONE if expected is not None else Error.INVALID_CONFIG)
    assert told(cluster, TOPIC, "t", setting).value == (before if expected is None else expected)


def test_a_refused_change_changes_nothing() -> None:
    cluster = Cluster(settings=SETTINGS, topics={"t": 1})
    changes = SettingChange("max.message.bytes", SET, "4"), SettingChange("retention.ms", SET, "x")
    assert changed(cluster, TOPIC, "t", *changes) == Error.INVALID_CONFIG
    assert cluster.metadata.stated_of("t") == {}
    assert produced(cluster, T, b"12345") == Error.NONE


def test_a_topic_whose_settings_were_given_otherwise_can_be_altered_and_keeps_the_rest() -> None:
    cluster = Cluster(settings=SETTINGS)
    cluster.create_topic("t", 1, LogConfig(retention_ms=5, segment_ms=6))
    changed(cluster, TOPIC, "t", SettingChange("retention.ms", SET, "7"))
    assert cluster.metadata.config_of("t") == LogConfig(retention_ms=7, segment_ms=6)
    cluster.ask(AlterConfigs(2, (ResourceToAlter(TOPIC, "t", (Setting("retention.ms", "8"),)),)))
    assert cluster.metadata.config_of("t") == LogConfig(retention_ms=8), "what is not said any more is gone"


def test_logs_on_disk_follow_and_a_restart_remembers(tmp_path: Path) -> None:
    with Embedded(tmp_path / "data", settings=SETTINGS, topics={"t": 1}) as embedded:
        assert changed(embedded, TOPIC, "t", SettingChange("retention.ms", SET, "7")) == Error.NONE
        assert embedded.directories[1].logs[T].config.retention_ms == 7
    with Embedded(tmp_path / "data", settings=SETTINGS) as again:
        assert again.directories[1].logs[T].config.retention_ms == 7
        assert told(again, TOPIC, "t", "retention.ms").source == 1
        changed(again, TOPIC, "t", SettingChange("retention.ms", DELETE))
    with Embedded(tmp_path / "data", settings=SETTINGS) as last:
        assert last.directories[1].logs[T].config == LogConfig()


def test_a_changed_setting_of_brokers_counts_in_all_of_them_until_it_is_taken_back() -> None:
    cluster = Cluster(2, settings=SETTINGS, topics={"t": [(1, 2)]})
    cluster.kill(2)
    assert changed(cluster, BROKER, "", SettingChange("min.insync.replicas", SET, "2")) == Error.NONE
    assert produced(cluster, T) == Error.NOT_ENOUGH_REPLICAS
    assert (told(cluster, TOPIC, "t", "min.insync.replicas").source, cluster.settings.min_insync_replicas) == (3, 2)
    assert changed(cluster, BROKER, "1", SettingChange("min.insync.replicas", SET, "1")) == Error.NONE
    assert produced(cluster, T) == Error.NONE, "what is said of this broker is nearer"
    changed(cluster, BROKER, "1", SettingChange("min.insync.replicas", DELETE))
    assert produced(cluster, T) == Error.NOT_ENOUGH_REPLICAS
    changed(cluster, BROKER, "", SettingChange("min.insync.replicas", DELETE))
    assert produced(cluster, T) == Error.NONE
    assert told(cluster, BROKER, "1", "min.insync.replicas").source == 5


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("1", SettingChange("num.partitions", SET, "3"), Error.INVALID_REQUEST),
        ("1", SettingChange("no.such.setting", SET, "3"), Error.INVALID_REQUEST),
        ("2", SettingChange("min.insync.replicas", SET, "1"), Error.INVALID_REQUEST),
        ("1", SettingChange("min.insync.replicas", SET, "0"), Error.INVALID_REQUEST),
        ("1", SettingChange("min.insync.replicas", SET, None), Error.INVALID_REQUEST),
        ("1", SettingChange("min.insync.replicas", SET, "9" * 5000), Error.INVALID_REQUEST),
        ("1", SettingChange("min.insync.replicas", SET, "1_0"), Error.INVALID_REQUEST),
        ("1", SettingChange("min.insync.replicas", SET, "2147483648"), Error.INVALID_REQUEST),
        ("9" * 5000, SettingChange("min.insync.replicas", SET, "1"), Error.INVALID_REQUEST),
        ("1", SettingChange("min.insync.replicas", 2, "1"), Error.INVALID_CONFIG),
    ],
)
def test_no_broker_changes_what_it_cannot(name: str, change: SettingChange, error: int) -> None:
    cluster = Cluster(2, settings=SETTINGS)
    before = cluster.settings.min_insync_replicas, cluster.settings.num_partitions
    assert changed(cluster, BROKER, name, change, node=1) == error
    assert (cluster.settings.min_insync_replicas, cluster.settings.num_partitions) == before


def test_what_brokers_have_for_all_topics_is_told_as_theirs() -> None:
    embedded = Embedded(settings=SETTINGS, disk=FaultDisk(), topics={"t": 1}, default_config=LogConfig(segment_ms=9))
    setting = told(embedded, TOPIC, "t", "segment.ms")
    assert (setting.value, setting.source) == ("9", 4)
    embedded.close()


# ---------------------------------------------------------------- partitions and leaders


def test_new_partitions_can_be_written_and_the_old_ones_keep_what_they_have() -> None:
    cluster = Cluster(3, settings=SETTINGS)
    cluster.ask(CreateTopics(7, (NewTopic("t", 1, 2),)))
    produced(cluster, T)
    assert widened(cluster, TopicToWiden("t", 3), TopicToWiden("u", 2)) == [0, Error.UNKNOWN_TOPIC_OR_PARTITION]
    known = cluster.metadata.partitions
    assert [known["t", number].replicas for number in range(3)] == [(1, 2), (2, 3), (3, 1)]
    assert [produced(cluster, ("t", number), node=number + 1) for number in range(3)] == [0, 0, 0]
    assert cluster.stores[2, T].log.end_offset == 2


def test_new_partitions_outlive_the_process(tmp_path: Path) -> None:
    with Embedded(tmp_path / "data", settings=SETTINGS, topics={"t": 1}) as embedded:
        assert widened(embedded, TopicToWiden("t", 2)) == [0]
        assert produced(embedded, ("t", 1)) == Error.NONE
    with Embedded(tmp_path / "data", settings=SETTINGS) as again:
        assert again.directories[1].logs["t", 1].end_offset == 1


def test_the_preferred_replica_leads_again_when_it_is_wanted() -> None:
    cluster = Cluster(2, settings=SETTINGS)
    cluster.ask(CreateTopics(7, (NewTopic("t", assignments=(ReplicaAssignment(0, (1, 2)),)),)))
    cluster.kill(1)
    assert elected(cluster, PREFERRED, T) == {T: Error.PREFERRED_LEADER_NOT_AVAILABLE}
    cluster.start(1)
    assert cluster.leader_of(T) == 2
    assert elected(cluster, UNCLEAN, T) == {T: Error.ELECTION_NOT_NEEDED}
    assert elected(cluster, PREFERRED)[T] == Error.NONE
    assert (cluster.leader_of(T), produced(cluster, T, node=1)) == (1, Error.NONE)
    assert T not in elected(cluster, PREFERRED), "of what needs no election nothing is told"


@pytest.mark.parametrize(
    ("kind", "exists", "partition", "expected"),
    [
        (2, False, None, Elected.UNKNOWN_KIND),
        (PREFERRED, False, None, Elected.NO_TOPIC),
        (PREFERRED, True, None, Elected.NO_PARTITION),
        (PREFERRED, True, LedBy((1, 2), (2,), 1), Elected.NOT_NEEDED),
        (UNCLEAN, True, LedBy((1, 2), (1, 2), 2), Elected.NOT_NEEDED),
        (UNCLEAN, True, LedBy((1, 2), (1,), -1), Elected.NOBODY_MAY),
        (PREFERRED, True, LedBy((1, 2), (2,), 2), Elected.PREFERRED_IS_OUT),
        (PREFERRED, True, LedBy((3, 2), (3, 2), 2), Elected.PREFERRED_IS_OUT),
        (PREFERRED, True, LedBy((1, 2), (2, 1), 2), Elected.ELECTED),
    ],
)
def test_why_somebody_does_not_lead(kind: int, exists: bool, partition: LedBy | None, expected: Elected) -> None:
    assert elects(kind, exists, partition, live=(1, 2)) is expected


def test_a_broker_tells_how_long_its_logs_are(tmp_path: Path) -> None:
    with Embedded(tmp_path / "data", settings=SETTINGS, topics={"t": 2}) as embedded:
        produced(embedded, T)
        answer = embedded.ask(DescribeLogDirs(4, (T, ("t", 1), ("u", 0))))
        size = next((tmp_path / "data" / "broker-1" / "t-0").glob("*.log")).stat().st_size
        assert answer == LogDirsDescribed("broker-1", {T: size, ("t", 1): 0})
        every = embedded.ask(DescribeLogDirs(4))
        assert isinstance(every, LogDirsDescribed)
        assert set(every.sizes) == set(embedded.cluster.metadata.partitions)


def test_a_live_run_in_which_administrators_change_things_is_taken_again_from_its_trace(tmp_path: Path) -> None:
    with LiveTraceFile(tmp_path / "run.jsonl") as trace:
        cluster = Cluster(2, settings=SETTINGS, topics={"t": [(1, 2)]}, clock=ManualClock(), journal=trace)
        changed(cluster, TOPIC, "t", SettingChange("max.message.bytes", SET, "100"))
        changed(cluster, BROKER, "", SettingChange("min.insync.replicas", SET, "2"))
        assert produced(cluster, T, bytes(100)) == Error.MESSAGE_TOO_LARGE
        widened(cluster, TopicToWiden("t", 3))
        cluster.kill(1)
        cluster.start(1)
        elected(cluster, PREFERRED)
        assert produced(cluster, T, node=1) == Error.NONE
        told(cluster, TOPIC, "t", "retention.ms")
    record = read_live(tmp_path / "run.jsonl")
    judged = live_again(record, "run.jsonl")
    assert (judged.finding, judged.open_question, judged.judged) == (None, "", len(record.events))
