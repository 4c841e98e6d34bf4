"""The reader of the source, as Spark calls it on its driver: topics, bounds, data loss, limits, splitting, retries.

Most tests use a client that answers from a table; those with `brokers` use a broker.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.pipeline.outages import Outage
    from zombieproof.bridge.under_test import TestedBrokers

pytest.importorskip(
    "confluent_kafka",
    reason="confluent-kafka, the client of the pipeline, is not installed (extra `spark`)",
)
pytest.importorskip("pyspark", reason="pyspark is not installed (extra `spark`): part of `make spark`")

from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline import kafka, reader
from zombieproof.pipeline.kafka import ConnectionErrors, client, producer_for
from zombieproof.pipeline.reader import (
    BrokersUnavailable,
    Losses,
    MicroBatches,
    NoSuchTopic,
    Place,
    RangeNotRead,
    RefusedByBrokers,
    Retries,
    answered,
    read,
)
from zombieproof.pipeline.sink import Identity
from zombieproof.pipeline.spark import source
from zombieproof.pipeline.spark.options import IllegalOption, source_options
from zombieproof.pipeline.spark.source import BatchReader, Range, StreamReader, split

pytestmark = pytest.mark.spark

A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)


@dataclass
class Table:
    """What brokers have: the first and the last stable offset of partitions, committed offsets, first timestamps."""

    logs: dict[Place, tuple[int, int]]
    committed: dict[Place, int] = field(default_factory=dict)
    metadata: dict[Place, str] = field(default_factory=dict)
    timestamps: dict[Place, list[tuple[int, int]]] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    reports: list[Any] = field(default_factory=list)

    topic_ids: dict[str, str] = field(default_factory=dict)

    def client(self, settings: Any, group: str) -> "Client":
        self.groups.add(group)
        return Client(self)

    def progress(self, settings: Any, group: str, topic: str) -> "NoProgress":
        return NoProgress(self, topic)


@dataclass
class NoProgress:
    """A progress topic that does not exist, and ids of topics, which old brokers do not have."""

    table: Table
    topic: str

    def ask(self, topics: Iterable[str]) -> None:
        """Does nothing."""

    def ids(self) -> dict[str, str]:
        return {name: self.table.topic_ids.get(name, "") for name, _ in self.table.logs}


def fails(name: str) -> Any:
    return client.KafkaException(client.KafkaError(getattr(client.KafkaError, name)))


class Client:
    """Answers from a table; of each call it fails first with the errors that stand there for it."""

    def __init__(self, table: Table) -> None:
        self._table, self.errors = table, ConnectionErrors()

    def _fail(self, call: str) -> None:
        if self._table.errors.get(call):
            raise fails(self._table.errors[call].pop(0))

    def list_topics(self, topic: str | None = None, timeout: float = 0) -> Any:
        self._fail("list_topics")
        found: dict[str, Any] = {}
        if topic is not None:
            absent = client.KafkaError(client.KafkaError.UNKNOWN_TOPIC_OR_PART)
            found[topic] = SimpleNamespace(partitions={}, error=absent)
        for name, partition in self._table.logs:
            if topic in (None, name):
                found[name] = found.get(name) if name in found and not found[name].error else None
                found[name] = found[name] or SimpleNamespace(partitions={}, error=None)
                found[name].partitions[partition] = None
        return SimpleNamespace(topics=found)

    def get_watermark_offsets(self, place: Any, timeout: float, cached: bool) -> tuple[int, int]:
        self._fail("get_watermark_offsets")
        try:
            return self._table.logs[place.topic, place.partition]
        except KeyError:
            raise fails("_UNKNOWN_PARTITION") from None

    def committed(self, places: list[Any], timeout: float) -> list[Any]:
        self._fail("committed")
        table = self._table
        found = [(each.topic, each.partition) for each in places]
        return [
            client.TopicPartition(*each, table.committed.get(each, -1001), table.metadata.get(each, ""))
            for each in found
        ]

    def offsets_for_times(self, places: list[Any], timeout: float) -> list[Any]:
        self._fail("offsets_for_times")
        found = []
        for each in places:
            stamps = self._table.timestamps.get((each.topic, each.partition), [])
            later = [offset for offset, at in stamps if at >= each.offset]
            found.append(client.TopicPartition(each.topic, each.partition, min(later, default=-1)))
        return found

    def poll(self, timeout: float) -> None:
        """Reports what connections have met."""
        for each in self._table.reports:
            self.errors(each)

    def close(self) -> None:
        """Lets go of nothing."""


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    made = Table({A0: (0, 10), A1: (0, 20)})
    monkeypatch.setattr(reader, "consumer_for", made.client)
    monkeypatch.setattr(reader, "Progress", made.progress)
    monkeypatch.setattr(reader, "PAUSE_S", 0.001)
    return made


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Returns the warnings since its last call."""
    caplog.set_level(logging.WARNING, "zombieproof.pipeline")

    def told() -> list[str]:
        found = [each.getMessage() for each in caplog.records if each.name == "zombieproof.pipeline"]
        caplog.clear()
        return found

    return told


