"""The trace of a live run: what it holds, that it is taken again, and that whatever was changed in it is found."""

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.live import held_log
from tests.live.scripts import BREAKING, FEW, end, init, produce, traced, two_transactions
from tests.live.stage import Stage, Waits
from tests.live.staged_producer import StagedProducer
from zombieproof.bridge.again import JUDGED, LiveJudgement, live_again
from zombieproof.bridge.causes import HAPPENS
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.live_trace import LiveTrace, LiveTraceFile
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.embedded import Embedded
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.clients.transport import ClusterTransport
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.partitions import FetchAnswer, Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.catalogue import IN_STATES
from zombieproof.model.rules import Rules, preset
from zombieproof.model.vocabulary import NONE, Error, Isolation, ProducerEvent, ProducerState, Row
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note
from zombieproof.traces.trace import TraceError, schema
from zombieproof.traces.trace_file import is_live_trace, read_live, read_trace

Lines = list[dict[str, Any]]

SENT = 8
"""The place of the first request of a client, behind what three brokers do when they start."""


def written(run: Callable[[Callable[[str], object]], None]) -> Lines:
    lines: list[str] = []
    run(lines.append)
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def well() -> Lines:
    return written(two_transactions)


def judged(lines: Lines, path: Path) -> LiveJudgement:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return live_again(read_live(path), path.name)


# ---------------------------------------------------------------- what is written, and taken again


def test_a_run_in_which_all_is_well_conforms(well: Lines, tmp_path: Path) -> None:
    found = judged(well, tmp_path / "run.jsonl")
    assert (found.finding, found.open_question, found.judged) == (None, "", len(well) - 2)


def test_an_event_has_its_request_its_moves_and_its_decisions(well: Lines) -> None:
    (event,) = (
        line
        for line in well
        if line["kind"] == "event" and any(move["to"] == "PREPARE_COMMIT" for move in line.get("moves", ()))
    )
    cause = event["cause"]
    assert (cause["what"], cause["api"], cause["sender"], cause["receiver"]) == ("deliver", "EndTxn", 0, 3)
    assert cause["fields"] == {
        "version": 5,
        "transactional_id": "x",
        "producer_id": cause["fields"]["producer_id"],
        "producer_epoch": 0,
        "committed": True,
    }
    assert event["moves"] == [
        {"machine": "coordinator", "subject": "x", "from": "ONGOING", "event": "COMMIT", "to": "PREPARE_COMMIT"}
    ]
    assert {each["decision"] for each in event["verdicts"]} >= {"end_txn"}


def test_every_line_satisfies_the_schema(tmp_path: Path) -> None:
    checker = jsonschema.Draft202012Validator(json.loads(schema()))
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        stormy(trace, 0)
    for line in path.read_text().splitlines():
        checker.validate(json.loads(line))


def test_members_of_the_consumer_protocol_do_the_same_again(tmp_path: Path) -> None:
    """One gives back, one is silent for too long: its partitions pass on by time alone."""
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        cluster = Cluster(3, topics={"t": 4}, journal=trace)
        transport = ClusterTransport(cluster)
        given = {"group.id": "g", "group.protocol": "consumer", "enable.auto.commit": False}
        members = [Consumer(transport, given) for _ in range(2)]
        for number, each in enumerate(members):
            each.subscribe("t")
            for _ in range(20):
                for other in members[: number + 1]:
                    other.poll(1000)
        assert [len(each.assignment()) for each in members] == [2, 2]
        members[0].crash()
        for _ in range(60):
            members[1].poll(1000)
        assert len(members[1].assignment()) == 4
    moved = {(move.machine, move.event) for event in read_live(path).events for move in event.moves}
    assert moved >= {
        ("consumer_group_member", "REVOKE"),
        ("consumer_group_member", "SETTLE"),
        ("consumer_group_member", "AWAIT"),
    }
    found = live_again(read_live(path), path.name)
    assert (found.finding, found.open_question) == (None, "")


