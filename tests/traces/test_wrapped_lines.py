"""Lines that a terminal or a mail program broke are joined again, and nothing that only looks so."""

import textwrap
from pathlib import Path

import pytest

from tests.traces.dumps import text_of
from tests.traces.test_exports import STATE
from tests.traces.test_pods_in_one_text import ASKS, FENCED, has
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.wrapped_lines import AT_A_COLUMN, BETWEEN_WORDS, NOT_JOINED, joined_again
from zombieproof.traces.replay import replay

LOG = [f"[2025-11-03 10:00:{n:02},000] {text}" for n, text in enumerate((ASKS, has(3), has(4), FENCED))]


def hard(lines: list[str], width: int) -> list[str]:
    return [line[at : at + width] for line in lines for at in range(0, len(line), width)]


def soft(lines: list[str], width: int) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, width, break_on_hyphens=False)]


def joined(lines: list[str]) -> tuple[list[str], str] | None:
    found = joined_again(memoryview(("\n".join(lines) + "\n").encode()))
    if found is None:
        return None
    whole = bytes(found[0]).decode().split("\n")
    return [line for line in whole if line != ELSEWHERE and line], found[1]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("lines", [text_of("4.3").splitlines(), STATE, LOG], ids=["dump", "state", "log"])
def test_lines_broken_at_a_column_are_joined(lines: list[str], width: int) -> None:
    assert joined(hard(lines, width)) == (lines, f"{AT_A_COLUMN} {width}")


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("lines", [text_of("4.3").splitlines(), text_of("3.1").splitlines(), LOG])
def test_lines_broken_between_words_are_joined(lines: list[str], width: int) -> None:
    found = joined(soft(lines, width))
    assert found is not None
    assert found[0] == lines
    assert found[1].startswith(BETWEEN_WORDS)


def test_the_report_is_that_of_the_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "orders-0.txt").write_text("\n".join(hard(text_of("4.3").splitlines(), 80)) + "\n")
    report = replay([tmp_path / "orders-0.txt"])
    (tmp_path / "orders-0.txt").write_text(text_of("4.3"))
    plain = replay([tmp_path / "orders-0.txt"])
    assert (report.committed, report.damage, report.lso) == (plain.committed, plain.damage, plain.lso)
    assert f"{AT_A_COLUMN} 80" in report.judged.written_in


def test_a_dump_whose_breaks_fit_no_width_is_named(tmp_path: Path) -> None:
    lines = text_of("4.3").splitlines()
    ragged = [part for line in lines for part in (line[:90], line[90:]) if part]
    ragged[3:4] = [ragged[3][:40], ragged[3][40:]]
    (tmp_path / "orders-0.txt").write_text("\n".join(ragged) + "\n")
    evidence = collect([tmp_path / "orders-0.txt"])
    assert any(name.startswith((NOT_JOINED, AT_A_COLUMN)) for name in evidence.dialects)


WHOLE = "[2025-11-03 10:00:00,000] ERROR it went wrong in some way, and it is told at length (com.example.App)"


@pytest.mark.parametrize(
    "lines",
    [
        text_of("4.3").splitlines(),
        text_of("0.11").splitlines(),
        LOG,
        [WHOLE, "java.lang.Error: no", "\tat a.B.c(B.java:1)"] * 5,
        [WHOLE, "Caused by: java.lang.Error: no"] * 5,
        ["x" * 100] * 9,
        [
            *STATE[:3],
            *["| offset: 0 CreateTime: 1 keySize: -1 valueSize: 9 sequence: 0 headerKeys: [] payload: a", "b"] * 9,
        ],
        [],
    ],
)
def test_whole_lines_stay(lines: list[str]) -> None:
    assert joined(lines) is None
