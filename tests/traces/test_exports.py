"""Exports of log stores as CSV and JSON: cells and strings are lines, and what cannot be read is counted."""

import csv
import io
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.dumps import text_of
from tests.traces.test_forms import DUMP, LOG
from tests.traces.test_pods_in_one_text import ASKS, FENCED, has
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.documents import Strings
from zombieproof.traces.readers.exports import document_of, table_of
from zombieproof.traces.readers.forms import plain_parts
from zombieproof.traces.readers.lines import ELSEWHERE, Lines
from zombieproof.traces.replay import replay

TRACE = "[2025-11-03 10:00:09,000] ERROR it went wrong (com.example.App)\njava.lang.Error: no\n\tat a.B.c(B.java:1)"
KEY = '{"type":"0","data":{"transactionalId":"till"}}'
VALUE = (
    '{"version":"0","data":{"producerId":7,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":0,'
    '"transactionPartitions":[],"transactionLastUpdateTimestampMs":1710000000000,"transactionStartTimestampMs":-1}}'
)
BATCH = (
    "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
    "partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 "
    "CreateTime: 1710000000000 size: 117 magic: 2 compresscodec: none crc: 11 isvalid: true"
)
RECORD = "| offset: 0 CreateTime: 1710000000000 keySize: 12 valueSize: 37 sequence: -1 headerKeys: [] key: "
PATH = "Dumping /data/__transaction_state-3/00000000000000000000.log"
STATE = [PATH, "Log starting offset: 0", BATCH, f"{RECORD}{KEY} payload: {VALUE}"]
Lined = Sequence[str]


def rows(heading: Sequence[str], lines: Lined, delimiter: str = ",", *, every: bool = False) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL)
    writer.writerow(heading)
    at = next(at for at, name in enumerate(heading) if name.strip("@_").lower() in NAMED)
    for line in lines:
        writer.writerow([line if each == at else f"cell, {each}" for each in range(len(heading))])
    return out.getvalue()


NAMED = ("message", "line", "raw", "content", "logmessage", "nachricht", "log_entry")

FORMS: dict[str, Callable[[Lined], str]] = {
    "CSV": lambda lines: rows(("Date", "Message"), lines),
    "CSV, line first": lambda lines: rows(("_raw", "_time", "host"), lines, every=True),
    "CSV, semicolons": lambda lines: rows(("Zeit", "Nachricht"), lines, ";", every=True),
    "TSV": lambda lines: rows(("Time", "Line"), lines, "\t"),
    "CSV, three columns": lambda lines: rows(("TimeGenerated [UTC]", "PodId", "LogMessage"), lines),
    "array": lambda lines: json.dumps([{"ts": "1", "line": line} for line in lines]),
    "array, indented": lambda lines: json.dumps([{"@timestamp": "1", "message": line} for line in lines], indent=2),
    "hits": lambda lines: json.dumps({"hits": {"hits": [{"_source": {"message": line}} for line in lines]}}, indent=1),
    "events": lambda lines: json.dumps({"events": [{"timestamp": 1, "message": line} for line in lines]}, indent=4),
    "fields": lambda lines: json.dumps(
        {"results": [[{"field": "@timestamp", "value": "2025"}, {"field": "@message", "value": x}] for x in lines]}
    ),
    "streams": lambda lines: json.dumps(
        {"data": {"result": [{"stream": {"pod": "a"}, "values": [["17", line] for line in lines]}]}}
    ),
    "objects": lambda lines: "".join(json.dumps({"result": {"_raw": line}}) + "\n" for line in lines),
    "texts": lambda lines: json.dumps([{"textPayload": line, "resource": {"type": "x"}} for line in lines], indent=2),
    "one string": lambda lines: json.dumps({"description": "\n".join(["Hello,", *lines])}),
    "JSON in CSV": lambda lines: rows(("Date", "Message"), [json.dumps({"log": f"{x}\n"}) for x in lines]),
    "CSV in JSON": lambda lines: json.dumps({"body": rows(("Date", "Message"), lines)}),
}


