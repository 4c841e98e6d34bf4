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
FIXED = "group.consumer.assignment.interval.ms stays as it is while brokers run"
NO_LOGGERS = "there are no loggers whose levels could be set"
NO_VOLUME = "nothing is told of the volume on which the logs are"
NO_ELECTIONS = "the quorum is none that elects: its epoch is always 1, and nothing is told of times"


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


def widen(*topics: tuple[str, int, Sequence[Sequence[int]] | None], version: int = 3, looks: bool = False) -> Question:
    rows = [
        {
            "name": name,
            "count": count,
            "assignments": None if assigned is None else [{"broker_ids": brokers} for brokers in assigned],
        }
        for name, count, assigned in topics
    ]
    return Question(ApiKey.CREATE_PARTITIONS, version, {"topics": rows, "timeout": 10_000, "validate_only": looks})


def more_partitions() -> Iterator[Question]:
    yield create(topic("p", 2), topic("q", 1))
    for version in range(4):
        yield widen(("p", 3 + version, None), version=version)
        yield widen(("p", 3 + version, None), ("nobody", 3, None), version=version, looks=True)
        yield metadata(12, "p")
    yield widen(("p", 9, None), looks=True)
    yield metadata(12, "p")
    for count in (0, -1, 1, 6):
        yield widen(("p", count, None))
    yield widen(("q", 2, [[1]]))
    wrong: Sequence[Sequence[Sequence[int]]] = ([], [[1], [1]], [[2]], [[]], [[1, 1]], [[1, 2]])
    for assigned in wrong:
        yield widen(("q", 3, assigned))
    yield widen(("q", 3, None), ("q", 4, None), ("p", 7, None))
    yield widen(("", 3, None), ("bad name", 3, None))
    yield widen(("big", 10_002, None))
    yield widen()
    yield metadata(12, "p", "q")


def describe(
    kind: int,
    name: str,
    *keys: str,
    version: int = 4,
    synonyms: bool = True,
    documentation: bool = False,
    differs: str = "",
) -> Question:
    rows = [{"resource_type": kind, "resource_name": name, "configuration_keys": keys or None}]
    values = {"resources": rows, "include_synonyms": synonyms, "include_documentation": documentation}
    return Question(ApiKey.DESCRIBE_CONFIGS, version, values, differs)


TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
OURS_OF_BROKERS = (
    "auto.create.topics.enable",
    "default.replication.factor",
    "delete.topic.enable",
    "group.consumer.assignment.interval.ms",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "min.insync.replicas",
    "num.partitions",
    "offset.metadata.max.bytes",
    "offsets.topic.num.partitions",
    "producer.id.expiration.ms",
    "transaction.max.timeout.ms",
    "transactional.id.expiration.ms",
)


def described_settings() -> Iterator[Question]:
    yield create(topic("s", configs={"retention.ms": "7", "cleanup.policy": "compact", "flush.ms": "9"}))
    for version in range(1, 5):
        yield describe(TOPIC, "s", version=version)
        yield describe(TOPIC, "s", version=version, synonyms=False)
        yield describe(TOPIC, "s", "retention.ms", "nope", version=version)
        yield describe(TOPIC, "nobody", version=version)
        yield describe(BROKER, "1", *OURS_OF_BROKERS, version=version, differs=FIXED)
    yield describe(TOPIC, "__consumer_offsets")
    yield describe(TOPIC, "__transaction_state")
    yield describe(TOPIC, "bad name")
    yield describe(TOPIC, "")
    yield describe(BROKER, "2")
    yield describe(BROKER, "x")
    yield describe(BROKER, "")
    yield describe(BROKER, "1", "nope")
    yield describe(0, "s")
    yield describe(3, "s")
    rows = [{"resource_type": TOPIC, "resource_name": "s", "configuration_keys": ["flush.ms"]}] * 2
    yield Question(ApiKey.DESCRIBE_CONFIGS, 4, {"resources": rows})
    yield Question(ApiKey.DESCRIBE_CONFIGS, 4, {"resources": []})
    empty = [{"resource_type": TOPIC, "resource_name": "s", "configuration_keys": []}]
    yield Question(ApiKey.DESCRIBE_CONFIGS, 4, {"resources": empty})


