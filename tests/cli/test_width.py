"""What is shown on a terminal fits it: no line is longer, but for one word or a command, which stay whole."""

import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from zombieproof.cli import bars, watching
from zombieproof.cli.main import COMMANDS, main
from zombieproof.report.screen import Column, Screen

STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
SHOWN = (
    "scenarios",
    "scenarios consume_transform_produce",
    "rules",
    "rules 3.9.1",
    "rules --diff 3.9 4.2",
    "about",
    "check --list",
    "check two_phase_commit --bounds n=3",
    "check two_phase_commit --bounds n=3 --mutant commit_without_waiting_for_all",
    "replay tests/recordings/01-commit",
    "replay tests/recordings/09-offline-partition-lost-commit",
    "replay tests/recordings/23-truncated-segment",
    "conform --recording tests/answers/sample.jsonl.gz --limit 3",
    "diagrams --check",
)


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        return STYLE.sub("", self.getvalue()).splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command on a terminal of so many columns, and return its lines."""
    monkeypatch.setenv("TERM", "xterm")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def run_main(columns: int, arguments: str) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = Terminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", shown)
            patched.setattr(sys, "stderr", io.StringIO())
            assert main(arguments.split()) in (0, 1, 3)
        return shown.lines

    return run_main


def is_whole(line: str) -> bool:
    """Whether a line is one word, or a command to be copied."""
    return len(line.split()) == 1 or line.strip().startswith("zombieproof ")


def too_long(lines: list[str], columns: int) -> list[str]:
    return [line for line in lines if len(line) > columns and not is_whole(line)]


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("arguments", SHOWN)
def test_no_line_is_longer_than_the_terminal(terminal: Any, arguments: str, columns: int) -> None:
    lines = terminal(columns, arguments)
    assert lines
    assert too_long(lines, columns) == []
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("arguments", SHOWN)
def test_a_very_narrow_terminal_shows_the_same_words(
    terminal: Any, arguments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = re.compile(r"\d+\.\d+")
    narrow, wide = (times.sub("", " ".join(terminal(columns, arguments))).split() for columns in (40, 4000))
    assert sorted(narrow) == sorted(wide)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_eighty_columns(terminal: Any, name: str) -> None:
    assert too_long(terminal(80, f"{name} --help"), 80) == []
    assert terminal(40, f"{name} --help")


def test_a_line_that_is_too_long_is_noticed() -> None:
    assert too_long(["word " * 20], 80)
    assert not too_long(["word" * 30, "    zombieproof " + "check " * 20, "word " * 16], 80)


# ---------------------------------------------------------------- tables


def drawn(columns: int, titles: tuple[Column, ...], *rows: tuple[str, ...]) -> list[str]:
    stream = Terminal()
    console = Console(file=stream, width=columns, force_terminal=True, markup=False, highlight=False)
    screen = Screen(stream, console=console)
    screen.table(titles, rows, indent=2)
    return stream.lines


TITLES = (Column("scenario"), Column("distinct", "right"), Column("story"))
ROW = ("consume_transform_produce", "658,413", "Two members of a group, each with a transactional id of its own.")


def test_a_table_that_fits_is_one_line_a_row() -> None:
    assert drawn(110, TITLES, ROW, ("timeout", "4,002", "")) == [
        "  scenario                   distinct  story",
        "  consume_transform_produce   658,413  Two members of a group, each with a transactional id of its own.",
        "  timeout                       4,002",
    ]


def test_the_last_column_of_a_table_is_wrapped() -> None:
    assert drawn(80, TITLES, ROW) == [
        "  scenario                   distinct  story",
        "  consume_transform_produce   658,413  Two members of a group, each with a",
        "                                       transactional id of its own.",
    ]


def test_where_a_column_has_no_room_it_stands_below_the_others() -> None:
    assert drawn(50, TITLES, ROW) == [
        "  scenario                   distinct",
        "      story",
        "  consume_transform_produce   658,413",
        "      Two members of a group, each with a",
        "      transactional id of its own.",
    ]


def test_no_name_is_cut_however_narrow_it_is() -> None:
    assert [line.strip() for line in drawn(20, TITLES, ROW)][:4] == [
        "scenario",
        "distinct  story",
        "consume_transform_produce",
        "658,413  Two members",
    ]


# ---------------------------------------------------------------- progress


def seen(
    monkeypatch: pytest.MonkeyPatch, columns: int, name: str, expected: int | None, distinct: int, seconds: float
) -> str:
    """The line of progress after so many seconds, in which so many states were found."""
    for variable in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with watching.watching() as watcher:
        assert watcher.bar is not None
        task = watcher.bar.tasks[0]
        now = [0.0]
        task._get_time = watcher.bar.get_time = lambda: now[0]
        reached = watcher.begin(name, expected)
        for part in range(1, 6):
            now[0] = seconds * part / 5
            reached(
                SimpleNamespace(  # type: ignore[arg-type]  # what progress is read for
                    distinct=distinct * part // 5,
                    seconds=now[0],
                    depth=12,
                    frontier=54_321,
                    resident_mib=1234.5,
                    checkpoint=-1,
                )
            )
        shown = Terminal()
        Console(file=shown, width=columns).print(watcher.bar.get_renderable())
    [line] = [line for line in shown.lines if line.strip()]
    assert len(line) <= columns
    return line


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_progress_shows_the_whole_name_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    line = seen(monkeypatch, columns, "consume_transform_produce", 600_000, 150_000, 100.0)
    assert " consume_transform_produce " in line
    assert line.rstrip().endswith("1:40, 5:00 left")
    assert "150,000" in line
    assert ("1,234 MiB" in line) is (columns == 200)


def test_progress_shows_the_whole_name_of_a_mutant_and_the_time_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "leaderless_partition, marker_skips_a_partition_without_leader"
    line = seen(monkeypatch, 80, name, None, 150_000, 100.0)
    assert f" {name} " in line
    assert line.rstrip().endswith(" 1:40")
    assert "left" not in line


@pytest.mark.parametrize("columns", [60, 40, 10])
def test_progress_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    assert seen(monkeypatch, columns, "consume_transform_produce", 600_000, 150_000, 100.0)


def test_in_a_pipe_there_is_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert bars.progress().disable


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0:00"), (59.9, "0:59"), (60, "1:00"), (3599, "59:59"), (3600, "1:00:00"), (90061, "25:01:01")],
)
def test_times_are_minutes_and_seconds(seconds: float, words: str) -> None:
    assert bars.spoken(seconds) == words


def test_the_recordings_are_there(repository_root: Path) -> None:
    assert all((repository_root / word).exists() for shown in SHOWN for word in shown.split() if "/" in word)
