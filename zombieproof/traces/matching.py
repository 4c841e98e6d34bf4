"""Markers on partitions beside the transactions that list them: what belongs together, and what is left over."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from zombieproof.traces.alignment import agrees, align
from zombieproof.traces.coordinator_history import IdHistory
from zombieproof.traces.evidence import TopicPartition
from zombieproof.traces.partition_history import Ending, PartitionHistory
from zombieproof.traces.recorded_transactions import RecordedTransaction


@dataclass(slots=True)
class Missed:
    """A completed transaction without its marker on a partition, and the markers around where it should be."""

    txn: RecordedTransaction
    before: Ending | None
    after: Ending | None


@dataclass(slots=True)
class Match:
    """What was found for one producer id on one partition.

    `marked` holds (by identity) the transactions that have their marker here, `contrary` markers that say the opposite
    of what was decided, `unmatched` the markers of no transaction, `missed` transactions without marker.
    """

    history: IdHistory
    partition: PartitionHistory
    producer_id: int
    listed: list[RecordedTransaction]
    marked: set[int] = field(default_factory=set)
    contrary: list[tuple[Ending, RecordedTransaction]] = field(default_factory=list)
    unmatched: list[Ending] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)

    @property
    def place(self) -> TopicPartition:
        """The topic partition."""
        return self.partition.place


def listed_by_partition(
    histories: Sequence[IdHistory],
) -> dict[TopicPartition | None, dict[int, list[RecordedTransaction]]]:
    """Transactions by partition and producer id, in order; None for those whose partitions are not known."""
    found: dict[TopicPartition | None, dict[int, list[RecordedTransaction]]] = {}
    for history in histories:
        for txn in history.transactions:
            for place in (None,) if txn.partitions is None else txn.partitions:
                found.setdefault(place, {}).setdefault(txn.producer_id, []).append(txn)
    return found


def match(
    history: IdHistory, partition: PartitionHistory, producer_id: int, listed: list[RecordedTransaction]
) -> Match:
    """Align markers and transactions of one producer id on one partition, an epoch at a time."""
    found = Match(history, partition, producer_id, listed)
    by_epoch: dict[int, tuple[list[Ending], list[RecordedTransaction]]] = {}
    for ending in partition.endings.get(producer_id, ()):
        by_epoch.setdefault(ending.epoch, ([], []))[0].append(ending)
    for txn in listed:
        if txn.marker_epoch is not None:
            by_epoch.setdefault(txn.marker_epoch, ([], []))[1].append(txn)
    for endings, transactions in by_epoch.values():
        _match_epoch(found, endings, transactions)
    return found


def _match_epoch(found: Match, endings: list[Ending], transactions: list[RecordedTransaction]) -> None:
    partition = found.partition
    alignment = align(
        endings,
        transactions,
        (lambda _: True) if partition.is_compacted else _may_be_missed,
        begins_later=partition.log.start_offset > 0,
    )
    first_marker: dict[int, Ending] = {}
    for ending, index in zip(endings, alignment.owner, strict=True):
        if index is None:
            found.unmatched.append(ending)
            continue
        first_marker.setdefault(index, ending)
        found.marked.add(id(transactions[index]))
        if not agrees(ending, transactions[index]):
            found.contrary.append((ending, transactions[index]))
    marked = sorted(first_marker)
    for index in alignment.missed:
        if not _may_be_missed(transactions[index]):
            place = bisect_left(marked, index)
            before = first_marker[marked[place - 1]] if place > 0 else None
            after = first_marker[marked[place]] if place < len(marked) else None
            found.missed.append(Missed(transactions[index], before, after))


def _may_be_missed(txn: RecordedTransaction) -> bool:
    """Markers of a decided transaction may be under way until it is complete (reference §2.10)."""
    return not txn.completed or txn.partitions is None
