"""A log that was cleared, as judges ask of it (`traces.cleared.Cleared`); nothing in it is as long as the log."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.screening.columns import Columns
from zombieproof.screening.kernel import (
    END_EPOCH,
    END_FIELDS,
    END_MARKER_EPOCH,
    END_MARKER_OFFSET,
    UNSEEN,
    End,
    Producer,
)
from zombieproof.screening.outcomes import NO_EPOCH, SeveralLogs, epochs, marker_epochs
from zombieproof.screening.reading import read_columns
from zombieproof.screening.spilling import Pile, Rows, RowsByFirst, SortedRows
from zombieproof.screening.summaries import Summary
from zombieproof.screening.visible import Aborted, ranges
from zombieproof.traces.cleared import NOTHING, Cleared, Coordinators, EndedRun
from zombieproof.traces.readers.files import opened
from zombieproof.traces.readers.segments import read_header, read_payload
from zombieproof.traces.readers.stored_batches import StoredSegment

ABORTED_FIELDS = 5


class ClearedLog:
    """What is left of a log when its segments were screened.

    `rows` are its transactions (`screening.outcomes`), `aborted` rows of producer id, first offset, marker, last stable
    offset and records of those that were. `ends` are all markers, by producer id, or None: they were not kept.
    """

    def __init__(
        self,
        summary: Summary,
        rows: SortedRows,
        aborted: Pile,
        ends: RowsByFirst | None,
        segments: Sequence[StoredSegment],
    ) -> None:
        self._summary, self.rows, self._aborted, self._ends = summary, rows, aborted, ends
        self._segments = segments
        self._open = summary.open_runs()
        self.earliest_ms, self.latest_ms = summary.earliest_ms, summary.latest_ms
        self.is_thinned, self.has_gaps = summary.is_thinned, summary.has_gaps

    def agrees_with(self, coordinators: Coordinators) -> bool:
        """Whether nothing is to be found in the log when it is read with what the coordinator's log tells.

        That is: no data or markers of an epoch of which the coordinator knows no transaction, and no markers that do
        not raise the epoch of their data where transaction version 2 does (M2).
        """
        known = {*coordinators.owners, *(producer_id for producer_id, _ in coordinators.markers)}
        wanted = np.array(sorted(known), dtype=np.int64)
        return all(_agree(rows[np.isin(rows[:, 0], wanted)], coordinators) for rows in self.rows)

    def together(self, others: Sequence[Cleared], owned: Collection[int]) -> SeveralLogs:
        """This log and others, without the producer ids that somebody owns."""
        logs = [self, *(each for each in others if isinstance(each, ClearedLog))]
        assert len(logs) == 1 + len(others), "cleared by one screen"
        return SeveralLogs([each.rows for each in logs], owned)

    def transactional_producers(self) -> Collection[int]:
        """Producer ids with transactional data or markers."""
        return [each for rows in self.rows for each in np.unique(rows[:, 0]).tolist()]

    def coordinator_epochs(self) -> Mapping[int, int]:
        """The highest coordinator epoch in the markers of each producer id."""
        producers = self._summary.producers.items()
        return {pid: each.coordinator for pid, each in producers if each.has_marker}

    def open_runs(self) -> Sequence[EndedRun]:
        """What is open at the end of the log, by first offset."""
        return sorted((_opened(pid, each) for pid, each in self._open.items()), key=lambda run: run.first_offset)

    def runs_of(
        self, producer_ids: Collection[int], matters: Callable[[int], bool] | None = None
    ) -> Iterator[EndedRun] | None:
        """All runs and markers of some producer ids, open ones last, else in log order; None if they were not kept."""
        return None if self._ends is None else self._runs_of(self._ends, set(producer_ids), matters)

    def _runs_of(
        self, ends: RowsByFirst, producer_ids: set[int], matters: Callable[[int], bool] | None
    ) -> Iterator[EndedRun]:
        parts = [ends.between(producer_id, producer_id) for producer_id in sorted(producer_ids)]
        rows = np.concatenate([np.empty((0, END_FIELDS), dtype=np.int64), *parts])
        if matters is not None:
            there = np.unique(rows[:, [END_EPOCH, END_MARKER_EPOCH]]).tolist()
            wanted = np.array([each for each in there if each != UNSEEN and matters(each)], dtype=np.int64)
            rows = rows[np.isin(rows[:, END_EPOCH], wanted) | np.isin(rows[:, END_MARKER_EPOCH], wanted)]
        for row in rows[np.argsort(rows[:, END_MARKER_OFFSET])].tolist():
            yield _ended(End(*row))
        still = producer_ids & self._open.keys()
        yield from sorted((_opened(each, self._open[each]) for each in still), key=lambda run: run.first_offset)

    def aborted(self) -> Iterator[tuple[int, int, int, int]]:
        """Aborted transactions by marker: producer id, first offset, that of the marker, last stable offset there."""
        return (tuple(row) for rows in self._aborted for row in rows[:, :4].tolist())

    def visible(self, start: int, bound: int) -> tuple[int | None, Callable[[], Iterator[tuple[int, int]]]]:
        """What read_committed consumers get from `start` up to, not including, the batch at `bound`."""
        listed = [rows[(rows[:, 2] >= start) & (rows[:, 1] < bound)] for rows in self._aborted]
        skipped = np.concatenate([np.empty((0, ABORTED_FIELDS), dtype=np.int64), *listed])
        count = None
        if bound == self._summary.end and start == self._summary.begin:
            count = self._summary.records - int(skipped[:, 4].sum())
        return count, lambda: self._ranges(Aborted(skipped[:, :3]), start, bound)

    def _ranges(self, aborted: Aborted, start: int, bound: int) -> Iterator[tuple[int, int]]:
        for segment in self._segments:
            with opened(Path(segment.file)) as content, content.data[: segment.size] as data:
                for chunk in read_columns(data, segment.file):
                    columns = chunk.columns
                    shown = aborted.visible(columns, bound)
                    if (columns.record_count == columns.last_offset_delta + 1)[shown].all():
                        yield from ranges(columns, shown, start)
                    else:
                        yield from _left(data, columns, shown, start)
                    if columns.rows and columns.base_offset[-1] >= bound:
                        return


def _agree(rows: Rows, coordinators: Coordinators) -> bool:
    columns = (rows[:, 0], epochs(rows[:, 1]), marker_epochs(rows[:, 1]))
    for producer_id, epoch, marker_epoch in zip(*(column.tolist() for column in columns), strict=True):
        if epoch != NO_EPOCH and coordinators.is_foreign_data(producer_id, epoch):
            return False
        if marker_epoch == NO_EPOCH:
            continue
        if coordinators.is_foreign_marker(producer_id, marker_epoch):
            return False
        raises = coordinators.markers.get((producer_id, marker_epoch), 0) >= TransactionVersion.TV2
        if epoch == marker_epoch and raises:
            return False
    return True


def _left(data: memoryview, columns: Columns, shown: NDArray[np.bool_], start: int) -> Iterator[tuple[int, int]]:
    """Offsets of the records that are left of batches, each for itself."""
    for at in columns.position[shown].tolist():
        batch = read_header(data, at, "")
        if not batch.is_dense:
            batch.records = read_payload(data, batch)
        yield from ((offset, offset + 1) for offset in batch.offsets() if offset >= start)


def _ended(end: End) -> EndedRun:
    has_data = end.first_offset != UNSEEN
    return EndedRun(
        end.producer_id,
        end.epoch if has_data else NOTHING,
        end.first_offset if has_data else NOTHING,
        end.last_offset if has_data else NOTHING,
        end.records if has_data else 0,
        end.first_ms if has_data else NOTHING,
        end.marker_epoch,
        end.marker_offset,
        end.marker_ms,
        bool(end.commits),
    )


def _opened(producer_id: int, each: Producer) -> EndedRun:
    run = (each.run_epoch, each.run_first, each.run_last, each.run_records, each.run_first_ms)
    return EndedRun(producer_id, *run, marker_epoch=NOTHING, marker_offset=NOTHING, marker_ms=NOTHING, commits=False)
