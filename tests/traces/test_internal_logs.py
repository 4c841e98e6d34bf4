"""Keys and values of ``__transaction_state`` and ``__consumer_offsets``: vectors of the reference §7.1, §7.2."""

from collections.abc import Callable
from dataclasses import replace
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.formats.batches import GroupKey, OffsetKey, OffsetValue
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.offsets_log import read_key as read_offsets_key
from zombieproof.formats.offsets_log import read_offset
from zombieproof.formats.transaction_log import read_key as read_transactional_id
from zombieproof.model.vocabulary import TransactionState
from zombieproof.traces.evidence import TransactionLogValue
from zombieproof.traces.readers import offsets_log, transaction_log
from zombieproof.traces.readers.segments import Keep, read_segment

Encode = Callable[..., bytes]

KEY = bytes.fromhex("000000086f72646572732d31")
EMPTY_V0 = bytes.fromhex("00000000000000000fa000000000ea6000ffffffff0000018bcfe56800ffffffffffffffff")
ONGOING_V0 = bytes.fromhex("00000000000000000fa000000000ea6001000000010001740000000100000000" + "0000018bcfe56800" * 2)
ONGOING_V1 = bytes.fromhex(
    "00010000000000000fa000010000ea6001020274020000000000" + "0000018bcfe56800" * 2 + "0200080000000000000fa002020002"
)
TIME = 1_700_000_000_000

V0 = TransactionLogValue(
    producer_id=4000,
    previous_producer_id=None,
    next_producer_id=None,
    producer_epoch=0,
    timeout_ms=60000,
    state=TransactionState.ONGOING,
    partitions=frozenset({("t", 0)}),
    last_update_ms=TIME,
    start_ms=TIME,
    client_transaction_version=None,
)


def test_the_key_of_the_reference_is_read() -> None:
    assert read_transactional_id(KEY) == "orders-1"


def test_a_key_of_another_type_is_passed_over() -> None:
    assert read_transactional_id(b"\0\1" + KEY[2:]) is None


def test_version_0_of_the_reference_is_read() -> None:
    assert transaction_log.read_value(ONGOING_V0) == V0
    empty = replace(V0, state=TransactionState.EMPTY, partitions=frozenset(), start_ms=-1)
    assert transaction_log.read_value(EMPTY_V0) == empty


def test_version_1_of_the_reference_is_read_with_its_tags() -> None:
    assert transaction_log.read_value(ONGOING_V1) == replace(
        V0, producer_epoch=1, previous_producer_id=4000, next_producer_id=-1, client_transaction_version=2
    )


def test_tags_that_are_left_out_have_their_defaults() -> None:
    found = transaction_log.read_value(ONGOING_V1[:-15] + b"\0")
    assert (found.previous_producer_id, found.next_producer_id, found.client_transaction_version) == (-1, -1, 0)


def test_unknown_tags_are_passed_over() -> None:
    tags = b"\2" + b"\x09\x03abc" + b"\x80\x01\x00"
    assert transaction_log.read_value(ONGOING_V1[:-15] + tags).producer_epoch == 1


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (b"\0\2" + EMPTY_V0[2:], "version 2"),
        (b"\xff\xff" + EMPTY_V0[2:], "version -1"),
        (EMPTY_V0[:16] + b"\6" + EMPTY_V0[17:], "no state"),
        (EMPTY_V0[:16] + b"\xff" + EMPTY_V0[17:], "no state"),
        (EMPTY_V0[:-1], "expected"),
        (ONGOING_V0[:17] + b"\x7f\xff\xff\xff" + ONGOING_V0[21:], "does not fit"),
        (ONGOING_V0[:21] + b"\xff\xff" + ONGOING_V0[23:], "null"),
        (ONGOING_V1[:-3] + b"\1\2\0", "expected"),
        (ONGOING_V1[:-15] + b"\1\0\1\0", "tagged field 0"),
        (ONGOING_V1[:17] + b"\xff" * 5 + ONGOING_V1[18:], "longer than 5"),
    ],
)
def test_a_malformed_value_is_refused(value: bytes, fault: str) -> None:
    with pytest.raises(Undecodable, match=fault):
        transaction_log.read_value(value)


@pytest.mark.parametrize("value", [EMPTY_V0, ONGOING_V0, ONGOING_V1], ids=["empty", "v0", "v1"])
@given(cut=st.integers(0, 100), at=st.integers(0, 100), byte=st.integers(0, 255))
def test_no_mutilation_of_a_value_raises_anything_else(value: bytes, cut: int, at: int, byte: int) -> None:
    data = bytearray(value)
    data[at % len(data)] = byte
    for candidate in (bytes(data), value[: cut % len(value)]):
        try:
            assert isinstance(transaction_log.read_value(candidate), TransactionLogValue)
        except Undecodable:
            continue


