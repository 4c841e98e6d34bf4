"""Lines of brokers' logs as evidence: whole or cut, in any level, among others, and of somebody else's."""

# ruff: noqa: E501  # lines of logs

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.traces.evidence import BrokerLine, Evidence, UnusedLines
from zombieproof.traces.readers.broker_log import CUT, IDLE, UNKNOWN, BrokerLog, read_broker_log
from zombieproof.traces.readers.broker_statements import STATEMENTS
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.recognise import Kind, by_content
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Gap

TIME = "[2026-11-21 13:19:48,339] INFO "
MOMENT = 1795267188339
COORDINATOR = " (kafka.coordinator.transaction.TransactionCoordinator)"
CHANNEL = " (kafka.coordinator.transaction.TransactionMarkerChannelManager)"
GROUP = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
INITIALISED = (
    "Initialized transactionalId pay-7 with producerId 4000 and producer epoch 12 on partition __transaction_state-3"
)
TIMED_OUT = "Completed rollback of ongoing transaction for transactionalId pay-7 due to timeout"
SELF = "[TransactionCoordinator id=1] "
SKIPPED = (
    "[Transaction Marker Channel Manager 1]: Couldn't find leader endpoint for partitions Set(t-0, with-dash-1) while "
    "trying to send transaction markers for pay-7, these partitions are likely deleted already and hence can be skipped"
)
STABLE = (
    "[GroupCoordinator id=1 topic=__consumer_offsets partition=4] Stabilized group g 1 generation 3 with 2 members."
)
FAILED = (
    f"{TIME}[ReplicaManager broker=1] Error processing append operation on partition t-0 (kafka.server.ReplicaManager)"
)
REFUSED = (
    "org.apache.kafka.common.errors.OutOfOrderSequenceException: Out of order sequence number for producer 7 at offset 9 "
    "in partition t-0: 12 (incoming seq. number), 3 (current end sequence number)"
)


def read(text: str) -> BrokerLog:
    return read_broker_log(memoryview(text.encode()), "server.log")


def only(text: str) -> BrokerLine:
    (line,) = read(text).lines
    return line


def collected(folder: Path, **files: str) -> Evidence:
    for name, text in files.items():
        (folder / f"{name}.log").write_text(text)
    return collect([folder])


# ---------------------------------------------------------------- what a line says


def test_a_line_has_its_place_time_statement_and_fields() -> None:
    line = only(f"\n{TIME}{SELF}{INITIALISED}{COORDINATOR}\n")
    assert (line.file, line.line, line.timestamp_ms, line.statement) == ("server.log", 2, MOMENT, "initialised")
    assert line.transactional_id == "pay-7"
    assert line.producer == (4000, 12)
    assert line.places == {("__transaction_state", 3)}
    assert line.text == "the coordinator initialises pay-7: producer 4000 epoch 12"


@pytest.mark.parametrize(
    "name", ["", "a b", "x with producerId 5 and producer epoch 3 on partition p-1", "é'", "(a) (b)"]
)
def test_an_id_may_hold_any_text(name: str) -> None:
    line = only(f"{TIME}{SELF}{INITIALISED.replace('pay-7', name)}{COORDINATOR}\n")
    assert (line.transactional_id, line.producer) == (name, (4000, 12))


def test_a_marker_that_was_skipped_names_all_partitions() -> None:
    for opened, closed in (("Set(", ")"), ("HashSet(", ")"), ("[", "]")):
        text = SKIPPED.replace("Set(t-0, with-dash-1)", f"{opened}t-0, with-dash-1{closed}")
        line = only(f"{TIME}{text}{CHANNEL}\n")
        assert line.places == {("t", 0), ("with-dash", 1)}
        assert (line.statement, line.transactional_id) == ("marker_skipped", "pay-7")