def given(*, streaming: bool, **changed: str) -> Any:
    told = {"kafka.bootstrap.servers": "127.0.0.1:9", "kafka.group.id": "g", "startingOffsets": "earliest"}
    choice = {} if {"assign", "subscribePattern"} & set(changed) else {"subscribe": "a"}
    dotted = {name.replace("_", "."): value for name, value in changed.items()}
    return source_options({**told, **choice, **dotted}, streaming=streaming)


def stream(**changed: str) -> StreamReader:
    return StreamReader(given(streaming=True, **changed))


def batch(**changed: str) -> list[Range]:
    return BatchReader(given(streaming=False, **changed)).partitions()


def only(offsets: dict[str, Any]) -> dict[str, Any]:
    """The offsets of partitions, without what else a checkpoint keeps."""
    return {name: each for name, each in offsets.items() if not name.startswith("@")}


ALL = ReadAllAvailable()


def test_assigned_partitions_alone_are_read_and_have_to_be_there(table: Table) -> None:
    assert batch(assign='{"a":[1]}') == [Range("a", 1, 0, 20)]
    with pytest.raises(IllegalOption, match="assign names a-7, which the brokers do not have"):
        batch(assign='{"a":[0,7]}')


def test_new_topics_that_match_the_pattern_are_found_while_the_query_runs(table: Table) -> None:
    table.logs[("__consumer_offsets", 0)] = (0, 5)
    table.logs |= {("xa", 0): (0, 5), ("abc", 0): (0, 5)}
    found = stream(subscribePattern="[ab]|__.*")
    begins = found.initialOffset()
    assert only(begins) == {"a": {"0": 0, "1": 0}}
    first = found.latestOffset(begins, ALL)
    table.logs[B0] = (0, 3)
    second = found.latestOffset(first, ALL)
    assert only(second) == {"a": {"0": 10, "1": 20}, "b": {"0": 3}}
    assert found.partitions(first, second) == [Range("b", 0, 0, 3)]
    assert found.latestOffset(second, ALL) == second


def test_a_pattern_that_matches_nothing_waits_for_a_topic(table: Table, warned: Callable[[], list[str]]) -> None:
    assert batch(subscribePattern="b") == []
    found = stream(subscribePattern="b")
    begins = found.initialOffset()
    assert warned() == ["source: no topic matches subscribePattern 'b', so there is nothing to read"] * 2
    assert begins == found.latestOffset(begins, ALL) == {"@group": {"g": 0}, "@begun": {}}
    table.logs[B0] = (0, 3)
    assert only(found.latestOffset({}, ALL)) == {"b": {"0": 3}}
    assert found.partitions({}, {"b": {"0": 3}}) == [Range("b", 0, 0, 3)]


def test_a_topic_that_does_not_exist_is_told_at_once(table: Table) -> None:
    with pytest.raises(NoSuchTopic, match=r"^topic b: the brokers do not have it"):
        stream(subscribe="a,b").initialOffset()


def test_timestamps_are_the_first_records_from_then_on(table: Table) -> None:
    table.timestamps = {A0: [(3, 100), (5, 200)], A1: [(7, 150)]}
    assert only(stream(startingTimestamp="150").initialOffset()) == {"a": {"0": 5, "1": 7}}
    by = stream(startingOffsetsByTimestamp='{"a":{"0":90,"1":120}}')
    assert only(by.initialOffset()) == {"a": {"0": 3, "1": 7}}
    assert batch(startingTimestamp="100", endingTimestamp="160") == [Range("a", 0, 3, 5), Range("a", 1, 7, 20)]
    with pytest.raises(IllegalOption, match="startingTimestamp begins a-0 at 5, and endingTimestamp ends it at 3"):
        batch(startingTimestamp="150", endingTimestamp="50")


