"""Every kind of fault, seen to happen: what a client is told, what is in the log, what stands in the trace."""

from pathlib import Path
from typing import Any

import pytest

from tests.wire.plan.groups import commit_offset, offset_of
from tests.wire.plan.staged import Staged, planned
from zombieproof.broker.cluster.clock import AheadClock, SystemClock
from zombieproof.broker.store.config import Durability
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.messages.groups import FindCoordinator
from zombieproof.messages.partitions import Produce, SentBatch
from zombieproof.messages.transactions import DescribeTransactions, EndTxn, InitProducerId
from zombieproof.model.vocabulary import Error
from zombieproof.wire.plan.kinds import KINDS
from zombieproof.wire.plan.play import NoSuchWord, Play

PLACE = ("t", 0)


def staged(fault: str, request: str = "{api: Produce}", when: str = "once", *, brokers: int = 1, **more: Any) -> Staged:
    """Brokers under one fault."""
    text = (
        f"topics: {{t: 2}}\nbrokers: {brokers}\nfaults:\n- name: it\n  request: {request}\n  {fault}\n  when: {when}\n"
    )
    return Staged(planned(text), replicated=brokers > 1, **more)


def write(stage: Staged, me: tuple[int, int], sequence: int = 0, value: bytes = b"r") -> list[Any]:
    return stage.write(me, PLACE, value, sequence=sequence, version=12)


def error_of(heard: list[Any]) -> Error:
    (answer,) = heard
    return Error(answer.partitions[PLACE].error)


def in_log(stage: Staged) -> int:
    """How many records there are, markers left out."""
    leader = stage.embedded.cluster.leader_of(PLACE)
    assert leader is not None
    log = stage.embedded.cluster.stores[leader, PLACE].log
    return sum(len(batch.records) for batch in log.read() if not batch.is_control)


def whole(stage: Staged, tmp_path: Path, kind: str, times: int = 1) -> None:
    """It fired so often, stands so often in the trace, and the run comes out the same when it is taken again."""
    assert stage.play.report().is_whole, str(stage.play.report())
    assert stage.faults() == [kind] * times
    judgement = stage.judged(tmp_path)
    assert (judgement.finding, judgement.open_question) == (None, "")
    assert judgement.judged == len(judgement.record.events)


# ---------------------------------------------------------------- what a client is told


def test_an_error_is_told_and_nothing_happens(tmp_path: Path) -> None:
    stage = staged("inject_error: NOT_LEADER_OR_FOLLOWER")
    me = stage.begin()
    assert error_of(write(stage, me)) == Error.NOT_LEADER_OR_FOLLOWER
    assert in_log(stage) == 0
    assert error_of(write(stage, me)) == Error.NONE
    assert in_log(stage) == 1
    whole(stage, tmp_path, "inject_error")


def test_an_error_is_told_though_all_has_happened(tmp_path: Path) -> None:
    stage = staged("inject_error: {error: REQUEST_TIMED_OUT, effect: after}")
    assert error_of(write(stage, stage.begin())) == Error.REQUEST_TIMED_OUT
    assert in_log(stage) == 1
    whole(stage, tmp_path, "inject_error")


@pytest.mark.parametrize(("effect", "records"), [("before", 0), ("after", 1)])
def test_the_connection_ends_before_or_after_the_effect(effect: str, records: int, tmp_path: Path) -> None:
    stage = staged(f"disconnect_on: {effect}")
    assert write(stage, stage.begin()) == [None]
    assert in_log(stage) == records
    whole(stage, tmp_path, "disconnect_on")


@pytest.mark.parametrize(("effect", "records"), [("before", 0), ("after", 1)])
def test_nobody_is_answered_in_a_black_hole(effect: str, records: int, tmp_path: Path) -> None:
    stage = staged(f"blackhole: {effect}")
    assert write(stage, stage.begin()) == []
    stage.later(1_000_000)
    assert stage.told[-1][0] != "Produce"
    assert in_log(stage) == records
    whole(stage, tmp_path, "blackhole")


# ---------------------------------------------------------------- late, doubled, overtaken


