"""The history of a partition: its log folded through the decisions and the machine of the partition leader.

Each batch must be one that a leader, with what the log before it told, would have appended. What the log cannot show is
left open: every verification is taken to have succeeded, refused requests left no trace, and a leader that forgot a
producer (expiry, reference §3.7) is no excuse, because the promises are about the history. Behind missing offsets
(compaction, retention, damage) the sequence of a producer that was there before is not judged.

What the leader holds as one open transaction is a `Run`; the marker that ends it (or ends nothing) is an `Ending`.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.model.decisions.produce import decide_append, evolve_append, find_duplicate, newest_sequence
from zombieproof.model.decisions.verification import decide_verification, evolve_verification
from zombieproof.model.decisions.write_txn_markers import decide_marker, evolve_marker
from zombieproof.model.records import AppendVerdict, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import (
    NONE,
    NOTHING,
    Error,
    Guard,
    Mode,
    Origin,
    PartitionEvent,
    PartitionState,
    TransactionVersion,
)
from zombieproof.statemachines.partition_leader import PARTITION_LEADER
from zombieproof.traces.evidence import OFFSETS_TOPIC, Batch, PartitionLog, TopicPartition
from zombieproof.traces.verdict import Fault, named


class Versions(NamedTuple):
    """(producer id, epoch) -> transaction version of data and of markers, where the coordinator's log tells it."""

    data: Mapping[tuple[int, int], int]
    markers: Mapping[tuple[int, int], int]


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
    """Transactional data of one producer id between two of its markers. `faults` are those found about it.

    `interrupted`: an unreadable place stands in it or behind it, which may have held its marker.
    """

    producer_id: int
    stretches: list[Stretch] = field(default_factory=list)
    ending: "Ending | None" = None
    interrupted: bool = False
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


