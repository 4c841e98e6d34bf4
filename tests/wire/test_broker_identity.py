"""What a broker says of itself: its node id, where clients find it, and its log directory, as Kafka 4.4.0 does."""

from typing import Any

import pytest

pytest.importorskip("kio", reason="kio (extra `wire`) is missing")

from tests.wire.raw import Ours, ask
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.settings import Settings
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.security import Security

SETTINGS = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)


def broker(first_node: int = 1, nodes: int = 1) -> Ours:
    cluster = Cluster(nodes, settings=SETTINGS, topics={"t": 2}, first_node=first_node)
    return Ours(cluster, first_node, None)


def described(asked: Ours, *keys: str, synonyms: bool = True) -> dict[str, Any]:
    resource = {"resource_type": 4, "resource_name": str(asked.node), "configuration_keys": keys or None}
    told = ask(asked, ApiKey.DESCRIBE_CONFIGS, 4, {"resources": [resource], "include_synonyms": synonyms})
    [result] = told["results"]
    assert result["error_code"] == 0
    return {row.pop("name"): row for row in result["configs"]}


def test_a_broker_tells_where_clients_find_it() -> None:
    static = {"read_only": True, "config_source": 4, "is_sensitive": False, "documentation": None}
    [port] = [port for _, port in broker().front._around.addresses.values()]
    there = f"PLAINTEXT://127.0.0.1:{port}"
    assert described(broker(), "advertised.listeners", "broker.id", "node.id") == {
        "advertised.listeners": {
            **static,
            "value": there,
            "config_type": 7,
            "synonyms": [{"name": "advertised.listeners", "value": there, "source": 4}],
        },
        "broker.id": {
            **static,
            "value": "1",
            "config_type": 3,
            "synonyms": [
                {"name": "broker.id", "value": "1", "source": 4},
                {"name": "broker.id", "value": "-1", "source": 5},
            ],
        },
        "node.id": {
            **static,
            "value": "1",
            "config_type": 3,
            "synonyms": [{"name": "node.id", "value": "1", "source": 4}],
        },
    }
    every = described(broker(), synonyms=False)
    assert {"advertised.listeners", "fetch.max.bytes", "log.dirs", "num.partitions"} <= set(every)
    assert every["log.dirs"]["synonyms"] == []


def test_a_topic_has_no_listeners() -> None:
    resource = {"resource_type": 2, "resource_name": "t", "configuration_keys": None}
    told = ask(broker(), ApiKey.DESCRIBE_CONFIGS, 4, {"resources": [resource], "include_synonyms": False})
    assert "advertised.listeners" not in {row["name"] for row in told["results"][0]["configs"]}


def test_a_listener_is_called_by_what_it_demands() -> None:
    some: Any = object()
    assert [Security(mechanisms, tls).protocol for mechanisms in ({}, {"PLAIN": some}) for tls in (None, some)] == [
        *("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    ]


@pytest.mark.parametrize(
    ("path", "topic", "number", "error"),
    [
        ("own", "t", 1, Error.NONE),
        ("own", "t", 7, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("own", "nobody", 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("own/", "t", 1, Error.LOG_DIR_NOT_FOUND),
        ("", "t", 1, Error.LOG_DIR_NOT_FOUND),
        ("/nowhere", "nobody", 0, Error.LOG_DIR_NOT_FOUND),
    ],
)
def test_replicas_may_be_sent_to_where_they_are(path: str, topic: str, number: int, error: Error) -> None:
    asked = broker()
    own = ask(asked, ApiKey.DESCRIBE_LOG_DIRS, 4, {"topics": None})["results"][0]["log_dir"]
    dirs = [{"path": path.replace("own", own), "topics": [{"name": topic, "partitions": [number]}]}]
    told = ask(asked, ApiKey.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": dirs})
    assert told["results"][0]["partitions"] == [{"partition_index": number, "error_code": error}]


def test_the_directory_of_another_broker_is_none_of_its_own() -> None:
    asked = broker(nodes=2)
    dirs = [{"path": "broker-2", "topics": [{"name": "t", "partitions": [0, 1]}]}]
    told = ask(asked, ApiKey.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": dirs})
    assert {row["error_code"] for row in told["results"][0]["partitions"]} == {Error.LOG_DIR_NOT_FOUND}


def test_brokers_are_numbered_from_where_they_are_told() -> None:
    asked = broker(first_node=0, nodes=2)
    values = {"topics": None, "allow_auto_topic_creation": False}
    told = ask(asked, ApiKey.METADATA, 9, values)
    assert [each["node_id"] for each in told["brokers"]] == [0, 1]
    assert {row["leader_id"] for topic in told["topics"] for row in topic["partitions"]} == {0, 1}
    assert described(asked, "node.id")["node.id"]["value"] == "0"
    more = [{"name": "t", "count": 4, "assignments": [{"broker_ids": [0]}, {"broker_ids": [1]}]}]
    made = ask(asked, ApiKey.CREATE_PARTITIONS, 3, {"topics": more, "timeout": 1000})
    assert made["results"][0]["error_code"] == 0
