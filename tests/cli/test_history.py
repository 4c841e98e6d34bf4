"""zombieproof history: exit codes, the three forms, and what is refused."""

import bz2
import codecs
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from zombieproof import HistoryWriter, judge_history


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.jsonl"
    with HistoryWriter(path) as writer:
        writer.begin("A", "A.1")
        writer.send("A", "t-0", "v", "A.1")
        writer.acknowledged("A", "v", 0)
        writer.commit("A", "A.1")
        writer.committed("A", "A.1")
        writer.positioned("R", "read_committed", {"t-0": 0})
        writer.read("R", "t-0", 0, "v")
        since = writer.now()
        writer.final_read("R", "t-0", position=2, end=2, since=since)
    return path


@pytest.fixture
def bad(good: Path) -> Path:
    path = good.with_name("bad.jsonl")
    lines = good.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if '"read"' not in line) + "\n")
    return path


def test_a_history_without_anomaly_is_clean(run: Any, good: Path) -> None:
    outcome = run("history", good)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "8 events of 1 process and 1 reader: 1 transaction (1 committed, 0 aborted, 0 of unknown outcome), "
        "1 record sent (1 acknowledged), 1 read; no anomaly\n"
    )


def test_an_anomaly_is_told_with_the_lines_that_show_it(run: Any, bad: Path) -> None:
    outcome = run("history", bad)
    assert outcome.code == 1
    assert "lost_write: A record was acknowledged, and a reader that should get it read past its place" in outcome.out
    assert "  v was acknowledged in t-0 at 0, and R read past it without it\n" in outcome.out
    assert f"    {bad}:3  A send: partition t-0, value v, transaction A.1\n" in outcome.out
    assert f"    {bad}:8  R final read: since 8, partition t-0, position 2, end 2\n" in outcome.out
    assert outcome.out.endswith("; 1 finding\n")


def test_json_is_what_a_program_gets(run: Any, bad: Path) -> None:
    outcome = run("history", bad, "--json")
    assert (outcome.code, outcome.json) == (1, judge_history(bad).model_dump(mode="json"))
    assert [finding["anomaly"] for finding in outcome.json["findings"]] == ["lost_write"]


def test_junit_has_a_case_for_each_anomaly(run: Any, good: Path, bad: Path) -> None:
    for path, failed in ((good, []), (bad, ["no_lost_write"])):
        outcome = run("history", path, "--format", "junit")
        cases = list(ET.fromstring(outcome.out).iter("testcase"))
        assert len(cases) == 17
        assert [case.get("name") for case in cases if case.find("failure") is not None] == failed


def test_a_history_in_which_nothing_happened_proves_nothing(run: Any, tmp_path: Path) -> None:
    HistoryWriter(tmp_path / "empty.jsonl").close()
    assert run("history", tmp_path / "empty.jsonl").code == 3


def test_what_is_no_history_is_refused_with_its_line(run: Any, good: Path) -> None:
    good.write_text(good.read_text().replace('"send"', '"sends"'))
    outcome = run("history", good)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith(f"zombieproof: {good}, line 3: has the kind 'sends'; legal: init, ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["gone.jsonl"], "gone.jsonl does not exist; give a JSON Lines file, such as HistoryWriter writes"),
        (["."], ". is a folder; give the files in it"),
        ([], "missing argument"),
        (["gone.jsonl", "--json", "--format", "junit"], "--json and --format junit: choose one format"),
    ],
)
def test_wrong_usage_is_refused(run: Any, arguments: list[str], complaint: str) -> None:
    outcome = run("history", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert complaint in outcome.err


def test_files_and_kept_histories_are_judged_together(good: Path) -> None:
    writer = HistoryWriter(now=lambda: 1000)
    writer.positioned("S", "read_committed", {"t-0": 0})
    writer.read("S", "t-0", 1, "v")
    verdict = judge_history(writer.history(), good)
    assert {str(finding.anomaly) for finding in verdict.findings} == {"duplicate", "moved_write", "readers_disagree"}
    assert verdict.files == ["history", str(good)]


def test_the_schema_is_printed(run: Any) -> None:
    outcome = run("history", "--schema")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json["$defs"]["Read"]["required"] == ["kind", "at", "reader", "partition", "offset", "value"]


def test_the_schema_and_a_file_are_wrong_usage(run: Any, good: Path) -> None:
    outcome = run("history", good, "--schema")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--schema checks nothing: omit either the files or --schema" in outcome.err


WRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "bom": lambda text: codecs.BOM_UTF8 + text,
    "utf-16": lambda text: text.decode().encode("utf-16"),
    "utf-16 without a mark": lambda text: text.decode().encode("utf-16-le"),
    "crlf": lambda text: text.replace(b"\n", b"\r\n"),
}
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("suffix", PACKED)
def test_a_history_may_be_packed_and_have_any_encoding(run: Any, bad: Path, written: str, suffix: str) -> None:
    path = bad.with_name(f"other.jsonl{suffix}")
    path.write_bytes(PACKED[suffix](WRITTEN[written](bad.read_bytes())))
    outcome = run("history", path)
    assert (outcome.code, outcome.out) == (1, run("history", bad).out.replace(str(bad), str(path)))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_history_comes_from_standard_input(run: Any, bad: Path, pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(bad.read_bytes()))))
    outcome = run("history", "-")
    assert outcome.code == 1
    assert "    standard input:3  A send: partition t-0" in outcome.out


def test_standard_input_may_be_empty(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    outcome = run("history", "-")
    assert (outcome.code, outcome.out) == (3, "")
    assert "standard input: is empty" in outcome.err


def test_a_packed_history_that_is_cut_is_refused(run: Any, bad: Path) -> None:
    path = bad.with_name("cut.jsonl.gz")
    path.write_bytes(gzip.compress(bad.read_bytes())[:-20])
    outcome = run("history", path)
    assert (outcome.code, outcome.out) == (3, "")
    assert "the gzip stream is cut short" in outcome.err
