"""Files of real clusters, read and written: the same bytes, for every segment, snapshot, index and checkpoint.

Beside the bytes that batches keep, everything is encoded anew from what was read. Packed records cannot be packed as
Kafka did, so their unpacked bytes are compared. Of records in internal topics each key and value is.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from zombieproof.formats.checkpoints import read_leader_epochs, read_offsets, write_leader_epochs, write_offsets
from zombieproof.formats.compression import Codec, unpack_records
from zombieproof.formats.consumer_group_records import read_record, write_record
from zombieproof.formats.encoding import read_batch, write_batch
from zombieproof.formats.offsets_log import GROUP_VALUE, OFFSET_VALUE, read_key, write_key
from zombieproof.formats.primitives import Fields
from zombieproof.formats.producer_snapshot import read_snapshot, write_snapshot
from zombieproof.formats.record_batch import (
    HEADER,
    LOG_OVERHEAD,
    BatchHeader,
    header_at,
    is_sound,
    read_records,
)
from zombieproof.formats.record_batch import write_batch as write_stored
from zombieproof.formats.schema import Schema, read_message, write_message
from zombieproof.formats.segments import PartKind, parts_of
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE
from zombieproof.formats.transaction_index import read_index, write_index
from zombieproof.formats.transaction_log import VALUE
from zombieproof.formats.transaction_log import read_key as read_transactional_id
from zombieproof.formats.transaction_log import write_key as write_transactional_id
from zombieproof.traces.readers.files import opened, place_of, plain_name

SAMPLES = Path(__file__).parents[1] / "recordings"
LARGE = ("19-soak", "20-epoch-exhaustion")


@dataclass(slots=True)
class Tally:
    """What was read and written, and what of the formats it holds."""

    files: int = 0
    size: int = 0
    damaged: list[tuple[str, PartKind, int]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        held = ", ".join(f"{name} {number:,}" for name, number in sorted(self.seen.items()))
        return f"{self.files} files of {self.size:,} bytes are written as they were read: {held}"


def round_trip(folder: Path, tally: Tally) -> None:
    """Read and write every file below `folder` that is one of the formats."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = plain_name(str(path))
        kind = name.rpartition(".")[2] if "." in name else name
        if kind not in READ_AND_WRITE or "dump" in path.parts or (kind == "log" and not name[0].isdecimal()):
            continue
        with opened(path) as content:
            assert content.fault is None
            READ_AND_WRITE[kind](content.data, str(path), tally)
            tally.files += 1
            tally.size += len(content.data)
            tally.seen[f"files .{kind}"] += 1


# ---------------------------------------------------------------- segments


def segment(data: memoryview, file: str, tally: Tally) -> None:
    topic = place_of(file).topic
    written = []
    for part in parts_of(data):
        held = bytes(data[part.position : part.position + part.size])
        if part.kind is PartKind.BATCH:
            tally.seen["batches"] += 1
            written.append(checked(held, topic, tally))
        else:
            tally.damaged.append((file, part.kind, part.position))
            written.append(held)
    assert b"".join(written) == data, file


def checked(held: bytes, topic: str, tally: Tally) -> bytes:
    """The batch as it is written when it was read; on the way it is encoded anew in two other ways."""
    header = header_at(held, 0)
    stored = read_records(held, 0, header)
    note(header, tally)
    same_content(write_stored(header, stored), held)
    tally.seen["records"] += len(stored)
    tally.seen["record headers"] += sum(len(record.headers) for record in stored)
    if topic in INTERNAL_TOPICS and not header.is_control:
        for record in stored:
            assert record.key is not None
            internal_record(topic, record.key, record.value, tally)
    batch = read_batch(held)
    same_content(write_batch(replace(batch, encoded=None)), held)
    if topic in INTERNAL_TOPICS:
        # Kafka's order of partitions is that of a hash set: it is kept with the bytes, and typed records have none.
        batch = read_batch(held, topic=topic)
        anew = write_batch(replace(batch, encoded=None))
        assert read_batch(anew, topic=topic) == batch
    return write_batch(batch)


def note(header: BatchHeader, tally: Tally) -> None:
    tally.seen[f"codec {header.codec.name.lower()}"] += header.codec != Codec.NONE
    tally.seen["control batches"] += header.is_control
    tally.seen["empty batches"] += not header.record_count
    tally.seen["delete horizons"] += header.delete_horizon_ms is not None
    tally.seen["log append time"] += header.timestamp_type == 1


def same_content(written: bytes, held: bytes) -> None:
    """The same bytes; of packed records the same when unpacked, under the same header but for length and checksum."""
    one, other = header_at(written, 0), header_at(held, 0)
    if other.codec == Codec.NONE:
        assert written == held
        return
    assert is_sound(one, written, 0)
    assert one.length == len(written) - LOG_OVERHEAD
    assert one._replace(length=other.length, crc=other.crc) == other
    sections = [unpack_records(other.codec, each[HEADER.size :]) for each in (written, held)]
    assert sections[0] == sections[1]


