"""Statements of clients: each row of the tables, the layouts around them, cut lines, and logs of other programs."""

import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import ClientFact, ClientLine, UnusedLines
from zombieproof.traces.readers.client_log import APPLICATION, read_client_log
from zombieproof.traces.readers.clients import franz_go, java, kafkajs, librdkafka, sarama
from zombieproof.traces.readers.clients.errors import code_in
from zombieproof.traces.readers.clients.layouts import record_of, time_in, utterances
from zombieproof.traces.readers.clients.statement import Library, Statement
from zombieproof.traces.readers.recognise import Kind, by_content

STATEMENTS = (
    *java.PRODUCER,
    *java.CONSUMER,
    *java.STREAMS,
    *java.CONNECT,
    *librdkafka.STATEMENTS,
    *franz_go.STATEMENTS,
    *sarama.STATEMENTS,
    *kafkajs.STATEMENTS,
)
TELLING = [statement for statement in STATEMENTS if statement.fact is not None]
FATAL = "Fatal transaction error: Failed to end transaction: Local: This instance has been fenced (_FENCED)"
FENCED = "org.apache.kafka.common.errors.ProducerFencedException"
JAVA = "[Producer clientId=app-a, transactionalId=orders-1]"
AT = 1764320429877


def name_of(statement: Statement) -> str:
    return f"{statement.library.value}: {statement.name}"


def read(text: str) -> list[ClientLine]:
    found = read_client_log(memoryview(text.encode()), "client.log")
    assert found.damage == []
    return found.lines


def shown(line: ClientLine) -> tuple[object, ...]:
    numbers = (line.producer_id, line.producer_epoch, line.waited_ms, line.limit_ms)
    return line.fact, line.before, line.after, line.client, line.transactional_id, *numbers


# ---- the tables


def test_each_statement_has_a_name_of_its_own_and_a_line() -> None:
    assert len(STATEMENTS) > 60
    named = {(statement.library, statement.name, statement.releases) for statement in STATEMENTS}
    assert len(named) == len(STATEMENTS)
    assert all(statement.line for statement in STATEMENTS)


@pytest.mark.parametrize("statement", STATEMENTS, ids=name_of)
def test_the_line_of_a_statement_is_that_statement(statement: Statement) -> None:
    (said,) = utterances(record_of(statement.line))
    assert said.library is statement.library
    names = [found.name for found, _ in said.table.that_match(said.text, said.values)]
    assert statement.name in names
    assert len({found.fact for found, _ in said.table.that_match(said.text, said.values)}) == len(names)


@pytest.mark.parametrize("statement", TELLING, ids=name_of)
def test_the_line_of_a_statement_tells_its_fact_with_all_its_fields(statement: Statement) -> None:
    found = [line for line in read(f"{statement.line}\n") if line.fact is statement.fact]
    (line,) = found
    assert line.timestamp_ms is not None or not re.search(r"\d{4}[-/]\d\d[-/]\d\d|^%", statement.line)
    assert line.client
    assert "{" not in line.before + line.after.replace("Generation{", "")
    for group, value in (("id", line.producer_id), ("epoch", line.producer_epoch), ("limit", line.limit_ms)):
        wanted = f"(?P<{group}>" in statement.rest or group in statement.keys.values()
        assert (value != NONE) == wanted, group
    if "(?P<waited>" in statement.rest:
        assert line.waited_ms > line.limit_ms


@pytest.mark.parametrize("statement", TELLING, ids=name_of)
def test_no_beginning_of_a_line_gives_another_number_or_state(statement: Statement) -> None:
    """A cut line tells what the whole one tells, or nothing; a reason may be shorter."""
    whole = read(f"{statement.line}\n")
    sure = {
        (line.fact, line.client, line.transactional_id, line.producer_id, line.producer_epoch, line.limit_ms)
        for line in whole
    }
    states = {(line.before, line.after) for line in whole if line.fact is ClientFact.STATE}
    for end in range(len(statement.line)):
        for line in read_client_log(memoryview(statement.line[:end].encode()), "client.log").lines:
            if line.fact is ClientFact.STATE:
                assert (line.before, line.after) in states, statement.line[:end]
            if line.fact in {ClientFact.IDENTITY, ClientFact.LIMIT}:
                identity = (line.fact, line.client, line.transactional_id, line.producer_id, line.producer_epoch)
                assert (*identity, line.limit_ms) in sure, statement.line[:end]


