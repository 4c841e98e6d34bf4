"""What was written for Kafka to read: a segment of each codec and of each internal topic, a snapshot and an index.

`python -m tests.formats.written FOLDER` writes it. What `kafka-dump-log` of Kafka 4.3.1 said of it lies in `kafka/`
together with the bytes (packed records depend on the release of a library): ``--print-data-log`` for ``t-0``, with
``--transaction-log-decoder`` and ``--offsets-decoder`` for the internal topics, nothing for snapshot and index.
"""

import sys
from dataclasses import replace
from pathlib import Path
from struct import pack
from uuid import UUID

from zombieproof.formats.batches import (
    Batch,
    ConsumerMemberValue,
    GroupKey,
    GroupValue,
    Marker,
    OffsetKey,
    OffsetValue,
    Record,
    TransactionValue,
)
from zombieproof.formats.compression import Codec
from zombieproof.formats.consumer_group_records import KEYS as GROUP_KEYS
from zombieproof.formats.consumer_group_records import GroupRecord, GroupRecordType, records_of, write_record
from zombieproof.formats.control_records import ControlType
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.producer_snapshot import SnapshotEntry, write_snapshot
from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.schema import Message, Struct
from zombieproof.formats.transaction_index import IndexEntry, write_index
from zombieproof.formats.typed_records import ValueVersions
from zombieproof.model.vocabulary import TransactionState

TIME = 1_700_000_000_000
LEADER_CHANGE = Record(pack(">hh", 0, ControlType.LEADER_CHANGE), pack(">hiBBB", 0, 1, 1, 1, 0))
"""Node 1 leads, by nobody's votes."""
TOPIC_ID = UUID("6a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9")
HEADERS = (("trace", b"\x00\x01"), ("none", None), ("empty", b""), ("trace", "zweimal größer".encode()))


def _placed(batches: list[Batch]) -> list[Batch]:
    """The batches one behind the other, as a leader of epoch 3 would append them."""
    placed, offset = [], 0
    for batch in batches:
        last = max(len(batch.records) - 1, 0)
        placed.append(replace(batch, base_offset=offset, leader_epoch=3, last_offset_delta=last))
        offset += last + 1
    return placed


DATA = _placed(
    [
        *(
            Batch(
                producer_id=4000,
                producer_epoch=1,
                base_sequence=4 * codec,
                transactional=True,
                records=(
                    Record(b"k0", b"v0", headers=HEADERS, timestamp_ms=TIME),
                    Record(None, b"no key", timestamp_ms=TIME + 1),
                    Record(b"no value", None),
                    Record(b"", b"", headers=(("h", b"v"),), timestamp_ms=TIME - 5),
                ),
                timestamp_ms=TIME + 7,
                codec=codec,
            )
            for codec in Codec
        ),
        Batch(4000, 1, transactional=True, marker=Marker(committed=True, coordinator_epoch=7), timestamp_ms=TIME + 8),
        Batch(
            records=(Record(None, b"stamped", timestamp_ms=TIME),),
            timestamp_ms=TIME + 9,
            timestamp_type=TimestampType.LOG_APPEND_TIME,
            codec=Codec.SNAPPY,
        ),
        Batch(4000, 2, transactional=True, marker=Marker(committed=False, coordinator_epoch=8), timestamp_ms=TIME + 9),
        Batch(control_records=(LEADER_CHANGE,), timestamp_ms=TIME + 10),
        Batch(4000, 2, transactional=True, is_empty_control=True, timestamp_ms=TIME + 11),
        Batch(
            records=(Record(b"tombstone", None),),
            timestamp_ms=TIME + 12,
            base_timestamp_ms=TIME + 86_400_000,
            has_delete_horizon=True,
        ),
    ]
)

EMPTY = TransactionValue(
    producer_id=4000,
    previous_producer_id=-1,
    next_producer_id=-1,
    producer_epoch=0,
    last_producer_epoch=-1,
    timeout_ms=60_000,
    state=TransactionState.EMPTY,
    partitions=frozenset(),
    last_update_ms=TIME,
    start_ms=-1,
    client_transaction_version=0,
)
ONGOING = TransactionValue(
    producer_id=4001,
    previous_producer_id=4000,
    next_producer_id=4002,
    producer_epoch=32766,
    last_producer_epoch=-1,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    partitions=frozenset({("t", 0), ("t", 1), ("another.topic", 7)}),
    last_update_ms=TIME + 1,
    start_ms=TIME,
    client_transaction_version=2,
    next_producer_epoch=3,
)
BEFORE_TV2 = replace(
    ONGOING, previous_producer_id=-1, next_producer_id=-1, client_transaction_version=0, next_producer_epoch=-1
)
TRANSACTIONS = _placed(
    [
        Batch(records=(Record("orders-1", EMPTY), Record("größer", ONGOING)), timestamp_ms=TIME),
        Batch(records=(Record("orders-1", None),), timestamp_ms=TIME + 1),
        Batch(records=(Record("of-version-0", BEFORE_TV2),), timestamp_ms=TIME + 1),
    ]
)
"""The last batch holds a value of version 0."""
CLASSIC = GroupValue(3, (("m-1", 3), ("m-2", 3)), "m-1", (("m-2", "static-2"),))
CONSUMER = GroupValue(
    generation=5,
    members=(("c-1", 5), ("c-2", 4)),
    assignment_epoch=5,
    consumers=(
        ("c-1", ConsumerMemberValue(4, 0, ((("t", 0), 5),), target=(("t", 0),), topics=("t",))),
        (
            "c-2",
            ConsumerMemberValue(4, 0, ((("t", 1), 4), (("t", 2), 3)), target=(("t", 1), ("t", 2)), topics=("t",)),
        ),
    ),
)


