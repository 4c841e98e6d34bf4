"""A segment file: sound batches are kept, unreadable places are named, and what stands behind them is still read."""

from collections.abc import Callable
from struct import pack
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.formats.segments import begins_with_batch
from zombieproof.traces.evidence import LoggedMarker, Unit
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep, read_segment

Encode = Callable[..., bytes]
NAME = "t-0/00000000000000000000.log"


def read(data: bytes, name: str = NAME, keep: Keep = Keep.NEEDED) -> SegmentContent:
    return read_segment(memoryview(data), name, keep)


@pytest.fixture(scope="session")
def three(batch: Encode, marker: Encode) -> list[bytes]:
    """A transaction of two batches and its marker: offsets 0-1, 2, 3."""
    entries = [(0, b"a", b"1"), (1, b"b", b"2")]
    common = {"producer_id": 7, "producer_epoch": 0, "attributes": 0x10}
    return [
        batch(entries, base_offset=0, base_sequence=0, **common),
        batch([(0, b"c", b"3")], base_offset=2, base_sequence=2, **common),
        marker(commit=True, base_offset=3, producer_id=7, coordinator_epoch=4),
    ]


def offsets(content: SegmentContent) -> list[int]:
    return [found.base_offset for found in content.batches]


def test_a_sound_segment_is_read_without_damage(three: list[bytes]) -> None:
    content = read(b"".join(three))
    assert offsets(content) == [0, 2, 3]
    assert content.damage == []
    assert not content.torn_tail
    assert content.batches[2].marker == LoggedMarker(commit=True, coordinator_epoch=4)
    assert [found.position for found in content.batches] == [0, len(three[0]), len(three[0]) + len(three[1])]


def test_records_of_data_are_unpacked_only_on_demand(three: list[bytes]) -> None:
    assert read(b"".join(three)).batches[0].records is None
    kept = read(b"".join(three), keep=Keep.ALL).batches[0].records
    assert kept is not None
    assert [(found.key, found.value) for found in kept] == [(b"a", b"1"), (b"b", b"2")]


def test_an_empty_segment_is_sound() -> None:
    assert read(b"").damage == []


def test_a_preallocated_tail_of_zeros_is_no_damage(three: list[bytes]) -> None:
    content = read(b"".join(three) + bytes(200_000))
    assert offsets(content) == [0, 2, 3]
    assert content.damage == []
    assert not content.torn_tail


def test_a_preallocated_tail_with_a_byte_in_it_is_damage(three: list[bytes]) -> None:
    data = b"".join(three)
    content = read(data + bytes(99_999) + b"\1")
    assert [place.position for place in content.damage] == [len(data)]


def test_a_torn_tail_is_named_and_the_batches_before_it_are_read(three: list[bytes]) -> None:
    whole = b"".join(three)
    start = len(three[0]) + len(three[1])
    for end in range(start + 1, len(whole)):
        content = read(whole[:end])
        assert offsets(content) == [0, 2]
        assert [place.position for place in content.damage] == [start]
        assert content.damage[0].unit is Unit.BYTE
        assert content.torn_tail


def test_a_flipped_bit_under_the_crc_spoils_its_batch_only(three: list[bytes]) -> None:
    whole = b"".join(three)
    first, second = len(three[0]), len(three[0]) + len(three[1])
    for at in range(first + 17, second):
        data = bytearray(whole)
        data[at] ^= 0x10
        content = read(bytes(data))
        assert offsets(content) == [0, 3], at
        assert [place.position for place in content.damage] == [first]
        assert [found.is_valid for found in content.unsound] == [False]
        assert content.broken_at == {3}
        assert not content.torn_tail


def test_a_flipped_bit_anywhere_in_the_length_or_magic_is_passed_over(three: list[bytes]) -> None:
    whole = b"".join(three)
    first = len(three[0])
    for at in (*range(first + 8, first + 12), first + 16):
        for bit in range(8):
            data = bytearray(whole)
            data[at] ^= 1 << bit
            content = read(bytes(data))
            assert offsets(content) == [0, 3], (at, bit)
            assert content.damage[0].position == first
            assert content.broken_at == {3}


def test_a_flipped_bit_in_the_offset_is_found_although_no_checksum_covers_it(three: list[bytes]) -> None:
    whole = b"".join(three)
    first = len(three[0])
    for at in range(first, first + 8):
        for bit in range(8):
            data = bytearray(whole)
            data[at] ^= 1 << bit
            content = read(bytes(data))
            assert offsets(content) == [0, 3], (at, bit)
            assert [place.position for place in content.damage] == [first]
            assert content.broken_at == {3}