def test_a_timestamp_after_all_records_is_an_error_or_the_end(table: Table) -> None:
    table.timestamps = {A0: [(3, 100)], A1: [(7, 150)]}
    with pytest.raises(IllegalOption, match="startingTimestamp: a-0 has no record from timestamp 120 on"):
        stream(startingTimestamp="120").initialOffset()
    found = stream(startingTimestamp="120", startingOffsetsByTimestampStrategy="latest")
    begins = found.initialOffset()
    assert only(begins) == {"a": {"0": 10, "1": 7}}
    assert found.latestOffset(begins, ALL) == begins, "the end is another place when the first batch is run again"
    assert only(found.latestOffset(begins, ALL)) == {"a": {"0": 10, "1": 20}}


def test_a_partition_without_a_position_is_not_begun_at_the_end_beside_those_of_a_sink(table: Table) -> None:
    table.committed, table.metadata = {A0: 5}, {A0: Identity("q", 1).metadata()}
    table.timestamps = {A0: [(3, 100)]}
    for told in (
        {"startingTimestamp": "120", "startingOffsetsByTimestampStrategy": "latest"},
        {"startingOffsets": "latest"},
        {"startingOffsets": '{"a":{"0":3,"1":-1}}'},
    ):
        with pytest.raises(IllegalOption, match="is latest for a-1, of which group g has no position"):
            stream(**told).initialOffset()
    table.timestamps[A1] = [(7, 150)]
    found = stream(startingTimestamp="120", startingOffsetsByTimestampStrategy="latest")
    assert found.initialOffset()["a"] == {"0": 5, "1": 7}


def message(value: bytes = b"", at_ms: int = 1) -> Any:
    """A record as the client hands it over."""
    told = {"key": None, "value": value, "offset": 1, "timestamp": (1, at_ms), "headers": None}
    methods = {name: lambda _, each=each: each for name, each in told.items()}
    return type("Message", (), {**methods, "__len__": lambda _: len(value)})()


def test_a_timestamp_that_spark_cannot_have_is_an_error(table: Table) -> None:
    last = (1 << 63) // 1000
    (made,) = source._columns(given(streaming=False), A0, NONE, [message(at_ms=last)]).column("timestamp")
    assert made.value == last * 1000
    with pytest.raises(RangeNotRead, match=rf"the timestamp of a record of a-0 is {last + 1} ms since 1970"):
        source._columns(given(streaming=False), A0, NONE, [message(at_ms=last + 1)])


