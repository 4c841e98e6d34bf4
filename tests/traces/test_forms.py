"""Each form that people's tools give to a text is taken off, and nothing else is touched."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.wrapping import PASTES, PREFIXES, Wrapping, wrapped
from zombieproof.traces.readers.forms import plain_parts
from zombieproof.traces.readers.lines import ELSEWHERE, Lines
from zombieproof.traces.readers.timestamps import in_utc
from zombieproof.traces.readers.tool_tables import read_tool_output

BATCH = (
    "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: 0 lastSequence: 0 producerId: 9 producerEpoch: 0 "
    "partitionLeaderEpoch: 0 isTransactional: true isControl: false deleteHorizonMs: OptionalLong.empty position: 0 "
    "CreateTime: 1700000000000 size: 77 magic: 2 compresscodec: none crc: 11 isvalid: true"
)
DUMP = [
    "Dumping /data/pay-0/00000000000000000000.log",
    "Log starting offset: 0",
    BATCH,
    "| offset: 0 CreateTime: 1700000000000 keySize: -1 valueSize: 7 sequence: 0 headerKeys: [] payload: one",
    "two",
    "",
]
LOG = [
    "[2024-05-01 10:00:00,001] INFO [TransactionCoordinator id=4] Up. (kafka.coordinator.transaction.Coordinator)",
    "[2024-05-01 10:00:00,007] ERROR it went wrong (kafka.server.KafkaApis)",
    "java.lang.IllegalStateException: no",
    "\tat kafka.server.KafkaApis.handle(KafkaApis.scala:1)",
]


ANY_PREFIX = "a prefix before each line"


def taken_off(text: str) -> tuple[list[str], tuple[str, ...]]:
    (part,) = plain_parts(memoryview(text.encode()))
    return bytes(part.data).decode().split("\n"), part.forms


@pytest.mark.parametrize("lines", [DUMP, LOG], ids=["dump", "log"])
@pytest.mark.parametrize("wrapping", [*PREFIXES, *PASTES], ids=lambda each: each.name)
def test_a_form_is_taken_off_and_named(wrapping: Wrapping, lines: list[str]) -> None:
    found, forms = taken_off("\n".join(wrapping.wrap(lines)) + "\n")
    below = 1 if wrapping.name in ("fence", "Jira") else 0
    kept = [ELSEWHERE] * wrapping.above + lines + [ELSEWHERE] * below + [""]
    html_of_a_plain_text = wrapping.name == "HTML"
    assert found == kept
    assert forms or html_of_a_plain_text
    assert (ANY_PREFIX in forms) == (wrapping.name == "some prefix")


NUMBERS = [wrapping for wrapping in PASTES if "number" in wrapping.name or wrapping.name in ("cat -n", "grep -n")]


@pytest.mark.parametrize("outer", NUMBERS, ids=lambda each: each.name)
@pytest.mark.parametrize("inner", NUMBERS, ids=lambda each: each.name)
@pytest.mark.parametrize("lines", [DUMP, LOG], ids=["dump", "log"])
def test_numbers_before_numbers_may_grow(lines: list[str], inner: Wrapping, outer: Wrapping) -> None:
    many = lines[:2] + lines[2:] * 600
    found, _ = taken_off("\n".join(outer.wrap(inner.wrap(many))) + "\n")
    assert found == [*many, ""]


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_are_taken_off(encoding: str, end: str) -> None:
    data = (end.join(DUMP) + end).encode(encoding)
    (part,) = plain_parts(memoryview(data))
    assert bytes(part.data).decode() == "\n".join(DUMP) + "\n"
    assert len(part.forms) == 1 + (end != "\n")


def test_a_plain_file_comes_back_without_a_copy() -> None:
    for lines in (DUMP, LOG, ['{"t":1,"client":"a","action":"send","args":{},"result":"ok"}']):
        data = memoryview("\n".join(lines).encode())
        (part,) = plain_parts(data)
        assert part.data is data
        assert not part.forms


@pytest.mark.parametrize(
    "payload",
    [
        "> baseOffset: 1 lastOffset: 1 quoted",
        "    | offset: 3 CreateTime: 1 indented",
        "kafka-1  | [2024-05-01 10:00:00,001] INFO a (b.C)",
        "\x1b[31mred\x1b[0m",
        "a,b\r",
        '{"log": "x\\n", "stream": "stdout"}',
        "&lt;DELETE&gt;",
        "```",
    ],
)
def test_payloads_of_a_plain_dump_are_never_touched(payload: str) -> None:
    lines = [*DUMP[:4], *[payload] * 30]
    assert taken_off("\n".join(lines)) == (lines, ())
    noisy = ["OpenJDK 64-Bit Server VM warning: something", *lines]
    assert taken_off("\n".join(noisy)) == (noisy, ())


def test_a_payload_with_a_prefix_of_its_own_keeps_it() -> None:
    lines = [*DUMP[:4], "> two", "    three", "12: four"]
    found, _ = taken_off("\n".join(f"> {line}" for line in lines))
    assert found == lines


JSON_LINES = (
    '{"level":"INFO","timestamp":"2024-05-01T10:00:00.000Z","logger":"kafkajs","message":"[Producer] sent"}',
    '{"level":"info","ts":1700000000.1,"logger":"kgo","msg":"producer id initialization success"}',
    '{"time":"2024-05-01T10:00:00Z","level":"debug","message":"txnmgr/init-producer-id"}',
    '{"t":1,"client":"a","action":"commit","args":{},"result":"ok"}',
    '{"key":{"type":0,"data":{"transactionalId":"x"}},"value":null}',
)


@pytest.mark.parametrize("line", JSON_LINES)
def test_objects_of_other_programs_stay_and_lose_what_carried_them(line: str) -> None:
    lines = [line] * 3
    assert taken_off("\n".join(lines)) == (lines, ())
    carried = [json.dumps({"log": f"{each}\n", "stream": "stderr", "time": "2024-05-01T10:00:00Z"}) for each in lines]
    assert taken_off("\n".join(carried))[0] == lines
    assert taken_off("\n".join(f"app-1  | {each}" for each in lines))[0] == lines


def test_what_containerd_split_is_joined_at_the_first_line() -> None:
    time = "2024-05-01T10:00:00.123456789Z"
    half = len(LOG[0]) // 2
    text = [f"{time} stdout P {LOG[0][:half]}", f"{time} stderr F other", f"{time} stdout F {LOG[0][half:]}"]
    text += [f"{time} stdout F {LOG[1]}"]
    found, _ = taken_off("\n".join(text) + "\n")
    assert found == [LOG[0], "other", ELSEWHERE, LOG[1], ""]


def test_what_docker_split_is_joined_at_the_first_line() -> None:
    half = len(LOG[0]) // 2
    pieces = [LOG[0][:half], f"{LOG[0][half:]}\n", f"{LOG[1]}\n", LOG[0][:9]]
    text = [json.dumps({"log": piece, "stream": "stdout", "time": "2024-05-01T10:00:00Z"}) for piece in pieces]
    found, _ = taken_off("\n".join(text))
    assert found == [LOG[0], ELSEWHERE, LOG[1], LOG[0][:9]]


def test_lines_of_two_pods_are_two_parts_with_the_lines_of_the_file() -> None:
    text = [f"[pod/kafka-{number}/kafka] {line}" for line in DUMP for number in (0, 1)]
    parts = plain_parts(memoryview(("\n".join(text) + "\n").encode()))
    assert [part.source for part in parts] == ["kafka-0/kafka", "kafka-1/kafka"]
    for number, part in enumerate(parts):
        lines = Lines(part.data)
        assert list(iter(lines.take, None)) == DUMP
        assert lines.number == 2 * len(DUMP) - 1 + number


def test_a_look_ahead_passes_over_lines_of_others() -> None:
    lines = Lines(memoryview(f"a\n{ELSEWHERE}\nb\n{ELSEWHERE}\n".encode()))
    assert lines.peek(1) == "b"
    assert [(lines.take(), lines.number), (lines.take(), lines.number), lines.take()] == [("a", 1), ("b", 3), None]


CONSOLE = (
    "pay::TransactionMetadata(transactionalId=pay, producerId=13, producerEpoch=1, txnTimeoutMs=60000, state=Empty, "
    "pendingState=None, topicPartitions=HashSet(), txnStartTimestamp=-1, txnLastUpdateTimestamp=1700000000000)"
)


@pytest.mark.parametrize("remark", [" // first", "   # first", " -- first", "   ", "  <- this one"])
@pytest.mark.parametrize("blanks", ["", "   ", "// ", " * "])
def test_remarks_around_a_printed_record_are_taken_off(blanks: str, remark: str) -> None:
    found, _ = taken_off(f"{blanks}{CONSOLE}{remark}\n")
    assert found == [CONSOLE, ""]


def test_several_forms_are_composed() -> None:
    carried = [f"[pod/kafka-0/kafka] 2024-05-01T10:00:00.123456789Z {line}" for line in LOG]
    mail = "\r\n".join(["On Monday somebody wrote:", *(f">> {line}" for line in carried), ""])
    (part,) = plain_parts(memoryview(mail.encode("utf-16")))
    assert bytes(part.data).decode().split("\n") == ["On Monday somebody wrote:", *LOG, ""]
    assert part.forms == (
        "UTF-16",
        "Windows line ends",
        "quoted lines (>)",
        "prefixes of kubectl logs",
        "times of docker or kubectl logs",
    )


def test_a_prefix_that_nobody_knows_is_taken_off_if_all_lines_have_it() -> None:
    text = [f"<<shipper-7 #{number}>> {line}" for number, line in enumerate(DUMP, 8)]
    assert taken_off("\n".join(text)) == (DUMP, ("a prefix before each line",))
    different = [f"{word} {line}" for word, line in zip("abcdef", DUMP, strict=True)]
    assert taken_off("\n".join(different))[0] == different


@given(
    st.binary(max_size=400), st.sampled_from([b"", b"\xff\xfe", b"\xef\xbb\xbf", b"> ", b"a-1 | ", b"{", b"1 [2024-"])
)
def test_any_bytes_are_taken_without_a_traceback(data: bytes, start: bytes) -> None:
    parts = plain_parts(memoryview(start + data))
    assert parts


@given(st.lists(st.sampled_from([*DUMP, *LOG, "> ", "a-1  | x", '{"log":1}', '{"log":"x"', "\x1a\x1a", "]", "12:"])))
def test_a_text_keeps_the_number_of_its_lines(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    for part in plain_parts(memoryview(data)):
        assert bytes(part.data).count(b"\n") - data.count(b"\n") in (0, 1)


def test_wrapping_is_undone_for_bytes_that_are_no_utf_8() -> None:
    text = "\n".join(DUMP).encode() + b"\n| offset: \xff\xfe\n"
    quoted = next(each for each in PASTES if each.name == "quoted")
    (part,) = plain_parts(memoryview(wrapped(text, [quoted], "\n", "utf-8")))
    assert bytes(part.data) == text


LINE = LOG[0]
CARRIERS = {
    "kubectl with times": f"[pod/kafka-0/kafka] 2024-05-01T10:00:00.123456789Z {LINE}",
    "stern with namespace": f"prod kafka-0 kafka {LINE}",
    "stern in colours": f"\x1b[38;5;1mkafka-0\x1b[0m \x1b[38;5;2mkafka\x1b[0m {LINE}",
    "stern with an arrow": f"kafka-0 › kafka {LINE}",
    "kubetail": f"[kafka-0 kafka] {LINE}",
    "journald, short-precise": f"May  1 10:00:00.123456 host kafka[1234]: {LINE}",
    "journald, short-full": f"Wed 2024-05-01 10:00:00 CEST host kafka[1234]: {LINE}",
    "journald, short-unix": f"1714557600.123456 host kafka[1234]: {LINE}",
    "journald, export": f"MESSAGE={LINE}",
    "rsyslog": f"2024-05-01T10:00:00.123456+00:00 host kafka-server-start.sh[1234]: {LINE}",
    "RFC 5424 with data": rf'<134>1 2024-05-01T10:00:00.123Z host kafka 1234 ID47 [ex@32473 a="b\]"] {LINE}',
    "CloudWatch": f"2024-05-01T10:00:00.052Z\t{LINE}",
    "awslogs": f"2024-05-01T10:00:00.052000+00:00 kafka/kafka-0/7 {LINE}",
    "fluentd": "2024-05-01 10:00:00 +0000 kube.var.log: " + json.dumps({"log": LINE, "stream": "stdout"}),
    "Filebeat": json.dumps({"@timestamp": "2024-05-01T10:00:00Z", "message": LINE, "agent": {"type": "filebeat"}}),
    "stern -o json": json.dumps({"message": LINE, "nodeName": "n", "podName": "kafka-0", "containerName": "kafka"}),
    "journald, bytes": json.dumps({"MESSAGE": list(LINE.encode()), "SYSLOG_IDENTIFIER": "kafka"}),
    "CSV": f'"{LINE}"',
    "CSV with columns": f'2024-05-01T10:00:00.052Z,kafka-0,"{LINE}"',
    "editor": f"  1 {LINE}",
    "bars": f"1 | {LINE}",
    "comment": f"    // {LINE}",
    "inline code": f"`{LINE}`",
    "chat": f"&gt; {LINE}",
    "page": f"{LINE}<br>",
    "no-break blanks": LINE.replace(" ", "\xa0"),
    "grep in colours": f"server.log:\x1b[1;31m{LINE}\x1b[0m",
    "kail": f"prod/kafka-0[kafka]: {LINE}",
    "list in a page": f"* {LINE}",
    "Jira in one line": f"{{noformat}}{LINE}",
    "grep with lines": f"logs/server.log.2024:17:{LINE}",
    "swarm": f"kafka.1.x7@node1    | {LINE}",
}


OF_UNKNOWN_PREFIXES = ("awslogs", "fluentd", "swarm")


@pytest.mark.parametrize("line", CARRIERS.values(), ids=CARRIERS)
def test_whatever_carried_a_line_is_taken_off(line: str) -> None:
    found, forms = taken_off(f"{line}\n{line}\n")
    assert found == [LINE, LINE, ""]
    assert forms
    assert (ANY_PREFIX in forms) == (line in map(CARRIERS.get, OF_UNKNOWN_PREFIXES))


def test_pods_of_a_collector_are_sources_of_their_own() -> None:
    def carried(pod: str, line: str) -> str:
        return json.dumps({"log": f"{line}\n", "kubernetes": {"pod_name": pod, "container_name": "kafka"}})

    text = [carried(pod, f"{LINE} {pod}") for pod in ("kafka-0", "kafka-1", "kafka-0", "kafka-1")]
    parts = plain_parts(memoryview("\n".join(text).encode()))
    assert [part.source for part in parts] == ["kafka-0 kafka", "kafka-1 kafka"]
    assert [list(Lines(part.data)) for part in parts] == [[f"{LINE} {pod}"] * 2 for pod in ("kafka-0", "kafka-1")]


def test_forms_are_taken_off_behind_a_prompt_and_its_command() -> None:
    for prompt in ("$ ", "# ", "root@kafka-0:/opt/kafka# ", "[kafka@host ~]$ ", "PS C:\\kafka> ", "C:\\kafka>"):
        found, forms = taken_off("\n".join([f"{prompt}kafka-dump-log --files x", *DUMP]))
        assert found == [ELSEWHERE, *DUMP], prompt
        assert forms == ("a shell's prompt",)


@pytest.mark.parametrize(
    "prompt",
    [
        *("$ ", "# ", "❯ ", "sh-4.4$ ", "bash-5.1# ", "user@host ~ % ", "root@b3f:/opt/kafka/bin# ", "[kafka@b ~]$ "),
        *("PS C:\\kafka> ", "C:\\kafka\\bin\\windows>", "(venv) me@host:~$ ", "$ kubectl exec -it kafka-0 -- "),
    ],
)
@pytest.mark.parametrize("carrier", ["", "kafka-1  | ", "> ", "    "])
def test_a_command_that_names_a_partition_stays_when_its_prompt_is_taken_off(prompt: str, carrier: str) -> None:
    command = "bin/kafka-transactions.sh describe-producers --topic orders --partition 3"
    header = "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\t"
    lines = [f"{prompt}{command}", f"{header}CurrentTransactionStartOffset\t", "4000\t1\t10\t-1\t1656060974188\t91\t"]
    lines += [f"{prompt}cat notes"]
    (part,) = plain_parts(memoryview("".join(f"{carrier}{line}\n" for line in lines).encode()))
    [row] = read_tool_output(part.data, "orders-0.txt").producers
    assert row.place == ("orders", 3)


def test_a_file_of_bytes_is_not_taken_for_text() -> None:
    for data in (bytes(5000), b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, b"PK\x03\x04" + bytes(100)):
        (part,) = plain_parts(memoryview(data))
        assert bytes(part.data) == data


REPEATED = [
    "`",
    "~",
    "a.",
    "[a] ",
    " (a.B)",
    '{"',
    "::",
    "<pre>",
    "12:",
    "> ",
    "- ",
    "&lt;",
    "\x1b[",
    "a@",
    "| ",
    "2024-05-01 ",
]


@pytest.mark.deep
@pytest.mark.parametrize("unit", REPEATED)
def test_a_line_of_one_thing_repeated_takes_no_time(unit: str) -> None:
    started = time.process_time()
    line = unit * (4000 // len(unit)) + "\x01"
    plain_parts(memoryview(f"{LOG[1][:29]}{line}\n{line}\nx | {LOG[0]}\n> {LOG[0]}\n".encode()))
    assert time.process_time() - started < 5


@pytest.mark.deep
def test_a_line_of_blanks_takes_linear_time() -> None:
    started = time.process_time()
    plain_parts(memoryview(b"pay-1::NULL\n" + b" " * 60_000 + b"\npay-2::NULL\n"))
    assert time.process_time() - started < 2


# ---------------------------------------------------------------- times before a line


AT_HOME = LINE.replace("2024-05-01 10:00:00", "2024-05-01 15:30:00")
"""The same line of a broker whose clock is 5:30 h ahead of UTC."""


@pytest.mark.parametrize(
    "before",
    [
        "2024-05-01T10:00:00.052Z ",
        "2024-05-01T15:30:12.052+05:30 ",
        "2024-05-01T10:00:00.123456789Z stdout F ",
        "2024-05-01T12:00:00.123456+02:00 host kafka[1234]: ",
        "<134>1 2024-05-01T10:00:00.123Z host kafka 1234 ID47 - ",
    ],
)
def test_the_time_before_a_line_tells_the_zone_of_the_time_in_it(before: str) -> None:
    found, _ = taken_off(f"{before}{AT_HOME}\n{before}{AT_HOME}\n")
    assert found == [LINE, LINE, ""]


def test_the_time_of_a_container_tells_the_zone() -> None:
    line = json.dumps({"log": f"{AT_HOME}\n", "stream": "stdout", "time": "2024-05-01T10:00:00.052Z"})
    assert taken_off(f"{line}\n{line}\n")[0] == [LINE, LINE, ""]


@pytest.mark.parametrize(
    ("line", "collected"),
    [
        (LINE, "2024-05-01T10:00:00.052Z"),
        (LINE, "2024-05-01T10:07:00.052Z"),
        (LINE, "2024-05-02T10:00:00.052Z"),
        (LINE, "no time"),
        (LINE, ""),
        ("2024-05-01 15:30:00.001+05:30 INFO x", "2024-05-01T09:00:00.052Z"),
        ("2024-05-01T15:30:00Z INFO x", "2024-05-01T10:00:00.052Z"),
        ("2024-05-01 15:30:00 UTC INFO x", "2024-05-01T10:00:00.052Z"),
        ("2024-05-41 15:30:00 INFO x", "2024-05-01T10:00:00.052Z"),
        ("baseOffset: 0", "2024-05-01T10:00:00.052Z"),
    ],
    ids=["UTC", "collected late", "another day", "no time", "none", "offset", "Z", "UTC named", "no day", "no head"],
)
def test_a_line_keeps_its_time_where_nothing_tells_its_zone_or_it_does(line: str, collected: str) -> None:
    assert in_utc(line, collected) == line
