"""Tables, coverage, results, recordings, JUnit: each says what it was given, and a lie is found."""

import io
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from zombieproof.checker.uncovered import UNCOVERED
from zombieproof.report import junit, pages, results
from zombieproof.report.coverage import ROWS, Row, by_machine, compare, rows_taken
from zombieproof.report.exits import Exit
from zombieproof.report.json_text import json_of
from zombieproof.report.recordings import differences, folders, judge
from zombieproof.report.runs import exit_code_of, verdict_of
from zombieproof.report.screen import Column, Screen, plain_table, plural, printable
from zombieproof.statemachines.registry import MACHINES
from zombieproof.traces.replay import replay


def _run(verdict: str, *, interrupted: bool = False) -> Any:
    codes = {"holds": Exit.HOLDS, "violated": Exit.VIOLATED, "inconclusive": Exit.INCONCLUSIVE}
    result = SimpleNamespace(verdict=verdict)
    code = Exit.INTERRUPTED if interrupted else codes[verdict]
    return SimpleNamespace(checked=SimpleNamespace(result=result), exit_code=code)


@pytest.mark.parametrize(
    ("runs", "verdict", "code"),
    [
        ([], "holds", 0),
        ([_run("holds"), _run("holds")], "holds", 0),
        ([_run("holds"), _run("inconclusive")], "inconclusive", 3),
        ([_run("inconclusive"), _run("violated"), _run("holds")], "violated", 1),
        ([_run("violated"), _run("inconclusive", interrupted=True)], "violated", 130),
    ],
)
def test_the_worst_run_decides(runs: list[Any], verdict: str, code: int) -> None:
    assert (verdict_of(runs), exit_code_of(runs)) == (verdict, code)


# ---------------------------------------------------------------- screen


def test_a_plain_table_is_aligned_and_never_cut() -> None:
    columns = (Column("name"), Column("count", "right"))
    long = "x" * 200
    assert plain_table(columns, [("a", "1"), (long, "1,000")]) == [
        f"{'name'.ljust(200)}  count",
        f"{'a'.ljust(200)}      1",
        f"{long}  1,000",
    ]


def test_a_command_is_never_broken_and_its_remark_goes_before_it_where_both_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    written = {}
    for columns in ("60", "20"):
        monkeypatch.setenv("COLUMNS", columns)
        stream = io.StringIO()
        Screen(stream).command("zombieproof check one_transaction", "once more", indent=2)
        written[columns] = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert written["60"] == "  zombieproof check one_transaction   # once more\n"
    assert written["20"] == "  # once more\n  zombieproof check one_transaction\n"


def test_a_terminal_wraps_long_lines_under_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    stream = io.StringIO()
    Screen(stream).say("word " * 12, indent=4, hang=2)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert lines[0].startswith("    word")
    assert all(line.startswith("      word") for line in lines[1:])
    assert max(map(len, lines)) <= 40
    assert sum(line.count("word") for line in lines) == 12


def test_words_that_were_wrapped_are_one_blank_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    stream = io.StringIO()
    Screen(stream).say("an example of a sentence that is wrapped more than once " * 3, hang=6)
    assert all("  " not in line.strip() for line in stream.getvalue().splitlines())


def test_a_plain_screen_has_no_colours_even_where_they_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    Screen(stream, plain=True).say("holds", "bold green")
    assert stream.getvalue() == "holds\n"


def test_numbers_agree_with_their_nouns() -> None:
    assert [plural(n, "step") for n in (0, 1, 1234)] == ["0 steps", "1 step", "1,234 steps"]


# ---------------------------------------------------------------- coverage


def test_rows_are_taken_from_the_counts_of_an_exploration() -> None:
    counts = np.zeros((5, 9, 12), np.int64)
    assert rows_taken(counts) == rows_taken(None) == frozenset()
    counts[0, 1, 3] = 7
    assert rows_taken(counts) == {Row("coordinator", "ONGOING", "COMMIT")}
    counts[0, 0, 3] = 1
    assert len(rows_taken(counts)) == 1, "COMMIT in EMPTY is no row"
    assert by_machine(rows_taken(counts))["coordinator"] == (1, len(MACHINES["coordinator"].rows))


def test_reasons_are_for_rows_that_exist_and_nothing_else() -> None:
    assert set(UNCOVERED) <= {tuple(row) for row in ROWS}


def test_a_row_without_reason_and_a_reason_without_row_are_told_apart() -> None:
    first, second, *rest = ROWS
    mismatch = compare([first, *rest[1:]], {tuple(first): "needless", ("x", "Y", "Z"): "unknown"})  # type: ignore[dict-item]  # a row is a tuple of three
    assert mismatch.unexplained == (second, rest[0])
    assert mismatch.needless == (first,)
    assert mismatch.unknown == (("x", "Y", "Z"),)
    assert compare(ROWS, {}) == ((), (), ())
    assert not compare(ROWS, {})


# ---------------------------------------------------------------- recordings


