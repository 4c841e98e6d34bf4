"""What administrators ask of a broker with one node: a fresh one, with the settings of `SETTINGS`, in this order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from zombieproof.broker.cluster.settings import Settings
from zombieproof.model.vocabulary import ApiKey

SETTINGS = Settings(
    num_partitions=2,
    offsets_topic_num_partitions=2,
    transaction_state_log_num_partitions=2,
    group_initial_rebalance_delay_ms=0,
    transaction_abort_timed_out_transaction_cleanup_interval_ms=500,
)
"""Those with which the tool starts a real broker."""


class Question(NamedTuple):
    """One request. `differs`: why ours is answered otherwise."""

    api: ApiKey
    version: int
    values: Mapping[str, Any]
    differs: str = ""


Row = dict[str, Any]
TIER = "remote storage is not here"


def topic(
    name: str,
    partitions: int = 1,
    factor: int = 1,
    assigned: Sequence[tuple[int, Sequence[int]]] = (),
    configs: Mapping[str, str | None] | None = None,
) -> Row:
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": [{"partition_index": number, "broker_ids": brokers} for number, brokers in assigned],
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }


def create(*topics: Row, version: int = 7, looks: bool = False, differs: str = "") -> Question:
    values = {"topics": topics, "timeout": 10_000, "validate_only": looks}
    return Question(ApiKey.CREATE_TOPICS, version, values, differs)


def metadata(version: int, *names: str, creates: bool = True) -> Question:
    rows = [{"name": name, "topic_id": None} for name in names]
    return Question(ApiKey.METADATA, version, {"topics": rows, "allow_auto_topic_creation": creates})


def creations() -> Iterator[Question]:
    yield create(topic("a"))
    yield create(topic("a"))
    for version in range(2, 8):
        yield create(topic(f"v{version}", 2), version=version)
    for version in range(2, 8):
        yield create(topic(f"v{version}", 2), version=version)
        yield create(topic("w", -1, -1), version=version, looks=True)
    for partitions, factor in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (1, 32767), (0, 0), (2147483647, 2)):
        yield create(topic("w", partitions, factor))
    yield create(topic("w1", 1, -1))
    yield create(topic("w2", -1, 1))
    for name in ("bad name", "", ".", "..", "x" * 249, "x" * 250, "\u00fc", "a/b", "__cluster_metadata"):
        yield create(topic(name), looks=True)
    yield create(topic("__consumer_offsets"), topic("__transaction_state"))
    yield create(topic("d"), topic("d"), topic("e"))
    yield create(topic("d"), topic("d"), topic("d"), looks=True)
    yield create(topic("a"), topic("a"))
    yield create(topic("c.1"), topic("c_1"))
    yield create(topic("c.1"))
    yield create(topic("c.x"))
    yield create(topic("c_x"))
    yield create()
    yield create(topic("big", 6000), topic("large", 4001), topic("a"))
    yield create(topic("big", 10_001, 0))


def assignments() -> Iterator[Question]:
    yield create(topic("m", -1, -1, [(0, [1]), (1, [1])]))
    yield create(topic("m1", -1, -1, [(1, [1]), (0, [1])]))
    for number, (partitions, factor, assigned) in enumerate(WRONG_PLACES):
        yield create(topic(f"n{number}", partitions, factor, assigned))


WRONG_PLACES: tuple[tuple[int, int, list[tuple[int, list[int]]]], ...] = (
    (2, -1, [(0, [1]), (1, [1])]),
    (-1, 1, [(0, [1])]),
    (2, 1, [(0, [1])]),
    (-1, -1, [(0, [2])]),
    (-1, -1, [(1, [1])]),
    (-1, -1, [(0, [1]), (0, [1])]),
    (-1, -1, [(0, [1]), (0, [2])]),
    (-1, -1, [(0, [])]),
    (-1, -1, [(0, [1, 1])]),
    (-1, -1, [(0, [1]), (2, [1])]),
    (-1, -1, [(0, [1]), (1, [1, 2])]),
    (-1, -1, [(0, [1]), (1, [])]),
    (-1, -1, [(0, [1]), (1, [1, 1])]),
    (-1, -1, [(0, [-1])]),
    (-1, -1, [(-1, [1])]),
)
GOOD_SETTINGS: tuple[dict[str, str | None], ...] = (
    {"retention.ms": "5000"},
    {"retention.ms": "604800000"},
    {"cleanup.policy": "compact,delete"},
    {"cleanup.policy": "compact, delete"},
    {"cleanup.policy": ""},
    {"cleanup.policy": "compact,compact"},
    {"min.insync.replicas": "2"},
    {"unclean.leader.election.enable": "TRUE"},
    {"max.message.bytes": " 5 "},
    {"follower.replication.throttled.replicas": "0:1"},
    {"follower.replication.throttled.replicas": "*"},
    {"preallocate": "true"},
    {"local.retention.ms": "10"},
    {"segment.bytes": "1048576"},
    {"compression.gzip.level": "-1"},
    {"min.cleanable.dirty.ratio": "1"},
    {"flush.ms": "0", "flush.messages": "1"},
)
BAD_SETTINGS: tuple[dict[str, str | None], ...] = (
    {"nope": "1"},
    {"": "1"},
    {"nope": "1", "retention.ms": "x"},
    {"retention.ms": "abc"},
    {"retention.ms": "1.5"},
    {"retention.ms": "-2"},
    {"retention.ms": None},
    {"nope": None},
    {"retention.ms": None, "nope": None},
    {"retention.ms": ""},
    {"retention.ms": "9223372036854775808"},
    {"segment.bytes": "1"},
    {"segment.bytes": "2147483648"},
    {"segment.ms": "0"},
    {"cleanup.policy": "foo"},
    {"cleanup.policy": "compact,foo"},
    {"compression.type": "foo"},
    {"compression.type": ""},
    {"compression.gzip.level": "0"},
    {"compression.gzip.level": "10"},
    {"compression.zstd.level": "23"},
    {"min.insync.replicas": "0"},
    {"min.cleanable.dirty.ratio": "2"},
    {"min.cleanable.dirty.ratio": "x"},
    {"min.cleanable.dirty.ratio": "-0.5"},
    {"unclean.leader.election.enable": "maybe"},
    {"message.timestamp.type": "x"},
    {"message.format.version": "2.0"},
    {"follower.replication.throttled.replicas": "x"},
    {"remote.storage.enable": "true"},
    {"max.compaction.lag.ms": "1", "min.compaction.lag.ms": "5"},
)


def settings_of_topics() -> Iterator[Question]:
    for number, good in enumerate(GOOD_SETTINGS):
        yield create(topic(f"g{number}", configs=good))
    for number, bad in enumerate(BAD_SETTINGS):
        yield create(topic(f"b{number}", configs=bad))
    yield create(topic("a", configs={"nope": "1"}))
    yield create(topic("bad name", configs={"nope": "1"}))
    yield create(topic("k", 0, configs={"nope": "1"}))
    yield create(topic("k", configs={"retention.ms": "7"}), topic("l", configs={"retention.ms": "x"}))


def asked_for() -> Iterator[Question]:
    for version in range(14):
        yield metadata(version, "a")
        yield metadata(version, "a", "a", "v2")
        if version > 0:
            yield metadata(version)
        yield metadata(version, "bad name", "", creates=False)
        yield metadata(version, "__cluster_metadata", "__consumer_offsets")
        yield metadata(version, f"auto{version}", creates=False)
        yield metadata(version, f"auto{version}", "a", "bad name")
        yield metadata(version, f"auto{version}")
    for version in range(10, 14):
        for topic_id in (UUID(int=7), UUID(int=0)):
            rows = [{"name": None, "topic_id": topic_id}, {"name": "a", "topic_id": None}]
            yield Question(ApiKey.METADATA, version, {"topics": rows, "allow_auto_topic_creation": True})
            yield Question(ApiKey.METADATA, version, {"topics": rows[:1], "allow_auto_topic_creation": True})
        named = [{"name": "a", "topic_id": UUID(int=7)}]
        yield Question(ApiKey.METADATA, version, {"topics": named, "allow_auto_topic_creation": True})
    yield metadata(12, "auto.y")
    yield metadata(12, "auto_y")
    yield metadata(12, "auto_y", creates=False)


def questions() -> Iterator[Question]:
    """All of them."""
    yield from creations()
    yield from assignments()
    yield from settings_of_topics()
    yield from asked_for()
