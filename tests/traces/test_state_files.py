"""Producer snapshots, indexes of aborted transactions, and the broker's checkpoints."""

from struct import pack

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.formats.checkpoints import read_offsets
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.producer_snapshot import has_snapshot_form, read_snapshot
from zombieproof.formats.transaction_index import read_index
from zombieproof.traces.evidence import ProducerSnapshotEntry
from zombieproof.traces.readers.collect import snapshot_entry


def snapshot(*entries: tuple[int, ...], count: int | None = None, version: int = 1) -> bytes:
    body = pack(">i", len(entries) if count is None else count) + b"".join(
        pack(">qhiqiqiq", *entry) for entry in entries
    )
    return pack(">hI", version, crc32c.crc32c(body)) + body


WITH_BATCH = (4000, 1, 2, 14, 2, 77, 7, 12)
MARKER_ONLY = (4001, 0, -1, -1, 5, 78, -1, -1)
SNAPSHOT = snapshot(WITH_BATCH, MARKER_ONLY)


def test_a_snapshot_is_read() -> None:
    assert tuple(map(snapshot_entry, read_snapshot(memoryview(SNAPSHOT)))) == (
        ProducerSnapshotEntry(4000, 1, 7, 12, 77, 2, 14, 2),
        ProducerSnapshotEntry(4001, 0, -1, None, 78, -1, -1, 0),
    )
    assert read_snapshot(memoryview(snapshot())) == ()


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "at least 10"),
        (SNAPSHOT[:9], "at least 10"),
        (snapshot(WITH_BATCH, version=2), "version 2"),
        (snapshot(WITH_BATCH, count=2), "2 entries"),
        (snapshot(WITH_BATCH, count=-1), "-1 entries"),
        (SNAPSHOT[:-1], "CRC"),
        (SNAPSHOT + b"\0", "CRC"),
    ],
)
def test_a_damaged_snapshot_is_refused(data: bytes, fault: str) -> None:
    with pytest.raises(Undecodable, match=fault):
        read_snapshot(memoryview(data))


@given(at=st.integers(0, len(SNAPSHOT) - 1), bit=st.integers(0, 7))
def test_any_flipped_bit_of_a_snapshot_is_noticed(at: int, bit: int) -> None:
    data = bytearray(SNAPSHOT)
    data[at] ^= 1 << bit
    with pytest.raises(Undecodable):
        read_snapshot(memoryview(bytes(data)))
    assert not has_snapshot_form(memoryview(bytes(data)))


def test_a_snapshot_is_known_by_its_form() -> None:
    assert has_snapshot_form(memoryview(SNAPSHOT))
    assert not has_snapshot_form(memoryview(b"0\n1\n0 0\n"))


def index(*entries: tuple[int, ...]) -> bytes:
    return b"".join(pack(">hqqqq", *entry) for entry in entries)


INDEX = index((0, 4000, 4, 9, 10), (0, 4001, 11, 15, 11))


def test_an_index_is_read() -> None:
    assert read_index(memoryview(INDEX)) == ([(4000, 4, 9, 10), (4001, 11, 15, 11)], None)
    assert read_index(memoryview(b"")) == ([], None)


@pytest.mark.parametrize("end", range(35, 68))
def test_a_torn_index_keeps_its_whole_entries(end: int) -> None:
    entries, fault = read_index(memoryview(INDEX[:end]))
    assert entries == [(4000, 4, 9, 10)]
    assert fault is not None
    assert "cut short" in fault


@pytest.mark.parametrize(
    "bad", [(1, 5, 1, 2, 3), (0, -1, 1, 2, 3), (0, 5, 3, 2, 3), (0, 5, -3, 2, 3), (0, 5, 1, 2, -3)]
)
def test_an_index_ends_where_an_entry_makes_no_sense(bad: tuple[int, ...]) -> None:
    entries, fault = read_index(memoryview(index((0, 4000, 4, 9, 10), bad)))
    assert entries == [(4000, 4, 9, 10)]
    assert fault


def test_a_checkpoint_is_read() -> None:
    data = b"0\n2\nt 0 15\n__transaction_state 1 7\n"
    assert read_offsets(memoryview(data)) == {("t", 0): 15, ("__transaction_state", 1): 7}
    assert read_offsets(memoryview(b"0\n0\n")) == {}


@pytest.mark.parametrize(
    "data", [b"", b"1\n0\n", b"0\nx\n", b"0\n2\nt 0 15\n", b"0\n1\nt 0\n", b"0\n1\nt 0 x\n", b"\xff"]
)
def test_a_damaged_checkpoint_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        read_offsets(memoryview(data))
