"""Promises that span logs: what the coordinator decided against what lies on the partitions.

For each partition and producer id, markers are put beside the transactions that list the partition (`alignment`), and
what is left over on either side is a fault, unless the evidence that would explain it can be missing: cleaned away by
compaction or retention, in an unreadable place, or in a part of a log that was not given.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.traces.judging.alignment import agrees
from zombieproof.traces.judging.belonging import of_marker, of_missing_marker, of_stranger, seen
from zombieproof.traces.judging.circumstances import Circumstances, Harm, Shape, harm_of_end
from zombieproof.traces.judging.coordinator_history import IdHistory
from zombieproof.traces.judging.matching import Match, Missed, listed_by_partition, match
from zombieproof.traces.judging.partition_history import Ending, PartitionHistory, Run, Stretch
from zombieproof.traces.judging.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.verdict import Fault, Outcome, named
from zombieproof.traces.judging.without_coordinator import attach, judge_without_coordinator
from zombieproof.traces.judging.words import identity, kind, span, word


def judge_across(
    histories: Sequence[IdHistory], owners: Mapping[int, IdHistory], partitions: Iterable[PartitionHistory]
) -> list[Fault]:
    """The faults that show only when logs are put beside each other; what they explain of one log is taken in."""
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
    faults += judge_without_coordinator(partitions, owners)
    for fault in [*faults, *(fault for partition in partitions for fault in partition.faults)]:
        if fault.transactional_id is None and fault.producer_id is not None and fault.producer_id in owners:
            fault.transactional_id = owners[fault.producer_id].transactional_id
        owner = None if fault.producer_id is None else owners.get(fault.producer_id)
        if owner is not None and fault.promise == "no_open_transaction_that_nobody_owns":
            _reserve(fault, owner)
    return faults


def _reserve(fault: Fault, history: IdHistory) -> None:
    """Say of a fault that it rests on where the coordinator's log ends, when nothing shows that it ends there."""
    if not history.is_end_shown and history.log_partition >= 0:
        log = named((TRANSACTION_STATE, history.log_partition))
        fault.add(f"nothing shows that {log} was given up to its end: if it was copied earlier, copy it again")


