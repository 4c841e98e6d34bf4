"""Real recordings: what Kafka's tools print of a segment is what the segment holds, batch for batch, in each of them.

The dumps were printed by Kafka 4.4.0, 4.3.1 and 3.9.1, the segments are read by our own reader: two independent
witnesses.
"""

import functools
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from zombieproof.formats.producer_snapshot import read_snapshot
from zombieproof.formats.transaction_index import read_index
from zombieproof.model.vocabulary import TransactionState
from zombieproof.traces.evidence import (
    Evidence,
    LoggedBatch,
    OffsetCommitRecord,
    Phase,
    TransactionLogValue,
    TransactionStateRecord,
    TransitTarget,
)
from zombieproof.traces.readers import offsets_log, transaction_log
from zombieproof.traces.readers.collect import collect, snapshot_entry
from zombieproof.traces.readers.console_text import read_console
from zombieproof.traces.readers.dump_content import DumpContent
from zombieproof.traces.readers.dump_text import read_dump
from zombieproof.traces.readers.files import opened
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep, read_segment

SAMPLES = Path(__file__).parents[1] / "recordings"
SHARED = Path(__file__).parents[3] / "shared/traces"
PLACES = [place for place in (SAMPLES, SHARED) if place.is_dir()]
DUMPS = sorted(path for place in PLACES for path in place.glob("*/dump/*") if ".console." not in path.name)
RECORDINGS = sorted(path for place in PLACES for path in place.iterdir() if path.is_dir())
WITH_BROKER_LOGS = [path for path in RECORDINGS if list(path.glob("server*")) and "-tampered-" not in path.name]
"""The tampered ones were changed by hand: their brokers' logs tell the original history."""


def label(path: Path) -> str:
    return "/".join(path.parts[-4:] if path.is_file() else path.parts[-2:])


def test_there_are_recordings_to_read() -> None:
    assert len([path for path in RECORDINGS if path.is_relative_to(SAMPLES)]) == 8
    assert len(DUMPS) >= 40


@functools.cache
def collected(path: Path) -> Evidence:
    return collect([path])


def dump_at(path: Path) -> DumpContent:
    with opened(path) as content:
        assert content.fault is None
        return read_dump(content.data, str(path), Keep.ALL)


def beside(dump: Path, segment: str) -> Path:
    found = dump.parent.parent / segment
    return found if found.exists() else found.with_name(found.name + ".xz")


def segment_at(path: Path) -> SegmentContent:
    with opened(path) as content:
        return read_segment(content.data, str(path), Keep.ALL)


def differences(shown: LoggedBatch, held: LoggedBatch, *, with_records: bool) -> Iterator[str]:
    """Fields in which the dump and the segment differ; records of internal topics are compared when decoded."""
    for field in fields(LoggedBatch):
        name = field.name
        if name == "file" or (name in ("marker", "records") and not with_records):
            continue
        one, other = getattr(shown, name), getattr(held, name)
        if name == "records":
            if shown.is_control or not one:
                continue
            if not one[0].has_payload:
                one, other = [record.offset for record in one], [record.offset for record in other]
        if one != other:
            yield name


InternalRecord = TransactionStateRecord | OffsetCommitRecord


def decoded(content: SegmentContent) -> list[InternalRecord]:
    reader = transaction_log if content.place.topic == "__transaction_state" else offsets_log
    return [record for batch in content.batches for record in reader.read_batch(batch, content.place.partition)]


def as_printed(record: InternalRecord, like: InternalRecord) -> InternalRecord:
    """The record without what the text of its release leaves out."""
    if isinstance(record, TransactionStateRecord) and isinstance(like, TransactionStateRecord):
        value = record.value
        if value is not None and like.value is not None and like.value.start_ms is None:
            value = replace(
                value, start_ms=None, previous_producer_id=None, next_producer_id=None, client_transaction_version=None
            )
        return replace(record, value=value, file=like.file)
    return replace(record, file=like.file)


