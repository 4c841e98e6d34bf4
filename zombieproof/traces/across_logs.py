"""Promises that span logs: what the coordinator decided against what lies on the partitions.

For each partition and producer id, markers are put beside the transactions that list the partition (`alignment`), and
what is left over on either side is a fault, unless the evidence that would explain it can be missing: cleaned away by
compaction or retention, in an unreadable place, or in a part of a log that was not given.
"""

from collections.abc import Iterable, Sequence

from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.traces.alignment import agrees
from zombieproof.traces.coordinator_history import IdHistory
from zombieproof.traces.evidence import OFFSETS_TOPIC
from zombieproof.traces.matching import Match, Missed, listed_by_partition, match
from zombieproof.traces.partition_history import Ending, PartitionHistory, Run
from zombieproof.traces.recorded_transactions import RecordedTransaction
from zombieproof.traces.verdict import Fault, Outcome, named


def judge_across(histories: Sequence[IdHistory], partitions: Iterable[PartitionHistory]) -> list[Fault]:
    """The faults that show only when logs are put beside each other; what they explain of one log is taken in."""
    owners: dict[int, IdHistory] = {}
    for history in histories:
        for producer_id in history.producer_ids:
            owners.setdefault(producer_id, history)
    listed = listed_by_partition(histories)
    partitions = list(partitions)
    faults: list[Fault] = []
    for partition in partitions:
        here = listed.get(partition.place, {})
        for producer_id in sorted({*partition.runs, *partition.endings, *here}):
            if producer_id in owners:
                somewhere = listed.get(None, {}).get(producer_id, [])
                wanted = sorted(here.get(producer_id, []) + somewhere, key=lambda txn: txn.position)
                faults += _Judge(match(owners[producer_id], partition, producer_id, wanted)).faults()
    faults += _outcomes_without_coordinator(partitions, owners)
    for fault in [*faults, *(fault for partition in partitions for fault in partition.faults)]:
        if fault.transactional_id is None and fault.producer_id in owners:
            fault.transactional_id = owners[fault.producer_id].transactional_id
    return faults


