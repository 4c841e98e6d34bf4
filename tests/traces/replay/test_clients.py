"""What clients' logs say by themselves: who they are, what ended their transactions, and how long these were open."""

from pathlib import Path

import pytest

from zombieproof.messages.error_advice import HINTS, MEANINGS, NOT_FOR_THE_NEXT_EITHER, next_step
from zombieproof.model.vocabulary import Error
from zombieproof.traces.evidence import Evidence, UnusedLines
from zombieproof.traces.explaining.clients import clients_seen, seconds
from zombieproof.traces.explaining.timeline.subject import SubjectKind, subjects_called
from zombieproof.traces.explaining.timeline.timeline import timeline_of
from zombieproof.traces.readers.client_log import read_client_log
from zombieproof.traces.readers.clients.errors import EXCEPTIONS, LOCAL
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge, replay
from zombieproof.traces.verdict.report import ClientError, ClientSeen, Gap, Judgement

JAVA = "[Producer clientId=app-a, transactionalId=orders-1]"
FENCED = "org.apache.kafka.common.errors.ProducerFencedException: newer"


def rdkafka(second: float, text: str, client: str = "rdkafka#producer-1", facility: str = "TXNSTATE") -> str:
    return f"%7|{1764320400 + second:.3f}|{facility}|{client}| [thrd:main]: {text}\n"


def begun(second: float, client: str = "rdkafka#producer-1") -> str:
    return rdkafka(second, "Transaction state change Ready -> InTransaction", client)


def fatal(second: float, client: str = "rdkafka#producer-1") -> str:
    return rdkafka(second, "Fatal transaction error: Failed: fenced (_FENCED)", client, "TXNERR")


def java(second: int, text: str) -> str:
    return f"2025-11-28 09:{second // 60:02}:{second % 60:02},000 INFO {JAVA} {text}\n"


def franz_go(second: int, text: str) -> str:
    return f"2025-11-28 09:00:{second:02} [INFO] {text}\n"


def seen(*texts: str) -> list[ClientSeen]:
    lines = [
        line
        for number, text in enumerate(texts)
        for line in read_client_log(memoryview(text.encode()), f"{number}.log").lines
    ]
    return clients_seen(lines)


def errors(*texts: str) -> list[ClientError]:
    return [error for client in seen(*texts) for error in client.errors]


LIMIT = rdkafka(0, "  transaction.timeout.ms = 60000", facility="CONF")


def test_a_transaction_that_was_open_for_longer_than_its_limit_was_aborted_by_timeout() -> None:
    (error,) = errors(LIMIT + begun(1) + fatal(69))
    assert (error.severity, error.code, error.open_ms, error.limit_ms) == ("fatal", "PRODUCER_FENCED", 68000, 60000)
    assert error.timed_out
    assert "timed out" in error.means
    assert "new one from what is committed" in error.next_step


@pytest.mark.parametrize(
    ("text", "open_ms", "limit_ms"),
    [
        (LIMIT + begun(1) + fatal(60.5), 59500, 60000),
        (begun(1) + fatal(69), 68000, None),
        (LIMIT + fatal(69), None, None),
        (LIMIT + begun(1) + rdkafka(2, "Transaction state change CommitNotAcked -> Ready") + fatal(69), None, None),
    ],
    ids=["in time", "no limit is known", "no begin is known", "it had ended"],
)
def test_nothing_is_called_timed_out_that_need_not_be(text: str, open_ms: int | None, limit_ms: int | None) -> None:
    (error,) = errors(text)
    assert (error.open_ms, error.limit_ms, error.timed_out) == (open_ms, limit_ms, False)


def test_the_limit_of_a_java_client_is_the_one_it_asked_for() -> None:
    init = "Enqueuing transactional request InitProducerIdRequestData(transactionalId='orders-1', transactionTimeoutMs="
    text = java(0, f"{init}60000, producerId=-1)") + java(1, "Transition from state READY to IN_TRANSACTION")
    (error,) = errors(text + java(69, f"Transiting to fatal error state due to {FENCED}"))
    assert (error.open_ms, error.limit_ms, error.timed_out) == (68000, 60000, True)


def test_instances_under_one_name_at_once_have_no_durations() -> None:
    begin = "beginning transaction; transactional_id: a-1"
    failed = "unable to begin transaction due to unrecoverable producer id error; err: PRODUCER_FENCED: x"
    (alone,) = errors(franz_go(0, begin) + franz_go(9, failed))
    (shared,) = errors(franz_go(0, begin) + franz_go(1, begin) + franz_go(9, failed))
    (initialised,) = errors(
        franz_go(0, begin) + franz_go(1, "initializing producer id") + franz_go(2, begin) + franz_go(9, failed)
    )
    assert (alone.open_ms, shared.open_ms, initialised.open_ms) == (9000, None, None)