def _group_record(kind: GroupRecordType, key: tuple[str, ...], value: Struct | None) -> Record:
    names = [field.name for field in GROUP_KEYS[kind].fields]
    held = None if value is None else Message(0, value)
    return write_record(GroupRecord(kind, Message(kind, dict(zip(names, key, strict=True))), held))


MEMBER_OF_CLASSIC_PROTOCOL: Struct = {
    "InstanceId": "i",
    "RackId": "r",
    "ClientId": "client",
    "ClientHost": "/127.0.0.1",
    "SubscribedTopicNames": ["t", "u"],
    "SubscribedTopicRegex": "t.*",
    "RebalanceTimeoutMs": 300_000,
    "ServerAssignor": "uniform",
    "ClassicMemberMetadata": {
        "SessionTimeoutMs": 45_000,
        "SupportedProtocols": [{"Name": "range", "Metadata": b"\x00\x03"}],
    },
}
PARTITIONS: Struct = {
    "Topics": [
        {
            "TopicId": TOPIC_ID,
            "TopicName": "t",
            "NumPartitions": 3,
            "PartitionMetadata": [{"Partition": 0, "Racks": ["r1", "r2"]}],
        }
    ]
}
EXPRESSION: Struct = {"Topics": ["t"], "Version": 9, "Timestamp": TIME}
OTHER_GROUP_RECORDS = (
    _group_record(GroupRecordType.MEMBER, ("g-consumer", "c-3"), MEMBER_OF_CLASSIC_PROTOCOL),
    _group_record(GroupRecordType.PARTITIONS, ("g-consumer",), PARTITIONS),
    _group_record(GroupRecordType.REGULAR_EXPRESSION, ("g-consumer", "t.*"), EXPRESSION),
    _group_record(GroupRecordType.GROUP, ("g-consumer",), {"Epoch": 6, "MetadataHash": -77}),
    _group_record(GroupRecordType.TARGET, ("g-consumer",), {"AssignmentEpoch": 6, "AssignmentTimestamp": TIME}),
    _group_record(GroupRecordType.MEMBER, ("g-consumer", "c-1"), None),
)


def _offsets(version: int) -> Batch:
    """An offset commit and a classic group in that version of their values."""
    offset = OffsetValue(55, "meta größer", TIME, 9 if version >= 3 else -1)
    records = (Record(OffsetKey("g", "t", version), offset), Record(GroupKey(f"g-{version}"), CLASSIC))
    if version < 3:
        records = (records[0], Record(GroupKey(f"g-{version}"), GroupValue(3, CLASSIC.members, "m-1")))
    return Batch(base_sequence=0, records=records, timestamp_ms=TIME)


OFFSETS_BY_VERSION = _placed(
    [
        *map(_offsets, range(5)),
        Batch(base_sequence=0, records=records_of("g-consumer", CONSUMER, {"t": TOPIC_ID}), timestamp_ms=TIME),
        Batch(base_sequence=0, records=OTHER_GROUP_RECORDS, timestamp_ms=TIME),
        Batch(
            producer_id=4000,
            producer_epoch=1,
            base_sequence=0,
            transactional=True,
            records=(Record(OffsetKey("g", "t", 0), None), Record(GroupKey("g-0"), None)),
            timestamp_ms=TIME,
        ),
    ]
)
"""The batches at 0 to 4 hold values of that version."""

SNAPSHOT = (
    SnapshotEntry(4000, 1, 23, 19, 3, TIME, 7, -1),
    SnapshotEntry(4001, 0, -1, -1, 0, TIME + 1, -1, 21),
)
INDEX = (IndexEntry(4000, 21, 22, 21), IndexEntry(4001, 21, 30, 22))


def segments() -> dict[str, bytes]:
    """Every file by its path."""
    offsets = b"".join(
        write_batch(batch, ValueVersions(offset=min(number, 4), group=min(number, 4)))
        for number, batch in enumerate(OFFSETS_BY_VERSION)
    )
    transactions = b"".join(
        write_batch(batch, ValueVersions(transaction=version))
        for batch, version in zip(TRANSACTIONS, (1, 1, 0), strict=True)
    )
    return {
        "t-0/00000000000000000000.log": b"".join(map(write_batch, DATA)),
        "t-0/00000000000000000027.snapshot": write_snapshot(SNAPSHOT),
        "t-0/00000000000000000000.txnindex": write_index(INDEX),
        "__transaction_state-0/00000000000000000000.log": transactions,
        "__consumer_offsets-0/00000000000000000000.log": offsets,
    }


if __name__ == "__main__":
    for name, data in segments().items():
        path = Path(sys.argv[1], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
