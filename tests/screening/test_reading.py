"""Columns of a segment say what its readers say, damage included, compiled and interpreted."""

from collections.abc import Iterator
from pathlib import Path

import crc32c
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.formats.record_batch import BatchHeader, header_at, sealed
from zombieproof.formats.segments import PartKind, parts_of
from zombieproof.screening import checksum as checking
from zombieproof.screening import reading
from zombieproof.screening import walk as walking
from zombieproof.screening.checksum import TABLES, checksum
from zombieproof.screening.columns import COMMITS, NO_MARKER, empty
from zombieproof.screening.reading import read_columns
from zombieproof.screening.walk import walk
from zombieproof.traces.evidence import Damage, LoggedBatch
from zombieproof.traces.readers.files import opened
from zombieproof.traces.readers.segments import Keep, read_part, unreadable

HERE = Path(__file__).resolve().parents[1]
ROOTS = (HERE / "recordings", HERE.parents[1] / "shared" / "traces")


def segments() -> Iterator[Path]:
    for root in ROOTS:
        for name in ("*.log", "*.log.xz", "*.log.gz"):
            yield from (file for file in sorted(root.rglob(name)) if file.name[:20].isdecimal())


SEGMENTS = list(segments())


def as_read(data: memoryview, file: str) -> tuple[list[tuple[int, ...]], list[Damage], int]:
    """What the readers say of each batch, of damage, and of old formats."""
    rows, damage, old = list[tuple[int, ...]](), list[Damage](), 0
    for part in parts_of(data):
        if part.header is not None:
            batch, fault = read_part(data, part, file, Keep.NEEDED)
            damage += [fault] if fault else []
            rows.append(row_of(batch, part.header))
        elif part.kind is PartKind.UNREADABLE:
            damage.append(unreadable(file, data, part))
        old += part.kind is PartKind.OLD_FORMAT
    return rows, damage, old


def row_of(batch: LoggedBatch, header: BatchHeader) -> tuple[int, ...]:
    marker = batch.marker
    return (
        batch.base_offset,
        batch.last_offset - batch.base_offset,
        batch.count,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        header.attributes,
        NO_MARKER if marker is None else int(marker.commit),
        -1 if marker is None else marker.coordinator_epoch,
        header.base_timestamp_ms,
        batch.max_timestamp_ms,
        batch.partition_leader_epoch,
        batch.position,
        batch.size,
        header.crc,
        int(batch.is_valid),
    )


def as_columns(
    data: memoryview, file: str, rows: int = reading.CHUNK
) -> tuple[list[tuple[int, ...]], list[Damage], int]:
    found, damage, old = list[tuple[int, ...]](), list[Damage](), 0
    for chunk in read_columns(data, file, rows):
        found += [tuple(map(int, row)) for row in zip(*chunk.columns, strict=True)]
        damage += chunk.damage
        old += chunk.old_format
    return found, damage, old


def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is compiled runs as plain Python."""
    monkeypatch.setattr(checking, "byte", checking.byte.py_func)  # type: ignore[attr-defined]
    for name in ("byte", "signed", "marker_at", "checksum"):
        monkeypatch.setattr(walking, name, getattr(walking, name).py_func)
    monkeypatch.setattr(reading, "walk", walking.walk.py_func)  # type: ignore[attr-defined]


@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda file: "/".join(file.parts[-4:-1]))
def test_columns_are_what_the_readers_read(segment: Path) -> None:
    with opened(segment) as content:
        expected = as_read(content.data, str(segment))
        assert as_columns(content.data, str(segment)) == expected
        assert as_columns(content.data, str(segment), 3) == expected


def test_there_are_segments_to_read() -> None:
    assert len(SEGMENTS) > 10
    assert any(as_read(memoryview(file.read_bytes()), "")[1] for file in SEGMENTS if file.suffix == ".log")


def batches(count: int = 4) -> bytes:
    """Data, and a marker behind it."""
    made = b""
    for number in range(count):
        header = BatchHeader(number, 0, 1, 2, 0, 0x10, 0, 5, 6, 7, 1, number, 1)
        made += sealed(header, bytes.fromhex("0c000000 01 01 00".replace(" ", "")))
    header = BatchHeader(count, 0, 1, 2, 0, 0x30, 0, 5, 6, 7, 1, -1, 1)
    return made + sealed(header, bytes.fromhex("20000000080000000 10c000000000003 00".replace(" ", "")))


def test_a_marker_is_read_where_the_walk_alone_reads() -> None:
    data = np.frombuffer(batches(), dtype=np.uint8)
    columns = empty(10)
    assert walk(data, 0, len(data), columns, 0, TABLES) == (len(data), 5)
    assert (columns.marker[4], columns.coordinator_epoch[4]) == (COMMITS, 3)


ALTERED = st.lists(st.tuples(st.integers(0, len(batches()) - 1), st.integers(0, 255)), min_size=1, max_size=3)


@given(ALTERED, st.booleans(), st.integers(0, len(batches())))
def test_a_damaged_segment_is_read_as_the_readers_read_it(
    altered: list[tuple[int, int]], is_sealed: bool, length: int
) -> None:
    """Any byte is another one, with the checksum of its batch made anew or not, and the end may be cut."""
    data = bytearray(batches())
    for at, value in altered:
        data[at] = value
    if is_sealed:
        data = resealed(data)
    cut = memoryview(bytes(data[: length or None]))
    assert as_columns(cut, "a segment") == as_read(cut, "a segment")


def resealed(data: bytearray) -> bytearray:
    """The same with the checksums that fit, for batches that begin where they did."""
    at, whole = 0, batches()
    while at < len(whole):
        size = header_at(whole, at).size
        data[at + 17 : at + 21] = crc32c.crc32c(bytes(data[at + 21 : at + size])).to_bytes(4)
        at += size
    return data


def test_interpreted_as_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    data = memoryview(batches() + b"\xff" * 20)
    compiled = as_columns(data, "a segment")
    interpreted(monkeypatch)
    assert as_columns(data, "a segment") == compiled == as_read(data, "a segment")


@given(st.binary(max_size=64), st.integers(0, 64))
@settings(max_examples=200)
def test_checksums_are_those_of_the_library(data: bytes, start: int) -> None:
    content = np.frombuffer(data + b"\0", dtype=np.uint8)
    start = min(start, len(data))
    assert checksum(content, start, len(data), TABLES) == crc32c.crc32c(data[start:])


def test_an_empty_segment_has_no_rows() -> None:
    assert as_columns(memoryview(b""), "a segment") == ([], [], 0)
