"""The records section of a batch, unpacked: record after record (reference §7.3).

What a record says of itself is relative: its offset and its time stand against those of its batch.
Source: ``DefaultRecord.java``.
"""

from collections.abc import Iterable
from typing import NamedTuple

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.primitives import SMALL_VARINTS, read_varint, write_varint
from zombieproof.model.vocabulary import NONE

RecordHeader = tuple[str, bytes | None]
"""A header of a record. Bytes of its key that are not UTF-8 are kept as lone surrogates (``surrogateescape``)."""
Headers = tuple[RecordHeader, ...]

ATTRIBUTES = tuple(bytes((each,)) for each in range(256))
NULL, NULL_BYTE, NO_HEADERS = b"\x01", 1, b"\x00"


class StoredRecord(NamedTuple):
    """One record as it lies in its batch: offset and timestamp against those of the batch."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    attributes: int = 0


Fields = tuple[int, int, bytes | None, bytes | None, Headers, int]
"""Those of a `StoredRecord`, in a plain tuple: there is one for each record that is written."""


# ---------------------------------------------------------------- from bytes


def read_section(section: bytes, count: int, last_offset_delta: int) -> list[StoredRecord]:
    """The `count` records of a batch.

    Raises:
        Undecodable: the section does not hold them, or one lies behind `last_offset_delta`.
    """
    if not section and count:
        raise Undecodable("the records are missing", 0)
    records = []
    at, previous = 0, -1
    try:
        for _ in range(count):
            record, at = _read_record(section, at)
            if not previous < record[0] <= last_offset_delta:
                raise Undecodable(f"a record lies at offset delta {record[0]}, which its batch does not allow", at)
            records.append(record)
            previous = record[0]
    except IndexError:
        raise Undecodable("a record runs over the end", len(section)) from None
    if at != len(section):
        raise Undecodable(f"{len(section) - at} bytes follow the last record", at)
    return records


def check_section(section: bytes, count: int, last_offset_delta: int) -> None:
    """Find out what `read_section` would say of the records, without making any: whoever only passes them on asks this.

    Raises:
        Undecodable: the section does not hold them, or one lies behind `last_offset_delta`.
    """
    if not section and count:
        raise Undecodable("the records are missing", 0)
    at, previous = 0, -1
    try:
        for _ in range(count):
            previous, at = _walk_record(section, at, previous, last_offset_delta)
    except IndexError:
        raise Undecodable("a record runs over the end", len(section)) from None
    if at != len(section):
        raise Undecodable(f"{len(section) - at} bytes follow the last record", at)


def _walk_record(section: bytes, at: int, previous: int, last_offset_delta: int) -> tuple[int, int]:
    """The offset delta of the record at byte `at`, and where the next begins. Small numbers are read here.

    A length or size that is wrong anywhere shows at the end, where the record does not end where it says.
    """
    byte, second = section[at], section[at + 1]
    if byte >= 0x80 > second:
        length, at = ((byte & 0x7F | second << 7) >> 1) ^ -(byte & 1), at + 2
    else:
        length, at = read_varint(section, at)
    end = at + length
    at = at + 2 if section[at + 1] < 0x80 else read_varint(section, at + 1)[1]
    byte = section[at]
    if byte < 0x80:
        delta, at = (byte >> 1) ^ -(byte & 1), at + 1
    else:
        delta, at = read_varint(section, at)
    at = at + 1 if section[at] == NULL_BYTE else _behind_sized(section, at)
    byte, second = section[at], section[at + 1]
    if byte >= 0x80 > second and not byte & 1:
        at += 2 + ((byte & 0x7F | second << 7) >> 1)
    else:
        at = _behind_sized(section, at)
    at = at + 1 if at < end and section[at] == 0 else _read_headers(section, at, end)[1]
    if at != end:
        raise Undecodable("a record does not end where its length says", at)
    if not previous < delta <= last_offset_delta:
        raise Undecodable(f"a record lies at offset delta {delta}, which its batch does not allow", at)
    return delta, at


def _behind_sized(section: bytes, at: int) -> int:
    """Where a field ends."""
    size, at = read_varint(section, at)
    return at + max(size, 0)


def _read_record(section: bytes, at: int) -> tuple[StoredRecord, int]:
    """The record at byte `at`, and where the next begins. Numbers of one byte are read in place: most are such."""
    length, at = read_varint(section, at)
    end = at + length
    if length < 1 or end > len(section):
        raise Undecodable(f"a record of {length} bytes does not fit into its batch", at)
    attributes, byte = section[at], section[at + 1]
    time, at = ((byte >> 1) ^ -(byte & 1), at + 2) if byte < 0x80 else read_varint(section, at + 1)
    byte = section[at]
    delta, at = ((byte >> 1) ^ -(byte & 1), at + 1) if byte < 0x80 else read_varint(section, at)
    key: bytes | None = None
    if section[at] == NULL_BYTE:
        at += 1
    else:
        key, at = _read_sized(section, at, end)
    value, at = _read_sized(section, at, end)
    headers: Headers = ()
    if at < end and section[at] == 0:
        at += 1
    else:
        headers, at = _read_headers(section, at, end)
    if at != end:
        is_what = "longer" if at > end else "shorter"
        raise Undecodable(f"a record is {is_what} than its length says", at)
    return tuple.__new__(StoredRecord, (delta, time, key, value, headers, attributes)), at


def _read_headers(section: bytes, at: int, end: int) -> tuple[Headers, int]:
    count, at = read_varint(section, at)
    if not 0 <= count <= end - at:
        raise Undecodable(f"a record with {count} headers does not fit", at)
    headers = []
    for _ in range(count):
        key, at = _read_sized(section, at, end)
        if key is None:
            raise Undecodable("a header of a record has no key", at)
        value, at = _read_sized(section, at, end)
        headers.append((key.decode(errors="surrogateescape"), value))
    return tuple(headers), at


def _read_sized(section: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = read_varint(section, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise Undecodable(f"a field of {size} bytes does not fit into its record", at)
    return section[at : at + size], at + size


# ---------------------------------------------------------------- to bytes


def write_section(records: Iterable[StoredRecord | Fields]) -> bytes:
    """The section of these records."""
    parts: list[bytes] = []
    small, large = SMALL_VARINTS, len(SMALL_VARINTS)  # There is no call for each number of each record.
    for delta, time, key, value, headers, attributes in records:
        size = NONE if value is None else len(value)
        body = b"".join(
            (
                ATTRIBUTES[attributes],
                small[time] if 0 <= time < large else write_varint(time),
                small[delta] if 0 <= delta < large else write_varint(delta),
                NULL if key is None else write_varint(len(key)) + key,
                small[size] if 0 <= size < large else write_varint(size),
                value or b"",
                _write_headers(headers) if headers else NO_HEADERS,
            )
        )
        size = len(body)
        parts += (small[size] if size < large else write_varint(size), body)
    return b"".join(parts)


def _write_headers(headers: Headers) -> bytes:
    parts = [write_varint(len(headers))]
    for key, value in headers:
        name = key.encode(errors="surrogateescape")
        parts += (write_varint(len(name)), name)
        parts += (NULL,) if value is None else (write_varint(len(value)), value)
    return b"".join(parts)
