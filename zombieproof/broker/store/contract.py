"""What every store of a partition keeps: tests for `Log` and `SnapshotStore`, to be run against a store of one's own.

    class TestMyStore(StoreContract):
        def open(self) -> Store: ...            # a fresh one
        def reopen(self, store: Store) -> Store: ...    # after it was closed in order
        def crash(self, store: Store) -> Store: ...     # after the machine lost its power

pytest finds the sentences. A store whose appends are durable at once may return the same store from `crash`.
"""

from dataclasses import replace

import pytest

from zombieproof.broker.cluster.node import Store
from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.formats.batches import Batch, Marker, Record

LEADER_EPOCH = 3
BEGIN_MS = 1_700_000_000_000


def batch_of(*values: bytes, producer_id: int | None = None, transactional: bool = False) -> Batch:
    """A batch of records with these values."""
    records = tuple(Record(b"k", value, headers=(("h", value),)) for value in values)
    batch = Batch(
        records=records,
        transactional=transactional,
        last_offset_delta=len(records) - 1,
        timestamp_ms=BEGIN_MS,
        leader_epoch=LEADER_EPOCH,
    )
    return batch if producer_id is None else replace(batch, producer_id=producer_id, producer_epoch=0, base_sequence=0)


def marker_of(producer_id: int, *, committed: bool) -> Batch:
    """The end of a transaction."""
    marker = Marker(committed, 0)
    return Batch(producer_id, 0, transactional=True, marker=marker, timestamp_ms=BEGIN_MS, leader_epoch=LEADER_EPOCH)


