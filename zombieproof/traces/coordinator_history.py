"""The history of a transactional id: its records in ``__transaction_state``, folded through table and decisions.

Each record must be one that some decision would have made durable after the record before it. The log shows durable
transitions only (reference §9.4): a fence shows as PrepareAbort under a raised epoch, and which request was answered
is not told; so each request that could have been is tried. Identical records may repeat (an append of unknown outcome
that was tried again). Where records are missing (the log is compacted, or damaged) the fold begins anew behind the
gap, and what may have happened in between is a `Doubt`.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from zombieproof.model.decisions.add_partitions_to_txn import decide_join
from zombieproof.model.decisions.end_txn import completion_of, decide_end_txn
from zombieproof.model.decisions.init_producer_id import decide_init_producer_id
from zombieproof.model.decisions.transaction_timeout import decide_timeout
from zombieproof.model.decisions.transactional_id_expiration import decide_expiration
from zombieproof.model.decisions.transition import complete, prepare
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import (
    NONE,
    NOTHING,
    CoordinatorEvent,
    Error,
    Guard,
    TransactionState,
    TransactionVersion,
)
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.traces.evidence import (
    TRANSACTION_TOPIC,
    Evidence,
    PartitionLog,
    TopicPartition,
    TransactionLogValue,
    TransactionStateRecord,
)
from zombieproof.traces.verdict import Fault, Outcome, named

S, E = TransactionState, CoordinatorEvent
PREPARED = {S.PREPARE_COMMIT: Outcome.COMMIT, S.PREPARE_ABORT: Outcome.ABORT}
COMPLETED = {S.COMPLETE_COMMIT: Outcome.COMMIT, S.COMPLETE_ABORT: Outcome.ABORT}
EVENT_INTO = {
    S.EMPTY: E.INIT,
    S.ONGOING: E.ADD_PARTITION,
    S.PREPARE_COMMIT: E.COMMIT,
    S.PREPARE_ABORT: E.ABORT,
    S.COMPLETE_COMMIT: E.MARKERS_WRITTEN,
    S.COMPLETE_ABORT: E.MARKERS_WRITTEN,
}
END_TXN_VERSIONS = (4, 5)
SOME_PRODUCER_ID = 1 << 62
"""Stands for a producer id that was allocated and that the log does not show."""
LATER = 1 << 62


class Request(NamedTuple):
    """A request as decisions read it."""

    producer_id: int
    producer_epoch: int
    version: int = 0
    committed: int = 0
    partitions: int = 0


@dataclass(slots=True)
class RecordedTransaction:
    """One transaction of a transactional id, as far as the coordinator's log tells. None: it does not.

    `partitions` are all that any of its records list. `data_version` is the transaction version under which partitions
    joined, `version` the one under which it was decided. Offsets are those of its records in ``__transaction_state``.
    """

    transactional_id: str
    producer_id: int
    data_epoch: int | None
    marker_epoch: int | None = None
    outcome: Outcome = Outcome.OPEN
    partitions: frozenset[TopicPartition] | None = None
    data_version: int = 0
    version: int = 0
    prepared_ms: int | None = None
    completed_ms: int | None = None
    opened_at: int | None = None
    prepared_at: int | None = None
    completed_at: int | None = None

    @property
    def completed(self) -> bool:
        """Whether the coordinator says that every marker is written."""
        return self.completed_at is not None

    @property
    def decided(self) -> bool:
        """Whether commit or abort is durable."""
        return self.outcome in (Outcome.COMMIT, Outcome.ABORT)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Between two epochs of a producer id, both included, transactions may be missing. None: no bound on that side."""

    producer_id: int
    first_epoch: int | None
    last_epoch: int | None

    def covers(self, producer_id: int, epoch: int) -> bool:
        """Whether something may be missing at `epoch`."""
        if producer_id != self.producer_id:
            return False
        return (self.first_epoch is None or epoch >= self.first_epoch) and (
            self.last_epoch is None or epoch <= self.last_epoch
        )


