"""A delivery at a live broker: whatever happens to it, and however often it is run, each row is there once."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.pipeline.outages import Outage
    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers
    from zombieproof.pipeline.sink import Row

pytest.importorskip(
    "confluent_kafka",
    reason="confluent-kafka, the client of the pipeline, is not installed (extra `spark`); "
    "tests/statemachines has the steps that it hosts",
)

from tests.pipeline.topics import make_topics
from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import IllegalSetting, client, producer_for
from zombieproof.pipeline.progress_topic import TOPIC
from zombieproof.pipeline.sink import Delivering, DeliveryError, Identity, Source, deliver, resolve
from zombieproof.pipeline.sink.asking import Asking
from zombieproof.pipeline.sink.claims import Claim, Query
from zombieproof.pipeline.sink.rows import IllegalRows, Row, foreign

Output = Callable[[], Counter[bytes | None]]
Begun = Callable[..., Delivering]

LOST_COMMIT = {"name": "lost", "faults": [{"request": {"api": "EndTxn", "committed": True}, "disconnect_on": "after"}]}
LATE_LOOK = {
    "name": "undecided",
    "faults": [
        {"request": {"api": "OffsetFetch"}, "inject_error": "UNSTABLE_OFFSET_COMMIT"},
    ],
}
REFUSED_ROW = {
    "name": "refused",
    "faults": [{"request": {"api": "Produce"}, "inject_error": "INVALID_RECORD"}],
}
SILENT_COMMIT = {
    "name": "silent",
    "faults": [{"request": {"api": "EndTxn", "committed": True}, "blackhole": "after", "when": "every_time"}],
}


def once(rows: "list[Row]") -> Counter[bytes | None]:
    return Counter(row.value for row in rows)


def state_of(failure: pytest.ExceptionInfo[DeliveryError]) -> str:
    return failure.value.state.name


def test_every_row_is_there_once_and_the_second_run_finds_it(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    first, second = deliver(rows, **given), deliver(rows, **given)
    assert (first.sent, first.dropped, first.positions) == (20, 0, {("input", 0): 55, ("input", 1): 58})
    assert (second.state.name, second.sent, second.dropped) == ("FOUND_DELIVERED", 0, 20)
    assert output() == once(rows)


def test_headers_key_time_and_partition_arrive(
    rows: "list[Row]", given: dict[str, Any], brokers: "TestedBrokers | RealKafka"
) -> None:
    deliver([rows[0]._replace(partition=1, timestamp_ms=1234)], **given)
    (record,) = brokers.records("output")
    assert (record.key, record.headers, record.timestamp_ms, record.partition) == (b"key", (("h", b"1"),), 1234, 1)


def test_a_batch_that_was_larger_when_it_is_run_again_sends_what_is_new(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    """A lost checkpoint: the restart cuts other batches."""
    deliver(rows[:7], **given)
    again = deliver(rows[:12], **given)
    assert (again.sent, again.dropped) == (5, 7)
    deliver(rows[5:], **given)
    assert output() == once(rows)


def test_a_position_never_goes_back(rows: "list[Row]", given: dict[str, Any], output: Output) -> None:
    """One partition of the batch was delivered further than the batch reaches: its position stays."""
    ahead = [row for row in rows if row.source and row.source.partition == 0]
    deliver(ahead, **given)
    behind = deliver([ahead[0], *(row for row in rows if row not in ahead)], **given)
    assert list(behind.positions) == [("input", 1)]
    deliver(rows, **given)
    assert output() == once(rows)


@pytest.mark.txn_faults(plan=LOST_COMMIT)
def test_a_commit_whose_answer_is_lost_is_asked_for_again(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    assert deliver(rows, **given).is_delivered
    assert deliver(rows, **given).state.name == "FOUND_DELIVERED"
    assert output() == once(rows)


@pytest.mark.slow
@pytest.mark.txn_faults(plan=SILENT_COMMIT, allow=())
def test_a_commit_that_nobody_answers_is_uncertain_and_the_next_delivery_finds_it(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    with pytest.raises(DeliveryError, match="all or none") as failure:
        deliver(rows, **given, deadline_s=2)
    assert state_of(failure) == "UNCERTAIN"
    assert deliver(rows, **given).state.name == "FOUND_DELIVERED"
    assert output() == once(rows)


@pytest.mark.slow
@pytest.mark.parametrize("state", ["FENCING", "LOOKING_UP", "SENDING_ROWS", "SENDING_OFFSETS", "COMMITTING"])
def test_brokers_that_are_away_for_longer_than_a_transaction_lasts_end_no_delivery(
    state: str,
    rows: "list[Row]",
    given: dict[str, Any],
    output: Output,
    outage: "Outage",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The defaults are 60 s for a transaction, and 243 s for the delivery."""
    step, timers = Delivering.step, list[threading.Timer]()

    def stepped(made: Delivering) -> None:
        if made.state.name == state and not timers:
            outage.stop()
            timers.append(threading.Timer(2.5, outage.start))
            timers[0].start()
        step(made)

    monkeypatch.setattr(Delivering, "step", stepped)
    given["settings"] |= {"transaction.timeout.ms": "1000"}
    assert deliver(rows, **given, deadline_s=30).is_delivered
    timers[0].join()
    assert output() == once(rows)


