"""Options of the source and of the sink: what is illegal is said with what would be legal; Spark is not asked for."""

import re
from pathlib import Path

import pytest

pytest.importorskip(
    "confluent_kafka",
    reason="confluent-kafka, the client of the pipeline, is not installed (extra `spark`)",
)

from zombieproof import pipeline
from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import IllegalSetting
from zombieproof.pipeline.reader import Retries
from zombieproof.pipeline.spark.options import (
    EARLIEST,
    LATEST,
    SOURCE_NAMES,
    Bound,
    By,
    IllegalOption,
    Mode,
    SourceOptions,
    Unmatched,
    sink_options,
    source_options,
)

BROKERS = {"kafka.bootstrap.servers": "127.0.0.1:9"}
SOURCE = {**BROKERS, "kafka.group.id": "g", "subscribe": "in"}
SINK = {**BROKERS, "kafka.group.id": "g", "topic": "out"}


def test_a_source_begins_at_the_end_and_a_batch_query_at_the_beginning() -> None:
    assert source_options(SOURCE, streaming=True).starting == Bound("startingOffsets", LATEST, is_given=False)
    assert source_options(SOURCE, streaming=False).starting == Bound("startingOffsets", EARLIEST, is_given=False)


def test_options_of_a_source_have_kafka_s_names_in_any_case() -> None:
    found = source_options(
        {
            "KAFKA.bootstrap.servers": "a:1",
            "kafka.GROUP.id": "g",
            "SUBSCRIBE": "b, a,b",
            "startingoffsets": '{"a":{"0":23,"1":-2},"b":{"0":-1}}',
            "MAXOFFSETSPERTRIGGER": "7",
            "includeHEADERS": "TRUE",
            "kafka.isolation.level": "read_committed",
            "kafka.client.id": "me",
        },
        streaming=True,
    )
    assert found.topics == ("b", "a")
    assert found.starting == Bound("startingOffsets", {("a", 0): 23, ("a", 1): EARLIEST, ("b", 0): LATEST})
    assert (found.most, found.headers, found.source, found.group) == (7, True, False, "g")
    assert found.settings == {"bootstrap.servers": "a:1", "client.id": "me"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"subscribe": " ,"}, "subscribe is missing"),
        ({"subscribePattern": "in.*"}, "subscribe and subscribePattern of .* are given; legal is exactly one of them"),
        ({"assign": '{"in":[0]}'}, "assign and subscribe of .* are given; legal is exactly one of them"),
        ({"startingoffset": "latest"}, "there is no option startingoffset; legal are assign, subscribe, "),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp is 'yesterday'; legal is a whole number from 0 on"),
        ({"startingTimestamp": ""}, "startingTimestamp is ''; legal is a whole number from 0 on"),
        ({"startingTimestamp": "-1"}, "startingTimestamp is '-1'; legal is a whole number from 0 on"),
        ({"startingOffsetsByTimestamp": '{"in":{"0":-2}}'}, 'legal is JSON as {"topic":{"0":1700000000000}}'),
        ({"startingOffsetsByTimestamp": '{"x":{"0":2}}'}, "startingOffsetsByTimestamp: offsets are given for topic x"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "is 'earliest'; legal is error or latest"),
        ({"endingTimestamp": "1"}, "endingTimestamp is for batch queries"),
        ({"endingOffsetsByTimestamp": '{"in":{"0":2}}'}, "endingOffsetsByTimestamp is for batch queries"),
        ({"maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "6"}, "minOffsetsPerTrigger is 6, above maxOffsets"),
        (
            {"maxTriggerDelay": "15 min"},
            "maxTriggerDelay is '15 min'; legal is a whole number with one of the units us",
        ),
        ({"maxTriggerDelay": "1w"}, "maxTriggerDelay is '1w'"),
        ({"maxTriggerDelay": "-1s"}, "maxTriggerDelay is '-1s'"),
        ({"minPartitions": "0"}, "minPartitions is '0'; legal is a whole number from 1 on"),
        ({"maxRecordsPerPartition": "0"}, "maxRecordsPerPartition is '0'"),
        ({"failOnDataLoss": "no"}, "failOnDataLoss is 'no'; legal is true or false"),
        ({"fetchOffset.numRetries": "-1"}, "fetchOffset.numRetries is '-1'"),
        ({"kafkaConsumer.pollTimeoutMs": "0"}, "kafkaConsumer.pollTimeoutMs is '0'"),
        ({"kafka.group.id": "", "groupIdPrefix": "p"}, "a group that is generated from groupIdPrefix would not do"),
        ({"kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset has no meaning here; .*startingOffsets"),
        ({"kafka.key.deserializer": "x"}, "kafka.key.deserializer has no meaning here"),
        ({"kafka.value.deserializer": "x"}, "kafka.value.deserializer has no meaning here"),
        ({"kafka.interceptor.classes": "x"}, "kafka.interceptor.classes has no meaning here"),
        ({"reprocess": "a@b"}, "reprocess is 'a@b'; legal is a name of letters"),
        ({"reprocess": ""}, "reprocess is ''; legal is a name of letters"),
        ({"kafka.group.id": ""}, "kafka.group.id is missing"),
        ({"kafka.bootstrap.servers": ""}, "bootstrap.servers is missing"),
        ({"kafka.isolation.level": "read_uncommitted"}, "kafka.isolation.level is 'read_uncommitted'"),
        ({"kafka.enable.auto.commit": "true"}, "is not to be set"),
        ({"startingOffsets": "yesterday"}, "startingOffsets is 'yesterday'; legal is earliest, latest, or JSON"),
        ({"startingOffsets": '{"in":{"0":true}}'}, "legal is earliest, latest, or JSON"),
        ({"startingOffsets": '{"in":{"0":-3}}'}, "legal is earliest, latest, or JSON"),
        ({"startingOffsets": '{"in":{"x":3}}'}, "legal is earliest, latest, or JSON"),
        ({"startingOffsets": '{"in":3}'}, "legal is earliest, latest, or JSON"),
        (
            {"startingOffsets": '{"other":{"0":3}}'},
            "offsets are given for topic other, which is not read; legal are",
        ),
        ({"endingOffsets": "latest"}, "endingOffsets is for batch queries"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger is '0'; legal is a whole number from 1 on"),
        ({"maxOffsetsPerTrigger": "-1"}, "legal is a whole number from 1 on"),
        ({"includeHeaders": "yes"}, "includeHeaders is 'yes'; legal is true or false"),
    ],
)
def test_what_a_source_refuses(changed: dict[str, str], said: str) -> None:
    with pytest.raises((IllegalOption, IllegalSetting), match=said):
        source_options({**SOURCE, **changed}, streaming=True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets is latest, of which a batch query reads nothing"),
        ({"startingOffsets": '{"in":{"0":-1}}'}, "startingOffsets is latest, of which a batch query reads nothing"),
        ({"endingOffsets": "earliest"}, "endingOffsets says earliest"),
        ({"endingOffsets": '{"in":{"0":-2}}'}, "endingOffsets says earliest"),
    ],
)
def test_what_a_batch_query_refuses(changed: dict[str, str], said: str) -> None:
    with pytest.raises(IllegalOption, match=said):
        source_options({**SOURCE, **changed}, streaming=False)


def chosen(choice: dict[str, str], **more: str) -> SourceOptions:
    return source_options({**BROKERS, "kafka.group.id": "g", **choice, **more}, streaming=True)


def test_topics_are_assigned_subscribed_or_matched_by_a_pattern() -> None:
    found = chosen({"assign": '{"b":[2,0],"a":[1]}'}, startingOffsets='{"a":{"1":5},"b":{"0":-2,"2":-1}}')
    assert (found.topics, found.assigned, found.pattern) == (("a", "b"), (("a", 1), ("b", 0), ("b", 2)), "")
    matched = chosen({"subscribePattern": " in.* "}, startingOffsets='{"any":{"0":1}}')
    assert (matched.topics, matched.assigned, matched.pattern) == ((), (), "in.*")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({}, "none of assign, subscribe, subscribePattern is given; legal is exactly one of them"),
        ({"assign": "in"}, "assign is 'in'; legal is JSON as {\"topic\":.0,1.}"),
        ({"assign": '{"in":[]}'}, "with one partition at least"),
        ({"assign": '{"in":[-1]}'}, "legal is JSON as"),
        ({"assign": '{"in":[true]}'}, "legal is JSON as"),
        (
            {"assign": '{"in":[0]}', "startingOffsets": '{"in":{"1":0}}'},
            "given for in-1, which is not assigned; legal are",
        ),
        ({"subscribePattern": " "}, "subscribePattern is missing: it names no topic"),
        ({"subscribePattern": "[a-z&&[^b]]"}, "is not read in the same way by Java and by Python"),
        ({"subscribePattern": "("}, "not a valid regular expression"),
    ],
)
def test_what_a_choice_of_topics_refuses(choice: dict[str, str], said: str) -> None:
    with pytest.raises(IllegalOption, match=said):
        chosen(choice)


