"""What is durable: logs of record batches, as an interface, and the one that lives in memory."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

from zombieproof.broker.partition.aborted_index import AbortedTransaction
from zombieproof.broker.store.cleaner import Compacted, Pass, Plan
from zombieproof.broker.store.config import LogConfig
from zombieproof.formats.batches import Batch, DataHeader
from zombieproof.formats.encoding import size_of
from zombieproof.model.vocabulary import NONE


class StorageFailure(Exception):
    """The store cannot be written any more (KAFKA_STORAGE_ERROR): what is not durable by now never will be."""


class Damaged(Exception):
    """The store holds something else than what was durable in it.

    `findings` are the faults one by one (`store.findings.Finding`), where the error is about a data directory.
    """

    def __init__(self, message: str, findings: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class Log(Protocol):
    """The store of one partition.

    What was appended can be read at once, and is durable when `durable_offset` says so: later perhaps, and together
    with other appends. Who moves it tells the broker (`Cluster.flushed`). What writes raises `StorageFailure` when it
    cannot; what reads raises `Damaged`.
    """

    @property
    def start_offset(self) -> int:
        """The first offset that is still there."""
        ...

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        ...

    @property
    def durable_offset(self) -> int:
        """Everything below is still there after a crash; what is at or above may be lost, the newest first."""
        ...

    @property
    def leader_epochs(self) -> Sequence[tuple[int, int]]:
        """The leader epochs of its batches, oldest first, each with the offset of its first one."""
        ...

    def append(self, batch: Batch) -> Batch:
        """Put `batch` at the end of the log; returned is the batch with its offset."""
        ...

    @property
    def size_in_bytes(self) -> int:
        """How many bytes its batches are."""
        ...

    @property
    def failure(self) -> StorageFailure | None:
        """Why nothing can be written any more; None: it can."""
        ...

    @property
    def offline(self) -> Damaged | None:
        """What of the log cannot be read: nothing of it is served or written any more; None: nothing is damaged."""
        ...

    @property
    def fold_from(self) -> int:
        """From here on `aborted` does not tell of the aborted transactions: the batches do."""
        ...

    def is_full(self, batch: Batch) -> bool:
        """Whether `roll` is due before `batch`."""
        ...

    def roll(self) -> None:
        """Begin a new segment; what is known of producers was kept before."""
        ...

    def aborted(self) -> Iterable[AbortedTransaction]:
        """The aborted transactions whose markers are below `fold_from`, also those that begin below `start_offset`."""
        ...

    def add_aborted(self, entry: AbortedTransaction) -> None:
        """The newest marker ends an aborted transaction."""
        ...

    def index_aborted_anew(self, entries: Iterable[AbortedTransaction]) -> None:
        """The aborted transactions whose markers are at or behind `fold_from`, as the batches tell them."""
        ...

    def flush(self) -> None:
        """Make everything durable before this returns (a broker that stops in order)."""
        ...

    def read(self, from_offset: int = 0) -> Iterator[Batch]:
        """Every batch that reaches `from_offset` or goes beyond, in order."""
        ...

    def read_of_producers(self, from_offset: int) -> Iterator[Batch | DataHeader]:
        """What was written by producer ids from `from_offset` on: whoever folds that knows all that is known of them.

        Of batches with records the headers will do.
        """
        ...

    def read_since(self, timestamp_ms: int) -> Iterator[Batch]:
        """The batches of the log with a time as late as `timestamp_ms`, in order."""
        ...

    def latest(self) -> Batch | None:
        """The first batch with the greatest time.

        Its records may be below the start offset, while they are stored together with others, as in Kafka.
        """
        ...

    def truncate(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset` (a follower whose leader never had them)."""
        ...

    def restart_at(self, offset: int) -> None:
        """Drop everything; the next record gets `offset`."""
        ...

    def raise_start(self, offset: int) -> None:
        """Records below `offset` are not served any more (retention, DeleteRecords)."""
        ...

    def compact(self, plan: Plan) -> Compacted:
        """A pass of the cleaner: what is below the end of `plan` is as it leaves it, durable when this returns."""
        ...

    def configure(self, config: LogConfig) -> None:
        """Its settings are these from now on."""
        ...


def later(one: Batch | None, other: Batch) -> Batch | None:
    """Of two batches the second, if it has a record and is later than the first."""
    is_later = one is None or other.timestamp_ms > one.timestamp_ms
    return other if is_later and other.has_record else one