class _Judge:
    """What is left over once markers and transactions were aligned."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self.partition, self.history = match.partition, match.history
        self.log = match.partition.log
        self.unmatched = list(match.unmatched)

    def faults(self) -> list[Fault]:
        """The faults of one producer id on one partition."""
        found = [self._contrary(ending, txn) for ending, txn in self.match.contrary]
        found += [self._missed(missed) for missed in self.match.missed]
        found += [self._undecided(ending) for ending in self.unmatched]
        return [fault for fault in [*found, self._open()] if fault is not None]

    def _is_the_only_one(self, ending: Ending, txn: RecordedTransaction) -> bool:
        """Whether the marker can be of no other transaction: its epoch is (version 2), or nothing is missing."""
        same_epoch = sum(other.marker_epoch == ending.epoch for other in self.match.listed)
        if txn.version == TransactionVersion.TV2 and same_epoch == 1:
            return True
        return not self.log.damaged_at and self.history.is_whole(ending.producer_id, ending.epoch)

    def _contrary(self, ending: Ending, txn: RecordedTransaction) -> Fault | None:
        if not self._is_the_only_one(ending, txn):
            return None
        place = self.match.place
        offsets = place[0] == OFFSETS_TOPIC
        decided = f"{txn.transactional_id!r} ({_identity(txn)}) was decided to {txn.outcome}"
        message = f"the marker at offset {ending.offset} of {named(place)} says {_kind(ending)}, but {decided}"
        if ending.run is not None:
            what = "offsets of groups" if offsets else "records"
            effect = "count" if ending.commits else "are lost"
            span = _offsets(ending.run.first_offset, ending.run.last_offset)
            message += f": its {what} at {span} {effect} all the same"
        promise = "committed_offsets_follow_their_transaction" if offsets else "same_outcome_on_every_partition"
        return self._at(ending, promise, message)

    # ---- a transaction without its marker

    def _missed(self, missed: Missed) -> Fault | None:
        txn = missed.txn
        wrong = next((ending for ending in self.unmatched if _is_for(ending, txn)), None)
        if wrong is not None:
            self.unmatched.remove(wrong)
            return self._wrong_epoch(wrong, txn)
        run = self._data_of(missed)
        if not self._is_certain(missed, run):
            return None
        return self._without_marker(missed, run)

    def _wrong_epoch(self, ending: Ending, txn: RecordedTransaction) -> Fault | None:
        """The marker is there, but under another epoch than was decided."""
        expected = f"the coordinator decided {txn.outcome} under epoch {txn.marker_epoch}"
        if ending.fault is not None:
            ending.fault.add(expected)
            return None
        found = f"the {_kind(ending)} marker at offset {ending.offset} of {named(self.match.place)}"
        message = f"{found} has epoch {ending.epoch}, but {expected}"
        return self._at(ending, "marker_follows_a_decision", message)

    def _data_of(self, missed: Missed) -> Run | None:
        """The run that holds data of a transaction without marker: it stands between the markers around it."""
        begin = missed.before.offset if missed.before else -1
        end = missed.after.offset if missed.after else self.log.end_offset
        for run in self.partition.runs.get(self.match.producer_id, ()):
            stretch = run.stretch_of(missed.txn.data_epoch) if missed.txn.data_epoch is not None else None
            if stretch is not None and stretch.records and begin < stretch.first_offset < end:
                return run
        return None

    def _is_certain(self, missed: Missed, run: Run | None) -> bool:
        """Whether the marker would be in the evidence if it had been written."""
        txn, log = missed.txn, self.log
        # Under the old protocol an epoch has many transactions: which of them wrote the data is not told.
        alone = sum(other.data_epoch == txn.data_epoch for other in self.match.listed) == 1
        begin = run.first_offset if run and alone else missed.before.offset if missed.before else -1
        end = missed.after.offset if missed.after else None
        if log.torn_tail and end is None:
            return False
        if any(begin < hole and (end is None or hole <= end) for hole in log.damaged_at):
            return False
        cleaned = self.partition.is_compacted or log.start_offset > 0
        if run is not None:
            return alone or not cleaned or (missed.before is not None and not self.partition.is_compacted)
        if self.partition.is_compacted:
            return False
        if missed.before is not None:
            return True
        # The partition may have been created, or created anew, after the transaction was complete.
        earliest = self.partition.earliest_ms
        return not cleaned and None not in (earliest, txn.completed_ms) and (earliest or 0) <= (txn.completed_ms or 0)

    def _without_marker(self, missed: Missed, run: Run | None) -> Fault:
        txn, place = missed.txn, named(self.match.place)
        lacks = f"{txn.transactional_id!r} ({_identity(txn)}) is recorded as complete ({txn.outcome}) and lists {place}"
        wanted = f"the {_word(txn)} marker with epoch {txn.marker_epoch} is missing there"
        stretch = run.stretch_of(txn.data_epoch) if run and txn.data_epoch is not None else None
        offset = stretch.first_offset if stretch else missed.after.offset if missed.after else self.log.end_offset
        fault = Fault(
            "every_listed_partition_has_its_marker",
            f"{lacks}, but {wanted}",
            txn.transactional_id,
            txn.producer_id,
            txn.data_epoch,
            self.match.place,
            offset,
        )
        if run is not None and stretch is not None:
            fault.message += f" behind its data at {_offsets(stretch.first_offset, stretch.last_offset)}"
            self._take_in(fault, run, stretch.epoch)
            fault.add(self._what_became(run, txn))
            run.faults.append(fault)
        return fault

    def _take_in(self, fault: Fault, run: Run, epoch: int) -> None:
        """Data of a newer epoch in the run is a symptom of the missing marker, not a fault of its own."""
        for symptom in [*run.faults]:
            if symptom.promise == "a_new_epoch_begins_behind_a_marker" and symptom.producer_epoch == epoch:
                run.faults.remove(symptom)
                self.partition.faults.remove(symptom)
                joined = next(stretch for stretch in run.stretches if stretch.epoch > epoch)
                fault.add(f"data of epoch {joined.epoch} at offset {joined.first_offset} joined what it left open")

    def _what_became(self, run: Run, txn: RecordedTransaction) -> str:
        if run.ending is None:
            return f"the last stable offset stays at {run.first_offset} until somebody ends it"
        ending = run.ending
        marker = f"the {_kind(ending)} marker of another transaction"
        other = f"{marker} at offset {ending.offset} (epoch {ending.epoch}) ended it"
        if ending.commits is None or ending.commits == (txn.outcome is Outcome.COMMIT):
            return f"{other}; until then it held the last stable offset back"
        if ending.commits:
            return f"{other}: its aborted data is visible to read_committed consumers"
        return f"{other}: its committed data is lost to read_committed consumers"

    # ---- a marker without a transaction

    def _undecided(self, ending: Ending) -> Fault | None:
        run, history = ending.run, self.history
        epochs = {ending.epoch} if run is None else {ending.epoch, run.epoch}
        if not all(history.is_whole(ending.producer_id, epoch) for epoch in epochs):
            return None
        if ending.fault is not None:
            ending.fault.add("no decision of the coordinator explains it")
            return None
        where = f"the {_kind(ending)} marker at offset {ending.offset} of {named(self.match.place)}"
        waiting = [txn for txn in self.match.listed if run and txn.data_epoch == run.epoch and not txn.decided]
        if waiting:
            message = f"{where} ends {waiting[-1].transactional_id!r} ({_identity(waiting[-1])}), "
            return self._at(ending, "marker_follows_a_decision", f"{message}which the coordinator has not decided")
        if run is not None and run.records:
            repaired = f"{where} ended it without a decision of the coordinator, as an administrator's abort does"
            message = f"{self._unowned(run)}; {repaired}: this is repaired, nothing stays open"
            return self._about(run, message)
        decided = [
            txn for txn in history.transactions if _identity_of_marker(txn) == (ending.producer_id, ending.epoch)
        ]
        if decided and not any(txn in self.match.listed for txn in decided):
            lists = ", ".join(sorted(named(place) for txn in decided for place in txn.partitions or ()))
            message = (
                f"{where} belongs to {history.transactional_id!r} ({_identity(decided[0])}), which lists only [{lists}]"
            )
            return self._at(ending, "marker_only_where_the_transaction_was", message)
        message = f"{where} follows no decision: {history.transactional_id!r} has none left for producer id "
        message += f"{ending.producer_id} under epoch {ending.epoch} that lists the partition"
        return self._at(ending, "marker_follows_a_decision", message)

    # ---- data without a transaction

    def _open(self) -> Fault | None:
        """What is open at the end of the log must be what the coordinator has open, or is about to end."""
        run = self.partition.open_run(self.match.producer_id)
        if run is None or not run.records or run.interrupted or self.history.is_cut:
            return None
        if self.log.torn_tail and not self.history.is_whole(run.producer_id, run.epoch):
            return None
        waiting = [txn for txn in self.match.listed if id(txn) not in self.match.marked]
        if any(self._may_own(txn, run) for txn in waiting):
            return None
        stays = f"the last stable offset stays at {run.first_offset}"
        known = [fault for fault in run.faults if fault.promise == "epochs_never_go_down"]
        if known:
            known[0].add(f"it leaves a transaction open that nobody will ever end: {stays}")
            return None
        return self._about(run, f"{self._unowned(run)}; nobody will ever end it: {stays}")

    def _may_own(self, txn: RecordedTransaction, run: Run) -> bool:
        """Whether a transaction without marker can be that of open data. One of which only the end is known is over."""
        over = txn.completed and txn.partitions is None and not self.log.torn_tail
        return not over and txn.data_epoch in (None, run.epoch)

    def _unowned(self, run: Run) -> str:
        stretch = run.stretches[-1]
        data = f"data of producer id {run.producer_id}, epoch {run.epoch}"
        where = f"at {_offsets(stretch.first_offset, stretch.last_offset)} of {named(self.match.place)}"
        return f"{data}, {where} belongs to no transaction of {self.history.transactional_id!r}: {self._why(run)}"

    def _why(self, run: Run) -> str:
        for txn in reversed(self.history.transactions):
            if (txn.producer_id, txn.data_epoch) != (run.producer_id, run.epoch):
                continue
            if txn.partitions is not None and self.match.place not in txn.partitions:
                lists = ", ".join(sorted(map(named, txn.partitions)))
                return f"the one of this epoch lists only [{lists}]"
            if txn.decided:
                return f"the last one of this epoch had its {_word(txn)} marker before it"
        return "the coordinator knows none of this epoch"

    def _about(self, run: Run, message: str) -> Fault:
        fault = Fault(
            "no_open_transaction_that_nobody_owns",
            message,
            self.history.transactional_id,
            run.producer_id,
            run.epoch,
            self.match.place,
            run.stretches[-1].first_offset,
        )
        run.faults.append(fault)
        return fault

    def _at(self, ending: Ending, promise: str, message: str) -> Fault:
        fault = Fault(
            promise,
            message,
            self.history.transactional_id,
            ending.producer_id,
            ending.epoch,
            self.match.place,
            ending.offset,
        )
        _attach(ending, fault)
        return fault


def _is_for(ending: Ending, txn: RecordedTransaction) -> bool:
    """Whether a marker of a wrong epoch ends the data of a transaction."""
    return ending.run is not None and ending.run.epoch == txn.data_epoch and agrees(ending, txn)


def _identity_of_marker(txn: RecordedTransaction) -> tuple[int, int | None]:
    return (txn.producer_id, txn.marker_epoch)


def _attach(ending: Ending, fault: Fault) -> None:
    ending.fault = ending.fault or fault
    if ending.run is not None:
        ending.run.faults.append(fault)


def _identity(txn: RecordedTransaction) -> str:
    epoch = "an unknown epoch" if txn.data_epoch is None else f"epoch {txn.data_epoch}"
    return f"producer id {txn.producer_id}, {epoch}"


def _word(txn: RecordedTransaction) -> str:
    return txn.outcome.value.upper()


def _kind(ending: Ending) -> str:
    return "control" if ending.commits is None else "COMMIT" if ending.commits else "ABORT"


def _offsets(first: int, last: int) -> str:
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


def _outcomes_without_coordinator(partitions: list[PartitionHistory], owners: dict[int, IdHistory]) -> list[Fault]:
    """Markers one epoch above their data end one transaction each (§2.12): they must agree even without its log."""
    first: dict[tuple[int, int], tuple[PartitionHistory, Ending]] = {}
    faults = []
    for partition in partitions:
        for producer_id, endings in partition.endings.items():
            if producer_id in owners:
                continue
            for ending in endings:
                if ending.run is None or ending.run.epoch + 1 != ending.epoch or ending.commits is None:
                    continue
                other, known = first.setdefault((producer_id, ending.epoch), (partition, ending))
                if known.commits == ending.commits:
                    continue
                here = f"the {_kind(ending)} marker at offset {ending.offset} of {named(partition.place)}"
                there = f"the {_kind(known)} marker at offset {known.offset} of {named(other.place)}"
                message = (
                    f"{here} and {there} end the same transaction (producer id {producer_id}, epoch {ending.epoch})"
                )
                place, offset = partition.place, ending.offset
                fault = Fault(
                    "same_outcome_on_every_partition", message, None, producer_id, ending.epoch, place, offset
                )
                _attach(ending, fault)
                faults.append(fault)
    return faults
