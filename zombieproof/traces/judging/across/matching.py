"""Markers on partitions beside the transactions that list them: what belongs together, and what is left over."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.judging.across.alignment import agrees, align
from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory, Run
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction


@dataclass(slots=True)
class Missed:
    """A completed transaction without its marker on a partition, and the markers around where it should be."""

    txn: RecordedTransaction
    before: Ending | None
    after: Ending | None


@dataclass(slots=True)
class Match:
    """What was found for one producer id on one partition.

    `runs` are its runs here that may matter, `marked` holds (by identity) the transactions that have their marker here,
    `contrary` markers that say the opposite of what was decided, `unmatched` the markers of no transaction, `missed`
    transactions without marker. `owners` are the transactions of markers, by the identity of the marker, `open_owner`
    that of the data that is open at the end of the log.
    """

    history: IdHistory
    partition: PartitionHistory
    producer_id: int
    listed: list[RecordedTransaction]
    runs: list[Run]
    marked: set[int] = field(default_factory=set)
    contrary: list[tuple[Ending, RecordedTransaction]] = field(default_factory=list)
    unmatched: list[Ending] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)
    owners: dict[int, RecordedTransaction] = field(default_factory=dict)
    open_owner: RecordedTransaction | None = None

    def owner_of(self, run: Run) -> RecordedTransaction | None:
        """The transaction that a run belongs to, by the marker that ended it."""
        return self.open_owner if run.ending is None else self.owners.get(id(run.ending))

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
    """Align markers and transactions of one producer id on one partition, an epoch at a time.

    What has an epoch of none of them, of which the coordinator's log does not tell everything either, says nothing.
    """
    epochs = {epoch for txn in listed for epoch in (txn.data_epoch, txn.marker_epoch)}
    runs, all_endings = partition.near(
        producer_id, lambda epoch: epoch in epochs or history.is_whole(producer_id, epoch)
    )
    found = Match(history, partition, producer_id, listed, runs)
    by_epoch: dict[int, tuple[list[Ending], list[RecordedTransaction]]] = {}
    for ending in all_endings:
        by_epoch.setdefault(ending.epoch, ([], []))[0].append(ending)
    owner = found.open_owner = _owner_of_open_data(partition.open_run(producer_id), listed)
    for txn in listed:
        if txn.marker_epoch is not None and txn is not owner:
            by_epoch.setdefault(txn.marker_epoch, ([], []))[1].append(txn)
    marker_of: dict[int, Ending] = {}
    missed: set[int] = set()
    for endings, transactions in by_epoch.values():
        missed |= _match_epoch(found, endings, transactions, marker_of)
    before: Ending | None = None
    waiting: list[Missed] = []
    for txn in listed:
        if id(txn) in missed:
            waiting.append(Missed(txn, before, None))
        elif id(txn) in marker_of:
            before = marker_of[id(txn)]
            found.missed += (Missed(each.txn, each.before, before) for each in waiting)
            waiting = []
    found.missed += waiting
    found.marked = set(marker_of)
    return found


def _owner_of_open_data(run: Run | None, listed: list[RecordedTransaction]) -> RecordedTransaction | None:
    """What is open at the end of the log belongs to the last transaction, if its markers can be under way still."""
    last = listed[-1] if listed else None
    if run is None or last is None or last.completed or last.data_epoch != run.epoch:
        return None
    return last


def _match_epoch(
    found: Match, endings: list[Ending], transactions: list[RecordedTransaction], marker_of: dict[int, Ending]
) -> set[int]:
    """Match within one epoch: first markers of transactions go into `marker_of`, transactions without are returned."""
    partition = found.partition
    alignment = align(
        endings,
        transactions,
        lambda txn: partition.is_compacted or may_be_missed(txn) or partition.began.may_be_after(txn.completed_ms),
        begins_later=partition.log.start_offset > 0,
        ends_earlier=partition.log.torn_tail,
    )
    for ending, index in zip(endings, alignment.owner, strict=True):
        if index is None:
            found.unmatched.append(ending)
            continue
        marker_of.setdefault(id(transactions[index]), ending)
        found.owners[id(ending)] = transactions[index]
        if not agrees(ending, transactions[index]):
            found.contrary.append((ending, transactions[index]))
    missed = (transactions[index] for index in alignment.missed)
    return {id(txn) for txn in missed if not may_be_missed(txn)}


def may_be_missed(txn: RecordedTransaction) -> bool:
    """Markers of a decided transaction may be under way until it is complete (reference §2.10)."""
    return not txn.completed or txn.partitions is None or txn.is_doubtful