def internal_record(topic: str, key: bytes, value: bytes | None, tally: Tally) -> None:
    kind = Fields(key).int16()
    name = f"{topic} type {kind}"
    if topic == TRANSACTION_STATE:
        transactional_id = read_transactional_id(key)
        assert transactional_id is not None
        assert write_transactional_id(transactional_id) == key
        schema: Schema | None = VALUE
    else:
        owner = read_key(key)
        assert topic == CONSUMER_OFFSETS
        if owner is None:
            record = read_record(key, value)
            assert record is not None, f"a record of type {kind}"
            written = write_record(record)
            assert (written.key, written.value) == (key, value)
            schema = None
        else:
            assert write_key(owner) == key
            schema = {1: OFFSET_VALUE, 2: GROUP_VALUE}[kind]
    if value is None:
        tally.seen[f"{name} tombstones"] += 1
        return
    tally.seen[f"{name} version {Fields(value).int16()}"] += 1
    if schema is not None:
        message = read_message(schema, value)
        assert message.rest == b""
        assert write_message(schema, message) == value


# ---------------------------------------------------------------- small files


def snapshot(data: memoryview, file: str, tally: Tally) -> None:
    entries = read_snapshot(data)
    tally.seen["snapshot entries"] += len(entries)
    assert write_snapshot(entries) == data, file


def index(data: memoryview, file: str, tally: Tally) -> None:
    entries, fault = read_index(data)
    assert fault is None
    tally.seen["index entries"] += len(entries)
    assert write_index(entries) == data, file


def leader_epochs(data: memoryview, file: str, tally: Tally) -> None:
    epochs = read_leader_epochs(data)
    tally.seen["leader epochs"] += len(epochs)
    assert write_leader_epochs(epochs) == data, file


def offsets(data: memoryview, file: str, tally: Tally) -> None:
    assert write_offsets(read_offsets(data)) == data, file
    tally.seen["checkpoints of offsets"] += 1


READ_AND_WRITE: dict[str, Callable[[memoryview, str, Tally], None]] = {
    "log": segment,
    "snapshot": snapshot,
    "txnindex": index,
    "leader-epoch-checkpoint": leader_epochs,
    **dict.fromkeys(
        (
            "recovery-point-offset-checkpoint",
            "replication-offset-checkpoint",
            "log-start-offset-checkpoint",
            "cleaner-offset-checkpoint",
        ),
        offsets,
    ),
}


def all_of(folders: Iterator[Path], capsys: pytest.CaptureFixture[str]) -> Tally:
    tally = Tally()
    for folder in folders:
        before = tally.files
        round_trip(folder, tally)
        assert tally.files > before, f"{folder.name} holds no file of a known format"
    with capsys.disabled():
        sys.stdout.write(f"\n{tally}\n")
    return tally


def test_every_file_of_the_committed_recordings_is_written_as_it_was_read(capsys: pytest.CaptureFixture[str]) -> None:
    tally = all_of((path for path in SAMPLES.iterdir() if path.is_dir()), capsys)
    assert tally.files == 85
    assert [(Path(file).parent.name, kind, at) for file, kind, at in tally.damaged] == [
        ("t-0", PartKind.UNREADABLE, 216)
    ]


def test_every_file_of_the_shared_recordings_is_written_as_it_was_read(
    shared_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [path for path in (shared_folder / "traces").iterdir() if path.is_dir() and path.name not in LARGE]
    assert len(folders) >= 37
    tally = all_of(iter(folders), capsys)
    found = sorted((Path(file).parts[-4], Path(file).parent.name, at) for file, _, at in tally.damaged)
    assert found == [("23-bad-crc", "t-1", 308), ("23-truncated-segment", "t-0", 216)]
    seen = {name for name, number in tally.seen.items() if number}
    assert {f"codec {codec.name.lower()}" for codec in Codec if codec} <= seen
    assert {"empty batches", "delete horizons", "control batches", "snapshot entries", "index entries"} <= seen


@pytest.mark.slow
@pytest.mark.long("20-epoch-exhaustion")
@pytest.mark.parametrize("name", LARGE)
def test_every_file_of_a_large_recording_is_written_as_it_was_read(
    name: str, shared_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not all_of(iter([shared_folder / "traces" / name]), capsys).damaged


# ---------------------------------------------------------------- the round trip is no formality


TAGGED = [each.name for each in VALUE.fields if each.tag is not None]
MUTANTS: dict[str, tuple[str, Callable[..., bytes]]] = {
    "a batch under another leader epoch": (
        "write_batch",
        lambda write, batch: write(replace(batch, leader_epoch=99)),
    ),
    "a batch whose records have no times": (
        "write_batch",
        lambda write, batch: write(
            replace(batch, records=tuple(replace(record, timestamp_ms=None) for record in batch.records))
        ),
    ),
    "records with a null value": (
        "write_stored",
        lambda write, header, records: write(header, [record._replace(value=None) for record in records]),
    ),
    "a value without tagged fields": (
        "write_message",
        lambda write, schema, message: write(
            schema, message._replace(fields={name: held for name, held in message.fields.items() if name not in TAGGED})
        ),
    ),
    "a snapshot with an entry too many": ("write_snapshot", lambda write, entries: write(entries + entries[:1])),
    "an index without its last entry": ("write_index", lambda write, entries: write(entries[:-1])),
    "leader epochs counted from 1": (
        "write_leader_epochs",
        lambda write, epochs: write((epoch + 1, at) for epoch, at in epochs),
    ),
}
"""What is written otherwise -> the function that does, and how."""


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_written_otherwise_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, mutant = MUTANTS[name]
    monkeypatch.setitem(all_of.__globals__, writer, partial(mutant, all_of.__globals__[writer]))
    with pytest.raises(AssertionError):
        all_of_samples()


def all_of_samples() -> None:
    for path in SAMPLES.iterdir():
        round_trip(path, Tally())


def test_a_folder_without_files_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match="holds no file"):
        all_of(iter([tmp_path]), capsys)