def test_a_delivery_is_not_made_again_after_an_error_that_stays(
    rows: "list[Row]", given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, step = list[Delivering](), Delivering.step

    def stepped(each: Delivering) -> None:
        made.append(each)
        step(each)

    monkeypatch.setattr(Delivering, "step", stepped)
    with pytest.raises(DeliveryError, match=r"MSG_SIZE_TOO_LARGE.*raise kafka.message.max.bytes"):
        deliver([rows[0]._replace(value=b"x" * 2_000_000)], **given)
    assert len(set(map(id, made))) == 1


@pytest.mark.txn_faults(plan=LATE_LOOK)
def test_positions_that_are_undecided_are_asked_for_again(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    assert deliver(rows, **given).sent == 20
    assert output() == once(rows)


@pytest.mark.txn_faults(plan=REFUSED_ROW)
def test_a_row_that_is_refused_takes_all_with_it_and_the_next_delivery_sends_all(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    with pytest.raises(DeliveryError, match="run the batch again") as failure:
        deliver(rows, **given)
    assert state_of(failure) == "FAILED"
    assert output() == Counter()
    assert deliver(rows, **given).sent == 20
    assert output() == once(rows)


@pytest.mark.parametrize("state", ["LOOKING_UP", "SENDING_ROWS", "SENDING_OFFSETS", "COMMITTING"])
def test_a_delivery_that_dies_anywhere_is_made_good_by_the_next(
    rows: "list[Row]", state: str, given: dict[str, Any], begun: Begun, output: Output
) -> None:
    begun(rows, state).close()
    assert output() == Counter()
    assert deliver(rows, **given).sent == 20
    assert output() == once(rows)


@pytest.mark.parametrize("state", ["SENDING_ROWS", "SENDING_OFFSETS", "COMMITTING"])
def test_a_zombie_that_wakes_is_fenced(
    rows: "list[Row]", state: str, given: dict[str, Any], begun: Begun, output: Output
) -> None:
    zombie = begun(rows, state)
    assert deliver(rows, **given).sent == 20
    with pytest.raises(DeliveryError, match="one producer at a time") as failure:
        zombie.run()
    assert state_of(failure) == "FENCED"
    assert output() == once(rows)


def test_a_zombie_that_had_not_taken_the_id_finds_all_delivered_and_fences_a_live_owner(
    rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output
) -> None:
    zombie, owner = begun(rows[:10], "FENCING"), begun(rows[:10], "COMMITTING")
    assert zombie.run().sent == 10
    with pytest.raises(DeliveryError) as failure:
        owner.run()
    assert state_of(failure) == "FENCED"
    assert begun(rows[:10], "FENCING").run().state.name == "FOUND_DELIVERED"
    assert output() == once(rows[:10])


def test_two_deliveries_at_once_leave_each_row_once(
    rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output
) -> None:
    """They take turns at every step, and each begins again when it was fenced, until both say that it is there."""
    turns = [begun(rows, "FENCING"), begun(rows, "FENCING")]
    for turn in range(60):
        each = turns[turn % 2]
        if each.is_over:
            if each.state.name in ("DELIVERED", "FOUND_DELIVERED"):
                continue
            each.close()
            turns[turn % 2] = each = begun(rows, "FENCING")
        for _ in range(1 + turn // 4):
            if not each.is_over:
                each.step()
    assert {each.outcome().is_delivered for each in turns} == {True}
    assert output() == once(rows)


def test_a_transaction_that_timed_out_is_not_committed_and_the_next_delivery_sends_all(
    rows: "list[Row]", given: dict[str, Any], begun: Begun, brokers: "TestedBrokers | RealKafka", output: Output
) -> None:
    late = begun(rows, "COMMITTING")
    brokers.advance(200_000)
    with pytest.raises(DeliveryError) as failure:
        late.run()
    assert state_of(failure) in ("FENCED", "FAILED")
    assert output() == Counter()
    assert deliver(rows, **given).sent == 20
    assert output() == once(rows)


def test_a_resolution_knows_what_is_there_and_sends_nothing(
    rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output
) -> None:
    stalled = begun(rows, "COMMITTING")
    assert resolve(rows, **given).state.name == "KNOWN_ABSENT"
    with pytest.raises(DeliveryError):
        stalled.run()
    assert output() == Counter()
    deliver(rows, **given)
    assert resolve(rows, **given).is_delivered
    assert output() == once(rows)


def test_an_error_that_the_client_keeps_holds_no_frame_of_a_delivery() -> None:
    """It keeps the one that it raises between two reports; with the frames, no client of a fenced delivery would go."""
    kept, fatal = (
        SystemError("an exception was set"),
        client.KafkaException(client.KafkaError(client.KafkaError._FENCED)),
    )

    def serve(_: float) -> int:
        raise kept from fatal

    with pytest.raises(client.KafkaException, match="_FENCED"):
        Asking._served(serve, 0)
    assert kept.__traceback__ is None


def test_a_batch_without_positions_is_known_by_its_identity(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    bare = [row._replace(source=None) for row in rows]
    for batch in (0, 0, 1, 1):
        deliver(bare[batch * 10 : batch * 10 + 10], **given, identity=Identity("q", batch, "output"))
    assert output() == once(rows)


@pytest.mark.parametrize("batch", [0, 1], ids=["an older number", "the same number, other rows"])
def test_a_checkpoint_that_goes_back_is_refused(
    batch: int, rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    for number in (0, 1):
        deliver(rows[number * 10 : number * 10 + 10], **given, identity=Identity("q", number, "output"))
    with pytest.raises(DeliveryError, match=f"of query q, sink without a name, batch {batch}, and the") as failure:
        deliver(rows[:15], **given, identity=Identity("q", batch, "output"))
    assert state_of(failure) == "REFUSED"
    assert output() == once(rows[:20])


def test_a_position_of_another_write_is_refused_and_nothing_is_written(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    deliver(rows[:10], **given, identity=Identity("q", 4, sink="good"))
    for other in (Identity("p", 5, sink="bad"), Identity("q", 4, sink="bad")):
        for those in (rows[:10], rows):
            with pytest.raises(DeliveryError, match=r"sink bad.* of query q, sink good, batch 4") as failure:
                deliver(those, **given, identity=other)
            assert state_of(failure) == "REFUSED"
    assert output() == once(rows[:10])


@pytest.mark.parametrize("identity", [Identity("p", 0, sink="good"), Identity("q", 5, sink="better")])
def test_a_lost_checkpoint_and_a_changed_plan_go_on_where_they_were(
    identity: Identity, rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    deliver(rows[:10], **given, identity=Identity("q", 4, sink="good"))
    deliver(rows, **given, identity=identity)
    assert output() == once(rows)


def test_positions_of_an_earlier_release_are_anybodys(rows: "list[Row]", given: dict[str, Any], output: Output) -> None:
    deliver(rows[:10], **given)
    deliver(rows, **given, identity=Identity("q", 0, sink="good"))
    assert output() == once(rows)
    first = '{"zombieproof":1,"query":"q","batch":7}'
    assert Identity.of_metadata(first, ("output", 0)) == Identity("q", 7, "output")


def test_a_position_tells_all_of_its_write(rows: "list[Row]", given: dict[str, Any]) -> None:
    told = Identity("q", 4, sink="good", mode="partition", attempt="0.1 (TID 7)")
    deliver(rows[:10], **given, identity=told)
    with pytest.raises(DeliveryError) as failure:
        deliver(rows, **given, identity=Identity("p", 4, sink="better", mode="batch"))
    assert "these rows are of query p, sink better, batch 4 (mode batch)" in str(failure.value)
    assert "of query q, sink good, batch 4 (mode partition, task attempt 0.1 (TID 7))" in str(failure.value)
    assert Identity.of_metadata(told.metadata(), ("", 0)) == told


def test_a_batch_of_another_query_is_refused_and_nothing_is_written(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    deliver(rows[:5], **given, identity=Identity("q", 7, "output"))
    with pytest.raises(DeliveryError, match="a new, a lost or an older checkpoint") as failure:
        deliver(rows[5:], **given, identity=Identity("another", 0, "output"))
    assert state_of(failure) == "REFUSED"
    assert output() == once(rows[:5])


def test_a_position_has_the_ids_of_its_own_topic_and_of_the_output_alone(given: dict[str, Any], output: Output) -> None:
    """Brokers limit the metadata of a position to 4,096 bytes."""
    topics = [f"{'one_of_many_' * 10}{number}" for number in range(40)]
    make_topics(given["settings"]["bootstrap.servers"], **dict.fromkeys(topics, 1))
    rows = [Row("output", topic.encode(), source=Source(topic, 0, 0)) for topic in topics]
    assert deliver(rows, **given, identity=Identity("q", 0)).sent == len(topics)
    assert deliver(rows, **given, identity=Identity("q", 0)).dropped == len(topics)
    assert output() == once(rows)


def test_a_batch_that_the_checkpoint_does_not_know_was_written_before_the_checkpoint_went_back(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    deliver(rows[:4], **given, identity=Identity("q", 0, "output", run="first"))
    deliver(rows[4:8], **given, identity=Identity("q", 2, "output", run="first"), query=Query(newest=NONE))
    with pytest.raises(DeliveryError, match="an older checkpoint") as failure:
        deliver(rows[6:9], **given, identity=Identity("q", 3, "output", run="second"), query=Query(newest=1))
    assert state_of(failure) == "REFUSED"
    deliver(rows[8:12], **given, identity=Identity("q", 3, "output", run="second"), query=Query(newest=2))
    deliver(rows[12:], **given, identity=Identity("q", 5, "output", run="second"), query=Query(newest=2))
    assert output() == once(rows)


def test_equal_rows_of_two_writes_are_not_taken_for_one(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    deliver(rows, **given, identity=Identity("q", 1, "output", sink="one"))
    with pytest.raises(DeliveryError, match=r"of query q, sink two, batch 1, .* of query q, sink one, batch 1"):
        deliver(rows, **given, identity=Identity("q", 1, "output", sink="two"))
    assert output() == once(rows)


def test_rows_below_those_of_an_earlier_batch_of_the_same_run_are_refused(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    deliver(rows[:10], **given, identity=Identity("q", 3, run="first"))
    with pytest.raises(DeliveryError, match=r"batch 3 of the same run .* column source does not say"):
        deliver(rows[:5], **given, identity=Identity("q", 4, run="first"))
    assert deliver(rows[:5], **given, identity=Identity("q", 3, run="first")).dropped == 5
    assert deliver(rows[:5], **given, identity=Identity("q", 4, run="another, with an older checkpoint")).dropped == 5
    assert output() == once(rows[:10])


def test_a_row_that_is_refused_names_its_topic_and_partition(given: dict[str, Any]) -> None:
    with pytest.raises(DeliveryError, match=r"topic 'output', partition 7: .*Unknown partition"):
        deliver([Row("output", b"", partition=7, source=Source("input", 0, 0))], **given)


def test_a_plan_changes_only_behind_batches_that_the_checkpoint_knows(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    deliver(rows[:10], **given, identity=Identity("q", 5, sink="one", run="first"))
    changed = Identity("q", 7, sink="two", run="second")
    with pytest.raises(DeliveryError, match="an older checkpoint"):
        deliver(rows, **given, identity=changed, query=Query(newest=3))
    deliver(rows, **given, identity=changed, query=Query(newest=5))
    assert output() == once(rows)


def test_an_output_does_not_change_within_a_group(rows: "list[Row]", given: dict[str, Any], output: Output) -> None:
    deliver(rows[:10], **given, identity=Identity("q", 5, sink="output/one"))
    with pytest.raises(DeliveryError, match=r"of query q, sink another/one, batch 6, .* of query q, sink output/one"):
        deliver(rows, **given, identity=Identity("q", 6, sink="another/one"))
    assert output() == once(rows[:10])


def test_a_position_of_another_client_does_not_say_that_rows_were_written(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    def moved(offset: int) -> None:
        other = client.Consumer({**given["settings"], "group.id": given["group"]})
        places = [client.TopicPartition("input", partition, offset) for partition in range(2)]
        other.commit(offsets=places, asynchronous=False)
        other.close()

    moved(10)
    with pytest.raises(DeliveryError, match="a client that is no sink has committed position 10"):
        deliver(rows, **given, identity=Identity("q", 0))
    moved(0)
    deliver(rows[:10], **given, identity=Identity("q", 0))
    for offset in (0, 1000):
        moved(offset)
        deliver(rows, **given, identity=Identity("q", 1))
        assert output() == once(rows)


def test_topics_of_another_cluster_are_told_apart_by_their_ids(
    rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    here, there = (Query(source_ids={foreign("input"): each}) for each in ("here", "there"))
    for _ in range(2):
        deliver(rows, **given, identity=Identity("q", 0), query=here)
    with pytest.raises(DeliveryError, match=r"input in the cluster of the source \(its id was here, and is there\)"):
        deliver(rows, **given, identity=Identity("p", 0), query=there)
    assert output() == once(rows)


def test_batch_queries_of_one_group_write_ranges_in_order(given: dict[str, Any], output: Output) -> None:
    rows = [Row("output", b"%d" % number, source=Source("input", 0, number)) for number in range(60)]

    def written(first: int, past: int) -> int:
        return deliver(rows[first:past], **given, identity=Identity("job", NONE, sink="s")).sent

    assert written(20, 30) == 10
    for first in (0, 19):
        with pytest.raises(DeliveryError, match=r"position only says that rows from 20 on were written.*ascending"):
            written(first, 25)
    assert (written(20, 30), written(25, 40), written(20, 40)) == (0, 10, 0)
    assert written(50, 60) == 10
    for first in (20, 45):
        with pytest.raises(DeliveryError, match="position only says that rows from 50 on were written"):
            written(first, 60)
    assert output() == once([*rows[20:40], *rows[50:]])


@pytest.mark.parametrize("batch", [NONE, 7])
def test_a_batch_query_below_the_position_of_a_stream_is_refused(
    given: dict[str, Any], output: Output, batch: int
) -> None:
    """A stream may have begun anywhere."""
    rows = [Row("output", b"%d" % number, source=Source("input", 0, number)) for number in range(20)]
    deliver(rows[10:15], **given, identity=Identity("stream", 0, sink="s", run="r"))
    for some in (rows[:10], rows, rows[10:15], rows[15:], rows[17:]):
        with pytest.raises(DeliveryError, match=r"a stream, has committed position 15\).* Give the batch query"):
            deliver(some, **given, identity=Identity("job", batch, sink="s"))
    assert output() == once(rows[10:15])


@pytest.mark.parametrize("first", [0, 10, 12, 15])
def test_a_stream_does_not_take_the_position_of_a_batch_query_for_its_own(
    given: dict[str, Any], output: Output, first: int
) -> None:
    """Rows below the batch query's first one may not be in the output."""
    rows = [Row("output", b"%d" % number, source=Source("input", 0, number)) for number in range(20)]
    deliver(rows[10:15], **given, identity=Identity("job", NONE, sink="s"))
    with pytest.raises(DeliveryError, match=r"a batch query, has committed position 15\).* a group of its own"):
        deliver(rows[first:], **given, identity=Identity("stream", 0, sink="s", run="r"))
    assert output() == once(rows[10:15])


@pytest.mark.parametrize("name", ["prices", "team/prices"])
def test_the_output_is_what_comes_before_the_name_of_a_sink(name: str) -> None:
    assert Identity("q", 0, sink=f"out/{name}").output == "out"
    assert Identity("q", 0, sink="old").output == ""


@pytest.mark.parametrize("text", ["", "a note", "{}", "[1]", "17"])
def test_a_plain_commit_for_the_progress_topic_does_not_hide_the_claim(
    rows: "list[Row]", given: dict[str, Any], output: Output, text: str
) -> None:
    def delivered(some: "list[Row]", mode: str) -> int:
        claim = Claim(mode, "source", f"copier-{mode}")
        return deliver(some, **given | {"transactional_id": claim.transactional_id}, query=Query(claim=claim)).sent

    assert delivered(rows[:9], "batch") == 9
    group = client.Consumer({**given["settings"], "group.id": given["group"]})
    group.commit(offsets=[client.TopicPartition(TOPIC, 0, 5, metadata=text)], asynchronous=False)
    group.close()
    assert delivered(rows[:12], "partition") == 3
    assert delivered(rows, "batch") == len(rows) - 12
    assert output() == once(rows)


def test_a_position_of_another_release_is_refused(
    rows: "list[Row]", given: dict[str, Any], brokers: "TestedBrokers | RealKafka", output: Output
) -> None:
    other = client.Consumer({"bootstrap.servers": brokers.bootstrap, "group.id": given["group"]})
    other.commit(offsets=[client.TopicPartition("output", 0, 3, '{"zombieproof":3}')], asynchronous=False)
    other.close()
    with pytest.raises(DeliveryError, match=r"which this release cannot read; .* use the release that wrote it"):
        deliver(rows, **given, identity=Identity("q", 0, "output"))
    assert output() == Counter()


def test_an_empty_delivery_is_delivered(given: dict[str, Any], output: Output) -> None:
    assert deliver([], **given).is_delivered
    assert output() == Counter()


def test_rows_and_settings_that_cannot_be_are_refused_before_anything_is_asked(
    rows: "list[Row]", given: dict[str, Any]
) -> None:
    for source in (None, Source("input", 0, -1)):
        with pytest.raises(IllegalRows, match="row 1 of 2 does not say where it was read"):
            deliver([rows[0], rows[1]._replace(source=source)], **given)
    with pytest.raises(IllegalRows, match="its group is empty"):
        deliver(rows, **{**given, "group": ""})
    with pytest.raises(IllegalSetting, match=r"bootstrap\.servers is missing"):
        deliver(rows, **{**given, "settings": {}})
    with pytest.raises(IllegalSetting, match=r"isolation\.level is 'read_uncommitted', and is not to be set"):
        deliver(rows, **{**given, "settings": {**given["settings"], "isolation.level": "read_uncommitted"}})


def test_a_naive_sink_doubles_rows(rows: "list[Row]", given: dict[str, Any], output: Output) -> None:
    """The negative control: a transaction of its own for each attempt, with nothing looked up."""
    for attempt in range(2):
        producer = producer_for(given["settings"], f"attempt-{attempt}")
        producer.init_transactions(10)
        producer.begin_transaction()
        for row in rows:
            producer.produce(row.topic, row.value, row.key)
        producer.commit_transaction(10)
    assert output() == Counter({row.value: 2 for row in rows})