def test_the_words_in_front_name_the_partition_and_the_group_its_coordinator() -> None:
    state = f"{TIME}[UnifiedLog partition=t-0, dir=/d] Truncating to offset 5 (org.apache.kafka.storage.UnifiedLog)\n"
    assert only(state).places == {("t", 0)}
    assert only(state).fields["offset"] == "5"
    line = only(f"{TIME}{STABLE}{GROUP}\n")
    assert line.group == "g 1"
    assert line.places == {("__consumer_offsets", 4)}


@pytest.mark.parametrize(
    "head", ["", TIME, "INFO ", "2026-11-21 13:19:48,339 ", "2026-11-21T13:19:48.339Z WARN ", "  "]
)
@pytest.mark.parametrize("behind", [COORDINATOR, "", f"{COORDINATOR} [data-plane-kafka-request-handler-3]", "  "])
def test_time_level_and_logger_may_be_missing(head: str, behind: str) -> None:
    line = only(f"{head}{SELF}{TIMED_OUT}{behind}\n")
    assert (line.statement, line.transactional_id) == ("timed_out", "pay-7")
    assert line.timestamp_ms == (MOMENT if "13:19" in head else None)


def test_the_exception_below_a_refused_append_has_its_time() -> None:
    failed, refused = read(f"{FAILED}\n{REFUSED}\n\tat kafka.x\n").lines
    assert (failed.statement, refused.statement) == ("append_failed", "sequence_out_of_order")
    assert refused.timestamp_ms == failed.timestamp_ms == MOMENT
    assert (refused.line, refused.producer) == (2, (7, None))
    assert refused.places == {("t", 0)}


@pytest.mark.parametrize("between", ["\n", "a line\n", f"{TIME}{SELF}Starting up.{COORDINATOR}\n"])
def test_an_exception_elsewhere_is_not_the_brokers(between: str) -> None:
    assert [line.statement for line in read(f"{FAILED}\n{between}{REFUSED}\n\tat x\n").lines] == ["append_failed"]


# ---------------------------------------------------------------- what is not used


def test_what_looks_like_evidence_is_counted_with_the_reason() -> None:
    log = read(
        f"{TIME}{SELF}Starting up.{COORDINATOR}\n"
        f"{TIME}{SELF}Whistled at {INITIALISED}{COORDINATOR}\n"
        f"{TIME}{SELF}{INITIALISED}{COORDINATOR}\n"
        f"{TIME}{SELF}Whistled again{COORDINATOR}\n"
        f"{TIME}{SELF}{INITIALISED} (kafka.coord\n"
        f"{TIME}some other text (kafka.server.KafkaServer)\n"
        f"{TIME}{SELF}Connection to node 1 could not be established. (org.apache.kafka.clients.NetworkClient)\n"
    )
    assert [line.line for line in log.lines] == [3]
    assert log.read.used == 1
    assert sorted(log.read.unused.values(), key=lambda each: each.first) == [
        UnusedLines(IDLE, 1, 1),
        UnusedLines(UNKNOWN, 2, 2),
        UnusedLines(CUT, 1, 5),
    ]


def test_a_number_that_may_be_cut_is_not_believed() -> None:
    elected = f"{TIME}{SELF}Elected as the txn coordinator for partition 3 at epoch 12"
    for end in ("", "\n"):
        log = read(elected + end)
        assert (log.lines, list(log.read.unused)) == ([], [CUT])
    assert only(f"{elected}{COORDINATOR}").fields["coordinator_epoch"] == "12"
    bare = read(f"{elected}\n{TIME}{SELF}{TIMED_OUT}\n{elected}")
    assert [line.line for line in bare.lines] == [1, 2]
    assert list(bare.read.unused.values()) == [UnusedLines(CUT, 1, 3)]


def test_a_line_in_the_middle_of_another_is_not_used() -> None:
    half = f"{TIME}{SELF}{INITIALISED}"[:-30]
    log = read(f"{half}{TIME}{SELF}{TIMED_OUT}{COORDINATOR}\n{TIME}{SELF}{TIMED_OUT}{COORDINATOR}\n")
    assert [line.line for line in log.lines] == [2]
    assert [each.first for each in log.read.unused.values()] == [1]