class _Judge:
    """What is left over once markers and transactions were aligned."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self.partition, self.history = match.partition, match.history
        self.log = match.partition.log
        self.unmatched = list(match.unmatched)
        self.data_epochs = Counter(txn.data_epoch for txn in match.listed)

    def faults(self) -> list[Fault]:
        """The faults of one producer id on one partition."""
        found = [self._contrary(ending, txn) for ending, txn in self.match.contrary]
        found += [self._missed(missed) for missed in self.match.missed]
        unexplained = [*map(self._undecided, self.unmatched), *self._strangers(), self._open()]
        for fault in unexplained:
            if fault is not None:
                _reserve(fault, self.history)
        return [fault for fault in [*found, *unexplained] if fault is not None]

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
        offsets = place[0] == CONSUMER_OFFSETS
        decided = f"{txn.transactional_id!r} ({identity(txn)}) was decided to {txn.outcome}"
        message = f"the marker at offset {ending.offset} of {named(place)} says {kind(ending)}, but {decided}"
        if ending.run is not None:
            what = "offsets of groups" if offsets else "records"
            effect = "count" if ending.commits else "are lost"
            where = span(ending.run.first_offset, ending.run.last_offset)
            message += f": its {what} at {where} {effect} all the same"
        promise = "committed_offsets_follow_their_transaction" if offsets else "same_outcome_on_every_partition"
        told = of_marker(self.history, Shape.MARKER_CONTRARY, ending, txn)
        told.harm = harm_of_end(txn.outcome is Outcome.COMMIT, seen(ending)) if ending.run else Harm.NONE
        return self._at(ending, promise, message, told)

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
        told = of_marker(self.history, Shape.MARKER_EPOCH, ending, txn)
        if ending.fault is not None:
            ending.fault.add(expected)
            ending.fault.circumstances.decided = told.decided
            return None
        found = f"the {kind(ending)} marker at offset {ending.offset} of {named(self.match.place)}"
        message = f"{found} has epoch {ending.epoch}, but {expected}"
        fault = self._at(ending, "marker_follows_a_decision", message, told)
        for later in [*self.partition.faults]:
            fenced = later.promise == "epochs_never_go_down" and later.producer_id == ending.producer_id
            if fenced and (later.offset or 0) > ending.offset and (later.producer_epoch or 0) <= ending.epoch:
                self.partition.faults.remove(later)
                fault.add(f"behind it, what is rightful at offset {later.offset} looks fenced")
        return fault

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
        alone = self.data_epochs[txn.data_epoch] == 1
        begin = run.first_offset if run and alone else missed.before.offset if missed.before else -1
        end = missed.after.offset if missed.after else None
        if run is not None and txn.data_epoch is not None:
            # Behind data of a newer epoch the marker would come too late.
            newer = [stretch.first_offset for stretch in run.stretches if stretch.epoch > txn.data_epoch]
            end = min([*newer, *([] if end is None else [end])], default=None)
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
        lacks = f"{txn.transactional_id!r} ({identity(txn)}) is recorded as complete ({txn.outcome}) and lists {place}"
        wanted = f"the {word(txn)} marker with epoch {txn.marker_epoch} is missing there"
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
            circumstances=of_missing_marker(self.history, txn, run, stretch),
        )
        if missed.after is None and not self.log.end_shown_by:
            fault.add(f"nothing shows that {place} was given up to its end: if it was copied earlier, copy it again")
        if run is not None and stretch is not None:
            fault.message += f" behind its data at {span(stretch.first_offset, stretch.last_offset)}"
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
        marker = f"the {kind(ending)} marker of another transaction"
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
        where = f"the {kind(ending)} marker at offset {ending.offset} of {named(self.match.place)}"
        waiting = [txn for txn in self.match.listed if run and txn.data_epoch == run.epoch and not txn.decided]
        if waiting:
            message = f"{where} ends {waiting[-1].transactional_id!r} ({identity(waiting[-1])}), "
            told = of_marker(self.history, Shape.MARKER_EARLY, ending, waiting[-1])
            told.harm = Harm.VISIBLE if ending.commits else Harm.DISCARDED
            return self._at(
                ending, "marker_follows_a_decision", f"{message}which the coordinator has not decided", told
            )
        if run is not None and (known := self._known_about(run)):
            known.add(f"{where} ended it")
            return None
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
                f"{where} belongs to {history.transactional_id!r} ({identity(decided[0])}), which lists only [{lists}]"
            )
            told = of_marker(self.history, Shape.MARKER_UNLISTED, ending, decided[0])
            return self._at(ending, "marker_only_where_the_transaction_was", message, told)
        message = f"{where} follows no decision: {history.transactional_id!r} has none left for producer id "
        message += f"{ending.producer_id} under epoch {ending.epoch} that lists the partition"
        return self._at(
            ending, "marker_follows_a_decision", message, of_marker(self.history, Shape.MARKER_UNDECIDED, ending)
        )

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
        if known := self._known_about(run):
            known.add(f"it leaves a transaction open that nobody will ever end: {stays}")
            return None
        return self._about(run, f"{self._unowned(run)}; nobody will ever end it: {stays}")

    def _known_about(self, run: Run) -> Fault | None:
        """A fault that says already that the data of a run belongs to nobody."""
        promises = ("epochs_never_go_down", "no_open_transaction_that_nobody_owns")
        return next((fault for fault in run.faults if fault.promise in promises), None)

    def _may_own(self, txn: RecordedTransaction, run: Run) -> bool:
        """Whether a transaction without marker can be that of open data. One of which only the end is known is over."""
        over = txn.completed and txn.partitions is None and not self.log.torn_tail
        return not over and txn.data_epoch in (None, run.epoch)

    def _strangers(self) -> Iterator[Fault]:
        """Data that was ended by the marker of a transaction to which it does not belong."""
        odd = {id(ending.run) for ending in self.match.unmatched}
        for run in self.partition.runs.get(self.match.producer_id, ()):
            if run.ending is None or run.faults or run.interrupted or id(run) in odd:
                continue
            for stretch in run.stretches:
                owned = stretch.epoch in self.data_epochs or None in self.data_epochs
                if stretch.records and not owned and self.history.is_whole(run.producer_id, stretch.epoch):
                    ended = f"{kind(run.ending)} marker of epoch {run.ending.epoch} at offset {run.ending.offset}"
                    yield self._about(run, f"{self._unowned(run, stretch)}; the {ended} ended it", stretch)

    def _unowned(self, run: Run, stretch: Stretch | None = None) -> str:
        stretch = stretch or run.stretches[-1]
        data = f"data of producer id {run.producer_id}, epoch {stretch.epoch}"
        where = f"at {span(stretch.first_offset, stretch.last_offset)} of {named(self.match.place)}"
        return (
            f"{data}, {where} belongs to no transaction of {self.history.transactional_id!r}: {self._why(run, stretch)}"
        )

    def _why(self, run: Run, stretch: Stretch) -> str:
        for txn in reversed(self.history.transactions):
            if (txn.producer_id, txn.data_epoch) != (run.producer_id, stretch.epoch):
                continue
            if txn.partitions is not None and self.match.place not in txn.partitions:
                lists = ", ".join(sorted(map(named, txn.partitions)))
                return f"the one of this epoch lists only [{lists}]"
            if txn.decided:
                return f"the last one of this epoch had its {word(txn)} marker before it"
        return "the coordinator knows none of this epoch"

    def _about(self, run: Run, message: str, stretch: Stretch | None = None) -> Fault:
        stretch = stretch or run.stretches[-1]
        fault = Fault(
            "no_open_transaction_that_nobody_owns",
            message,
            self.history.transactional_id,
            run.producer_id,
            stretch.epoch,
            self.match.place,
            stretch.first_offset,
            circumstances=of_stranger(self.history, self.match.place, run, stretch),
        )
        run.faults.append(fault)
        return fault

    def _at(self, ending: Ending, promise: str, message: str, told: Circumstances) -> Fault:
        fault = Fault(
            promise,
            message,
            self.history.transactional_id,
            ending.producer_id,
            ending.epoch,
            self.match.place,
            ending.offset,
            circumstances=told,
        )
        attach(ending, fault)
        return fault


def _is_for(ending: Ending, txn: RecordedTransaction) -> bool:
    """Whether a marker of a wrong epoch ends the data of a transaction."""
    return ending.run is not None and ending.run.epoch == txn.data_epoch and agrees(ending, txn)


def _identity_of_marker(txn: RecordedTransaction) -> tuple[int, int | None]:
    return (txn.producer_id, txn.marker_epoch)
