"""What consumers see, derived from a log, is what real consumers saw; and it changes when the log does."""

import functools
import json
import lzma
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from zombieproof.model.vocabulary import NONE, Isolation
from zombieproof.traces.evidence import Evidence, LoggedBatch, LoggedMarker, PartitionLog, Source
from zombieproof.traces.judging.histories.visibility import (
    AbortedSpan,
    HiddenSpan,
    OpenTransaction,
    producers_of,
    visibility,
)
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.segments import Keep, read_segment

Encode = Callable[..., bytes]

SAMPLES = Path(__file__).parents[1] / "recordings"
SHARED = Path(__file__).parents[3] / "shared/traces"
CONSUMED = sorted(path for place in (SAMPLES, SHARED) if place.is_dir() for path in place.glob("*/consumed.json*"))

CLEANED_SINCE = {("16-compacted", "c-0")}
"""Read before the last cleaning: the consumer saw records that the copied segments no longer hold."""


def label(path: Path) -> str:
    return "/".join(path.parts[-3:-1])


@functools.cache
def evidence_of(folder: Path) -> Evidence:
    return collect([folder / "segments"], Keep.ALL)


def partitions_of(path: Path) -> Iterator[tuple[str, dict[str, Any], PartitionLog]]:
    """Name, what Kafka said, and the log of each partition that has segments (empty ones were not copied)."""
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    evidence = evidence_of(path.parent)
    for name, consumed in json.loads(text)["partitions"].items():
        topic, _, partition = name.rpartition("-")
        log = evidence.log(topic, int(partition))
        if log is None:
            assert consumed["high_watermark"] == 0
        else:
            yield name, consumed, log


def offsets(read: list[Any]) -> list[int]:
    return [entry if isinstance(entry, int) else entry["offset"] for entry in read]


def test_there_is_something_to_compare() -> None:
    assert len([path for path in CONSUMED if path.is_relative_to(SAMPLES)]) == 7


@pytest.mark.parametrize("path", CONSUMED, ids=label)
def test_the_last_stable_offset_is_that_of_the_broker(path: Path) -> None:
    for name, consumed, log in partitions_of(path):
        seen = visibility(log)
        assert seen.is_certain
        assert (name, log.start_offset, seen.high_watermark, seen.last_stable_offset) == (
            name,
            consumed["log_start_offset"],
            consumed["high_watermark"],
            consumed["last_stable_offset"],
        )


@pytest.mark.parametrize("path", CONSUMED, ids=label)
@pytest.mark.parametrize("isolation", [Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED])
def test_a_consumer_saw_what_the_log_says(path: Path, isolation: Isolation) -> None:
    for name, consumed, log in partitions_of(path):
        read = consumed[isolation.name.lower()]
        found = visibility(log).offsets(isolation)
        if (path.parent.name, name) in CLEANED_SINCE:
            missing = set(offsets(read)) - set(found)
            gaps = {offset for gap in log.gaps() for offset in range(gap.first, gap.last + 1)}
            assert set(found) <= set(offsets(read))
            assert missing <= gaps
            continue
        assert found == offsets(read), name
        held = {record.offset: record for batch in log.batches for record in batch.records or ()}
        for entry in read:
            if not isinstance(entry, int):
                record = held[entry["offset"]]
                assert (text(record.key), text(record.value)) == (entry["key"], entry["value"])


def text(field: bytes | None) -> str | None:
    return None if field is None else field.decode(errors="replace")


@pytest.mark.parametrize("path", CONSUMED, ids=label)
def test_the_aborted_transactions_are_those_of_the_brokers_index(path: Path) -> None:
    """An index keeps entries of transactions that the cleaner has removed since."""
    indexes = {(entry.topic, entry.partition) for entry in evidence_of(path.parent).aborted_transactions}
    for _, _, log in partitions_of(path):
        index = {
            AbortedSpan(entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset)
            for entry in evidence_of(path.parent).aborted_transactions
            if (entry.topic, entry.partition) == log.topic_partition
        }
        found = set(visibility(log).aborted)
        if log.topic_partition in indexes:
            assert found == index or (log.compacted and found < index)


@pytest.mark.parametrize("path", CONSUMED, ids=label)
def test_producers_are_known_as_the_brokers_snapshot_knows_them(path: Path) -> None:
    evidence = evidence_of(path.parent)
    for _, _, log in partitions_of(path):
        known = producers_of(log)
        for snapshot in evidence.snapshots:
            if (snapshot.topic, snapshot.partition, snapshot.offset) != (*log.topic_partition, log.end_offset):
                continue
            for entry in snapshot.entries:
                if entry.producer_id not in known:
                    assert log.compacted
                    continue
                found = known[entry.producer_id]
                first = NONE if entry.current_txn_first_offset is None else entry.current_txn_first_offset
                assert (found.producer_epoch, found.coordinator_epoch, found.txn_first_offset) == (
                    entry.producer_epoch,
                    entry.coordinator_epoch,
                    first,
                )
                last = found.batches[found.batch_count - 1].last_sequence if found.batch_count else NONE
                assert last == entry.last_sequence


