"""The history of a partition: what its log holds of each producer id.

What the leader holds as one open transaction is a `Run`; the marker that ends it (or ends nothing) is an `Ending`.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.cleared import Cleared
from zombieproof.traces.evidence import PartitionLog
from zombieproof.traces.log_life import Began, began
from zombieproof.traces.verdict.faults import Fault


@dataclass(slots=True)
class Stretch:
    """Data of one epoch inside a run: offsets of its first and last batch, and how many records are left."""

    epoch: int
    first_offset: int
    last_offset: int
    records: int
    first_ms: int


@dataclass(slots=True)
class Run:
    """Transactional data of one producer id between two of its markers. `faults` are those that its log alone shows.

    `interrupted`: an unreadable place is in it or after it, which may have held its marker; what became of its
    records below `readable_from` is then not known.
    """

    producer_id: int
    stretches: list[Stretch] = field(default_factory=list)
    ending: "Ending | None" = None
    interrupted: bool = False
    readable_from: int = NONE
    faults: list[Fault] = field(default_factory=list)

    @property
    def first_offset(self) -> int:
        """The offset at which the transaction opened."""
        return self.stretches[0].first_offset

    @property
    def last_offset(self) -> int:
        """The offset of its last record."""
        return self.stretches[-1].last_offset

    @property
    def first_ms(self) -> int:
        """The time of its first batch."""
        return self.stretches[0].first_ms

    @property
    def epoch(self) -> int:
        """The epoch of its last data."""
        return self.stretches[-1].epoch

    @property
    def records(self) -> int:
        """Records that are left of it."""
        return sum(stretch.records for stretch in self.stretches)

    def stretch_of(self, epoch: int) -> Stretch | None:
        """Its data of one epoch."""
        return next((stretch for stretch in self.stretches if stretch.epoch == epoch), None)


@dataclass(slots=True)
class Ending:
    """A marker. `commits` is None where the source does not show what it decides. `run` is what it ended, if anything.

    `fault` is set when the leader would have refused the marker.
    """

    producer_id: int
    epoch: int
    commits: bool | None
    offset: int
    timestamp_ms: int
    run: Run | None
    fault: Fault | None = None


class OwnedRuns(Protocol):
    """Runs and endings of producer ids on a cleared log, made when they are asked for."""

    def __contains__(self, producer_id: int) -> bool:
        """Whether it has those of this one."""

    def near(self, producer_id: int, matters: Callable[[int], bool]) -> tuple[list[Run], list[Ending]]:
        """Those alone of which an epoch matters, and what is open."""


@dataclass(slots=True)
class PartitionHistory:
    """What a partition's log tells: runs and endings by producer id in log order, and the faults found in it alone.

    Of a log that a screen `cleared`, asking for runs and endings of producer ids without an owner takes a fold; what is
    open at its end is in `open_runs`, and `owned` makes those of other producer ids. `created_ms` is when the partition
    was created, where a record of that was given.
    """

    log: PartitionLog
    runs: Mapping[int, list[Run]] = field(default_factory=dict)
    endings: Mapping[int, list[Ending]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    earliest_ms: int | None = None
    cleared: Cleared | None = None
    open_runs: Mapping[int, Run] = field(default_factory=dict)
    owned: "OwnedRuns | None" = None
    created_ms: int | None = None
    _compacted: bool | None = None
    _began: Began | None = field(default=None, repr=False)

    @property
    def is_compacted(self) -> bool:
        """Whether the log shows that the cleaner was there."""
        if self._compacted is None:
            self._compacted = self.log.compacted
        return self._compacted

    @property
    def began(self) -> Began:
        """When the log began."""
        if self._began is None:
            self._began = began(self.log, self.created_ms)
        return self._began

    @property
    def place(self) -> TopicPartition:
        """The topic partition."""
        return self.log.topic_partition

    def runs_of_faults(self) -> dict[int, list[Run]]:
        """By the identity of a fault that the log alone shows, the runs that it is about, in log order."""
        found: dict[int, list[Run]] = {}
        if not self.faults:
            return found
        for runs in self.runs.values():
            for run in runs:
                for fault in dict.fromkeys(map(id, run.faults)):
                    found.setdefault(fault, []).append(run)
        return found

    def transactional_producers(self) -> set[int]:
        """The producer ids that have runs or markers."""
        if self.cleared is not None:
            return set(self.cleared.transactional_producers())
        return {*self.runs, *self.endings}

    def undisclosed(self) -> list[int]:
        """Offsets of markers of which the source does not show what they decide."""
        if self.cleared is not None:
            return []
        return [each.offset for here in self.endings.values() for each in here if each.commits is None]

    def open_run(self, producer_id: int) -> Run | None:
        """What the producer id has open at the end of the log."""
        if self.cleared is not None:
            return self.open_runs.get(producer_id)
        runs = self.runs.get(producer_id)
        return runs[-1] if runs and runs[-1].ending is None else None

    def near(self, producer_id: int, matters: Callable[[int], bool]) -> tuple[list[Run], list[Ending]]:
        """Runs and endings of a producer id; of a cleared log at least those of which an epoch matters."""
        if self.owned is not None and producer_id in self.owned:
            return self.owned.near(producer_id, matters)
        return self.runs.get(producer_id, []), self.endings.get(producer_id, [])

    def run_at(self, producer_id: int, offset: int) -> Run | None:
        """The run that holds the data at `offset`."""
        runs = self.runs.get(producer_id, [])
        index = bisect_right(runs, offset, key=lambda run: run.first_offset) - 1
        return runs[index] if index >= 0 and offset <= runs[index].last_offset else None
