"""What applications were told against what the logs say.

Told "committed" means that every record is visible or about to be (the markers may be under way); told "aborted" that
none ever is. Where the end was not answered, all records must have the same fate. A record that was acknowledged is in
the log. Only what the given logs can decide is judged.
"""

from collections.abc import Collection, Iterator, Sequence

from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import OffsetCommitRecord
from zombieproof.traces.judging.across.fates import Fate, Record, Records, places, written
from zombieproof.traces.judging.folded import Folded, Outside
from zombieproof.traces.judging.found import Found
from zombieproof.traces.judging.histories.belonging import decision_about, seen
from zombieproof.traces.judging.histories.client_history import ApplicationTransaction, Told
from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_history import Run
from zombieproof.traces.log_life import CLOCKS_APART_MS
from zombieproof.traces.verdict.circumstances import Circumstances, CoordinatorDecision, Harm, Shape
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import TransactionOutcome, named
from zombieproof.traces.watching import Watch

TOLD = "what_the_application_was_told_is_what_the_logs_say"


def judge_told(folded: Folded, watch: Watch) -> list[Found]:
    """The promises that applications saw broken."""
    judge = _Judge(Records(folded.partitions), folded)
    found: list[Found] = []
    for application in folded.applications:
        found += judge.records(application)
        found += judge.offsets(application)
        watch.advances(len(application.records))
    return found


class _Judge:
    def __init__(self, records: Records, folded: Folded) -> None:
        self.logs, self.outside = records, folded.outside
        self.histories: Sequence[IdHistory] = folded.histories
        histories, commits = folded.histories, folded.evidence.offset_commits
        self.undecided = {
            (txn.producer_id, txn.data_epoch)
            for history in histories
            if not history.is_cut
            for txn in history.transactions
            if txn.outcome is TransactionOutcome.OPEN
        }
        self.committed: dict[tuple[str, TopicPartition, int], list[OffsetCommitRecord]] = {}
        for commit in commits:
            if commit.offset is not None and commit.is_transactional:
                key = (commit.group, (commit.topic, commit.partition), commit.offset)
                self.committed.setdefault(key, []).append(commit)

    def records(self, application: ApplicationTransaction) -> Iterator[Found]:
        """Whether the records of an application have the fate that it was told."""
        fates: dict[Fate, list[Record]] = {}
        for record in dict.fromkeys(application.records):
            fate = Fate.UNKNOWN if self._is_of_an_earlier_log(application, record) else self.logs.fate(record)
            fates.setdefault(fate, []).append(record)
        wrong = self._wrong(application, fates)
        if not wrong:
            return
        promise = "all_or_nothing" if application.told is Told.UNKNOWN and Fate.ABSENT not in fates else TOLD
        runs = {record: self._run(record) for record in wrong}

        def without(explained: Collection[int]) -> Fault | None:
            left = [record for record in wrong if id(runs[record]) not in explained]
            return self._fault(application, promise, left, fates) if left else None

        touched = {id(run): run for run in runs.values() if run is not None}
        says = "" if application.told is Told.UNKNOWN else _had_been_told(application)
        fault = self._fault(application, promise, wrong, fates)
        yield Found(fault, tuple(touched.values()), says=says, without=without)

    def _is_of_an_earlier_log(self, application: ApplicationTransaction, record: Record) -> bool:
        """Whether a record was acknowledged before the present log of its partition began; then that is noted."""
        history = self.logs.partitions.get(record[0])
        if history is None or record not in application.told_ms:
            return False
        began, told_ms = history.began, application.told_ms[record]
        if not (began.may_be_after(told_ms) if began.is_recorded else began.is_after(told_ms, CLOCKS_APART_MS)):
            return False
        outside = self.outside.setdefault(record[0], Outside())
        noted = outside.earlier if began.is_recorded and began.is_after(told_ms) else outside.unknown
        noted[record] = f"application {application.client!r} was told of offset {record[1]}"
        return True

    def _run(self, record: Record) -> Run | None:
        return self.logs.run(record) if record[0] in self.logs.partitions else None

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
        answer = f"was told that it was {application.told}"
        if application.told is Told.UNKNOWN:
            answer = "had no answer about its end"
        kept = fates.get(Fate.COMMITTED, [])
        others = f", while {written(kept)} is visible" if kept and application.told is not Told.ABORTED else ""
        message = f"{application} {answer}, but {self._became(wrong)}{others}"
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
        run = self._run(wrong[0])
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
        found.elsewhere = places([record for record in wrong if record[0] != wrong[0][0]])
        for place, offset in wrong:
            if place == wrong[0][0]:
                found.add_span(offset, offset)
        return found

    def _decided(self, place: TopicPartition, run: Run | None) -> CoordinatorDecision | None:
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
        what = written(wrong)
        if run is None:
            return f"{what} is not in the log"
        if run.ending is None:
            return f"{what} is in a transaction that the coordinator has open still"
        kind = "COMMIT" if run.ending.commits else "ABORT"
        became = "visible" if run.ending.commits else "aborted"
        return f"{what} is {became} by the {kind} marker at offset {run.ending.offset} of {named(wrong[0][0])}"

    def offsets(self, application: ApplicationTransaction) -> Iterator[Found]:
        """Whether the offsets that an application committed with its transaction count."""
        if application.told is not Told.COMMITTED:
            return
        for group, place, offset in application.offsets:
            candidates = self.committed.get((group, place, offset), [])
            fates = [self._fate_of_commit(commit) for commit in candidates]
            if candidates and all(fate is Fate.ABORTED for fate in fates):
                commit = candidates[-1]
                run = self.logs.run(((CONSUMER_OFFSETS, commit.log_partition), commit.log_offset))
                fault = self._lost_offset(application, commit, run)
                yield Found(fault, () if run is None else (run,), says=_had_been_told(application))

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


def _had_been_told(application: ApplicationTransaction) -> str:
    return f"application {application.client!r} had been told that it was {application.told}"


def _shape(application: ApplicationTransaction, run: Run | None) -> Shape:
    if run is None:
        return Shape.ABSENT
    if application.told is Told.UNKNOWN:
        return Shape.TOLD_NOTHING
    if run.ending is None:
        return Shape.TOLD_UNDECIDED
    return Shape.TOLD_COMMITTED if application.told is Told.COMMITTED else Shape.TOLD_ABORTED
