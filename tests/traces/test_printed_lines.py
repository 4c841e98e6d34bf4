"""Colours, signs of a pager and other bars go from the tool's words in a dump; payloads keep what is theirs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.traces.dumps import COMMITTED, END, RELEASES, text_of
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.dump_text import read_dump
from zombieproof.traces.readers.printed import COLOURED, OTHER_BARS, OVERWRITTEN, as_printed, as_shown
from zombieproof.traces.readers.segments import Keep
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Report

START, STOP = "\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"
PLAIN = "\x1b[32m", "\x1b[0m"
WORDS = (
    "offset",
    "Offset",
    "baseOffset: 0",
    "producerId: 7",
    "producerEpoch",
    "isTransactional: true",
    "isControl",
    "position",
    "CreateTime",
    "size",
    "crc",
    "sequence",
    "payload",
    "endTxnMarker",
    "COMMIT",
    "Dumping",
    "isvalid: true",
    "isValid",
)


def coloured(text: str, word: str, start: str = START, stop: str = STOP) -> str:
    return text.replace(word, f"{start}{word}{stop}")


def report_of(text: str, folder: Path) -> Report:
    (folder / "orders-0.txt").write_text(text)
    return replay([folder / "orders-0.txt"])


def told(report: Report) -> dict[str, object]:
    found = report.model_dump()
    del found["judged"]["written_in"]
    return found


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("colours", [(START, STOP), PLAIN], ids=["grep", "another tool"])
def test_a_word_in_colours_changes_nothing(release: str, word: str, colours: tuple[str, str], tmp_path: Path) -> None:
    text = text_of(release)
    found = report_of(coloured(text, word, *colours), tmp_path)
    plain = report_of(text, tmp_path)
    assert told(found) == told(plain)
    named = [each for each in found.judged.written_in if each != COLOURED]
    assert named == list(plain.judged.written_in)
    assert (COLOURED in found.judged.written_in) == (word in text)


def test_colours_far_below_the_beginning_are_taken_off_too() -> None:
    record = "| offset: 1 CreateTime: 1 keySize: -1 valueSize: 900 sequence: 1 headerKeys: [] payload: "
    head = text_of("4.3").splitlines()[:4]
    lines = [*head[:2], head[2].replace("count: 2", "count: 202").replace("lastOffset: 1", "lastOffset: 201")]
    lines += [record.replace("offset: 1", f"offset: {n}") + "x" * 900 for n in range(202)]
    below = [line.replace("ffset: 2", "ffset: 202") for line in text_of("4.3").splitlines()[5:7]]
    text = "\n".join([*lines, *(coloured(line, "producerId: 7") for line in below)]) + "\n"
    assert text.index(START) > 1 << 16
    [segment] = read_dump(memoryview(text.encode()), "orders-0.txt").segments
    assert [batch.producer_id for batch in segment.batches] == [7, 7]


PAYLOADS = ("\x1b[31mred\x1b[0m", "a\rb", "bold\b\b\b\bbold", "\x1b[01;31m\x1b[Kx\x1b[m\x1b[K\ntwo")


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("change", [lambda line: line, lambda line: coloured(line, "CreateTime")])
def test_a_payload_with_colours_of_its_own_keeps_them(payload: str, change: Callable[[str], str]) -> None:
    lines = text_of("4.3").splitlines(keepends=True)
    size = len(payload)
    record = f"| offset: 0 CreateTime: 1 keySize: -1 valueSize: {size} sequence: 0 headerKeys: [] payload: {payload}\n"
    text = "".join([*lines[:3], change(record), *lines[4:]])
    content = read_dump(memoryview(text.encode()), "orders-0.txt", Keep.ALL)
    [first, *_] = content.segments[0].batches[0].records or []
    assert first.value == payload.encode()
    assert not content.damage


def test_a_payload_that_grep_coloured_has_its_printed_size_again() -> None:
    lines = text_of("4.3").splitlines(keepends=True)
    record = "| offset: 0 CreateTime: 1 keySize: 2 valueSize: 9 sequence: 0 headerKeys: [] key: k0 payload: "
    for payload, printed in (
        ("an  order", coloured("an  order", "order")),
        ("a\norder 1", coloured("a\norder 1", "a")),
    ):
        text = "".join([*lines[:3], record + printed + "\n", *lines[4:]])
        content = read_dump(memoryview(text.encode()), "orders-0.txt", Keep.ALL)
        [first, *_] = content.segments[0].batches[0].records or []
        assert first.value == payload.encode(), payload


def test_a_batch_without_its_producer_id_is_damage() -> None:
    for release in RELEASES:
        text = text_of(release)
        for gone in ("producerId: 7 ", "7 producerEpoch: "):
            lines = text.splitlines(keepends=True)
            at = next(at for at, line in enumerate(lines) if gone in line)
            cut = "".join([*lines[:at], lines[at].replace(gone, "", 1), *lines[at + 1 :]])
            content = read_dump(memoryview(cut.encode()), "orders-0.txt")
            assert content.damage, (release, gone)
            assert content.damage[0].position == at + 1


BARS = ("│", "•", "¦", "❘", "┃", "·", "\\|", "&#124;"[-1], "*", "||", "↳")


@pytest.mark.parametrize("bar", BARS)
@pytest.mark.parametrize("release", ["2.4", "2.8", "3.1", "4.3"])
def test_a_record_keeps_its_line_behind_any_other_bar(bar: str, release: str, tmp_path: Path) -> None:
    text = text_of(release)
    found = report_of(text.replace("\n| offset", f"\n{bar} offset"), tmp_path)
    plain = report_of(text, tmp_path)
    assert told(found) == told(plain)
    assert OTHER_BARS in found.judged.written_in


def test_lines_that_only_resemble_records_are_no_records() -> None:
    text = text_of("4.3 batches")
    for line in (
        "the offset: 3 CreateTime: 4",
        "• offset: 3 position: 9",
        "• offset: x CreateTime: 4",
        "> | offset: 3 CreateTime: 4",
    ):
        content = read_dump(memoryview(f"{text}{line}\n".encode()), "orders-0.txt")
        assert not content.damage
        assert OTHER_BARS not in content.forms


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("--More--\r        \r| offset: 1", "| offset: 1"),
        ("--More--" + "\b" * 8 + " " * 8 + "\b" * 8 + "baseOffset: 1", "baseOffset: 1"),
        ("I\bIN\bNF\bFO\bO x", "INFO x"),
        ("_\bI_\bNFO", "INFO"),
        ("plain\r", "plain\r"),
        ("a\b\b\bb", "b"),
        ("\r\r", "\r"),
        ("", ""),
    ],
)
def test_a_terminal_shows_what_was_written_last(line: str, shown: str) -> None:
    assert as_shown(line) == shown


@pytest.mark.parametrize(
    "before", ["--More--\r        \r", "--More--(42%)\r\x1b[K", ":\r \r\x1b[K", "\x1b[7m--More--\x1b[27m\r\x1b[K"]
)
@pytest.mark.parametrize("at", range(2, 9))
def test_a_pagers_prompt_before_a_line_of_a_dump_is_taken_off(before: str, at: int, tmp_path: Path) -> None:
    lines = text_of("4.3").splitlines(keepends=True)
    found = report_of("".join([*lines[:at], before + lines[at], *lines[at + 1 :]]), tmp_path)
    assert told(found) == told(report_of("".join(lines), tmp_path))
    assert {COLOURED, OVERWRITTEN} & set(found.judged.written_in)


def test_the_log_is_read_to_its_end_in_colours(tmp_path: Path) -> None:
    (tmp_path / "orders-0.txt").write_text(coloured(text_of("4.3"), "producerId: 7"))
    evidence = collect([tmp_path / "orders-0.txt"], Keep.ALL)
    [log] = evidence.logs
    assert log.batches[-1].last_offset == END - 1
    assert len(COMMITTED) == 3
    assert {batch.producer_id for batch in log.batches} == {7, -1}


def test_lines_of_somebody_else_stay_as_they_are() -> None:
    for line in ("\x1b[31mhello\x1b[0m", "a\rb", "x\by", "\x1b"):
        assert as_printed(line) == line
