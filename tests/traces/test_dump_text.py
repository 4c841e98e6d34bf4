"""Text of kafka-dump-log (reference §9.1 to §9.3): every dialect, payloads that mislead, lines that are cut or lost."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import TimestampType
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import (
    AbortedTransaction,
    LoggedBatch,
    LoggedMarker,
    LoggedRecord,
    ProducerSnapshotEntry,
    TransactionLogValue,
)
from zombieproof.traces.readers.dump_content import DumpContent
from zombieproof.traces.readers.dump_text import looks_like_dump, read_dump
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep

TIME = 1_700_000_000_000

HEAD = "Dumping /var/lib/kafka/t-0/00000000000000000000.log\nLog starting offset: 0\n"
DATA = (
    "baseOffset: 0 lastOffset: 2 count: 3 baseSequence: 0 lastSequence: 2 producerId: 4000 producerEpoch: 0 "
    "partitionLeaderEpoch: 3 isTransactional: true isControl: false deleteHorizonMs: OptionalLong.empty position: 0 "
    "CreateTime: 1700000000002 size: 94 magic: 2 compresscodec: none crc: 338352084 isvalid: true\n"
)
RECORDS = "".join(
    f"| offset: {n} CreateTime: {TIME + n} keySize: 2 valueSize: 2 sequence: {n} headerKeys: [] "
    f"key: k{n} payload: v{n}\n"
    for n in range(3)
)
COMMIT = (
    "baseOffset: 3 lastOffset: 3 count: 1 baseSequence: -1 lastSequence: -1 producerId: 4000 producerEpoch: 0 "
    "partitionLeaderEpoch: 3 isTransactional: true isControl: true deleteHorizonMs: OptionalLong.empty position: 94 "
    "CreateTime: 1700000000000 size: 78 magic: 2 compresscodec: none crc: 3099557535 isvalid: true\n"
)
MARKER = (
    "| offset: 3 CreateTime: 1700000000000 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] "
    "endTxnMarker: COMMIT coordinatorEpoch: 7\n"
)
NEWEST = HEAD + DATA + RECORDS + COMMIT + MARKER

OLD_HEAD = "Dumping /var/lib/kafka/t-0/00000000000000000000.log\nStarting offset: 0\n"


def without_horizon(text: str) -> str:
    return text.replace(" deleteHorizonMs: OptionalLong.empty", "").replace(
        "compresscodec: none", "compresscodec: NONE"
    )


def as_2_8(text: str) -> str:
    """Record lines of 2.8 carry what their batch says too."""
    return (
        without_horizon(text)
        .replace("| offset: 0 ", "| offset: 0 isValid: true crc: null keySize: 2 valueSize: 2 ")
        .replace("| offset: 1 ", "| offset: 1 isValid: true crc: null keySize: 2 valueSize: 2 ")
        .replace("| offset: 2 ", "| offset: 2 isValid: true crc: null keySize: 2 valueSize: 2 ")
        .replace("| offset: 3 ", "| offset: 3 isValid: true crc: null keySize: 4 valueSize: 6 ")
        .replace(
            " keySize: 2 valueSize: 2 sequence",
            " baseOffset: 0 lastOffset: 2 baseSequence: 0 lastSequence: 2 "
            "producerEpoch: 0 partitionLeaderEpoch: 3 batchSize: 94 magic: 2 compressType: NONE position: 0 sequence",
        )
        .replace(
            " keySize: 4 valueSize: 6 sequence",
            " baseOffset: 3 lastOffset: 3 baseSequence: -1 lastSequence: -1 "
            "producerEpoch: 0 partitionLeaderEpoch: 3 batchSize: 78 magic: 2 compressType: NONE position: 94 sequence",
        )
    )


def shallow_of_1_0(text: str) -> str:
    """Batch lines up to 2.1: validity before the size; 0.11 knows neither count nor isControl."""
    return (
        without_horizon(text)
        .replace(" isvalid: true\n", "\n")
        .replace(" size: ", " isvalid: true size: ")
        .replace(" count: 3", "")
        .replace(" count: 1", "")
        .replace(" isControl: true", "")
        .replace(" isControl: false", "")
    )


DEEP_OF_1_0 = (
    OLD_HEAD
    + "".join(
        f"offset: {n} position: 0 CreateTime: {TIME + n} isvalid: true keysize: 2 valuesize: 2 magic: 2 "
        f"compresscodec: NONE producerId: 4000 producerEpoch: 0 sequence: {n} isTransactional: true headerKeys: [] "
        f"key: k{n} payload: v{n}\n"
        for n in range(3)
    )
    + (
        "offset: 3 position: 94 CreateTime: 1700000000000 isvalid: true keysize: 4 valuesize: 6 magic: 2 "
        "compresscodec: NONE producerId: 4000 producerEpoch: 0 sequence: -1 isTransactional: true headerKeys: [] "
        "endTxnMarker: COMMIT coordinatorEpoch: 7\n"
    )
)

DIALECTS = {
    "4.3": NEWEST,
    "4.3 batches": HEAD + DATA + COMMIT,
    "3.1": without_horizon(NEWEST).replace("compresscodec: NONE", "compresscodec: none"),
    "2.8": as_2_8(NEWEST),
    "2.4": without_horizon(NEWEST)
    .replace(HEAD, OLD_HEAD)
    .replace("keySize", "keysize")
    .replace("valueSize", "valuesize"),
    "0.11 batches": shallow_of_1_0(HEAD + DATA + COMMIT).replace(HEAD, OLD_HEAD),
    "0.11 deep": DEEP_OF_1_0,
}


def read(text: str, keep: Keep = Keep.NEEDED) -> DumpContent:
    return read_dump(memoryview(text.encode()), "t-0.txt", keep)


def only(text: str, keep: Keep = Keep.NEEDED) -> SegmentContent:
    dump = read(text, keep)
    assert dump.damage == []
    assert len(dump.segments) == 1
    assert dump.segments[0].damage == []
    return dump.segments[0]


def facts(batch: LoggedBatch) -> tuple[object, ...]:
    return (
        batch.base_offset,
        batch.last_offset,
        batch.count,
        batch.base_sequence,
        batch.last_sequence,
        batch.producer_id,
        batch.producer_epoch,
        batch.is_transactional,
        batch.is_control,
        batch.position,
        batch.max_timestamp_ms,
        batch.codec,
        batch.is_valid,
    )


@pytest.mark.parametrize("release", DIALECTS)
def test_every_dialect_tells_the_same_batches(release: str) -> None:
    content = only(DIALECTS[release])
    assert [facts(batch) for batch in content.batches] == [facts(batch) for batch in only(NEWEST).batches]
    assert content.start_offset == 0
    assert (content.place.topic, content.place.partition, content.place.replica) == ("t", 0, "/var/lib/kafka")


@pytest.mark.parametrize("release", [release for release in DIALECTS if "batches" not in release])
def test_every_dialect_with_records_tells_the_marker_and_the_payloads(release: str) -> None:
    data, commit = only(DIALECTS[release], Keep.ALL).batches
    assert commit.marker == LoggedMarker(commit=True, coordinator_epoch=7)
    assert data.records == [LoggedRecord(n, TIME + n, n, f"k{n}".encode(), f"v{n}".encode()) for n in range(3)]


def test_the_newest_dialect_tells_all_of_a_batch() -> None:
    data = only(NEWEST).batches[0]
    assert data == LoggedBatch(
        base_offset=0,
        last_offset=2,
        count=3,
        base_sequence=0,
        last_sequence=2,
        producer_id=4000,
        producer_epoch=0,
        partition_leader_epoch=3,
        is_transactional=True,
        is_control=False,
        delete_horizon_ms=None,
        position=0,
        max_timestamp_ms=TIME + 2,
        timestamp_type=TimestampType.CREATE_TIME,
        size=94,
        codec=Codec.NONE,
        crc=338352084,
        is_valid=True,
        file="t-0.txt",
    )


def test_a_dump_without_records_does_not_tell_what_a_marker_decides() -> None:
    assert only(HEAD + DATA + COMMIT).batches[1].marker is None


def test_a_delete_horizon_and_timestamp_types_are_read() -> None:
    text = DATA.replace("OptionalLong.empty", "OptionalLong[1700000600000]").replace("CreateTime", "LogAppendTime")
    batch = only(HEAD + text).batches[0]
    assert (batch.delete_horizon_ms, batch.timestamp_type) == (1700000600000, TimestampType.LOG_APPEND_TIME)


def test_a_compacted_batch_keeps_the_offsets_that_are_left() -> None:
    text = HEAD + DATA.replace("count: 3", "count: 2") + RECORDS.split("\n", 1)[1]
    batch = only(text).batches[0]
    assert not batch.is_dense
    assert batch.offsets() == [1, 2]


def test_other_control_records_are_no_markers() -> None:
    for shown in ('LeaderChange: {"version":0}', "controlType: LEADER_CHANGE(2)", 'SnapshotHeader {"version":0}'):
        text = HEAD + DATA + COMMIT + MARKER.replace("endTxnMarker: COMMIT coordinatorEpoch: 7", shown)
        with_records = text.replace(DATA, DATA + RECORDS)
        control = only(with_records).batches[1]
        assert (control.marker, control.hides_marker) == (None, False)


NULLS = {
    "no key": (" payload: v0", 0, -1, 2, None, b"v0"),
    "no value": (" key: k0", 0, 2, -1, b"k0", None),
    "neither": ("", 0, -1, -1, None, None),
    "spaces": (" key: a payload: b payload: c", 0, 12, 1, b"a payload: b", b"c"),
}


def one(shown: str, key_size: int, value_size: int, headers: str = "[]") -> str:
    single = DATA.replace("lastOffset: 2 count: 3", "lastOffset: 0 count: 1").replace(
        "lastSequence: 2", "lastSequence: 0"
    )
    line = (
        f"| offset: 0 CreateTime: {TIME} keySize: {key_size} valueSize: {value_size} sequence: 0 headerKeys: {headers}"
    )
    return (
        f"{HEAD}{single}{line}{shown}\n"
        + COMMIT.replace("Offset: 3", "Offset: 1")
        + MARKER.replace("| offset: 3", "| offset: 1")
    )


@pytest.mark.parametrize("name", NULLS)
def test_null_and_misleading_keys_and_values_are_told_apart_by_their_sizes(name: str) -> None:
    shown, _, key_size, value_size, key, value = NULLS[name]
    record = (only(one(shown, key_size, value_size), Keep.ALL).batches[0].records or [])[0]
    assert (record.key, record.value, record.has_payload) == (key, value, True)


@pytest.mark.parametrize("headers", ["[a]", "[a,b]", "[x]y]", "[] key: z]"])
def test_header_keys_may_hold_brackets(headers: str) -> None:
    content = only(one(" key: k0 payload: v0", 2, 2, headers))
    assert content.batches[1].marker == LoggedMarker(commit=True, coordinator_epoch=7)


LIES = {
    "lines": "first\nsecond\n\nfourth",
    "a batch line": f"x\n{COMMIT.strip()}",
    "a record line": f"x\n{MARKER.strip()}\ny",
    "another dump": f"x\n{HEAD}{DATA}{RECORDS}",
    "payload": "a payload: b\nc payload: d",
    "unicode": "é\u2028\u0085\r\ngrün",
    "cut bytes at the end": "a\nFound 17 invalid bytes at the end of x.log",
}


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("keep", Keep)
def test_a_payload_with_line_feeds_is_read_as_long_as_it_is(name: str, keep: Keep) -> None:
    value = LIES[name]
    content = only(one(f" key: k\n0 payload: {value}", 3, len(value.encode())), keep)
    assert [batch.base_offset for batch in content.batches] == [0, 1]
    assert content.batches[1].marker == LoggedMarker(commit=True, coordinator_epoch=7)
    if keep is Keep.ALL:
        record = (content.batches[0].records or [])[0]
        assert (record.key, record.value) == (b"k\n0", value.encode())


def test_a_payload_that_the_printing_changed_does_not_swallow_the_lines_behind_it() -> None:
    for shown, size in ((" payload: ?", 500), (" payload: \ufffd\ufffd\nrest", 40), (" payload: 5", 8)):
        content = only(one(shown, -1, size), Keep.ALL)
        assert [batch.base_offset for batch in content.batches] == [0, 1]
        record = (content.batches[0].records or [])[0]
        assert (record.value, record.has_payload) == (None, False)


def test_lines_of_stderr_in_between_are_passed_over() -> None:
    noise = [
        "Non-consecutive offsets in /var/lib/kafka/t-0/00000000000000000000.log\n",
        "  -1 is followed by 12\n",
        "[2026-11-21 13:19:47,973] WARN something happened (kafka.utils.Logging)\n",
        "SLF4J: Class path contains multiple SLF4J bindings.\n",
        "\n",
    ]
    lines = [f"{line}\n" for line in NEWEST.splitlines()]
    mixed = "".join(line + noise[n % len(noise)] for n, line in enumerate(lines))
    assert only(mixed, Keep.ALL).batches == only(NEWEST, Keep.ALL).batches


def test_several_segments_follow_each_other() -> None:
    second = HEAD.replace("00000000000000000000.log", "00000000000000000004.log").replace(": 0\n", ": 4\n")
    dump = read(NEWEST + second)
    assert [segment.start_offset for segment in dump.segments] == [0, 4]
    assert [len(segment.batches) for segment in dump.segments] == [2, 0]


def test_what_the_tool_says_of_the_segment_is_damage_of_the_segment() -> None:
    bad = NEWEST.replace("crc: 338352084 isvalid: true", "crc: 338352084 isvalid: false")
    dump = read(bad + "Found 17 invalid bytes at the end of 00000000000000000000.log\n")
    (segment,) = dump.segments
    assert dump.damage == []
    assert [batch.base_offset for batch in segment.batches] == [3]
    assert [batch.base_offset for batch in segment.unsound] == [0]
    assert [place.position for place in segment.damage] == [3, 9]
    assert segment.torn_tail
    assert segment.broken_at == {3}


def test_a_tool_that_gave_up_leaves_the_rest_unknown() -> None:
    dump = read(
        HEAD + DATA + RECORDS + 'Exception in thread "main" org.apache.kafka.common.errors.CorruptRecordException\n'
    )
    assert dump.segments[0].torn_tail
    assert len(dump.segments[0].damage) == 1


def test_a_dump_cut_at_any_byte_is_noticed_where_a_line_is_cut() -> None:
    whole = NEWEST.encode()
    for end in range(len(HEAD) + 1, len(whole)):
        cut = whole[:end]
        line = cut.rpartition(b"\n")[2]
        if len(line) < 2 or whole[end : end + 1] == b"\n" or line.endswith(b"headerKeys: []"):
            continue
        damage = read_dump(memoryview(cut), "f", Keep.ALL).damage
        assert cut.count(b"\n") + 1 in {place.position for place in damage} or b"| offset: 1" in line[:12], line


def test_a_line_cut_in_the_middle_of_a_dump_is_named() -> None:
    lines = NEWEST.splitlines()
    for n in range(2, len(lines)):
        for end in range(12, len(lines[n]) - len(" payload: v0")):
            cut = [*lines[:n], lines[n][:end], *lines[n + 1 :]]
            damage = read("\n".join(cut) + "\n").damage
            whole_without_payload = n == 3 and cut[n].endswith("headerKeys: []")
            assert n + 1 in {place.position for place in damage} or whole_without_payload, cut[n]


def test_a_record_without_its_payload_between_others_is_cut() -> None:
    cut = RECORDS.replace(" key: k1 payload: v1", "")
    assert [place.position for place in read(HEAD + DATA + cut + COMMIT + MARKER).damage] == [5]
    assert (
        read(
            HEAD
            + DATA
            + RECORDS.replace(" key: k0 payload: v0", "")
            .replace(" key: k1 payload: v1", "")
            .replace(" key: k2 payload: v2", "")
        ).damage
        == []
    )


def test_a_lost_line_is_noticed() -> None:
    lines = NEWEST.splitlines()
    for n in range(2, len(lines) - 1):
        dump = read("\n".join([*lines[:n], *lines[n + 1 :]]) + "\n")
        assert dump.damage, lines[n]


def test_batches_without_the_line_that_says_whose_they_are_are_of_an_unknown_partition() -> None:
    dump = read_dump(memoryview((DATA + RECORDS).encode()), "paste")
    assert dump.damage == []
    assert not dump.segments[0].place.is_known


def test_the_beginning_is_missing_only_where_the_first_batch_is_not_at_the_beginning() -> None:
    (damage,) = read(COMMIT + MARKER).damage
    assert (damage.position, damage.message.split(": ")[1]) == (1, "the beginning is missing")
    (damage,) = read(RECORDS + COMMIT + MARKER).damage[:1]
    assert (damage.position, "the line of its batch is missing" in damage.message) == (1, True)


def test_a_segment_without_its_first_line_after_another_is_not_of_the_same_partition() -> None:
    second = DATA.replace("baseOffset: 0 lastOffset: 2", "baseOffset: 9 lastOffset: 11")
    dump = read(HEAD + DATA + COMMIT + second)
    assert [place.position for place in dump.damage] == [5]
    assert "'Dumping …' is missing" in dump.damage[0].message
    assert [(each.place.is_known, len(each.batches)) for each in dump.segments] == [(True, 2), (False, 1)]


def test_the_old_message_format_is_counted_and_no_damage() -> None:
    text = HEAD + "offset: 0 position: 0 CreateTime: 1 isvalid: true size: 50 magic: 1 compresscodec: NONE crc: 5\n"
    assert only(text).old_format == 1


def test_a_snapshot_and_an_index_are_read() -> None:
    dump = read(
        "Dumping t-0/00000000000000000000.txnindex\n"
        "version: 0 producerId: 4000 firstOffset: 4 lastOffset: 9 lastStableOffset: 10\n"
        "Dumping t-0/00000000000000000010.snapshot\n"
        "producerId: 4000 producerEpoch: 1 coordinatorEpoch: 7 currentTxnFirstOffset: OptionalLong[12] "
        "lastTimestamp: 17 firstSequence: 0 lastSequence: 2 lastOffset: 14 offsetDelta: 2 timestamp: 17\n"
        "producerId: 4001 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong.empty "
        "lastTimestamp: 18 \n"
        "producerId: 4002 producerEpoch: 0 lastSequence: 4 lastOffset: 9 offsetDelta: 1 lastTimestamp: 19 "
        "coordinatorEpoch: 3 currentTxnFirstOffset: Some(8)\n"
        "producerId: 4003 producerEpoch: 0 coordinatorEpoch: 3 currentTxnFirstOffset: None\n"
    )
    assert dump.damage == []
    assert dump.indexes == [("t-0/00000000000000000000.txnindex", [(4000, 4, 9, 10)])]
    assert AbortedTransaction("t", 0, "", *dump.indexes[0][1][0], "f").first_offset == 4
    assert dump.snapshots == [
        (
            "t-0/00000000000000000010.snapshot",
            [
                ProducerSnapshotEntry(4000, 1, 7, 12, 17, 2, 14, 2),
                ProducerSnapshotEntry(4001, 0, -1, None, 18),
                ProducerSnapshotEntry(4002, 0, 3, 8, 19, 4, 9, 1),
                ProducerSnapshotEntry(4003, 0, 3, None, NONE),
            ],
        )
    ]


@pytest.mark.parametrize(
    "line",
    [
        "producerId: 4000 producerEpoch: 1 coordinatorEpoch: 7 currentTxnFirst",
        "producerId: 4000 producerEpoch: 1 coordinatorEpoch: 7 currentTxnFirstOffset: OptionalLong[1",
        "producerId: 4 producerEpoch: 1 coordinatorEpoch: 7 currentTxnFirstOffset: None lastSequence: 2",
    ],
)
def test_a_cut_line_of_a_snapshot_is_named(line: str) -> None:
    assert [place.position for place in read(f"Dumping t-0/00000000000000000010.snapshot\n{line}\n").damage] == [2]


def test_a_cut_line_of_an_index_is_named() -> None:
    text = "Dumping t-0/00000000000000000010.txnindex\nversion: 0 producerId: 4000 firstOffset: 4 lastOf\n"
    assert [place.position for place in read(text).damage] == [2]


# ---------------------------------------------------------------- internal topics

TRANSACTIONS = HEAD.replace("/t-0/", "/__transaction_state-3/")
VALUE = TransactionLogValue(
    producer_id=4000,
    previous_producer_id=None,
    next_producer_id=None,
    producer_epoch=1,
    timeout_ms=60000,
    state=TransactionState.ONGOING,
    partitions=frozenset({("t", 0), ("with-dash", 12)}),
    last_update_ms=TIME,
    start_ms=None,
    client_transaction_version=None,
)
OLD_VALUE = (
    "producerId:4000,producerEpoch:1,state=Ongoing,partitions=[with-dash-12,t-0],"
    f"txnLastUpdateTimestamp={TIME},txnTimeoutMs=60000"
)
JSON_VALUE = (
    '{"version":"1","data":{"producerId":4000,"previousProducerId":4000,"producerEpoch":1,"transactionTimeoutMs":60000,'
    '"transactionStatus":STATUS,"transactionPartitions":[{"topic":"t","partitionIds":[0]},{"topic":"with-dash",'
    f'"partitionIds":[12]}}],"transactionLastUpdateTimestampMs":{TIME},"transactionStartTimestampMs":{TIME},'
    '"clientTransactionVersion":2}}'
)
NEW_VALUE = replace(VALUE, previous_producer_id=4000, next_producer_id=-1, start_ms=TIME, client_transaction_version=2)


def json_key(transactional_id: str) -> str:
    escaped = transactional_id.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{"type":"0","data":{{"transactionalId":"{escaped}"}}}}'


def decoded(body: str, head: str = TRANSACTIONS) -> str:
    batch = DATA.replace("lastOffset: 2 count: 3", "lastOffset: 0 count: 1").replace(
        "isTransactional: true", "isTransactional: false"
    )
    return (
        head
        + batch
        + f"| offset: 0 CreateTime: {TIME} keySize: 12 valueSize: 37 sequence: -1 headerKeys: [] key: {body}\n"
    )


Form = tuple[Callable[[str], str], TransactionLogValue | None]

FORMS: dict[str, Form] = {
    "4.3": (lambda name: f"{json_key(name)} payload: {JSON_VALUE.replace('STATUS', '1')}", NEW_VALUE),
    "4.4": (
        lambda name: f"{json_key(name)} payload: {JSON_VALUE.replace('STATUS', chr(34) + 'Ongoing' + chr(34))}",
        NEW_VALUE,
    ),
    "3.9": (lambda name: f"transaction_metadata::transactionalId={name} payload: {OLD_VALUE}", VALUE),
    "0.11": (
        lambda name: (
            f"transactionalId={name} payload: " + OLD_VALUE.replace("[with-dash-12,t-0]", "Set(with-dash-12, t-0)")
        ),
        VALUE,
    ),
    "4.3 tombstone": (lambda name: f"{json_key(name)} payload: <DELETE>", None),
    "3.9 tombstone": (lambda name: f"transaction_metadata::transactionalId={name} payload: <DELETE>", None),
}
NAMES = ["orders-1", "", "a payload: <DELETE>", "a=b,c", 'q"uote', "x payload: producerId:1", "{}"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_records_of_the_transaction_log_are_decoded_in_every_form(form: str, name: str) -> None:
    shown, value = FORMS[form]
    (record,) = only(decoded(shown(name))).transaction_states
    assert (record.transactional_id, record.partition, record.offset, record.timestamp_ms) == (name, 3, 0, TIME)
    assert record.value == value


def test_a_transaction_log_is_known_by_its_keys_where_the_path_does_not_tell() -> None:
    head = HEAD.replace("/var/lib/kafka/t-0/", "")
    content = only(decoded(FORMS["3.9"][0]("orders-1"), head))
    assert content.place.topic == "__transaction_state"
    assert [record.partition for record in content.transaction_states] == [NONE]


@pytest.mark.parametrize("body", ["unknown::version=1", "Unknown record type 1 at offset 10, skipping."])
def test_what_the_tool_does_not_know_is_passed_over(body: str) -> None:
    assert only(decoded(body)).transaction_states == []


def test_what_the_tool_could_not_decode_is_damage_of_the_segment() -> None:
    dump = read(decoded("Error at offset 11, skipping. boom"))
    assert dump.damage == []
    assert len(dump.segments[0].damage) == 1


@pytest.mark.parametrize("form", ["4.3", "4.4", "3.9", "0.11"])
def test_a_cut_record_of_the_transaction_log_is_named(form: str) -> None:
    body = FORMS[form][0]("orders-1")
    ends = {len(body) - n for n in range(1, 3 if form in ("3.9", "0.11") else 60)} if "4" in form else {40, 80, 120}
    for end in ends:
        dump = read(decoded(body[:end]))
        assert [place.position for place in dump.damage] == [4], body[:end]


@pytest.mark.parametrize(
    ("find", "put"),
    [
        ("state=Ongoing", "state=Sideways"),
        ("[with-dash-12,t-0]", "[with-dash-12,t]"),
        ('"transactionStatus":1', '"transactionStatus":6'),
        ('"producerId":4000', '"producerId":"x"'),
        ('"version":"1"', '"version":"2"'),
        ('"partitionIds":[0]', '"partitionIds":0'),
        ('"topic":"t"', '"topic":7'),
    ],
)
def test_a_garbled_record_of_the_transaction_log_is_named(find: str, put: str) -> None:
    changed = [
        decoded(FORMS[form][0]("orders-1").replace(find, put))
        for form in ("4.3", "3.9")
        if find in FORMS[form][0]("orders-1")
    ]
    assert changed
    for text in changed:
        assert [place.position for place in read(text).damage] == [4]


OFFSETS = {
    "4.4": '{"type":"1","data":{"group":"g","topic":"t-x","partition":2}} payload: {"version":"4","data":{"offset":5,'
    '"leaderEpoch":-1,"metadata":"m","commitTimestamp":17,"topicId":"85qUpunKTeeGlAv40V8Jfg"}}',
    "4.3": '{"type":"1","data":{"group":"g","topic":"t-x","partition":2}} payload: {"version":"4","data":{"offset":5,'
    '"leaderEpoch":-1,"metadata":"m","commitTimestamp":17}}',
    "3.7": "offset_commit::group=g,partition=t-x-2 payload: offset=5,metadata=m",
    "0.11": "offset::g:t-x:2 payload: 5:m",
}


@pytest.mark.parametrize("release", OFFSETS)
def test_offset_commits_are_decoded_in_every_form(release: str) -> None:
    head = HEAD.replace("/t-0/", "/__consumer_offsets-1/")
    (commit,) = only(decoded(OFFSETS[release], head)).offset_commits
    assert (commit.group, commit.topic, commit.partition, commit.offset, commit.metadata) == ("g", "t-x", 2, 5, "m")
    assert (commit.producer_id, commit.producer_epoch, commit.log_partition, commit.log_offset) == (4000, 0, 1, 0)
    assert commit.timestamp_ms == (17 if release in ("4.3", "4.4") else NONE)


@pytest.mark.parametrize(
    "body",
    [
        '{"type":"1","data":{"group":"g","topic":"t","partition":2}} payload: <DELETE>',
        "offset_commit::group=g,partition=t-2 payload: <DELETE>",
    ],
)
def test_a_tombstone_of_an_offset_is_read(body: str) -> None:
    (commit,) = only(decoded(body, HEAD.replace("/t-0/", "/__consumer_offsets-1/"))).offset_commits
    assert commit.is_tombstone


@pytest.mark.parametrize(
    "body",
    ['{"type":"2","data":{"group":"g"}} payload: {"version":"3","data":{}}', "group_metadata::group=g payload: {}"],
)
def test_group_metadata_is_passed_over(body: str) -> None:
    assert only(decoded(body, HEAD.replace("/t-0/", "/__consumer_offsets-1/"))).offset_commits == []


def test_an_internal_topic_dumped_without_records_is_noted() -> None:
    assert len(read(TRANSACTIONS + DATA).notes) == 1
    assert read(HEAD + DATA).notes == []


@pytest.mark.parametrize(
    ("line", "known"), [(DATA, True), (RECORDS, True), (HEAD, True), ("offset: 5 position: 7", False)]
)
def test_a_dump_is_known_by_its_lines(line: str, known: bool) -> None:
    assert looks_like_dump(line.split("\n", maxsplit=1)[0]) is known
