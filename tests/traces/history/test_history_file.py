"""Histories are written and read as they were, and what is none is refused with its place."""

import json
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.traces.history.table import TABLE
from zombieproof.traces.history.events import KINDS
from zombieproof.traces.history.history_file import (
    History,
    HistoryError,
    format_event,
    format_header,
    history_of,
    parse_event,
    read_history,
)
from zombieproof.traces.history.judge import judge
from zombieproof.traces.history.writer import HistoryWriter

Told = Callable[[str], History]

HEADER = format_header()
BEGIN = '{"kind":"begin","at":1,"process":"A","transaction":"A.1"}'
SEND = '{"kind":"send","at":2,"process":"A","partition":"t-0","value":"v","transaction":"A.1"}'
SENT = '{"kind":"sent","at":3,"process":"A","value":"v","outcome":"acknowledged","offset":0}'


def written(folder: Path, *lines: str, end: str = "\n") -> Path:
    path = folder / "history.jsonl"
    path.write_text("\n".join(lines) + end)
    return path


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_line_is_read_as_it_was_written(told: Told, row: object) -> None:
    for event in told(row.text).events:  # type: ignore[attr-defined]
        again = parse_event(format_event(event))
        assert (type(again), format_event(again)) == (type(event), format_event(event))


def test_every_kind_of_event_is_in_the_table(told: Told) -> None:
    assert {event.kind for row in TABLE for event in told(row.text).events} == set(KINDS)


def test_a_file_has_the_verdict_of_what_was_kept(told: Told, tmp_path: Path) -> None:
    for number, row in enumerate(TABLE):
        kept = told(row.text)
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(f"{line}\n" for line in (HEADER, *map(format_event, kept.events))))
        findings = judge(read_history(path)).findings
        assert [(each.anomaly, each.message) for each in findings] == [
            (each.anomaly, each.message) for each in judge(kept).findings
        ]
        for finding in findings:
            for shown in finding.events:
                assert path.read_text().splitlines()[shown.line - 1] == shown.event
                assert shown.file == str(path)