@dataclass(slots=True)
class PartitionHistory:
    """What a partition's log tells: runs and endings by producer id in log order, and the faults found in it alone."""

    log: PartitionLog
    runs: dict[int, list[Run]] = field(default_factory=dict)
    endings: dict[int, list[Ending]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    earliest_ms: int | None = None
    _compacted: bool | None = None

    @property
    def is_compacted(self) -> bool:
        """Whether the log shows that the cleaner was there."""
        if self._compacted is None:
            self._compacted = self.log.compacted
        return self._compacted

    @property
    def place(self) -> TopicPartition:
        """The topic partition."""
        return self.log.topic_partition

    def open_run(self, producer_id: int) -> Run | None:
        """What the producer id has open at the end of the log."""
        runs = self.runs.get(producer_id)
        return runs[-1] if runs and runs[-1].ending is None else None

    def run_at(self, producer_id: int, offset: int) -> Run | None:
        """The run that holds the data at `offset`."""
        runs = self.runs.get(producer_id, [])
        index = bisect_right(runs, offset, key=lambda run: run.first_offset) - 1
        return runs[index] if index >= 0 and offset <= runs[index].last_offset else None


@dataclass(slots=True)
class _Data:
    """A data batch as decisions read it."""

    producer_id: int = NONE
    producer_epoch: int = NONE
    base_sequence: int = NONE
    last_sequence: int = NONE
    transactional: int = 0


@dataclass(slots=True)
class _Marker:
    """A marker as decisions read it."""

    producer_id: int = NONE
    producer_epoch: int = NONE
    committed: int = 0
    coordinator_epoch: int = NONE
    transaction_version: int = 0


def read_partition(log: PartitionLog, versions: Versions, rules: Rules) -> PartitionHistory:
    """Fold one partition (not of ``__transaction_state``, whose batches have no producer)."""
    fold = _Fold(log, versions, rules)
    for batch in log.batches:
        fold.step(batch)
    return fold.history


class _Fold:
    def __init__(self, log: PartitionLog, versions: Versions, rules: Rules) -> None:
        self.history = PartitionHistory(log)
        self.log, self.versions, self.rules = log, versions, rules
        self.entries: dict[int, ProducerEntry] = {}
        self.open: dict[int, Run] = {}
        self.seen_at: dict[int, int] = {}
        self.expected = log.start_offset
        self.gap_at = log.start_offset if log.start_offset > 0 or log.cleaned else NONE
        self.origin = Origin.COORDINATOR if log.topic == OFFSETS_TOPIC else Origin.CLIENT
        self.token = 0
        self.known_faults: dict[tuple[str, int, int], Fault] = {}

    def step(self, batch: Batch) -> None:
        """Fold one batch."""
        if batch.base_offset > self.expected:
            self.gap_at = batch.base_offset
        if batch.base_offset in self.log.damaged_at:
            self.gap_at = batch.base_offset
            for run in self.open.values():
                run.interrupted = True
        self.expected = batch.last_offset + 1
        self._note_time(batch)
        if batch.producer_id == NONE:
            return
        if not batch.is_control:
            self._data(batch)
        elif batch.marker is not None or (batch.count and batch.records is None):
            self._marker(batch)
        self.seen_at[batch.producer_id] = batch.last_offset

    def _note_time(self, batch: Batch) -> None:
        earliest = self.history.earliest_ms
        if batch.max_timestamp_ms >= 0 and (earliest is None or batch.max_timestamp_ms < earliest):
            self.history.earliest_ms = batch.max_timestamp_ms

    def _entry(self, producer_id: int) -> ProducerEntry:
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry()
        return entry

    # ---- data

    def _data(self, batch: Batch) -> None:
        entry = self._entry(batch.producer_id)
        data = _Data(
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_sequence,
            1 if batch.is_transactional else 0,
        )
        self._lose_interrupted(entry, batch)
        follows = self.gap_at <= self.seen_at.get(batch.producer_id, NONE)
        guard = self._verify(entry, data)
        verdict = decide_append(entry, data, guard, self.origin if follows else Origin.COORDINATOR, self.rules)
        fault = None
        if verdict.event == NOTHING:
            fault = self._refused(entry, batch, data, verdict)
        elif self.origin is Origin.CLIENT and not follows:
            fault = self._doubled(entry, batch, data)
        if batch.is_transactional:
            self._extend(entry, batch, fault)
        self._append(entry, batch, data, verdict)

    def _verify(self, entry: ProducerEntry, data: _Data) -> int:
        """The guard with which the batch came: what the coordinator answered is not in the log, so it agreed."""
        version = self.versions.data.get((data.producer_id, data.producer_epoch), TransactionVersion.TV0)
        mode = Mode.ADD if version == TransactionVersion.TV2 else Mode.GENERIC
        verdict = decide_verification(entry, data, mode, self.rules)
        if verdict.event == NOTHING:
            return 0
        self.token += 1
        state = PARTITION_LEADER.target(entry.state, verdict.event)
        return evolve_verification(entry, data, mode, self.token, state)

    def _append(self, entry: ProducerEntry, batch: Batch, data: _Data, verdict: AppendVerdict) -> None:
        """The batch is in the log, so memory takes it in; but an older epoch never makes a newer one forgotten."""
        if data.producer_epoch < entry.producer_epoch:
            if data.transactional and entry.txn_first_offset == NONE:
                entry.txn_first_offset = batch.base_offset
                entry.state = int(PartitionState.IN_TRANSACTION)
            return
        event = verdict.event
        if event == NOTHING:
            if data.transactional == 0 and entry.txn_first_offset != NONE:
                event = PartitionEvent.CONTINUE
            elif data.transactional:
                event = PartitionEvent.BEGIN if entry.txn_first_offset == NONE else PartitionEvent.CONTINUE
            else:
                event = PartitionEvent.APPEND
        state = PARTITION_LEADER.target(entry.state, event, self._subject(batch))
        evolve_append(entry, data, batch.base_offset, batch.last_offset, state, self.rules)

    def _subject(self, batch: Batch) -> str:
        return f"{named(self.history.place)}, producer id {batch.producer_id}"

    def _refused(self, entry: ProducerEntry, batch: Batch, data: _Data, verdict: AppendVerdict) -> Fault:
        """What it means that a leader would have refused a batch that is in the log (or appended nothing)."""
        told = f"{Error(verdict.error).name}, row {Guard(verdict.guard).name}"
        if verdict.error == Error.NONE:
            return self._repeated(batch, verdict.duplicate_of)
        if verdict.error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
            if self._is_behind(entry, data):
                return self._repeated(batch, self._appended_at(batch))
            return self._gap(entry, batch, data, told)
        if verdict.guard == Guard.A6:
            opened = f"while its transaction from offset {entry.txn_first_offset} on is open"
            message = f"plain data of producer id {batch.producer_id} {opened}; a leader refuses it ({told})"
            return self._fault("no_plain_data_inside_a_transaction", batch, message)
        after = f"behind epoch {entry.producer_epoch} of the same producer id"
        message = (
            f"data of epoch {batch.producer_epoch} {after}: a fenced producer wrote it; a leader refuses it ({told})"
        )
        return self._fault("epochs_never_go_down", batch, message)

    def _doubled(self, entry: ProducerEntry, batch: Batch, data: _Data) -> Fault | None:
        """Behind a gap sequences may jump, but what is remembered from before it cannot come again."""
        offset = find_duplicate(entry, data, self.rules)
        return None if offset == NONE else self._repeated(batch, offset)

    def _is_behind(self, entry: ProducerEntry, data: _Data) -> bool:
        """Whether the batch's sequences lie behind the newest one, so that they were appended before (they wrap)."""
        newest = newest_sequence(entry)
        if data.producer_epoch != entry.producer_epoch or newest == NONE:
            return False
        cycle = self.rules.sequence_max + 1
        return (newest - data.base_sequence) % cycle < cycle // 2

    def _appended_at(self, batch: Batch) -> int:
        """The offset of the newest earlier batch that holds the first sequence of `batch`, or NONE."""
        for earlier in reversed(self.log.batches):
            if earlier.base_offset >= batch.base_offset or earlier.is_control:
                continue
            same = (earlier.producer_id, earlier.producer_epoch) == (batch.producer_id, batch.producer_epoch)
            if same and earlier.base_sequence <= batch.base_sequence <= earlier.last_sequence:
                return earlier.base_offset + batch.base_sequence - earlier.base_sequence
        return NONE

    def _repeated(self, batch: Batch, offset: int) -> Fault:
        before = f"; it is in the log already, at offset {offset}" if offset != NONE else " a second time"
        sequences = _sequences(batch)
        message = (
            f"{sequences} of epoch {batch.producer_epoch} is appended{before}: a leader appends each sequence once"
        )
        return self._fault("each_sequence_is_appended_once", batch, message)

    def _gap(self, entry: ProducerEntry, batch: Batch, data: _Data, told: str) -> Fault:
        newest = newest_sequence(entry)
        continues = data.producer_epoch == entry.producer_epoch and newest != NONE
        expected = (newest + 1) % (self.rules.sequence_max + 1) if continues else 0
        found = f"{_sequences(batch)} of epoch {batch.producer_epoch} follows where {expected} was next"
        message = f"{found}: what should stand between is lost, and a leader refuses the batch ({told})"
        return self._fault("sequences_follow_each_other", batch, message)

    # ---- runs

    def _lose_interrupted(self, entry: ProducerEntry, batch: Batch) -> None:
        """An unreadable place may have held the marker: data of another epoch behind it begins a run of its own."""
        run = self.open.get(batch.producer_id)
        if run is not None and run.interrupted and batch.producer_epoch != run.epoch:
            del self.open[batch.producer_id]
            entry.txn_first_offset = NONE
            entry.state = int(PartitionState.IDLE)

    def _extend(self, entry: ProducerEntry, batch: Batch, fault: Fault | None) -> None:
        run = self.open.get(batch.producer_id)
        if run is None:
            run = self.open[batch.producer_id] = Run(batch.producer_id)
            self.history.runs.setdefault(batch.producer_id, []).append(run)
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

    def _new_epoch(self, last: Stretch, batch: Batch) -> Fault:
        opened = f"data of epoch {last.epoch} has no marker behind it"
        joined = f"data of epoch {batch.producer_epoch} at offset {batch.base_offset} joins its open transaction"
        fault = self._fault("a_new_epoch_begins_behind_a_marker", batch, f"{opened}, and {joined}")
        fault.producer_epoch, fault.offset = last.epoch, last.first_offset
        fault.message = f"at offset {last.first_offset} of {named(self.history.place)}: {opened}, and {joined}"
        return fault

    # ---- markers

    def _marker(self, batch: Batch) -> None:
        entry = self._entry(batch.producer_id)
        told = batch.marker
        marker = _Marker(
            batch.producer_id,
            batch.producer_epoch,
            1 if told and told.commit else 0,
            told.coordinator_epoch if told else entry.coordinator_epoch,
            self.versions.markers.get((batch.producer_id, batch.producer_epoch), TransactionVersion.TV0),
        )
        # A marker is written by the group coordinator or the leader on behalf of the transaction coordinator.
        verdict = decide_marker(entry, marker, Origin.COORDINATOR, self.rules)
        run = self.open.pop(batch.producer_id, None)
        ending = Ending(
            batch.producer_id,
            batch.producer_epoch,
            told.commit if told else None,
            batch.base_offset,
            batch.max_timestamp_ms,
            run,
        )
        event = verdict.event
        if verdict.error != Error.NONE:
            ending.fault = self._refused_marker(entry, batch, marker, verdict)
            event = PartitionEvent.COMMIT_MARKER if marker.committed else PartitionEvent.ABORT_MARKER
        if run is not None:
            run.ending = ending
            run.faults += [ending.fault] if ending.fault else []
        self.history.endings.setdefault(batch.producer_id, []).append(ending)
        newest = entry.producer_epoch
        evolve_marker(entry, marker, event, PARTITION_LEADER.target(entry.state, event, self._subject(batch)))
        entry.producer_epoch = max(entry.producer_epoch, newest)

    def _refused_marker(self, entry: ProducerEntry, batch: Batch, marker: _Marker, verdict: AppendVerdict) -> Fault:
        kind = "COMMIT" if marker.committed else "ABORT"
        told = f"a leader refuses it ({Error(verdict.error).name}, row {Guard(verdict.guard).name})"
        if verdict.error == Error.TRANSACTION_COORDINATOR_FENCED:
            older = f"of coordinator epoch {marker.coordinator_epoch} behind one of {entry.coordinator_epoch}"
            message = f"the {kind} marker {older} comes from a deposed coordinator; {told}"
            return self._fault("coordinator_epochs_never_go_down", batch, message)
        message = f"the {kind} marker has epoch {batch.producer_epoch} behind data or markers of epoch "
        message += f"{entry.producer_epoch}; {told}"
        return self._fault("epochs_never_go_down", batch, message)

    # ---- faults

    def _fault(self, promise: str, batch: Batch, message: str) -> Fault:
        """Report a fault of a producer's epoch once; what follows of the same kind is counted."""
        key = (promise, batch.producer_id, batch.producer_epoch)
        known = self.known_faults.get(key)
        if known is not None:
            known.repeated += 1
            known.last_offset = batch.base_offset
            return known
        fault = self.known_faults[key] = Fault(
            promise,
            f"at offset {batch.base_offset} of {named(self.history.place)}: {message}",
            None,
            batch.producer_id,
            batch.producer_epoch,
            self.history.place,
            batch.base_offset,
        )
        self.history.faults.append(fault)
        return fault


def _sequences(batch: Batch) -> str:
    if batch.base_sequence == batch.last_sequence:
        return f"sequence {batch.base_sequence} of producer id {batch.producer_id}"
    return f"sequences {batch.base_sequence} to {batch.last_sequence} of producer id {batch.producer_id}"