def test_the_last_line_of_a_file_without_an_end_of_line_is_used_where_nothing_can_follow() -> None:
    state = (
        "%7|1764320400.000|TXNSTATE|rdkafka#producer-2| [thrd:main]: Transaction state change Ready -> InTransaction"
    )
    assert [line.after for line in read(state)] == ["InTransaction"]
    for cut in ("Transaction state change WaitPID -> Ready", "ProducerId set to 7 with epoch 1"):
        head = f"{JAVA} " if cut.startswith("Producer") else "%7|1764320400.000|TXNSTATE|a#producer-2| [thrd:main]: "
        found = read_client_log(memoryview(f"{head}{cut}".encode()), "client.log")
        assert found.lines == []
        assert "possibly cut" in next(iter(found.read.unused))


@pytest.mark.parametrize(
    "line",
    [
        "%7|1764320400.000|TXNSTATE|a#producer-2| [thrd:main]: Transaction state change Init -> WaitP",
        f"2025-11-28 09:00:29,877 DEBUG {JAVA} Transition from state READY to IN_TRANSACTIO",
        "[sarama] 2025/11/28 09:00 txnmgr/transition [a] transition from ProducerTxnStateReady to ProducerTxnStateIn",
        "2025-11-28T09:00:29Z [Producer] Transaction state transition READY --> TRANSACT",
    ],
)
def test_a_state_that_is_cut_within_a_file_is_named(line: str) -> None:
    found = read_client_log(memoryview(f"\n{line}\n".encode()), "client.log")
    assert (found.lines, [place.position for place in found.damage]) == ([], [2])


def test_a_line_that_a_class_of_a_broker_printed_is_no_clients() -> None:
    line = f"[2025-11-28 09:00:29,877] INFO {JAVA} ProducerId set to 7 with epoch 2 "
    assert len(read(f"{line}(org.apache.kafka.clients.producer.internals.TransactionManager)\n")) == 1
    assert read(f"{line}(kafka.server.KafkaApis)\n") == []


# ---- layouts

