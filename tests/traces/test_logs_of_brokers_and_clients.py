"""DEBUG lines of coordinators and producer clients, and what applications wrote down themselves."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import ClientFact, ClientLine, Phase, TransitTarget
from zombieproof.traces.readers.broker_log import read_broker_log
from zombieproof.traces.readers.client_calls import looks_like_calls, read_calls
from zombieproof.traces.readers.client_log import read_client_log
from zombieproof.traces.readers.coordinator_log import read_coordinator_log
from zombieproof.traces.readers.timestamps import timestamp_ms

TIME = "[2026-11-21 13:19:48,339] DEBUG "
MOMENT = 1795267188339
LOGGER = " (org.apache.kafka.coordinator.transaction.TransactionMetadata)"
OLD_LOGGER = " (kafka.coordinator.transaction.TransactionMetadata)"
PREPARE = f"{TIME}TransactionalId orders-1 prepare transition from ONGOING to PREPARE_EPOCH_FENCE{LOGGER}\n"
COMPLETE = (
    f"{TIME}TransactionalId orders-1 complete transition from ONGOING to TxnTransitMetadata[producerId=0, "
    "prevProducerId=0, nextProducerId=-1, producerEpoch=1, lastProducerEpoch=0, txnTimeoutMs=60000, "
    "txnState=PREPARE_ABORT, topicPartitions=[t-1, with-dash-0], txnStartTimestamp=5, "
    f"txnLastUpdateTimestamp=6, clientTransactionVersion=TV_2]{LOGGER}\n"
)
OLD = (
    f"{TIME}TransactionalId orders-1 WHAT transition from Empty to TxnTransitMetadata(producerId=0, lastProducerId=0, "
    "producerEpoch=0, lastProducerEpoch=-1, txnTimeoutMs=60000, txnState=Ongoing, topicPartitions=Set(t-0), "
    f"txnStartTimestamp=5, txnLastUpdateTimestamp=6){OLD_LOGGER}\n"
)
NOISE = (
    f"{TIME}[Transaction State Manager 1]: Updating orders-1's transaction state to TxnTransitMetadata[producerId=0]\n"
    "java.lang.IllegalStateException: no transition from here\n\n"
)


def view(text: str) -> memoryview:
    return memoryview(text.encode())


def test_a_prepared_transition_of_kafka_4_names_the_target_state() -> None:
    (line,), damage = read_coordinator_log(view(NOISE + PREPARE), "server.log")
    assert damage == []
    assert (line.line, line.timestamp_ms, line.transactional_id, line.phase) == (4, MOMENT, "orders-1", Phase.PREPARE)
    assert (line.from_state, line.to_state) == (TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE)
    assert line.target is None


def test_a_completed_transition_of_kafka_4_has_its_whole_target() -> None:
    (line,), damage = read_coordinator_log(view(COMPLETE), "server.log")
    assert damage == []
    assert line.to_state is TransactionState.PREPARE_ABORT
    assert line.target == TransitTarget(
        0, 0, -1, 1, 0, 60000, frozenset({("t", 1), ("with-dash", 0)}), 5, 6, client_transaction_version=2
    )


@pytest.mark.parametrize("phase", Phase)
def test_both_lines_of_kafka_3_have_the_whole_target(phase: Phase) -> None:
    (line,), damage = read_coordinator_log(view(OLD.replace("WHAT", phase)), "server.log")
    assert damage == []
    assert (line.phase, line.from_state, line.to_state) == (phase, TransactionState.EMPTY, TransactionState.ONGOING)
    assert line.target == TransitTarget(
        0, 0, None, 0, -1, 60000, frozenset({("t", 0)}), 5, 6, client_transaction_version=None
    )


@pytest.mark.parametrize("name", ["", "a b", "x prepare transition from Y to Z", "id complete"])
def test_an_id_may_hold_any_text(name: str) -> None:
    (line,), damage = read_coordinator_log(view(COMPLETE.replace("orders-1", name)), "f")
    assert damage == []
    assert line.transactional_id == name


@pytest.mark.parametrize("text", [PREPARE, COMPLETE, OLD.replace("WHAT", "prepare")])
def test_a_cut_transition_is_named_by_its_line(text: str) -> None:
    bare = text.split(" (", maxsplit=1)[0]
    start = text.index(" transition from ") + len(" transition from ")
    for end in range(start, len(bare)):
        lines, damage = read_coordinator_log(view(NOISE + text[:end]), "f")
        whole_word = lines and lines[0].target is None
        assert whole_word or [place.position for place in damage] == [4], text[:end]


@pytest.mark.parametrize(
    ("find", "put"),
    [
        ("txnState=PREPARE_ABORT", "txnState=NOWHERE"),
        ("TV_2", "TV_x"),
        ("producerEpoch=1", "producerEpoch=one"),
        ("[t-1, with-dash-0]", "[t1]"),
        ("txnTimeoutMs=60000, ", ""),
    ],
)
def test_a_garbled_transition_is_named(find: str, put: str) -> None:
    lines, damage = read_coordinator_log(view(COMPLETE.replace(find, put)), "f")
    assert lines == []
    assert [place.position for place in damage] == [1]


RDKAFKA = """\
%7|1795268608.877|TXNAPI|rd-a#producer-1| [thrd:app]: Transactional API called: init_transactions (in txn state Init)
%7|1795268608.878|TXNSTATE|rd-a#producer-1| [thrd:main]: Transaction state change Init -> WaitPID
%7|1795268608.879|IDEMPSTATE|rd-a#producer-1| [thrd:main]: Idempotent producer state change Init -> RequestPID
%7|1795268609.921|GETPID|rd-a#producer-1| [thrd:main]: Acquired PID{Id:4000,Epoch:3}
%7|1795268609.969|TXNAPI|rd-a#producer-1| [thrd:app]: Transactional API called: commit_transaction (in txn state X)
%7|1795268609.978|TXNAPI|rd-a#producer-1| [thrd:app]: Transactional API commit_transaction return at f:12: Success
%7|1795268610.000|TXNAPI|rd-a#producer-1| [thrd:app]: Transactional API commit_transaction return at f:12: _FENCED: no
%1|1795268610.001|TXNERR|rd-a#producer-1| [thrd:main]: Fatal transaction error: fenced by newer producer
DEBUG TXNSTATE [rd-b#producer-2] [thrd:main]: Transaction state change Ready -> InTransaction
"""
JAVA = """\
[2026-11-21 13:19:48,339] DEBUG [Producer clientId=app-a, transactionalId=orders-1] Transition from state READY to \
IN_TRANSACTION (org.apache.kafka.clients.producer.internals.TransactionManager)
[2026-11-21 13:19:48,339] INFO [Producer clientId=app-a, transactionalId=orders-1] ProducerId set to 4000 with epoch 3 \
(org.apache.kafka.clients.producer.internals.TransactionManager)
[2026-11-21 13:19:48,339] DEBUG [Producer clientId=app-a, transactionalId=orders-1] ProducerId of partition t-0 set to 0
[2026-11-21 13:19:48,339] DEBUG [Producer clientId=app-a, transactionalId=orders-1] Enqueuing transactional request \
EndTxnRequestData(transactionalId='orders-1', producerId=4000, producerEpoch=3, committed=true) (x.TransactionManager)
[2026-11-21 13:19:48,339] DEBUG [Producer clientId=app-a, transactionalId=orders-1] Enqueuing transactional request \
(type=EndTxnRequest, transactionalId=orders-1, producerId=4000, producerEpoch=3, result=ABORT) (x.TransactionManager)
[2026-11-21 13:19:48,339] INFO [Producer clientId=app-a, transactionalId=orders-1] Transiting to fatal error state due \
to org.apache.kafka.common.errors.ProducerFencedException: newer (x.TransactionManager)
[2026-11-21 13:19:48,339] DEBUG [Producer clientId=app-a, transactionalId=orders-1] Transition from state \
IN_TRANSACTION to error state FATAL_ERROR (x.TransactionManager)
"""


def told(lines: list[ClientLine]) -> list[tuple[ClientFact, str, str, int, int]]:
    return [(line.fact, line.before, line.after, line.producer_id, line.producer_epoch) for line in lines]


def test_lines_of_librdkafka_tell_state_identity_questions_and_answers() -> None:
    lines, damage, _ = read_client_log(view(RDKAFKA), "f")
    assert damage == []
    assert told(lines) == [
        (ClientFact.ASKED, "", "init", NONE, NONE),
        (ClientFact.STATE, "Init", "WaitPID", NONE, NONE),
        (ClientFact.IDENTITY, "", "", 4000, 3),
        (ClientFact.ASKED, "", "commit", NONE, NONE),
        (ClientFact.TOLD, "ok", "commit", NONE, NONE),
        (ClientFact.TOLD, "_FENCED: no", "commit", NONE, NONE),
        (ClientFact.ERROR, "fatal", "fenced by newer producer", NONE, NONE),
        (ClientFact.STATE, "Ready", "InTransaction", NONE, NONE),
    ]
    assert [line.client for line in lines] == ["rd-a#producer-1"] * 7 + ["rd-b#producer-2"]
    assert [line.timestamp_ms for line in lines[:2]] == [1795268608877, 1795268608878]
    assert [line.line for line in lines] == [1, 2, 4, 5, 6, 7, 8, 9]


def test_lines_of_the_java_client_tell_state_identity_ends_and_errors() -> None:
    lines, damage, _ = read_client_log(view(JAVA), "f")
    assert damage == []
    assert told(lines) == [
        (ClientFact.STATE, "READY", "IN_TRANSACTION", NONE, NONE),
        (ClientFact.IDENTITY, "", "", 4000, 3),
        (ClientFact.ASKED, "", "commit", 4000, 3),
        (ClientFact.ASKED, "", "abort", 4000, 3),
        (ClientFact.ERROR, "fatal", "org.apache.kafka.common.errors.ProducerFencedException: newer", NONE, NONE),
        (ClientFact.STATE, "IN_TRANSACTION", "FATAL_ERROR", NONE, NONE),
    ]
    assert {(line.client, line.transactional_id, line.timestamp_ms) for line in lines} == {
        ("app-a", "orders-1", MOMENT)
    }


@pytest.mark.parametrize(
    "line",
    [
        "%7|1795268608.878|TXNSTATE|rd-a#producer-1| [thrd:main]: Transaction state change Init ->",
        "[2026-11-21 13:19:48,339] DEBUG [Producer clientId=a, transactionalId=b] Transition from state READ",
        "[2026-11-21 13:19:48,339] INFO [Producer clientId=a, transactionalId=b] ProducerId set to 5 with",
        "[2026-11-21 13:19:48,339] INFO [Producer clientId=a] Transiting to fatal error st",
    ],
)
def test_a_cut_line_of_a_client_is_named(line: str) -> None:
    lines, damage, _ = read_client_log(view(f"\n{line}"), "f")
    assert lines == []
    assert [place.position for place in damage] == [2]


def test_a_client_without_a_transactional_id_is_read() -> None:
    (line,), _, _ = read_client_log(view("[Producer clientId=a] ProducerId set to 5 with epoch 0\n"), "f")
    assert (line.client, line.transactional_id, line.timestamp_ms) == ("a", None, None)


STATE = "[ProducerStateManager partition=t-0] Wrote producer snapshot at offset 5 with 1 producer ids in 1 ms."
LOG = "[UnifiedLog partition=t-0, dir=/d]"
JAVA_HEAD = "[Producer clientId=a, transactionalId=x]"
TOPIC = "topicId=85qUpunKTeeGlAv40V8Jfg"
PRINTED_BY_4_4 = (
    (
        "Creating new marker queue for txn partition 1 to destination broker 1 "
        "(org.apache.kafka.coordinator.transaction.TxnMarkerQueue)"
    ),
    "Added x to dead queue of broker 1 (org.apache.kafka.coordinator.transaction.TxnMarkerQueue)",
    "[GroupId g] Committing transactional offsets 5 for partition 85qUpunKTeeGlAv40V8Jfg-t-0 from member m",
    "Invalid sequence number for new epoch of producer 7 at offset 3 in partition t-0: 2 (request epoch)",
    f"{LOG} Message size is 9 bytes in append to partition t-0",
    f"{LOG} Rolled new segment (log_size = 1/2, segments)",
    f"{LOG} Closing quietly",
    f"{LOG} Error while flushing producer state snapshot s",
    f"{LOG} Error while taking producer state snapshot for t-0",
    f"{LOG} Error while preparing active segment for close for t-0",
    f"{LOG} The log for t-0 is already closed",
    "Unexpected aborted transaction version 7 in x.txnindex, supported version range is 0 to 0",
    "[Partition t-0 broker=1] Not increasing HWM because partition is under min ISR(ISR=[1])",
    "Sent AlterPartition to controller (org.apache.kafka.server.partition.DefaultAlterPartitionManager)",
    (
        f"{JAVA_HEAD} Enqueuing transactional request TxnOffsetCommitRequestData(generationIdOrMemberEpoch=-1, topics="
        f"[TxnOffsetCommitRequestTopic(name='in', {TOPIC}, partitions=[])]) (x.TransactionManager)"
    ),
    (
        f"{JAVA_HEAD} Received TxnOffsetCommit response for consumer group g: [TxnOffsetCommitResponseTopic(name='', "
        "partitions=[TxnOffsetCommitResponsePartition(partitionIndex=0, errorCode=0)])] (x.TransactionManager)"
    ),
    f"{JAVA_HEAD} Received TxnOffsetCommit response for consumer group g with an unknown topic id 85qUpunKTeeGlA",
    "Rebootstrap requested by server due to cluster metadata mismatch for cluster c and node 1.",
)
"""Lines that Kafka 4.4.0 prints in other words than 4.3.1, or that are new in it."""


@pytest.mark.parametrize("line", PRINTED_BY_4_4)
def test_lines_in_the_words_of_kafka_4_4_hide_nothing_and_are_no_damage(line: str) -> None:
    """None of them tells of a transition: they are passed over, and the lines around them are read."""
    log = view(f"{PREPARE}{TIME}{line}\n{COMPLETE}[2026-11-21 13:19:48,339] INFO {STATE}\n{JAVA}")
    transitions, damage = read_coordinator_log(log, "server.log")
    lines, cut, _ = read_client_log(log, "server.log")
    assert (damage, cut) == ([], [])
    assert [each.phase for each in transitions] == [Phase.PREPARE, Phase.COMPLETE]
    assert told(lines) == told(read_client_log(view(JAVA), "f")[0])
    assert [(each.place, each.end_offset) for each in read_broker_log(log, "server.log").hosted] == [(("t", 0), 5)]


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("[2026-11-21 13:19:48,339] DEBUG x", MOMENT),
        ("2026-11-21T13:19:48.339123Z main ERROR x", MOMENT),
        ("2026-11-21 13:19:48 INFO x", MOMENT - 339),
        ("[2026-13-41 13:19:48,339] DEBUG x", None),
        ("no time", None),
    ],
)
def test_the_time_of_a_line_is_read_as_utc(line: str, moment: int | None) -> None:
    assert timestamp_ms(line) == moment


CALL = {"t": 5, "client": "app", "action": "commit", "args": {"transactional_id": "x"}, "result": "ok"}
OUTCOME = {"id": "soak-1", "txn": 3, "records": ["0@15", "3@1"], "asked": "commit", "told": "committed"}


def test_calls_and_outcomes_are_read() -> None:
    failed = {**CALL, "t": None, "args": {}, "result": {"error": "ProducerFenced", "message": "m"}}
    fine = {**CALL, "result": {"error": "NONE", "base_offset": 0}}
    text = "\n".join(map(json.dumps, [CALL, failed, fine, OUTCOME])) + "\n\n"
    calls, outcomes, damage = read_calls(view(text), "f")
    assert damage == []
    assert [(call.line, call.timestamp_ms, call.transactional_id, call.error) for call in calls] == [
        (1, 5, "x", None),
        (2, None, None, "ProducerFenced"),
        (3, 5, "x", None),
    ]
    (outcome,) = outcomes
    assert (outcome.transactional_id, outcome.transaction, outcome.records) == ("soak-1", 3, ((0, 15), (3, 1)))
    assert (outcome.asked, outcome.told, outcome.line) == ("commit", "committed", 4)


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(CALL)[:-9],
        json.dumps({**CALL, "t": "now"}),
        json.dumps({**CALL, "client": 5}),
        json.dumps({**CALL, "args": []}),
        json.dumps({key: value for key, value in CALL.items() if key != "result"}),
        json.dumps({**OUTCOME, "records": "0@1"}),
        json.dumps({**OUTCOME, "records": ["0-1"]}),
        json.dumps({**OUTCOME, "records": [7]}),
        json.dumps({**OUTCOME, "txn": None}),
        "[1, 2]",
        "garbage",
        '{"t": ' + "9" * 5000 + "}",
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_call_is_named(line: str) -> None:
    calls, outcomes, damage = read_calls(view(f"{json.dumps(CALL)}\n{line}\n"), "f")
    assert (len(calls), outcomes) == (1, [])
    assert [place.position for place in damage] == [2]


@pytest.mark.parametrize("line", [json.dumps(CALL), json.dumps(OUTCOME)])
def test_calls_are_known_by_their_lines(line: str) -> None:
    assert looks_like_calls(line)
    assert not looks_like_calls(line[:-3])
    assert not looks_like_calls('{"key": 1}')


@given(cut=st.integers(0, 3000), at=st.integers(0, 3000), junk=st.text(max_size=5))
def test_no_mutilation_raises(cut: int, at: int, junk: str) -> None:
    whole = PREPARE + COMPLETE + OLD + RDKAFKA + JAVA + json.dumps(CALL) + "\n" + json.dumps(OUTCOME)
    place = at % len(whole)
    for changed in (whole[: cut % len(whole)], whole[:place] + junk + whole[place + len(junk) :]):
        assert len(read_coordinator_log(view(changed), "f")[0]) <= 3
        assert len(read_client_log(view(changed), "f")[0]) <= 14
        assert len(read_calls(view(changed), "f")[0]) <= 1
