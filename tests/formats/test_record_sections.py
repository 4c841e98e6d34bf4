"""Whoever only passes records on finds in them what whoever reads them finds: that they are whole, or a fault."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.primitives import SMALL, read_varint, write_varint
from zombieproof.formats.stored_records import StoredRecord, check_section, read_section, write_section

Drawn = list[tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]

SIZES = st.sampled_from([0, 1, 2, 62, 63, 64, 65, 100, 8_190, 8_191, 8_192, 8_193])
VALUES = st.none() | SIZES.map(bytes)
HEADERS = st.lists(st.tuples(st.sampled_from(["", "name", "\udcff"]), st.none() | st.binary(max_size=3)), max_size=2)
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 1, 2, 64, 8_192, 0, -1]),
        st.integers(-SMALL, 2 * SMALL),
        st.none() | st.binary(max_size=4),
        VALUES,
        HEADERS,
    ),
    max_size=5,
)


def section_of(drawn: Drawn) -> bytes:
    records, delta = list[StoredRecord](), -1
    for skipped, time, key, value, headers in drawn:
        delta += skipped
        records.append(StoredRecord(delta, time, key, value, tuple(headers)))
    return write_section(records)


def verdict(section: bytes, count: int, last_offset_delta: int) -> bool:
    """Whether both find the section whole; a mistake where they differ."""
    try:
        read_section(section, count, last_offset_delta)
    except Undecodable:
        is_read = False
    else:
        is_read = True
    try:
        check_section(section, count, last_offset_delta)
    except Undecodable:
        assert not is_read
        return False
    assert is_read
    return True


@given(drawn=RECORDS)
def test_what_was_written_is_whole_where_each_record_lies_behind_the_one_before(drawn: Drawn) -> None:
    assert verdict(section_of(drawn), len(drawn), 1 << 20) == all(step > 0 for step, *_ in drawn)


@given(drawn=RECORDS, count=st.integers(0, 6), last=st.integers(-1, 700))
def test_a_wrong_count_or_end_is_found_by_both(drawn: Drawn, count: int, last: int) -> None:
    verdict(section_of(drawn), count, last)


@pytest.mark.slow
@given(drawn=RECORDS.filter(bool), data=st.data())
@settings(max_examples=500)
def test_bytes_that_were_changed_are_judged_alike(drawn: Drawn, data: st.DataObject) -> None:
    section = bytearray(section_of(drawn))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, min(len(section) - 1, 40)))
        section[at] = data.draw(st.integers(0, 255))
    verdict(bytes(section), len(drawn), 1 << 20)


@given(section=st.binary(max_size=30), count=st.integers(0, 3))
@settings(max_examples=500)
def test_bytes_of_anybody_are_judged_alike(section: bytes, count: int) -> None:
    verdict(section, count, 5)


@given(section=st.binary(min_size=1, max_size=12))
@settings(max_examples=500)
def test_a_record_of_anybody_is_judged_alike(section: bytes) -> None:
    verdict(write_varint(len(section)) + section, 1, 5)


def test_a_section_cut_anywhere_is_judged_alike() -> None:
    whole = section_of([(1, 1, b"k", b"v" * 70, [("a", b"b"), ("c", None)]), (3, 9_000, None, None, [])])
    assert verdict(whole, 2, 1 << 20)
    for end in range(len(whole)):
        assert not verdict(whole[:end], 2, 1 << 20)


@pytest.mark.parametrize("more", range(-12, 4))
@pytest.mark.parametrize("value", [None, b"", b"v" * 5, b"v" * 200])
def test_a_record_that_is_longer_or_shorter_than_it_says_is_judged_alike(value: bytes | None, more: int) -> None:
    section = section_of([(1, 1, b"key", value, [])])
    length, at = read_varint(section, 0)
    rest = section[at:] + bytes(4)
    said = write_varint(length + more)
    for held in range(len(section) - at, len(rest) + 1):
        assert verdict(said + rest[:held], 1, 0) == (more == 0 and held == len(section) - at)