@pytest.fixture
def recordings(repository_root: Path) -> Path:
    return repository_root / "tests" / "recordings"


def test_every_recording_that_ships_is_judged_as_it_is_known_to_be(recordings: Path) -> None:
    found = [judge(folder) for folder in folders(recordings)]
    assert len(found) >= 8
    assert {recording.name: recording.differences for recording in found if recording.differences} == {}


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"expected": {"verdict": "conforms"}}, "the verdict is violates"),
        (
            {"expected": {"verdict": "violates", "where": {"partition": "d-0", "offset": 2}}},
            "no finding is at partition d-0",
        ),
        ({"expected": {"verdict": "violates", "where": {"producer_id": 7}}}, "no finding is at producer_id 7"),
        (
            {"expected": {"verdict": "violates"}, "facts": {"partitions": {"e-0": {"last_stable_offset": 4}}}},
            "the last stable offset of e-0 is 5, and 4 is known",
        ),
    ],
)
def test_a_recording_that_is_known_otherwise_is_found(recordings: Path, about: dict[str, Any], says: str) -> None:
    report = replay([recordings / "09-offline-partition-lost-commit"])
    [difference] = differences(about, report)
    assert says in difference


def test_a_recording_that_lacks_a_partition_is_not_as_it_is_known(recordings: Path, tmp_path: Path) -> None:
    shutil.copytree(recordings / "01-commit" / "segments", tmp_path / "segments")
    shutil.copy(recordings / "01-commit" / "about.yaml", tmp_path)
    assert judge(tmp_path).differences == ()
    shutil.rmtree(tmp_path / "segments" / "t-1")
    assert any("t-1 is not judged: 'orders-1' lists it" in each for each in judge(tmp_path).differences)


def test_a_recording_without_an_expected_verdict_is_refused(tmp_path: Path) -> None:
    (tmp_path / "about.yaml").write_text("title: nothing\n")
    with pytest.raises(ValueError, match="lacks expected: verdict"):
        judge(tmp_path)


# ---------------------------------------------------------------- results


def test_pages_are_written_between_the_markers_and_found_stale(tmp_path: Path) -> None:
    page = results.Page(tmp_path / "docs" / "page.md", "text\n")
    assert [fault.path for fault in results.stale([page])] == [page.path]
    assert results.write([page]) == [page.path]
    assert results.write([page]) == []
    assert results.stale([page]) == []
    page.path.write_text("other\n")
    assert len(results.stale([page])) == 1


def test_a_markdown_table_has_a_column_for_each_title() -> None:
    assert pages.table(("a", "n:"), [("x", "1")]).splitlines() == ["| a | n |", "|---|---:|", "| x | 1 |"]


# ---------------------------------------------------------------- junit


def test_what_xml_cannot_hold_is_replaced() -> None:
    result = SimpleNamespace(
        verdict="inconclusive", why="cut \x00 & <here>", distinct=1, generated=1, depth=1, seconds=0.5
    )
    run = SimpleNamespace(name="a", rules="newest", broken=None, story=None, checked=SimpleNamespace(result=result))
    [suite] = ET.fromstring(junit.as_junit([run]))  # type: ignore[list-item]  # what the report reads of a run, and no more
    error = suite.find("testcase/error")
    assert error is not None
    assert error.get("message") == "cut ? & <here>"
    assert suite.get("time") == "0.500"


HOSTILE = "a\x1b[31m\r\x07\x9b2J\u202e\x7f\udcff\ud800-0.txt"
ESCAPED = r"a\u001b[31m\u000d\u0007\u009b2J\u202e\u007f\xff\ud800-0.txt"


def test_nothing_that_a_terminal_obeys_is_printed_as_it_is() -> None:
    assert printable(HOSTILE) == ESCAPED
    assert printable("é → 漢 😀\t|\n") == "é → 漢 😀\t|\n"


@pytest.mark.parametrize("is_forced", [False, True])
def test_a_screen_escapes_lines_commands_documents_and_tables(monkeypatch: pytest.MonkeyPatch, is_forced: bool) -> None:
    if is_forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "300")
    stream = io.StringIO()
    screen = Screen(stream)
    screen.say(f"damaged: {HOSTILE}")
    screen.command(f"cat {HOSTILE}", HOSTILE)
    screen.data(HOSTILE)
    screen.table([Column("file"), Column("why")], [(HOSTILE, HOSTILE)])
    text = stream.getvalue()
    assert text.count(ESCAPED) == 6
    assert not set("\r\x07\x9b\u202e\x7f\udcff\ud800") & set(text)
    assert "\x1b[31m" not in text


def test_a_document_has_names_that_are_not_utf_8_escaped() -> None:
    text = json_of({"file": HOSTILE, "all": [HOSTILE, 1, None]})
    text.encode()
    document = json.loads(text)
    assert document == {"file": ESCAPED, "all": [ESCAPED, 1, None]}
    assert json_of({"file": "é"}) == '{\n  "file": "é"\n}'