LAYOUTS = {
    "native": "%1|1764320429.877|TXNERR|rdkafka#producer-2| [thrd:main]: TEXT",
    "native, with a date": "%1|Fri Nov 28 09:00:29 2025.877|TXNERR|rdkafka#producer-2| [thrd:main]: TEXT",
    "without thread": "%1|1764320429.877|TXNERR|rdkafka#producer-2| TEXT",
    "Go, LogEvent": "[2025-11-28T09:00:29.877Z][rdkafka#producer-2][TXNERR][1][thrd:main]: TEXT",
    ".NET, console": "Alert|2025-11-28 09:00:29.877|rdkafka#producer-2|TXNERR| [thrd:main]: TEXT",
    ".NET, ILogger": "2025-11-28 09:00:29.877 fail: [TXNERR] rdkafka#producer-2: [thrd:main]: TEXT",
    "Python, logger": "2025-11-28 09:00:29,877 - shop - CRITICAL - TXNERR [rdkafka#producer-2] [thrd:main]: TEXT",
    "Rust, env_logger": "[2025-11-28T09:00:29.877Z ERROR librdkafka] librdkafka: TXNERR [thrd:main]: TEXT",
    "Rust, tracing": "2025-11-28T09:00:29.877000Z ERROR log: librdkafka: TXNERR [thrd:main]: TEXT log.target=rd",
    "Node, one line": "{ severity: 1, fac: 'TXNERR', message: '[thrd:main]: TEXT', name: 'rdkafka#producer-2' }",
    "Node, console.log": "2025-11-28T09:00:29.877Z   message: '[thrd:main]: TEXT',",
    "Node, JSON": '{"level":"ERROR","timestamp":"2025-11-28T09:00:29.877Z","fac":"TXNERR","name":"rdkafka#producer-2",'
    '"message":"[thrd:main]: TEXT"}',
    "zap": '{"level":"error","ts":1764320429.877,"msg":"TXNERR rdkafka#producer-2 [thrd:main]: TEXT"}',
    ".NET, Serilog": '{"Timestamp":"2025-11-28T09:00:29.877Z","Level":"Error","MessageTemplate":"{Facility} {Message}",'
    '"Properties":{"Facility":"TXNERR","Message":"rdkafka#producer-2 [thrd:main]: TEXT"}}',
    ".NET, compact JSON": '{"@t":"2025-11-28T09:00:29.877Z","@m":"Kafka: rdkafka#producer-2 [thrd:main]: TEXT"}',
    "C++, callback": "2025-11-28 09:00:29.877 [Error] [KAFKA_PRODUCER] [anonymous] [1] [TXNERR] [thrd:main]: TEXT",
    "C++, with an offset": "2025-11-28T12:00:29.877+0300 error Kafka : [TXNERR] [thrd:main]: TEXT",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_line_of_librdkafka_is_read_through_every_binding(layout: str) -> None:
    (line,) = read(f"{layout.replace('TEXT', FATAL)}\n")
    assert (line.fact, line.before, line.code) == (ClientFact.ERROR, "fatal", "PRODUCER_FENCED")
    assert line.after.startswith(FATAL.removeprefix("Fatal transaction error: "))
    assert line.client == ("rdkafka#producer-2" if "#producer-2" in layout else "librdkafka")
    assert line.timestamp_ms == (None if "severity" in layout else AT)
    assert line.library == Library.LIBRDKAFKA


def test_a_reason_ends_where_the_quoted_text_ends() -> None:
    (line,) = read(f"{LAYOUTS['Node, one line'].replace('TEXT', FATAL)}\n")
    assert line.after.endswith("(_FENCED)")


FRANZ_GO = {
    "basic": "2025-11-28 09:00:29.877 [INFO] ending transaction; transactional_id: a-1, commit: true, producer_id: 4, "
    "epoch: 2",
    "slog": '{"time":"2025-11-28T09:00:29.877Z","level":"INFO","msg":"ending transaction","transactional_id":"a-1",'
    '"commit":true,"producer_id":4,"epoch":2}',
    "zerolog": '{"level":"info","transactional_id":"a-1","commit":true,"producer_id":4,"epoch":2,'
    '"time":1764320429,"message":"ending transaction"}',
    "zap console": "2025-11-28T09:00:29.877Z\tINFO\tkgo/txn.go:863\tending transaction\t"
    '{"transactional_id": "a-1", "commit": true, "producer_id": 4, "epoch": 2}',
    "logfmt": 'time=2025-11-28T09:00:29.877Z level=INFO msg="ending transaction" transactional_id=a-1 commit=true '
    "producer_id=4 epoch=2",
}


@pytest.mark.parametrize("text", FRANZ_GO.values(), ids=FRANZ_GO)
def test_a_statement_of_franz_go_is_read_from_every_logger(text: str) -> None:
    (line,) = read(f"{text}\n")
    assert shown(line) == (ClientFact.ASKED, "", "commit", "franz-go", "a-1", 4, 2, NONE, NONE)
    assert line.timestamp_ms == (1764320429000 if "1764320429," in text else AT)


SARAMA = "txnmgr/transition [bill] transition from ProducerTxnFlagReady to ProducerTxnFlagInTransaction"


@pytest.mark.parametrize(
    "text",
    [
        f"[sarama] 2025/11/28 09:00:29.877 {SARAMA}",
        json.dumps({"level": "debug", "time": "2025-11-28T09:00:29.877Z", "message": f"{SARAMA}\n"}),
        json.dumps({"level": "debug", "ts": AT / 1000, "msg": SARAMA}),
        f'time="2025-11-28T10:00:29.877+01:00" level=debug msg="{SARAMA}"',
    ],
)
def test_a_transition_of_sarama_is_read_plain_and_from_json(text: str) -> None:
    (line,) = read(f"{text}\n")
    assert (line.before, line.after) == ("ProducerTxnFlagReady", "ProducerTxnFlagInTransaction")
    assert (line.transactional_id, line.timestamp_ms, line.library) == ("bill", AT, "Sarama")


@pytest.mark.parametrize(
    "text",
    [
        "2025-11-28T09:00:29.877Z [Producer] Transaction state transition READY --> TRANSACTING",
        (
            '{"level":"DEBUG","timestamp":"2025-11-28T09:00:29.877Z","logger":"kafkajs","message":"[Producer] '
            'Transaction state transition READY --> TRANSACTING"}'
        ),
        (
            '{"level":"debug","timestamp":"2025-11-28T09:00:29.877Z","namespace":"Producer","message":"Transaction '
            'state transition READY --> TRANSACTING"}'
        ),
    ],
)
def test_a_transition_of_kafkajs_is_read_plain_and_from_json(text: str) -> None:
    (line,) = read(f"{text}\n")
    assert (line.fact, line.before, line.after) == (ClientFact.STATE, "READY", "TRANSACTING")
    assert (line.client, line.timestamp_ms) == ("kafkajs", AT)


def test_the_name_of_a_client_of_kafkajs_is_that_of_its_connections() -> None:
    refused = next(statement.line for statement in kafkajs.STATEMENTS if statement.name == "refused")
    state = next(statement.line for statement in kafkajs.STATEMENTS if statement.name == "transition")
    assert {line.client for line in read(f"{state}\n{refused}\n")} == {"shop"}
    other = refused.replace('"clientId":"shop"', '"clientId":"till"')
    assert {line.client for line in read(f"{state}\n{refused}\n{other}\n")} == {"kafkajs", "shop", "till"}


@pytest.mark.parametrize(
    ("head", "client", "transactional_id"),
    [
        (f"[2025-11-28 09:00:29,877] INFO {JAVA} ", "app-a", "orders-1"),
        (f"2025-11-28 09:00:29.877 INFO 1 --- [ad | app-a] o.a.k.c.p.internals.T : {JAVA} ", "app-a", "orders-1"),
        (f"2025-11-28T10:00:29.877+01:00 INFO {JAVA} ", "app-a", "orders-1"),
        ("[2025-11-28 09:00:29,877] INFO [TransactionalId orders-1] ", "orders-1", "orders-1"),
        ("2025-11-28 09:00:29,877 INFO [Producer clientId=app-a] ", "app-a", None),
    ],
)
def test_the_header_of_a_java_client_is_found_in_any_layout(
    head: str, client: str, transactional_id: str | None
) -> None:
    (line,) = read(f"{head}ProducerId set to 7 with epoch 2\n")
    assert shown(line)[3:7] == (client, transactional_id, 7, 2)
    assert line.timestamp_ms == AT


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Wed Sep  7 09:31:50 2022.573", None),
        ("%7|Fri Nov 28 09:00:29 2025.877|", AT),
        ("%7|Fri Nov 31 09:00:29 2025.877|", None),
        ("2025-11-28T09:00:29.877Z", AT),
        ("2025/11/28 09:00:29", AT - 877),
        ("2025-11-28T14:30:29,877+05:30", AT),
        ("2025-13-41 09:00:29", None),
        ("x" * 300 + "2025-11-28T09:00:29.877Z", None),
    ],
)
def test_the_time_of_a_line_is_found_where_its_layout_has_it(text: str, moment: int | None) -> None:
    assert time_in(f"INFO {text} x") == moment