def test_a_client_that_took_the_producer_over_is_named() -> None:
    first = rdkafka(0, "Acquired PID{Id:7,Epoch:2}") + begun(1) + fatal(9)
    later = rdkafka(5, "Acquired PID{Id:7,Epoch:3}", "rdkafka#producer-9")
    (error,) = errors(first, later)
    assert error.fenced_by == "rdkafka#producer-9 initialised it as 7:3 at 2025-11-28 09:00:05.000Z (1.log, line 1)"


@pytest.mark.parametrize(
    "other",
    [
        rdkafka(5, "Acquired PID{Id:8,Epoch:3}", "rdkafka#producer-9"),
        rdkafka(5, "Acquired PID{Id:7,Epoch:1}", "rdkafka#producer-9"),
        rdkafka(10, "Acquired PID{Id:7,Epoch:3}", "rdkafka#producer-9"),
    ],
    ids=["another producer", "an older epoch", "after the error"],
)
def test_a_client_that_did_not_is_not(other: str) -> None:
    (error,) = errors(rdkafka(0, "Acquired PID{Id:7,Epoch:2}") + fatal(9), other)
    assert error.fenced_by is None


def test_clients_are_told_with_their_ids_and_their_errors_the_fatal_ones_first() -> None:
    text = (
        java(0, "ProducerId set to 7 with epoch 2")
        + java(
            1, "Transiting to abortable error state due to org.apache.kafka.common.errors.InvalidPidMappingException"
        )
        + java(2, f"Transiting to fatal error state due to {FENCED}")
        + java(3, f"Transiting to fatal error state due to {FENCED}")
    )
    (client,) = seen(text)
    assert (client.client, client.library, client.transactional_ids, client.producers) == (
        "app-a",
        "the Java client",
        ["orders-1"],
        ["7:2"],
    )
    assert [(error.severity, error.code, error.line, error.count) for error in client.errors] == [
        ("fatal", "PRODUCER_FENCED", 3, 2),
        ("abortable", "INVALID_PRODUCER_ID_MAPPING", 2, 1),
    ]


def test_a_move_into_an_error_state_is_an_error_where_no_line_says_why() -> None:
    head = "[sarama] 2025/11/28 09:00:29 txnmgr/transition [bill] transition from ProducerTxnStateInTransaction to "
    (error,) = errors(f"{head}ProducerTxnStateInError|ProducerTxnStateFatalError\n")
    assert (error.severity, error.code) == ("fatal", "")
    assert "its log has no reason" in error.reason
    (error,) = errors(fatal(1) + rdkafka(2, "Transaction state change InTransaction -> FatalError"))
    assert (error.code, error.count) == ("PRODUCER_FENCED", 1)


def test_waits_and_failed_writes_are_told_with_what_the_line_has() -> None:
    timed_out = rdkafka(1, "TxnCoordinator/1: Timed out EndTxnRequest in flight (after 60029ms, timeout #0)")
    refused = rdkafka(2, 'TxnCoordinator/1: Failed to add partition "t" [3] to transaction: Broker: No such id')
    write, wait = errors(timed_out + refused)
    assert (write.severity, write.reason) == ("failed write", "t-3: Broker: No such id")
    assert (wait.severity, wait.reason) == ("timeout", "no answer to EndTxn (in flight) after 60,029 ms")


@pytest.mark.parametrize(("ms", "text"), [(0, "0 s"), (900, "0.9 s"), (9400, "9.4 s"), (68_123, "68 s"), (3000, "3 s")])
def test_a_duration_is_told_in_seconds(ms: int, text: str) -> None:
    assert seconds(ms) == text


# ---- advice


def test_every_error_that_clients_are_known_to_print_has_a_meaning() -> None:
    known = {*EXCEPTIONS.values(), *LOCAL.values()} - {Error.UNSTABLE_OFFSET_COMMIT}
    explained = MEANINGS.keys() | HINTS.keys()
    assert known <= explained


def test_the_next_step_is_to_abort_to_renew_or_to_change_something() -> None:
    assert next_step(Error.PRODUCER_FENCED, is_fatal=False).startswith("abort the transaction")
    assert next_step(Error.PRODUCER_FENCED, is_fatal=True).startswith("close the producer, and go on")
    refused = next_step(Error.INVALID_TRANSACTION_TIMEOUT, is_fatal=True)
    assert Error.INVALID_TRANSACTION_TIMEOUT in NOT_FOR_THE_NEXT_EITHER
    assert refused == f"close the producer; a new one fails as well; {HINTS[Error.INVALID_TRANSACTION_TIMEOUT]}"


# ---- files


def test_a_clients_log_alone_is_told_and_not_judged(tmp_path: Path) -> None:
    (tmp_path / "client.log").write_text(LIMIT + begun(1) + fatal(69))
    found = replay([tmp_path])
    assert (found.findings, [gap.gap for gap in found.not_judged]) == ([], [Gap.EVERYTHING])
    assert found.verdict is not Judgement.CONFORMS
    assert [client.client for client in found.clients] == ["rdkafka#producer-1"]