# ---------------------------------------------------------------- changed logs

COMMON = {"producer_id": 7, "producer_epoch": 0, "attributes": 0x10}


def log_of(*batches: bytes, start_offset: int = 0) -> PartitionLog:
    content = read_segment(memoryview(b"".join(batches)), "f", Keep.ALL)
    assert content.damage == []
    log = PartitionLog(
        "t", 0, "", Source.SEGMENT, content.batches, start_offset=start_offset, begin_shown_by="the test"
    )
    log.end_offset = content.batches[-1].last_offset + 1
    return log


def data(batch: Encode, base_offset: int, records: int = 1, **changes: int) -> bytes:
    entries = [(n, b"k", b"v") for n in range(records)]
    return batch(entries, base_offset=base_offset, **{**COMMON, "base_sequence": 0, **changes})


def test_committed_data_is_seen_and_markers_are_not(batch: Encode, marker: Encode) -> None:
    log = log_of(data(batch, 0, 2), marker(commit=True, base_offset=2, producer_id=7))
    seen = visibility(log)
    assert seen.last_stable_offset == 3
    assert seen.offsets(Isolation.READ_COMMITTED) == [0, 1]
    assert seen.offsets(Isolation.READ_UNCOMMITTED) == [0, 1]
    assert seen.open_transactions == []


def test_aborted_data_is_seen_only_uncommitted(batch: Encode, marker: Encode) -> None:
    log = log_of(data(batch, 0, 2), marker(commit=False, base_offset=2, producer_id=7), data(batch, 3, attributes=0))
    seen = visibility(log)
    assert seen.aborted == [AbortedSpan(7, 0, 2, 3)]
    assert seen.offsets(Isolation.READ_COMMITTED) == [3]
    assert seen.offsets(Isolation.READ_UNCOMMITTED) == [0, 1, 3]


def test_an_open_transaction_holds_everything_behind_it_back(batch: Encode, marker: Encode) -> None:
    log = log_of(
        data(batch, 0, attributes=0, producer_id=-1, producer_epoch=-1),
        data(batch, 1, producer_epoch=4),
        data(batch, 2, producer_id=8),
        marker(commit=False, base_offset=3, producer_id=8),
        data(batch, 4, attributes=0, producer_id=-1, producer_epoch=-1),
    )
    seen = visibility(log)
    assert seen.last_stable_offset == 1
    assert seen.open_transactions == [OpenTransaction(7, 4, 1)]
    assert seen.aborted == [AbortedSpan(8, 2, 3, 1)]
    assert seen.offsets(Isolation.READ_COMMITTED) == [0]
    assert seen.offsets(Isolation.READ_UNCOMMITTED) == [0, 1, 2, 4]


def test_one_producer_aborts_and_commits_in_turn(batch: Encode, marker: Encode) -> None:
    log = log_of(
        data(batch, 0),
        marker(commit=False, base_offset=1, producer_id=7),
        data(batch, 2),
        marker(commit=True, base_offset=3, producer_id=7),
        data(batch, 4),
        marker(commit=False, base_offset=5, producer_id=7),
    )
    assert visibility(log).offsets(Isolation.READ_COMMITTED) == [2]


def test_a_marker_without_data_changes_nothing(batch: Encode, marker: Encode) -> None:
    log = log_of(marker(commit=False, base_offset=0, producer_id=7), data(batch, 1, attributes=0))
    seen = visibility(log)
    assert seen.aborted == []
    assert seen.offsets(Isolation.READ_COMMITTED) == [1]


def test_transactional_data_without_a_producer_id_opens_nothing(batch: Encode) -> None:
    seen = visibility(log_of(data(batch, 0, producer_id=-1, producer_epoch=-1)))
    assert seen.last_stable_offset == 1
    assert seen.offsets(Isolation.READ_COMMITTED) == [0]


def test_plain_data_of_a_producer_with_an_open_transaction_is_not_folded(batch: Encode) -> None:
    seen = visibility(log_of(data(batch, 0), data(batch, 1, attributes=0)))
    assert seen.open_transactions == [OpenTransaction(7, 0, 0)]


def test_plain_data_within_an_aborted_transaction_of_its_producer_is_seen(batch: Encode, marker: Encode) -> None:
    """No broker writes it, but a damaged log may have it; Kafka's consumer hands it on."""
    ended = marker(commit=False, base_offset=3, producer_id=7)
    seen = visibility(log_of(data(batch, 0), data(batch, 1, attributes=0), data(batch, 2), ended))
    assert seen.offsets(Isolation.READ_COMMITTED) == [1]