# ---- several lines

STACK = f"""\
2025-11-28 09:00:29,877 [main] ERROR shop.Checkout - commit failed
java.util.concurrent.ExecutionException: {FENCED}: There is a newer producer
\tat org.apache.kafka.clients.producer.internals.FutureRecordMetadata.get(FutureRecordMetadata.java:72)
Caused by: {FENCED}: There is a newer producer
\tat shop.Checkout.main(Checkout.java:4)
"""


def test_an_exception_of_an_application_is_told_once_for_each_stack_trace() -> None:
    lines = read(STACK + STACK.replace("29,877", "30,000"))
    assert [(line.line, line.client, line.code) for line in lines] == [
        (2, APPLICATION, "PRODUCER_FENCED"),
        (7, APPLICATION, "PRODUCER_FENCED"),
    ]
    assert lines[0].timestamp_ms == AT


def test_an_exception_in_a_field_of_json_ends_where_the_field_ends() -> None:
    line = {
        "time": "2025-11-28T09:00:29.877Z",
        "message": "no",
        "stack": f"{FENCED}: There is\n\tat a.B",
        "thread": "x",
    }
    (error,) = read(f"{json.dumps(line)}\n")
    assert (error.after, error.code, error.timestamp_ms) == ("ProducerFencedException: There is", "PRODUCER_FENCED", AT)