def alter(
    kind: int, name: str, configs: Mapping[str, str | None], *, version: int = 2, looks: bool = False
) -> Question:
    pairs = [{"name": key, "value": value} for key, value in configs.items()]
    rows = [{"resource_type": kind, "resource_name": name, "configs": pairs}]
    return Question(ApiKey.ALTER_CONFIGS, version, {"resources": rows, "validate_only": looks})


SET, DELETE, APPEND, SUBTRACT = range(4)


def increment(
    kind: int, name: str, *changes: tuple[str, int, str | None], version: int = 1, looks: bool = False
) -> Question:
    pairs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
    rows = [{"resource_type": kind, "resource_name": name, "configs": pairs}]
    return Question(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, {"resources": rows, "validate_only": looks})


STATED = ("retention.ms", "cleanup.policy", "flush.ms", "segment.bytes")


def altered_settings() -> Iterator[Question]:
    def look() -> Question:
        return describe(TOPIC, "s", *STATED)

    for version in range(3):
        yield alter(TOPIC, "s", {"retention.ms": str(50 + version)}, version=version)
        yield look()
    yield alter(TOPIC, "s", {"segment.bytes": "2000000"}, looks=True)
    yield alter(TOPIC, "s", {"segment.bytes": "1"})
    yield alter(TOPIC, "s", {"nope": "1"})
    yield alter(TOPIC, "s", {"retention.ms": None})
    yield alter(TOPIC, "nobody", {"retention.ms": "5"})
    yield alter(TOPIC, "bad name", {"retention.ms": "5"})
    yield alter(TOPIC, "", {"retention.ms": "5"})
    yield alter(TOPIC, "s", {})
    yield look()
    for version in range(2):
        yield increment(TOPIC, "s", ("retention.ms", SET, f"{version}"), version=version)
        yield increment(TOPIC, "s", ("flush.ms", SET, "3"), ("retention.ms", DELETE, None), version=version)
        yield look()
    yield increment(TOPIC, "s", ("cleanup.policy", APPEND, "compact"))
    yield look()
    yield increment(TOPIC, "s", ("cleanup.policy", APPEND, "compact"))
    yield increment(TOPIC, "s", ("cleanup.policy", SUBTRACT, "delete"))
    yield look()
    yield increment(TOPIC, "s", ("cleanup.policy", SUBTRACT, "delete,compact"))
    yield look()
    yield increment(TOPIC, "s", ("cleanup.policy", DELETE, None), ("flush.ms", DELETE, "5"))
    yield look()
    yield increment(TOPIC, "s", ("retention.ms", APPEND, "5"))
    yield increment(TOPIC, "s", ("nope", APPEND, "5"))
    yield increment(TOPIC, "s", ("cleanup.policy", APPEND, "foo"))
    yield increment(TOPIC, "s", ("retention.ms", SET, None))
    yield increment(TOPIC, "s", ("retention.ms", 7, "1"))
    yield increment(TOPIC, "s", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
    yield increment(TOPIC, "s", ("retention.ms", SET, "x"))
    yield increment(TOPIC, "s", ("nope", SET, "x"))
    yield increment(TOPIC, "s", ("nope", DELETE, None))
    yield increment(TOPIC, "s", ("retention.ms", SET, "9"), looks=True)
    yield increment(TOPIC, "nobody", ("retention.ms", SET, "9"))
    yield increment(TOPIC, "nobody", ("nope", SET, "9"))
    yield increment(TOPIC, "bad name", ("retention.ms", SET, "9"))
    yield increment(TOPIC, "s")
    yield look()
    same = [{"resource_type": TOPIC, "resource_name": "s", "configs": []}] * 2
    yield Question(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": same, "validate_only": False})
    yield Question(ApiKey.ALTER_CONFIGS, 2, {"resources": same, "validate_only": False}, "Kafka 4.3 does not answer")
    yield Question(ApiKey.ALTER_CONFIGS, 2, {"resources": [], "validate_only": False})


def altered_brokers() -> Iterator[Question]:
    names = ("min.insync.replicas", "producer.id.expiration.ms")
    yield increment(BROKER, "", ("min.insync.replicas", SET, "2"))
    yield describe(BROKER, "1", *names)
    yield describe(BROKER, "", *names)
    yield describe(TOPIC, "s", "min.insync.replicas")
    yield increment(BROKER, "", ("min.insync.replicas", DELETE, None))
    yield describe(BROKER, "1", *names)
    yield increment(BROKER, "1", ("producer.id.expiration.ms", SET, "5000"))
    yield describe(BROKER, "1", *names)
    yield increment(BROKER, "1", ("producer.id.expiration.ms", DELETE, None))
    yield describe(BROKER, "1", *names)
    yield increment(BROKER, "1", ("num.partitions", SET, "5"))
    yield increment(BROKER, "1", ("min.insync.replicas", SET, "0"))
    yield increment(BROKER, "1", ("min.insync.replicas", SET, "x"))
    yield increment(BROKER, "2", ("min.insync.replicas", SET, "1"))
    yield increment(BROKER, "x", ("min.insync.replicas", SET, "1"))
    yield increment(BROKER, "1", ("min.insync.replicas", SET, "1"), looks=True)
    yield increment(0, "1", ("min.insync.replicas", SET, "1"))
    yield increment(3, "1", ("min.insync.replicas", SET, "1"))


def of_the_cluster() -> Iterator[Question]:
    for version in range(3):
        for kind in (1, 2, 3) if version else (1,):
            yield Question(ApiKey.DESCRIBE_CLUSTER, version, {"endpoint_type": kind})
    for version in range(2):
        yield Question(ApiKey.LIST_CONFIG_RESOURCES, version, {"resource_types": []}, NO_LOGGERS if version else "")
    for kinds in ([BROKER], [GROUP], [CLIENT_METRICS], [BROKER, CLIENT_METRICS], [LOGGER], [3]):
        yield Question(
            ApiKey.LIST_CONFIG_RESOURCES, 1, {"resource_types": kinds}, NO_LOGGERS if kinds == [LOGGER] else ""
        )
    yield create(topic("z"))
    for version in range(1, 6):
        some = [{"topic": "z", "partitions": [0]}, {"topic": "nobody", "partitions": [0]}]
        yield Question(ApiKey.DESCRIBE_LOG_DIRS, version, {"topics": some}, NO_VOLUME if version > 3 else "")
        yield Question(ApiKey.DESCRIBE_LOG_DIRS, version, {"topics": []}, NO_VOLUME if version > 3 else "")
    for version in range(3):
        of = [{"topic_name": name, "partitions": [{"partition_index": 0}]} for name in ("__cluster_metadata", "z")]
        yield Question(ApiKey.DESCRIBE_QUORUM, version, {"topics": of[:1]}, NO_ELECTIONS)
        yield Question(ApiKey.DESCRIBE_QUORUM, version, {"topics": of})
        yield Question(ApiKey.DESCRIBE_QUORUM, version, {"topics": []})


def moves() -> Iterator[Question]:
    for version in range(3):
        for kind in (0, 1, 7) if version else (0,):
            for of in ([{"topic": "z", "partitions": [0, 5]}, {"topic": "nobody", "partitions": [0]}], None, []):
                values = {"election_type": kind, "topic_partitions": of, "timeout": 1000}
                yield Question(ApiKey.ELECT_LEADERS, version, values)
    for replicas in ([1], [2], [], None, [1, 1], [1, 2]):
        parts = [{"partition_index": number, "replicas": replicas} for number in (0, 5)]
        rows: list[Row] = [{"name": name, "partitions": parts} for name in ("z", "nobody")]
        values = {"timeout": 1000, "topics": rows, "allow_replication_factor_change": True}
        for version in range(2):
            yield Question(ApiKey.ALTER_PARTITION_REASSIGNMENTS, version, values)
    wider: list[Row] = [{"name": "z", "partitions": [{"partition_index": 0, "replicas": [1, 2]}]}]
    values = {"timeout": 1000, "topics": wider, "allow_replication_factor_change": False}
    yield Question(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 1, values)
    yield Question(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 1, {"timeout": 1000, "topics": []})
    for listed in (
        None,
        [],
        [{"name": "z", "partition_indexes": [0, 5]}, {"name": "nobody", "partition_indexes": [0]}],
    ):
        yield Question(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, {"timeout": 1000, "topics": listed})
    for version in (1, 2):
        for path in ("/nowhere", "nowhere", ""):
            to = [{"name": "z", "partitions": [0, 5]}, {"name": "nobody", "partitions": [0]}]
            values = {"dirs": [{"path": path, "topics": to}]}
            yield Question(ApiKey.ALTER_REPLICA_LOG_DIRS, version, values)
        yield Question(ApiKey.ALTER_REPLICA_LOG_DIRS, version, {"dirs": []})


def topic_partitions() -> Iterator[Question]:
    def ask(names: Sequence[str], limit: int, cursor: tuple[str, int] | None = None) -> Question:
        at = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
        values = {"topics": [{"name": name} for name in names], "response_partition_limit": limit, "cursor": at}
        return Question(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, values)

    yield ask(["p", "q", "nobody", "bad name", "z"], 2000)
    yield ask(["p", "q"], 4)
    yield ask(["p", "q"], 6)
    yield ask(["p", "q"], 4, ("p", 4))
    yield ask(["p", "q"], 4, ("q", 0))
    yield ask(["p", "q"], 4, ("q", 9))
    yield ask(["p", "q"], 0)
    yield ask(["p", "q"], 1, ("p", -1))
    yield ask(["p", "q"], 5, ("nobody", 0))
    yield ask(["__transaction_state", "q", "q"], 1)


def rights() -> Iterator[Question]:
    every = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    one = {
        "resource_type": 2,
        "resource_name": "a",
        "resource_pattern_type": 3,
        "principal": "User:x",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    for version in range(1, 4):
        yield Question(ApiKey.DESCRIBE_ACLS, version, every)
        for rows in ([one], [one, one], []):
            yield Question(ApiKey.CREATE_ACLS, version, {"creations": rows})
        for filters in ([every], [every, every], []):
            yield Question(ApiKey.DELETE_ACLS, version, {"filters": filters})
    for users in (None, [], [{"name": "x"}], [{"name": "x"}, {"name": "y"}], [{"name": "x"}, {"name": "x"}]):
        yield Question(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": users})
    yield Question(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": [{"name": ""}]})
    flags = {"include_cluster_authorized_operations": True, "include_topic_authorized_operations": True}
    for version in range(8, 14):
        values = {"topics": [{"name": "a"}, {"name": "nobody"}], "allow_auto_topic_creation": False, **flags}
        yield Question(ApiKey.METADATA, version, values)
    for version in range(3):
        yield Question(ApiKey.DESCRIBE_CLUSTER, version, {"endpoint_type": 1, **flags})
        yield Question(ApiKey.DESCRIBE_CLUSTER, version, {"endpoint_type": 1, "include_fenced_brokers": True})


def questions_of_old() -> Iterator[Question]:
    """Those that a 3.9 is asked."""
    yield from (*creations(), *assignments(), *asked_for(), *more_partitions())


def questions() -> Iterator[Question]:
    """All of them."""
    yield from creations()
    yield from assignments()
    yield from settings_of_topics()
    yield from asked_for()
    yield from more_partitions()
    yield from described_settings()
    yield from altered_settings()
    yield from altered_brokers()
    yield from of_the_cluster()
    yield from moves()
    yield from topic_partitions()
    yield from rights()
