"""What a consumer reads of transactions, in each of the three ways; and what one that buffers keeps, and where."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clients.readers import GROUP, cluster_of, read_all, values, write
from zombieproof.clients import partition_reader, pending_transactions
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.pending_transactions import HeldTransaction, PendingTransactions, SpillFailed
from zombieproof.clients.producer import Producer
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.transport import ClusterTransport
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.statemachines.consumer import reading

P0: TopicPartition = ("t", 0)
UNCOMMITTED, COMMITTED, BUFFERING = "read_uncommitted", "read_committed", "read_committed_buffering"


class Story:
    """Producers that write into one partition by turns, one letter each; a capital is what they say in the end."""

    def __init__(self) -> None:
        self.transport = ClusterTransport(cluster_of({"t": 1}))
        self._producers: dict[str, Producer] = {}
        self._count = 0

    def tell(self, steps: str) -> "Story":
        """`a` writes in a transaction of producer a, `a+` commits it, `a-` aborts it; `.` writes in none."""
        for step in steps.split():
            if step == ".":
                self._count += 1
                write(self.transport, f".{self._count}")
            elif step[1:] == "":
                self._write(step)
            else:
                producer = self._producers.pop(step[0])
                producer.commit_transaction() if step[1] == "+" else producer.abort_transaction()
                producer.close()
        return self

    def _write(self, name: str) -> None:
        if name not in self._producers:
            producer = self._producers[name] = Producer(self.transport, transactional_id=f"x-{name}")
            producer.init_transactions()
            producer.begin_transaction()
        self._count += 1
        self._producers[name].send("t", f"{name}{self._count}".encode(), partition=0)
        self._producers[name].flush()

    def reader(self, isolation: str, **named: Any) -> Consumer:
        chosen = {**GROUP, "isolation.level": isolation, "enable.auto.commit": False}
        consumer = Consumer(self.transport, ConsumerSettings(chosen), **named)
        consumer.assign([P0])
        return consumer


SOME = 175
"""So many bytes have two batches of one record, and no third."""

STORY = "a b . a a+ . b c b- c d"
"""a commits, b aborts, c and d are undecided."""


@pytest.mark.parametrize(
    ("isolation", "read"),
    [
        (UNCOMMITTED, "a1 b2 .3 a4 .5 b6 c7 c8 d9"),
        (COMMITTED, "a1 .3 a4 .5"),
        (BUFFERING, ".3 a1 a4 .5"),
    ],
)
def test_what_each_isolation_reads_of_the_same_log(isolation: str, read: str) -> None:
    assert values(read_all(Story().tell(STORY).reader(isolation))) == read.split()


def test_undecided_records_come_when_they_are_decided() -> None:
    story = Story().tell(STORY)
    readers = [story.reader(isolation) for isolation in (COMMITTED, BUFFERING)]
    assert [len(read_all(reader)) for reader in readers] == [4, 4]
    story.tell("c+ d- . ")
    assert [values(read_all(reader)) for reader in readers] == [["c7", "c8", ".10"], ["c7", "c8", ".10"]]


def test_a_reader_of_the_end_ends_at_the_last_stable_offset() -> None:
    story = Story().tell(STORY)
    ends = {
        isolation: story.reader(isolation).end_offsets([P0])[P0] for isolation in (UNCOMMITTED, COMMITTED, BUFFERING)
    }
    assert ends[COMMITTED] < ends[UNCOMMITTED] == ends[BUFFERING]


def test_a_reader_that_ignores_the_aborted_list_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "is_due", lambda *_: False)
    with pytest.raises(AssertionError):
        test_what_each_isolation_reads_of_the_same_log(COMMITTED, "a1 .3 a4 .5")


# ---------------------------------------------------------------- where a reader that buffers goes on

STEPS = st.lists(st.sampled_from(["a", "b", "c", "a+", "b+", "c+", "a-", "b-", "c-", "."]), min_size=4, max_size=16)


def legal(steps: list[str]) -> Iterator[str]:
    """Without the ends of what was not begun."""
    begun = set[str]()
    for step in steps:
        if step[1:] == "" or step[0] in begun:
            yield step
        (begun.add if step[1:] == "" else begun.discard)(step[0])


def read_with_restarts(story: Story, isolation: str, most: int, every: int, **named: Any) -> list[str]:
    """Read to the end; after every so many polls a new consumer goes on where the one before has committed."""
    found, silent, polls = list[str](), 0, 0
    consumer = story.reader(isolation, max_poll_records=most, **named)
    while silent < 3 and polls < 99:
        records = consumer.poll(1000)
        found += values(records)
        silent, polls = 0 if records else silent + 1, polls + 1
        if polls % every == 0:
            consumer.commit()
            consumer.crash()
            consumer = story.reader(isolation, max_poll_records=most, **named)
    consumer.close()
    return found


@settings(max_examples=25, deadline=None)
@given(STEPS, st.integers(1, 3), st.integers(1, 3), st.sampled_from([COMMITTED, BUFFERING]))
def test_who_goes_on_where_it_has_committed_reads_every_committed_record_once(
    steps: list[str], most: int, every: int, isolation: str
) -> None:
    story = Story().tell(" ".join(legal(steps)))
    found = read_with_restarts(story, isolation, most, every)
    whole = values(read_all(story.reader(isolation, group_id="other")))
    assert found == whole
    if isolation == BUFFERING:
        assert set(values(read_all(story.reader(COMMITTED, group_id="other")))) <= set(found)


def test_a_reader_that_buffers_commits_the_first_offset_of_what_is_open_and_says_how_far_it_is() -> None:
    story = Story().tell("a . b b+ .")
    consumer = story.reader(BUFFERING, max_poll_records=2)
    assert values(consumer.poll(1000)) == [".2", "b3"]
    at = consumer.positions()[P0]
    assert (at.offset, at.metadata) == (0, "delivered-to=3;partly=2"), "a is open, and of b all was read"
    assert values(read_all(consumer)) == [".4"]
    assert consumer.positions()[P0].offset == consumer.position(P0) == 0
    story.tell("a-")
    assert read_all(consumer) == []
    assert consumer.positions()[P0] == (6, "", -1)


@pytest.mark.parametrize("metadata", ["mine", "delivered-to=x;partly=1", "delivered-to=3;partly=2 "])
def test_metadata_of_somebody_else_says_nothing_of_how_far_it_is(metadata: str) -> None:
    story = Story().tell(". . .")
    consumer = story.reader(BUFFERING)
    consumer.commit({P0: OffsetAndMetadata(1, metadata)})
    assert values(read_all(story.reader(BUFFERING))) == [".2", ".3"]


def test_a_reader_that_forgets_how_far_it_was_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_reader, "READ_FURTHER", re.compile("never"))
    story = Story().tell("a . b b+ . . a+")
    found = read_with_restarts(story, BUFFERING, 1, 1)
    assert sorted(found) != sorted(set(found))


# ---------------------------------------------------------------- spilling


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("memory", [0, SOME, 10_000])
def test_what_is_held_back_is_the_same_in_memory_and_on_disk(memory: int, tmp_path: Path) -> None:
    story, files = Story().tell("a b a . b a c c+ a+ b-"), open_files()
    consumer = story.reader(BUFFERING, pending_transactions_memory=memory, pending_transactions_dir=tmp_path)
    found = values(read_all(consumer))
    consumer.close()
    assert found == [".4", "c7", "a1", "a3", "a6"]
    assert (consumer.runtime.fetcher.pending.spilled > 0) == (memory < 10_000)
    assert list(tmp_path.iterdir()) == []
    assert open_files() == files, "what is decided leaves no file open"


def test_a_file_is_gone_as_soon_as_its_transaction_was_read() -> None:
    story, files = Story().tell("a a+ ."), open_files()
    consumer = story.reader(BUFFERING, pending_transactions_memory=0)
    assert values(read_all(consumer)) == ["a1", ".2"]
    assert open_files() == files


@settings(max_examples=15, deadline=None)
@given(STEPS, st.integers(0, 2 * SOME), st.integers(1, 3))
def test_a_disk_changes_nothing(steps: list[str], memory: int, most: int) -> None:
    story = Story().tell(" ".join(legal(steps)))
    on_disk = read_with_restarts(story, BUFFERING, most, 2, pending_transactions_memory=memory)
    assert on_disk == values(read_all(story.reader(BUFFERING, group_id="other")))


def test_a_consumer_that_ends_leaves_no_file_behind(tmp_path: Path) -> None:
    for end in ("close", "crash", "unsubscribe", "seek"):
        story, files = Story().tell("a b a ."), open_files()
        consumer = story.reader(BUFFERING, pending_transactions_memory=0, pending_transactions_dir=tmp_path)
        assert values(read_all(consumer)) == [".4"]
        assert open_files() == files + 2, "a file for each open transaction"
        consumer.seek(P0, 4) if end == "seek" else getattr(consumer, end)()
        assert (open_files(), list(tmp_path.iterdir())) == (files, []), end


def test_a_disk_that_takes_nothing_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    story = Story().tell("a a . a+ .")
    missing = tmp_path / "missing"
    consumer = story.reader(BUFFERING, pending_transactions_memory=1, pending_transactions_dir=missing)
    assert values(consumer.poll(1000)) == [".3", "a1", "a2", ".4"]
    with pytest.raises(SpillFailed, match=rf"pending\.transactions\.memory allows 1, and {missing} does not take them"):
        consumer.poll(1000)
    assert consumer.poll(1000) == [], "it is told once"


def test_a_disk_that_is_full_in_the_middle_keeps_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pending = PendingTransactions(0, tmp_path)
    batches = [Batch(1, 0, i, True, (Record(None, bytes([i])),), base_offset=i, timestamp_ms=0) for i in range(4)]
    calls = iter([True, False, False])

    def sometimes(batch: Batch) -> bytes:
        if not next(calls):
            raise OSError(28, "No space left on device")
        return write_batch(batch)

    monkeypatch.setattr(pending_transactions, "write_batch", sometimes)
    pending.hold(P0, 1, batches[0], 0)
    pending.hold(P0, 1, batches[1], 0)
    failed = pending.failure
    assert isinstance(failed, SpillFailed)
    pending.hold(P0, 1, batches[2], 0)
    monkeypatch.setattr(pending_transactions, "write_batch", write_batch)
    pending.hold(P0, 1, batches[3], 0)
    assert (failed, pending.failure)[1] is None
    held = pending.release(P0, 1)
    assert held is not None
    assert [batch.records[0].value for _, batch in held] == [b"\0", b"\1", b"\2", b"\3"]
    held.close()


def test_a_spill_that_loses_a_record_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = HeldTransaction.spill

    def loses(held: HeldTransaction, directory: Path | None) -> None:
        del held.batches[1:]
        real(held, directory)

    monkeypatch.setattr(HeldTransaction, "spill", loses)
    with pytest.raises(AssertionError):
        test_what_is_held_back_is_the_same_in_memory_and_on_disk(SOME, tmp_path)


def test_a_file_that_is_not_closed_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = list[HeldTransaction]()
    monkeypatch.setattr(HeldTransaction, "close", lambda held: kept.append(held))  # noqa: PLW0108  # a method is bound
    with pytest.raises(AssertionError, match="leaves no file open"):
        test_what_is_held_back_is_the_same_in_memory_and_on_disk(0, tmp_path)
    monkeypatch.undo()
    for held in kept:
        held.close()
