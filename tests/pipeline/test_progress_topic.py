"""Positions that the group has lost, and topics that were deleted and created again."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from zombieproof.pipeline.sink import Delivering, Row

pytest.importorskip("confluent_kafka", reason="confluent-kafka, the client of the pipeline, is not installed")

from confluent_kafka.admin import AdminClient, NewTopic

from tests.pipeline.topics import forget_group, remake_topic
from zombieproof.pipeline import progress_topic, reader
from zombieproof.pipeline.kafka import client, producer_for
from zombieproof.pipeline.reader import MicroBatches, TopicRemade
from zombieproof.pipeline.sink import DeliveryError, Identity, deliver
from zombieproof.pipeline.sink.claims import Claim, Query
from zombieproof.pipeline.sink.restoring import copy_positions

Brokers = "TestedBrokers | RealKafka"
Output = Callable[[], Counter[bytes | None]]


@pytest.fixture
def admin(given: dict[str, Any]) -> Any:
    return AdminClient(given["settings"])


@pytest.fixture
def forget(given: dict[str, Any]) -> Callable[[], None]:
    return lambda: forget_group(given["settings"]["bootstrap.servers"], given["group"])


def once(rows: "list[Row]") -> Counter[bytes | None]:
    return Counter(row.value for row in rows)


def refused(failure: pytest.ExceptionInfo[DeliveryError]) -> bool:
    return failure.value.state.name == "REFUSED"


@pytest.mark.parametrize(
    "identity", [None, Identity("q", 3), Identity("q", 3, "output")], ids=["bare", "source", "batch"]
)
def test_rows_are_found_though_the_group_is_deleted(
    identity: Identity, rows: "list[Row]", given: dict[str, Any], forget: Callable[[], None], output: Output
) -> None:
    deliver(rows, **given, identity=identity)
    forget()
    assert deliver(rows, **given, identity=identity).state.name == "FOUND_DELIVERED"
    assert output() == once(rows)


def test_only_lost_positions_are_read_and_the_next_commit_brings_them_back(
    rows: "list[Row]",
    given: dict[str, Any],
    forget: Callable[[], None],
    output: Output,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deliver(rows[:10], **given)
    forget()
    deliver([row for row in rows if row.source and row.source.partition == 0], **given)
    asked: list[list[Any]] = []
    newest = progress_topic.Progress.newest

    def counted(self: progress_topic.Progress, places: Iterable[Any]) -> Any:
        asked.append(list(places))
        return newest(self, asked[-1])

    monkeypatch.setattr(progress_topic.Progress, "newest", counted)
    assert deliver(rows, **given).dropped == 15
    assert [each for each in asked if each] == [[("input", 1)]]
    deliver(rows, **given)
    assert [each for each in asked if each] == [[("input", 1)]]
    assert output() == once(rows)


def test_another_group_is_another_write(rows: "list[Row]", given: dict[str, Any], output: Output) -> None:
    deliver(rows, **given)
    deliver(rows, **{**given, "group": "other", "transactional_id": "other"})
    assert output() == Counter({row.value: 2 for row in rows})


def test_a_record_of_an_aborted_delivery_is_no_position(
    rows: "list[Row]",
    given: dict[str, Any],
    forget: Callable[[], None],
    begun: "Callable[..., Delivering]",
    output: Output,
) -> None:
    deliver(rows[:4], **given)
    begun(rows, "COMMITTING").close()
    forget()
    assert deliver(rows, **given).sent == 16
    assert output() == once(rows)


def test_an_open_transaction_of_another_write_is_waited_for_only_below_a_record_of_this_one(
    rows: "list[Row]", given: dict[str, Any]
) -> None:
    known = progress_topic.Progress(given["settings"], given["group"])
    deliver(rows[:1], **given)
    other = producer_for(given["settings"], "other")
    other.init_transactions(10)
    other.begin_transaction()
    other.produce(progress_topic.TOPIC, b"{}", b"other", 0)
    other.flush(10)
    known.ask([])
    assert known.newest([("input", 0), ("input", 1)])["input", 0].offset == 1
    deliver(rows, **given)
    with pytest.raises(client.KafkaException, match=r"UNSTABLE_OFFSET_COMMIT.* below records of \('input', 0\)"):
        known.newest([("input", 0)])
    other.commit_transaction(10)
    assert known.newest([("input", 0)])["input", 0].offset == 55


def test_another_progress_topic_is_given_the_positions_of_the_group(
    rows: "list[Row]", given: dict[str, Any], forget: Callable[[], None], output: Output
) -> None:
    deliver(rows, **given, identity=Identity("q", 1))
    ids = {("input", 0): given["transactional_id"], ("input", 1): "another"}
    other = progress_topic.Progress(given["settings"], given["group"], "other")
    made = reader.answered(lambda: copy_positions(given["settings"], given["group"], other, ids.__getitem__))
    assert made == [("input", 0), ("input", 1)]
    assert copy_positions(given["settings"], given["group"], other, ids.__getitem__) == []
    forget()
    assert deliver(rows, **given, identity=Identity("q", 1), query=Query("other")).dropped == len(rows)
    assert output() == once(rows)


def test_a_progress_topic_that_is_used_again_is_given_the_newest_positions(
    rows: "list[Row]", given: dict[str, Any], forget: Callable[[], None], output: Output
) -> None:
    """Its records are older than the positions of the group."""
    claimed = Claim("batch", "source", given["transactional_id"])
    for past, topic in ((4, "first"), (20, "second")):
        deliver(rows[:past], **given, identity=Identity("q", past), query=Query(topic, claim=claimed))
    first = progress_topic.Progress(given["settings"], given["group"], "first")
    for copied in ([("input", 0), ("input", 1)], []):
        assert copy_positions(given["settings"], given["group"], first, lambda _: given["transactional_id"]) == copied
    forget()
    assert deliver(rows, **given, identity=Identity("q", 20), query=Query("first")).dropped == len(rows)
    assert output() == once(rows)


def test_a_topic_that_deletes_records_keeps_no_progress(
    rows: "list[Row]", given: dict[str, Any], admin: Any, output: Output
) -> None:
    admin.create_topics([NewTopic("short", 1, 1)])["short"].result(10)
    with pytest.raises(DeliveryError, match=r"topic short .* cleanup\.policy is delete.*add-config cleanup\.policy"):
        deliver(rows, **given, query=Query("short"))
    assert output() == Counter()


def test_a_query_whose_group_and_progress_are_both_deleted_is_refused(
    rows: "list[Row]", given: dict[str, Any], admin: Any, forget: Callable[[], None], output: Output
) -> None:
    deliver(rows, **given, identity=Identity("q", 1))
    admin.delete_topics([progress_topic.TOPIC])[progress_topic.TOPIC].result(10)
    later = Query(has_earlier_batches=True)
    assert deliver(rows, **given, identity=Identity("q", 1), query=later).state.name == "FOUND_DELIVERED"
    admin.delete_topics([progress_topic.TOPIC])[progress_topic.TOPIC].result(10)
    forget()
    with pytest.raises(DeliveryError, match=r"not the first batch.*kafka-topics\.sh .* --create") as failure:
        deliver(rows, **given, identity=Identity("q", 1), query=later)
    assert refused(failure)
    assert output() == once(rows)


def test_a_source_begins_where_the_progress_topic_says(
    rows: "list[Row]", given: dict[str, Any], forget: Callable[[], None]
) -> None:
    deliver(rows, **given)
    forget()
    batches = MicroBatches(given["settings"], given["group"])
    try:
        assert batches.begin({("input", 0): 0, ("input", 1): 0}) == {("input", 0): 55, ("input", 1): 58}
        assert progress_topic.TOPIC not in {topic for topic, _ in batches.matching(".*")}
    finally:
        batches.close()


@pytest.mark.parametrize(
    ("topic", "identity"),
    [
        ("input", None),
        ("input", Identity("q", 3)),
        ("output", Identity("q", 3)),
        ("output", Identity("q", 3, "output")),
    ],
    ids=["bare", "source", "output of source", "output of batch"],
)
def test_a_topic_that_was_created_again_is_refused_with_both_ids(
    topic: str, identity: Identity | None, rows: "list[Row]", given: dict[str, Any]
) -> None:
    deliver(rows, **given, identity=identity)
    remake_topic(given["settings"]["bootstrap.servers"], topic, 2)
    says = rf"older than topic {topic} \(its id was .*, and is .*reprocess=NAME"
    with pytest.raises(DeliveryError, match=says) as failure:
        deliver(rows, **given, identity=identity)
    assert refused(failure)


def test_a_source_does_not_begin_at_a_position_that_is_older_than_the_topic(
    rows: "list[Row]", given: dict[str, Any], forget: Callable[[], None]
) -> None:
    deliver(rows, **given)
    remake_topic(given["settings"]["bootstrap.servers"], "input", 2)
    batches = MicroBatches(given["settings"], given["group"])
    try:
        for is_lost in (False, True):
            if is_lost:
                forget()
            with pytest.raises(TopicRemade, match=r"offset 55 of input-0 .* older than topic input \(its id was"):
                batches.committed([("input", 0)])
    finally:
        batches.close()


def test_a_hidden_progress_topic_is_missing_and_another_hidden_topic_is_an_error() -> None:
    denied: Future[Any] = Future()
    denied.set_exception(client.KafkaException(client.KafkaError(client.KafkaError.TOPIC_AUTHORIZATION_FAILED)))
    known = progress_topic.Progress({}, "g")
    known._described = {progress_topic.TOPIC: denied}
    assert known.ids() == {}
    known._described = {progress_topic.TOPIC: denied, "input": denied}
    with pytest.raises(client.KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        known.ids()


def test_positions_without_ids_are_still_known(
    rows: "list[Row]", given: dict[str, Any], admin: Any, output: Output
) -> None:
    """Of a release before topics had ids here."""
    text = json.dumps({"zombieproof": 2, "query": "q", "batch": 3, "sink": "", "rows": ""})
    group = client.Consumer({**given["settings"], "group.id": given["group"]})
    group.commit(offsets=[client.TopicPartition("input", each, 25, text) for each in (0, 1)], asynchronous=False)
    group.close()
    assert deliver(rows, **given, identity=Identity("q", 4, run="r")).dropped == 9
    assert output() == once(rows[9:])


def test_an_open_transaction_of_another_write_hides_no_record_that_is_wanted(
    rows: "list[Row]", given: dict[str, Any]
) -> None:
    settings = given["settings"]
    deliver(rows[:5], **given, identity=Identity("first", 0, sink="s"))
    other = producer_for(settings, "other")
    other.init_transactions(10)
    other.begin_transaction()
    other.produce(progress_topic.TOPIC, b'{"offset":1,"metadata":""}', b'["g","t",0]')
    other.flush(10)
    deliver(rows[:9], **given, identity=Identity("second", 1, sink="s"))
    progress = progress_topic.Progress(settings, given["group"])
    progress.ask(())

    def found(query: str) -> list[str]:
        wanted = f'"query":"{query}"'
        return [
            json.loads(each.committed.metadata)["query"]
            for each in progress.of_all_groups(lambda each: wanted in each.committed.metadata)
        ]

    assert set(found("first")) == {"first"}
    with pytest.raises(client.KafkaException, match="is decided to offset"):
        found("second")
    other.abort_transaction(10)
    assert set(found("second")) == {"second"}