class MemoryLog:
    """A log in memory. It outlives the broker that uses it, as a disk would."""

    def __init__(self, batches: tuple[Batch, ...] = (), start_offset: int = 0) -> None:
        self.offline: Damaged | None = None
        self.failure: StorageFailure | None = None
        self._batches = list(batches)
        self._start = start_offset
        self._epochs: list[tuple[int, int]] | None = None
        self._latest: Batch | None = None

    @property
    def start_offset(self) -> int:
        """The first offset that is still there."""
        return self._start

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self._batches[-1].last_offset + 1 if self._batches else self._start

    @property
    def durable_offset(self) -> int:
        """The end: a crash of a broker takes nothing from here."""
        return self.end_offset

    @property
    def size_in_bytes(self) -> int:
        """About as many bytes as the batches would be."""
        return sum(map(size_of, self._batches))

    def configure(self, config: LogConfig) -> None:
        """Nothing here depends on settings."""

    @property
    def leader_epochs(self) -> Sequence[tuple[int, int]]:
        """As the batches say, but for those that have none."""
        if self._epochs is None:
            self._epochs = []
            for batch in self._batches:
                self._note_epoch(self._epochs, batch)
        return self._epochs

    @staticmethod
    def _note_epoch(epochs: list[tuple[int, int]], batch: Batch) -> None:
        if batch.leader_epoch != NONE and (not epochs or batch.leader_epoch > epochs[-1][0]):
            epochs.append((batch.leader_epoch, batch.base_offset))

    @property
    def fold_from(self) -> int:
        """The start: there is no index beside the batches."""
        return self._start

    def is_full(self, batch: Batch) -> bool:
        """There are no segments."""
        return False

    def roll(self) -> None:
        """There are no segments."""

    def aborted(self) -> Iterable[AbortedTransaction]:
        """There is no index beside the batches."""
        return ()

    def add_aborted(self, entry: AbortedTransaction) -> None:
        """There is no index beside the batches."""

    def index_aborted_anew(self, entries: Iterable[AbortedTransaction]) -> None:
        """There is no index beside the batches."""

    def flush(self) -> None:
        """There is nothing to be done."""

    def append(self, batch: Batch) -> Batch:
        """Keep `batch`; a batch that already has an offset (a replica's) keeps it."""
        if batch.base_offset == NONE:
            batch = replace(batch, base_offset=self.end_offset)
        elif batch.base_offset < self.end_offset:
            raise ValueError(
                f"a batch at offset {batch.base_offset} cannot follow a log that ends at {self.end_offset}"
            )
        self._batches.append(batch)
        if self._epochs is not None:
            self._note_epoch(self._epochs, batch)
        self._latest = later(self._latest, batch)
        return batch

    def read(self, from_offset: int = 0) -> Iterator[Batch]:
        """Every batch that reaches `from_offset` or goes beyond, in order."""
        first = bisect_left(self._batches, from_offset, key=lambda batch: batch.last_offset)
        return iter(self._batches[first:])

    def read_of_producers(self, from_offset: int) -> Iterator[Batch | DataHeader]:
        """What was written by producer ids from `from_offset` on."""
        return (batch for batch in self.read(from_offset) if batch.producer_id != NONE)

    def read_since(self, timestamp_ms: int) -> Iterator[Batch]:
        """The batches with a time as late as `timestamp_ms`."""
        return (batch for batch in self._batches if batch.timestamp_ms >= timestamp_ms)

    def latest(self) -> Batch | None:
        """The first batch with the greatest time, also of those that were dropped at the front."""
        return self._latest

    def truncate(self, end_offset: int) -> None:
        """Drop every batch at or behind `end_offset`."""
        self._batches, self._epochs = [batch for batch in self._batches if batch.last_offset < end_offset], None
        if self._latest is not None and self._latest.last_offset >= end_offset:
            self._latest = reduce(later, self._batches, None)

    def restart_at(self, offset: int) -> None:
        """Drop everything; the next record gets `offset`."""
        self._batches, self._epochs, self._latest = [], None, None
        self._start = offset

    def raise_start(self, offset: int) -> None:
        """Drop the batches that are wholly below `offset`.

        Raises:
            ValueError: `offset` is behind the end of the log.
        """
        if offset > self.end_offset:
            raise ValueError(f"the log ends at {self.end_offset}; it cannot start at {offset}")
        if offset > self._start:
            end = self.end_offset
            self._batches, self._epochs = [batch for batch in self._batches if batch.last_offset >= offset], None
            self._start = offset if self._batches else end

    def compact(self, plan: Plan) -> Compacted:
        """A pass of the cleaner over everything below the end of `plan`."""
        below = bisect_left(self._batches, plan.end_offset, key=lambda batch: batch.last_offset)
        one = Pass(plan, self._batches)
        kept = [left for batch in self._batches[:below] if (left := one.left_of(batch)) is not None]
        self._batches[:below], self._epochs = kept, None
        self._latest = reduce(later, self._batches, None)
        return Compacted(one.aborted_after(plan.end_offset))
