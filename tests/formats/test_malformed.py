"""Bytes that are cut, flipped or made up: every parser of batches and segments says so, and in no other way."""

import contextlib
from dataclasses import replace
from struct import pack_into

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.drawn import with_checksum
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import read_batch, read_batches, write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.primitives import read_varint, write_varint
from zombieproof.formats.record_batch import HEADER, header_at
from zombieproof.formats.segments import PartKind, begins_with_batch, parts_of, sound_end

RECORDS = (
    Record(b"key", b"value", headers=(("name", b"held"), ("none", None))),
    Record(None, b"x", timestamp_ms=5),
)


def batch_of(codec: Codec = Codec.NONE, base_offset: int = 0) -> bytes:
    return write_batch(
        Batch(1, 0, 0, True, RECORDS, last_offset_delta=1, timestamp_ms=9, codec=codec, base_offset=base_offset)
    )


PLAIN = batch_of()


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_that_is_cut_anywhere_is_refused(codec: Codec) -> None:
    data = batch_of(codec)
    for end in range(len(data)):
        with pytest.raises(Undecodable) as fault:
            read_batch(data[:end])
        assert fault.value.position is not None


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_with_any_covered_bit_flipped_is_refused(codec: Codec) -> None:
    data = batch_of(codec)
    for at in range(16, len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[at] ^= 1 << bit
            with pytest.raises(Undecodable):
                read_batch(bytes(flipped))


@pytest.mark.parametrize("codec", list(Codec))
@given(at=st.integers(21, 200), byte=st.integers(0, 255))
def test_a_batch_whose_checksum_was_made_for_its_fault_is_refused_or_another_batch(
    codec: Codec, at: int, byte: int
) -> None:
    altered = bytearray(batch_of(codec))
    altered[21 + at % (len(altered) - 21)] = byte
    data = with_checksum(bytes(altered))
    with contextlib.suppress(Undecodable):
        assert isinstance(read_batch(data), Batch)


def with_section(section: bytes, count: int = 1) -> bytes:
    data = bytearray(PLAIN[: HEADER.size] + section)
    pack_into(">i", data, 8, len(data) - 12)
    pack_into(">i", data, 57, count)
    return with_checksum(bytes(data))


def record(body: bytes) -> bytes:
    return write_varint(len(body)) + body


HUGE = write_varint(2**62)


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        (b"", "missing"),
        (HUGE, "does not fit into its batch"),
        (write_varint(-5), "does not fit into its batch"),
        (b"\xff" * 11, "longer than 10 bytes"),
        (record(b"\0\0\0\1\1"), "headers|runs over"),
        (record(b"\0\0\0" + HUGE + b"\1\0"), "field"),
        (record(b"\0\0\0\1" + HUGE + b"\0"), "field"),
        (record(b"\0\0\0\1\1" + HUGE), "headers does not fit"),
        (record(b"\0\0\0\1\1" + write_varint(-1)), "-1 headers"),
        (record(b"\0\0\0\1\1\2" + b"\1" + b"\1"), "no key"),
        (record(b"\0\0\0\1\1\2" + b"\2a" + HUGE), "field"),
        (record(b"\0\0\0\1\1\2" + b"\2a\1" + b"more"), "shorter"),
        (record(b"\0\0\0\1\1\0more"), "shorter"),
        (record(b"\0\0" + write_varint(7) + b"\1\1\0"), "offset delta 7"),
        (record(b"\0\0" + write_varint(-1) + b"\1\1\0"), "offset delta -1"),
        (record(b"\0\0\0\1\1\0") + b"?", "1 bytes follow"),
    ],
)
def test_records_that_contradict_themselves_are_refused(section: bytes, fault: str) -> None:
    with pytest.raises(Undecodable, match=fault):
        read_batch(with_section(section))


def test_two_records_at_one_offset_are_refused() -> None:
    with pytest.raises(Undecodable, match="offset delta 0"):
        read_batch(with_section(record(b"\0\0\0\1\1\0") * 2, count=2))


