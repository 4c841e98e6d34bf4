"""One record batch: the vectors of the reference §7, codecs, and what is refused."""

import contextlib
from collections.abc import Callable
from struct import pack

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.formats.compression import Codec, unpack_records
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.primitives import read_varint
from zombieproof.formats.record_batch import TimestampType, add_to_sequence
from zombieproof.traces.evidence import LoggedMarker
from zombieproof.traces.readers.segments import marker_in, read_header, read_payload

Encode = Callable[..., bytes]

TIME = 1_700_000_000_000

EMPTY_V0 = bytes.fromhex(
    "000000000000000000000069000000030286b281660000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffff"
    "ffffffff000000016e00000018000000086f72646572732d314a00000000000000000fa000000000ea6000ffffffff0000018bcfe5"
    "6800ffffffffffffffff00"
)
TOMBSTONE = bytes.fromhex(
    "000000000000000900000044000000030203b0c5fb0000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffff"
    "ffffffff000000012400000018000000086f72646572732d310100"
)
COMMIT = bytes.fromhex(
    "0000000000000003000000420000000302b8bf7e9f0030000000000000018bcfe568000000018bcfe568000000000000000fa00000"
    "ffffffff000000012000000008000000010c00000000000700"
)
DATA = bytes.fromhex(
    "0000000000000000000000520000000302142ad7d40010000000020000018bcfe568000000018bcfe568020000000000000fa00000"
    "000000000000000314000000046b300476300014000202046b310476310014000404046b3204763200"
)


def view(data: bytes) -> memoryview:
    return memoryview(data)


@pytest.mark.parametrize(
    ("data", "size", "crc", "offset"),
    [
        (EMPTY_V0, 117, 2259845478, 0),
        (TOMBSTONE, 80, 61916667, 9),
        (COMMIT, 78, 3099557535, 3),
        (DATA, 94, 338352084, 0),
    ],
    ids=["empty", "tombstone", "commit", "data"],
)
def test_a_vector_of_the_reference_is_read(data: bytes, size: int, crc: int, offset: int) -> None:
    batch = read_header(view(data), 0, "f")
    assert batch.is_valid
    assert (batch.size, batch.crc, batch.base_offset, batch.partition_leader_epoch) == (size, crc, offset, 3)
    assert len(read_payload(view(data), batch)) == batch.count


@pytest.mark.parametrize("data", [EMPTY_V0, TOMBSTONE, COMMIT, DATA], ids=["empty", "tombstone", "commit", "data"])
def test_a_vector_with_any_covered_byte_flipped_is_not_valid(data: bytes) -> None:
    for at in range(17, len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 0x01
        assert not read_header(view(bytes(flipped)), 0, "f").is_valid, at


def test_the_data_batch_of_the_reference_holds_its_records() -> None:
    batch = read_header(view(DATA), 0, "f")
    assert batch.is_transactional
    assert not batch.is_control
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (4000, 0, 0, 2)
    assert (batch.timestamp_type, batch.max_timestamp_ms) == (TimestampType.CREATE_TIME, TIME + 2)
    records = read_payload(view(DATA), batch)
    assert [(r.offset, r.timestamp_ms, r.sequence, r.key, r.value) for r in records] == [
        (0, TIME, 0, b"k0", b"v0"),
        (1, TIME + 1, 1, b"k1", b"v1"),
        (2, TIME + 2, 2, b"k2", b"v2"),
    ]


def test_the_marker_of_the_reference_commits() -> None:
    batch = read_header(view(COMMIT), 0, "f")
    assert batch.is_control
    assert marker_in(read_payload(view(COMMIT), batch)) == LoggedMarker(commit=True, coordinator_epoch=7)


@pytest.mark.parametrize("codec", list(Codec))
def test_each_codec_gives_the_records_back(batch: Encode, codec: Codec) -> None:
    entries = [(n, f"key-{n}".encode(), None if n == 3 else b"value" * n) for n in range(20)]
    data = batch(entries, base_offset=100, codec=codec, base_sequence=7, producer_id=1, producer_epoch=0)
    header = read_header(view(data), 0, "f")
    assert header.codec is codec
    found = read_payload(view(data), header)
    assert [(r.offset - 100, r.key, r.value) for r in found] == entries
    assert [r.sequence for r in found] == list(range(7, 27))


def test_snappy_without_the_framing_of_java_is_read(batch: Encode) -> None:
    plain = batch([(0, b"k", b"v")])[61:]
    data = batch([(0, b"k", b"v")], attributes=Codec.SNAPPY, section=bytes(cramjam.snappy.compress_raw(plain)))
    header = read_header(view(data), 0, "f")
    assert [(r.key, r.value) for r in read_payload(view(data), header)] == [(b"k", b"v")]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@given(junk=st.binary(min_size=1, max_size=64))
def test_junk_is_refused_by_every_codec_or_gives_bytes(codec: Codec, junk: bytes) -> None:
    with contextlib.suppress(Undecodable):
        assert isinstance(unpack_records(codec, junk), bytes)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_packed_section_that_is_cut_is_refused(batch: Encode, codec: Codec) -> None:
    whole = batch([(0, b"k" * 90, b"v" * 90)], codec=codec)
    data = batch([(0, b"k", b"v")], attributes=codec, section=whole[61:-3])
    with pytest.raises(Undecodable):
        read_payload(view(data), read_header(view(data), 0, "f"))


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        (b"", "missing"),
        (b"\x7f", "does not fit"),
        (b"\x80", "over the end"),
        (b"\xff" * 11, "10 bytes"),
        (b"\x0c\0\0\x7f\x01\x01\0", "does not allow"),
        (b"\x0c\0\0\0\x7e\x01\0", "field"),
        (b"\x0c\0\0\0\x01\x01\0\0", "follow"),
    ],
)
def test_records_that_are_not_what_the_header_says_are_refused(batch: Encode, section: bytes, fault: str) -> None:
    data = batch([(0, None, None)], section=section)
    header = read_header(view(data), 0, "f")
    assert header.is_valid
    with pytest.raises(Undecodable, match=fault):
        read_payload(view(data), header)


