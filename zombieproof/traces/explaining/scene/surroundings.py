"""What the explanations of one report look up again and again, each index made once."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.evidence import Evidence, LoggedBatch, OffsetCommitRecord, PartitionLog, TransactionStateRecord
from zombieproof.traces.explaining.scene.broker_lines import BrokerLines
from zombieproof.traces.readers.files import opened


class Log:
    """A partition's log with its batches found by offset."""

    def __init__(self, log: PartitionLog) -> None:
        self.log = log

    def _behind(self, offset: int) -> int:
        """How many batches begin at an offset or before it."""
        return bisect_right(self.log.batches, offset, key=lambda batch: batch.base_offset)

    def at(self, offset: int) -> LoggedBatch | None:
        """The batch that holds an offset."""
        index = self._behind(offset) - 1
        found = self.log.batches[index] if index >= 0 else None
        return found if found is not None and offset <= found.last_offset else None

    def between(self, first: int, last: int) -> list[LoggedBatch]:
        """The batches that hold an offset from first to last."""
        begin = max(0, self._behind(first) - 1)
        found = self.log.batches[begin : self._behind(last)]
        return [batch for batch in found if batch.last_offset >= first]

    def behind(self, offset: int) -> LoggedBatch | None:
        """The first batch that begins behind an offset."""
        index = self._behind(offset)
        return self.log.batches[index] if index < len(self.log.batches) else None

    def before(self, offset: int, producer_id: int | None = None) -> LoggedBatch | None:
        """The last batch that begins in front of an offset, of one producer if it is named."""
        for index in range(self._behind(offset - 1) - 1, -1, -1):
            batch = self.log.batches[index]
            if producer_id is None or batch.producer_id == producer_id:
                return batch
        return None


class LastFile:
    """The file that was opened last, kept open: what is read again often lies in the same one."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._file: str | None = None
        self._data = memoryview(b"")

    def data(self, file: str) -> memoryview:
        """What a file holds, unpacked; valid until another one is asked for.

        Raises:
            OSError: the file cannot be opened.
        """
        if file != self._file:
            self.close()
            self._data = self._open.enter_context(opened(Path(file))).data
            self._file = file
        return self._data

    def close(self) -> None:
        """Close what is open."""
        self._file, self._data = None, memoryview(b"")
        self._open.close()


class Surroundings:
    """The evidence of one report, indexed."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.files = LastFile()
        self._logs: dict[TopicPartition, Log | None] = {}

    def log(self, place: TopicPartition) -> Log | None:
        """The copy of a partition that was judged."""
        if place not in self._logs:
            log = self.evidence.log(*place)
            self._logs[place] = Log(log) if log is not None else None
        return self._logs[place]

    @cached_property
    def _states(self) -> dict[tuple[str, int], list[TransactionStateRecord]]:
        found: dict[tuple[str, int], list[TransactionStateRecord]] = {}
        for record in self.evidence.transaction_states:
            if record.value is not None:
                found.setdefault((record.transactional_id, record.value.producer_id), []).append(record)
        return found

    def states(self, transactional_id: str | None, producer_id: int | None) -> Sequence[TransactionStateRecord]:
        """The records of a transactional id with a producer id, in log order; tombstones are not among them."""
        if transactional_id is None or producer_id is None:
            return ()
        return self._states.get((transactional_id, producer_id), ())

    @cached_property
    def commits_of_producers(self) -> dict[tuple[int, int], list[OffsetCommitRecord]]:
        """Positions of groups by producer id and epoch, in log order."""
        found: dict[tuple[int, int], list[OffsetCommitRecord]] = {}
        for commit in self.evidence.offset_commits:
            found.setdefault((commit.producer_id, commit.producer_epoch), []).append(commit)
        return found

    @cached_property
    def commits_of_groups(self) -> dict[tuple[str, str, int, int], list[OffsetCommitRecord]]:
        """Positions by group, topic, partition, and partition of the offsets topic, in log order."""
        found: dict[tuple[str, str, int, int], list[OffsetCommitRecord]] = {}
        for commit in self.evidence.offset_commits:
            found.setdefault((commit.group, commit.topic, commit.partition, commit.log_partition), []).append(commit)
        return found

    @cached_property
    def coordinator_epochs(self) -> dict[int, int]:
        """The highest coordinator epoch of each producer's markers, on all partitions."""
        found: dict[int, int] = {}
        for log in self.evidence.logs:
            for producer_id, epoch in _coordinator_epochs(log):
                found[producer_id] = max(epoch, found.get(producer_id, epoch))
        return found

    @cached_property
    def broker_lines(self) -> BrokerLines:
        """Lines of brokers' logs, by transactional id and by partition."""
        return BrokerLines(self.evidence)


def _coordinator_epochs(log: PartitionLog) -> Iterable[tuple[int, int]]:
    if log.cleared is not None:
        return log.cleared.coordinator_epochs().items()
    markers = ((batch.producer_id, batch.marker) for batch in log.batches)
    return ((producer_id, marker.coordinator_epoch) for producer_id, marker in markers if marker is not None)