@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=4), st.data())
def test_altered_lines_never_raise(rows: list[object], data: st.DataObject) -> None:
    text = "\n".join(row.printed or row.sample for row in rows)  # type: ignore[attr-defined]  # they are rows
    at = data.draw(st.integers(0, len(text)))
    put = data.draw(st.text(max_size=5))
    log = read(text[:at] + put + text[at + len(put) :])
    assert all(line.text and line.places is not None for line in log.lines)


# ---------------------------------------------------------------- other logs


FOREIGN = (
    "2026-11-21 13:19:48 INFO order-service Initialized transactionalId pay-7 with producerId 1\n",
    "[2026-11-21 13:19:48,339] INFO [Consumer clientId=a, groupId=g] Setting offset (org.apache.kafka.clients.Consumer)\n",
    "[2026-11-21 13:19:48,339] INFO Completed rollback of ongoing transaction for transactionalId x due to timeout (com.shop.Tx)\n",
    "13:19:48 [Transaction 7] Truncating to offset 5\n",
    "[2026-11-21 13:19:48,339] INFO Truncating to offset 5 (com.shop.Log4)\n",
)


@pytest.mark.parametrize("text", FOREIGN)
def test_a_foreign_log_is_not_taken_for_a_brokers(text: str, tmp_path: Path) -> None:
    assert read(text).lines == []
    evidence = collected(tmp_path, app=text)
    assert evidence.broker_lines == []
    assert [each.file for each in evidence.ignored] == [str(tmp_path / "app.log")]
    assert evidence.files == []


def test_a_log_without_transitions_is_read(tmp_path: Path) -> None:
    text = f"{TIME}{SELF}{TIMED_OUT}{COORDINATOR}\n"
    assert by_content(memoryview(text.encode())) is Kind.TEXT_LOG
    far = "x\n" * 60_000 + text
    assert by_content(memoryview(far.encode())) is Kind.TEXT_LOG
    evidence = collected(tmp_path, server=text)
    assert [line.statement for line in evidence.broker_lines] == ["timed_out"]
    assert [(each.file, each.used) for each in evidence.lines] == [(str(tmp_path / "server.log"), 1)]
    (tmp_path / "server.log.gz").write_bytes(gzip.compress(text.encode()))
    assert len(collect([tmp_path / "server.log.gz"]).broker_lines) == 1


@pytest.mark.parametrize(
    "row", [row for row in STATEMENTS if row.printed and row.source != "refusal"], ids=lambda row: row.form
)
def test_every_statement_alone_makes_a_log_recognised(row: object) -> None:
    assert by_content(memoryview(row.printed.encode())) is Kind.TEXT_LOG  # type: ignore[attr-defined]  # it is a row


def test_a_log_of_which_no_line_is_understood_is_not_read(tmp_path: Path) -> None:
    evidence = collected(tmp_path, server=f"{TIME}{SELF}Starting up.{COORDINATOR}\n")
    assert evidence.files == []
    (ignored,) = evidence.ignored
    assert ignored.reason == f"text of a log, and no line of it is understood (1 x {IDLE})"
    assert evidence.lines == []
    assert [place.message for place in evidence.damage] == ["nothing in it is evidence of transactions"]


def test_a_brokers_log_alone_is_read_and_not_judged(tmp_path: Path) -> None:
    evidence = collected(
        tmp_path, server=f"{TIME}{SELF}{TIMED_OUT}{COORDINATOR}\n{TIME}{SELF}Starting up.{COORDINATOR}\n"
    )
    report = replay(evidence)
    assert report.findings == []
    assert [gap.gap for gap in report.not_judged] == [Gap.EVERYTHING]
    assert "a broker's log" in report.not_judged[0].why
    assert report.judged.written_in == ["log of a broker"]
    (lines,) = report.judged.lines
    assert (lines.used, [(each.reason, each.count, each.first_line) for each in lines.unused]) == (1, [(IDLE, 1, 2)])