MALFORMED = {
    "an empty file": ((), 0, "is empty"),
    "no header": ((BEGIN,), 1, "is no header"),
    "a header of another version": ((HEADER.replace("1", "2"),), 1, "version 2; this program reads version 1"),
    "a header with something more": ((HEADER.replace("}", ', "by": "me"}'),), 1, "unknown here"),
    "a header without a version": (('{"kind":"history","format":"zombieproof-history"}',), 1, "lacks version"),
    "two headers": ((HEADER, HEADER), 2, "has the kind 'history'; legal: init, "),
    "no JSON": ((HEADER, BEGIN[:-1]), 2, "is not JSON"),
    "an empty line": ((HEADER, BEGIN, "", SEND), 3, "is not JSON"),
    "two objects in a line": ((HEADER, BEGIN + BEGIN), 2, "is not JSON"),
    "no object": ((HEADER, "[1]"), 2, "is no JSON object"),
    "no kind": ((HEADER, BEGIN.replace('"kind":"begin",', "")), 2, "has the kind None"),
    "a kind that is not there": ((HEADER, BEGIN.replace("begin", "began")), 2, "has the kind 'began'"),
    "a field too many": ((HEADER, BEGIN.replace("}", ',"epoch":1}')), 2, "has epoch, which is unknown here; legal in"),
    "a field too few": ((HEADER, SEND.replace('"value":"v",', "")), 2, "lacks value, which every send has"),
    "a number as text": ((HEADER, BEGIN.replace("1,", '"1",')), 2, "at: Input should be a valid integer (found '1')"),
    "an empty name": ((HEADER, BEGIN.replace('"A"', '""')), 2, "process: String should have at least 1 character"),
    "an offset below zero": ((HEADER, BEGIN, SEND, SENT.replace(":0}", ":-1}")), 4, "greater than or equal to 0"),
    "an outcome that is none": (
        (HEADER, BEGIN, SEND, SENT.replace("acknowledged", "done")),
        4,
        "outcome: Input should",
    ),
    "time that stands still": (
        (HEADER, BEGIN, SEND.replace('"at":2', '"at":1')),
        3,
        "is at 1, and the line before at 1",
    ),
    "time that goes back": ((HEADER, BEGIN, SEND.replace('"at":2', '"at":0')), 3, "`at` increases"),
    "an answer to nothing": ((HEADER, SENT), 2, "A is told of v, which it never sent"),
    "a value that is sent twice": (
        (HEADER, BEGIN, SEND, SEND.replace('"at":2', '"at":3')),
        4,
        "the value v is sent twice; values are unique",
    ),
    "an offset of what is not acknowledged": (
        (HEADER, BEGIN, SEND, SENT.replace("acknowledged", "unknown")),
        4,
        "v is unknown and has an offset",
    ),
    "a second acknowledgement": ((HEADER, BEGIN, SEND, SENT, SENT.replace(":3", ":4")), 5, "A is told of v twice"),
    "a record in no transaction": ((HEADER, SEND), 2, "transaction A.1 was never begun"),
    "a record in another's transaction": (
        (HEADER, BEGIN, SEND.replace('"A"', '"B"')),
        3,
        "transaction A.1 is A's, not B's",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_history_is_refused_with_file_and_line(name: str, tmp_path: Path) -> None:
    lines, number, fault = MALFORMED[name]
    path = written(tmp_path, *lines, end="\n" if lines else "")
    with pytest.raises(HistoryError) as refused:
        judge(read_history(path))
    assert (refused.value.file, refused.value.line) == (str(path), number)
    assert fault in refused.value.fault


IMPOSSIBLE = {
    "A begin 1; A begin 1": "transaction A.1 is begun twice",
    "A send v t; B ack v 0": "B is told of v, which it never sent",
    "A init ok": "A is told of an init that it never asked for",
    "A offsets ok": "A is told of offsets that it never sent",
    "A offsets g t=1; A offsets ok; A offsets ok": "A is told of offsets that it never sent",
    "A begin 1; A committed": "A is told of an end of A.1 that it never asked for",
    "A begin 1; A abort; A committed": "A.1 is told to be committed, and nobody asked for that",
    "A begin 1; A commit; A committed; A aborted": "A is told of the end of A.1 twice",
    "R got v t 0": "R has no position in t to read from",
    "R final t 0 of 0": "R has no position in t to read from",
    "R reads t 0; R got v u 0": "R has no position in u to read from",
    "R reads t 0; R sees u 0": "R is read_committed, and a reader stays so",
}


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_what_cannot_have_been_told_to_clients_is_refused(told: Told, text: str) -> None:
    with pytest.raises(HistoryError, match=IMPOSSIBLE[text]):
        judge(told(text))


def test_a_cut_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="line 2: is cut"):
        read_history(written(tmp_path, HEADER, BEGIN, end=""))


def test_a_file_that_is_not_there_or_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="cannot be read: No such file"):
        read_history(tmp_path / "gone.jsonl")
    with pytest.raises(HistoryError, match="there is no file"):
        read_history()


def test_files_of_one_clock_are_one_history(tmp_path: Path) -> None:
    clock = iter(range(1, 100))
    with (
        HistoryWriter(tmp_path / "a", lambda: next(clock)) as a,
        HistoryWriter(tmp_path / "b", lambda: next(clock)) as b,
    ):
        b.positioned("R", "read_committed", {"t-0": 0})
        a.begin("A", "A.1")
        a.send("A", "t-0", "v", "A.1")
        a.acknowledged("A", "v", 0)
        b.read("R", "t-0", 0, "v")
        a.commit("A", "A.1")
    [finding] = judge(read_history(tmp_path / "a", tmp_path / "b")).findings
    assert finding.anomaly == "dirty_read"
    assert [(Path(shown.file).name, shown.line) for shown in finding.events] == [("a", 3), ("b", 3), ("a", 5)]
    with pytest.raises(HistoryError, match="R has no position"):
        judge(read_history(tmp_path / "a", written(tmp_path, HEADER, (tmp_path / "b").read_text().splitlines()[2])))


def test_events_that_were_kept_are_in_order(told: Told) -> None:
    events = told("A begin 1; A commit").events
    assert judge(history_of(events)).is_clean
    with pytest.raises(HistoryError, match="`at` increases"):
        history_of(reversed(events))


