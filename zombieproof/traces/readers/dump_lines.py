"""Single lines of ``kafka-dump-log`` in the dialects of all releases since 0.11 (reference §9.1, §9.2).

Every field is ``name: value``, separated by single spaces, so one reader serves all dialects; what a release does not
print is looked up with the default that says "unknown".
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from zombieproof.formats.compression import Codec
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.transaction_index import IndexEntry
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import LoggedBatch, LoggedMarker, ProducerSnapshotEntry

TIMESTAMP_TYPES = {
    "NoTimestampType:": TimestampType.NO_TIMESTAMP,
    "CreateTime:": TimestampType.CREATE_TIME,
    "LogAppendTime:": TimestampType.LOG_APPEND_TIME,
}
CODECS = {codec.name: codec for codec in Codec}
OPTIONAL = re.compile(r"(?:OptionalLong\.empty|None|(?:OptionalLong\[|Some\()(?P<value>-?\d{1,19})[\])])", re.ASCII)
BOOLEANS = {"true": True, "false": False}
HEADER_SIZE = 61
"""Bytes of a batch without records: releases that do not print ``count`` show an emptied batch by nothing else."""

RECORD = re.compile(
    r"\| offset: (?P<offset>\d{1,19}) (?:isValid: \w+ crc: \w+ key[sS]ize: (?P<key_2_8>-?\d{1,10}) "
    r"value[sS]ize: (?P<value_2_8>-?\d{1,10}) )?"
    r"(?:CreateTime|LogAppendTime|NoTimestampType): (?P<time>-?\d{1,19})"
    r"(?: key[sS]ize: (?P<key>-?\d{1,10}) value[sS]ize: (?P<value>-?\d{1,10}))?"
    r"(?: baseOffset: .*? position: \d{1,19})?"
    r" sequence: (?P<sequence>-?\d{1,10}) headerKeys: \[",
    re.ASCII,
)
OLD_RECORD = re.compile(
    r"offset: (?P<offset>\d{1,19}) position: (?P<position>\d{1,19}) (?P<type>\w+): (?P<time>-?\d{1,19}) "
    r"isvalid: (?P<valid>true|false) keysize: (?P<key>-?\d{1,10}) valuesize: (?P<value>-?\d{1,10}) magic: 2 "
    r"compresscodec: (?P<codec>\w+) producerId: (?P<producer_id>-?\d{1,19}) producerEpoch: (?P<epoch>-?\d{1,5}) "
    r"sequence: (?P<sequence>-?\d{1,10}) isTransactional: (?P<transactional>true|false) headerKeys: \[",
    re.ASCII,
)
OLD_FORMAT = re.compile(
    r"offset: \d{1,19} position: \d{1,19} (?:\w+: -?\d{1,19} )?(?:isvalid: \w+ )?"
    r"(?:keysize: -?\d+ valuesize: -?\d+ |(?:payload)?size: \d+ )?magic: [01] compresscodec: \w",
    re.ASCII,
)
"""A batch or record of message format 0 or 1: all releases that know it print these fields in this order."""
INDEX_ENTRY = re.compile(r"offset: \d{1,19} position: \d{1,19}", re.ASCII)
INVALID_BYTES = re.compile(r"Found (\d{1,19}) invalid bytes at the end of ", re.ASCII)
FAILURES = ("Exception in thread", "Caused by: ", "org.apache.kafka.common.errors.CorruptRecord")
MARKER = re.compile(r"endTxnMarker: (?P<kind>COMMIT|ABORT) coordinatorEpoch: (?P<epoch>-?\d{1,10})", re.ASCII)
CONTROL = re.compile(r"(?:controlType: \w+\(-?\d+\)|(?:LeaderChange|Snapshot\w+|KRaft\w+):? \{)", re.ASCII)

BEHIND_HEADERS = (
    "] key: ",
    "] payload: ",
    "] endTxnMarker: ",
    "] controlType: ",
    "] LeaderChange",
    "] Snapshot",
    "] KRaft",
)


LONGEST_NUMBER = 20
"""Characters of a number with its sign."""


class RecordLine(NamedTuple):
    """The left part of a record line. `rest` is what follows the header keys: key and payload, or the marker."""

    offset: int
    timestamp_ms: int
    sequence: int
    key_size: int
    value_size: int
    rest: str


def words(line: str) -> dict[str, str]:
    """``name:`` to value, for lines whose values have no spaces."""
    parts = line.split(" ")
    return dict(zip(parts[::2], parts[1::2], strict=False))


def number(found: Mapping[str, str], name: str, default: int | None = None) -> int:
    """The number behind `name`.

    Raises:
        Undecodable: it is missing without a default, or no number.
    """
    value = found.get(name)
    if value is not None and value.isdecimal() and len(value) <= LONGEST_NUMBER:
        return int(value)
    if value is None and default is not None:
        return default
    if value is None or len(value) > LONGEST_NUMBER or not value.removeprefix("-").isdecimal():
        raise Undecodable(f"{name} {value!r} is no number" if value is not None else f"{name} is missing")
    return int(value)


def truth(found: Mapping[str, str], name: str) -> bool:
    """The boolean behind `name`.

    Raises:
        Undecodable: it is missing, or neither true nor false.
    """
    value = found.get(name, "")
    if value not in BOOLEANS:
        raise Undecodable(f"{name} {value!r} is neither true nor false" if value else f"{name} is missing")
    return BOOLEANS[value]


def optional(value: str | None) -> int | None:
    """``OptionalLong[12]``, ``Some(12)``: the number; ``OptionalLong.empty``, ``None``, or not printed: None.

    Raises:
        Undecodable: it is something else.
    """
    if value is None:
        return None
    found = OPTIONAL.fullmatch(value)
    if found is None:
        raise Undecodable(f"{value!r} is no optional number")
    return None if found["value"] is None else int(found["value"])


def batch_of(line: str, file: str) -> LoggedBatch:
    """The batch of a line that begins with ``baseOffset:``.

    Raises:
        Undecodable: the line is cut, or a field makes no sense.
    """
    found = words(line)
    base, last = number(found, "baseOffset:"), number(found, "lastOffset:")
    name = next((name for name in TIMESTAMP_TYPES if name in found), None)
    if name is None:
        raise Undecodable("the timestamp is missing")
    codec = CODECS.get(found.get("compresscodec:", "").upper())
    if codec is None:
        raise Undecodable("compresscodec: is missing or unknown")
    if last < base:
        raise Undecodable(f"lastOffset {last} is below baseOffset {base}")
    size = number(found, "size:")
    is_transactional = truth(found, "isTransactional:")
    base_sequence = number(found, "baseSequence:")
    # Transactional data always has a sequence, so what has none is a marker.
    is_control = truth(found, "isControl:") if "isControl:" in found else is_transactional and base_sequence == NONE
    # Where the CRC stands last in the line, nothing shows that it is whole.
    is_last = next(reversed(found)) == "crc:"
    return LoggedBatch(
        base_offset=base,
        last_offset=last,
        count=number(found, "count:", last - base + 1 if size > HEADER_SIZE else 0),
        base_sequence=base_sequence,
        last_sequence=number(found, "lastSequence:"),
        producer_id=number(found, "producerId:"),
        producer_epoch=number(found, "producerEpoch:"),
        partition_leader_epoch=number(found, "partitionLeaderEpoch:"),
        is_transactional=is_transactional,
        is_control=is_control,
        delete_horizon_ms=optional(found.get("deleteHorizonMs:")),
        position=number(found, "position:"),
        max_timestamp_ms=number(found, name),
        timestamp_type=TIMESTAMP_TYPES[name],
        size=size,
        codec=codec,
        crc=None if is_last else number(found, "crc:"),
        is_valid=truth(found, "isvalid:"),
        file=file,
    )


def record_of(line: str) -> RecordLine:
    """The left part of a line that begins with ``| offset:``.

    Raises:
        Undecodable: the line is cut.
    """
    found = RECORD.match(line)
    if found is None:
        raise Undecodable("the line of a record is cut or garbled")
    return RecordLine(
        offset=int(found["offset"]),
        timestamp_ms=int(found["time"]),
        sequence=int(found["sequence"]),
        key_size=int(found["key"] or found["key_2_8"] or NONE),
        value_size=int(found["value"] or found["value_2_8"] or NONE),
        rest=_behind_headers(line, found.end()),
    )


def _behind_headers(line: str, at: int) -> str:
    """What follows the list of header keys that begins at `at`; a header key may hold a bracket."""
    marks = [found for mark in BEHIND_HEADERS if (found := line.find(mark, at)) != -1]
    if marks:
        return line[min(marks) + 2 :]
    if line.rstrip("\r").endswith("]"):
        return ""
    raise Undecodable("the line of a record is cut behind its sizes")


def old_record_of(line: str, file: str) -> tuple[RecordLine, LoggedBatch]:
    """A record line of releases up to 2.1, and a batch of this one record.

    Raises:
        Undecodable: the line is cut.
    """
    found = OLD_RECORD.match(line)
    if found is None or f"{found['type']}:" not in TIMESTAMP_TYPES or found["codec"] not in CODECS:
        raise Undecodable("the line of a record is cut or garbled")
    rest = _behind_headers(line, found.end())
    offset, sequence, time = int(found["offset"]), int(found["sequence"]), int(found["time"])
    batch = LoggedBatch(
        base_offset=offset,
        last_offset=offset,
        count=1,
        base_sequence=sequence,
        last_sequence=sequence,
        producer_id=int(found["producer_id"]),
        producer_epoch=int(found["epoch"]),
        partition_leader_epoch=NONE,
        is_transactional=found["transactional"] == "true",
        is_control=bool(CONTROL.match(rest)) or (found["transactional"] == "true" and sequence == NONE),
        delete_horizon_ms=None,
        position=int(found["position"]),
        max_timestamp_ms=time,
        timestamp_type=TIMESTAMP_TYPES[f"{found['type']}:"],
        size=NONE,
        codec=CODECS[found["codec"]],
        crc=None,
        is_valid=found["valid"] == "true",
        file=file,
    )
    return RecordLine(offset, time, sequence, int(found["key"]), int(found["value"]), rest), batch


def marker_of(rest: str) -> LoggedMarker | None:
    """The marker in what follows the header keys; None for other control records.

    Raises:
        Undecodable: it begins like a marker and is cut, or nothing follows.
    """
    if not rest.strip():
        raise Undecodable("the line of a control record is cut")
    if not rest.startswith("endTxnMarker"):
        return None
    found = MARKER.fullmatch(rest.rstrip())
    if found is None:
        raise Undecodable("the line of a marker is cut")
    return LoggedMarker(found["kind"] == "COMMIT", int(found["epoch"]))


def snapshot_entry_of(line: str) -> ProducerSnapshotEntry:
    """A line of a dumped ``.snapshot``; 0.11 calls the batch's time ``lastTimestamp`` and has ``Some(…)``/``None``.

    Raises:
        Undecodable: the line is cut.
    """
    found = words(line)
    if "currentTxnFirstOffset:" not in found or not _ends_whole(found, line):
        raise Undecodable("the line of a producer is cut")
    has_batch = number(found, "lastOffset:", NONE) != NONE
    return ProducerSnapshotEntry(
        producer_id=number(found, "producerId:"),
        producer_epoch=number(found, "producerEpoch:"),
        coordinator_epoch=number(found, "coordinatorEpoch:"),
        current_txn_first_offset=optional(found["currentTxnFirstOffset:"]),
        last_timestamp_ms=number(found, "lastTimestamp:", number(found, "timestamp:", NONE)),
        last_sequence=number(found, "lastSequence:") if has_batch else NONE,
        last_offset=number(found, "lastOffset:", NONE),
        offset_delta=number(found, "offsetDelta:") if has_batch else 0,
    )


def _ends_whole(found: Mapping[str, str], line: str) -> bool:
    """Whether every name has its value: a cut line ends in a name, or between the fields of the newest batch."""
    parts = line.rstrip().split(" ")
    batch_fields = sum(name in found for name in ("lastSequence:", "lastOffset:", "offsetDelta:"))
    return len(parts) % 2 == 0 and batch_fields in (0, 3)


def index_entry_of(line: str) -> IndexEntry:
    """A line of a dumped ``.txnindex``.

    Raises:
        Undecodable: the line is cut.
    """
    found = words(line)
    return IndexEntry(
        number(found, "producerId:"),
        number(found, "firstOffset:"),
        number(found, "lastOffset:"),
        number(found, "lastStableOffset:"),
    )
