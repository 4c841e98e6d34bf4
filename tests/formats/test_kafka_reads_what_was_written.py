"""What Kafka's own tool said of the files in `kafka/`, which were written here, is what was meant (`written.py`)."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from tests.formats import written
from zombieproof.formats.batches import Batch
from zombieproof.formats.compression import Codec, unpack_records
from zombieproof.formats.consumer_group_records import KEYS, VALUES, GroupRecord, read_record
from zombieproof.formats.encoding import read_batches
from zombieproof.formats.offsets_log import GROUP_VALUE, OFFSET_VALUE
from zombieproof.formats.primitives import Fields
from zombieproof.formats.producer_snapshot import read_snapshot
from zombieproof.formats.record_batch import HEADER, header_at, read_records
from zombieproof.formats.schema import Message, Schema, read_message
from zombieproof.formats.transaction_index import read_index
from zombieproof.formats.transaction_log import VALUE, read_key

HERE = Path(__file__).parent / "kafka"
DATA = "t-0/00000000000000000000.log"
TRANSACTIONS = "__transaction_state-0/00000000000000000000.log"
OFFSETS = "__consumer_offsets-0/00000000000000000000.log"

BATCH = re.compile(r"baseOffset: (?P<base>\d+) lastOffset: (?P<last>\d+) .*")
RECORD = re.compile(r"\| offset: (?P<offset>\d+) (?:CreateTime|LogAppendTime): (?P<time>\d+) (?P<rest>.*)")
PAYLOAD = re.compile(r"keySize: .* headerKeys: \[\] key: (?P<key>\{.*\}) payload: (?P<payload>.*)")


def told(name: str) -> list[str]:
    return (HERE / "dump" / name).read_text(encoding="utf-8").splitlines()


def kept(name: str) -> bytes:
    return (HERE / name).read_bytes()


def headers_of(data: bytes) -> list[tuple[int, int]]:
    found, at = [], 0
    while at < len(data):
        found.append((at, header_at(data, at).size))
        at += found[-1][1]
    return found


@pytest.mark.parametrize("name", written.segments())
def test_what_is_written_today_is_what_kafka_was_asked_about(name: str) -> None:
    now, then = written.segments()[name], kept(name)
    if name != DATA:
        assert now == then
        return
    # A library that packs in another way writes other bytes of the same records.
    for one, other in zip(read_batches(now), read_batches(then), strict=True):
        assert one == other
        assert one.encoded is not None
        assert other.encoded is not None
        sections = [unpack_records(one.codec, each.data[HEADER.size :]) for each in (one.encoded, other.encoded)]
        assert sections[0] == sections[1]
        assert one.codec != Codec.NONE or one.encoded == other.encoded


@pytest.mark.parametrize(("dump", "name"), [("t-0.txt", DATA), ("__consumer_offsets-0.txt", OFFSETS)])
def test_kafka_finds_every_batch_where_it_was_put_and_valid(dump: str, name: str) -> None:
    data = kept(name)
    lines = [line for line in told(dump) if BATCH.match(line)]
    places = headers_of(data)
    assert len(lines) == len(places)
    for line, (at, size) in zip(lines, places, strict=True):
        header = header_at(data, at)
        horizon = header.delete_horizon_ms
        stamped = "LogAppendTime" if header.timestamp_type else "CreateTime"
        last = header.base_offset + header.last_offset_delta
        last_sequence = -1 if header.base_sequence < 0 else header.base_sequence + header.last_offset_delta
        assert line == (
            f"baseOffset: {header.base_offset} lastOffset: {last} count: {header.record_count} "
            f"baseSequence: {header.base_sequence} lastSequence: {last_sequence} "
            f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} partitionLeaderEpoch: 3 "
            f"isTransactional: {str(header.is_transactional).lower()} isControl: {str(header.is_control).lower()} "
            f"deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'} "
            f"position: {at} {stamped}: {header.max_timestamp_ms} size: {size} magic: 2 "
            f"compresscodec: {header.codec.name.lower()} crc: {header.crc} isvalid: true"
        )


def shown(batch: Batch) -> list[str]:
    """What the tool says of the records of a batch, from what was meant."""
    if batch.marker is not None:
        kind = "COMMIT" if batch.marker.committed else "ABORT"
        return [f"endTxnMarker: {kind} coordinatorEpoch: {batch.marker.coordinator_epoch}"]
    if batch.control_records:
        return ['LeaderChange: {"version":0,"leaderId":1,"voters":[],"grantingVoters":[]}']
    rows = []
    for record in batch.records:
        assert record.key is None or isinstance(record.key, bytes)
        assert record.value is None or isinstance(record.value, bytes)
        keys = ",".join(key for key, _ in record.headers)
        row = f"headerKeys: [{keys}]"
        row += "" if record.key is None else f" key: {record.key.decode()}"
        row += "" if record.value is None else f" payload: {record.value.decode()}"
        rows.append(row)
    return rows


def test_kafka_reads_the_records_of_every_codec_and_kind_of_batch() -> None:
    rows = [match for line in told("t-0.txt") if (match := RECORD.fullmatch(line))]
    expected = [
        (offset, time, row)
        for batch in written.DATA
        for offset, time, row in zip(
            batch.offsets or [batch.base_offset], batch.timestamps or [batch.timestamp_ms], shown(batch), strict=False
        )
    ]
    assert len(rows) == len(expected)
    for match, (offset, time, row) in zip(rows, expected, strict=True):
        assert (int(match["offset"]), int(match["time"])) == (offset, time)
        assert match["rest"].endswith(row)


def as_json(value: object) -> object:
    """A field as Kafka's JSON converters show it."""
    match value:
        case dict():
            return {name[0].lower() + name[1:]: as_json(held) for name, held in value.items()}
        case list():
            return [as_json(element) for element in value]
        case UUID():
            return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
        case bytes():
            return base64.b64encode(value).decode()
    return value


