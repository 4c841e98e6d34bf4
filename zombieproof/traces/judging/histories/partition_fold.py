"""A partition's log folded through the decisions and the machine of the partition leader.

Each batch must be one that a leader, with what the log before it told, would have appended. What the log cannot show is
left open: every verification is taken to have succeeded, refused requests left no trace, and a leader that forgot a
producer (expiry, reference §3.7) is no excuse, because the promises are about the history. Behind missing offsets
(compaction, retention, damage) the sequence of a producer that was there before is not judged, unless they are lost.
"""

from dataclasses import dataclass

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.decisions.produce import decide_append, evolve_append, find_duplicate
from zombieproof.model.decisions.verification import decide_verification, evolve_verification
from zombieproof.model.decisions.write_txn_markers import decide_marker, evolve_marker
from zombieproof.model.records import AppendVerdict, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import (
    NONE,
    NOTHING,
    Error,
    Mode,
    Origin,
    PartitionEvent,
    PartitionState,
    TransactionVersion,
)
from zombieproof.statemachines.partition_leader import PARTITION_LEADER
from zombieproof.traces.evidence import LoggedBatch, PartitionLog
from zombieproof.traces.judging.histories.belonging import settle
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts
from zombieproof.traces.judging.histories.partition_faults import PartitionFaults
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory, Run, Stretch
from zombieproof.traces.judging.histories.refused_append import (
    note_sequences,
    promise_of_data,
    promise_of_marker,
    repeated,
    why_data_is_refused,
    why_marker_is_refused,
)
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import named
from zombieproof.traces.watching import Watch, in_steps


@dataclass(slots=True)
class _Data:
    """A data batch as decisions read it."""

    producer_id: int = NONE
    producer_epoch: int = NONE
    base_sequence: int = NONE
    last_sequence: int = NONE
    transactional: bool = False


@dataclass(slots=True)
class _Marker:
    """A marker as decisions read it."""

    producer_id: int = NONE
    producer_epoch: int = NONE
    committed: bool = False
    coordinator_epoch: int = NONE
    transaction_version: int = 0


def read_partition(
    log: PartitionLog, facts: CoordinatorFacts, rules: Rules, watch: Watch | None = None
) -> PartitionHistory:
    """Fold one partition (not of ``__transaction_state``, whose batches have no producer)."""
    fold = _Fold(log, facts, rules)
    for batches in in_steps(log.batches, watch):
        for batch in batches:
            fold.step(batch)
    settle(fold.history)
    return fold.history