def test_a_reader_begins_at_the_log_start(batch: Encode, marker: Encode) -> None:
    log = log_of(data(batch, 0, 3), marker(commit=True, base_offset=3, producer_id=7), start_offset=1)
    assert visibility(log).offsets(Isolation.READ_COMMITTED) == [1, 2]


def test_an_open_transaction_below_the_log_start_counts_from_there(batch: Encode) -> None:
    assert visibility(log_of(data(batch, 0, 5), start_offset=2)).last_stable_offset == 2


def test_an_empty_control_batch_changes_nothing(batch: Encode) -> None:
    empty = batch([], base_offset=1, last_delta=0, **{**COMMON, "attributes": 0x30})
    seen = visibility(log_of(data(batch, 0), empty))
    assert seen.is_certain
    assert seen.last_stable_offset == 0


def test_a_hidden_outcome_makes_it_uncertain(batch: Encode, marker: Encode) -> None:
    log = log_of(data(batch, 0), marker(commit=True, base_offset=1, producer_id=7))
    assert visibility(log).is_certain
    log.batches[1].marker = log.batches[1].records = None
    hidden = visibility(log)
    assert not hidden.is_certain
    assert (hidden.last_stable_offset, hidden.open_transactions) == (2, [])
    assert hidden.offsets(Isolation.READ_COMMITTED) == []
    assert hidden.offsets(Isolation.READ_UNCOMMITTED) == [0]
    log.batches[1].marker = LoggedMarker(commit=True, coordinator_epoch=0)
    log.torn_tail = True
    assert not visibility(log).is_certain


class Counted(list[HiddenSpan]):
    """Spans that count how many of them were looked at."""

    looked_at = 0

    def __getitem__(self, index: Any) -> Any:
        self.looked_at += 1
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[HiddenSpan]:
        for span in super().__iter__():
            self.looked_at += 1
            yield span


def test_hidden_outcomes_are_looked_up_and_not_walked(batch: Encode) -> None:
    count = 500
    log = log_of(*(data(batch, 2 * number) for number in range(count)))
    spans = Counted(HiddenSpan(4 * number, 4 * number + 2) for number in range(count // 2))
    seen = replace(visibility(log), hidden={7: spans}, last_stable_offset=log.end_offset)
    assert seen.offsets(Isolation.READ_COMMITTED) == list(range(2, 2 * count, 4))
    assert 0 < spans.looked_at < 20 * count


@pytest.mark.parametrize(
    ("spans", "hidden"),
    [
        ([], []),
        ([(0, 1)], [0]),
        ([(0, 2), (0, 4)], [0, 2]),
        ([(0, 2), (4, 6)], [0, 4]),
        ([(2, 4), (4, 9)], [2, 4, 6, 8]),
        ([(8, 10)], [8]),
    ],
)
def test_records_in_a_hidden_span_are_not_committed(
    spans: list[tuple[int, int]], hidden: list[int], batch: Encode
) -> None:
    log = log_of(*(data(batch, offset) for offset in range(0, 10, 2)))
    seen = replace(visibility(log), hidden={7: [HiddenSpan(*span) for span in spans]}, last_stable_offset=10)
    assert seen.offsets(Isolation.READ_COMMITTED) == [at for at in range(0, 10, 2) if at not in hidden]


@pytest.mark.deep
def test_an_abort_looks_at_no_producer_that_has_nothing_open(batch: Encode, marker: Encode) -> None:
    count = 10_000
    alone = {**COMMON, "base_sequence": 0}
    log = log_of(
        *chain.from_iterable(
            (
                batch(base_offset=2 * number, **{**alone, "producer_id": number}),
                marker(commit=False, base_offset=2 * number + 1, producer_id=number),
            )
            for number in range(count)
        )
    )
    began = time.process_time()
    seen = visibility(log)
    assert time.process_time() - began < 1
    assert [span.last_stable_offset for span in seen.aborted] == [2 * number + 2 for number in range(count)]


def test_a_dump_of_batches_alone_is_uncertain_and_one_with_records_is_not() -> None:
    folder = SAMPLES / "01-commit/dump"
    for name, certain in (("t-0.batches.txt", False), ("t-0.txt", True)):
        log = collect([folder / name]).log("t", 0)
        assert log is not None
        assert visibility(log).is_certain is certain


def test_batches_are_handed_on_with_their_offsets(batch: Encode, marker: Encode) -> None:
    log = log_of(data(batch, 0, 2), marker(commit=True, base_offset=2, producer_id=7))
    read: list[tuple[LoggedBatch, list[int]]] = list(visibility(log).read(Isolation.READ_COMMITTED))
    assert [(found.base_offset, handed) for found, handed in read] == [(0, [0, 1])]