def test_large_rows_are_handed_over_before_they_are_many(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    class Record(SimpleNamespace):
        def __len__(self) -> int:
            return 10

    monkeypatch.setattr(source, "read", lambda *_: iter([[Record()] * 3] * 5))
    monkeypatch.setattr(source, "_batch", lambda options, place, task, messages: len(messages))
    monkeypatch.setattr(source, "MOST_BYTES", 50)
    assert list(source.rows_of(given(streaming=False, minPartitions="2"), Range("a", 0, 0, 15))) == [6, 6, 3]


def test_the_partition_that_spark_makes_up_where_there_are_no_ranges_has_no_rows(table: Table) -> None:
    assert list(BatchReader(given(streaming=False)).read(InputPartition(None))) == []


def test_offsets_name_every_partition_or_are_refused(table: Table) -> None:
    with pytest.raises(IllegalOption, match="startingOffsets leaves out a-1; legal is a value for every partition"):
        stream(startingOffsets='{"a":{"0":1}}').initialOffset()
    with pytest.raises(IllegalOption, match="endingOffsets leaves out a-0"):
        batch(endingOffsets='{"a":{"1":-1}}')
    with pytest.raises(IllegalOption, match="offsets are given for a-9, which the brokers do not have"):
        stream(startingOffsets='{"a":{"0":1,"1":1,"9":1}}').initialOffset()


def test_a_start_that_committed_offsets_replace_is_logged_once(table: Table, warned: Callable[[], list[str]]) -> None:
    table.committed = {A1: 15}
    found = stream()
    assert only(found.initialOffset()) == only(found.initialOffset()) == {"a": {"0": 0, "1": 15}}
    (said,) = warned()
    assert said.startswith("source: startingOffsets is ignored: group g has committed offsets of a-1. To read again")
    assert "reprocess=NAME" in said


def test_a_start_that_the_checkpoint_replaces_is_logged_once(table: Table, warned: Callable[[], list[str]]) -> None:
    found = stream(startingTimestamp="5")
    found.partitions({"a": {"0": 0, "1": 0}}, {"a": {"0": 1, "1": 0}})
    found.latestOffset({"a": {"0": 1, "1": 0}}, ALL)
    ignored, said = sorted(warned())
    assert ignored == "source: option is ignored: startingOffsets: startingTimestamp is given and takes precedence"
    assert said.startswith("source: startingTimestamp is ignored: the checkpoint says where the query begins. To read")


def test_a_start_that_is_the_default_is_not_logged(table: Table, warned: Callable[[], list[str]]) -> None:
    table.committed = {A0: 1, A1: 15}
    told = {"kafka.bootstrap.servers": "127.0.0.1:9", "kafka.group.id": "g", "subscribe": "a"}
    StreamReader(source_options(told, streaming=True)).initialOffset()
    assert warned() == []


def test_timestamps_of_partitions_with_committed_offsets_need_not_match(table: Table) -> None:
    table.committed = {A0: 1, A1: 15}
    assert only(stream(startingTimestamp="5").initialOffset()) == {"a": {"0": 1, "1": 15}}


def test_each_batch_tells_where_the_query_began(table: Table) -> None:
    """Spark deletes the first batches of a checkpoint after a while."""
    table.committed = {A0: 1}
    found = stream(maxOffsetsPerTrigger="4", startingOffsets="earliest")
    ends = found.initialOffset()
    for _ in range(3):
        ends = found.latestOffset(ends, ReadMaxRows(4))
        assert ends["@begun"] == {"a": {"0": 1, "1": 0}}
        assert ends["@continued"] == {"g": {"a": {"0": 1}}}
    assert "@initial" not in ends


def test_a_reprocessing_begins_anew_in_a_group_of_its_own(table: Table) -> None:
    found = stream(reprocess="march")
    begins = found.initialOffset()
    assert table.groups == {"g@march"}
    assert begins.pop("@begun") == {"a": {"0": 0, "1": 0}}
    assert begins == {"@reprocess": {"march": 0}, "@group": {"g@march": 0}, "a": {"0": 0, "1": 0}}
    ends = found.latestOffset(begins, ALL)
    assert ends["@initial"] == {"@reprocess": {"march": 0}, "a": {"0": 0, "1": 0}}
    assert only(ends) == {"a": {"0": 10, "1": 20}}
    assert found.partitions(begins, ends) == [Range("a", 0, 0, 10), Range("a", 1, 0, 20)]
    assert found.latestOffset(ends, ALL) == ends


@pytest.mark.parametrize(("committed", "count"), [({}, 1), ({A1: 3}, 0)])
def test_a_reprocessing_whose_sink_commits_elsewhere_is_warned_of_once(
    table: Table, warned: Callable[[], list[str]], committed: dict[Place, int], count: int
) -> None:
    found = stream(reprocess="march", maxOffsetsPerTrigger="5")
    ends = found.latestOffset(found.initialOffset(), ReadMaxRows(5))
    table.committed = committed
    assert [each for each in warned() if "no sink" in each] == []
    for _ in range(2):
        ends = found.latestOffset(ends, ReadMaxRows(5))
    assert len([each for each in warned() if "no sink has committed offsets under group g@march" in each]) == count


@pytest.mark.parametrize(
    ("name", "checkpoint", "said"),
    [
        ("march", {}, "reprocess is 'march', and the checkpoint was begun without reprocess.*Legal is no reprocess"),
        ("march", {"@reprocess": {"may": 0}}, "was begun with reprocess=may.*Legal is reprocess=may"),
        ("", {"@reprocess": {"may": 0}}, "reprocess is '', and the checkpoint was begun with reprocess=may"),
    ],
)
def test_a_checkpoint_of_another_reprocessing_is_refused(
    table: Table, name: str, checkpoint: dict[str, dict[str, int]], said: str
) -> None:
    """The newest batch may be in the output under the other group, and would be written again under this one."""
    found = stream(**({"reprocess": name} if name else {}))
    with pytest.raises(IllegalOption, match=said):
        found.partitions({**checkpoint, "a": {"0": 0}}, {**checkpoint, "a": {"0": 1}})
    with pytest.raises(IllegalOption, match=said):
        found.latestOffset({**checkpoint, "a": {"0": 0}}, ALL)


def test_deleted_records_are_an_error(table: Table) -> None:
    table.logs[A0] = (5, 10)
    said = r"^a-0: offsets 2 to 4 \(3\) were deleted before they were read, and failOnDataLoss is true"
    with pytest.raises(RangeNotRead, match=said):
        stream().partitions({"a": {"0": 2}}, {"a": {"0": 8}})
    with pytest.raises(RangeNotRead, match=said):
        batch(startingOffsets='{"a":{"0":2,"1":0}}')


def test_deleted_records_are_skipped_with_a_warning_and_a_count(table: Table, warned: Callable[[], list[str]]) -> None:
    table.logs |= {A0: (5, 10), A1: (9, 20)}
    found = stream(failOnDataLoss="false")
    assert found.partitions({"a": {"0": 2, "1": 0}}, {"a": {"0": 8, "1": 4}}) == [Range("a", 0, 5, 8)]
    said = [each for each in warned() if "deleted" in each]
    assert said[0].startswith("source: a-0: offsets 2 to 4 (3) were deleted before they were read; failOnDataLoss is")
    assert said[1].startswith("source: a-1: offsets 0 to 3 (4) were deleted before they were read")
    assert said[1].endswith("(7 offsets skipped so far)")
    assert batch(failOnDataLoss="false", startingOffsets='{"a":{"0":2,"1":9}}')[0] == Range("a", 0, 5, 10)


def test_a_new_partition_that_does_not_begin_at_0_is_data_loss(table: Table) -> None:
    table.logs[B0] = (2, 5)
    start, end = {"a": {"0": 10, "1": 20}}, {"a": {"0": 10, "1": 20}, "b": {"0": 5}}
    with pytest.raises(RangeNotRead, match=r"b-0: offsets 0 to 1 \(2\) were deleted"):
        stream(subscribePattern=".").partitions(start, end)
    table.committed, table.metadata = {B0: 3}, {B0: Identity("q", 1).metadata()}
    assert stream(subscribePattern=".").partitions(start, end) == [Range("b", 0, 3, 5)]


def test_offsets_that_other_clients_have_committed_do_not_skip_records_beside_those_of_a_sink(table: Table) -> None:
    table.committed = {A0: 5, A1: 7, B0: 2}
    assert only(stream().initialOffset()) == {"a": {"0": 5, "1": 7}}, "no sink has committed any"
    table.metadata = {A0: Identity("q", 1).metadata()}
    assert only(stream().initialOffset()) == {"a": {"0": 5, "1": 0}}
    table.logs[B0] = (0, 4)
    found, start = stream(subscribePattern="."), {"a": {"0": 10, "1": 20}}
    ends = found.latestOffset(start, ALL)
    assert (only(ends)["b"], ends["@initial"]["b"]) == ({"0": 4}, {"0": 0})
    assert found.partitions(start, ends) == [Range("b", 0, 0, 4)]
    assert stream(subscribePattern=".").partitions(start, only(ends)) == [Range("b", 0, 0, 4)]


@pytest.mark.parametrize("choice", [{"subscribePattern": "."}, {"subscribe": "a,b"}, {"assign": '{"a":[0,1],"b":[0]}'}])
def test_a_deleted_topic_is_an_error_or_left_out_and_does_not_come_back(
    table: Table, warned: Callable[[], list[str]], choice: dict[str, str]
) -> None:
    start = {"a": {"0": 10, "1": 20}, "b": {"0": 4}}
    with pytest.raises((RangeNotRead, NoSuchTopic), match=r"b.*(is deleted or no longer named|do not have it)"):
        stream(**choice).latestOffset(start, ALL)
    found = stream(**choice, failOnDataLoss="false")
    table.logs[A0] = (0, 12)
    ends = {"a": {"0": 12, "1": 20}, "b": {"0": 4}}
    assert only(found.latestOffset(start, ALL)) == ends
    assert found.partitions(start, ends) == [Range("a", 0, 10, 12)]
    assert only(found.latestOffset(ends, ALL)) == ends
    (said,) = [each for each in warned() if "b-0" in each]
    assert "records from offset 4 on are lost (how many is unknown)" in said
    table.logs[B0] = (0, 9)
    with pytest.raises(RangeNotRead, match="b-0: the topic was deleted and created again; begin with a new checkpoint"):
        found.latestOffset(ends, ALL)


def test_a_topic_deleted_after_its_batch_was_planned_is_skipped_with_a_count(
    table: Table, warned: Callable[[], list[str]]
) -> None:
    start, end = {"b": {"0": 4}}, {"b": {"0": 6}}
    with pytest.raises(NoSuchTopic):
        stream(subscribe="b").partitions(start, end)
    assert stream(subscribe="b", failOnDataLoss="false").partitions(start, end) == []
    assert any("b-0: offsets 4 to 5 (2) were deleted" in each for each in warned())


def test_a_log_that_is_shorter_than_the_position_is_refused_whatever_data_loss_means(table: Table) -> None:
    found = stream(failOnDataLoss="false")
    with pytest.raises(RangeNotRead, match=r"a-0 from 11 on: everything is decided below 10 only.*reprocess=NAME"):
        found.latestOffset({"a": {"0": 11, "1": 0}}, ALL)


def test_a_micro_batch_waits_for_the_minimum_until_the_delay_is_over(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(source, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    found = stream(minOffsetsPerTrigger="5", maxTriggerDelay="10s")
    limit = found.getDefaultReadLimit()
    assert limit == ReadMinRows(5)
    first = found.latestOffset(found.initialOffset(), limit)
    assert only(first) == {"a": {"0": 10, "1": 20}}, "the first micro-batch does not wait"
    table.logs |= {A0: (0, 14), B0: (0, 1)}
    assert found.latestOffset(first, limit) == first
    clock[0] += 9
    assert found.latestOffset(first, limit) == first
    clock[0] += 1
    second = found.latestOffset(first, limit)
    assert second["a"]["0"] == 14
    table.logs[A1] = (0, 25)
    assert found.latestOffset(second, limit)["a"]["1"] == 25, "the minimum is there"
    table.logs[A1] = (0, 26)
    assert found.latestOffset({"a": {"0": 14, "1": 25}}, ALL)["a"]["1"] == 26, "Trigger.Once does not wait"


def test_a_new_partition_is_placed_once_while_a_micro_batch_waits(table: Table) -> None:
    found = stream(subscribePattern=".", minOffsetsPerTrigger="5")
    limit = found.getDefaultReadLimit()
    first = found.latestOffset(found.initialOffset(), limit)
    table.logs[B0] = (0, 3)
    assert found.latestOffset(first, limit) == found.latestOffset(first, limit) == first
    table.logs[B0] = (0, 5)
    assert found.latestOffset(first, limit)["b"] == {"0": 5}


def test_both_limits_hold_and_available_now_does_not_wait(table: Table) -> None:
    found = stream(minOffsetsPerTrigger="4", maxOffsetsPerTrigger="6")
    limit = found.getDefaultReadLimit()
    assert limit == ReadMaxRows(6)
    first = found.latestOffset(found.initialOffset(), limit)
    assert only(first) == {"a": {"0": 2, "1": 4}}
    now = stream(minOffsetsPerTrigger="100")
    now.initialOffset()
    now.prepareForTriggerAvailableNow()
    table.logs[A0] = (0, 11)
    begins = {"a": {"0": 9, "1": 20}}
    assert now.latestOffset({"a": {"0": 0, "1": 0}}, limit)["a"]["0"] < 10
    assert only(now.latestOffset(begins, now.getDefaultReadLimit())) == {"a": {"0": 10, "1": 20}}
    assert only(now.reportLatestOffset() or {}) == {"a": {"0": 10, "1": 20}}


@pytest.mark.parametrize(
    ("sizes", "at_least", "most", "cut"),
    [
        ((10,), 0, NONE, [10]),
        ((10,), 0, 4, [3, 3, 4]),
        ((10, 3), 0, 10, [10, 3]),
        ((10, 3), 2, NONE, [10, 3]),
        ((10,), 3, NONE, [3, 3, 4]),
        ((100, 1), 4, NONE, [33, 33, 34, 1]),
        ((90, 30), 4, NONE, [30, 30, 30, 30]),
        ((2,), 5, NONE, [1, 1]),
        ((10,), 4, 5, [2, 3, 2, 3]),
        ((), 4, 5, []),
    ],
)
def test_ranges_are_split_in_order(sizes: tuple[int, ...], at_least: int, most: int, cut: list[int]) -> None:
    whole = [Range("a", number, 7, 7 + size) for number, size in enumerate(sizes)]
    pieces = split(whole, at_least, most)
    assert [each.past - each.first for each in pieces] == cut
    for each in whole:
        here = [piece for piece in pieces if piece.partition == each.partition]
        assert (here[0].first, here[-1].past) == (each.first, each.past)
        assert all(one.past == other.first for one, other in pairwise(here))


def test_options_that_split_reach_the_tasks(table: Table) -> None:
    assert len(batch(minPartitions="6")) == 6
    assert len(stream(maxRecordsPerPartition="5").partitions({"a": {"0": 0}}, {"a": {"0": 10}})) == 2


@pytest.mark.parametrize(("changed", "task"), [({}, 7), ({"minPartitions": "1"}, -1)])
def test_rows_of_a_source_that_may_split_name_no_task(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], task: int
) -> None:
    """Mode partition of the sink refuses them: a task that read all of a partition is named by its number."""
    monkeypatch.setattr(source, "this_attempt", lambda: SimpleNamespace(task=7))
    monkeypatch.setattr(source, "read", lambda *_: [[message(b"v", 1000)]])
    (found,) = source.rows_of(given(streaming=True, includeSource="true", **changed), Range("a", 0, 1, 2))
    assert found.column("source").to_pylist() == [{"topic": "a", "partition": 0, "offset": 1, "task": task}]


# ---------------------------------------------------------------- retries


@pytest.mark.parametrize("call", ["list_topics", "get_watermark_offsets", "committed", "offsets_for_times"])
def test_every_call_is_retried(table: Table, call: str) -> None:
    table.timestamps = {A0: [(0, 9)], A1: [(0, 9)]}
    table.errors[call] = ["_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_RESOLVE", "NOT_LEADER_FOR_PARTITION"]
    found = stream(startingTimestamp="5")
    assert only(found.latestOffset(found.initialOffset(), ALL)) == {"a": {"0": 10, "1": 20}}
    assert table.errors[call] == []


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("list_topics", "CLUSTER_AUTHORIZATION_FAILED"),
        ("get_watermark_offsets", "TOPIC_AUTHORIZATION_FAILED"),
        ("committed", "GROUP_AUTHORIZATION_FAILED"),
        ("offsets_for_times", "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
    ],
)
def test_a_permanent_error_is_told_at_once(table: Table, call: str, error: str) -> None:
    table.timestamps = {A0: [(0, 9)], A1: [(0, 9)]}
    table.errors[call] = [error]
    found = stream(startingTimestamp="5")
    with pytest.raises(RefusedByBrokers, match=f"the brokers answer {error} .*which no retry repairs; check the names"):
        found.latestOffset(found.initialOffset(), ALL)


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("_AUTHENTICATION", "SASL authentication failed", True),
        ("_SSL", "SSL handshake failed: certificate verify failed", True),
        ("_SSL", "SSL handshake failed: Disconnected", False),
        ("_ALL_BROKERS_DOWN", "1/1 brokers are down", False),
    ],
)
def test_a_login_that_fails_is_told_at_once(table: Table, name: str, text: str, is_told: bool) -> None:
    """As librdkafka does it: the call times out, and the reason is reported by a callback."""
    table.errors["list_topics"] = ["_TRANSPORT"]
    table.reports = [client.KafkaError(getattr(client.KafkaError, name), text)]
    if not is_told:
        assert only(stream().initialOffset()) == {"a": {"0": 0, "1": 0}}
        return
    with pytest.raises(RefusedByBrokers, match=rf"^the metadata of topic a: the brokers answer {name} \({text}\)"):
        stream().initialOffset()