def test_a_machine_of_another_client_is_not_held_against_the_table_of_the_java_client(tmp_path: Path) -> None:
    kafkajs = "2025-11-28T09:00:29Z [Producer] Transaction state transition UNINITIALIZED --> READY\n"
    (tmp_path / "app.log").write_text(kafkajs)
    assert replay([tmp_path]).findings == []
    (tmp_path / "app.log").write_text(java(0, "Transition from state UNINITIALIZED to READY"))
    assert [finding.promise for finding in replay([tmp_path]).findings] == ["states_follow_the_table"]


UNKNOWN = "unknown words of librdkafka"


def test_a_file_is_read_only_if_a_line_of_it_was_understood(tmp_path: Path) -> None:
    reasons = {
        "words.log": (" transition from A to B\n", "nothing in it is evidence of transactions"),
        "agent.log": ('GET / "kafkajs/2.2"\n', "nothing in it is evidence of transactions"),
        "new.log": (
            rdkafka(0, "Something new"),
            "text of a log, and no line of it is understood (1 x unknown words of librdkafka)",
        ),
    }
    for name, (text, _) in reasons.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "good.log").write_text(begun(1) + rdkafka(0, "Something new"))
    found = collect([tmp_path])
    assert [Path(file).name for file in found.files] == ["good.log"]
    told = {Path(each.file).name: each.reason for each in found.ignored}
    assert told == {name: reason for name, (_, reason) in reasons.items()}
    assert [each.unused for each in found.lines] == [{UNKNOWN: UnusedLines(UNKNOWN, 1, 2)}]


def test_a_file_of_which_no_line_was_understood_is_no_evidence_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text(" transition from A to B\n")
    found = collect([file])
    assert (found.files, [place.message for place in found.damage]) == (
        [],
        ["nothing in it is evidence of transactions"],
    )


# ---- timeline


def test_the_timeline_of_a_client_has_its_lines_alone(tmp_path: Path) -> None:
    text = LIMIT + begun(1) + begun(2, "rdkafka#producer-2") + fatal(69)
    (tmp_path / "client.log").write_text(text)
    examined = judge(collect([tmp_path]))
    for name in ("rdkafka#producer-1", "client rdkafka#producer-1"):
        (subject,) = subjects_called(name, examined)
        assert (subject.kind, subject.name) == (SubjectKind.CLIENT, "rdkafka#producer-1")
        assert [entry.text for entry in timeline_of(subject, examined).entries] == [
            "client rdkafka#producer-1 moves from Ready to InTransaction",
            (
                "client rdkafka#producer-1 has the fatal error: Failed: fenced (_FENCED) "
                "(aborted by timeout after 68 s (limit 60 s))"
            ),
        ]


def test_a_transactional_id_that_is_a_clients_name_too_is_the_id(tmp_path: Path) -> None:
    (tmp_path / "client.log").write_text(java(0, "ProducerId set to 7 with epoch 2").replace("app-a", "orders-1"))
    examined = judge(collect([tmp_path]))
    assert [subject.kind for subject in subjects_called("orders-1", examined)] == [SubjectKind.ID]
    assert [subject.kind for subject in subjects_called("client orders-1", examined)] == [SubjectKind.CLIENT]


def test_a_finding_about_a_client_stands_in_its_timeline(tmp_path: Path) -> None:
    (tmp_path / "client.log").write_text(java(0, "Transition from state UNINITIALIZED to READY"))
    examined = judge(collect([tmp_path]))
    (subject,) = subjects_called("app-a", examined)
    (entry,) = timeline_of(subject, examined).entries
    assert entry.findings == [0]


def test_every_fact_of_a_client_has_words_in_a_timeline(tmp_path: Path) -> None:
    text = (
        rdkafka(1, "TxnCoordinator/1: Timed out EndTxnRequest in flight (after 60029ms, timeout #0)")
        + rdkafka(2, 'Failed to add partition "t" [3] to transaction: Broker: No such id')
        + rdkafka(
            3, "Ignoring sub-sequent abortable transaction error: x (_TIMED_OUT): previous error (A_B) already raised"
        )
    )
    (tmp_path / "client.log").write_text(text)
    examined = judge(collect([tmp_path]))
    (subject,) = subjects_called("rdkafka#producer-1", examined)
    assert [
        entry.text.removeprefix("client rdkafka#producer-1 ") for entry in timeline_of(subject, examined).entries
    ] == [
        "got no answer to EndTxn (in flight) after 60,029 ms",
        "fails on t-3: Broker: No such id",
        "meets another error, of which its application does not hear: x (_TIMED_OUT)",
    ]


def test_evidence_without_clients_has_none() -> None:
    assert clients_seen(Evidence().client_lines) == []