def test_a_request_waits_for_a_time(tmp_path: Path) -> None:
    stage = staged("delay_on: {until: {after_ms: 100}}")
    heard = write(stage, stage.begin())
    stage.later(99)
    assert (heard, in_log(stage)) == ([], 0)
    stage.later(1)
    assert (error_of(heard), in_log(stage)) == (Error.NONE, 1)
    whole(stage, tmp_path, "delay_on")


def test_a_request_waits_for_a_word_of_the_test(tmp_path: Path) -> None:
    stage = staged("delay_on: {until: {release: go}}", when="{times: 2}")
    me = stage.begin()
    heard = write(stage, me)
    stage.later(1_000)
    assert (heard, in_log(stage)) == ([], 0)
    stage.play.release("go")
    stage.go_on()
    assert error_of(heard) == Error.NONE
    assert error_of(write(stage, me, 1)) == Error.NONE
    whole(stage, tmp_path, "delay_on", 2)


def test_a_word_that_nobody_waits_for_is_refused() -> None:
    stage = staged("delay_on: {until: {release: go}}")
    with pytest.raises(NoSuchWord, match="nothing in plan 'plan' waits for 'come'; words are go"):
        stage.play.release("come")


def test_an_answer_waits_while_its_request_has_its_effect(tmp_path: Path) -> None:
    stage = staged("delay_on: {until: {request: {api: FindCoordinator}}, holds: answer}")
    heard = write(stage, stage.begin())
    assert (heard, in_log(stage)) == ([], 1)
    stage.ask(FindCoordinator(4, "app", 1))
    assert error_of(heard) == Error.NONE
    whole(stage, tmp_path, "delay_on")


def test_a_late_request_arrives_before_the_one_that_it_waits_for_and_behind_an_answer_that_it_waits_for() -> None:
    for event, order in (("request", ["late", "other"]), ("answer", ["other", "late"])):
        stage = staged(f"delay_on: {{until: {{{event}: {{api: Produce}}}}}}")
        me = stage.begin()
        write(stage, me, 0, b"late")
        stage.write(stage.begin("somebody"), PLACE, b"other", name="somebody", version=12)
        log = stage.embedded.cluster.stores[1, PLACE].log
        assert [each.value.decode() for batch in log.read() for each in batch.records] == order  # type: ignore[union-attr]  # bytes


def test_a_late_request_whose_client_is_gone_arrives_all_the_same(tmp_path: Path) -> None:
    stage = staged("delay_on: {until: {after_ms: 100}, disconnects: true}")
    assert write(stage, stage.begin()) == [None]
    assert in_log(stage) == 0
    stage.later(100)
    assert in_log(stage) == 1
    whole(stage, tmp_path, "delay_on")


def test_a_request_comes_twice_and_is_stored_once(tmp_path: Path) -> None:
    stage = staged("duplicate: {}")
    assert error_of(write(stage, stage.begin())) == Error.NONE
    stage.trace.flush()
    assert sum('"what":"double"' in line for line in stage.lines) == 1
    assert in_log(stage) == 1
    whole(stage, tmp_path, "duplicate")


def test_a_copy_that_is_late_does_what_it_says(tmp_path: Path) -> None:
    stage = staged("duplicate: {until: {answer: {api: Produce}}}", "{api: InitProducerId}")
    me = stage.begin()
    assert error_of(write(stage, me)) == Error.NONE
    assert stage.end(me, committed=True, version=5).error == Error.PRODUCER_FENCED
    assert stage.play.state_of("app") == "CompleteAbort", "the copy has taken the id over"
    whole(stage, tmp_path, "duplicate")


def test_a_request_is_overtaken_by_the_next_of_its_kind(tmp_path: Path) -> None:
    stage = staged("reorder: {}")
    me = stage.begin()
    first = write(stage, me, 0)
    assert first == []
    second = write(stage, me, 1)
    assert error_of(second) == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert error_of(first) == Error.NONE
    assert [name for name, _ in stage.told[-2:]] == ["Produce", "Produce"]
    whole(stage, tmp_path, "reorder")