def test_a_first_batch_with_an_offset_too_high_is_the_one_that_lies(three: list[bytes]) -> None:
    data = bytearray(b"".join(three))
    data[6] = 1
    content = read(bytes(data))
    assert offsets(content) == [2, 3]
    assert [place.position for place in content.damage] == [0]


def test_an_offset_below_the_name_of_the_segment_is_out_of_order(batch: Encode) -> None:
    content = read(batch(base_offset=3), "t-0/00000000000000000005.log")
    assert offsets(content) == []
    assert [place.position for place in content.damage] == [0]


def test_a_leader_epoch_that_falls_is_named_and_the_batch_is_believed(batch: Encode) -> None:
    first, second = batch(base_offset=0, leader_epoch=5), batch(base_offset=1, leader_epoch=4)
    content = read(first + second)
    assert offsets(content) == [0, 1]
    assert [(place.position, "leader epoch" in place.message) for place in content.damage] == [(len(first), True)]


def test_garbage_is_named_at_its_first_byte() -> None:
    content = read(b"this is not a segment at all, and it is long enough for a header " * 3)
    assert content.batches == []
    assert [place.position for place in content.damage] == [0]
    assert content.torn_tail


def test_garbage_between_batches_is_passed_over(three: list[bytes]) -> None:
    content = read(three[0] + b"\2garbage\2" * 9 + three[1] + three[2])
    assert offsets(content) == [0, 2, 3]
    assert [place.position for place in content.damage] == [len(three[0])]
    assert content.broken_at == {2}


def test_two_spoiled_batches_in_a_row_are_both_named(three: list[bytes]) -> None:
    data = bytearray(b"".join(three))
    first = len(three[0])
    data[30] ^= 1
    data[first + 30] ^= 1
    content = read(bytes(data))
    assert offsets(content) == [3]
    assert [place.position for place in content.damage] == [0, first]


def test_a_valid_crc_over_nonsense_is_not_believed(batch: Encode) -> None:
    content = read(batch([(0, b"no control record", b"")], attributes=0x30) + batch(base_offset=1))
    assert offsets(content) == [0, 1]
    content = read(batch([(0, None, b"")], attributes=0x30) + batch(base_offset=1))
    assert offsets(content) == [1]
    assert "no type" in content.damage[0].message


def test_batches_of_the_old_message_format_are_counted_and_no_damage(batch: Encode) -> None:
    body = b"\1\0" + pack(">q", 5) + pack(">i", -1) + pack(">i", 3) + b"old"
    message = pack(">I", crc32(body)) + body
    old = pack(">qi", 0, len(message)) + message
    content = read(old + batch(base_offset=1))
    assert content.old_format == 1
    assert content.damage == []
    assert offsets(content) == [1]
    assert content.broken_at == {1}
    flipped = bytearray(old)
    flipped[-1] ^= 1
    assert read(bytes(flipped) + batch(base_offset=1)).damage


def test_a_segment_is_known_by_its_first_batch(three: list[bytes]) -> None:
    data = b"".join(three)
    assert begins_with_batch(memoryview(data))
    assert not begins_with_batch(memoryview(data[1:]))
    assert not begins_with_batch(memoryview(data[:20]))
    assert not begins_with_batch(memoryview(data[:17] + b"\0" + data[18:]))


@given(cut=st.integers(0, 10_000), changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6))
def test_no_mutilation_of_a_segment_raises_and_none_is_believed(
    three: list[bytes], cut: int, changes: list[tuple[int, int]]
) -> None:
    whole = b"".join(three)
    data = bytearray(whole[: cut % (len(whole) + 1)] if cut % 3 == 0 else whole)
    for at, value in changes:
        if data:
            data[at % len(data)] = value
    content = read(bytes(data))
    sound = read(whole)
    for found in content.batches:
        assert found.is_valid
        assert (found.crc, found.producer_id, found.count) in {(b.crc, b.producer_id, b.count) for b in sound.batches}
    if bytes(data) == whole:
        assert content.damage == []
    elif len(content.batches) < len(sound.batches) and len(data) == len(whole):
        assert content.damage


@given(st.binary(max_size=400))
def test_no_bytes_at_all_raise(data: bytes) -> None:
    content = read(data)
    assert content.batches == []
    assert content.damage or not data.strip(b"\0")