def test_an_empty_line_does_not_end_a_stack_trace() -> None:
    head = "[2025-11-28 09:00:29,877] WARN stream-thread [s-1] Detected that the thread is being fenced."
    assert {line.client for line in read(f"{head}\n\n{FENCED}: newer\n")} == {"s-1"}


@pytest.mark.parametrize(
    "text",
    [
        'KafkaError{code=_MSG_TIMED_OUT,val=-192,str="Local: Message timed out"}',
        "kafka: Failed to produce message to topic t: kafka server: Message was too large",
        "KafkaJSProtocolError: This server does not host this topic-partition",
        "KafkaError{",
    ],
)
def test_errors_that_applications_print_about_other_things_are_left_out(text: str) -> None:
    assert read(f"{text}\n") == []


def test_an_exception_below_the_line_of_a_client_is_that_clients() -> None:
    state = f"2025-11-28 09:00:29,877 DEBUG {JAVA} Transition from state IN_TRANSACTION to error state FATAL_ERROR"
    text = f"{state}\n{FENCED}: There is a newer producer\n"
    error = read(text)[1]
    assert (error.client, error.transactional_id, error.before, error.code) == (
        "app-a",
        "orders-1",
        "fatal",
        "PRODUCER_FENCED",
    )
    told = f"2025-11-28 09:00:29,877 INFO {JAVA} Transiting to fatal error state due to {FENCED}: x\n"
    assert [line.fact for line in read(told + text)] == [ClientFact.ERROR, ClientFact.STATE]


@pytest.mark.parametrize(
    "text",
    [
        (
            "[2025-11-28 09:00:29,877] ERROR [ReplicaManager broker=1] Error processing append operation on partition "
            f"t-0 (kafka.server.ReplicaManager)\n{FENCED}: There is a newer producer\n"
        ),
        f"{FENCED}: There is a newer producer\n\tat kafka.log.ProducerAppendInfo.checkProducerEpoch(P.scala:8)\n",
        "org.apache.kafka.common.errors.SerializationException: Size of data received by LongDeserializer is not 8\n",
        "org.apache.kafka.common.errors.TimeoutException: Failed to get offsets by times in 30000ms\n",
    ],
)
def test_exceptions_of_brokers_and_about_other_things_tell_nothing_of_a_client(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "what", "waited", "limit"),
    [
        ("Timeout expired after 60000ms while awaiting InitProducerId", "InitProducerId", NONE, 60000),
        (
            "Timeout expired while initializing transactional state in 60000ms.",
            "initializing transactional state",
            NONE,
            60000,
        ),
        ("Expiring 3 record(s) for t-0:120004 ms has passed since batch creation", "records of t-0", 120004, NONE),
    ],
)
def test_a_timeout_is_told_with_its_duration_and_limit(text: str, what: str, waited: int, limit: int) -> None:
    (line,) = read(f"org.apache.kafka.common.errors.TimeoutException: {text}\n")
    assert (line.fact, line.after, line.waited_ms, line.limit_ms) == (ClientFact.WAITED, what, waited, limit)
    assert line.code == "REQUEST_TIMED_OUT"