def test_a_request_is_overtaken_by_another_one(tmp_path: Path) -> None:
    stage = staged("reorder: {behind: {api: EndTxn}}")
    me = stage.begin()
    heard = write(stage, me)
    assert stage.end(me, committed=False, version=5).error == Error.NONE
    assert error_of(heard) == Error.INVALID_PRODUCER_EPOCH
    whole(stage, tmp_path, "reorder")


# ---------------------------------------------------------------- brokers that crash


@pytest.mark.parametrize(
    ("moment", "records"), [("before append", 0), ("after append", 1), ("before fsync", 0), ("after fsync", 1)]
)
@pytest.mark.parametrize("durability", [Durability.MEMORY, Durability.FSYNC])
def test_a_broker_crashes_at_a_moment_of_a_request(
    moment: str, records: int, durability: Durability, tmp_path: Path
) -> None:
    stage = staged(f"crash_broker: {moment}", path=tmp_path / "data", durability=durability)
    me = stage.begin()
    assert write(stage, me) == [None]
    assert in_log(stage) == records
    assert set(stage.embedded.cluster.brokers) == {1}
    assert error_of(write(stage, me)) == Error.NONE
    assert in_log(stage) == 1
    ended = stage.end(me, committed=True, version=5)
    assert ended.error == Error.NONE
    assert stage.readable(PLACE) == [b"r"]
    whole(stage, tmp_path, "crash_broker")


def test_a_broker_that_crashes_comes_back_after_a_time(tmp_path: Path) -> None:
    stage = staged("crash_broker: {moment: before append, back: 500}")
    me = stage.begin()
    assert write(stage, me) == [None]
    assert write(stage, me) == [None]
    stage.later(499)
    assert not stage.embedded.cluster.brokers
    stage.later(1)
    assert error_of(write(stage, me)) == Error.NONE
    whole(stage, tmp_path, "crash_broker")


def test_a_broker_never_comes_back_and_others_lead(tmp_path: Path) -> None:
    stage = staged("crash_broker: {moment: before append, back: never}", brokers=3)
    me = stage.begin()
    assert write(stage, me) == [None]
    stage.later(1_000_000)
    assert set(stage.embedded.cluster.brokers) == {2, 3}
    assert error_of(write(stage, stage.begin())) == Error.NONE
    whole(stage, tmp_path, "crash_broker")


def test_a_crash_behind_an_append_needs_one() -> None:
    stage = staged("crash_broker: after append", "{api: FindCoordinator}")
    assert stage.ask(FindCoordinator(4, "app", 1)).node == 1
    report = stage.play.report()
    assert not report.is_whole
    assert [each.why for each in report.impossible] == ["the request appended nothing at broker 1"]


def test_another_broker_crashes_before_a_request(tmp_path: Path) -> None:
    stage = staged("crash_broker: {moment: before append, node: 2, back: never}", brokers=2)
    assert error_of(write(stage, stage.begin())) == Error.NONE
    assert set(stage.embedded.cluster.brokers) == {1}
    whole(stage, tmp_path, "crash_broker")


# ---------------------------------------------------------------- what is done to the cluster


def test_a_transaction_expires(tmp_path: Path) -> None:
    stage = staged("expire_transaction: {}", "{api: EndTxn, while_state: Ongoing}")
    me = stage.begin(timeout_ms=5_000)
    write(stage, me)
    began_ms = stage.clock.now_ms()
    assert stage.end(me, committed=True, version=5).error == Error.PRODUCER_FENCED
    assert stage.clock.now_ms() - began_ms == 5_001
    assert stage.readable(PLACE) == []
    whole(stage, tmp_path, "expire_transaction")


def test_only_an_open_transaction_expires() -> None:
    stage = staged("expire_transaction: {transactional_id: app}", "{api: FindCoordinator}")
    stage.begin()
    stage.ask(FindCoordinator(4, "app", 1))
    assert [each.why for each in stage.play.report().impossible] == [
        "transactional id 'app' has no open transaction: its state is Empty"
    ]


