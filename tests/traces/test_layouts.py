"""Lines of logs in the layouts of distributions and frameworks become lines as Kafka writes them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.wrapping import LAYOUTS, Wrapping
from zombieproof.traces.readers.client_log import read_client_log
from zombieproof.traces.readers.coordinator_log import read_coordinator_line
from zombieproof.traces.readers.layouts import is_log_line, layout_of

MESSAGE = "[Producer clientId=c-1, transactionalId=pay] Transition from state READY to IN_TRANSACTION"
LOGGER = "org.apache.kafka.clients.producer.internals.TransactionManager"
CANONICAL = f"[2024-05-01 10:00:00,052] DEBUG {MESSAGE} ({LOGGER})"

LINES = {
    "brackets and T": f"[2024-05-01T10:00:00.052Z] DEBUG {MESSAGE} ({LOGGER})",
    "offset ahead": f"2024-05-01T12:00:00.052+02:00 DEBUG {MESSAGE} ({LOGGER})",
    "offset behind": f"2024-05-01 04:30:00,052 -0530 DEBUG {MESSAGE} ({LOGGER})",
    "nanoseconds": f"2024-05-01T10:00:00.052999999Z DEBUG {MESSAGE} ({LOGGER})",
    "thread behind": f"2024-05-01 10:00:00,052 DEBUG {MESSAGE} ({LOGGER}) [kafka-producer-network-thread | c-1]",
    "thread before": f"2024-05-01 10:00:00,052 [main] DEBUG {MESSAGE} ({LOGGER})",
    "line number": f"[2024-05-01 10:00:00,052] DEBUG {MESSAGE} ({LOGGER}:1029)",
    "Spring Boot 2": f"2024-05-01 10:00:00.052 DEBUG 1 --- [ad | producer-1] {LOGGER} : {MESSAGE}",
    "Spring Boot 3": f"2024-05-01T11:00:00.052+01:00 DEBUG 1 --- [shop] [ad | c-1] [5f-1] {LOGGER}   : {MESSAGE}",
    "Logback": f"2024-05-01 10:00:00.052 [main] DEBUG {LOGGER} - {MESSAGE}",
    "Logback, level in brackets": f"2024-05-01 10:00:00.052 [DEBUG] [main] {LOGGER} - {MESSAGE}",
    "log4j with a line number": f"2024-05-01 10:00:00,052 DEBUG [main] {LOGGER}:77 - {MESSAGE}",
    "Flink": f"2024-05-01 10:00:00,052 DEBUG {LOGGER} [] - {MESSAGE}",
    "Quarkus": f"2024-05-01 10:00:00,052 DEBUG [{LOGGER}] (executor-thread-1) {MESSAGE}",
    "Debezium": f"2024-05-01 10:00:00,052 DEBUG  Postgres|shop|task  {MESSAGE}   [{LOGGER}]",
    "level first": f"DEBUG 2024-05-01 10:00:00,052 [main] {LOGGER} - {MESSAGE}",
    "Spark": f"24/05/01 10:00:00 DEBUG {LOGGER}: {MESSAGE}",
    "JsonLayout": json.dumps(
        {
            "instant": {"epochSecond": 1714557600, "nanoOfSecond": 52000000},
            "thread": "main",
            "level": "DEBUG",
            "loggerName": LOGGER,
            "message": MESSAGE,
            "endOfBatch": False,
        }
    ),
    "JSON in milliseconds": json.dumps(
        {"timeMillis": 1714557600052, "level": "DEBUG", "logger": LOGGER, "message": MESSAGE}
    ),
    "ECS, nested": json.dumps(
        {
            "@timestamp": "2024-05-01T10:00:00.052Z",
            "log": {"level": "DEBUG", "logger": LOGGER},
            "message": MESSAGE,
        }
    ),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_in_another_layout_becomes_kafkas_own(line: str) -> None:
    found = layout_of(line)
    assert found is not None
    without_millis = CANONICAL.replace(",052", ",000")
    assert found.text == (without_millis if line.startswith("24/") else CANONICAL)
    assert is_log_line(line) == (not line.startswith(("{", "24/"))) or layout_of(line)


@pytest.mark.parametrize("wrapping", LAYOUTS, ids=lambda each: each.name)
def test_each_layout_of_the_wrapped_recordings_is_undone(wrapping: Wrapping) -> None:
    (line,) = wrapping.wrap([CANONICAL])
    found = layout_of(line)
    assert found is not None
    assert found.text == CANONICAL


def test_kafkas_own_line_is_left_alone() -> None:
    assert layout_of(CANONICAL) is None
    assert layout_of("[2024-05-01 10:00:00,052] INFO KafkaConfig values: ") is None
    assert layout_of("[2024-05-01 10:00:00,052] WARN stopped - for good") is None


@pytest.mark.parametrize(
    "line",
    [
        "\tat kafka.server.KafkaApis.handle(KafkaApis.scala:1)",
        "2024/05/01 10:00:00 [sarama] txnmgr/transition [a] (LastState)",
        "2024-05-01 10:00:00,052 - app - DEBUG - sent",
        "2024-05-01T10:00:00.052Z\tINFO\tapp/main.go:12\tsent",
        '{"level":"info","ts":1700000000.1,"logger":"kgo","msg":"sent"}',
        '{"level":"INFO","logger":"kafkajs","message":"[Producer] sent","timestamp":"2024-05-01T10:00:00Z"}',
        '{"message": 5, "level": "INFO", "logger": "a.B"}',
        '{"message": "x", "level": [], "logger": "a.B"}',
        "{" * 5000,
        "",
    ],
)
def test_a_line_that_has_no_such_layout_is_left_alone(line: str) -> None:
    assert layout_of(line) is None


def test_a_time_that_no_calendar_has_stays_as_it_is() -> None:
    found = layout_of(f"2024-13-41 10:00:00,052 DEBUG {MESSAGE} ({LOGGER}) [main]")
    assert found is not None
    assert found.text == f"[2024-13-41 10:00:00,052] DEBUG {MESSAGE} ({LOGGER})"
    for time in (float("inf"), None, True, {"epochSecond": "x"}, 10**30):
        without = layout_of(json.dumps({"ts": time, "level": "INFO", "logger": LOGGER, "message": MESSAGE}))
        assert without is not None
        assert without.text.endswith(f"INFO {MESSAGE} ({LOGGER})")


def test_readers_understand_what_comes_out() -> None:
    found = layout_of(LINES["Spring Boot 3"])
    assert found is not None
    (told,) = read_client_log(memoryview(f"{found.text}\n".encode()), "app.log").lines
    assert (told.timestamp_ms, told.transactional_id, told.after) == (1714557600052, "pay", "IN_TRANSACTION")
    transition = (
        "TransactionalId pay prepare transition from Ongoing to TxnTransitMetadata(producerId=1, lastProducerId=1, "
        "producerEpoch=0, lastProducerEpoch=-1, txnTimeoutMs=60000, txnState=PrepareCommit, topicPartitions=Set(a-0), "
        "txnStartTimestamp=1, txnLastUpdateTimestamp=2)"
    )
    line = f"2024-05-01T10:00:00,052 DEBUG {transition} (kafka.coordinator.transaction.TransactionMetadata) [handler-3]"
    strimzi = layout_of(line)
    assert strimzi is not None
    assert read_coordinator_line(strimzi.text, 1, "server.log") is not None


@given(st.text(max_size=80), st.sampled_from(["", "2024-05-01 10:00:00,052 DEBUG ", "{", "[2024-05-01 ", "24/05/01 "]))
def test_any_text_is_looked_at_without_a_traceback(text: str, start: str) -> None:
    layout_of(start + text)
    is_log_line(start + text)