class _Fold:
    def __init__(self, log: PartitionLog, facts: CoordinatorFacts, rules: Rules) -> None:
        self.runs: dict[int, list[Run]] = {}
        self.endings: dict[int, list[Ending]] = {}
        self.history = PartitionHistory(log, self.runs, self.endings)
        self.subject = named(log.topic_partition)
        self.log, self.facts, self.rules = log, facts, rules
        self.entries: dict[int, ProducerEntry] = {}
        self.open: dict[int, Run] = {}
        self.seen_at: dict[int, int] = {}
        self.expected = log.start_offset
        self.gap_at = log.start_offset if log.start_offset > 0 or log.cleaned else NONE
        self.origin = Origin.COORDINATOR if log.topic == CONSUMER_OFFSETS else Origin.CLIENT
        self.token = 0
        self.confused: set[int] = set()
        """Producer ids behind a fault that says nothing of their next sequence."""
        self.faults = PartitionFaults(self.history, facts)

    def step(self, batch: LoggedBatch) -> None:
        """Fold one batch."""
        if batch.base_offset > self.expected and not self.log.has_lost_batches:
            self.gap_at = batch.base_offset
        if batch.base_offset in self.log.damaged_at:
            self.gap_at = batch.base_offset
            for run in self.open.values():
                run.interrupted = True
                run.readable_from = batch.base_offset
        self.expected = batch.last_offset + 1
        self._note_time(batch)
        if batch.producer_id == NONE:
            return
        if not batch.is_control:
            self._data(batch)
            self.seen_at[batch.producer_id] = batch.last_offset
        elif batch.marker is not None or batch.hides_marker:
            self._marker(batch)

    def _note_time(self, batch: LoggedBatch) -> None:
        earliest = self.history.earliest_ms
        if batch.max_timestamp_ms >= 0 and (earliest is None or batch.max_timestamp_ms < earliest):
            self.history.earliest_ms = batch.max_timestamp_ms

    def _entry(self, producer_id: int) -> ProducerEntry:
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry()
        return entry

    # ---- data

    def _data(self, batch: LoggedBatch) -> None:
        entry = self._entry(batch.producer_id)
        data = _Data(
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_sequence,
            batch.is_transactional,
        )
        self._lose_interrupted(entry, batch)
        if batch.is_transactional and self.facts.is_foreign_data(batch.producer_id, batch.producer_epoch):
            self._foreign(entry, batch)
            return
        follows = self.gap_at <= self.seen_at.get(batch.producer_id, NONE) and batch.producer_id not in self.confused
        self.confused.discard(batch.producer_id)
        guard = self._verify(entry, data)
        verdict = decide_append(entry, data, guard, self.origin if follows else Origin.COORDINATOR, self.rules)
        fault = None
        if verdict.event == NOTHING:
            fault = self.faults.report(
                promise_of_data(entry, batch, verdict, self.rules),
                batch,
                lambda: why_data_is_refused(self.log, entry, batch, verdict, self.rules),
            )
            note_sequences(fault.circumstances, self.log, entry, batch, verdict, self.rules)
        elif self.origin is Origin.CLIENT and not follows:
            fault = self._doubled(entry, batch, data)
        if batch.is_transactional:
            self._extend(entry, batch, fault)
        self._append(entry, batch, data, verdict)

    def _foreign(self, entry: ProducerEntry, batch: LoggedBatch) -> None:
        """Data of an epoch that has no transaction: it is in the log, but tells nothing of its producer."""
        owner = self.facts.owners[batch.producer_id].transactional_id
        epoch = f"the coordinator has no transaction of {owner!r} under this epoch"
        message = f"data of producer id {batch.producer_id}, epoch {batch.producer_epoch}, belongs to nobody: {epoch}"
        self._extend(entry, batch, self.faults.report("no_open_transaction_that_nobody_owns", batch, lambda: message))
        self._stay_open(entry, batch)

    def _stay_open(self, entry: ProducerEntry, batch: LoggedBatch) -> None:
        """Data that a leader would have refused opens a transaction all the same, when it is in the log."""
        self.confused.add(batch.producer_id)
        if batch.is_transactional and entry.txn_first_offset == NONE:
            entry.known = True
            entry.txn_first_offset = batch.base_offset
            entry.state = int(PartitionState.IN_TRANSACTION)

    def _verify(self, entry: ProducerEntry, data: _Data) -> int:
        """The guard with which the batch came: what the coordinator answered is not in the log, so it agreed."""
        version = self.facts.data.get((data.producer_id, data.producer_epoch), TransactionVersion.TV0)
        mode = Mode.ADD if version == TransactionVersion.TV2 else Mode.GENERIC
        verdict = decide_verification(entry, data, mode, self.rules)
        if verdict.event == NOTHING:
            return 0
        self.token += 1
        state = PARTITION_LEADER.target(entry.state, verdict.event)
        return evolve_verification(entry, data, mode, self.token, state)

    def _append(self, entry: ProducerEntry, batch: LoggedBatch, data: _Data, verdict: AppendVerdict) -> None:
        """The batch is in the log, so memory takes it in; but an older epoch never makes a newer one forgotten."""
        if data.producer_epoch < entry.producer_epoch:
            self._stay_open(entry, batch)
            return
        event = verdict.event
        if event == NOTHING:
            if not data.transactional and entry.txn_first_offset != NONE:
                event = PartitionEvent.CONTINUE
            elif data.transactional:
                event = PartitionEvent.BEGIN if entry.txn_first_offset == NONE else PartitionEvent.CONTINUE
            else:
                event = PartitionEvent.APPEND
        state = PARTITION_LEADER.target(entry.state, event, self.subject)
        evolve_append(entry, data, batch.base_offset, batch.last_offset, state, self.rules)

    def _doubled(self, entry: ProducerEntry, batch: LoggedBatch, data: _Data) -> Fault | None:
        """Behind a gap sequences may jump, but what is remembered from before it cannot come again."""
        offset = find_duplicate(entry, data, self.rules)
        if offset == NONE:
            return None
        fault = self.faults.report("each_sequence_is_appended_once", batch, lambda: repeated(batch, offset))
        if fault.circumstances.repeats_offset is None:
            fault.circumstances.repeats_offset = offset
        return fault

    # ---- runs

    def _lose_interrupted(self, entry: ProducerEntry, batch: LoggedBatch) -> None:
        """An unreadable place may have held the marker: data of another epoch behind it begins a run of its own."""
        run = self.open.get(batch.producer_id)
        if run is not None and run.interrupted and batch.producer_epoch != run.epoch:
            del self.open[batch.producer_id]
            entry.txn_first_offset = NONE
            entry.state = int(PartitionState.IDLE)

    def _extend(self, entry: ProducerEntry, batch: LoggedBatch, fault: Fault | None) -> None:
        run = self.open.get(batch.producer_id)
        if run is None:
            run = self.open[batch.producer_id] = Run(batch.producer_id)
            self.runs.setdefault(batch.producer_id, []).append(run)
        if fault is not None:
            run.faults.append(fault)
        last = run.stretches[-1] if run.stretches else None
        if last is not None and last.epoch == batch.producer_epoch:
            last.last_offset = batch.last_offset
            last.records += batch.count
            return
        offset, time = batch.base_offset, batch.max_timestamp_ms
        run.stretches.append(Stretch(batch.producer_epoch, offset, batch.last_offset, batch.count, time))
        if last is not None and batch.producer_epoch > last.epoch and fault is None:
            run.faults.append(self._new_epoch(last, batch))

    def _new_epoch(self, last: Stretch, batch: LoggedBatch) -> Fault:
        opened = f"data of epoch {last.epoch} has no marker behind it"
        joined = f"data of epoch {batch.producer_epoch} at offset {batch.base_offset} joins its open transaction"
        fault = self.faults.report("a_new_epoch_begins_behind_a_marker", batch, lambda: f"{opened}, and {joined}")
        fault.producer_epoch, fault.offset = last.epoch, last.first_offset
        fault.circumstances.data_epoch = last.epoch
        fault.circumstances.spans = [(last.first_offset, last.last_offset)]
        fault.message = f"at offset {last.first_offset} of {named(self.history.place)}: {opened}, and {joined}"
        return fault

    # ---- markers

    def _marker(self, batch: LoggedBatch) -> None:
        entry = self._entry(batch.producer_id)
        logged = batch.marker
        marker = _Marker(
            batch.producer_id,
            batch.producer_epoch,
            logged is not None and logged.commit,
            logged.coordinator_epoch if logged else entry.coordinator_epoch,
            self.facts.markers.get((batch.producer_id, batch.producer_epoch), TransactionVersion.TV0),
        )
        # A marker is written by the group coordinator or the leader on behalf of the transaction coordinator.
        verdict = decide_marker(entry, marker, Origin.COORDINATOR, self.rules)
        run = self.open.pop(batch.producer_id, None)
        ending = Ending(
            batch.producer_id,
            batch.producer_epoch,
            logged.commit if logged else None,
            batch.base_offset,
            batch.max_timestamp_ms,
            run,
        )
        event = verdict.event
        if verdict.error != Error.NONE:
            ending.fault = self.faults.report(
                promise_of_marker(verdict), batch, lambda: why_marker_is_refused(entry, batch, verdict)
            )
            event = PartitionEvent.COMMIT_MARKER if marker.committed else PartitionEvent.ABORT_MARKER
        if run is not None:
            run.ending = ending
            run.faults += [ending.fault] if ending.fault else []
        self.endings.setdefault(batch.producer_id, []).append(ending)
        newest = entry.producer_epoch
        evolve_marker(entry, marker, event, PARTITION_LEADER.target(entry.state, event, self.subject))
        if self.facts.is_foreign_marker(batch.producer_id, batch.producer_epoch):
            entry.producer_epoch = newest
            self.confused.add(batch.producer_id)
        entry.producer_epoch = max(entry.producer_epoch, newest)
