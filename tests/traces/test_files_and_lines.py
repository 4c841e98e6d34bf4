"""What the place of a file tells, and how lines are cut from its bytes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.traces.readers import lines as lines_module
from zombieproof.traces.readers.files import Place, base_offset_of, opened, place_of, plain_name
from zombieproof.traces.readers.lines import Lines
from zombieproof.traces.readers.recognise import Kind, by_name


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("segments/t-0/00000000000000000000.log", Place("t", 0, "segments")),
        (
            "/var/lib/kafka/with-dash.and_more-12/00000000000000000000.log",
            Place("with-dash.and_more", 12, "/var/lib/kafka"),
        ),
        ("x/segments/broker-2/t-0/00000000000000000000.log", Place("t", 0, "broker-2")),
        ("broker-1/logs/t-0/00000000000000000000.log", Place("t", 0, "broker-1")),
        ("t-0/00000000000000000000.log.xz", Place("t", 0, "")),
        ("C:\\kafka\\t-3\\00000000000000000000.log", Place("t", 3, "C:/kafka")),
        ("somewhere/00000000000000000000.log", Place("", -1, "somewhere")),
        ("00000000000000000000.log", Place("", -1, "")),
        ("t-99999999999/00000000000000000000.log", Place("", -1, "t-99999999999")),
    ],
)
def test_the_folder_of_a_file_tells_topic_partition_and_replica(file: str, place: Place) -> None:
    assert place_of(file) == place
    assert place.is_known is (place.partition >= 0)


@pytest.mark.parametrize(
    ("file", "offset"),
    [
        ("t-0/00000000000000000025.log", 25),
        ("t-0/00000000000000000025.log.xz", 25),
        ("00000000000000000007.txnindex.gz", 7),
        ("00000000000000000007.snapshot", 7),
        ("7.log", None),
        ("00000000000000000007.index", None),
    ],
)
def test_the_name_of_a_segment_tells_its_offset(file: str, offset: int | None) -> None:
    assert base_offset_of(file) == offset


def test_packed_names_are_seen_through() -> None:
    assert plain_name("a/b/server.log.xz") == "server.log"


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("t-0/00000000000000000000.log.gz", Kind.SEGMENT),
        ("t-0/00000000000000000000.snapshot", Kind.SNAPSHOT),
        ("t-0/00000000000000000000.txnindex", Kind.TRANSACTION_INDEX),
        ("data/cleaner-offset-checkpoint", Kind.CLEANER_CHECKPOINT),
        ("violates/hanging/server.log", None),
        ("t-0/notes.txt", None),
    ],
)
def test_kafkas_own_names_tell_the_kind_and_others_tell_nothing(file: str, kind: Kind | None) -> None:
    assert by_name(file) is kind


def test_an_empty_file_has_no_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with opened(tmp_path / "x") as content:
        assert bytes(content.data) == b""


@given(st.text(alphabet="ab\n\r\u2028\x85\x0b", max_size=40), st.integers(1, 7))
def test_lines_end_in_line_feeds_only_wherever_the_window_ends(text: str, window: int) -> None:
    before, lines_module.WINDOW = lines_module.WINDOW, window
    try:
        lines = Lines(memoryview(text.encode()))
        found = list(lines)
    finally:
        lines_module.WINDOW = before
    expected = text.split("\n")
    assert found == (expected if expected[-1] else expected[:-1])
    assert lines.number == len(found)
    assert lines.ends_open is bool(text and not text.endswith("\n"))


def test_a_look_ahead_takes_nothing() -> None:
    lines = Lines(memoryview(b"a\nb\nc"))
    assert (lines.peek(1), lines.number) == ("b", 0)
    assert [lines.take(), lines.peek(0), lines.peek(5), lines.take(), lines.take(), lines.take()] == [
        "a",
        "b",
        None,
        "b",
        "c",
        None,
    ]
    assert lines.number == 3


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert list(Lines(memoryview(b"a\xff\n"))) == ["a\ufffd"]