def test_every_strict_prefix_of_a_value_is_refused() -> None:
    for value in (EMPTY_V0, ONGOING_V0, ONGOING_V1):
        for end in range(len(value)):
            with pytest.raises(Undecodable):
                transaction_log.read_value(value[:end])


def records_of(data: bytes) -> list[object]:
    content = read_segment(memoryview(data), "__transaction_state-3/00000000000000000000.log", Keep.ALL)
    assert not content.damage
    return [record for batch in content.batches for record in transaction_log.read_batch(batch, 3)]


def test_a_batch_gives_records_with_their_place_and_tombstones(batch: Encode) -> None:
    data = batch([(0, KEY, ONGOING_V0), (1, KEY, None), (2, b"\0\7x", b"?")], base_offset=40)
    first, second = transaction_log.read_batch(read_segment(memoryview(data), "f", Keep.ALL).batches[0], 3)
    assert (first.transactional_id, first.partition, first.offset, first.value) == ("orders-1", 3, 40, V0)
    assert (second.offset, second.value) == (41, None)
    assert len(records_of(data)) == 2


def test_a_record_that_cannot_be_read_is_named_by_its_offset(batch: Encode) -> None:
    with pytest.raises(Undecodable, match="offset 41"):
        records_of(batch([(0, KEY, ONGOING_V0), (1, KEY, b"\0\0junk")], base_offset=40))


def offset_key(group: bytes = b"g", topic: bytes = b"t", partition: int = 3, kind: int = 1) -> bytes:
    return pack(">hh", kind, len(group)) + group + pack(">h", len(topic)) + topic + pack(">i", partition)


VALUES = {
    0: pack(">hqh", 0, 55, 4) + b"meta" + pack(">q", TIME),
    1: pack(">hqh", 1, 55, 4) + b"meta" + pack(">qq", TIME, TIME + 1),
    2: pack(">hqh", 2, 55, 4) + b"meta" + pack(">q", TIME),
    3: pack(">hqih", 3, 55, 9, 4) + b"meta" + pack(">q", TIME),
    4: pack(">hqi", 4, 55, 9) + b"\5meta" + pack(">q", TIME) + b"\1\0\x10" + bytes(16),
}


@pytest.mark.parametrize("version", VALUES)
def test_each_version_of_an_offset_value_is_read(version: int) -> None:
    until_ms = TIME + 1 if version == 1 else -1  # Only version 1 says until when it counts.
    assert read_offset(VALUES[version]) == OffsetValue(55, "meta", TIME, 9 if version >= 3 else -1, until_ms)


@pytest.mark.parametrize("version", VALUES)
def test_a_cut_offset_value_is_refused(version: int) -> None:
    for end in range(len(VALUES[version])):
        with pytest.raises(Undecodable):
            read_offset(VALUES[version][:end])


def test_an_unknown_version_of_an_offset_value_is_refused() -> None:
    with pytest.raises(Undecodable, match="version 5"):
        read_offset(b"\0\5" + VALUES[3][2:])


@pytest.mark.parametrize("kind", [0, 1])
def test_an_offset_key_is_read(kind: int) -> None:
    assert read_offsets_key(offset_key(kind=kind)) == OffsetKey("g", "t", 3)


@pytest.mark.parametrize("kind", [3, 8, 16, 17])
def test_other_records_of_the_offsets_log_are_passed_over(kind: int) -> None:
    assert read_offsets_key(offset_key(kind=kind)) is None


def test_the_key_of_a_classic_group_is_read() -> None:
    assert read_offsets_key(offset_key(kind=2)) == GroupKey("g")


def test_a_key_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(Undecodable, match="UTF-8"):
        read_offsets_key(offset_key(group=b"\xff\xfe"))


def test_an_offset_commit_knows_its_producer_and_place(batch: Encode) -> None:
    entries = [(0, offset_key(), VALUES[3]), (1, offset_key(), None), (2, offset_key(kind=2), b"")]
    data = batch(entries, base_offset=9, producer_id=7, producer_epoch=2, attributes=0x10)
    found = read_segment(memoryview(data), "f", Keep.ALL).batches[0]
    commit, tombstone = offsets_log.read_batch(found, 1)
    assert (commit.group, commit.topic, commit.partition, commit.offset, commit.metadata) == ("g", "t", 3, 55, "meta")
    assert (commit.producer_id, commit.producer_epoch, commit.is_transactional) == (7, 2, True)
    assert (commit.log_partition, commit.log_offset) == (1, 9)
    assert tombstone.is_tombstone
    assert not commit.is_tombstone