@pytest.mark.parametrize("path", DUMPS, ids=label)
def test_a_dump_agrees_with_the_segments_beside_it(path: Path) -> None:
    dump = dump_at(path)
    assert dump.damage == []
    for shown in dump.segments:
        held = segment_at(beside(path, shown.segment))
        assert shown.start_offset == held.start_offset
        assert len(shown.batches) == len(held.batches)
        assert [batch.position for batch in shown.unsound] == [batch.position for batch in held.unsound]
        assert shown.torn_tail == held.torn_tail
        for one, other in zip(shown.batches, held.batches, strict=True):
            found = list(differences(one, other, with_records=".batches." not in path.name))
            assert not found, (one.base_offset, found)
        if shown.place.topic.startswith("__"):
            records: list[InternalRecord] = [*shown.transaction_states, *shown.offset_commits]
            expected = decoded(held)
            assert len(records) == len(expected)
            for printed, kept in zip(records, expected, strict=True):
                assert printed == as_printed(kept, printed)


@pytest.mark.parametrize("path", [path for path in DUMPS if ".state." in path.name], ids=label)
def test_a_dump_agrees_with_the_snapshots_and_indexes_beside_it(path: Path) -> None:
    dump = dump_at(path)
    assert dump.snapshots or dump.indexes
    for name, entries in dump.snapshots:
        with opened(beside(path, name)) as content:
            assert list(map(snapshot_entry, read_snapshot(content.data))) == entries
    for name, aborted in dump.indexes:
        with opened(beside(path, name)) as content:
            assert read_index(content.data) == (aborted, None)


@pytest.mark.share(2)
@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_dumps_beside_segments_add_no_log(path: Path) -> None:
    evidence = collected(path)
    assert all(log.source == "segment" for log in evidence.logs)
    assert len({log.topic_partition for log in evidence.logs}) == len(evidence.logs)


@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_only_damaged_recordings_have_damage(path: Path) -> None:
    expected = {"23-bad-crc": [("t-1", 308)], "23-truncated-segment": [("t-0", 216)]}
    damage = [(Path(place.file).parent.name, place.position) for place in collected(path).damage]
    assert damage == expected.get(path.name, [])


@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_only_topics_that_were_cleaned_show_signs_of_compaction(path: Path) -> None:
    cleaned = {"16-compacted": {("c", 0)}, "28-compacted-empty-batches": {("c", 0)}}
    found = {log.topic_partition for log in collected(path).logs if log.compacted}
    assert found == cleaned.get(path.name, set())


def test_a_console_agrees_with_the_transaction_log() -> None:
    consoles = sorted(path for place in PLACES for path in place.glob("*/dump/*.console.txt"))
    assert consoles
    for path in consoles:
        with opened(path) as content:
            records, damage = read_console(content.data, str(path))
        assert damage == []
        logged = collect([path.parent.parent / "segments"]).transaction_states
        assert [(record.transactional_id, record.value) for record in records] == [
            (record.transactional_id, record.value) for record in logged
        ]


@pytest.mark.parametrize("path", WITH_BROKER_LOGS, ids=label)
def test_every_record_of_the_transaction_log_is_a_transition_that_a_broker_completed(path: Path) -> None:
    evidence = collected(path)
    completed = {
        (line.transactional_id, *described(line.to_state, line.target))
        for line in evidence.coordinator_lines
        if line.phase is Phase.COMPLETE and line.target is not None
    }
    assert completed == {
        (record.transactional_id, *described(record.value.state, record.value))
        for record in evidence.transaction_states
        if record.value is not None
    }


def described(state: TransactionState, target: TransitTarget | TransactionLogValue) -> tuple[object, ...]:
    return state, target.producer_id, target.producer_epoch, target.partitions, target.last_update_ms


def test_differences_are_noticed() -> None:
    held = segment_at(SAMPLES / "01-commit/segments/t-0/00000000000000000000.log").batches
    for change in ({"crc": 1}, {"producer_epoch": 5}, {"marker": None}, {"size": 3}):
        changed = replace(held[3], **change)
        assert list(differences(changed, held[3], with_records=True)) == list(change)
    assert list(differences(replace(held[0], records=[]), held[0], with_records=True)) == []
    shifted = [replace(record, offset=9) for record in held[0].records or []]
    assert list(differences(replace(held[0], records=shifted), held[0], with_records=True)) == ["records"]
