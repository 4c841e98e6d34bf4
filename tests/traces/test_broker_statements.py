"""The table of statements: each row has its real line, and no line fits two rows."""

import re
from pathlib import Path

import pytest

from zombieproof.model.releases import RELEASES, is_between
from zombieproof.report.pages import Stale
from zombieproof.report.statements_page import COMMAND, check, page, write
from zombieproof.traces.evidence import BrokerLine
from zombieproof.traces.readers.broker_log import CUT, HEAD, IDLE, read_broker_log
from zombieproof.traces.readers.broker_statements import REFUSAL, SPEAKERS, STATEMENTS, TABLE
from zombieproof.traces.readers.statement_forms import BRACES, FIELDS, UNNAMED, Message, Statement

RECORDINGS = Path(__file__).resolve().parents[3] / "shared" / "traces"
SERVER_LOGS = sorted(RECORDINGS.glob("*/server*.log"))

PRINTED = [row for row in STATEMENTS if row.printed]
FAILED = "[2026-11-30 10:00:00,000] ERROR [ReplicaManager broker=1] Error processing append operation on partition t-0"
BELOW = f"{FAILED} (kafka.server.ReplicaManager)\n"


def names(row: Statement) -> str:
    return f"{row.name}-{row.source}-{row.since}"


def message_of(row: Statement) -> Message:
    if row.source == REFUSAL.name:
        return Message(REFUSAL, row.printed, "", True)
    head = HEAD.match(row.printed)
    assert head is not None
    message = TABLE.message(row.printed, head.end())
    assert message is not None, row.printed
    return message


def above(row: Statement) -> str:
    """The line above in a log: an exception follows the append that failed."""
    return BELOW if row.source == REFUSAL.name else ""


def lines_in(text: str) -> list[BrokerLine]:
    return read_broker_log(memoryview(text.encode()), "server.log").lines


def test_recordings_are_there() -> None:
    assert SERVER_LOGS, "the recordings with logs of brokers are missing"


@pytest.mark.parametrize("row", PRINTED, ids=names)
def test_a_real_line_fits_its_row_alone(row: Statement) -> None:
    fitting = list(TABLE.matches(message_of(row)))
    assert [found.form for found, _ in fitting] == [row.form]


@pytest.mark.parametrize("row", PRINTED, ids=names)
def test_a_real_line_gives_all_its_fields(row: Statement) -> None:
    """The fields put into the form give the message again, except for parts without a name."""
    ((_, match),) = TABLE.matches(message_of(row))
    wanted = [name for name in BRACES.findall(row.form) if name not in UNNAMED]
    assert list(match.groupdict()) == wanted
    assert all(value is not None for value in match.groupdict().values())
    parts = BRACES.split(row.form)
    again = "".join(
        re.escape(part) if not at % 2 else ".*" if part in UNNAMED else re.escape(match[part])
        for at, part in enumerate(parts)
    )
    assert re.fullmatch(again, message_of(row).text)


@pytest.mark.parametrize("row", PRINTED, ids=names)
def test_a_real_line_is_of_a_release_that_has_the_form(row: Statement) -> None:
    assert is_between(row.release.rpartition(".")[0], row.since, row.until)


@pytest.mark.parametrize("row", [row for row in PRINTED if row.meaning], ids=names)
def test_a_real_line_is_told(row: Statement) -> None:
    told = lines_in(above(row) + row.printed + "\n")[-1]
    assert told.statement == row.name
    assert "{" not in told.text
    assert "?" not in told.text
    assert (told.timestamp_ms is None) == row.printed.startswith(" ")


@pytest.mark.parametrize("row", PRINTED, ids=names)
@pytest.mark.parametrize("behind", ["", "\n"])
def test_a_cut_line_says_nothing_wrong(row: Statement, behind: str) -> None:
    """Each beginning of a real line says nothing, or what the whole line says, or it is counted."""
    whole = lines_in(above(row) + row.printed + "\n")
    is_bare = row.source == REFUSAL.name and behind
    for end in range(1, len(row.printed)):
        part = row.printed[:end]
        if is_bare and TABLE.looks_whole_when_cut(row):
            break  # An exception has no logger: a whole line of text cannot be told from a longer one.
        for told in lines_in(above(row) + part + behind)[bool(above(row)) :]:
            fields = whole[-1].fields if whole else {}
            assert {name: fields.get(name) for name in told.fields} == told.fields, part


@pytest.mark.parametrize("row", [row for row in PRINTED if row.source != REFUSAL.name], ids=names)
def test_a_cut_line_among_whole_ones_is_counted(row: Statement) -> None:
    bare = row.printed[: row.printed.rindex(" (")]
    log = read_broker_log(memoryview(f"{BELOW}{bare}\n{BELOW}".encode()), "f")
    assert [line.line for line in log.lines] == [1, 3]
    if message_of(row).prefix:
        assert [(each.reason, each.first) for each in log.read.unused.values()] == [(CUT, 2)]


@pytest.mark.parametrize("file", SERVER_LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_line_of_a_recording_fits_two_rows(file: Path) -> None:
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        head = HEAD.match(line)
        message = TABLE.message(line, head.end() if head else 0)
        fitting = [] if message is None else [row.form for row, _ in TABLE.matches(message)]
        assert len(fitting) <= 1, (number, fitting)


@pytest.mark.parametrize("file", SERVER_LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_line_of_a_recording_is_known(file: Path) -> None:
    log = read_broker_log(memoryview(file.read_bytes()), str(file))
    assert log.read.used
    assert set(log.read.unused) <= {IDLE}


def test_every_field_has_a_pattern_or_is_a_number() -> None:
    numbers = {name for row in STATEMENTS for name in BRACES.findall(row.form)} - set(FIELDS) - set(UNNAMED)
    wordy = {"name", "text", "words", "by"}
    assert not {name for name in numbers if set(name.split("_")) & wordy}


def test_every_row_is_of_a_class_that_is_read() -> None:
    assert {row.source for row in STATEMENTS} == {each.name for each in (*SPEAKERS, REFUSAL)}


def test_releases_of_forms_are_releases() -> None:
    assert {row.since for row in STATEMENTS} | {row.until for row in STATEMENTS if row.until} <= set(RELEASES)


def test_no_two_rows_are_the_same() -> None:
    keys = [(row.source, row.form) for row in STATEMENTS]
    assert sorted(set(keys)) == sorted(keys)


def test_a_meaning_names_only_fields_of_its_form_or_of_the_words_in_front() -> None:
    for row in STATEMENTS:
        given = {*BRACES.findall(row.form), "place", "home"}
        assert set(BRACES.findall(row.meaning)) <= given, row


def test_the_committed_page_is_that_of_the_table(repository_root: Path) -> None:
    assert [str(stale) for stale in check(repository_root / "docs" / "log-statements.md")] == []


def test_a_stale_page_is_named(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    assert check(path) == [Stale(path, f"missing: run `{COMMAND}`")]
    write(path).write_text(page() + "more")
    assert len(check(path)) == 1