def read(text: str) -> list[str]:
    parts = plain_parts(memoryview(text.encode()))
    return [line for part in parts for line in Lines(part.data)]


@pytest.mark.parametrize("export", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("lines", [DUMP[:5], LOG, STATE], ids=["dump", "log", "state"])
def test_every_line_comes_out_as_it_was(export: Callable[[Lined], str], lines: list[str]) -> None:
    found = read(export(lines))
    assert [line for line in found if line.strip() and line != "Hello,"] == lines


OUTER: dict[str, Callable[[str], str]] = {
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "indented": lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
    "fenced": lambda text: f"see:\n```\n{text}\n```\n",
    "Windows": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
}


@pytest.mark.parametrize("outer", OUTER.values(), ids=OUTER)
@pytest.mark.parametrize("export", [FORMS[name] for name in ("CSV", "array, indented", "objects", "TSV")])
def test_an_export_within_another_form_is_read(outer: Callable[[str], str], export: Callable[[Lined], str]) -> None:
    found = read(outer(export(STATE)))
    assert [line for line in found if line in STATE] == STATE


@pytest.mark.parametrize("export", FORMS.values(), ids=FORMS)
def test_the_records_of_the_transaction_log_are_decoded(export: Callable[[Lined], str], tmp_path: Path) -> None:
    (tmp_path / "export").write_text(export(STATE))
    evidence = collect([tmp_path])
    assert [record.transactional_id for record in evidence.transaction_states] == ["till"]
    assert evidence.damage == []


def test_a_cell_over_several_lines_keeps_their_numbers() -> None:
    text = rows(("Date", "Message"), [LOG[0], TRACE, LOG[1]]).replace("\r\n", "\n")
    (part,) = plain_parts(memoryview(text.encode()))
    found = bytes(part.data).decode().split("\n")
    assert found == [ELSEWHERE, LOG[0], *TRACE.split("\n"), LOG[1], ""]


def test_entries_of_an_indented_document_keep_their_numbers() -> None:
    text = json.dumps([{"id": n, "message": line} for n, line in enumerate(LOG)], indent=1)
    (part,) = plain_parts(memoryview(text.encode()))
    for number, line in enumerate(bytes(part.data).decode().split("\n")):
        assert line in (ELSEWHERE, "") or line in json.loads(f"{{{text.splitlines()[number]}}}")["message"]


def _entry(pod: int, text: str, second: int) -> dict[str, object]:
    line = f"[2025-11-03 10:00:{second:02},000] {text}"
    return {"message": line, "kubernetes": {"labels": {"app": "till"}, "pod": {"name": f"till-{pod}"}}}


STORY = ((0, ASKS), (0, has(3)), (1, ASKS), (1, has(4)), (0, FENCED))
ENTRIES = [_entry(pod, text, second) for second, (pod, text) in enumerate(STORY)]


def _by_stream() -> str:
    streams = [
        {
            "stream": {"container": "app", "pod": f"till-{pod}"},
            "values": [["17", each["message"]] for (of, _), each in zip(STORY, ENTRIES, strict=True) if of == pod],
        }
        for pod in (0, 1)
    ]
    return json.dumps({"status": "success", "data": {"result": streams}})


def _csv_of_pods() -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["Time", "labels", "Line"])
    for (pod, _), each in zip(STORY, ENTRIES, strict=True):
        writer.writerow(["1", json.dumps({"pod": f"till-{pod}"}), each["message"]])
    return out.getvalue()


PODS = {
    "array": json.dumps(ENTRIES, indent=1),
    "hits": json.dumps({"hits": [{"_source": each} for each in ENTRIES]}),
    "streams": _by_stream(),
    "labels in CSV": _csv_of_pods(),
    "pods in CSV": "\n".join(
        [
            "time,pod,message",
            *(f'1,till-{pod},"{each["message"]}"' for (pod, _), each in zip(STORY, ENTRIES, strict=True)),
        ]
    ),
}


@pytest.mark.parametrize("text", PODS.values(), ids=PODS)
def test_pods_of_an_export_are_instances_of_their_own(text: str, tmp_path: Path) -> None:
    (tmp_path / "export").write_text(text)
    old, new = replay([tmp_path / "export"]).clients
    assert (old.producers, new.producers) == (["51:3"], ["51:4"])
    assert "till-0" in old.file
    assert "till-1" in new.file