def message_json(message: Message, name: str = "version") -> object:
    return {name: str(message.version), "data": as_json(message.fields)}


def value_json(schema: Schema, value: bytes | None) -> object:
    return None if value is None else message_json(read_message(schema, value))


def internal_rows(dump: str) -> list[tuple[int, object, object]]:
    rows = []
    for line in told(dump):
        found = RECORD.fullmatch(line)
        if found:
            record = PAYLOAD.fullmatch(found["rest"])
            assert record is not None, line
            payload = None if record["payload"] == "<DELETE>" else json.loads(record["payload"])
            rows.append((int(found["offset"]), json.loads(record["key"]), payload))
    return rows


def stored_in(name: str) -> list[tuple[int, bytes, bytes | None]]:
    data = kept(name)
    found = []
    for at, _ in headers_of(data):
        header = header_at(data, at)
        for record in read_records(data, at, header):
            assert record.key is not None
            found.append((header.base_offset + record.offset_delta, record.key, record.value))
    return found


def test_kafka_reads_every_field_of_a_value_of_the_transaction_log() -> None:
    expected = [
        (offset, {"type": "0", "data": {"transactionalId": read_key(key)}}, value_json(VALUE, value))
        for offset, key, value in stored_in(TRANSACTIONS)
    ]
    rows = internal_rows("__transaction_state-0.txt")
    assert rows == expected
    shown_versions = {payload["version"] for _, _, payload in rows if isinstance(payload, dict)}
    assert shown_versions == {"0", "1"}


def test_kafka_reads_every_field_of_every_record_of_the_offsets_log() -> None:
    rows = internal_rows("__consumer_offsets-0.txt")
    stored = stored_in(OFFSETS)
    assert len(rows) == len(stored)
    shapes = set()
    for (offset, key, payload), (at, stored_key, value) in zip(rows, stored, strict=True):
        assert offset == at
        assert isinstance(key, dict)
        cursor = Fields(stored_key)
        kind = cursor.int16()
        shapes.add((kind, payload["version"] if isinstance(payload, dict) else None))
        if kind == 1:
            assert key["data"] == {"group": cursor.string(), "topic": cursor.string(), "partition": cursor.int32()}
            assert payload == value_json(OFFSET_VALUE, value)
        elif kind == 2:
            assert key["data"] == {"group": cursor.string()}
            assert payload == value_json(GROUP_VALUE, value)
        else:
            record = read_record(stored_key, value)
            assert isinstance(record, GroupRecord)
            assert key == message_json(record.key, "type")
            assert payload == (None if record.value is None else message_json(record.value))
    versions = [str(version) for version in range(5)]
    assert {(kind, version) for kind in (1, 2) for version in versions} <= shapes
    assert {(int(kind), "0") for kind in KEYS} <= shapes
    assert set(KEYS) == set(VALUES)


def test_kafka_reads_snapshot_and_index() -> None:
    lines = told("t-0.state.txt")
    told_of = {line.split(" ")[1]: line for line in lines if line.startswith("producerId")}
    for entry in read_snapshot(kept("t-0/00000000000000000027.snapshot")):
        line = told_of[str(entry.producer_id)]
        first = entry.current_txn_first_offset
        assert (
            f"producerEpoch: {entry.producer_epoch} coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {'OptionalLong.empty' if first < 0 else f'OptionalLong[{first}]'} "
            f"lastTimestamp: {entry.last_timestamp_ms}"
        ) in line
        newest = (
            f"lastSequence: {entry.last_sequence} lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta}"
        )
        assert (newest in line) == (entry.last_offset >= 0)
    entries, fault = read_index(kept("t-0/00000000000000000000.txnindex"))
    assert (tuple(entries), fault) == (written.INDEX, None)
    assert [line for line in lines if line.startswith("version")] == [
        f"version: 0 producerId: {each.producer_id} firstOffset: {each.first_offset} lastOffset: {each.last_offset} "
        f"lastStableOffset: {each.last_stable_offset}"
        for each in entries
    ]


def test_what_is_kept_is_what_was_meant() -> None:
    found = [replace(batch, encoded=None) for batch in read_batches(kept(DATA))]
    assert found == written.DATA