def test_timestamps_take_precedence_over_offsets_and_what_is_ignored_is_named() -> None:
    told = {
        "startingOffsets": "earliest",
        "startingOffsetsByTimestamp": '{"in":{"0":7}}',
        "startingOffsetsByTimestampStrategy": "LATEST",
    }
    found = source_options({**SOURCE, **told}, streaming=True)
    assert found.starting == Bound("startingOffsetsByTimestamp", {("in", 0): 7}, is_timestamp=True)
    assert found.unmatched == Unmatched.LATEST
    assert found.ignored == ("startingOffsets: startingOffsetsByTimestamp is given and takes precedence",)
    found = source_options({**SOURCE, **told, "startingTimestamp": "9", "endingTimestamp": "10"}, streaming=False)
    assert found.starting == Bound("startingTimestamp", 9, is_timestamp=True)
    assert found.ending == Bound("endingTimestamp", 10, is_timestamp=True)
    assert len(found.ignored) == 2


@pytest.mark.parametrize(
    ("changed", "streaming", "said"),
    [
        ({"maxOffsetsPerTrigger": "1", "minOffsetsPerTrigger": "1", "maxTriggerDelay": "1s"}, False, "batch query"),
        ({"maxTriggerDelay": "1s"}, True, "minOffsetsPerTrigger is not given"),
        ({"groupIdPrefix": "p"}, True, "kafka.group.id is given"),
        ({"startingOffsetsByTimestampStrategy": "latest"}, True, "no starting timestamp is given"),
    ],
)
def test_options_without_effect_are_named(changed: dict[str, str], streaming: bool, said: str) -> None:
    found = source_options({**SOURCE, **changed}, streaming=streaming)
    assert len(found.ignored) == len(changed)
    assert all(said in each for each in found.ignored)


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        ("15m", 900),
        ("15min", 900),
        ("2h", 7200),
        ("1d", 86_400),
        ("30s", 30),
        ("250MS", 0.25),
        ("250", 0.25),
        ("5us", 5e-6),
    ],
)
def test_times_have_units_as_spark_reads_them(time: str, seconds: float) -> None:
    assert source_options({**SOURCE, "maxTriggerDelay": time}, streaming=True).delay_s == pytest.approx(seconds)