@pytest.mark.parametrize(
    ("records", "delta"), [([(0, b"k", b"v")], -1), ([(0, b"", b""), (1, b"", b""), (1, b"", b"")], 1)]
)
def test_a_header_that_makes_no_sense_is_not_valid(
    batch: Encode, records: list[tuple[int, bytes, bytes]], delta: int
) -> None:
    data = batch(records, last_delta=delta)
    assert not read_header(view(data), 0, "f").is_valid


def test_a_codec_that_does_not_exist_is_not_valid(batch: Encode) -> None:
    assert not read_header(view(batch(attributes=7)), 0, "f").is_valid


def test_an_empty_batch_keeps_its_sequences_and_has_no_records(batch: Encode) -> None:
    data = batch([], base_offset=5, last_delta=2, base_sequence=8, producer_id=1, producer_epoch=3)
    header = read_header(view(data), 0, "f")
    assert (header.count, header.last_offset, header.last_sequence) == (0, 7, 10)
    assert read_payload(view(data), header) == []
    assert header.offsets() == []


def test_a_batch_with_records_cleaned_away_tells_which_are_left(batch: Encode) -> None:
    data = batch([(1, b"a", b"b"), (4, b"c", b"d")], base_offset=10, last_delta=6)
    header = read_header(view(data), 0, "f")
    header.records = read_payload(view(data), header)
    assert not header.is_dense
    assert header.offsets() == [11, 14]


def test_a_delete_horizon_stands_where_the_base_timestamp_was(batch: Encode) -> None:
    assert read_header(view(batch(attributes=0x40, base_time=77)), 0, "f").delete_horizon_ms == 77
    assert read_header(view(batch(base_time=77)), 0, "f").delete_horizon_ms is None


def test_log_append_time_holds_for_every_record(batch: Encode) -> None:
    data = batch([(0, None, b"a"), (1, None, b"b")], attributes=0x08, base_time=5)
    header = read_header(view(data), 0, "f")
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp_ms for record in read_payload(view(data), header)} == {5}


@pytest.mark.parametrize(
    ("base", "delta", "last"), [(-1, 5, -1), (0, 0, 0), (2147483647, 1, 0), (2147483640, 10, 2), (5, 2, 7)]
)
def test_a_sequence_goes_round_behind_the_largest(base: int, delta: int, last: int) -> None:
    assert add_to_sequence(base, delta) == last


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        (None, b"", "no type"),
        (b"\0\0\0", b"", "no type"),
        (pack(">hh", 0, 1), b"\0\0\0", "no coordinator epoch"),
        (pack(">hh", 0, 0), None, "no coordinator epoch"),
        (pack(">hh", 0, 0), pack(">hi", -1, 0), "negative version"),
    ],
)
def test_a_malformed_control_record_is_refused(
    batch: Encode, key: bytes | None, value: bytes | None, fault: str
) -> None:
    data = batch([(0, key, value)], attributes=0x30)
    with pytest.raises(Undecodable, match=fault):
        marker_in(read_payload(view(data), read_header(view(data), 0, "f")))


@pytest.mark.parametrize("kind", [2, 3, 6, 99])
def test_other_control_records_end_no_transaction(batch: Encode, kind: int) -> None:
    data = batch([(0, pack(">hh", 0, kind), b"")], attributes=0x20)
    assert marker_in(read_payload(view(data), read_header(view(data), 0, "f"))) is None


def test_a_newer_marker_is_read_as_the_prefix_that_is_known(batch: Encode) -> None:
    data = batch([(0, pack(">hh", 0, 0), pack(">hiq", 3, 9, 1))], attributes=0x30)
    found = marker_in(read_payload(view(data), read_header(view(data), 0, "f")))
    assert found == LoggedMarker(commit=False, coordinator_epoch=9)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_varint_is_read_back(number: int) -> None:
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    assert read_varint(bytes(out), 0) == (number, len(out))