def test_the_settings_of_a_producer_tell_how_long_its_transactions_may_take() -> None:
    settings = """\
2025-11-28 09:00:00,000 INFO ProducerConfig values:
\tacks = -1
\tclient.id = app-a
\ttransaction.timeout.ms = 3000
\ttransactional.id = ID
"""
    (line,) = read(settings.replace("ID", "orders-1"))
    assert shown(line) == (ClientFact.LIMIT, "", "", "app-a", "orders-1", NONE, NONE, NONE, 3000)
    assert read(settings.replace("ID", "null")) == []
    assert read(settings.replace("\tclient.id", "2025-11-28 09:00:01,000 INFO other\n\tclient.id")) == []


def test_clients_that_log_at_once_keep_their_lines_apart() -> None:
    kinds = (
        librdkafka.STATEMENTS[0],
        java.PRODUCER[0],
        sarama.STATEMENTS[0],
        kafkajs.STATEMENTS[0],
        franz_go.STATEMENTS[3],
    )
    alone = [read(f"{statement.line}\n")[0] for statement in kinds]
    mixed = read("\n".join(statement.line for statement in kinds) + "\n")
    assert [shown(line) for line in mixed] == [shown(line) for line in alone]
    assert len({line.client for line in mixed}) == len(kinds)


SENDING = "Error encountered sending record to topic out for task 0_1 due to:"
COMMITTING = "Failed to commit producer transaction (org.apache.kafka.connect.runtime.ExactlyOnceWorkerSourceTask:316)"


@pytest.mark.parametrize(
    ("head", "client", "library"),
    [
        (f"stream-thread [shop-StreamThread-1] task [0_1] {SENDING}", "shop-StreamThread-1", Library.STREAMS),
        (f"[files|task-0] ExactlyOnceWorkerSourceTask{{id=files-0}} {COMMITTING}", "files-0", Library.CONNECT),
    ],
)
def test_the_exception_below_a_line_of_a_framework_is_that_frameworks(head: str, client: str, library: Library) -> None:
    above, below = read(
        f"[2025-11-28 09:00:29,877] {head}\n{FENCED}: There is a newer producer\n\tat x.Y.z(Y.java:1)\n"
    )
    assert (above.client, below.client, above.library, below.library) == (client, client, library, library)
    assert (below.code, below.timestamp_ms) == ("PRODUCER_FENCED", AT)


def test_a_wrapper_of_json_around_a_plain_line_hides_nothing() -> None:
    plain = LAYOUTS["native"].replace("TEXT", FATAL)
    for wrapped in (
        json.dumps({"log": f"{plain}\n", "stream": "stderr", "time": "2025-11-28T09:00:29.877Z"}),
        json.dumps({"@timestamp": "2025-11-28T09:00:29.877Z", "log": {"level": "error"}, "message": plain}),
        f"{plain}\r",
    ):
        assert [shown(line) for line in read(f"{wrapped}\n")] == [shown(line) for line in read(f"{plain}\n")]


# ---- what is not understood


@pytest.mark.parametrize(
    ("line", "library"),
    [
        ("%7|1764320400.000|TXNSTATE|rdkafka#producer-2| [thrd:main]: Something new", "librdkafka"),
        (f"[2025-11-28 09:00:29,877] INFO {JAVA} Something new (x.TransactionManager)", "the Java client"),
        ("[sarama] 2025/11/28 09:00:29 txnmgr/init-producer-id [bill] something new", "Sarama"),
    ],
)
def test_lines_that_look_like_evidence_and_are_not_understood_are_counted(line: str, library: str) -> None:
    found = read_client_log(memoryview(f"\n{line}\n{line}\n".encode()), "client.log")
    assert found.lines == []
    (unused,) = found.read.unused.values()
    assert unused == UnusedLines(f"unknown words of {library}", 2, 2)