# ---------------------------------------------------------------- the writer


def test_a_writer_takes_no_file_that_is_there(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER)
    with pytest.raises(FileExistsError):
        HistoryWriter(path)


def test_an_event_is_in_the_file_before_the_call_returns(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    writer = HistoryWriter(path)
    writer.begin("A", "A.1")
    assert [json.loads(line)["kind"] for line in path.read_text().splitlines()] == ["history", "begin"]
    writer.close()


def test_a_buffered_writer_has_written_everything_when_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with HistoryWriter(path, is_buffered=True) as writer:
        writer.begin("A", "A.1")
        assert len(path.read_text().splitlines()) == 1
    assert len(path.read_text().splitlines()) == 2


def test_time_that_stands_still_is_moved_on() -> None:
    writer = HistoryWriter(now=lambda: 7)
    writer.begin("A", "A.1")
    writer.begin("A", "A.2")
    assert [event.at for event in writer.history().events] == [7, 8]


def test_threads_share_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with HistoryWriter(path) as writer:

        def write(process: str) -> None:
            for number in range(200):
                writer.begin(process, f"{process}.{number}")

        threads = [threading.Thread(target=write, args=(name,)) for name in "ABCD"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert judge(read_history(path)).counts.transactions == 800


def test_what_makes_no_sense_is_not_written() -> None:
    writer = HistoryWriter()
    writer.begin("A", "A.1")
    writer.commit("A", "A.1")
    with pytest.raises(ValueError, match="say `committed` or `aborted`"):
        writer.not_ended("A", "A.1", "ok")
    with pytest.raises(ValueError, match="say `acknowledged`"):
        writer.not_sent("A", "v", "ok")
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        writer.acknowledged("A", "v", -1)
    assert len(writer.history().events) == 2


def test_an_error_says_the_same_in_another_process() -> None:
    error = HistoryError("h.jsonl", 3, "says nothing")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line) == ("h.jsonl, line 3: says nothing", 3)


def in_files(told: Told, tmp_path: Path, text: str, *, without: int) -> list[str]:
    """The messages about a history in a file for each process, of which that of A lacks its last lines."""
    events = told(text).events
    paths = []
    for name in ("A", "B", "R"):
        own = [event for event in events if name in (getattr(event, "process", ""), getattr(event, "reader", ""))]
        lines = [HEADER, *map(format_event, own[: len(own) - without] if name == "A" else own)]
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("".join(f"{line}\n" for line in lines))
    return [f"{each.anomaly}: {each.message}" for each in judge(read_history(*paths)).findings]


STORY = (
    "A init x; A init ok; B begin 1; B send z u; A begin 1; A send v t; A ack v 0; A commit; A committed; B ack z 0; "
    "B commit; B committed; R reads t 0; R got v t 0"
)


def test_a_finding_that_rests_on_missing_lines_names_the_file_that_ends_before_it(told: Told, tmp_path: Path) -> None:
    assert in_files(told, tmp_path, STORY, without=0) == []
    assert in_files(told, tmp_path, STORY, without=1) == []
    path = tmp_path / "A.jsonl"
    (aborted,) = in_files(told, tmp_path, STORY, without=2)
    assert aborted.startswith("aborted_read: ")
    assert aborted.endswith(f", unless lines are missing at the end of {path}, which ends at 7")
    (phantom,) = in_files(told, tmp_path, STORY, without=4)
    assert phantom.startswith("phantom_read: ")
    assert f"{path}, which ends at 5 or {tmp_path / 'B.jsonl'}, which ends at 12" in phantom


def test_a_file_that_goes_on_is_not_said_to_lack_lines(told: Told, tmp_path: Path) -> None:
    later = f"{STORY}; A begin 2; A send w t; A ack w 2".replace("A commit; A committed; ", "")
    (aborted,) = in_files(told, tmp_path, later, without=0)
    assert aborted.startswith("aborted_read: ")
    assert "unless" not in aborted
    refused = "A send v t; A fail v; R reads t 0; R got v t 0"
    (phantom,) = in_files(told, tmp_path, refused, without=0)
    assert "unless" not in phantom
