"""Batches as bytes and back: nothing is lost, and the bytes of a producer stay as they came."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from struct import pack_into

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.drawn import FIELDS, HEADERS, INT64, batches, with_checksum
from zombieproof.formats.batches import (
    Batch,
    GroupKey,
    GroupValue,
    Marker,
    OffsetKey,
    OffsetValue,
    Record,
    TransactionValue,
)
from zombieproof.formats.compression import XERIAL_MAGIC, Codec, pack_records, unpack_records
from zombieproof.formats.control_records import ControlType, EndMarker, read_end_marker, read_type, write_end_marker
from zombieproof.formats.encoding import read_batch, read_batches, write_batch
from zombieproof.formats.faults import Undecodable, Unwritable
from zombieproof.formats.record_batch import (
    HEADER,
    BatchHeader,
    TimestampType,
    header_at,
    is_sound,
    read_records,
)
from zombieproof.formats.record_batch import write_batch as write_stored
from zombieproof.formats.stored_records import StoredRecord
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.formats.typed_records import ValueVersions
from zombieproof.model.vocabulary import TransactionState

TIME = 1_700_000_000_000


@given(batches())
def test_what_is_written_is_read(batch: Batch) -> None:
    data = write_batch(batch)
    found = read_batch(data)
    assert found == batch
    assert found.encoded is not None
    assert found.encoded.data == data
    assert write_batch(found) == data
    assert read_batch(write_batch(replace(found, encoded=None))) == batch


@given(st.lists(batches(), max_size=4))
def test_batches_stand_one_behind_the_other(several: list[Batch]) -> None:
    assert list(read_batches(b"".join(map(write_batch, several)))) == several


STORED = st.lists(
    st.builds(StoredRecord, st.just(0), INT64, FIELDS, FIELDS, HEADERS, st.integers(0, 127)), max_size=5
).map(lambda several: [record._replace(offset_delta=2 * n) for n, record in enumerate(several)])


@given(STORED, st.sampled_from(Codec))
def test_stored_records_keep_every_field(records: list[StoredRecord], codec: Codec) -> None:
    header = BatchHeader(7, 0, 1, 0, 0, codec, 10, TIME, TIME, 1, 2, 3, 0)
    data = write_stored(header, records)
    found = header_at(data, 0)
    assert is_sound(found, data, 0)
    assert (found.record_count, found.magic, found.size) == (len(records), 2, len(data))
    assert read_records(data, 0, found) == records


@given(st.binary(max_size=100_000), st.sampled_from(Codec))
def test_every_codec_gives_back_what_it_packed(section: bytes, codec: Codec) -> None:
    assert unpack_records(codec, pack_records(codec, section)) == section


def test_large_sections_are_packed_in_blocks() -> None:
    section = bytes(range(256)) * 1000
    for codec in Codec:
        assert unpack_records(codec, pack_records(codec, section)) == section
    assert pack_records(Codec.SNAPPY, section).startswith(XERIAL_MAGIC)


@pytest.mark.parametrize("section", [b"", b"abc", b"abc" * 100_000])
def test_lz4_has_the_independent_blocks_that_kafka_asks_for(section: bytes) -> None:
    flags = pack_records(Codec.LZ4, section)[4]
    assert flags & 0x20, f"{flags:#x}"


PACKED_IN_ANOTHER_WAY: dict[str, tuple[Codec, Callable[[bytes], bytes]]] = {
    "gzip of the lowest level": (Codec.GZIP, lambda section: gzip.compress(section, compresslevel=1, mtime=5)),
    "gzip in two members": (Codec.GZIP, lambda section: gzip.compress(section[:9]) + gzip.compress(section[9:])),
    "snappy without frame": (Codec.SNAPPY, lambda section: bytes(cramjam.snappy.compress_raw(section))),
    "lz4 of linked blocks": (Codec.LZ4, lambda section: bytes(cramjam.lz4.compress(section))),
    "zstd in two frames": (
        Codec.ZSTD,
        lambda section: b"".join(bytes(cramjam.zstd.compress(part)) for part in (section[:9], section[9:])),
    ),
}


def packed_by_a_client(name: str) -> bytes:
    """A batch whose records a client has packed with settings of its own."""
    codec, pack = PACKED_IN_ANOTHER_WAY[name]
    plain = write_batch(Batch(1, 0, 5, True, RECORDS, last_offset_delta=2, timestamp_ms=TIME))
    header = header_at(plain, 0)
    ours = write_stored(header._replace(attributes=header.attributes | codec), read_records(plain, 0, header))
    section = pack(plain[HEADER.size :])
    assert section != ours[HEADER.size :], "the settings make a difference"
    return _with_section(ours, section)


def _with_section(data: bytes, section: bytes) -> bytes:
    whole = bytearray(data[: HEADER.size] + section)
    pack_into(">i", whole, 8, len(whole) - 12)
    return with_checksum(bytes(whole))


RECORDS = (
    Record(b"k" * 40, b"v" * 40, headers=(("h", None),)),
    Record(None, b"", timestamp_ms=TIME - 4),
    Record(b"", None, timestamp_ms=TIME - 9),
)


@pytest.mark.parametrize("name", PACKED_IN_ANOTHER_WAY)
def test_a_batch_of_a_client_stays_as_the_client_packed_it(name: str) -> None:
    data = packed_by_a_client(name)
    sent = read_batch(data)
    assert sent.records == RECORDS
    assert write_batch(sent) == data
    placed = write_batch(replace(sent, base_offset=77, leader_epoch=4))
    assert (placed[8:12], placed[16:]) == (data[8:12], data[16:]), "the checksum covers neither"
    assert (read_batch(placed).base_offset, read_batch(placed).leader_epoch) == (77, 4)


@pytest.mark.parametrize("name", PACKED_IN_ANOTHER_WAY)
def test_a_broker_that_stamps_batches_leaves_the_records_as_they_are(name: str) -> None:
    data = packed_by_a_client(name)
    stamped = replace(read_batch(data), timestamp_type=TimestampType.LOG_APPEND_TIME, timestamp_ms=TIME + 60_000)
    written = write_batch(stamped)
    assert written[HEADER.size :] == data[HEADER.size :]
    found = read_batch(written)
    assert found.timestamps == (TIME + 60_000,) * 3
    assert (found.producer_id, found.base_sequence, found.codec) == (1, 5, stamped.codec)


CHANGES = {
    "records": {"records": RECORDS[:1], "last_offset_delta": 0},
    "records of equal content": {"records": tuple(replace(each) for each in RECORDS)},
    "producer epoch": {"producer_epoch": 9},
    "time": {"timestamp_ms": TIME + 1},
    "codec": {"codec": Codec.NONE},
    "delete horizon": {"base_timestamp_ms": TIME + 5, "has_delete_horizon": True},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_batch_that_was_changed_is_encoded_anew(change: dict[str, object]) -> None:
    sent = read_batch(packed_by_a_client("zstd in two frames"))
    changed = replace(sent, **change)  # type: ignore[arg-type]  # fields of several types
    found = read_batch(write_batch(changed))
    expected = changed
    if "timestamp_ms" in change:
        expected = replace(changed, base_timestamp_ms=found.base_timestamp_ms)
        assert found.timestamps == changed.timestamps
    assert found == expected


# ---------------------------------------------------------------- control batches


@given(st.booleans(), st.integers(-(2**31), 2**31 - 1))
def test_a_marker_is_read_as_it_was_written(committed: bool, coordinator_epoch: int) -> None:
    marker = EndMarker(committed, coordinator_epoch)
    assert read_end_marker(*write_end_marker(marker)) == marker


def control(key: bytes | None, value: bytes | None, **fields: object) -> bytes:
    held = Record(key, value)
    return write_batch(Batch(1, 0, timestamp_ms=TIME, control_records=(held,), **fields))  # type: ignore[arg-type]  # fields of several types


@pytest.mark.parametrize("kind", [*ControlType, -1, 77])
def test_control_records_of_every_kind_are_kept_as_they_are(kind: int) -> None:
    key, value = (0).to_bytes(2) + kind.to_bytes(2, signed=True), b"\0\0\0\0\0\1and more"
    data = control(key, value, transactional=kind in (0, 1))
    assert read_type(key) == kind
    found = read_batch(data)
    assert found.is_control
    assert not found.records
    assert found.control_records == (Record(key, value),)
    assert found.marker == {0: Marker(False, 1), 1: Marker(True, 1)}.get(kind)
    assert write_batch(found) == data
    assert write_batch(replace(found, encoded=None)) == data


@pytest.mark.parametrize(("key", "value"), [(None, b""), (b"\0\0\0", b""), (b"\0\0\0\1", b"\0\0"), (b"\0\0\0\0", None)])
def test_a_control_batch_that_says_nothing_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(Undecodable):
        read_batch(control(key, value))


def test_a_new_outcome_is_not_written_over_by_the_old_bytes() -> None:
    found = read_batch(write_batch(Batch(1, 0, transactional=True, marker=Marker(True, 3), timestamp_ms=TIME)))
    turned = write_batch(replace(found, marker=Marker(False, 4)))
    assert read_batch(turned).marker == Marker(False, 4)


# ---------------------------------------------------------------- internal topics

TRANSACTION = TransactionValue(
    producer_id=4000,
    previous_producer_id=3999,
    next_producer_id=-1,
    producer_epoch=3,
    last_producer_epoch=-1,
    timeout_ms=60_000,
    state=TransactionState.PREPARE_COMMIT,
    partitions=frozenset({("t", 0), ("t", 1), ("u", 0)}),
    last_update_ms=TIME,
    start_ms=TIME,
    client_transaction_version=2,
)
TYPED = {
    TRANSACTION_STATE: (
        Record("orders-1", TRANSACTION),
        Record("orders-1", None),
        Record(b"\0\x09of another type", b"?"),
        Record(b"\0\0\0\1x", b"\0\x07of a later version"),
        Record(None, b"no key"),
    ),
    CONSUMER_OFFSETS: (
        Record(OffsetKey("g", "t", 1), OffsetValue(5, "meta", TIME, 3)),
        Record(OffsetKey("g", "t", 1), None),
        Record(GroupKey("g"), GroupValue(4, (("m", 4), ("n", 4)), "m", (("n", "static"),))),
        Record(GroupKey("g"), None),
        Record(b"\0\3\0\1g", b"\0\0\0\0\0\1\0"),
        Record(b"\0\2\0\1g", b"\0\x07of a later version"),
    ),
}


@pytest.mark.parametrize("topic", TYPED)
def test_records_of_internal_topics_are_typed_where_they_are_known_and_bytes_elsewhere(topic: str) -> None:
    batch = Batch(records=TYPED[topic], last_offset_delta=len(TYPED[topic]) - 1, timestamp_ms=TIME, base_offset=0)
    data = write_batch(batch)
    found = read_batch(data, topic=topic)
    assert found == batch
    assert write_batch(found) == data
    untyped = read_batch(data, topic="t")
    assert all(isinstance(each.key, bytes | None) for each in untyped.records)
    assert write_batch(replace(untyped, encoded=None)) == data


def test_versions_of_values_are_those_of_the_broker() -> None:
    old = ValueVersions(transaction=0, offset=1, group=2)
    plain = replace(TRANSACTION, previous_producer_id=-1, client_transaction_version=0)
    records = (Record("a", plain), Record(OffsetKey("g", "t", 1), OffsetValue(5, "", TIME)))
    data = write_batch(Batch(records=records, last_offset_delta=1, timestamp_ms=TIME), old)
    values = [record.value for record in read_batch(data).records]
    assert [value[:2] for value in values if isinstance(value, bytes)] == [b"\0\0", b"\0\1"]


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (Record("a", OffsetValue(1, "")), "OffsetValue does not belong"),
        (Record(OffsetKey("g", "t", 0), TRANSACTION), "TransactionValue does not belong"),
        (Record(None, GroupValue(1, ())), "GroupValue does not belong"),
        (Record("a" * 40_000, None), "40000 bytes"),
    ],
)
def test_a_record_that_the_log_has_no_place_for_is_refused(record: Record, fault: str) -> None:
    with pytest.raises(Unwritable, match=fault):
        write_batch(Batch(records=(record,)))


@pytest.mark.parametrize(
    ("batch", "fault"),
    [
        (Batch(records=RECORDS), "cannot stand behind"),
        (Batch(records=(Record(None, b"", 4), Record(None, b"", 4)), last_offset_delta=4), "cannot stand behind"),
        (Batch(producer_epoch=1 << 15), "does not fit"),
        (Batch(base_sequence=1 << 31), "does not fit"),
    ],
)
def test_a_batch_that_the_format_has_no_place_for_is_refused(batch: Batch, fault: str) -> None:
    with pytest.raises(Unwritable, match=fault):
        write_batch(batch)


def test_a_typed_record_that_cannot_be_read_is_named_by_its_offset() -> None:
    records = (Record(b"\0\0\0\1x", None), Record(b"\0\0\0\1x", b"\0\1junk"))
    data = write_batch(Batch(records=records, last_offset_delta=1, base_offset=40))
    with pytest.raises(Undecodable, match="offset 41"):
        read_batch(data, topic=TRANSACTION_STATE)