QUOTES = {
    "doubled": lambda line: line.replace('"', '""'),
    "escaped": lambda line: line.replace('"', '\\"'),
    "typographic": lambda line: line.replace('"', "\u201d"),
    "typographic, of two kinds": lambda line: line.replace(':"', ":\u201c").replace('"', "\u201d"),
    "German": lambda line: line.replace(':"', ":\u201e").replace('"', "\u201c"),
    "French": lambda line: line.replace(':"', ":\u00ab").replace('"', "\u00bb"),
}


@pytest.mark.parametrize("change", QUOTES.values(), ids=QUOTES)
@pytest.mark.parametrize("before", [[], [*text_of("4.3").splitlines()] * 12], ids=["alone", "below another"])
def test_other_quotation_marks_are_those_of_json(
    change: Callable[[str], str], before: list[str], tmp_path: Path
) -> None:
    (tmp_path / "dump.txt").write_text("\n".join([*before[:120], *map(change, STATE)]) + "\n")
    evidence = collect([tmp_path / "dump.txt"])
    assert [record.transactional_id for record in evidence.transaction_states] == ["till"]
    assert not any("decoder" in each.reason for each in evidence.ignored)


@pytest.mark.parametrize("change", QUOTES.values(), ids=QUOTES)
def test_payloads_keep_their_quotation_marks(change: Callable[[str], str]) -> None:
    payload = change('{"a":"b"}')
    head = f"{DUMP[3].partition('valueSize')[0]}valueSize: {len(payload.encode())} sequence: 0 headerKeys: [] "
    lines = [*DUMP[:3], f"{head}payload: {payload}"]
    assert read("\n".join(lines) + "\n") == lines


@pytest.mark.parametrize(
    "text",
    [
        "name,age\nann,3\nbob,4\n",
        json.dumps([{"message": "hello"}, {"message": "world"}], indent=1),
        json.dumps({"a": 1}),
        "a\tb\nc\td\n",
        '"x,y\n"z"\n',
        "{" * 500,
        '["' * 300,
    ],
)
def test_exports_of_something_else_are_no_evidence(text: str, tmp_path: Path) -> None:
    (tmp_path / "export").write_text(text)
    evidence = collect([tmp_path / "export"])
    assert evidence.files == []
    assert [each.reason for each in evidence.ignored] == ["nothing in it is evidence of transactions"]


def test_words_of_evidence_in_an_unknown_form_are_counted(tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("a\nrot13? producerEpoch=4\nb\nx TransactionMetadata y\n")
    evidence = collect([tmp_path / "odd.txt"])
    [ignored] = evidence.ignored
    assert "2 lines, from line 2 on" in ignored.reason
    assert [place.message for place in evidence.damage] == [ignored.reason]


@pytest.mark.parametrize("export", FORMS.values(), ids=FORMS)
def test_a_cut_export_is_read_up_to_its_end(export: Callable[[Lined], str]) -> None:
    text = export(LOG[:2] * 30)
    found = read(text[: len(text) * 2 // 3])
    assert sum(line in LOG for line in found) >= 30


@given(st.text(alphabet='{}[]",:\\n1a \n;\t', max_size=200), st.sampled_from(sorted(FORMS)))
def test_any_text_is_taken_without_a_traceback(text: str, form: str) -> None:
    read(text)
    read(FORMS[form](LOG) + text)
    table_of(text.split("\n"))
    document_of(text.split("\n"))


def test_a_half_of_a_surrogate_is_no_traceback() -> None:
    assert [each.text for each in Strings().take(0, '{"a": "x\\ud800"}')] == ["x\\ud800"]


def test_a_long_export_takes_linear_time() -> None:
    started = time.process_time()
    read(FORMS["streams"](LOG * 2000))
    read(FORMS["CSV"](LOG * 2000) + '"' + "\n".join(LOG * 500))
    assert time.process_time() - started < 20