def test_every_machine_of_the_protocol_tells_its_moves(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        stormy(trace, 0)
        cluster = trace._cluster
        assert cluster is not None
        reader = FetchFilter(("t", 0), Isolation.READ_COMMITTED_BUFFERING, cluster.rules, trace.of_client("reader"))
        answer = cluster.ask(reader.request(), cluster.leader_of(("t", 0)))
        assert isinstance(answer, FetchAnswer)
        reader.read(answer.partitions["t", 0])
    moved = {move.machine for event in read_live(path).events for move in event.moves}
    assert moved == {"coordinator", "partition_leader", "producer", "consumer"}
    found = live_again(read_live(path), path.name)
    assert (found.finding, found.open_question) == (None, "")


def stormy(trace: LiveTrace, seed: int) -> None:
    """Two producers, while nodes go and come, coordinators change, messages are lost and doubled."""
    chance = random.Random(seed)
    cluster = Cluster(3, settings=FEW, topics={"t": [(1, 2), (2, 3)]}, journal=trace)
    stage = Stage(cluster)

    def application(producer: StagedProducer) -> Waits[None]:
        yield from producer.finished(producer.manager.init_transactions())
        for _ in range(3):
            producer.manager.begin_transaction()
            for number in range(2):
                producer.sender.send(("t", number), Record(None, b"value"), stage.now_ms)
            call = producer.manager.begin_commit if chance.random() < 0.7 else producer.manager.begin_abort
            yield from producer.finished(call())

    tasks = []
    for name in ("x0", "x1"):
        producer = StagedProducer(stage, name)
        producer.manager.lifecycle.journal = trace.of_client(f"producer of {name}")
        tasks.append(stage.start(application(producer)))
    for turn in range(300):
        stage.turn()
        happens = {20: lambda: cluster.kill(2), 40: lambda: cluster.start(2, was_clean=False)}.get(turn)
        if happens is not None:
            happens()
        if turn == 60:
            cluster.elect(("__transaction_state", 0))
        first = next(iter(cluster.network.in_flight), None)
        if first is not None and chance.random() < 0.03:
            cluster.lose(first) if first.is_answer or first.body is None else cluster.double(first)
    assert all(task.is_done and task.failure is None for task in tasks)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_stormy_run_is_taken_again_event_by_event(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        stormy(trace, seed)
    record = read_live(path)
    assert {"kill", "start", "elect", "timer", "lose", "client"} <= {event.cause.what for event in record.events}
    found = live_again(record, path.name)
    assert (found.finding, found.open_question, found.judged) == (None, "", len(record.events))


def test_a_run_whose_appends_become_durable_later_is_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        cluster = Cluster(1, settings=FEW, topics={"t": 1}, journal=trace, open_store=held_log.held)
        held_log.flush(cluster)
        for committed in (True, False):
            granted = _answered(cluster, InitProducerId(4, "x", 60_000, NONE, NONE))
            assert isinstance(granted, InitProducerIdAnswer)
            identity = granted.producer_id, granted.producer_epoch
            batch = Batch(*identity, 0, transactional=True, records=(Record(None, b"v"),))
            _answered(cluster, Produce(12, "x", -1, {("t", 0): (SentBatch(batch),)}))
            _answered(cluster, EndTxn(5, "x", *identity, committed))
        cluster.kill(1)
        cluster.start(1, was_clean=False)
    record = read_live(path)
    assert sum(event.cause.what == "flushed" for event in record.events) > 10
    found = live_again(record, path.name)
    assert (found.finding, found.open_question, found.judged) == (None, "", len(record.events))


def _answered(cluster: Cluster, request: Request) -> Answer:
    """Let everything arrive and become durable, in turns, until there is an answer."""
    exchange = cluster.send(request)
    for _ in range(50):
        cluster.settle()
        if exchange.answer is not None:
            return exchange.answer
        held_log.flush(cluster)
    raise AssertionError("it is never durable")


def test_a_run_that_begins_with_logs_is_taken_again_from_there(tmp_path: Path) -> None:
    first = Cluster(1, settings=FEW, topics={"t": 1})
    identity = init(first, "x", 1)
    produce(first, identity, ("t", 0))
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        kept = {tp: store for (_, tp), store in first.stores.items()}
        cluster = Cluster(1, settings=FEW, topics={"t": 1}, open_store=lambda node, tp: kept[tp], journal=trace)
        identity = end(cluster, identity, committed=True, node=1)
        cluster.settle()
    record = read_live(path)
    assert sorted(event.cause.partition or () for event in record.events if event.cause.what == "found") == [
        ("__transaction_state", 0),
        ("t", 0),
    ]
    found = live_again(record, path.name)
    assert (found.finding, found.judged) == (None, len(record.events))


class Ticking:
    """A clock that goes on by itself, as a machine's does: each look is later than the last one."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def now_ms(self) -> int:
        self.now += 7
        return self.now


def test_under_a_clock_that_goes_on_one_cause_has_one_time(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        cluster = Cluster(1, settings=FEW, topics={"t": 1}, clock=Ticking(), journal=trace)
        granted = cluster.ask(InitProducerId(4, "x", 60_000, NONE, NONE))
        assert isinstance(granted, InitProducerIdAnswer)
        produce(cluster, (granted.producer_id, granted.producer_epoch), ("t", 0))
        cluster.sweep()
    record = read_live(path)
    assert len({event.ms for event in record.events}) == len(record.events)
    found = live_again(record, path.name)
    assert (found.finding, found.open_question) == (None, "")


def test_without_a_trace_a_cluster_keeps_its_clock_and_writes_nothing() -> None:
    clock = ManualClock()
    cluster = Cluster(1, settings=FEW, clock=clock)
    assert cluster.clock is clock


def test_what_a_client_does_meanwhile_stands_behind_the_event_and_does_not_tear_it() -> None:
    lines: list[str] = []
    trace = LiveTrace(lines.append)
    cluster = Cluster(1, settings=FEW, topics={"t": 1}, journal=trace)
    cluster.send(InitProducerId(4, "x", 60_000, NONE, NONE))
    cluster.step()
    notes = Notes()
    move(notes, MachineIndex.PRODUCER, ProducerState.UNINITIALIZED, ProducerEvent.INIT_TRANSACTIONS)
    client = trace.of_client("A")
    client.caused("call", call="initTransactions")
    client.take("x", notes)
    note(trace.begin(), Decision.INIT_PRODUCER_ID, Row.I11C, Error.NONE)
    trace.take("a decision that the brokers make after that")
    trace.end()
    event, of_client = (json.loads(line) for line in lines[-3:-1])
    assert event["cause"]["what"] == "deliver"
    assert event["verdicts"][-1]["subject"] == "a decision that the brokers make after that"
    assert of_client["cause"] == {
        "what": "client",
        "client": "A",
        "fields": {"because": "call", "call": "initTransactions"},
    }
    assert [each["to"] for each in of_client["moves"]] == ["INITIALIZING"]


def test_a_trace_holds_the_run_of_one_cluster() -> None:
    trace = LiveTrace(lambda line: None)
    Cluster(1, settings=FEW, journal=trace)
    with pytest.raises(ValueError, match="a trace holds the run of one cluster: open another one"):
        Cluster(1, settings=FEW, journal=trace)


# ---------------------------------------------------------------- promises


@pytest.mark.parametrize("promise", BREAKING)
def test_a_run_that_breaks_a_promise_is_found_out(tmp_path: Path, promise: str) -> None:
    found = judged(written(BREAKING[promise]), tmp_path / "run.jsonl")
    assert found.finding is not None
    assert (found.finding.promise, found.finding.message) == (promise, IN_STATES[promise].sentence)
    assert 1 < found.finding.line <= len(found.record.events) + 1


def test_a_run_under_other_rules_than_it_says_is_found_out(tmp_path: Path) -> None:
    lines = written(BREAKING["only_its_owner_ends_a_transaction"])
    lines[0]["rules"]["strict_end"] = 1
    found = judged(lines, tmp_path / "run.jsonl")
    assert found.finding is not None
    assert found.finding.promise == "a_decision_is_the_one_that_the_rules_make"


def test_a_machine_that_leaves_its_table_live_is_found_in_the_trace(tmp_path: Path) -> None:
    lines: list[str] = []
    rules = preset("newest")
    rules.only_idle_ids_expire = 0
    cluster = traced(lines.append, rules)
    identity = init(cluster, "x")
    produce(cluster, identity, ("t", 0))
    assert isinstance(cluster.clock, ManualClock)
    cluster.clock.advance(cluster.settings.transactional_id_expiration_ms + 1)
    with pytest.raises(IllegalTransition):
        cluster.remove_expired_ids(3)
    found = judged([json.loads(line) for line in lines], tmp_path / "run.jsonl")
    assert found.finding is not None
    assert found.finding.promise == "no_machine_leaves_its_table"
    assert "EXPIRE is illegal in ONGOING" in found.finding.message
    assert found.finding.line == len(lines)


def test_what_is_judged_of_a_run_are_promises_of_the_catalogue() -> None:
    assert set(JUDGED) <= set(IN_STATES)


# ---------------------------------------------------------------- whatever was changed is found


def _events(lines: Lines) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines):
        if line["kind"] == "event":
            yield number, line


def _copy(lines: Lines) -> Lines:
    copied: Lines = json.loads(json.dumps(lines))
    return copied


@pytest.mark.slow
def test_every_changed_decision_is_found_at_its_line(well: Lines, tmp_path: Path) -> None:
    tried = 0
    for number, event in _events(well):
        for place, said in enumerate(event.get("verdicts", ())):
            for field, other in (("error", "INVALID_TXN_STATE"), ("row", "A4"), ("subject", "y"), ("decision", "z")):
                lines = _copy(well)
                lines[number]["verdicts"][place][field] = other if said[field] != other else "NONE"
                found = judged(lines, tmp_path / "run.jsonl").finding
                assert found is not None
                assert (found.line, found.promise) == (number + 1, "a_decision_is_the_one_that_the_rules_make")
                tried += 1
    assert tried > 60


def test_every_changed_move_is_found_at_its_line(well: Lines, tmp_path: Path) -> None:
    tried = 0
    for number, event in _events(well):
        if not event.get("moves"):
            continue
        lines = _copy(well)
        lines[number]["moves"][0]["to"] = lines[number]["moves"][0]["from"]
        left_out = _copy(well)
        del left_out[number]["moves"]
        for changed in (lines, left_out):
            if changed == well:
                continue
            found = judged(changed, tmp_path / "run.jsonl").finding
            assert found is not None
            assert found.line == number + 1
            assert found.promise in ("no_machine_leaves_its_table", "a_move_follows_from_its_decision")
            tried += 1
    assert tried > 10


def test_a_changed_cause_is_found_where_something_else_follows(well: Lines, tmp_path: Path) -> None:
    sent = [number for number, event in _events(well) if event["cause"]["what"] == "send"]
    tried = 0
    for number in sent:
        body = well[number]["cause"]["body"]
        for field, value in {"producer_epoch": 7, "committed": not body.get("committed"), "timeout_ms": -1}.items():
            if field not in body:
                continue
            lines = _copy(well)
            lines[number]["cause"]["body"][field] = value
            found = judged(lines, tmp_path / "run.jsonl").finding
            assert found is not None
            assert number + 1 <= found.line <= number + 2
            tried += 1
    assert tried >= 5


def test_an_event_that_is_missing_is_noticed(well: Lines, tmp_path: Path) -> None:
    for number, left_out in list(_events(well))[3:]:
        if left_out["cause"]["is_answer"] and left_out["cause"]["receiver"] == 0:
            continue  # an answer may still be on its way
        lines = _copy(well)
        del lines[number]
        for place, (_, event) in enumerate(_events(lines), start=1):
            event["number"] = place
        lines[-1]["events"] -= 1
        found = judged(lines, tmp_path / "run.jsonl")
        if number == len(well) - 2:
            continue  # the last one: nothing follows that would miss it
        assert found.finding is not None or found.open_question


def test_a_client_that_goes_where_its_table_does_not_is_found(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        stormy(trace, 1)
    lines: Lines = [json.loads(line) for line in path.read_text().splitlines()]
    told = [number for number, event in _events(lines) if event["cause"]["what"] == "client"]
    assert len(told) > 10
    lines[told[4]]["moves"][0] |= {"from": "READY", "event": "BEGIN", "to": "COMMITTING_TRANSACTION"}
    found = judged(lines, path).finding
    assert found is not None
    assert (found.line, found.promise) == (told[4] + 1, "no_machine_leaves_its_table")
    lines[told[4]]["moves"][0] |= {"from": "UNINITIALIZED", "event": "INIT_TRANSACTIONS", "to": "INITIALIZING"}
    found = judged(lines, path).finding
    assert found is not None
    assert (found.line, found.promise) == (told[4] + 1, "no_machine_leaves_its_table")


# ---------------------------------------------------------------- files that are not whole


def test_a_torn_last_line_is_left_out_with_a_word(well: Lines, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in well)
    path.write_text(text[:-10])
    record = read_live(path)
    found = live_again(record, path.name)
    assert found.finding is None
    assert "is torn after" in found.open_question
    assert found.judged == len(record.events)


def test_a_file_can_be_cut_at_every_byte_of_its_last_lines(well: Lines, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in well)
    for left in range(len(text) - 150, len(text)):
        path.write_text(text[:left])
        record = read_live(path)
        assert record.fault
        assert record.line == len(record.events) + 2


def test_a_run_that_was_not_closed_is_judged_and_not_proven(well: Lines, tmp_path: Path) -> None:
    found = judged(well[:-1], tmp_path / "run.jsonl")
    assert (found.finding, found.judged) == (None, len(well) - 2)
    assert found.open_question == "was not closed: whoever wrote it was killed, or still runs; what it holds is judged"


def _altered(place: int, **changes: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[place].update(changes)


def _cause(place: int, **changes: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[place]["cause"].update(changes)


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (_altered(0, version=3), 1, "is of version 3; this program reads version 1 and 2"),
        (_altered(0, cluster=None), 1, "a cluster is described exactly in the trace of a live run"),
        (_altered(0, cluster={"nodes": 1}), 1, "describes no cluster: KeyError: 'settings'"),
        (_altered(0, cluster={"nodes": 1, "settings": {"x": 1}, "topics": {}, "release": "4.3"}), 1, "unexpected keyw"),
        (_altered(4, number=9), 5, "is event 9; event 4 would be next"),
        (_altered(4, kind="step"), 5, "has the kind 'step'; legal: header, event, end"),
        (_altered(4, surprise=1), 5, "has surprise, which is unknown here; legal in the event: "),
        (_altered(-1, events=3), 0, "speaks of 3 events, and there are"),
        (_cause(SENT, body={"is": "Nothing"}), SENT + 1, "cannot happen as it says: 'Nothing' is no message"),
        (_cause(SENT, body={"is": "EndTxn"}), SENT + 1, "no EndTxn is made of nothing"),
        (_cause(SENT, body={"bytes": "?"}), SENT + 1, "'?' is no base64"),
        (_cause(SENT, body={"pairs": [[1]]}), SENT + 1, "are no pairs of a key and a value"),
        (_cause(SENT, body={"x": 1}), SENT + 1, "is no part of a message; an object says what it is under 'is'"),
    ],
)
def test_a_malformed_run_is_refused_at_its_line(
    well: Lines, tmp_path: Path, change: Callable[[Lines], None], line: int, says: str
) -> None:
    lines = _copy(well)
    change(lines)
    with pytest.raises(TraceError) as caught:
        judged(lines, tmp_path / "run.jsonl")
    assert says in str(caught.value)
    assert caught.value.line == (line or len(lines))


def test_an_unknown_cause_leaves_the_rest_open(well: Lines, tmp_path: Path) -> None:
    lines = _copy(well)
    lines[SENT]["cause"] = {"what": "earthquake"}
    found = judged(lines, tmp_path / "run.jsonl")
    assert found.finding is None
    assert found.open_question.startswith("'earthquake' is nothing that can happen again; legal: send, deliver")
    assert (found.line, found.judged) == (SENT + 1, SENT - 1)


def test_every_cause_that_a_cluster_tells_can_happen_again(repository_root: Path) -> None:
    source = (repository_root / "zombieproof/broker/cluster/cluster.py").read_text()
    told = set(re.findall(r'journal\.caused\(\s*"(\w+)"', source))
    assert {"send", "deliver", "kill", "create", "retention"} <= told
    assert told == set(HAPPENS)


def test_a_message_that_is_not_in_flight_leaves_the_rest_open(well: Lines, tmp_path: Path) -> None:
    lines = _copy(well)
    number = next(n for n, event in _events(lines) if n > SENT and event["cause"]["what"] == "deliver")
    lines[number]["cause"]["number"] = 4711
    found = judged(lines, tmp_path / "run.jsonl")
    assert "4711" in found.open_question
    assert "is not in flight here" in found.open_question


def test_a_story_and_a_live_run_are_told_apart(well: Lines, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in well[:1]))
    assert is_live_trace(path)
    assert not is_live_trace(tmp_path / "nowhere")
    with pytest.raises(TraceError, match=r"a trace ends with its verdict|is the trace of a live run"):
        read_trace(path)
    path.write_text("")
    with pytest.raises(TraceError, match="holds no whole line"):
        read_live(path)
    with pytest.raises(TraceError, match="cannot be read"):
        read_live(tmp_path / "nowhere")
    path.write_bytes(b'{"format":"zombieproof-trace"}\n\xff\n')
    with pytest.raises(TraceError, match="line 2: byte 31 is not UTF-8"):
        read_live(path)


def test_the_end_of_one_transaction_begins_the_next(tmp_path: Path) -> None:
    lines: list[str] = []
    cluster = traced(lines.append, Rules(transaction_version=0))
    identity = init(cluster, "x")
    assert end(cluster, identity, committed=True) == identity
    found = judged([json.loads(line) for line in lines], tmp_path / "run.jsonl")
    assert found.finding is None


# ---------------------------------------------------------------- a cluster on disk


def _transactions(cluster: Embedded, identity: tuple[int, int], count: int) -> tuple[int, int]:
    """One transaction after the other; what is refused because the one before is being ended is asked again."""
    for _ in range(count):
        batch = Batch(*identity, 0, transactional=True, records=(Record(None, b"v"),))
        request = Produce(12, "x", -1, {("t", 0): (SentBatch(batch),)})
        while not isinstance(answer := cluster.ask(request), ProduceAnswer) or answer.partitions["t", 0].error:
            cluster.pump()
        ended = cluster.ask(EndTxn(5, "x", *identity, True))
        assert isinstance(ended, EndTxnAnswer)
        assert ended.error == Error.NONE
        identity = ended.producer_id, ended.producer_epoch
    return identity


def test_a_cluster_on_disk_has_a_trace_in_each_of_its_lives(tmp_path: Path) -> None:
    identity = NONE, NONE
    for life in range(3):
        path = tmp_path / f"run{life}.jsonl"
        with LiveTraceFile(path, "embedded") as trace:
            cluster = Embedded(tmp_path / "data", nodes=1, topics={"t": 1}, settings=FEW, journal=trace)
            if life == 0:
                granted = cluster.ask(InitProducerId(4, "x", 60_000, NONE, NONE))
                assert isinstance(granted, InitProducerIdAnswer)
                identity = granted.producer_id, granted.producer_epoch
            identity = _transactions(cluster, identity, 3)
            cluster.create_topic(f"of-life-{life}")
            cluster.abandon() if life == 1 else cluster.close()
        record = read_live(path)
        causes = {event.cause.what for event in record.events}
        assert {"flushed", "create"} <= causes
        assert ("found" in causes) == (life > 0)
        found = live_again(record, path.name)
        assert (found.finding, found.open_question, found.judged) == (None, "", len(record.events))