def test_a_coordinator_moves(tmp_path: Path) -> None:
    stage = staged("move_coordinator: {}", "{api: EndTxn}", brokers=2)
    me = stage.begin()
    old = stage.embedded.cluster.coordinator_of("app")
    write(stage, me)
    assert stage.end(me, committed=True, version=5).error == Error.NOT_COORDINATOR
    assert stage.embedded.cluster.coordinator_of("app") not in (None, old)
    assert stage.end(me, committed=True, version=5).error == Error.NONE
    whole(stage, tmp_path, "move_coordinator")


def test_the_coordinator_of_a_group_moves_behind_the_effect(tmp_path: Path) -> None:
    stage = staged("move_coordinator: {group: pricing, effect: after}", brokers=2)
    old = stage.embedded.cluster.group_coordinator_of("pricing")
    assert error_of(write(stage, stage.begin())) == Error.NONE
    assert stage.embedded.cluster.group_coordinator_of("pricing") not in (None, old)
    whole(stage, tmp_path, "move_coordinator")


def test_a_leader_moves(tmp_path: Path) -> None:
    stage = staged("move_leader: {}", brokers=2)
    me = stage.begin()
    assert error_of(write(stage, me)) == Error.NOT_LEADER_OR_FOLLOWER
    assert error_of(write(stage, me)) == Error.NONE
    whole(stage, tmp_path, "move_leader")


def test_a_leader_moves_only_where_there_is_another_one() -> None:
    text = "topics: {t: 1}\nbrokers: 2\nfaults:\n- {request: {api: Produce}, move_leader: {}}\n"
    stage = Staged(planned(text))
    assert error_of(write(stage, stage.begin())) == Error.NONE
    assert "t-0 cannot be led by another node" in stage.play.report().impossible[0].why


def test_time_is_skipped(tmp_path: Path) -> None:
    stage = staged("skip_time: 60_001", "{api: EndTxn}")
    me = stage.begin()
    write(stage, me)
    assert stage.end(me, committed=True, version=5).error == Error.PRODUCER_FENCED
    assert stage.clock.now_ms() == 1_060_001
    whole(stage, tmp_path, "skip_time")


def test_time_is_skipped_behind_the_effect(tmp_path: Path) -> None:
    stage = staged("skip_time: {ms: 60_001, effect: after}", "{api: EndTxn}")
    me = stage.begin()
    write(stage, me)
    assert stage.end(me, committed=True, version=5).error == Error.NONE
    assert stage.clock.now_ms() == 1_060_001
    whole(stage, tmp_path, "skip_time")


def test_a_plan_that_moves_time_needs_a_clock_that_can_be_moved() -> None:
    with pytest.raises(
        ValueError, match=r"has skip_time, and the clock of these brokers cannot be moved; give them an"
    ):
        staged("skip_time: 5", clock=SystemClock())
    assert staged("skip_time: 5", clock=AheadClock()).play.report().unfired


def test_a_plan_for_more_brokers_is_refused() -> None:
    one = staged("blackhole: before")
    one.embedded.door = None
    with pytest.raises(ValueError, match="needs 2 brokers, and here are 1"):
        Play(planned("brokers: 2"), one.embedded)


def test_two_plans_at_one_cluster_are_refused() -> None:
    with pytest.raises(ValueError, match="make one plan of both"):
        Play(planned("{}"), staged("blackhole: before").embedded)


# ---------------------------------------------------------------- between brokers


def test_markers_are_late(tmp_path: Path) -> None:
    stage = staged("delay_on: {until: {after_ms: 300}}", f"{{api: WriteTxnMarkers, topic: {CONSUMER_OFFSETS}}}")
    me = stage.begin()
    write(stage, me)
    commit_offset(stage, me, "app", PLACE, 1)
    assert stage.end(me, committed=True, version=5).error == Error.NONE
    assert stage.play.state_of("app") == "PrepareCommit"
    assert offset_of(stage, PLACE) == -1
    stage.later(300)
    assert stage.play.state_of("app") == "CompleteCommit"
    assert offset_of(stage, PLACE) == 1
    whole(stage, tmp_path, "delay_on")


