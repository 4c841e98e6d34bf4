"""What became of each record that an application wrote."""

from bisect import bisect_right
from collections.abc import Mapping
from enum import StrEnum

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import LoggedBatch
from zombieproof.traces.judging.histories.partition_history import PartitionHistory, Run
from zombieproof.traces.verdict.report import named

Record = tuple[TopicPartition, int]


class Fate(StrEnum):
    """What became of a record. UNKNOWN: the evidence does not tell."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Records:
    """The fate of each record of the given partitions."""

    def __init__(self, partitions: Mapping[TopicPartition, PartitionHistory]) -> None:
        self.partitions = partitions

    def batch(self, record: Record) -> LoggedBatch | None:
        """The batch that holds a record, a marker too; None where no batch is at its offset."""
        place, offset = record
        history = self.partitions[place]
        batches = history.log.batches
        index = bisect_right(batches, offset, key=lambda batch: batch.base_offset) - 1
        found = batches[index] if index >= 0 else None
        return found if found is not None and offset <= found.last_offset else None

    def run(self, record: Record) -> Run | None:
        """The transaction on the partition to which a record belongs."""
        batch = self.batch(record)
        if batch is None or not batch.is_transactional or batch.producer_id == NONE:
            return None
        return self.partitions[record[0]].run_at(batch.producer_id, record[1])

    def fate(self, record: Record) -> Fate:
        """What became of a record."""
        place, offset = record
        history = self.partitions.get(place)
        if history is None or offset < history.log.start_offset:
            return Fate.UNKNOWN
        batch = self.batch(record)
        if batch is None:
            # In a gap there was something: it was cleaned away, or cannot be read.
            beyond = offset >= history.log.end_offset and not history.log.torn_tail
            return Fate.ABSENT if beyond else Fate.UNKNOWN
        if batch.is_control:
            return Fate.ABSENT
        if not batch.is_transactional or batch.producer_id == NONE:
            return Fate.COMMITTED
        run = self.run(record)
        if run is None or run.ending is None:
            return Fate.OPEN if run is not None and not run.interrupted else Fate.UNKNOWN
        if run.ending.commits is None or offset < run.readable_from:
            return Fate.UNKNOWN
        return Fate.COMMITTED if run.ending.commits else Fate.ABORTED


def written(records: list[Record]) -> str:
    """Records by partition, with runs of offsets joined: "offsets 3 to 4 of t-0, offset 7 of t-1"."""
    return "what it wrote at " + ", ".join(places(records))


def places(records: list[Record]) -> list[str]:
    """Records by partition, in words."""
    by_place: dict[TopicPartition, list[int]] = {}
    for place, offset in records:
        by_place.setdefault(place, []).append(offset)
    return [f"{_ranges(sorted(offsets))} of {named(place)}" for place, offsets in by_place.items()]


def _ranges(offsets: list[int]) -> str:
    ranges: list[list[int]] = []
    for offset in offsets:
        if ranges and offset == ranges[-1][1] + 1:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    words = [str(first) if first == last else f"{first} to {last}" for first, last in ranges[:3]]
    more = f" and {len(ranges) - 3} more" if len(ranges) > 3 else ""
    return ("offset " if len(offsets) == 1 else "offsets ") + ", ".join(words) + more
