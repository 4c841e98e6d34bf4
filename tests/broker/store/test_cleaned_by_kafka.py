"""What a real Kafka left of a log in each of six passes is what is left here, byte for byte.

`kafka/` holds the closed segments of a compacted topic before and behind each pass of Kafka 4.3.1, with the index of
aborted transactions, and the snapshot of producers at the time. The topic (delete.retention.ms 5000) got committed and
aborted transactions, an idempotent producer, tombstones and a packed batch, then a record or two before each pass.
The broker forgot producers after three seconds, so that first their empty batches go and then their markers. Cleaning
was held back by min.compaction.lag.ms while the segments were copied. A pass that writes horizons tells its time by
them; of another one it is not before the newest record.
"""

from pathlib import Path

import pytest

from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.store.cleaner import Cleaned, CleanerSettings, LastRecord, clean, delete_horizon_ms
from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import read_batches, write_batch
from zombieproof.formats.producer_snapshot import read_snapshot
from zombieproof.formats.transaction_index import read_index

HERE = Path(__file__).parent / "kafka"
PASSES = (1, 2, 3, 4, 5, 6)
RETENTION_MS = 5000


def batches_of(name: str) -> list[Batch]:
    return list(read_batches((HERE / f"{name}.log").read_bytes()))


def aborted_of(name: str) -> tuple[AbortedTransaction, ...]:
    entries, fault = read_index((HERE / f"{name}.txnindex").read_bytes())
    assert fault is None
    return tuple(AbortedTransaction(*entry) for entry in entries)


def time_of(before: list[Batch], after: list[Batch]) -> int:
    known = {delete_horizon_ms(batch) for batch in before}
    new = {delete_horizon_ms(batch) for batch in after} - known
    return next((ms for ms in new if ms is not None), 0) - RETENTION_MS if new else newest_of(before)


def newest_of(batches: list[Batch]) -> int:
    return max(batch.timestamp_ms for batch in batches)


def producers_of(snapshot: Path) -> dict[int, LastRecord]:
    return {
        each.producer_id: LastRecord(each.last_offset if each.last_offset >= 0 else None, each.producer_epoch)
        for each in read_snapshot(snapshot.read_bytes())
    }


def passed(number: int, settings: CleanerSettings, producers: dict[int, LastRecord] | None = None) -> Cleaned:
    before, after = batches_of(f"{number}-before"), batches_of(f"{number}-after")
    cleaned_before = 0 if number == 1 else batches_of(f"{number - 1}-before")[-1].last_offset + 1
    return clean(
        before,
        aborted_of(f"{number}-before"),
        last_stable_offset=before[-1].last_offset + 1,
        now_ms=time_of(before, after),
        first_dirty_offset=cleaned_before,
        producers=producers_of(HERE / f"{number}.snapshot") if producers is None else producers,
        settings=settings,
    )


@pytest.mark.parametrize("number", PASSES)
def test_what_is_left_is_what_kafka_left(number: int) -> None:
    left = passed(number, CleanerSettings(RETENTION_MS))
    assert list(left.batches) == batches_of(f"{number}-after")
    assert b"".join(map(write_batch, left.batches)) == (HERE / f"{number}-after.log").read_bytes()
    assert left.aborted == aborted_of(f"{number}-after")


def test_the_passes_show_every_kind_of_what_is_left() -> None:
    left = [batch for number in PASSES for batch in batches_of(f"{number}-after")]
    before = [batch for number in PASSES for batch in batches_of(f"{number}-before")]
    assert any(not batch.is_control and not batch.records for batch in left)
    for was in (before, left):
        assert any(batch.marker is not None and delete_horizon_ms(batch) is not None for batch in was)
    assert any(delete_horizon_ms(batch) is not None and batch.records for batch in left)
    assert any(0 < len(batch.records) <= batch.last_offset_delta for batch in left)
    assert {len(aborted_of(f"{number}-after")) for number in PASSES} == {0, 2}


def test_another_retention_or_other_producers_leave_something_else() -> None:
    longer = passed(1, CleanerSettings(RETENTION_MS + 1))
    assert list(longer.batches) != batches_of("1-after")
    nobody = passed(1, CleanerSettings(RETENTION_MS), producers={})
    assert list(nobody.batches) != batches_of("1-after")


@pytest.mark.parametrize("number", PASSES[:-1])
def test_what_kafka_left_is_left_again(number: int) -> None:
    """As far as nothing new has come, and no horizon is over, a pass changes nothing but to write horizons."""
    after = batches_of(f"{number}-after")
    left = clean(
        after,
        aborted_of(f"{number}-after"),
        last_stable_offset=after[-1].last_offset + 1,
        now_ms=0,
        first_dirty_offset=after[-1].last_offset + 1,
        producers={batch.producer_id: LastRecord(batch.last_offset, 0) for batch in after if not batch.is_control},
    )
    assert [b.base_offset for b in left.batches] == [b.base_offset for b in after]
    assert [b.records for b in left.batches] == [b.records for b in after]


@pytest.mark.parametrize("trace", ["16-compacted", "28-compacted-empty-batches"])
def test_a_log_that_kafka_has_compacted_stays_as_it_is(shared_folder: Path, trace: str) -> None:
    """Of a Java producer whose epoch rises with each transaction: what is left of it may be a marker alone."""
    folder = shared_folder / "traces" / trace / "segments" / "c-0"
    *closed, active = sorted(folder.glob("*.log"))
    batches = list(read_batches(b"".join(file.read_bytes() for file in closed)))
    indexes = [read_index(file.read_bytes())[0] for file in folder.glob("*.txnindex")]
    horizons = [ms for batch in batches if (ms := delete_horizon_ms(batch)) is not None]
    left = clean(
        batches,
        [AbortedTransaction(*entry) for entries in indexes for entry in entries],
        last_stable_offset=int(active.stem),
        now_ms=min(horizons, default=1) - 1,
        first_dirty_offset=int(active.stem),
        producers=producers_of(folder / f"{active.stem}.snapshot"),
    )
    assert [write_batch(batch) for batch in left.batches] == [write_batch(batch) for batch in batches]
