"""Options of the source and of the sink: what is illegal is said with what would be legal; Spark is not asked for."""

import pytest

pytest.importorskip(
    "confluent_kafka",
    reason="confluent-kafka, the client of the pipeline, is not installed (extra `spark`)",
)

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import IllegalSetting
from zombieproof.pipeline.spark.options import (
    EARLIEST,
    LATEST,
    By,
    IllegalOption,
    Mode,
    sink_options,
    source_options,
)

BROKERS = {"kafka.bootstrap.servers": "127.0.0.1:9"}
SOURCE = {**BROKERS, "kafka.group.id": "g", "subscribe": "in"}
SINK = {**BROKERS, "kafka.group.id": "g", "topic": "out"}


def test_a_source_begins_at_the_end_and_a_batch_query_at_the_beginning() -> None:
    assert source_options(SOURCE, streaming=True).starting == LATEST
    assert source_options(SOURCE, streaming=False).starting == EARLIEST


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
    assert found.starting == {("a", 0): 23, ("a", 1): EARLIEST, ("b", 0): LATEST}
    assert (found.most, found.headers, found.source, found.group) == (7, True, False, "g")
    assert found.settings == {"bootstrap.servers": "a:1", "client.id": "me"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"subscribe": " ,"}, "subscribe is missing"),
        ({"subscribePattern": "in.*"}, "there is no option subscribepattern; legal are subscribe, startingOffsets"),
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
        ({"endingOffsets": "earliest"}, "endingOffsets says earliest"),
        ({"endingOffsets": '{"in":{"0":-2}}'}, "endingOffsets says earliest"),
    ],
)
def test_what_a_batch_query_refuses(changed: dict[str, str], said: str) -> None:
    with pytest.raises(IllegalOption, match=said):
        source_options({**SOURCE, **changed}, streaming=False)


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
        ({"subscribe": "in"}, "there is no option subscribe; legal are topic, mode"),
    ],
)
def test_what_a_sink_refuses(changed: dict[str, str], said: str) -> None:
    with pytest.raises(IllegalOption, match=said):
        sink_options({**SINK, **changed}, streaming=False)


@pytest.mark.parametrize("changed", [{"queryId": "q"}, {"batchId": "0"}])
def test_a_streaming_query_is_not_named_by_options(changed: dict[str, str]) -> None:
    with pytest.raises(IllegalOption, match="a streaming query has an id, and numbers its batches"):
        sink_options({**SINK, **changed}, streaming=True)