@dataclass(slots=True)
class IdHistory:
    """What the coordinator's log tells of one transactional id."""

    transactional_id: str
    log_partition: int
    transactions: list[RecordedTransaction] = field(default_factory=list)
    producer_ids: set[int] = field(default_factory=set)
    doubts: list[Doubt] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    records: int = 0
    is_cut: bool = False
    """The end of the log is missing: what came last of the id is not known."""

    def is_whole(self, producer_id: int, epoch: int) -> bool:
        """Whether every transaction of this producer id at `epoch` is in `transactions`."""
        return not any(doubt.covers(producer_id, epoch) for doubt in self.doubts)


def read_histories(evidence: Evidence, rules: Rules) -> list[IdHistory]:
    """Fold every transactional id of every partition of ``__transaction_state``, in the order of first appearance."""
    by_id: dict[tuple[int, str], list[TransactionStateRecord]] = {}
    read: dict[int, set[int]] = {}
    for record in evidence.transaction_states:
        by_id.setdefault((record.partition, record.transactional_id), []).append(record)
        read.setdefault(record.partition, set()).add(record.offset)
    missing = {p: _Missing(evidence.log(TRANSACTION_TOPIC, p), offsets) for p, offsets in read.items()}
    return [
        _Fold(transactional_id, partition, rules, missing[partition]).run(records)
        for (partition, transactional_id), records in by_id.items()
    ]


class _Missing:
    """Where a partition of ``__transaction_state`` may lack records: gaps, damage, records that could not be read."""

    def __init__(self, log: PartitionLog | None, read: set[int]) -> None:
        self.unknown = log is None
        self.offsets: list[int] = []
        self.torn = log is not None and (log.torn_tail or log.end_offset in log.damaged_at)
        if log is None:
            return
        if log.start_offset > 0:
            self.offsets.append(0)
        self.offsets += [gap.first for gap in log.gaps()]
        self.offsets += log.damaged_at
        self.offsets += [o for batch in log.batches for o in batch.offsets() if not batch.is_control and o not in read]
        self.offsets.sort()

    def between(self, before: int, after: int) -> bool:
        """Whether a record may be missing behind `before` (-1: from the beginning) and up to `after`."""
        if self.unknown:
            return True
        place = bisect_left(self.offsets, before + 1)
        return place < len(self.offsets) and self.offsets[place] <= after