def test_the_defaults_are_those_of_spark_s_own_source() -> None:
    found = source_options(SOURCE, streaming=True)
    assert (found.most, found.least, found.delay_s) == (NONE, 0, 900)
    assert (found.min_partitions, found.most_of_a_task, found.may_split) == (0, NONE, False)
    assert (found.fail_on_data_loss, found.unmatched, found.headers) == (True, Unmatched.ERROR, False)
    assert found.retries == Retries(count=3, interval_s=1)
    assert found.poll_timeout_s == found.retries.total_s >= 180
    assert found.ignored == ()


@pytest.mark.parametrize("name", SOURCE_NAMES)
def test_every_option_of_the_source_is_documented(name: str) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "pipeline.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page.partition("## Options of the source")[2].partition("## Options of the sink")[0]


def test_retries_and_the_poll_timeout_are_the_user_s() -> None:
    told = {"fetchOffset.numRetries": "0", "fetchOffset.retryIntervalMs": "10", "failOnDataLoss": "false"}
    found = source_options({**SOURCE, **told}, streaming=True)
    assert (found.retries, found.poll_timeout_s) == (Retries(count=0, interval_s=0.01), 60)
    assert not found.fail_on_data_loss
    assert source_options({**SOURCE, "kafkaConsumer.pollTimeoutMs": "500"}, streaming=True).poll_timeout_s == 0.5


