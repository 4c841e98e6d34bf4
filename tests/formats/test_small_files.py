"""Snapshots, indexes, checkpoints and the files that say whose they are: what is written is read, faults are named."""

import contextlib
from struct import pack_into

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.drawn import INT32, INT64
from zombieproof.formats.checkpoints import read_leader_epochs, read_offsets, write_leader_epochs, write_offsets
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import read_properties, read_topic_id, write_properties, write_topic_id
from zombieproof.formats.producer_snapshot import SnapshotEntry, has_snapshot_form, read_snapshot, write_snapshot
from zombieproof.formats.transaction_index import ENTRY, IndexEntry, read_index, write_index

INT16 = st.integers(-(2**15), 2**15 - 1)
ENTRIES = st.builds(SnapshotEntry, INT64, INT16, INT32, INT64, INT32, INT64, INT32, INT64)
COUNTS = st.integers(0, 2**62)


@st.composite
def index_entries(draw: st.DrawFn) -> IndexEntry:
    first = draw(COUNTS)
    return IndexEntry(draw(COUNTS), first, draw(st.integers(first, 2**62)), draw(COUNTS))


TOPICS = st.text(st.sampled_from("abcXYZ019._-"), min_size=1, max_size=20)
PARTITIONS = st.tuples(TOPICS, st.integers(0, 2**31 - 1))
NUMBERS = st.tuples(st.integers(0, 2**31 - 1), COUNTS)


@given(st.lists(ENTRIES, max_size=5).map(tuple))
def test_a_snapshot_is_read_as_it_was_written(entries: tuple[SnapshotEntry, ...]) -> None:
    data = write_snapshot(entries)
    assert has_snapshot_form(data)
    assert read_snapshot(data) == entries


@given(st.lists(ENTRIES, min_size=1, max_size=2), st.integers(0, 10**4), st.integers(0, 7))
def test_a_snapshot_that_is_cut_or_flipped_anywhere_is_refused(entries: list[SnapshotEntry], at: int, bit: int) -> None:
    data = write_snapshot(entries)
    flipped = bytearray(data)
    flipped[at % len(data)] ^= 1 << bit
    for bad in (bytes(flipped), data[: at % len(data)], data + b"\0"):
        with pytest.raises(Undecodable):
            read_snapshot(bad)


@given(st.binary(max_size=120))
def test_anything_is_a_snapshot_or_refused(data: bytes) -> None:
    with pytest.raises(Undecodable) as fault:
        read_snapshot(data)
    assert fault.value.position is not None


@given(st.lists(index_entries(), max_size=5))
def test_an_index_is_read_as_it_was_written(entries: list[IndexEntry]) -> None:
    assert read_index(write_index(entries)) == (entries, None)


@given(st.lists(index_entries(), min_size=1, max_size=3), st.integers(0, 10**4))
def test_an_index_that_is_cut_keeps_its_whole_entries(entries: list[IndexEntry], at: int) -> None:
    data = write_index(entries)
    end = at % len(data)
    found, fault = read_index(data[:end])
    assert found == entries[: end // ENTRY.size]
    assert (fault is None) == (end % ENTRY.size == 0)


@given(st.binary(max_size=120))
def test_anything_is_an_index_up_to_its_first_fault(data: bytes) -> None:
    found, fault = read_index(data)
    assert write_index(found) == data[: len(found) * ENTRY.size]
    assert (fault is None) == (len(found) * ENTRY.size == len(data))


@given(st.dictionaries(PARTITIONS, COUNTS, max_size=5))
def test_offsets_of_partitions_are_read_as_they_were_written(offsets: dict[tuple[str, int], int]) -> None:
    found = read_offsets(write_offsets(offsets))
    assert list(found.items()) == list(offsets.items()), "in their order"


@given(st.lists(NUMBERS, max_size=5).map(tuple))
def test_leader_epochs_are_read_as_they_were_written(epochs: tuple[tuple[int, int], ...]) -> None:
    assert read_leader_epochs(write_leader_epochs(epochs)) == epochs


def test_checkpoints_look_as_kafka_writes_them() -> None:
    assert write_offsets({("t", 0): 15, ("__transaction_state", 1): 7}) == b"0\n2\nt 0 15\n__transaction_state 1 7\n"
    assert write_leader_epochs(((0, 0), (3, 17))) == b"0\n2\n0 0\n3 17\n"
    assert write_offsets({}) == b"0\n0\n"


@pytest.mark.parametrize("line", ["t", "t 0", "t 0 1 2", "t -1 5", "t 0 -5", "t x 5", "t 0 9" + "9" * 20, "t ٣ 5"])
def test_a_line_that_is_no_entry_is_refused(line: str) -> None:
    for read in (read_offsets, read_leader_epochs):
        with pytest.raises(Undecodable, match="garbled"):
            read(f"0\n1\n{line}\n".encode())


@pytest.mark.parametrize(
    "data", [b"", b"0", b"1\n0\n", b"0\n-1\n", b"0\n\xb2\n", "0\n²\n".encode(), b"0\n5\n", b"0\n0\nt 0 1\n"]
)
def test_a_checkpoint_that_counts_wrong_is_refused(data: bytes) -> None:
    for read in (read_offsets, read_leader_epochs):
        with pytest.raises(Undecodable):
            read(data)


@given(st.binary(max_size=60))
def test_anything_is_a_checkpoint_or_refused(data: bytes) -> None:
    for read in (read_offsets, read_leader_epochs, read_topic_id):
        with contextlib.suppress(Undecodable):
            assert read(data) is not None


WORDS = st.text(st.sampled_from("abc.-_09"), min_size=1, max_size=9)


@given(st.dictionaries(WORDS, WORDS, max_size=4))
def test_properties_are_read_as_they_were_written(entries: dict[str, str]) -> None:
    assert read_properties(write_properties(entries)) == entries


def test_a_topic_id_is_read_as_it_was_written() -> None:
    data = write_topic_id("rKxP4YhhR3C2Nn8pQ1xJtg")
    assert data == b"version: 0\ntopic_id: rKxP4YhhR3C2Nn8pQ1xJtg"
    assert read_topic_id(data) == "rKxP4YhhR3C2Nn8pQ1xJtg"


def test_a_snapshot_of_another_version_is_refused_by_its_version() -> None:
    data = bytearray(write_snapshot(()))
    pack_into(">h", data, 0, 2)
    with pytest.raises(Undecodable, match="version 2"):
        read_snapshot(bytes(data))
