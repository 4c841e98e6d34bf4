"""Spark's own Kafka connector at brokers of ours: it reads what is committed, and what it writes is there once."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.real_clients.processes import StepFailed
from tests.spark_connector.talking import PATIENCE_S, Connector, told

if TYPE_CHECKING:
    from zombieproof.bridge.under_test import TestedBrokers

pytest.importorskip(
    "confluent_kafka", reason="confluent-kafka, which fills topics here, is not installed (extra `spark`)"
)

from tests.pipeline.topics import fill, producing

pytestmark = pytest.mark.slow

COMMITTED = {"kafka_isolation_level": "read_committed"}


@pytest.fixture(params=["one", "three"])
def brokers(request: pytest.FixtureRequest) -> "TestedBrokers":
    """One broker, or three; with an input of 600 committed rows and 150 aborted ones in three partitions."""
    made: TestedBrokers = request.getfixturevalue("txn_broker" if request.param == "one" else "txn_cluster")
    made.topics(input=3, output=3)
    fill(made.bootstrap, "input", 3, 600, per_transaction=50, abort_every=4)
    return made


def open_in(brokers: "TestedBrokers", topic: str, partition: int) -> Any:
    """A producer with a record in a partition, in a transaction that is open; a committed record lies behind it."""
    producer = producing(brokers.bootstrap, "open")
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=partition)
    producer.flush(10)
    behind = producing(brokers.bootstrap, "behind")
    behind.begin_transaction()
    behind.produce(topic, b"behind", partition=partition)
    behind.commit_transaction(10)
    return producer


def test_a_batch_has_every_committed_row_once_and_no_other(brokers: "TestedBrokers", connector: Connector) -> None:
    """Batch, read_committed: every row that was committed, once, with place, key, headers and time"""
    rows = connector.does("read", brokers.bootstrap, subscribe="input", **COMMITTED)
    assert rows == told(brokers.records("input"))
    assert len(rows) == 600


def test_a_batch_of_read_uncommitted_has_the_aborted_rows_too(brokers: "TestedBrokers", connector: Connector) -> None:
    """Batch, read_uncommitted: the aborted rows as well, which are therefore there"""
    rows = connector.does("read", brokers.bootstrap, subscribe="input")
    assert rows == told(brokers.records("input", "read_uncommitted"))
    assert len(rows) == 750


def test_a_batch_ends_at_the_last_stable_offset(brokers: "TestedBrokers", connector: Connector) -> None:
    """Open transaction, batch: what lies behind its first record is not read, and is when it has ended"""
    producer = open_in(brokers, "input", 1)
    values = [row[3] for row in connector.does("read", brokers.bootstrap, subscribe="input", **COMMITTED)]
    assert (len(values), "open" in values, "behind" in values) == (600, False, False)
    producer.commit_transaction(10)
    rows = connector.does("read", brokers.bootstrap, subscribe="input", **COMMITTED)
    assert rows == told(brokers.records("input"))
    assert len(rows) == 602


def test_a_stream_has_every_committed_row_once(brokers: "TestedBrokers", connector: Connector, tmp_path: Path) -> None:
    """Stream, read_committed: every committed row once over micro-batches whose limit counts offsets"""
    given = {"checkpoint": str(tmp_path / "c"), "subscribe": "input", "startingOffsets": "earliest", **COMMITTED}
    first = connector.does("stream", brokers.bootstrap, maxOffsetsPerTrigger="150", **given)
    assert sorted(first["rows"]) == told(brokers.records("input"))
    assert (sum(first["batches"]), len(first["batches"]) > 3) == (600, True)
    fill(brokers.bootstrap, "input", 3, 10)
    second = connector.does("stream", brokers.bootstrap, **given)
    assert sorted(first["rows"] + second["rows"]) == told(brokers.records("input"))
    assert len(second["rows"]) == 10


def test_a_stream_goes_no_further_than_the_last_stable_offset(
    brokers: "TestedBrokers", connector: Connector, tmp_path: Path
) -> None:
    """Open transaction, stream: a batch ends there, and the next goes on when the transaction has ended"""
    given = {"checkpoint": str(tmp_path / "c"), "subscribe": "input", "startingOffsets": "earliest", **COMMITTED}
    producer = open_in(brokers, "input", 2)
    first = connector.does("stream", brokers.bootstrap, **given)
    opened = next(each for each in brokers.records("input", "read_uncommitted") if each.value == b"open")
    assert len(first["rows"]) == 600
    assert json.loads(first["ends"][-1])["input"]["2"] == opened.offset
    producer.abort_transaction(10)
    second = connector.does("stream", brokers.bootstrap, **given)
    assert [row[3] for row in second["rows"]] == ["behind"]


@pytest.mark.parametrize(
    "options",
    [
        {"assign": '{"input":[0,2]}'},
        {"subscribePattern": "in.*"},
        {"subscribe": "input", "startingOffsets": '{"input":{"0":-2,"1":7,"2":0}}'},
        {"subscribe": "input", "endingOffsets": '{"input":{"0":40,"1":-1,"2":9}}'},
        {"subscribe": "input", "minPartitions": "9"},
        {"subscribe": "input", "kafka_group_id": "of {bootstrap}"},
    ],
    ids=lambda options: next(name for name in reversed(options)),
)
def test_options_of_the_source_say_which_rows(
    options: dict[str, str], brokers: "TestedBrokers", connector: Connector
) -> None:
    """Options of the source say which rows are read"""
    # A group is kept with its settings for as long as Spark runs, which is longer than a broker here.
    options = {name: value.replace("{bootstrap}", brokers.bootstrap) for name, value in options.items()}
    first, past = (
        json.loads(options.get(name, "{}")).get("input", {}) for name in ("startingOffsets", "endingOffsets")
    )

    def is_asked_for(row: list[Any]) -> bool:
        partition, offset = row[:2]
        end = past.get(str(partition), -1)
        is_in = offset >= first.get(str(partition), 0) and (end == -1 or offset < end)
        return is_in and ("assign" not in options or partition != 1)

    rows = connector.does("read", brokers.bootstrap, **options, **COMMITTED)
    assert rows == list(filter(is_asked_for, told(brokers.records("input"))))
    assert rows


@pytest.mark.parametrize("option", ["startingTimestamp", "endingTimestamp"])
def test_times_say_which_rows(option: str, brokers: "TestedBrokers", connector: Connector) -> None:
    """Times say which rows are read"""
    rows = told(brokers.records("input"))
    middle = sorted(row[5] for row in rows)[len(rows) // 2]
    asked = {"subscribe": "input", option: str(middle), **COMMITTED}
    found = connector.does("read", brokers.bootstrap, **asked)
    assert found == [row for row in rows if (row[5] >= middle) == (option == "startingTimestamp")]
    assert 0 < len(found) < len(rows)


def test_a_batch_is_written_once(brokers: "TestedBrokers", connector: Connector) -> None:
    """Writing, batch: each row is there once"""
    rows = [["output", f"key-{number % 7}", f"value-{number}"] for number in range(500)]
    connector.does("write", brokers.bootstrap, rows=rows)
    found = Counter((each.key, each.value) for each in brokers.records("output"))
    assert found == Counter((key.encode(), value.encode()) for _, key, value in rows)


def test_a_stream_is_written_once(brokers: "TestedBrokers", connector: Connector, tmp_path: Path) -> None:
    """Writing, stream: what was read of one topic is in the other once, with key, headers and partition"""
    given = {"checkpoint": str(tmp_path / "c"), "subscribe": "input", "startingOffsets": "earliest", **COMMITTED}
    connector.does("copy", brokers.bootstrap, target="output", maxOffsetsPerTrigger="200", **given)
    assert copies(brokers) == expected(brokers)
    fill(brokers.bootstrap, "input", 3, 10)
    connector.does("copy", brokers.bootstrap, target="output", **given)
    assert copies(brokers) == expected(brokers)


def test_a_stream_copies_what_is_written_meanwhile(
    brokers: "TestedBrokers", connector: Connector, tmp_path: Path
) -> None:
    """A query that goes on while transactions are committed and aborted: each committed row is in the copy once"""
    given = {"checkpoint": str(tmp_path / "c"), "subscribe": "input", "startingOffsets": "earliest", **COMMITTED}
    connector.does("start", brokers.bootstrap, target="output", **given)
    for _ in range(10):
        fill(brokers.bootstrap, "input", 3, 200, per_transaction=7, abort_every=3)
    connector.ask("finish", PATIENCE_S)
    assert copies(brokers) == expected(brokers)
    assert copies(brokers).total() == 2600


FAULTS = {
    "name": "lost connections",
    "faults": [
        {"request": {"api": api}, "disconnect_on": place, "when": {"on_call": call}}
        for api in ("Fetch", "ListOffsets")
        for place, call in (("before", 2), ("after", 5))
    ],
}


@pytest.mark.txn_faults(plan=FAULTS)
def test_lost_connections_cost_no_row(brokers: "TestedBrokers", connector: Connector, tmp_path: Path) -> None:
    """Connections that end while it asks and reads: no row is lost, none comes twice"""
    given = {"checkpoint": str(tmp_path / "c"), "subscribe": "input", "startingOffsets": "earliest", **COMMITTED}
    read = connector.does("stream", brokers.bootstrap, maxOffsetsPerTrigger="150", **given)
    assert sorted(read["rows"]) == told(brokers.records("input"))


Copies = Counter[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]


def copies(brokers: "TestedBrokers") -> Copies:
    return Counter((each.partition, each.key, each.value, each.headers) for each in brokers.records("output"))


def expected(brokers: "TestedBrokers") -> Copies:
    return Counter(
        (each.partition, each.key, b"copy of " + (each.value or b""), each.headers) for each in brokers.records("input")
    )


def test_what_is_gone_is_told(brokers: "TestedBrokers", connector: Connector) -> None:
    """Offsets that are not there: the batch fails, and says so"""
    first = '{"input":{"0":0,"1":0,"2":90000}}'
    with pytest.raises(StepFailed, match="start offset 90000 is greater than the resolved end offset"):
        connector.does("read", brokers.bootstrap, subscribe="input", startingOffsets=first)