@pytest.mark.parametrize(
    "fault", ["disconnect_on: before", "disconnect_on: after", "duplicate: {}", "blackhole: before"]
)
def test_markers_that_are_lost_or_doubled_are_written_all_the_same(fault: str, tmp_path: Path) -> None:
    stage = staged(fault, "{api: WriteTxnMarkers}")
    me = stage.begin()
    write(stage, me)
    assert stage.end(me, committed=True, version=5).error == Error.NONE
    for _ in range(4):
        stage.later(10_001)
    assert stage.play.state_of("app") == "CompleteCommit"
    assert stage.readable(PLACE) == [b"r"]
    whole(stage, tmp_path, fault.partition(":")[0])


def test_a_verification_between_brokers_is_lost(tmp_path: Path) -> None:
    stage = staged("disconnect_on: before", "{api: AddPartitionsToTxn, sender: broker}", brokers=2)
    heard = write(stage, stage.begin())
    stage.later(1_000)
    assert error_of(heard) == Error.NOT_ENOUGH_REPLICAS, "as a broker says that it could not ask another one"
    assert in_log(stage) == 0
    whole(stage, tmp_path, "disconnect_on")


def test_what_brokers_ask_does_not_meet_faults_of_clients() -> None:
    stage = staged("disconnect_on: before", "{api: AddPartitionsToTxn}", brokers=2)
    me = stage.begin()
    write(stage, me)
    (unfired,) = stage.play.report().unfired
    assert "a broker asked, and a client is wanted" in unfired.near


# ---------------------------------------------------------------- which, and when


@pytest.mark.parametrize(
    ("when", "errors"),
    [
        ("once", "x..."),
        ("every_time", "xxxx"),
        ("{on_call: 3}", "..x."),
        ("{times: 2}", "xx.."),
    ],
)
def test_a_fault_has_its_turns(when: str, errors: str) -> None:
    stage = staged("inject_error: COORDINATOR_NOT_AVAILABLE", "{api: FindCoordinator}", when)
    found = "".join("x" if stage.ask(FindCoordinator(4, "a", 1)).error else "." for _ in range(4))
    assert found == errors


@pytest.mark.parametrize(
    ("request_", "fires"),
    [
        ("{api: FindCoordinator, transactional_id: 'a*'}", "x..."),
        ("{api: FindCoordinator, group: a}", "..x."),
        ("{api: FindCoordinator, client_id: 'shop-?'}", "...x"),
        ("{api: FindCoordinator, nth: 2}", ".x.."),
        ("{api: FindCoordinator, version: 3}", ".x.."),
        ("{api: FindCoordinator, node: 1}", "...x"),
    ],
)
def test_requests_are_chosen(request_: str, fires: str) -> None:
    stage = staged("inject_error: COORDINATOR_NOT_AVAILABLE", request_)
    asked = (
        (FindCoordinator(4, "a1", 1), "", None),
        (FindCoordinator(3, "b", 1), "", None),
        (FindCoordinator(4, "a", 0), "", None),
        (FindCoordinator(4, "c", 1), "shop-1", 1),
    )
    found = "".join("x" if stage.ask(*each).error else "." for each in asked)
    assert found == fires


def test_requests_are_chosen_by_partition_and_by_topic() -> None:
    for named in ("partition: [t, 1]", "topic: 't*', nth: 2"):
        stage = staged("disconnect_on: before", f"{{api: Produce, {named}}}")
        me = stage.begin()
        assert error_of(write(stage, me)) == Error.NONE
        assert stage.write(me, ("t", 1), b"r", version=12) == [None]


def test_requests_are_chosen_by_the_state_of_their_id() -> None:
    stage = staged("disconnect_on: before", "{api: InitProducerId, while_state: Ongoing}")
    me = stage.begin()
    write(stage, me)
    assert stage.send(InitProducerId(5, "app", 60_000)) == [None]


def test_requests_are_chosen_by_what_they_decide() -> None:
    stage = staged("disconnect_on: before", "{api: EndTxn, committed: false}")
    me = stage.begin()
    write(stage, me)
    assert stage.end(me, committed=True, version=5).error == Error.NONE
    write(stage, (me[0], me[1] + 1))
    assert stage.send(EndTxn(5, "app", me[0], me[1] + 1, committed=False)) == [None]