@pytest.mark.parametrize("name", ["minPartitions", "maxRecordsPerPartition"])
def test_a_source_that_may_split_partitions_says_so(name: str) -> None:
    assert source_options({**SOURCE, name: "3"}, streaming=True).may_split


def test_a_batch_query_has_a_group_of_the_prefix() -> None:
    told = {**BROKERS, "subscribe": "in", "groupIdPrefix": "team"}
    assert source_options(told, streaming=False).group == "team-zombieproof"


def test_the_name_of_a_reprocessing_is_part_of_the_group_of_source_and_sink() -> None:
    source = source_options({**SOURCE, "reprocess": "again-1"}, streaming=True)
    sink = sink_options({**SINK, "reprocess": "again-1"}, streaming=True)
    assert source.group == sink.group == sink.transactional_id == "g@again-1"


def test_a_sink_is_one_transaction_for_each_batch_known_by_where_rows_were_read() -> None:
    found = sink_options({**SINK, "checkpointLocation": "/c"}, streaming=True)
    assert (found.mode, found.by, found.transactional_id, found.batch) == (Mode.BATCH, By.SOURCE, "g", NONE)
    assert sink_options({**SINK, "kafka.transactional.id": "t"}, streaming=True).transactional_id == "t"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kafka.group.id": ""}, "kafka.group.id is missing"),
        ({"mode": "task"}, "mode is 'task'; legal is batch or partition"),
        ({"exactlyOnceBy": "offset"}, "exactlyOnceBy is 'offset'; legal is source or batch"),
        ({"exactlyOnceBy": "batch", "mode": "partition"}, "legal is mode batch"),
        ({"exactlyOnceBy": "batch", "topic": ""}, "option topic is missing"),
        ({"exactlyOnceBy": "batch"}, "nobody says which batch it is; legal is queryId"),
        (
            {"exactlyOnceBy": "batch", "queryId": "q", "batchId": "-1"},
            "batchId is '-1'; legal is a whole number from 0",
        ),
        ({"kafka.acks": "1"}, "kafka.acks is '1', and is not to be set"),
        ({"kafka.enable.idempotence": "true"}, "is not to be set"),
        ({"deadlineMs": "soon"}, "deadlineMs is 'soon'"),
        ({"subscribe": "in"}, "there is no option subscribe; legal are topic, name, mode"),
    ],
)
def test_what_a_sink_refuses(changed: dict[str, str], said: str) -> None:
    with pytest.raises(IllegalOption, match=said):
        sink_options({**SINK, **changed}, streaming=False)


@pytest.mark.parametrize("changed", [{"queryId": "q"}, {"batchId": "0"}])
def test_a_streaming_query_is_not_named_by_options(changed: dict[str, str]) -> None:
    with pytest.raises(IllegalOption, match="a streaming query has an id, and numbers its batches"):
        sink_options({**SINK, **changed}, streaming=True)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("3.5.9", "pyspark 3.5.9 is not supported: it has no data sources in Python"),
        ("4.0.5", "no Trigger.AvailableNow and no Arrow sinks. Use pyspark 4.2 or 4.3"),
        ("4.1.4", "no limits for micro-batches and no Trigger.AvailableNow. Use"),
        ("4.4.0.dev0", "source and sink were not tested with it"),
        ("4.2.1", ""),
        ("4.3.0", ""),
    ],
)
def test_versions_of_pyspark_are_supported_or_refused_by_name(
    version: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark.__version__", version)
    if not says:
        assert callable(pipeline.register)
        return
    with pytest.raises(pipeline.UnsupportedSpark, match=re.escape(says)):
        _ = pipeline.register


def test_a_name_is_short_enough_for_the_metadata_of_a_position() -> None:
    with pytest.raises(IllegalOption, match="name has 501 bytes; legal are 500"):
        sink_options({**SINK, "name": "n" * 501}, streaming=True)
    assert sink_options({**SINK, "name": "n" * 500}, streaming=True).name.endswith("n")


def test_a_table_of_the_catalog_is_refused() -> None:
    with pytest.raises(IllegalOption, match="a table of the catalog cannot have this format"):
        source_options({**SOURCE, "provider": "zombieproof"}, streaming=True)