class _Fold:
    """The fold of one transactional id: `memory` is what its coordinator knows, as decisions read it."""

    def __init__(self, transactional_id: str, partition: int, rules: Rules, missing: _Missing) -> None:
        self.history = IdHistory(transactional_id, partition)
        self.rules, self.missing = rules, missing
        self.memory = Transaction()
        self.before: TransactionStateRecord | None = None
        self.bits: dict[TopicPartition, int] = {}
        self.open: RecordedTransaction | None = None

    def run(self, records: list[TransactionStateRecord]) -> IdHistory:
        for record in records:
            last = NONE if self.before is None else self.before.offset
            if self.missing.between(last, record.offset):
                self._doubt(record)
                self._take(record)
            elif not self._repeats(record):
                self._judge(record)
            self._follow(record)
            self.before = record
        self.history.records = len(records)
        self.history.is_cut = self.missing.torn
        if self.missing.torn and self.before and self.before.value:
            self.history.doubts.append(Doubt(self.before.value.producer_id, self.before.value.producer_epoch, None))
        return self.history

    # ---- what may be missing

    def _doubt(self, record: TransactionStateRecord) -> None:
        """Records may be missing before `record`: note which transactions may be among them."""
        before = self.before.value if self.before else None
        value = record.value
        if self.open is not None and not self._goes_on(value):
            self.open.outcome = self.open.outcome if self.open.decided else Outcome.UNKNOWN
            self.open = None
        if before and value and before.producer_id == value.producer_id:
            self.history.doubts.append(Doubt(value.producer_id, before.producer_epoch, value.producer_epoch))
            return
        if before:
            self.history.doubts.append(Doubt(before.producer_id, before.producer_epoch, None))
        if value:
            self.history.doubts.append(Doubt(value.producer_id, None, value.producer_epoch))

    def _goes_on(self, value: TransactionLogValue | None) -> bool:
        """Whether a record behind a gap can still be of the transaction that was open before the gap."""
        if self.open is None or value is None or value.producer_id != self.open.producer_id:
            return False
        if self.open.outcome is Outcome.OPEN:
            raised = self.open.data_epoch is not None and value.producer_epoch <= self.open.data_epoch + 1
            return raised and value.state != S.EMPTY
        return COMPLETED.get(value.state) is self.open.outcome and value.producer_epoch == self.open.marker_epoch

    # ---- one step

    def _repeats(self, record: TransactionStateRecord) -> bool:
        """Whether a record says again what the one before says: an append of unknown outcome, tried again (§9.4)."""
        before = self.before.value if self.before else None
        if before is None or record.value is None:
            return before is record.value and self.before is not None
        value = record.value
        return replace(before, last_update_ms=0, start_ms=0) == replace(value, last_update_ms=0, start_ms=0)

    def _judge(self, record: TransactionStateRecord) -> None:
        """The step from memory to `record` must be one that table and decisions allow; memory follows it anyway."""
        state = S.DEAD if record.value is None else record.value.state
        event = E.EXPIRE if record.value is None else EVENT_INTO.get(state)
        subject = self.history.transactional_id
        if self.memory.known == 0 and event != E.INIT:
            begins = "after its tombstone" if self.before else "as its first record"
            message = f"{state.name} is recorded {begins}; an id begins in EMPTY, when a producer takes it"
            self._fault(record, "states_follow_the_table", message)
            self._take(record)
            return
        try:
            if event is None:
                raise IllegalTransition(COORDINATOR, subject, S(self.memory.state), _any_event_into(state))
            if COORDINATOR.target(self.memory.state, event, subject) != state:
                raise IllegalTransition(COORDINATOR, subject, S(self.memory.state), _any_event_into(state))
        except IllegalTransition as illegal:
            self._fault(record, "states_follow_the_table", self._illegal(state, illegal))
            self._take(record)
            return
        if record.value is None:
            verdict = decide_expiration(self.memory, LATER, 0)
            assert verdict.event == E.EXPIRE, "the table lets an id expire where the decision does not"
            self._take(record)
            return
        self._judge_value(record, record.value, event)

    def _judge_value(self, record: TransactionStateRecord, value: TransactionLogValue, event: int) -> None:
        best: list[str] = []
        refused: Verdict | None = None
        for verdict in self._candidates(value, event):
            if verdict.event == NOTHING:
                refused = refused or verdict
                continue
            target = Transaction()
            prepare(self.memory, verdict, value.state, value.timeout_ms, value.last_update_ms, target)
            differences = self._differences(target, value)
            if not differences:
                self._correct_unknown(target, value)
                complete(self.memory, target)
                return
            if not best or len(differences) < len(best):
                best = differences
        self._fault(record, *self._unexplained(value, best, refused))
        self._take(record)

    def _candidates(self, value: TransactionLogValue, event: int) -> Iterator[Verdict]:
        """The verdict of each request or server action that could have led to a record of this state."""
        memory, rules = self.memory, self.rules
        if event == E.INIT:
            yield from self._grants(value)
        elif event == E.ADD_PARTITION:
            request = Request(value.producer_id, value.producer_epoch, partitions=self._mask(value.partitions))
            version = value.client_transaction_version or TransactionVersion.TV0
            yield decide_join(memory, request, rules, version)
        elif event == E.MARKERS_WRITTEN:
            yield completion_of(memory)
        else:
            committed = 1 if event == E.COMMIT else 0
            new = value.next_producer_id if value.next_producer_id not in (None, NONE) else SOME_PRODUCER_ID
            for version in END_TXN_VERSIONS:
                request = Request(memory.producer_id, memory.producer_epoch, version, committed)
                yield decide_end_txn(memory, request, rules, 1, new)
            fence = decide_timeout(memory, memory.producer_id, rules)
            if event == E.ABORT and fence.event == E.FENCE:
                fenced = replace(memory, pending_state=int(S.PREPARE_EPOCH_FENCE))
                for version in END_TXN_VERSIONS:
                    request = Request(memory.producer_id, fence.producer_epoch, version)
                    yield decide_end_txn(fenced, request, rules, 0, new)

    def _grants(self, value: TransactionLogValue) -> Iterator[Verdict]:
        """InitProducerId without an expectation, with the present identity, with the last one, with the rotated one."""
        memory = self.memory
        new = value.producer_id if value.producer_id != memory.producer_id else NONE
        expected = [
            Request(NONE, NONE),
            Request(memory.producer_id, memory.producer_epoch),
            Request(memory.producer_id, memory.last_producer_epoch),
            Request(memory.previous_producer_id, self.rules.epoch_max - 1),
        ]
        for request in expected:
            yield decide_init_producer_id(memory, request, self.rules, new)

    def _differences(self, target: Transaction, value: TransactionLogValue) -> list[str]:
        """How a record differs from the one that a decision would have written, in words; times are not compared."""
        found = []
        rotated_unseen = target.producer_id == SOME_PRODUCER_ID
        if value.producer_id != target.producer_id and not rotated_unseen:
            found.append(f"producer id {value.producer_id} instead of {target.producer_id}")
        if value.producer_epoch != target.producer_epoch:
            found.append(f"epoch {value.producer_epoch} instead of {target.producer_epoch}")
        if self._mask(value.partitions) != target.partitions:
            found.append(f"partitions {_list(value.partitions)} instead of {_list(self._set(target.partitions))}")
        if value.timeout_ms != target.timeout_ms:
            found.append(f"time-out {value.timeout_ms} instead of {target.timeout_ms} ms")
        recorded_next = value.next_producer_id not in (None, NONE)
        if recorded_next and value.next_producer_id != target.next_producer_id:
            found.append(f"next producer id {value.next_producer_id} instead of {target.next_producer_id}")
        recorded_previous = value.previous_producer_id not in (None, NONE) and not rotated_unseen
        if recorded_previous and value.previous_producer_id != target.previous_producer_id:
            found.append(f"previous producer id {value.previous_producer_id} instead of {target.previous_producer_id}")
        version = value.client_transaction_version
        # Releases before 4.1 forget the client's version when a producer takes the id (reference §2.3).
        if version is not None and value.state != S.EMPTY and version != target.client_transaction_version:
            found.append(f"client transaction version {version} instead of {target.client_transaction_version}")
        return found

    def _correct_unknown(self, target: Transaction, value: TransactionLogValue) -> None:
        """Where the log of an older release does not name the next producer id, the record that has it tells it."""
        if target.producer_id == SOME_PRODUCER_ID:
            target.producer_id = value.producer_id

    # ---- faults

    def _illegal(self, state: int, illegal: IllegalTransition) -> str:
        before = S(self.memory.state).name
        legal = sorted({row.target.name for row in COORDINATOR.rows if row.state == self.memory.state})
        return (
            f"{S(state).name} is recorded directly after {before}, where only {', '.join(legal)} may follow ({illegal})"
        )

    def _unexplained(self, value: TransactionLogValue, best: list[str], refused: Verdict | None) -> tuple[str, str]:
        state = S(value.state).name
        memory = self.memory
        if value.producer_id == memory.producer_id and value.producer_epoch < memory.producer_epoch:
            lower = f"{state} is recorded with epoch {value.producer_epoch} after epoch {memory.producer_epoch}"
            return "epochs_never_go_down", f"{lower}; the epoch of producer id {value.producer_id} can only rise"
        if best:
            return "records_are_what_decisions_write", f"{state} is recorded with {' and '.join(best)}"
        told = "" if refused is None else f" ({Error(refused.error).name}, row {Guard(refused.guard).name})"
        held = f"producer id {memory.producer_id}, epoch {memory.producer_epoch}, state {S(memory.state).name}"
        asked = f"producer id {value.producer_id}, epoch {value.producer_epoch}"
        found = (
            f"{state} is recorded for {asked}, and a coordinator that holds {held} refuses every request for it{told}"
        )
        return "records_are_what_decisions_write", found

    def _fault(self, record: TransactionStateRecord, promise: str, message: str) -> None:
        value = record.value
        place = (TRANSACTION_TOPIC, record.partition) if record.partition != NONE else None
        where = f"at offset {record.offset} of {named(place)}" if place else f"in {record.file}"
        fault = Fault(
            promise,
            f"{where}, of {record.transactional_id!r}: {message}",
            record.transactional_id,
            value.producer_id if value else self.memory.producer_id,
            value.producer_epoch if value else self.memory.producer_epoch,
            place,
            record.offset if place else None,
        )
        self.history.faults.append(fault)

    # ---- memory

    def _take(self, record: TransactionStateRecord) -> None:
        """Memory becomes what the record says, whatever was before."""
        value = record.value
        if value is None:
            self.memory = Transaction()
            return
        self.memory = Transaction(
            known=1,
            state=int(value.state),
            producer_id=value.producer_id,
            previous_producer_id=NONE if value.previous_producer_id is None else value.previous_producer_id,
            next_producer_id=NONE if value.next_producer_id is None else value.next_producer_id,
            producer_epoch=value.producer_epoch,
            partitions=self._mask(value.partitions),
            timeout_ms=value.timeout_ms,
            start_ms=NONE if value.start_ms is None else value.start_ms,
            last_update_ms=value.last_update_ms,
            client_transaction_version=value.client_transaction_version or 0,
        )

    def _mask(self, partitions: frozenset[TopicPartition]) -> int:
        mask = 0
        for place in partitions:
            mask |= 1 << self.bits.setdefault(place, len(self.bits))
        return mask

    def _set(self, mask: int) -> frozenset[TopicPartition]:
        return frozenset(place for place, bit in self.bits.items() if mask >> bit & 1)

    # ---- transactions

    def _follow(self, record: TransactionStateRecord) -> None:
        """Note the transaction that a record opens, decides or completes."""
        value = record.value
        if value is None:
            self.open = None
            return
        self.history.producer_ids.add(value.producer_id)
        if value.state == S.EMPTY:
            self.open = None
        elif value.state == S.ONGOING:
            txn = self._current(value, value.producer_epoch, decided=False)
            txn.opened_at = record.offset if txn.opened_at is None else txn.opened_at
            txn.data_version = value.client_transaction_version or 0
            txn.partitions = (txn.partitions or frozenset()) | value.partitions
        elif value.state in PREPARED:
            txn = self._current(value, self._epoch_before(), decided=False)
            if txn.prepared_at is None:
                txn.prepared_at, txn.prepared_ms = record.offset, value.last_update_ms
            txn.outcome, txn.marker_epoch = PREPARED[value.state], value.producer_epoch
            txn.version = value.client_transaction_version or 0
            txn.partitions = (txn.partitions or frozenset()) | value.partitions
        elif value.state in COMPLETED:
            self._complete(record, value)

    def _current(self, value: TransactionLogValue, data_epoch: int | None, decided: bool) -> RecordedTransaction:
        if self.open is None or self.open.completed or (self.open.decided and not decided and value.state == S.ONGOING):
            self.open = RecordedTransaction(self.history.transactional_id, value.producer_id, data_epoch)
            self.history.transactions.append(self.open)
        return self.open

    def _epoch_before(self) -> int | None:
        """The epoch under which data was written before a Prepare record that has no Ongoing record: the one before."""
        if self.before is None or self.before.value is None:
            return None
        return self.before.value.producer_epoch

    def _complete(self, record: TransactionStateRecord, value: TransactionLogValue) -> None:
        if self.open is None or self.open.completed:
            if self._was_completed(value):
                return
            self.open = RecordedTransaction(self.history.transactional_id, value.producer_id, None)
            self.open.marker_epoch = None if value.producer_epoch == 0 else value.producer_epoch
            self.history.transactions.append(self.open)
        if not self.open.decided:
            self.open.outcome = COMPLETED[value.state]
        if self.open.completed_at is None:
            self.open.completed_at, self.open.completed_ms = record.offset, value.last_update_ms

    def _was_completed(self, value: TransactionLogValue) -> bool:
        """Whether a Complete record repeats the one directly before it."""
        before = self.before.value if self.before else None
        return before is not None and before.state == value.state and self.open is not None


def _any_event_into(state: int) -> CoordinatorEvent:
    """The event that leads into a state, for the words of a message."""
    return next((CoordinatorEvent(row.event) for row in COORDINATOR.rows if row.target == state), E.NOTHING)


def _list(partitions: frozenset[TopicPartition]) -> str:
    return "[" + ", ".join(sorted(named(place) for place in partitions)) + "]"