FOREIGN = (
    '10.0.0.1 - - [28/Nov/2025:09:00:29 +0000] "GET /txn?transactional_id=5 HTTP/1.1" 200 512 "-" "kafkajs/2.2.4"',
    '{"level":"info","time":"2025-11-28T09:00:29Z","message":"beginning transaction","table":"orders"}',
    '{"level":"info","msg":"ending transaction","transactional_id":null}',
    "2025-11-28 09:00:29 UTC [41] LOG:  beginning transaction; isolation level: serializable",
    "2025-11-28 09:00:29 INFO  c.z.h.HikariPool - Transition from state READY to IN_TRANSACTION",
    "2025-11-28 09:00:29 INFO [Producer] Producer thread started",
    "2025-11-28 09:00:29 DEBUG ProducerId set to 5 with epoch 3",
    "[thrd:main]: nothing of Kafka",
    "stream-thread [x] State transition from RUNNING to ERROR",
    "WorkerSinkTask{id=x-0} Committing offsets",
    '{"message": {"nested": "[thrd:main]: Fatal transaction error: x"}}',
    "[" * 5000 + '{"[thrd:',
)


@pytest.mark.parametrize("line", FOREIGN, ids=range(len(FOREIGN)))
def test_lines_of_other_programs_are_no_clients(line: str) -> None:
    found = read_client_log(memoryview(f"{line}\n".encode()), "access.log")
    assert (found.lines, found.damage) == ([], [])


@pytest.mark.parametrize("statement", TELLING, ids=name_of)
def test_a_file_with_one_line_of_a_client_is_looked_into(statement: Statement) -> None:
    noise = "2025-11-28 09:00:29 INFO nothing\n" * 3000
    assert by_content(memoryview(f"{noise}{statement.line}\n".encode())) is Kind.TEXT_LOG


# ---- errors


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Local: This instance has been fenced by a newer instance (_FENCED)", "PRODUCER_FENCED"),
        (f"{FENCED}: x", "PRODUCER_FENCED"),
        ("Unknown error, how did this happen? Error code = 90", "PRODUCER_FENCED"),
        ("INVALID_TXN_STATE: The producer attempted", "INVALID_TXN_STATE"),
        ("kafka server: Producer attempted an operation with an old epoch", "INVALID_PRODUCER_EPOCH"),
        ("Local: Timed out", "REQUEST_TIMED_OUT"),
        ("SOME_OTHER_NAME and SomeException", ""),
        ("NONE", ""),
        ("", ""),
    ],
)
def test_an_error_is_known_by_its_name_its_exception_or_its_sentence(text: str, code: str) -> None:
    assert code_in(text) == code


# ---- damage


@given(cut=st.integers(0, 20_000), at=st.integers(0, 20_000), junk=st.text(max_size=6))
def test_no_mutilation_raises(cut: int, at: int, junk: str) -> None:
    whole = "\n".join(statement.line for statement in STATEMENTS) + "\n" + STACK
    place = at % len(whole)
    for changed in (whole[: cut % len(whole)], whole[:place] + junk + whole[place + len(junk) :]):
        found = read_client_log(memoryview(changed.encode(errors="replace")), "client.log")
        assert len(found.lines) <= len(STATEMENTS) + 4


@given(value=st.floats() | st.integers() | st.text(max_size=30) | st.booleans() | st.none())
def test_any_time_in_a_json_line_is_a_time_or_none(value: object) -> None:
    record = record_of(json.dumps({"msg": SARAMA, "ts": value}))
    assert record.timestamp_ms is None or isinstance(record.timestamp_ms, int)


@pytest.mark.parametrize("factor", [1, 1000, 1_000_000, 1_000_000_000])
def test_a_number_is_a_time_in_the_unit_that_fits(factor: int) -> None:
    moment = int(datetime(2025, 11, 28, 9, tzinfo=UTC).timestamp())
    assert record_of(json.dumps({"msg": SARAMA, "ts": moment * factor})).timestamp_ms == moment * 1000
