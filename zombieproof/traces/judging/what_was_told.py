"""What applications were told against what the logs say.

Told "committed" means that every record is visible or about to be (the markers may be under way); told "aborted" that
none ever is. Where the end was not answered, all records must have the same fate. A record that was acknowledged is in
the log. Only what the given logs can decide is judged.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import StrEnum

from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import LoggedBatch, OffsetCommitRecord
from zombieproof.traces.judging.belonging import decision_about, seen
from zombieproof.traces.judging.circumstances import Circumstances, Decided, Harm, Shape
from zombieproof.traces.judging.client_history import ApplicationTransaction, Told
from zombieproof.traces.judging.coordinator_history import IdHistory
from zombieproof.traces.judging.partition_history import PartitionHistory, Run
from zombieproof.traces.judging.progress import Watch
from zombieproof.traces.judging.verdict import Fault, Outcome, named

TOLD = "what_the_application_was_told_is_what_the_logs_say"
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
        self.bases: dict[TopicPartition, list[int]] = {}

    def batch(self, record: Record) -> LoggedBatch | None:
        """The batch that holds a record, a marker too; None where no batch is at its offset."""
        place, offset = record
        history = self.partitions[place]
        bases = self.bases.get(place)
        if bases is None:
            bases = self.bases[place] = [batch.base_offset for batch in history.log.batches]
        index = bisect_right(bases, offset) - 1
        found = history.log.batches[index] if index >= 0 else None
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
        if run.ending.commits is None:
            return Fate.UNKNOWN
        return Fate.COMMITTED if run.ending.commits else Fate.ABORTED


def judge_told(
    applications: Sequence[ApplicationTransaction],
    partitions: Mapping[TopicPartition, PartitionHistory],
    histories: Sequence[IdHistory],
    commits: Sequence[OffsetCommitRecord],
    watch: Watch | None = None,
) -> list[Fault]:
    """The promises that applications saw broken. What another fault explains is added to that fault."""
    judge, watch = _Judge(Records(partitions), histories, commits), watch or Watch()
    found = []
    for application in applications:
        found += judge.records(application)
        found += judge.offsets(application)
        watch.advances(len(application.records))
    return found


class _Judge:
    def __init__(self, records: Records, histories: Sequence[IdHistory], commits: Sequence[OffsetCommitRecord]) -> None:
        self.logs = records
        self.histories = histories
        self.undecided = {
            (txn.producer_id, txn.data_epoch)
            for history in histories
            if not history.is_cut
            for txn in history.transactions
            if txn.outcome is Outcome.OPEN
        }
        self.committed: dict[tuple[str, TopicPartition, int], list[OffsetCommitRecord]] = {}
        for commit in commits:
            if commit.offset is not None and commit.is_transactional:
                key = (commit.group, (commit.topic, commit.partition), commit.offset)
                self.committed.setdefault(key, []).append(commit)

    def records(self, application: ApplicationTransaction) -> list[Fault]:
        """Whether the records of an application have the fate that it was told."""
        fates: dict[Fate, list[Record]] = {}
        for record in dict.fromkeys(application.records):
            fates.setdefault(self.logs.fate(record), []).append(record)
        wrong = self._wrong(application, fates)
        fresh = [record for record in wrong if not self._explained(application, record)]
        if not fresh:
            return []
        promise = "all_or_nothing" if application.told is Told.UNKNOWN and Fate.ABSENT not in fates else TOLD
        return [self._fault(application, promise, fresh, fates)]

    def _wrong(self, application: ApplicationTransaction, fates: dict[Fate, list[Record]]) -> list[Record]:
        """The records whose fate is not what the application was told."""
        absent = fates.get(Fate.ABSENT, [])
        committed, aborted = fates.get(Fate.COMMITTED, []), fates.get(Fate.ABORTED, [])
        if application.told is Told.COMMITTED:
            return aborted + absent + [record for record in fates.get(Fate.OPEN, []) if self._is_undecided(record)]
        if application.told is Told.ABORTED:
            return committed
        if application.told is Told.UNKNOWN and committed and aborted:
            return aborted
        # How many replicas had to acknowledge plain records is not told: with acks=1 one may be lost.
        return [] if application.told is Told.PLAIN else absent

    def _is_undecided(self, record: Record) -> bool:
        """Whether the coordinator's log shows no decision about the record's transaction: then nobody could be told."""
        run = self.logs.run(record)
        return run is not None and (run.producer_id, run.epoch) in self.undecided

    def _explained(self, application: ApplicationTransaction, record: Record) -> bool:
        run = self.logs.run(record) if record[0] in self.logs.partitions else None
        if run is None or not run.faults:
            return False
        if application.told is not Told.UNKNOWN:
            run.faults[0].add(f"application {application.client!r} had been told that it was {application.told}")
        return True

    def _fault(
        self,
        application: ApplicationTransaction,
        promise: str,
        wrong: list[Record],
        fates: dict[Fate, list[Record]],
    ) -> Fault:
        place, offset = wrong[0]
        batch = self.logs.batch(wrong[0])
        is_data = batch is not None and not batch.is_control
        told = f"was told that it was {application.told}"
        if application.told is Told.UNKNOWN:
            told = "had no answer about its end"
        kept = fates.get(Fate.COMMITTED, [])
        others = f", while {_list(kept)} is visible" if kept and application.told is not Told.ABORTED else ""
        message = f"{application} {told}, but {self._became(wrong)}{others}"
        return Fault(
            promise,
            message,
            application.transactional_id,
            batch.producer_id if batch and is_data and batch.producer_id != NONE else None,
            batch.producer_epoch if batch and is_data and batch.producer_id != NONE else None,
            place,
            offset,
            circumstances=self._circumstances(application, wrong),
        )

    def _circumstances(self, application: ApplicationTransaction, wrong: list[Record]) -> Circumstances:
        run = self.logs.run(wrong[0]) if wrong[0][0] in self.logs.partitions else None
        found = Circumstances(
            _shape(application, run),
            data_epoch=run.epoch if run is not None else None,
            decided=self._decided(wrong[0][0], run),
            ended_by=seen(run.ending) if run is not None else None,
            opened_at=run.first_offset if run is not None else None,
            answered_ms=application.answered_ms,
            file=application.file,
            line=application.line,
        )
        visible = run is not None and run.ending is not None and run.ending.commits
        found.harm = Harm.VISIBLE if visible else Harm.STUCK if run is not None and run.ending is None else Harm.LOST
        found.elsewhere = _places([record for record in wrong if record[0] != wrong[0][0]])
        for place, offset in wrong:
            if place == wrong[0][0]:
                found.add_span(offset, offset)
        return found

    def _decided(self, place: TopicPartition, run: Run | None) -> Decided | None:
        """The decision that the marker behind a run carried out: the nearest one before it."""
        if run is None or run.ending is None:
            return None
        ending = run.ending
        near = [
            (abs(ending.timestamp_ms - (txn.prepared_ms or 0)), history.log_partition, txn)
            for history in self.histories
            for txn in history.transactions
            if (txn.producer_id, txn.data_epoch) == (run.producer_id, run.epoch)
            and txn.decided
            and (txn.partitions is None or place in txn.partitions)
        ]
        if not near:
            return None
        _, log_partition, txn = min(near, key=lambda each: each[0])
        return decision_about(txn, log_partition)

    def _became(self, wrong: list[Record]) -> str:
        run = self.logs.run(wrong[0])
        what = _list(wrong)
        if run is None:
            return f"{what} is not in the log"
        if run.ending is None:
            return f"{what} is in a transaction that the coordinator has open still"
        kind = "COMMIT" if run.ending.commits else "ABORT"
        became = "visible" if run.ending.commits else "aborted"
        return f"{what} is {became} by the {kind} marker at offset {run.ending.offset} of {named(wrong[0][0])}"

    def offsets(self, application: ApplicationTransaction) -> list[Fault]:
        """Whether the offsets that an application committed with its transaction count."""
        if application.told is not Told.COMMITTED:
            return []
        found = []
        for group, place, offset in application.offsets:
            candidates = self.committed.get((group, place, offset), [])
            fates = [self._fate_of_commit(commit) for commit in candidates]
            if candidates and all(fate is Fate.ABORTED for fate in fates):
                commit = candidates[-1]
                run = self.logs.run(((CONSUMER_OFFSETS, commit.log_partition), commit.log_offset))
                if run is not None and run.faults:
                    run.faults[0].add(f"application {application.client!r} had been told that it was committed")
                    continue
                found.append(self._lost_offset(application, commit, run))
        return found

    def _fate_of_commit(self, commit: OffsetCommitRecord) -> Fate:
        return self.logs.fate(((CONSUMER_OFFSETS, commit.log_partition), commit.log_offset))

    def _lost_offset(self, application: ApplicationTransaction, commit: OffsetCommitRecord, run: Run | None) -> Fault:
        what = f"offset {commit.offset} of group {commit.group!r} for {commit.topic}-{commit.partition}"
        return Fault(
            TOLD,
            f"{application} was told that it was committed, but {what} was aborted with its record in the log",
            application.transactional_id,
            commit.producer_id,
            commit.producer_epoch,
            (CONSUMER_OFFSETS, commit.log_partition),
            commit.log_offset,
            circumstances=Circumstances(
                Shape.TOLD_COMMITTED,
                Harm.LOST,
                [(commit.log_offset, commit.log_offset)],
                data_epoch=commit.producer_epoch,
                ended_by=seen(run.ending) if run is not None else None,
                answered_ms=application.answered_ms,
                file=application.file,
                line=application.line,
            ),
        )


def _shape(application: ApplicationTransaction, run: Run | None) -> Shape:
    if run is None:
        return Shape.ABSENT
    if application.told is Told.UNKNOWN:
        return Shape.TOLD_NOTHING
    if run.ending is None:
        return Shape.TOLD_UNDECIDED
    return Shape.TOLD_COMMITTED if application.told is Told.COMMITTED else Shape.TOLD_ABORTED


def _list(records: list[Record]) -> str:
    """Records by partition, with runs of offsets joined: "offsets 3 to 4 of t-0, offset 7 of t-1"."""
    return "what it wrote at " + ", ".join(_places(records))


def _places(records: list[Record]) -> list[str]:
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