def test_one_fault_decides_what_becomes_of_a_request_and_the_other_waits_for_the_next() -> None:
    text = """
topics: {t: 1}
faults:
- {name: first, request: {api: Produce}, disconnect_on: before}
- {name: second, request: {topic: t}, inject_error: NOT_LEADER_OR_FOLLOWER}
"""
    with pytest.raises(ValueError, match="needs to know what it answers"):
        planned(text)
    stage = Staged(planned(text.replace("inject_error: NOT_LEADER_OR_FOLLOWER", "blackhole: after")))
    me = stage.begin()
    assert write(stage, me) == [None]
    assert write(stage, me) == []
    assert stage.faults() == ["disconnect_on", "blackhole"]


def test_a_produce_that_nobody_waits_for_meets_faults_too() -> None:
    stage = staged("disconnect_on: before")
    batch = SentBatch(stage_batch())
    assert stage.send(Produce(9, None, 0, {PLACE: (batch,)})) == [None]
    assert in_log(stage) == 0


def stage_batch() -> Any:
    from zombieproof.formats.batches import Batch, Record  # noqa: PLC0415  # used here alone

    return Batch(records=(Record(None, b"r"),))


# ---------------------------------------------------------------- what came of it


def test_a_fault_that_never_fired_tells_what_came_near() -> None:
    stage = staged("inject_error: CONCURRENT_TRANSACTIONS", "{api: EndTxn, transactional_id: other}", "{on_call: 2}")
    me = stage.begin()
    write(stage, me)
    stage.end(me, committed=True, version=5)
    report = stage.play.report()
    assert not report.is_whole
    assert str(report) == (
        "plan 'plan': 0 faults fired, and not all did\n"
        "  never fired: it; nearest came EndTxn 5 transactional id 'app': transactional id 'other' is wanted"
    )


def test_a_fault_of_an_error_that_a_version_cannot_be_told_waits_for_one_that_can() -> None:
    stage = staged("inject_error: PRODUCER_FENCED", "{api: EndTxn}")
    me = stage.begin()
    assert stage.end(me, committed=True, version=1).error == Error.INVALID_TXN_STATE
    assert "version 1 cannot be answered PRODUCER_FENCED, which came with 2" in stage.play.report().unfired[0].near
    assert stage.end(me, committed=True, version=2).error == Error.PRODUCER_FENCED
    assert stage.play.report().is_whole


def test_a_run_without_requests_says_so() -> None:
    assert (
        staged("blackhole: before", "{api: DescribeTransactions}")
        .play.report()
        .unfired[0]
        .near.startswith(("no request came at all", "nearest came AllocateProducerIds"))
    )


def test_what_waits_for_ever_is_told() -> None:
    stage = staged("delay_on: {until: {request: {api: DescribeTransactions}}}")
    write(stage, stage.begin())
    assert stage.play.report().unfinished == ("it, which waits for {'request': {'api': 'DescribeTransactions'}}",)
    stage.ask(DescribeTransactions(0, ("app",)))
    assert stage.play.report().is_whole


def test_the_same_plan_and_the_same_requests_give_the_same_trace() -> None:
    def run() -> list[str]:
        text = """
topics: {t: 2}
brokers: 2
faults:
- {request: {api: Produce}, crash_broker: {moment: after append, back: 50}}
- {request: {api: EndTxn}, duplicate: {until: {after_ms: 20}}}
- {request: {api: WriteTxnMarkers}, disconnect_on: before, when: every_time}
- {request: {api: InitProducerId}, skip_time: 7, when: every_time}
"""
        stage = Staged(planned(text), replicated=True)
        me = stage.begin()
        for _ in range(2):
            write(stage, me)
            stage.later(60)
        stage.end(me, committed=True, version=5)
        stage.later(30)
        stage.trace.flush()
        return stage.lines

    first, second = run(), run()
    assert sum('"what":"fault"' in line for line in first) >= 4
    ids = [line for line in first if '"kind":"header"' in line]
    assert len(ids) == 1
    assert first[1:] == second[1:], "but for the ids of topics, which the header tells"


def test_every_kind_is_seen_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"{kind}:" not in text] == []
