"""A host of one thread for the golden traces.

It does what a broker does, in the same order: ask a decision, take the target from the table, prepare, append,
complete. Markers wait in `markers` until a test delivers them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from zombieproof.model.decisions import transition
from zombieproof.model.decisions.add_offsets_to_txn import decide_add_offsets_to_txn
from zombieproof.model.decisions.add_partitions_to_txn import decide_add_partitions_to_txn, decide_verify_partitions
from zombieproof.model.decisions.end_txn import decide_after_append, decide_end_txn
from zombieproof.model.decisions.fetch import first_unstable_offset, last_stable_offset
from zombieproof.model.decisions.init_producer_id import decide_init_producer_id
from zombieproof.model.decisions.marker_delivery import decide_completion
from zombieproof.model.decisions.offset_fetch import decide_offset_fetch
from zombieproof.model.decisions.produce import decide_append, evolve_append
from zombieproof.model.decisions.transaction_timeout import decide_timeout
from zombieproof.model.decisions.txn_offset_commit import evolve_offsets_marker, evolve_pending
from zombieproof.model.decisions.verification import answer_of_coordinator, decide_verification, evolve_verification
from zombieproof.model.decisions.write_txn_markers import decide_marker, evolve_marker
from zombieproof.model.records import GroupOffset, PendingOffset, ProducerEntry, Transaction, Verdict
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import (
    NONE,
    NOTHING,
    CoordinatorEvent,
    Error,
    GroupEvent,
    Mode,
    Origin,
    Row,
    TransactionState,
)
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.group_coordinator import GROUP_COORDINATOR
from zombieproof.statemachines.partition_leader import PARTITION_LEADER

T0, OFFSETS = 0b01, 0b10
COORDINATOR_EPOCH = 7
FENCE = TransactionState.PREPARE_EPOCH_FENCE


@dataclass
class Request:
    """Any request, batch or marker; each decision looks at its own attributes."""

    version: int = 0
    producer_id: int = NONE
    producer_epoch: int = NONE
    committed: bool = False
    partitions: int = 0
    base_sequence: int = NONE
    last_sequence: int = NONE
    transactional: bool = True
    coordinator_epoch: int = COORDINATOR_EPOCH
    transaction_version: int = 0


@dataclass
class Leader:
    """One partition; `log` holds (producer id, epoch, "data" or the outcome) of each offset."""

    entries: dict[int, ProducerEntry] = field(default_factory=dict)
    log: list[tuple[int, int, str]] = field(default_factory=list)

    def entry(self, producer_id: int) -> ProducerEntry:
        return self.entries.setdefault(producer_id, ProducerEntry())

    @property
    def lso(self) -> int:
        return last_stable_offset(len(self.log), first_unstable_offset(list(self.entries.values())))


class Host:
    """A coordinator of one transactional id, the partition t-0 and the group's offsets partition."""

    def __init__(self, transaction_version: int, rules: Rules | None = None) -> None:
        self.tv = transaction_version
        self.rules = rules or Rules(transaction_version=transaction_version)
        self.txn = Transaction()
        self.log: list[Transaction] = []
        self.leader, self.offsets_leader = Leader(), Leader()
        self.markers: list[tuple[int, Request]] = []
        self.next_producer_id, self.tokens = 4000, 0
        self.committed, self.pending = GroupOffset(), PendingOffset()

    # --- the coordinator

    def append(self, verdict: Verdict) -> None:
        state = COORDINATOR.target(self.txn.state, verdict.event)
        target = Transaction()
        transition.prepare(self.txn, verdict, state, 60_000, 1000, target)
        self.txn.pending_state = state
        assert not self.txn.known or transition.is_valid(self.txn, target)
        self.log.append(replace(target))
        transition.complete(self.txn, target)
        if self.next_producer_id in (verdict.producer_id, verdict.next_producer_id):
            self.next_producer_id += 1

    def init(self, producer_id: int = NONE, producer_epoch: int = NONE) -> tuple[int, int, int]:
        request = Request(producer_id=producer_id, producer_epoch=producer_epoch)
        verdict = decide_init_producer_id(self.txn, request, self.rules, self.next_producer_id)
        if verdict.event == CoordinatorEvent.FENCE:
            return self.fence(verdict) or int(Error.CONCURRENT_TRANSACTIONS), NONE, NONE
        if verdict.event == NOTHING:
            return verdict.error, NONE, NONE
        self.append(verdict)
        return int(Error.NONE), verdict.producer_id, verdict.producer_epoch

    def fence(self, verdict: Verdict) -> int:
        self.txn.pending_state = FENCE
        version = 5 if self.tv == 2 else 4
        request = Request(version, verdict.producer_id, verdict.producer_epoch, committed=False)
        return self._end(request, from_client=False)[0]

    def time_out(self) -> None:
        self.fence(decide_timeout(self.txn, self.txn.producer_id, self.rules))

    def add(self, producer_id: int, epoch: int, partitions: int = T0, version: int = 3) -> int:
        verdict = decide_add_partitions_to_txn(
            self.txn, Request(version, producer_id, epoch, partitions=partitions), self.rules
        )
        if verdict.event != NOTHING:
            self.append(verdict)
        return verdict.error

    def add_offsets(self, producer_id: int, epoch: int) -> int:
        verdict = decide_add_offsets_to_txn(self.txn, Request(3, producer_id, epoch, partitions=OFFSETS), self.rules)
        if verdict.event != NOTHING:
            self.append(verdict)
        return verdict.error

    def end(self, producer_id: int, epoch: int, committed: bool, version: int | None = None) -> tuple[int, int, int]:
        chosen = version if version is not None else 5 if self.tv == 2 else 4
        return self._end(Request(chosen, producer_id, epoch, committed), from_client=True)

    def _end(self, request: Request, from_client: bool) -> tuple[int, int, int]:
        verdict = decide_end_txn(self.txn, request, self.rules, from_client, self.next_producer_id)
        if verdict.event == NOTHING:
            return verdict.error, verdict.producer_id, verdict.producer_epoch
        fenced = self.txn.pending_state == FENCE
        if fenced and transition.fence_counts_at_once(request.version, self.rules):
            transition.fence_in_memory(self.txn, verdict.producer_epoch)
        self.append(verdict)
        answer = decide_after_append(self.txn, request, self.txn.state)
        self.txn.pending_state = COORDINATOR.target(self.txn.state, CoordinatorEvent.MARKERS_WRITTEN)
        for partition in (T0, OFFSETS):
            if self.txn.partitions & partition:
                outcome = self.txn.state == TransactionState.PREPARE_COMMIT
                version = self.txn.client_transaction_version
                marker = Request(0, self.txn.producer_id, self.txn.producer_epoch, outcome, transaction_version=version)
                self.markers.append((partition, marker))
        self.complete()
        return answer.error, answer.producer_id, answer.producer_epoch

    def complete(self) -> None:
        verdict = decide_completion(self.txn, Error.NONE, True, self.rules)
        if verdict.event != NOTHING:
            self.append(verdict)

    # --- the leaders

    def deliver_markers(self) -> list[Row]:
        """Each marker arrives and is acknowledged; then the transaction is complete."""
        guards = []
        while self.markers:
            partition, marker = self.markers.pop(0)
            leader = self.leader if partition == T0 else self.offsets_leader
            entry = leader.entry(marker.producer_id)
            verdict = decide_marker(entry, marker, Origin.COORDINATOR, self.rules)
            guards.append(Row(verdict.row))
            if verdict.error == Error.NONE:
                evolve_marker(entry, marker, verdict.event, PARTITION_LEADER.target(entry.state, verdict.event))
                outcome = "COMMIT" if marker.committed else "ABORT"
                leader.log.append((marker.producer_id, marker.producer_epoch, outcome))
                if partition == OFFSETS:
                    event = GroupEvent.COMMIT_MARKER if marker.committed else GroupEvent.ABORT_MARKER
                    state = GROUP_COORDINATOR.target(self.pending.state, event)
                    evolve_offsets_marker(self.committed, self.pending, marker.committed, state)
                self.txn.partitions &= ~partition
        self.complete()
        return guards

    def ask(self, batch: Request, mode: Mode) -> tuple[int, int]:
        """The leader asks the coordinator if it has to: (error, guard)."""
        entry = self.leader.entry(batch.producer_id)
        verdict = decide_verification(entry, batch, mode, self.rules)
        if verdict.event == NOTHING:
            return verdict.error, 0
        self.tokens += 1
        state = PARTITION_LEADER.target(entry.state, verdict.event)
        guard = evolve_verification(entry, batch, mode, self.tokens, state)
        if mode == Mode.ADD:
            error = self.add(batch.producer_id, batch.producer_epoch, T0, version=5)
        else:
            request = Request(5, batch.producer_id, batch.producer_epoch, partitions=T0)
            error = decide_verify_partitions(self.txn, request, self.rules).error
        return answer_of_coordinator(error, mode), guard

    def append_data(self, batch: Request, guard: int) -> tuple[int, int]:
        """(error, last offset)"""
        entry = self.leader.entry(batch.producer_id)
        verdict = decide_append(entry, batch, guard, Origin.CLIENT, self.rules)
        if verdict.event == NOTHING:
            return verdict.error, verdict.duplicate_of
        base, count = len(self.leader.log), batch.last_sequence - batch.base_sequence + 1
        state = PARTITION_LEADER.target(entry.state, verdict.event)
        evolve_append(entry, batch, base, base + count - 1, state, self.rules)
        self.leader.log += [(batch.producer_id, batch.producer_epoch, "data")] * count
        return int(Error.NONE), base + count - 1

    def produce(self, producer_id: int, epoch: int, first: int, last: int, version: int | None = None) -> Any:
        """Error, or the last offset if there is none."""
        batch = Request(0, producer_id, epoch, base_sequence=first, last_sequence=last)
        tv2 = self.tv == 2 if version is None else version >= 12
        error, guard = self.ask(batch, Mode.ADD if tv2 else Mode.GENERIC)
        if error == Error.NONE:
            error, offset = self.append_data(batch, guard)
        return Error(error) if error else offset

    # --- the group coordinator

    def commit_offset(self, producer_id: int, epoch: int, offset: int) -> None:
        """TxnOffsetCommit of a client that has added the offsets partition, where nobody verifies."""
        batch = Request(0, producer_id, epoch, base_sequence=0, last_sequence=0)
        entry = self.offsets_leader.entry(producer_id)
        verdict = decide_append(entry, batch, 0, Origin.COORDINATOR, with_switches(self.rules, off=["verification"]))
        at = len(self.offsets_leader.log)
        evolve_append(entry, batch, at, at, PARTITION_LEADER.target(entry.state, verdict.event), self.rules)
        self.offsets_leader.log.append((producer_id, epoch, "data"))
        state = GROUP_COORDINATOR.target(self.pending.state, GroupEvent.TXN_OFFSET_COMMIT)
        evolve_pending(self.pending, offset, at, state)

    def fetch_offset(self) -> Any:
        """The stable committed offset, or the error."""
        error = decide_offset_fetch(True, self.pending.state, self.rules)
        return Error(error) if error else self.committed.offset

    @property
    def last(self) -> tuple[int, int, int, int]:
        """State, producer id, epoch and partitions of the last record of the log."""
        record = self.log[-1]
        return record.state, record.producer_id, record.producer_epoch, record.partitions


@pytest.fixture
def new_host() -> Callable[..., Host]:
    """Make a host for a transaction version, by the newest rules unless others are given."""
    return Host