@pytest.mark.parametrize("count", [-1, 3, 2**31 - 1])
def test_a_number_of_records_that_cannot_be_is_refused(count: int) -> None:
    with pytest.raises(Undecodable):
        read_batch(with_section(PLAIN[HEADER.size :], count))


@pytest.mark.parametrize(
    ("at", "form", "number", "fault"),
    [
        (8, ">i", -1, "49 bytes|least"),
        (8, ">i", 10, "least"),
        (8, ">i", 2**31 - 1, "expected where"),
        (16, ">b", 1, "magic 1"),
        (16, ">b", 3, "magic 3"),
        (0, ">q", -1, "CRC"),
    ],
)
def test_a_header_that_cannot_be_is_refused(at: int, form: str, number: int, fault: str) -> None:
    data = bytearray(PLAIN)
    pack_into(form, data, at, number)
    with pytest.raises(Undecodable, match=fault):
        read_batch(bytes(data))


@given(st.binary(max_size=300))
def test_anything_is_a_batch_or_refused(data: bytes) -> None:
    with contextlib.suppress(Undecodable):
        assert list(read_batches(data)) == [] or data


@given(st.binary(max_size=12), st.integers(0, 12))
def test_a_number_is_read_or_refused(data: bytes, at: int) -> None:
    with contextlib.suppress(Undecodable):
        _, end = read_varint(data, at)
        assert at < end <= len(data)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_number_is_read_as_it_was_written(number: int) -> None:
    assert read_varint(write_varint(number), 0) == (number, len(write_varint(number)))


# ---------------------------------------------------------------- segments

SEGMENT = b"".join(batch_of(codec, 2 * number) for number, codec in enumerate(Codec))
ENDS = [0]
for _ in Codec:
    ENDS.append(ENDS[-1] + header_at(SEGMENT, ENDS[-1]).size)


@pytest.mark.parametrize("number", range(len(Codec)))
def test_a_segment_that_is_torn_anywhere_ends_behind_its_last_whole_batch(number: int) -> None:
    for end in range(ENDS[number], ENDS[number + 1]):
        assert sound_end(memoryview(SEGMENT[:end])) == ENDS[number]
    assert sound_end(memoryview(SEGMENT)) == len(SEGMENT)


def test_a_segment_ends_before_a_batch_that_does_not_match_its_checksum() -> None:
    flipped = bytearray(SEGMENT)
    flipped[ENDS[2] + 70] ^= 1
    kinds = [part.kind for part in parts_of(memoryview(bytes(flipped)))]
    assert kinds == [PartKind.BATCH, PartKind.BATCH, PartKind.BAD_CHECKSUM, PartKind.BATCH, PartKind.BATCH]
    assert sound_end(memoryview(bytes(flipped))) == ENDS[2]


def test_zeros_behind_the_last_batch_were_allocated_ahead() -> None:
    data = memoryview(SEGMENT + bytes(500))
    assert [part.kind for part in parts_of(data)] == [PartKind.BATCH] * 5 + [PartKind.PREALLOCATED]
    assert sound_end(data) == len(SEGMENT)


@given(st.lists(st.binary(max_size=80) | st.sampled_from([PLAIN, SEGMENT, bytes(70)]), max_size=5))
def test_the_parts_of_anything_lie_side_by_side_and_cover_it(pieces: list[bytes]) -> None:
    data = memoryview(b"".join(pieces))
    at = 0
    for part in parts_of(data):
        assert part.position == at
        assert part.size > 0
        assert (part.header is not None) == (part.kind in (PartKind.BATCH, PartKind.BAD_CHECKSUM))
        at += part.size
    assert at == len(data)
    assert begins_with_batch(data) == (sound_end(data) > 0)


def test_the_key_of_a_header_that_is_not_utf_8_is_kept() -> None:
    data = with_section(record(b"\0\0\0\1\1\2" + b"\4\xff\xfe" + b"\1"))
    found = read_batch(data)
    assert found.records[0].headers == (("\udcff\udcfe", None),)
    assert write_batch(replace(found, encoded=None))[HEADER.size :] == data[HEADER.size :]