class StoreContract:
    """The promises of a store, one test each."""

    def open(self) -> Store:
        """A fresh store."""
        raise NotImplementedError("give the store that is to be tested")

    def reopen(self, store: Store) -> Store:
        """The store as it is found after it was closed in order."""
        raise NotImplementedError("close the store, and open it again")

    def crash(self, store: Store) -> Store:
        """The store as it is found after the power was lost."""
        raise NotImplementedError("lose what is not durable, and open the store again")

    # ---------------------------------------------------------------- appending and reading

    def test_an_empty_log_begins_and_ends_at_zero(self) -> None:
        """Nothing is there, and nothing is read."""
        log = self.open().log
        assert (log.start_offset, log.end_offset, log.durable_offset, list(log.read())) == (0, 0, 0, [])

    def test_a_batch_gets_the_next_offset_and_is_read_at_once(self) -> None:
        """What `append` returns is what is read."""
        log = self.open().log
        first, second = log.append(batch_of(b"a", b"b")), log.append(batch_of(b"c"))
        assert (first.base_offset, second.base_offset, log.end_offset) == (0, 2, 3)
        assert list(log.read()) == [first, second]

    def test_a_read_begins_with_the_batch_that_holds_the_offset(self) -> None:
        """Whoever reads passes over what is before."""
        log = self.open().log
        batches = [log.append(batch_of(b"a", b"b")) for _ in range(20)]
        for offset in range(41):
            assert list(log.read(offset)) == [each for each in batches if each.last_offset >= offset]

    def test_a_batch_that_does_not_continue_the_log_is_refused(self) -> None:
        """A replica's batch keeps its offset, and nothing is written over."""
        log = self.open().log
        log.append(batch_of(b"a", b"b"))
        with pytest.raises(ValueError, match="2"):
            log.append(replace(batch_of(b"c"), base_offset=1))
        assert log.append(replace(batch_of(b"c"), base_offset=2)).base_offset == log.end_offset - 1 == 2

    def test_a_batch_keeps_what_its_producer_said(self) -> None:
        """Identity, times, headers, kind and marker."""
        store = self.open()
        given = [store.log.append(each) for each in _one_of_each()]
        assert list(store.log.read()) == given
        assert list(self.reopen(store).log.read()) == given

    def test_batches_are_found_by_their_times(self) -> None:
        """In order, whatever order the times are in; also after the log was reopened, and after a crash."""
        store, times = self.open(), (4, 2, 8, 8, 5, 1, 8, 3, 6, 6)
        given = [store.log.append(replace(batch_of(b"a"), timestamp_ms=BEGIN_MS + ms)) for ms in times * 2]
        store.log.flush()
        for opened in (lambda found: found, self.reopen, self.crash):
            store = opened(store)
            for timestamp_ms in range(BEGIN_MS, BEGIN_MS + 10):
                late = [each for each in given if each.timestamp_ms >= timestamp_ms]
                assert list(store.log.read_since(timestamp_ms)) == late
            assert store.log.latest() == given[2]
        store.log.truncate(2)
        assert (store.log.latest(), list(store.log.read_since(BEGIN_MS + 3))) == (given[0], given[:1])
        store.log.append(replace(batch_of(b"a"), timestamp_ms=BEGIN_MS + 3))
        store.log.raise_start(1)
        left = list(store.log.read_since(BEGIN_MS))
        assert [each.timestamp_ms - BEGIN_MS for each in left] == [2, 3]

    # ---------------------------------------------------------------- cutting

    def test_what_is_truncated_is_gone_and_its_offsets_are_given_again(self) -> None:
        """A follower drops what its leader never had."""
        store = self.open()
        kept, _ = store.log.append(batch_of(b"a")), store.log.append(batch_of(b"b"))
        store.log.append(batch_of(b"c"))
        store.log.truncate(1)
        assert (list(store.log.read()), store.log.end_offset) == ([kept], 1)
        assert store.log.durable_offset <= 1
        again = store.log.append(batch_of(b"d"))
        assert list(self.reopen(store).log.read()) == [kept, again]

    def test_a_log_that_begins_anew_goes_on_at_the_offset_it_was_given(self) -> None:
        """A follower that was too far behind."""
        store = self.open()
        store.log.append(batch_of(b"a"))
        store.log.restart_at(7)
        assert (store.log.start_offset, store.log.end_offset, list(store.log.read())) == (7, 7, [])
        batch = store.log.append(batch_of(b"b"))
        assert batch.base_offset == 7
        found = self.reopen(store).log
        assert (found.start_offset, list(found.read())) == (7, [batch])

    def test_a_start_that_is_raised_stays_raised(self) -> None:
        """Records below it are not served any more; those behind it are."""
        store = self.open()
        batches = [store.log.append(batch_of(b"a", b"b")) for _ in range(4)]
        store.log.raise_start(4)
        assert (store.log.start_offset, store.log.end_offset) == (4, 8)
        store.log.raise_start(2)
        assert store.log.start_offset == 4, "a start never goes back"
        found = self.reopen(store).log
        assert (found.start_offset, list(found.read(4))) == (4, batches[2:])

    def test_a_log_cannot_start_behind_its_end(self) -> None:
        """And nothing changes where somebody tries."""
        log = self.open().log
        log.append(batch_of(b"a"))
        with pytest.raises(ValueError, match="1"):
            log.raise_start(2)
        assert log.start_offset == 0

    # ---------------------------------------------------------------- durability

    def test_what_is_flushed_is_durable_and_outlives_a_crash(self) -> None:
        """Nothing that was durable is lost, and nothing is there that was never appended."""
        store = self.open()
        safe = [store.log.append(each) for each in _one_of_each()]
        store.log.flush()
        assert store.log.durable_offset == store.log.end_offset
        end = store.log.end_offset
        newest = [store.log.append(batch_of(b"x")), store.log.append(batch_of(b"y"))]
        assert end <= store.log.durable_offset <= store.log.end_offset
        found = self.crash(store).log
        assert list(found.read()) in (safe, [*safe, newest[0]], [*safe, *newest])
        assert found.durable_offset == found.end_offset, "what a start finds is durable"

    def test_a_store_that_was_reopened_can_be_written(self) -> None:
        """Offsets go on where they were."""
        store = self.open()
        first = store.log.append(batch_of(b"a"))
        store = self.reopen(store)
        second = store.log.append(batch_of(b"b"))
        assert (second.base_offset, list(store.log.read())) == (1, [first, second])
        assert list(self.crash(self.reopen(store)).log.read()) == [first, second]

    # ---------------------------------------------------------------- aborted transactions

    def test_aborted_transactions_are_told_or_left_to_the_batches(self) -> None:
        """All whose marker is below `fold_from` are told, each once and in order; the others are in the log."""
        store, given = self.open(), list[AbortedTransaction]()
        for number in range(5):
            first = store.log.append(batch_of(b"a", producer_id=number, transactional=True)).base_offset
            last = store.log.append(marker_of(number, committed=False)).base_offset
            given.append(AbortedTransaction(number, first, last, first))
            store.log.add_aborted(given[-1])
        for found in (store.log, self.reopen(store).log):
            assert list(found.aborted()) == [each for each in given if each.last_offset < found.fold_from]

    # ---------------------------------------------------------------- snapshots

    def test_a_snapshot_is_kept_under_its_offset_until_it_is_deleted(self) -> None:
        """One for each offset, the newer in place of the older."""
        store = self.open()
        store.log.append(batch_of(b"a"))
        kept = store.snapshots
        assert (kept.offsets(), kept.read(1), kept.delete(1)) == ((), None, False)
        for offset, data in ((10, b"ten"), (9, b"nine"), (10, b"x")):
            kept.write(offset, data)
        assert (kept.offsets(), kept.read(9), kept.read(10)) == ((9, 10), b"nine", b"x")
        assert (kept.delete(9), kept.offsets()) == (True, (10,))
        found = self.reopen(store).snapshots
        assert (found.offsets(), found.read(10)) == ((10,), b"x")


def _one_of_each() -> list[Batch]:
    return [
        batch_of(b"plain"),
        batch_of(b"one", b"two", b"", producer_id=4),
        batch_of(b"transactional", producer_id=4, transactional=True),
        marker_of(4, committed=True),
        replace(batch_of(b"other times"), records=(Record(None, None, timestamp_ms=1_699_999_999_000),)),
    ]
