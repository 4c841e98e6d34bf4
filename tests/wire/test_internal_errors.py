"""An internal error ends one connection and is reported; the brokers continue, unless their state may be half done."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.wire.raw import Socket, ask
from zombieproof.bridge.under_test import TestedBrokers
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.node import Broker
from zombieproof.broker.cluster.operations import WaitingFetch
from zombieproof.broker.cluster.topics import Topics
from zombieproof.broker.cluster.transactions import Transactions
from zombieproof.broker.group.consumer_group_log import ConsumerGroupLog
from zombieproof.broker.group.coordinator import GroupCoordinator
from zombieproof.broker.partition.producer_states import ProducerStates
from zombieproof.broker.partition.service import PartitionService
from zombieproof.cli.main import main
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import write_batch
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.report.exits import Exit
from zombieproof.wire import serving
from zombieproof.wire.front import Front
from zombieproof.wire.plan.parts import Plan
from zombieproof.wire.running import Running

SECRET = b"what nobody else may read"
GROUP = "g"


class Broken(Exception):
    """An error of ours."""


def fails(*_: object, **__: object) -> NoReturn:
    raise Broken


@pytest.fixture
def running() -> Iterator[Running]:
    with Running(Plan(topics={"t": 2})) as brokers:
        yield brokers


def connected(running: Running) -> "closing[Socket]":
    address = running.server.addresses[1]
    return closing(Socket(address.host, address.port))


def metadata(asked: Socket) -> Any:
    return ask(asked, ApiKey.METADATA, 4, {"topics": [{"name": "t"}], "allow_auto_topic_creation": False})


def produce(asked: Socket) -> Any:
    records = write_batch(Batch(records=(Record(None, SECRET),), timestamp_ms=1))
    rows = [{"name": "t", "partition_data": [{"index": 0, "records": records}]}]
    return ask(asked, ApiKey.PRODUCE, 9, {"transactional_id": None, "acks": NONE, "timeout": 1000, "topic_data": rows})


def list_offsets(asked: Socket) -> Any:
    rows = [{"partition_index": 0, "current_leader_epoch": NONE, "timestamp": -1}]
    return ask(
        asked,
        ApiKey.LIST_OFFSETS,
        7,
        {"replica_id": NONE, "isolation_level": 0, "topics": [{"name": "t", "partitions": rows}]},
    )


def init(asked: Socket) -> Any:
    values = {"transactional_id": "x", "transaction_timeout": 60_000, "producer_id": NONE, "producer_epoch": NONE}
    return ask(asked, ApiKey.INIT_PRODUCER_ID, 4, values)


def beat(asked: Socket, member: str = "m", epoch: int = 0, topics: tuple[str, ...] | None = ("t",)) -> Any:
    values = {
        "group_id": GROUP,
        "member_id": member,
        "member_epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": 60_000,
        "subscribed_topic_names": topics,
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": [],
    }
    return ask(asked, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, values)


def create(asked: Socket, name: str = "new") -> Any:
    row = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    return ask(asked, ApiKey.CREATE_TOPICS, 5, {"topics": [row], "timeout": 1000, "validate_only": False})


def delete(asked: Socket, name: str = "t") -> Any:
    return ask(asked, ApiKey.DELETE_TOPICS, 5, {"topic_names": [name], "timeout": 1000})


def fetch_values(max_wait: int) -> dict[str, Any]:
    rows = [
        {
            "partition": number,
            "current_leader_epoch": NONE,
            "fetch_offset": 0,
            "log_start_offset": NONE,
            "partition_max_bytes": 1 << 20,
        }
        for number in (0, 1)
    ]
    return {
        "replica_id": NONE,
        "max_wait": max_wait,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": NONE,
        "topics": [{"topic": "t", "partitions": rows}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


Call = Callable[[Socket], Any]


@pytest.mark.parametrize(
    ("owner", "method", "call", "name"),
    [
        (PartitionService, "describe_topics", metadata, "Metadata 4"),
        (PartitionService, "list_offsets", list_offsets, "ListOffsets 7"),
        (Broker, "_ask_partitions", metadata, "Metadata 4"),
        (ProducerStates, "judge", produce, "Produce 9"),
        (Transactions, "handle", init, "InitProducerId 4"),
        (GroupCoordinator, "handle", beat, "ConsumerGroupHeartbeat 1"),
        (Topics, "create", create, "CreateTopics 5"),
        (Metadata, "group_partition", beat, "ConsumerGroupHeartbeat 1"),
        (Front, "response", metadata, "Metadata 4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_in_a_handler_ends_its_connection_alone(
    owner: type,
    method: str,
    call: Call,
    name: str,
    running: Running,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with connected(running) as good, connected(running) as bad, connected(running) as after:
        assert metadata(good)["topics"][0]["error_code"] == Error.NONE
        with monkeypatch.context() as broken:
            # A handler table holds functions: what it holds is called through the class where it can be replaced.
            _replace(broken, owner, method)
            with pytest.raises(ConnectionError):
                call(bad)
        assert metadata(good)["topics"][0]["error_code"] == Error.NONE, "the connection of another client"
        assert call(after) is not None, "the same request, when the error is gone"
    (report,) = running.server.reports
    assert report.startswith(f"internal error in {name}, whose connection was closed; the brokers continue")
    assert "Broken" in report
    assert "zombieproof" in report
    assert "brokers of Kafka" in report
    assert SECRET.decode() not in report
    assert report in caplog.text
    with pytest.raises(Broken):
        running.server.check()
    running.server.check()


def _replace(broken: pytest.MonkeyPatch, owner: type, method: str) -> None:
    if owner is Broker:
        from zombieproof.broker.cluster import node  # noqa: PLC0415  # only this row replaces a row of a table
        from zombieproof.messages.registry import Receiver  # noqa: PLC0415

        broken.setitem(node.PARTS, Receiver.ANY_BROKER, fails)
    else:
        broken.setattr(owner, method, fails)


def test_an_error_in_a_waiting_fetch_ends_the_connection_of_the_fetch(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(running) as waiting, connected(running) as other:
        waiting.send(ApiKey.FETCH, 11, fetch_values(5_000))
        assert metadata(other)["topics"][0]["error_code"] == Error.NONE
        with monkeypatch.context() as broken:
            broken.setattr(WaitingFetch, "judge", fails)
            assert delete(other)["responses"][0]["error_code"] == Error.NONE
            with pytest.raises(ConnectionError):
                waiting.wait()
        assert metadata(other)["topics"][0]["error_code"] == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert len(running.server.reports) == 1
    with pytest.raises(Broken):
        running.server.check()


def test_a_group_is_what_its_log_says_after_an_error(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(running) as good, connected(running) as bad:
        epoch = beat(good)["member_epoch"]
        with monkeypatch.context() as broken:
            broken.setattr(ConsumerGroupLog, "difference", fails)
            with pytest.raises(ConnectionError):
                beat(bad, "other")  # The member is in memory when the group is to be written.
        described = ask(
            good, ApiKey.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": [GROUP], "include_authorized_operations": False}
        )
        assert [member["member_id"] for member in described["groups"][0]["members"]] == ["m"]
        assert beat(good, "m", epoch, None)["error_code"] == Error.NONE
    with pytest.raises(Broken):
        running.server.check()


def test_an_error_in_a_timer_ends_nothing(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(running) as good:
        with monkeypatch.context() as broken:
            broken.setattr(Broker, "expire_offsets", fails)
            broken.setattr(fails, "__name__", "expire_offsets")
            with pytest.raises(Broken):
                running.do(running.cluster.expire_offsets)
        assert metadata(good)["topics"][0]["error_code"] == Error.NONE
    assert "internal error in the timer expire_offsets;" in running.server.reports[0]


@pytest.mark.parametrize(
    ("owner", "method", "call"),
    [
        (ProducerStates, "record", produce),
        (Cluster, "_follow", create),
        (Metadata, "_add_partitions", create),
    ],
    ids=["in an append", "in a change of topics", "in the metadata"],
)
def test_an_error_in_the_middle_of_an_effect_ends_the_brokers(
    owner: type, method: str, call: Call, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(running) as client:
        monkeypatch.setattr(owner, method, fails)
        client.patience(1.0)
        with pytest.raises((ConnectionError, TimeoutError)):
            call(client)
        with pytest.raises(Broken):
            running.do(lambda: None)


def test_the_fixture_tells_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TestedBrokers(Plan(topics={"t": 1}), tmp_path / "trace.jsonl") as brokers:
        with connected(brokers) as client, monkeypatch.context() as broken:
            broken.setattr(PartitionService, "describe_topics", fails)
            with pytest.raises(ConnectionError):
                metadata(client)
        with connected(brokers) as client:
            assert metadata(client)["topics"][0]["error_code"] == Error.NONE
        wrong = brokers.wrong()
        assert wrong is not None
        assert str(wrong).startswith("internal error in Metadata 4,")


def test_the_same_error_is_not_reported_for_ever(
    running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(PartitionService, "describe_topics", fails)
    with caplog.at_level(logging.ERROR):
        for _ in range(10):
            with connected(running) as client, pytest.raises(ConnectionError):
                metadata(client)
    assert caplog.text.count("end of report") == 3
    assert "(Broken) has happened 8 times" in caplog.text


def test_serve_ends_with_70_when_its_state_cannot_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: object) -> NoReturn:
        raise ValueError("not an error of usage")

    monkeypatch.setattr(serving, "serve", ended)
    assert main(["serve", "--port", "0"]) == Exit.INTERNAL_ERROR