def test_the_last_report_is_in_the_error_of_brokers_that_are_away(table: Table) -> None:
    table.errors["list_topics"] = ["_TRANSPORT"] * 9
    table.reports = [client.KafkaError(client.KafkaError._RESOLVE)]
    batches = MicroBatches({}, "g", Retries(count=1, interval_s=0, attempt_s=0))
    with pytest.raises(BrokersUnavailable, match=r"no broker has answered in 0 s: _TRANSPORT \(.*, _RESOLVE"):
        batches.partitions(["a"])


def test_attempts_are_counted_and_wait_between_them(warned: Callable[[], list[str]]) -> None:
    calls: list[float] = []

    def ask() -> None:
        calls.append(time.monotonic())
        raise fails("_TRANSPORT")

    with pytest.raises(BrokersUnavailable, match=r"^the ends of a: no broker has answered in 0.2 s: _TRANSPORT"):
        answered(ask, "the ends of a", Retries(count=2, interval_s=0.1, attempt_s=0))
    assert len(calls) == 3
    assert min(calls[1] - calls[0], calls[2] - calls[1]) >= 0.1
    assert [each for each in warned() if "no answer in attempt" in each][-1].startswith(
        "the ends of a: no answer in attempt 3 of 3"
    )


def test_pauses_within_an_attempt_double(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pauses = [0.0], []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(reader, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    with pytest.raises(BrokersUnavailable):
        answered(lambda: (_ for _ in ()).throw(fails("_TRANSPORT")))
    assert pauses[:7] == [0.05, 0.1, 0.2, 0.4, 0.8, 1, 1]
    assert clock[0] >= 180


@pytest.fixture
def fifty(brokers: "TestedBrokers") -> dict[str, Any]:
    """Fifty records in input-0, with the timestamps 0 to 49, and a marker."""
    settings = {"bootstrap.servers": brokers.bootstrap}
    producer = producer_for(settings, "fifty")
    producer.init_transactions(10)
    producer.begin_transaction()
    for number in range(50):
        producer.produce("input", b"%d" % number, partition=0, timestamp=number + 1)
    producer.commit_transaction(10)
    return settings


@pytest.mark.slow
def test_a_broker_that_is_away_for_a_while_ends_nothing(fifty: dict[str, Any], outage: "Outage") -> None:
    batches = MicroBatches(fifty, "g", Retries(count=40, interval_s=0.05, attempt_s=0.2))
    place = ("input", 0)
    try:
        assert outage.during(lambda: batches.partitions(["input"])) == [("input", 0), ("input", 1)]
        assert outage.during(lambda: batches.matching("in.*")) == [("input", 0), ("input", 1)]
        assert outage.during(lambda: batches.ends(place)) == (0, 51)
        assert outage.during(lambda: batches.committed([place])) == {place: NONE}
        assert outage.during(lambda: batches.offsets_at({place: 8})) == {place: 7}
        assert outage.during(lambda: batches.offsets_at({place: 1 << 45})) == {place: NONE}
    finally:
        batches.close()
    found = read(fifty, "g", place, 0, 51, 10)
    values = [each.value() for each in next(found)]
    values += outage.during(lambda: [each.value() for some in found for each in some])
    values += outage.during(lambda: [each.value() for some in read(fifty, "g", place, 50, 51, 10) for each in some])
    assert values == [b"%d" % number for number in range(50)]


def test_a_line_of_the_client_is_not_logged_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = kafka.LibrdkafkaLines()

    def passes(text: str) -> bool:
        return lines.filter(logging.LogRecord("", logging.ERROR, "", 0, text, (), None))

    fails = "FAIL [rdkafka#consumer-{}] one:9092: Connection refused (after {}ms in state CONNECT)"
    assert [passes(fails.format(number, number)) for number in range(3)] == [True, False, False]
    assert passes(fails.format(1, 1).replace("one", "two"))
    assert passes(fails.format(1, 1).replace("9092", "9093"))
    assert passes("source: the same")
    assert passes("source: the same")
    monkeypatch.setattr(kafka, "REPEATED_S", 0.0)
    assert passes(fails.format(1, 1))


def test_a_broker_that_stays_away_is_told(fifty: dict[str, Any], outage: "Outage") -> None:
    batches = MicroBatches(fifty, "g", Retries(count=1, interval_s=0, attempt_s=0.2))
    outage.stop()
    try:
        with pytest.raises(BrokersUnavailable, match=r"^the metadata of topic input: no broker has answered in 0.4 s"):
            batches.partitions(["input"])
    finally:
        batches.close()
        outage.start()


def test_records_deleted_before_a_task_reads_them_are_an_error_or_skipped(
    fifty: dict[str, Any], warned: Callable[[], list[str]]
) -> None:
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415  # with the log alone

    place = ("input", 0)
    admin = AdminClient(fifty)
    admin.delete_records([client.TopicPartition(*place, 20)])[client.TopicPartition(*place, 20)].result(10)
    with pytest.raises(RangeNotRead, match=r"input-0: offsets 5 to 19 \(15\) were deleted before they were read"):
        list(read(fifty, "g", place, 5, 40, 10, Losses(fail=True)))
    warned()
    found = [each for some in read(fifty, "g", place, 5, 40, 10, Losses(fail=False)) for each in some]
    assert [each.value() for each in found] == [b"%d" % number for number in range(20, 40)]
    assert list(read(fifty, "g", place, 5, 15, 10, Losses(fail=False))) == []
    said = [each for each in warned() if "deleted" in each]
    assert [("offsets 5 to 19 (15)" in each, "offsets 5 to 14 (10)" in each) for each in said] == [
        (True, False),
        (False, True),
    ]
